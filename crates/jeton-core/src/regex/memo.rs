//! Where a search has failed: a set of keys, in bounded memory, that may forget.
//!
//! A key stands for a choice of the pattern at a place of the text. There are no captures and no backreferences, so
//! what follows a choice depends on nothing else, whatever led there and wherever the search began, with two exceptions
//! that the matcher heeds. A loop whose body can be empty ends when it has not moved, so what follows a choice in its
//! body also depends on where the body began, until the loop has moved. And a choice in an atomic group or a lookaround
//! has failed when the end of the group is out of its reach; when it reached the end, its alternatives are cut off, so
//! that nobody learns whether they fail, and nothing is remembered.
//!
//! The set is a window: keys that lie a multiple of its size apart share a cell, and the later takes it. Forgetting
//! costs time, never a match.

/// 64 MiB of cells.
const MAX_SYMBOLS: usize = 1 << 24;

pub(super) struct Memo {
    /// 1 + what the index leaves of the key, or 0. As many cells as a power of two.
    cells: Vec<u32>,
}

impl Memo {
    pub(super) fn new(choices: usize, bytes: usize) -> Self {
        let keys = choices.saturating_mul(bytes + 1).clamp(1, MAX_SYMBOLS);
        Self { cells: vec![0; keys.next_power_of_two()] }
    }

    pub(super) fn has(&self, key: usize) -> bool {
        let (index, rest) = self.split(key);
        self.cells[index] == rest
    }

    pub(super) fn insert(&mut self, key: usize) {
        let (index, rest) = self.split(key);
        self.cells[index] = rest;
    }

    /// Fits in 32 bits: that needs a text of a TB, times the most choices that a program has.
    fn split(&self, key: usize) -> (usize, u32) {
        let size = self.cells.len();
        (key & (size - 1), (key >> size.trailing_zeros()) as u32 + 1)
    }
}
