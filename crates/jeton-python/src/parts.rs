//! Single stages of the pipeline, for tests that compare each with its peer.

use jeton_core::draft::Draft;
use jeton_core::error::Result;
use jeton_core::normalize::Normalizer;
use pyo3::prelude::*;

use crate::error::plain;

/// A text after a JSON list of normalizer parts, and for each of its bytes the range of input bytes that it stands for.
#[pyfunction]
pub fn normalize_text(
    py: Python<'_>,
    parts_json: &str,
    text: &str,
    user_defined: Vec<Vec<u8>>,
) -> PyResult<(String, Vec<(u32, u32)>)> {
    let run = || -> Result<_> {
        let user_defined: Vec<&[u8]> = user_defined.iter().map(Vec::as_slice).collect();
        let mut draft = Draft::new(text, true)?;
        for part in Normalizer::list_from_json(parts_json, &user_defined)? {
            part.apply(&mut draft, &|| true)?;
        }
        Ok((draft.text().to_owned(), draft.origins().iter().map(|origin| (origin.start, origin.end)).collect()))
    };
    py.detach(run).map_err(|error| plain(py, error))
}
