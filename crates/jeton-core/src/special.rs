//! Added tokens in a text: where they stand, longest first.
//!
//! Of two added tokens that begin at the same place the longer wins (`<a>b` over `<a>`), and of two places the earlier.
//! Which tokens are looked for is the caller's permission, not a property of the text.
//!
//! Cost: O(text), one Aho–Corasick pass. Plain version: `reference/step07_special.py`.

use aho_corasick::{AhoCorasick, Input, MatchKind};

use crate::error::{Error, Result};

/// Finds the first of a set of strings.
#[derive(Debug, Clone)]
pub struct Matcher {
    automaton: AhoCorasick,
    ids: Vec<u32>, // pattern -> id
}

/// An added token in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// Its id.
    pub id: u32,
}

impl Matcher {
    /// A matcher for `tokens`; `None` when there are none.
    ///
    /// # Errors
    /// [`Error::config`] for an empty token, or more of them than an automaton holds.
    pub fn new<'a>(tokens: impl IntoIterator<Item = (&'a [u8], u32)>) -> Result<Option<Self>> {
        let (contents, ids): (Vec<&[u8]>, Vec<u32>) = tokens.into_iter().unzip();
        if contents.is_empty() {
            return Ok(None);
        }
        if contents.iter().any(|content| content.is_empty()) {
            return Err(Error::config("a special token cannot be the empty string"));
        }
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(contents)
            .map_err(|error| Error::config(format!("too many added tokens: {error}")))?;
        Ok(Some(Self { automaton, ids }))
    }

    /// The first token at or after `start`.
    pub fn find(&self, text: &[u8], start: usize) -> Option<Found> {
        let found = self.automaton.find(Input::new(text).range(start..))?;
        Some(Found { start: found.start(), end: found.end(), id: self.ids[found.pattern().as_usize()] })
    }
}
