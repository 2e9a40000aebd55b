//! Merges several short pretokens in interleaved lanes.
//!
//! A merge is a chain of dependent steps: find the lowest rank, look up two pairs, store the ranks of the neighbors.
//! Pretokens are independent, so processing a few of them in turns hides latencies. The ranks of a pretoken are kept in
//! vector registers, because storing a rank and loading its neighbors right afterwards stalls on store forwarding.
//!
//! Invariant: the ids equal those of `merging`, the slow path. Cost: O(n²) for a pretoken of n ≤ [`MOST`] bytes.

use super::ranks::{Ranks, NONE, NO_SYMBOL};
use crate::util::simd::min::MinArray;

/// Maximum bytes of a short pretoken. There are 64 positions; the first and the last are sentinels, and writing a
/// character needs space for four symbols.
pub(super) const MOST: usize = 59;

/// Number of pretokens that are prepared before the first one is merged.
pub(super) const GROUP: usize = 32;

/// Number of lanes.
const LANES: usize = 4;

/// Pairs without a rank have priorities from this value on.
const NO_PRIORITY: u32 = NONE << 8;

/// Returns the priority of a pair: `rank << 8 | position of the left symbol`. The pair with the lowest priority merges
/// next, so among pairs of equal rank, the leftmost merges first.
#[inline(always)]
fn priority(rank: u32, place: usize) -> u32 {
    rank << 8 | place as u32
}

/// Lookup of the initial rank of each pair. It is a trait, because closures are not always inlined.
pub(super) trait Rank {
    /// Returns the rank of the pair of symbols at `place` and `place` + 1.
    fn of(&self, symbols: &[u32; 64], place: usize) -> u32;
}

/// Pretokens being merged. Symbols are at positions 1 to n, between two sentinels.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) symbols: [[u32; 64]; GROUP],
    pub(super) counts: [u8; GROUP],
    priorities: [[u32; 64]; GROUP],
    len: usize,
}

impl Default for Work {
    fn default() -> Self {
        Self { symbols: [[NO_SYMBOL; 64]; GROUP], counts: [0; GROUP], priorities: [[u32::MAX; 64]; GROUP], len: 0 }
    }
}

impl Work {
    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    pub(super) fn is_full(&self) -> bool {
        self.len == GROUP
    }

    /// Returns the buffer for the symbols of the next pretoken, to be written from position 1 on.
    pub(super) fn room(&mut self) -> &mut [u32; 64] {
        &mut self.symbols[self.len]
    }

    /// Adds a pretoken, whose `count` symbols were written to [`Work::room`]. `rank` returns the rank of the pair at a
    /// position; the pairs in the bitmap `inner` are known to have no rank.
    #[inline(always)]
    pub(super) fn push(&mut self, count: usize, inner: u64, rank: impl Rank) {
        let symbols = &mut self.symbols[self.len];
        symbols[0] = NO_SYMBOL;
        symbols[count + 1] = NO_SYMBOL;
        let priorities = &mut self.priorities[self.len];
        priorities[1..16 << size(count)].fill(u32::MAX);
        let mut pairs = ((1 << count) - 1) & !1 & !inner;
        while pairs != 0 {
            let place = pairs.trailing_zeros() as usize & 63;
            pairs &= pairs - 1;
            priorities[place] = priority(rank.of(symbols, place), place);
        }
        self.counts[self.len] = count as u8;
        self.len += 1;
    }

    /// Merges all pretokens. Calls `each(index, symbols, places)` for each one, in arbitrary order. `places` is a bit
    /// set of the positions of the tokens in `symbols`; it is 0 if the pretoken needs the slow path.
    #[inline(always)]
    pub(super) fn merge<
        Small: MinArray,
        Middle: MinArray<Proof = Small::Proof>,
        Large: MinArray<Proof = Small::Proof>,
    >(
        &mut self,
        proof: Small::Proof,
        ranks: &Ranks,
        results: &[u32],
        mut each: impl FnMut(usize, &[u32; 64], u64),
    ) {
        let mut lists = [[0u8; GROUP]; 3];
        let mut lens = [0; 3];
        for (index, &count) in self.counts[..self.len].iter().enumerate() {
            let size = size(usize::from(count));
            lists[size][lens[size]] = index as u8;
            lens[size] += 1;
        }
        self.take_turns::<Small, LANES>(proof, &lists[0][..lens[0]], ranks, results, &mut each);
        self.take_turns::<Middle, LANES>(proof, &lists[1][..lens[1]], ranks, results, &mut each);
        self.take_turns::<Large, 2>(proof, &lists[2][..lens[2]], ranks, results, &mut each);
    }

    #[inline(always)]
    fn take_turns<R: MinArray, const K: usize>(
        &mut self,
        proof: R::Proof,
        list: &[u8],
        ranks: &Ranks,
        results: &[u32],
        each: &mut impl FnMut(usize, &[u32; 64], u64),
    ) {
        let mut waiting = list.iter().map(|&index| usize::from(index));
        let mut rows = [R::empty(proof); K];
        let mut alive = [0u64; K];
        let mut who = [usize::MAX; K];
        let mut left = 0;
        for lane in 0..K {
            if let Some(index) = waiting.next() {
                (rows[lane], alive[lane], who[lane]) =
                    (R::load(proof, &self.priorities[index]), places(self.counts[index]), index);
                left += 1;
            }
        }
        while left > 0 {
            for lane in 0..K {
                let lowest = rows[lane].min();
                if lowest >= NO_PRIORITY {
                    if who[lane] == usize::MAX {
                        continue;
                    }
                    let ends = 1 | 1 << (u32::from(self.counts[who[lane]]) + 1);
                    each(who[lane], &self.symbols[who[lane]], alive[lane] & !ends);
                    left -= 1;
                    who[lane] = usize::MAX;
                    if let Some(index) = waiting.next() {
                        (rows[lane], alive[lane], who[lane]) =
                            (R::load(proof, &self.priorities[index]), places(self.counts[index]), index);
                        left += 1;
                    }
                    continue;
                }
                let symbols = &mut self.symbols[who[lane] % GROUP];
                let place = (lowest & 63) as usize;
                let rank = lowest >> 8;
                let id = if results.is_empty() { rank } else { results[rank as usize] };
                if id == NO_SYMBOL {
                    // This merge is not supported here. At the next turn of the lane, `each` gets 0 as `places` (the
                    // pretoken needs the slow path), and the lane becomes free.
                    rows[lane] = R::empty(proof);
                    alive[lane] = 0;
                    continue;
                }
                symbols[place] = id;
                let all = alive[lane];
                let after = all & !1 << place;
                let gone = after.trailing_zeros();
                let right = (after & after.wrapping_sub(1)).trailing_zeros() as usize & 63;
                let left = (63 - (all & ((1 << place) - 1)).leading_zeros() as usize) & 63;
                alive[lane] = all & !(1 << gone);
                let row = rows[lane].with(gone as usize & 63, u32::MAX);
                let row = row.with(place, priority(ranks.get(id, symbols[right]), place));
                rows[lane] = row.with(left, priority(ranks.get(symbols[left], id), left));
            }
        }
    }
}

/// Returns the size class for `count` symbols and two sentinels: 0 for 16 positions, 1 for 32, 2 for 64.
#[inline(always)]
fn size(count: usize) -> usize {
    usize::from(count > 14) + usize::from(count > 30)
}

/// Returns a bitmap of the positions 0 to `count` + 1.
#[inline(always)]
fn places(count: u8) -> u64 {
    u64::MAX >> (62 - u32::from(count))
}
