//! (left, right) → (rank, result): the table of merges.
//!
//! Open addressing with linear probing, 16 bytes a slot, at most half full. Entries are never removed.

use crate::util::hash::Hash;

/// A merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Merge {
    /// Priority; lower first.
    pub rank: u32,
    /// Id of the result.
    pub result: u32,
}

#[derive(Debug, Clone, Copy)]
struct PairSlot {
    key: u64,
    merge: Merge,
}

const EMPTY: u64 = u64::MAX; // (u32::MAX, u32::MAX): no vocabulary has that id

/// (left, right) → merge.
#[derive(Debug, Clone)]
pub struct Pairs {
    slots: Box<[PairSlot]>,
    shift: u32,
    len: usize,
    hash: Hash,
}

fn key(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

impl Pairs {
    /// Creates a table for `capacity` pairs.
    pub fn with_capacity(capacity: usize) -> Self {
        let bits = (capacity.max(4) * 2).next_power_of_two().trailing_zeros();
        let slots = vec![PairSlot { key: EMPTY, merge: Merge { rank: 0, result: 0 } }; 1 << bits].into();
        Self { slots, shift: 64 - bits, len: 0, hash: Hash::default() }
    }

    /// Returns the merge of `left` and `right`.
    #[inline]
    pub fn get(&self, left: u32, right: u32) -> Option<Merge> {
        let slot = self.slots[self.slot(key(left, right))];
        (slot.key != EMPTY).then_some(slot.merge)
    }

    /// Adds a pair. If it exists, returns and keeps its merge.
    pub fn insert(&mut self, left: u32, right: u32, merge: Merge) -> Option<Merge> {
        if (self.len + 1) * 2 > self.slots.len() {
            self.grow();
        }
        let at = self.slot(key(left, right));
        if self.slots[at].key != EMPTY {
            return Some(self.slots[at].merge);
        }
        self.slots[at] = PairSlot { key: key(left, right), merge };
        self.len += 1;
        None
    }

    /// Returns the number of pairs.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Iterates over pairs and merges, in arbitrary order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32, Merge)> + '_ {
        let full = self.slots.iter().filter(|slot| slot.key != EMPTY);
        full.map(|slot| ((slot.key >> 32) as u32, slot.key as u32, slot.merge))
    }

    /// Returns the slot of `key`, or the empty slot for it.
    #[inline]
    fn slot(&self, key: u64) -> usize {
        let mut at = (self.hash.int(key) >> self.shift) as usize;
        while self.slots[at].key != key && self.slots[at].key != EMPTY {
            at = (at + 1) & (self.slots.len() - 1);
        }
        at
    }

    fn grow(&mut self) {
        let mut larger = Self::with_capacity(self.slots.len());
        for (left, right, merge) in self.iter() {
            larger.insert(left, right, merge);
        }
        *self = larger;
    }
}
