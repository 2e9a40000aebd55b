//! Large lists, whose memory is kept for the next.
//!
//! Memory that a program touches for the first time costs a fault for every page, and on a virtual machine whose host
//! has to find it, too, some microseconds: for the ids of a text that takes as long as to find them. So what a large
//! result took waits for the next one.
//!
//! Not in large pages: those that nobody had lately cost milliseconds each there, more than they save in lists that are
//! read in order.

use crate::atomic_cell::AtomicCell;

/// The memory of ids that nobody looks at any more.
pub static IDS: Spare<u32> = Spare(AtomicCell::new());

/// The same of texts.
pub static TEXTS: Spare<u8> = Spare(AtomicCell::new());

/// From so many bytes on it is kept, and up to so many. What of a list nobody wrote is no memory.
const KEPT: std::ops::RangeInclusive<usize> = 1 << 20..=32 << 20;

/// A list whose memory waits for the next one that is large.
pub struct Spare<T: Send>(AtomicCell<Vec<T>>);

impl<T: Send + Copy> Spare<T> {
    /// An empty list with so much room.
    pub fn take(&self, room: usize) -> Vec<T> {
        let wants = room * size_of::<T>() >= *KEPT.start();
        let kept = if wants { self.0.take().filter(|list| list.capacity() >= room) } else { None };
        let mut list = kept.map_or_else(|| Vec::with_capacity(room), |list| *list);
        list.clear();
        list
    }

    /// Keeps what a list took, if that is large and not huge.
    pub fn keep(&self, list: Vec<T>) {
        if KEPT.contains(&std::mem::size_of_val(&list[..])) {
            self.0.put(Box::new(list));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_taken_again() {
        let many = *KEPT.start();
        let spare = Spare(AtomicCell::new());
        assert!(spare.take(many).capacity() >= many);
        spare.keep(Vec::with_capacity(2 * many));
        assert!(spare.0.take().is_none(), "nobody wrote it");
        let mut list = Vec::with_capacity(2 * many);
        list.resize(many, 1u32);
        let start = list.as_ptr();
        spare.keep(list);
        let small = spare.take(10);
        assert_ne!(small.as_ptr(), start, "too small to be worth it");
        let again = spare.take(2 * many);
        assert!(again.is_empty() && again.as_ptr() == start);
        spare.keep(vec![1; many]);
        assert!(spare.take(many + 1).capacity() > many, "what was kept is too small, and goes");
        spare.keep(vec![1; *KEPT.end() / 4 + 1]);
        assert!(spare.0.take().is_none(), "too large");
    }
}
