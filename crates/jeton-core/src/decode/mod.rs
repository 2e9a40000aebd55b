//! Decoding: ids → bytes and text.
//!
//! Without components, the text is the concatenation of the ids' contents, with a space after each id that ends a word,
//! except the last one. With components, the contents are a list of strings. HF's decoders process this list one after
//! the other; SentencePiece's decoder joins the strings. If HF's `ByteLevel` is the only component and the contents are
//! bytes, decoding is also a concatenation; the decoded bytes of added tokens are computed once, when the decoder is
//! built. [`Decoder::decode`] returns bytes without loss: the bytes of a character that is split among ids are joined,
//! and the caller handles invalid UTF-8. [`Decoder::decode_text`] replaces invalid UTF-8 as the library of the
//! components does. [`Stream`] decodes ids that arrive one by one.
//!
//! Cost: linear in the ids and their contents. Without components only the result is allocated; each component copies
//! the text once. Source: huggingface/tokenizers, tokenizer/mod.rs (`decode`) and decoders/; google/sentencepiece,
//! sentencepiece_processor.cc (`Decode`). Plain version: `reference/step06_decode.py`. Left out: `Replace` with a
//! regex that Jeton's dialect does not support.

mod chain;
mod contents;
mod entries;
mod needle;
mod parts;
mod pieces;
mod regex_replacer;
mod sentence;
mod starts;
mod steps;
mod stream;

use crate::error::Result;
use crate::vocab::{Kind, Vocab};

use contents::{bytes_with_starts, Contents};
use entries::{each, unknown};
use parts::Plan;

pub use stream::{InvalidUtf8, Stream};

/// Decoder of a tokenizer: ids → bytes and text.
#[derive(Debug, Clone)]
pub struct Decoder {
    plan: Plan,
}

/// Decoded bytes of known length, which are written to a buffer of the caller.
#[derive(Debug, Clone)]
pub enum Decoded<'a> {
    /// Contents of ids, which are concatenated when they are written.
    Contents(Contents<'a>),
    /// Bytes that the decoder has already computed.
    Made(Vec<u8>),
}

impl Decoded<'_> {
    /// Returns the length in bytes.
    pub fn len(&self) -> usize {
        match self {
            Self::Contents(contents) => contents.len(),
            Self::Made(bytes) => bytes.len(),
        }
    }

    /// Returns true if there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes the bytes to `room`, which must have [`Decoded::len`] bytes.
    pub fn write(&self, room: &mut [u8]) {
        match self {
            Self::Contents(contents) => contents.write(room),
            Self::Made(bytes) => room.copy_from_slice(bytes),
        }
    }

    /// Returns the bytes as a vector.
    pub fn into_vec(self) -> Vec<u8> {
        match self {
            Self::Contents(contents) => contents.into_vec(),
            Self::Made(bytes) => bytes,
        }
    }
}

impl Decoder {
    /// Builds a decoder from `parts`, a JSON list of components, or `null` to concatenate contents. In a `byte_level`
    /// vocabulary the contents of the model's entries are bytes; in other vocabularies each content is the text that
    /// the model matches, such as `##ing`. `mark` is the suffix by which the components recognize the end of a word,
    /// such as `</w>`. If `mark` is None, the suffix is the option of the `BPEDecoder` component, or a default.
    ///
    /// # Errors
    /// [`crate::error::Error::config`] if `parts` is not a list or `null`, or has an unknown component or field;
    /// [`crate::error::Error::unsupported`] for a replacement of a regex that Jeton's dialect does not support.
    pub fn from_json(parts: &str, vocab: &Vocab, byte_level: bool, mark: Option<&str>) -> Result<Self> {
        Ok(Self { plan: Plan::new(parts, vocab, byte_level, mark)? })
    }

    /// Decodes `ids` to bytes.
    ///
    /// # Errors
    /// [`crate::error::ErrorKind::UnknownId`] for an unknown id; [`crate::error::Error::config`] for text over the
    /// output limit; [`crate::error::Error::text`] for text on which a regex of a component exceeds its budget.
    pub fn decode<'a>(&self, vocab: &'a Vocab, ids: &'a [u32], skip_special: bool) -> Result<Decoded<'a>> {
        Ok(match &self.plan {
            Plan::Contents { respelled } if respelled.is_empty() => {
                Decoded::Contents(Contents::new(vocab, ids, skip_special)?)
            }
            Plan::Contents { respelled } => Decoded::Made(bytes_with_starts(vocab, respelled, ids, skip_special)?.0),
            Plan::Sentence(sentence) => {
                let mut bytes = Vec::new();
                let mut writing = sentence.start(0, false);
                each(vocab, ids, skip_special, |id, kind| writing.put(id, kind, vocab.content(id), &mut bytes))?;
                Decoded::Made(sentence.finish(bytes)?)
            }
            Plan::Steps(chain) => Decoded::Made(chain.run(vocab, ids, skip_special, false)?),
        })
    }

    /// Decodes `ids` to text. Invalid UTF-8 is replaced by U+FFFD; the number of U+FFFD is the same as in the library
    /// that the components come from.
    ///
    /// # Errors
    /// As [`Decoder::decode`].
    pub fn decode_text(&self, vocab: &Vocab, ids: &[u32], skip_special: bool) -> Result<String> {
        let mut bytes = Vec::new();
        match &self.plan {
            Plan::Contents { respelled } if respelled.is_empty() => {
                bytes = Contents::new(vocab, ids, skip_special)?.into_vec();
            }
            Plan::Contents { respelled } => bytes = bytes_with_starts(vocab, respelled, ids, skip_special)?.0,
            Plan::Sentence(sentence) => {
                let mut writing = sentence.start(0, true);
                each(vocab, ids, skip_special, |id, kind| writing.put(id, kind, vocab.content(id), &mut bytes))?;
                writing.end_run(&mut bytes);
                bytes = sentence.finish(bytes)?;
            }
            Plan::Steps(chain) => bytes = chain.run(vocab, ids, skip_special, true)?,
        }
        Ok(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    /// Checks that all `ids` have an entry.
    ///
    /// # Errors
    /// [`crate::error::ErrorKind::UnknownId`] for the first id without an entry.
    pub fn check(&self, vocab: &Vocab, ids: &[u32]) -> Result<()> {
        match ids.iter().position(|&id| vocab.kind(id) == Kind::Hole) {
            Some(position) => Err(unknown(vocab, ids[position], position)),
            None => Ok(()),
        }
    }

    /// Decodes `ids` to text. Also returns the start of each id in this text: the number of characters to which the
    /// earlier ids decode. If the earlier ids end with an incomplete character, this character is not counted.
    ///
    /// # Errors
    /// As [`Decoder::push`].
    pub fn decode_with_starts(
        &self,
        vocab: &Vocab,
        ids: &[u32],
        skip_special: bool,
        invalid: InvalidUtf8,
    ) -> Result<(String, Vec<usize>)> {
        self.check(vocab, ids)?;
        let lossy = invalid == InvalidUtf8::Replace;
        if let Ok(Some((bytes, mut starts))) = starts::bytes_with_starts(&self.plan, vocab, ids, skip_special, lossy) {
            if let Ok(text) = String::from_utf8(bytes) {
                starts::to_chars(&text, &mut starts);
                return Ok((text, starts));
            }
        }
        self.streamed_with_starts(vocab, ids, skip_special, invalid)
    }

    /// Like [`Decoder::decode_with_starts`], but decodes one id after the other.
    fn streamed_with_starts(
        &self,
        vocab: &Vocab,
        ids: &[u32],
        skip_special: bool,
        invalid: InvalidUtf8,
    ) -> Result<(String, Vec<usize>)> {
        let mut stream = self.stream(skip_special, invalid);
        let mut starts = Vec::with_capacity(ids.len());
        let mut chars = 0;
        // `stream` holds back each run of byte pieces until the run ends, and `held_chars` would copy the whole run for
        // each id. So a second stream, `early`, writes the bytes of a run at once. The starts are counted in the output
        // of `early`, until a run turns out not to be UTF-8.
        let (mut early, mut early_chars) = (stream.early(), 0);
        for &id in ids {
            let Some(ahead) = &mut early else {
                starts.push(chars + stream.held_chars(&self.plan, self.plan.content(vocab, id))?);
                chars += self.push(vocab, &mut stream, &[id])?.chars().count();
                continue;
            };
            starts.push(early_chars + ahead.held_chars(&self.plan, self.plan.content(vocab, id))?);
            early_chars += self.push(vocab, ahead, &[id])?.chars().count();
            chars += self.push(vocab, &mut stream, &[id])?.chars().count();
            if ahead.is_wrong() {
                (early, early_chars) = (stream.early(), chars);
            }
        }
        let mut least = chars + self.finish(&mut stream)?.chars().count();
        for start in starts.iter_mut().rev() {
            least = least.min(*start); // decoders can shorten joined text, but a start must not exceed a later one
            *start = least;
        }
        Ok((stream.text().to_owned(), starts))
    }

    /// Creates the state for decoding ids that arrive one by one.
    pub fn stream(&self, skip_special: bool, invalid: InvalidUtf8) -> Stream {
        Stream::new(&self.plan, skip_special, invalid)
    }

    /// Reads ids, and returns the text that has become final; "" after a stop string was found. `stream` must come from
    /// this decoder.
    ///
    /// # Errors
    /// [`crate::error::ErrorKind::UnknownId`] for an unknown id; the stream is then unchanged.
    /// [`crate::error::ErrorKind::NotUtf8`] for invalid UTF-8 if the policy is [`InvalidUtf8::Strict`];
    /// [`Error::config`] for text over the output limit; [`crate::error::Error::text`] for text on which a regex of a
    /// component exceeds its budget. After any error except `UnknownId`, and after [`Decoder::finish`], each later
    /// `push` returns an error.
    ///
    /// [`Error::config`]: crate::error::Error::config
    pub fn push<'s>(&self, vocab: &Vocab, stream: &'s mut Stream, ids: &[u32]) -> Result<&'s str> {
        stream.push(&self.plan, vocab, ids)
    }

    /// Begins the text that follows a prompt. `stream` has already read the prompt's ids. To get the text, all ids
    /// (prompt and later ids) are decoded together, and the longest common prefix with the decoded prompt is removed.
    /// An incomplete character at the end of the prompt is left out of the decoded prompt. The text ends before the
    /// first of `stops`.
    ///
    /// # Errors
    /// [`Error::config`] for an empty stop string, or for more than 1 MiB of stop strings; as [`Decoder::finish`].
    ///
    /// [`Error::config`]: crate::error::Error::config
    pub fn begin_text(&self, stream: &mut Stream, stops: Vec<String>) -> Result<()> {
        stream.begin_text(&self.plan, stops)
    }

    /// Ends the text, and returns the rest of the text; "" if a stop string has already ended it.
    ///
    /// # Errors
    /// As [`Decoder::push`], apart from unknown ids.
    pub fn finish<'s>(&self, stream: &'s mut Stream) -> Result<&'s str> {
        stream.finish(&self.plan)
    }

    /// Appends the decoded bytes of one id, as they are when other ids precede and follow it. Appends nothing for an
    /// unknown id.
    pub fn token(&self, vocab: &Vocab, id: u32, out: &mut Vec<u8>) {
        match &self.plan {
            Plan::Contents { respelled } if respelled.contains_key(&id) => out.extend_from_slice(&respelled[&id]),
            Plan::Contents { .. } => vocab.write_decoded(id, out),
            Plan::Sentence(sentence) => {
                let start = out.len();
                sentence.middle(start).put(id, vocab.kind(id), vocab.content(id), out);
                let rewritten = sentence.denormalizer.as_ref().map(|denormalizer| denormalizer.middle(&out[start..]));
                if let Some(Ok(text)) = rewritten {
                    out.truncate(start);
                    out.extend_from_slice(&text);
                }
            }
            Plan::Steps(chain) => chain.middle(vocab, id, out),
        }
    }
}

#[cfg(test)]
mod tests;
