//! Core errors → Python exceptions, in one match. The classes are defined in `jeton/errors.py`.

use jeton_core::error::{Error, ErrorKind};
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError, PyRuntimeError};
use pyo3::prelude::*;

pyo3::import_exception!(jeton.errors, ConfigError);
pyo3::import_exception!(jeton.errors, FormatError);
pyo3::import_exception!(jeton.errors, InvalidTextError);
pyo3::import_exception!(jeton.errors, SpecialTokenError);
pyo3::import_exception!(jeton.errors, TrainingError);
pyo3::import_exception!(jeton.errors, UnknownTokenError);

/// The exception for a core error. `place` turns the byte offset of a text error into the caller's unit (characters for `str`).
pub fn to_python(py: Python<'_>, error: Error, place: impl Fn(usize) -> usize) -> PyErr {
    let message = error.to_string();
    let with = |error: PyErr, facts: &[(&str, Option<usize>)]| {
        for (name, fact) in facts {
            if let Err(failed) = error.value(py).setattr(*name, *fact) {
                return failed;
            }
        }
        error
    };
    match error.into_kind() {
        ErrorKind::Config(_) => ConfigError::new_err(message),
        ErrorKind::Format { place, .. } => {
            let error = FormatError::new_err(message);
            match error.value(py).setattr("place", place) {
                Ok(()) => error,
                Err(failed) => failed,
            }
        }
        ErrorKind::Text { at, .. } => {
            let at = place(at);
            with(InvalidTextError::new_err(format!("{message} (position {at})")), &[("position", Some(at))])
        }
        ErrorKind::UnknownId { id, position, .. } => {
            with(UnknownTokenError::new_err(message), &[("id", Some(id as usize)), ("position", Some(position))])
        }
        ErrorKind::Special { token, at } => {
            let at = place(at);
            let message = format!(
                "the text holds the special token {token:?} at position {at}; pass special=\"all\" (or special={{{token:?}}}) to \
                 encode it as a special token, special=\"none\" to encode its spelling as plain text"
            );
            let error = with(SpecialTokenError::new_err(message), &[("position", Some(at))]);
            match error.value(py).setattr("token", token) {
                Ok(()) => error,
                Err(failed) => failed,
            }
        }
        ErrorKind::Training(_) => TrainingError::new_err(message),
        ErrorKind::System { code, message } => match code {
            Some(code) => PyOSError::new_err((code, message)),
            None => PyOSError::new_err(message),
        },
        ErrorKind::Interrupted => PyKeyboardInterrupt::new_err(()),
        _ => PyRuntimeError::new_err(message),
    }
}

/// The same where no text is involved.
pub fn plain(py: Python<'_>, error: Error) -> PyErr {
    to_python(py, error, |at| at)
}
