//! The one error type of the core.
//!
//! Every fallible function of this crate returns [`Error`]. The binding turns it into the Python exception that its
//! [`ErrorKind`] names, in one `match`; no other place decides which exception a user sees.
//!
//! Invariant: nothing a user can pass in makes this crate panic.

/// Kind of an error, with the facts a caller can act on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An option or a combination of options that cannot work.
    #[error("{message}")]
    Config {
        /// The value given, the value expected and what to do.
        message: String,
        /// The stage of a pipeline that has the option: "normalizer", "pretokenizer", "model", "template", "decoder".
        stage: Option<&'static str>,
        /// The feature, where others have it and Jeton does not.
        feature: Option<String>,
    },
    /// A file that is not of the format it claims; `place` says where (line, byte, JSON path).
    #[error("{message} ({place})")]
    Format {
        /// The value given and the value expected.
        message: String,
        /// Line, byte offset or JSON path.
        place: String,
    },
    /// A text the tokenizer cannot take, with the byte where the trouble starts.
    #[error("{message}")]
    Text {
        /// The value given and what to do.
        message: String,
        /// Byte offset in the text handed in.
        at: usize,
    },
    /// An id that is outside the vocabulary, or falls in one of its holes.
    #[error("id {id} at position {position} is not in the vocabulary ({num_tokens} tokens, highest id {highest})")]
    UnknownId {
        /// The id.
        id: u32,
        /// Its index in the list of ids handed in.
        position: usize,
        /// Entries in the vocabulary.
        num_tokens: usize,
        /// The highest id in the vocabulary.
        highest: u32,
    },
    /// The text has the spelling of a special token, and the caller asked for an error.
    #[error("the text holds the special token {token:?} at byte {at}")]
    Special {
        /// The special token.
        token: String,
        /// Byte offset in the text handed in.
        at: usize,
    },
    /// Training could not go on.
    #[error("{0}")]
    Training(String),
    /// Error of the system: a full disk, an unreadable file.
    #[error("{message}")]
    System {
        /// In the system's words.
        message: String,
        /// Its number for the error, where there is one.
        code: Option<i32>,
    },
    /// Memory that the system does not give.
    #[error("{bytes} bytes of memory cannot be allocated")]
    Memory {
        /// Bytes requested.
        bytes: usize,
    },
    /// A defect of Jeton itself.
    #[error("internal error, please report it: {0}")]
    Internal(String),
    /// The caller asked for a stop (Ctrl-C).
    #[error("interrupted")]
    Interrupted,
}

/// An error of the core: an opaque box around its [`ErrorKind`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct Error(Box<ErrorKind>);

/// Result of every fallible function of the core.
pub type Result<T> = std::result::Result<T, Error>;

/// Bytes that a message keeps of its start and of its end: it may quote the input, which may be of any length.
const MOST_CHARACTERS: usize = 400;

/// A message without its middle, where that is long.
fn clipped(message: String) -> String {
    let mut chars = message.char_indices();
    let Some((start, _)) = chars.nth(MOST_CHARACTERS) else { return message };
    match chars.nth_back(MOST_CHARACTERS / 2) {
        Some((end, _)) => format!("{} … {}", &message[..start], &message[end..]),
        None => message,
    }
}

impl Error {
    /// Returns the kind.
    pub fn kind(&self) -> &ErrorKind {
        &self.0
    }

    /// Takes the kind out of its box.
    pub fn into_kind(self) -> ErrorKind {
        *self.0
    }

    /// An option that cannot work.
    pub fn config(message: impl Into<String>) -> Self {
        ErrorKind::Config { message: clipped(message.into()), stage: None, feature: None }.into()
    }

    /// A feature that Jeton does not support.
    pub fn unsupported(feature: impl Into<String>, message: impl Into<String>) -> Self {
        let (message, feature) = (clipped(message.into()), Some(clipped(feature.into())));
        ErrorKind::Config { message, stage: None, feature }.into()
    }

    /// Returns the error of an option as one of this stage, whose name its message then begins with.
    pub fn in_stage(self, stage: &'static str) -> Self {
        match self.into_kind() {
            ErrorKind::Config { message, feature, .. } => {
                ErrorKind::Config { message: format!("{stage}: {message}"), stage: Some(stage), feature }.into()
            }
            kind => kind.into(),
        }
    }

    /// A malformed file.
    pub fn format(message: impl Into<String>, place: impl Into<String>) -> Self {
        ErrorKind::Format { message: clipped(message.into()), place: clipped(place.into()) }.into()
    }

    /// A text that cannot be taken.
    pub fn text(message: impl Into<String>, at: usize) -> Self {
        ErrorKind::Text { message: clipped(message.into()), at }.into()
    }

    /// Training that cannot go on.
    pub fn training(message: impl Into<String>) -> Self {
        ErrorKind::Training(message.into()).into()
    }

    /// Memory that the system does not give.
    pub fn memory(bytes: usize) -> Self {
        ErrorKind::Memory { bytes }.into()
    }

    /// Returns the error with `by` added to its byte offset: for a caller that passed on a part of its text.
    pub fn shifted(self, by: usize) -> Self {
        match self.into_kind() {
            ErrorKind::Text { message, at } => ErrorKind::Text { message, at: at + by }.into(),
            ErrorKind::Special { token, at } => ErrorKind::Special { token, at: at + by }.into(),
            kind => kind.into(),
        }
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self(Box::new(kind))
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        ErrorKind::System { message: error.to_string(), code: error.raw_os_error() }.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_messages_lose_their_middle() {
        let message = |error: Error| error.to_string();
        assert_eq!(message(Error::config("é".repeat(600))), "é".repeat(600));
        let clipped = message(Error::format(format!("é{}", "ab".repeat(100_000)), "line 1"));
        assert!(clipped.starts_with("éab") && clipped.ends_with("ab (line 1)") && clipped.len() < 650, "{clipped}");
    }
}
