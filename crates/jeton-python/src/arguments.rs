//! Converts Python arguments to types of the core.

use std::ops::Range;

use jeton_core::error::Error;
use jeton_core::pretokenize::Pretokenizer;
use jeton_core::tokenizer::{Input, Permission};
use jeton_core::util::buffer_pool;
use jeton_core::util::huge_pages;
use jeton_core::util::utf8;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyUnicodeEncodeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyList, PyString, PyTuple};

use crate::callback;
use crate::error::{self, Fact, InvalidTextError};
use crate::once::interned;

/// Returns the offset of the first byte of invalid UTF-8.
#[pyfunction]
pub fn find_invalid_utf8(py: Python<'_>, data: &[u8]) -> Option<usize> {
    py.detach(|| utf8::first_invalid(data))
}

/// A text of the caller, borrowed from the Python object or from [`Wide`].
pub enum Text<'a> {
    /// `str`
    Str(&'a str),
    /// `bytes`
    Bytes(&'a [u8]),
}

impl<'a> Text<'a> {
    /// Borrows the bytes of a `str` or `bytes`.
    pub fn of(object: &'a Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(text) = object.cast::<PyString>() {
            return text.to_str().map(Text::Str).map_err(|error| surrogate(object.py(), error));
        }
        if let Ok(bytes) = object.cast::<PyBytes>() {
            return Ok(Text::Bytes(bytes.as_bytes()));
        }
        let hint = if object.is_instance_of::<PyList>() { "; encode_batch takes lists of texts" } else { "" };
        Err(PyTypeError::new_err(format!("a text must be str or bytes, not {}{hint}", object.get_type().name()?)))
    }

    /// Returns the bytes of the text.
    pub fn bytes(&self) -> &'a [u8] {
        match self {
            Text::Str(text) => text.as_bytes(),
            Text::Bytes(bytes) => bytes,
        }
    }

    /// Converts the text to an input of the core. The core need not validate the UTF-8 of a `str`.
    pub fn input(&self) -> Input<'a> {
        match self {
            Text::Str(text) => Input::from(*text),
            Text::Bytes(bytes) => Input::from(*bytes),
        }
    }

    /// Converts a core error about this text to an exception. The position in the exception is in characters for a
    /// `str`, and in bytes for `bytes`.
    pub fn error(&self, py: Python<'_>, error: Error) -> PyErr {
        error::to_python(py, error, |at| match self {
            Text::Str(text) => text.char_indices().take_while(|&(i, _)| i < at).count(),
            Text::Bytes(_) => at,
        })
    }
}

/// UTF-8 of strings that are not ASCII. Python's own conversion is not used, because it keeps the UTF-8 in each string
/// for as long as the string exists.
#[derive(Default)]
pub struct Wide {
    bytes: Vec<u8>,
    spans: Vec<Option<Range<usize>>>, // range of each text in `bytes`; None if it is not stored, or has a surrogate
}

impl Drop for Wide {
    fn drop(&mut self) {
        buffer_pool::TEXTS.keep(std::mem::take(&mut self.bytes));
    }
}

/// Minimum number of characters of a string in a batch for which the conversion in [`Wide`] is faster than Python's.
const WORTH_A_DETOUR: usize = 256;
/// Minimum number of characters of a single string for which the conversion in [`Wide`] is faster than Python's.
const LONG: usize = 1 << 14;

/// Minimum number of characters of a batch for which a second thread prefaults memory.
const WORTH_A_THREAD: usize = 1 << 22;

/// Number of characters that are copied at once. This many fit the L2 cache.
const STEP: usize = 1 << 15;

impl Wide {
    /// Converts texts. With several `threads`, another thread prefaults the memory of the result at the same time.
    pub fn of(py: Python<'_>, objects: &[Bound<'_, PyAny>], threads: usize) -> PyResult<Self> {
        let is_ascii = py.get_type::<PyString>().getattr(interned!(py, "isascii"))?;
        let worth = |object| -> PyResult<Option<(&Bound<'_, PyString>, usize)>> {
            let Ok(text) = Bound::cast::<PyString>(object) else { return Ok(None) };
            let len = num_code_points(text)?;
            let is_worth = len >= WORTH_A_DETOUR && !is_ascii.call1((text,))?.is_truthy()?;
            Ok(is_worth.then_some((text, len)))
        };
        let texts = objects.iter().map(worth).collect::<PyResult<Vec<_>>>()?;
        let lens = || texts.iter().flatten().map(|&(_, len)| len);
        let mut points = vec![0; lens().max().unwrap_or(0).min(STEP)];
        let total = lens().sum();
        let mut bytes = utf8::room_for(total);
        let (mut done, mut has_help) = (0, threads == 1 || total < WORTH_A_THREAD);
        let spans = std::thread::scope(|scope| {
            let mut help = None; // thread that maps pages of `bytes`; joined before `bytes` can move
            let span = |text: Option<(&Bound<'_, PyString>, usize)>| -> PyResult<Option<Range<usize>>> {
                let Some((text, len)) = text else { return Ok(None) };
                let start = bytes.len();
                for from in (0..len).step_by(STEP) {
                    let points = &mut points[..STEP.min(len - from)];
                    copy_points(text, len, from, points)?;
                    if bytes.capacity() - bytes.len() < utf8::most_bytes(points.len()) {
                        help.take().map(std::thread::ScopedJoinHandle::join);
                    }
                    if !utf8::append(points, &mut bytes) {
                        bytes.truncate(start);
                        return Ok(None);
                    }
                    done += points.len();
                    if !has_help && done >= STEP {
                        has_help = true;
                        // Estimated number of bytes of the remaining characters.
                        let left = (total - done).saturating_mul(bytes.len()) / done;
                        let room = huge_pages::prefault_range(bytes.spare_capacity_mut(), left);
                        // SAFETY: `bytes` outlives the scope, which joins the thread. Only `append` could reallocate
                        // `bytes`, and before a call that could do so, the thread is joined (above).
                        let touch = move || unsafe { huge_pages::prefault(room) };
                        help = std::thread::Builder::new().spawn_scoped(scope, touch).ok();
                    }
                }
                Ok(Some(start..bytes.len()))
            };
            texts.into_iter().map(span).collect::<PyResult<_>>()
        })?;
        Ok(Self { bytes, spans })
    }

    /// Returns the texts of `objects`, from which this value was built.
    pub fn texts<'a>(&'a self, objects: &'a [Bound<'_, PyAny>]) -> PyResult<Vec<Text<'a>>> {
        let text = |(index, (object, span)): (usize, (&'a Bound<'_, PyAny>, &Option<Range<usize>>))| {
            let text = self.text(object, span.as_ref());
            text.map_err(|failed| error::in_batch(object.py(), failed, index))
        };
        objects.iter().zip(&self.spans).enumerate().map(text).collect()
    }

    /// Returns one text. A long text that is not ASCII is converted to UTF-8 by this type, any other text by Python.
    pub fn one<'a>(&'a mut self, object: &'a Bound<'_, PyAny>, threads: usize) -> PyResult<Text<'a>> {
        if object.cast::<PyString>().ok().map_or(Ok(0), num_code_points)? >= LONG {
            *self = Self::of(object.py(), std::slice::from_ref(object), threads)?;
        }
        self.text(object, self.spans.first().and_then(Option::as_ref))
    }

    fn text<'a>(&'a self, object: &'a Bound<'_, PyAny>, span: Option<&Range<usize>>) -> PyResult<Text<'a>> {
        match span {
            // SAFETY: `utf8::append` wrote the range, and its ends are character boundaries.
            Some(span) => Ok(Text::Str(unsafe { str::from_utf8_unchecked(&self.bytes[span.clone()]) })),
            None => Text::of(object),
        }
    }
}

/// Minimum length of a text that several threads can encode, in characters or bytes. Equals `_LONG_TEXT` of
/// `jeton.tokenizer`.
const WORTH_THREADS: usize = 1 << 18;

/// Returns true if the text is long enough for several threads to encode it.
pub fn is_long(text: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(match text.cast::<PyString>() {
        Ok(text) => num_code_points(text)? >= WORTH_THREADS,
        Err(_) => text.cast::<PyBytes>().is_ok_and(|bytes| bytes.as_bytes().len() >= WORTH_THREADS),
    })
}

/// Returns the number of code points of a string. `len()` would call `__len__` of a subclass.
fn num_code_points(text: &Bound<'_, PyString>) -> PyResult<usize> {
    // SAFETY: the object is a string, by its type; the reference keeps it alive.
    let len = unsafe { ffi::PyUnicode_GetLength(text.as_ptr()) };
    usize::try_from(len).map_err(|_| PyErr::fetch(text.py()))
}

/// Copies the code points `from..from + points.len()` of a string of `len` code points.
fn copy_points(text: &Bound<'_, PyString>, len: usize, from: usize, points: &mut [u32]) -> PyResult<()> {
    let (py, size) = (text.py(), points.len() as ffi::Py_ssize_t);
    let part = if points.len() == len {
        text.clone()
    } else {
        let from = from as ffi::Py_ssize_t;
        // SAFETY: the object is a string, by its type. Any range is valid: it is clamped to the length. The result is a
        // new reference, or null with an exception set.
        unsafe {
            Bound::from_owned_ptr_or_err(py, ffi::PyUnicode_Substring(text.as_ptr(), from, from + size))?.cast_into()?
        }
    };
    // SAFETY: the object is a string, by its type, and `points` is writable for `size` code points. For a longer
    // string, the function would set an exception and return null.
    let copied = unsafe { ffi::PyUnicode_AsUCS4(part.as_ptr(), points.as_mut_ptr(), size, 0) };
    if copied.is_null() {
        return Err(PyErr::fetch(py));
    }
    Ok(())
}

fn surrogate(py: Python<'_>, error: PyErr) -> PyErr {
    if !error.is_instance_of::<PyUnicodeEncodeError>(py) {
        return error;
    }
    let at: Option<usize> = error.value(py).getattr("start").and_then(|start| start.extract()).ok();
    let place = at.map_or_else(String::new, |at| format!(" at position {at}"));
    let message = format!(
        "the text contains a lone surrogate{place}, which is not valid Unicode; encode and count accept errors=\"replace\", which puts U+FFFD there"
    );
    error::make::<InvalidTextError>(py, message, &[("position", Fact::Number(at))])
}

/// Converts a list of ids.
///
/// # Errors
/// `OverflowError` for an integer beyond u32, `TypeError` for other types.
pub fn ids(list: &Bound<'_, PyList>) -> PyResult<Vec<u32>> {
    ids_or_wide(list)?.map_err(|(position, _)| PyOverflowError::new_err(format!("ids[{position}] is out of range")))
}

/// (position in a list, value) of the first integer that does not fit u32.
pub type WideId<'py> = (usize, Bound<'py, PyAny>);

/// Converts a list of ids. If an integer does not fit u32, returns the first such integer instead.
///
/// # Errors
/// `TypeError` for other types.
pub fn ids_or_wide<'py>(list: &Bound<'py, PyList>) -> PyResult<Result<Vec<u32>, WideId<'py>>> {
    let mut ids = Vec::with_capacity(list.len());
    // SAFETY: the object is a list. Each item is a borrowed reference, which stays valid because no Python code runs
    // that could remove the item from the list: reading an object that is exactly an `int` runs no Python code.
    unsafe {
        let kind = &raw mut ffi::PyLong_Type;
        while ids.len() < list.len() {
            let item = ffi::PyList_GetItem(list.as_ptr(), ids.len() as ffi::Py_ssize_t);
            if item.is_null() || ffi::Py_TYPE(item) != kind {
                break;
            }
            match u32::try_from(ffi::PyLong_AsLongLong(item)) {
                Ok(id) => ids.push(id),
                Err(_) => break,
            }
        }
    }
    if ids.len() == list.len() {
        return Ok(Ok(ids));
    }
    drop(PyErr::take(list.py())); // clears the exception for an integer beyond 64 bits; `integer` reads it again
    ids.clear();
    for (position, item) in list.iter().enumerate() {
        let item = if item.is_exact_instance_of::<PyInt>() { item } else { integer(position, &item)? };
        match small(&item) {
            Some(id) => ids.push(id),
            None => return Ok(Err((position, item))),
        }
    }
    Ok(Ok(ids))
}

/// Converts one id, or any sequence or array of ids, to a list.
///
/// # Errors
/// Errors of the object's iterator.
pub fn list_of_ids<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
    if let Ok(list) = object.cast_exact::<PyList>() {
        return Ok(list.clone());
    }
    let py = object.py();
    let kind = object.get_type();
    let is_array = kind.hasattr(interned!(py, "dtype"))? && kind.hasattr(interned!(py, "tolist"))?;
    let object = match is_array {
        true => callback::call(&object.getattr(interned!(py, "tolist"))?, &PyTuple::empty(py))?,
        false => object.clone(),
    };
    match object.get_type().hasattr(interned!(py, "__iter__"))? {
        true => Ok(callback::call(py.get_type::<PyList>().as_any(), &(object,).into_pyobject(py)?)?.cast_into()?),
        false => PyList::new(py, [object]),
    }
}

/// Returns the value of an `int`, if it fits u32.
pub fn small(integer: &Bound<'_, PyAny>) -> Option<u32> {
    // SAFETY: any object is valid: if it is not an `int`, the result is -1 with an exception set.
    let value = unsafe { ffi::PyLong_AsLongLong(integer.as_ptr()) };
    if value == -1 {
        drop(PyErr::take(integer.py())); // clears the exception of an overflow, if any
    }
    u32::try_from(value).ok()
}

/// Converts an object that is not an `int`, such as a NumPy integer, to an `int`.
fn integer<'py>(position: usize, item: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    callback::index(item).or_else(|failed| {
        if !failed.is_instance_of::<PyTypeError>(item.py()) {
            return Err(failed);
        }
        let kind = item.get_type().name()?;
        Err(PyTypeError::new_err(format!(
            "ids[{position}] is of type {kind}; ids must be a one-dimensional sequence of integers"
        )))
    })
}

/// Converts the permission for special tokens: `None`, `"all"`, `"raise"` or a list of ids.
pub fn permission(object: &Bound<'_, PyAny>) -> PyResult<Permission> {
    if object.is_none() {
        return Ok(Permission::None);
    }
    if let Ok(word) = object.cast::<PyString>() {
        return match word.to_str()? {
            "all" => Ok(Permission::All),
            "raise" => Ok(Permission::Raise),
            other => {
                Err(PyTypeError::new_err(format!("special must be None, \"all\", \"raise\" or ids, not {other:?}")))
            }
        };
    }
    Ok(Permission::Only(object.extract()?))
}

/// Creates a pretokenizer from a name or, with `is_regex`, from a regex.
pub fn pretokenizer(py: Python<'_>, pattern: &str, is_regex: bool) -> PyResult<Pretokenizer> {
    let made = if is_regex {
        Pretokenizer::regex(pattern)
    } else {
        Pretokenizer::named(pattern).ok_or_else(|| Error::config(format!("there is no pattern named {pattern:?}")))
    };
    made.map_err(|error| error::plain(py, error))
}
