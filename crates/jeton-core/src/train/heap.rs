//! Binary heap that gets its comparison with each call, for tie rules that compare strings stored outside of the
//! entries.

use crate::error::Result;
use crate::util::alloc;

/// A binary heap with the best entry on top.
#[derive(Debug)]
pub struct Heap<T> {
    entries: Vec<T>,
}

impl<T> Default for Heap<T> {
    fn default() -> Self {
        Self { entries: Vec::new() }
    }
}

impl<T> Heap<T> {
    /// Adds an entry.
    ///
    /// # Errors
    /// [`crate::error::Error::memory`].
    pub fn push(&mut self, entry: T, beats: impl Fn(&T, &T) -> bool) -> Result<()> {
        alloc::reserve(&mut self.entries, 1)?;
        self.entries.push(entry);
        let mut at = self.entries.len() - 1;
        while at > 0 && beats(&self.entries[at], &self.entries[(at - 1) / 2]) {
            self.entries.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
        Ok(())
    }

    /// Returns the best entry.
    pub fn top(&self) -> Option<&T> {
        self.entries.first()
    }

    /// Replaces the best entry by an entry that is not better.
    pub fn replace_top(&mut self, entry: T, beats: impl Fn(&T, &T) -> bool) {
        if let Some(top) = self.entries.first_mut() {
            *top = entry;
            self.sink(0, &beats);
        }
    }

    /// Pops the best entry.
    pub fn pop(&mut self, beats: impl Fn(&T, &T) -> bool) -> Option<T> {
        if self.entries.is_empty() {
            return None;
        }
        let best = self.entries.swap_remove(0);
        self.sink(0, &beats);
        Some(best)
    }

    fn sink(&mut self, mut at: usize, beats: &impl Fn(&T, &T) -> bool) {
        loop {
            let mut best = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < self.entries.len() && beats(&self.entries[child], &self.entries[best]) {
                    best = child;
                }
            }
            if best == at {
                return;
            }
            self.entries.swap(at, best);
            at = best;
        }
    }
}
