//! Pretokens that are one token: up to 15 bytes of text → id, in one line of memory.
//!
//! A line of 64 bytes has three exact keys, so nothing is left to verify, and their ids. Its place follows from a hash of the key; a
//! fourth id says what a key that is not there means. Looking does not branch: whether a pretoken is an entry cannot be
//! predicted. Entries go in by rising id, so those for which there is no room are rare ones; their line says that it
//! is incomplete, and a bit that it is they.
//!
//! The table is made once and only read, so all threads share it. Memory: 64 bytes for one or two entries.
//!
//! Many are looked for at once, in `batch`.

use std::fmt;

use crate::simd;

/// Bytes of a key's text at most.
pub(super) const MOST: usize = 15;

/// What a line has for a key: an id, or this and something that is none.
pub(super) const NO_ID: u32 = 1 << 31;
/// For a text of at most [`MOST`] bytes that is no entry.
pub(super) const NO_WORD: u32 = NO_ID;
/// ... that may be an entry, for its line has no room.
pub(super) const UNKNOWN: u32 = NO_ID + 1;

/// Up to 15 bytes, zeros, and in the last byte how many.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)] // vectors are loaded from it
pub(super) struct Key(u128);

/// By the length of a text: the bytes of sixteen that are its own, and the last byte of its key. A longer text has a key that no entry has.
const MASKS: [[u128; 2]; 17] = masks();

const fn masks() -> [[u128; 2]; 17] {
    let mut masks = [[0; 2]; 17];
    let mut len = 0;
    while len <= 16 {
        let own = if len == 0 || len > MOST { 0 } else { u128::MAX >> (128 - 8 * len) };
        masks[len] = [own, (len as u128) << 120];
        len += 1;
    }
    masks
}

impl Key {
    /// Of `len` bytes that begin `sixteen`; of a longer text a key that no entry has.
    #[inline(always)]
    pub(super) fn new(sixteen: [u8; 16], len: usize) -> Self {
        let [own, length] = MASKS[len.min(16)];
        Self(u128::from_le_bytes(sixteen) & own | length)
    }

    /// Of a text.
    pub(super) fn of(text: &[u8]) -> Self {
        let mut sixteen = [0; 16];
        let len = text.len().min(16);
        sixteen[..len].copy_from_slice(&text[..len]);
        Self::new(sixteen, text.len())
    }

    /// Its highest bits are the best.
    #[inline(always)]
    pub(super) fn hash(self) -> u32 {
        let (low, high) = (self.0 as u64, (self.0 >> 64) as u64);
        let mixed = low.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ high.wrapping_mul(0xC2B2_AE3D_27D4_EB4F);
        (mixed >> 32) as u32
    }
}

/// Three keys, what stands for each, and for any other.
#[derive(Clone, Copy)]
#[repr(C, align(64))] // `batch` loads it as one vector, whose first 48 bytes are the keys
pub(super) struct Line {
    pub(super) keys: [Key; 3],
    pub(super) ids: [u32; 4],
}

// Without padding: all 64 bytes are initialized.
const _: () = assert!(size_of::<Key>() == 16 && size_of::<Line>() == 64 && std::mem::offset_of!(Line, keys) == 0);

const EMPTY: Line = Line { keys: [Key(0); 3], ids: [NO_WORD; 4] };

impl Line {
    /// What it has for a key.
    #[inline(always)]
    pub(super) fn get(&self, key: Key) -> u32 {
        let [first, second, third] = self.keys.map(|there| usize::from(there == key));
        self.ids[(3 - 3 * first - 2 * second - third) & 3]
    }
}

/// The table.
///
/// Invariant: `lines.len() == 1 << (32 - shift)` and `shift < 32`, so that any hash of 32 bits, shifted, is the index of a line.
/// [`Words::with_lines`] checks it, and alone sets these two.
pub(super) struct Words {
    lines: Box<[Line]>,
    shift: u32,        // of a hash, to the number of a line
    other: Box<[u64]>, // a bit for each entry that is in no line, by a hash, and by chance for one text in twenty
}

/// log2 of the bits of `other`.
const OTHER_BITS: u32 = 18;

/// Of a text of at least 16 bytes.
#[inline(always)]
fn longer_hash(text: &[u8]) -> usize {
    let eight = |bytes: Option<&[u8; 8]>| bytes.map_or(0, |&bytes| u64::from_le_bytes(bytes));
    let mixed = eight(text.first_chunk()) ^ eight(text.last_chunk()).rotate_left(29) ^ text.len() as u64;
    (mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - OTHER_BITS)) as usize
}

/// Of a text, for `other`.
#[inline(always)]
fn other_hash(text: &[u8]) -> usize {
    match text.len() {
        0..=MOST => (Key::of(text).hash().wrapping_mul(0x9E37_79B1) >> (32 - OTHER_BITS)) as usize,
        _ => longer_hash(text),
    }
}

impl Words {
    /// Of `(content, id)` by falling importance; contents are not empty. Those of more than 15 bytes are not here.
    pub(super) fn new<'a>(entries: impl Iterator<Item = (&'a [u8], u32)>, count: usize) -> Self {
        let bits = (count / 2).max(16).next_power_of_two().trailing_zeros();
        let other = vec![0; 1 << (OTHER_BITS - 6)].into();
        let mut words = Self::with_lines(vec![EMPTY; 1 << bits], other);
        for (content, id) in entries {
            let other = other_hash(content);
            if content.len() > MOST {
                words.other[other / 64] |= 1 << (other % 64);
                continue;
            }
            let key = Key::of(content);
            let place = words.place(key.hash());
            let line = &mut words.lines[place];
            match line.keys.iter().position(|&there| there == Key(0) || there == key) {
                Some(at) if line.keys[at] == Key(0) => (line.keys[at], line.ids[at]) = (key, id),
                Some(_) => {} // the first of its content
                None => {
                    line.ids[3] = UNKNOWN;
                    words.other[other / 64] |= 1 << (other % 64);
                }
            }
        }
        words
    }

    /// With room for three times 2^`bits` entries, and none.
    pub(super) fn empty(bits: u32) -> Self {
        Self::with_lines(vec![EMPTY; 1 << bits], Box::default())
    }

    /// Of lines whose number is a power of two from 2 to 2^32.
    fn with_lines(lines: Vec<Line>, other: Box<[u64]>) -> Self {
        let bits = lines.len().trailing_zeros();
        assert!(lines.len().is_power_of_two() && (1..=32).contains(&bits), "{} lines", lines.len());
        Self { lines: lines.into(), shift: 32 - bits, other }
    }

    /// Puts an entry into its slot, a free one of its line, or in the place of another; returns whether another had to go.
    #[inline]
    pub(super) fn put(&mut self, key: Key, id: u32) -> bool {
        let hash = key.hash();
        let place = self.place(hash);
        let line = &mut self.lines[place];
        let any = (hash & 0xFFFF) as usize % 3;
        let slot_of = |key: Key| line.keys.iter().position(|&there| there == key);
        let own = slot_of(key).or_else(|| slot_of(Key(0)));
        let at = own.unwrap_or(any);
        (line.keys[at], line.ids[at]) = (key, id);
        own.is_none()
    }

    /// Empties the slot of a key with this hash and an id that is `gone`, if there is one.
    #[inline]
    pub(super) fn remove(&mut self, hash: u32, gone: impl Fn(u32) -> bool) -> bool {
        let place = self.place(hash);
        let line = &mut self.lines[place];
        let slot = (0..3).find(|&slot| line.keys[slot] != Key(0) && gone(line.ids[slot]));
        if let Some(slot) = slot {
            line.keys[slot] = Key(0);
        }
        slot.is_some()
    }

    pub(super) fn num_lines(&self) -> usize {
        self.lines.len()
    }

    /// Twice as many lines, with the same entries.
    pub(super) fn double(&mut self) {
        let shift = self.shift - 1;
        let mut lines = vec![EMPTY; 2 * self.lines.len()];
        for (line, both) in self.lines.iter().zip(lines.as_chunks_mut::<2>().0) {
            let mut used = [0; 2];
            for (&key, &id) in line.keys.iter().zip(&line.ids) {
                if key != Key(0) {
                    let half = (key.hash() >> shift) as usize & 1;
                    (both[half].keys[used[half]], both[half].ids[used[half]]) = (key, id);
                    used[half] += 1;
                }
            }
        }
        *self = Self::with_lines(lines, std::mem::take(&mut self.other));
    }

    /// Whether a text of more than 15 bytes, or one whose line has no room, may be an entry.
    #[inline]
    pub(super) fn may_be_other(&self, text: &[u8]) -> bool {
        let hash = other_hash(text);
        self.other.get(hash / 64).is_some_and(|bits| bits >> (hash % 64) & 1 != 0)
    }

    /// Fetches the line of a hash that will be looked at soon.
    #[inline(always)]
    pub(super) fn prefetch(&self, hash: u32) {
        simd::prefetch(self.line(hash));
    }

    /// What stands for this key, [`NO_WORD`] or [`UNKNOWN`].
    #[inline(always)]
    pub(super) fn get(&self, key: Key) -> u32 {
        self.line(key.hash()).get(key)
    }

    /// The number of a line.
    #[inline(always)]
    fn place(&self, hash: u32) -> usize {
        (hash >> self.shift) as usize
    }

    /// The line of keys with this hash.
    #[inline(always)]
    pub(super) fn line(&self, hash: u32) -> &Line {
        let place = self.place(hash);
        debug_assert!(place < self.lines.len());
        // SAFETY: `hash >> shift` is below `1 << (32 - shift)`, which is the number of lines: the invariant of `Words`.
        unsafe { self.lines.get_unchecked(place) }
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
        let get = |text: &str| words.get(Key::of(text.as_bytes()));
        let lost = contents.iter().zip(0..).filter(|&(content, id)| get(content) != id).collect::<Vec<_>>();
        assert!(lost.iter().all(|(content, _)| get(content) == UNKNOWN) && lost.len() < 1_000, "{}", lost.len());
        for other in ["x", "hello", "more than fifteen bytes", "0\0", "123456789012345"] {
            assert!([NO_WORD, UNKNOWN].contains(&get(other)), "{other}");
        }
        assert!(lost.iter().all(|(content, _)| words.may_be_other(content.as_bytes())));
        let others = (0..10_000).filter(|i| words.may_be_other(format!("{i}.").as_bytes())).count();
        assert!(others < 1_000, "{others}");
    }
}
