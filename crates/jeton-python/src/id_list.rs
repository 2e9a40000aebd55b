//! Lists of ids that share their Python integers.
//!
//! A `list[int]` needs an object for each id, and allocating it costs more than encoding it in text that was seen before.
//! Each integer below [`NUM_SHARED`] is therefore created once, on first use, and never freed.
//!
//! Memory: 2 MiB of pointers, of which the system maps the pages that are used, and 32 bytes for each distinct id.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyList;

/// Ids of nearly all vocabularies.
const NUM_SHARED: usize = 1 << 18;

/// Integer of each id, with a reference of its own; null before its first use. Written with the GIL only.
static SHARED: [AtomicPtr<ffi::PyObject>; NUM_SHARED] = [const { AtomicPtr::new(ptr::null_mut()) }; NUM_SHARED];

/// Creates a list of ids.
pub fn list<'py>(py: Python<'py>, ids: &[u32]) -> PyResult<Bound<'py, PyList>> {
    // SAFETY: the result is a new reference, or null with an exception set.
    let list = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyList_New(ids.len() as ffi::Py_ssize_t))? };
    for (i, &id) in ids.iter().enumerate() {
        let integer = integer(py, id)?;
        // SAFETY: `list` is a new list of that length, and no other code has it; it takes over the reference. If an
        // integer failed, the rest is null, which `list` may be dropped with.
        unsafe { ffi::PyList_SetItem(list.as_ptr(), i as ffi::Py_ssize_t, integer) };
    }
    Ok(list.cast_into()?)
}

/// Returns a new reference to an integer.
#[inline(always)]
fn integer(py: Python<'_>, id: u32) -> PyResult<*mut ffi::PyObject> {
    let shared = SHARED.get(id as usize);
    let known = shared.map_or(ptr::null_mut(), |shared| shared.load(Ordering::Acquire));
    if !known.is_null() {
        // SAFETY: `SHARED` has a reference, which it never gives up.
        unsafe { ffi::Py_INCREF(known) };
        return Ok(known);
    }
    // SAFETY: the result is a new reference, or null with an exception set.
    let made = unsafe { ffi::PyLong_FromUnsignedLong(id.into()) };
    if made.is_null() {
        return Err(PyErr::fetch(py));
    }
    if let Some(shared) = shared {
        // SAFETY: `made` is alive; the second reference is for `SHARED`.
        unsafe { ffi::Py_INCREF(made) };
        shared.store(made, Ordering::Release);
    }
    Ok(made)
}
