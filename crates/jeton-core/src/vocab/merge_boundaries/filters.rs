//! Filters: fast lookups of the pairs of adjacent characters that occur in tokens.

use crate::util::utf8::char_len;
use crate::vocab::marks::MARK;

/// log2 of the number of bits of the Bloom filter.
const BITS: u32 = 19;

/// Mask that selects the left character in a pair of characters of three bytes each, in little-endian order.
const FIRST: u64 = 0xFF_FFFF;

/// Bloom filter of the pairs of adjacent three-byte characters that occur in tokens.
#[derive(Debug, Clone)]
pub struct MergeBoundaries {
    pairs: Box<[u64; 1 << (BITS - 6)]>,
    // Pairs of adjacent characters for which some token begins inside the left character or ends inside the right
    // character. Each element is a bitmap. Index of the element: low 6 bits of the left character's last byte. Index of
    // the bit: low 4 bits of the right character's first byte.
    split: [u16; 64],
    has_wholes: bool,
}

/// Boundaries between ASCII letters and other ASCII bytes. Maps each byte to a set of the bits
/// [`LetterBoundaries::LETTER`], [`LetterBoundaries::ENDS`] and [`LetterBoundaries::BEGINS`].
#[derive(Debug, Clone)]
pub struct LetterBoundaries([u8; 256]);

impl LetterBoundaries {
    /// Bit of ASCII letters.
    pub const LETTER: u8 = 1;
    /// Bit of ASCII bytes that are not letters and never follow a letter in a token.
    pub const ENDS: u8 = 2;
    /// Bit of ASCII bytes that are not letters and never precede a letter in a token.
    pub const BEGINS: u8 = 4;

    /// Builds the table from the contents of all tokens.
    pub fn new<'a>(tokens: impl Iterator<Item = &'a [u8]>) -> Self {
        let is_letter = |byte: u8| byte.is_ascii_alphabetic();
        let mut kinds = [0; 256];
        for byte in 0..0x80u8 {
            kinds[usize::from(byte)] = if is_letter(byte) { Self::LETTER } else { Self::ENDS | Self::BEGINS };
        }
        for token in tokens {
            for pair in token.windows(2) {
                match (is_letter(pair[0]), is_letter(pair[1])) {
                    (true, false) => kinds[usize::from(pair[1])] &= !Self::ENDS,
                    (false, true) => kinds[usize::from(pair[0])] &= !Self::BEGINS,
                    _ => {}
                }
            }
        }
        Self(kinds)
    }

    /// Removes the boundaries between letters and `byte`, which must not be a letter.
    pub fn exclude(&mut self, byte: u8) {
        self.0[usize::from(byte)] = 0;
    }

    /// Returns the bytes that have the bit `kind`, as ranges.
    pub fn ranges(&self, kind: u8) -> Vec<(u8, u8)> {
        ranges((0..0x80).filter(|&byte| self.0[usize::from(byte)] & kind != 0))
    }
}

/// Boundaries before a `▁`. A position is a boundary if no token contains the previous character directly before `▁`.
#[derive(Debug, Clone, Default)]
pub struct MarkBoundaries {
    joined: Vec<char>, // characters that precede `▁` in some token, other than `▁` itself; ascending
    marks_join: bool,  // true if a token can have two adjacent `▁`
}

impl MarkBoundaries {
    /// Collects the characters that precede `▁` in tokens, given the contents of all tokens. A position between two `▁`
    /// is never a boundary.
    pub fn new<'a>(tokens: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut joined = Vec::new();
        for token in tokens.filter(|token| token.get(1..).is_some_and(|rest| rest.contains(&MARK[0]))) {
            for at in (1..token.len()).filter(|&at| token[at..].starts_with(&MARK) && !token[..at].ends_with(&MARK)) {
                joined.extend(String::from_utf8_lossy(&token[..at]).chars().next_back());
            }
        }
        joined.sort_unstable();
        joined.dedup();
        Self { joined, marks_join: true }
    }

    /// Returns a value for which all positions before a `▁` are boundaries, including positions between two `▁`.
    pub fn all() -> Self {
        Self::default()
    }

    /// Returns the characters, other than `▁`, that precede a `▁` in some token.
    pub fn joined(&self) -> &[char] {
        &self.joined
    }

    /// Returns true if a token can contain two adjacent `▁`.
    pub fn marks_join(&self) -> bool {
        self.marks_join
    }
}

/// Converts ascending bytes to inclusive ranges.
pub(super) fn ranges(bytes: impl Iterator<Item = u8>) -> Vec<(u8, u8)> {
    let mut ranges: Vec<(u8, u8)> = Vec::new();
    for byte in bytes {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == byte => *last = byte,
            _ => ranges.push((byte, byte)),
        }
    }
    ranges
}

#[inline(always)]
fn place(pair: u64) -> usize {
    (pair.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - BITS)) as usize
}

/// Returns the first 8 bytes of a text as a little-endian integer; zeros replace missing bytes. The text must have at
/// least 6 bytes, for two characters of three bytes each.
#[inline(always)]
pub fn pair(text: &[u8]) -> u64 {
    match text.first_chunk() {
        Some(&eight) => u64::from_le_bytes(eight),
        None => text.iter().rev().fold(0, |pair, &byte| pair << 8 | u64::from(byte)),
    }
}

/// Returns a character of three bytes as a little-endian integer; None for other characters.
fn three(bytes: &[u8]) -> Option<u64> {
    match *bytes {
        [a @ 0xE0..=0xEF, b, c] => Some(u64::from(a) | u64::from(b) << 8 | u64::from(c) << 16),
        _ => None,
    }
}

impl MergeBoundaries {
    /// Builds the filter from the contents of all tokens. `wholes` are tokens that only match whole pretokens. A split
    /// must not create a part that equals such a token, so there is no boundary before the first or after the last
    /// character of such a token.
    pub fn new<'a>(tokens: impl Iterator<Item = &'a [u8]>, wholes: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut boundaries = Self { pairs: Box::new([0; 1 << (BITS - 6)]), split: [0; 64], has_wholes: false };
        // Skips tokens without a character of three bytes. In most vocabularies, most tokens have none.
        for token in tokens.filter(|token| token.iter().fold(0, |highest, &byte| highest.max(byte)) >= 0xE0) {
            let mut before: Option<&[u8]> = None; // the previous character, if complete
            let mut at = token.iter().position(|&byte| byte & 0xC0 != 0x80).unwrap_or(token.len());
            while at < token.len() {
                let now = token.get(at..at + char_len(token[at]));
                match (before.and_then(three), now.and_then(three)) {
                    (Some(left), Some(right)) => boundaries.add(left | right << 24),
                    _ if before.is_none() && at > 0 || now.is_none() => {
                        if let (Some(&left @ 0x80..), right @ 0xE0..0xF0) = (token[..at].last(), token[at]) {
                            boundaries.split[usize::from(left & 0x3F)] |= 1 << (right & 0xF);
                        }
                    }
                    _ => {}
                }
                before = now;
                at += now.map_or(token.len(), <[u8]>::len);
            }
        }
        for whole in wholes {
            let (first, last) =
                (whole.get(..3).and_then(three), whole.len().checked_sub(3).and_then(|at| three(&whole[at..])));
            first.iter().for_each(|first| boundaries.add(first << 24));
            last.iter().for_each(|&last| boundaries.add(last));
            boundaries.has_wholes |= first.is_some() || last.is_some();
        }
        boundaries
    }

    fn add(&mut self, pair: u64) {
        let place = place(pair);
        self.pairs[place / 64] |= 1 << (place % 64);
    }

    #[inline(always)]
    fn holds(&self, pair: u64) -> bool {
        let place = place(pair);
        self.pairs[place / 64] >> (place % 64) & 1 != 0
    }

    /// Returns true if a pretoken can be split between two characters of three bytes each. The low 48 bits of `pair`
    /// are the two characters, in little-endian order.
    #[inline(always)]
    pub fn between(&self, pair: u64) -> bool {
        let pair = pair & 0xFFFF_FFFF_FFFF;
        let (last, first) = ((pair >> 16 & 0x3F) as usize, pair >> 24 & 0xF);
        // The only branch is on `has_wholes`, which is constant for a vocabulary. Branches on the bits would often be
        // mispredicted, so the bits are combined with `|`.
        let is_none = self.holds(pair) | (self.split[last] >> first & 1 != 0);
        let is_end = self.has_wholes && self.holds(pair & FIRST) | self.holds(pair & !FIRST);
        !(is_none | is_end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_split_from_bytes_that_no_token_has_beside_them() {
        let letters = LetterBoundaries::new(["a.b", "x1", "((", "é(", "ab"].map(str::as_bytes).into_iter());
        let has = |kind, byte: u8| letters.ranges(kind).iter().any(|&(low, high)| (low..=high).contains(&byte));
        for (byte, ends, begins) in
            [(b'(', true, true), (b'.', false, false), (b'1', false, true), (b'a', false, false)]
        {
            assert_eq!((has(LetterBoundaries::ENDS, byte), has(LetterBoundaries::BEGINS, byte)), (ends, begins));
        }
        assert_eq!(letters.ranges(LetterBoundaries::LETTER), [(b'A', b'Z'), (b'a', b'z')]);
        assert_eq!(
            letters.ranges(LetterBoundaries::ENDS).iter().map(|(low, high)| high - low + 1).sum::<u8>(),
            128 - 52 - 2
        );
    }

    #[test]
    fn no_token_crosses_a_boundary() {
        let inside = "語".as_bytes();
        let both = ["字".as_bytes(), &inside[..2]].concat(); // ends inside a character
        let tokens = ["中文", "文字", "a中", "。", "𠮷中"].map(str::as_bytes);
        let tokens = tokens.into_iter().chain([
            both.as_slice(),
            &inside[1..],
            b"\xA9\xE4\xB8\xAD",
            b"\xE4",
            b"\xE4\xE4\xB8\xAD",
        ]);
        let wholes = ["한국", "x국"].map(str::as_bytes);
        let boundaries = MergeBoundaries::new(tokens, wholes.into_iter());
        let is_boundary = |text: &str| {
            let mut bytes = [0; 8];
            bytes[..6].copy_from_slice(text.as_bytes());
            boundaries.between(u64::from_le_bytes(bytes) | 0xABCD << 48)
        };
        for text in ["中文", "文字", "字語", "詩中", "好한", "국好", "字誰"] {
            assert!(!is_boundary(text), "{text}");
        }
        for text in ["文中", "字中", "好人", "한好", "好국", "語字"] {
            assert!(is_boundary(text), "{text}");
        }
    }
}
