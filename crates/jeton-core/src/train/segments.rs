//! Segments of sequences. Sequences are cut at pairs whose counts are below a floor. No merge crosses a cut while any
//! pair reaches the floor (`external`), so merges can be learned from the segments alone.
//!
//! Equal segments are stored once, with the sum of their weights, in the order of the first occurrence. The order stays
//! correct when segments are cut again at a higher floor: the first occurrence of a new segment is in the earliest old
//! segment that contains it.
//!
//! Cost: one table lookup for each segment. [`Segments::memory`] estimates the memory.

use super::count::Counts;
use super::layout::Sequences;
use super::pair_sketch::PairSketch;
use super::sequence_file::{push_id, read_ids};
use super::symbol_array::SymbolArray;
use crate::error::Result;
use crate::util::cancel::{CancelCheck, KeepGoing};

/// Distinct segments with their weights.
#[derive(Debug)]
pub struct Segments {
    table: Counts, // ids of a segment as bytes -> weight
    width: usize,  // number of bytes of an id in the table
    floor: u64,
    num_symbols: usize,
    pairs: usize, // estimated memory of the engine for their pairs
    key: Vec<u8>,
}

/// Estimated number of bytes that the engine needs for a pair: for the pair's count and index in each shard, its total
/// count, its posting list, and its entry in the queue.
const PAIR: usize = 120;

impl Segments {
    /// Creates an empty set of segments. Each id of a segment is stored in `width` bytes.
    pub fn new(width: usize, floor: u64, sketch: &PairSketch) -> Self {
        let pairs = sketch.num_reaching(floor) * PAIR;
        Self { table: Counts::default(), width, floor, num_symbols: 0, pairs, key: Vec::new() }
    }

    /// Adds the segments of a sequence.
    ///
    /// # Errors
    /// As [`Counts::add`].
    #[inline]
    pub fn add(&mut self, ids: &[u32], weight: u64, sketch: &PairSketch, floor: u64) -> Result<()> {
        let mut start = 0;
        for end in 1..=ids.len() {
            if end == ids.len() || !sketch.reaches(ids[end - 1], ids[end], floor) {
                if end - start > 1 {
                    self.push(&ids[start..end], weight)?;
                }
                start = end;
            }
        }
        Ok(())
    }

    #[inline]
    fn push(&mut self, ids: &[u32], weight: u64) -> Result<()> {
        self.key.clear();
        ids.iter().for_each(|&id| push_id(&mut self.key, id, self.width));
        let before = self.table.len();
        self.table.add(&self.key, weight)?;
        self.num_symbols += if self.table.len() > before { ids.len() } else { 0 };
        Ok(())
    }

    /// Raises the floor: cuts all segments at the pairs whose counts are below the new floor.
    ///
    /// # Errors
    /// As [`Counts::add`]; `Interrupted`.
    pub fn cut(&mut self, sketch: &PairSketch, floor: u64, keep_going: KeepGoing<'_>) -> Result<()> {
        if floor <= self.floor {
            return Ok(());
        }
        let mut cancel = CancelCheck::new(keep_going);
        let mut cut = Self::new(self.width, floor, sketch);
        let mut table = std::mem::take(&mut self.table);
        table.drop_index();
        let mut ids = Vec::new();
        for (segment, weight) in table.iter() {
            cancel.check()?;
            ids.clear();
            read_ids(segment, self.width, &mut ids);
            cut.add(&ids, weight, sketch, floor)?;
        }
        *self = cut;
        Ok(())
    }

    /// Returns an estimate of the maximum memory that the segments take: while they are in this table, are converted to
    /// sequences, or are used to learn merges.
    pub fn memory(&self) -> usize {
        const CELL: usize = 8;
        const POSTING: usize = 4;
        const ENTRY: usize = 32; // bytes of an entry of the table
        const INDEX: usize = 40; // bytes of its slots, while the table grows
        let cells = CELL * (self.num_symbols + self.table.len());
        let table = self.table.len() * ENTRY + self.table.arena_bytes();
        (table + cells.max(self.table.len() * INDEX)).max(cells + POSTING * self.num_symbols + self.pairs)
    }

    /// Returns the segments as sequences in memory.
    ///
    /// # Errors
    /// As [`Sequences::reserve`]; `Interrupted`.
    pub fn into_cells(mut self, keep_going: KeepGoing<'_>) -> Result<SymbolArray> {
        let mut cancel = CancelCheck::new(keep_going);
        self.table.drop_index();
        let mut cells = SymbolArray::new()?;
        cells.reserve(self.num_symbols, self.table.len())?;
        let mut ids = Vec::new();
        for (segment, weight) in self.table.iter() {
            cancel.check()?;
            ids.clear();
            read_ids(segment, self.width, &mut ids);
            cells.push(ids.iter().copied(), weight)?;
        }
        Ok(cells)
    }
}
