//! Table of merges: (left, right) → (rank, result).
//!
//! The merges are stored in a list in the order in which they were added; a hash table contains their indices. Most
//! lookups find no merge and read only the control bytes of the hash table. There is one control byte for each merge,
//! so they fit the CPU caches. Merges are never removed.

use hashbrown::hash_table::{Entry, HashTable};

use crate::util::hash::Hash;

/// A merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Merge {
    /// Priority: the pair with the lowest rank merges first.
    pub rank: u32,
    /// Id of the result.
    pub result: u32,
}

#[derive(Debug, Clone, Copy)]
struct PairMerge {
    key: u64,
    merge: Merge,
}

/// (left, right) → merge.
#[derive(Debug, Clone, Default)]
pub struct Pairs {
    merges: Vec<PairMerge>,
    table: HashTable<u32>, // indices into `merges`
    hash: Hash,
}

#[inline]
fn key(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

impl Pairs {
    /// Creates a table for `capacity` pairs.
    pub fn with_capacity(capacity: usize) -> Self {
        let (merges, table) = (Vec::with_capacity(capacity), HashTable::with_capacity(capacity));
        Self { merges, table, hash: Hash::default() }
    }

    /// Returns the merge of `left` and `right`.
    #[inline]
    pub fn get(&self, left: u32, right: u32) -> Option<Merge> {
        let key = key(left, right);
        let found = self.table.find(self.hash.int(key), |&index| self.merges[index as usize].key == key);
        found.map(|&index| self.merges[index as usize].merge)
    }

    /// Adds a pair with its merge. If the table already has the pair, keeps and returns the existing merge.
    pub fn insert(&mut self, left: u32, right: u32, merge: Merge) -> Option<Merge> {
        let Self { merges, table, hash } = self;
        let key = key(left, right);
        let same = |&index: &u32| merges[index as usize].key == key;
        match table.entry(hash.int(key), same, |&index| hash.int(merges[index as usize].key)) {
            Entry::Occupied(there) => Some(merges[*there.get() as usize].merge),
            Entry::Vacant(free) => {
                free.insert(merges.len() as u32);
                merges.push(PairMerge { key, merge });
                None
            }
        }
    }

    /// Returns the number of pairs.
    pub fn len(&self) -> usize {
        self.merges.len()
    }

    /// Returns true if there are no pairs.
    pub fn is_empty(&self) -> bool {
        self.merges.is_empty()
    }

    /// Iterates over pairs and merges, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32, Merge)> + '_ {
        self.merges.iter().map(|pair| ((pair.key >> 32) as u32, pair.key as u32, pair.merge))
    }
}
