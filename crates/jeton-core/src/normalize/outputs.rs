//! Finds characters that never occur in the output of a normalizer.
//!
//! Invariant: for any input, the normalized text contains no character for which [`NormalizerOutputs::excludes`]
//! returns true. If a normalization form, lower case or one of BERT's steps is applied a second time, no character
//! changes. So if such a step replaces a character, the character never occurs in the output of the step; a test checks
//! each code point. A character map outputs two kinds of characters: characters without a rule, and characters of
//! replacements.
//!
//! Cost: the rules of a character map are listed once. Left out: strings of several characters. For example, two spaces
//! never occur in the output if SentencePiece removes extra white space.

use std::collections::HashSet;

use super::charsmap::Charsmap;
use super::properties::{Properties, CHINESE, MARK};
use super::replace::ReplacePattern;
use super::{Normalizer, NormalizerKind};
use crate::aligned_text::AlignedText;

/// The rules of a character map are listed only if at most this many nodes are visited. Published maps have a tenth of
/// this number of nodes.
const MAX_NODES: usize = 1 << 22;

/// Characters in the output of the components of a normalizer.
#[derive(Debug)]
pub struct NormalizerOutputs<'n> {
    parts: Vec<(&'n Normalizer, Option<HashSet<char>>)>, // component, characters of its replacements (None: unknown)
}

impl<'n> NormalizerOutputs<'n> {
    /// Prepares the lookup for the components `normalizers`.
    pub fn new(normalizers: &'n [Normalizer]) -> Self {
        let replacements = |map: &Charsmap| {
            map.rules(MAX_NODES).map(|rules| rules.values().flat_map(|new| new.chars()).collect::<HashSet<char>>())
        };
        let made = |part: &Normalizer| match &part.0 {
            NormalizerKind::Precompiled(map) => replacements(map),
            NormalizerKind::SentencePiece(part) => part.map().map_or_else(|| Some(HashSet::new()), replacements),
            _ => Some(HashSet::new()),
        };
        Self { parts: normalizers.iter().map(|part| (part, made(part))).collect() }
    }

    /// Returns true if no normalized text contains the character.
    pub fn excludes(&self, c: char) -> bool {
        for (part, made) in self.parts.iter().rev() {
            let Some(made) = made else { return false };
            match part.leaves(c, made) {
                Leaves::Never => return true,
                Leaves::OfInput => {}
                Leaves::Maybe => return false,
            }
        }
        false
    }
}

/// Occurrence of a character in the output of a component.
enum Leaves {
    /// The character never occurs in the output.
    Never,
    /// The character occurs only if the input contains it.
    OfInput,
    /// The component produces the character from other characters, or it is unknown whether it does.
    Maybe,
}

impl Normalizer {
    fn leaves(&self, c: char, made: &HashSet<char>) -> Leaves {
        match &self.0 {
            NormalizerKind::Form(_) | NormalizerKind::Lowercase | NormalizerKind::Nmt | NormalizerKind::Bert(_) => {
                if self.text_of(c).is_some_and(|text| !text.contains(c)) {
                    Leaves::Never
                } else {
                    Leaves::Maybe
                }
            }
            NormalizerKind::StripAccents if Properties::get().of(c) & MARK != 0 => Leaves::Never,
            NormalizerKind::StripAccents | NormalizerKind::Strip { .. } => Leaves::OfInput,
            NormalizerKind::Prepend(text) if text.contains(c) => Leaves::Maybe,
            NormalizerKind::Prepend(_) => Leaves::OfInput,
            NormalizerKind::ByteLevel => Leaves::Maybe,
            NormalizerKind::Replace(replace) if replace.content().contains(c) => Leaves::Maybe,
            NormalizerKind::Replace(replace) => match replace.pattern() {
                ReplacePattern::Text(text) if text.chars().eq([c]) => Leaves::Never,
                _ => Leaves::OfInput,
            },
            NormalizerKind::Precompiled(map) => {
                let has_rule = map.prefixes(c.encode_utf8(&mut [0; 4])).any(|(len, _)| len == c.len_utf8());
                match (made.contains(&c), has_rule) {
                    (true, _) => Leaves::Maybe,
                    (false, true) => Leaves::Never,
                    (false, false) => Leaves::OfInput,
                }
            }
            NormalizerKind::SentencePiece(part) => {
                // The normalizer does not change user-defined entries, and one of them could contain the character.
                let is_escaped = c == ' ' && part.options().escape_whitespaces;
                match made.contains(&c) || part.has_user_defined() {
                    true => Leaves::Maybe,
                    false if is_escaped || !part.rule(c).contains(c) => Leaves::Never,
                    false if c == ' ' || c == '\u{2581}' => Leaves::Maybe,
                    false => Leaves::OfInput,
                }
            }
        }
    }

    /// Returns the normalized form of a single character.
    fn text_of(&self, c: char) -> Option<String> {
        let mut aligned = AlignedText::new(c.encode_utf8(&mut [0; 4]), false).ok()?;
        self.apply(&mut aligned, &|| true).ok()?;
        Some(aligned.text().to_owned())
    }

    /// Returns true if the component adds spaces around the character.
    pub fn surrounds(&self, c: char) -> bool {
        matches!(&self.0, NormalizerKind::Bert(part) if part.chinese) && Properties::get().of(c) & CHINESE != 0
    }

    /// Returns true if the component spells the bytes of the text in the byte alphabet.
    pub fn spells_bytes(&self) -> bool {
        matches!(self.0, NormalizerKind::ByteLevel)
    }

    /// Returns true if the component replaces characters, but adds no text at the start or end.
    pub fn maps_characters(&self) -> bool {
        matches!(
            self.0,
            NormalizerKind::Form(_)
                | NormalizerKind::Lowercase
                | NormalizerKind::StripAccents
                | NormalizerKind::Nmt
                | NormalizerKind::Bert(_)
                | NormalizerKind::Precompiled(_)
        )
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;

    #[test]
    fn characters_in_the_output_of_a_component_are_unchanged_by_it() {
        for part in [
            r#"{"type":"NFC"}"#,
            r#"{"type":"NFD"}"#,
            r#"{"type":"NFKC"}"#,
            r#"{"type":"NFKD"}"#,
            r#"{"type":"Lowercase"}"#,
            r#"{"type":"Nmt"}"#,
            r#"{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true}"#,
            r#"{"type":"BertNormalizer","clean_text":false,"handle_chinese_chars":false,"strip_accents":true,"lowercase":false}"#,
        ] {
            let parts = [Normalizer::from_json(part, &[]).unwrap()];
            let outputs = NormalizerOutputs::new(&parts);
            let mut left = HashSet::new();
            for c in '\0'..=char::MAX {
                left.extend(parts[0].text_of(c).unwrap().chars());
            }
            assert!(left.len() > 1000);
            assert_eq!(left.into_iter().find(|&c| outputs.excludes(c)), None, "{part}");
        }
    }

    #[test]
    fn a_replaced_character_is_excluded_until_it_is_added_again() {
        let parts = r#"[{"type":"Replace","pattern":{"String":" "},"content":"_"},{"type":"Strip","strip_left":true,"strip_right":false}]"#;
        let parts = Normalizer::list_from_json(parts, &[]).unwrap();
        let outputs = NormalizerOutputs::new(&parts);
        assert_eq!([' ', '_', 'a'].map(|c| outputs.excludes(c)), [true, false, false]);
        let parts = r#"[{"type":"Lowercase"},{"type":"Prepend","prepend":"A"}]"#;
        let parts = Normalizer::list_from_json(parts, &[]).unwrap();
        let outputs = NormalizerOutputs::new(&parts);
        assert_eq!(['A', 'B', 'b'].map(|c| outputs.excludes(c)), [false, true, false]);
    }
}
