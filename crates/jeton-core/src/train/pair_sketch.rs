//! Upper bounds of the counts of all pairs, in a fixed amount of memory.
//!
//! An array of counters, indexed by the hash of a pair. Each counter adds up the counts of all pairs with its hash.
//! If the counter of a pair is below a threshold, so is the pair's count. A few rare pairs seem frequent because they
//! share a counter with others.
//!
//! Cost: 8 bytes for each counter; one random access for each pair. Source: Park, Chen and Yu 1995, "An effective
//! hash-based algorithm for mining association rules". Left out: several hash functions, because few pairs are
//! frequent.

use crate::error::Result;
use crate::util::alloc;
use crate::util::hash::Hash;

/// Sums over all pairs that have the same hash.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counter {
    weight: u32,    // sum of the pairs' counts; saturating
    positions: u32, // number of their positions in the sequences; saturating
}

impl Counter {
    fn add(&mut self, weight: u32, positions: u32) {
        self.weight = self.weight.saturating_add(weight);
        self.positions = self.positions.saturating_add(positions);
    }

    #[inline]
    fn reaches(self, floor: u64) -> bool {
        self.weight == u32::MAX || u64::from(self.weight) >= floor
    }
}

/// Array of counters, indexed by the hash of a pair.
#[derive(Debug, Clone)]
pub struct PairSketch {
    counters: Vec<Counter>, // their number is a power of two
    hash: Hash,
}

impl PairSketch {
    /// Creates a sketch of up to `most` counters, which are enough to recognize the frequent pairs of `num_ids` ids.
    ///
    /// A merged pair occurs at least about tokens / merges / 100 times. A counter should reach this number only if it
    /// has a merged pair. The occurrences of all pairs that are never merged add up to about the number of tokens of
    /// the corpus. With sixteen counters for each id, few counters that have only such pairs reach the number.
    ///
    /// # Errors
    /// [`crate::error::ErrorKind::Memory`].
    pub fn new(num_ids: usize, most: usize) -> Result<Self> {
        let least = num_ids.saturating_mul(16).min(1 << 28).next_power_of_two();
        let most = (most.max(64) + 1).next_power_of_two() / 2;
        Ok(Self { counters: alloc::filled(Counter::default(), least.min(most))?, hash: Hash::default() })
    }

    #[inline]
    fn counter(&self, left: u32, right: u32) -> usize {
        self.hash.int(u64::from(left) << 32 | u64::from(right)) as usize & (self.counters.len() - 1)
    }

    /// Adds the pairs of a sequence.
    #[inline]
    pub fn add(&mut self, ids: &[u32], weight: u64) {
        let weight = u32::try_from(weight).unwrap_or(u32::MAX);
        for pair in ids.windows(2) {
            let at = self.counter(pair[0], pair[1]);
            self.counters[at].add(weight, 1);
        }
    }

    /// Adds the counters of another sketch of the same size.
    pub fn join(&mut self, other: &Self) {
        for (counter, more) in self.counters.iter_mut().zip(&other.counters) {
            counter.add(more.weight, more.positions);
        }
    }

    /// Returns false if the count of a pair is surely below `floor`.
    #[inline]
    pub fn reaches(&self, left: u32, right: u32, floor: u64) -> bool {
        self.counters[self.counter(left, right)].reaches(floor)
    }

    fn reaching(&self, floor: u64) -> impl Iterator<Item = &Counter> {
        self.counters.iter().filter(move |counter| counter.reaches(floor))
    }

    /// Returns the number of counters that reach `floor`.
    pub fn num_reaching(&self, floor: u64) -> usize {
        self.reaching(floor).count()
    }

    /// Returns a floor that is higher than `floor`, but at most `most`. Among the positions of all pairs whose counters
    /// reach `floor`, about the fraction `share` belongs to pairs whose counters also reach the returned floor.
    pub fn raised(&self, floor: u64, most: u64, share: f64) -> u64 {
        let positions = |floor| self.reaching(floor).map(|counter| u64::from(counter.positions)).sum::<u64>();
        let wanted = (positions(floor) as f64 * share) as u64;
        let mut raised = floor;
        while raised < most {
            raised = raised.saturating_add(raised / 16 + 1).min(most);
            if positions(raised) <= wanted {
                break;
            }
        }
        raised
    }

    /// Returns an upper bound of the counts of all pairs.
    pub fn most(&self) -> u64 {
        match self.counters.iter().map(|counter| counter.weight).max() {
            Some(u32::MAX) => u64::MAX,
            most => most.unwrap_or(0).into(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_never_underestimated() {
        let mut sketch = PairSketch::new(1, 0).unwrap();
        let mut other = sketch.clone();
        assert_eq!(sketch.counters.len(), 16);
        for id in 0..100 {
            sketch.add(&[id, id + 1], u64::from(id));
            other.add(&[id, id + 1, id], 1);
        }
        other.add(&[7, 7], u64::MAX);
        sketch.join(&other);
        assert!((0..100).all(|id| sketch.reaches(id, id + 1, u64::from(id) + 1)));
        assert!(sketch.reaches(7, 7, u64::MAX) && sketch.most() == u64::MAX);
        assert!(sketch.num_reaching(2) <= 16 && sketch.num_reaching(u64::MAX) == 1);
        assert_eq!(sketch.raised(10, 10, 0.5), 10);
        assert!((10..=5000).contains(&sketch.raised(10, 5000, 0.5)));
    }
}
