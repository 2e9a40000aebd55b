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

/// Runs `work` on the cutter of a text.
fn cut<R: Send>(
    tok: &Bound<'_, Tokenizer>,
    text: &Bound<'_, PyAny>,
    at: &str,
    special: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&mut TextCutter<'_>, &str) -> Result<R, Error> + Send,
) -> PyResult<R> {
    let (py, unit) = (tok.py(), unit(at)?);
    if !text.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err(format!("a text to cut is str, not {}", text.get_type().name()?)));
    }
    let tok = tok.get();
    let mut wide = Wide::default();
    let (text, permit) = (wide.one(text, 1)?, tok.permit(py, special)?);
    let Text::Str(inner) = text else { return Err(PyTypeError::new_err("a text to cut is str")) };
    let work = |keep_going: KeepGoing<'_>| work(&mut TextCutter::new(&tok.0, inner, unit, &permit, keep_going)?, inner);
    run_with_signals(py, work, |failed| text.error(py, failed))
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
    cut(tok, text, "character", special, |cutter, _| cutter.count_up_to(limit))
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
    cut(tok, text, at, special, |cutter, text| {
        let Cut { head, tail } = match side {
            "right" => Cut { head: cutter.prefix(limit)?.end, tail: text.len() },
            "left" => Cut { head: 0, tail: cutter.suffix(limit)?.start },
            _ => cutter.without_middle(limit, marker)?,
        };
        let head_chars = num_chars(&text[..head]);
        Ok((head_chars, head_chars + num_chars(&text[head..tail])))
    })
}

/// Returns the parts of a text, as columns: five little-endian i64 for each part: first and last character, first and last
/// byte, number of tokens.
#[pyfunction]
pub fn split<'py>(
    tok: &Bound<'py, Tokenizer>,
    text: &Bound<'py, PyAny>,
    limit: usize,
    overlap: usize,
    at: &str,
    special: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyMemoryView>> {
    let rows = cut(tok, text, at, special, |cutter, text| {
        let parts = cutter.parts(limit, overlap)?;
        let mut rows = Vec::with_capacity(5 * parts.len());
        let (mut char_start, mut byte_start) = (0, 0); // of the part before
        for Chunk { start, end, count } in parts {
            let first = char_start + num_chars(&text[byte_start..start]);
            let last = first + num_chars(&text[start..end]);
            (char_start, byte_start) = (first, start);
            rows.extend([first, last, start, end, count].map(|number| number as i64));
        }
        Ok(rows)
    })?;
    column::view(tok.py(), rows)
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
