//! `learn_unigram`: counts → the vocabulary of a Unigram model.

use std::collections::HashSet;

use jeton_core::train::unigram::{self, UnigramOptions, UnigramResult};
use jeton_core::vocab::Kind;
use pyo3::prelude::*;

use crate::counts::Counts;
use crate::error;
use crate::signals::SignalCheck;
use crate::vocabulary::Vocabulary;

/// Learns pieces from normalized words. `reserved` are the entries that are not learned: id, kind, content; pieces take
/// the ids that they leave, best score first. Returns the vocabulary, and how many characters there were. `progress`
/// gets the number of pieces that are left.
#[pyfunction]
#[pyo3(signature = (counts, options_json, reserved, *, threads, progress))]
pub fn learn_unigram(
    py: Python<'_>,
    counts: &Counts,
    options_json: &str,
    reserved: Vec<(u32, u8, String)>,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Vocabulary, usize)> {
    let options = UnigramOptions::from_json(options_json).map_err(|failed| error::plain(py, failed))?;
    let mut watch = SignalCheck::new(progress);
    let learned = py.detach(|| unigram::learn(&counts.0, &options, threads, &mut |left| watch.keep_going(left)));
    let model = watch.finish(learned, |failed| error::plain(py, failed))?;
    let num_characters = model.num_characters;
    Ok((numbered(model, reserved), num_characters))
}

/// Pieces at their ids, with their scores.
fn numbered(model: UnigramResult, reserved: Vec<(u32, u8, String)>) -> Vocabulary {
    let taken: HashSet<u32> = reserved.iter().map(|entry| entry.0).collect();
    let free = (0..).filter(|id| !taken.contains(id));
    let mut vocabulary = Vocabulary::default();
    for (id, kind, content) in reserved {
        vocabulary.entries.push(id, Kind::from_u8(kind).unwrap_or(Kind::Special), content.as_bytes());
    }
    let mut scores = Vec::with_capacity(model.pieces.len());
    for (id, (piece, score)) in free.zip(model.pieces) {
        vocabulary.entries.push(id, Kind::Token, piece.as_bytes());
        scores.push((id, score));
    }
    vocabulary.extras.scores = vec![0.0; vocabulary.entries.next_id() as usize];
    for (id, score) in scores {
        vocabulary.extras.scores[id as usize] = score;
    }
    vocabulary
}
