//! JSON ↔ Python objects, for loading: importing Python's `json` takes as long as loading a small vocabulary.
//!
//! Objects are `dict`, arrays `list`, numbers `int` and `float`, as in Python's `json`. Left out: JSON of files of users, whose
//! errors have lines and columns (`formats/config.py`).

use std::fmt;

use pyo3::exceptions::{PyRecursionError, PyTypeError, PyUnicodeEncodeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyNone, PyString, PyTuple, PyType};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Maximum depth of nested lists and dicts, above that of the parsers of the core.
const MAX_DEPTH: usize = 200;

/// Parses JSON that the core has written, or of a file that it has read.
#[pyfunction]
pub fn read_json<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    let mut parser = serde_json::Deserializer::from_str(text);
    let value = Object(py).deserialize(&mut parser);
    let value = value.and_then(|value| parser.end().map(|()| value));
    value.map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Writes dicts, lists, tuples, strings, numbers, booleans and None as JSON.
#[pyfunction]
pub fn write_json(value: &Bound<'_, PyAny>) -> PyResult<String> {
    let mut text = String::new();
    write(value, &mut text, 0)?;
    Ok(text)
}

fn write(value: &Bound<'_, PyAny>, text: &mut String, depth: usize) -> PyResult<()> {
    if depth > MAX_DEPTH {
        return Err(PyRecursionError::new_err("nested too deeply for JSON"));
    }
    if let Ok(string) = value.cast::<PyString>() {
        return write_string(string, text);
    }
    if let Ok(flag) = value.cast::<PyBool>() {
        text.push_str(if flag.is_true() { "true" } else { "false" });
    } else if value.cast::<PyNone>().is_ok() {
        text.push_str("null");
    } else if value.cast::<PyInt>().is_ok() {
        write_number(value, &value.py().get_type::<PyInt>(), text)?;
    } else if value.cast::<PyFloat>().is_ok() {
        write_number(value, &value.py().get_type::<PyFloat>(), text)?;
    } else if let Ok(dict) = value.cast::<PyDict>() {
        text.push('{');
        for (at, (name, item)) in dict.iter().enumerate() {
            text.push_str(if at == 0 { "" } else { "," });
            write_string(name.cast::<PyString>()?, text)?;
            text.push(':');
            write(&item, text, depth + 1)?;
        }
        text.push('}');
    } else if let Ok(list) = value.cast::<PyList>() {
        write_items(list.iter(), text, depth)?;
    } else if let Ok(tuple) = value.cast::<PyTuple>() {
        write_items(tuple.iter(), text, depth)?;
    } else {
        let kind = value.get_type().name()?;
        return Err(PyTypeError::new_err(format!("Object of type {kind} is not JSON serializable")));
    }
    Ok(())
}

/// Writes a number as its base type does: subclasses, such as NumPy's float64, have a `repr` that is not JSON.
fn write_number(value: &Bound<'_, PyAny>, base: &Bound<'_, PyType>, text: &mut String) -> PyResult<()> {
    let written = base.call_method1("__repr__", (value,))?;
    text.push_str(written.cast::<PyString>()?.to_str()?);
    Ok(())
}

fn write_items<'py>(items: impl Iterator<Item = Bound<'py, PyAny>>, text: &mut String, depth: usize) -> PyResult<()> {
    text.push('[');
    for (at, item) in items.enumerate() {
        text.push_str(if at == 0 { "" } else { "," });
        write(&item, text, depth + 1)?;
    }
    text.push(']');
    Ok(())
}

/// Writes a string. A lone surrogate is escaped, which the parsers of the core refuse with their own error.
fn write_string(string: &Bound<'_, PyString>, text: &mut String) -> PyResult<()> {
    let written = match string.to_str() {
        Ok(string) => serde_json::to_string(string),
        Err(error) if error.is_instance_of::<PyUnicodeEncodeError>(string.py()) => {
            text.push_str(r#""\ud800""#);
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    text.push_str(&written.map_err(|error| PyValueError::new_err(error.to_string()))?);
    Ok(())
}

/// Parses one value.
struct Object<'py>(Python<'py>);

impl<'py> Object<'py> {
    fn of<E: Error>(value: PyResult<Bound<'py, impl Sized>>) -> Result<Bound<'py, PyAny>, E> {
        value.map(Bound::into_any).map_err(E::custom)
    }
}

impl<'py, 'de> DeserializeSeed<'de> for Object<'py> {
    type Value = Bound<'py, PyAny>;

    fn deserialize<D: Deserializer<'de>>(self, parser: D) -> Result<Self::Value, D::Error> {
        parser.deserialize_any(self)
    }
}

impl<'py, 'de> Visitor<'de> for Object<'py> {
    type Value = Bound<'py, PyAny>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(self.0.None().into_bound(self.0))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        Ok(PyBool::new(self.0, value).to_owned().into_any())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
        Self::of(value.into_pyobject(self.0).map_err(PyErr::from))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Self::Value, E> {
        Self::of(value.into_pyobject(self.0).map_err(PyErr::from))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Self::Value, E> {
        Ok(PyFloat::new(self.0, value).into_any())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Self::Value, E> {
        Ok(PyString::new(self.0, value).into_any())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let list = PyList::empty(self.0);
        while let Some(item) = items.next_element_seed(Object(self.0))? {
            list.append(item).map_err(A::Error::custom)?;
        }
        Ok(list.into_any())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let dict = PyDict::new(self.0);
        while let Some(name) = members.next_key_seed(Object(self.0))? {
            let value = members.next_value_seed(Object(self.0))?;
            dict.set_item(name, value).map_err(A::Error::custom)?;
        }
        Ok(dict.into_any())
    }
}
