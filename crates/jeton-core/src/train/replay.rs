//! Applies given merges to a sequence, before training continues with the merged sequence.
//!
//! Merges are applied in the order of their ranks; occurrences of the same merge are applied from left to right. The
//! result equals that of the learner, which merges a pair everywhere before it merges the next pair. The results are
//! equal because a merged pair never recurs: every pair that arises later contains a token with a higher id.
//!
//! Cost: O(n log n) for n symbols. For sequences of up to 32 symbols, an algorithm in O(n²) is used, which is faster
//! for them. Plain version: `reference/step05_encode.py`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hashbrown::HashTable;

use super::merge::LearnedMerge;
use crate::error::{Error, Result};
use crate::util::alloc;
use crate::util::hash::Hash;

const NONE: u32 = u32::MAX;

/// Maximum length, in symbols, of sequences for which the lowest rank is found by a linear search instead of a heap.
/// Nearly all pretokens are shorter.
const SHORT: usize = 32;

/// Merges, with their ranks by pair.
#[derive(Debug)]
pub struct Replay<'m> {
    merges: &'m [LearnedMerge],
    ranks: HashTable<u32>, // pair -> index into `merges`, which is its rank
    hash: Hash,
}

/// Reusable buffers for one sequence.
#[derive(Debug, Default)]
pub struct ReplayScratch {
    ranks: Vec<u32>, // rank of the pair that begins at a position, or NONE
    next: Vec<u32>,
    before: Vec<u32>,
    todo: BinaryHeap<Reverse<(u32, u32)>>, // (rank, position of the left symbol), lowest first
}

#[inline]
fn key(hash: Hash, (left, right): (u32, u32)) -> u64 {
    hash.int(u64::from(left) << 32 | u64::from(right))
}

impl<'m> Replay<'m> {
    /// Creates a replay of merges whose results have consecutive ids from `first` on.
    ///
    /// # Errors
    /// [`Error::format`] for merges that cannot have been learned in this order.
    pub fn new(merges: &'m [LearnedMerge], first: u32) -> Result<Self> {
        let mut replay = Self { merges, ranks: HashTable::new(), hash: Hash::default() };
        for (rank, merge) in (0u32..).zip(merges) {
            let is_next = first.checked_add(rank) == Some(merge.result) && merge.left.max(merge.right) < merge.result;
            if !is_next || replay.rank((merge.left, merge.right)).is_some() {
                return Err(Error::format("merges that were not learned from these symbols", format!("merge {rank}")));
            }
            let hash = replay.hash;
            let rehash = |&rank: &u32| key(hash, (merges[rank as usize].left, merges[rank as usize].right));
            alloc::reserve_slot(&mut replay.ranks, rehash)?;
            replay.ranks.insert_unique(rehash(&rank), rank, rehash);
        }
        Ok(replay)
    }

    #[inline]
    fn rank(&self, pair: (u32, u32)) -> Option<u32> {
        let same = |&rank: &u32| (self.merges[rank as usize].left, self.merges[rank as usize].right) == pair;
        self.ranks.find(key(self.hash, pair), same).copied()
    }

    /// Returns true if there are no merges.
    pub fn is_empty(&self) -> bool {
        self.merges.is_empty()
    }

    /// Applies all possible merges. Calls `met` with each pair of tokens that are adjacent at any time, including
    /// pairs that later merges replace.
    pub fn apply(&self, ids: &mut Vec<u32>, scratch: &mut ReplayScratch, mut met: impl FnMut((u32, u32))) {
        if self.is_empty() {
            return ids.windows(2).for_each(|pair| met((pair[0], pair[1])));
        }
        if ids.len() <= SHORT {
            return self.apply_to_short(ids, &mut scratch.ranks, met);
        }
        let ReplayScratch { next, before, todo, .. } = scratch;
        let end = ids.len() as u32;
        let mut note = |left: u32, pair: (u32, u32), todo: &mut BinaryHeap<_>| {
            met(pair);
            todo.extend(self.rank(pair).map(|rank| Reverse((rank, left))));
        };
        for (left, pair) in (0..).zip(ids.windows(2)) {
            note(left, (pair[0], pair[1]), todo);
        }
        if todo.is_empty() {
            return;
        }
        next.clear();
        next.extend(1..=end);
        before.clear();
        before.extend((0..end).map(|at| at.wrapping_sub(1))); // the first symbol has none: u32::MAX
        while let Some(Reverse((rank, left))) = todo.pop() {
            let (merge, right) = (&self.merges[rank as usize], next[left as usize]);
            if ids[left as usize] != merge.left || right >= end || ids[right as usize] != merge.right {
                continue;
            }
            (ids[left as usize], ids[right as usize]) = (merge.result, NONE);
            let after = next[right as usize];
            next[left as usize] = after;
            let previous = before[left as usize];
            if let Some(&id) = ids.get(previous as usize) {
                note(previous, (id, merge.result), todo);
            }
            if after < end {
                before[after as usize] = left;
                note(left, (merge.result, ids[after as usize]), todo);
            }
        }
        ids.retain(|&id| id != NONE);
    }

    /// Applies all possible merges by searching for the lowest rank, which is faster than a heap for few symbols.
    #[inline]
    fn apply_to_short(&self, ids: &mut Vec<u32>, ranks: &mut Vec<u32>, mut met: impl FnMut((u32, u32))) {
        let mut rank = |pair| {
            met(pair);
            self.rank(pair).unwrap_or(NONE)
        };
        ranks.clear();
        ranks.extend(ids.windows(2).map(|pair| rank((pair[0], pair[1]))));
        while let Some((at, &lowest)) = ranks.iter().enumerate().min_by_key(|&(_, &rank)| rank) {
            if lowest == NONE {
                break; // `min_by_key` returns the first of equal ones
            }
            ids[at] = self.merges[lowest as usize].result;
            ids.remove(at + 1);
            ranks.remove(at);
            if at > 0 {
                ranks[at - 1] = rank((ids[at - 1], ids[at]));
            }
            if at < ranks.len() {
                ranks[at] = rank((ids[at], ids[at + 1]));
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn merges_are_applied_in_order_of_rank() {
        let merge =
            |left, right, result| LearnedMerge { left, right, result, count: 1, corpus_tokens: 0, tokens_in_use: 0 };
        let merges = [merge(1, 1, 10), merge(10, 2, 11), merge(2, 1, 12)];
        let replay = Replay::new(&merges, 10).unwrap();
        for more in [0, SHORT] {
            let (mut ids, mut met) = (vec![1, 1, 1, 2, 1, 2, 1, 1, 2], Vec::new());
            ids.resize(ids.len() + more, 3);
            replay.apply(&mut ids, &mut ReplayScratch::default(), |pair| met.push(pair));
            assert_eq!(ids[..5], [10, 1, 12, 2, 11]); // 1 1 | 1 | 2 1 | 2 | 1 1 2
            assert_eq!(ids[5..], vec![3; more]);
            assert!(met.contains(&(10, 1)) && met.contains(&(2, 10)));
        }
        assert!(Replay::new(&merges, 9).is_err() && Replay::new(&[merge(1, 11, 10)], 10).is_err());
    }
}
