//! Named patterns and regexes, and GPT-2's byte alphabet.

use jeton_core::pretokenize;
use jeton_core::vocab::byte_alphabet;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arguments::{self, Text};

/// Spells bytes in GPT-2's byte alphabet.
#[pyfunction]
pub fn spell_bytes(data: &[u8]) -> String {
    let mut spelling = String::new();
    byte_alphabet::spell(data, &mut spelling);
    spelling
}

/// Converts a spelling in GPT-2's byte alphabet to bytes; None if a character is not in the alphabet.
#[pyfunction]
pub fn read_bytes<'py>(py: Python<'py>, spelling: &str) -> Option<Bound<'py, PyBytes>> {
    let mut data = Vec::new();
    byte_alphabet::read(spelling, &mut data).ok().map(|()| PyBytes::new(py, &data))
}

/// Returns the names of all named patterns.
#[pyfunction]
pub fn pattern_names() -> Vec<&'static str> {
    pretokenize::names().to_vec()
}

/// Returns the published regex of a named pattern, in tiktoken's dialect; None for a name without a regex.
#[pyfunction]
pub fn pattern_text(name: &str) -> Option<&'static str> {
    pretokenize::published(name)
}

/// Translates a pattern to Oniguruma. Returns (regex, None), or (None, unsupported construct).
#[pyfunction]
#[pyo3(signature = (pattern, *, is_regex))]
pub fn oniguruma_pattern(pattern: &str, is_regex: bool) -> (Option<String>, Option<String>) {
    if !is_regex {
        return (pretokenize::oniguruma(pattern), None);
    }
    match pretokenize::to_oniguruma(pattern) {
        Ok(text) => (Some(text), None),
        Err(construct) => (None, Some(construct)),
    }
}

/// Returns the pretokens of a text, as byte ranges.
#[pyfunction]
#[pyo3(signature = (text, pattern, *, is_regex))]
pub fn split_text(
    py: Python<'_>,
    text: &Bound<'_, PyAny>,
    pattern: &str,
    is_regex: bool,
) -> PyResult<Vec<(usize, usize)>> {
    let pretokenizer = arguments::pretokenizer(py, pattern, is_regex)?;
    let text = Text::of(text)?;
    let checked = std::str::from_utf8(text.bytes())
        .map_err(|broken| jeton_core::error::Error::text("the text is not UTF-8", broken.valid_up_to()));
    let spans = || -> jeton_core::error::Result<Vec<_>> {
        pretokenizer.spans(checked?).map(|span| span.map(|span| (span.start, span.end))).collect()
    };
    py.detach(spans).map_err(|failed| text.error(py, failed))
}
