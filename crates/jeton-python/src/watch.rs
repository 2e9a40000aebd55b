//! Long work and the interpreter: signals are looked at, and the caller's progress function is called, now and then.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use jeton_core::cancel::KeepGoing;
use jeton_core::error::Error;
use pyo3::prelude::*;

use crate::callback;

/// How often long work goes back to the interpreter. A tenth of the second in which Ctrl-C must work.
const EVERY: Duration = Duration::from_millis(100);

/// Remembers what the interpreter said, so that the right exception is raised when the core has stopped.
pub struct Watch {
    last: Instant,
    raised: Option<PyErr>,
    patience: Duration,
    until: Option<Instant>, // when patience ends
    progress: Option<Py<PyAny>>,
}

impl Watch {
    /// A watch that calls `progress` with a number.
    pub fn new(progress: Option<Py<PyAny>>) -> Self {
        Self { last: Instant::now(), raised: None, patience: Duration::ZERO, until: None, progress }
    }

    /// The same, but after Ctrl-C the work may go on for this long, so that it can end where it can be taken up again.
    pub fn patient(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Whether to go on. Called without the interpreter; cheap between two looks.
    pub fn keep_going(&mut self, done: usize) -> bool {
        if self.raised.is_some() {
            return self.until.is_some_and(|until| Instant::now() < until);
        }
        if self.last.elapsed() < EVERY {
            return true;
        }
        self.last = Instant::now();
        let said = callback::attached(|py| {
            py.check_signals()?;
            match &self.progress {
                Some(progress) => callback::call(progress.bind(py), &(done,).into_pyobject(py)?).map(drop),
                None => Ok(()),
            }
        });
        self.raised = said.err();
        self.until = self.raised.is_some().then(|| self.last + self.patience);
        self.raised.is_none() || !self.patience.is_zero()
    }

    /// What the caller gets. What the interpreter raised comes first, also where the work was done before it noticed: an
    /// exception that was taken from the interpreter and not raised would be lost, Ctrl-C among them.
    pub fn finish<R, E>(self, done: Result<R, E>, convert: impl FnOnce(E) -> PyErr) -> PyResult<R> {
        match self.raised {
            Some(raised) => Err(raised),
            None => done.map_err(convert),
        }
    }
}

/// Runs work on the calling thread without the interpreter, and goes back to it now and then.
pub fn watched<R: Send>(
    py: Python<'_>,
    work: impl FnOnce(KeepGoing<'_>) -> Result<R, Error> + Send,
    convert: impl FnOnce(Error) -> PyErr,
) -> PyResult<R> {
    let watch = Mutex::new(Watch::new(None));
    let keep_going = || watch.lock().is_ok_and(|mut watch| watch.keep_going(0));
    let done = py.detach(|| work(&keep_going));
    match watch.into_inner() {
        Ok(watch) => watch.finish(done, convert),
        Err(_) => done.map_err(convert),
    }
}
