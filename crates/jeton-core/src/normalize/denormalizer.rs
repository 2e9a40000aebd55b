//! SentencePiece's denormalizer: rewrites decoded text by a character map. The text can arrive in fragments.
//!
//! Invariant: on valid UTF-8, the result equals the result of SentencePiece's normalizer with the same map and options
//! ([`super::sentencepiece`] is its version for encoding). Bytes that are not UTF-8 are kept, and no rule matches
//! across them.
//!
//! Between fragments, the denormalizer holds back the beginning of a rule, an incomplete character, and, with
//! `remove_extra_whitespaces`, spaces that must be removed if the text ends. Only the number of these spaces is stored,
//! so the longest rule bounds the memory.
//!
//! Cost: one bounded lookup at each position. Source: google/sentencepiece, `normalizer.cc`, and the end of `Decode` in
//! `sentencepiece_processor.cc`.

use std::sync::Arc;

use super::charsmap::Charsmap;
use super::sentencepiece::{CharsmapOptions, MARK};
use crate::error::{Error, Result};
use crate::util::cancel::most_bytes;

/// Character map for decoded text, with options for white space.
#[derive(Debug, Clone)]
pub struct Denormalizer {
    map: Arc<Charsmap>,
    options: CharsmapOptions,
}

/// State of a [`Denormalizer`] within one text.
#[derive(Debug, Clone, Default)]
pub struct DenormalizerState {
    held: Vec<u8>,     // bytes not read yet
    is_inside: bool,   // true after text other than leading white space
    after_space: bool, // true if the next spaces are removed
    spaces: usize,     // number of spaces that are held back
    read: usize,       // number of bytes read
    written: usize,    // number of bytes written
}

impl Denormalizer {
    /// Builds a denormalizer from a character map and options for white space.
    ///
    /// # Errors
    /// [`Error::format`] for an invalid map.
    pub fn new(map: &[u8], options: CharsmapOptions) -> Result<Self> {
        Ok(Self { map: Arc::new(Charsmap::new(map)?), options })
    }

    /// Rewrites a text.
    ///
    /// # Errors
    /// [`Error::config`] for output of more than `most_bytes` bytes.
    pub fn whole(&self, text: &[u8]) -> Result<Vec<u8>> {
        let mut out = Vec::with_capacity(text.len());
        let mut state = DenormalizerState::default();
        self.push(&mut state, text, &mut out)?;
        self.finish(&mut state, &mut out)?;
        Ok(out)
    }

    /// Rewrites the middle part of a text, without context on either side.
    ///
    /// # Errors
    /// As [`Denormalizer::whole`].
    pub fn middle(&self, text: &[u8]) -> Result<Vec<u8>> {
        let mut out = Vec::with_capacity(text.len());
        let mut state = DenormalizerState { is_inside: true, ..DenormalizerState::default() };
        self.push(&mut state, text, &mut out)?;
        self.read(&mut state, true, &mut out)?;
        self.write_spaces(&mut state, &mut out);
        Ok(out)
    }

    /// Reads a fragment of a text, and appends the output that later text cannot change.
    ///
    /// # Errors
    /// As [`Denormalizer::whole`] for the concatenation of all fragments so far.
    pub fn push(&self, state: &mut DenormalizerState, text: &[u8], out: &mut Vec<u8>) -> Result<()> {
        state.held.extend_from_slice(text);
        state.read += text.len();
        self.read(state, false, out)
    }

    /// Ends the text, and appends the rest of the output.
    ///
    /// # Errors
    /// As [`Denormalizer::whole`].
    pub fn finish(&self, state: &mut DenormalizerState, out: &mut Vec<u8>) -> Result<()> {
        self.read(state, true, out)?;
        if !self.options.remove_extra_whitespaces {
            self.write_spaces(state, out);
        }
        *state = DenormalizerState::default();
        Ok(())
    }

    /// Rewrites as much as possible of the held-back text. `ends`: true if no text follows, so that all of it can be
    /// rewritten.
    fn read(&self, state: &mut DenormalizerState, ends: bool, out: &mut Vec<u8>) -> Result<()> {
        let held = std::mem::take(&mut state.held);
        let most = most_bytes(state.read);
        let mut at = 0;
        while at < held.len() {
            let rest = &held[at..];
            let (rule, is_open) = self.map.longest(rest);
            if is_open && !ends {
                break;
            }
            let (taken, new) = match (rule, first_character(rest)) {
                (Some((taken, new)), _) => (taken, new.as_bytes()),
                (None, First::Character(len) | First::Invalid(len)) => (len, &rest[..len]),
                (None, First::Incomplete) if !ends => break,
                (None, First::Incomplete) => (rest.len(), rest),
            };
            self.put(state, new, out);
            at += taken;
            if state.written > most {
                return Err(Error::config(format!("the denormalizer produces more than {most} bytes from this text")));
            }
        }
        state.held.extend_from_slice(&held[at..]);
        Ok(())
    }

    /// Writes `new`, which replaces one match of a rule or one character. The options determine which of its spaces are
    /// removed, held back or written as `▁`.
    fn put(&self, state: &mut DenormalizerState, new: &[u8], out: &mut Vec<u8>) {
        let removes = self.options.remove_extra_whitespaces;
        if !state.is_inside {
            if removes && new == b" " {
                return;
            }
            (state.is_inside, state.after_space) = (true, removes);
            state.spaces += usize::from(self.options.add_dummy_prefix);
        }
        let mut new = new;
        while let (true, Some(rest)) = (state.after_space, new.strip_prefix(b" ")) {
            new = rest;
        }
        let mut rest = new;
        while let Some((&byte, after)) = rest.split_first() {
            // With `escape_whitespaces`, SentencePiece also removes `▁` at the end, even if it is not an escaped space.
            let mark = rest.strip_prefix(MARK.as_bytes()).filter(|_| self.options.escape_whitespaces);
            if byte == b' ' || mark.is_some() {
                state.spaces += 1;
                rest = mark.unwrap_or(after);
                continue;
            }
            self.write_spaces(state, out);
            out.push(byte);
            state.written += 1;
            rest = after;
        }
        if !removes {
            self.write_spaces(state, out);
        }
        if let Some(last) = new.last() {
            state.after_space = removes && *last == b' ';
        }
    }

    fn write_spaces(&self, state: &mut DenormalizerState, out: &mut Vec<u8>) {
        let space = if self.options.escape_whitespaces { MARK } else { " " };
        for _ in 0..std::mem::take(&mut state.spaces) {
            out.extend_from_slice(space.as_bytes());
            state.written += space.len();
        }
    }
}

/// What a nonempty text begins with: a character of this many bytes, this many invalid bytes, or an incomplete
/// character, which is then the whole text.
enum First {
    Character(usize),
    Invalid(usize),
    Incomplete,
}

fn first_character(text: &[u8]) -> First {
    if text[0] < 0x80 {
        return First::Character(1);
    }
    let start = &text[..text.len().min(4)];
    let Some(chunk) = start.utf8_chunks().next() else { return First::Incomplete };
    if let Some(c) = chunk.valid().chars().next() {
        return First::Character(c.len_utf8());
    }
    let is_incomplete = std::str::from_utf8(chunk.invalid()).is_err_and(|error| error.error_len().is_none());
    if is_incomplete && chunk.invalid().len() == text.len() {
        First::Incomplete
    } else {
        First::Invalid(chunk.invalid().len())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;
    use crate::normalize::compile::{compile, Rules};
    use crate::normalize::Normalizer;

    fn map() -> Vec<u8> {
        let rules = [("a", "b"), ("ab", " "), ("abc", ""), ("é中", "  x "), (" .", "."), ("  ", "é")];
        let rules: Rules = rules.iter().map(|&(old, new)| (old.to_owned(), new.to_owned())).collect();
        compile(&rules).unwrap()
    }

    /// Checks that denormalized text equals the result of the normalizer for encoding, even if the text arrives in
    /// fragments.
    #[test]
    fn text_equals_that_of_the_normalizer() {
        let map = map();
        let mut state = 3u64;
        let mut draw = |below: usize| {
            state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            (state >> 33) as usize % below
        };
        for kind in 0..8 {
            let options = CharsmapOptions {
                add_dummy_prefix: kind & 1 != 0,
                remove_extra_whitespaces: kind & 2 != 0,
                escape_whitespaces: kind & 4 != 0,
                treat_whitespace_as_suffix: false,
            };
            let denormalizer = Denormalizer::new(&map, options).unwrap();
            let normalizer = Normalizer::sentencepiece(Some(&map), options, &[]).unwrap();
            for _ in 0..2_000 {
                let text: String =
                    (0..draw(9)).map(|_| ["a", "b", "c", " ", " ", "é", "中", ".", "▁"][draw(9)]).collect();
                let wanted = normalizer.without_starts(text.as_bytes(), &|| true).unwrap();
                let (mut out, mut fragments) = (Vec::new(), DenormalizerState::default());
                let cut = draw(text.len() + 1);
                for part in [&text.as_bytes()[..cut], &text.as_bytes()[cut..]] {
                    denormalizer.push(&mut fragments, part, &mut out).unwrap();
                }
                denormalizer.finish(&mut fragments, &mut out).unwrap();
                assert_eq!(String::from_utf8(out).unwrap(), wanted, "{text:?} {options:?}");
            }
        }
    }

    #[test]
    fn text_is_final_when_no_rule_can_continue() {
        let options = CharsmapOptions {
            add_dummy_prefix: false,
            remove_extra_whitespaces: false,
            escape_whitespaces: false,
            treat_whitespace_as_suffix: false,
        };
        let denormalizer = Denormalizer::new(&map(), options).unwrap();
        let (mut state, mut out) = (DenormalizerState::default(), Vec::new());
        let mut texts = Vec::new();
        for text in [&b"x"[..], b"a", b"b", b"c", b" ", b"\xff", b"\xc3", b"\xa9", b"!", b"\xe4\xb8"] {
            out.clear();
            denormalizer.push(&mut state, text, &mut out).unwrap();
            texts.push(out.clone());
        }
        assert_eq!(texts, [&b"x"[..], b"", b"", b"", b"", b" \xff", b"", b"", "é!".as_bytes(), b""]);
        out.clear();
        denormalizer.finish(&mut state, &mut out).unwrap();
        assert_eq!(out, b"\xe4\xb8");
        assert_eq!(denormalizer.middle(b" a ").unwrap(), b" b ");
    }
}
