//! `learn_unigram`: counts → the vocabulary of a Unigram model.

use jeton_core::train::assemble;
use jeton_core::train::unigram::UnigramOptions;
use pyo3::prelude::*;

use crate::counts::Counts;
use crate::error;
use crate::run::Run;
use crate::vocabulary::{reserved_entries, ReservedEntry, Vocabulary};

#[pymethods]
impl Counts {
    /// Learns pieces from normalized words. `reserved`: entries that are not learned, as (id, kind, content); pieces get the
    /// ids that these leave free, by descending score. Returns the vocabulary, and the number of characters. The progress of
    /// `run` is called with the number of remaining pieces.
    fn learn_unigram(
        &self,
        py: Python<'_>,
        options_json: &str,
        reserved: Vec<ReservedEntry>,
        run: &Run,
    ) -> PyResult<(Vocabulary, usize)> {
        let options = UnigramOptions::from_json(options_json).map_err(|failed| error::plain(py, failed))?;
        let model = run.learn_pieces(py, &self.0, &options)?;
        let numbered = py.detach(|| assemble::number(reserved_entries(reserved), model.pieces));
        Ok((Vocabulary::from_pieces(numbered), model.num_characters))
    }
}
