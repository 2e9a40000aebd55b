//! `Exclusive`: a value that only one call at a time can change, even if the call releases the GIL or runs Python code.
//!
//! The mutex is held only for short steps, none of which releases the GIL or runs Python code. A long change marks the
//! value as being changed and releases the mutex while it works. If it held the mutex, two kinds of code would block
//! forever: a signal handler or finalizer that runs during the change in the same thread, and a child process forked
//! during the change, in which the changing thread does not exist.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::sync::MutexExt;

use crate::error::ConfigError;

/// Interval at which a call checks whether the change of another thread has ended.
const INTERVAL: Duration = Duration::from_millis(1);

/// A value, and the thread that is changing it, if any.
pub struct Exclusive<T>(Mutex<State<T>>);

struct State<T> {
    value: T,
    changing: Option<Caller>,
}

/// A thread, identified by process and thread id.
#[derive(Clone, Copy)]
struct Caller {
    process: u32,
    thread: ThreadId,
}

impl<T> Exclusive<T> {
    pub fn new(value: T) -> Self {
        Self(Mutex::new(State { value, changing: None }))
    }

    /// Reads the value, without waiting for a long change to end. During a long change, `look` gets the value as left
    /// by the last [`LongChange::step`]. `look` must not run Python code.
    pub fn read<R>(&self, py: Python<'_>, look: impl FnOnce(&T) -> R) -> R {
        look(&self.lock(py).value)
    }

    /// Waits until no long change is in progress, and changes the value. `change` must not run Python code.
    ///
    /// # Errors
    /// `ConfigError` if a long change by this thread is in progress; any exception that a signal handler raises during
    /// the wait.
    pub fn change<R>(&self, py: Python<'_>, change: impl FnOnce(&mut T) -> R) -> PyResult<R> {
        Ok(change(&mut self.unchanging(py)?.value))
    }

    /// Begins a long change, which lasts until the guard is dropped.
    ///
    /// # Errors
    /// As [`Exclusive::change`].
    pub fn begin(&self, py: Python<'_>) -> PyResult<LongChange<'_, T>> {
        self.unchanging(py)?.changing = Some(Caller { process: std::process::id(), thread: thread::current().id() });
        Ok(LongChange(self))
    }

    /// Waits until no long change is in progress, and locks the value.
    fn unchanging(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, State<T>>> {
        loop {
            let mut state = self.lock(py);
            let Some(caller) = state.changing else { return Ok(state) };
            if caller.thread == thread::current().id() {
                drop(state);
                return Err(ConfigError::new_err(
                    "a signal handler or a finalizer uses an object during a call that changes the same object in the \
                     same thread; let it set a flag instead, or use a copy",
                ));
            }
            if caller.process != std::process::id() {
                state.changing = None; // the changing thread belonged to the parent process
                return Ok(state);
            }
            drop(state);
            py.detach(|| thread::sleep(INTERVAL));
            py.check_signals()?;
        }
    }

    fn lock(&self, py: Python<'_>) -> MutexGuard<'_, State<T>> {
        self.0.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner) // a panic has been reported to its caller
    }
}

/// A long change in progress. Other calls that change the value wait for it.
pub struct LongChange<'a, T>(&'a Exclusive<T>);

impl<T> LongChange<'_, T> {
    /// Accesses the value. `step` must not run Python code.
    pub fn step<R>(&self, py: Python<'_>, step: impl FnOnce(&mut T) -> R) -> R {
        step(&mut self.0.lock(py).value)
    }
}

impl<T> Drop for LongChange<'_, T> {
    fn drop(&mut self) {
        self.0 .0.lock().unwrap_or_else(PoisonError::into_inner).changing = None;
    }
}
