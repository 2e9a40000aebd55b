//! Character classes that the named patterns use: each class is one bit, and a table has the class of every code point.
//!
//! Invariant: every code point has exactly one of the bits, so a mask represents a set of classes, and a membership
//! test is one `and`. `build.rs` writes the lookup table when the crate is built, from the tables of `regex-syntax`,
//! which tiktoken's regex engine uses, too. A lookup takes two loads from the table of 57 KB; text in one language
//! uses a few hundred bytes of it.
//!
//! Left out: all other properties. Users' regexes use `regex-syntax` directly (`regex/syntax/`).

use crate::util::property_table::BLOCK;
use crate::util::utf8::decode;

pub(crate) use crate::util::class_bits::{
    CASELESS, LETTER, LOWER, MARK, NEWLINE, NUMBER, OTHER, SPACE, SYMBOL, UPPER, WHITE_SPACE,
};

// Includes `BLOCKS` and `VALUES`, which build.rs writes.
include!(concat!(env!("OUT_DIR"), "/classes.rs"));

/// Class of each ASCII byte, and 0 for other bytes. Loops look up a byte here before they decode a character.
pub(crate) static ASCII: [u8; 256] = ascii();

const fn ascii() -> [u8; 256] {
    let mut table = [0; 256];
    let mut byte = 0u8;
    while byte < 128 {
        table[byte as usize] = match byte {
            b'A'..=b'Z' => UPPER,
            b'a'..=b'z' => LOWER,
            b'0'..=b'9' => NUMBER,
            b'\r' | b'\n' => NEWLINE,
            b' ' | b'\t' | 0x0B | 0x0C => SPACE,
            _ => OTHER,
        };
        byte += 1;
    }
    table
}

/// Table of the class of each code point.
pub(crate) struct Classes(());

impl Classes {
    /// Returns the table.
    pub(crate) fn get() -> &'static Self {
        &Self(())
    }

    /// Returns class and byte length of the character that starts at `at`; `(0, 0)` at the end of the text.
    ///
    /// `text` must be valid UTF-8, and `at` one of its character boundaries.
    #[inline(always)]
    pub(crate) fn at(&self, text: &[u8], at: usize) -> (u8, usize) {
        match text.get(at) {
            None => (0, 0),
            Some(&byte) if byte < 0x80 => (ASCII[byte as usize], 1),
            Some(_) => self.wide(text, at),
        }
    }

    /// Returns class and byte length of the character that starts at `at`. The character must have two to four bytes.
    #[inline]
    pub(crate) fn wide(&self, text: &[u8], at: usize) -> (u8, usize) {
        let (code, length) = decode(text, at);
        (self.of(code as usize / BLOCK, code as usize), length)
    }

    /// Returns the class of the character at the start of `four`. The character must have two to four bytes. The CPU
    /// cannot predict whether a character has two or three bytes, so the code does not branch on this.
    #[inline(always)]
    pub(crate) fn wide_in(&self, four: [u8; 4]) -> u8 {
        let [first, second, third, fourth] = four.map(usize::from);
        if first >= 0xF0 {
            return self.of((first & 0x07) << 12 | (second & 0x3F) << 6 | third & 0x3F, fourth);
        }
        let has_three = first >= 0xE0;
        let of_three = (first & 0x0F) << 6 | second & 0x3F;
        self.of(if has_three { of_three } else { first & 0x1F }, if has_three { third } else { second })
    }

    /// Returns the class of a code point. `block`: index of its block; `last`: any number that has the same last 6 bits
    /// as the code point, for example the last byte of its UTF-8.
    #[inline(always)]
    fn of(&self, block: usize, last: usize) -> u8 {
        VALUES[usize::from(BLOCKS[block]) + last % BLOCK]
    }

    /// Returns the end of the longest run that starts at `at` and consists of characters in the classes `mask`. If
    /// there is no such run, returns `at`.
    ///
    /// Letters are read eight bytes at a time. The lengths of words are hard to predict, and one misprediction per word
    /// costs more than the arithmetic on eight bytes (English, o200k: 382 MB/s, compared to 223 MB/s byte by byte).
    #[inline(always)]
    pub(crate) fn run(&self, text: &[u8], mut at: usize, mask: u8) -> usize {
        if mask & LOWER != 0 && mask & OTHER == 0 {
            at = ascii_letters(text, at, mask & UPPER != 0);
        }
        loop {
            while at < text.len() && ASCII[text[at] as usize] & mask != 0 {
                at += 1;
            }
            if at >= text.len() || text[at] < 0x80 {
                return at;
            }
            let (class, length) = self.wide(text, at);
            if class & mask == 0 {
                return at;
            }
            at += length;
        }
    }
}

/// Skips lower-case ASCII letters, and also capital letters if `both`. Stops when fewer than eight bytes of text are
/// left.
#[inline(always)]
fn ascii_letters(text: &[u8], mut at: usize, both: bool) -> usize {
    const fn each(byte: u64) -> u64 {
        byte * 0x0101_0101_0101_0101
    }
    while let Some(&eight) = text.get(at..).and_then(|rest| rest.first_chunk()) {
        let bytes = u64::from_le_bytes(eight);
        let folded = if both { bytes | each(0x20) } else { bytes };
        let low = folded & each(0x7F); // the addition carries into the high bit of each byte, not into the next byte
        let from_a = low + each(0x80 - 0x61);
        let past_z = low + each(0x80 - 0x7B);
        let others = (!from_a | past_z | bytes) & each(0x80);
        at += others.trailing_zeros() as usize / 8;
        if others != 0 {
            break;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;

    /// Checks the class of every code point with the regex of this class. ASCII characters are looked up in `ASCII`,
    /// all other characters in the table.
    #[test]
    fn table_equals_the_properties() {
        let classes = Classes::get();
        let property = |pattern: &str| fancy_regex::Regex::new(&format!("^{pattern}$")).unwrap();
        let all = [
            (property(r"[\p{Lu}\p{Lt}]"), UPPER),
            (property(r"\p{Ll}"), LOWER),
            (property(r"[\p{Lm}\p{Lo}]"), CASELESS),
            (property(r"\p{M}"), MARK),
            (property(r"\p{N}"), NUMBER),
            (property(r"[\s&&[^\r\n]]"), SPACE),
            (property(r"[\r\n]"), NEWLINE),
            (property(r"[^\s\p{L}\p{M}\p{N}]"), OTHER),
        ];
        let mut buffer = [0; 4];
        for c in ('\0'..=char::MAX).step_by(if cfg!(debug_assertions) { 7 } else { 1 }).chain('\0'..'\u{3100}') {
            let text: &str = c.encode_utf8(&mut buffer);
            let (class, length) = classes.at(text.as_bytes(), 0);
            assert_eq!((class.count_ones(), length), (1, text.len()), "{c:?}");
            let mut four = [0xFF; 4];
            four[..length].copy_from_slice(text.as_bytes());
            assert!(length == 1 || classes.wide_in(four) == class, "{c:?}");
            let (regex, _) = all.iter().find(|(_, bit)| *bit == class).unwrap();
            assert!(regex.is_match(text).unwrap(), "{c:?} is {class:#x}");
        }
    }

    #[test]
    fn table_takes_less_than_60_kib() {
        let bytes = size_of_val(&BLOCKS) + size_of_val(&VALUES);
        assert!(bytes < 60 << 10, "{bytes}");
    }
}
