//! Placement of documents in rows of one length.

use jeton_core::util::best_fit as packing;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;

use crate::{column, error};

/// Returns the row of each item as a column of u32; `lengths` is an array of little-endian u32 as bytes.
#[pyfunction]
pub fn best_fit<'py>(py: Python<'py>, lengths: PyBuffer<u8>, capacity: u32) -> PyResult<Bound<'py, PyMemoryView>> {
    let lengths = column::ids(py, &lengths)?;
    if capacity > 1 << 24 || lengths.len() >= u32::MAX as usize {
        return Err(PyValueError::new_err("rows of at most 2^24 ids, and less than 2^32 - 1 items"));
    }
    if lengths.iter().any(|length| !(1..=capacity).contains(length)) {
        return Err(PyValueError::new_err("a length is not between 1 and the capacity"));
    }
    let rows = py.detach(|| packing::best_fit(&lengths, capacity)).map_err(|failed| error::plain(py, failed))?;
    column::view(py, rows)
}
