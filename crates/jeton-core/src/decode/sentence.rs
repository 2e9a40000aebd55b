//! SentencePiece's decoder: pieces → text.
//!
//! `▁` becomes a space, byte pieces become their bytes, the unknown token becomes its surface, and control pieces have no text. The
//! dummy prefix is removed: each of the first pieces loses one leading `▁`, until text is written or, unless extra white space is
//! removed, one `▁` was removed. `treat_whitespace_as_suffix` has no effect here.
//!
//! Invariant: text equals SentencePieceProcessor::Decode of ids: in a run of byte pieces, each byte outside of a character becomes
//! U+FFFD. Output as bytes keeps these bytes.
//! Cost: linear. Source: google/sentencepiece, sentencepiece_processor.cc. Left out: the denormalizer.

use crate::vocab::Kind;

const SPACE: &[u8] = "▁".as_bytes();

/// The options.
#[derive(Debug, Clone)]
pub(super) struct Sentence {
    takes_space: bool,
    takes_many: bool,
    unk: Option<u32>,
    unk_surface: String,
}

/// A text that is being put together.
pub(super) struct Writing<'a> {
    options: &'a Sentence,
    lossy: bool,        // bytes that belong to no character are replaced
    start: usize,       // where the text starts in the output
    at_start: bool,     // a leading space is still taken off
    took_one: bool,     // the piece before lost its leading space
    run: Option<usize>, // where the byte pieces begin that are being written
}

impl Sentence {
    pub fn new(add_dummy_prefix: bool, remove_extra_whitespaces: bool, unk: Option<u32>, unk_surface: String) -> Self {
        Self {
            takes_space: add_dummy_prefix || remove_extra_whitespaces,
            takes_many: remove_extra_whitespaces,
            unk,
            unk_surface,
        }
    }

    /// A text that starts at byte `start` of the output.
    pub fn start(&self, start: usize, lossy: bool) -> Writing<'_> {
        Writing { options: self, lossy, start, at_start: self.takes_space, took_one: false, run: None }
    }

    /// A text in whose middle we are.
    pub fn middle(&self, start: usize) -> Writing<'_> {
        Writing { at_start: false, ..self.start(start, false) }
    }
}

impl Writing<'_> {
    /// Appends one piece.
    pub fn put(&mut self, id: u32, kind: Kind, content: &[u8], out: &mut Vec<u8>) {
        if let (Kind::Byte, Some(byte)) = (kind, byte_of(content)) {
            self.run.get_or_insert(out.len());
            out.push(byte);
            return;
        }
        self.end_run(out);
        if self.took_one || out.len() > self.start {
            self.at_start = false;
        }
        self.took_one = false;
        if Some(id) == self.options.unk {
            out.extend_from_slice(self.options.unk_surface.as_bytes());
            return;
        }
        if kind == Kind::Special {
            return;
        }
        let mut piece = content;
        if self.at_start {
            if let Some(rest) = piece.strip_prefix(SPACE) {
                piece = rest;
                self.took_one = !self.options.takes_many;
            }
        }
        put_spaces(piece, out);
    }

    /// Ends the run of byte pieces: to be called after the last piece, too.
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

fn byte_of(content: &[u8]) -> Option<u8> {
    let digits = content.strip_prefix(b"<0x")?.strip_suffix(b">").filter(|digits| digits.len() == 2)?;
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
