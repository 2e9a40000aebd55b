//! Effect of a normalizer on the position between two adjacent characters.
//!
//! Invariant: `Keep(l, r)` means that the normalized form of any text with these two characters is the concatenation of
//! two parts. The first part depends only on the text before the position and ends in `l`. The second part depends only
//! on the text after the position and begins with `r`, unless stripping makes it empty. The effect is `Unknown` if this
//! is not certain, for example for characters that can be reordered, can compose, or can be part of a longer rule.

use std::collections::HashSet;

use super::properties::{Properties, CONTROL, MARK, NONSPACING, ORDERED};
use super::replace::ReplacePattern;
use super::sentencepiece::SentencePiece;
use super::{Normalizer, NormalizerKind};
use crate::aligned_text::AlignedText;
use crate::regex::Adjacency;
use crate::util::pair_effect::PairEffect;
use crate::util::text_unit::is_separate_grapheme;

/// Lookup tables for [`Normalizer::pair_effect`], built once.
#[derive(Debug, Default)]
pub struct NormalizerPairs {
    /// For `Replace`: pairs of adjacent characters that its regex can match.
    adjacency: Option<Adjacency>,
    /// For SentencePiece, whose rules each replace a source text by another text: all characters of the source texts,
    /// except the first character of each source text. None if there are too many rules to list.
    continued: Option<HashSet<char>>,
    /// For SentencePiece: pairs of adjacent characters of user-defined pieces. `user_chars` contains all characters of
    /// these pieces.
    user_pairs: HashSet<(char, char)>,
    user_chars: HashSet<char>,
}

impl Normalizer {
    /// Builds the tables for [`Normalizer::pair_effect`]. `user_defined`: the contents of user-defined pieces.
    pub fn pairs(&self, user_defined: &[&[u8]]) -> NormalizerPairs {
        let mut pairs = NormalizerPairs::default();
        match &self.0 {
            NormalizerKind::Replace(replace) => {
                if let ReplacePattern::Regex(regex) = replace.pattern() {
                    pairs.adjacency = Adjacency::of(regex.text());
                }
            }
            NormalizerKind::SentencePiece(part) => {
                pairs.continued = part.map().map_or_else(|| Some(HashSet::new()), |map| map.continued());
                for content in user_defined.iter().filter_map(|content| std::str::from_utf8(content).ok()) {
                    pairs.user_chars.extend(content.chars());
                    pairs.user_pairs.extend(content.chars().zip(content.chars().skip(1)));
                }
            }
            _ => {}
        }
        pairs
    }

    /// Returns the effect on two adjacent characters: `Keep` or `Unknown`.
    pub fn pair_effect(&self, pairs: &NormalizerPairs, left: char, right: char) -> PairEffect {
        let known = self.keeps(pairs, left, right);
        known.map_or(PairEffect::Unknown, |(left, right)| PairEffect::Keep(left, right))
    }

    fn keeps(&self, pairs: &NormalizerPairs, left: char, right: char) -> Option<(char, char)> {
        let none_has = |bits: u16| {
            let properties = Properties::get();
            (properties.of(left) | properties.of(right)) & bits == 0
        };
        match &self.0 {
            NormalizerKind::Form(form) => none_has(form.unstable()).then_some((left, right)),
            NormalizerKind::StripAccents => none_has(MARK).then_some((left, right)),
            NormalizerKind::Bert(part) => {
                let removed = [(part.clean, CONTROL), (part.accents, NONSPACING | ORDERED)];
                let removed = removed.iter().filter(|(is_on, _)| *is_on).fold(0, |bits, (_, more)| bits | more);
                if none_has(removed) {
                    self.one_by_one(left, right)
                } else {
                    None
                }
            }
            NormalizerKind::Lowercase | NormalizerKind::Nmt | NormalizerKind::ByteLevel => self.one_by_one(left, right),
            NormalizerKind::Strip { .. } => (!left.is_whitespace()).then_some((left, right)),
            NormalizerKind::Prepend(_) => Some((left, right)),
            NormalizerKind::Replace(replace) => match (replace.pattern(), &pairs.adjacency) {
                (ReplacePattern::Text(text), _) if text.chars().count() == 1 => self.one_by_one(left, right),
                (ReplacePattern::Text(text), _) => (!text.contains([left, right])).then_some((left, right)),
                (ReplacePattern::Regex(_), None) => None,
                (ReplacePattern::Regex(_), Some(regex)) => {
                    // A character that the regex never reads stays the same. Two more cases: `left` stays the same if
                    // the replacement ends with `left`; `right` stays the same if the replacement begins with `right`.
                    let content = replace.content();
                    let left_stays = regex.never_reads(left) || content.ends_with(left);
                    let right_stays = regex.never_reads(right) || content.starts_with(right);
                    (regex.separates(left, right) && left_stays && right_stays).then_some((left, right))
                }
            },
            NormalizerKind::Precompiled(_) => {
                let apart = is_separate_grapheme(left) && is_separate_grapheme(right);
                if apart {
                    self.one_by_one(left, right)
                } else {
                    None
                }
            }
            NormalizerKind::SentencePiece(part) => sentencepiece(part, pairs, left, right),
        }
    }

    /// Returns the normalized form of a character if it is the same in every context, and if all of it is aligned with
    /// this character alone. Returns None if this is not certain.
    pub fn image(&self, c: char) -> Option<String> {
        let bits = Properties::get().of(c);
        let stays = || Some(c.to_string());
        match &self.0 {
            NormalizerKind::Form(form) if bits & form.unstable() == 0 => stays(),
            NormalizerKind::StripAccents => Some(if bits & MARK == 0 { c.to_string() } else { String::new() }),
            NormalizerKind::Bert(part) if part.accents && bits & ORDERED != 0 => None,
            NormalizerKind::Bert(_) | NormalizerKind::Lowercase | NormalizerKind::Nmt => self.alone(c),
            // A carriage return and a following line feed are one grapheme. The normalized form of this grapheme equals
            // that of the carriage return alone.
            NormalizerKind::Precompiled(_) if c == '\r' => {
                self.alone(c).filter(|text| text.chars().all(char::is_whitespace))
            }
            // A Hangul syllable is a separate grapheme, unless a neighbor such as a jamo joins it. This function
            // returns None for every such neighbor.
            NormalizerKind::Precompiled(_) if c == '\n' || is_separate_grapheme(c) || is_hangul(c) => self.alone(c),
            _ => None,
        }
    }

    /// Returns true if the component has this bug of HF: if characters are removed at the start of a text, the
    /// alignment of the rest is shifted.
    pub fn may_shift_alignment(&self) -> bool {
        matches!(self.0, NormalizerKind::Precompiled(_))
    }

    /// Returns the normalized form of a text of one character.
    fn alone(&self, c: char) -> Option<String> {
        let mut aligned = AlignedText::new(c.encode_utf8(&mut [0; 4]), false).ok()?;
        self.apply(&mut aligned, &|| true).ok()?;
        Some(aligned.text().to_owned())
    }

    /// Returns true if each character becomes exactly one character, and no other characters are inserted.
    pub fn keeps_number_of_characters(&self) -> bool {
        match &self.0 {
            NormalizerKind::Replace(replace) => {
                let is_char = matches!(replace.pattern(), ReplacePattern::Text(text) if text.chars().count() == 1);
                is_char && replace.content().chars().count() == 1
            }
            NormalizerKind::SentencePiece(part) => part.adds_prefix().is_none() && part.only_escapes(),
            _ => false,
        }
    }

    /// Returns the number of input characters that a prepended `mark` is aligned with: 1 if the mark is aligned with
    /// the first character, 0 if the mark is aligned with an empty range at the start. Returns None if the component
    /// does not prepend `mark` to every text, or if it changes the number of characters in another way.
    pub fn prepends(&self, mark: char) -> Option<u8> {
        match &self.0 {
            NormalizerKind::Prepend(text) => text.chars().eq([mark]).then_some(1),
            NormalizerKind::SentencePiece(part) if part.only_escapes() => {
                part.adds_prefix().filter(|&prefix| prefix == mark).map(|_| 0)
            }
            _ => None,
        }
    }

    /// Returns the effect of a component that processes each of the two characters independently of its neighbors.
    fn one_by_one(&self, left: char, right: char) -> Option<(char, char)> {
        Some((self.alone(left)?.chars().next_back()?, self.alone(right)?.chars().next()?))
    }
}

/// Returns true if `c` is a precomposed Hangul syllable.
fn is_hangul(c: char) -> bool {
    ('\u{AC00}'..='\u{D7A3}').contains(&c)
}

fn sentencepiece(part: &SentencePiece, pairs: &NormalizerPairs, left: char, right: char) -> Option<(char, char)> {
    let options = part.options();
    let continued = pairs.continued.as_ref()?;
    let in_rule = continued.contains(&left) || continued.contains(&right);
    if options.treat_whitespace_as_suffix || in_rule || pairs.user_pairs.contains(&(left, right)) {
        return None;
    }
    let mapped = |c: char| {
        let new = part.rule(c);
        let stays = new.chars().eq([c]);
        (stays || !pairs.user_chars.contains(&c)).then_some(new)
    };
    let (left, right) = (mapped(left)?.chars().next_back()?, mapped(right)?.chars().next()?);
    let escaped = |c: char| if c == ' ' && options.escape_whitespaces { '\u{2581}' } else { c };
    let (left, right) = (escaped(left), escaped(right));
    if options.remove_extra_whitespaces && left == escaped(' ') {
        return None; // spaces are removed at the end of a text and before other spaces
    }
    Some((left, right))
}
