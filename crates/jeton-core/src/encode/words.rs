//! Words of a text: runs of characters that are no white space, and whether they have a `▁` of their own.
//!
//! Cost: one comparison for each byte, and the decoding of characters whose first byte white space or `▁` may have.

use crate::vocab::alphabet::WORD_START;

/// The word at a position of a text; empty before white space.
pub(super) struct Word {
    pub(super) end: usize,
    pub(super) next: usize, // what follows the white space character after it
    pub(super) has_mark: bool,
}

impl Word {
    /// Returns the word at `start`, a character boundary.
    #[inline(always)]
    pub(super) fn at(text: &str, start: usize) -> Self {
        let bytes = text.as_bytes();
        let (mut at, mut has_mark) = (start, false);
        loop {
            // The first bytes of white space and of the mark in UTF-8, and of other characters.
            let may_begin = |&byte: &u8| byte <= b' ' || matches!(byte, 0xC2 | 0xE1..=0xE3);
            at = bytes[at..].iter().position(may_begin).map_or(text.len(), |found| at + found);
            match text[at..].chars().next() {
                None => return Self { end: at, next: at, has_mark },
                Some(c) if c.is_whitespace() => return Self { end: at, next: at + c.len_utf8(), has_mark },
                Some(c) => (at, has_mark) = (at + c.len_utf8(), has_mark || c == WORD_START),
            }
        }
    }
}
