//! Words of a text: maximal runs of characters that are not white space. Each word has a flag that is true if the word
//! contains a `▁`.
//!
//! Cost: one comparison for each byte; only characters whose first byte may begin white space or `▁` are decoded.

use crate::vocab::alphabet::WORD_START;

/// The word that begins at a position of a text; empty if white space is there.
pub(super) struct Word {
    pub(super) end: usize,
    pub(super) next: usize, // position after the white space character that follows the word
    pub(super) has_mark: bool,
}

impl Word {
    /// Returns the word at `start`, which must be a character boundary.
    #[inline(always)]
    pub(super) fn at(text: &str, start: usize) -> Self {
        let bytes = text.as_bytes();
        let (mut at, mut has_mark) = (start, false);
        loop {
            // First UTF-8 bytes of white space and of the mark `▁`. Some other characters begin with the same bytes.
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
