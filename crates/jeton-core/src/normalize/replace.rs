//! `Replace`: every match of a text or a regex by another text.
//!
//! Invariant: matches are those of HF, which runs Oniguruma. A regex is taken where it reads the same in Oniguruma's dialect and
//! in ours and matches no empty text; any other is refused with what differs. Each character of the new text stands for what the
//! last byte of the match stood for, as in HF; a match that is replaced by nothing is not stood for.
//!
//! Cost: one search through the text; a regex runs under a budget of steps linear in it.
//! Source: huggingface/tokenizers, `normalizers/replace.rs` and `NormalizedString::replace`.

use crate::draft::Writer;
use crate::error::{Error, Result};
use crate::interrupt::Looks;
use crate::regex::{to_oniguruma, Regex};

/// A replacement.
#[derive(Debug)]
pub(super) struct Replace {
    pattern: Pattern,
    content: String,
}

#[derive(Debug)]
enum Pattern {
    Text(String),
    Regex(Regex),
}

impl Replace {
    /// Of a text.
    ///
    /// # Errors
    /// [`Error::config`] for an empty text.
    pub(super) fn text(text: &str, content: &str) -> Result<Self> {
        if text.is_empty() {
            return Err(Error::config("a Replace of the empty text is not carried"));
        }
        Ok(Self { pattern: Pattern::Text(text.to_owned()), content: content.to_owned() })
    }

    /// Of a regex.
    ///
    /// # Errors
    /// [`Error::config`] for a regex that does not mean the same in both dialects.
    pub(super) fn regex(regex: &str, content: &str) -> Result<Self> {
        let what = match to_oniguruma(regex) {
            Ok(there) if there == regex => {
                return Ok(Self { pattern: Pattern::Regex(Regex::new(regex)?), content: content.to_owned() });
            }
            Ok(_) => "a construct of Oniguruma".to_owned(),
            Err(what) => what,
        };
        Err(Error::config(format!("a Replace of the regex {regex:?} is not carried: it holds {what}")))
    }

    /// Writes one piece.
    pub(super) fn write(&self, old: &str, writer: &mut Writer<'_>, looks: &mut Looks<'_>) -> Result<()> {
        match &self.pattern {
            Pattern::Text(text) => {
                for (start, found) in old.match_indices(text.as_str()) {
                    self.put(start, start + found.len(), writer, looks)?;
                }
            }
            Pattern::Regex(regex) => {
                let mut matcher = regex.matcher(old, 0);
                let mut at = 0;
                while let Some((start, end)) = regex.find(&mut matcher, at)? {
                    self.put(start, end, writer, looks)?;
                    at = end;
                }
            }
        }
        writer.copy(old.len() - writer.at());
        Ok(())
    }

    fn put(&self, start: usize, end: usize, writer: &mut Writer<'_>, looks: &mut Looks<'_>) -> Result<()> {
        looks.now_and_then()?;
        writer.copy(start - writer.at());
        writer.replace(end - start, "");
        for c in self.content.chars() {
            writer.put(c, 1);
        }
        writer.check()
    }
}
