//! Ids of a text to which more text is appended, such as the output of a model.
//!
//! Ids before the last joint of the text (see `joints`) never change, whatever text is appended. Only the text after
//! this joint is kept, and it is encoded again with each append. For Unigram, the sum of the scores from the start of
//! the pretoken to the joint is also kept, so rounding is the same as for the whole text.
//!
//! Cost: each append takes time for the appended text and for the text after the last joint, which is usually a word.
//! Memory: the text after the last joint. The worst case is a text without joints, such as a long run of one letter:
//! each append encodes the whole text again.

use crate::error::Result;
use crate::model::unigram::Unigram;
use crate::model::{Model, Out, Scratch};
use crate::tokenizer::pipeline::permit::Permit;
use crate::tokenizer::pipeline::Tokenizer;
use crate::util::cancel::KeepGoing;

/// A growing text and its ids: more text can be appended at any time. For joints, see `joints`.
#[derive(Debug, Clone, Default)]
pub struct Growing {
    text: String,        // the character before the last joint, and the text after the joint
    context: usize,      // bytes of `text` before the last joint
    ids: Vec<u32>,       // ids of the text after the last joint
    sum: f64,            // sum of Unigram's scores from the start of the pretoken to the last joint
    num_stable: usize,   // number of ids before the last joint
    stable_bytes: usize, // number of bytes before the last joint
}

/// Change of the ids by an append: the first `start` ids stay, and `ids` replace all others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Number of ids that stay unchanged, counted from the start of the text.
    pub start: usize,
    /// The new ids. They replace all old ids from index `start` on.
    pub ids: Vec<u32>,
}

/// Arguments of one append. All calls of the encoder during the append use the same arguments.
struct AppendCall<'a> {
    tok: &'a Tokenizer,
    permit: &'a Permit<'a>,
    keep_going: KeepGoing<'a>,
}

impl Growing {
    /// Returns the number of ids that no append can change.
    pub fn num_stable(&self) -> usize {
        self.num_stable
    }

    /// Returns the number of all ids.
    pub fn len(&self) -> usize {
        self.num_stable + self.ids.len()
    }

    /// Returns true if there are no ids.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of bytes of the text.
    pub fn num_bytes(&self) -> usize {
        self.stable_bytes + self.text.len() - self.context
    }

    /// Appends to the text. On error, nothing changes.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`], with the position in the whole text; `Interrupted`.
    pub fn append(
        &mut self,
        tok: &Tokenizer,
        permit: &Permit<'_>,
        text: &str,
        keep_going: KeepGoing<'_>,
    ) -> Result<Change> {
        let before = self.text.len();
        self.text.push_str(text);
        let done = self.appended(&AppendCall { tok, permit, keep_going }, before);
        if done.is_err() {
            self.text.truncate(before);
        }
        done
    }

    fn appended(&mut self, call: &AppendCall<'_>, before: usize) -> Result<Change> {
        // Start of `self.text` in the whole text.
        let start = self.stable_bytes - self.context;
        // Before this append, the last joint was at `self.context`. So a new joint cannot be before the last character
        // of the old text. The search begins at that character.
        let known = self.text[..before].chars().next_back().map_or(0, char::len_utf8);
        let first = self.text[self.context..].chars().next().map_or(0, char::len_utf8);
        let from = (before - known).max(self.context + first);
        let last = self.text.chars().next_back().map_or(0, char::len_utf8);
        let until = self.text.len() - last;
        let joint = if from <= until { call.tok.last_joint(&self.text, from, until) } else { None };
        let (mut stable, mut rest) = (Vec::new(), Vec::new());
        let (mut rest_at, mut context, mut sum) = (0, self.context, self.sum);
        if let Some(joint) = joint {
            let text = &self.text[..joint];
            stable = call.after(text, self.context, &mut sum).map_err(|error| error.shifted(start))?;
            context = text.chars().next_back().map_or(0, char::len_utf8);
            rest_at = joint - context;
        }
        let mut sum_after = sum;
        if rest_at + context < self.text.len() {
            rest = call
                .after(&self.text[rest_at..], context, &mut sum_after)
                .map_err(|error| error.shifted(start + rest_at))?;
        }
        let num_equal = self.ids.iter().zip(stable.iter().chain(&rest)).take_while(|(old, new)| old == new).count();
        let change = Change {
            start: self.num_stable + num_equal,
            ids: stable.iter().chain(&rest).skip(num_equal).copied().collect(),
        };
        self.num_stable += stable.len();
        self.stable_bytes = start + rest_at + context;
        self.text.drain(..rest_at);
        (self.context, self.ids, self.sum) = (context, rest, sum);
        Ok(change)
    }
}

impl AppendCall<'_> {
    /// Encodes a text and returns the ids that follow its first `context` bytes. These bytes are the character before a
    /// joint (a position whose earlier ids never change). If there is no such character, `context` is 0. Only Unigram
    /// models use `sum`: on entry, it is the value of [`Growing::sum`] at the byte `context` of the text; on return, it
    /// is the value at the end of the text.
    fn after(&self, text: &str, context: usize, sum: &mut f64) -> Result<Vec<u32>> {
        if let Model::Unigram(unigram) = self.tok.model() {
            return self.after_sum(unigram, text, context, sum);
        }
        let encode = |text: &str| self.tok.encode_long(text, self.permit, 1, &mut || (self.keep_going)());
        let mut ids = encode(text)?;
        if context > 0 {
            let num_context = encode(&text[..context])?.len();
            ids.drain(..num_context);
        }
        Ok(ids)
    }

    fn after_sum(&self, unigram: &Unigram, text: &str, context: usize, sum: &mut f64) -> Result<Vec<u32>> {
        let (mut scratch, mut ids) = (Scratch::default(), Vec::new());
        let mut skipped = 0; // total bytes of the context's segments
        self.tok.for_each_segment(&text.as_bytes()[..context], self.permit, false, self.keep_going, |segment| {
            skipped += segment.bytes.len();
            Ok(())
        })?;
        let mut at = 0;
        self.tok.for_each_segment(text.as_bytes(), self.permit, self.permit.refuses(), self.keep_going, |segment| {
            let start = skipped.saturating_sub(at).min(segment.bytes.len());
            at += segment.bytes.len();
            if start == segment.bytes.len() {
                return Ok(()); // the segment is part of the context, and the next segment begins a new sum
            }
            if start == 0 {
                *sum = 0.0;
            }
            let mut out = Out { special: self.permit.specials(), ..Out::ids(&mut ids) };
            match segment.added {
                Some(id) => out.ids.push(id),
                None => unigram
                    .encode_after(&segment.bytes[start..], sum, self.keep_going, &mut scratch, &mut out)
                    .map_err(|error| segment.located(error))?,
            }
            Ok(())
        })?;
        Ok(ids)
    }
}
