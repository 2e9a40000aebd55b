//! Hash table of distinct pretokens with 64-bit counts, in the order of their first appearance.
//!
//! ```text
//! slots     tag and index of an entry, by hash ─► entries    in order: key, count, first position ─► arena    pretokens over 15 bytes
//! ```
//!
//! Invariant: entries are in the order of their first positions, which are distinct. No two entries have the same
//! pretoken.
//!
//! A pretoken of up to 15 bytes is its own key, so comparison is one instruction and reads no other memory. Pretokens
//! are counted in batches: first all keys and hashes are computed and their cache lines prefetched, so that cache
//! misses overlap. Slots store 32 bits of the hash, called the tag. When the table doubles, the tags determine the new
//! positions, so it grows in one pass from left to right, without reading pretokens.
//!
//! Cost: about 40 instructions for each pretoken. Memory: 32 bytes for each distinct pretoken, 16 to 32 for its slots,
//! and its own bytes if it has more than 15. The seed of the hash is random for each process, so that nobody can
//! prepare a text whose pretokens collide. No result depends on the seed.

use std::sync::Mutex;

use super::run::Source;
use crate::error::{Error, Result};
use crate::util::alloc;
use crate::util::cancel::{CancelCheck, KeepGoing};
use crate::util::hash::Hash;
use crate::util::huge_pages::HugeVec;
use crate::util::short_key::{ShortKey, MAX_BYTES};
use crate::util::spill::{MemoryLimit, PageCheck, SpillVec};
use crate::{parallel, util::simd};

/// Number of pretokens in a batch. First the keys of the whole batch are computed and the cache lines prefetched, then
/// the pretokens are counted.
pub(super) const BATCH: usize = 128;

/// Number of entries added between two checks of the memory limit. With their pretokens they take about a megabyte.
const PUSHES: usize = 1 << 14;

/// Minimum number of slots of an index. A table whose index has not been built has no slots.
const FEWEST_SLOTS: usize = 1 << 10;

/// Returns the key of a pretoken in the arena: its offset and length.
fn arena_key(start: usize, len: u32) -> ShortKey {
    ShortKey::longer(start as u64 as u128 | u128::from(len) << 64)
}

/// Returns the range of the arena that an [`arena_key`] refers to.
#[inline(always)]
fn arena_range(key: ShortKey) -> std::ops::Range<usize> {
    let start = key.bits() as u64 as usize;
    start..start + (key.bits() >> 64) as u32 as usize
}

/// Returns the tag of a short pretoken, from its key.
#[inline(always)]
fn short_tag(hash: Hash, key: ShortKey) -> u32 {
    (hash.two(key.bits() as u64, (key.bits() >> 64) as u64) >> 32) as u32
}

/// Returns the tag of a pretoken of more than 15 bytes.
#[inline(always)]
fn long_tag(hash: Hash, pretoken: &[u8]) -> u32 {
    (hash.bytes(pretoken) >> 32) as u32
}

/// A pretoken, its count in the corpus, and its first position.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(32))]
struct CountEntry {
    key: ShortKey,
    count: u64,
    first: u64,
}

/// Distinct pretokens with their counts in the corpus.
#[derive(Debug, Default)]
pub struct Counts {
    entries: SpillVec<CountEntry>,
    arena: SpillVec<u8>,
    slots: HugeVec<u64>, // tag << 32 | index of the entry + 1, or 0; empty until the first lookup
    end: u64,            // position at which the corpus ends
    hash: Hash,
}

/// Keys and tags of the pretokens in a batch. They are computed first, so that the cache lines of the table can be
/// prefetched.
#[derive(Debug)]
pub(super) struct KeyBatch {
    keys: [ShortKey; BATCH],
    tags: [u32; BATCH],
    long: [u8; BATCH],   // indices in the batch of pretokens over 15 bytes
    missed: [u8; BATCH], // indices of the pretokens that `recent` lacks
    /// Index of a recently found entry, by tag. This is a small direct-mapped cache in front of the large table, for
    /// frequent pretokens. The key of the entry tells whether the index is stale.
    recent: [u32; RECENT],
}

/// Number of slots of `KeyBatch::recent`: 16 KiB, half of a usual L1 cache.
const RECENT: usize = 1 << 12;

/// Returns the slot of a tag in `KeyBatch::recent`.
#[inline(always)]
fn recent_slot(tag: u32) -> usize {
    (tag >> (32 - RECENT.trailing_zeros())) as usize
}

impl Default for KeyBatch {
    fn default() -> Self {
        let keys = [ShortKey::EMPTY; BATCH];
        Self { keys, tags: [0; BATCH], long: [0; BATCH], missed: [0; BATCH], recent: [0; RECENT] }
    }
}

/// Size of a table at some time: its number of entries and of bytes in the arena. Later additions can be undone by
/// restoring this size.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    entries: usize,
    arena: usize,
}

fn too_many() -> Error {
    Error::training("more than 2^31 distinct pretokens, or one of 4 GiB or more: use a pattern that splits the text")
}

fn too_often() -> Error {
    Error::training("a count exceeds 2^64")
}

impl Counts {
    /// Creates an empty table. When the table exceeds the memory limit, it spills to files.
    pub fn within(memory: &MemoryLimit) -> Self {
        Self { entries: SpillVec::new(memory), arena: SpillVec::new(memory), ..Self::default() }
    }

    /// Copies the table. The copy spills to files if it exceeds `memory`.
    ///
    /// # Errors
    /// [`crate::error::ErrorKind::Memory`]; I/O errors of spill files; `Interrupted`.
    pub fn copy(&self, memory: &MemoryLimit, keep_going: KeepGoing<'_>) -> Result<Self> {
        CancelCheck::new(keep_going).check_now()?;
        let entries = self.entries.copy(memory)?;
        CancelCheck::new(keep_going).check_now()?;
        let arena = self.arena.copy(memory)?;
        Ok(Self { entries, arena, slots: HugeVec::default(), end: self.end, hash: self.hash })
    }

    /// If the table is in files, applies the limit `memory` to the pages of the table. `memory` is the memory limit of
    /// the next step, learning.
    pub(in crate::train) fn adopt_by(&self, memory: &MemoryLimit) {
        memory.adopt([self.entries.mapping(), self.arena.mapping()]);
    }

    /// If the table is in files, releases its pages from memory.
    pub(in crate::train) fn release(&self) {
        self.entries.release();
        self.arena.release();
    }

    /// Frees the index; the next lookup builds it again.
    pub(in crate::train) fn drop_index(&mut self) {
        self.slots = HugeVec::default();
    }

    /// Returns the total bytes of the pretokens longer than 15 bytes.
    pub(in crate::train) fn arena_bytes(&self) -> usize {
        self.arena.len()
    }

    /// Returns the number of distinct pretokens.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if the table is empty.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the sum of all counts.
    pub fn total(&self) -> u64 {
        self.sum(|_, count| count)
    }

    /// Returns the sum of `number(pretoken, count)` over all pretokens, saturating at 2⁶⁴ - 1. If the table is in
    /// files, releases its pages after they are read.
    pub(in crate::train) fn sum(&self, number: impl Fn(&[u8], u64) -> u64) -> u64 {
        let chunk = |entries: &[CountEntry]| {
            let numbers = entries.iter().map(|entry| number(self.bytes(entry), entry.count));
            let sum = numbers.fold(0, u64::saturating_add);
            self.release();
            sum
        };
        self.entries.chunks(PUSHES).map(chunk).fold(0, u64::saturating_add)
    }

    /// Iterates over pretokens and counts, in the order of first appearance.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], u64)> {
        self.entries.iter().map(|entry| (self.bytes(entry), entry.count))
    }

    /// Iterates over the pretokens and counts that [`Counts::iter`] yields at the indices in `range`.
    pub(in crate::train) fn range(&self, range: std::ops::Range<usize>) -> impl ExactSizeIterator<Item = (&[u8], u64)> {
        self.entries[range].iter().map(|entry| (self.bytes(entry), entry.count))
    }

    /// Iterates over (pretoken, count, first position), in ascending order of first positions.
    pub fn places(&self) -> impl ExactSizeIterator<Item = (&[u8], u64, u64)> {
        self.entries.iter().map(|entry| (self.bytes(entry), entry.count, entry.first))
    }

    /// Returns the `n` most frequent pretokens in descending order of counts. Pretokens with equal counts are in the
    /// order of first appearance.
    pub fn most_common(&self, n: usize) -> Vec<(&[u8], u64)> {
        let mut order: Vec<usize> = (0..self.entries.len()).collect();
        let rank = |&number: &usize| (std::cmp::Reverse(self.entries[number].count), number);
        if n < order.len() {
            order.select_nth_unstable_by_key(n, rank);
            order.truncate(n);
        }
        order.sort_unstable_by_key(rank);
        order.into_iter().map(|number| (self.bytes(&self.entries[number]), self.entries[number].count)).collect()
    }

    /// Returns the number of pretokens whose first position is before `place`.
    pub fn distinct_before(&self, place: u64) -> usize {
        self.entries.partition_point(|entry| entry.first < place)
    }

    /// Returns the position at which the corpus ends.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Returns the memory in bytes.
    pub fn memory(&self) -> usize {
        self.entries.bytes() + self.arena.bytes() + self.slots.len() * size_of::<u64>()
    }

    #[inline(always)]
    fn bytes<'e>(&'e self, entry: &'e CountEntry) -> &'e [u8] {
        if entry.key.is_longer() {
            &self.arena[arena_range(entry.key)]
        } else {
            entry.key.bytes()
        }
    }

    /// Adds `count` occurrences of `pretoken`. A new pretoken gets a position after all others.
    ///
    /// # Errors
    /// [`Error::training`] for more than 2³¹ distinct pretokens, a pretoken of 4 GiB, or a count of 2⁶⁴.
    #[inline]
    pub fn add(&mut self, pretoken: &[u8], count: u64) -> Result<()> {
        let place = self.end;
        self.end += 1;
        self.add_at(pretoken, count, place)
    }

    /// Sets the position at which the corpus ends.
    pub(in crate::train) fn ends_at(&mut self, end: u64) {
        self.end = end;
    }

    /// Adds `count` occurrences of a pretoken. The first of them is at `place`, which is after all positions in the
    /// table.
    ///
    /// # Errors
    /// As [`Counts::add`].
    pub(super) fn add_at(&mut self, pretoken: &[u8], count: u64, place: u64) -> Result<()> {
        self.reserve(1)?;
        let (key, tag) = self.key_and_tag(pretoken);
        match self.find(key, tag, pretoken) {
            Ok(number) => {
                let entry = &mut self.entries[number];
                entry.count = entry.count.checked_add(count).ok_or_else(too_often)?;
                Ok(())
            }
            Err(slot) => self.insert(slot, key, tag, pretoken, count, place),
        }
    }

    /// Adds an entry for a pretoken that is not yet in the table. The first position of the pretoken, `place`, may be
    /// lower than the positions in the table: [`Counts::sort_by_place`] restores the order afterwards.
    ///
    /// # Errors
    /// As [`Counts::add`].
    pub(in crate::train) fn push(&mut self, pretoken: &[u8], count: u64, place: u64) -> Result<()> {
        self.slots = HugeVec::default();
        let key = self.stored(ShortKey::of(pretoken), pretoken)?;
        if self.entries.len().is_multiple_of(PUSHES) {
            self.entries.enforce();
        }
        self.entries.push(CountEntry { key, count, first: place })
    }

    fn key_and_tag(&self, pretoken: &[u8]) -> (ShortKey, u32) {
        let key = ShortKey::of(pretoken);
        let tag = if key.is_longer() { long_tag(self.hash, pretoken) } else { short_tag(self.hash, key) };
        (key, tag)
    }

    /// Adds one occurrence of each part of `text`. Part i begins at `bounds[i]` and ends before `bounds[i + 1]`.
    /// `place` is the position of the text's first byte.
    ///
    /// # Errors
    /// As [`Counts::add`].
    pub(super) fn add_all(&mut self, text: &[u8], bounds: &[u32], place: u64, batch: &mut KeyBatch) -> Result<()> {
        for from in (0..bounds.len().saturating_sub(1)).step_by(BATCH) {
            let bounds = &bounds[from..bounds.len().min(from + BATCH + 1)];
            let count = bounds.len() - 1;
            self.reserve(count)?;
            batch.load(text, bounds, self.hash);
            let missed = self.count_frequent(batch, count);
            let KeyBatch { keys, tags, missed: at, recent, .. } = &mut *batch;
            let shift = self.shift();
            let missed = &at[..missed];
            missed.iter().for_each(|&i| simd::prefetch(&self.slots[(tags[usize::from(i)] >> shift) as usize]));
            for &i in missed {
                let slot = self.slots[(tags[usize::from(i)] >> shift) as usize];
                if let Some(entry) = self.entries.get((slot as u32).wrapping_sub(1) as usize) {
                    simd::prefetch(entry);
                }
            }
            for i in missed.iter().map(|&i| usize::from(i)) {
                let (start, end) = (bounds[i] as usize, bounds[i + 1] as usize);
                match self.find(keys[i], tags[i], &text[start..end]) {
                    Ok(number) => {
                        self.entries[number].count += 1;
                        recent[recent_slot(tags[i])] = number as u32;
                    }
                    Err(slot) => self.insert(slot, keys[i], tags[i], &text[start..end], 1, place + start as u64)?,
                }
            }
        }
        Ok(())
    }

    /// Counts each pretoken of a batch that is found in `batch.recent`. Writes the indices of all other pretokens to
    /// `batch.missed`, and returns the number of these indices. Branchless, because the processor could not predict
    /// whether a pretoken is frequent.
    #[inline(always)]
    fn count_frequent(&mut self, batch: &mut KeyBatch, count: usize) -> usize {
        let KeyBatch { keys, tags, missed, recent, .. } = batch;
        let entries = &mut *self.entries;
        let mut num_missed = 0;
        for (i, (&key, &tag)) in keys.iter().zip(&*tags).enumerate().take(count) {
            let number = recent[recent_slot(tag)] as usize;
            let Some(entry) = entries.get_mut(number) else {
                missed[num_missed] = i as u8;
                num_missed += 1;
                continue;
            };
            let same = entry.key == key; // never for a long pretoken, whose entry has an arena key
            entry.count += u64::from(same);
            missed[num_missed] = i as u8;
            num_missed += usize::from(!same);
        }
        num_missed
    }

    /// Returns the index of a pretoken's entry as `Ok`, or else the slot for a new entry as `Err`.
    #[inline(always)]
    fn find(&self, key: ShortKey, tag: u32, pretoken: &[u8]) -> std::result::Result<usize, usize> {
        let mask = self.slots.len() - 1;
        let mut at = (tag >> self.shift()) as usize;
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                return Err(at);
            }
            if (slot >> 32) as u32 == tag {
                let number = slot as u32 as usize - 1;
                let entry = &self.entries[number];
                if entry.key == key
                    || key.is_longer() && entry.key.is_longer() && &self.arena[arena_range(entry.key)] == pretoken
                {
                    return Ok(number);
                }
            }
            at = (at + 1) & mask;
        }
    }

    #[inline]
    fn insert(&mut self, slot: usize, key: ShortKey, tag: u32, pretoken: &[u8], count: u64, first: u64) -> Result<()> {
        let key = self.stored(key, pretoken)?;
        self.entries.push(CountEntry { key, count, first })?;
        self.slots[slot] = u64::from(tag) << 32 | self.entries.len() as u64;
        Ok(())
    }

    /// Returns the key to store in the entry; copies a pretoken of more than 15 bytes to the arena.
    #[inline]
    fn stored(&mut self, key: ShortKey, pretoken: &[u8]) -> Result<ShortKey> {
        if !key.is_longer() {
            return Ok(key);
        }
        let len = u32::try_from(pretoken.len()).map_err(|_| too_many())?;
        let key = arena_key(self.arena.len(), len);
        self.arena.extend_from_slice(pretoken)?;
        Ok(key)
    }

    /// Returns the shift that converts a tag to the index of its slot.
    #[inline(always)]
    fn shift(&self) -> u32 {
        32 - self.slots.len().trailing_zeros()
    }

    /// Reserves space for `more` entries, so that at most half of the slots are used.
    #[inline]
    fn reserve(&mut self, more: usize) -> Result<()> {
        let needed = (2 * (self.entries.len() + more)).max(1);
        self.entries.reserve(more)?;
        if self.slots.len() >= needed {
            return Ok(());
        }
        self.grow(needed)
    }

    #[cold]
    fn grow(&mut self, needed: usize) -> Result<()> {
        let len = needed.max(FEWEST_SLOTS).next_power_of_two();
        if len as u64 > 1 << 32 {
            return Err(too_many());
        }
        let old = std::mem::replace(&mut self.slots, HugeVec::filled(0, len)?);
        if old.is_empty() {
            self.index();
        } else {
            old.iter().filter(|&&slot| slot != 0).for_each(|&slot| self.put(slot));
        }
        Ok(())
    }

    /// Fills the slots from the entries. The slots must be empty.
    fn index(&mut self) {
        for number in 0..self.entries.len() {
            let entry = self.entries[number];
            let tag = match entry.key.is_longer() {
                true => long_tag(self.hash, &self.arena[arena_range(entry.key)]),
                false => short_tag(self.hash, entry.key),
            };
            self.put(u64::from(tag) << 32 | (number as u64 + 1));
        }
    }

    #[inline(always)]
    fn put(&mut self, slot: u64) {
        let mask = self.slots.len() - 1;
        let mut at = ((slot >> 32) as u32 >> self.shift()) as usize;
        while self.slots[at] != 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = slot;
    }

    /// Adds the counts of `other`. Pretokens that only `other` contains are appended in the order of `other`.
    ///
    /// # Errors
    /// As [`Counts::add`]; `Interrupted`. After an error the table is invalid.
    pub fn merge(&mut self, other: &Self, keep_going: KeepGoing<'_>) -> Result<()> {
        let before = self.end;
        let all = before.checked_add(other.end).ok_or_else(|| Error::training("counts of more than 2^64 places"))?;
        let mut cancel = CancelCheck::new(keep_going);
        for (pretoken, count, place) in other.places() {
            cancel.check()?;
            self.add_at(pretoken, count, before + place)?;
        }
        self.end = all;
        Ok(())
    }

    /// Returns the current number of entries and arena bytes.
    pub(super) fn mark(&self) -> Mark {
        Mark { entries: self.entries.len(), arena: self.arena.len() }
    }

    /// Subtracts `count` occurrences of a pretoken.
    ///
    /// # Errors
    /// Returns the pretoken's count if it is less than `count`.
    pub(super) fn take_away(&mut self, pretoken: &[u8], count: u64) -> std::result::Result<(), u64> {
        self.reserve(0).map_err(|_| 0u64)?;
        let (key, tag) = self.key_and_tag(pretoken);
        let number = self.find(key, tag, pretoken).map_err(|_| 0u64)?;
        let own = &mut self.entries[number].count;
        *own = own.checked_sub(count).ok_or(*own)?;
        Ok(())
    }

    /// Removes the entries that were added since `mark`. The counts of these entries must be 0.
    pub(super) fn forget_since(&mut self, mark: Mark) {
        self.entries.truncate(mark.entries);
        self.arena.truncate(mark.arena);
        self.slots.fill(0);
        if !self.slots.is_empty() {
            self.index();
        }
    }
}

/// Iterator over the entries in byte order.
#[derive(Debug)]
pub(super) struct Sorted<'c> {
    counts: &'c Counts,
    next: usize,
}

impl Source for Sorted<'_> {
    fn next(&mut self, pretoken: &mut Vec<u8>) -> Result<Option<(u64, u64)>> {
        let Some(entry) = self.counts.entries.get(self.next) else { return Ok(None) };
        self.next += 1;
        pretoken.clear();
        pretoken.extend_from_slice(self.counts.bytes(entry));
        Ok(Some((entry.count, entry.first)))
    }
}

impl Counts {
    /// Sorts the entries in byte order. This destroys the order of first positions, which other methods need. So the
    /// sorted table may be spilled or written, but not used in any other way.
    pub(super) fn sort_by_bytes(&mut self) {
        self.slots = HugeVec::default();
        let arena = &self.arena;
        // The sort key is the first 15 bytes and the length. It orders pretokens of up to 15 bytes completely, and puts
        // a longer pretoken after its prefixes.
        let head = |entry: &CountEntry| match entry.key.is_longer() {
            true => ShortKey::of(&arena[arena_range(entry.key)][..MAX_BYTES]).order() + 1,
            false => entry.key.order(),
        };
        self.entries.sort_unstable_by(|a, b| {
            head(a).cmp(&head(b)).then_with(|| match a.key.is_longer() {
                true => arena[arena_range(a.key)].cmp(&arena[arena_range(b.key)]),
                false => std::cmp::Ordering::Equal,
            })
        });
    }

    /// Iterates over the entries, which [`Counts::sort_by_bytes`] must have sorted.
    pub(super) fn sorted(&self) -> Sorted<'_> {
        Sorted { counts: self, next: 0 }
    }

    /// Sorts the entries by first position, which restores the order after [`Counts::push`].
    ///
    /// # Errors
    /// [`Error::format`] for equal positions.
    pub(super) fn sort_by_place(&mut self) -> Result<()> {
        let memory = self.entries.memory();
        let mut pages = PageCheck::new(&memory);
        self.entries.sort_unstable_by_key(|entry| {
            pages.check();
            entry.first
        });
        if self.entries.windows(2).any(|pair| pair[0].first == pair[1].first) {
            return Err(Error::format(
                "damaged counts: two pretokens appear first at the same position",
                "the entries",
            ));
        }
        Ok(())
    }

    /// Drops the entries for which `keep` returns false. `keep` gets the pretoken and the count, which it may change.
    ///
    /// # Errors
    /// `Interrupted`, after which the table is invalid.
    pub(super) fn retain(
        &mut self,
        keep_going: KeepGoing<'_>,
        mut keep: impl FnMut(&[u8], &mut u64) -> bool,
    ) -> Result<()> {
        self.slots = HugeVec::default();
        let mut entries = std::mem::take(&mut self.entries);
        let (mut cancel, mut done) = (CancelCheck::new(keep_going), Ok(()));
        entries.retain_mut(|entry| {
            if done.is_err() {
                return true;
            }
            done = cancel.check();
            let mut count = entry.count;
            let stays = keep(self.bytes(entry), &mut count);
            entry.count = count;
            stays
        });
        self.entries = entries;
        done
    }
}

/// Index that [`Counts::numbers_of`] returns for a pretoken that is not in this table.
const NOWHERE: u32 = u32::MAX;

impl Counts {
    /// Returns, for each entry of `other`, the index of the same pretoken in this table, or [`NOWHERE`]. A thread looks
    /// up `job` entries at a time.
    ///
    /// # Errors
    /// As [`Counts::add`].
    pub(super) fn numbers_of(&mut self, other: &Self, job: usize, threads: usize) -> Result<Vec<u32>> {
        self.reserve(0)?;
        let mut numbers = alloc::filled(NOWHERE, other.len())?;
        let threads = threads.min(other.len() / job);
        let jobs: Vec<_> = numbers.chunks_mut(job).zip(other.entries.chunks(job)).map(Mutex::new).collect();
        let look = |at: usize, _: KeepGoing<'_>| {
            let Ok(mut job) = jobs[at].lock() else { return Err(too_many()) };
            let (numbers, entries) = &mut *job;
            self.look_up(other, entries, numbers);
            Ok(())
        };
        parallel::jobs(jobs.len(), threads, &mut || true, look).into_iter().collect::<Result<Vec<()>>>()?;
        drop(jobs);
        Ok(numbers)
    }

    fn look_up(&self, other: &Self, entries: &[CountEntry], numbers: &mut [u32]) {
        let mut tags = [0; BATCH];
        for (entries, numbers) in entries.chunks(BATCH).zip(numbers.chunks_mut(BATCH)) {
            for (tag, entry) in tags.iter_mut().zip(entries) {
                *tag = if entry.key.is_longer() {
                    long_tag(self.hash, other.bytes(entry))
                } else {
                    short_tag(self.hash, entry.key)
                };
                simd::prefetch(&self.slots[(*tag >> self.shift()) as usize]);
            }
            for &tag in &tags[..entries.len()] {
                let slot = self.slots[(tag >> self.shift()) as usize];
                if let Some(entry) = self.entries.get((slot as u32).wrapping_sub(1) as usize) {
                    simd::prefetch(entry);
                }
            }
            for ((tag, entry), number) in tags.iter().zip(entries).zip(numbers) {
                let key = if entry.key.is_longer() { ShortKey::longer(0) } else { entry.key };
                if let Ok(found) = self.find(key, *tag, other.bytes(entry)) {
                    *number = found as u32;
                }
            }
        }
    }

    /// Merges both tables by first position. `same` is the result of [`Counts::numbers_of`].
    ///
    /// # Errors
    /// As [`Counts::add`].
    pub(super) fn merged_by_place(mut self, mut other: Self, same: &[u32]) -> Result<Self> {
        let mut shared = 0;
        for (theirs, &number) in other.entries.iter_mut().zip(same) {
            let Some(ours) = self.entries.get_mut(number as usize) else { continue };
            let (earlier, later) = if ours.first < theirs.first { (ours, theirs) } else { (theirs, ours) };
            earlier.count = earlier.count.checked_add(later.count).ok_or_else(too_often)?;
            later.first = GONE;
            shared += 1;
        }
        let before = self.arena.len();
        self.arena.extend_from_slice(&other.arena)?;
        let moved = |mut entry: CountEntry| {
            if entry.key.is_longer() {
                let place = arena_range(entry.key);
                entry.key = arena_key(before + place.start, place.len() as u32);
            }
            entry
        };
        let mut entries = SpillVec::default();
        entries.reserve(self.entries.len() + other.entries.len() - shared)?;
        let (ours, theirs) = (std::mem::take(&mut self.entries), std::mem::take(&mut other.entries));
        let mut theirs = theirs.iter().copied().filter(|entry| entry.first != GONE).peekable();
        for entry in ours.iter().copied().filter(|entry| entry.first != GONE) {
            while let Some(earlier) = theirs.next_if(|theirs| theirs.first < entry.first) {
                entries.push(moved(earlier))?;
            }
            entries.push(entry)?;
        }
        theirs.try_for_each(|entry| entries.push(moved(entry)))?;
        Ok(Self { entries, slots: HugeVec::default(), end: self.end.max(other.end), ..self })
    }
}

/// Marks an entry to drop when two tables are merged; stored in place of the entry's first position. If a pretoken has
/// an entry in each table, the count of the later entry is added to the earlier entry, and the later entry is dropped.
const GONE: u64 = u64::MAX;

impl KeyBatch {
    /// Computes the keys and tags of the first parts of `text`, at most [`BATCH`]. Part i begins at `bounds[i]` and
    /// ends before `bounds[i + 1]`.
    #[inline(always)]
    fn load(&mut self, text: &[u8], bounds: &[u32], hash: Hash) {
        let count = (bounds.len() - 1).min(BATCH);
        // Number of parts that start at least 16 bytes before the end of the text. For such a part, 16 bytes can be
        // loaded from the start of the part.
        let inside = bounds[..count].partition_point(|&start| start as usize + 16 <= text.len());
        let mut num_long = 0;
        for at in 0..count {
            let (start, end) = (bounds[at] as usize, bounds[at + 1] as usize);
            let key = match text[start..].first_chunk() {
                Some(&sixteen) if at < inside => ShortKey::new(sixteen, end - start),
                _ => ShortKey::of(&text[start..end]),
            };
            self.keys[at] = key;
            self.tags[at] = short_tag(hash, key);
            self.long[num_long] = at as u8;
            num_long += usize::from(key.is_longer());
        }
        for &at in &self.long[..num_long] {
            let at = usize::from(at);
            self.tags[at] = long_tag(hash, &text[bounds[at] as usize..bounds[at + 1] as usize]);
        }
    }
}
