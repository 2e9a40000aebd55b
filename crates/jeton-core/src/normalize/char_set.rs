//! Set of characters that a normalizer can change, with a vectorized search for the first such character in a text.
//!
//! For most characters, the first byte alone shows that the character is not in the set. The search compares 64 bytes
//! at a time and skips bytes that cannot begin a character of the set; for NFC, it skips ASCII, Chinese and Korean. The
//! remaining characters are looked up in a bit set that fits an L1 cache.
//!
//! Cost: a few nanoseconds for 64 bytes, and one or two for each character that is looked up; 8 KiB for each set.

use std::sync::OnceLock;

use super::properties::{Properties, ALL};
use crate::util::atomic_cell::made_once;
use crate::util::simd::block::Block;
use crate::util::simd::{self, Instructions};
use crate::util::utf8;

/// Set of characters.
#[derive(Debug)]
pub(super) struct CharSet {
    /// Ranges of bytes that begin no character of the set. Each range is either inside ASCII or outside.
    excluded: Vec<(u8, u8)>,
    /// Bit set of the characters below U+10000.
    low: Box<[u64; 1 << 10]>,
    /// Property bits for characters from U+10000 on: a character with any of these bits is in the set. If None, all
    /// characters from U+10000 on are in the set.
    high: Option<u16>,
}

impl CharSet {
    /// Returns the set of the characters with any of the given property bits; built on the first call.
    pub(super) fn of_bits(bits: u16) -> &'static Self {
        static SETS: [OnceLock<CharSet>; ALL as usize + 1] = [const { OnceLock::new() }; ALL as usize + 1];
        let properties = Properties::get();
        made_once(&SETS[usize::from(bits & ALL)], || Self::new(|c| properties.of(c) & bits != 0, Some(bits & ALL)))
    }

    /// Builds a set. Below U+10000, it contains the characters that `is_in` accepts. From U+10000 on, it contains the
    /// characters with any of the property bits `high`, or all if `high` is None.
    pub(super) fn new(is_in: impl Fn(char) -> bool, high: Option<u16>) -> Self {
        let mut low = Box::new([0u64; 1 << 10]);
        let mut may_begin = [false; 256];
        for c in '\0'..'\u{10000}' {
            if is_in(c) {
                low[c as usize / 64] |= 1 << (c as usize % 64);
                may_begin[usize::from(c.encode_utf8(&mut [0; 4]).as_bytes()[0])] = true;
            }
        }
        may_begin[0xF0..=0xF4].fill(high != Some(0));
        let mut excluded: Vec<(u8, u8)> = Vec::new();
        for (byte, _) in (0..=255u8).zip(may_begin).filter(|(_, may_begin)| !may_begin) {
            match excluded.last_mut() {
                Some((_, last)) if *last == byte.wrapping_sub(1) && byte != 0x80 => *last = byte,
                _ => excluded.push((byte, byte)),
            }
        }
        Self { excluded, low, high }
    }

    /// Returns true if the character is in the set.
    #[inline]
    pub(super) fn has(&self, c: char) -> bool {
        self.has_code(c as u32)
    }

    #[inline(always)]
    fn has_code(&self, code: u32) -> bool {
        match self.low.get(code as usize / 64) {
            Some(bits) => bits >> (code % 64) & 1 != 0,
            None => {
                self.high.is_none_or(|bits| char::from_u32(code).is_some_and(|c| Properties::get().of(c) & bits != 0))
            }
        }
    }

    /// Returns the position of the first character of the set in `text[from..]`, or the length of the text.
    pub(super) fn find(&self, text: &str, from: usize) -> usize {
        // Four single characters are checked first. The next character of the set is often among them, and in that case
        // reading a whole block would be slower.
        let (bytes, mut from) = (text.as_bytes(), from);
        for _ in 0..4 {
            if from == bytes.len() {
                return from;
            }
            let (code, len) = utf8::decode(bytes, from);
            if self.has_code(code) {
                return from;
            }
            from += len;
        }
        simd::dispatch!(
            simd::detected(),
            (set: &CharSet = self, text: &[u8] = bytes, from: usize = from) -> usize,
            |level: L| set.find_by_blocks::<<L as Instructions>::Block>(level, text, from)
        )
    }

    #[inline(always)]
    fn find_by_blocks<B: Block>(&self, proof: B::Proof, text: &[u8], from: usize) -> usize {
        let mut at = from;
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            let mut copy = [0; 64];
            let bytes = rest.first_chunk().unwrap_or_else(|| {
                copy[..rest.len()].copy_from_slice(rest);
                &copy
            });
            let block = B::load(proof, bytes);
            let excluded = self.excluded.iter().fold(0, |mask, &(low, high)| mask | block.within(low, high));
            let mut candidates = !excluded & u64::MAX >> 64usize.saturating_sub(rest.len());
            while candidates != 0 {
                let place = at + candidates.trailing_zeros() as usize;
                if self.has_code(utf8::decode(text, place).0) {
                    return place;
                }
                candidates &= candidates - 1;
            }
            at += 64;
        }
        text.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normalize::properties::{MARK, NFC, NFD, UPPER};

    #[test]
    fn find_returns_the_first_character_of_the_set() {
        let mut state = 1u64;
        let mut draw = |below: usize| {
            state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            (state >> 33) as usize % below
        };
        let others = ['a', 'Z', '\0', '\u{7f}', 'é', 'Я', '中', '가', 'が', '\u{3099}', '\u{301}', '😀', '\u{1D165}'];
        for bits in [NFC, NFD, UPPER, MARK, 0] {
            let set = CharSet::of_bits(bits);
            for length in (0..200).chain([1000]) {
                let num_kinds = 1 + draw(others.len());
                let text: String = (0..length).map(|_| others[draw(num_kinds)]).collect();
                let from = (draw(text.len() + 1)..).find(|&at| text.is_char_boundary(at)).unwrap_or(0);
                let expected = text[from..].find(|c| set.has(c)).map_or(text.len(), |at| from + at);
                assert_eq!(set.find(&text, from), expected, "{bits} {text:?} {from}");
            }
        }
    }

    #[test]
    fn set_of_bits_has_the_characters_with_these_properties() {
        for c in '\0'..=char::MAX {
            assert_eq!(CharSet::of_bits(NFC).has(c), Properties::get().of(c) & NFC != 0, "{c:?}");
        }
    }
}
