//! Bucket queue: a priority queue by count, with a bucket for each count.
//!
//! Counts fall while pairs are merged, and most pairs have low counts. A single binary heap would read several distant
//! cache lines for each push and pop. Here a push appends to the bucket of its count, and a bucket is sorted once all
//! buckets above it are empty. The order of the next entries is then known, so the caller can prefetch their data.
//!
//! Invariant: entries are popped in the same order as from a single heap. If the count of a pushed entry is at least
//! the count of the current bucket, the entry goes to a binary heap. Each pop takes the better of two entries: the top
//! of the heap and the best entry of the current bucket.
//!
//! Cost: O(1) for a push, amortized O(log n) for a pop from a bucket of n entries. Source: bucket queues (Dial 1969,
//! "Algorithm 360"), with a heap for entries that are pushed too late for their bucket.

use std::cmp::Ordering;

use super::heap::Heap;
use crate::error::Result;
use crate::util::alloc;

/// Number of buckets, one for each count below this number. Entries with higher counts are few; they are in the heap.
const NUM_BUCKETS: u64 = 1 << 16;

/// Entry with a count, which is the first criterion of the order.
pub trait HasCount {
    /// Returns the count.
    fn count(&self) -> u64;
}

/// Returns a predicate on two entries that is true if the first one is better by `order`.
fn beats<T>(order: impl Fn(&T, &T) -> Ordering) -> impl Fn(&T, &T) -> bool {
    move |a, b| order(a, b).is_lt()
}

/// Priority queue for entries whose counts mostly decrease. The methods take the comparison of two entries as `order`.
#[derive(Debug)]
pub struct BucketQueue<T> {
    current: Vec<T>,      // entries of the current bucket, best last
    heap: Heap<T>,        // entries whose counts are too high for a bucket, or whose bucket was already sorted
    buckets: Vec<Vec<T>>, // count -> entries, for counts below `lowest`
    lowest: u64,
    top_is_current: bool, // the best entry is in `current`, not in the heap
}

impl<T> Default for BucketQueue<T> {
    fn default() -> Self {
        Self {
            current: Vec::new(),
            heap: Heap::default(),
            buckets: Vec::new(),
            lowest: NUM_BUCKETS,
            top_is_current: false,
        }
    }
}

impl<T: HasCount> BucketQueue<T> {
    /// Builds a queue.
    ///
    /// # Errors
    /// [`crate::error::Error::memory`].
    pub fn new(entries: impl IntoIterator<Item = T>, order: impl Fn(&T, &T) -> Ordering) -> Result<Self> {
        let mut queue = Self::default();
        for entry in entries {
            queue.push(entry, &order)?;
        }
        Ok(queue)
    }

    /// Pushes an entry.
    ///
    /// # Errors
    /// As [`BucketQueue::new`].
    pub fn push(&mut self, entry: T, order: impl Fn(&T, &T) -> Ordering) -> Result<()> {
        if entry.count() >= self.lowest {
            return self.heap.push(entry, beats(order));
        }
        let bucket = entry.count() as usize;
        if bucket >= self.buckets.len() {
            self.buckets.resize_with(bucket + 1, Vec::new); // this is at most `NUM_BUCKETS`
        }
        alloc::reserve(&mut self.buckets[bucket], 1)?;
        self.buckets[bucket].push(entry);
        Ok(())
    }

    /// Returns the best entry.
    pub fn top(&mut self, order: impl Fn(&T, &T) -> Ordering) -> Option<&T> {
        while self.current.is_empty() && self.heap.top().is_none() && self.lowest > 0 {
            self.lowest = (self.lowest - 1).min(self.buckets.len() as u64);
            self.current = self.buckets.get_mut(self.lowest as usize).map(std::mem::take).unwrap_or_default();
            self.current.sort_unstable_by(|a, b| order(b, a));
        }
        let (last, top) = (self.current.last(), self.heap.top());
        self.top_is_current = last.is_some_and(|last| top.is_none_or(|top| order(last, top).is_lt()));
        if self.top_is_current {
            last
        } else {
            top
        }
    }

    /// Returns the entry of the current bucket that comes after the next `after` entries of the same bucket. This is
    /// only a forecast of the pops: better entries of the heap, and better entries that are pushed later, are popped
    /// first.
    pub fn upcoming(&self, after: usize) -> Option<&T> {
        self.current.len().checked_sub(after + 1).map(|at| &self.current[at])
    }

    /// Removes the best entry, which the preceding call of [`BucketQueue::top`] has returned, and returns it.
    pub fn pop(&mut self, order: impl Fn(&T, &T) -> Ordering) -> Option<T> {
        if self.top_is_current {
            self.current.pop()
        } else {
            self.heap.pop(beats(order))
        }
    }

    /// Replaces the best entry, which the preceding call of [`BucketQueue::top`] has returned, by an entry that is not
    /// better.
    ///
    /// # Errors
    /// As [`BucketQueue::new`].
    pub fn replace_top(&mut self, entry: T, order: impl Fn(&T, &T) -> Ordering) -> Result<()> {
        if entry.count() >= self.lowest && !self.top_is_current {
            self.heap.replace_top(entry, beats(order));
            return Ok(());
        }
        self.pop(&order);
        self.push(entry, order)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    impl HasCount for (u64, u32) {
        fn count(&self) -> u64 {
            self.0
        }
    }

    /// Interleaved pushes and pops give the same order as sorting.
    #[test]
    fn order_equals_sorting() {
        let order = |a: &(u64, u32), b: &(u64, u32)| (b.0, a.1).cmp(&(a.0, b.1));
        let mut state = 1u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let counts = [0, 1, 2, 3, 50, 51, NUM_BUCKETS - 1, NUM_BUCKETS, NUM_BUCKETS + 1, u64::MAX];
        let mut queue = BucketQueue::new([], order).unwrap();
        let mut plain: Vec<(u64, u32)> = Vec::new();
        for name in 0..20_000 {
            if draw(3) > 0 {
                let entry = (counts[draw(10) as usize], name);
                queue.push(entry, order).unwrap();
                plain.push(entry);
                continue;
            }
            plain.sort_unstable_by_key(|&(count, name)| (count, std::cmp::Reverse(name)));
            assert_eq!(queue.top(order), plain.last());
            match plain.pop() {
                Some((count, name)) if draw(2) > 0 => {
                    let worse = (count / (1 + draw(3)), name + 100_000);
                    queue.replace_top(worse, order).unwrap();
                    plain.push(worse);
                }
                taken => assert_eq!(queue.pop(order), taken),
            }
        }
    }
}
