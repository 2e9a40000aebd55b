//! SentencePiece's decoder for streams: decodes pieces that arrive one by one, and denormalizes the resulting text.

use super::super::sentence::{byte_of, DummyPrefix, Sentence};
use super::utf8::{Invalid, Utf8};
use crate::error::Result;
use crate::normalize::DenormalizerState;
use crate::vocab::Kind;

/// State of a [`Sentence`] in a stream.
#[derive(Debug, Clone)]
pub(super) struct SentenceState {
    prefix: DummyPrefix,
    has_text: bool,
    run: Utf8, // UTF-8 state of the current run of byte pieces
    denormalizer: Box<DenormalizerState>,
    text: Vec<u8>, // scratch buffer
}

impl SentenceState {
    pub fn new(sentence: &Sentence) -> Self {
        Self {
            prefix: sentence.prefix(),
            has_text: false,
            run: Utf8::default(),
            denormalizer: Box::default(),
            text: Vec::new(),
        }
    }

    /// Reads a piece, and appends the text that later pieces cannot change.
    ///
    /// # Errors
    /// As [`crate::normalize::Denormalizer::push`].
    pub fn push(
        &mut self,
        sentence: &Sentence,
        id: u32,
        kind: Kind,
        content: &[u8],
        lossy: bool,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let Some(denormalizer) = &sentence.denormalizer else {
            self.put(sentence, id, kind, content, lossy, out);
            return Ok(());
        };
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        self.put(sentence, id, kind, content, lossy, &mut text);
        let done = denormalizer.push(&mut self.denormalizer, &text, out);
        self.text = text;
        done
    }

    /// Ends the text, and appends the rest of it.
    ///
    /// # Errors
    /// As [`crate::normalize::Denormalizer::finish`].
    pub fn finish(&mut self, sentence: &Sentence, lossy: bool, out: &mut Vec<u8>) -> Result<()> {
        let Some(denormalizer) = &sentence.denormalizer else {
            self.end_run(lossy, out);
            return Ok(());
        };
        let mut text = Vec::new();
        self.end_run(lossy, &mut text);
        denormalizer.push(&mut self.denormalizer, &text, out)?;
        denormalizer.finish(&mut self.denormalizer, out)
    }

    /// Appends the text of a piece.
    fn put(&mut self, sentence: &Sentence, id: u32, kind: Kind, content: &[u8], lossy: bool, out: &mut Vec<u8>) {
        if let Some(byte) = byte_of(kind, content) {
            self.has_text = true;
            if lossy {
                let _ = self.run.push(&[byte], Invalid::ReplaceBytes, |text| out.extend_from_slice(text.as_bytes()));
            } else {
                out.push(byte);
            }
            return;
        }
        self.end_run(lossy, out);
        let before = out.len();
        sentence.put(&mut self.prefix, id, kind, content, self.has_text, out);
        self.has_text |= out.len() > before;
    }

    /// Ends a run of byte pieces. Must also be called after the last piece.
    fn end_run(&mut self, lossy: bool, out: &mut Vec<u8>) {
        if lossy {
            let _ = self.run.finish(Invalid::ReplaceBytes, |text| out.extend_from_slice(text.as_bytes()));
        }
    }
}
