//! Joints: positions of a text such that the ids before and after them are independent.
//!
//! Definition: `b` is a joint of a text if for all `a < b < c`, `ids(text[a..c])` is `ids(text[a..b])` followed by ids
//! that depend only on `text[b..c]`. Therefore the number of ids of a text is the sum of the numbers before and after a
//! joint, and the ids before the last joint stay the same when text is appended. To compute the ids after a joint, the
//! text is encoded from the character before the joint, and the ids of that character are dropped.
//!
//! The two characters next to a position decide whether it is a joint, stage by stage (`PairEffect`). So some joints
//! are not recognized, but every recognized position is a joint. Nearly all published tokenizers have a joint between
//! words.
//!
//! Exception: the definition ignores rounding. Unigram adds scores from the start of a pretoken. If two segmentations
//! have nearly equal scores, rounding can favor one of them in a part of a text, and the other in the whole
//! text (`model/unigram`). Therefore `TextCutter` checks each result: it encodes the result as a whole and counts the
//! ids. `growing` instead keeps the sum of the scores from the start of the pretoken to the joint.
//!
//! Cost: the tables are built on first use, in time linear in the vocabulary. For two ASCII characters, a lookup is one
//! load; for other characters, it takes a few loads from the tables of the stages.

use std::sync::atomic::{AtomicU8, Ordering};

use hashbrown::HashSet;

use crate::model::pair_effect::ModelPairs;
use crate::normalize::pair_effect::NormalizerPairs;
use crate::normalize::Normalizer;
use crate::pretokenize::parts::pair_effect::SplitterPairs;
use crate::util::pair_effect::PairEffect;

/// Tables that determine whether a position between two characters is a joint.
#[derive(Debug)]
pub(in crate::tokenizer) struct Joints {
    added: [AddedPairs; 2], // tokens matched in raw text; tokens matched in normalized text
    normalizers: Vec<NormalizerPairs>,
    splitters: Vec<SplitterPairs>,
    model: ModelPairs,
    ascii: Box<[AtomicU8]>, // by pair of characters: 0 unknown, 1 no joint, 2 joint
}

/// All pairs of adjacent characters inside added tokens, and the last character of each added token.
#[derive(Debug, Default)]
pub(in crate::tokenizer) struct AddedPairs {
    pairs: HashSet<(char, char)>,
    last: HashSet<char>,
    takes_space: bool,  // some token includes white space on its left or right
    beyond_ascii: bool, // some token has characters beyond ASCII
}

impl AddedPairs {
    /// Adds a token. `takes_space`: true if a match of the token includes the white space next to it.
    pub(in crate::tokenizer) fn add(&mut self, content: &[u8], takes_space: bool) {
        self.takes_space |= takes_space;
        let text = String::from_utf8_lossy(content);
        self.beyond_ascii |= !text.is_ascii();
        self.pairs.extend(text.chars().zip(text.chars().skip(1)));
        self.last.extend(text.chars().next_back());
    }

    /// Returns false if an added token may cover the position between the two characters, or end at it. The end matters
    /// because the text after an added token is normalized separately.
    #[inline]
    fn allow(&self, left: char, right: char) -> bool {
        let touches = self.takes_space && left.is_whitespace();
        let has_left = left.is_ascii() || self.beyond_ascii;
        !(touches || has_left && self.has(left, right))
    }

    fn has(&self, left: char, right: char) -> bool {
        self.last.contains(&left) || self.pairs.contains(&(left, right))
    }
}

impl Joints {
    /// Collects the tables of all stages. `added[0]` is the table for added tokens that are matched in raw text, and
    /// `added[1]` for those that are matched in normalized text.
    pub(in crate::tokenizer) fn new(
        added: [AddedPairs; 2],
        normalizers: Vec<NormalizerPairs>,
        splitters: Vec<SplitterPairs>,
        model: ModelPairs,
    ) -> Self {
        let ascii = (0..1 << 14).map(|_| AtomicU8::new(0)).collect();
        Self { added, normalizers, splitters, model, ascii }
    }

    /// Returns true if a position between these characters is a joint. `normalizers` must be the ones from which the
    /// tables were built.
    #[inline]
    pub(in crate::tokenizer) fn is_joint(&self, normalizers: &[Normalizer], left: char, right: char) -> bool {
        if !left.is_ascii() || !right.is_ascii() {
            return self.find(normalizers, left, right);
        }
        let cell = &self.ascii[(left as usize) << 7 | right as usize];
        match cell.load(Ordering::Relaxed) {
            0 => {
                let found = self.find(normalizers, left, right);
                cell.store(1 + u8::from(found), Ordering::Relaxed);
                found
            }
            known => known == 2,
        }
    }

    /// Returns true if all stages before the model have the effect [`PairEffect::Keep`] on two adjacent characters: no
    /// stage splits the text between them, and each processes the text before and after this position independently.
    pub(in crate::tokenizer) fn keeps(&self, normalizers: &[Normalizer], left: char, right: char) -> bool {
        self.before_model(normalizers, left, right).is_some_and(|pair| matches!(pair, PairEffect::Keep(..)))
    }

    #[inline]
    fn find(&self, normalizers: &[Normalizer], left: char, right: char) -> bool {
        match self.before_model(normalizers, left, right) {
            Some(PairEffect::Split) => true,
            Some(PairEffect::Keep(left, right)) => self.model.splits(left, right),
            _ => false,
        }
    }

    /// Returns the combined effect of all stages before the model on two adjacent characters; None if an added token
    /// may contain both characters or end between them.
    #[inline]
    fn before_model(&self, normalizers: &[Normalizer], left: char, right: char) -> Option<PairEffect> {
        if !self.added[0].allow(left, right) {
            return None;
        }
        let mut pair = (left, right);
        for (normalizer, pairs) in normalizers.iter().zip(&self.normalizers) {
            match normalizer.pair_effect(pairs, pair.0, pair.1) {
                PairEffect::Keep(left, right) => pair = (left, right),
                _ => return Some(PairEffect::Unknown),
            }
        }
        if !self.added[1].allow(pair.0, pair.1) {
            return None;
        }
        for (index, splitter) in self.splitters.iter().enumerate() {
            match splitter.effect(pair.0, pair.1) {
                PairEffect::Split => return Some(PairEffect::Split),
                // The effect is unknown, because the following components read characters of the byte alphabet.
                PairEffect::Keep(..) if splitter.spells_bytes() && index + 1 < self.splitters.len() => {
                    return Some(PairEffect::Unknown);
                }
                PairEffect::Keep(left, right) => pair = (left, right),
                PairEffect::Unknown => return Some(PairEffect::Unknown),
            }
        }
        Some(PairEffect::Keep(pair.0, pair.1))
    }
}
