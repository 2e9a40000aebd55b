//! A place that holds one thing, or nothing, and where nobody waits.
//!
//! In a process that was forked while another thread held a lock, whoever takes the lock waits forever. And to take a lock twice costs as much as to
//! encode a word.

use std::fmt;
use std::ptr;
#[cfg(not(all(loom, test)))]
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::OnceLock;

/// The value of a cell, which is made when it is first asked for. Threads that come at once all make it, and the first one's is kept: to wait
/// for another thread that makes it would last forever in a process that was forked meanwhile.
pub fn made_once<T>(cell: &OnceLock<T>, make: impl FnOnce() -> T) -> &T {
    match cell.get() {
        Some(value) => value,
        None => {
            let made = make();
            cell.get_or_init(|| made) // which only moves it
        }
    }
}

#[cfg(all(loom, test))]
use loom::sync::atomic::{AtomicPtr, Ordering};

/// The place.
pub struct Slot<T: Send>(AtomicPtr<T>);

impl<T: Send> Slot<T> {
    /// Nothing is there.
    #[cfg(not(all(loom, test)))]
    pub const fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// Nothing is there. Loom's atomics cannot be constants.
    #[cfg(all(loom, test))]
    pub fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// What is there, if nobody was faster.
    pub fn take(&self) -> Option<Box<T>> {
        let there = self.0.swap(ptr::null_mut(), Ordering::Acquire);
        // SAFETY: only `put` stores a pointer that is not null, which it got from a box and gave up. The swap removes it, so no other
        // call returns it. `Acquire` here and `Release` there order what the other thread did to the box before this.
        (!there.is_null()).then(|| unsafe { Box::from_raw(there) })
    }

    /// Leaves it there, or gives it back where something is.
    pub fn put(&self, thing: Box<T>) -> Option<Box<T>> {
        let thing = Box::into_raw(thing);
        let done = self.0.compare_exchange(ptr::null_mut(), thing, Ordering::Release, Ordering::Relaxed);
        // SAFETY: `thing` came from a box; the exchange failed, so it was not stored and no other thread has it.
        done.err().map(|_| unsafe { Box::from_raw(thing) })
    }
}

impl<T: Send> Default for Slot<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Send> Drop for Slot<T> {
    fn drop(&mut self) {
        self.take();
    }
}

impl<T: Send> fmt::Debug for Slot<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0.load(Ordering::Relaxed).is_null() { "Slot(empty)" } else { "Slot(full)" })
    }
}

// Its models under loom are in `tests/slot_models.rs`, which includes this file.
#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;
    use std::thread;

    #[test]
    fn what_is_put_is_taken_once() {
        let slot = Slot::default();
        assert!(slot.take().is_none());
        assert!(slot.put(Box::new(1)).is_none());
        assert_eq!(slot.put(Box::new(2)), Some(Box::new(2)));
        assert_eq!(slot.take(), Some(Box::new(1)));
        assert!(slot.take().is_none());
    }

    #[test]
    fn threads_lose_nothing() {
        struct Counted<'a>(&'a AtomicUsize);
        impl Drop for Counted<'_> {
            fn drop(&mut self) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        let (made, gone) = (AtomicUsize::new(0), AtomicUsize::new(0));
        {
            let slot = Slot::default();
            let work = || {
                for _ in 0..10_000 {
                    let mine = slot.take().unwrap_or_else(|| {
                        made.fetch_add(1, Ordering::Relaxed);
                        Box::new(Counted(&gone))
                    });
                    drop(slot.put(mine));
                }
            };
            thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(work))));
            let kept = usize::from(!slot.0.load(Ordering::Relaxed).is_null());
            assert_eq!(made.load(Ordering::Relaxed), gone.load(Ordering::Relaxed) + kept);
        }
        assert_eq!(made.load(Ordering::Relaxed), gone.load(Ordering::Relaxed));
    }
}
