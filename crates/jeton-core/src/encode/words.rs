//! Pretokens that are one token: up to 15 bytes of text → id, in one line of memory.
//!
//! A line of 64 bytes has three exact keys, so nothing is left to verify, and their ids. Its place follows from a hash of the key; a
//! fourth id says what a key that is not there means. Looking does not branch: whether a pretoken is an entry cannot be
//! predicted. Entries go in by rising id, so those for which there is no room are rare ones; their line says that it
//! is incomplete.
//!
//! The table is made once and only read, so all threads share it. Memory: 64 bytes for 1.5 entries.
//!
//! Many are looked for at once: first all keys are made and their lines fetched, then the lines are looked at. What this costs is
//! the number of instructions, some forty a pretoken with vectors and a hundred without.

use std::fmt;

use super::BATCH;
use crate::pages::Table;
use crate::simd::{self, Level};

/// Bytes of a key's text at most.
pub(super) const MOST: usize = 15;

/// What [`Words::get`] gives for a text of at most [`MOST`] bytes that is no entry. All that is not an id is at least [`NO_ID`].
pub(super) const NO_WORD: u32 = u32::MAX;
/// ... that may be an entry, for its line has no room.
pub(super) const UNKNOWN: u32 = u32::MAX - 1;

const NO_ID: u32 = 1 << 31;

/// Up to 15 bytes, zeros, and in the last byte how many.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
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

    #[inline(always)]
    pub(super) fn hash(self) -> u64 {
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

/// Keys and their places, while their lines are fetched.
pub(super) struct Batch {
    pub(super) keys: [Key; BATCH],
    places: [u32; BATCH],
}

impl Default for Batch {
    fn default() -> Self {
        Self { keys: [Key(0); BATCH], places: [0; BATCH] }
    }
}

/// The id that a line has for a key, or what it says about keys that are not there.
trait Look {
    fn look(line: &Line, key: &Key) -> u32;
}

struct Portable;

impl Look for Portable {
    #[inline(always)]
    fn look(line: &Line, key: &Key) -> u32 {
        let [first, second, third] = line.keys.map(|there| usize::from(there == *key));
        line.ids[(3 - 3 * first - 2 * second - third) & 3]
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Key, Line, Look};

    /// Of a bit for each half of a key that is the same: the number of the first key with both halves, else 3.
    #[inline(always)]
    fn number(same: u32) -> usize {
        ((same & same >> 1 & 0b01_01_01 | 1 << 6).trailing_zeros() / 2) as usize
    }

    /// Only code that runs after AVX2 was found uses it.
    pub(super) struct Avx2;

    impl Look for Avx2 {
        #[inline(always)]
        fn look(line: &Line, key: &Key) -> u32 {
            // SAFETY: the loads lie within the key and the line's 48 bytes of keys; AVX2 is there (see the type).
            let same = unsafe {
                let key = _mm_loadu_si128(std::ptr::from_ref(key).cast());
                let keys = line.keys.as_ptr().cast::<__m128i>();
                let two = _mm256_cmpeq_epi64(_mm256_loadu_si256(keys.cast()), _mm256_broadcastsi128_si256(key));
                let third = _mm_cmpeq_epi64(_mm_loadu_si128(keys.add(2)), key);
                _mm256_movemask_pd(_mm256_castsi256_pd(two)) | _mm_movemask_pd(_mm_castsi128_pd(third)) << 4
            };
            line.ids[number(same as u32) & 3]
        }
    }

    /// Only code that runs after AVX-512 F was found uses it.
    pub(super) struct Avx512;

    impl Look for Avx512 {
        #[inline(always)]
        fn look(line: &Line, key: &Key) -> u32 {
            // SAFETY: the loads are of one key and of one line; AVX-512 is there (see the type).
            let same = unsafe {
                let key = _mm512_broadcast_i32x4(_mm_loadu_si128(std::ptr::from_ref(key).cast()));
                _mm512_cmpeq_epi64_mask(_mm512_loadu_si512(std::ptr::from_ref(line).cast()), key)
            };
            line.ids[number(same.into()) & 3]
        }
    }
}

/// The table.
pub(super) struct Words {
    lines: Table<Line>,
    shift: u32,
    longer: Box<[u64]>, // a bit for each entry of more than 15 bytes, by a hash, and by chance for one text in thirty
}

/// log2 of the bits of `longer`.
const LONGER_BITS: u32 = 17;

/// Of a text of at least 16 bytes.
#[inline(always)]
fn longer_hash(text: &[u8]) -> usize {
    let eight = |bytes: Option<&[u8; 8]>| bytes.map_or(0, |&bytes| u64::from_le_bytes(bytes));
    let mixed = eight(text.first_chunk()) ^ eight(text.last_chunk()).rotate_left(29) ^ text.len() as u64;
    (mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - LONGER_BITS)) as usize
}

impl Words {
    /// Of `(content, id)` by falling importance; contents are not empty. Those of more than 15 bytes are not here.
    pub(super) fn new<'a>(entries: impl Iterator<Item = (&'a [u8], u32)>, count: usize) -> Self {
        let bits = (count * 2 / 3).max(16).next_power_of_two().trailing_zeros();
        let mut words = Self { longer: vec![0; 1 << (LONGER_BITS - 6)].into(), ..Self::empty(bits) };
        for (content, id) in entries {
            if content.len() > MOST {
                let hash = longer_hash(content);
                words.longer[hash / 64] |= 1 << (hash % 64);
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

    /// With room for three times 2^`bits` entries, and none.
    pub(super) fn empty(bits: u32) -> Self {
        Self { lines: Table::filled(EMPTY, 1 << bits), shift: 64 - bits, longer: Box::default() }
    }

    /// Puts an entry into its slot, a free one of its line, or in the place of another; returns whether another had to go.
    #[inline]
    pub(super) fn put(&mut self, key: Key, id: u32) -> bool {
        let place = self.place(key) as usize;
        let line = &mut self.lines[place];
        let any = (key.hash() >> 8) as usize % 3;
        let slot_of = |key: Key| line.keys.iter().position(|&there| there == key);
        let own = slot_of(key).or_else(|| slot_of(Key(0)));
        let at = own.unwrap_or(any);
        (line.keys[at], line.ids[at]) = (key, id);
        own.is_none()
    }

    /// Empties the slot of a key with this hash and an id that is `gone`, if there is one.
    #[inline]
    pub(super) fn remove(&mut self, hash: u64, gone: impl Fn(u32) -> bool) -> bool {
        let line = &mut self.lines[(hash >> self.shift) as usize];
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
        let mut lines = Table::filled(EMPTY, 2 * self.lines.len());
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
        *self = Self { lines, shift, longer: std::mem::take(&mut self.longer) };
    }

    /// Whether a text of more than 15 bytes may be an entry.
    #[inline]
    pub(super) fn may_be_longer(&self, text: &[u8]) -> bool {
        let hash = longer_hash(text);
        self.longer.get(hash / 64).is_some_and(|bits| bits >> (hash % 64) & 1 != 0)
    }

    /// Fetches the line of a key that will be looked at soon.
    #[inline(always)]
    pub(super) fn prefetch(&self, key: Key) {
        self.prefetch_line(self.place(key));
    }

    #[inline(always)]
    fn prefetch_line(&self, place: u32) {
        simd::prefetch(self.line(place));
    }

    /// The id of the entry with this key, [`NO_WORD`] or [`UNKNOWN`].
    #[inline(always)]
    pub(super) fn get(&self, key: Key) -> u32 {
        Portable::look(self.line(self.place(key)), &key)
    }

    /// Where a key's line is.
    #[inline(always)]
    fn place(&self, key: Key) -> u32 {
        (key.hash() >> self.shift) as u32
    }

    /// The line at a place that [`Words::place`] gave.
    #[inline(always)]
    fn line(&self, place: u32) -> &Line {
        debug_assert!((place as usize) < self.lines.len());
        // SAFETY: a place has as many bits as the number of lines, which is a power of two, says (see `empty` and `double`).
        unsafe { self.lines.get_unchecked(place as usize) }
    }

    /// The ids of the parts of `text` between neighboring `bounds`, of which there are at most [`BATCH`]: [`NO_WORD`] or [`UNKNOWN`]
    /// where they are not here. Which these are goes into `missed`; returns how many.
    pub(super) fn find(
        &self,
        text: &[u8],
        bounds: &[u32],
        batch: &mut Batch,
        ids: &mut [u32],
        missed: &mut [u8; BATCH],
    ) -> usize {
        match simd::level() {
            // SAFETY: the level says what the processor has.
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => unsafe { self.find_avx512(text, bounds, batch, ids, missed) },
            // SAFETY: the level says what the processor has.
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => unsafe { self.find_avx2(text, bounds, batch, ids, missed) },
            _ => self.find_at::<Portable>(text, bounds, batch, ids, missed),
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    fn find_avx2(
        &self,
        text: &[u8],
        bounds: &[u32],
        batch: &mut Batch,
        ids: &mut [u32],
        missed: &mut [u8; BATCH],
    ) -> usize {
        self.find_at::<x86::Avx2>(text, bounds, batch, ids, missed)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,avx512f,avx512bw,avx512vl")]
    fn find_avx512(
        &self,
        text: &[u8],
        bounds: &[u32],
        batch: &mut Batch,
        ids: &mut [u32],
        missed: &mut [u8; BATCH],
    ) -> usize {
        self.find_at::<x86::Avx512>(text, bounds, batch, ids, missed)
    }

    #[inline(always)]
    fn find_at<L: Look>(
        &self,
        text: &[u8],
        bounds: &[u32],
        batch: &mut Batch,
        ids: &mut [u32],
        missed: &mut [u8; BATCH],
    ) -> usize {
        let count = ids.len().min(bounds.len().saturating_sub(1)).min(BATCH);
        // Lengths that the compiler knows to be enough spare a check in each step.
        let (Some(bounds), Some(ids)) = (bounds.get(..=count), ids.get_mut(..count)) else { return 0 };
        let Batch { keys, places } = batch;
        // Those of which sixteen bytes can be read where they stand.
        let inside = bounds[..count].partition_point(|&start| start as usize + 16 <= text.len()).min(count);
        if let Some(last) = text.len().checked_sub(16) {
            for at in 0..inside {
                let start = (bounds[at] as usize).min(last);
                // SAFETY: `start` is at least 16 bytes from the end.
                let sixteen = unsafe { text.as_ptr().add(start).cast::<[u8; 16]>().read_unaligned() };
                keys[at] = Key::new(sixteen, (bounds[at + 1] - bounds[at]) as usize);
                places[at] = self.place(keys[at]);
                self.prefetch_line(places[at]);
            }
        }
        for at in inside..count {
            let mut sixteen = [0; 16];
            let rest = &text[bounds[at] as usize..];
            sixteen[..rest.len()].copy_from_slice(rest);
            keys[at] = Key::new(sixteen, (bounds[at + 1] - bounds[at]) as usize);
            places[at] = self.place(keys[at]);
            self.prefetch_line(places[at]);
        }
        let mut num_missed = 0;
        for at in 0..count {
            ids[at] = L::look(self.line(places[at]), &keys[at]);
            missed[num_missed & (BATCH - 1)] = at as u8;
            num_missed += (ids[at] / NO_ID) as usize;
        }
        num_missed
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
        let get = |text: &str| {
            let (mut ids, mut missed) = ([0; 2], [0; BATCH]);
            let both = [text, "the end of which is beyond the reach of any key"].concat();
            let bounds = [0, text.len() as u32, both.len() as u32];
            let found = words.find(both.as_bytes(), &bounds, &mut Batch::default(), &mut ids, &mut missed);
            let last = words.find(text.as_bytes(), &bounds[..2], &mut Batch::default(), &mut ids[1..], &mut missed);
            assert_eq!((ids[0], found - 1), (ids[1], last)); // the second part is never a word
            ids[0]
        };
        let lost = contents.iter().zip(0..).filter(|&(content, id)| get(content) != id).collect::<Vec<_>>();
        assert!(lost.iter().all(|(content, _)| get(content) == UNKNOWN) && lost.len() < 1_000, "{}", lost.len());
        for other in ["", "x", "hello", "more than fifteen bytes", "0\0", "123456789012345"] {
            assert!(other.is_empty() || get(other) >= UNKNOWN, "{other}");
        }
    }
}
