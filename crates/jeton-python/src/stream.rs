//! `TextStream`: ids that arrive one by one → text.
//!
//! A lock makes every call atomic, so threads can share a stream.

use std::sync::{LockResult, Mutex, MutexGuard, PoisonError};

use jeton_core::decode::{InvalidUtf8, Stream};
use jeton_core::error::Error;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyList, PyString};

use crate::arguments;
use crate::error;
use crate::tokenizer::Tokenizer;

#[pyclass(frozen, module = "jeton._core")]
pub struct TextStream {
    tok: Py<Tokenizer>,
    stream: Mutex<Stream>,
}

/// Maximum number of ids that are decoded without releasing the GIL.
const SHORT: usize = 1 << 10;

#[pymethods]
impl TextStream {
    /// `errors`: "replace", "ignore" or "strict". Stop strings end the text after the prompt.
    #[new]
    #[pyo3(signature = (tok, prompt_ids, stop, *, errors, skip_special))]
    fn new(
        py: Python<'_>,
        tok: Py<Tokenizer>,
        prompt_ids: &Bound<'_, PyList>,
        stop: Vec<String>,
        errors: &str,
        skip_special: bool,
    ) -> PyResult<Self> {
        let invalid = match errors {
            "replace" => InvalidUtf8::Replace,
            "ignore" => InvalidUtf8::Ignore,
            "strict" => InvalidUtf8::Strict,
            _ => return Err(PyValueError::new_err("errors is \"replace\", \"ignore\" or \"strict\"")),
        };
        let mut stream = tok.get().0.decoder().stream(skip_special, invalid);
        let ids = arguments::ids(prompt_ids)?;
        let start = || {
            tok.get().0.decoder().push(tok.get().0.vocab(), &mut stream, &ids)?;
            stream.begin_text(stop)
        };
        py.detach(start).map_err(|failed| error::plain(py, failed))?;
        Ok(Self { tok, stream: Mutex::new(stream) })
    }

    /// Reads ids and returns the text that is final.
    fn push<'py>(&self, py: Python<'py>, ids: &Bound<'py, PyList>) -> PyResult<Bound<'py, PyString>> {
        let ids = arguments::ids(ids)?;
        if ids.len() <= SHORT {
            return self.push_short(py, &ids);
        }
        let push = || {
            let mut stream = unpoisoned(self.stream.lock());
            self.tokenizer().decoder().push(self.tokenizer().vocab(), &mut stream, &ids).map(str::to_owned)
        };
        returned(py, py.detach(push))
    }

    /// Reads one id and returns the text that is final.
    fn push_one<'py>(&self, py: Python<'py>, id: u32) -> PyResult<Bound<'py, PyString>> {
        self.push_short(py, &[id])
    }

    /// Ends the text and returns the rest of it.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        let mut stream = self.lock(py);
        returned(py, self.tokenizer().decoder().finish(&mut stream))
    }

    /// Returns a stream in the same state.
    fn copy(&self, py: Python<'_>) -> Self {
        Self { tok: self.tok.clone_ref(py), stream: Mutex::new(self.lock(py).clone()) }
    }

    /// All text that was returned.
    #[getter]
    fn text<'py>(&self, py: Python<'py>) -> Bound<'py, PyString> {
        PyString::new(py, self.lock(py).text())
    }

    /// The stop string that was found.
    #[getter]
    fn stopped<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyString>> {
        self.lock(py).stopped().map(|stop| PyString::new(py, stop))
    }
}

impl TextStream {
    fn tokenizer(&self) -> &jeton_core::tokenizer::Tokenizer {
        &self.tok.get().0
    }

    fn lock(&self, py: Python<'_>) -> MutexGuard<'_, Stream> {
        unpoisoned(self.stream.lock_py_attached(py))
    }

    fn push_short<'py>(&self, py: Python<'py>, ids: &[u32]) -> PyResult<Bound<'py, PyString>> {
        let mut stream = self.lock(py);
        returned(py, self.tokenizer().decoder().push(self.tokenizer().vocab(), &mut stream, ids))
    }
}

/// Returns the guard, also if an earlier call panicked, which its caller was told.
fn unpoisoned(locked: LockResult<MutexGuard<'_, Stream>>) -> MutexGuard<'_, Stream> {
    locked.unwrap_or_else(PoisonError::into_inner)
}

fn returned(py: Python<'_>, text: Result<impl AsRef<str>, Error>) -> PyResult<Bound<'_, PyString>> {
    text.map(|text| PyString::new(py, text.as_ref())).map_err(|failed| error::plain(py, failed))
}
