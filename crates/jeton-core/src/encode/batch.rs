//! Batched lookup of up to [`BATCH`] pretokens in the token table and the pretoken cache.
//!
//! A pipeline of four steps works on chunks of 64 pretokens. Each step is one chunk behind the step before it, so that
//! prefetched cache lines arrive while other chunks are processed:
//!
//! 1. Compute keys, and prefetch buckets of the token table.
//! 2. Probe the token table, and prefetch buckets of the pretoken cache for the misses.
//! 3. Probe the pretoken cache, and prefetch token lists.
//! 4. Write tokens.
//!
//! No loop branches on the result of a lookup, because the branch would be mispredicted often. Pretokens that both
//! tables miss are listed for the caller. Cost: about sixty instructions for each pretoken, with vector instructions.

use std::cmp::Ordering;
use std::ops::Range;

use super::pretoken_cache::{self, PretokenCache};
use super::token_table::{Bucket, TokenTable, NO_ID};
use crate::util::short_key::{self, ShortKey};
use crate::util::simd::{self, Portable};

/// Maximum number of pretokens in one call of [`PretokenBatch::find`].
pub(super) const BATCH: usize = 256;

/// Number of pretokens in a chunk. A step of the pipeline processes one chunk at a time.
const CHUNK: usize = 64;

/// Number of keys that are computed and hashed together.
const KEYS: usize = 16;

/// Buffers for up to [`BATCH`] pretokens.
pub(super) struct PretokenBatch {
    keys: [ShortKey; BATCH],
    starts: [u32; CHUNK], // starts of the pretokens of the current chunk; `lens` has their lengths
    lens: [u32; CHUNK],
    hashes: [u32; BATCH],
    offsets: [u32; BATCH],      // offsets of the buckets of the token table, in bytes
    found: [u32; BATCH + GAP],  // values of the token table, padded for reads of fixed length
    missed: [TableMiss; BATCH], // pretokens that the token table misses
    written: [Written; BATCH],  // number of ids up to each miss of the token table
    left: [CacheMiss; BATCH],
}

/// Length of `ids` directly after pretoken `at`, which is not in the token table. This length includes the tokens of
/// the pretoken only if the pretoken cache has them.
#[derive(Debug, Default, Clone, Copy)]
struct Written {
    at: u32,
    len: u32,
}

/// Result of [`PretokenBatch::find`]: the pretokens that neither table has, and the data from which [`Places`] computes
/// the position of each pretoken in the ids.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found<'b> {
    /// Pretokens that neither the token table nor the pretoken cache has.
    pub(super) left: &'b [CacheMiss],
    written: &'b [Written],
    before: usize, // length of `ids` before the call of `find`
}

impl<'b> Found<'b> {
    /// Returns a converter of positions: index of a pretoken → position in the ids at which its tokens begin.
    pub(super) fn places(self) -> Places<'b> {
        Places { found: self, num_written: 0, num_left: 0 }
    }
}

/// Finds the position in the ids at which the tokens of a given pretoken begin.
#[derive(Debug)]
pub(super) struct Places<'b> {
    found: Found<'b>,
    num_written: usize, // number of items of `found.written` before the last `end`
    num_left: usize,    // number of items of `found.left` before the last `end`
}

impl Places<'_> {
    /// For the pretokens before index `end`, returns the number of ids and the number of pretokens that both tables
    /// miss. `end` must not decrease between calls.
    #[inline]
    pub(super) fn after(&mut self, end: u32) -> (usize, usize) {
        let Found { left, written, before } = self.found;
        self.num_written += written[self.num_written..].iter().take_while(|miss| miss.at < end).count();
        self.num_left += left[self.num_left..].iter().take_while(|miss| miss.at < end).count();
        let (from, len) = match written[..self.num_written].last() {
            Some(miss) => (miss.at + 1, miss.len as usize),
            None => (0, before),
        };
        (len + (end - from) as usize, self.num_left)
    }
}

/// A pretoken that the token table misses, and its packed reference in the pretoken cache.
#[derive(Default, Clone, Copy)]
struct TableMiss {
    at: u32,
    found: u32,
}

/// A pretoken that neither the token table nor the pretoken cache has.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct CacheMiss {
    /// Index of the pretoken in the batch.
    pub(super) at: u32,
    /// Position in the ids at which the tokens of this pretoken must be inserted.
    pub(super) before: u32,
    /// Value in the token table: [`super::token_table::NOT_ENTRY`] or [`super::token_table::MAYBE_ENTRY`].
    pub(super) found: u32,
}

/// Number of ids that one copy moves, even if fewer ids are needed. A copy of fixed length costs less than a copy of
/// variable length.
const GAP: usize = 16;

const _: () = assert!(BATCH.is_multiple_of(CHUNK) && CHUNK.is_multiple_of(KEYS) && pretoken_cache::LIST == GAP);

impl Default for PretokenBatch {
    fn default() -> Self {
        Self {
            keys: [ShortKey::default(); BATCH],
            starts: [0; CHUNK],
            lens: [0; CHUNK],
            hashes: [0; BATCH],
            offsets: [0; BATCH],
            found: [0; BATCH + GAP],
            missed: [TableMiss::default(); BATCH],
            written: [Written::default(); BATCH],
            left: [CacheMiss::default(); BATCH],
        }
    }
}

/// Operations on buckets and keys, implemented for each instruction set.
///
/// Having a value of the implementing type proves that the processor has the instructions that the methods use.
trait Probe: Copy {
    /// True if `hash` is vectorized. Otherwise each key is hashed as soon as it is computed.
    const HASHES_VECTORS: bool = false;

    /// Hashes several keys.
    fn hash(self, keys: &[ShortKey; KEYS], hashes: &mut [u32; KEYS]) {
        *hashes = keys.map(ShortKey::hash);
    }
    /// Returns the value of a key in a bucket.
    fn probe(self, bucket: &Bucket, key: &ShortKey) -> u32;
    /// Returns a bitmap of the values in `found` that are not ids.
    fn no_ids(self, found: &[u32; CHUNK]) -> u64;
}

impl Probe for Portable {
    #[inline(always)]
    fn probe(self, bucket: &Bucket, key: &ShortKey) -> u32 {
        bucket.get(*key)
    }

    #[inline(always)]
    fn no_ids(self, found: &[u32; CHUNK]) -> u64 {
        (0..CHUNK).fold(0, |bits, at| bits | u64::from(found[at] / NO_ID) << at)
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Bucket, Probe, ShortKey, CHUNK, KEYS};
    use crate::encode::token_table::MULTIPLIERS;
    use crate::util::simd::{HasAvx2, HasAvx512};

    /// Bitmap → index of the first equal key; 3 if no key is equal. The bitmap has two bits for each key, one for each
    /// half of the key; a bit is set if the halves are equal. The two highest bits are ignored.
    const NUMBERS: [u8; 256] = numbers();

    const fn numbers() -> [u8; 256] {
        let mut numbers = [3; 256];
        let mut same = 0;
        while same < 256 {
            let mut number = 3;
            while number > 0 {
                number -= 1;
                if same >> (2 * number) & 0b11 == 0b11 {
                    numbers[same] = number as u8;
                }
            }
            same += 1;
        }
        numbers
    }

    impl Probe for HasAvx2 {
        #[inline(always)]
        fn probe(self, bucket: &Bucket, key: &ShortKey) -> u32 {
            // SAFETY: `key` has 16 bytes, and `bucket.keys` is an array of three initialized keys of 16 bytes each. The
            // loads read `key`, the first two keys of the bucket (32 bytes), and its third key. They need no alignment.
            // `self` proves AVX2.
            let same = unsafe {
                let key = _mm_loadu_si128(std::ptr::from_ref(key).cast());
                let keys = bucket.keys.as_ptr().cast::<__m128i>();
                let two = _mm256_cmpeq_epi64(_mm256_loadu_si256(keys.cast()), _mm256_broadcastsi128_si256(key));
                let third = _mm_cmpeq_epi64(_mm_loadu_si128(keys.add(2)), key);
                _mm256_movemask_pd(_mm256_castsi256_pd(two)) | _mm_movemask_pd(_mm_castsi128_pd(third)) << 4
            };
            bucket.ids[usize::from(NUMBERS[same as usize & 0xFF] & 3)]
        }

        #[inline(always)]
        fn no_ids(self, found: &[u32; CHUNK]) -> u64 {
            found.as_chunks::<8>().0.iter().rev().fold(0, |bits, eight| {
                // SAFETY: the load reads the 32 bytes of `eight` and needs no alignment; `self` proves AVX2.
                let highest = unsafe { _mm256_movemask_ps(_mm256_loadu_ps(eight.as_ptr().cast())) };
                bits << 8 | u64::from(highest as u8)
            })
        }
    }

    impl Probe for HasAvx512 {
        const HASHES_VECTORS: bool = true;

        #[inline(always)]
        fn hash(self, keys: &[ShortKey; KEYS], hashes: &mut [u32; KEYS]) {
            let (keys, hashes) = (keys.as_chunks::<8>().0, hashes.as_chunks_mut::<8>().0);
            for (eight, hashes) in keys.iter().zip(hashes) {
                let keys = eight.as_ptr().cast::<u8>();
                // SAFETY: the loads read the two halves of `eight`, 128 initialized bytes, and the store writes the 32
                // bytes of `hashes`; they need no alignment. `self` proves AVX-512 F, DQ and VL.
                unsafe {
                    let (first, second) = (_mm512_loadu_si512(keys.cast()), _mm512_loadu_si512(keys.add(64).cast()));
                    let low = _mm512_permutex2var_epi64(first, _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0), second);
                    let high = _mm512_permutex2var_epi64(first, _mm512_set_epi64(15, 13, 11, 9, 7, 5, 3, 1), second);
                    let [for_low, for_high] = MULTIPLIERS.map(|multiplier| _mm512_set1_epi64(multiplier as i64));
                    let mixed = _mm512_xor_si512(_mm512_mullo_epi64(low, for_low), _mm512_mullo_epi64(high, for_high));
                    let hash = _mm512_cvtepi64_epi32(_mm512_srli_epi64::<32>(mixed));
                    _mm256_storeu_si256(hashes.as_mut_ptr().cast(), hash);
                }
            }
        }

        #[inline(always)]
        fn probe(self, bucket: &Bucket, key: &ShortKey) -> u32 {
            // SAFETY: the loads read the 16 bytes of `key` and the 64 bytes of `bucket`, which has no padding
            // (`token_table` asserts that); they need no alignment. `self` proves AVX-512 F.
            // The first 48 bytes of the bucket are keys, and the last 16 bytes are ids. So bits 0 to 5 of the result
            // compare keys. Bits 6 and 7 compare ids; these two bits are ignored.
            let same = unsafe {
                let key = _mm512_broadcast_i32x4(_mm_loadu_si128(std::ptr::from_ref(key).cast()));
                _mm512_cmpeq_epi64_mask(_mm512_loadu_si512(std::ptr::from_ref(bucket).cast()), key)
            };
            bucket.ids[usize::from(NUMBERS[usize::from(same)] & 3)]
        }

        #[inline(always)]
        fn no_ids(self, found: &[u32; CHUNK]) -> u64 {
            found.as_chunks::<16>().0.iter().rev().fold(0, |bits, sixteen| {
                // SAFETY: the load reads the 64 bytes of `sixteen` and needs no alignment; `self` proves AVX-512 F.
                let below = unsafe {
                    _mm512_cmplt_epi32_mask(_mm512_loadu_si512(sixteen.as_ptr().cast()), _mm512_setzero_si512())
                };
                bits << 16 | u64::from(below)
            })
        }
    }
}

impl PretokenBatch {
    /// Looks up the pretokens between adjacent `bounds` of `text`, and appends their tokens to `ids`. Bounds are in
    /// ascending order; there are at most [`BATCH`] + 1. Returns the misses.
    pub(super) fn find(
        &mut self,
        table: &TokenTable,
        cache: &PretokenCache,
        text: &[u8],
        bounds: &[u32],
        ids: &mut Vec<u32>,
    ) -> Found<'_> {
        let before = ids.len();
        let [missed, left] = self.find_with(simd::detected(), table, cache, text, bounds, ids);
        Found { left: &self.left[..left], written: &self.written[..missed], before }
    }

    /// Does the work of [`PretokenBatch::find`] with one instruction set. Returns the number of pretokens that the
    /// token table misses, and the number of pretokens that both tables miss.
    fn find_with(
        &mut self,
        instructions: simd::Detected,
        table: &TokenTable,
        cache: &PretokenCache,
        text: &[u8],
        bounds: &[u32],
        ids: &mut Vec<u32>,
    ) -> [usize; 2] {
        simd::dispatch!(
            instructions,
            (
                this: &mut PretokenBatch = self,
                table: &TokenTable = table,
                cache: &PretokenCache = cache,
                text: &[u8] = text,
                bounds: &[u32] = bounds,
                ids: &mut Vec<u32> = ids,
            ) -> [usize; 2],
            |level: L| this.find_at::<L>(level, table, cache, text, bounds, ids)
        )
    }

    #[inline(always)]
    fn find_at<L: Probe>(
        &mut self,
        proof: L,
        table: &TokenTable,
        cache: &PretokenCache,
        text: &[u8],
        bounds: &[u32],
        ids: &mut Vec<u32>,
    ) -> [usize; 2] {
        let count = bounds.len().saturating_sub(1).min(BATCH);
        let num_chunks = count.div_ceil(CHUNK);
        let chunk = |number: usize| CHUNK * number..count.min(CHUNK * (number + 1));
        ids.reserve(pretoken_cache::MAX_TOKENS * count + GAP);
        let mut missed = [0; BATCH / CHUNK + 1]; // number of misses before each chunk
        let mut num_left = 0;
        for step in 0..num_chunks + 3 {
            if step < num_chunks {
                self.make_keys(proof, table, text, bounds, chunk(step));
            }
            if (1..1 + num_chunks).contains(&step) {
                missed[step] = self.probe(proof, table, cache, chunk(step - 1), missed[step - 1]);
            }
            if (2..2 + num_chunks).contains(&step) {
                self.probe_cache(proof, cache, missed[step - 2]..missed[step - 1]);
            }
            if step >= 3 {
                // SAFETY: the chunks are written in order, from 0 to `count`, and capacity for the tokens of `count`
                // pretokens has been reserved. `probe` has listed the misses of the chunk: indices within the chunk, in
                // strictly ascending order.
                unsafe { self.write(cache, chunk(step - 3), missed[step - 3]..missed[step - 2], ids, &mut num_left) };
            }
        }
        [missed[num_chunks], num_left]
    }

    /// Computes the keys of a chunk and their hashes, and prefetches buckets of the token table.
    #[inline(always)]
    fn make_keys<L: Probe>(&mut self, proof: L, table: &TokenTable, text: &[u8], bounds: &[u32], chunk: Range<usize>) {
        let (count, bounds) = (chunk.len(), &bounds[chunk.start..=chunk.end]);
        let keys = &mut self.keys[chunk.clone()];
        let (hashes, offsets) = (&mut self.hashes[chunk.clone()], &mut self.offsets[chunk.clone()]);
        let hashed = |key: ShortKey| {
            let hash = key.hash();
            let offset = table.offset(hash);
            // SAFETY: `offset` is a result of `table.offset`.
            simd::prefetch(unsafe { table.bucket_at(offset) });
            (hash, offset)
        };
        // Number of pretokens whose start is followed by at least sixteen bytes of text.
        let inside = match (bounds[count - 1] as usize + 16).cmp(&text.len()) {
            Ordering::Greater => bounds[..count].partition_point(|&start| start as usize + 16 <= text.len()),
            _ => count,
        };
        if let Some(last) = text.len().checked_sub(16) {
            let Self { starts, lens, .. } = self;
            let neighbors = bounds[..inside].iter().zip(&bounds[1..]);
            for ((&from, &to), (start, len)) in neighbors.zip(starts.iter_mut().zip(&mut *lens)) {
                *start = from.min(last as u32);
                *len = (to - from).min(short_key::MAX_BYTES as u32 + 1);
            }
            let places = starts[..inside].iter().zip(&*lens);
            for ((&start, &len), ((key, hash), offset)) in
                places.zip(keys.iter_mut().zip(&mut *hashes).zip(&mut *offsets))
            {
                // SAFETY: `start` is at most `last`, which is `text.len() - 16`, for any `bounds`, so all sixteen bytes
                // are inside the text. Every value of the bytes is a valid `[u8; 16]`.
                let sixteen = unsafe { text.as_ptr().add(start as usize).cast::<[u8; 16]>().read_unaligned() };
                *key = ShortKey::new(sixteen, len as usize);
                if !L::HASHES_VECTORS {
                    (*hash, *offset) = hashed(*key);
                }
            }
        }
        for (at, range) in (inside..).zip(bounds[inside..].windows(2)) {
            keys[at] = ShortKey::of(&text[range[0] as usize..range[1] as usize]);
            if !L::HASHES_VECTORS {
                (hashes[at], offsets[at]) = hashed(keys[at]);
            }
        }
        if !L::HASHES_VECTORS {
            return;
        }
        // Hashing is a separate loop, so that the stores of single keys have completed before the keys are loaded as
        // vectors.
        let sixteens = chunk.start / KEYS..chunk.end.div_ceil(KEYS);
        let keys = &self.keys.as_chunks::<KEYS>().0[sixteens.clone()];
        let hashes = &mut self.hashes.as_chunks_mut::<KEYS>().0[sixteens.clone()];
        let offsets = &mut self.offsets.as_chunks_mut::<KEYS>().0[sixteens];
        for ((keys, hashes), offsets) in keys.iter().zip(hashes).zip(offsets) {
            proof.hash(keys, hashes);
            *offsets = hashes.map(|hash| table.offset(hash));
        }
        for &offset in &self.offsets[chunk] {
            // SAFETY: `offset` is a result of `table.offset`.
            simd::prefetch(unsafe { table.bucket_at(offset) });
        }
    }

    /// Probes the token table for a chunk. Lists the misses, which are distinct pretokens of the chunk in ascending
    /// order, and prefetches their buckets of the pretoken cache. Returns the number of misses listed so far.
    #[inline(always)]
    fn probe<L: Probe>(
        &mut self,
        proof: L,
        table: &TokenTable,
        cache: &PretokenCache,
        chunk: Range<usize>,
        mut missed: usize,
    ) -> usize {
        let keys = self.keys[chunk.clone()].iter().zip(&self.offsets[chunk.clone()]);
        for ((key, &offset), found) in keys.zip(&mut self.found[chunk.clone()]) {
            // SAFETY: `make_keys` has set `offset` to an offset of this table.
            *found = proof.probe(unsafe { table.bucket_at(offset) }, key);
        }
        let valid = u64::MAX >> (CHUNK - chunk.len());
        let found = self.found.as_chunks::<CHUNK>().0.get(chunk.start / CHUNK);
        let mut bits = found.map_or(0, |found| proof.no_ids(found)) & valid;
        while bits != 0 {
            let at = chunk.start as u32 + bits.trailing_zeros();
            self.missed[missed % BATCH].at = at;
            cache.prefetch(self.hashes[at as usize % BATCH]);
            missed += 1;
            bits &= bits - 1;
        }
        missed
    }

    /// Probes the pretoken cache for pretokens that the token table misses, and prefetches the token lists that are
    /// found. `missed`: range of these pretokens in the list of misses.
    #[inline(always)]
    fn probe_cache<L: Probe>(&mut self, proof: L, cache: &PretokenCache, missed: Range<usize>) {
        let Self { keys, hashes, missed: list, .. } = self;
        for TableMiss { at, found } in &mut list[missed] {
            let at = *at as usize % BATCH;
            *found = proof.probe(cache.bucket(hashes[at]), &keys[at]);
            cache.prefetch_list(*found);
        }
    }

    /// Appends the tokens of all hits of a chunk, and lists the pretokens that both tables miss.
    ///
    /// # Safety
    /// Chunks are written one after the other, from 0 to `count` in total. Before the first chunk, `ids` had capacity
    /// for `MAX_TOKENS * count + GAP` more ids. In `missed`, `at` strictly ascends and is within the chunk.
    #[inline(always)]
    unsafe fn write(
        &mut self,
        cache: &PretokenCache,
        chunk: Range<usize>,
        missed: Range<usize>,
        ids: &mut Vec<u32>,
        num_left: &mut usize,
    ) {
        let Self { found: table, missed: list, written, left, .. } = self;
        let (start, mut len) = (ids.as_mut_ptr(), ids.len());
        // The pretokens before `from` are written, with at most `MAX_TOKENS` tokens each (`num_tokens` returns no
        // more). So `len` is at most its value before the first chunk plus `MAX_TOKENS * from`. The caller guarantees
        // `from <= at < chunk.end <= count`. The output grows by one token for each pretoken from `from` to `at`, then
        // by at most `MAX_TOKENS` for the pretoken at `at`. No write begins after the end of this output, and `GAP`
        // more ids are reserved after the end.
        // SAFETY: each call writes `GAP` integers. As shown above, the write begins at or before the end of the output,
        // so it is within the capacity.
        let write =
            |len: usize, sixteen: &[u32; GAP]| unsafe { start.add(len).cast::<[u32; GAP]>().write_unaligned(*sixteen) };
        let write_entries = |len: usize, from: usize, to: usize| {
            for at in (from..to.max(from + 1)).step_by(GAP) {
                table[at..].first_chunk().into_iter().for_each(|sixteen| write(len + at - from, sixteen));
            }
            len + to - from
        };
        let mut from = chunk.start;
        for (&TableMiss { at, found }, written) in list[missed.clone()].iter().zip(&mut written[missed]) {
            let at = at as usize % BATCH;
            len = write_entries(len, from, at);
            write(len, cache.list(found));
            left[*num_left % BATCH] = CacheMiss { at: at as u32, before: len as u32, found: table[at] };
            *num_left += usize::from(pretoken_cache::num_tokens(found) == 0);
            len += pretoken_cache::num_tokens(found);
            *written = Written { at: at as u32, len: len as u32 };
            from = at + 1;
        }
        len = write_entries(len, from, chunk.end);
        // SAFETY: `len` is within the capacity, as shown above, and each write has initialized all ids up to the next
        // value of `len`.
        unsafe { ids.set_len(len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns random texts of 1 to 19 bytes. Some of them are too long for a key.
    fn parts(count: usize, chance: &mut u64) -> Vec<Vec<u8>> {
        let mut next = |most: u64| {
            *chance = chance.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            *chance >> 33 & (most - 1)
        };
        (0..count).map(|_| (0..=next(16) + next(4)).map(|_| b'a' + next(4) as u8 * next(2) as u8).collect()).collect()
    }

    #[test]
    fn all_levels_give_the_tokens_in_the_tables() {
        let mut chance = 7;
        let mut kinds = [0; 3]; // hits in the token table, hits in the cache, misses
        for round in 0..300 {
            let parts = parts(round % (BATCH + 1), &mut chance);
            let entries = (0..).zip(&parts).filter(|(i, _)| i % 7 < 5);
            let table = TokenTable::new(entries.map(|(i, part)| (part.as_slice(), i)), [0, 1_000][round % 2]);
            let mut cache = PretokenCache::new(9, 9);
            for (i, part) in (0..).zip(&parts).filter(|(i, part)| i % 7 == 5 && part.len() <= short_key::MAX_BYTES) {
                let tokens: Vec<u32> = (0..1 + i % pretoken_cache::MAX_TOKENS as u32).map(|k| 1_000 * k + i).collect();
                cache.put(ShortKey::of(part), &tokens);
            }
            let (mut ids, mut left, mut up_to) = (vec![77; 3], Vec::new(), vec![(3, 0)]);
            for (at, part) in (0..).zip(&parts) {
                let (key, before) = (ShortKey::of(part), ids.len() as u32);
                let found = table.get(key);
                let kind = if found < NO_ID {
                    ids.push(found);
                    0
                } else if cache.append(cache.get(key), &mut ids) > 0 {
                    1
                } else {
                    left.push((at, before, found));
                    2
                };
                kinds[kind] += 1;
                up_to.push((ids.len(), left.len()));
            }
            let text = parts.concat();
            let ends = parts.iter().scan(0, |end, part| {
                *end += part.len() as u32;
                Some(*end)
            });
            let bounds: Vec<u32> = std::iter::once(0).chain(ends).collect();
            let check = |find: &dyn Fn(&mut PretokenBatch, &mut Vec<u32>) -> [usize; 2]| {
                let (mut batch, mut found) = (PretokenBatch::default(), vec![77; 3]);
                let [missed, num_left] = find(&mut batch, &mut found);
                let all = Found { left: &batch.left[..num_left], written: &batch.written[..missed], before: 3 };
                let mut places = all.places();
                assert_eq!((0..=parts.len() as u32).map(|end| places.after(end)).collect::<Vec<_>>(), up_to);
                let those: Vec<_> = batch.left[..num_left].iter().map(|l| (l.at, l.before, l.found)).collect();
                assert_eq!((&found, &those), (&ids, &left));
            };
            for level in [simd::SimdLevel::Portable, simd::SimdLevel::Avx2, simd::SimdLevel::Avx512] {
                let level = simd::detected().at_most(level);
                check(&|batch, ids| batch.find_with(level, &table, &cache, &text, &bounds, ids));
            }
        }
        assert!(kinds.iter().all(|&kind| kind > 1_000), "{kinds:?}");
    }
}
