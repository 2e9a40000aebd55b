//! Training as in other libraries, for `training/presets/`.

use jeton_core::error::Error;
use jeton_core::normalize::{compile, nfkc_rules};
use jeton_core::train::merge::LearnedMerge;
use jeton_core::train::unigram::UnigramOptions;
use jeton_core::train::{assemble, hf, sentencepiece, sentencepiece_words, sequences};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::counts::{read_end, read_level, Counts};
use crate::error;
use crate::run::Run;
use crate::vocabulary::{reserved_entries, ReservedEntry, Vocabulary};

/// Compiles a character map for SentencePiece. The map has the built-in rules called `name` (none if `name` is None)
/// and the rules in `rules`. If a built-in rule has the same source as a rule in `rules`, the rule in `rules` is
/// used.
#[pyfunction]
#[pyo3(signature = (name, rules))]
pub fn character_map<'py>(
    py: Python<'py>,
    name: Option<&str>,
    rules: Vec<(String, String)>,
) -> PyResult<Bound<'py, PyBytes>> {
    let build = || {
        let mut all = match name {
            Some(name) => {
                nfkc_rules::named(name).ok_or_else(|| Error::config(format!("there are no rules named {name:?}")))?
            }
            None => compile::Rules::new(),
        };
        all.extend(rules);
        compile::compile(&all)
    };
    let blob = py.detach(build).map_err(|failed| error::plain(py, failed))?;
    Ok(PyBytes::new(py, &blob))
}

/// Returns the rules of a character map, as pairs (source, replacement) in ascending order of the source.
#[pyfunction]
pub fn character_rules(py: Python<'_>, map: &[u8]) -> PyResult<Vec<(String, String)>> {
    let rules = py.detach(|| compile::decompile(map)).map_err(|failed| error::plain(py, failed))?;
    Ok(rules.into_iter().collect())
}

/// The vocabulary, the size of the alphabet, merges, and the columns of the training log: pair counts, corpus tokens,
/// tokens in use.
type LearnedPreset = (Vocabulary, usize, Vec<(u32, u32, u32)>, (Vec<u64>, Vec<u64>, Vec<u32>));

fn learned(vocabulary: Vocabulary, num_symbols: usize, merges: &[LearnedMerge]) -> LearnedPreset {
    let columns = (
        merges.iter().map(|merge| merge.count).collect(),
        merges.iter().map(|merge| merge.corpus_tokens).collect(),
        merges.iter().map(|merge| merge.tokens_in_use).collect(),
    );
    (vocabulary, num_symbols, assemble::triples(merges), columns)
}

#[pymethods]
impl Counts {
    /// Learns as Hugging Face's trainers do. `keeps_merges`: true if the vocabulary includes merges (BPE), false if it
    /// has only entries (WordPiece).
    fn learn_hf(&self, py: Python<'_>, options_json: &str, keeps_merges: bool, run: &Run) -> PyResult<LearnedPreset> {
        let asked = hf::HfOptions::from_json(options_json).map_err(|failed| error::plain(py, failed))?;
        let found = run.learn(py, |watch| hf::learn(&self.0, &asked, &run.options(), watch))?;
        let hf::HfResult { entries, num_symbols, merges } = found;
        let mut vocabulary = Vocabulary { entries: entries.into_iter().collect(), ..Vocabulary::default() };
        if keeps_merges {
            vocabulary.extras.merges = assemble::triples(&merges);
        }
        Ok(learned(vocabulary, num_symbols, &merges))
    }

    /// Learns as SentencePiece's BPE trainer does. Pieces are sorted by descending score and get ascending ids. The ids
    /// of the `reserved` entries are skipped.
    fn learn_sentencepiece(
        &self,
        py: Python<'_>,
        options_json: &str,
        reserved: Vec<ReservedEntry>,
        run: &Run,
    ) -> PyResult<LearnedPreset> {
        let asked =
            sentencepiece::SentencePieceOptions::from_json(options_json).map_err(|failed| error::plain(py, failed))?;
        let found = run.learn(py, |watch| sentencepiece::learn(&self.0, &asked, &run.options(), watch))?;
        py.detach(|| {
            let ranked = found.pieces.into_iter().enumerate().map(|(rank, piece)| (piece, -(rank as f64)));
            let numbered = assemble::number(reserved_entries(reserved), ranked);
            let mut merges = found.merges;
            for merge in &mut merges {
                let id = |place: u32| numbered.ids[place as usize];
                (merge.left, merge.right, merge.result) = (id(merge.left), id(merge.right), id(merge.result));
            }
            Ok(learned(Vocabulary::from_pieces(numbered), found.num_chars, &merges))
        })
    }

    /// Learns the pieces of SentencePiece's word or character model.
    fn learn_sentencepiece_words(
        &self,
        py: Python<'_>,
        options_json: &str,
        reserved: Vec<ReservedEntry>,
    ) -> PyResult<Vocabulary> {
        let learn = || {
            let options = sentencepiece_words::WordOptions::from_json(options_json)?;
            let pieces = sentencepiece_words::learn(&self.0, &options)?;
            Ok(Vocabulary::from_pieces(assemble::number(reserved_entries(reserved), pieces)))
        };
        py.detach(learn).map_err(|failed| error::plain(py, failed))
    }

    /// Learns pieces from normalized words. `reserved`: entries that are not learned, as (id, kind, content). Pieces
    /// are sorted by descending score and get ascending ids; the ids of the `reserved` entries are skipped. Returns the
    /// vocabulary and the size of its alphabet: the number of characters that must be pieces. The progress callback of
    /// `run` gets the number of remaining pieces.
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

    /// Returns the number of distinct initial symbols in the counted pretokens.
    fn alphabet_size(&self, py: Python<'_>, level: &str, end_of_word_style: Option<&str>) -> PyResult<usize> {
        let (level, end) = (read_level(level)?, read_end(end_of_word_style)?);
        let symbols = py.detach(|| sequences::symbols(&self.0, level, end));
        Ok(symbols.map_err(|failed| error::plain(py, failed))?.symbols.len())
    }
}
