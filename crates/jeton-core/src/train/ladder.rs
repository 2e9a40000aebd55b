//! Entries with a count, the best first: the rung that was reached, in order, and below it an unordered rung for each lower count.
//!
//! Counts fall while pairs are merged, and most pairs have low ones. In one heap of all, each entry that comes and goes touches a
//! path of places that are far from each other; here it is appended to the rung of its count, and a rung is sorted when everything
//! above it is done. So it is also known which entries come next, and who uses them can fetch what they need.
//!
//! Invariant: entries come out as from one heap. What is added with a count that is not lower than the rung's goes to a heap beside it, and
//! the better of the two is the next.

use super::heap::Heap;
use crate::error::Result;
use crate::memory;

/// Counts from here on have no rung: there are few pairs as frequent.
const RUNGS: u64 = 1 << 16;

/// What has a count that decides first.
pub trait Counted {
    /// The count.
    fn count(&self) -> u64;
}

/// A queue that is mostly asked from high counts to low ones.
#[derive(Debug)]
pub struct Ladder<T> {
    sorted: Vec<T>,     // the rung that was reached, the best last
    heap: Heap<T>,      // what has no rung, and what came later and cannot wait
    rungs: Vec<Vec<T>>, // by count, under `lowest`
    lowest: u64,
    is_sorted: bool, // whether the best of all is in `sorted`
}

impl<T> Default for Ladder<T> {
    fn default() -> Self {
        Self { sorted: Vec::new(), heap: Heap::default(), rungs: Vec::new(), lowest: RUNGS, is_sorted: false }
    }
}

impl<T: Counted> Ladder<T> {
    /// Orders `entries`.
    ///
    /// # Errors
    /// [`crate::error::ErrorKind::Memory`].
    pub fn new(entries: impl IntoIterator<Item = T>, beats: impl Fn(&T, &T) -> bool) -> Result<Self> {
        let mut ladder = Self::default();
        for entry in entries {
            ladder.push(entry, &beats)?;
        }
        Ok(ladder)
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// As [`Ladder::new`].
    pub fn push(&mut self, entry: T, beats: impl Fn(&T, &T) -> bool) -> Result<()> {
        if entry.count() >= self.lowest {
            return self.heap.push(entry, beats);
        }
        let rung = entry.count() as usize;
        if rung >= self.rungs.len() {
            self.rungs.resize_with(rung + 1, Vec::new); // at most `RUNGS`
        }
        memory::reserve(&mut self.rungs[rung], 1)?;
        self.rungs[rung].push(entry);
        Ok(())
    }

    /// The best entry.
    pub fn top(&mut self, beats: impl Fn(&T, &T) -> bool) -> Option<&T> {
        while self.sorted.is_empty() && self.heap.top().is_none() && self.lowest > 0 {
            self.lowest = (self.lowest - 1).min(self.rungs.len() as u64);
            self.sorted = self.rungs.get_mut(self.lowest as usize).map(std::mem::take).unwrap_or_default();
            self.sorted.sort_unstable_by(|a, b| beats(a, b).cmp(&beats(b, a)));
        }
        let (last, top) = (self.sorted.last(), self.heap.top());
        self.is_sorted = last.is_some_and(|last| top.is_none_or(|top| beats(last, top)));
        if self.is_sorted {
            last
        } else {
            top
        }
    }

    /// The entry that is best when so many others of its rung are gone, unless better ones come.
    pub fn coming(&self, after: usize) -> Option<&T> {
        self.sorted.len().checked_sub(after + 1).map(|at| &self.sorted[at])
    }

    /// Takes the best entry out, which [`Ladder::top`] has shown.
    pub fn pop(&mut self, beats: impl Fn(&T, &T) -> bool) -> Option<T> {
        if self.is_sorted {
            self.sorted.pop()
        } else {
            self.heap.pop(beats)
        }
    }

    /// The best entry, which [`Ladder::top`] has shown, has become worse.
    ///
    /// # Errors
    /// As [`Ladder::new`].
    pub fn replace_top(&mut self, entry: T, beats: impl Fn(&T, &T) -> bool) -> Result<()> {
        if entry.count() >= self.lowest && !self.is_sorted {
            self.heap.replace_top(entry, beats);
            return Ok(());
        }
        self.pop(&beats);
        self.push(entry, beats)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    impl Counted for (u64, u32) {
        fn count(&self) -> u64 {
            self.0
        }
    }

    /// Entries come and go; what comes out is what sorting gives.
    #[test]
    fn as_one_heap() {
        let beats = |a: &(u64, u32), b: &(u64, u32)| (b.0, a.1) < (a.0, b.1);
        let mut state = 1u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let counts = [0, 1, 2, 3, 50, 51, RUNGS - 1, RUNGS, RUNGS + 1, u64::MAX];
        let mut ladder = Ladder::new([], beats).unwrap();
        let mut plain: Vec<(u64, u32)> = Vec::new();
        for name in 0..20_000 {
            if draw(3) > 0 {
                let entry = (counts[draw(10) as usize], name);
                ladder.push(entry, beats).unwrap();
                plain.push(entry);
                continue;
            }
            plain.sort_unstable_by_key(|&(count, name)| (count, std::cmp::Reverse(name)));
            assert_eq!(ladder.top(beats), plain.last());
            match plain.pop() {
                Some((count, name)) if draw(2) > 0 => {
                    let worse = (count / (1 + draw(3)), name + 100_000);
                    ladder.replace_top(worse, beats).unwrap();
                    plain.push(worse);
                }
                taken => assert_eq!(ladder.pop(beats), taken),
            }
        }
    }
}
