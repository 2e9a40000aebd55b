//! Where a pretoken falls into parts that the model encodes by themselves: before a `▁` that follows something else, and around each
//! character that is spelled in bytes.
//!
//! SentencePiece's models and their descendants have whole texts for pretokens. Where no piece reaches over the start of a word,
//! and nothing merges with the bytes of an unknown character, their ids are those of the parts in a row, and parts repeat.
//!
//! Cost: 8 KiB, and a look at each character.

use super::unknown::char_len;
use crate::alphabet::WORD_START;

/// Where to cut.
#[derive(Debug, Clone)]
pub struct Cuts {
    alone: Box<[u64; 1 << 10]>, // a bit for each character up to U+FFFF that is a part of its own
}

const MARK: u32 = WORD_START as u32;

impl Cuts {
    /// Where these characters are parts of their own.
    pub(super) fn new(is_alone: impl Fn(char) -> bool) -> Self {
        let mut alone = Box::new([0; 1 << 10]);
        for c in (0..1 << 16).filter_map(char::from_u32).filter(|&c| is_alone(c)) {
            alone[c as usize / 64] |= 1 << (c as u32 % 64);
        }
        Self { alone }
    }

    #[inline(always)]
    fn is_alone(&self, code: u32) -> bool {
        self.alone[(code / 64) as usize & 0x3FF] >> (code % 64) & 1 != 0
    }

    /// Where the part that starts at `start` ends.
    #[inline]
    pub fn end(&self, text: &[u8], start: usize) -> usize {
        let mut at = start;
        let mut before = MARK;
        while let Some(&byte) = text.get(at) {
            let (mut code, mut len) = (u32::from(byte), 1);
            if byte >= 0x80 {
                (code, len) = match text.get(at..at + char_len(text, at)) {
                    Some(&[a, b]) => (u32::from(a & 0x1F) << 6 | u32::from(b & 0x3F), 2),
                    Some(&[a, b, c]) => (u32::from(a & 0x0F) << 12 | u32::from(b & 0x3F) << 6 | u32::from(c & 0x3F), 3),
                    Some(other) => (u32::MAX, other.len()), // beyond U+FFFF
                    None => (u32::MAX, 1),
                };
            }
            let is_alone = code < 1 << 16 && self.is_alone(code);
            if at > start && (is_alone || code == MARK && before != MARK) {
                return at;
            }
            at += len;
            if is_alone {
                return at;
            }
            before = code;
        }
        text.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_text() {
        let cuts = Cuts::new(|c| c == '\n' || c == '龘');
        let parts = |text: &'static str| {
            let mut ends = vec![0];
            while ends.last().is_some_and(|&end| end < text.len()) {
                ends.push(cuts.end(text.as_bytes(), ends[ends.len() - 1]));
            }
            ends.windows(2).map(|range| &text[range[0]..range[1]]).collect::<Vec<_>>()
        };
        assert_eq!(parts("▁the▁▁old\n\n▁man"), ["▁the", "▁▁old", "\n", "\n", "▁man"]);
        assert_eq!(parts("中龘文😀▁▁"), ["中", "龘", "文😀", "▁▁"]);
        assert!(parts("").is_empty());
    }
}
