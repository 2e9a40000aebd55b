//! Models of `atomic_cell` under loom: all interleavings of a few threads, with all values that the C11 memory model
//! permits a load to read.
//!
//!     python tools/sanitize.py loom
//!
//! Loom replaces the atomics of the module and reports concurrent accesses to one box, leaks and double frees.
#![cfg(loom)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../src/util/atomic_cell.rs"]
mod atomic_cell;

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::sync::Arc;
use loom::thread;

use atomic_cell::AtomicCell;

/// Value that counts its drops, and whose accesses loom tracks.
struct Counted {
    uses: UnsafeCell<usize>,
    dropped: Arc<AtomicUsize>,
}

impl Counted {
    fn boxed(dropped: &Arc<AtomicUsize>) -> Box<Self> {
        Box::new(Self { uses: UnsafeCell::new(0), dropped: dropped.clone() })
    }

    fn use_it(&mut self) {
        // SAFETY: `self` is borrowed exclusively; loom checks that no other access is concurrent.
        self.uses.with_mut(|uses| unsafe { *uses += 1 });
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.use_it();
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

/// Each thread takes the value, or makes one if the cell is empty, uses it, and puts it back.
fn share(threads: usize, rounds: usize) {
    let (slot, dropped, made) =
        (Arc::new(AtomicCell::new()), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let work = {
        let (slot, dropped, made) = (slot.clone(), dropped.clone(), made.clone());
        move || {
            for _ in 0..rounds {
                let mut mine = slot.take().unwrap_or_else(|| {
                    made.fetch_add(1, Ordering::Relaxed);
                    Counted::boxed(&dropped)
                });
                mine.use_it();
                if let Some(mut back) = slot.put(mine) {
                    back.use_it();
                }
            }
        }
    };
    let others: Vec<_> = (1..threads).map(|_| thread::spawn(work.clone())).collect();
    work();
    others.into_iter().for_each(|other| other.join().unwrap());
    drop(work);
    drop(slot);
    assert_eq!(made.load(Ordering::Relaxed), dropped.load(Ordering::Relaxed));
}

#[test]
fn two_threads_reuse_a_value() {
    loom::model(|| share(2, 2));
}

#[test]
fn three_threads_reuse_a_value() {
    loom::model(|| share(3, 1));
}

#[test]
fn one_of_two_threads_takes_a_value() {
    loom::model(|| {
        let (slot, dropped) = (Arc::new(AtomicCell::new()), Arc::new(AtomicUsize::new(0)));
        assert!(slot.put(Counted::boxed(&dropped)).is_none());
        let other = thread::spawn({
            let slot = slot.clone();
            move || slot.take().map(|mut mine| mine.use_it()).is_some()
        });
        let here = slot.take().map(|mut mine| mine.use_it()).is_some();
        assert!(here != other.join().unwrap());
        assert_eq!(dropped.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn one_of_two_threads_stores_a_value() {
    loom::model(|| {
        let (slot, dropped) = (Arc::new(AtomicCell::new()), Arc::new(AtomicUsize::new(0)));
        let put = |slot: &AtomicCell<Counted>, dropped: &Arc<AtomicUsize>| slot.put(Counted::boxed(dropped)).is_none();
        let other = thread::spawn({
            let (slot, dropped) = (slot.clone(), dropped.clone());
            move || put(&slot, &dropped)
        });
        let here = put(&slot, &dropped);
        assert!(here != other.join().unwrap());
        assert_eq!(dropped.load(Ordering::Relaxed), 1);
        drop(slot);
        assert_eq!(dropped.load(Ordering::Relaxed), 2);
    });
}
