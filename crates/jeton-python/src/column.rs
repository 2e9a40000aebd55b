//! Columns of integers that NumPy accesses in place.
//!
//! rust-numpy is not used, because loading its interface runs Python code, during which a Ctrl-C causes a panic.

use std::ffi::c_int;

use jeton_core::util::buffer_pool;
use pyo3::buffer::PyBuffer;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;

/// Returns a writable view of little-endian integers. The integers live as long as any view of them.
pub fn view(py: Python<'_>, integers: impl Into<Column>) -> PyResult<Bound<'_, PyMemoryView>> {
    PyMemoryView::from(Bound::new(py, integers.into())?.as_any())
}

/// Owner of the integers to which views refer.
#[pyclass(module = "jeton._core")]
pub struct Column(Integers);

/// Minimum number of ids for which unused capacity is returned to the system.
const LARGE: usize = 1 << 19;

enum Integers {
    Ids(Vec<u32>),
    Short(Vec<u16>),
    Offsets(Vec<i64>),
    Bytes(Vec<u8>),
}

impl From<Vec<u32>> for Column {
    fn from(mut ids: Vec<u32>) -> Self {
        ids.iter_mut().for_each(|id| *id = id.to_le()); // a no-op on most machines
        if ids.capacity() - ids.len() > ids.len() / 4 && ids.capacity() < LARGE {
            ids.shrink_to_fit();
        }
        Self(Integers::Ids(ids))
    }
}

impl From<Vec<u16>> for Column {
    fn from(mut ids: Vec<u16>) -> Self {
        ids.iter_mut().for_each(|id| *id = id.to_le());
        Self(Integers::Short(ids))
    }
}

impl From<Vec<i64>> for Column {
    fn from(mut offsets: Vec<i64>) -> Self {
        offsets.iter_mut().for_each(|offset| *offset = offset.to_le());
        Self(Integers::Offsets(offsets))
    }
}

impl From<Vec<u8>> for Column {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Integers::Bytes(bytes))
    }
}

/// Copies a buffer of little-endian u32 values. Another thread can change the buffer during the copy.
pub fn ids(py: Python<'_>, bytes: &PyBuffer<u8>) -> PyResult<Vec<u32>> {
    let mut ids = buffer_pool::COPIES.take_filled(bytes.item_count() / 4);
    let len = std::mem::size_of_val(&ids[..]);
    // SAFETY: `len` is the size of `ids`, which is initialized and can contain any bytes. While `room` is in use, `ids`
    // is not accessed.
    let room = unsafe { std::slice::from_raw_parts_mut(ids.as_mut_ptr().cast::<u8>(), len) };
    bytes.copy_to_slice(py, room)?;
    ids.iter_mut().for_each(|id| *id = u32::from_le(*id));
    Ok(ids)
}

/// Copies a buffer of little-endian i64 values. Another thread can change the buffer during the copy.
pub fn wide(py: Python<'_>, bytes: &PyBuffer<u8>) -> PyResult<Vec<i64>> {
    let mut values = vec![0i64; bytes.item_count() / 8];
    let len = std::mem::size_of_val(&values[..]);
    // SAFETY: as in `ids`.
    let room = unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast::<u8>(), len) };
    bytes.copy_to_slice(py, room)?;
    values.iter_mut().for_each(|value| *value = i64::from_le(*value));
    Ok(values)
}

impl Drop for Column {
    fn drop(&mut self) {
        match &mut self.0 {
            Integers::Ids(ids) => buffer_pool::IDS.keep(std::mem::take(ids)),
            Integers::Short(_) | Integers::Bytes(_) => {}
            Integers::Offsets(offsets) => buffer_pool::OFFSETS.keep(std::mem::take(offsets)),
        }
    }
}

#[pymethods]
impl Column {
    fn __len__(&self) -> usize {
        // Creates no slice, because NumPy could be writing to the integers.
        match &self.0 {
            Integers::Ids(ids) => ids.len() * size_of::<u32>(),
            Integers::Short(ids) => ids.len() * size_of::<u16>(),
            Integers::Offsets(offsets) => offsets.len() * size_of::<i64>(),
            Integers::Bytes(bytes) => bytes.len(),
        }
    }

    /// # Safety
    /// As in CPython: `view` is a buffer structure to be filled.
    unsafe fn __getbuffer__(mut slf: PyRefMut<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let len = slf.__len__() as ffi::Py_ssize_t;
        let start = match &mut slf.0 {
            Integers::Ids(ids) => ids.as_mut_ptr().cast(),
            Integers::Short(ids) => ids.as_mut_ptr().cast(),
            Integers::Offsets(offsets) => offsets.as_mut_ptr().cast(),
            Integers::Bytes(bytes) => bytes.as_mut_ptr().cast(),
        };
        // SAFETY: CPython passes a `view` to be filled. The `len` bytes from `start` on are the integers, which are
        // initialized. They are neither moved nor freed while this object exists, and the view has a reference to the
        // object. No reference to the integers is created after this: `as_mut_ptr` creates none, `__len__` only reads
        // the length, and `drop`, which gives the integers to a buffer pool, runs after the last view is released.
        let failed = unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start, len, 0, flags) } != 0;
        if failed {
            return Err(PyErr::fetch(slf.py()));
        }
        Ok(())
    }
}
