//! Bounded direct-mapped cache of pretokens of more than 15 bytes: bytes → ids. A lookup reads one or two cache lines.
//!
//! An insertion overwrites the entry at the index that the hash determines, so no recency is tracked. A cache doubles,
//! within the caller's memory limit, when it has evicted twice as many entries as it can hold; doubling sooner costs
//! more than it saves. Keys are exact. Results do not depend on the cache: on a miss, the pretoken is merged again.

use super::growable_cache::GrowableCache;
use crate::util::simd;

/// An entry: the key, in words of 8 bytes, and its ids. The last byte of the key is the length of the pretoken (0 in a
/// free entry). The byte before it is the number of ids.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct CacheEntry<const WORDS: usize, const IDS: usize> {
    key: [u64; WORDS],
    ids: [u32; IDS],
}

/// Cache for pretokens of up to `8 * WORDS - 2` bytes. Up to `IDS` ids are stored beside the key, longer lists in a
/// ring buffer. Long lists occur for scripts that the vocabulary hardly covers, where a pretoken takes nearly one id
/// for each byte.
pub(super) struct LongPretokenCache<const WORDS: usize, const IDS: usize> {
    entries: Box<[CacheEntry<WORDS, IDS>]>,
    shift: u32,
    ring: Box<[u32]>, // lists of more than IDS ids; new lists overwrite the oldest
    written: u64,     // ids written to the ring so far
    max_entries: usize,
    num_evicted: usize, // number of evictions since the last change of size
}

/// Key of a pretoken, with its hash.
#[derive(Clone, Copy)]
pub(super) struct LongKey<const WORDS: usize> {
    key: [u64; WORDS],
    hash: u64,
}

impl<const WORDS: usize> Default for LongKey<WORDS> {
    fn default() -> Self {
        Self { key: [0; WORDS], hash: 0 }
    }
}

impl<const WORDS: usize, const IDS: usize> LongPretokenCache<WORDS, IDS> {
    /// Maximum length of a pretoken in bytes. The last two bytes of a key are not part of the pretoken: they store its
    /// length and its number of ids.
    pub(super) const MAX_BYTES: usize = 8 * WORDS - 2;

    /// Creates a cache of 2^`bits` entries that may grow to 2^`max_bits`.
    pub(super) fn new(bits: u32, max_bits: u32) -> Self {
        let empty = CacheEntry { key: [0; WORDS], ids: [0; IDS] };
        let entries = vec![empty; 1 << bits].into();
        let ring = vec![0; (IDS / 2) << bits].into();
        Self { entries, shift: 64 - bits.max(1), ring, written: 0, max_entries: 1 << max_bits, num_evicted: 0 }
    }

    /// Computes the key of the pretoken that consists of the first `len` bytes of `text`. `text` must be at least as
    /// long as a key.
    #[inline(always)]
    pub(super) fn key(&self, text: &[u8], len: usize) -> LongKey<WORDS> {
        let mut key = [0; WORDS];
        for (i, (word, bytes)) in key.iter_mut().zip(text.as_chunks().0).enumerate() {
            let bits = len.saturating_sub(8 * i).min(8) as u32 * 8;
            let mask = u64::MAX.checked_shr(64 - bits).unwrap_or(0);
            *word = u64::from_le_bytes(*bytes) & mask;
        }
        key[WORDS - 1] |= (len as u64) << 56;
        LongKey { key, hash: hash(&key) }
    }

    #[inline(always)]
    fn entry_index(&self, key: &LongKey<WORDS>) -> usize {
        (key.hash >> self.shift) as usize & (self.entries.len() - 1)
    }

    /// Prefetches the entry of a key.
    #[inline(always)]
    pub(super) fn prefetch(&self, key: &LongKey<WORDS>) {
        simd::prefetch(&self.entries[self.entry_index(key)]);
    }

    /// Appends the cached ids of a key; returns their number, 0 on a miss.
    #[inline(always)]
    pub(super) fn get(&self, key: &LongKey<WORDS>, out: &mut Vec<u32>) -> usize {
        let entry = &self.entries[self.entry_index(key)];
        let count = entry.key[WORDS - 1] >> 48 & 0xFF;
        let mut differs = entry.key[WORDS - 1] ^ count << 48 ^ key.key[WORDS - 1];
        for (there, here) in entry.key[..WORDS - 1].iter().zip(&key.key) {
            differs |= there ^ here;
        }
        if differs != 0 {
            return 0;
        }
        let count = count as usize;
        if count > IDS {
            let ids = self.ids(entry, count);
            out.extend_from_slice(ids);
            return ids.len();
        }
        let before = out.len();
        out.extend_from_slice(&entry.ids); // a copy of fixed length costs less
        out.truncate(before + count);
        count
    }

    /// Returns the ids of an entry; none if the ring has overwritten them.
    fn ids<'m>(&'m self, entry: &'m CacheEntry<WORDS, IDS>, count: usize) -> &'m [u32] {
        if count <= IDS {
            return &entry.ids[..count];
        }
        let start = u64::from(entry.ids[0]) | u64::from(entry.ids[1]) << 32;
        if self.written - start > self.ring.len() as u64 {
            return &[];
        }
        &self.ring[start as usize % self.ring.len()..][..count]
    }

    /// Writes ids to the ring, at consecutive positions; returns the first position.
    fn append_to_ring(&mut self, ids: &[u32]) -> u64 {
        let len = self.ring.len() as u64;
        let mut start = self.written;
        if start % len + ids.len() as u64 > len {
            start = start.next_multiple_of(len);
        }
        self.ring[(start % len) as usize..][..ids.len()].copy_from_slice(ids);
        self.written = start + ids.len() as u64;
        start
    }

    /// Inserts the ids of a key. Does nothing if the list is empty or too long.
    #[inline(always)]
    pub(super) fn put(&mut self, key: &LongKey<WORDS>, ids: &[u32]) {
        if ids.is_empty() || ids.len() > MAX_IDS {
            return;
        }
        let start = if ids.len() > IDS { self.append_to_ring(ids) } else { 0 };
        let at = self.entry_index(key);
        let entry = &mut self.entries[at];
        self.num_evicted += usize::from(entry.key[WORDS - 1] != 0);
        entry.key = key.key;
        entry.key[WORDS - 1] |= (ids.len() as u64) << 48;
        if ids.len() > IDS {
            entry.ids[..2].copy_from_slice(&[start as u32, (start >> 32) as u32]);
        } else {
            entry.ids[..ids.len()].copy_from_slice(ids);
        }
    }
}

impl<const WORDS: usize, const IDS: usize> GrowableCache for LongPretokenCache<WORDS, IDS> {
    fn growth_bytes(&self) -> usize {
        let should = self.num_evicted > 2 * self.entries.len() && self.entries.len() < self.max_entries;
        if should {
            size_of_val(&*self.entries) + size_of_val(&*self.ring)
        } else {
            0
        }
    }

    fn grow(&mut self) {
        let max_entries = self.max_entries.trailing_zeros();
        let old = std::mem::replace(self, Self::new(self.entries.len().trailing_zeros() + 1, max_entries));
        for entry in old.entries.iter() {
            let count = entry.key[WORDS - 1] >> 48 & 0xFF;
            let mut key = entry.key;
            key[WORDS - 1] ^= count << 48;
            self.put(&LongKey { key, hash: hash(&key) }, old.ids(entry, count as usize));
        }
        self.num_evicted = 0;
    }

    fn keep_size(&mut self) {
        self.num_evicted = 0;
    }
}

/// Maximum number of ids of an entry. This is enough for the longest pretokens (62 bytes), which have at most one id for
/// each byte. The number of ids is stored in one byte.
const MAX_IDS: usize = 64;

/// Hashes a key except its number of ids. The multiplications do not depend on each other, so they overlap.
#[inline(always)]
fn hash<const WORDS: usize>(key: &[u64; WORDS]) -> u64 {
    let product = |(i, word): (usize, &u64)| {
        word.wrapping_mul(0x9E37_79B9_7F4A_7C15 ^ (i as u64) << 59 | 1).rotate_left(7 * i as u32)
    };
    let mixed = key.iter().enumerate().map(product).fold(0, |mixed, product| mixed ^ product);
    mixed.wrapping_mul(0xC2B2_AE3D_27D4_EB4F)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(cache: &LongPretokenCache<4, 8>, key: &LongKey<4>) -> Vec<u32> {
        let mut ids = vec![7];
        assert_eq!(cache.get(key, &mut ids) + 1, ids.len());
        ids.split_off(1)
    }

    #[test]
    fn hit_returns_the_inserted_ids() {
        let mut cache = LongPretokenCache::<4, 8>::new(6, 9);
        let padded = |i: usize| {
            let text = format!("{i}.").repeat(1 + i % 6);
            let mut bytes = text.clone().into_bytes();
            bytes.truncate(30);
            let len = bytes.len();
            bytes.resize(64, 0xEE);
            (bytes, len)
        };
        let ids = |i: usize| (0..i % 25).map(|k| (i + k) as u32).collect::<Vec<_>>();
        let mut found = 0;
        for i in 0..2_000 {
            let (bytes, len) = padded(i);
            let key = cache.key(&bytes, len);
            assert!(get(&cache, &key).is_empty());
            cache.put(&key, &ids(i));
            assert_eq!(get(&cache, &key), ids(i));
            let (bytes, len) = padded(i / 2);
            let there = get(&cache, &cache.key(&bytes, len));
            assert!(there.is_empty() || there == ids(i / 2));
            found += usize::from(!there.is_empty());
            if i % 100 == 0 && cache.growth_bytes() > 0 {
                assert_eq!(cache.growth_bytes(), cache.entries.len() * (64 + 16));
                let known = |cache: &LongPretokenCache<4, 8>| {
                    (0..=i)
                        .filter(|&i| {
                            let (bytes, len) = padded(i);
                            let there = get(cache, &cache.key(&bytes, len));
                            assert!(there.is_empty() || there == ids(i));
                            !there.is_empty()
                        })
                        .count()
                };
                let before = known(&cache);
                cache.grow();
                assert!(before > 10 && known(&cache) == before);
            }
        }
        assert!(found > 50 && cache.entries.len() == 1 << 9 && cache.growth_bytes() == 0);
    }
}
