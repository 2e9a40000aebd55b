//! Creates short NumPy arrays of ids and of their spans, with NumPy's C interface.
//!
//! A view of a [`Column`](crate::column::Column) consists of three objects, which cost more than encoding a short text.
//! An array with its own memory is one object. The C interface is a table of pointers; NumPy has kept their order since
//! version 1.7. Python code passes the table (`use_numpy`), because importing NumPy here would run Python code.
//!
//! Source: numpy/numpy, numpy/_core/code_generators/numpy_api.py (`multiarray_types_api`, `multiarray_funcs_api`), and
//! numpy/_core/include/numpy/ndarraytypes.h (`PyArrayObject_fields`).

use std::ffi::{c_int, c_long, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// Maximum number of ids of an array with its own memory. For more ids, copying costs more than a view.
const MOST: usize = 1 << 10;

/// Indices of `PyArray_Type` and `PyArray_New` in NumPy's table of C functions and types.
const TYPE: usize = 2;
const NEW: usize = 93;

/// `NPY_UINT`, which has 32 bits on every platform of NumPy.
const UINT: c_int = 6;

/// `NPY_LONG` and `NPY_LONGLONG`. For int64, NumPy uses the first of the two that has 64 bits.
const LONG: c_int = 7;
const LONGLONG: c_int = 9;

/// `PyArray_New`: (type, nd, dims, type number, strides, data, item size, flags, object) → a new array.
type New = unsafe extern "C" fn(
    *mut ffi::PyObject,
    c_int,
    *const ffi::Py_ssize_t,
    c_int,
    *const ffi::Py_ssize_t,
    *mut c_void,
    c_int,
    c_int,
    *mut ffi::PyObject,
) -> *mut ffi::PyObject;

/// Start of `PyArrayObject_fields`.
#[repr(C)]
struct ArrayFields {
    head: ffi::PyObject,
    data: *mut c_void,
}

/// NumPy's table of pointers; null before `use_numpy`.
static TABLE: AtomicPtr<*mut c_void> = AtomicPtr::new(ptr::null_mut());

/// Stores the address of NumPy's table of C functions. `api` is `numpy._core._multiarray_umath._ARRAY_API`.
#[pyfunction]
pub fn use_numpy(api: &Bound<'_, PyCapsule>) -> PyResult<()> {
    // SAFETY: the object is a capsule. If the capsule has a name, the call returns null and sets a Python exception.
    let table = unsafe { ffi::PyCapsule_GetPointer(api.as_ptr(), ptr::null()) };
    if table.is_null() {
        return Err(PyErr::fetch(api.py()));
    }
    TABLE.store(table.cast(), Ordering::Release);
    Ok(())
}

/// Returns an array of ids; None for more than [`MOST`] ids, or if `use_numpy` has not been called.
pub fn short<'py>(py: Python<'py>, ids: &[u32]) -> PyResult<Option<Bound<'py, PyAny>>> {
    if ids.len() > MOST {
        return Ok(None);
    }
    copied(py, ids, UINT, &[ids.len() as ffi::Py_ssize_t])
}

/// Returns an array of int64 values, with two columns if `spans`; None for too many values, or if `use_numpy` has not
/// been called.
pub fn short_wide<'py>(py: Python<'py>, values: &[i64], spans: bool) -> PyResult<Option<Bound<'py, PyAny>>> {
    if values.len() > 2 * MOST {
        return Ok(None);
    }
    let len = values.len() as ffi::Py_ssize_t;
    let number = if size_of::<c_long>() == size_of::<i64>() { LONG } else { LONGLONG };
    match spans {
        true => copied(py, values, number, &[len / 2, 2]),
        false => copied(py, values, number, &[len]),
    }
}

/// Returns an array of `values`; None if `use_numpy` has not been called. The NumPy type with the given number must
/// have the size of `T`.
fn copied<'py, T: Copy>(
    py: Python<'py>,
    values: &[T],
    number: c_int,
    shape: &[ffi::Py_ssize_t],
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let table = TABLE.load(Ordering::Acquire);
    if table.is_null() {
        return Ok(None);
    }
    // Never writes more values than the array has.
    let len = values.len().min(shape.iter().product::<ffi::Py_ssize_t>() as usize);
    // SAFETY: `table` is NumPy's table, which is never freed and has `PyArray_Type` and `PyArray_New` at these indices.
    // `shape` has the given number of dimensions. No data is passed, so NumPy allocates the data, contiguous and
    // aligned. If the call fails, it returns null and sets a Python exception. Otherwise, it returns a new reference to
    // an array, which begins with `ArrayFields`. No other code has the array while its data is written.
    unsafe {
        let new: New = std::mem::transmute(*table.add(NEW));
        let (none, dims) = (ptr::null_mut(), shape.len() as c_int);
        let made = new((*table.add(TYPE)).cast(), dims, shape.as_ptr(), number, ptr::null(), none, 0, 0, none.cast());
        let array = Bound::from_owned_ptr_or_err(py, made)?;
        let data = (*array.as_ptr().cast::<ArrayFields>()).data;
        ptr::copy_nonoverlapping(values.as_ptr(), data.cast::<T>(), len);
        Ok(Some(array))
    }
}
