//! Cuts texts to a number of tokens. Also counts the tokens of one text (up to a limit) or of many texts.

use jeton_core::error::Error;
use jeton_core::tokenizer::{Chunk, Cut, Input, Permit, TextCutter};
use jeton_core::util::cancel::{KeepGoing, KeepGoingMut};
use jeton_core::util::text_unit::TextUnit;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyMemoryView, PyString, PyTuple, PyType};

use crate::arguments::{Text, Wide};
use crate::column;
use crate::signals::run_with_signals;
use crate::tokenizer::Tokenizer;

fn unit(name: &str) -> PyResult<TextUnit> {
    let names = "\"character\", \"grapheme\", \"word\", \"sentence\"";
    TextUnit::from_name(name).ok_or_else(|| PyValueError::new_err(format!("at must be one of {names}, not {name:?}")))
}

/// Creates a cutter for a text, and runs `work` on it, without the GIL. Then runs `finish` on the result and the text.
fn cut<R: Send, T>(
    tok: &Tokenizer,
    text: &Bound<'_, PyAny>,
    at: &str,
    special: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&mut TextCutter<'_>, &str) -> Result<R, Error> + Send,
    finish: impl FnOnce(R, &str) -> PyResult<T>,
) -> PyResult<T> {
    let (py, unit) = (text.py(), unit(at)?);
    if !text.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err(format!("a text to cut must be str, not {}", text.get_type().name()?)));
    }
    let mut wide = Wide::default();
    let (text, permit) = (wide.one(text, 1)?, tok.permit(py, special)?);
    let Text::Str(inner) = text else { return Err(PyTypeError::new_err("a text to cut must be str")) };
    let work = |keep_going: KeepGoing<'_>| work(&mut TextCutter::new(&tok.0, inner, unit, &permit, keep_going)?, inner);
    finish(run_with_signals(py, work, |failed| text.error(py, failed))?, inner)
}

fn num_chars(text: &str) -> usize {
    text.chars().count()
}

#[pymethods]
impl Tokenizer {
    /// Returns the number of tokens of a text; None if it exceeds `limit`.
    fn count_up_to(
        &self,
        text: &Bound<'_, PyAny>,
        limit: usize,
        special: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<usize>> {
        cut(self, text, "character", special, |cutter, _| cutter.count_up_to(limit), |count, _| Ok(count))
    }

    /// Returns two character offsets. The text before the first offset and the text from the second offset on are kept;
    /// the text between the offsets is removed. `side`: side on which text is removed.
    #[allow(clippy::too_many_arguments)]
    fn truncate(
        &self,
        text: &Bound<'_, PyAny>,
        limit: usize,
        side: &str,
        marker: &str,
        at: &str,
        special: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(usize, usize)> {
        let work = |cutter: &mut TextCutter<'_>, text: &str| {
            let Cut { head, tail } = match side {
                "right" => Cut { head: cutter.prefix(limit)?.end, tail: text.len() },
                "left" => Cut { head: 0, tail: cutter.suffix(limit)?.start },
                _ => cutter.without_middle(limit, marker)?,
            };
            let head_chars = num_chars(&text[..head]);
            Ok((head_chars, head_chars + num_chars(&text[head..tail])))
        };
        cut(self, text, at, special, work, |kept, _| Ok(kept))
    }

    /// Returns the parts of a text as tuples of the class `cls`: the text, its range of characters, its range of bytes,
    /// and the number of tokens. `cls` must be a subclass of `tuple` that adds no fields.
    #[allow(clippy::too_many_arguments)]
    fn split<'py>(
        &self,
        text: &Bound<'py, PyAny>,
        limit: usize,
        overlap: usize,
        at: &str,
        special: Option<&Bound<'py, PyAny>>,
        cls: &Bound<'py, PyType>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let py = text.py();
        if !cls.is_subclass_of::<PyTuple>()? {
            return Err(PyTypeError::new_err("the class of parts is a subclass of tuple"));
        }
        let finish = |parts: Vec<Chunk>, inner: &str| {
            let number = |number: usize| number.into_pyobject(py).map(Bound::into_any);
            let (mut chars, mut bytes) = (0, 0); // offsets of the end of the previous part
            let mut ends = [number(0)?, number(0)?]; // the same offsets as Python objects
            let part = |Chunk { start, end, count }| {
                let (mut first, mut starts) = (chars, ends.clone());
                if start < bytes {
                    first -= num_chars(&inner[start..bytes]);
                    starts = [number(first)?, number(start)?];
                }
                (chars, bytes) = (chars + num_chars(&inner[bytes..end]), end);
                ends = [number(chars)?, number(end)?];
                let [char_start, byte_start] = starts;
                let [char_end, byte_end] = ends.clone();
                let char_span = untracked((char_start, char_end).into_pyobject(py)?).into_any();
                let byte_span = untracked((byte_start, byte_end).into_pyobject(py)?).into_any();
                tuple_of(cls, [substring(text, first, chars)?, char_span, byte_span, number(count)?])
            };
            parts.into_iter().map(part).collect()
        };
        cut(self, text, at, special, |cutter, _| cutter.parts(limit, overlap), finish)
    }

    /// Returns the number of tokens of each text, as little-endian i64.
    fn count_batch<'py>(
        &self,
        py: Python<'py>,
        texts: Vec<Bound<'py, PyAny>>,
        special: Option<&Bound<'py, PyAny>>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyMemoryView>> {
        let count = |texts: &[Input<'_>], permit: &Permit<'_>, watch: KeepGoingMut<'_>| {
            self.0.count_batch(texts, permit, threads, watch)
        };
        column::view(py, self.batch(py, &texts, special, threads, count)?)
    }
}

/// Returns `text[start..end]` of a str, in characters.
fn substring<'py>(text: &Bound<'py, PyAny>, start: usize, end: usize) -> PyResult<Bound<'py, PyAny>> {
    let (start, end) = (start as ffi::Py_ssize_t, end as ffi::Py_ssize_t);
    // SAFETY: `text` is alive; if it is not a str, the result is null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(text.py(), ffi::PyUnicode_Substring(text.as_ptr(), start, end)) }
}

/// Creates an object of `class`, which must be a subclass of `tuple` that adds no fields. Does not call `__new__`,
/// because the call would be slower.
fn tuple_of<'py, const N: usize>(
    class: &Bound<'py, PyType>,
    fields: [Bound<'py, PyAny>; N],
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: `class` is a subclass of tuple, so the new object has N items, all null. Each is set once before any
    // other code has access to the object; `PyTuple_SetItem` takes the reference.
    unsafe {
        let made = ffi::PyType_GenericAlloc(class.as_type_ptr(), N as ffi::Py_ssize_t);
        let made = Bound::from_owned_ptr_or_err(class.py(), made)?;
        for (index, field) in fields.into_iter().enumerate() {
            if ffi::PyTuple_SetItem(made.as_ptr(), index as ffi::Py_ssize_t, field.into_ptr()) != 0 {
                return Err(PyErr::fetch(class.py()));
            }
        }
        Ok(untracked(made.cast_into_unchecked()).into_any())
    }
}

/// Hides a tuple from the garbage collector, which would visit all parts of a text repeatedly. The items of the tuple
/// are strings, numbers and tuples of these, so it cannot be part of a cycle.
fn untracked(tuple: Bound<'_, PyTuple>) -> Bound<'_, PyTuple> {
    // SAFETY: a tuple is an object that the garbage collector tracks.
    unsafe { ffi::PyObject_GC_UnTrack(tuple.as_ptr().cast()) };
    tuple
}

/// Returns the ends of the units of a text, in characters. Only tests use it.
#[pyfunction]
pub fn unit_boundaries(text: &str, at: &str) -> PyResult<Vec<usize>> {
    let (mut chars, mut from) = (0, 0);
    let ends = unit(at)?.boundaries(text);
    Ok(ends
        .map(|end| {
            chars += num_chars(&text[std::mem::replace(&mut from, end)..end]);
            chars
        })
        .collect())
}
