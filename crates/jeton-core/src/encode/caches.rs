//! The caches of one thread for pretokens that are not single tokens. There is one cache for each range of lengths:
//!
//! ```text
//! up to 15 bytes, if there is a token table     pretoken_cache, with the keys of the token table
//! up to 30 bytes, up to 62 bytes                one long_pretoken_cache each
//! more                                          not cached
//! ```
//!
//! Pretokens are looked up in groups. All keys of a group are computed and their entries prefetched before the first
//! lookup.

use super::growable_cache::GrowableCache;
use super::long_pretoken_cache::{LongKey, LongPretokenCache};
use super::pretoken_cache::{self, PretokenCache};
use crate::util::short_key::{self, ShortKey};

/// Number of pretokens that are looked up and merged together.
pub(super) const GROUP: usize = 64;

/// Maximum length of a cached pretoken, in bytes.
pub(super) const MAX_BYTES: usize = LongCache::MAX_BYTES;

type MediumCache = LongPretokenCache<4, 8>;
type LongCache = LongPretokenCache<8, 16>;

/// log2 of the minimum and maximum number of buckets of the pretoken cache (8 MiB and 16 MiB). The cache starts with
/// the larger size if the memory limit permits it, because doubling it later costs a quarter of the time of encoding 3
/// MB of text in many languages.
const PRETOKEN_CACHE_BITS: [u32; 2] = [16, 17];

/// log2 of the number of entries of a long-pretoken cache before `allocate_long`. This many entries fit in one page.
const UNALLOCATED_BITS: u32 = 4;

/// log2 of the initial and maximum number of entries of the medium cache. The medium cache and the long cache, with
/// their ring buffers, together take 1 MiB initially and 40 MiB at most.
const MEDIUM_BITS: [u32; 2] = [13, 18];
/// log2 of the initial and maximum number of entries of the long cache.
const LONG_BITS: [u32; 2] = [11, 17];

/// Caches of one thread, and the keys of the current group.
pub(super) struct Caches {
    pretokens: PretokenCache,
    empty: PretokenCache, // used instead if results depend on the permitted special tokens
    medium: MediumCache,
    long: LongCache,
    has_long: bool,      // true after `allocate_long`
    max_pretoken: usize, // maximum length in the pretoken cache, in bytes; 0 before `allocate_pretokens`
    pretoken_keys: Box<[ShortKey; GROUP]>,
    medium_keys: Box<[LongKey<4>; GROUP]>,
    long_keys: Box<[LongKey<8>; GROUP]>,
}

impl Default for Caches {
    fn default() -> Self {
        Self {
            pretokens: PretokenCache::new(1, 1),
            empty: PretokenCache::new(1, 1),
            medium: MediumCache::new(UNALLOCATED_BITS, UNALLOCATED_BITS),
            long: LongCache::new(UNALLOCATED_BITS, UNALLOCATED_BITS),
            has_long: false,
            max_pretoken: 0,
            pretoken_keys: Box::new([ShortKey::default(); GROUP]),
            medium_keys: Box::new([LongKey::default(); GROUP]),
            long_keys: Box::new([LongKey::default(); GROUP]),
        }
    }
}

impl Caches {
    /// Allocates the long-pretoken caches; does nothing after the first call.
    pub(super) fn allocate_long(&mut self) {
        if !self.has_long {
            self.medium = MediumCache::new(MEDIUM_BITS[0], MEDIUM_BITS[1]);
            self.long = LongCache::new(LONG_BITS[0], LONG_BITS[1]);
            self.has_long = true;
        }
    }

    /// Returns true if [`Caches::allocate_pretokens`] was called.
    pub(super) fn has_pretokens(&self) -> bool {
        self.max_pretoken > 0
    }

    /// Allocates the pretoken cache. `permits` returns true if the memory limit permits the given number of bytes.
    pub(super) fn allocate_pretokens(&mut self, permits: impl FnOnce(usize) -> bool) {
        let [bits, max_bits] = PRETOKEN_CACHE_BITS;
        let twice = permits(pretoken_cache::BUCKET_BYTES << bits);
        self.pretokens = PretokenCache::new(bits + u32::from(twice), max_bits);
        self.max_pretoken = short_key::MAX_BYTES;
    }

    /// Returns the pretoken cache, or an empty one if `is_used` is false.
    pub(super) fn pretokens(&self, is_used: bool) -> &PretokenCache {
        if is_used {
            &self.pretokens
        } else {
            &self.empty
        }
    }

    /// Returns all caches.
    pub(super) fn all(&mut self) -> [&mut dyn GrowableCache; 3] {
        [&mut self.pretokens, &mut self.medium, &mut self.long]
    }

    /// Computes the key of pretoken number `i` of the group, and prefetches the cache entry of this pretoken. The
    /// pretoken is `text[..len]`. `text` must have at least 64 bytes, even if the pretoken is shorter.
    #[inline(always)]
    pub(super) fn prefetch(&mut self, i: usize, text: &[u8], len: usize) {
        if len <= self.max_pretoken {
            self.pretoken_keys[i] = ShortKey::new(text.first_chunk().copied().unwrap_or_default(), len);
            self.pretokens.prefetch(self.pretoken_keys[i].hash());
        } else if len <= MediumCache::MAX_BYTES {
            self.medium_keys[i] = self.medium.key(text, len);
            self.medium.prefetch(&self.medium_keys[i]);
        } else if len <= LongCache::MAX_BYTES {
            self.long_keys[i] = self.long.key(text, len);
            self.long.prefetch(&self.long_keys[i]);
        }
    }

    /// Looks up pretoken number `i` of the group, and appends its tokens to `tokens`. Returns the number of appended
    /// tokens; 0 on a cache miss. `len` is the length of the pretoken in bytes.
    #[inline(always)]
    pub(super) fn append(&self, i: usize, len: usize, tokens: &mut Vec<u32>) -> usize {
        if len <= self.max_pretoken {
            self.pretokens.append(self.pretokens.get(self.pretoken_keys[i]), tokens)
        } else if len <= MediumCache::MAX_BYTES {
            self.medium.get(&self.medium_keys[i], tokens)
        } else if len <= LongCache::MAX_BYTES {
            self.long.get(&self.long_keys[i], tokens)
        } else {
            0
        }
    }

    /// Inserts the tokens of pretoken number `i` of the group. `len` is the length of the pretoken in bytes.
    #[inline(always)]
    pub(super) fn put(&mut self, i: usize, len: usize, tokens: &[u32]) {
        if len <= self.max_pretoken {
            self.pretokens.put(self.pretoken_keys[i], tokens);
        } else if len <= MediumCache::MAX_BYTES {
            self.medium.put(&self.medium_keys[i], tokens);
        } else if len <= LongCache::MAX_BYTES {
            self.long.put(&self.long_keys[i], tokens);
        }
    }
}
