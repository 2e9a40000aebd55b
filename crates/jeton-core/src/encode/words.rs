//! Words of a text: runs of characters that are not white space, and whether they contain a `▁`.
//!
//! Cost: one comparison for each byte; only characters whose first byte may begin white space or `▁` are decoded.

use crate::vocab::alphabet::WORD_START;

/// The word at a position of a text; empty if the position is white space.
pub(super) struct Word {
    pub(super) end: usize,
    pub(super) next: usize, // position after the white space character that follows the word
    pub(super) has_mark: bool,
}

impl Word {
    /// Returns the word at `start`, a character boundary.
    #[inline(always)]
    pub(super) fn at(text: &str, start: usize) -> Self {
        let bytes = text.as_bytes();
        let (mut at, mut has_mark) = (start, false);
        loop {
            // First bytes, in UTF-8, of white space, of the mark, and of some other characters.
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
