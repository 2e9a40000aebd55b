//! Conversion of the core's errors to a class and a message, as in the Python binding (`error.rs` there).

use jeton_core::error::{Error, ErrorKind};
use serde::Serialize;

/// An error in the form in which the API of the playground's page reports it.
#[derive(Debug, Serialize)]
pub struct Failure {
    /// Message for the user.
    pub error: String,
    /// Name of the class in `jeton.errors`.
    pub kind: &'static str,
}

impl Failure {
    /// Converts an error. `text` is the text to which a byte offset in the error refers.
    pub fn of(error: Error, text: &[u8]) -> Self {
        let said = error.to_string();
        let place = |at: usize| String::from_utf8_lossy(&text[..at.min(text.len())]).chars().count();
        let (kind, message) = match error.into_kind() {
            ErrorKind::Config { .. } => ("ConfigError", said),
            ErrorKind::Format { .. } => ("FormatError", said),
            ErrorKind::Text { at, .. } => ("InvalidTextError", format!("{said} (position {})", place(at))),
            ErrorKind::UnknownId { .. } => ("UnknownTokenError", said),
            ErrorKind::NotUtf8 { .. } => ("DecodeError", said),
            ErrorKind::Training(_) => ("TrainingError", said),
            ErrorKind::Memory { .. } => ("MemoryError", said),
            _ => ("InternalError", said),
        };
        Self { error: message, kind }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::of(error, &[])
    }
}
