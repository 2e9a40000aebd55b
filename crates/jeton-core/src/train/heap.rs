//! A binary heap whose order is handed in with each call, for tie rules that compare strings which the entries do not hold.

/// A heap; the entry that beats all others is on top.
#[derive(Debug)]
pub struct Heap<T> {
    entries: Vec<T>,
}

impl<T> Heap<T> {
    /// Orders `entries` in O(n).
    pub fn new(entries: Vec<T>, beats: impl Fn(&T, &T) -> bool) -> Self {
        let mut heap = Self { entries };
        for at in (0..heap.entries.len() / 2).rev() {
            heap.sink(at, &beats);
        }
        heap
    }

    /// Adds an entry.
    pub fn push(&mut self, entry: T, beats: impl Fn(&T, &T) -> bool) {
        self.entries.push(entry);
        let mut at = self.entries.len() - 1;
        while at > 0 && beats(&self.entries[at], &self.entries[(at - 1) / 2]) {
            self.entries.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }

    /// The best entry.
    pub fn top(&self) -> Option<&T> {
        self.entries.first()
    }

    /// The best entry has become worse.
    pub fn replace_top(&mut self, entry: T, beats: impl Fn(&T, &T) -> bool) {
        if let Some(top) = self.entries.first_mut() {
            *top = entry;
            self.sink(0, &beats);
        }
    }

    /// Takes the best entry out.
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
