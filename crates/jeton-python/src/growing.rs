//! `jeton.GrowingText`: keeps the ids of a text that grows at its end.
//!
//! The class is public, with the docstrings below, like `TextStream`. Every call is atomic. A long append works on a
//! copy of the text after the last joint, so other calls read the text as it was before the append.

use jeton_core::tokenizer::{Change, Growing, Permission};
use jeton_core::util::cancel::KeepGoing;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::arguments::{self, Text};
use crate::error;
use crate::exclusive::Exclusive;
use crate::signals::run_with_signals;
use crate::tokenizer::{Tokenizer, SHORT};

/// Ids of a text that grows at its end. `Tokenizer.growing` makes one.
///
/// After each `append`, the ids are those of the whole text. An append takes time for the appended text and for the
/// text after the last joint, usually one word. A joint is a position where the ids before and after it are
/// independent. The worst case is a text without joints, such as a long run of one letter: each append encodes the
/// whole text again.
///
/// Threads can share an object: each call is atomic. A signal handler that runs during a long append, or a process
/// forked during it, reads the text as it was before the append. An append by the handler raises `ConfigError`.
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
    growing: Exclusive<Growing>,
}

#[pymethods]
impl Tokenizer {
    /// Creates an empty text that grows.
    fn growing_text(slf: Py<Self>, special: Option<&Bound<'_, PyAny>>) -> PyResult<GrowingText> {
        let permission = special.map_or(Ok(Permission::None), arguments::permission)?;
        Ok(GrowingText { tok: slf, permission, growing: Exclusive::new(Growing::default()) })
    }
}

#[pymethods]
impl GrowingText {
    /// Appends to the text.
    ///
    /// Returns:
    ///     ``(start, ids)``: the first `start` ids of the text do not change, and `ids` follow them.
    ///
    /// Raises:
    ///     InvalidTextError, SpecialTokenError: as `Tokenizer.encode`, with the byte offset in the whole text. The
    ///         append then has no effect.
    fn append(&self, py: Python<'_>, text: &Bound<'_, PyAny>) -> PyResult<(usize, Vec<u32>)> {
        if !text.is_instance_of::<PyString>() {
            return Err(PyTypeError::new_err(format!("append takes a str, not {}", text.get_type().name()?)));
        }
        let Text::Str(text) = Text::of(text)? else { return Err(PyTypeError::new_err("append takes a str")) };
        let tok = &self.tok.get().0;
        let permit = tok.permit(&self.permission).map_err(|failed| error::plain(py, failed))?;
        let done = if text.len() < SHORT {
            let done = self.growing.change(py, |growing| growing.append(tok, &permit, text, &|| true))?;
            done.map_err(|failed| error::plain(py, failed))?
        } else {
            let change = self.growing.begin(py)?;
            let mut longer = change.step(py, |growing| growing.clone());
            let work = |keep_going: KeepGoing<'_>| longer.append(tok, &permit, text, keep_going);
            let done = run_with_signals(py, work, |failed| error::plain(py, failed))?;
            change.step(py, |growing| *growing = longer);
            done
        };
        let Change { start, ids } = done;
        Ok((start, ids))
    }

    /// Returns an independent copy, to try continuations.
    fn copy(&self, py: Python<'_>) -> Self {
        let growing = Exclusive::new(self.growing.read(py, Growing::clone));
        Self { tok: self.tok.clone_ref(py), permission: self.permission.clone(), growing }
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
        self.growing.read(py, Growing::len)
    }

    /// Number of leading ids that no append can change.
    #[getter]
    fn stable_tokens(&self, py: Python<'_>) -> usize {
        self.growing.read(py, Growing::num_stable)
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        self.num_tokens(py)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let facts = |growing: &Growing| (growing.len(), growing.num_stable(), growing.num_bytes());
        let (len, stable, bytes) = self.growing.read(py, facts);
        format!("GrowingText({bytes} bytes, {len} tokens, {stable} of them stable)")
    }
}
