//! What pretokens that are no entries became, remembered: bounded, and found again in one or two lines of memory.
//!
//! A place follows from a hash of the pretoken, and a new one takes the place of what was there, so no order has to be kept. Where that
//! happened twice as often as there are places, there is more to remember than room, and the table doubles, as long as the caller has memory for
//! it; sooner costs more than it gives. Keys are exact. The plain version is to compute it again; no result depends on what is remembered.

use super::Remember;
use crate::simd;

/// Words of 8 bytes, the last byte of which says how many bytes of text there are, and 0 in a free place.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Place<const WORDS: usize, const IDS: usize> {
    key: [u64; WORDS],
    ids: [u32; IDS],
}

/// Pretokens up to `8 * WORDS - 2` bytes. Up to `IDS` ids stand beside the key, more of them in a ring: words of a script that the vocabulary hardly
/// knows are many ids, nearly one for each byte.
pub(super) struct Memo<const WORDS: usize, const IDS: usize> {
    places: Box<[Place<WORDS, IDS>]>,
    shift: u32,
    ring: Box<[u32]>, // ids where they are many; the oldest are overwritten
    written: u64,     // into the ring, ever
    most: usize,      // places
    displaced: usize, // what had to go since the table has this size
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

    /// Room for 2^`bits` pretokens, at first, and for 2^`most_bits` at most.
    pub(super) fn new(bits: u32, most_bits: u32) -> Self {
        let empty = Place { key: [0; WORDS], ids: [0; IDS] };
        let places = vec![empty; 1 << bits].into();
        let ring = vec![0; (IDS / 2) << bits].into();
        Self { places, shift: 64 - bits.max(1), ring, written: 0, most: 1 << most_bits, displaced: 0 }
    }

    /// The key of the first `len` bytes of `text`, which goes on for at least as many as a key has.
    #[inline(always)]
    pub(super) fn key(&self, text: &[u8], len: usize) -> Key<WORDS> {
        let mut key = [0; WORDS];
        for (i, (word, bytes)) in key.iter_mut().zip(text.as_chunks().0).enumerate() {
            let bits = len.saturating_sub(8 * i).min(8) as u32 * 8;
            let mask = u64::MAX.checked_shr(64 - bits).unwrap_or(0);
            *word = u64::from_le_bytes(*bytes) & mask;
        }
        key[WORDS - 1] |= (len as u64) << 56;
        Key { key, hash: hash(&key) }
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
        let count = count as usize;
        if count > IDS {
            let ids = self.ids(place, count);
            out.extend_from_slice(ids);
            return ids.len();
        }
        let before = out.len();
        out.extend_from_slice(&place.ids); // always all: a copy of fixed length costs less
        out.truncate(before + count);
        count
    }

    /// The ids of a place that has so many; none where they were overwritten.
    fn ids<'m>(&'m self, place: &'m Place<WORDS, IDS>, count: usize) -> &'m [u32] {
        if count <= IDS {
            return &place.ids[..count];
        }
        let start = u64::from(place.ids[0]) | u64::from(place.ids[1]) << 32;
        if self.written - start > self.ring.len() as u64 {
            return &[];
        }
        &self.ring[start as usize % self.ring.len()..][..count]
    }

    /// Puts ids into the ring, in a row.
    fn lay(&mut self, ids: &[u32]) -> u64 {
        let len = self.ring.len() as u64;
        let mut start = self.written;
        if start % len + ids.len() as u64 > len {
            start = start.next_multiple_of(len);
        }
        self.ring[(start % len) as usize..][..ids.len()].copy_from_slice(ids);
        self.written = start + ids.len() as u64;
        start
    }

    /// Remembers the ids of a key, if they are not too many.
    #[inline(always)]
    pub(super) fn put(&mut self, key: &Key<WORDS>, ids: &[u32]) {
        if ids.is_empty() || ids.len() > MOST_IDS {
            return;
        }
        let start = if ids.len() > IDS { self.lay(ids) } else { 0 };
        let at = self.place(key);
        let place = &mut self.places[at];
        self.displaced += usize::from(place.key[WORDS - 1] != 0);
        place.key = key.key;
        place.key[WORDS - 1] |= (ids.len() as u64) << 48;
        if ids.len() > IDS {
            place.ids[..2].copy_from_slice(&[start as u32, (start >> 32) as u32]);
        } else {
            place.ids[..ids.len()].copy_from_slice(ids);
        }
    }
}

impl<const WORDS: usize, const IDS: usize> Remember for Memo<WORDS, IDS> {
    fn wants(&self) -> usize {
        let should = self.displaced > 2 * self.places.len() && self.places.len() < self.most;
        if should {
            size_of_val(&*self.places) + size_of_val(&*self.ring)
        } else {
            0
        }
    }

    fn grow(&mut self) {
        let most = self.most.trailing_zeros();
        let old = std::mem::replace(self, Self::new(self.places.len().trailing_zeros() + 1, most));
        for place in old.places.iter() {
            let count = place.key[WORDS - 1] >> 48 & 0xFF;
            let mut key = place.key;
            key[WORDS - 1] ^= count << 48;
            self.put(&Key { key, hash: hash(&key) }, old.ids(place, count as usize));
        }
        self.displaced = 0;
    }

    fn stay(&mut self) {
        self.displaced = 0;
    }
}

/// More than a pretoken of a memo has bytes, and what a byte can count.
const MOST_IDS: usize = 64;

/// Of a key without its count. The products do not wait for each other.
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

    fn get(memo: &Memo<4, 8>, key: &Key<4>) -> Vec<u32> {
        let mut ids = vec![7];
        assert_eq!(memo.get(key, &mut ids) + 1, ids.len());
        ids.split_off(1)
    }

    #[test]
    fn what_is_found_was_put_there() {
        let mut memo = Memo::<4, 8>::new(6, 9);
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
            let key = memo.key(&bytes, len);
            assert!(get(&memo, &key).is_empty());
            memo.put(&key, &ids(i));
            assert_eq!(get(&memo, &key), ids(i));
            let (bytes, len) = padded(i / 2);
            let there = get(&memo, &memo.key(&bytes, len));
            assert!(there.is_empty() || there == ids(i / 2));
            found += usize::from(!there.is_empty());
            if i % 100 == 0 && memo.wants() > 0 {
                assert_eq!(memo.wants(), memo.places.len() * (64 + 16));
                let known = |memo: &Memo<4, 8>| {
                    (0..=i)
                        .filter(|&i| {
                            let (bytes, len) = padded(i);
                            let there = get(memo, &memo.key(&bytes, len));
                            assert!(there.is_empty() || there == ids(i));
                            !there.is_empty()
                        })
                        .count()
                };
                let before = known(&memo);
                memo.grow();
                assert!(before > 10 && known(&memo) == before);
            }
        }
        assert!(found > 50 && memo.places.len() == 1 << 9 && memo.wants() == 0);
    }
}
