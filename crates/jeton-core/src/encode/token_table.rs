//! Hash table of the pretokens that are one token: up to 15 bytes of text → id. A lookup reads one cache line.
//!
//! A bucket of 64 bytes contains three keys of 16 bytes (whole pretokens), the id of each, and a fourth value, which is
//! the result for any other key. A lookup does not branch on the question whether the pretoken is an entry, because
//! such a branch would often be mispredicted. Entries are inserted by ascending id, so entries that no longer fit their
//! bucket are rare in text. If a bucket had no space for an entry, its fourth value is [`MAYBE_ENTRY`]; a bitmap then
//! tells which texts can be entries that did not fit.
//!
//! The table does not change after it is built, so all threads share it. Memory: 64 bytes for each bucket, which has
//! one or two entries on average. [`super::batch`] probes the table for many pretokens at once.

use std::fmt;

use crate::util::huge_pages::HugeVec;
use crate::util::short_key::{ShortKey, MAX_BYTES};
use crate::util::simd;

/// Bit that is set in values that are not ids.
pub(super) const NO_ID: u32 = 1 << 31;
/// Value of a key that is not an entry.
pub(super) const NOT_ENTRY: u32 = NO_ID;
/// Value of a key that was not found in its bucket. It can still be an entry, because the bucket was full when it was
/// built.
pub(super) const MAYBE_ENTRY: u32 = NO_ID + 1;

/// Odd multipliers of the two halves of a key.
pub(super) const MULTIPLIERS: [u64; 2] = [0x9E37_79B9_7F4A_7C15, 0xC2B2_AE3D_27D4_EB4F];

impl ShortKey {
    /// Hashes the key. The high bits of the hash depend on more bits of the key than the low bits do.
    #[inline(always)]
    pub(super) fn hash(self) -> u32 {
        let (low, high) = (self.bits() as u64, (self.bits() >> 64) as u64);
        let mixed = low.wrapping_mul(MULTIPLIERS[0]) ^ high.wrapping_mul(MULTIPLIERS[1]);
        (mixed >> 32) as u32
    }
}

/// A bucket, one cache line: three keys, their three values, and the value that all other keys have.
#[derive(Clone, Copy)]
#[repr(C, align(64))] // `batch` loads it as one vector; the first 48 bytes are the keys
pub(super) struct Bucket {
    pub(super) keys: [ShortKey; 3],
    pub(super) ids: [u32; 4],
}

/// log2 of the bytes of a bucket.
const BUCKET_SHIFT: u32 = size_of::<Bucket>().trailing_zeros();

// Asserts that a bucket has no padding, so all 64 bytes are initialized.
const _: () =
    assert!(size_of::<ShortKey>() == 16 && size_of::<Bucket>() == 64 && std::mem::offset_of!(Bucket, keys) == 0);

const EMPTY: Bucket = Bucket { keys: [ShortKey::EMPTY; 3], ids: [NOT_ENTRY; 4] };

fn empty_buckets(len: usize) -> HugeVec<Bucket> {
    HugeVec::filled_or_abort(EMPTY, len)
}

impl Bucket {
    /// Returns the value of a key in this bucket.
    #[inline(always)]
    pub(super) fn get(&self, key: ShortKey) -> u32 {
        let [first, second, third] = self.keys.map(|there| usize::from(there == key));
        self.ids[(3 - 3 * first - 2 * second - third) & 3]
    }
}

/// Hash table of short keys, with three keys in a bucket.
///
/// Invariant: `buckets.len() == 1 << (32 - shift)` and `BUCKET_SHIFT <= shift < 32`, so any 32-bit hash, shifted, is
/// the index of a bucket. [`TokenTable::with_buckets`] checks this, and no other function sets these two fields.
pub(super) struct TokenTable {
    buckets: HugeVec<Bucket>,
    shift: u32,           // `hash >> shift` is the index of a bucket
    overflow: Box<[u64]>, // bitmap indexed by hash: entries that are in no bucket, and about 1 of 20 other texts
}

/// Number of entries that are inserted together, after the cache line of each was prefetched.
const GROUP: usize = 32;

/// log2 of the number of bits of the overflow bitmap.
const OVERFLOW_BITS: u32 = 18;

/// Hashes a text of at least 16 bytes.
#[inline(always)]
fn longer_hash(text: &[u8]) -> usize {
    let eight = |bytes: Option<&[u8; 8]>| bytes.map_or(0, |&bytes| u64::from_le_bytes(bytes));
    let mixed = eight(text.first_chunk()) ^ eight(text.last_chunk()).rotate_left(29) ^ text.len() as u64;
    (mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - OVERFLOW_BITS)) as usize
}

/// Hashes a text for the overflow bitmap.
#[inline(always)]
fn overflow_hash(text: &[u8]) -> usize {
    match text.len() {
        0..=MAX_BYTES => (ShortKey::of(text).hash().wrapping_mul(0x9E37_79B1) >> (32 - OVERFLOW_BITS)) as usize,
        _ => longer_hash(text),
    }
}

impl TokenTable {
    /// Builds the table from pairs `(content, id)`; frequent ones should come first. Contents must not be empty.
    /// Contents of more than 15 bytes only set overflow bits.
    pub(super) fn new<'a>(entries: impl Iterator<Item = (&'a [u8], u32)>, count: usize) -> Self {
        let bits = (count / 2).max(16).next_power_of_two().trailing_zeros();
        let overflow = vec![0; 1 << (OVERFLOW_BITS - 6)].into();
        let mut table = Self::with_buckets(empty_buckets(1 << bits), overflow);
        let mut entries = entries.map(|(content, id)| (ShortKey::of(content), overflow_hash(content), id));
        let mut group = Vec::with_capacity(GROUP);
        loop {
            group.extend(entries.by_ref().take(GROUP));
            if group.is_empty() {
                return table;
            }
            group.iter().for_each(|(key, ..)| table.prefetch(key.hash()));
            group.drain(..).for_each(|(key, overflow, id)| table.add(key, overflow, id));
        }
    }

    /// Inserts an entry of the vocabulary. `overflow` is its index in the overflow bitmap.
    #[inline(always)]
    fn add(&mut self, key: ShortKey, overflow: usize, id: u32) {
        if key.is_longer() {
            self.overflow[overflow / 64] |= 1 << (overflow % 64);
            return;
        }
        let bucket_index = self.bucket_index(key.hash());
        let bucket = &mut self.buckets[bucket_index];
        match bucket.keys.iter().position(|&there| there == ShortKey::EMPTY || there == key) {
            Some(at) if bucket.keys[at] == ShortKey::EMPTY => (bucket.keys[at], bucket.ids[at]) = (key, id),
            Some(_) => {} // a duplicate, of which the first one is kept
            None => {
                bucket.ids[3] = MAYBE_ENTRY;
                self.overflow[overflow / 64] |= 1 << (overflow % 64);
            }
        }
    }

    /// Creates an empty table of 2^`bits` buckets.
    pub(super) fn empty(bits: u32) -> Self {
        Self::with_buckets(empty_buckets(1 << bits), Box::default())
    }

    /// Creates a table from buckets, whose number is a power of two from 2 to 2^26.
    fn with_buckets(buckets: HugeVec<Bucket>, overflow: Box<[u64]>) -> Self {
        let bits = buckets.len().trailing_zeros();
        let most = 32 - BUCKET_SHIFT; // byte offsets of buckets have 32 bits
        assert!(buckets.len().is_power_of_two() && (1..=most).contains(&bits), "{} buckets", buckets.len());
        Self { buckets, shift: 32 - bits, overflow }
    }

    /// Inserts or updates an entry. Returns true if another entry of its bucket was evicted.
    #[inline]
    pub(super) fn put(&mut self, key: ShortKey, id: u32) -> bool {
        let hash = key.hash();
        let bucket_index = self.bucket_index(hash);
        let bucket = &mut self.buckets[bucket_index];
        let any = (hash & 0xFFFF) as usize % 3;
        let slot_of = |key: ShortKey| bucket.keys.iter().position(|&there| there == key);
        let own = slot_of(key).or_else(|| slot_of(ShortKey::EMPTY));
        let at = own.unwrap_or(any);
        (bucket.keys[at], bucket.ids[at]) = (key, id);
        own.is_none()
    }

    /// Removes the entry with this hash whose value satisfies `gone`. Returns false if there is none.
    #[inline]
    pub(super) fn remove(&mut self, hash: u32, gone: impl Fn(u32) -> bool) -> bool {
        let bucket_index = self.bucket_index(hash);
        let bucket = &mut self.buckets[bucket_index];
        let slot = (0..3).find(|&slot| bucket.keys[slot] != ShortKey::EMPTY && gone(bucket.ids[slot]));
        if let Some(slot) = slot {
            bucket.keys[slot] = ShortKey::EMPTY;
        }
        slot.is_some()
    }

    pub(super) fn num_buckets(&self) -> usize {
        self.buckets.len()
    }

    /// Doubles the number of buckets and keeps the entries.
    pub(super) fn double(&mut self) {
        let shift = self.shift - 1;
        let mut buckets = empty_buckets(2 * self.buckets.len());
        for (bucket, both) in self.buckets.iter().zip(buckets.as_chunks_mut::<2>().0) {
            let mut used = [0; 2];
            for (&key, &id) in bucket.keys.iter().zip(&bucket.ids) {
                if key != ShortKey::EMPTY {
                    let half = (key.hash() >> shift) as usize & 1;
                    (both[half].keys[used[half]], both[half].ids[used[half]]) = (key, id);
                    used[half] += 1;
                }
            }
        }
        *self = Self::with_buckets(buckets, std::mem::take(&mut self.overflow));
    }

    /// Returns true if the overflow bitmap says that a text may be an entry. Call it for texts of more than 15 bytes,
    /// and for texts whose bucket has overflowed.
    #[inline]
    pub(super) fn may_be_entry(&self, text: &[u8]) -> bool {
        let hash = overflow_hash(text);
        self.overflow.get(hash / 64).is_some_and(|bits| bits >> (hash % 64) & 1 != 0)
    }

    /// Prefetches the bucket of a hash.
    #[inline(always)]
    pub(super) fn prefetch(&self, hash: u32) {
        simd::prefetch(self.bucket(hash));
    }

    /// Returns the value of a key, or [`NOT_ENTRY`] or [`MAYBE_ENTRY`].
    #[inline(always)]
    pub(super) fn get(&self, key: ShortKey) -> u32 {
        self.bucket(key.hash()).get(key)
    }

    /// Returns the index of the bucket of a hash.
    #[inline(always)]
    fn bucket_index(&self, hash: u32) -> usize {
        (hash >> self.shift) as usize
    }

    /// Returns the offset of the bucket of a hash, in bytes.
    #[inline(always)]
    pub(super) fn offset(&self, hash: u32) -> u32 {
        hash >> self.shift << BUCKET_SHIFT
    }

    /// Returns the bucket at a byte offset.
    ///
    /// # Safety
    /// `offset` is a result of [`TokenTable::offset`] of this table.
    #[inline(always)]
    pub(super) unsafe fn bucket_at(&self, offset: u32) -> &Bucket {
        debug_assert!((offset as usize) < size_of_val(&*self.buckets) && offset.is_multiple_of(1 << BUCKET_SHIFT));
        // SAFETY: the caller guarantees that `offset` is the offset of a bucket of this table, and a bucket has `1 <<
        // BUCKET_SHIFT` bytes.
        unsafe { &*self.buckets.as_ptr().byte_add(offset as usize) }
    }

    /// Returns the bucket of a hash.
    #[inline(always)]
    pub(super) fn bucket(&self, hash: u32) -> &Bucket {
        let bucket_index = self.bucket_index(hash);
        debug_assert!(bucket_index < self.buckets.len());
        // SAFETY: `hash >> shift` is below `1 << (32 - shift)`, the number of buckets by the invariant of
        // `TokenTable`.
        unsafe { self.buckets.get_unchecked(bucket_index) }
    }
}

impl fmt::Debug for TokenTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenTable of {} buckets", self.buckets.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lookup_of_an_entry_finds_it_or_tells_that_it_may_exist() {
        let contents: Vec<String> = (0..20_000u32).map(|i| format!("{:x}", i.wrapping_mul(0x9E37_79B1))).collect();
        let table =
            TokenTable::new(contents.iter().zip(0..).map(|(content, id)| (content.as_bytes(), id)), contents.len());
        let get = |text: &str| table.get(ShortKey::of(text.as_bytes()));
        let lost = contents.iter().zip(0..).filter(|&(content, id)| get(content) != id).collect::<Vec<_>>();
        assert!(lost.iter().all(|(content, _)| get(content) == MAYBE_ENTRY) && lost.len() < 1_000, "{}", lost.len());
        for overflow in ["x", "hello", "more than fifteen bytes", "0\0", "123456789012345"] {
            assert!([NOT_ENTRY, MAYBE_ENTRY].contains(&get(overflow)), "{overflow}");
        }
        assert!(lost.iter().all(|(content, _)| table.may_be_entry(content.as_bytes())));
        let others = (0..10_000).filter(|i| table.may_be_entry(format!("{i}.").as_bytes())).count();
        assert!(others < 1_000, "{others}");
    }
}
