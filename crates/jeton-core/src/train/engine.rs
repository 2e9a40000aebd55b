//! Incremental learner of merges from sequences in memory. The same learner serves all tie rules.
//!
//! Each distinct pretoken is stored once, weighted by its count, in order of first appearance (`layout`), in one shard
//! for each thread (`shard`). For each pair the engine stores its count (the sum of the weights of all its positions,
//! including overlapping ones) and its posting list: the cells at which it begins, ascending. A merge visits exactly
//! these cells. Its cost does not depend on the length of pretokens, so a text that is one long pretoken costs no more.
//!
//! # Correctness
//! A pair is created together with the younger of its two tokens, in one merge, and each merge has a new id. Hence all
//! occurrences of a pair are created at once, its count never increases after that, and its first occurrence never
//! moves to an earlier position. So a pair never ranks higher than its queue entry. If the count and tie key of the top
//! entry are still those of its pair, this pair is the maximum. Cells where a pair no longer occurs are recognized by
//! their content, because ids never return to a cell they left. A rule about pairs is checked once, when a pair is
//! created.
//!
//! A pair whose count is below the *floor* has no posting list, because it cannot be the next merge while another pair
//! reaches the floor. When no pair reaches the floor, the floor is lowered and all pairs are counted again. The floor
//! therefore affects what is stored, but not what is learned.
//!
//! # Cost
//! O(initial symbols + merge events), plus a queue entry (`bucket_queue`) for each listed pair and each time its bound
//! is corrected. Memory: 8 bytes for each cell, 4 for each position of a listed pair.
//!
//! Left out: batching, Unigram, WordPiece. Plain version: `reference/step04_train.py`. Source: the incremental method
//! is that of Sennrich et al. 2016 (subword-nmt `learn_bpe.py`); the proof above is Jeton's own.

use std::cmp::Ordering;
use std::sync::MutexGuard;

use hashbrown::HashTable;

use super::bucket_queue::{BucketQueue, HasCount};
use super::merge::{LearnedMerge, OnMerge};
use super::options::{LearnOptions, TieBreak};
use super::rules::Rule;
use super::shard::{Merging, Shard, Side, Surveyed, UNLISTED};
use super::symbol_array::SymbolArray;
use super::tokens::Tokens;
use super::worker_pool::{with_pool, ShardTask, SharedShards, WorkerPool};
use crate::error::{ErrorKind, Result};
use crate::parallel;
use crate::util::alloc;
use crate::util::cancel::KeepGoing;
use crate::util::hash::Hash;
use crate::util::simd;

/// Merges so far, and the number of tokens in the corpus after them.
#[derive(Debug)]
pub struct State {
    /// All merges, including those of an earlier training that is continued.
    pub merges: Vec<LearnedMerge>,
    /// Number of tokens in the corpus after the merges.
    pub corpus_tokens: u64,
}

/// The floors of [`learn_in_memory`]: minimum counts of the pairs that get posting lists.
#[derive(Debug, Clone, Copy)]
pub struct Floors {
    /// Floor when learning begins.
    pub first: u64,
    /// Lowest floor. Pairs with a lower count are never merged.
    pub lowest: u64,
}

/// Returns the first floor, which is chosen so that all merges are expected to have higher counts.
pub fn first_floor(corpus_tokens: u64, options: &LearnOptions<'_>) -> u64 {
    let merges = options.num_merges.max(1) as u64;
    (corpus_tokens / merges / options.tuning.floor_divisor.max(1)).max(options.min_frequency).max(1)
}

/// Learns merges from sequences in memory, until there are enough merges or no pair reaches the lowest floor.
///
/// # Errors
/// `Interrupted`; [`crate::error::Error::training`] if the strings of all learned tokens take more than 1 GiB.
pub fn learn_in_memory(
    shards: Vec<SymbolArray>,
    floors: Floors,
    tokens: &mut Tokens,
    state: &mut State,
    options: &LearnOptions<'_>,
    watch: &mut OnMerge<'_>,
) -> Result<()> {
    // The number of cells is an upper bound of the number of merges, since each merge removes at least one cell.
    let cells = shards.iter().map(SymbolArray::len).sum();
    let num_ids = tokens.len() + (options.num_merges - state.merges.len()).min(cells);
    let shards = shards.into_iter().map(|cells| Shard::new(cells, num_ids));
    let shared = SharedShards::new(shards.collect::<Result<_>>()?);
    with_pool(&shared, |pool| MergeLearner::new(&shared, pool, floors, tokens, state, options).run(options, watch))
}

#[derive(Debug, Clone, Copy)]
struct CountedPair {
    left: u32,
    right: u32,
    count: u64,
}

/// Queue entry of a pair: its count and tie key when the entry was pushed. Since then the count cannot have increased,
/// and the key cannot have decreased, so the pair never ranks higher than its entry.
#[derive(Debug, Clone, Copy)]
struct Bound {
    count: u64,
    key: u64,
    pair: u32,
}

impl HasCount for Bound {
    fn count(&self) -> u64 {
        self.count
    }
}

/// Data of a neighbor, which is a token next to merged occurrences. `weight` is the total weight of these occurrences
/// in all shards. `listed` is the index of the pair that the neighbor forms with the new token.
#[derive(Debug, Clone, Copy)]
struct Change {
    weight: u64,
    listed: u32,
}

const UNCHANGED: Change = Change { weight: u64::MAX, listed: UNLISTED }; // this weight is larger than any other

struct MergeLearner<'a> {
    tie_break: TieBreak,
    lowest_floor: u64,
    shared_places: usize,
    floor: u64, // pairs with a lower count are not listed
    rule: Option<&'a dyn Rule>,
    shared: &'a SharedShards,
    pool: &'a WorkerPool<'a>,
    tokens: &'a mut Tokens,
    state: &'a mut State,
    pairs: Vec<CountedPair>,
    index: HashTable<u32>, // (left, right) -> index into `pairs`
    hash: Hash,
    queue: BucketQueue<Bound>,
    changes: Vec<Change>, // neighbor's id -> change; all UNCHANGED between uses
    changed: Vec<u32>,    // neighbors whose change is not UNCHANGED
}

/// Compares two bounds by the order in which the queue returns them.
#[inline]
fn order(a: &Bound, b: &Bound, tie_break: TieBreak, pairs: &[CountedPair], tokens: &Tokens) -> Ordering {
    let by_numbers = b.count.cmp(&a.count).then(a.key.cmp(&b.key));
    if by_numbers.is_ne() {
        return by_numbers;
    }
    let [a, b] = [a, b].map(|bound| pairs[bound.pair as usize]);
    let by_strings = match (tie_break, tokens.strings()) {
        (TieBreak::HighestPair, Some(strings)) => {
            (strings.of(b.left), strings.of(b.right)).cmp(&(strings.of(a.left), strings.of(a.right)))
        }
        (TieBreak::Shortest, Some(strings)) => strings.joined(a.left, a.right).cmp(strings.joined(b.left, b.right)),
        _ => return Ordering::Equal,
    };
    by_strings.then((a.left, a.right).cmp(&(b.left, b.right)))
}

impl<'a> MergeLearner<'a> {
    fn new(
        shared: &'a SharedShards,
        pool: &'a WorkerPool<'a>,
        floors: Floors,
        tokens: &'a mut Tokens,
        state: &'a mut State,
        options: &LearnOptions<'a>,
    ) -> Self {
        Self {
            tie_break: options.tie_break,
            lowest_floor: floors.lowest,
            shared_places: options.tuning.shared_places,
            floor: floors.first,
            rule: options.rule,
            shared,
            pool,
            tokens,
            state,
            pairs: Vec::new(),
            index: HashTable::new(),
            hash: Hash::default(),
            queue: BucketQueue::default(),
            changes: Vec::new(),
            changed: Vec::new(),
        }
    }

    fn run(&mut self, options: &LearnOptions<'_>, watch: &mut OnMerge<'_>) -> Result<()> {
        self.survey(watch)?;
        while self.state.merges.len() < options.num_merges {
            if !watch(&self.state.merges) {
                return Err(ErrorKind::Interrupted.into());
            }
            let Some(pair) = self.best(watch)? else { break };
            let merge = self.merge(pair)?;
            self.state.merges.push(merge);
        }
        Ok(())
    }

    /// Counts all current pairs, and builds the posting lists of those that reach the floor.
    fn survey(&mut self, watch: &mut OnMerge<'_>) -> Result<()> {
        let num_ids = self.tokens.len();
        let num_shards = self.shared.shards().len();
        let cells = self.num_cells();
        let threads = if cells < parallel::BYTES_WORTH_A_THREAD { 1 } else { num_shards };
        let survey = |i: usize, keep_going: KeepGoing<'_>| self.shared.shard(i).survey(num_ids, keep_going);
        parallel::jobs(num_shards, threads, &mut || watch(&self.state.merges), survey)
            .into_iter()
            .collect::<Result<()>>()?;
        (self.pairs, self.index) = (Vec::new(), HashTable::new());
        for shard in self.shared.shards() {
            for &((left, right), weight, _) in &shard.survey.pairs {
                let pair = self.pair(left, right)?;
                self.pairs[pair as usize].count += weight;
            }
        }
        let all = std::mem::take(&mut self.pairs);
        self.index.clear();
        for CountedPair { left, right, count } in all {
            self.born(left, right, count)?;
        }
        let list = |i: usize, keep_going: KeepGoing<'_>| {
            let mut shard = self.shared.shard(i);
            let listed = |&((left, right), _, _): &Surveyed| self.known_pair(left, right).unwrap_or(UNLISTED);
            let mut known = alloc::with_capacity(shard.survey.pairs.len())?;
            known.extend(shard.survey.pairs.iter().map(listed));
            shard.list_survey(&known, self.pairs.len(), keep_going)
        };
        parallel::jobs(num_shards, threads, &mut || watch(&self.state.merges), list)
            .into_iter()
            .collect::<Result<()>>()?;
        self.rebuild_queue()
    }

    fn num_cells(&self) -> usize {
        self.shared.shards().map(|shard| shard.cells.len()).sum()
    }

    fn rebuild_queue(&mut self) -> Result<()> {
        let bounds = (0..self.pairs.len() as u32).map(|pair| self.bound(pair));
        self.queue = BucketQueue::new(bounds, |a, b| order(a, b, self.tie_break, &self.pairs, self.tokens))?;
        Ok(())
    }

    /// Returns the index of a pair; adds the pair if it is new.
    ///
    /// # Errors
    /// [`crate::error::Error::memory`].
    fn pair(&mut self, left: u32, right: u32) -> Result<u32> {
        let Self { pairs, index, hash, .. } = self;
        let key = |pair: &CountedPair| hash.int(u64::from(pair.left) << 32 | u64::from(pair.right));
        let new = CountedPair { left, right, count: 0 };
        let same = |&i: &u32| (pairs[i as usize].left, pairs[i as usize].right) == (left, right);
        let rehash = |&i: &u32| key(&pairs[i as usize]);
        let next = pairs.len() as u32;
        alloc::reserve_slot(index, rehash)?;
        let found = *index.entry(key(&new), same, rehash).or_insert(next).get();
        if found == next {
            alloc::reserve(pairs, 1)?;
            pairs.push(new);
        }
        Ok(found)
    }

    fn known_pair(&self, left: u32, right: u32) -> Option<u32> {
        let key = self.hash.int(u64::from(left) << 32 | u64::from(right));
        let same = |&i: &u32| (self.pairs[i as usize].left, self.pairs[i as usize].right) == (left, right);
        self.index.find(key, same).copied()
    }

    fn merging(&self, pair: u32, result: u32) -> Merging {
        let CountedPair { left, right, .. } = self.pairs[pair as usize];
        let [left_length, right_length] = [left, right].map(|id| self.tokens.length(id));
        Merging { pair, left, right, result, left_length, length: left_length + right_length }
    }

    /// Returns the current bound of a pair.
    fn bound(&self, pair: u32) -> Bound {
        let CountedPair { left, right, count } = self.pairs[pair as usize];
        let length = |id: u32| u64::from(self.tokens.num_symbols(id));
        let key = match self.tie_break {
            TieBreak::First => self.first_place(pair),
            TieBreak::LowestIds => u64::from(left) << 32 | u64::from(right),
            TieBreak::HighestPair => 0,
            TieBreak::Shortest => length(left) + length(right),
        };
        Bound { count, key, pair }
    }

    /// Returns a number that orders pairs by their first position.
    fn first_place(&self, pair: u32) -> u64 {
        let merging = self.merging(pair, 0);
        let place = |(i, mut shard): (u64, MutexGuard<'_, Shard>)| {
            shard.first_place(&merging).map(|place| i << 32 | u64::from(place))
        };
        (0..).zip(self.shared.shards()).find_map(place).unwrap_or(u64::MAX)
    }

    /// Returns the pair to merge next.
    fn best(&mut self, watch: &mut OnMerge<'_>) -> Result<Option<u32>> {
        loop {
            let order = |a: &Bound, b: &Bound| order(a, b, self.tie_break, &self.pairs, self.tokens);
            let Some(&Bound { count, key, pair }) = self.queue.top(order) else {
                if self.floor <= self.lowest_floor {
                    return Ok(None);
                }
                self.lower_floor(watch)?;
                continue;
            };
            let still_listed = self.pairs[pair as usize].count >= self.floor; // counts never increase
            let now = still_listed.then(|| self.bound(pair));
            match now {
                Some(now) if (now.count, now.key) == (count, key) => {
                    self.queue.pop(order);
                    return Ok(Some(pair));
                }
                Some(now) => self.queue.replace_top(now, order)?,
                None => drop(self.queue.pop(order)),
            }
        }
    }

    /// Lowers the floor because no pair reaches it.
    fn lower_floor(&mut self, watch: &mut OnMerge<'_>) -> Result<()> {
        self.floor = (self.floor / 8).max(self.lowest_floor);
        self.survey(watch)
    }

    /// Prefetches data of the next merges. A pair refers to its posting list, and the list refers to cells; all are far
    /// apart in memory. So the pair of a later merge is prefetched first, its list some merges later, and its cells
    /// last.
    fn fetch_ahead(&self) {
        for shard in self.shared.shards() {
            if let Some(bound) = self.queue.upcoming(9) {
                simd::prefetch(&self.pairs[bound.pair as usize]);
                shard.fetch(bound.pair);
            }
            if let Some(bound) = self.queue.upcoming(5) {
                shard.fetch_places(bound.pair);
            }
            if let Some(bound) = self.queue.upcoming(1) {
                shard.fetch_cells(bound.pair);
            }
        }
    }

    /// Merges all occurrences of a pair.
    fn merge(&mut self, pair: u32) -> Result<LearnedMerge> {
        self.fetch_ahead();
        let CountedPair { left, right, count } = self.pairs[pair as usize];
        let result = self.tokens.push(left, right)?;
        let merging = self.merging(pair, result);
        let num_places: usize = self.shared.shards().map(|shard| shard.num_places(pair)).sum();
        let together = num_places >= self.shared_places;
        self.pool.run(ShardTask::Merge(merging), together)?;
        self.pairs[pair as usize].count = 0;
        let known = self.pairs.len();
        self.settle(&merging)?;
        self.pool.run(ShardTask::FillPostings(self.pairs.len()), together)?;
        for pair in known as u32..self.pairs.len() as u32 {
            let bound = self.bound(pair);
            self.queue.push(bound, |a, b| order(a, b, self.tie_break, &self.pairs, self.tokens))?;
        }
        let merged = self.shared.shards().map(|shard| shard.merged).sum();
        self.state.corpus_tokens -= merged;
        self.tokens.merged(left, right, result, merged);
        let (corpus_tokens, tokens_in_use) = (self.state.corpus_tokens, self.tokens.in_use());
        Ok(LearnedMerge { left, right, result, count, corpus_tokens, tokens_in_use })
    }

    /// Updates the counts of the pairs that a merge has changed, and adds the new pairs.
    fn settle(&mut self, merging: &Merging) -> Result<()> {
        let Merging { left, right, result, .. } = *merging;
        let more = self.tokens.len() - self.changes.len();
        alloc::reserve(&mut self.changes, more)?;
        self.changes.resize(self.tokens.len(), UNCHANGED);
        // For all neighbors x and y, the pairs (x, left) and (right, y) have lost occurrences. If two occurrences of
        // the merged pair are adjacent, the pair (right, left) between them is lost, too. `Shard::after` does not
        // include the weight of the lost pairs (right, left). So `regained`, the total of this weight, is added below.
        let regained: u64 = self.shared.shards().map(|shard| shard.before.weight(result)).sum();
        self.settle_side(
            |shard| &mut shard.before,
            |learner, x, weight| {
                if x != result {
                    learner.lose(x, left, weight);
                }
                learner.born(x, result, weight)
            },
        )?;
        self.settle_side(
            |shard| &mut shard.after,
            |learner, y, weight| {
                learner.lose(right, y, weight + if y == left { regained } else { 0 });
                learner.born(result, y, weight)
            },
        )
    }

    /// Processes the neighbors on one side of the merged occurrences. Adds up the weight of each neighbor over all
    /// shards, and calls `settle` with the neighbor and this total. `settle` returns the index of a pair, which is then
    /// stored in the shards.
    fn settle_side(
        &mut self,
        side: impl Fn(&mut Shard) -> &mut Side,
        settle: impl Fn(&mut Self, u32, u64) -> Result<u32>,
    ) -> Result<()> {
        for mut shard in self.shared.shards() {
            for (id, weight) in side(&mut shard).iter() {
                let change = &mut self.changes[id as usize];
                if change.weight == UNCHANGED.weight {
                    change.weight = 0;
                    alloc::reserve(&mut self.changed, 1)?;
                    self.changed.push(id);
                }
                change.weight += weight;
            }
        }
        for i in 0..self.changed.len() {
            let id = self.changed[i];
            self.changes[id as usize].listed = settle(self, id, self.changes[id as usize].weight)?;
        }
        for mut shard in self.shared.shards() {
            side(&mut shard).set_listed(|id| self.changes[id as usize].listed);
        }
        for id in self.changed.drain(..) {
            self.changes[id as usize] = UNCHANGED;
        }
        Ok(())
    }

    fn lose(&mut self, left: u32, right: u32, weight: u64) {
        if let Some(index) = self.known_pair(left, right) {
            let pair = &mut self.pairs[index as usize];
            pair.count = pair.count.saturating_sub(weight); // the merged pair's own count is already 0
        }
    }

    /// Adds a new pair if its count reaches the floor and the rule permits it; returns its index or [`UNLISTED`].
    ///
    /// # Errors
    /// As [`MergeLearner::pair`].
    fn born(&mut self, left: u32, right: u32, weight: u64) -> Result<u32> {
        if weight < self.floor || !self.allows(left, right) {
            return Ok(UNLISTED);
        }
        let pair = self.pair(left, right)?;
        self.pairs[pair as usize].count = weight;
        Ok(pair)
    }

    /// Returns false if a rule about pairs forbids this merge; true if there is no rule.
    fn allows(&self, left: u32, right: u32) -> bool {
        match (self.rule, self.tokens.strings()) {
            (Some(rule), Some(strings)) => rule.allows(strings.of(left), strings.of(right)),
            _ => true,
        }
    }
}
