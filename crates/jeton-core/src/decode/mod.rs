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

mod contents;
mod parts;
mod pieces;
mod sentence;
mod steps;

use std::collections::HashMap;

use crate::byte_alphabet::stand_in;
use crate::cancel::most_bytes;
use crate::error::{Error, ErrorKind, Result};
use crate::vocab::{Kind, Vocab};

use contents::Contents;
use parts::Plan;
use pieces::Pieces;
use steps::{Alphabet, Step};

/// ids → bytes and text, in the way of one tokenizer.
#[derive(Debug, Clone)]
pub struct Decoder {
    plan: Plan,
}

/// Calls `with` for every id that is not skipped.
fn each(vocab: &Vocab, ids: &[u32], skip_special: bool, mut with: impl FnMut(u32, Kind)) -> Result<()> {
    for (position, &id) in ids.iter().enumerate() {
        match vocab.kind(id) {
            Kind::Hole => return Err(unknown(vocab, id, position)),
            Kind::Special if skip_special => {}
            kind => with(id, kind),
        }
    }
    Ok(())
}

fn unknown(vocab: &Vocab, id: u32, position: usize) -> Error {
    let (num_tokens, highest) = (vocab.num_tokens(), vocab.len().saturating_sub(1) as u32);
    ErrorKind::UnknownId { id, position, num_tokens, highest }.into()
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
    /// [`ErrorKind::UnknownId`] for an id outside the vocabulary or in a hole of it.
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

/// HF's decoders in order, on a list of strings.
#[derive(Debug, Clone)]
struct Chain {
    steps: Vec<Step>,
    spelled: bool,                   // contents are bytes, and a step wants them in the byte alphabet
    reads: Option<Alphabet>, // contents are bytes, and ByteLevel comes first: it reads only what is spelled, added tokens
    respelled: HashMap<u32, String>, // id -> decoded bytes, instead of its content
    ends_word: Vec<u8>,      // what HF's string of an entry that ends a word has at its end
    reads_ends: bool,        // ByteLevel, where it comes first, can read that; else it leaves the whole string as it is
}

impl Chain {
    fn run(&self, vocab: &Vocab, ids: &[u32], skip_special: bool, lossy: bool) -> Result<Vec<u8>> {
        let mut pieces = Pieces::with_capacity(ids.len());
        each(vocab, ids, skip_special, |id, kind| self.push_entry(vocab, id, kind, lossy, &mut pieces))?;
        Ok(self.steps(pieces, lossy)?.into_bytes())
    }

    fn push_entry(&self, vocab: &Vocab, id: u32, kind: Kind, lossy: bool, pieces: &mut Pieces) {
        match self.respelled.get(&id) {
            Some(spelling) => self.push(spelling.as_bytes(), Kind::Added, lossy, pieces),
            None => self.push(vocab.content(id), kind, lossy, pieces),
        }
    }

    /// Adds HF's string of an entry.
    fn push(&self, content: &[u8], kind: Kind, lossy: bool, pieces: &mut Pieces) {
        let is_text = matches!(kind, Kind::Added | Kind::Special | Kind::Unreachable);
        match &self.reads {
            Some(alphabet) if is_text && lossy => alphabet.read_or_copy(content, pieces.open()),
            _ if !is_text && (self.spelled || kind == Kind::EndsWord && !self.reads_ends && self.reads.is_some()) => {
                let mut room = [0; 4];
                for &byte in content {
                    pieces.open().extend_from_slice(stand_in(byte).encode_utf8(&mut room).as_bytes());
                }
            }
            _ => pieces.open().extend_from_slice(content),
        }
        if kind == Kind::EndsWord {
            pieces.open().extend_from_slice(&self.ends_word);
        }
        pieces.close();
    }

    /// # Errors
    /// `Config` for a text that grows too long: each step can double it, and a file may have many.
    fn steps(&self, mut pieces: Pieces, lossy: bool) -> Result<Pieces> {
        let mut spare = Pieces::default();
        let most = most_bytes(pieces.open().len() + pieces.len());
        for step in &self.steps {
            step.run(&mut pieces, &mut spare, lossy, most);
            if pieces.open().len() > most {
                return Err(Error::config(format!("the decoder makes more than {most} bytes of these ids")));
            }
        }
        Ok(pieces)
    }

    /// Returns what `id` adds between two others. Markers take the places of the others: what comes out between them is
    /// the token and what the second marker has before it; that is taken off.
    fn middle(&self, vocab: &Vocab, id: u32, out: &mut Vec<u8>) {
        const MARKS: [&str; 2] = ["\u{f5a5a}\u{f1111}", "\u{f5a5a}\u{f2222}"]; // private use, and more than one character
        let between = |token: Option<u32>| {
            let mut pieces = Pieces::default();
            self.push(MARKS[0].as_bytes(), Kind::Added, false, &mut pieces);
            if let Some(id) = token {
                self.push_entry(vocab, id, vocab.kind(id), false, &mut pieces);
            }
            self.push(MARKS[1].as_bytes(), Kind::Added, false, &mut pieces);
            let bytes = self.steps(pieces, false).ok()?.into_bytes();
            let start = steps::find(&bytes, MARKS[0].as_bytes())? + MARKS[0].len();
            let end = start + steps::find(&bytes[start..], MARKS[1].as_bytes())?;
            Some(bytes[start..end].to_vec())
        };
        if vocab.kind(id) == Kind::Hole {
            return;
        }
        match between(None).zip(between(Some(id))) {
            Some((before, token)) => out.extend_from_slice(token.strip_suffix(&before[..]).unwrap_or(&token)),
            None => vocab.write_decoded(id, out), // a part that does away with the markers, or makes too much of them
        }
    }
}

#[cfg(test)]
mod tests;
