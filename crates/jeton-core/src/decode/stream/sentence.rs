//! SentencePiece's decoder on pieces that arrive one by one.

use super::super::sentence::{byte_of, DummyPrefix, Sentence};
use super::utf8::{Invalid, Utf8};
use crate::vocab::Kind;

/// State of a [`Sentence`].
#[derive(Debug, Clone)]
pub(super) struct SentenceState {
    prefix: DummyPrefix,
    has_text: bool,
    run: Utf8, // of the current run of byte pieces
}

impl SentenceState {
    pub fn new(sentence: &Sentence) -> Self {
        Self { prefix: sentence.prefix(), has_text: false, run: Utf8::default() }
    }

    /// Appends the text of a piece that is final.
    pub fn put(&mut self, sentence: &Sentence, id: u32, kind: Kind, content: &[u8], lossy: bool, out: &mut Vec<u8>) {
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

    /// Completes the run of byte pieces; also called after the last piece.
    pub fn end_run(&mut self, lossy: bool, out: &mut Vec<u8>) {
        if lossy {
            let _ = self.run.finish(Invalid::ReplaceBytes, |text| out.extend_from_slice(text.as_bytes()));
        }
    }
}
