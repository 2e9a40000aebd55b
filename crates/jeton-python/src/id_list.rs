//! Lists of ids, or of offsets, that share their Python integers.
//!
//! A `list[int]` needs a Python object for each id. If a pretoken is in the encoder's cache, allocating the objects of
//! its ids costs more than encoding it. Each integer below [`NUM_SHARED`] is therefore created once, on first use, and
//! never freed.
//!
//! Memory: for integers, 2 MiB of pointers (the system maps only the used pages) and 32 bytes for each distinct
//! integer; for tuples, 512 KiB of pointers and 64 bytes for each distinct tuple, at most 4 MiB.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use jeton_core::util::simd::prefetch;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyList;

/// Number of shared integers. It covers the ids of nearly all vocabularies.
const NUM_SHARED: usize = 1 << 18;

/// Memory is prefetched this many ids ahead. Prefetching helps because the pointers and integers of a large vocabulary
/// take megabytes.
const AHEAD: usize = 24;

/// id -> Python integer; null before the first use of the id. The table owns a reference to each integer in it. Only
/// threads that hold the GIL write to the table.
static SHARED: [AtomicPtr<ffi::PyObject>; NUM_SHARED] = [const { AtomicPtr::new(ptr::null_mut()) }; NUM_SHARED];

/// Tuples are shared for ranges that start before this offset, which covers texts of a few hundred tokens.
const SHARED_STARTS: usize = 1 << 12;

/// Tuples are shared for ranges shorter than this. Nearly all tokens are shorter.
const SHARED_LENS: usize = 1 << 4;

/// (start, length) of a range -> Python tuple. Ownership and access are as for `SHARED`.
static PAIRS: [AtomicPtr<ffi::PyObject>; SHARED_STARTS * SHARED_LENS] =
    [const { AtomicPtr::new(ptr::null_mut()) }; SHARED_STARTS * SHARED_LENS];

/// Creates a list of ids.
pub fn list<'py>(py: Python<'py>, ids: &[u32]) -> PyResult<Bound<'py, PyList>> {
    let pointer = |at: usize| ids.get(at).and_then(|&id| SHARED.get(id as usize));
    list_of(
        py,
        ids.iter().enumerate().map(|(at, &id)| {
            if let Some(later) = pointer(at + 2 * AHEAD) {
                prefetch(std::ptr::from_ref(later));
            }
            if let Some(soon) = pointer(at + AHEAD) {
                prefetch(soon.load(Ordering::Relaxed));
            }
            id.into()
        }),
    )
}

/// Creates a list of integers.
pub fn list_of<'py>(py: Python<'py>, integers: impl ExactSizeIterator<Item = i64>) -> PyResult<Bound<'py, PyList>> {
    // SAFETY: the result is a new reference, or null with an exception set.
    let list = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyList_New(integers.len() as ffi::Py_ssize_t))? };
    for (i, value) in integers.enumerate() {
        let integer = integer(py, value)?;
        // SAFETY: `list` is new, has an item for each of the integers, and is not accessible to other code. The call
        // takes the reference to `integer`. If an integer cannot be created, the remaining items of the list are null;
        // a list with null items can be dropped.
        unsafe { ffi::PyList_SetItem(list.as_ptr(), i as ffi::Py_ssize_t, integer) };
    }
    Ok(list.cast_into()?)
}

/// Creates a list of ranges as tuples.
pub fn pairs<'py>(py: Python<'py>, pairs: &[[i64; 2]]) -> PyResult<Bound<'py, PyList>> {
    // SAFETY: the result is a new reference, or null with an exception set.
    let list = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyList_New(pairs.len() as ffi::Py_ssize_t))? };
    for (i, &range) in pairs.iter().enumerate() {
        let pair = pair(py, range)?;
        // SAFETY: as in `list_of`.
        unsafe { ffi::PyList_SetItem(list.as_ptr(), i as ffi::Py_ssize_t, pair) };
    }
    Ok(list.cast_into()?)
}

/// Returns a new reference to the tuple of a range. If the range is short and near the start of the text, its tuple is
/// shared: it is created only once, because each new tuple costs an allocation and many tuples trigger garbage
/// collections.
#[inline(always)]
fn pair(py: Python<'_>, [start, end]: [i64; 2]) -> PyResult<*mut ffi::PyObject> {
    let shared = match (usize::try_from(start), usize::try_from(end.wrapping_sub(start))) {
        (Ok(start), Ok(len)) if start < SHARED_STARTS && len < SHARED_LENS => Some(&PAIRS[start * SHARED_LENS + len]),
        _ => None,
    };
    let known = shared.map_or(ptr::null_mut(), |shared| shared.load(Ordering::Acquire));
    if !known.is_null() {
        // SAFETY: `known` is alive, because `PAIRS` owns a reference to it that is never released.
        unsafe { ffi::Py_INCREF(known) };
        return Ok(known);
    }
    // SAFETY: `first` and `second` own new references; the tuple adds references of its own. A tuple of integers cannot
    // be part of a reference cycle. The garbage collector therefore need not track the tuple, and would itself untrack
    // it later.
    let made = unsafe {
        let first = Bound::from_owned_ptr(py, integer(py, start)?);
        let second = Bound::from_owned_ptr(py, integer(py, end)?);
        let made = Bound::from_owned_ptr_or_err(py, ffi::PyTuple_Pack(2, first.as_ptr(), second.as_ptr()))?;
        ffi::PyObject_GC_UnTrack(made.as_ptr().cast());
        made.into_ptr()
    };
    if let Some(shared) = shared {
        // SAFETY: `made` is alive. `PAIRS` owns the reference that is added here; the caller gets the first one.
        unsafe { ffi::Py_INCREF(made) };
        shared.store(made, Ordering::Release);
    }
    Ok(made)
}

/// Returns a new reference to an integer.
#[inline(always)]
fn integer(py: Python<'_>, value: i64) -> PyResult<*mut ffi::PyObject> {
    let shared = usize::try_from(value).ok().and_then(|value| SHARED.get(value));
    let known = shared.map_or(ptr::null_mut(), |shared| shared.load(Ordering::Acquire));
    if !known.is_null() {
        // SAFETY: `known` is alive, because `SHARED` owns a reference to it that is never released.
        unsafe { ffi::Py_INCREF(known) };
        return Ok(known);
    }
    // SAFETY: the result is a new reference, or null with an exception set.
    let made = unsafe { ffi::PyLong_FromLongLong(value) };
    if made.is_null() {
        return Err(PyErr::fetch(py));
    }
    if let Some(shared) = shared {
        // SAFETY: `made` is alive. `SHARED` owns the reference that is added here; the caller gets the first one.
        unsafe { ffi::Py_INCREF(made) };
        shared.store(made, Ordering::Release);
    }
    Ok(made)
}
