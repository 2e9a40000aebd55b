//! Converts arguments and results of SentencePiece's interface.

use std::ffi::c_int;

use jeton_core::error::{Error, ErrorKind};
use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyRuntimeError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::arguments::Text;
use crate::callback;
use crate::once::interned;

/// Type of a result, as the caller requests it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    Ids,
    Array,
    Pieces,
    BytePieces,
    Message,
    Mapping,
    ByteMapping,
}

impl Output {
    pub fn of(number: u8) -> PyResult<Self> {
        const ALL: [Output; 7] = [
            Output::Ids,
            Output::Array,
            Output::Pieces,
            Output::BytePieces,
            Output::Message,
            Output::Mapping,
            Output::ByteMapping,
        ];
        ALL.get(usize::from(number)).copied().ok_or_else(|| PyTypeError::new_err("no form of a result has this number"))
    }
}

/// Read-only buffer of 32-bit integers.
#[pyclass(frozen, module = "jeton.compat.sentencepiece", name = "VectorBuffer")]
pub struct VectorBuffer(Vec<i32>);

impl VectorBuffer {
    pub fn new(ids: &[u32]) -> Self {
        Self(ids.iter().map(|&id| id as i32).collect())
    }
}

#[pymethods]
impl VectorBuffer {
    /// Returns the address of the first integer.
    fn data_address(&self) -> usize {
        self.0.as_ptr() as usize
    }

    /// # Safety
    /// As in CPython: `view` is a buffer structure to be filled.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let own = &slf.get().0;
        let len = std::mem::size_of_val(&own[..]) as ffi::Py_ssize_t;
        let start = own.as_ptr().cast_mut().cast();
        // SAFETY: CPython passes a `view` to be filled. The integers, `len` bytes from `start` on, are neither
        // changed, moved nor freed while this frozen object exists; the view has a reference to it and is read-only.
        let failed = unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start, len, 1, flags) } != 0;
        if failed {
            return Err(PyErr::fetch(slf.py()));
        }
        Ok(())
    }

    /// Does nothing. If a class has this method, NumPy keeps a view of the object instead of the object itself.
    ///
    /// # Safety
    /// As in CPython: `view` is a view that `__getbuffer__` has filled.
    unsafe fn __releasebuffer__(&self, _view: *mut ffi::Py_buffer) {}
}

/// Borrows a text argument: `str` or `bytes`.
pub fn text<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<Text<'a>> {
    if !object.is_instance_of::<PyString>() && !object.is_instance_of::<PyBytes>() {
        return Err(PyTypeError::new_err("a text must be str or bytes"));
    }
    text_or(object).map_err(|_| PyRuntimeError::new_err("the text has a lone surrogate"))
}

/// Borrows a `str` or `bytes` that is a piece or an element of a list of texts.
pub fn item<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<Text<'a>> {
    if !object.is_instance_of::<PyString>() && !object.is_instance_of::<PyBytes>() {
        return Err(PyTypeError::new_err("the elements of a list must be str or bytes"));
    }
    text_or(object).map_err(|_| PyTypeError::new_err("an element of the list has a lone surrogate"))
}

fn text_or<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<Text<'a>> {
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(Text::Bytes(bytes.as_bytes()));
    }
    object.cast::<PyString>()?.to_str().map(Text::Str)
}

/// Converts a flag: `None` is false; numbers are converted as Python's `bool` does.
pub fn flag(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    if let Ok(flag) = object.cast::<PyBool>() {
        return Ok(flag.is_true());
    }
    if object.is_none() {
        return Ok(false);
    }
    if !object.get_type().hasattr(interned!(object.py(), "__bool__"))? {
        return Err(PyTypeError::new_err(format!("a flag must be a bool, not {}", object.get_type().name()?)));
    }
    object.is_truthy()
}

/// Converts a 32-bit integer.
pub fn integer(object: &Bound<'_, PyAny>) -> PyResult<i32> {
    let wrong = || PyTypeError::new_err("an integer of 32 bits is expected");
    if object.is_instance_of::<PyFloat>() || object.is_none() {
        return Err(wrong());
    }
    let object = match object.is_instance_of::<PyInt>() {
        true => object.clone(),
        false => callback::index(object).map_err(|_| wrong())?,
    };
    object.extract().map_err(|_| wrong())
}

/// Converts a floating-point number.
pub fn number(object: &Bound<'_, PyAny>) -> PyResult<f32> {
    let wrong = || PyTypeError::new_err("a number is expected");
    if object.is_instance_of::<PyString>() || object.is_none() {
        return Err(wrong());
    }
    object.extract::<f64>().map(|number| number as f32).map_err(|_| wrong())
}

/// Returns the items of a list, tuple or other sequence. A text is not accepted.
pub fn items<'py>(object: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    if let Ok(list) = object.cast::<PyList>() {
        return Ok(list.iter().collect());
    }
    if let Ok(tuple) = object.cast::<PyTuple>() {
        return Ok(tuple.iter().collect());
    }
    let is_text = object.is_instance_of::<PyString>() || object.is_instance_of::<PyBytes>();
    // SAFETY: the reference keeps the object alive.
    if is_text || unsafe { ffi::PySequence_Check(object.as_ptr()) } == 0 {
        return Err(PyTypeError::new_err("a list or tuple is expected"));
    }
    let len = object.len()?;
    (0..len).map(|index| object.get_item(index)).collect()
}

/// Converts ids: a one-dimensional buffer of integers, or a sequence of integers.
pub fn ids(object: &Bound<'_, PyAny>) -> PyResult<Vec<i32>> {
    let wrong = || PyTypeError::new_err("ids must be a list or a buffer of integers");
    if let Ok(list) = object.cast::<PyList>() {
        return list.iter().map(|id| integer(&id).map_err(|_| wrong())).collect();
    }
    if object.is_instance_of::<PyString>() || object.is_instance_of::<PyBytes>() {
        return Err(wrong());
    }
    let py = object.py();
    if object.get_type().hasattr(interned!(py, "dtype"))? {
        return array_ids(object);
    }
    if let Ok(items) = items(object) {
        return items.iter().map(|id| integer(id).map_err(|_| wrong())).collect();
    }
    let iterated = object.try_iter().map_err(|_| wrong())?;
    iterated.map(|id| integer(&id?).map_err(|_| wrong())).collect()
}

/// Converts a NumPy array of ids. Integers beyond 32 bits become the largest or smallest 32-bit integer.
fn array_ids(array: &Bound<'_, PyAny>) -> PyResult<Vec<i32>> {
    let py = array.py();
    let kind: String = array.getattr(interned!(py, "dtype"))?.getattr(interned!(py, "kind"))?.extract()?;
    let dimensions: usize = array.getattr(interned!(py, "ndim"))?.extract()?;
    if !matches!(kind.as_str(), "i" | "u") || dimensions != 1 {
        return Err(PyTypeError::new_err("an array of ids must have integers and one dimension"));
    }
    let list = callback::call(&array.getattr(interned!(py, "tolist"))?, &PyTuple::empty(py))?;
    let clamped = |id: Bound<'_, PyAny>| match id.extract::<i64>() {
        Ok(id) => Ok(id.clamp(i32::MIN.into(), i32::MAX.into()) as i32),
        Err(_) => Ok(i32::MAX),
    };
    list.cast::<PyList>()?.iter().map(clamped).collect()
}

/// Converts a core error to SentencePiece's exception.
pub fn raised(error: Error) -> PyErr {
    match error.kind() {
        ErrorKind::Interrupted => PyKeyboardInterrupt::new_err(()),
        ErrorKind::Memory { .. } => PyMemoryError::new_err(error.to_string()),
        _ => PyRuntimeError::new_err(error.to_string()),
    }
}

/// Returns, for each byte, the index of its character, followed by the number of characters. A character has the length
/// that its first byte specifies, even in invalid UTF-8.
pub fn char_indices(text: &[u8]) -> Vec<u32> {
    let mut indices = Vec::with_capacity(text.len() + 1);
    let mut count = 0;
    while indices.len() < text.len() {
        let len = match text[indices.len()] {
            0..0xC0 => 1,
            0xC0..0xE0 => 2,
            0xE0..0xF0 => 3,
            0xF0.. => 4,
        };
        indices.resize((indices.len() + len).min(text.len()), count);
        count += 1;
    }
    indices.push(count);
    indices
}
