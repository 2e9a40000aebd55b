//! Byte offset → number of characters before it, in constant time; and the inverse, for ascending positions.
//!
//! The number of characters before each block of 64 bytes is stored. Inside a block, characters are counted eight bytes
//! at a time. ASCII text needs neither, since each byte is a character. Cost: one pass, and 4 bytes for each 64 bytes
//! of text.

/// Number of bytes in a block.
const BLOCK: usize = 64;

/// Index of the characters of a text.
#[derive(Debug, Default)]
pub(in crate::tokenizer) struct CharIndex {
    counts: Vec<u32>, // number of characters before each block; empty for ASCII
    is_ascii: bool,
}

/// Returns the number of characters that begin in these bytes.
pub(in crate::tokenizer) fn num_chars(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    let of_word = |word: &[u8; 8]| {
        let word = u64::from_le_bytes(*word);
        // A continuation byte has bit 7 set and bit 6 clear.
        8 - ((word >> 7) & (!word >> 6) & 0x0101_0101_0101_0101).count_ones() as usize
    };
    words.iter().map(of_word).sum::<usize>() + rest.iter().filter(|&&byte| byte & 0xC0 != 0x80).count()
}

impl CharIndex {
    /// Rebuilds the index for another text.
    pub(in crate::tokenizer) fn set(&mut self, text: &str) {
        self.counts.clear();
        self.is_ascii = text.is_ascii();
        if !self.is_ascii {
            let mut before = 0;
            for block in text.as_bytes().chunks(BLOCK) {
                self.counts.push(before);
                before += num_chars(block) as u32;
            }
            self.counts.push(before);
        }
    }

    /// Returns the number of characters that begin before this byte.
    #[inline]
    fn before(&self, text: &[u8], byte: usize) -> usize {
        let block = byte / BLOCK;
        self.counts[block] as usize + num_chars(&text[block * BLOCK..byte])
    }

    /// Returns the smallest range of characters that covers a range of bytes. For an empty range, both ends are the
    /// number of characters that begin before its position.
    #[inline]
    pub(in crate::tokenizer) fn range(&self, text: &str, (start, end): (usize, usize)) -> (usize, usize) {
        let (start, end) = (start.min(text.len()), end.min(text.len()));
        if self.is_ascii {
            return (start, end);
        }
        let bytes = text.as_bytes();
        let first = self.before(bytes, start);
        if start >= end {
            return (first, first);
        }
        (first - usize::from(bytes[start] & 0xC0 == 0x80), self.before(bytes, end))
    }
}

/// Number of bytes of a character, by the high four bits of its first byte. A table avoids branches, which would depend
/// on the text and be mispredicted.
const CHAR_BYTES: [u8; 16] = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3, 4];

/// Position in a text, in characters and in bytes.
pub(in crate::tokenizer) struct CharReader<'t> {
    pub(in crate::tokenizer) text: &'t [u8],
    pub(in crate::tokenizer) chars: i64,
    pub(in crate::tokenizer) bytes: usize,
}

impl CharReader<'_> {
    /// Moves forward to the start of a character, which must not be before the current position; returns the number of
    /// bytes before that character.
    pub(in crate::tokenizer) fn skip_to(&mut self, chars: i64) -> i64 {
        while self.chars < chars && self.bytes < self.text.len() {
            self.bytes += usize::from(CHAR_BYTES[usize::from(self.text[self.bytes] >> 4)]);
            self.chars += 1;
        }
        self.bytes as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_equal_the_definition() {
        let mut index = CharIndex::default();
        for text in ["", "a", &"ab".repeat(70), &"aé中😀".repeat(40), &"中".repeat(64)] {
            index.set(text);
            let starts: Vec<usize> = text.char_indices().map(|(i, _)| i).collect();
            for start in 0..=text.len() {
                for end in start..=text.len().min(start + 9) {
                    let first = starts.partition_point(|&byte| byte <= start).saturating_sub(1);
                    let past = starts.partition_point(|&byte| byte < end);
                    let empty = starts.partition_point(|&byte| byte < start);
                    let expected = if start == end { (empty, empty) } else { (first, past) };
                    assert_eq!(index.range(text, (start, end)), expected, "{start}..{end} of {text}");
                }
            }
        }
    }
}
