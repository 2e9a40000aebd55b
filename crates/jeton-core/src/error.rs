//! The error type of the core.
//!
//! Every fallible function of this crate returns [`Error`]. One `match` in the binding converts it to a Python
//! exception by its [`ErrorKind`]; no other code decides which exception a user sees.
//!
//! Invariant: no user input makes this crate panic.

/// Kind of an error, with the data that a caller needs to react.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Invalid option or combination of options.
    #[error("{message}")]
    Config {
        /// Says which value was given, which was expected, and what to do.
        message: String,
        /// The invalid option with its value, such as `vocab_size=100`. None if the message does not begin with the
        /// option and the value.
        option: Option<String>,
        /// Pipeline stage of the option: "normalizer", "pretokenizer", "model", "template", "decoder".
        stage: Option<&'static str>,
        /// Name of the unsupported feature, if this is the reason for the error.
        feature: Option<String>,
    },
    /// Invalid file; `place` is the location (line, byte, JSON path).
    #[error("{message} ({place})")]
    Format {
        /// Says which value was given and which was expected.
        message: String,
        /// Line, byte offset or JSON path.
        place: String,
    },
    /// Text that cannot be encoded, with the offset of the first problem.
    #[error("{message}")]
    Text {
        /// Says what was given and what to do.
        message: String,
        /// Byte offset in the text.
        at: usize,
    },
    /// A single character takes more tokens than the limit for a part of a text.
    #[error("the character at byte {at} takes {count} tokens, more than the limit of {limit}")]
    Limit {
        /// Byte offset in the text.
        at: usize,
        /// Number of tokens of the character.
        count: usize,
        /// Maximum number of tokens of a part.
        limit: usize,
    },
    /// Unknown id.
    #[error("id {id} at position {position} is not in the vocabulary ({num_tokens} tokens, highest id {highest})")]
    UnknownId {
        /// The unknown id.
        id: u32,
        /// Index in the list of ids.
        position: usize,
        /// Number of entries of the vocabulary.
        num_tokens: usize,
        /// Highest id of the vocabulary.
        highest: u32,
    },
    /// Decoded bytes that are not UTF-8.
    #[error("the bytes of these ids are not UTF-8 at byte {at} ({reason})")]
    NotUtf8 {
        /// Byte offset in the decoded bytes.
        at: usize,
        /// Reason, worded as in Python's decoder.
        reason: &'static str,
    },
    /// The text contains a special token, and the caller has chosen an error for this case.
    #[error("the text contains the special token {token:?} at byte {at}")]
    Special {
        /// The special token.
        token: String,
        /// Byte offset in the caller's text.
        at: usize,
    },
    /// Training failed.
    #[error("{0}")]
    Training(String),
    /// Error of the operating system, such as a full disk or an unreadable file.
    #[error("{message}")]
    System {
        /// Message of the system.
        message: String,
        /// Error code of the system, if any.
        code: Option<i32>,
    },
    /// An allocation failed.
    #[error("{bytes} bytes of memory cannot be allocated")]
    Memory {
        /// Number of bytes requested.
        bytes: usize,
    },
    /// A defect of Jeton itself.
    #[error("internal error, please report it: {0}")]
    Internal(String),
    /// Cancelled by the caller (Ctrl-C).
    #[error("interrupted")]
    Interrupted,
}

/// An error of the core: an opaque box of an [`ErrorKind`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct Error(Box<ErrorKind>);

/// Result of every fallible function of the core.
pub type Result<T> = std::result::Result<T, Error>;

/// Number of characters that are kept at the start of a long message; half as many are kept at the end. The length is
/// limited because a message can quote input of any length.
const MOST_CHARACTERS: usize = 400;

/// Returns the message; removes the middle of a long message.
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

    /// Converts to the kind.
    pub fn into_kind(self) -> ErrorKind {
        *self.0
    }

    /// Creates an error for an invalid option.
    pub fn config(message: impl Into<String>) -> Self {
        ErrorKind::Config { message: clipped(message.into()), option: None, stage: None, feature: None }.into()
    }

    /// Creates an error for the value of an option. The message begins with the name and the value, and continues
    /// with `message` (for example "has no room for 300 characters").
    pub fn option(name: &str, value: impl std::fmt::Display, message: &str) -> Self {
        let option = format!("{name}={value}");
        let message = clipped(format!("{option} {message}"));
        ErrorKind::Config { message, option: Some(option), stage: None, feature: None }.into()
    }

    /// Creates an error for an unsupported feature.
    pub fn unsupported(feature: impl Into<String>, message: impl Into<String>) -> Self {
        let (message, feature) = (clipped(message.into()), Some(clipped(feature.into())));
        ErrorKind::Config { message, option: None, stage: None, feature }.into()
    }

    /// Adds the stage to a `Config` error, and to the start of its message.
    pub fn in_stage(self, stage: &'static str) -> Self {
        match self.into_kind() {
            ErrorKind::Config { message, feature, .. } => {
                let message = format!("{stage}: {message}");
                ErrorKind::Config { message, option: None, stage: Some(stage), feature }.into()
            }
            kind => kind.into(),
        }
    }

    /// Creates an error for an invalid file.
    pub fn format(message: impl Into<String>, place: impl Into<String>) -> Self {
        ErrorKind::Format { message: clipped(message.into()), place: clipped(place.into()) }.into()
    }

    /// Creates an error for text that cannot be encoded.
    pub fn text(message: impl Into<String>, at: usize) -> Self {
        ErrorKind::Text { message: clipped(message.into()), at }.into()
    }

    /// Creates a training error.
    pub fn training(message: impl Into<String>) -> Self {
        ErrorKind::Training(message.into()).into()
    }

    /// Creates an error for a failed allocation.
    pub fn memory(bytes: usize) -> Self {
        ErrorKind::Memory { bytes }.into()
    }

    /// Adds `by` to the byte offset of the error, if any. Callers that passed only a part of a text use this to get
    /// the offset in the whole text.
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
