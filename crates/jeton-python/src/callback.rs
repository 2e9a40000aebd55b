//! Calls from the core into Python that are safe while the interpreter is being finalized.
//!
//! Before Python 3.14, a daemon thread that requests the GIL during finalization is terminated by `pthread_exit`, that is
//! by forced unwinding. Destructors of our frames and of PyO3's would then release references without the GIL, and
//! unwinding through a frame that must not unwind aborts the process. Python 3.14 blocks such a thread forever
//! (https://github.com/python/cpython/issues/87135), and so does PyO3 when it requests the GIL itself
//! (`PyEval_RestoreThread`, `PyGILState_Ensure`). The remaining case are calls that run Python code, because the evaluation
//! loop releases the GIL and requests it again. They use this module: instead of unwinding, [`call`] and [`index`] block
//! before any other destructor runs.

use std::hint::black_box;
use std::mem::{forget, transmute};

use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// Blocks the thread for ever when it is dropped.
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

/// Runs `work` attached to the interpreter. Blocks for ever where the interpreter is being finalized, or gone.
pub fn attached<R>(work: impl FnOnce(Python<'_>) -> R) -> R {
    Python::try_attach(work).unwrap_or_else(|| block())
}

/// `callable(*args)`, where the call may run Python code.
///
/// # Errors
/// Errors of the callable.
pub fn call<'py>(callable: &Bound<'py, PyAny>, args: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
    type Declared = unsafe extern "C" fn(*mut PyObject, *mut PyObject) -> *mut PyObject;
    type Unwinding = unsafe extern "C-unwind" fn(*mut PyObject, *mut PyObject) -> *mut PyObject;
    // SAFETY: the two types differ only in whether the function may unwind, and so have the same ABI. `black_box` keeps
    // the compiler from seeing the declaration, from which it would conclude that no landing pad is needed.
    let function = unsafe { transmute::<Declared, Unwinding>(black_box(ffi::PyObject_CallObject as Declared)) };
    let guard = BlockOnUnwind;
    // SAFETY: both are objects that the caller's references keep alive, `args` a tuple; a `Bound` proves that this
    // thread is attached.
    let result = unsafe { function(callable.as_ptr(), args.as_ptr()) };
    forget(guard);
    // SAFETY: a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(callable.py(), result) }
}

/// `operator.index(object)`, where that may run Python code.
///
/// # Errors
/// What `__index__` raises, or `TypeError`.
pub fn index<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    type Declared = unsafe extern "C" fn(*mut PyObject) -> *mut PyObject;
    type Unwinding = unsafe extern "C-unwind" fn(*mut PyObject) -> *mut PyObject;
    // SAFETY: as in `call`.
    let function = unsafe { transmute::<Declared, Unwinding>(black_box(ffi::PyNumber_Index as Declared)) };
    let guard = BlockOnUnwind;
    // SAFETY: an object that the caller's reference keeps alive; a `Bound` proves that this thread is attached.
    let result = unsafe { function(object.as_ptr()) };
    forget(guard);
    // SAFETY: a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(object.py(), result) }
}
