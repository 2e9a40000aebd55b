//! Formats other than `tokenizer.json` and rank files: bytes ↔ vocabularies.

use std::collections::BTreeMap;

use jeton_core::format::layout::{self, Layout};
use jeton_core::format::sentencepiece::{self, Facts, ModelProto};
use jeton_core::format::wire::{self, Value};
use jeton_core::format::{hf_json, merges_txt as merges_lines, ranks, safetensors, tekken, vocab_txt as vocab_lines};
use jeton_core::model::bpe::Bpe;
use jeton_core::tokenizer::Extras;
use jeton_core::util::cancel::KeepGoing;
use jeton_core::vocab::{Kind, List};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::error;
use crate::signals::run_with_signals;
use crate::tokenizer::Tokenizer;
use crate::vocabulary::{SpelledVocabulary, Vocabulary};

const LSTRIP: u8 = 1;

/// A `.model` → (its options as JSON, its pieces at their ids). `layout`: a `Layout` as JSON.
#[pyfunction]
#[pyo3(signature = (data, layout=None))]
pub fn read_sentencepiece(py: Python<'_>, data: &[u8], layout: Option<&str>) -> PyResult<(String, Vocabulary)> {
    let read = || {
        let layout = layout.map(Layout::from_json).transpose()?;
        let model = sentencepiece::read(data)?;
        let facts = model.facts.to_json()?;
        let layout::Arranged { entries, scores, mask } = layout::arrange(model, layout.as_ref())?;
        let flags = mask.map(|id| (id, LSTRIP)).into_iter().collect(); // HF's mask tokens include white space before them
        Ok((facts, Vocabulary { entries, extras: Extras { scores, flags, ..Extras::default() } }))
    };
    py.detach(read).map_err(|failed| error::plain(py, failed))
}

/// Writes a `.model` of a tokenizer's entries and scores, with options as returned by `read_sentencepiece`.
///
/// `layout`: the layout that numbered the pieces, which is undone; `end`: the id after the last piece, else all entries
/// are pieces.
#[pyfunction]
#[pyo3(signature = (tok, facts, layout=None, end=None))]
pub fn write_sentencepiece<'py>(
    py: Python<'py>,
    tok: &Tokenizer,
    facts: &str,
    layout: Option<&str>,
    end: Option<u32>,
) -> PyResult<Bound<'py, PyBytes>> {
    let write = || {
        let (vocab, facts) = (tok.0.vocab(), Facts::from_json(facts)?);
        let layout = layout.map(Layout::from_json).transpose()?.unwrap_or_default();
        let control = [Some(&facts.unk), facts.bos.as_ref(), facts.eos.as_ref(), facts.pad.as_ref()];
        let control: Vec<String> = control.into_iter().flatten().cloned().collect();
        let end = end.unwrap_or(vocab.len() as u32);
        let pieces = layout::pieces(vocab, tok.0.scores(), &layout, end, &control)?;
        sentencepiece::write(&ModelProto { facts, pieces })
    };
    let file = py.detach(write).map_err(|failed| error::plain(py, failed))?;
    Ok(PyBytes::new(py, &file))
}

/// Returns the fields of a `.model` that are no pieces, as (number, content).
#[pyfunction]
pub fn sentencepiece_specs<'py>(py: Python<'py>, data: &[u8]) -> PyResult<Vec<(u32, Bound<'py, PyBytes>)>> {
    let found = py.detach(|| sentencepiece::specs(data)).map_err(|failed| error::plain(py, failed))?;
    Ok(found.into_iter().map(|(number, content)| (number, PyBytes::new(py, content))).collect())
}

/// Replaces the fields of a `.model` that follow its pieces.
#[pyfunction]
pub fn with_sentencepiece_specs<'py>(
    py: Python<'py>,
    data: &[u8],
    trainer: &[u8],
    normalizer: &[u8],
) -> PyResult<Bound<'py, PyBytes>> {
    let work = || sentencepiece::with_specs(data, trainer, normalizer);
    let file = py.detach(work).map_err(|failed| error::plain(py, failed))?;
    Ok(PyBytes::new(py, &file))
}

/// Value of a field of a protobuf message: int, float or bytes.
#[derive(FromPyObject, IntoPyObject)]
pub enum FieldValue<'py> {
    Number(u64),
    Float(f32),
    Bytes(Bound<'py, PyBytes>),
}

/// Returns the fields of a protobuf message as (number, value).
#[pyfunction]
pub fn read_message<'py>(py: Python<'py>, data: &[u8]) -> PyResult<Vec<(u32, FieldValue<'py>)>> {
    let found = wire::read_message(data).map_err(|failed| error::plain(py, failed))?;
    let converted = found.into_iter().map(|(number, value)| match value {
        Value::Number(value) => (number, FieldValue::Number(value)),
        Value::Float(value) => (number, FieldValue::Float(value)),
        Value::Bytes(value) => (number, FieldValue::Bytes(PyBytes::new(py, value))),
    });
    Ok(converted.collect())
}

/// Writes a protobuf message of fields as (number, value).
#[pyfunction]
pub fn write_message<'py>(py: Python<'py>, fields: Vec<(u32, FieldValue<'py>)>) -> Bound<'py, PyBytes> {
    let mut out = Vec::new();
    for (number, value) in &fields {
        let value = match value {
            FieldValue::Number(value) => Value::Number(*value),
            FieldValue::Float(value) => Value::Float(*value),
            FieldValue::Bytes(value) => Value::Bytes(value.as_bytes()),
        };
        wire::put(*number, value, &mut out);
    }
    PyBytes::new(py, &out)
}

/// A `tekken.json`.
#[pyclass(frozen, module = "jeton._core")]
pub struct TekkenFile(tekken::TekkenFile);

#[pymethods]
impl TekkenFile {
    /// All members except the ranked tokens, as JSON text.
    #[getter]
    fn rest(&self) -> &str {
        &self.0.rest
    }

    /// Returns a vocabulary of special tokens from id 0, then the first `num_ranked` tokens.
    fn vocabulary(&self, special: Vec<String>, num_ranked: usize) -> Vocabulary {
        let first = special.len() as u32;
        let special = (0..).zip(special).map(|(id, token)| (id, Kind::Special, token.into_bytes()));
        let ranked = (first..).zip(self.0.tokens.iter().take(num_ranked));
        let mut entries: List = special.collect();
        entries.extend(ranked.map(|(id, token)| (id, Kind::Token, token)));
        Vocabulary { entries, extras: Extras::default() }
    }

    fn __len__(&self) -> usize {
        self.0.tokens.len()
    }
}

#[pyfunction]
pub fn read_tekken(py: Python<'_>, data: &[u8]) -> PyResult<TekkenFile> {
    py.detach(|| tekken::read(data)).map(TekkenFile).map_err(|failed| error::plain(py, failed))
}

/// Writes the list of ranked tokens, whose ids begin with `first`.
#[pyfunction]
pub fn tekken_vocab(py: Python<'_>, tok: &Tokenizer, first: u32) -> PyResult<String> {
    py.detach(|| tekken::write(tok.0.vocab(), first)).map_err(|failed| error::plain(py, failed))
}

/// BERT's vocab.txt → (entries, true if one outside `[…]` has an upper-case letter).
#[pyfunction]
pub fn read_vocab_txt(py: Python<'_>, data: &[u8]) -> PyResult<(Vocabulary, bool)> {
    let file = py.detach(|| vocab_lines::read(data)).map_err(|failed| error::plain(py, failed))?;
    Ok((Vocabulary { entries: file.entries, extras: Extras::default() }, file.has_upper_case))
}

#[pyfunction]
pub fn vocab_txt(py: Python<'_>, tok: &Tokenizer) -> PyResult<String> {
    py.detach(|| vocab_lines::write(tok.0.vocab())).map_err(|failed| error::plain(py, failed))
}

/// Reads encoder.json and vocab.bpe, with spellings unchanged.
#[pyfunction]
pub fn read_pair(py: Python<'_>, vocab: &[u8], merges: &[u8]) -> PyResult<SpelledVocabulary> {
    let file = py.detach(|| merges_lines::read(vocab, merges)).map_err(|failed| error::plain(py, failed))?;
    Ok(SpelledVocabulary { file })
}

fn bpe(tok: &Tokenizer) -> PyResult<&Bpe> {
    tok.0.model().as_bpe().ok_or_else(|| error::ConfigError::new_err("the model has no merges"))
}

/// Writes the lines of vocab.bpe.
#[pyfunction]
#[pyo3(signature = (tok, *, byte_alphabet, end_of_word))]
pub fn merges_txt(py: Python<'_>, tok: &Tokenizer, byte_alphabet: bool, end_of_word: &str) -> PyResult<String> {
    let spelling = hf_json::Spelling { byte_alphabet, end_of_word };
    let (vocab, bpe) = (tok.0.vocab(), bpe(tok)?);
    let write = |keep_going: KeepGoing<'_>| merges_lines::write(vocab, &bpe.merges(vocab, keep_going)?, &spelling);
    run_with_signals(py, write, |failed| error::plain(py, failed))
}

/// Returns the reason why merges of a byte-level tokenizer are not equivalent to ranks; None if they are.
#[pyfunction]
pub fn rank_file_differs(py: Python<'_>, tok: &Tokenizer) -> PyResult<Option<String>> {
    let (vocab, bpe) = (tok.0.vocab(), bpe(tok)?);
    run_with_signals(py, |keep_going| ranks::differs(vocab, bpe, keep_going), |failed| error::plain(py, failed))
}

/// Returns the metadata of a safetensors header and its tensors: (name, type, shape, start, end), in the order of their bytes.
///
/// `size`: number of bytes after the header.
#[pyfunction]
pub fn read_safetensors_header(
    py: Python<'_>,
    header: &[u8],
    size: u64,
) -> PyResult<(Option<Metadata>, Vec<TensorRow>)> {
    let read = || safetensors::read(header, size);
    let header = py.detach(read).map_err(|failed| error::plain(py, failed))?;
    let row = |(name, tensor): (String, safetensors::Tensor)| {
        let (start, end) = tensor.data_offsets;
        Ok((name, format!("{:?}", tensor.dtype), PyTuple::new(py, tensor.shape)?.unbind(), start, end))
    };
    Ok((header.metadata, header.tensors.into_iter().map(row).collect::<PyResult<_>>()?))
}

type Metadata = BTreeMap<String, String>;
type TensorRow = (String, String, Py<PyTuple>, u64, u64);

/// Returns the published regex of a named pattern, in tiktoken's dialect; None for a name without a regex.
#[pyfunction]
pub fn pattern_text(name: &str) -> Option<&'static str> {
    jeton_core::pretokenize::published(name)
}
