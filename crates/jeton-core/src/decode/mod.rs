//! ids → bytes and text.
//!
//! Without components, each id appends its content; one that ends a word also appends a space, except at the end. With
//! components, the contents are a list of strings, which HF's decoders process in order or SentencePiece's decoder joins.
//! [`Decoder::decode`] returns bytes without loss: bytes of split characters are joined, and the caller handles invalid
//! UTF-8. [`Decoder::decode_text`] replaces invalid UTF-8 as the library of the components does.
//!
//! Cost: linear in the ids and their contents. Without components only the result is allocated; with components the text is
//! copied once for each. Source: huggingface/tokenizers, tokenizer/mod.rs (`decode`) and decoders/; google/sentencepiece,
//! sentencepiece_processor.cc (`Decode`). Plain version: `reference/step06_decode.py`. Left out: `Replace` with a regex
//! other than ` \z`, SentencePiece's denormalizer.

mod chain;
mod contents;
mod entries;
mod parts;
mod pieces;
mod sentence;
mod steps;

use crate::error::Result;
use crate::vocab::{Kind, Vocab};

use contents::Contents;
use entries::each;
use parts::Plan;

/// ids → bytes and text, in the way of one tokenizer.
#[derive(Debug, Clone)]
pub struct Decoder {
    plan: Plan,
}

/// Decoded ids of known length, to be written into a caller's buffer.
#[derive(Debug, Clone)]
pub enum Decoded<'a> {
    /// It is put together there.
    Contents(Contents<'a>),
    /// It had to be made.
    Made(Vec<u8>),
}

impl Decoded<'_> {
    /// In bytes.
    pub fn len(&self) -> usize {
        match self {
            Self::Contents(contents) => contents.len(),
            Self::Made(bytes) => bytes.len(),
        }
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes it into `room`, which has as many bytes.
    pub fn write(&self, room: &mut [u8]) {
        match self {
            Self::Contents(contents) => contents.write(room),
            Self::Made(bytes) => room.copy_from_slice(bytes),
        }
    }

    /// As a list.
    pub fn into_vec(self) -> Vec<u8> {
        match self {
            Self::Contents(contents) => contents.into_vec(),
            Self::Made(bytes) => bytes,
        }
    }
}

impl Decoder {
    /// Builds a decoder from `parts`, a JSON list of components, or `null` to concatenate contents. In a `byte_level`
    /// vocabulary the contents of the model's entries are bytes; else they are spelled as the model matches them.
    /// `mark`: suffix of entries that end a word, for the components; default: the suffix that they have as an option.
    ///
    /// # Errors
    /// [`crate::error::Error::config`] for another JSON value, an unknown component or field, or a replacement of a
    /// regex.
    pub fn from_json(parts: &str, vocab: &Vocab, byte_level: bool, mark: Option<&str>) -> Result<Self> {
        Ok(Self { plan: Plan::new(parts, vocab, byte_level, mark)? })
    }

    /// The bytes of `ids`.
    ///
    /// # Errors
    /// [`crate::error::ErrorKind::UnknownId`] for an id outside the vocabulary or in a hole of it.
    pub fn decode<'a>(&self, vocab: &'a Vocab, ids: &'a [u32], skip_special: bool) -> Result<Decoded<'a>> {
        Ok(match &self.plan {
            Plan::Contents { .. } => Decoded::Contents(Contents::new(vocab, ids, skip_special)?),
            Plan::Sentence(sentence) => {
                let mut bytes = Vec::new();
                let mut writing = sentence.start(0, false);
                each(vocab, ids, skip_special, |id, kind| writing.put(id, kind, vocab.content(id), &mut bytes))?;
                Decoded::Made(bytes)
            }
            Plan::Steps(chain) => Decoded::Made(chain.run(vocab, ids, skip_special, false)?),
        })
    }

    /// The text of `ids`, with U+FFFD where the bytes are not UTF-8: as many of them as the library would put.
    ///
    /// # Errors
    /// As [`Decoder::decode`].
    pub fn decode_text(&self, vocab: &Vocab, ids: &[u32], skip_special: bool) -> Result<String> {
        let mut bytes = Vec::new();
        match &self.plan {
            Plan::Contents { reads_added: None } => bytes = Contents::new(vocab, ids, skip_special)?.into_vec(),
            Plan::Contents { reads_added: Some(alphabet) } => each(vocab, ids, skip_special, |id, kind| match kind {
                Kind::Added | Kind::Special => alphabet.read_or_copy(vocab.content(id), &mut bytes),
                _ => vocab.write_decoded(id, &mut bytes),
            })?,
            Plan::Sentence(sentence) => {
                let mut writing = sentence.start(0, true);
                each(vocab, ids, skip_special, |id, kind| writing.put(id, kind, vocab.content(id), &mut bytes))?;
                writing.end_run(&mut bytes);
            }
            Plan::Steps(chain) => bytes = chain.run(vocab, ids, skip_special, true)?,
        }
        Ok(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    /// Appends what `id` adds in the middle of a text; nothing for a hole.
    pub fn token(&self, vocab: &Vocab, id: u32, out: &mut Vec<u8>) {
        match &self.plan {
            Plan::Contents { .. } => vocab.write_decoded(id, out),
            Plan::Sentence(sentence) => sentence.middle(out.len()).put(id, vocab.kind(id), vocab.content(id), out),
            Plan::Steps(chain) => chain.middle(vocab, id, out),
        }
    }
}

#[cfg(test)]
mod tests;
