//! Array of all sequences during BPE training, merged in place: one cell for each initial symbol.
//!
//! A symbol that covers n cells has its id in the first, its length in the last (if n > 1), and nothing in between; an
//! edge cell separates sequences. So both neighbors of a symbol are found in O(1) without links, and its position, the
//! first cell, never changes.
//!
//! Ids are below 2³¹ and never return to a cell they left, so two loads tell whether a pair is still at a position.
//! Cost: 8 bytes a cell.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::error::Result;
use crate::util::cancel::{CancelCheck, KeepGoing};
use crate::util::simd;
use crate::util::spill::{MemoryLimit, SpillVec};

/// One cell, with the weight of its sequence.
#[derive(Debug, Clone, Copy)]
struct Cell {
    token: u32,
    weight: u32,
}

const EDGE: u32 = u32::MAX; // between sequences
const INSIDE: u32 = u32::MAX - 1; // neither first nor last cell of its symbol
const TAIL: u32 = 1 << 31; // or-ed to the length in the last cell of a symbol; ids are smaller
const HEAVY: u32 = u32::MAX; // the weight exceeds 32 bits: see `heavy`

/// Maximum number of cells: positions and lengths have 31 bits.
pub const MAX_SYMBOLS: usize = TAIL as usize - 2;

/// Weighted sequences of symbols.
#[derive(Debug)]
pub struct SymbolArray {
    cells: SpillVec<Cell>,
    heavy: Vec<(u32, u64)>, // (first cell of a sequence, weight), ascending
    num_emptied: usize,     // cells that merges have emptied
}

impl SymbolArray {
    /// Creates an empty array with capacity for `room` cells.
    ///
    /// # Errors
    /// As [`SpillVec::reserve`].
    pub fn with_capacity(room: usize, memory: &MemoryLimit) -> Result<Self> {
        let mut cells = SpillVec::new(memory);
        cells.reserve(room + 1)?;
        cells.push(Cell { token: EDGE, weight: 0 })?;
        Ok(Self { cells, heavy: Vec::new(), num_emptied: 0 })
    }

    /// Returns the number of cells, edges included.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Returns true if a third of the cells is empty.
    pub fn are_sparse(&self) -> bool {
        3 * self.num_emptied > self.cells.len()
    }

    /// Compacts the array to one cell a symbol. Removes sequences of one symbol, which have no pairs; keeps the order
    /// of the others.
    ///
    /// # Errors
    /// As [`SpillVec::shrink`].
    pub fn compact(&mut self, keep_going: KeepGoing<'_>) -> Result<()> {
        let mut cancel = CancelCheck::new(keep_going);
        let heavy = std::mem::take(&mut self.heavy);
        let mut heavy = heavy.into_iter().peekable();
        let (mut start, mut end) = (1, 1); // of the sequence, after compaction
        for at in 1..self.cells.len() {
            cancel.check()?;
            let cell = self.cells[at];
            if let Some((_, weight)) = heavy.next_if(|&(first, _)| first as usize == at) {
                self.heavy.push((start, weight));
            }
            if cell.token == EDGE {
                if end - start > 1 {
                    self.cells[end as usize] = cell;
                    start = end + 1;
                } else if self.heavy.last().is_some_and(|&(first, _)| first == start) {
                    self.heavy.pop();
                }
                end = start;
            } else if cell.token & TAIL == 0 {
                self.cells[end as usize] = cell;
                end += 1;
            }
        }
        self.num_emptied = 0;
        self.cells.truncate(end as usize);
        self.cells.shrink()
    }

    /// Appends a sequence of initial symbols.
    ///
    /// # Errors
    /// As [`SpillVec::reserve`].
    pub fn push(&mut self, ids: impl ExactSizeIterator<Item = u32>, weight: u64) -> Result<()> {
        let small = u32::try_from(weight).unwrap_or(HEAVY);
        if small == HEAVY {
            self.heavy.push((self.cells.len() as u32, weight));
        }
        self.cells.extend(ids.map(|token| Cell { token, weight: small }))?;
        self.cells.push(Cell { token: EDGE, weight: 0 })
    }

    /// Returns the weight of the sequence of a cell.
    #[inline]
    pub fn weight(&self, at: u32) -> u64 {
        match self.cells[at as usize].weight {
            HEAVY => self.heavy[self.heavy.partition_point(|&(start, _)| start <= at) - 1].1,
            weight => weight.into(),
        }
    }

    /// Iterates over all current pairs, as (position, left, right), ascending.
    pub fn pairs(&self) -> impl Iterator<Item = (u32, u32, u32)> + '_ {
        let mut before = None; // the previous symbol, with its position
        (0..).zip(&*self.cells).filter_map(move |(at, cell)| match cell.token {
            EDGE => {
                before = None;
                None
            }
            token if token & TAIL != 0 => None, // INSIDE, too
            token => before.replace((at, token)).map(|(place, left)| (place, left, token)),
        })
    }

    /// Prefetches a cell.
    #[inline]
    pub fn prefetch(&self, at: u32) {
        simd::prefetch(&self.cells[at as usize]);
    }

    /// Maps the page of a cell in a spill file for writing, before it is read: a read fault would map up to fifteen
    /// neighbors, and the first write would fault again.
    #[inline]
    pub fn touch(&mut self, at: u32) {
        if self.cells.is_in_file() {
            let token: *mut u32 = &raw mut self.cells[at as usize].token;
            // SAFETY: the pointer is that of a mutably borrowed field: aligned, valid, and not shared.
            let token = unsafe { AtomicU32::from_ptr(token) };
            token.fetch_or(std::hint::black_box(0), Ordering::Relaxed); // the compiler would turn a constant 0 into a read
        }
    }

    /// Returns true if `left`, which covers `length` cells, is at this position and `right` follows it.
    #[inline]
    pub fn holds(&self, at: u32, left: u32, length: u32, right: u32) -> bool {
        self.cells[at as usize].token == left && self.cells[(at + length) as usize].token == right
    }

    /// Returns the symbol at a position.
    #[inline]
    pub fn token(&self, at: u32) -> u32 {
        self.cells[at as usize].token
    }

    /// Returns the position of the previous symbol.
    #[inline]
    pub fn before(&self, at: u32) -> Option<u32> {
        match self.cells[at as usize - 1].token {
            EDGE => None,
            tail if tail & TAIL != 0 => Some(at - (tail & !TAIL)),
            _ => Some(at - 1),
        }
    }

    /// Returns the symbol after the one at this position, which covers `length` cells.
    #[inline]
    pub fn after(&self, at: u32, length: u32) -> Option<u32> {
        let token = self.cells[(at + length) as usize].token;
        (token != EDGE).then_some(token)
    }

    /// Merges the two symbols from this position on, which cover `length` cells together, the left one `left`.
    #[inline]
    pub fn merge(&mut self, at: u32, left: u32, length: u32, result: u32) {
        self.num_emptied += 1;
        self.cells[at as usize].token = result;
        self.cells[(at + left) as usize].token = INSIDE;
        self.cells[(at + length) as usize - 1].token = TAIL | length;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn compact_cells_hold_the_same_pairs() {
        let mut cells = SymbolArray::with_capacity(0, &MemoryLimit::default()).unwrap();
        let heavy = u64::from(u32::MAX) + 7;
        for (ids, weight) in
            [(vec![1, 2], 5), (vec![1, 2, 3, 1, 2], heavy), (vec![1, 2], heavy + 1), (vec![2, 1], heavy + 2)]
        {
            cells.push(ids.into_iter(), weight).unwrap();
        }
        for at in [1, 4, 7, 10] {
            cells.merge(at, 1, 2, 9);
        }
        let pairs = |cells: &SymbolArray| cells.pairs().map(|(at, l, r)| (l, r, cells.weight(at))).collect::<Vec<_>>();
        let before = pairs(&cells);
        assert_eq!(before, [(9, 3, heavy), (3, 9, heavy), (2, 1, heavy + 2)]);
        cells.compact(&|| true).unwrap();
        assert_eq!((pairs(&cells), cells.len()), (before, 8));
        assert!(cells.holds(1, 9, 1, 3) && cells.before(2) == Some(1) && cells.after(3, 1).is_none());
    }
}
