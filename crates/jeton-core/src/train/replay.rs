//! Application of given merges to a sequence, to continue training from there.
//!
//! Merges apply by rank, then from the left. The result equals that of the learner, which merges one pair everywhere before
//! the next: a merged pair never recurs, because its two tokens have been replaced by younger ones.
//!
//! Cost: O(n log n) for n symbols. Plain version: `reference/step05_encode.py`.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::merge::LearnedMerge;
use crate::error::{Error, Result};

const NONE: u32 = u32::MAX;

/// Merges in their order.
#[derive(Debug)]
pub struct Replay<'m> {
    merges: &'m [LearnedMerge],
    ranks: HashMap<(u32, u32), u32>,
}

/// Reusable buffers for one sequence.
#[derive(Debug, Default)]
pub struct ReplayScratch {
    next: Vec<u32>,
    before: Vec<u32>,
    todo: BinaryHeap<Reverse<(u32, u32)>>, // (rank, position of the left symbol), lowest first
}

impl<'m> Replay<'m> {
    /// Creates a replay of merges whose results are the ids from `first` on.
    ///
    /// # Errors
    /// [`Error::format`] for merges that cannot have been learned in this order.
    pub fn new(merges: &'m [LearnedMerge], first: u32) -> Result<Self> {
        let mut ranks = HashMap::with_capacity(merges.len());
        for (rank, merge) in (0u32..).zip(merges) {
            let is_next = first.checked_add(rank) == Some(merge.result) && merge.left.max(merge.right) < merge.result;
            if !is_next || ranks.insert((merge.left, merge.right), rank).is_some() {
                return Err(Error::format("merges that were not learned from these symbols", format!("merge {rank}")));
            }
        }
        Ok(Self { merges, ranks })
    }

    /// Returns true if there are no merges.
    pub fn is_empty(&self) -> bool {
        self.merges.is_empty()
    }

    /// Applies all possible merges. Calls `met` with each pair of neighbors, also with those that later merges replace.
    pub fn apply(&self, ids: &mut Vec<u32>, scratch: &mut ReplayScratch, mut met: impl FnMut((u32, u32))) {
        if self.is_empty() {
            return ids.windows(2).for_each(|pair| met((pair[0], pair[1])));
        }
        let ReplayScratch { next, before, todo } = scratch;
        let end = ids.len() as u32;
        next.clear();
        next.extend(1..=end);
        before.clear();
        before.extend((0..end).map(|at| at.wrapping_sub(1))); // of the first: none
        let mut note = |left: u32, pair: (u32, u32), todo: &mut BinaryHeap<_>| {
            met(pair);
            todo.extend(self.ranks.get(&pair).map(|&rank| Reverse((rank, left))));
        };
        for (left, pair) in (0..).zip(ids.windows(2)) {
            note(left, (pair[0], pair[1]), todo);
        }
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
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn merges_are_done_in_their_order() {
        let merge =
            |left, right, result| LearnedMerge { left, right, result, count: 1, corpus_tokens: 0, tokens_in_use: 0 };
        let merges = [merge(1, 1, 10), merge(10, 2, 11), merge(2, 1, 12)];
        let replay = Replay::new(&merges, 10).unwrap();
        let (mut ids, mut met) = (vec![1, 1, 1, 2, 1, 2, 1, 1, 2], Vec::new());
        replay.apply(&mut ids, &mut ReplayScratch::default(), |pair| met.push(pair));
        assert_eq!(ids, [10, 1, 12, 2, 11]); // 1 1 | 1 | 2 1 | 2 | 1 1 2
        assert!(met.contains(&(10, 1)) && met.contains(&(2, 10)));
        assert!(Replay::new(&merges, 9).is_err() && Replay::new(&[merge(1, 11, 10)], 10).is_err());
    }
}
