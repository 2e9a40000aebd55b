//! The slow path of BPE: repeatedly merges the adjacent symbols of lowest rank, leftmost first.
//!
//! Two algorithms give the same ids. A short sequence is merged in an array: each step scans for the lowest rank,
//! O(n²) with a small constant. A long one uses a linked list and a priority queue of positions (`rank_queue`), O(n
//! log n) for any symbols. A long sequence is first split before each `▁` that follows another character, if no merge
//! crosses these positions. Otherwise it is merged in windows. It is merged as a whole only if the windows cannot be
//! joined.
//!
//! Invariant: a merged symbol keeps the position of its first part. Used by `bpe` (ranks of a merge list or of tokens)
//! and `pieces` (ranks of scores). Plain version: `reference/step05_encode.py`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use super::linked_symbols::{SymbolNode, NONE};
use super::output::Out;
use super::pairs::{Merge, Pairs};
use super::rank_queue::RankQueue;
use super::scratch::Scratch;
use super::windows::{merge_in_windows, MergedWindow, Windows, MAX_DROPPED};
use crate::error::{Error, Result};
use crate::util::cancel::{CancelCheck, KeepGoing};
use crate::vocab::merge_boundaries::MarkBoundaries;

/// Sequences up to this many symbols are merged in an array. Measured on English, Chinese and code: at 64 both
/// algorithms take the same time within noise, and almost no pretoken is longer.
const SHORT: usize = 64;

/// Number of symbols in a window of a long sequence. The linked list and the queue of a window fit the CPU caches. The
/// number is small in tests, so that texts of a few hundred symbols have many windows.
const WINDOW: usize = if cfg!(test) { 70 } else { 1 << 12 };

/// Lookup of merges.
pub(super) trait Look {
    /// Returns the merge of two neighbors, if any.
    fn get(&self, left: u32, right: u32) -> Option<Merge>;
}

impl Look for Pairs {
    #[inline]
    fn get(&self, left: u32, right: u32) -> Option<Merge> {
        self.get(left, right)
    }
}

/// The symbol `▁`, before which sequences are split.
#[derive(Debug, Clone)]
pub(super) struct WordStart {
    symbol: u32,
    joined: Vec<u32>, // symbols after which a sequence is not split, because a merge can join them to `▁`
    /// The same information as `joined`, with characters instead of symbols.
    pub(super) boundaries: MarkBoundaries,
}

impl WordStart {
    /// Creates a word start. `symbol` is the symbol `▁`. `boundaries` has the characters that precede a `▁` in results
    /// of merges; all symbols in these results must be characters. `symbol_of` returns the symbol of a character.
    pub(super) fn new(symbol: u32, boundaries: MarkBoundaries, symbol_of: impl Fn(char) -> Option<u32>) -> Self {
        let joined = boundaries.joined().iter().filter_map(|&c| symbol_of(c)).chain([symbol]).collect();
        Self { symbol, joined, boundaries }
    }

    /// Returns true if no merge crosses the position between two initial symbols.
    fn is_between(&self, left: u32, right: u32) -> bool {
        right == self.symbol && !self.joined.contains(&left)
    }
}

/// Slow path of BPE: merges the symbols of one pretoken.
pub(super) struct Merger<'a, L> {
    pub(super) merges: &'a L,
    /// The symbol `▁`, if a sequence can be split before it.
    pub(super) word_start: Option<&'a WordStart>,
}

impl<L: Look> Merger<'_, L> {
    /// Returns the merge of two neighbors, if they have one.
    #[inline]
    pub(super) fn get(&self, left: u32, right: u32) -> Option<Merge> {
        self.merges.get(left, right)
    }

    #[inline]
    fn rank(&self, left: u32, right: u32) -> u32 {
        self.get(left, right).map_or(NONE, |merge| merge.rank)
    }

    /// Merges `scratch.symbols` into `out`. `scratch.starts` has their offsets if ends are requested. `len` is the
    /// length of the pretoken in bytes.
    pub(super) fn run(
        &self,
        len: usize,
        keep_going: KeepGoing<'_>,
        scratch: &mut Scratch,
        out: &mut Out<'_>,
    ) -> Result<()> {
        if scratch.symbols.len() <= SHORT {
            self.part(len, keep_going, scratch, out)
        } else if let Some(word_start) = self.word_start {
            self.words(word_start, len, keep_going, scratch, out)
        } else {
            self.long(len, keep_going, scratch, out)
        }
    }

    /// Splits the sequence before `▁` and merges each part.
    #[cold]
    fn words(
        &self,
        word_start: &WordStart,
        len: usize,
        keep_going: KeepGoing<'_>,
        scratch: &mut Scratch,
        out: &mut Out<'_>,
    ) -> Result<()> {
        let (symbols, starts) = (std::mem::take(&mut scratch.symbols), std::mem::take(&mut scratch.starts));
        let mut cancel = CancelCheck::new(keep_going);
        let mut from = 0;
        while from < symbols.len() {
            cancel.check()?;
            let mut to = from + 1;
            while to < symbols.len() && !word_start.is_between(symbols[to - 1], symbols[to]) {
                to += 1;
            }
            scratch.symbols.clear();
            scratch.symbols.extend_from_slice(&symbols[from..to]);
            let mut end = len;
            if out.ends.is_some() {
                scratch.starts.clear();
                scratch.starts.extend_from_slice(&starts[from..to]);
                end = starts.get(to).copied().unwrap_or(len);
            }
            self.part(end, keep_going, scratch, out)?;
            from = to;
        }
        (scratch.symbols, scratch.starts) = (symbols, starts);
        Ok(())
    }

    fn part(&self, end: usize, keep_going: KeepGoing<'_>, scratch: &mut Scratch, out: &mut Out<'_>) -> Result<()> {
        if scratch.symbols.len() > SHORT {
            return self.long(end, keep_going, scratch, out);
        }
        let Scratch { symbols, ranks, starts, .. } = scratch;
        if let Some(ends) = &mut out.ends {
            self.short::<true>(symbols, ranks, starts);
            ends.extend(starts.iter().skip(1).copied());
            if !symbols.is_empty() {
                ends.push(end);
            }
        } else {
            self.short::<false>(symbols, ranks, starts);
        }
        out.ids.extend_from_slice(symbols);
        Ok(())
    }

    /// Merges `symbols` in place. `ranks[i]` is the rank of the pair that starts at i.
    #[inline]
    fn short<const STARTS: bool>(&self, symbols: &mut Vec<u32>, ranks: &mut Vec<u32>, starts: &mut Vec<usize>) {
        ranks.clear();
        ranks.extend(symbols.windows(2).map(|pair| self.rank(pair[0], pair[1])));
        while let Some((at, rank)) = ranks.iter().copied().enumerate().min_by_key(|&(_, rank)| rank) {
            if rank == NONE {
                return;
            }
            let Some(merge) = self.get(symbols[at], symbols[at + 1]) else { return };
            symbols[at] = merge.result;
            symbols.remove(at + 1);
            if STARTS {
                starts.remove(at + 1);
            }
            ranks.remove(at);
            if at < ranks.len() {
                ranks[at] = self.rank(symbols[at], symbols[at + 1]);
            }
            if at > 0 {
                ranks[at - 1] = self.rank(symbols[at - 1], symbols[at]);
            }
        }
    }

    /// Merges a long sequence into `out`.
    fn long(&self, end: usize, keep_going: KeepGoing<'_>, scratch: &mut Scratch, out: &mut Out<'_>) -> Result<()> {
        if scratch.symbols.len() > 2 * WINDOW {
            let symbols = std::mem::take(&mut scratch.symbols);
            let done = self.in_windows(&symbols, end, keep_going, scratch, out);
            scratch.symbols = symbols;
            if done? {
                return Ok(());
            }
        }
        let Scratch { symbols, nodes, queue, starts, .. } = scratch;
        self.merge(symbols, keep_going, nodes, queue)?;
        write(nodes, starts, end, out);
        Ok(())
    }

    /// Merges window by window (`windows`). Returns false, with nothing written, if the windows cannot be joined.
    fn in_windows(
        &self,
        symbols: &[u32],
        end: usize,
        keep_going: KeepGoing<'_>,
        scratch: &mut Scratch,
        out: &mut Out<'_>,
    ) -> Result<bool> {
        let from = out.len();
        let mut windows =
            SymbolWindows { merger: self, symbols, end, keep_going, scratch, kept: Vec::new(), known: 0..0, out };
        let done = merge_in_windows(&mut windows, keep_going)?;
        if !done {
            out.truncate(from);
        }
        Ok(done)
    }

    /// Merges `symbols` as a whole, in a linked list.
    fn merge(
        &self,
        symbols: &[u32],
        keep_going: KeepGoing<'_>,
        nodes: &mut Vec<SymbolNode>,
        queue: &mut RankQueue,
    ) -> Result<()> {
        link(symbols, nodes)?;
        queue.clear();
        let mut cancel = CancelCheck::new(keep_going);
        for (at, pair) in (0..).zip(symbols.windows(2)) {
            let rank = self.rank(pair[0], pair[1]);
            if rank != NONE {
                queue.push(rank, at);
            }
        }
        while let Some((rank, at)) = queue.pop() {
            cancel.check()?;
            let Some(merge) = self.live(nodes, rank, at) else { continue };
            let before = join(nodes, at, merge.result);
            for place in [before, at] {
                if let Some(rank) = self.rank_at(nodes, place) {
                    queue.push(rank, place);
                }
            }
        }
        Ok(())
    }

    /// Builds the linked list of `symbols` and the heap of their merges.
    pub(super) fn fill(
        &self,
        symbols: &[u32],
        nodes: &mut Vec<SymbolNode>,
        heap: &mut BinaryHeap<Reverse<u64>>,
    ) -> Result<()> {
        link(symbols, nodes)?;
        let mut first = std::mem::take(heap).into_vec();
        first.clear();
        let ranks = symbols.windows(2).map(|pair| self.rank(pair[0], pair[1]));
        let known = (0u64..).zip(ranks).filter(|&(_, rank)| rank != NONE);
        first.extend(known.map(|(i, rank)| Reverse(u64::from(rank) << 32 | i)));
        *heap = BinaryHeap::from(first); // O(n), where n pushes would be O(n log n)
        Ok(())
    }

    /// Returns the merge of a heap entry, unless the entry is stale.
    pub(super) fn live(&self, nodes: &[SymbolNode], rank: u32, at: u32) -> Option<Merge> {
        let node = nodes[at as usize];
        if node.id == NONE || node.next == NONE {
            return None;
        }
        self.get(node.id, nodes[node.next as usize].id).filter(|merge| merge.rank == rank)
    }

    /// Pushes the pair that starts at `at` onto the heap, if it has a merge.
    pub(super) fn offer(&self, nodes: &[SymbolNode], heap: &mut BinaryHeap<Reverse<u64>>, at: u32) {
        if let Some(rank) = self.rank_at(nodes, at) {
            heap.push(Reverse(u64::from(rank) << 32 | u64::from(at)));
        }
    }

    /// Returns the rank of the pair that starts at `at`, if it has a merge.
    fn rank_at(&self, nodes: &[SymbolNode], at: u32) -> Option<u32> {
        let node = nodes.get(at as usize)?;
        let next = nodes.get(node.next as usize)?;
        Some(self.rank(node.id, next.id)).filter(|&rank| rank != NONE)
    }
}

/// Long sequence that is merged in windows. Positions are indices of symbols.
struct SymbolWindows<'w, 'o, L> {
    merger: &'w Merger<'w, L>,
    symbols: &'w [u32],
    end: usize, // length of the pretoken in bytes
    keep_going: KeepGoing<'w>,
    scratch: &'w mut Scratch,
    kept: Vec<u32>,      // starts of the last tokens in `out`
    known: Range<usize>, // the last window
    out: &'w mut Out<'o>,
}

impl<L> SymbolWindows<'_, '_, L> {
    fn window(&self, at: usize) -> Range<usize> {
        at..self.symbols.len().min(at + WINDOW)
    }
}

impl<L: Look> Windows for SymbolWindows<'_, '_, L> {
    fn merge(&mut self, at: usize) -> Result<Option<MergedWindow>> {
        let window = self.window(at);
        let Scratch { nodes, queue, .. } = &mut *self.scratch;
        // In a run of one character all windows are equal, so the last result is reused.
        if self.symbols[self.known.clone()] != self.symbols[window.clone()] {
            self.merger.merge(&self.symbols[window.clone()], self.keep_going, nodes, queue)?;
            self.known = window.clone();
        }
        let is_last = window.end == self.symbols.len();
        Ok(Some(MergedWindow { num_tokens: count(nodes), first: nodes[0].id, is_last }))
    }

    fn last(&self) -> Option<u32> {
        self.out.ids.last().copied().filter(|_| !self.kept.is_empty())
    }

    fn joint_holds(&mut self, at: usize, _: (u32, u32)) -> Result<Option<bool>> {
        let window_end = self.window(at).end;
        let Scratch { nodes, joint: (joined, queue), .. } = &mut *self.scratch;
        let last = self.kept.last().map_or(at, |&last| last as usize);
        let end = (nodes[0].next as usize).saturating_add(at).min(window_end);
        self.merger.merge(&self.symbols[last..end], self.keep_going, joined, queue)?;
        Ok(Some(joined[0].next as usize == at - last && joined[at - last].next == NONE))
    }

    fn remove_last(&mut self, _: usize, count: usize) -> Option<usize> {
        let stays = self.kept.len().checked_sub(count).filter(|&stays| stays > 0)?;
        let at = self.kept[stays] as usize;
        self.kept.truncate(stays);
        self.out.truncate(self.out.len() - count);
        Some(at)
    }

    fn append(&mut self, at: usize, count: usize) -> usize {
        let Scratch { nodes, starts, .. } = &*self.scratch;
        let len = self.window(at).len();
        let mut place = 0;
        for _ in 0..count {
            let SymbolNode { id, next, .. } = nodes[place];
            self.kept.push((at + place) as u32);
            place = (next as usize).min(len);
            self.out.push(id, starts.get(at + place).copied().unwrap_or(self.end));
        }
        self.kept.drain(..self.kept.len().saturating_sub(2 * MAX_DROPPED));
        at + place
    }
}

/// Builds a linked list of symbols.
///
/// # Errors
/// [`Error::text`] for 2³¹ symbols or more, because indices have 32 bits, and the queue can hold two positions for each
/// symbol.
pub(super) fn link(symbols: &[u32], nodes: &mut Vec<SymbolNode>) -> Result<()> {
    if symbols.len() >= NONE as usize / 2 {
        return Err(Error::text("a pretoken of 2^31 symbols cannot be encoded: use a pattern that splits the text", 0));
    }
    let last = symbols.len().wrapping_sub(1) as u32;
    nodes.clear();
    let links = |i: u32| (i.wrapping_sub(1), if i == last { NONE } else { i + 1 });
    nodes.extend((0..).zip(symbols).map(|(i, &id)| SymbolNode { id, prev: links(i).0, next: links(i).1 }));
    Ok(())
}

/// Joins the node at `at` with the next node; returns the position of the node before it.
pub(super) fn join(nodes: &mut [SymbolNode], at: u32, result: u32) -> u32 {
    let gone = nodes[at as usize].next;
    let SymbolNode { next: after, .. } = nodes[gone as usize];
    nodes[gone as usize].id = NONE;
    nodes[at as usize].id = result;
    nodes[at as usize].next = after;
    if after != NONE {
        nodes[after as usize].prev = at;
    }
    nodes[at as usize].prev
}

/// Returns the number of symbols in the list.
fn count(nodes: &[SymbolNode]) -> usize {
    std::iter::successors(nodes.first(), |node| nodes.get(node.next as usize)).count()
}

/// Appends the symbols of the list. `starts` is read only if ends are requested.
pub(super) fn write(nodes: &[SymbolNode], starts: &[usize], end: usize, out: &mut Out<'_>) {
    let mut at = if nodes.is_empty() { NONE } else { 0 };
    while at != NONE {
        let SymbolNode { id, next, .. } = nodes[at as usize];
        out.ids.push(id);
        if let Some(ends) = &mut out.ends {
            ends.push(if next == NONE { end } else { starts[next as usize] });
        }
        at = next;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;

    /// Checks that merging in windows yields the ids of merging as a whole. Merges are in the order of training or
    /// random; texts are random or runs; some tokens are longer than a window.
    #[test]
    fn merging_in_windows_equals_merging_as_a_whole() {
        let mut state = 7u64;
        let mut draw = |below: u32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u32 % below
        };
        let (mut windowed, mut not) = (0, 0);
        for round in 0..400 {
            let letters = 1 + draw(4);
            let mut pairs = Pairs::with_capacity(64);
            let mut symbols = letters;
            for rank in 0..8 + draw(40) {
                let (mut left, mut right) = (draw(symbols), draw(symbols));
                if round % 8 == 1 {
                    (left, right) = (symbols - 1, symbols - 1); // longer tokens each time: no window contains two
                }
                let rank = if round % 4 == 0 { draw(60) } else { rank }; // also equal ranks
                if pairs.get(left, right).is_none() {
                    pairs.insert(left, right, Merge { rank, result: symbols });
                    symbols += 1;
                }
            }
            let merger = Merger { merges: &pairs, word_start: None };
            let mut scratch = Scratch::default();
            while scratch.symbols.len() < 1000 {
                let (letter, times) = (draw(letters), if draw(9) == 0 { draw(400) } else { 1 });
                scratch.symbols.extend(std::iter::repeat_n(letter, times as usize));
            }
            let symbols = scratch.symbols.clone();
            scratch.starts = (0..symbols.len()).map(|i| 3 * i).collect();
            let end = 3 * symbols.len();
            let (mut ids, mut ends) = (vec![9], vec![9]);
            let done =
                merger.in_windows(&symbols, end, &|| true, &mut scratch, &mut Out::with_ends(&mut ids, &mut ends));
            let Scratch { nodes, queue, starts, .. } = &mut scratch;
            merger.merge(&symbols, &|| true, nodes, queue).unwrap();
            let (mut all, mut all_ends) = (vec![9], vec![9]);
            if done.unwrap() {
                write(nodes, starts, end, &mut Out::with_ends(&mut all, &mut all_ends));
                windowed += 1;
            } else {
                not += 1;
            }
            assert_eq!((ids, ends), (all, all_ends), "round {round}");
        }
        assert!(windowed > 200 && not > 5, "{windowed} {not}");
    }
}
