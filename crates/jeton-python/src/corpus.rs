//! Loops over the rows of a corpus.

use jeton_core::added_tokens::{Added, AddedTokenMatcher};
use jeton_core::error::Result;
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

/// Counts the occurrences of each spelling in all texts. Of two that overlap the earlier counts, then the longer.
#[pyfunction]
pub fn count_spellings(py: Python<'_>, texts: Vec<Bound<'_, PyBytes>>, spellings: Vec<Vec<u8>>) -> PyResult<Vec<u64>> {
    let texts: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).collect();
    let count = || -> Result<_> {
        let tokens = (0..).zip(&spellings).map(|(id, spelling)| Added::plain(spelling, id));
        let mut counts = vec![0; spellings.len()];
        if let Some(matcher) = AddedTokenMatcher::new(tokens)? {
            texts.iter().for_each(|text| matcher.count(text, &mut counts));
        }
        Ok(counts)
    };
    py.detach(count).map_err(|failed| error::plain(py, failed))
}
