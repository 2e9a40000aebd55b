//! Runs single stages that precede the model, for tests that compare them with other libraries.

use jeton_core::added_tokens::{Added, AddedTokenMatcher};
use jeton_core::aligned_text::{AlignedText, Chunk};
use jeton_core::error::Result;
use jeton_core::normalize::Normalizer;
use jeton_core::pretokenize::Splitter;
use pyo3::prelude::*;

use crate::arguments::Text;
use crate::error;

/// A text, and for each of its bytes the byte range in the input.
type Traced = (String, Vec<(u32, u32)>);

/// Normalizes texts with a JSON list of components. Parses the list once.
#[pyfunction]
pub fn normalize_texts(
    py: Python<'_>,
    parts_json: &str,
    texts: Vec<String>,
    user_defined: Vec<Vec<u8>>,
) -> PyResult<Vec<Traced>> {
    let run = || -> Result<_> {
        let user_defined: Vec<&[u8]> = user_defined.iter().map(Vec::as_slice).collect();
        let parts = Normalizer::list_from_json(parts_json, &user_defined)?;
        let each = |text: &String| {
            let mut aligned = AlignedText::new(text, true)?;
            for part in &parts {
                part.apply(&mut aligned, &|| true)?;
            }
            Ok((aligned.text().to_owned(), aligned.origins().iter().map(|origin| (origin.start, origin.end)).collect()))
        };
        texts.iter().map(each).collect()
    };
    py.detach(run).map_err(|failed| error::plain(py, failed))
}

/// Splits a text with a list of pre-tokenizers; returns the chunks, with their byte ranges in the text.
#[pyfunction]
pub fn pretokenize_text(py: Python<'_>, parts_json: &str, text: &str) -> PyResult<Vec<(String, (u32, u32))>> {
    let pieces = || -> Result<Vec<_>> {
        let mut aligned = AlignedText::new(text, true)?;
        for part in Splitter::list_from_json(parts_json)? {
            part.apply(&mut aligned, &|| true)?;
        }
        let traced = |piece: &Chunk| (aligned.text()[piece.range()].to_owned(), (piece.origin.start, piece.origin.end));
        Ok(aligned.chunks().iter().map(traced).collect())
    };
    py.detach(pieces).map_err(|failed| error::plain(py, failed))
}

/// Returns the added tokens in a text as (start, end, id). A token is (content, id, single_word, lstrip, rstrip,
/// passed_over).
#[pyfunction]
pub fn find_added(
    py: Python<'_>,
    tokens: Vec<(String, u32, bool, bool, bool, bool)>,
    text: &Bound<'_, PyAny>,
) -> PyResult<Vec<(usize, usize, u32)>> {
    let added = tokens.iter().map(|(content, id, single_word, lstrip, rstrip, passed_over)| Added {
        content: content.as_bytes(),
        id: *id,
        single_word: *single_word,
        lstrip: *lstrip,
        rstrip: *rstrip,
        ascii_space: false,
        passed_over: *passed_over,
    });
    let matcher = AddedTokenMatcher::new(added).map_err(|failed| error::plain(py, failed))?;
    let text = Text::of(text)?.bytes();
    let found = matcher.iter().flat_map(|matcher| matcher.matches(text));
    Ok(found.map(|found| (found.start, found.end, found.id)).collect())
}
