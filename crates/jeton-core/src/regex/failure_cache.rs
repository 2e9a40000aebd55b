//! Bounded set of the (choice, position) pairs that have failed in the backtracking matcher. The matcher skips them, so
//! it tries most pairs only once.
//!
//! A key is a choice of the pattern at a position of the text. Without captures and backreferences, the outcome of a
//! choice depends only on the key, not on the path to the choice or the start of the search. There are two exceptions,
//! which the matcher handles. First, a loop ends if its body matches the empty string. So as long as the body has not
//! advanced, the outcome of a choice in the body also depends on where the body began. Second, if an atomic group or a
//! lookaround matches and then the rest of the pattern fails, the choices inside the group have not failed. So when a
//! group matches, the matcher discards the untried alternatives of the group and does not insert their choices.
//!
//! The set is a direct-mapped table: keys with the same index overwrite each other. A lost key costs time, but never
//! changes a match. Source: memoized backtracking as in packrat parsers and in Davis, Servant, Lee 2021, "Using
//! selective memoization to defeat regular expression denial of service".

/// Maximum number of entries, which take 64 MiB.
const MAX_ENTRIES: usize = 1 << 24;

pub(super) struct FailureCache {
    /// The low bits of a key are the index of its entry, and the entry's value is 1 + the high bits of the key. A free
    /// entry is 0. The length of the table is a power of two.
    entries: Vec<u32>,
}

impl FailureCache {
    pub(super) fn new(choices: usize, bytes: usize) -> Self {
        let keys = choices.saturating_mul(bytes + 1).clamp(1, MAX_ENTRIES);
        Self { entries: vec![0; keys.next_power_of_two()] }
    }

    pub(super) fn has(&self, key: usize) -> bool {
        let (index, rest) = self.split(key);
        self.entries[index] == rest
    }

    pub(super) fn insert(&mut self, key: usize) {
        let (index, rest) = self.split(key);
        self.entries[index] = rest;
    }

    /// Splits a key into index and high bits. The high bits fit in 32 bits for any text of less than a TB, even with
    /// the largest pattern.
    fn split(&self, key: usize) -> (usize, u32) {
        let size = self.entries.len();
        (key & (size - 1), (key >> size.trailing_zeros()) as u32 + 1)
    }
}
