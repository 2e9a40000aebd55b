//! Builds rows by joining ranges of columns of integers, such as the ids of texts and of the template around them.
//!
//! Input: columns as bytes, and the start and size of each range as little-endian i64, row by row. Output: a column
//! in pooled memory. Cost: one copy of the result.

use std::ptr;

use jeton_core::util::buffer_pool::{self, BufferPool};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;

use crate::column;

/// Joins ranges of ids (little-endian u32). In each row, the first range is from the first column, the second from the
/// second column, and so on.
#[pyfunction]
pub fn join_ids<'py>(
    py: Python<'py>,
    columns: Vec<PyBuffer<u8>>,
    starts: PyBuffer<u8>,
    sizes: PyBuffer<u8>,
) -> PyResult<Bound<'py, PyMemoryView>> {
    let ranges = Ranges::new(py, columns.len(), &starts, &sizes, 1)?;
    column::view(py, ranges.join(&columns, &buffer_pool::IDS, u32::from_le)?)
}

/// Like `join_ids`, for columns of little-endian i64. Each element of a range has `width` integers.
#[pyfunction]
pub fn join_integers<'py>(
    py: Python<'py>,
    columns: Vec<PyBuffer<u8>>,
    starts: PyBuffer<u8>,
    sizes: PyBuffer<u8>,
    width: usize,
) -> PyResult<Bound<'py, PyMemoryView>> {
    let ranges = Ranges::new(py, columns.len(), &starts, &sizes, width)?;
    column::view(py, ranges.join(&columns, &buffer_pool::OFFSETS, i64::from_le)?)
}

/// Start and size of each range, counted in integers, not in elements or bytes.
struct Ranges {
    ranges: Vec<(usize, usize)>,
    num_columns: usize,
    total: usize,
}

impl Ranges {
    fn new(
        py: Python<'_>,
        num_columns: usize,
        starts: &PyBuffer<u8>,
        sizes: &PyBuffer<u8>,
        width: usize,
    ) -> PyResult<Self> {
        let (starts, sizes) = (column::wide(py, starts)?, column::wide(py, sizes)?);
        let scaled = |value: i64| usize::try_from(value).ok()?.checked_mul(width);
        let ranges = starts.iter().zip(&sizes).map(|(&start, &size)| Some((scaled(start)?, scaled(size)?)));
        let total =
            |ranges: &Vec<(usize, usize)>| ranges.iter().try_fold(0, |sum: usize, range| sum.checked_add(range.1));
        let ranges: Option<Vec<_>> = ranges.collect();
        let whole = starts.len() == sizes.len() && num_columns > 0 && starts.len() % num_columns == 0;
        match ranges.and_then(|ranges| Some((total(&ranges)?, ranges))) {
            Some((total, ranges)) if whole || starts.is_empty() => Ok(Self { ranges, num_columns, total }),
            _ => Err(PyValueError::new_err("each row has the start and the size of one range of each column")),
        }
    }

    /// Returns the integers of all ranges, concatenated.
    fn join<T: Integer>(
        &self,
        columns: &[PyBuffer<u8>],
        pool: &BufferPool<T>,
        from_le: impl Fn(T) -> T,
    ) -> PyResult<Vec<T>> {
        let rows = || self.ranges.chunks(self.num_columns.max(1)).flat_map(|row| row.iter().zip(columns));
        let is_inside = |(&(start, size), column): (&(usize, usize), &PyBuffer<u8>)| {
            let len = column.item_count() / size_of::<T>();
            start <= len && size <= len - start
        };
        if !columns.iter().all(|column| column.is_c_contiguous()) || !rows().all(is_inside) {
            return Err(PyValueError::new_err("a column is not contiguous, or a range ends beyond it"));
        }
        let mut joined = pool.take(self.total);
        for (&(start, size), column) in rows() {
            let at = joined.len();
            let room = &mut joined.spare_capacity_mut()[..size];
            // SAFETY: the column is contiguous and contains the range (the range was compared with the column's
            // length). `room` has space for `size` integers, and the copy initializes all their bytes; every sequence
            // of bytes is a valid integer. Another thread can change Python's memory, so it is read through a pointer
            // only, as in `PyBuffer::copy_to_slice`.
            unsafe {
                let from = column.buf_ptr().cast::<u8>().add(start * size_of::<T>());
                ptr::copy_nonoverlapping(from, room.as_mut_ptr().cast::<u8>(), size * size_of::<T>());
                joined.set_len(at + size);
            }
        }
        joined.iter_mut().for_each(|value| *value = from_le(*value)); // a no-op on most machines
        Ok(joined)
    }
}

/// Integer type of a column. Every sequence of bytes of its size must be a valid value of the type.
trait Integer: Copy + Send {}

impl Integer for u32 {}

impl Integer for i64 {}
