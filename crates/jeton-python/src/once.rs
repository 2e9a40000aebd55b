//! Python objects that are created once, on first use.
//!
//! `pyo3::sync::PyOnceLock`, and therefore `pyo3::intern!` and `import_exception!`, release the GIL while their cell is
//! marked as being initialized. If another thread forks the process at this moment, the child process would wait for
//! the cell forever. `made_once` instead creates the object first, and holds the GIL while the cell is marked. The
//! classes of exceptions are looked up when the module is imported (`error::find_classes`).

/// Returns a string literal as an interned Python string.
macro_rules! interned {
    ($py:expr, $text:literal) => {{
        static STRING: ::std::sync::OnceLock<::pyo3::Py<::pyo3::types::PyString>> = ::std::sync::OnceLock::new();
        let py: ::pyo3::Python<'_> = $py;
        let make = || ::pyo3::types::PyString::intern(py, $text).unbind();
        ::jeton_core::util::atomic_cell::made_once(&STRING, make).bind(py)
    }};
}

pub(crate) use interned;
