//! What a thread met lately: pretokens of up to 15 bytes that are no entries → their tokens.
//!
//! Lines are those of `words`. A new pretoken takes the place of one in its line, whichever; where much had to go, the table
//! doubles, as long as the caller has memory for it. Nothing depends on what is here: the plain version is to merge again.
//!
//! Several tokens stand in a ring, the oldest of which are overwritten. Each list there begins with the hash of its pretoken, so that
//! a slot whose tokens go is found and emptied.

use super::words::{Key, Line, Words, NO_ID};
use super::Remember;
use crate::simd;

/// Tokens of a pretoken at most: one for each byte.
pub(super) const MOST: usize = 15;

/// Tokens: [`NO_ID`], how many, and where they are. So what stands for no entry is a list of none.
const COUNT_SHIFT: u32 = 27;
const PLACE: u32 = (1 << COUNT_SHIFT) - 1;

/// How many tokens `found` stands for; 0 where it is not known.
#[inline(always)]
pub(super) fn num_tokens(found: u32) -> usize {
    (found >> COUNT_SHIFT) as usize & MOST
}

/// Ids that are read together: a list, and what lies behind it.
pub(super) const LIST: usize = MOST + 1;

/// The ring is divided into fours, and has so many for each line.
const FOURS: usize = 4;

/// A line, and its share of the ring.
pub(super) const LINE_BYTES: usize = 64 + 16 * FOURS;

/// A list in the ring begins with the high bits of a hash and, in the lowest, its length in fours.
const LENGTH: u32 = 7;

/// What is read goes beyond a list.
const PADDING: usize = 5;

/// The table.
pub(super) struct Hot {
    words: Words,
    ring: Box<[[u32; 4]]>,
    next: usize, // where the next list goes
    old: usize,  // where the first list of the last round is that is still there
    most: usize, // lines
    displaced: usize,
}

impl Hot {
    /// With 2^`bits` lines of three pretokens, at first, and 2^`most_bits` at most; of [`LINE_BYTES`] each.
    pub(super) fn new(bits: u32, most_bits: u32) -> Self {
        let ring = vec![[0; 4]; (FOURS << bits) + PADDING].into();
        Self { words: Words::empty(bits), ring, next: 0, old: 0, most: 1 << most_bits, displaced: 0 }
    }

    /// It has hardly any room.
    pub(super) fn is_small(&self) -> bool {
        self.words.num_lines() <= 2
    }

    /// Fetches the line of a hash.
    #[inline(always)]
    pub(super) fn prefetch(&self, hash: u32) {
        self.words.prefetch(hash);
    }

    /// The line of keys with this hash: what stands for their tokens.
    #[inline(always)]
    pub(super) fn line(&self, hash: u32) -> &Line {
        self.words.line(hash)
    }

    /// What stands for the tokens of a pretoken, or for none.
    #[inline(always)]
    pub(super) fn get(&self, key: Key) -> u32 {
        self.words.get(key)
    }

    /// Fetches the tokens that `found` stands for.
    #[inline(always)]
    pub(super) fn prefetch_list(&self, found: u32) {
        simd::prefetch(self.list(found));
    }

    /// The tokens that `found` stands for, and what lies behind them.
    #[inline(always)]
    pub(super) fn list(&self, found: u32) -> &[u32; LIST] {
        const ANYTHING: &[u32; LIST] = &[0; LIST];
        let start = 4 * (found & PLACE) as usize + 1;
        self.ring.as_flattened().get(start..).and_then(|list| list.first_chunk()).unwrap_or(ANYTHING)
    }

    /// Appends the tokens that `found` stands for; returns how many.
    #[inline(always)]
    pub(super) fn append(&self, found: u32, out: &mut Vec<u32>) -> usize {
        let (count, before) = (num_tokens(found), out.len());
        out.extend_from_slice(self.list(found)); // always all: a copy of fixed length costs less
        out.truncate(before + count);
        count
    }

    /// Remembers the tokens of a pretoken, if there are any.
    #[inline]
    pub(super) fn put(&mut self, key: Key, ids: &[u32]) {
        if !(1..=MOST).contains(&ids.len()) {
            return;
        }
        let length = (1 + ids.len()).div_ceil(4);
        let at = self.make_room(length);
        let list = self.ring[at..at + length].as_flattened_mut();
        list[0] = key.hash() & !LENGTH | length as u32;
        list[1..=ids.len()].copy_from_slice(ids);
        let found = NO_ID | (ids.len() as u32) << COUNT_SHIFT | at as u32;
        self.displaced += usize::from(self.words.put(key, found));
    }

    /// A place in the ring for `length` fours, which no slot has any more.
    fn make_room(&mut self, length: usize) -> usize {
        let end = self.ring.len() - PADDING;
        if self.next + length > end {
            self.close_gap();
            (self.next, self.old) = (0, 0);
        }
        let at = self.next;
        self.next += length;
        while self.old < self.next {
            let first = self.ring[self.old][0];
            if first == 0 {
                self.old = end; // nothing was written from here on
                break;
            }
            let is_here = |found: u32| (found & PLACE) as usize == self.old;
            self.displaced += usize::from(self.words.remove(first & !LENGTH, is_here));
            self.old += (first & LENGTH) as usize;
        }
        at
    }

    /// Makes a list of nobody's of what lies between this round and the last one, for the next will go over it.
    fn close_gap(&mut self) {
        let end = self.ring.len() - PADDING;
        let gap = self.old.min(end) - self.next;
        if gap > 0 {
            self.ring[self.next][0] = gap as u32;
        }
    }
}

impl Remember for Hot {
    fn wants(&self) -> usize {
        let lines = self.words.num_lines();
        if self.displaced > lines && lines < self.most {
            LINE_BYTES * lines
        } else {
            0
        }
    }

    fn grow(&mut self) {
        self.words.double();
        let end = self.ring.len() - PADDING;
        if self.old < end {
            self.close_gap();
            self.next = end;
        }
        let mut ring = vec![[0; 4]; 2 * end + PADDING];
        ring[..end].copy_from_slice(&self.ring[..end]);
        self.ring = ring.into();
        self.old = 2 * end;
        self.displaced = 0;
    }

    fn stay(&mut self) {
        self.displaced = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_was_put_there() {
        let mut hot = Hot::new(4, 7);
        let key = |i: usize| Key::of(format!("{i}{}", ".".repeat(i % 12)).as_bytes());
        let ids = |i: usize| (0..1 + i % MOST).map(|k| (1000 * k + i) as u32).collect::<Vec<_>>();
        let get = |hot: &Hot, i: usize| {
            let mut tokens = vec![7];
            assert_eq!(hot.append(hot.get(key(i)), &mut tokens), tokens.len() - 1);
            tokens.split_off(1)
        };
        let mut grown = 0;
        for i in 0..3_000 {
            let i = i * 7 % 2_000;
            hot.put(key(i), &ids(i));
            assert_eq!(get(&hot, i), ids(i));
            if i % 50 == 0 {
                let known = |hot: &Hot| {
                    let there = (0..2_000).map(|i| (i, get(hot, i))).filter(|(_, there)| !there.is_empty());
                    there.map(|(i, there)| assert_eq!(there, ids(i))).count()
                };
                let before = known(&hot);
                assert!(before > 0);
                if hot.wants() > 0 {
                    hot.grow();
                    grown += 1;
                    assert_eq!(known(&hot), before);
                }
            }
        }
        assert!(grown == 3 && hot.wants() == 0);
    }
}
