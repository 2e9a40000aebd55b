//! Loops over the rows of a corpus.

use jeton_core::train::jsonl;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error;

/// Returns the texts of lines of JSON: for each line the string in `field`, or None if the caller has to parse it.
#[pyfunction]
pub fn read_rows<'py>(py: Python<'py>, lines: &[u8], field: &str) -> PyResult<Vec<Option<Bound<'py, PyBytes>>>> {
    let rows = py.detach(|| jsonl::read(lines, field)).map_err(|failed| error::plain(py, failed))?;
    // `PyBytes::new` would panic on a failed allocation.
    let bytes = |text: &[u8]| {
        PyBytes::new_with(py, text.len(), |room| {
            room.copy_from_slice(text);
            Ok(())
        })
    };
    rows.iter().map(|text| text.map(bytes).transpose()).collect()
}

/// Returns the index of the first text that is not UTF-8.
#[pyfunction]
pub fn find_invalid_text(texts: Vec<Bound<'_, PyBytes>>) -> Option<usize> {
    texts.iter().position(|text| std::str::from_utf8(text.as_bytes()).is_err())
}
