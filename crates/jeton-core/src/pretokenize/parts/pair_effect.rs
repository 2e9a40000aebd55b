//! Effect of a pre-tokenizer on the position between two adjacent characters.

use super::behavior::Behavior;
use super::{characters, SplitPattern, Splitter, SplitterKind};
use crate::pretokenize::pretokenizer::{PatternKind, Pretokenizer};
use crate::regex::Adjacency;
use crate::util::pair_effect::PairEffect;

/// A pre-tokenizer with the lookup tables for [`SplitterPairs::effect`].
#[derive(Debug)]
pub struct SplitterPairs {
    splitter: Splitter,
    adjacency: Option<Adjacency>,
    /// True if `adjacency` alone determines the effects on pairs of characters.
    is_pattern: bool,
}

impl Splitter {
    /// Builds the lookup of the component's effect on pairs of characters.
    pub fn pairs(&self) -> SplitterPairs {
        let pattern = match &self.0 {
            SplitterKind::ByteLevel { pattern, .. } => pattern.as_ref(),
            SplitterKind::Pattern(pattern) => Some(pattern),
            SplitterKind::Split { finder: SplitPattern::Regex(pattern), .. } => Some(pattern),
            _ => None,
        };
        let adjacency = pattern.and_then(Pretokenizer::pattern).and_then(Adjacency::of);
        let is_split = matches!(self.0, SplitterKind::Split { .. });
        let is_other = pattern.is_none_or(|pattern| matches!(pattern.0, PatternKind::None | PatternKind::Whitespace));
        let is_pattern = adjacency.is_some() && !is_split && !is_other;
        SplitterPairs { splitter: self.clone(), adjacency, is_pattern }
    }
}

impl SplitterPairs {
    /// Returns true if the component replaces each byte by a character of the byte alphabet.
    /// [`SplitterPairs::effect`] leaves this replacement out: it returns the original characters.
    pub fn spells_bytes(&self) -> bool {
        matches!(self.splitter.0, SplitterKind::ByteLevel { .. })
    }

    /// Returns the effect on two adjacent characters of a chunk.
    #[inline]
    pub fn effect(&self, left: char, right: char) -> PairEffect {
        match &self.adjacency {
            Some(adjacency) if self.is_pattern => adjacency.effect(left, right),
            _ => self.find_effect(left, right),
        }
    }

    fn find_effect(&self, left: char, right: char) -> PairEffect {
        let at = |behavior, is_match: &dyn Fn(char) -> bool| {
            split_at(behavior, is_match(left), is_match(right), (left, right))
        };
        match &self.splitter.0 {
            SplitterKind::Bert => match at(Behavior::Removed, &char::is_whitespace) {
                PairEffect::Keep(..) => at(Behavior::Isolated, &|c| characters::punctuation().has(c)),
                split => split,
            },
            SplitterKind::ByteLevel { pattern: None, .. } => PairEffect::Keep(left, right),
            SplitterKind::ByteLevel { pattern: Some(pattern), .. } | SplitterKind::Pattern(pattern) => {
                self.at_pattern(pattern, left, right)
            }
            SplitterKind::Delimiter(delimiter) => at(Behavior::Removed, &|c| c == *delimiter),
            SplitterKind::Digits(behavior) => at(*behavior, &|c| characters::number().has(c)),
            SplitterKind::Punctuation(behavior) => at(*behavior, &|c| characters::punctuation().has(c)),
            SplitterKind::WhitespaceSplit => at(Behavior::Removed, &char::is_whitespace),
            SplitterKind::Metaspace(metaspace) => {
                let [left, right] = [left, right].map(|c| metaspace.spelled(c));
                match metaspace.split() {
                    Some(mark) => split_at(Behavior::MergedWithNext, left == mark, right == mark, (left, right)),
                    None => PairEffect::Keep(left, right),
                }
            }
            SplitterKind::Split { finder: SplitPattern::Text(text), behavior, invert } => {
                let is_char = text.chars().count() == 1;
                match behavior {
                    _ if !is_char && !text.contains([left, right]) => PairEffect::Keep(left, right),
                    Behavior::Isolated | Behavior::Removed if is_char => at(*behavior, &|c| text.starts_with(c)),
                    _ if is_char && !invert => at(*behavior, &|c| text.starts_with(c)),
                    _ => PairEffect::Unknown,
                }
            }
            SplitterKind::Split { finder: SplitPattern::Regex(pattern), behavior, .. } => {
                match (behavior, self.at_pattern(pattern, left, right)) {
                    (Behavior::Isolated | Behavior::Removed, effect) | (_, effect @ PairEffect::Keep(..)) => effect,
                    _ => PairEffect::Unknown,
                }
            }
            SplitterKind::Whitespace => {
                let class = |c: char| (!c.is_whitespace()).then(|| characters::word().has(c));
                match (class(left), class(right)) {
                    (Some(before), Some(after)) if before == after => PairEffect::Keep(left, right),
                    _ => PairEffect::Split,
                }
            }
            SplitterKind::FixedLength(_) | SplitterKind::Scripts => PairEffect::Unknown,
        }
    }

    /// Returns false if it is certain that no chunk contains `text`, whatever characters surround the text.
    pub fn may_hold(&self, text: &str) -> bool {
        let is_apart = |(left, right)| self.effect(left, right) == PairEffect::Split;
        if text.chars().zip(text.chars().skip(1)).any(is_apart) {
            return false;
        }
        match (&self.splitter.0, &self.adjacency) {
            (
                SplitterKind::ByteLevel { .. }
                | SplitterKind::Pattern(_)
                | SplitterKind::Split { behavior: Behavior::Isolated | Behavior::Removed, .. },
                Some(adjacency),
            ) => adjacency.may_cover(text),
            (SplitterKind::FixedLength(length), _) => text.chars().nth(*length).is_none(),
            _ => true,
        }
    }

    fn at_pattern(&self, pattern: &Pretokenizer, left: char, right: char) -> PairEffect {
        match (&pattern.0, &self.adjacency) {
            (PatternKind::None, _) => PairEffect::Keep(left, right),
            (PatternKind::Whitespace, _) => {
                split_at(Behavior::Removed, left.is_whitespace(), right.is_whitespace(), (left, right))
            }
            (_, Some(adjacency)) => adjacency.effect(left, right),
            (_, None) => PairEffect::Unknown,
        }
    }
}

/// Returns the effect of a component whose matches are single characters. `before` is true if the left character is a
/// match, and `after` is true if the right character is a match.
fn split_at(behavior: Behavior, before: bool, after: bool, (left, right): (char, char)) -> PairEffect {
    let splits = match behavior {
        Behavior::Removed | Behavior::Isolated => before || after,
        Behavior::MergedWithPrevious => before,
        Behavior::MergedWithNext => after,
        Behavior::Contiguous => before != after,
    };
    if splits {
        PairEffect::Split
    } else {
        PairEffect::Keep(left, right)
    }
}
