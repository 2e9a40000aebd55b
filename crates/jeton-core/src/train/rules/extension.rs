//! Rule for learning new merges in addition to a finished vocabulary.
//!
//! New merges come after all existing ones. A pair is not allowed to merge if one of these conditions holds:
//! - both parts are existing entries, and the pair occurs in the encoding of protected text. If these pairs do not
//!   merge, no new merge applies to that text, so its encoding stays the same;
//! - the result is spelled like an added token or like any existing entry;
//! - a part is an added token, an unknown token or a byte token;
//! - the vocabulary ranks tokens instead of merges (as rank files do), and the result is a substring of an entry that
//!   is unreachable: no sequence of merges produces it. The new merge could make that entry reachable. The
//!   merge into that entry would then precede all new merges, because the rank of the entry is lower.
//!
//! Cost: one or two hash lookups for each new pair.

use std::collections::HashSet;

use super::Rule;
use crate::error::{Error, Result};
use crate::vocab::alphabet::WORD_START;
use crate::vocab::{Kind, Vocab};

/// Maximum number of distinct substrings of unreachable entries.
const MAX_INSIDE: usize = 1 << 22;

/// Rule that permits the new merges of an extension.
pub struct ExtensionRule<'a> {
    vocab: &'a Vocab,
    others: HashSet<&'a [u8]>, // contents of added, unknown and byte tokens
    protected: HashSet<(u32, u32)>,
    inside: HashSet<&'a [u8]>, // substrings of unreachable entries
    splits_words: bool,
    rule: Option<&'a dyn Rule>,
}

impl<'a> ExtensionRule<'a> {
    /// Creates a rule. `byte_tokens`: ids of the entries of byte fallback. `unreached`: entries that no sequence of
    /// merges produces; if the vocabulary does not rank tokens, there are none. `splits_words`: true if no merge joins
    /// a symbol to a `▁` on its right. `rule`: a further constraint.
    ///
    /// # Errors
    /// `Config` if the unreached entries have too many substrings.
    pub fn new(
        vocab: &'a Vocab,
        protected: HashSet<(u32, u32)>,
        byte_tokens: impl Iterator<Item = u32>,
        unreached: impl Iterator<Item = &'a [u8]>,
        splits_words: bool,
        rule: Option<&'a dyn Rule>,
    ) -> Result<Self> {
        let is_ordinary = |kind: Kind| matches!(kind, Kind::Token | Kind::EndsWord | Kind::Unused);
        let others = vocab.iter().filter(|entry| !is_ordinary(entry.1)).map(|entry| entry.2);
        let others = others.chain(byte_tokens.map(|id| vocab.content(id))).collect();
        let mut inside = HashSet::new();
        for content in unreached {
            for start in 0..content.len() {
                for end in start + 2..=content.len() {
                    inside.insert(&content[start..end]);
                    if inside.len() > MAX_INSIDE {
                        return Err(Error::config("too many entries of the rank file are unreachable by merges"));
                    }
                }
            }
        }
        Ok(Self { vocab, others, protected, inside, splits_words, rule })
    }
}

impl Rule for ExtensionRule<'_> {
    fn allows(&self, left: &[u8], right: &[u8]) -> bool {
        if self.others.contains(left) || self.others.contains(right) || left.is_empty() || right.is_empty() {
            return false;
        }
        if let (Some(left), Some(right)) = (self.vocab.find(left, false), self.vocab.find(right, false)) {
            if self.protected.contains(&(left, right)) {
                return false;
            }
        }
        let result = [left, right].concat();
        let is_taken = self.vocab.find(&result, false).is_some() || self.others.contains(&result[..]);
        if is_taken || (!self.inside.is_empty() && self.inside.contains(&result[..])) {
            return false;
        }
        if self.splits_words {
            let mut mark = [0; 4];
            let mark = WORD_START.encode_utf8(&mut mark).as_bytes();
            if right.starts_with(mark) && !left.ends_with(mark) {
                return false;
            }
        }
        self.rule.is_none_or(|rule| rule.allows(left, right))
    }
}
