//! `ByteFallback` on strings that arrive in fragments.
//!
//! Hugging Face replaces every byte of a run of byte pieces by U+FFFD if the run as a whole is not UTF-8. So a run is
//! held back until it ends or cannot become valid. Its length is not bounded. If the caller wants bytes and the
//! following step joins the strings, nothing is held back.
//!
//! If the following step joins the strings, a run can be *early*: its bytes are written as they are read, up to a byte
//! that makes the run invalid. This gives the text of the ids so far without copying the run for each id. The caller
//! must check afterwards that the run was valid.

use super::super::pieces::StringList;
use super::super::steps::{byte_of, BYTE_PIECE};
use super::utf8::{Invalid, Utf8};

/// State of the step `ByteFallback` in a stream.
#[derive(Debug, Clone)]
pub(super) struct ByteRun {
    joined: bool,    // true if the following step joins the strings
    piece: Vec<u8>,  // start of the current string, while it may become a byte piece
    is_text: bool,   // true if the current string is not a byte piece
    run: Vec<u8>,    // bytes of the current run that are held back
    utf8: Utf8,      // UTF-8 state of the current run
    is_broken: bool, // true if the current run is not UTF-8
    is_early: bool,
    num_early: usize, // bytes of the current run that were written early
    is_wrong: bool,   // true if a run that was written early was not UTF-8
}

impl ByteRun {
    pub fn new(joined: bool) -> Self {
        Self {
            joined,
            piece: Vec::new(),
            is_text: false,
            run: Vec::new(),
            utf8: Utf8::default(),
            is_broken: false,
            is_early: false,
            num_early: 0,
            is_wrong: false,
        }
    }

    /// Makes later calls write the bytes of a run before the run is complete. Returns false, and changes nothing, if
    /// the following step does not join the strings, or if bytes are already held back.
    pub fn write_early(&mut self) -> bool {
        self.is_early = self.joined && self.run.is_empty();
        self.is_early
    }

    /// Returns true if a run that was written early was not UTF-8.
    pub fn is_wrong(&self) -> bool {
        self.is_wrong
    }

    pub fn part(&mut self, fragment: &[u8], into: &mut StringList, lossy: bool) {
        if self.is_text {
            into.open().extend_from_slice(fragment);
            return;
        }
        let room = (BYTE_PIECE + 1).saturating_sub(self.piece.len()).min(fragment.len());
        self.piece.extend_from_slice(&fragment[..room]);
        let prefix = b"<0x";
        let shared = self.piece.len().min(prefix.len());
        if self.piece.len() > BYTE_PIECE || self.piece[..shared] != prefix[..shared] {
            self.is_text = true;
            self.end_run(into, lossy);
            into.open().append(&mut self.piece);
            into.open().extend_from_slice(&fragment[room..]);
        }
    }

    pub fn close(&mut self, into: &mut StringList, lossy: bool) {
        match byte_of(&self.piece).filter(|_| !self.is_text) {
            Some(byte) => self.put(byte, into, lossy),
            None => {
                self.end_run(into, lossy);
                into.open().append(&mut self.piece);
                into.close();
            }
        }
        self.piece.clear();
        self.is_text = false;
    }

    fn put(&mut self, byte: u8, into: &mut StringList, lossy: bool) {
        if self.joined && !lossy {
            into.open().push(byte);
            return;
        }
        self.is_broken = self.is_broken || self.utf8.push(&[byte], Invalid::Strict, |_| {}).is_err();
        if self.is_early && !self.is_broken {
            into.open().push(byte);
            self.num_early += 1;
            return;
        }
        self.run.push(byte);
        if self.is_broken {
            self.is_wrong |= self.num_early > 0;
            self.write_bytes(into, lossy);
        }
    }

    pub fn end_run(&mut self, into: &mut StringList, lossy: bool) {
        let is_broken = std::mem::take(&mut self.is_broken);
        let utf8 = std::mem::take(&mut self.utf8);
        let num_early = std::mem::take(&mut self.num_early);
        self.is_wrong |= num_early > 0 && (is_broken || utf8.is_incomplete());
        if self.run.is_empty() {
            return;
        }
        if is_broken || utf8.is_incomplete() {
            self.write_bytes(into, lossy);
        } else {
            into.push(&self.run);
            self.run.clear();
        }
    }

    /// Writes each byte of the run as a separate string.
    fn write_bytes(&mut self, into: &mut StringList, lossy: bool) {
        for byte in self.run.drain(..) {
            into.push(if lossy { "\u{fffd}".as_bytes() } else { std::slice::from_ref(&byte) });
        }
    }
}
