//! SentencePiece's decoder: pieces → text.
//!
//! `▁` becomes a space, byte pieces become their bytes, the unknown token becomes its surface, and control pieces have
//! no text. The dummy prefix is removed: a piece loses one leading `▁` if no text has been written before it. If the
//! option `remove_extra_whitespaces` is not set, only the first such piece loses it. The option
//! `treat_whitespace_as_suffix` has no effect on decoding.
//!
//! Invariant: the text equals the text that SentencePieceProcessor::Decode returns for the same ids. In a run of byte
//! pieces, each byte that is not part of a valid character becomes U+FFFD; if the output is bytes, the byte is kept.
//! [`crate::normalize::Denormalizer`] then rewrites the decoded text. Cost: linear. Source: google/sentencepiece,
//! sentencepiece_processor.cc.

use crate::error::Result;
use crate::normalize::Denormalizer;
use crate::vocab::Kind;

const SPACE: &[u8] = "▁".as_bytes();

/// Options of SentencePiece's decoder.
#[derive(Debug, Clone)]
pub(super) struct Sentence {
    takes_space: bool,
    takes_many: bool,
    unk: Option<u32>,
    unk_surface: String,
    pub(super) denormalizer: Option<Denormalizer>,
}

/// State while one text is decoded.
pub(super) struct Writing<'a> {
    options: &'a Sentence,
    lossy: bool,  // true to replace invalid UTF-8
    start: usize, // start of the text in the output
    prefix: DummyPrefix,
    run: Option<usize>, // start of the current run of byte pieces
}

/// State of the removal of the dummy prefix.
#[derive(Debug, Clone)]
pub(super) struct DummyPrefix {
    at_start: bool, // leading spaces of pieces are still removed
    took_one: bool, // the leading space of the previous piece was removed
}

impl Sentence {
    pub fn new(
        add_dummy_prefix: bool,
        remove_extra_whitespaces: bool,
        unk: Option<u32>,
        unk_surface: String,
        denormalizer: Option<Denormalizer>,
    ) -> Self {
        Self {
            takes_space: add_dummy_prefix || remove_extra_whitespaces,
            takes_many: remove_extra_whitespaces,
            unk,
            unk_surface,
            denormalizer,
        }
    }

    /// Returns a decoded text after applying the denormalizer, if there is one.
    ///
    /// # Errors
    /// As [`Denormalizer::whole`].
    pub fn finish(&self, text: Vec<u8>) -> Result<Vec<u8>> {
        match &self.denormalizer {
            Some(denormalizer) => denormalizer.whole(&text),
            None => Ok(text),
        }
    }

    /// Returns the state for a text that begins at byte `start` of the output.
    pub fn start(&self, start: usize, lossy: bool) -> Writing<'_> {
        Writing { options: self, lossy, start, prefix: self.prefix(), run: None }
    }

    /// Returns the state of the dummy prefix at the start of a text.
    pub fn prefix(&self) -> DummyPrefix {
        DummyPrefix { at_start: self.takes_space, took_one: false }
    }

    /// Returns the state for pieces in the middle of a text, where no dummy prefix is removed.
    pub fn middle(&self, start: usize) -> Writing<'_> {
        Writing { prefix: DummyPrefix { at_start: false, took_one: false }, ..self.start(start, false) }
    }

    /// Appends the text of a piece that is not a byte piece. `has_text`: true if there is text before the piece.
    pub fn put(
        &self,
        prefix: &mut DummyPrefix,
        id: u32,
        kind: Kind,
        content: &[u8],
        has_text: bool,
        out: &mut Vec<u8>,
    ) {
        if prefix.took_one || has_text {
            prefix.at_start = false;
        }
        prefix.took_one = false;
        if Some(id) == self.unk {
            out.extend_from_slice(self.unk_surface.as_bytes());
            return;
        }
        if kind == Kind::Special {
            return;
        }
        let mut piece = content;
        if prefix.at_start {
            if let Some(rest) = piece.strip_prefix(SPACE) {
                piece = rest;
                prefix.took_one = !self.takes_many;
            }
        }
        put_spaces(piece, out);
    }
}

impl Writing<'_> {
    /// Appends the text of a piece.
    pub fn put(&mut self, id: u32, kind: Kind, content: &[u8], out: &mut Vec<u8>) {
        if let Some(byte) = byte_of(kind, content) {
            self.run.get_or_insert(out.len());
            out.push(byte);
            return;
        }
        self.end_run(out);
        let has_text = out.len() > self.start;
        self.options.put(&mut self.prefix, id, kind, content, has_text, out);
    }

    /// Ends a run of byte pieces. If decoding is lossy, replaces invalid UTF-8 in the run by U+FFFD. Must also be
    /// called after the last piece.
    pub fn end_run(&mut self, out: &mut Vec<u8>) {
        let Some(start) = self.run.take().filter(|_| self.lossy) else { return };
        if std::str::from_utf8(&out[start..]).is_ok() {
            return;
        }
        let run = out.split_off(start);
        for chunk in run.utf8_chunks() {
            out.extend_from_slice(chunk.valid().as_bytes());
            for _ in chunk.invalid() {
                out.extend_from_slice("\u{fffd}".as_bytes());
            }
        }
    }
}

/// Returns the byte of a byte piece; None for other pieces.
pub(super) fn byte_of(kind: Kind, content: &[u8]) -> Option<u8> {
    let digits = Some(content)
        .filter(|_| kind == Kind::Byte)?
        .strip_prefix(b"<0x")?
        .strip_suffix(b">")
        .filter(|digits| digits.len() == 2)?;
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Appends `piece` with spaces for `▁`.
fn put_spaces(piece: &[u8], out: &mut Vec<u8>) {
    let mut done = 0;
    let mut at = 0;
    while let Some(found) = piece[at..].iter().position(|&byte| byte == SPACE[0]) {
        at += found;
        if piece[at..].starts_with(SPACE) {
            out.extend_from_slice(&piece[done..at]);
            out.push(b' ');
            at += SPACE.len();
            done = at;
        } else {
            at += 1;
        }
    }
    out.extend_from_slice(&piece[done..]);
}
