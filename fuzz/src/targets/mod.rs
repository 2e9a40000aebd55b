//! Fuzz targets and their properties.
//!
//! Every reader returns a value, or one of Jeton's errors with a location. Reading, writing and reading again yields
//! an equal value. No error is `Internal`.

mod case;
mod formats;
mod parts;
mod pipeline;
mod streaming;

use jeton_core::error::{Error, ErrorKind};

use crate::mutate::Shape;
use crate::rng::Rng;

/// Result of one input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Accepted, with a remark.
    Fine(String),
    /// Refused, with a message.
    Refused(String),
    /// Violated property.
    Wrong(String),
}

impl Outcome {
    /// Returns the kind in one word, and the message.
    pub fn parts(&self) -> (&'static str, &str) {
        match self {
            Self::Fine(what) => ("fine", what),
            Self::Refused(message) => ("refused", message),
            Self::Wrong(message) => ("wrong", message),
        }
    }
}

/// A message alone is that of a violated property.
impl From<String> for Outcome {
    fn from(message: String) -> Self {
        Self::Wrong(message)
    }
}

/// Remark on an accepted input, or the other outcome.
pub type Checked = Result<String, Outcome>;

/// A fuzz target.
#[derive(Debug)]
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// Format of its inputs.
    pub shape: Shape,
    /// Dictionary of its inputs.
    pub words: &'static [&'static str],
    /// Valid inputs to start from.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Generates an input, for formats in which that is better than mutation.
    pub generate: Option<fn(&mut Rng) -> Vec<u8>>,
    /// Runs one input.
    pub run: fn(&[u8]) -> Checked,
}

/// All targets.
pub fn targets() -> Vec<&'static Target> {
    formats::TARGETS.iter().chain(parts::TARGETS).chain(pipeline::TARGETS).collect()
}

/// Returns the target with a name.
pub fn by_name(name: &str) -> Option<&'static Target> {
    targets().into_iter().find(|target| target.name == name)
}

/// Maximum length of a message; longer ones quote too much of the input.
const LONGEST_MESSAGE: usize = 4000;

/// Checks a refusal.
fn refused(error: Error) -> Outcome {
    let message = error.to_string();
    if message.len() > LONGEST_MESSAGE {
        return Outcome::Wrong(format!(
            "a long message, quoting much: \"{}: {}",
            message.len(),
            message.chars().take(40).collect::<String>()
        ));
    }
    match error.kind() {
        ErrorKind::Internal(_) | ErrorKind::Interrupted => Outcome::Wrong(message),
        ErrorKind::Format { place, .. } if place.trim().is_empty() => Outcome::Wrong(format!("no place: {message}")),
        _ => Outcome::Refused(message),
    }
}

/// Checks the refusal of a file, which must be a format error.
fn unreadable(error: Error) -> Outcome {
    let is_format = matches!(error.kind(), ErrorKind::Format { .. });
    match refused(error) {
        Outcome::Refused(message) if !is_format => Outcome::Wrong(format!("no format error: {message}")),
        outcome => outcome,
    }
}

fn not_a_case<E>(_: E) -> Outcome {
    Outcome::Refused("not a case".into())
}

fn wrong<T>(message: impl Into<String>) -> Result<T, Outcome> {
    Err(Outcome::Wrong(message.into()))
}
