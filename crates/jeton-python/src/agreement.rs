//! `Agreement`: counts the boundaries and tokens that several tokenizers have in common on a corpus.

use jeton_core::tokenizer::{Agreement as Core, Encoder, Passage};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arguments::Text;
use crate::column;
use crate::error;
use crate::signals::SignalCheck;
use crate::tokenizer::Tokenizer;

/// Counts of the common boundaries and tokens in all texts added so far.
#[pyclass(module = "jeton._core")]
pub struct Agreement {
    counts: Core,
    toks: Vec<Py<Tokenizer>>,
}

/// Ids of all texts, concatenated, and the cumulative number of ids at the end of each text.
type Columns = (PyBuffer<u8>, Vec<usize>);
type PassageRow<'py> = (Bound<'py, PyBytes>, u64, Vec<Vec<Bound<'py, PyBytes>>>);

#[pymethods]
impl Agreement {
    #[new]
    fn new(toks: Vec<Py<Tokenizer>>) -> Self {
        Self { counts: Core::new(toks.len()), toks }
    }

    /// Adds texts. `columns` has an item for each tokenizer: the ids of all texts, if the concatenated tokens of each
    /// text equal the text; otherwise None. If a tokenizer fails, returns its index and the error.
    fn add(
        &mut self,
        py: Python<'_>,
        texts: Vec<Bound<'_, PyAny>>,
        columns: Vec<Option<Columns>>,
        threads: usize,
    ) -> PyResult<Option<(usize, PyErr)>> {
        let texts = texts.iter().map(Text::of).collect::<PyResult<Vec<_>>>()?;
        let bytes: Vec<&[u8]> = texts.iter().map(Text::bytes).collect();
        let mut encoders = Vec::with_capacity(self.toks.len());
        for (tok, columns) in self.toks.iter().zip(columns) {
            let ids = columns.map(|(ids, ends)| column::ids(py, &ids).map(|ids| (ids, ends))).transpose()?;
            let tok = &tok.get().0;
            encoders.push(Encoder { tok, permit: tok.permit_none(), ids });
        }
        let mut watch = SignalCheck::new(None);
        let counts = &mut self.counts;
        let done = py.detach(|| counts.add(&encoders, &bytes, threads, &mut || watch.keep_going(0)));
        let mut failed = None;
        let done = done.map_err(|(index, error)| {
            failed = Some(index);
            error
        });
        match (watch.finish(done, |failed| error::plain(py, failed)), failed) {
            (Ok(()), _) => Ok(None),
            (Err(error), Some(index)) if !error.is_instance_of::<pyo3::exceptions::PyKeyboardInterrupt>(py) => {
                Ok(Some((index, error)))
            }
            (Err(error), _) => Err(error),
        }
    }

    /// Returns two matrices, row by row: the numbers of common boundaries and of common tokens, for each pair of
    /// tokenizers.
    fn matrices(&self) -> (Vec<u64>, Vec<u64>) {
        (self.counts.boundaries().to_vec(), self.counts.tokens().to_vec())
    }

    /// Returns the number of passages that the tokenizers split differently, and the number of bytes of these passages.
    fn passages(&self) -> (u64, u64) {
        self.counts.passages()
    }

    /// Returns the number of occurrences of each id of a tokenizer, as little-endian uint64.
    fn frequencies<'py>(&self, py: Python<'py>, tok: usize) -> Bound<'py, PyBytes> {
        let counts = self.counts.frequencies(tok);
        PyBytes::new(py, &counts.iter().flat_map(|count| count.to_le_bytes()).collect::<Vec<_>>())
    }

    /// Returns the most frequent passages as (bytes, number of occurrences, tokens of each tokenizer). The tokens are
    /// from the first occurrence of the passage.
    fn frequent_passages<'py>(&self, py: Python<'py>, most: usize) -> Vec<PassageRow<'py>> {
        let row = |(bytes, passage): (&[u8], &Passage)| {
            let pieces = |inner: &Vec<usize>| {
                let starts = std::iter::once(0).chain(inner.iter().copied());
                let ends = inner.iter().copied().chain([bytes.len()]);
                starts.zip(ends).map(|(start, end)| PyBytes::new(py, &bytes[start..end])).collect()
            };
            (PyBytes::new(py, bytes), passage.count, passage.boundaries.iter().map(pieces).collect())
        };
        self.counts.frequent_passages(most).into_iter().map(row).collect()
    }
}

#[pymethods]
impl Tokenizer {
    /// Decodes all entries of this vocabulary and of `other`, and returns three numbers of distinct byte strings: in
    /// both vocabularies, in this vocabulary, and in `other`.
    fn shared_entries(&self, py: Python<'_>, other: &Self) -> (usize, usize, usize) {
        py.detach(|| self.0.shared_entries(&other.0))
    }
}
