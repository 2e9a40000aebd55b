//! ids → bytes and text.
//!
//! Without parts every id adds its content; one that ends a word adds a space as well, save at the very end. With parts
//! the contents become a list of strings that HF's decoders work on in order, or SentencePiece puts the pieces
//! together. [`Decoder::decode`] gives bytes and loses none: the bytes of broken-up characters come together again, and
//! the caller decides about the rest that is not UTF-8. [`Decoder::decode_text`] replaces it as the library does that
//! the parts come from.
//!
//! Cost: linear in the ids and their contents. Without parts nothing is allocated but the result; with parts the text
//! is copied once a part. Source: huggingface/tokenizers, tokenizer/mod.rs (`decode`) and decoders/;
//! google/sentencepiece, sentencepiece_processor.cc (`Decode`). Plain version: `reference/step06_decode.py`. Left out:
//! `Replace` by a regex other than ` \z`, SentencePiece's denormalizer.

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
    /// A decoder of `parts`, a JSON list, or `null` for contents put together. In a `byte_level` vocabulary the
    /// contents of the model's entries are bytes; else they are spelled as the model matches them. `mark`: what entries
    /// that end a word end in for the parts; without one, in what they take for it.
    ///
    /// # Errors
    /// [`crate::error::Error::config`] for what is not such a list, names a part or a field that does not exist, or
    /// replaces by a regex.
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
