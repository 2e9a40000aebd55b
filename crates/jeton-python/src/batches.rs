//! Encodes batches of texts to ids with offsets, and decodes batches of ids; also returns spans and texts of the tokens
//! of one text.

use std::collections::HashMap;

use jeton_core::tokenizer as core;
use jeton_core::util::buffer_pool;
use jeton_core::util::cancel::{KeepGoing, KeepGoingMut};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyMemoryView, PyString};

use crate::arguments::{self, Wide};
use crate::column;
use crate::error;
use crate::id_list;
use crate::numpy_array;
use crate::signals::{run_on_threads, run_with_signals};
use crate::stream::invalid_utf8;
use crate::tokenizer::{Tokenizer, SHORT};

type View<'py> = Bound<'py, PyMemoryView>;

#[pymethods]
impl Tokenizer {
    /// Encodes many texts. Returns four little-endian columns: the ids (u32), the offsets of the texts in the ids
    /// (i64), HF's offsets of the ids (i64), and the offsets that each id would have if it were the first id of a
    /// truncated text (i64). The last column is None if it equals the third one, or if `truncates` is false.
    #[pyo3(signature = (texts, special, threads, *, template=false, truncates=false))]
    #[allow(clippy::type_complexity)]
    fn encode_batch_with_offsets<'py>(
        &self,
        py: Python<'py>,
        texts: Vec<Bound<'py, PyAny>>,
        special: Option<&Bound<'py, PyAny>>,
        threads: usize,
        template: bool,
        truncates: bool,
    ) -> PyResult<(View<'py>, View<'py>, View<'py>, Option<View<'py>>)> {
        let encode = |texts: &[core::Input<'_>], permit: &core::Permit<'_>, watch: KeepGoingMut<'_>| {
            self.0.encode_batch_with_offsets(texts, permit, threads, truncates, watch)
        };
        let core::BatchOffsets { mut ids, mut ends, mut offsets, first } =
            self.batch(py, &texts, special, threads, encode)?;
        if template {
            offsets = py.detach(|| self.0.framed_offsets(&offsets, &ends));
            (ids, ends) = py.detach(|| self.0.framed(&ids, &ends));
        }
        let first = if first.is_empty() { None } else { Some(column::view(py, first)?) };
        Ok((column::view(py, ids)?, column::view(py, ends)?, column::view(py, offsets)?, first))
    }

    /// Encodes many texts. Returns three little-endian columns: the ids (u32), the offsets of the texts in the ids
    /// (i64), and for each id, the index of its pretoken in the text (i64).
    fn encode_batch_with_words<'py>(
        &self,
        py: Python<'py>,
        texts: Vec<Bound<'py, PyAny>>,
        special: Option<&Bound<'py, PyAny>>,
        threads: usize,
    ) -> PyResult<(View<'py>, View<'py>, View<'py>)> {
        let encode = |texts: &[core::Input<'_>], permit: &core::Permit<'_>, watch: KeepGoingMut<'_>| {
            self.0.encode_batch_with_words(texts, permit, threads, watch)
        };
        let core::BatchWords { ids, ends, words } = self.batch(py, &texts, special, threads, encode)?;
        Ok((column::view(py, ids)?, column::view(py, ends)?, column::view(py, words)?))
    }

    /// Returns spans of the ids of a text; `ids` is little-endian u32. Each span is two little-endian i64. `kind`: 0
    /// for byte spans, 1 for character spans, 2 for HF's offsets. With kind 3, the result contains one i64 for each id
    /// instead: the index of its pretoken.
    #[pyo3(signature = (text, ids, special, kind))]
    fn known_spans<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        ids: PyBuffer<u8>,
        special: Option<&Bound<'py, PyAny>>,
        kind: u8,
    ) -> PyResult<View<'py>> {
        column::view(py, values(py, self, text, &ids, special, kind)?)
    }

    /// Like `known_spans`, but returns a NumPy array if there are few ids and `use_numpy` was called: int64[n, 2], or
    /// int64[n] for pretokens.
    #[pyo3(signature = (text, ids, special, kind))]
    fn known_spans_array<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        ids: PyBuffer<u8>,
        special: Option<&Bound<'py, PyAny>>,
        kind: u8,
    ) -> PyResult<Bound<'py, PyAny>> {
        let values = values(py, self, text, &ids, special, kind)?;
        match numpy_array::short_wide(py, &values, kind < WORDS)? {
            Some(array) => Ok(array),
            None => Ok(column::view(py, values)?.into_any()),
        }
    }

    /// Returns the text of each token of `text` whose id is one of `ids`, in order. The text of a token is the text
    /// that the model reads, for example after normalization.
    #[pyo3(signature = (text, ids, special))]
    fn token_texts(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        ids: Vec<u32>,
        special: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<String>> {
        let mut wide = Wide::default();
        let (permit, text) = (self.permit(py, special)?, wide.one(text, 1)?);
        let work = |keep_going: KeepGoing<'_>| {
            let mut found = Vec::new();
            let each = |bytes: &[u8]| found.push(String::from_utf8_lossy(bytes).into_owned());
            self.0.token_texts(text.bytes(), &ids, &permit, keep_going, each).map(|()| found)
        };
        run_with_signals(py, work, |failed| text.error(py, failed))
    }

    /// Decodes lists of ids. If `as_text`, returns a list of `str`, with U+FFFD for invalid UTF-8; otherwise, returns a
    /// list of `bytes`.
    #[pyo3(signature = (rows, threads, *, as_text, skip_special))]
    fn decode_lists<'py>(
        &self,
        py: Python<'py>,
        rows: Vec<Bound<'py, PyList>>,
        threads: usize,
        as_text: bool,
        skip_special: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let mut ids = Vec::new();
        let mut ends = vec![0];
        for (index, row) in rows.iter().enumerate() {
            let wide = |(position, id): arguments::WideId<'_>| error::unknown_id(&self.0, &id, position);
            let own = arguments::ids_or_wide(row).and_then(|own| own.map_err(wide));
            ids.extend_from_slice(&own.map_err(|failed| error::in_batch(py, failed, index))?);
            ends.push(ids.len());
        }
        decoded(py, self, &ids, &ends, threads, as_text, skip_special)
    }

    /// Like `decode_lists`, for ids as little-endian u32. Row i has the ids `offsets[i]..offsets[i + 1]`.
    #[pyo3(signature = (ids, offsets, threads, *, as_text, skip_special))]
    fn decode_rows<'py>(
        &self,
        py: Python<'py>,
        ids: PyBuffer<u8>,
        offsets: Vec<usize>,
        threads: usize,
        as_text: bool,
        skip_special: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let ids = column::ids(py, &ids)?;
        decoded(py, self, &ids, &offsets, threads, as_text, skip_special)
    }

    /// Returns the bytes of each id in decoded text, as if it were neither the first nor the last id of the text.
    fn decode_tokens<'py>(&self, py: Python<'py>, ids: &Bound<'py, PyList>) -> PyResult<Bound<'py, PyList>> {
        let ids = arguments::ids(ids)?;
        self.0.check_ids(&ids).map_err(|failed| error::plain(py, failed))?;
        let mut known: HashMap<u32, Bound<'py, PyBytes>> = HashMap::new();
        let mut bytes = Vec::new();
        let list = PyList::empty(py);
        for id in ids {
            let token = known.entry(id).or_insert_with(|| {
                bytes.clear();
                self.0.decode_one(id, &mut bytes);
                PyBytes::new(py, &bytes)
            });
            list.append(&*token)?;
        }
        Ok(list)
    }

    /// Decodes ids to text. Also returns, for each id, its position in the text: the number of characters before it.
    fn decode_with_starts<'py>(
        &self,
        py: Python<'py>,
        ids: &Bound<'py, PyList>,
        errors: &str,
        skip_special: bool,
    ) -> PyResult<(String, Bound<'py, PyList>)> {
        let (tok, ids, invalid) = (&self.0, arguments::ids(ids)?, invalid_utf8(errors)?);
        let decode = || tok.decoder().decode_with_starts(tok.vocab(), &ids, skip_special, invalid);
        let done = if ids.len() < SHORT { decode() } else { py.detach(decode) };
        let (text, starts) = done.map_err(|failed| error::plain(py, failed))?;
        Ok((text, id_list::list_of(py, starts.into_iter().map(|start| start as i64))?))
    }
}

/// Value of `kind` that requests the index of each id's pretoken.
const WORDS: u8 = 3;

fn values(
    py: Python<'_>,
    tok: &Tokenizer,
    text: &Bound<'_, PyAny>,
    ids: &PyBuffer<u8>,
    special: Option<&Bound<'_, PyAny>>,
    kind: u8,
) -> PyResult<Vec<i64>> {
    let kind = match kind {
        0 => Some(core::SpanKind::Bytes),
        1 => Some(core::SpanKind::Chars),
        2 => Some(core::SpanKind::Offsets),
        WORDS => None,
        _ => return Err(PyValueError::new_err("the kind of spans is 0, 1, 2 or 3")),
    };
    let mut wide = Wide::default();
    let (permit, ids, text) = (tok.permit(py, special)?, column::ids(py, ids)?, wide.one(text, 1)?);
    let work = |keep_going: KeepGoing<'_>| match kind {
        Some(kind) => tok.0.known_spans(text.input(), &ids, &permit, kind, keep_going),
        None => tok.0.known_words(text.input(), &ids, &permit, keep_going),
    };
    let failed = |failed| text.error(py, failed);
    let values = match text.bytes().len() < SHORT {
        true => work(&|| true).map_err(failed),
        false => run_with_signals(py, work, failed),
    };
    buffer_pool::COPIES.keep(ids);
    values
}

fn decoded<'py>(
    py: Python<'py>,
    tok: &Tokenizer,
    ids: &[u32],
    offsets: &[usize],
    threads: usize,
    as_text: bool,
    skip_special: bool,
) -> PyResult<Bound<'py, PyList>> {
    let row = |range: &[usize]| ids.get(range[0]..range[1]);
    let rows: Option<Vec<&[u32]>> = offsets.windows(2).map(row).collect();
    let rows = rows.ok_or_else(|| PyValueError::new_err("the offsets of a batch ascend, up to its number of ids"))?;
    let decode = |watch: KeepGoingMut<'_>| tok.0.decode_batch(&rows, skip_special, as_text, threads, watch);
    let groups = run_on_threads(py, decode, |(index, failed)| error::in_batch(py, error::plain(py, failed), index))?;
    let list = PyList::empty(py);
    for bytes in groups.iter().flat_map(core::DecodedRows::iter) {
        match as_text {
            true => list.append(PyString::new(py, &String::from_utf8_lossy(bytes)))?,
            false => list.append(PyBytes::new(py, bytes))?,
        }
    }
    Ok(list)
}
