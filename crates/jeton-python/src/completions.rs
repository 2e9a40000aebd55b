//! Completions of a truncated text. The caller encodes many continuations of the text. From each encoded continuation,
//! this module takes the first ids, up to the id that completes a given number of bytes. It returns the distinct
//! sequences of ids.

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::column;

/// Rows of ids, concatenated, with the end of each row.
#[derive(Default)]
struct Rows {
    ids: Vec<u32>,
    ends: Vec<usize>,
}

impl Rows {
    fn push(&mut self, row: impl IntoIterator<Item = u32>) {
        self.ids.extend(row);
        self.ends.push(self.ids.len());
    }

    /// Returns the distinct rows, sorted by length; rows of the same length are sorted by their ids. A row that has
    /// only one id is not returned; instead, this id is added to `singles`. At the end, `singles` is sorted and
    /// has no duplicates.
    fn distinct(&self, singles: &mut Vec<u32>) -> Vec<&[u32]> {
        let mut start = 0;
        let mut rows: Vec<&[u32]> = Vec::new();
        for &end in &self.ends {
            match &self.ids[start..end] {
                &[only] => singles.push(only),
                row => rows.push(row),
            }
            start = end;
        }
        singles.sort_unstable();
        singles.dedup();
        rows.sort_unstable_by(|a, b| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
        rows.dedup();
        rows
    }
}

/// Returns the distinct rows of ids as lists, sorted by length; rows of the same length are sorted by their ids.
/// The function builds these rows:
///
/// - for each text: the first ids of the text, up to the id that completes `num_bytes` bytes;
/// - for each id of `singles`: a row with only this id;
/// - `more`, if given.
///
/// `batches`: the encoded texts, as results of `encode_batch`. `widths`: the number of bytes of each id, as a
/// little-endian i64. `translate`: callback that receives the ids of the texts' rows, and returns the ids that replace
/// them.
#[pyfunction]
pub fn covering_rows<'py>(
    py: Python<'py>,
    batches: Vec<(PyBuffer<u8>, PyBuffer<u8>)>,
    widths: PyBuffer<u8>,
    num_bytes: i64,
    mut singles: Vec<u32>,
    more: Option<Vec<u32>>,
    translate: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyList>> {
    let widths = column::wide(py, &widths)?;
    let mut rows = Rows::default();
    for (ids, ends) in &batches {
        let (ids, ends) = (column::ids(py, ids)?, column::wide(py, ends)?);
        for range in ends.windows(2) {
            let text = ids.get(range[0] as usize..range[1] as usize);
            let text =
                text.ok_or_else(|| PyValueError::new_err("the offsets of texts ascend, up to the number of ids"))?;
            let mut covered = 0;
            let is_needed = |&id: &u32| {
                let is_needed = covered < num_bytes;
                covered += widths.get(id as usize).copied().unwrap_or_default();
                is_needed
            };
            rows.push(text.iter().copied().take_while(is_needed));
        }
    }
    if let Some(translate) = translate {
        rows.ids = translate.call1((PyList::new(py, &rows.ids)?,))?.extract()?;
    }
    if rows.ids.len() != rows.ends.last().copied().unwrap_or_default() {
        return Err(PyValueError::new_err("translate must return one id for each"));
    }
    more.into_iter().for_each(|row| rows.push(row));
    let others = rows.distinct(&mut singles);
    let rows = singles.iter().map(std::slice::from_ref).chain(others);
    let lists: Vec<Bound<'py, PyList>> = rows.map(|row| PyList::new(py, row)).collect::<PyResult<_>>()?;
    PyList::new(py, lists)
}
