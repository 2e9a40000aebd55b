//! Large lists, whose memory is kept for the next.
//!
//! Memory that a program touches for the first time costs a fault for every page, and on a virtual machine whose host has to find it, too, some
//! microseconds: for the ids of a text that takes as long as to find them. So what a large result took waits for the next one, and what each thread
//! had of it.
//!
//! Not in large pages: those that nobody had lately cost milliseconds each there, more than they save in lists that are read in order.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::slot::Slot;

/// The memory of ids that nobody looks at any more.
pub static IDS: Spare<u32> = Spare::new();

/// The same of texts.
pub static TEXTS: Spare<u8> = Spare::new();

/// From so many bytes on a list is kept, and up to so many all together. What of a list nobody wrote is no memory.
const LARGE: usize = 1 << 20;
const MOST: usize = 32 << 20;

/// Lists that may wait: a result, and what some threads had of it.
const LISTS: usize = 8;

/// Lists whose memory waits for the next one that is large.
pub struct Spare<T: Send> {
    lists: [Slot<Vec<T>>; LISTS],
    bytes: AtomicUsize, // that were written in them
}

impl<T: Send + Copy> Spare<T> {
    const fn new() -> Self {
        Self { lists: [const { Slot::new() }; LISTS], bytes: AtomicUsize::new(0) }
    }

    /// An empty list with so much room: the smallest that has it.
    pub fn take(&self, room: usize) -> Vec<T> {
        let mut best: Option<Box<Vec<T>>> = None;
        if room * size_of::<T>() >= LARGE {
            for slot in &self.lists {
                let Some(list) = slot.take() else { continue };
                let is_better = best.as_ref().is_none_or(|best| list.capacity() < best.capacity());
                let other = if is_better && list.capacity() >= room { best.replace(list) } else { Some(list) };
                other.and_then(|other| slot.put(other)).into_iter().for_each(|list| self.goes(&list));
            }
        }
        let Some(mut list) = best else { return Vec::with_capacity(room) };
        self.goes(&list);
        list.clear();
        *list
    }

    /// Keeps what a list took, if that is large and not huge; smaller ones make room for it.
    pub fn keep(&self, list: Vec<T>) {
        let bytes = std::mem::size_of_val(&list[..]);
        if !(LARGE..=MOST).contains(&bytes) {
            return;
        }
        let mut list = Some(Box::new(list));
        for slot in &self.lists {
            let is_full = self.bytes.load(Ordering::Relaxed) + bytes > MOST;
            let there = if is_full { slot.take() } else { None };
            if let Some(there) = there {
                let is_smaller = std::mem::size_of_val(&there[..]) < bytes;
                let goes = if is_smaller { Some(there) } else { slot.put(there) };
                goes.iter().for_each(|list| self.goes(list));
            }
        }
        for slot in &self.lists {
            if self.bytes.load(Ordering::Relaxed) + bytes > MOST {
                return;
            }
            list = list.and_then(|list| {
                self.bytes.fetch_add(bytes, Ordering::Relaxed);
                let back = slot.put(list);
                back.iter().for_each(|list| self.goes(list));
                back
            });
            if list.is_none() {
                return;
            }
        }
    }

    /// This list is kept no longer.
    fn goes(&self, list: &[T]) {
        self.bytes.fetch_sub(std::mem::size_of_val(list), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_taken_again() {
        let many = LARGE;
        let spare = Spare::new();
        let kept = || spare.bytes.load(Ordering::Relaxed);
        assert!(spare.take(many).capacity() >= many);
        spare.keep(Vec::with_capacity(2 * many));
        assert_eq!(kept(), 0, "nobody wrote it");
        let written = |capacity: usize, len: usize| {
            let mut list = Vec::with_capacity(capacity);
            list.resize(len, 1u32);
            list
        };
        let (large, small) = (written(3 * many, 2 * many), written(2 * many, many));
        let (start, start_of_small) = (large.as_ptr(), small.as_ptr());
        spare.keep(large);
        spare.keep(small);
        assert_eq!(kept(), 12 * many);
        let short = spare.take(10);
        assert_ne!(short.as_ptr(), start_of_small, "too small to be worth it");
        let again = spare.take(many);
        assert!(again.is_empty() && again.as_ptr() == start_of_small, "the smallest that has room");
        let again = spare.take(many);
        assert!(again.is_empty() && again.as_ptr() == start);
        assert_eq!(kept(), 0);
        spare.keep(written(many, many));
        assert!(spare.take(many + 1).capacity() > many, "what was kept is too small");
        assert_eq!(kept(), 4 * many);
        spare.keep(written(MOST / 4, MOST / 4));
        assert_eq!(kept(), MOST, "and makes room");
        spare.keep(written(many, many));
        assert_eq!(kept(), MOST, "but not for what is smaller");
        spare.keep(written(MOST / 4 + 1, MOST / 4 + 1));
        assert_eq!(kept(), MOST, "too large");
    }

    #[test]
    fn more_lists_than_places() {
        let spare = Spare::new();
        (0..LISTS + 3).for_each(|_| spare.keep(vec![1u8; LARGE]));
        assert_eq!(spare.bytes.load(Ordering::Relaxed), LISTS * LARGE);
    }
}
