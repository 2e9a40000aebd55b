//! What pretokens that are no entries became, remembered: bounded, and found again in one or two lines of memory.
//!
//! A place follows from a hash of the pretoken, and a new one takes the place of what was there, so the size never grows and no
//! order has to be kept. Keys are exact. The plain version is to compute it again; no result depends on what is remembered.

use crate::simd;

/// Words of 8 bytes, the last byte of which says how many bytes of text there are, and 0 in a free place.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Place<const WORDS: usize, const IDS: usize> {
    key: [u64; WORDS],
    ids: [u32; IDS],
}

/// Pretokens up to `8 * WORDS - 2` bytes and `IDS` ids.
pub(super) struct Memo<const WORDS: usize, const IDS: usize> {
    places: Box<[Place<WORDS, IDS>]>,
    shift: u32,
}

/// A pretoken as it is looked for.
#[derive(Clone, Copy)]
pub(super) struct Key<const WORDS: usize> {
    key: [u64; WORDS],
    hash: u64,
}

impl<const WORDS: usize> Default for Key<WORDS> {
    fn default() -> Self {
        Self { key: [0; WORDS], hash: 0 }
    }
}

impl<const WORDS: usize, const IDS: usize> Memo<WORDS, IDS> {
    /// Bytes of text at most: the last two bytes are counts.
    pub(super) const MOST: usize = 8 * WORDS - 2;

    /// Room for 2^`bits` pretokens.
    pub(super) fn new(bits: u32) -> Self {
        let empty = Place { key: [0; WORDS], ids: [0; IDS] };
        Self { places: vec![empty; 1 << bits].into_boxed_slice(), shift: 64 - bits.max(1) }
    }

    /// The key of the first `len` bytes of `text`, which goes on for at least as many as a key has.
    #[inline(always)]
    pub(super) fn key(&self, text: &[u8], len: usize) -> Key<WORDS> {
        let mut key = [0; WORDS];
        let mut hash = (len as u64) << 32;
        for (i, (word, bytes)) in key.iter_mut().zip(text.as_chunks().0).enumerate() {
            let bits = len.saturating_sub(8 * i).min(8) as u32 * 8;
            let mask = u64::MAX.checked_shr(64 - bits).unwrap_or(0);
            *word = u64::from_le_bytes(*bytes) & mask;
            // Products that do not wait for each other.
            hash ^= word.wrapping_mul(0x9E37_79B9_7F4A_7C15 ^ (i as u64) << 59 | 1).rotate_left(7 * i as u32);
        }
        key[WORDS - 1] |= (len as u64) << 56;
        Key { key, hash: hash.wrapping_mul(0xC2B2_AE3D_27D4_EB4F) }
    }

    #[inline(always)]
    fn place(&self, key: &Key<WORDS>) -> usize {
        (key.hash >> self.shift) as usize & (self.places.len() - 1)
    }

    /// Fetches the place of a key that will be looked at soon.
    #[inline(always)]
    pub(super) fn prefetch(&self, key: &Key<WORDS>) {
        simd::prefetch(&self.places[self.place(key)]);
    }

    /// Appends the ids remembered for a key; returns how many, 0 where it is not known.
    #[inline(always)]
    pub(super) fn get(&self, key: &Key<WORDS>, out: &mut Vec<u32>) -> usize {
        let place = &self.places[self.place(key)];
        let count = place.key[WORDS - 1] >> 48 & 0xFF;
        let mut differs = place.key[WORDS - 1] ^ count << 48 ^ key.key[WORDS - 1];
        for (there, here) in place.key[..WORDS - 1].iter().zip(&key.key) {
            differs |= there ^ here;
        }
        if differs != 0 {
            return 0;
        }
        let before = out.len();
        out.extend_from_slice(&place.ids); // always all: a copy of fixed length costs less
        out.truncate(before + count as usize);
        count as usize
    }

    /// Remembers the ids of a key, if they are not too many.
    #[inline(always)]
    pub(super) fn put(&mut self, key: &Key<WORDS>, ids: &[u32]) {
        if ids.is_empty() || ids.len() > IDS {
            return;
        }
        let at = self.place(key);
        let place = &mut self.places[at];
        place.key = key.key;
        place.key[WORDS - 1] |= (ids.len() as u64) << 48;
        place.ids[..ids.len()].copy_from_slice(ids);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(memo: &Memo<4, 8>, key: &Key<4>) -> Vec<u32> {
        let mut ids = vec![7];
        assert_eq!(memo.get(key, &mut ids) + 1, ids.len());
        ids.split_off(1)
    }

    #[test]
    fn what_is_found_was_put_there() {
        let mut memo = Memo::<4, 8>::new(6);
        let padded = |i: usize| {
            let text = format!("{i}.").repeat(1 + i % 6);
            let mut bytes = text.clone().into_bytes();
            bytes.truncate(30);
            let len = bytes.len();
            bytes.resize(64, 0xEE);
            (bytes, len)
        };
        let ids = |i: usize| (0..i % 9).map(|k| (i + k) as u32).collect::<Vec<_>>();
        let mut found = 0;
        for i in 0..2_000 {
            let (bytes, len) = padded(i);
            let key = memo.key(&bytes, len);
            assert!(get(&memo, &key).is_empty());
            memo.put(&key, &ids(i));
            assert_eq!(get(&memo, &key), ids(i));
            let (bytes, len) = padded(i / 2);
            let there = get(&memo, &memo.key(&bytes, len));
            assert!(there.is_empty() || there == ids(i / 2));
            found += usize::from(!there.is_empty());
        }
        assert!(found > 50);
    }
}
