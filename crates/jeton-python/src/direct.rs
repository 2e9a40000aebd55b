//! `Tokenizer.encode` and `encode_array` without a Python frame, where they are given a text and nothing else: that takes longer than a short text.
//!
//! A decorator in Python, so that signature and documentation stand there. All that is not that one case goes to the decorated function, and
//! what is asked about the method is asked of the method that Python would have made.

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCFunction, PyDict, PyMemoryView, PyTuple};
use pyo3::{intern, IntoPyObjectExt};

use crate::tokenizer::Tokenizer;

// The decorated function, in its class. What it does for a text alone, an object's `_core` does where its `_defaults` are the `plain` ones.
#[pyclass(frozen, module = "jeton._core")]
pub struct Direct {
    plain: Py<PyAny>,
    #[pyo3(get, name = "__wrapped__")]
    function: Py<PyAny>,
    arrays_below: Option<usize>,
}

// The same of an object. What documentation it has is the function's.
#[pyclass(frozen, module = "jeton._core", name = "DirectMethod")]
pub struct Method {
    #[pyo3(get, name = "__func__")]
    function: Py<PyAny>,
    #[pyo3(get, name = "__self__")]
    object: Py<PyAny>,
    core: Option<Py<Tokenizer>>, // None where defaults are not plain
    arrays_below: Option<usize>,
}

/// NumPy's way from a buffer to an array, and the type of ids.
static FROM_BUFFER: PyOnceLock<(Py<PyAny>, Py<PyAny>)> = PyOnceLock::new();

fn array<'py>(view: &Bound<'py, PyMemoryView>) -> PyResult<Bound<'py, PyAny>> {
    let py = view.py();
    let (from_buffer, dtype) = FROM_BUFFER.get_or_try_init(py, || -> PyResult<_> {
        let numpy = py.import("numpy")?;
        Ok((numpy.getattr("frombuffer")?.unbind(), numpy.getattr("dtype")?.call1(("<u4",))?.unbind()))
    })?;
    from_buffer.bind(py).call1((view, dtype))
}

/// The decorator for objects whose defaults may be the `plain` ones. With `arrays_below` the method gives arrays, and has texts of so many
/// characters, for which it may start threads, to itself.
#[pyfunction]
#[pyo3(signature = (plain, arrays_below=None))]
pub fn direct(py: Python<'_>, plain: Py<PyAny>, arrays_below: Option<usize>) -> PyResult<Bound<'_, PyCFunction>> {
    let decorate = move |args: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| -> PyResult<Py<Direct>> {
        let py = args.py();
        Py::new(py, Direct { plain: plain.clone_ref(py), function: args.get_item(0)?.unbind(), arrays_below })
    };
    PyCFunction::new_closure(py, None, None, decorate)
}

#[pymethods]
impl Direct {
    /// So that `doctest` finds its examples.
    #[getter]
    fn __module__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.function.getattr(py, intern!(py, "__module__"))
    }

    #[getter]
    fn __doc__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.function.getattr(py, intern!(py, "__doc__"))
    }

    fn __get__(
        &self,
        py: Python<'_>,
        object: Option<Bound<'_, PyAny>>,
        owner: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let _ = owner;
        let Some(object) = object else { return Ok(self.function.clone_ref(py)) };
        let is_plain = object.getattr(intern!(py, "_defaults"))?.is(&self.plain);
        let core = if is_plain { Some(object.getattr(intern!(py, "_core"))?.cast_into()?.unbind()) } else { None };
        let (function, arrays_below) = (self.function.clone_ref(py), self.arrays_below);
        Method { function, object: object.unbind(), core, arrays_below }.into_py_any(py)
    }
}

impl Method {
    /// As Python makes it.
    fn usual<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.function.bind(py).call_method1(intern!(py, "__get__"), (&self.object,))
    }
}

#[pymethods]
impl Method {
    #[pyo3(signature = (*args, **options))]
    fn __call__(
        &self,
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        match (&self.core, options) {
            (Some(core), None) if args.len() == 1 => {
                let text = args.get_item(0)?;
                match self.arrays_below {
                    None => core.get().encode_long(py, &text, None, 1)?.into_py_any(py),
                    Some(most) if text.len().is_ok_and(|len| len >= most) => {
                        Ok(self.usual(py)?.call(args, options)?.unbind())
                    }
                    Some(_) => Ok(array(&core.get().encode_array(py, &text, None, 1, false)?)?.unbind()),
                }
            }
            _ => Ok(self.usual(py)?.call(args, options)?.unbind()),
        }
    }

    /// So that `help` and `inspect` take it for what it stands for.
    #[getter]
    fn __class__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import(intern!(py, "types"))?.getattr(intern!(py, "MethodType"))
    }

    #[getter]
    fn __doc__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.function.getattr(py, intern!(py, "__doc__"))
    }

    #[getter]
    fn __signature__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import(intern!(py, "inspect"))?.getattr(intern!(py, "signature"))?.call1((self.usual(py)?,))
    }

    fn __getattr__<'py>(&self, py: Python<'py>, name: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.usual(py)?.getattr(name.cast::<pyo3::types::PyString>()?)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.usual(py)?.repr()?.to_string())
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        let of_same = |other: &Self| other.function.is(&self.function) && other.object.is(&self.object);
        other.cast::<Self>().is_ok_and(|other| of_same(other.get()))
    }

    fn __hash__(&self) -> usize {
        self.object.as_ptr() as usize ^ self.function.as_ptr() as usize
    }

    /// So that an object which keeps its own method is collected with it.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.function)?;
        visit.call(&self.object)?;
        visit.call(&self.core)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.usual(py)?.call_method0(intern!(py, "__reduce__"))
    }
}
