//! Lock-free cell that is empty or contains one boxed value.
//!
//! Pools use it instead of a mutex, for two reasons. In a child process that was forked while another thread held a
//! mutex, `lock` would wait forever. Also, locking and unlocking a mutex twice costs as much as encoding a word.

use std::fmt;
use std::ptr;
#[cfg(not(all(loom, test)))]
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::OnceLock;

/// Returns the value of `cell`, initialized on first use. Concurrent threads all run `make`, and the first value is
/// kept. `get_or_init` would instead wait for the initializing thread. In a child process that was forked during
/// initialization, the wait would never end.
pub fn made_once<T>(cell: &OnceLock<T>, make: impl FnOnce() -> T) -> &T {
    match cell.get() {
        Some(value) => value,
        None => {
            let made = make();
            cell.get_or_init(|| made) // the closure only moves the value
        }
    }
}

#[cfg(all(loom, test))]
use loom::sync::atomic::{AtomicPtr, Ordering};

/// Cell for one value, with atomic [`take`](Self::take) and [`put`](Self::put).
pub struct AtomicCell<T: Send>(AtomicPtr<T>);

impl<T: Send> AtomicCell<T> {
    /// Creates an empty cell.
    #[cfg(not(all(loom, test)))]
    pub const fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// Creates an empty cell. Not a `const fn`, because loom's atomics cannot be created in one.
    #[cfg(all(loom, test))]
    pub fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// Removes and returns the value; `None` if the cell is empty.
    pub fn take(&self) -> Option<Box<T>> {
        let pointer = self.0.swap(ptr::null_mut(), Ordering::Acquire);
        // SAFETY: only `put` stores a pointer that is not null, and it took that pointer from a box. The swap removes
        // the pointer, so no other call returns it. `Release` in `put` and `Acquire` here ensure that all accesses by
        // the thread that called `put` happen before the accesses by this thread.
        (!pointer.is_null()).then(|| unsafe { Box::from_raw(pointer) })
    }

    /// Stores `value` and returns `None` if the cell is empty; returns `value` if the cell is full.
    pub fn put(&self, value: Box<T>) -> Option<Box<T>> {
        let value = Box::into_raw(value);
        let done = self.0.compare_exchange(ptr::null_mut(), value, Ordering::Release, Ordering::Relaxed);
        // SAFETY: `value` came from a box. The exchange failed, so it was not stored, and no other thread has it.
        done.err().map(|_| unsafe { Box::from_raw(value) })
    }
}

impl<T: Send> Default for AtomicCell<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Send> Drop for AtomicCell<T> {
    fn drop(&mut self) {
        self.take();
    }
}

impl<T: Send> fmt::Debug for AtomicCell<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0.load(Ordering::Relaxed).is_null() {
            "AtomicCell(empty)"
        } else {
            "AtomicCell(full)"
        })
    }
}

// The loom models of the cell are in `tests/atomic_cell_models.rs`, which includes this file.
#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;
    use std::thread;

    #[test]
    fn stored_value_is_taken_once() {
        let cell = AtomicCell::default();
        assert!(cell.take().is_none());
        assert!(cell.put(Box::new(1)).is_none());
        assert_eq!(cell.put(Box::new(2)), Some(Box::new(2)));
        assert_eq!(cell.take(), Some(Box::new(1)));
        assert!(cell.take().is_none());
    }

    #[test]
    fn concurrent_threads_lose_no_value() {
        struct Counted<'a>(&'a AtomicUsize);
        impl Drop for Counted<'_> {
            fn drop(&mut self) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        let (made, gone) = (AtomicUsize::new(0), AtomicUsize::new(0));
        {
            let cell = AtomicCell::default();
            let work = || {
                for _ in 0..10_000 {
                    let mine = cell.take().unwrap_or_else(|| {
                        made.fetch_add(1, Ordering::Relaxed);
                        Box::new(Counted(&gone))
                    });
                    drop(cell.put(mine));
                }
            };
            thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(work))));
            let kept = usize::from(!cell.0.load(Ordering::Relaxed).is_null());
            assert_eq!(made.load(Ordering::Relaxed), gone.load(Ordering::Relaxed) + kept);
        }
        assert_eq!(made.load(Ordering::Relaxed), gone.load(Ordering::Relaxed));
    }
}
