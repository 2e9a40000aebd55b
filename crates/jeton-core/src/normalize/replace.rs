//! `Replace`: replaces all matches of a text or a regex.
//!
//! Invariant: matches equal those of HF, which uses Oniguruma. A regex is accepted if it has the same meaning in
//! Oniguruma's dialect and in Jeton's, and does not match the empty text; any other regex is refused with the reason.
//! As in HF, each character of the replacement gets the origin (input range) of the last byte of the match. As source
//! (the input that was replaced), each of these characters gets the whole match. If the replacement is empty, the match
//! is removed, and no character of the result refers to the match's range of the input.
//!
//! Cost: one search through the text; a regex has a step budget linear in the text.
//! Source: huggingface/tokenizers, `normalizers/replace.rs` and `NormalizedString::replace`.

use memchr::memmem::Finder;

use crate::aligned_text::AlignedWriter;
use crate::error::{Error, Result};
use crate::regex::{to_oniguruma, Regex};
use crate::util::cancel::CancelCheck;

/// A pattern and the text that replaces its matches.
#[derive(Debug)]
pub(super) struct Replace {
    pattern: ReplacePattern,
    content: String,
    finder: Option<Finder<'static>>, // None for a regex
}

/// Text or regex whose matches are replaced.
#[derive(Debug)]
pub(super) enum ReplacePattern {
    /// A literal text.
    Text(String),
    /// A regex.
    Regex(Regex),
}

impl Replace {
    /// Creates a replacement of a text.
    ///
    /// # Errors
    /// [`Error::config`] for an empty text.
    pub(super) fn text(text: &str, content: &str) -> Result<Self> {
        if text.is_empty() {
            return Err(Error::unsupported(
                "Replace of the empty text",
                "a Replace of the empty text is not supported",
            ));
        }
        let finder = Some(Finder::new(text).into_owned());
        Ok(Self { pattern: ReplacePattern::Text(text.to_owned()), content: content.to_owned(), finder })
    }

    /// Creates a replacement of the matches of a regex.
    ///
    /// # Errors
    /// [`Error::config`] for a regex that has another meaning in Oniguruma's dialect.
    pub(super) fn regex(regex: &str, content: &str) -> Result<Self> {
        let what = match to_oniguruma(regex) {
            Ok(there) if there == regex => {
                let pattern = ReplacePattern::Regex(Regex::new(regex)?);
                return Ok(Self { pattern, content: content.to_owned(), finder: None });
            }
            Ok(_) => "a construct of Oniguruma".to_owned(),
            Err(what) => what,
        };
        let message = format!("a Replace of the regex {regex:?} is not supported: it contains {what}");
        Err(Error::unsupported(what, message))
    }

    /// Returns true if this component replaces the literal `text` by `content`.
    pub(super) fn is_of(&self, text: &str, content: &str) -> bool {
        matches!(&self.pattern, ReplacePattern::Text(replaced) if replaced == text) && self.content == content
    }

    /// Returns the text or regex whose matches are replaced.
    pub(super) fn pattern(&self) -> &ReplacePattern {
        &self.pattern
    }

    /// Returns the replacement.
    pub(super) fn content(&self) -> &str {
        &self.content
    }

    /// Writes `old`, the text of a chunk, with all matches replaced.
    pub(super) fn write(&self, old: &str, writer: &mut AlignedWriter<'_>, cancel: &mut CancelCheck<'_>) -> Result<()> {
        match &self.pattern {
            ReplacePattern::Text(text) => {
                if let (Some(byte), Some(content), false) = (self.ascii(), self.short_content(), writer.is_traced()) {
                    writer.copy(memchr::memchr(byte, old.as_bytes()).unwrap_or(old.len()));
                    if writer.at() == old.len() {
                        return Ok(());
                    }
                    let mut done = Ok(());
                    writer.replace_all(|old, new| done = replace_byte(old, byte, content, new, cancel));
                    return done;
                }
                for start in self.finder.iter().flat_map(|finder| finder.find_iter(old.as_bytes())) {
                    self.put(start, start + text.len(), writer, cancel)?;
                }
            }
            ReplacePattern::Regex(regex) => {
                let mut matcher = regex.matcher(old, 0);
                let mut at = 0;
                while let Some((start, end)) = regex.find(&mut matcher, at)? {
                    self.put(start, end, writer, cancel)?;
                    at = end;
                }
            }
        }
        writer.copy(old.len() - writer.at());
        Ok(())
    }

    /// Returns the text to replace, if it is one ASCII character.
    fn ascii(&self) -> Option<u8> {
        match &self.pattern {
            ReplacePattern::Text(text) => text.bytes().next().filter(|byte| text.len() == 1 && byte.is_ascii()),
            ReplacePattern::Regex(_) => None,
        }
    }

    /// Returns the replacement, if it has at most four bytes.
    fn short_content(&self) -> Option<&str> {
        (self.content.len() <= 4).then_some(&self.content)
    }

    fn put(
        &self,
        start: usize,
        end: usize,
        writer: &mut AlignedWriter<'_>,
        cancel: &mut CancelCheck<'_>,
    ) -> Result<()> {
        cancel.check()?;
        writer.copy(start - writer.at());
        writer.replace_match(end - start, &self.content);
        writer.check()
    }
}

/// Appends `old` to `new`, with each `byte` replaced by `content`. `byte` must be ASCII, and `content` must have at
/// most four bytes. The loop is branchless.
///
/// If the loop is cancelled, `new` does not change.
fn replace_byte(old: &str, byte: u8, content: &str, new: &mut String, cancel: &mut CancelCheck<'_>) -> Result<()> {
    assert!(byte.is_ascii() && content.len() <= 4);
    // `new` is empty during the loop, so that a panic cannot leave part of a character in it.
    let mut bytes = std::mem::take(new).into_bytes();
    let before = bytes.len();
    let done = append_replaced(old, byte, content, &mut bytes, cancel);
    if done.is_err() {
        bytes.truncate(before);
    }
    // SAFETY: the previous bytes were a String. What was appended is either nothing, or a copy of `old` in which
    // `content` replaces each `byte`. An ASCII byte is a whole character of `old`, and both texts are UTF-8.
    *new = unsafe { String::from_utf8_unchecked(bytes) };
    done
}

fn append_replaced(old: &str, byte: u8, content: &str, new: &mut Vec<u8>, cancel: &mut CancelCheck<'_>) -> Result<()> {
    const STEP: usize = 64;
    let content_len = content.len();
    let content = u32::from_le_bytes(std::array::from_fn(|i| content.as_bytes().get(i).copied().unwrap_or(0)));
    for step in old.as_bytes().chunks(STEP) {
        cancel.check()?;
        if !step.iter().fold(false, |any, &there| any | (there == byte)) {
            new.extend_from_slice(step);
            continue;
        }
        let (mut written, mut len) = ([0u8; 4 * STEP], 0);
        for &there in step {
            let is_match = there == byte;
            let now = if is_match { content } else { u32::from(there) };
            if let Some(place) = written[len..].first_chunk_mut() {
                *place = now.to_le_bytes();
            }
            len += if is_match { content_len } else { 1 };
        }
        new.extend_from_slice(&written[..len]);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;
    use crate::aligned_text::AlignedText;

    #[test]
    fn replacing_a_byte_equals_replacing_a_text() {
        let long: String = (0..300).map(|i| ["a", " ", "é", "漢 ", "  "][i * i % 5]).collect();
        for content in ["\u{2581}", "", "x", "😀", "xy", "longer than four"] {
            for text in ["", " ", "   ", "no_space", &long, &"x".repeat(200), &" ".repeat(130)] {
                for replaced in [" ", "a"] {
                    let replace = Replace::text(replaced, content).unwrap();
                    let [new, traced] = [false, true].map(|traced| {
                        let mut aligned = AlignedText::new(text, traced).unwrap();
                        aligned
                            .rewrite(|old, writer| replace.write(old, writer, &mut CancelCheck::new(&|| true)))
                            .unwrap();
                        aligned.text().to_owned()
                    });
                    assert_eq!(new, text.replace(replaced, content));
                    assert_eq!(traced, new);
                }
            }
        }
    }

    #[test]
    fn cancelled_replacement_leaves_whole_characters() {
        let mut aligned = AlignedText::new(&"漢 ".repeat(100_000), false).unwrap();
        let replace = Replace::text(" ", "_").unwrap();
        let cancel = &mut CancelCheck::new(&|| false);
        assert!(aligned.rewrite(|old, writer| replace.write(old, writer, cancel)).is_err());
    }
}
