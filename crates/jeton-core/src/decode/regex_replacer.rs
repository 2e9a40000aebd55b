//! `Replace` of a regex, in whole strings and in strings that arrive in fragments.
//!
//! Invariant: on valid UTF-8 the matches equal those of HF, which searches each string separately. The search reads
//! each invalid sequence as one U+FFFD; the original bytes are kept in the output where no match replaces them.
//!
//! If a string arrives in fragments, text is written as soon as later text cannot change its matches. The matcher
//! returns the first position at which an attempt to match reads past the end of the text. The text from this position
//! on is held back. The last written characters are kept as well, because lookbehinds can read them. If much text is
//! held back, it is searched again only after it has grown by an eighth.
//!
//! Cost: a search takes at most the regex's budget of steps; the budget is linear in the text. If a string arrives in
//! fragments, each character is searched an amortized constant number of times.
//! Source: huggingface/tokenizers, `normalizers/replace.rs` and `tokenizer/pattern.rs`.
//! Left out, and refused by name: patterns that match the empty text, and patterns that Jeton's dialect does not
//! support.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::regex::{in_our_dialect, Decided, Regex};

/// If at most this many bytes of text are held back, they are searched again for every fragment.
const SHORT: usize = 256;

const REPLACEMENT: &str = "\u{fffd}";

/// Replacement of all matches of a regex.
#[derive(Debug, Clone)]
pub(super) struct RegexReplacer {
    regex: Arc<Regex>,
    content: String,
}

/// State of [`RegexReplacer`] within one string.
#[derive(Debug, Clone, Default)]
pub(super) struct RegexHeld {
    text: String,                          // written text that lookbehinds can read, then the text held back
    at: usize,                             // number of bytes of `text` that were written
    invalid: VecDeque<(usize, Box<[u8]>)>, // offsets of U+FFFD in `text`, and the bytes that each replaces
    tail: Vec<u8>,                         // bytes of an incomplete character
    next: usize,                           // the next search starts when `text` has at least this length
}

impl RegexReplacer {
    /// # Errors
    /// [`Error::unsupported`] for a construct that Jeton's dialect does not support, and for a regex that matches the
    /// empty text.
    pub fn new(pattern: &str, content: &str) -> Result<Self> {
        let refused = |what: String| {
            let message = format!("a decoder's Replace of the regex {pattern:?} is not supported: it contains {what}");
            Error::unsupported(what, message)
        };
        let regex = Regex::new(&in_our_dialect(pattern).map_err(refused)?)?;
        if regex.can_be_empty() {
            return Err(refused("a match of the empty text".to_owned()));
        }
        Ok(Self { regex: Arc::new(regex), content: content.to_owned() })
    }

    /// Appends `text` with every match replaced, until `out` has more than `most` bytes.
    ///
    /// # Errors
    /// [`Error::text`] for a search that exceeds its budget.
    pub fn replace(&self, text: &[u8], out: &mut Vec<u8>, most: usize) -> Result<()> {
        let Ok(valid) = std::str::from_utf8(text) else {
            let mut held = RegexHeld::default();
            held.read(text);
            return self.close(&mut held, out, most);
        };
        let mut matcher = self.regex.matcher(valid, 0);
        let mut done = 0;
        while let Some((start, end)) = self.regex.find(&mut matcher, done)? {
            out.extend_from_slice(&text[done..start]);
            out.extend_from_slice(self.content.as_bytes());
            done = end;
            if out.len() > most {
                return Ok(());
            }
        }
        out.extend_from_slice(&text[done..]);
        Ok(())
    }

    /// Reads a part of a string, and appends the text that later parts cannot change.
    pub fn part(&self, held: &mut RegexHeld, part: &[u8], out: &mut Vec<u8>, most: usize) {
        held.read(part);
        if held.text.len() < held.next {
            return;
        }
        let text = std::mem::take(&mut held.text);
        let mut matcher = self.regex.matcher(&text, held.at);
        loop {
            match self.regex.find_decided(&mut matcher, held.at) {
                Ok(Decided::Match(start, end)) => self.put(held, &text, start, end, out),
                Ok(Decided::Open(at)) => {
                    held.write(&text, at, out);
                    break;
                }
                Err(_) => break, // the final search has a budget for the whole string
            }
            if out.len() > most {
                break;
            }
        }
        held.text = text;
        held.release(self.regex.reach_back());
    }

    /// Ends the string, and appends the rest of it.
    ///
    /// # Errors
    /// As [`RegexReplacer::replace`].
    pub fn close(&self, held: &mut RegexHeld, out: &mut Vec<u8>, most: usize) -> Result<()> {
        let mut held = std::mem::take(held);
        if !held.tail.is_empty() {
            let tail = std::mem::take(&mut held.tail);
            held.put_invalid(&tail);
        }
        let text = std::mem::take(&mut held.text);
        let mut matcher = self.regex.matcher(&text, held.at);
        while let Some((start, end)) = self.regex.find(&mut matcher, held.at)? {
            self.put(&mut held, &text, start, end, out);
            if out.len() > most {
                return Ok(());
            }
        }
        held.write(&text, text.len(), out);
        Ok(())
    }

    /// Appends the text before a match, and the replacement of the match.
    fn put(&self, held: &mut RegexHeld, text: &str, start: usize, end: usize, out: &mut Vec<u8>) {
        held.write(text, start, out);
        while held.invalid.front().is_some_and(|&(at, _)| at < end) {
            held.invalid.pop_front();
        }
        held.at = end;
        out.extend_from_slice(self.content.as_bytes());
    }
}

impl RegexHeld {
    /// Appends bytes to the text that is held back.
    fn read(&mut self, bytes: &[u8]) {
        let joined;
        let bytes = if self.tail.is_empty() {
            bytes
        } else {
            joined = [&std::mem::take(&mut self.tail), bytes].concat();
            &joined
        };
        let mut left = bytes.len();
        for chunk in bytes.utf8_chunks() {
            self.text.push_str(chunk.valid());
            left -= chunk.valid().len() + chunk.invalid().len();
            let invalid = chunk.invalid();
            if left == 0 && std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none()) {
                self.tail = invalid.to_vec();
            } else if !invalid.is_empty() {
                self.put_invalid(invalid);
            }
        }
    }

    fn put_invalid(&mut self, bytes: &[u8]) {
        self.invalid.push_back((self.text.len(), bytes.into()));
        self.text.push_str(REPLACEMENT);
    }

    /// Appends `text` to `out`, from `self.at` to `end`. If a U+FFFD stands for invalid bytes, the original bytes are
    /// appended in its place.
    fn write(&mut self, text: &str, end: usize, out: &mut Vec<u8>) {
        while let Some((at, bytes)) = self.invalid.pop_front() {
            if at >= end {
                self.invalid.push_front((at, bytes));
                break;
            }
            out.extend_from_slice(&text.as_bytes()[self.at..at]);
            out.extend_from_slice(&bytes);
            self.at = at + REPLACEMENT.len();
        }
        out.extend_from_slice(&text.as_bytes()[self.at..end]);
        self.at = end;
    }

    /// Drops the written text if there is much of it, but keeps its last `reach` characters. Sets `next`: the next
    /// search starts when `text` has at least this length.
    fn release(&mut self, reach: usize) {
        if self.at > 2 * (self.text.len() - self.at) + SHORT {
            let kept = self.text[..self.at].char_indices().rev().take(reach).last();
            let start = kept.map_or(self.at, |(start, _)| start);
            self.text.drain(..start);
            self.at -= start;
            self.invalid.iter_mut().for_each(|(at, _)| *at -= start);
        }
        let held = self.text.len() - self.at;
        self.next = if held > SHORT { self.text.len() + held / 8 } else { 0 };
    }
}
