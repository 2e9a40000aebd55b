//! Reads and writes vocabularies in various file formats.

use std::collections::BTreeMap;

use jeton_core::error::Result;
use jeton_core::format::layout::{self, Layout};
use jeton_core::format::sentencepiece::{self, Facts, ModelProto};
use jeton_core::format::wire::{self, Field, Value};
use jeton_core::format::{hf_json, merges_txt as merges_lines, ranks, safetensors, tekken, vocab_txt as vocab_lines};
use jeton_core::model::bpe::Bpe;
use jeton_core::tokenizer::{Extras, ENTRY};
use jeton_core::util::cancel::KeepGoing;
use jeton_core::vocab::{Kind, List};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyFloat, PyTuple};

use crate::error;
use crate::signals::run_with_signals;
use crate::tokenizer::Tokenizer;
use crate::vocabulary::{SpelledVocabulary, Vocabulary};

const LSTRIP: u8 = 1;

#[pymethods]
impl Vocabulary {
    /// Reads a `.model` file. Returns its options as JSON, and the vocabulary of its pieces. `layout`: a `Layout` as
    /// JSON.
    #[staticmethod]
    #[pyo3(signature = (data, layout=None))]
    fn from_sentencepiece(py: Python<'_>, data: &[u8], layout: Option<&str>) -> PyResult<(String, Vocabulary)> {
        let read = || {
            let layout = layout.map(Layout::from_json).transpose()?;
            let model = sentencepiece::read(data)?;
            let facts = model.facts.to_json()?;
            let layout::Arranged { entries, scores, mask } = layout::arrange(model, layout.as_ref())?;
            // HF's mask tokens also match the white space before them.
            let flags = mask.map(|id| (id, LSTRIP)).into_iter().collect();
            Ok((facts, Vocabulary { entries, extras: Extras { scores, flags, ..Extras::default() } }))
        };
        py.detach(read).map_err(|failed| error::plain(py, failed))
    }

    /// Reads BERT's vocab.txt. Returns the entries, and true if an entry that is not in brackets (`[CLS]`) has an
    /// upper-case letter.
    #[staticmethod]
    fn from_vocab_txt(py: Python<'_>, data: &[u8]) -> PyResult<(Vocabulary, bool)> {
        let file = py.detach(|| vocab_lines::read(data)).map_err(|failed| error::plain(py, failed))?;
        Ok((Vocabulary { entries: file.entries, extras: Extras::default() }, file.has_upper_case))
    }
}

/// Returns the ids of the added tokens that occur in a merge (as a part or as the result), in ascending order. These
/// tokens were ordinary entries, and became added tokens later.
fn merged_added_tokens(tok: &Tokenizer, keep_going: KeepGoing<'_>) -> Result<Vec<u32>> {
    let is_added = |&id: &u32| matches!(tok.0.vocab().kind(id), Kind::Added | Kind::Special);
    let ids = tok.merge_list(keep_going)?.into_iter().flat_map(|(left, right, made)| [left, right, made]);
    let mut added: Vec<u32> = ids.filter(is_added).collect();
    added.sort_unstable();
    added.dedup();
    Ok(added)
}

#[pymethods]
impl Tokenizer {
    /// Returns `model.vocab` as JSON in UTF-8, and two lists of added tokens. The tokens in the first list have the
    /// same spelling as an ordinary entry. The tokens in the second list are in `model.vocab`, but are neither special
    /// nor entries of the model.
    ///
    /// Added tokens at the end of the vocabulary are omitted if HF assigns the same ids to them anyway. Exception: if
    /// the first of these added tokens are special tokens with ids below `num_listed`, these special tokens are not
    /// omitted. If `whole` is true, no added token is omitted. `unk`: id of the unknown token, which is never omitted.
    #[pyo3(signature = (*, byte_alphabet, end_of_word, unk=None, num_listed=u32::MAX, whole=false))]
    fn vocab_json<'py>(
        &self,
        py: Python<'py>,
        byte_alphabet: bool,
        end_of_word: &str,
        unk: Option<u32>,
        num_listed: u32,
        whole: bool,
    ) -> PyResult<(Bound<'py, PyBytes>, Vec<u32>, Vec<u32>)> {
        let spelling = hf_json::Spelling { byte_alphabet, end_of_word };
        let write = |keep_going: KeepGoing<'_>| {
            let merged = if whole || !self.has_merges() { Vec::new() } else { merged_added_tokens(self, keep_going)? };
            let is_model =
                |id| whole || Some(id) == unk || self.0.flags(id) & ENTRY != 0 || merged.binary_search(&id).is_ok();
            hf_json::vocab_json(self.0.vocab(), &spelling, num_listed, is_model)
        };
        let written = run_with_signals(py, write, |failed| error::plain(py, failed))?;
        Ok((PyBytes::new(py, written.json.as_bytes()), written.clashes, written.exposed))
    }

    /// Returns `model.merges` as JSON in UTF-8.
    #[pyo3(signature = (*, byte_alphabet, end_of_word))]
    fn merges_json<'py>(
        &self,
        py: Python<'py>,
        byte_alphabet: bool,
        end_of_word: &str,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let spelling = hf_json::Spelling { byte_alphabet, end_of_word };
        let vocab = self.0.vocab();
        let write = |keep_going: KeepGoing<'_>| hf_json::merges_json(vocab, &self.merge_list(keep_going)?, &spelling);
        let json = run_with_signals(py, write, |failed| error::plain(py, failed))?;
        Ok(PyBytes::new(py, json.as_bytes()))
    }

    /// Returns two values for a Unigram model: `model.vocab` as JSON text, and true if HF's parser reads all scores in
    /// this text exactly. If the ids have gaps, the result is None.
    #[pyo3(signature = (unk=None))]
    fn pieces_json(&self, py: Python<'_>, unk: Option<u32>) -> PyResult<Option<(String, bool)>> {
        let write = || hf_json::pieces_json(self.0.vocab(), self.0.scores(), unk);
        py.detach(write).map_err(|failed| error::plain(py, failed))
    }

    /// Returns `model.merges` as JSON text for a model of pieces with scores. It lists the last merge of each piece, by
    /// descending score. If two pieces have equal scores, also returns these two, because the list is then not
    /// equivalent to the scores.
    fn piece_merges_json(&self, py: Python<'_>) -> PyResult<(String, Option<(u32, u32)>)> {
        let spelling = hf_json::Spelling { byte_alphabet: false, end_of_word: "" };
        let write = |keep_going: KeepGoing<'_>| {
            let merges = self.0.model().piece_merges(self.0.vocab(), keep_going)?;
            let tied = hf_json::tied_pieces(self.0.vocab(), self.0.scores());
            Ok((hf_json::merges_json(self.0.vocab(), &merges, &spelling)?, tied))
        };
        run_with_signals(py, write, |failed| error::plain(py, failed))
    }

    /// Returns the ordinary entries as a rank file of tiktoken.
    fn rank_file(&self) -> String {
        ranks::write(self.0.vocab())
    }

    /// Writes a `.model` of a tokenizer's entries and scores, with options as returned by `from_sentencepiece`.
    ///
    /// `layout`: the rule by which ids were assigned to the pieces when the model was read. The file lists the pieces
    /// in the order that they had before this assignment. `end`: the id after the last piece; None if all entries are
    /// pieces.
    #[pyo3(signature = (facts, layout=None, end=None))]
    fn sentencepiece_file<'py>(
        &self,
        py: Python<'py>,
        facts: &str,
        layout: Option<&str>,
        end: Option<u32>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let write = || {
            let (vocab, facts) = (self.0.vocab(), Facts::from_json(facts)?);
            let layout = layout.map(Layout::from_json).transpose()?.unwrap_or_default();
            let control = [Some(&facts.unk), facts.bos.as_ref(), facts.eos.as_ref(), facts.pad.as_ref()];
            let control: Vec<String> = control.into_iter().flatten().cloned().collect();
            let end = end.unwrap_or(vocab.len() as u32);
            let pieces = layout::pieces(vocab, self.0.scores(), &layout, end, &control)?;
            sentencepiece::write(&ModelProto { facts, pieces })
        };
        let file = py.detach(write).map_err(|failed| error::plain(py, failed))?;
        Ok(PyBytes::new(py, &file))
    }

    /// Returns the list of ranked tokens of a tekken.json as JSON. `first`: id of the first ranked token.
    fn tekken_vocab(&self, py: Python<'_>, first: u32) -> PyResult<String> {
        py.detach(|| tekken::write(self.0.vocab(), first)).map_err(|failed| error::plain(py, failed))
    }

    fn vocab_txt(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| vocab_lines::write(self.0.vocab())).map_err(|failed| error::plain(py, failed))
    }

    /// Returns the lines of vocab.bpe.
    #[pyo3(signature = (*, byte_alphabet, end_of_word))]
    fn merges_txt(&self, py: Python<'_>, byte_alphabet: bool, end_of_word: &str) -> PyResult<String> {
        let spelling = hf_json::Spelling { byte_alphabet, end_of_word };
        let (vocab, bpe) = (self.0.vocab(), bpe(self)?);
        let write = |keep_going: KeepGoing<'_>| merges_lines::write(vocab, &bpe.merges(vocab, keep_going)?, &spelling);
        run_with_signals(py, write, |failed| error::plain(py, failed))
    }

    /// Returns the reason why the merges of a byte-level tokenizer are not equivalent to ranks; None if they are
    /// equivalent.
    fn rank_file_differs(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let (vocab, bpe) = (self.0.vocab(), bpe(self)?);
        run_with_signals(py, |keep_going| ranks::differs(vocab, bpe, keep_going), |failed| error::plain(py, failed))
    }
}

/// Returns the fields of a `.model` that are not pieces, as (field number, content).
#[pyfunction]
pub fn sentencepiece_specs<'py>(py: Python<'py>, data: &[u8]) -> PyResult<Vec<(u32, Bound<'py, PyBytes>)>> {
    let found = py.detach(|| sentencepiece::specs(data)).map_err(|failed| error::plain(py, failed))?;
    Ok(found.into_iter().map(|(number, content, _)| (number, PyBytes::new(py, content))).collect())
}

/// Replaces the fields of a `.model` that follow its pieces.
#[pyfunction]
pub fn with_sentencepiece_specs<'py>(
    py: Python<'py>,
    data: &[u8],
    trainer: &[u8],
    normalizer: &[u8],
    denormalizer: &[u8],
) -> PyResult<Bound<'py, PyBytes>> {
    let work = || sentencepiece::with_specs(data, trainer, normalizer, denormalizer);
    let file = py.detach(work).map_err(|failed| error::plain(py, failed))?;
    Ok(PyBytes::new(py, &file))
}

/// Value of a field of a protobuf message: int, float or bytes.
#[derive(FromPyObject, IntoPyObject)]
pub enum FieldValue<'py> {
    Number(u64),
    Float(Bound<'py, PyFloat>),
    Bytes(Bound<'py, PyBytes>),
}

/// Returns the fields of a protobuf message as (number, value). Skips 64-bit numbers, which the supported messages do
/// not contain.
#[pyfunction]
pub fn read_message<'py>(py: Python<'py>, data: &[u8]) -> PyResult<Vec<(u32, FieldValue<'py>)>> {
    let mut found = Vec::new();
    for field in wire::read_message(data) {
        let Field { number, value, .. } = field.map_err(|failed| error::plain(py, failed))?;
        let value = match value {
            Value::Number(value) => FieldValue::Number(value),
            Value::Float(value) => FieldValue::Float(PyFloat::new(py, value.into())),
            Value::Bytes(value) => FieldValue::Bytes(PyBytes::new(py, value)),
            Value::Fixed64(_) => continue,
        };
        found.push((number, value));
    }
    Ok(found)
}

/// Returns a protobuf message with fields given as (number, value).
#[pyfunction]
pub fn write_message<'py>(py: Python<'py>, fields: Vec<(u32, FieldValue<'py>)>) -> PyResult<Bound<'py, PyBytes>> {
    let mut out = Vec::new();
    for (number, value) in &fields {
        if !(1..1 << 29).contains(number) {
            return Err(PyValueError::new_err(format!("{number} is not the number of a field")));
        }
        let value = match value {
            FieldValue::Number(value) => Value::Number(*value),
            FieldValue::Float(value) => Value::Float(value.value() as f32),
            FieldValue::Bytes(value) => Value::Bytes(value.as_bytes()),
        };
        wire::put(*number, value, &mut out);
    }
    Ok(PyBytes::new(py, &out))
}

/// Content of a `tekken.json` file.
#[pyclass(frozen, module = "jeton._core")]
pub struct TekkenFile(tekken::TekkenFile);

#[pymethods]
impl TekkenFile {
    #[new]
    fn new(py: Python<'_>, data: &[u8]) -> PyResult<Self> {
        py.detach(|| tekken::read(data)).map(Self).map_err(|failed| error::plain(py, failed))
    }

    /// JSON object with all members of the file except the ranked tokens.
    #[getter]
    fn rest(&self) -> &str {
        &self.0.rest
    }

    /// Returns a vocabulary: the special tokens from id 0 on, then the first `num_ranked` ranked tokens.
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

#[pymethods]
impl SpelledVocabulary {
    /// Reads `tokenizer.json`. Returns (all members except the vocabulary and the merges as JSON text, vocabulary).
    #[staticmethod]
    fn from_tokenizer_json(py: Python<'_>, data: &[u8]) -> PyResult<(String, Self)> {
        let mut file = py.detach(|| hf_json::read(data)).map_err(|failed| error::plain(py, failed))?;
        Ok((std::mem::take(&mut file.rest), Self { file }))
    }

    /// Reads encoder.json and vocab.bpe. The spellings are not converted to bytes.
    #[staticmethod]
    fn from_pair(py: Python<'_>, vocab: &[u8], merges: &[u8]) -> PyResult<Self> {
        let file = py.detach(|| merges_lines::read(vocab, merges)).map_err(|failed| error::plain(py, failed))?;
        Ok(Self { file })
    }
}

fn bpe(tok: &Tokenizer) -> PyResult<&Bpe> {
    tok.0.model().as_bpe().ok_or_else(|| error::ConfigError::new_err("the model has no merges"))
}

/// Returns the metadata of a safetensors header and its tensors: (name, type, shape, start, end), in the order of their
/// bytes.
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
