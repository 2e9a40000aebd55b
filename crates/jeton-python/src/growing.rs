//! `jeton.GrowingText`: ids of a text that grows at its end.
//!
//! The class is public as it is, with its docstrings, as `TextStream` is. A lock makes every call atomic.

use std::sync::{LockResult, Mutex, MutexGuard, PoisonError};

use jeton_core::tokenizer::{Change, Growing, Permission};
use jeton_core::util::cancel::KeepGoing;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyDict, PyString};

use crate::arguments::{self, Text};
use crate::error;
use crate::signals::run_with_signals;
use crate::tokenizer::{Tokenizer, SHORT};

/// Ids of a text that grows at its end. `Tokenizer.growing` makes one.
///
/// After each `append`, the ids are those of the whole text. An append takes time for the appended text and for the text
/// after the last position where the ids before and after it are independent; that is usually a word. The worst case is
/// a text without such a position, as a long run of one letter: all of it is encoded with each append.
///
/// Threads may share it: each call is atomic.
///
/// Attributes:
///     num_tokens: number of ids of the whole text.
///     stable_tokens: number of leading ids that no append can change.
///
/// Examples:
///     >>> from jeton import Tokenizer
///     >>> tok = Tokenizer.from_merges({97: b"a", 98: b"b", 32: b" ", 256: b"ab"}, [(97, 98, 256)], pattern="gpt2")
///     >>> growing = tok.growing()
///     >>> growing.append("a")
///     (0, [97])
///     >>> growing.append("b a")
///     (0, [256, 32, 97])
///     >>> growing.stable_tokens, growing.num_tokens
///     (1, 3)
#[pyclass(frozen, module = "jeton")]
pub struct GrowingText {
    tok: Py<Tokenizer>,
    permission: Permission,
    growing: Mutex<Growing>,
}

fn unpoisoned<'a>(locked: LockResult<MutexGuard<'a, Growing>>) -> MutexGuard<'a, Growing> {
    locked.unwrap_or_else(PoisonError::into_inner)
}

/// Starts an empty text.
#[pyfunction]
pub fn growing_text(tok: Py<Tokenizer>, special: Option<&Bound<'_, PyAny>>) -> PyResult<GrowingText> {
    let permission = special.map_or(Ok(Permission::None), arguments::permission)?;
    Ok(GrowingText { tok, permission, growing: Mutex::default() })
}

#[pymethods]
impl GrowingText {
    /// Appends to the text.
    ///
    /// Returns:
    ///     ``(start, ids)``: the first `start` ids of the text stay as they were, and `ids` follow them.
    ///
    /// Raises:
    ///     InvalidTextError, SpecialTokenError: as `Tokenizer.encode`, with the byte offset in the whole text; the text
    ///         is then as before.
    fn append(&self, py: Python<'_>, text: &Bound<'_, PyAny>) -> PyResult<(usize, Vec<u32>)> {
        if !text.is_instance_of::<PyString>() {
            return Err(PyTypeError::new_err(format!("append takes a str, not {}", text.get_type().name()?)));
        }
        let Text::Str(text) = Text::of(text)? else { return Err(PyTypeError::new_err("append takes a str")) };
        let tok = &self.tok.get().0;
        let permit = tok.permit(&self.permission).map_err(|failed| error::plain(py, failed))?;
        let mut growing = unpoisoned(self.growing.lock_py_attached(py));
        let done = if text.len() < SHORT {
            growing.append(tok, &permit, text, &|| true).map_err(|failed| error::plain(py, failed))?
        } else {
            let inner = &mut *growing;
            let work = |keep_going: KeepGoing<'_>| inner.append(tok, &permit, text, keep_going);
            run_with_signals(py, work, |failed| error::plain(py, failed))?
        };
        let Change { start, ids } = done;
        Ok((start, ids))
    }

    /// Returns an independent copy, to try continuations.
    fn copy(&self, py: Python<'_>) -> Self {
        let growing = unpoisoned(self.growing.lock_py_attached(py)).clone();
        Self { tok: self.tok.clone_ref(py), permission: self.permission.clone(), growing: Mutex::new(growing) }
    }

    fn __copy__(&self, py: Python<'_>) -> Self {
        self.copy(py)
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyDict>) -> Self {
        self.copy(py)
    }

    /// Number of ids of the whole text.
    #[getter]
    fn num_tokens(&self, py: Python<'_>) -> usize {
        unpoisoned(self.growing.lock_py_attached(py)).len()
    }

    /// Number of leading ids that no append can change.
    #[getter]
    fn stable_tokens(&self, py: Python<'_>) -> usize {
        unpoisoned(self.growing.lock_py_attached(py)).num_stable()
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        self.num_tokens(py)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let growing = unpoisoned(self.growing.lock_py_attached(py));
        let (len, stable, bytes) = (growing.len(), growing.num_stable(), growing.num_bytes());
        format!("GrowingText({bytes} bytes, {len} tokens, {stable} of them stable)")
    }
}
