//! Pretokens that are one token: up to 15 bytes of text → id, in one line of memory.
//!
//! A line of 64 bytes has three exact keys, so nothing is left to verify, and their ids. Its place follows from a hash of the key; a
//! fourth id says what a key that is not there means. Looking does not branch: whether a pretoken is an entry cannot be
//! predicted. Entries go in by rising id, so those for which there is no room are rare ones; their line says that it
//! is incomplete.
//!
//! The table is made once and only read, so all threads share it. Memory: 64 bytes for 1.5 entries.

use std::fmt;

use crate::simd;

/// Bytes of a key's text at most.
pub(super) const MOST: usize = 15;

/// What [`Words::get`] gives for a text of at most [`MOST`] bytes that is no entry. All that is not an id is at least [`UNKNOWN`].
pub(super) const NO_WORD: u32 = u32::MAX;
/// ... that may be an entry, for its line has no room.
pub(super) const UNKNOWN: u32 = u32::MAX - 1;

/// Up to 15 bytes, zeros, and in the last byte how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key(u128);

const MASKS: [u128; 17] = masks();

const fn masks() -> [u128; 17] {
    let mut masks = [0; 17];
    let mut len = 1;
    while len <= MOST {
        masks[len] = u128::MAX >> (128 - 8 * len);
        len += 1;
    }
    masks
}

impl Key {
    /// Of `len` bytes that begin `sixteen`; of a longer text a key that no entry has.
    #[inline(always)]
    pub(super) fn new(sixteen: [u8; 16], len: usize) -> Self {
        let len = len.min(16);
        Self(u128::from_le_bytes(sixteen) & MASKS[len] | (len as u128) << 120)
    }

    /// Of a text.
    fn of(text: &[u8]) -> Self {
        let mut sixteen = [0; 16];
        let len = text.len().min(16);
        sixteen[..len].copy_from_slice(&text[..len]);
        Self::new(sixteen, text.len())
    }

    #[inline(always)]
    fn hash(self) -> u64 {
        let (low, high) = (self.0 as u64, (self.0 >> 64) as u64);
        low.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ high.wrapping_mul(0xC2B2_AE3D_27D4_EB4F)
    }
}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line {
    keys: [Key; 3],
    ids: [u32; 4],
}

const EMPTY: Line = Line { keys: [Key(0); 3], ids: [NO_WORD; 4] };

/// The table.
pub(super) struct Words {
    lines: Box<[Line]>,
    shift: u32,
}

impl Words {
    /// Of `(content, id)` by falling importance; contents are not empty. Those of more than 15 bytes are left out.
    pub(super) fn new<'a>(entries: impl Iterator<Item = (&'a [u8], u32)>, count: usize) -> Self {
        let bits = (count * 2 / 3).max(16).next_power_of_two().trailing_zeros();
        let mut words = Self { lines: vec![EMPTY; 1 << bits].into_boxed_slice(), shift: 64 - bits };
        for (content, id) in entries {
            if content.len() > MOST {
                continue;
            }
            let key = Key::of(content);
            let place = words.place(key);
            let line = &mut words.lines[place as usize];
            match line.keys.iter().position(|&there| there == Key(0)) {
                Some(free) => (line.keys[free], line.ids[free]) = (key, id),
                None => line.ids[3] = UNKNOWN,
            }
        }
        words
    }

    /// Where a key's line is.
    #[inline(always)]
    pub(super) fn place(&self, key: Key) -> u32 {
        (key.hash() >> self.shift) as u32
    }

    /// Fetches a line that will be looked at soon.
    #[inline(always)]
    pub(super) fn prefetch(&self, place: u32) {
        simd::prefetch(&self.lines[place as usize]);
    }

    /// The id of the entry with this key, [`NO_WORD`] or [`UNKNOWN`].
    #[inline(always)]
    pub(super) fn get(&self, key: Key, place: u32) -> u32 {
        let line = &self.lines[place as usize];
        let [first, second, third] = line.keys.map(|there| usize::from(there == key));
        line.ids[(3 - 3 * first - 2 * second - third) & 3]
    }
}

impl fmt::Debug for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Words of {} lines", self.lines.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_found_or_may_be_there() {
        let contents: Vec<String> = (0..20_000u32).map(|i| format!("{:x}", i.wrapping_mul(0x9E37_79B1))).collect();
        let words = Words::new(contents.iter().zip(0..).map(|(content, id)| (content.as_bytes(), id)), contents.len());
        let get = |text: &str| words.get(Key::of(text.as_bytes()), words.place(Key::of(text.as_bytes())));
        let lost = contents.iter().zip(0..).filter(|&(content, id)| get(content) != id).collect::<Vec<_>>();
        assert!(lost.iter().all(|(content, _)| get(content) == UNKNOWN) && lost.len() < 1_000, "{}", lost.len());
        for other in ["", "x", "hello", "more than fifteen bytes", "0\0", "123456789012345"] {
            assert!(get(other) >= UNKNOWN, "{other}");
        }
    }
}
