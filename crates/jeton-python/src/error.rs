//! Converts core errors to Python exceptions, all in one function. The classes of the exceptions are defined in
//! `jeton/errors.py`.

use jeton_core::error::{Error, ErrorKind};
use jeton_core::tokenizer::Tokenizer;
use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::type_object::PyTypeInfo;

use crate::callback;

pyo3::import_exception!(jeton.errors, ConfigError);
pyo3::import_exception!(jeton.errors, DecodeError);
pyo3::import_exception!(jeton.errors, FormatError);
pyo3::import_exception!(jeton.errors, InvalidTextError);
pyo3::import_exception!(jeton.errors, JetonError);
pyo3::import_exception!(jeton.errors, SpecialTokenError);
pyo3::import_exception!(jeton.errors, TrainingError);
pyo3::import_exception!(jeton.errors, UnknownTokenError);

/// Looks up the exception classes. This function is called when the extension module is imported. If the first lookup
/// were made later, a process that is forked during the lookup could wait forever (see `once`).
pub fn find_classes(py: Python<'_>) {
    ConfigError::type_object(py);
    DecodeError::type_object(py);
    FormatError::type_object(py);
    InvalidTextError::type_object(py);
    JetonError::type_object(py);
    SpecialTokenError::type_object(py);
    TrainingError::type_object(py);
    UnknownTokenError::type_object(py);
}

/// Creates an exception of `jeton.errors`. The constructor runs Python code.
pub fn make<E: PyTypeInfo>(py: Python<'_>, message: String, facts: &[(&str, Fact)]) -> PyErr {
    let made = || -> PyResult<PyErr> {
        let error = callback::call(E::type_object(py).as_any(), &(message,).into_pyobject(py)?)?;
        for (name, fact) in facts {
            match fact {
                Fact::Number(number) => error.setattr(*name, number)?,
                Fact::Text(text) => error.setattr(*name, text)?,
            }
        }
        Ok(PyErr::from_value(error))
    };
    made().unwrap_or_else(|failed| failed)
}

/// Marks an option (`name=` or `name=value`) in the text of a message, as `jeton.errors.keyword` does.
fn keyword(option: &str) -> String {
    format!("\u{1f}\u{1e}{option}\u{1f}\u{1e}")
}

/// Value of an additional attribute of an exception.
pub enum Fact {
    Number(Option<usize>),
    Text(String),
}

/// Converts a core error to an exception. `place` converts the byte offset of a text error to the caller's unit
/// (characters for `str`).
pub fn to_python(py: Python<'_>, error: Error, place: impl Fn(usize) -> usize) -> PyErr {
    let message = error.to_string();
    let number = |number| Fact::Number(Some(number));
    match error.into_kind() {
        ErrorKind::Config { option, stage, feature, .. } => {
            let message = match option.as_deref().and_then(|option| Some((option, message.strip_prefix(option)?))) {
                Some((option, rest)) => format!("{}{rest}", keyword(option)),
                None => message,
            };
            let facts = [("stage", stage.map(str::to_owned)), ("feature", feature)];
            let facts: Vec<_> = facts.into_iter().filter_map(|(name, fact)| Some((name, Fact::Text(fact?)))).collect();
            make::<ConfigError>(py, message, &facts)
        }
        ErrorKind::Format { place, .. } => make::<FormatError>(py, message, &[("place", Fact::Text(place))]),
        ErrorKind::Text { at, .. } => {
            let at = place(at);
            make::<InvalidTextError>(py, format!("{message} (position {at})"), &[("position", number(at))])
        }
        ErrorKind::UnknownId { id, position, .. } => {
            let facts = [("id", number(id as usize)), ("position", number(position))];
            make::<UnknownTokenError>(py, message, &facts)
        }
        ErrorKind::NotUtf8 { at, .. } => {
            let message = format!("{message}; {} shows them as U+FFFD", keyword("invalid_utf8=\"replace\""));
            make::<DecodeError>(py, message, &[("position", number(at))])
        }
        ErrorKind::Special { token, at } => {
            let at = place(at);
            let (all, named) = (keyword("special=\"all\""), keyword(&format!("special={{{token:?}}}")));
            let message = format!(
                "the text contains the special token {token:?} at position {at}; pass {all} (or {named}) to encode it as a special \
                 token, {} to encode its spelling as plain text",
                keyword("special=\"none\"")
            );
            make::<SpecialTokenError>(py, message, &[("position", number(at)), ("token", Fact::Text(token))])
        }
        ErrorKind::Limit { at, count, limit } => {
            let at = place(at);
            let message =
                format!("the character at position {at} takes {count} tokens, more than the limit of {limit}");
            make::<ConfigError>(py, message, &[("position", number(at)), ("option", Fact::Text("max_tokens".into()))])
        }
        ErrorKind::Training(_) => make::<TrainingError>(py, message, &[]),
        ErrorKind::System { code, message } => match code {
            Some(code) => PyOSError::new_err((code, message)),
            None => PyOSError::new_err(message),
        },
        ErrorKind::Memory { .. } => PyMemoryError::new_err(message),
        ErrorKind::Interrupted => PyKeyboardInterrupt::new_err(()),
        _ => PyRuntimeError::new_err(message),
    }
}

/// Returns the exception for an id outside the range of u32. The class, the message and the attributes are those of the
/// exception for an id in the range of u32 that is not in the vocabulary.
pub fn unknown_id(tok: &Tokenizer, id: &Bound<'_, PyAny>, position: usize) -> PyErr {
    let (vocab, py) = (tok.vocab(), id.py());
    let (num_tokens, highest) = (vocab.num_tokens(), vocab.len().saturating_sub(1));
    // `str()` raises an error for an integer that exceeds Python's limit on the number of digits.
    let shown = id.str().map_or_else(|_| "<int>".to_owned(), |id| id.to_string());
    let message = format!(
        "id {shown} at position {position} is not in the vocabulary ({num_tokens} tokens, highest id {highest})"
    );
    let error = make::<UnknownTokenError>(py, message, &[("position", Fact::Number(Some(position)))]);
    match error.value(py).setattr("id", id) {
        Ok(()) => error,
        Err(failed) => failed,
    }
}

/// Adds to an error the index of the text in its batch: at the start of the message, and as the attribute `index`.
pub fn in_batch(py: Python<'_>, error: PyErr, index: usize) -> PyErr {
    let value = error.value(py);
    let named = || -> PyResult<()> {
        let place = format!("text {index} of the batch: ");
        match error.is_instance_of::<JetonError>(py) {
            true => drop(callback::call(&value.getattr("prefix")?, &(place,).into_pyobject(py)?)?),
            false => value.setattr("args", (format!("{place}{}", value.str()?),))?,
        }
        value.setattr("index", index)
    };
    match named() {
        Ok(()) => error,
        Err(failed) => failed,
    }
}

/// Converts an error that is not about a text.
pub fn plain(py: Python<'_>, error: Error) -> PyErr {
    to_python(py, error, |at| at)
}
