//! Places documents in rows of equal length, and copies ranges of columns.

use jeton_core::util::alloc;
use jeton_core::util::best_fit as packing;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;

use crate::{column, error};

/// Returns the row of each item as a column of u32. `lengths`: length of each item, as little-endian u32.
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

/// Address of the start of a buffer, for a thread without the GIL.
struct Start(*const u8);

// SAFETY: a thread reads through the pointer only while `gather` holds the buffer.
unsafe impl Send for Start {}

/// Copies ranges of the column `values`, and joins the copies. Each item of the column has `size` bytes. The starts and
/// lengths of the ranges are numbers of items, stored as little-endian i64.
#[pyfunction]
pub fn gather<'py>(
    py: Python<'py>,
    values: PyBuffer<u8>,
    starts: PyBuffer<u8>,
    lengths: PyBuffer<u8>,
    size: usize,
) -> PyResult<Bound<'py, PyMemoryView>> {
    let (starts, lengths) = (column::wide(py, &starts)?, column::wide(py, &lengths)?);
    if !values.is_c_contiguous() || starts.len() != lengths.len() {
        return Err(PyValueError::new_err("values are contiguous, and there are as many starts as lengths"));
    }
    let end = values.len_bytes();
    let range = |(&start, &length): (&i64, &i64)| {
        let start = usize::try_from(start).ok()?.checked_mul(size)?;
        let length = usize::try_from(length).ok()?.checked_mul(size)?;
        (start.checked_add(length)? <= end).then_some((start, length))
    };
    let ranges: Option<Vec<_>> = starts.iter().zip(&lengths).map(range).collect();
    let ranges = ranges.ok_or_else(|| PyValueError::new_err("a range is beyond the values"))?;
    let total = ranges.iter().try_fold(0usize, |sum, range| sum.checked_add(range.1));
    let total = total.ok_or_else(|| PyValueError::new_err("the ranges are too long"))?;
    let mut made: Vec<u8> = alloc::with_capacity(total).map_err(|failed| error::plain(py, failed))?;
    let from = Start(values.buf_ptr().cast());
    let made = py.detach(move || {
        let from = from; // moves the whole struct: a closure would capture only its pointer, which is not `Send`
        for (start, length) in ranges {
            let room = made.spare_capacity_mut();
            debug_assert!(length <= room.len(), "the capacity is the sum of the lengths");
            // SAFETY: the range is in `values`. `gather` drops `values` only after this loop, so its memory is neither
            // moved nor freed. The range is at most as long as `room`, and the two do not overlap. Another thread can
            // write to `values`; the copied bytes are then arbitrary, as in NumPy. This is sound: any bytes are valid
            // integers, and no reference to `values` is created.
            unsafe { std::ptr::copy_nonoverlapping(from.0.add(start), room.as_mut_ptr().cast(), length) };
            // SAFETY: `length` more bytes are initialized.
            unsafe { made.set_len(made.len() + length) };
        }
        made
    });
    drop(values);
    column::view(py, made)
}
