//! Parts of a text within a number of tokens, numbers of tokens up to a limit, and of many texts.

use jeton_core::error::Error;
use jeton_core::tokenizer::{Chunk, Cut, TextCutter};
use jeton_core::util::cancel::KeepGoing;
use jeton_core::util::text_unit::TextUnit;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyMemoryView, PyString};

use crate::arguments::{Text, Wide};
use crate::column;
use crate::error;
use crate::signals::{run_with_signals, SignalCheck};
use crate::tokenizer::Tokenizer;

fn unit(name: &str) -> PyResult<TextUnit> {
    let names = "\"character\", \"grapheme\", \"word\", \"sentence\"";
    TextUnit::from_name(name).ok_or_else(|| PyValueError::new_err(format!("at is one of {names}, not {name:?}")))
}

/// Runs `work` on the cutter of a text without the GIL, and `finish` on its result and the text.
fn cut<R: Send, T>(
    tok: &Bound<'_, Tokenizer>,
    text: &Bound<'_, PyAny>,
    at: &str,
    special: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&mut TextCutter<'_>, &str) -> Result<R, Error> + Send,
    finish: impl FnOnce(R, &str) -> PyResult<T>,
) -> PyResult<T> {
    let (py, unit) = (tok.py(), unit(at)?);
    if !text.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err(format!("a text to cut is str, not {}", text.get_type().name()?)));
    }
    let tok = tok.get();
    let mut wide = Wide::default();
    let (text, permit) = (wide.one(text, 1)?, tok.permit(py, special)?);
    let Text::Str(inner) = text else { return Err(PyTypeError::new_err("a text to cut is str")) };
    let work = |keep_going: KeepGoing<'_>| work(&mut TextCutter::new(&tok.0, inner, unit, &permit, keep_going)?, inner);
    finish(run_with_signals(py, work, |failed| text.error(py, failed))?, inner)
}

fn num_chars(text: &str) -> usize {
    text.chars().count()
}

/// Returns the number of tokens of a text if it is at most `limit`.
#[pyfunction]
pub fn count_up_to(
    tok: &Bound<'_, Tokenizer>,
    text: &Bound<'_, PyAny>,
    limit: usize,
    special: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<usize>> {
    cut(tok, text, "character", special, |cutter, _| cutter.count_up_to(limit), |count, _| Ok(count))
}

/// Returns the characters that are kept: those before the first number, and those from the second one on. `side`: the end
/// that is removed.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn truncate(
    tok: &Bound<'_, Tokenizer>,
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
    cut(tok, text, at, special, work, |kept, _| Ok(kept))
}

/// Part of a text: the text, its range of characters, that of its bytes, and its number of tokens.
type Part<'py> = (Bound<'py, PyString>, (usize, usize), (usize, usize), usize);

/// Returns the parts of a text.
#[pyfunction]
pub fn split<'py>(
    tok: &Bound<'py, Tokenizer>,
    text: &Bound<'py, PyAny>,
    limit: usize,
    overlap: usize,
    at: &str,
    special: Option<&Bound<'py, PyAny>>,
) -> PyResult<Vec<Part<'py>>> {
    let py = tok.py();
    let finish = |parts: Vec<Chunk>, text: &str| {
        let (mut char_start, mut byte_start) = (0, 0); // of the part before
        let row = |Chunk { start, end, count }| {
            let first = char_start + num_chars(&text[byte_start..start]);
            let part = &text[start..end];
            (char_start, byte_start) = (first, start);
            (PyString::new(py, part), (first, first + num_chars(part)), (start, end), count)
        };
        Ok(parts.into_iter().map(row).collect())
    };
    cut(tok, text, at, special, |cutter, _| cutter.parts(limit, overlap), finish)
}

/// Counts the tokens of many texts, as little-endian i64.
#[pyfunction]
pub fn count_batch<'py>(
    py: Python<'py>,
    tok: &Bound<'py, Tokenizer>,
    texts: Vec<Bound<'py, PyAny>>,
    special: Option<&Bound<'py, PyAny>>,
    threads: usize,
) -> PyResult<Bound<'py, PyMemoryView>> {
    let tok = tok.get();
    let permit = tok.permit(py, special)?;
    let wide = Wide::of(py, &texts, threads)?;
    let borrowed = wide.texts(&texts)?;
    let inputs: Vec<jeton_core::tokenizer::Input<'_>> = borrowed.iter().map(Text::input).collect();
    let mut watch = SignalCheck::new(None);
    let done = py.detach(|| tok.0.count_batch(&inputs, &permit, threads, &mut || watch.keep_going(0)));
    let in_batch = |(index, failed): (usize, Error)| error::in_batch(py, borrowed[index].error(py, failed), index);
    column::view(py, watch.finish(done, in_batch)?)
}

/// Returns the ends of the units of a text, in characters: for tests.
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
