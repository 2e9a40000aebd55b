//! Shard of one thread: consecutive sequences, with the posting lists of their pairs.
//!
//! A merge processes a shard in steps. [`Shard::merge`] visits the positions of the pair and records the neighbors. The
//! learner, which has all shards, then decides which of the new pairs get posting lists ([`Side::set_listed`]).
//! [`Shard::list`] writes these lists. Shards share no data during these steps, so they need no locks.
//!
//! Cost: 4 bytes for each position of a listed pair, kept until pairs are counted again. Positions are prefetched
//! before they are visited: they are far apart in memory, and cache misses are nearly the whole cost of a merge.

use hashbrown::HashTable;

use super::symbol_array::SymbolArray;
use crate::error::{ErrorKind, Result};
use crate::util::alloc;
use crate::util::cancel::{CancelCheck, KeepGoing};
use crate::util::hash::Hash;
use crate::util::simd;
use crate::util::spill::SpillVec;

/// Prefetch distance: number of positions between the visited position and the prefetched position.
const AHEAD: usize = 24;

/// If there are at most this many ids, pairs are counted in a square matrix instead of a hash table.
const SQUARE: usize = 768;

/// Value of `Side::listed` for a neighbor whose pair with the new token has no posting list.
pub const UNLISTED: u32 = u32::MAX;

/// Properties of a merge that shards need: pair, ids and lengths.
#[derive(Debug, Clone, Copy)]
pub struct Merging {
    /// Index of the pair that is merged.
    pub pair: u32,
    /// Id of the left token.
    pub left: u32,
    /// Id of the right token.
    pub right: u32,
    /// Id of the new token.
    pub result: u32,
    /// Number of initial symbols of the left token.
    pub left_length: u32,
    /// Number of initial symbols of the new token.
    pub length: u32,
}

/// Location of a pair's posting list: a range in one block of `Shard::postings`.
#[derive(Debug, Clone, Copy, Default)]
struct Places {
    block: u32,
    start: u32,
    len: u32,
}

/// Minimum number of positions in a block of postings (4 MiB). The capacity of a new block is the maximum of this
/// number, the number of positions that are needed at once, and an eighth of the positions in all earlier blocks.
/// Unlike a growing vector, a block is never copied.
const BLOCK: usize = 1 << 20;

/// A token next to merged occurrences: the total weight and the number of these occurrences.
#[derive(Debug, Clone, Copy, Default)]
struct Neighbor {
    weight: u64,
    num_places: u32,
    listed: u32, // index of the pair of the neighbor and the new token, or UNLISTED
}

/// Neighbors on one side of the merged positions.
#[derive(Debug, Default)]
pub struct Side {
    of: Vec<Neighbor>,       // id -> neighbor
    ids: Vec<u32>,           // ids of the neighbors that occur
    places: Vec<(u32, u32)>, // (neighbor, cell at which the new pair begins)
}

impl Side {
    #[inline]
    fn add(&mut self, id: u32, weight: u64, place: u32) {
        let neighbor = &mut self.of[id as usize];
        if neighbor.num_places == 0 {
            self.ids.push(id);
        }
        neighbor.weight += weight;
        neighbor.num_places += 1;
        self.places.push((id, place));
    }

    /// Iterates over (neighbor, total weight of the merged occurrences next to it).
    pub fn iter(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.ids.iter().map(|&id| (id, self.of[id as usize].weight))
    }

    /// Returns the total weight of the merged occurrences that have the neighbor `id` on this side.
    pub fn weight(&self, id: u32) -> u64 {
        self.of[id as usize].weight
    }

    /// Stores, for each neighbor, the index of the pair of the neighbor and the new token, or [`UNLISTED`]. `pair` maps
    /// the id of a neighbor to this index.
    pub fn set_listed(&mut self, pair: impl Fn(u32) -> u32) {
        for &id in &self.ids {
            self.of[id as usize].listed = pair(id);
        }
    }
}

/// Counted pair: ((left, right), weight, number of positions).
pub type Surveyed = ((u32, u32), u64, u32);

/// All pairs of a shard with their counts.
#[derive(Debug, Default)]
pub struct Survey {
    index: Index,
    /// Counted pairs, in order of their first appearance.
    pub pairs: Vec<Surveyed>,
}

/// Pair → its index in a survey.
#[derive(Debug)]
enum Index {
    Square { side: u32, at: Vec<u32> },
    Table(HashTable<u32>, Hash),
}

impl Default for Index {
    fn default() -> Self {
        Self::Table(HashTable::new(), Hash::default())
    }
}

impl Survey {
    fn new(num_ids: usize) -> Result<Self> {
        let index = if num_ids <= SQUARE {
            Index::Square { side: num_ids as u32, at: alloc::filled(u32::MAX, num_ids * num_ids)? }
        } else {
            Index::default()
        };
        Ok(Self { index, pairs: Vec::new() })
    }

    #[inline]
    fn position(&mut self, left: u32, right: u32) -> Result<usize> {
        let Self { index, pairs } = self;
        let next = pairs.len() as u32;
        let found = match index {
            Index::Square { side, at } => {
                let slot = &mut at[(left * *side + right) as usize];
                if *slot == u32::MAX {
                    *slot = next;
                }
                *slot
            }
            Index::Table(table, hash) => {
                let key = |pair: (u32, u32)| hash.int(u64::from(pair.0) << 32 | u64::from(pair.1));
                let same = |&i: &u32| pairs[i as usize].0 == (left, right);
                let rehash = |&i: &u32| key(pairs[i as usize].0);
                alloc::reserve_slot(table, rehash)?;
                *table.entry(key((left, right)), same, rehash).or_insert(next).get()
            }
        };
        if found == next {
            alloc::reserve(pairs, 1)?;
            pairs.push(((left, right), 0, 0));
        }
        Ok(found as usize)
    }
}

/// Consecutive sequences, with the posting lists of pairs.
#[derive(Debug)]
pub struct Shard {
    /// The sequences, as cells.
    pub cells: SymbolArray,
    postings: Vec<SpillVec<u32>>, // cells at which pairs begin; stale if a merge has replaced the pair at the cell
    places: Vec<Places>,          // pair -> location of its posting list; positions are ascending
    /// Tokens to the left of the occurrences that the current merge has merged.
    pub before: Side,
    /// Tokens to the right of the occurrences that the current merge has merged.
    pub after: Side,
    /// Total weight of the occurrences that the current merge has merged.
    pub merged: u64,
    /// All current pairs with their counts; empty except between [`Shard::survey`] and [`Shard::list_survey`].
    pub survey: Survey,
}

impl Shard {
    /// Creates a shard for ids below `num_ids`.
    ///
    /// # Errors
    /// [`crate::error::Error::memory`].
    pub fn new(cells: SymbolArray, num_ids: usize) -> Result<Self> {
        let side = || -> Result<Side> {
            let of = alloc::filled(Neighbor::default(), num_ids)?;
            Ok(Side { of, ids: alloc::with_capacity(num_ids)?, places: Vec::new() })
        };
        let (before, after) = (side()?, side()?);
        let (postings, places, survey) = (Vec::new(), Vec::new(), Survey::default());
        Ok(Self { cells, postings, places, before, after, merged: 0, survey })
    }

    /// Counts all current pairs; ids are below `num_ids`.
    ///
    /// # Errors
    /// `Interrupted`.
    pub fn survey(&mut self, num_ids: usize, keep_going: KeepGoing<'_>) -> Result<()> {
        let mut cancel = CancelCheck::new(keep_going);
        let mut survey = Survey::new(num_ids)?;
        for (at, left, right) in self.cells.pairs() {
            let position = survey.position(left, right)?;
            let (_, weight, places) = &mut survey.pairs[position];
            *weight += self.cells.weight(at);
            *places += 1;
            cancel.check()?;
        }
        self.survey = survey;
        Ok(())
    }

    /// Builds the posting lists after a survey. `listed[i]` is the index that pair i of the survey has from now on, or
    /// [`UNLISTED`] if the pair gets no list.
    ///
    /// # Errors
    /// `Interrupted`.
    pub fn list_survey(&mut self, listed: &[u32], num_pairs: usize, keep_going: KeepGoing<'_>) -> Result<()> {
        let mut cancel = CancelCheck::new(keep_going);
        let mut survey = std::mem::take(&mut self.survey);
        self.places = alloc::filled(Places::default(), num_pairs)?;
        let mut total = 0;
        for (&pair, &(_, _, len)) in listed.iter().zip(&survey.pairs) {
            if pair != UNLISTED {
                self.places[pair as usize] = Places { block: 0, start: total, len };
                total += len;
            }
        }
        let Self { cells, postings, places, .. } = self;
        postings.clear();
        let found = cells.pairs().filter_map(|(at, left, right)| {
            let pair = survey.position(left, right).map(|position| listed[position]);
            (!matches!(pair, Ok(UNLISTED))).then(|| pair.map(|pair| (pair, at)))
        });
        fill_postings(found, places, postings, total as usize, &mut cancel)
    }

    /// Adds empty posting lists until there are `num_pairs`.
    fn know(&mut self, num_pairs: usize) -> Result<()> {
        let more = num_pairs.saturating_sub(self.places.len());
        alloc::reserve(&mut self.places, more)?;
        self.places.resize(num_pairs, Places::default());
        Ok(())
    }

    /// Returns the length of a pair's posting list.
    pub fn num_places(&self, pair: u32) -> usize {
        self.places[pair as usize].len as usize
    }

    /// Returns the first cell at which the pair occurs. Removes stale positions before that cell.
    pub fn first_place(&mut self, merging: &Merging) -> Option<u32> {
        let places = &mut self.places[merging.pair as usize];
        while places.len > 0 {
            let at = self.postings[places.block as usize][places.start as usize];
            if self.cells.holds(at, merging.left, merging.left_length, merging.right) {
                return Some(at);
            }
            places.start += 1;
            places.len -= 1;
        }
        None
    }

    /// Prefetches the location of the posting list of a pair.
    pub fn fetch(&self, pair: u32) {
        simd::prefetch(&self.places[pair as usize]);
    }

    /// Prefetches the first positions of a pair.
    pub fn fetch_places(&self, pair: u32) {
        let Places { block, start, len } = self.places[pair as usize];
        if len > 0 {
            simd::prefetch(&self.postings[block as usize][start as usize]);
        }
    }

    /// Prefetches the cells at the first positions of a pair.
    pub fn fetch_cells(&self, pair: u32) {
        let Places { block, start, len } = self.places[pair as usize];
        if len > 0 {
            for &at in &self.postings[block as usize][start as usize..][..len.min(AHEAD as u32) as usize] {
                self.cells.prefetch(at);
            }
        }
    }

    /// Merges all occurrences of a pair; records their neighbors and weight.
    ///
    /// # Errors
    /// [`crate::error::Error::memory`], before any occurrence is merged.
    pub fn merge(&mut self, merging: &Merging) -> Result<()> {
        let Self { cells, postings, before, after, .. } = self;
        let Places { block, start, len } = std::mem::take(&mut self.places[merging.pair as usize]);
        let places = if len > 0 { &postings[block as usize][start as usize..(start + len) as usize] } else { &[] };
        self.merged = 0;
        for side in [&mut *before, &mut *after] {
            alloc::reserve(&mut side.places, places.len())?; // each position adds at most one neighbor to each side
        }
        for (i, &at) in places.iter().enumerate() {
            if let Some(&later) = places.get(i + AHEAD) {
                cells.prefetch(later);
            }
            if cells.holds(at, merging.left, merging.left_length, merging.right) {
                self.merged += merge_at(cells, before, after, merging, at);
            }
        }
        Ok(())
    }

    /// Writes the posting lists of the new pairs and clears `before` and `after`. There are then `num_pairs` lists.
    ///
    /// # Errors
    /// As [`SpillVec::reserve`].
    pub fn list(&mut self, num_pairs: usize) -> Result<()> {
        self.know(num_pairs)?;
        for side in [&mut self.before, &mut self.after] {
            let listed = side.ids.iter().map(|&id| side.of[id as usize]).filter(|neighbor| neighbor.listed != UNLISTED);
            let total: usize = listed.clone().map(|neighbor| neighbor.num_places as usize).sum();
            let (number, block, mut end) = room(&mut self.postings, total)?;
            for neighbor in listed {
                self.places[neighbor.listed as usize] = Places { block: number, start: end, len: 0 };
                end += neighbor.num_places;
            }
            for &(id, place) in &side.places {
                let pair = side.of[id as usize].listed;
                if pair != UNLISTED {
                    let Places { start, len, .. } = &mut self.places[pair as usize];
                    block[(*start + *len) as usize] = place;
                    *len += 1;
                }
            }
            for &id in &side.ids {
                side.of[id as usize] = Neighbor::default();
            }
            side.ids.clear();
            side.places.clear();
        }
        Ok(())
    }
}

/// Merges one occurrence of a pair and records the tokens next to it. Returns the weight of the occurrence.
#[inline]
fn merge_at(cells: &mut SymbolArray, before: &mut Side, after: &mut Side, merging: &Merging, at: u32) -> u64 {
    let weight = cells.weight(at);
    if let Some(place) = cells.before(at) {
        let token = cells.token(place);
        before.add(token, weight, place);
        if token == merging.result {
            // The token before this occurrence is itself a result of the current merge. When that token was merged, the
            // left token of this occurrence was recorded in `after`. The left token is now merged, too, so the
            // recorded pair no longer exists.
            after.of[merging.left as usize].weight -= weight;
        }
    }
    if let Some(right) = cells.after(at, merging.length) {
        after.add(right, weight, at);
    }
    cells.merge(at, merging.left_length, merging.length, merging.result);
    weight
}

/// Fills the posting lists of all pairs by a counting sort. `found` yields (pair, cell) in ascending order of cells;
/// `places` has the range of each list; `total` is the number of all positions.
///
/// # Errors
/// `Interrupted`; as [`SpillVec::reserve`].
fn fill_postings(
    found: impl Iterator<Item = Result<(u32, u32)>>,
    places: &mut [Places],
    postings: &mut Vec<SpillVec<u32>>,
    total: usize,
    cancel: &mut CancelCheck<'_>,
) -> Result<()> {
    let (_, block, _) = room(postings, total)?;
    places.iter_mut().for_each(|places| places.len = 0);
    for found in found {
        let (pair, at) = found?;
        let Places { start, len, .. } = &mut places[pair as usize];
        block[(*start + *len) as usize] = at;
        *len += 1;
        cancel.check()?;
    }
    Ok(())
}

/// Reserves `more` positions at the end of the last block, or in a new block. Returns the index of the block, the
/// block, and the start of the reserved range.
fn room(postings: &mut Vec<SpillVec<u32>>, more: usize) -> Result<(u32, &mut [u32], u32)> {
    if postings.last().is_none_or(|last| last.capacity() - last.len() < more) {
        let listed: usize = postings.iter().map(|block| block.len()).sum();
        let mut block = SpillVec::default();
        block.reserve(more.max(BLOCK).max(listed / 8))?;
        postings.push(block);
    }
    let number = postings.len() - 1;
    let block = &mut postings[number];
    if block.len() + more > u32::MAX as usize {
        return Err(ErrorKind::Internal("more places than cells".into()).into());
    }
    let start = block.len();
    block.extend(std::iter::repeat_n(0, more))?;
    Ok((number as u32, block, start as u32))
}
