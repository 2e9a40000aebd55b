//! Rewriting pre-tokenizers: ByteLevel spells bytes in GPT-2's byte alphabet, Metaspace replaces spaces by a mark.
//!
//! Invariant: alignments equal HF's. A character that is inserted before another character has the alignment of the
//! other character.
//! Source: huggingface/tokenizers, pre_tokenizers/byte_level.rs and metaspace.rs, tokenizer/normalizer.rs (`prepend`,
//! `replace`).

use serde::Deserialize;

use crate::aligned_text::{AlignedText, AlignedWriter};
use crate::error::Result;
use crate::util::cancel::CancelCheck;
use crate::vocab::byte_alphabet::{self, stand_in};

/// Inserts `mark` before the next character, aligned like this character. To do so, replaces the character by the mark,
/// then inserts the character after the mark.
fn prepend(mark: char, writer: &mut AlignedWriter<'_>) {
    if let Some(next) = writer.rest().chars().next() {
        writer.put(mark, 0);
        writer.put(next, 1);
    }
}

/// Inserts a space before each chunk that does not begin with one.
pub(super) fn add_prefix_space(aligned: &mut AlignedText) -> Result<()> {
    aligned.rewrite(|text, writer| {
        if !text.starts_with(' ') {
            prepend(' ', writer);
        }
        writer.copy(writer.rest().len());
        Ok(())
    })
}

/// Spells all bytes of all chunks in the byte alphabet.
pub(super) fn to_byte_alphabet(aligned: &mut AlignedText, cancel: &mut CancelCheck<'_>) -> Result<()> {
    aligned.rewrite(|text, writer| {
        if !writer.is_traced() {
            cancel.check()?;
            writer.replace_all(|text, out| byte_alphabet::spell(text.as_bytes(), out));
            return Ok(());
        }
        for c in text.chars() {
            cancel.check()?;
            let mut change = 0;
            for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                writer.put(stand_in(byte), change);
                change = 1;
            }
        }
        Ok(())
    })
}

/// Chunks before which the mark is inserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PrependScheme {
    /// Only the chunk at the start of the input.
    First,
    /// No chunk.
    Never,
    /// All chunks.
    Always,
}

/// Options of Metaspace in files. Old files have the options `add_prefix_space` and `str_rep`.
#[derive(Deserialize)]
pub(super) struct MetaspaceJson {
    replacement: char,
    add_prefix_space: Option<bool>,
    prepend_scheme: Option<PrependScheme>,
    split: Option<bool>,
}

/// Metaspace: replaces spaces by a mark, inserts a mark before chunks, and splits chunks before each mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metaspace {
    /// Character that replaces spaces, usually `▁`.
    pub mark: char,
    /// Chunks before which a mark is inserted, unless they begin with a mark or a space.
    pub scheme: PrependScheme,
    /// True if chunks are split before each mark.
    pub split: bool,
}

impl Metaspace {
    pub(super) fn new(spelled: MetaspaceJson) -> std::result::Result<Self, &'static str> {
        let scheme = match (spelled.add_prefix_space, spelled.prepend_scheme) {
            (Some(false), Some(PrependScheme::Never)) => PrependScheme::Never,
            // `add_prefix_space: false` also contradicts a missing scheme, because HF's default is "always".
            (Some(false), _) => return Err("add_prefix_space contradicts prepend_scheme"),
            (_, scheme) => scheme.unwrap_or(PrependScheme::Always),
        };
        Ok(Self { mark: spelled.replacement, scheme, split: spelled.split.unwrap_or(true) })
    }

    /// Returns the mark, if it is inserted before every chunk that does not begin with a space.
    pub(super) fn prepends_always(&self) -> Option<char> {
        (self.scheme == PrependScheme::Always).then_some(self.mark)
    }

    /// Returns the mark, if chunks are split before it.
    pub(super) fn split(&self) -> Option<char> {
        self.split.then_some(self.mark)
    }

    /// Returns the mark for a space, and any other character unchanged.
    pub(super) fn spelled(&self, c: char) -> char {
        if c == ' ' {
            self.mark
        } else {
            c
        }
    }

    pub(super) fn needs_origins(&self) -> bool {
        self.scheme == PrependScheme::First
    }

    /// Replaces spaces by marks and inserts marks before chunks.
    pub(super) fn rewrite(&self, aligned: &mut AlignedText, cancel: &mut CancelCheck<'_>) -> Result<()> {
        let free = aligned.chunks().iter().filter(|piece| piece.id.is_none());
        let starts_input: Vec<bool> = free.map(|piece| piece.origin.start == 0).collect();
        let mut starts_input = starts_input.into_iter();
        aligned.rewrite(|text, writer| {
            let starts_input = starts_input.next().unwrap_or(false);
            let prepends = match self.scheme {
                PrependScheme::First => starts_input,
                PrependScheme::Never => false,
                PrependScheme::Always => true,
            };
            if prepends && !text.starts_with([' ', self.mark]) {
                prepend(self.mark, writer);
            }
            while let Some(next) = writer.rest().find(' ') {
                cancel.check()?;
                writer.copy(next);
                writer.put(self.mark, 0);
            }
            writer.copy(writer.rest().len());
            Ok(())
        })
    }
}
