//! Best-fit decreasing bin packing: lengths → rows of equal capacity.
//!
//! Items are placed by decreasing length; items of equal length keep their order. Each item is placed into the row
//! with the least free space in which it fits, or into a new row. Among rows with equal free space, the row that
//! changed last is chosen. Rows are numbered in the order in which they are opened.
//!
//! Cost: O(n log₆₄ capacity) time, by a counting sort and a bit set of the free spaces that occur; 8 bytes for each
//! item and 8 for each unit of capacity.
//!
//! Source: Ding et al., Fewer Truncations Improve Language Modeling (arXiv 2404.10830), section 3.2.

use crate::error::Result;
use crate::util::alloc;

const NONE: u32 = u32::MAX;

/// Returns the row of each item. Lengths must be from 1 to `capacity`, and there must be fewer than `u32::MAX` items.
///
/// # Errors
/// [`crate::error::ErrorKind::Memory`].
pub fn best_fit(lengths: &[u32], capacity: u32) -> Result<Vec<u32>> {
    let mut rows = alloc::filled(0, lengths.len())?;
    let mut spaces = FreeSpaces::new(capacity)?;
    for index in decreasing(lengths, capacity)? {
        let length = lengths[index as usize];
        rows[index as usize] = spaces.place(length)?;
    }
    Ok(rows)
}

/// Returns the indices by decreasing length; equal lengths keep their order.
fn decreasing(lengths: &[u32], capacity: u32) -> Result<Vec<u32>> {
    let mut starts = alloc::filled(0u32, capacity as usize + 1)?;
    lengths.iter().for_each(|&length| starts[length as usize] += 1);
    let mut before = 0;
    for start in starts.iter_mut().rev() {
        (*start, before) = (before, before + *start);
    }
    let mut order = alloc::filled(0u32, lengths.len())?;
    for (index, &length) in (0u32..).zip(lengths) {
        let start = &mut starts[length as usize];
        order[*start as usize] = index;
        *start += 1;
    }
    Ok(order)
}

/// Rows by their free space: for each amount of free space, a stack of rows, stored as a linked list.
struct FreeSpaces {
    capacity: u32,
    tops: Vec<u32>, // free space -> the row that changed last, or NONE
    next: Vec<u32>, // row -> the row below it in its stack, or NONE
    nonempty: BitSet,
}

impl FreeSpaces {
    fn new(capacity: u32) -> Result<Self> {
        let tops = alloc::filled(NONE, capacity as usize + 1)?;
        Ok(Self { capacity, tops, next: Vec::new(), nonempty: BitSet::new(capacity as usize + 1)? })
    }

    /// Places an item and returns its row.
    fn place(&mut self, length: u32) -> Result<u32> {
        let (row, free) = match self.nonempty.at_least(length as usize) {
            Some(free) => (self.pop(free), free),
            None => {
                alloc::reserve(&mut self.next, 1)?;
                self.next.push(NONE);
                (self.next.len() as u32 - 1, self.capacity as usize)
            }
        };
        self.push(row, free - length as usize);
        Ok(row)
    }

    fn pop(&mut self, free: usize) -> u32 {
        let row = self.tops[free];
        self.tops[free] = self.next[row as usize];
        if self.tops[free] == NONE {
            self.nonempty.remove(free);
        }
        row
    }

    fn push(&mut self, row: u32, free: usize) {
        self.next[row as usize] = self.tops[free];
        self.tops[free] = row;
        self.nonempty.insert(free);
    }
}

/// Set of small integers, with a search for the least member that is at least a given bound. The lowest level has one
/// bit for each integer. In each higher level, a bit is set if the corresponding word of the level below is not 0.
struct BitSet {
    levels: Vec<Vec<u64>>,
}

impl BitSet {
    fn new(len: usize) -> Result<Self> {
        let mut levels = Vec::new();
        let mut words = len;
        while levels.is_empty() || words > 1 {
            words = words.div_ceil(64);
            levels.push(alloc::filled(0u64, words)?);
        }
        Ok(Self { levels })
    }

    fn insert(&mut self, value: usize) {
        let mut at = value;
        for level in &mut self.levels {
            level[at / 64] |= 1 << (at % 64);
            at /= 64;
        }
    }

    fn remove(&mut self, value: usize) {
        let mut at = value;
        for level in &mut self.levels {
            level[at / 64] &= !(1 << (at % 64));
            if level[at / 64] != 0 {
                break;
            }
            at /= 64;
        }
    }

    /// Returns the least member that is at least `bound`.
    fn at_least(&self, bound: usize) -> Option<usize> {
        let mut at = bound;
        for (height, level) in self.levels.iter().enumerate() {
            let word = level.get(at / 64)? & (u64::MAX << (at % 64));
            if word != 0 {
                let mut found = at / 64 * 64 + word.trailing_zeros() as usize;
                for below in self.levels[..height].iter().rev() {
                    found = found * 64 + below[found].trailing_zeros() as usize;
                }
                return Some(found);
            }
            at = at / 64 + 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// Best-fit decreasing by searching all rows.
    fn slow(lengths: &[u32], capacity: u32) -> Vec<u32> {
        let mut order: Vec<usize> = (0..lengths.len()).collect();
        order.sort_by_key(|&index| std::cmp::Reverse(lengths[index]));
        let mut rows: Vec<(u32, usize)> = Vec::new(); // free space, time of the last change
        let mut of = vec![0; lengths.len()];
        for (time, index) in order.into_iter().enumerate() {
            let fits = (0..rows.len()).filter(|&row| rows[row].0 >= lengths[index]);
            let row = fits.min_by_key(|&row| (rows[row].0, std::cmp::Reverse(rows[row].1))).unwrap_or_else(|| {
                rows.push((capacity, time));
                rows.len() - 1
            });
            rows[row] = (rows[row].0 - lengths[index], time);
            of[index] = row as u32;
        }
        of
    }

    proptest! {
        #[test]
        fn rows_equal_those_of_a_plain_search(
            (capacity, lengths) in (1u32..300).prop_flat_map(|most| (Just(most), prop::collection::vec(1..=most, 0..200)))
        ) {
            prop_assert_eq!(best_fit(&lengths, capacity).unwrap(), slow(&lengths, capacity));
        }

        #[test]
        fn bit_set_equals_a_btree_set(values in prop::collection::vec((0usize..5000, any::<bool>()), 0..200), bound in 0usize..5100) {
            let (mut bits, mut set) = (BitSet::new(5000).unwrap(), BTreeSet::new());
            for (value, is_in) in values {
                if is_in {
                    bits.insert(value);
                    set.insert(value);
                } else {
                    bits.remove(value);
                    set.remove(&value);
                }
            }
            prop_assert_eq!(bits.at_least(bound), set.range(bound..).next().copied());
        }
    }

    #[test]
    fn no_capacity_is_needed_without_items() {
        assert_eq!(best_fit(&[], 4096).unwrap(), Vec::<u32>::new());
        assert_eq!(best_fit(&[4096, 1, 4095], 4096).unwrap(), [0, 1, 1]);
    }
}
