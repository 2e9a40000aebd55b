//! SentencePiece's interface for `jeton.compat.sentencepiece`: one class for a model, one for a normalizer.
//!
//! Exceptions have the types that SentencePiece raises: `TypeError` for arguments, `IndexError` for ids, `ValueError`
//! for roles that the model lacks, `RuntimeError` for everything else.

mod convert;
mod decode;
mod encode;
mod lookup;
mod normalizer;
mod random;

use std::sync::OnceLock;

use jeton_core::sentencepiece::{load, PieceTable};
use jeton_core::tokenizer::Tokenizer;
use jeton_core::util::atomic_cell::made_once;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyString;

use convert::raised;
pub use convert::VectorBuffer;
pub use normalizer::PieceNormalizer;
pub use random::{set_nbest_timeout, set_random_seed};

/// A model with SentencePiece's interface.
#[pyclass(frozen, module = "jeton._core")]
pub struct PieceModel {
    tok: Tokenizer,
    pieces: PieceTable,
    bos: Option<u32>,
    eos: Option<u32>,
    pad: Option<u32>,
    strings: OnceLock<Box<[OnceLock<Py<PyString>>]>>, // id -> piece, created on first use
}

#[pymethods]
impl PieceModel {
    /// Reads a model file.
    #[new]
    fn new(py: Python<'_>, data: &[u8]) -> PyResult<Self> {
        let read = || {
            let (tok, facts) = load(data)?;
            let pieces = PieceTable::new(&tok, &facts)?;
            let id = |role: &Option<String>| role.as_ref().map(|piece| pieces.id(&tok, piece.as_bytes()));
            let (bos, eos, pad) = (id(&facts.bos), id(&facts.eos), id(&facts.pad));
            Ok(Self { tok, pieces, bos, eos, pad, strings: OnceLock::new() })
        };
        py.detach(read).map_err(raised)
    }

    /// Returns the ids of (unk, bos, eos, pad); -1 for each role that the model lacks.
    fn roles(&self) -> (i64, i64, i64, i64) {
        let id = |role: Option<u32>| role.map_or(-1, i64::from);
        (self.pieces.unk().into(), id(self.bos), id(self.eos), id(self.pad))
    }

    /// Normalizes a text, or each text of a list. If offsets are requested, returns (text, starts).
    fn normalize<'py>(
        &self,
        py: Python<'py>,
        input: &Bound<'py, PyAny>,
        with_offsets: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        match self.tok().normalizers() {
            [only] => normalizer::normalize(py, only, input, with_offsets),
            _ => Err(PyRuntimeError::new_err("the model has no normalizer")),
        }
    }
}

impl PieceModel {
    fn tok(&self) -> &Tokenizer {
        &self.tok
    }

    /// Returns the number of pieces.
    fn len(&self) -> usize {
        self.tok().vocab().len()
    }

    /// Returns the piece of an id. Each call returns the same object.
    fn string<'py>(&self, py: Python<'py>, id: u32) -> Bound<'py, PyString> {
        let all = made_once(&self.strings, || (0..self.len()).map(|_| OnceLock::new()).collect());
        let make = || PyString::new(py, &String::from_utf8_lossy(self.tok().vocab().content(id))).unbind();
        match all.get(id as usize) {
            Some(string) => made_once(string, make).bind(py).clone(),
            None => make().into_bound(py),
        }
    }
}
