//! Single stages of the pipeline, for tests that compare each with its peer.

use jeton_core::draft::Draft;
use jeton_core::error::Result;
use jeton_core::normalize::Normalizer;
use pyo3::prelude::*;

use crate::error::plain;

/// A text, and for each of its bytes the range of input bytes that it stands for.
type Traced = (String, Vec<(u32, u32)>);

/// A text after a JSON list of normalizer parts.
#[pyfunction]
pub fn normalize_text(py: Python<'_>, parts_json: &str, text: &str, user_defined: Vec<Vec<u8>>) -> PyResult<Traced> {
    Ok(normalize_texts(py, parts_json, vec![text.to_owned()], user_defined)?.swap_remove(0))
}

/// The same for many texts: rules are read once.
#[pyfunction]
pub fn normalize_texts(
    py: Python<'_>,
    parts_json: &str,
    texts: Vec<String>,
    user_defined: Vec<Vec<u8>>,
) -> PyResult<Vec<Traced>> {
    let run = || -> Result<_> {
        let user_defined: Vec<&[u8]> = user_defined.iter().map(Vec::as_slice).collect();
        let parts = Normalizer::list_from_json(parts_json, &user_defined)?;
        let each = |text: &String| {
            let mut draft = Draft::new(text, true)?;
            for part in &parts {
                part.apply(&mut draft, &|| true)?;
            }
            Ok((draft.text().to_owned(), draft.origins().iter().map(|origin| (origin.start, origin.end)).collect()))
        };
        texts.iter().map(each).collect()
    };
    py.detach(run).map_err(|error| plain(py, error))
}
