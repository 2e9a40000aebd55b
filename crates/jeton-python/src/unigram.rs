//! `learn_unigram`: counts → the vocabulary of a Unigram model.

use jeton_core::train::unigram::{self, Limits, Options};
use jeton_core::vocab::Kind;
use pyo3::prelude::*;

use crate::counts::Counts;
use crate::error;
use crate::vocabulary::Vocabulary;
use crate::watch::Watch;

/// Learns pieces from normalized words. `others` are the entries that are not learned: id, kind, content; pieces take the ids that they
/// leave free, best score first. Returns the vocabulary, and how many characters, pieces to begin with and prunings there were.
#[pyfunction]
#[pyo3(signature = (counts, *, vocab_size, others, character_coverage, seed_size, num_sub_iterations, shrinking_factor, max_piece_length, split_by_script, split_by_number, split_digits, whole_words, threads, progress))]
#[allow(clippy::too_many_arguments)]
pub fn learn_unigram(
    py: Python<'_>,
    counts: &Counts,
    vocab_size: usize,
    others: Vec<(u32, u8, Vec<u8>)>,
    character_coverage: f64,
    seed_size: usize,
    num_sub_iterations: usize,
    shrinking_factor: f64,
    max_piece_length: usize,
    split_by_script: bool,
    split_by_number: bool,
    split_digits: bool,
    whole_words: bool,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Vocabulary, usize, usize, usize)> {
    let wrong = || error::ConfigError::new_err("kinds are 0 to 6");
    let others = others.into_iter().map(|(id, kind, content)| Some((id, Kind::from_u8(kind)?, content)));
    let others: Vec<_> = others.collect::<Option<_>>().ok_or_else(wrong)?;
    let limits = Limits { max_piece_length, split_by_script, split_by_number, split_digits };
    let num_others = others.len();
    let options =
        Options { vocab_size, num_others, character_coverage, seed_size, num_sub_iterations, shrinking_factor, limits };
    let mut watch = Watch::new(progress);
    let learned = py.detach(|| unigram::learn(&counts.0, &options, threads, &mut |left| watch.go_on(left)));
    let model = watch.finish(learned, |failed| error::plain(py, failed))?;
    let facts = (model.num_characters, model.num_seeds, model.num_rounds);
    Ok((spell(others, model), facts.0, facts.1, facts.2))
}

/// The entries: pieces where the others leave room.
fn spell(others: Vec<(u32, Kind, Vec<u8>)>, model: unigram::Model) -> Vocabulary {
    let taken: std::collections::HashSet<u32> = others.iter().map(|other| other.0).collect();
    let mut vocabulary = Vocabulary { entries: others, ..Vocabulary::default() };
    let free = (0..).filter(|id| !taken.contains(id));
    for (id, (piece, score)) in free.zip(model.pieces) {
        vocabulary.entries.push((id, Kind::Token, piece.into_bytes()));
        vocabulary.extras.scores.resize(id as usize, 0.0);
        vocabulary.extras.scores.push(score);
    }
    let num = vocabulary.entries.iter().map(|entry| entry.0 as usize + 1).max().unwrap_or(0);
    vocabulary.extras.scores.resize(num, 0.0);
    vocabulary
}
