//! Converts rows of integers to Python lists, padded to equal length, like the results of Hugging Face's libraries.
//!
//! Input: a column of integers with the offset of each row, as in a `TokenBatch`. A row that is shorter than `width` is
//! padded on one side; longer rows are not truncated.
//!
//! Cost: all lists share the Python objects of most ids and of many pairs of offsets (see `id_list`). Every other value
//! takes a new Python integer, and every other pair a new tuple. `constant_lists` creates two integers per call.

use std::ops::Range;

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PySequence, PyTuple};

use crate::column;
use crate::id_list;

type List<'py> = Bound<'py, PyList>;

/// Minimum length of rows, and the side on which shorter rows are padded.
#[derive(Clone, Copy)]
struct Width {
    width: usize,
    left: bool,
}

impl Width {
    /// Returns the numbers of fill values before and after a row of `len` elements.
    fn around(self, len: usize) -> (usize, usize) {
        let filled = self.width.saturating_sub(len);
        if self.left {
            (filled, 0)
        } else {
            (0, filled)
        }
    }
}

/// Returns the ranges of rows in a column of `len` elements.
fn ranges(offsets: &[usize], len: usize) -> PyResult<Vec<Range<usize>>> {
    let ranges: Vec<Range<usize>> = offsets.windows(2).map(|pair| pair[0]..pair[1]).collect();
    match ranges.iter().all(|range| range.start <= range.end && range.end <= len) {
        true => Ok(ranges),
        false => Err(PyValueError::new_err("the offsets of rows ascend, up to the length of the column")),
    }
}

/// Returns the rows of ids as lists. Row i has the ids from `offsets[i]` to `offsets[i + 1]`. Ids are little-endian
/// u32, offsets little-endian i64.
#[pyfunction]
pub fn id_lists<'py>(py: Python<'py>, ids: PyBuffer<u8>, offsets: PyBuffer<u8>) -> PyResult<List<'py>> {
    let (ids, offsets) = (column::ids(py, &ids)?, column::wide(py, &offsets)?);
    // A negative offset becomes a very large one, which `ranges` rejects.
    let offsets: Vec<usize> = offsets.into_iter().map(|offset| offset as usize).collect();
    let rows = ranges(&offsets, ids.len())?.into_iter().map(|range| id_list::list(py, &ids[range]));
    PyList::new(py, rows.collect::<PyResult<Vec<_>>>()?)
}

/// Returns the rows of a column as lists.
///
/// `values`: little-endian integers, of 64 bits if `wide`, else ids of 32 bits. `fill`: padding value for short rows.
#[pyfunction]
#[pyo3(signature = (values, offsets, *, wide, width=0, left=false, fill=0))]
pub fn row_lists<'py>(
    py: Python<'py>,
    values: PyBuffer<u8>,
    offsets: Vec<usize>,
    wide: bool,
    width: usize,
    left: bool,
    fill: i64,
) -> PyResult<List<'py>> {
    let width = Width { width, left };
    if wide {
        let values = column::wide(py, &values)?;
        let ranges = ranges(&offsets, values.len())?;
        return lists(py, ranges.into_iter().map(|range| PyList::new(py, &values[range])), width, fill);
    }
    let values = column::ids(py, &values)?;
    let ranges = ranges(&offsets, values.len())?;
    lists(py, ranges.into_iter().map(|range| id_list::list(py, &values[range])), width, fill)
}

fn lists<'py>(
    py: Python<'py>,
    rows: impl Iterator<Item = PyResult<List<'py>>>,
    width: Width,
    fill: i64,
) -> PyResult<List<'py>> {
    let list = PyList::empty(py);
    let fill = PyList::new(py, [fill])?;
    for row in rows {
        let row = row?;
        list.append(filled(row.as_sequence(), row.len(), width, &fill)?)?;
    }
    Ok(list)
}

/// Pads a row of `len` elements to `width`.
fn filled<'py>(
    row: &Bound<'py, PySequence>,
    len: usize,
    width: Width,
    fill: &List<'py>,
) -> PyResult<Bound<'py, PySequence>> {
    match width.around(len) {
        (0, 0) => Ok(row.clone()),
        (0, after) => row.in_place_concat(&fill.as_sequence().repeat(after)?),
        (before, _) => fill.as_sequence().repeat(before)?.in_place_concat(row),
    }
}

/// Returns rows of the given lengths as lists. All elements are `value`; short rows are padded with `fill`.
#[pyfunction]
#[pyo3(signature = (value, lengths, *, width=0, left=false, fill=0))]
pub fn constant_lists(
    py: Python<'_>,
    value: i64,
    lengths: Vec<usize>,
    width: usize,
    left: bool,
    fill: i64,
) -> PyResult<List<'_>> {
    let width = Width { width, left };
    let (value, fill) = (PyList::new(py, [value])?, PyList::new(py, [fill])?);
    let list = PyList::empty(py);
    for len in lengths {
        list.append(filled(&value.as_sequence().repeat(len)?, len, width, &fill)?)?;
    }
    Ok(list)
}

/// Returns the rows of a column of pairs as lists of tuples. Short rows are padded with (0, 0).
#[pyfunction]
#[pyo3(signature = (values, offsets, *, width=0, left=false))]
pub fn row_pair_lists(
    py: Python<'_>,
    values: PyBuffer<u8>,
    offsets: Vec<usize>,
    width: usize,
    left: bool,
) -> PyResult<List<'_>> {
    let width = Width { width, left };
    let values = column::wide(py, &values)?;
    let (pairs, _) = values.as_chunks::<2>();
    let zero = PyList::new(py, [PyTuple::new(py, [0, 0])?])?;
    let list = PyList::empty(py);
    for range in ranges(&offsets, pairs.len())? {
        let len = range.len();
        list.append(filled(id_list::pairs(py, &pairs[range])?.as_sequence(), len, width, &zero)?)?;
    }
    Ok(list)
}

/// Returns one row as a list. Negative values become None, and a short row is padded with None.
#[pyfunction]
#[pyo3(signature = (values, *, width=0, left=false))]
pub fn optional_list(py: Python<'_>, values: PyBuffer<u8>, width: usize, left: bool) -> PyResult<Bound<'_, PyList>> {
    let values = column::wide(py, &values)?;
    let (before, after) = Width { width, left }.around(values.len());
    let own = values.into_iter().map(|value| (value >= 0).then_some(value));
    let row: Vec<_> = std::iter::repeat_n(None, before).chain(own).chain(std::iter::repeat_n(None, after)).collect();
    PyList::new(py, row)
}
