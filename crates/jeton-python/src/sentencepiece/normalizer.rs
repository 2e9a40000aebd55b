//! SentencePiece's normalizer without a model.

use jeton_core::normalize::{Normalizer, Started};
use jeton_core::util::cancel::KeepGoing;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};

use super::convert::{self, char_indices, raised};
use crate::arguments::Text;
use crate::error;
use crate::signals::run_with_signals;
use crate::tokenizer::SHORT;

/// A normalizer with SentencePiece's interface.
#[pyclass(frozen, module = "jeton._core")]
pub struct PieceNormalizer(Normalizer);

#[pymethods]
impl PieceNormalizer {
    /// Creates a normalizer. `part`: a component as JSON. `user_defined`: texts that the normalizer does not change.
    #[new]
    fn new(py: Python<'_>, part: &str, user_defined: Vec<Vec<u8>>) -> PyResult<Self> {
        let user_defined: Vec<&[u8]> = user_defined.iter().map(Vec::as_slice).collect();
        Normalizer::from_json(part, &user_defined).map(Self).map_err(|failed| error::plain(py, failed))
    }

    /// Normalizes a text, or each text of a list. If offsets are requested, returns (text, starts).
    fn normalize<'py>(
        &self,
        py: Python<'py>,
        input: &Bound<'py, PyAny>,
        with_offsets: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        normalize(py, &self.0, input, with_offsets)
    }
}

/// Normalizes a text, or each text of a list.
pub fn normalize<'py>(
    py: Python<'py>,
    normalizer: &Normalizer,
    input: &Bound<'py, PyAny>,
    with_offsets: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let Ok(texts) = input.cast::<PyList>() else { return one(py, normalizer, input, with_offsets) };
    let list = PyList::empty(py);
    for text in texts.iter() {
        list.append(one(py, normalizer, &text, with_offsets)?)?;
    }
    Ok(list.into_any())
}

fn one<'py>(
    py: Python<'py>,
    normalizer: &Normalizer,
    input: &Bound<'py, PyAny>,
    with_offsets: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let text = convert::text(input)?;
    if !with_offsets {
        let work = |keep_going: KeepGoing<'_>| normalizer.without_starts(text.bytes(), keep_going);
        let normal = match text.bytes().len() < SHORT {
            true => work(&|| true).map_err(raised)?,
            false => run_with_signals(py, work, raised)?,
        };
        return Ok(same_type(py, &text, &normal));
    }
    let work = |keep_going: KeepGoing<'_>| normalizer.with_starts(text.bytes(), keep_going);
    let Started { text: normal, starts } = run_with_signals(py, work, raised)?;
    let object = same_type(py, &text, &normal);
    let starts = match text {
        Text::Bytes(_) => starts,
        Text::Str(text) => of_characters(text, &normal, &starts),
    };
    Ok((object, starts).into_pyobject(py)?.into_any())
}

/// Returns the normalized text as `str` or `bytes`, the type of the input.
fn same_type<'py>(py: Python<'py>, text: &Text<'_>, normal: &str) -> Bound<'py, PyAny> {
    match text {
        Text::Str(_) => PyString::new(py, normal).into_any(),
        Text::Bytes(_) => PyBytes::new(py, normal.as_bytes()).into_any(),
    }
}

/// Converts the alignment `starts` (normalized byte → input byte) from bytes to characters. The result has the index of
/// an input character for each character of the normalized text, and one more index for the end of that text.
fn of_characters(text: &str, normal: &str, starts: &[u32]) -> Vec<u32> {
    let indices = char_indices(text.as_bytes());
    let ends = normal.char_indices().map(|(at, _)| at).chain([normal.len()]);
    ends.map(|at| starts.get(at).and_then(|&start| indices.get(start as usize)).copied().unwrap_or(0)).collect()
}
