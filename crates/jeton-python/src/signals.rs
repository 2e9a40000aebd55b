//! Runs Python's signal handlers and progress callbacks during long work.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use jeton_core::error::Error;
use jeton_core::util::cancel::{KeepGoing, KeepGoingMut};
use pyo3::prelude::*;

use crate::callback;

/// Interval at which long work calls the interpreter: a tenth of a second, because Ctrl-C must take effect within a
/// second.
const INTERVAL: Duration = Duration::from_millis(100);

/// Cancellation check that runs signal handlers and a progress callback, and stores the exception they raise.
pub struct SignalCheck {
    last: Instant,
    raised: Option<PyErr>,
    grace_period: Duration,
    deadline: Option<Instant>, // end of the grace period
    progress: Option<Py<PyAny>>,
}

impl SignalCheck {
    /// Creates a check that calls `progress`, if any, with the amount of work done.
    pub fn new(progress: Option<Py<PyAny>>) -> Self {
        Self { last: Instant::now(), raised: None, grace_period: Duration::ZERO, deadline: None, progress }
    }

    /// Gives the work a grace period after Ctrl-C, to reach a point from which it can be resumed.
    pub fn with_grace_period(self, grace_period: Duration) -> Self {
        Self { grace_period, ..self }
    }

    /// Returns false to cancel the work. Must be called without the GIL. A call is cheap, except the first after each
    /// interval.
    pub fn keep_going(&mut self, done: usize) -> bool {
        if self.raised.is_some() {
            return self.deadline.is_some_and(|deadline| Instant::now() < deadline);
        }
        if self.last.elapsed() < INTERVAL {
            return true;
        }
        self.last = Instant::now();
        let called = callback::attached(|py| {
            py.check_signals()?;
            match &self.progress {
                Some(progress) => callback::call(progress.bind(py), &(done,).into_pyobject(py)?).map(drop),
                None => Ok(()),
            }
        });
        self.raised = called.err();
        self.deadline = self.raised.is_some().then(|| self.last + self.grace_period);
        self.raised.is_none() || !self.grace_period.is_zero()
    }

    /// Converts the result for the caller. An exception from Python takes precedence over a result: the work can finish
    /// before it notices an exception such as Ctrl-C, which would otherwise be lost.
    pub fn finish<R, E>(self, done: Result<R, E>, convert: impl FnOnce(E) -> PyErr) -> PyResult<R> {
        match self.raised {
            Some(raised) => Err(raised),
            None => done.map_err(convert),
        }
    }
}

/// Runs work in the calling thread without the GIL; handles signals at intervals.
pub fn run_with_signals<R: Send>(
    py: Python<'_>,
    work: impl FnOnce(KeepGoing<'_>) -> Result<R, Error> + Send,
    convert: impl FnOnce(Error) -> PyErr,
) -> PyResult<R> {
    let watch = Mutex::new(SignalCheck::new(None));
    let keep_going = || watch.lock().is_ok_and(|mut watch| watch.keep_going(0));
    let done = py.detach(|| work(&keep_going));
    match watch.into_inner() {
        Ok(watch) => watch.finish(done, convert),
        Err(_) => done.map_err(convert),
    }
}

/// Runs work on several threads without the GIL; the calling thread handles signals at intervals.
pub fn run_on_threads<R: Send, E: Send>(
    py: Python<'_>,
    work: impl FnOnce(KeepGoingMut<'_>) -> Result<R, E> + Send,
    convert: impl FnOnce(E) -> PyErr,
) -> PyResult<R> {
    let mut watch = SignalCheck::new(None);
    let done = py.detach(|| work(&mut || watch.keep_going(0)));
    watch.finish(done, convert)
}
