//! Array of all sequences during BPE training, merged in place: one cell for each initial symbol.
//!
//! A symbol that covers n cells has its id in the first cell and its length in the last one (if n > 1). The cells
//! between them have no content. An edge cell separates sequences. So both neighbors of a symbol are found in O(1)
//! without links. The position of a symbol is its first cell and never changes.
//!
//! All ids are below 2³¹, so a cell with an id differs from every cell without an id. If a merge replaces an id in a
//! cell, this id never appears in the cell again. So a pair is still at its position if the first cells of its two
//! symbols still have the two ids; this check reads only these two cells. Cost: 8 bytes for each cell.

use super::layout::Sequences;
use crate::error::{Error, Result};
use crate::util::simd;
use crate::util::spill::SpillVec;

/// A cell, with the weight of the sequence that contains it.
#[derive(Debug, Clone, Copy)]
struct Cell {
    token: u32,
    weight: u32,
}

const EDGE: u32 = u32::MAX; // content of a cell between sequences
const INSIDE: u32 = u32::MAX - 1; // neither the first nor the last cell of its symbol
const TAIL: u32 = 1 << 31; // or-ed to the length in the last cell of a symbol; all ids are smaller
const HEAVY: u32 = u32::MAX; // marks a weight that exceeds 32 bits and is stored in `heavy`

/// Maximum number of cells: positions and lengths have 31 bits.
pub const MAX_SYMBOLS: usize = TAIL as usize - 2;

/// Weighted sequences of symbols.
#[derive(Debug)]
pub struct SymbolArray {
    cells: SpillVec<Cell>,
    heavy: Vec<(u32, u64)>, // (first cell of a sequence, weight), ascending
}

impl SymbolArray {
    /// Creates an empty array.
    ///
    /// # Errors
    /// [`crate::error::ErrorKind::Memory`].
    pub fn new() -> Result<Self> {
        let mut cells = SpillVec::default();
        cells.push(Cell { token: EDGE, weight: 0 })?;
        Ok(Self { cells, heavy: Vec::new() })
    }

    /// Returns the number of cells, including edges.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Returns the weight of the sequence that contains a cell.
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
            token if token & TAIL != 0 => None, // true for INSIDE, too
            token => before.replace((at, token)).map(|(place, left)| (place, left, token)),
        })
    }

    /// Prefetches a cell.
    #[inline]
    pub fn prefetch(&self, at: u32) {
        simd::prefetch(&self.cells[at as usize]);
    }

    /// Returns true if `left`, which covers `length` cells, is at this position and `right` follows.
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

    /// Returns the symbol after the symbol at this position, which covers `length` cells.
    #[inline]
    pub fn after(&self, at: u32, length: u32) -> Option<u32> {
        let token = self.cells[(at + length) as usize].token;
        (token != EDGE).then_some(token)
    }

    /// Merges the symbol at this position with the next symbol into `result`. The first symbol covers `left` cells;
    /// both symbols together cover `length` cells.
    #[inline]
    pub fn merge(&mut self, at: u32, left: u32, length: u32, result: u32) {
        self.cells[at as usize].token = result;
        self.cells[(at + left) as usize].token = INSIDE;
        self.cells[(at + length) as usize - 1].token = TAIL | length;
    }
}

impl Sequences for SymbolArray {
    fn reserve(&mut self, symbols: usize, sequences: usize) -> Result<()> {
        let more = symbols + sequences;
        if more > MAX_SYMBOLS - self.cells.len() {
            return Err(Error::training(
                "more than 2^31 symbols in the distinct pretokens of one thread: use a pattern that splits the text shorter",
            ));
        }
        self.cells.reserve(more)
    }

    #[inline]
    fn push(&mut self, ids: impl ExactSizeIterator<Item = u32>, weight: u64) -> Result<()> {
        self.reserve(ids.len(), 1)?;
        let small = u32::try_from(weight).unwrap_or(HEAVY);
        if small == HEAVY {
            self.heavy.push((self.cells.len() as u32, weight));
        }
        self.cells.extend(ids.map(|token| Cell { token, weight: small }))?;
        self.cells.push(Cell { token: EDGE, weight: 0 })
    }
}
