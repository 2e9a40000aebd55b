//! Calls from the core into Python that are safe while the interpreter is being finalized.
//!
//! Before Python 3.14, a daemon thread that requests the GIL during finalization is terminated by `pthread_exit`,
//! that is, by forced unwinding. Destructors of Rust frames would then release references without the GIL, and
//! unwinding through a frame that must not unwind aborts the process. Python 3.14 blocks such a thread forever
//! (https://github.com/python/cpython/issues/87135), and PyO3 blocks it where PyO3 requests the GIL itself
//! (`PyEval_RestoreThread`, `PyGILState_Ensure`). This does not protect calls that run Python code, because the
//! evaluation loop releases the GIL and requests it again. Such calls use this module: instead of unwinding, [`call`]
//! and [`index`] block before any other destructor runs.

use std::hint::black_box;
use std::mem::{forget, transmute};

use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// Blocks the thread forever when dropped.
struct BlockOnUnwind;

impl Drop for BlockOnUnwind {
    fn drop(&mut self) {
        block()
    }
}

fn block() -> ! {
    loop {
        std::thread::park();
    }
}

/// Runs `work` attached to the interpreter. Blocks forever if the interpreter is being or has been finalized.
pub fn attached<R>(work: impl FnOnce(Python<'_>) -> R) -> R {
    Python::try_attach(work).unwrap_or_else(|| block())
}

/// Calls `callable(*args)`, which can run Python code.
///
/// # Errors
/// Errors of the callable.
pub fn call<'py>(callable: &Bound<'py, PyAny>, args: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
    type Declared = unsafe extern "C" fn(*mut PyObject, *mut PyObject) -> *mut PyObject;
    type Unwinding = unsafe extern "C-unwind" fn(*mut PyObject, *mut PyObject) -> *mut PyObject;
    // SAFETY: the two function types differ only in that one allows unwinding, so they have the same ABI. `black_box`
    // hides the declaration from the compiler, which would otherwise omit the landing pad.
    let function = unsafe { transmute::<Declared, Unwinding>(black_box(ffi::PyObject_CallObject as Declared)) };
    let guard = BlockOnUnwind;
    // SAFETY: the caller's references keep both objects alive, `args` is a tuple, and a `Bound` proves that this thread
    // is attached.
    let result = unsafe { function(callable.as_ptr(), args.as_ptr()) };
    forget(guard);
    // SAFETY: a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(callable.py(), result) }
}

/// Calls `operator.index(object)`, which can run Python code.
///
/// # Errors
/// Exceptions of `__index__`, or `TypeError`.
pub fn index<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    type Declared = unsafe extern "C" fn(*mut PyObject) -> *mut PyObject;
    type Unwinding = unsafe extern "C-unwind" fn(*mut PyObject) -> *mut PyObject;
    // SAFETY: as in `call`.
    let function = unsafe { transmute::<Declared, Unwinding>(black_box(ffi::PyNumber_Index as Declared)) };
    let guard = BlockOnUnwind;
    // SAFETY: the caller's reference keeps the object alive; a `Bound` proves that this thread is attached.
    let result = unsafe { function(object.as_ptr()) };
    forget(guard);
    // SAFETY: a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(object.py(), result) }
}
