//! Any other pattern: a user's regex, run under a step budget.
use crate::error::{Error, Result};

/// A compiled regex.
#[derive(Debug)]
pub(super) struct Regex {
    regex: fancy_regex::Regex,
    text: String,
}

impl Regex {
    pub(super) fn new(pattern: &str) -> Result<Self> {
        let regex = fancy_regex::RegexBuilder::new(pattern)
            .backtrack_limit(10_000_000)
            .build()
            .map_err(|error| Error::config(format!("the pattern does not compile: {error}")))?;
        Ok(Self { regex, text: pattern.to_owned() })
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn is_memoryless(&self) -> bool {
        !["(?<", "^", r"\A", r"\b", r"\B", r"\G"].iter().any(|construct| self.text.contains(construct))
    }

    /// The first non-empty match that starts at `start` or later.
    pub(super) fn find(&self, text: &str, mut start: usize, _steps: &mut u64) -> Result<Option<(usize, usize)>> {
        loop {
            match self.regex.find_from_pos(text, start) {
                Err(error) => return Err(Error::text(format!("the pattern gave up: {error}"), start)),
                Ok(None) => return Ok(None),
                Ok(Some(found)) if found.start() < found.end() => return Ok(Some((found.start(), found.end()))),
                Ok(Some(found)) => {
                    let length = text[found.start()..].chars().next().map_or(0, char::len_utf8);
                    if length == 0 {
                        return Ok(None);
                    }
                    start = found.start() + length;
                }
            }
        }
    }
}

/// The steps that a text of `bytes` may take.
pub(super) fn budget(bytes: usize) -> u64 {
    1_000_000 + 1_000 * bytes as u64
}
