//! Encodes a rendered chat, with spans, if no message contains the spelling of a special token.
//!
//! Nearly all chats meet this condition. One call encodes the chat and searches the text of its messages for special
//! tokens. Left out: chats in which a message spells a special token; `jeton/chat/encode.py` encodes them in segments.

use std::ops::Range;

use jeton_core::tokenizer::{Permission, SpanKind};
use jeton_core::util::cancel::{KeepGoing, KeepGoingMut};
use jeton_core::vocab::Kind;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyMemoryView, PyString, PyTuple};

use crate::arguments::{self, Wide};
use crate::column;
use crate::signals::{run_on_threads, run_with_signals};
use crate::tokenizer::{Tokenizer, SHORT};

/// Name of the origin of the template's own text. Text of messages has other origins.
const TEMPLATE: &str = "template";

#[pymethods]
impl Tokenizer {
    /// Encodes a rendered chat with all special tokens permitted. Returns `None` in three cases: a special token
    /// overlaps text that is not from the template; the model returns the id of a special token (other than the unknown
    /// token `unk`) that was not matched in the text; or the tokenizer matches added tokens in normalized text, so that
    /// these two conditions cannot be checked here.
    ///
    /// `runs`: tuples that together cover the text. A tuple begins with a number of characters and the origin of these
    /// characters; an origin is a tuple that begins with the name of the origin.
    fn encode_chat(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        runs: &Bound<'_, PyList>,
        unk: Option<u32>,
    ) -> PyResult<Option<Vec<u32>>> {
        let tok = &self.0;
        let mut wide = Wide::default();
        let text = wide.one(text, 1)?;
        let foreign = foreign_runs(runs)?;
        let Some(matches) = tok.special_matches(text.bytes()) else { return Ok(None) };
        let (mut num_matches, mut rest) = (0, &foreign[..]);
        let mut at = Position::default();
        for found in matches {
            let start = at.advance(text.bytes(), found.start);
            let end = at.advance(text.bytes(), found.end);
            while rest.first().is_some_and(|run| run.end <= start) {
                rest = &rest[1..];
            }
            if rest.first().is_some_and(|run| run.start < end) {
                return Ok(None);
            }
            num_matches += usize::from(Some(found.id) != unk);
        }
        let permit = tok.permit(&Permission::All).map_err(|failed| text.error(py, failed))?;
        let ids = if text.bytes().len() < SHORT {
            tok.encode_long(text.input(), &permit, 1, &mut || true).map_err(|failed| text.error(py, failed))?
        } else {
            let work = |watch: KeepGoingMut<'_>| tok.encode_long(text.input(), &permit, 1, watch);
            run_on_threads(py, work, |failed| text.error(py, failed))?
        };
        let is_special = |&&id: &&u32| tok.vocab().kind(id) == Kind::Special && Some(id) != unk;
        Ok((ids.iter().filter(is_special).count() == num_matches).then_some(ids))
    }

    /// Returns the range of characters of each id of a rendered chat, with all special tokens permitted. Each range is
    /// two little-endian i64.
    fn chat_spans<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        ids: &Bound<'py, PyList>,
    ) -> PyResult<Bound<'py, PyMemoryView>> {
        let tok = &self.0;
        let mut wide = Wide::default();
        let (text, ids) = (wide.one(text, 1)?, arguments::ids(ids)?);
        let permit = tok.permit(&Permission::All).map_err(|failed| text.error(py, failed))?;
        let work =
            |keep_going: KeepGoing<'_>| tok.known_spans(text.input(), &ids, &permit, SpanKind::Chars, keep_going);
        column::view(py, run_with_signals(py, work, |failed| text.error(py, failed))?)
    }
}

/// Returns the ranges of characters whose origin is not the template.
fn foreign_runs(runs: &Bound<'_, PyList>) -> PyResult<Vec<Range<usize>>> {
    let mut foreign: Vec<Range<usize>> = Vec::new();
    let mut end: usize = 0;
    for run in runs.iter() {
        let run = run.cast::<PyTuple>()?;
        let start = end;
        end = end
            .checked_add(run.get_item(0)?.extract()?)
            .ok_or_else(|| PyValueError::new_err("the runs are longer than a text"))?;
        let origin = run.get_item(1)?;
        if origin.cast::<PyTuple>()?.get_item(0)?.cast::<PyString>()?.to_str()? != TEMPLATE {
            foreign.push(start..end);
        }
    }
    Ok(foreign)
}

/// A byte offset in a text, and the number of characters before it.
#[derive(Default)]
struct Position {
    byte: usize,
    char: usize,
}

impl Position {
    /// Moves to a later byte offset and returns the number of characters before it.
    fn advance(&mut self, text: &[u8], byte: usize) -> usize {
        let is_first = |&&byte: &&u8| byte & 0xc0 != 0x80;
        self.char += text[self.byte..byte].iter().filter(is_first).count();
        self.byte = byte;
        self.char
    }
}
