//! Decodes ids and pieces to texts, messages and offsets.

use jeton_core::parallel;
use jeton_core::sentencepiece::{decoded_message, DecodedText};
use jeton_core::util::cancel::{KeepGoing, KeepGoingMut};
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};

use super::convert::{self, raised, Output};
use super::encode::offsets;
use super::PieceModel;
use crate::arguments::Text;
use crate::signals::run_on_threads;
use crate::tokenizer::SHORT;

#[pymethods]
impl PieceModel {
    /// Decodes ids to the type `output`.
    fn decode_ids<'py>(&self, py: Python<'py>, ids: &Bound<'py, PyAny>, output: u8) -> PyResult<Bound<'py, PyAny>> {
        let ids = self.checked(convert::ids(ids)?)?;
        self.decoded_ids(py, &ids, Output::of(output)?)
    }

    /// Decodes the ids of each item.
    fn decode_ids_batch<'py>(
        &self,
        py: Python<'py>,
        batch: &Bound<'py, PyAny>,
        output: u8,
        threads: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let output = Output::of(output)?;
        let rows = convert::items(batch)?.iter().map(convert::ids).collect::<PyResult<Vec<_>>>()?;
        let rows = rows.into_iter().map(|ids| self.checked(ids)).collect::<PyResult<Vec<_>>>()?;
        let list = PyList::empty(py);
        if matches!(output, Output::Pieces | Output::BytePieces) {
            let borrowed: Vec<&[u32]> = rows.iter().map(Vec::as_slice).collect();
            let decode = |watch: KeepGoingMut<'_>| self.tok().decode_batch(&borrowed, false, true, threads, watch);
            let groups = run_on_threads(py, decode, |(_, error)| raised(error))?;
            for text in groups.iter().flat_map(jeton_core::tokenizer::DecodedRows::iter) {
                list.append(text_object(py, text, output == Output::BytePieces)?)?;
            }
            return Ok(list.into_any());
        }
        for ids in rows {
            list.append(self.decoded_ids(py, &ids, output)?)?;
        }
        Ok(list.into_any())
    }

    /// Decodes pieces. If the pieces are `bytes`, the result is `bytes`.
    fn decode_pieces<'py>(
        &self,
        py: Python<'py>,
        pieces: &Bound<'py, PyAny>,
        output: u8,
    ) -> PyResult<Bound<'py, PyAny>> {
        let objects = convert::items(pieces)?;
        let texts = objects.iter().map(convert::item).collect::<PyResult<Vec<_>>>()?;
        let is_bytes = matches!(texts.first(), Some(Text::Bytes(_)));
        let pieces: Vec<&[u8]> = texts.iter().map(Text::bytes).collect();
        let done = py.detach(|| self.pieces.decode_pieces(self.tok(), &pieces)).map_err(raised)?;
        self.decoded(py, done, pieces.iter().copied(), as_input(Output::of(output)?, is_bytes))
    }

    /// Decodes the pieces of each item.
    fn decode_pieces_batch<'py>(
        &self,
        py: Python<'py>,
        batch: &Bound<'py, PyAny>,
        output: u8,
        threads: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let rows = convert::items(batch)?.iter().map(convert::items).collect::<PyResult<Vec<_>>>()?;
        let texts = rows.iter().map(|row| row.iter().map(convert::item).collect::<PyResult<Vec<_>>>());
        let texts = texts.collect::<PyResult<Vec<_>>>()?;
        let is_bytes = matches!(texts.iter().flatten().next(), Some(Text::Bytes(_)));
        let pieces: Vec<Vec<&[u8]>> = texts.iter().map(|row| row.iter().map(Text::bytes).collect()).collect();
        let job = |index: usize, _: KeepGoing<'_>| self.pieces.decode_pieces(self.tok(), &pieces[index]);
        let decode = |watch: KeepGoingMut<'_>| {
            parallel::jobs(pieces.len(), threads, watch, job).into_iter().collect::<Result<Vec<_>, _>>()
        };
        let decoded = run_on_threads(py, decode, raised)?;
        let output = as_input(Output::of(output)?, is_bytes);
        let list = PyList::empty(py);
        for (done, pieces) in decoded.into_iter().zip(&pieces) {
            list.append(self.decoded(py, done, pieces.iter().copied(), output)?)?;
        }
        Ok(list.into_any())
    }
}

impl PieceModel {
    /// Returns the ids, or an exception if an id is not in the vocabulary.
    pub(super) fn checked(&self, ids: Vec<i32>) -> PyResult<Vec<u32>> {
        let len = self.len();
        let checked = |id: i32| u32::try_from(id).ok().filter(|&id| (id as usize) < len);
        let found: Option<Vec<u32>> = ids.iter().map(|&id| checked(id)).collect();
        found.ok_or_else(|| PyIndexError::new_err("piece id is out of range."))
    }

    fn decoded_ids<'py>(&self, py: Python<'py>, ids: &[u32], output: Output) -> PyResult<Bound<'py, PyAny>> {
        if matches!(output, Output::Pieces | Output::BytePieces) {
            let decode = || self.tok().decode_text(ids, false);
            let done = if ids.len() < SHORT { decode() } else { py.detach(decode) };
            return text_object(py, done.map_err(raised)?.as_bytes(), output == Output::BytePieces);
        }
        let done = py.detach(|| self.pieces.decode_ids(self.tok(), ids)).map_err(raised)?;
        self.decoded(py, done, ids.iter().map(|&id| self.tok().vocab().content(id)), output)
    }

    /// Converts a decoded text to the type `output`.
    fn decoded<'py, 'p>(
        &self,
        py: Python<'py>,
        done: DecodedText,
        pieces: impl Iterator<Item = &'p [u8]>,
        output: Output,
    ) -> PyResult<Bound<'py, PyAny>> {
        match output {
            Output::Pieces => text_object(py, done.whole(), false),
            Output::BytePieces => text_object(py, done.whole(), true),
            Output::Message => Ok(PyBytes::new(py, &decoded_message(&done, pieces)).into_any()),
            Output::Mapping | Output::ByteMapping => {
                let as_bytes = output == Output::ByteMapping;
                let spelled = pieces.map(|piece| text_object(py, piece, as_bytes)).collect::<PyResult<Vec<_>>>()?;
                let ids: Vec<u32> = done.pieces.iter().map(|piece| piece.id).collect();
                let mapping = PyDict::new(py);
                mapping.set_item("text", text_object(py, done.whole(), as_bytes)?)?;
                mapping.set_item("ids", ids)?;
                mapping.set_item("pieces", spelled)?;
                // The byte offsets refer to the text before denormalization. As in SentencePiece, they are nevertheless
                // converted to character offsets as if they referred to the denormalized text.
                let ranges = done.pieces.iter().map(|piece| piece.range);
                if !as_bytes && ranges.clone().any(|(_, end)| end > done.whole().len()) {
                    return Err(PyValueError::new_err(
                        "a denormalizer made the text shorter than offsets of its pieces",
                    ));
                }
                mapping.set_item("offsets", offsets(done.whole(), ranges, as_bytes))?;
                Ok(mapping.into_any())
            }
            _ => Err(PyTypeError::new_err("ids and arrays are not forms of decoded text")),
        }
    }
}

/// Returns the output type for decoding pieces. If the pieces are `bytes`, the texts of the output are `bytes`, too.
fn as_input(output: Output, is_bytes: bool) -> Output {
    match output {
        Output::Pieces if is_bytes => Output::BytePieces,
        Output::Mapping if is_bytes => Output::ByteMapping,
        output => output,
    }
}

fn text_object<'py>(py: Python<'py>, text: &[u8], as_bytes: bool) -> PyResult<Bound<'py, PyAny>> {
    match as_bytes {
        true => Ok(PyBytes::new(py, text).into_any()),
        false => {
            Ok(PyString::from_encoded_object(&PyBytes::new(py, text), Some(c"utf-8"), Some(c"strict"))?.into_any())
        }
    }
}
