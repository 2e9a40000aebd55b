//! Bounded cache of a thread's recent pretokens: pretoken → tokens. It stores pretokens of up to 15 bytes that are not
//! entries of the vocabulary.
//!
//! Keys are stored in the buckets of [`mod@super::token_table`], three in a cache line. An insertion into a full bucket
//! evicts one of its keys, chosen by the hash. The cache doubles, within the caller's memory limit, when it has evicted
//! more keys than it has buckets. Results do not depend on the cache: on a miss, the pretoken is merged again.
//!
//! Token lists are stored in a ring buffer; new lists overwrite the oldest. Each list begins with the hash of its
//! pretoken, so that the key of an overwritten list can be found and removed.

use super::growable_cache::GrowableCache;
use super::token_table::{Bucket, TokenTable, NO_ID};
use crate::util::short_key::{self, ShortKey};
use crate::util::simd;

/// Maximum number of tokens of a pretoken: one for each of its bytes.
pub(super) const MAX_TOKENS: usize = short_key::MAX_BYTES;

/// Lowest bit of the number of tokens in a packed reference to a list. A reference consists of [`NO_ID`], the number of
/// tokens, and the offset of the list in the ring. For a missing key, [`TokenTable`] returns a value with 0 tokens.
const COUNT_SHIFT: u32 = 27;
const OFFSET_MASK: u32 = (1 << COUNT_SHIFT) - 1;

/// Returns the number of tokens of a packed reference; 0 for a miss.
#[inline(always)]
pub(super) fn num_tokens(packed: u32) -> usize {
    (packed >> COUNT_SHIFT) as usize & MAX_TOKENS
}

/// Number of ids in one read of fixed length. The read is longer than any list: it contains all ids of a list, and the
/// values that follow the list in the ring.
pub(super) const LIST: usize = MAX_TOKENS + 1;

/// Number of groups that the ring has for each bucket. A group is four integers.
const GROUPS_PER_BUCKET: usize = 4;

/// Bytes of a bucket together with its share of the ring.
pub(super) const BUCKET_BYTES: usize = 64 + 16 * GROUPS_PER_BUCKET;

/// Mask of the bits of a list's header that contain the number of groups in the list. The other bits of the header
/// contain the hash of the pretoken.
const LENGTH: u32 = 7;

/// Number of unused groups after the end of the ring. Without these groups, a read of fixed length that begins at the
/// last list would go past the end of the memory.
const PADDING: usize = 5;

/// Set-associative cache whose values are stored in a ring buffer.
pub(super) struct PretokenCache {
    table: TokenTable,
    ring: Box<[[u32; 4]]>,
    next: usize,   // where the next list is written
    oldest: usize, // start of the oldest remaining list of the previous round
    max_buckets: usize,
    num_evicted: usize,
}

impl PretokenCache {
    /// Creates a cache of 2^`bits` buckets that may grow to 2^`max_bits`. Each bucket takes [`BUCKET_BYTES`].
    pub(super) fn new(bits: u32, max_bits: u32) -> Self {
        let ring = vec![[0; 4]; (GROUPS_PER_BUCKET << bits) + PADDING].into();
        Self { table: TokenTable::empty(bits), ring, next: 0, oldest: 0, max_buckets: 1 << max_bits, num_evicted: 0 }
    }

    /// Prefetches the bucket of a hash.
    #[inline(always)]
    pub(super) fn prefetch(&self, hash: u32) {
        self.table.prefetch(hash);
    }

    /// Returns the bucket of a hash. The values in the bucket are packed references to lists of ids.
    #[inline(always)]
    pub(super) fn bucket(&self, hash: u32) -> &Bucket {
        self.table.bucket(hash)
    }

    /// Returns the packed reference to the list of a pretoken. On a miss, [`num_tokens`] of the returned value is 0.
    #[inline(always)]
    pub(super) fn get(&self, key: ShortKey) -> u32 {
        self.table.get(key)
    }

    /// Prefetches a list.
    #[inline(always)]
    pub(super) fn prefetch_list(&self, packed: u32) {
        simd::prefetch(self.list(packed));
    }

    /// Returns the ids of a list, followed by other values of the ring. The result always has [`LIST`] values.
    #[inline(always)]
    pub(super) fn list(&self, packed: u32) -> &[u32; LIST] {
        const ANYTHING: &[u32; LIST] = &[0; LIST];
        let start = 4 * (packed & OFFSET_MASK) as usize + 1;
        self.ring.as_flattened().get(start..).and_then(|list| list.first_chunk()).unwrap_or(ANYTHING)
    }

    /// Appends the tokens of a list; returns their number.
    #[inline(always)]
    pub(super) fn append(&self, packed: u32, out: &mut Vec<u32>) -> usize {
        let (count, before) = (num_tokens(packed), out.len());
        out.extend_from_slice(self.list(packed)); // a copy of fixed length costs less
        out.truncate(before + count);
        count
    }

    /// Inserts the tokens of a pretoken. Does nothing if the list is empty or too long.
    #[inline]
    pub(super) fn put(&mut self, key: ShortKey, ids: &[u32]) {
        if !(1..=MAX_TOKENS).contains(&ids.len()) {
            return;
        }
        let length = (1 + ids.len()).div_ceil(4);
        let at = self.allocate(length);
        let list = self.ring[at..at + length].as_flattened_mut();
        list[0] = key.hash() & !LENGTH | length as u32;
        list[1..=ids.len()].copy_from_slice(ids);
        let packed = NO_ID | (ids.len() as u32) << COUNT_SHIFT | at as u32;
        self.num_evicted += usize::from(self.table.put(key, packed));
    }

    /// Allocates `length` groups of the ring, and removes the keys of the lists that were stored there.
    fn allocate(&mut self, length: usize) -> usize {
        let end = self.ring.len() - PADDING;
        if self.next + length > end {
            self.close_gap();
            (self.next, self.oldest) = (0, 0);
        }
        let at = self.next;
        self.next += length;
        while self.oldest < self.next {
            let first = self.ring[self.oldest][0];
            if first == 0 {
                self.oldest = end; // no list is stored from here on
                break;
            }
            let is_here = |packed: u32| (packed & OFFSET_MASK) as usize == self.oldest;
            self.num_evicted += usize::from(self.table.remove(first & !LENGTH, is_here));
            self.oldest += (first & LENGTH) as usize;
        }
        at
    }

    /// Marks the unused groups between the newest and the oldest list as a list without a key, so that the next round
    /// through the ring skips them.
    fn close_gap(&mut self) {
        let end = self.ring.len() - PADDING;
        let gap = self.oldest.min(end) - self.next;
        if gap > 0 {
            self.ring[self.next][0] = gap as u32;
        }
    }
}

impl GrowableCache for PretokenCache {
    fn growth_bytes(&self) -> usize {
        let buckets = self.table.num_buckets();
        if self.num_evicted > buckets && buckets < self.max_buckets {
            BUCKET_BYTES * buckets
        } else {
            0
        }
    }

    fn grow(&mut self) {
        self.table.double();
        let end = self.ring.len() - PADDING;
        if self.oldest < end {
            self.close_gap();
            self.next = end;
        }
        let mut ring = vec![[0; 4]; 2 * end + PADDING];
        ring[..end].copy_from_slice(&self.ring[..end]);
        self.ring = ring.into();
        self.oldest = 2 * end;
        self.num_evicted = 0;
    }

    fn keep_size(&mut self) {
        self.num_evicted = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hit_returns_the_inserted_tokens() {
        let mut cache = PretokenCache::new(4, 7);
        let key = |i: usize| ShortKey::of(format!("{i}{}", ".".repeat(i % 12)).as_bytes());
        let ids = |i: usize| (0..1 + i % MAX_TOKENS).map(|k| (1000 * k + i) as u32).collect::<Vec<_>>();
        let get = |cache: &PretokenCache, i: usize| {
            let mut tokens = vec![7];
            assert_eq!(cache.append(cache.get(key(i)), &mut tokens), tokens.len() - 1);
            tokens.split_off(1)
        };
        let mut grown = 0;
        for i in 0..3_000 {
            let i = i * 7 % 2_000;
            cache.put(key(i), &ids(i));
            assert_eq!(get(&cache, i), ids(i));
            if i % 50 == 0 {
                let known = |cache: &PretokenCache| {
                    let there = (0..2_000).map(|i| (i, get(cache, i))).filter(|(_, there)| !there.is_empty());
                    there.map(|(i, there)| assert_eq!(there, ids(i))).count()
                };
                let before = known(&cache);
                assert!(before > 0);
                if cache.growth_bytes() > 0 {
                    cache.grow();
                    grown += 1;
                    assert_eq!(known(&cache), before);
                }
            }
        }
        assert!(grown == 3 && cache.growth_bytes() == 0);
    }
}
