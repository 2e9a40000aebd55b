//! `TextColumn`: the documents of a block of a file. Encodes them, and counts spellings in them.

use std::path::PathBuf;
use std::str;

use jeton_core::added_tokens::{Added, AddedTokenMatcher};
use jeton_core::documents::{json_rows, lines, Span};
use jeton_core::tokenizer::{FileIds, IdType, Input, RowForm};
use jeton_core::util::cancel::KeepGoingMut;
use jeton_core::util::utf8;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyList, PyMemoryView};

use crate::column;
use crate::error;
use crate::reading;
use crate::signals::run_on_threads;
use crate::tokenizer::Tokenizer;

/// Documents, each valid UTF-8, stored in the buffers into which they were read.
#[pyclass(frozen, module = "jeton._core")]
pub struct TextColumn(Texts);

enum Texts {
    /// Ranges of one buffer.
    Buffer(String, Vec<Span>),
    /// Ranges of a `bytes` object. The object is valid UTF-8, and immutable.
    Block(PyBackedBytes, Vec<Span>),
    /// Ranges of the memory of another object. The memory is valid UTF-8, and no other code accesses it.
    Borrowed(PyBuffer<u8>, Vec<Span>),
    /// One `bytes` object for each document. Each is valid UTF-8.
    Objects(Vec<PyBackedBytes>),
}

/// Returns the bytes of a contiguous buffer. The caller of `from_arrow` promises that no other code accesses it.
fn bytes_of(buffer: &PyBuffer<u8>) -> &[u8] {
    if buffer.item_count() == 0 {
        return &[];
    }
    // SAFETY: the buffer is contiguous, alive as long as `buffer`, and not written to, as the caller of `from_arrow`
    // promises.
    unsafe { std::slice::from_raw_parts(buffer.buf_ptr().cast::<u8>(), buffer.item_count()) }
}

impl TextColumn {
    fn len(&self) -> usize {
        match &self.0 {
            Texts::Buffer(_, spans) | Texts::Block(_, spans) | Texts::Borrowed(_, spans) => spans.len(),
            Texts::Objects(objects) => objects.len(),
        }
    }

    /// Iterates over the documents.
    pub fn texts(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        fn valid(bytes: &[u8]) -> &str {
            // SAFETY: every constructor of a `TextColumn` has validated the bytes. `bytes` objects do not change, and
            // neither does borrowed memory, as the caller of `from_arrow` promises.
            unsafe { str::from_utf8_unchecked(bytes) }
        }
        fn ranges<'a>(whole: &'a str, spans: &'a [Span]) -> Box<dyn Iterator<Item = &'a str> + 'a> {
            Box::new(spans.iter().map(move |&(start, end)| whole.get(start..end).unwrap_or_default()))
        }
        match &self.0 {
            Texts::Buffer(whole, spans) => ranges(whole, spans),
            Texts::Block(block, spans) => ranges(valid(block), spans),
            Texts::Borrowed(buffer, spans) => ranges(valid(bytes_of(buffer)), spans),
            Texts::Objects(objects) => Box::new(objects.iter().map(|object| valid(object))),
        }
    }
}

/// Returns the documents of all columns.
pub fn texts_of<'a>(columns: &'a [Bound<'_, TextColumn>]) -> Vec<&'a str> {
    let mut texts = Vec::with_capacity(columns.iter().map(|column| column.get().len()).sum());
    columns.iter().for_each(|column| texts.extend(column.get().texts()));
    texts
}

#[pymethods]
impl TextColumn {
    /// Creates a column from documents; raises `ValueError` for a document that is not UTF-8.
    #[new]
    fn new(py: Python<'_>, texts: Vec<Bound<'_, PyBytes>>) -> PyResult<Self> {
        let objects: Vec<PyBackedBytes> = texts.into_iter().map(PyBackedBytes::from).collect();
        match py.detach(|| objects.iter().position(|object| utf8::validated(object).is_none())) {
            None => Ok(Self(Texts::Objects(objects))),
            Some(index) => Err(PyValueError::new_err(format!("texts[{index}] is not UTF-8"))),
        }
    }

    /// Reads each file as a document. `sizes` are the known sizes of the files, 64 MiB at most in total. None if a file
    /// cannot be read, is not UTF-8, or now has another size.
    #[staticmethod]
    fn from_files(py: Python<'_>, paths: Vec<PathBuf>, sizes: Vec<usize>, threads: usize) -> Option<Self> {
        py.detach(|| reading::whole_files(&paths, &sizes, threads))
            .map(|(whole, spans)| Self(Texts::Buffer(whole, spans)))
    }

    /// Reads a field of JSON lines: one document from each line. Also returns the indices of the lines that the caller
    /// has to parse; the documents of these lines are empty.
    #[staticmethod]
    fn from_json_rows(py: Python<'_>, block: &[u8], field: &str) -> PyResult<(Self, Vec<usize>)> {
        let rows = py.detach(|| json_rows::read(block, field)).map_err(|failed| error::plain(py, failed))?;
        Ok((Self(Texts::Buffer(rows.texts, rows.spans)), rows.unread))
    }

    /// Splits a block into lines; None if it is not UTF-8.
    #[staticmethod]
    fn from_lines(py: Python<'_>, block: Bound<'_, PyBytes>) -> PyResult<Option<Self>> {
        let block = PyBackedBytes::from(block);
        let spans = py.detach(|| utf8::validated(&block).map(lines::spans)).transpose();
        let spans = spans.map_err(|failed| error::plain(py, failed))?;
        Ok(spans.map(|spans| Self(Texts::Block(block, spans))))
    }

    /// Creates a column from an Arrow array of binary or string type without nulls. `data` contains the bytes of all
    /// values. `offsets` are little-endian i64, relative to the start of `data`. Returns None if a value is not UTF-8.
    ///
    /// With `borrow`, `data` is not copied; the caller promises that no other code accesses it.
    #[staticmethod]
    #[pyo3(signature = (data, offsets, *, borrow = false))]
    fn from_arrow(py: Python<'_>, data: PyBuffer<u8>, offsets: PyBuffer<u8>, borrow: bool) -> PyResult<Option<Self>> {
        let offsets = column::wide(py, &offsets)?;
        let spans = |text: &str| {
            let span = |range: &[i64]| {
                let span = (usize::try_from(range[0]).ok()?, usize::try_from(range[1]).ok()?);
                text.get(span.0..span.1).map(|_| span)
            };
            offsets.windows(2).map(span).collect::<Option<Vec<_>>>()
        };
        if borrow && data.is_c_contiguous() {
            let spans = py.detach(|| utf8::validated(bytes_of(&data)).and_then(spans));
            return Ok(spans.map(|spans| Self(Texts::Borrowed(data, spans))));
        }
        let copy = data.to_vec(py)?;
        let spans = py.detach(|| utf8::validated(&copy).and_then(spans));
        // SAFETY: `spans` is only Some if the copy is valid UTF-8.
        Ok(spans.map(|spans| Self(Texts::Buffer(unsafe { String::from_utf8_unchecked(copy) }, spans))))
    }

    fn __len__(&self) -> usize {
        self.len()
    }

    /// Total number of bytes of all documents.
    #[getter]
    fn num_bytes(&self) -> usize {
        self.texts().map(str::len).sum()
    }

    /// Returns the number of bytes of each document, little-endian i64.
    fn lengths<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyMemoryView>> {
        column::view(py, self.texts().map(|text| text.len() as i64).collect::<Vec<_>>())
    }

    /// Returns the documents as `bytes`.
    fn to_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        if let Texts::Objects(objects) = &self.0 {
            objects.iter().try_for_each(|object| list.append(object))?;
            return Ok(list);
        }
        for text in self.texts() {
            // `PyBytes::new` would panic on a failed allocation.
            list.append(PyBytes::new_with(py, text.len(), |room| {
                room.copy_from_slice(text.as_bytes());
                Ok(())
            })?)?;
        }
        Ok(list)
    }

    /// Returns the documents with these indices, as a column.
    fn take(&self, py: Python<'_>, indices: Vec<usize>) -> PyResult<Self> {
        let beyond = || PyIndexError::new_err(format!("an index is beyond the {} documents", self.len()));
        if let Texts::Objects(objects) = &self.0 {
            let object = |&index: &usize| objects.get(index).map(|object| object.clone_ref(py));
            let taken: Option<Vec<_>> = indices.iter().map(object).collect();
            return taken.map(|objects| Self(Texts::Objects(objects))).ok_or_else(beyond);
        }
        if let Texts::Block(block, spans) = &self.0 {
            let taken: Option<Vec<_>> = indices.iter().map(|&index| spans.get(index).copied()).collect();
            return taken.map(|spans| Self(Texts::Block(block.clone_ref(py), spans))).ok_or_else(beyond);
        }
        let texts: Vec<&str> = self.texts().collect();
        let taken: Option<Vec<&str>> = indices.iter().map(|&index| texts.get(index).copied()).collect();
        Ok(Self::joined(taken.ok_or_else(beyond)?.into_iter()))
    }

    /// Returns the documents with changes: the document at each of the (ascending) `indices` is replaced by the item of
    /// `texts`, or left out if the item is None.
    fn replaced(&self, indices: Vec<usize>, texts: Vec<Option<Bound<'_, PyBytes>>>) -> PyResult<Self> {
        let valid = |text: &Option<Bound<'_, PyBytes>>| {
            text.as_ref().map(|text| str::from_utf8(text.as_bytes()).map(str::to_owned)).transpose()
        };
        let other = texts.iter().map(valid).collect::<Result<Vec<_>, _>>();
        let other = other.map_err(|_| PyValueError::new_err("a text is not UTF-8"))?;
        let mut changes = indices.into_iter().zip(&other).peekable();
        let kept =
            self.texts().enumerate().filter_map(|(index, text)| match changes.next_if(|change| change.0 == index) {
                Some((_, text)) => text.as_deref(),
                None => Some(text),
            });
        Ok(Self::joined(kept))
    }
}

impl TextColumn {
    /// Copies documents into one buffer.
    fn joined<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        let (mut whole, mut spans) = (String::new(), Vec::new());
        for text in texts {
            let start = whole.len();
            whole.push_str(text);
            spans.push((start, whole.len()));
        }
        Self(Texts::Buffer(whole, spans))
    }
}

/// Returns the number of line ends in the block.
#[pyfunction]
pub fn count_line_ends(block: &[u8]) -> usize {
    lines::count_ends(block)
}

/// (ids, number of ids of each row, indices of dropped documents, highest id)
type RowColumns<'py> = (Bound<'py, PyMemoryView>, Bound<'py, PyMemoryView>, Vec<usize>, Option<u32>);

#[pymethods]
impl Tokenizer {
    /// Encodes the documents of columns, each between the ids `before` and `after`. Returns the ids as `dtype`
    /// ("uint16", "int32" or "uint32") and the number of ids of each row (i64), both little-endian; the indices of
    /// dropped documents; and the highest id. If `drops_empty` is true, documents that have no ids besides `before` and
    /// `after` are dropped. Special tokens are not matched.
    #[pyo3(signature = (columns, dtype, threads, *, before, after, drops_empty))]
    #[allow(clippy::too_many_arguments)]
    fn encode_columns<'py>(
        &self,
        py: Python<'py>,
        columns: Vec<Bound<'py, TextColumn>>,
        dtype: &str,
        threads: usize,
        before: Vec<u32>,
        after: Vec<u32>,
        drops_empty: bool,
    ) -> PyResult<RowColumns<'py>> {
        let id_type = match dtype {
            "uint16" => IdType::Uint16,
            "int32" => IdType::Int32,
            "uint32" => IdType::Uint32,
            _ => return Err(PyValueError::new_err(format!("dtype must be uint16, int32 or uint32, not {dtype:?}"))),
        };
        let tok = &self.0;
        let texts = texts_of(&columns);
        let inputs: Vec<Input<'_>> = texts.iter().map(|&text| text.into()).collect();
        let permit = tok.permit_none();
        let form = RowForm { id_type, before: &before, after: &after, drops_empty };
        let encode = |watch: KeepGoingMut<'_>| tok.encode_rows(&inputs, &permit, &form, threads, watch);
        let rows = run_on_threads(py, encode, |(index, failed)| error::in_batch(py, error::plain(py, failed), index))?;
        let ids = match rows.ids {
            FileIds::Short(ids) => column::view(py, ids)?,
            FileIds::Wide(ids) => column::view(py, ids)?,
        };
        Ok((ids, column::view(py, rows.lengths)?, rows.dropped, rows.highest))
    }
}

/// Counts spellings in documents. If two occurrences overlap, only the earlier one is counted; if both begin at the
/// same position, only the longer one is counted.
#[pyclass(frozen, module = "jeton._core")]
pub struct SpellingCounter {
    matcher: Option<AddedTokenMatcher>,
    num_spellings: usize,
}

#[pymethods]
impl SpellingCounter {
    #[new]
    fn new(py: Python<'_>, spellings: Vec<Vec<u8>>) -> PyResult<Self> {
        let tokens = (0..).zip(&spellings).map(|(id, spelling)| Added::plain(spelling, id));
        let matcher = AddedTokenMatcher::new(tokens).map_err(|failed| error::plain(py, failed))?;
        Ok(Self { matcher, num_spellings: spellings.len() })
    }

    /// Returns the number of occurrences of each spelling in all documents.
    fn count(&self, py: Python<'_>, columns: Vec<Bound<'_, TextColumn>>) -> Vec<u64> {
        let texts = texts_of(&columns);
        let mut counts = vec![0; self.num_spellings];
        py.detach(|| {
            if let Some(matcher) = &self.matcher {
                texts.iter().for_each(|text| matcher.count(text.as_bytes(), &mut counts));
            }
        });
        counts
    }
}
