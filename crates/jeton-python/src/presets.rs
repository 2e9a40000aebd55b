//! Training by the rules of peer libraries, for `training/presets/`.

use jeton_core::error::Error;
use jeton_core::normalize::{compile, nfkc_rules};
use jeton_core::train::merge::LearnedMerge;
use jeton_core::train::{hf, sentencepiece, sequences};
use jeton_core::vocab::Kind;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::counts::{read_end, read_level, Counts};
use crate::error;
use crate::run::Run;
use crate::vocabulary::Vocabulary;

/// SentencePiece's character map: the rules of a name, if one is given, and others, which win.
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

/// The vocabulary, the size of the alphabet, merges, and the columns of the training log: pair counts, corpus tokens,
/// tokens in use.
type LearnedPreset = (Vocabulary, usize, Vec<(u32, u32, u32)>, (Vec<u64>, Vec<u64>, Vec<u32>));

fn learned(vocabulary: Vocabulary, num_symbols: usize, merges: &[LearnedMerge]) -> LearnedPreset {
    let pairs = merges.iter().map(|merge| (merge.left, merge.right, merge.result)).collect();
    let columns = (
        merges.iter().map(|merge| merge.count).collect(),
        merges.iter().map(|merge| merge.corpus_tokens).collect(),
        merges.iter().map(|merge| merge.tokens_in_use).collect(),
    );
    (vocabulary, num_symbols, pairs, columns)
}

/// Learns as Hugging Face's trainers do. `keeps_merges`: the vocabulary has them (BPE), or entries alone (WordPiece).
#[pyfunction]
pub fn learn_hf(
    py: Python<'_>,
    counts: &Counts,
    options_json: &str,
    keeps_merges: bool,
    run: &Run,
) -> PyResult<LearnedPreset> {
    let asked = hf::HfOptions::from_json(options_json).map_err(|failed| error::plain(py, failed))?;
    let found = run.learn(py, |watch| hf::learn(&counts.0, &asked, &run.options(), watch))?;
    let hf::HfResult { entries, num_symbols, merges } = found;
    let mut vocabulary = Vocabulary { entries: entries.into_iter().collect(), ..Vocabulary::default() };
    if keeps_merges {
        vocabulary.extras.merges = merges.iter().map(|merge| (merge.left, merge.right, merge.result)).collect();
    }
    Ok(learned(vocabulary, num_symbols, &merges))
}

/// (id, kind, content) of a piece that is not learned.
type Reserved = (u32, u8, String);

/// Learns as SentencePiece's BPE trainer does. Pieces take the ids that `reserved` leaves, the best score the lowest.
#[pyfunction]
pub fn learn_sentencepiece(
    py: Python<'_>,
    counts: &Counts,
    options_json: &str,
    reserved: Vec<Reserved>,
    run: &Run,
) -> PyResult<LearnedPreset> {
    let asked =
        sentencepiece::SentencePieceOptions::from_json(options_json).map_err(|failed| error::plain(py, failed))?;
    let found = run.learn(py, |watch| sentencepiece::learn(&counts.0, &asked, &run.options(), watch))?;
    py.detach(|| Ok(numbered(found, reserved)))
}

/// Pieces at their ids, with their scores.
fn numbered(found: sentencepiece::SentencePieceResult, reserved: Vec<Reserved>) -> LearnedPreset {
    let taken: std::collections::HashSet<u32> = reserved.iter().map(|entry| entry.0).collect();
    let num_pieces = found.pieces.len();
    let ids: Vec<u32> = (0..).filter(|id| !taken.contains(id)).take(num_pieces).collect();
    let mut vocabulary = Vocabulary::default();
    let highest = taken.iter().chain(&ids).max().map_or(0, |&id| id as usize + 1);
    vocabulary.extras.scores = vec![0.0; highest];
    for (id, kind, content) in reserved {
        vocabulary.entries.push(id, Kind::from_u8(kind).unwrap_or(Kind::Special), content.as_bytes());
    }
    for (place, (&id, piece)) in ids.iter().zip(found.pieces).enumerate() {
        vocabulary.extras.scores[id as usize] = -(place as f64);
        vocabulary.entries.push(id, Kind::Token, piece.as_bytes());
    }
    let mut merges = found.merges;
    for merge in &mut merges {
        let [left, right, result] = [merge.left, merge.right, merge.result].map(|place| ids[place as usize]);
        (merge.left, merge.right, merge.result) = (left, right, result);
    }
    learned(vocabulary, found.num_chars, &merges)
}

/// Returns the number of initial symbols of the counts.
#[pyfunction]
pub fn alphabet_size(py: Python<'_>, counts: &Counts, level: &str, end_of_word_style: Option<&str>) -> PyResult<usize> {
    let (level, end) = (read_level(level)?, read_end(end_of_word_style)?);
    let symbols = py.detach(|| sequences::symbols(&counts.0, level, end, sequences::Order::Natural, 0));
    Ok(symbols.map_err(|failed| error::plain(py, failed))?.symbols.len())
}
