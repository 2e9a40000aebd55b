//! Sequences of tokens that shrink in place: one long array of cells, one cell for each initial symbol.
//!
//! A token of n symbols covers n cells. The first holds its id, the last (of several) its length, the others nothing; edges
//! stand between sequences. So both neighbors of any token are found in O(1) without links, and the place of a token, its
//! first cell, never changes.
//!
//! Ids are under 2³¹ and never come back to a cell they left. That is what makes "does this pair still stand here" a matter of
//! two look-ups. Cost: 8 bytes a cell.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::cancel::{CancelCheck, KeepGoing};
use crate::error::Result;
use crate::memory::{List, Memory};
use crate::simd;

/// One cell: what it holds, and the weight of its sequence.
#[derive(Debug, Clone, Copy)]
struct Cell {
    token: u32,
    weight: u32,
}

const EDGE: u32 = u32::MAX; // between sequences
const INSIDE: u32 = u32::MAX - 1; // neither first nor last cell of its token
const TAIL: u32 = 1 << 31; // or-ed to the length of the token whose last cell it is; no id is as large
const HEAVY: u32 = u32::MAX; // a weight that does not fit: it is in `heavy`

/// Cells are counted in 31 bits, like lengths.
pub const MAX_CELLS: usize = TAIL as usize - 2;

/// Weighted sequences of tokens.
#[derive(Debug)]
pub struct Cells {
    cells: List<Cell>,
    heavy: Vec<(u32, u64)>, // (first cell of a sequence, weight), ascending
    joined: usize,          // how many tokens have lost their cells to others
}

impl Cells {
    /// No sequence yet, and room for so many cells.
    ///
    /// # Errors
    /// As [`List::reserve`].
    pub fn with_capacity(room: usize, memory: &Memory) -> Result<Self> {
        let mut cells = List::new(memory);
        cells.reserve(room + 1)?;
        cells.push(Cell { token: EDGE, weight: 0 })?;
        Ok(Self { cells, heavy: Vec::new(), joined: 0 })
    }

    /// Cells, edges included.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether a third of the cells hold nothing.
    pub fn are_sparse(&self) -> bool {
        3 * self.joined > self.cells.len()
    }

    /// Gives each token one cell. Sequences of one token, which have no pairs, are gone; the order of the others stays.
    ///
    /// # Errors
    /// As [`List::shrink`].
    pub fn compact(&mut self, keep_going: KeepGoing<'_>) -> Result<()> {
        let mut cancel = CancelCheck::new(keep_going);
        let heavy = std::mem::take(&mut self.heavy);
        let mut heavy = heavy.into_iter().peekable();
        let (mut start, mut end) = (1, 1); // of the sequence, where it will be
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
        self.joined = 0;
        self.cells.truncate(end as usize);
        self.cells.shrink()
    }

    /// Adds a sequence of initial symbols.
    ///
    /// # Errors
    /// As [`List::reserve`].
    pub fn push(&mut self, ids: impl ExactSizeIterator<Item = u32>, weight: u64) -> Result<()> {
        let small = u32::try_from(weight).unwrap_or(HEAVY);
        if small == HEAVY {
            self.heavy.push((self.cells.len() as u32, weight));
        }
        self.cells.extend(ids.map(|token| Cell { token, weight: small }))?;
        self.cells.push(Cell { token: EDGE, weight: 0 })
    }

    /// The weight of the sequence that the cell is in.
    #[inline]
    pub fn weight(&self, at: u32) -> u64 {
        match self.cells[at as usize].weight {
            HEAVY => self.heavy[self.heavy.partition_point(|&(start, _)| start <= at) - 1].1,
            weight => weight.into(),
        }
    }

    /// All pairs as they stand now, as (place, left, right), by place.
    pub fn pairs(&self) -> impl Iterator<Item = (u32, u32, u32)> + '_ {
        let mut before = None; // the token before, and its place
        (0..).zip(&*self.cells).filter_map(move |(at, cell)| match cell.token {
            EDGE => {
                before = None;
                None
            }
            token if token & TAIL != 0 => None, // INSIDE, too
            token => before.replace((at, token)).map(|(place, left)| (place, left, token)),
        })
    }

    /// Fetches a cell that will soon be asked for.
    #[inline]
    pub fn prefetch(&self, at: u32) {
        simd::prefetch(&self.cells[at as usize]);
    }

    /// Makes the page of a cell that is in a file writable before it is read: for a read the system maps up to fifteen neighbors, and at the
    /// first write it is asked again.
    #[inline]
    pub fn touch(&mut self, at: u32) {
        if self.cells.is_in_file() {
            let token: *mut u32 = &raw mut self.cells[at as usize].token;
            // SAFETY: the pointer is that of a field that is borrowed mutably: aligned, valid, and nobody else's.
            let token = unsafe { AtomicU32::from_ptr(token) };
            token.fetch_or(std::hint::black_box(0), Ordering::Relaxed); // of a constant 0 the compiler would make a read
        }
    }

    /// Whether `left`, which is `length` symbols long, begins here and `right` comes next.
    #[inline]
    pub fn holds(&self, at: u32, left: u32, length: u32, right: u32) -> bool {
        self.cells[at as usize].token == left && self.cells[(at + length) as usize].token == right
    }

    /// The token that begins here.
    #[inline]
    pub fn token(&self, at: u32) -> u32 {
        self.cells[at as usize].token
    }

    /// The place of the token before the one that begins here.
    #[inline]
    pub fn before(&self, at: u32) -> Option<u32> {
        match self.cells[at as usize - 1].token {
            EDGE => None,
            tail if tail & TAIL != 0 => Some(at - (tail & !TAIL)),
            _ => Some(at - 1),
        }
    }

    /// The token after the one that begins here and is `length` symbols long.
    #[inline]
    pub fn after(&self, at: u32, length: u32) -> Option<u32> {
        let token = self.cells[(at + length) as usize].token;
        (token != EDGE).then_some(token)
    }

    /// Makes the two tokens from here on one: together they are `length` symbols long, the first alone `left`.
    #[inline]
    pub fn join(&mut self, at: u32, left: u32, length: u32, result: u32) {
        self.joined += 1;
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
        let mut cells = Cells::with_capacity(0, &Memory::default()).unwrap();
        let heavy = u64::from(u32::MAX) + 7;
        for (ids, weight) in
            [(vec![1, 2], 5), (vec![1, 2, 3, 1, 2], heavy), (vec![1, 2], heavy + 1), (vec![2, 1], heavy + 2)]
        {
            cells.push(ids.into_iter(), weight).unwrap();
        }
        for at in [1, 4, 7, 10] {
            cells.join(at, 1, 2, 9);
        }
        let pairs = |cells: &Cells| cells.pairs().map(|(at, l, r)| (l, r, cells.weight(at))).collect::<Vec<_>>();
        let before = pairs(&cells);
        assert_eq!(before, [(9, 3, heavy), (3, 9, heavy), (2, 1, heavy + 2)]);
        cells.compact(&|| true).unwrap();
        assert_eq!((pairs(&cells), cells.len()), (before, 8));
        assert!(cells.holds(1, 9, 1, 3) && cells.before(2) == Some(1) && cells.after(3, 1).is_none());
    }
}
