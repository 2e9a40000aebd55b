//! SentencePiece's normalizer for bytes. It aligns the result with the input as SentencePiece's own interface does.
//!
//! Invariant: `text` and `starts` equal the two results of SentencePiece's `Normalizer::Normalize`: `normalized` and
//! `norm_to_orig`. For each byte of `text`, `starts` has an input offset. If the byte belongs to a copied
//! character, this is the offset of the character. If the byte was written by a replacement, this is the start of the
//! replaced part of the input. One more element follows: the start of the white space removed at the end, or the length
//! of the input if none was removed. A byte of invalid UTF-8 becomes U+FFFD, to which no rule applies.
//!
//! Cost: linear time; `starts` has 4 bytes for each byte of `text`. Source: google/sentencepiece, `normalizer.cc`. The
//! module `sentencepiece` has the fast version for valid text, without `starts`.

use super::sentencepiece::{CharsmapOptions, SentencePiece, MARK};
use crate::error::{Error, Result};
use crate::util::cancel::CancelCheck;

/// A normalized text, with the offset in the input for each of its bytes and for its end. An empty text has no offsets.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Started {
    /// The normalized text.
    pub text: String,
    /// For each byte of the text, the offset of its source in the input; then one more offset, for the end of the text.
    pub starts: Vec<u32>,
}

/// Writer of the normalized text and its starts.
struct Writer {
    options: CharsmapOptions,
    space: &'static str,
    done: Started,
    has_begun: bool,
    after_space: bool,
}

impl Writer {
    fn push(&mut self, text: &str, start: u32) {
        self.done.text.push_str(text);
        self.done.starts.resize(self.done.text.len(), start);
    }

    /// Writes the dummy prefix on the first call, if the options put one at the start of the text.
    fn begin(&mut self, start: u32) {
        let writes = !self.has_begun && self.options.add_dummy_prefix && !self.options.treat_whitespace_as_suffix;
        self.has_begun = true;
        if writes {
            self.push(self.space, start);
        }
    }

    /// Writes `new`, the replacement of the part of the input that begins at `start`.
    fn put(&mut self, new: &str, start: u32) {
        if !self.has_begun && self.options.remove_extra_whitespaces && new == " " {
            return;
        }
        self.begin(start);
        let new = if self.after_space { new.trim_start_matches(' ') } else { new };
        if new.is_empty() {
            return;
        }
        for (index, part) in new.split(' ').enumerate() {
            if index > 0 {
                self.push(self.space, start);
            }
            self.push(part, start);
        }
        self.after_space = self.options.remove_extra_whitespaces && new.ends_with(' ');
    }

    /// Writes `text` unchanged. `text` must not contain a space.
    fn copy(&mut self, text: &str, start: u32) {
        self.begin(start);
        self.done.text.push_str(text);
        for (at, c) in text.char_indices() {
            self.done.starts.resize(self.done.starts.len() + c.len_utf8(), start + at as u32);
        }
        self.after_space = false;
    }

    fn finish(mut self, len: u32) -> Started {
        if !self.has_begun {
            return Started::default();
        }
        let mut end = len;
        while self.options.remove_extra_whitespaces && self.done.text.ends_with(self.space) {
            self.done.text.truncate(self.done.text.len() - self.space.len());
            end = self.done.starts[self.done.text.len()];
            self.done.starts.truncate(self.done.text.len());
        }
        if self.options.add_dummy_prefix && self.options.treat_whitespace_as_suffix {
            self.push(self.space, end);
        }
        self.done.starts.push(end);
        self.done
    }
}

impl SentencePiece {
    /// Normalizes a text.
    ///
    /// # Errors
    /// [`Error::text`] for a text over 4 GiB; `Interrupted`.
    pub(super) fn with_starts(&self, input: &[u8], cancel: &mut CancelCheck<'_>) -> Result<Started> {
        let too_long = |_| Error::text("a text over 4 GiB has no offsets", 0);
        let len = u32::try_from(input.len()).map_err(too_long)?;
        let options = self.options();
        let mut writer = Writer {
            options,
            space: if options.escape_whitespaces { MARK } else { " " },
            done: Started {
                text: String::with_capacity(input.len() + 16),
                starts: Vec::with_capacity(input.len() + 16),
            },
            has_begun: false,
            after_space: options.remove_extra_whitespaces,
        };
        let mut start = 0;
        for chunk in input.utf8_chunks() {
            let valid = chunk.valid();
            let mut at = 0;
            while at < valid.len() {
                cancel.check()?;
                let place = start + at as u32;
                let run = self.unchanged_run(&valid.as_bytes()[at..]);
                if run > 0 {
                    writer.copy(&valid[at..at + run], place);
                    at += run;
                    continue;
                }
                let (taken, new) = self.prefix(&valid[at..]);
                writer.put(new, place);
                at += taken;
            }
            start += valid.len() as u32;
            for _ in chunk.invalid() {
                writer.put("\u{FFFD}", start);
                start += 1;
            }
        }
        Ok(writer.finish(len))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use crate::aligned_text::AlignedText;
    use crate::normalize::Normalizer;

    fn normalizer(flags: [bool; 4]) -> Normalizer {
        let part = format!(
            r#"{{"type":"SentencePiece","precompiled_charsmap":null,"add_dummy_prefix":{},
            "remove_extra_whitespaces":{},"escape_whitespaces":{},"treat_whitespace_as_suffix":{}}}"#,
            flags[0], flags[1], flags[2], flags[3]
        );
        Normalizer::from_json(&part, &[b"x  y"]).unwrap()
    }

    #[test]
    fn starts_skip_removed_white_space() {
        let started = |text: &[u8]| normalizer([true, true, false, false]).with_starts(text, &|| true).unwrap();
        let done = started(b"  a  b ");
        assert_eq!((done.text.as_str(), done.starts), (" a b", vec![2, 2, 3, 5, 6]));
        assert_eq!(started(b"   "), super::Started::default());
        assert_eq!(started(b"a\xFF\xE3\x81").text, " a\u{FFFD}\u{FFFD}\u{FFFD}");
        let suffix = normalizer([true, true, false, true]).with_starts(b"a  ", &|| true).unwrap();
        assert_eq!((suffix.text.as_str(), suffix.starts), ("a ", vec![0, 1, 1]));
    }

    #[test]
    fn texts_equal_those_of_the_fast_version() {
        let mut state = 11u64;
        let mut draw = |below: usize| {
            state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            (state >> 33) as usize % below
        };
        for kind in 0..16 {
            let normalizer = normalizer([kind & 1 != 0, kind & 2 != 0, kind & 4 != 0, kind & 8 != 0]);
            for _ in 0..50 {
                let characters = ['a', ' ', ' ', 'x', 'y', 'é', '中', '😉'];
                let text: String = (0..draw(40)).map(|_| characters[draw(characters.len())]).collect();
                let mut aligned = AlignedText::new(&text, false).unwrap();
                normalizer.apply(&mut aligned, &|| true).unwrap();
                let done = normalizer.with_starts(text.as_bytes(), &|| true).unwrap();
                assert_eq!(done.text, aligned.text(), "{kind} {text:?}");
                assert!(done.starts.is_empty() || done.starts.len() == done.text.len() + 1);
                assert!(done.starts.is_sorted());
            }
        }
    }
}
