//! Ids of a text that grows at its end.
//!
//! Ids before the last joint of the text are final, whatever is appended. Only the text after it is kept, and encoded
//! again with each append.
//!
//! Invariant: after each append, the ids are those of the whole text, up to rounding of Unigram (`joints`).
//! Cost: time for the appended text and the text after the last joint, which is usually a word; memory for the latter. The
//! worst case is a text without joints, such as a long run of one letter: all of it is encoded with each append.

use super::permit::Permit;
use super::pipeline::Tokenizer;
use crate::error::Result;

/// A text that grows.
#[derive(Debug, Clone, Default)]
pub struct Growing {
    text: String,        // after the last joint, with the character before it
    context: usize,      // bytes of that character
    context_ids: usize,  // its ids
    ids: Vec<u32>,       // of the text after the last joint
    num_stable: usize,   // ids before it
    stable_bytes: usize, // bytes before it
}

/// Ids after an append: the first `start` ids stay, and these follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Number of ids that stay.
    pub start: usize,
    /// The ids after them.
    pub ids: Vec<u32>,
}

impl Growing {
    /// Number of ids that no append can change.
    pub fn num_stable(&self) -> usize {
        self.num_stable
    }

    /// Number of all ids.
    pub fn len(&self) -> usize {
        self.num_stable + self.ids.len()
    }

    /// Returns true if there are no ids.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of bytes of the text.
    pub fn num_bytes(&self) -> usize {
        self.stable_bytes + self.text.len() - self.context
    }

    /// Appends to the text. Without effect on error.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`], with the position in the whole text; `Interrupted`.
    pub fn append(
        &mut self,
        tok: &Tokenizer,
        permit: &Permit<'_>,
        text: &str,
        watch: &mut dyn FnMut() -> bool,
    ) -> Result<Change> {
        let before = self.text.len();
        self.text.push_str(text);
        let done = self.appended(tok, permit, before, watch);
        if done.is_err() {
            self.text.truncate(before);
        }
        done
    }

    fn appended(
        &mut self,
        tok: &Tokenizer,
        permit: &Permit<'_>,
        before: usize,
        watch: &mut dyn FnMut() -> bool,
    ) -> Result<Change> {
        let start = self.stable_bytes - self.context; // of `self.text` in the whole text
        let mut encode = |text: &str, at: usize| {
            tok.encode_long(text, permit, 1, watch).map_err(|error| error.shifted(at))
        };
        // Without a joint before, there is none in the text that was there, except where the appended text begins.
        let known = self.text[..before].chars().next_back().map_or(0, char::len_utf8);
        let first = self.text[self.context..].chars().next().map_or(0, char::len_utf8);
        let from = (before - known).max(self.context + first);
        let last = self.text[..].chars().next_back().map_or(0, char::len_utf8);
        let until = self.text.len() - last;
        let joint = if from <= until { tok.last_joint(&self.text, from, until) } else { None };
        let stable = match joint {
            Some(joint) => encode(&self.text[..joint], start)?.split_off(self.context_ids),
            None => Vec::new(),
        };
        let (rest_at, context, context_ids) = match joint {
            Some(joint) => {
                let context = self.text[..joint].chars().next_back().map_or(0, char::len_utf8);
                let context_ids = encode(&self.text[joint - context..joint], start + joint - context)?.len();
                (joint - context, context, context_ids)
            }
            None => (0, self.context, self.context_ids),
        };
        let rest = encode(&self.text[rest_at..], start + rest_at)?.split_off(context_ids);
        let num_equal = self.ids.iter().zip(stable.iter().chain(&rest)).take_while(|(old, new)| old == new).count();
        let change = Change {
            start: self.num_stable + num_equal,
            ids: stable.iter().chain(&rest).skip(num_equal).copied().collect(),
        };
        self.num_stable += stable.len();
        self.stable_bytes = start + rest_at + context;
        self.text.drain(..rest_at);
        (self.context, self.context_ids, self.ids) = (context, context_ids, rest);
        Ok(change)
    }
}
