//! A table of pretokens and 64-bit counts that keeps the order in which they came.

use hashbrown::hash_table::Entry;
use hashbrown::HashTable;

use crate::error::{Error, Result};
use crate::hash::Hash;

/// Distinct pretokens and how often each stands in the corpus.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    arena: Vec<u8>,
    entries: Vec<Pretoken>,
    table: HashTable<u32>, // index into entries
    hash: Hash,
}

#[derive(Debug, Clone, Copy)]
struct Pretoken {
    start: u64,
    len: u32,
    hash: u32,
    count: u64,
}

impl Counts {
    /// Distinct pretokens.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// All pretokens, with repetition.
    pub fn total(&self) -> u64 {
        self.entries.iter().fold(0, |sum, entry| sum.saturating_add(entry.count))
    }

    /// Pretokens with their counts, in the order of first appearance.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], u64)> {
        self.entries.iter().map(|entry| (self.bytes(entry), entry.count))
    }

    fn bytes(&self, entry: &Pretoken) -> &[u8] {
        &self.arena[entry.start as usize..entry.start as usize + entry.len as usize]
    }

    /// Adds `count` occurrences of `pretoken`.
    ///
    /// # Errors
    /// [`Error::training`] past 2³² distinct pretokens, a pretoken of 4 GiB, or a count of 2⁶⁴.
    #[inline]
    pub fn add(&mut self, pretoken: &[u8], count: u64) -> Result<()> {
        let hash = self.hash.bytes(pretoken);
        let Self { arena, entries, table, .. } = self;
        let found = table.entry(
            hash,
            |&i| {
                let entry = &entries[i as usize];
                let start = entry.start as usize;
                entry.hash == hash as u32
                    && entry.len as usize == pretoken.len()
                    && &arena[start..start + pretoken.len()] == pretoken
            },
            |&i| {
                let entry = &entries[i as usize];
                let start = entry.start as usize;
                self.hash.bytes(&arena[start..start + entry.len as usize])
            },
        );
        match found {
            Entry::Occupied(slot) => {
                let entry = &mut entries[*slot.get() as usize];
                entry.count = entry.count.checked_add(count).ok_or_else(|| Error::training("a count passes 2^64"))?;
            }
            Entry::Vacant(slot) => {
                let (Ok(index), Ok(len)) = (u32::try_from(entries.len()), u32::try_from(pretoken.len())) else {
                    return Err(Error::training(
                        "more than 2^32 distinct pretokens, or one of 4 GiB or more: use a pattern that cuts the text",
                    ));
                };
                slot.insert(index);
                entries.push(Pretoken { start: arena.len() as u64, len, hash: hash as u32, count });
                arena.extend_from_slice(pretoken);
            }
        }
        Ok(())
    }

    /// Adds everything in `other`; what is new here comes after what was here, in `other`'s order.
    ///
    /// # Errors
    /// As [`Counts::add`].
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        other.iter().try_for_each(|(pretoken, count)| self.add(pretoken, count))
    }
}
