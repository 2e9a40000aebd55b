//! Long work and the interpreter: signals are looked at, and the caller's progress function is called, now and then.

use std::time::{Duration, Instant};

use jeton_core::error::{Error, ErrorKind};
use pyo3::prelude::*;

/// How often long work goes back to the interpreter. A tenth of the second in which Ctrl-C must work.
const EVERY: Duration = Duration::from_millis(100);

/// Remembers what the interpreter said, so that the right exception is raised when the core has stopped.
pub struct Watch {
    last: Instant,
    raised: Option<PyErr>,
    progress: Option<Py<PyAny>>,
}

impl Watch {
    /// A watch that calls `progress` with a number.
    pub fn new(progress: Option<Py<PyAny>>) -> Self {
        Self { last: Instant::now(), raised: None, progress }
    }

    /// Whether to go on. Called without the interpreter; cheap between two looks.
    pub fn go_on(&mut self, done: usize) -> bool {
        if self.raised.is_some() {
            return false;
        }
        if self.last.elapsed() < EVERY {
            return true;
        }
        self.last = Instant::now();
        let said = Python::attach(|py| {
            py.check_signals()?;
            match &self.progress {
                Some(progress) => progress.call1(py, (done,)).map(drop),
                None => Ok(()),
            }
        });
        self.raised = said.err();
        self.raised.is_none()
    }

    /// The exception for a core error: for an interruption what the interpreter raised, else what `convert` makes of it.
    pub fn error(self, failed: Error, convert: impl FnOnce(Error) -> PyErr) -> PyErr {
        match (failed.kind(), self.raised) {
            (ErrorKind::Interrupted, Some(raised)) => raised,
            _ => convert(failed),
        }
    }
}
