//! Converts explanations to tuples.

use jeton_core::model::explain::{Candidate, Split, Step, Story};
use jeton_core::model::why::{Attempts, PieceMatch, Way, Ways};
use jeton_core::tokenizer::{Explained, Why};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

type PairTuple = (u32, u32, u32); // left, right, rank
type MergeTuple = (usize, PairTuple, u32, Vec<PairTuple>, usize); // at, merged, result, rivals, candidates
type Parted = (usize, usize, u32, u32, u32); // at, start of the right part, id, left, right
pub type Merges = (Vec<u32>, Vec<usize>, Vec<MergeTuple>, Vec<Parted>); // symbols, starts, merges, splits
type EdgeTuple = (usize, usize, Option<u32>, f64); // start, end, id or None for unknown, score
type PathTuple = (Vec<EdgeTuple>, f64); // edges, sum of the scores
type LatticeTuple = (Vec<EdgeTuple>, usize, PathTuple, Vec<PathTuple>); // edges, total number, the best, the next best
type Longest = (Vec<(usize, usize, u32)>, Option<usize>, bool); // (start, end, id), stuck at, too long

/// One pretoken, with the fields of `Explained`: start, end, bytes, added, whole, alternative, ids, and the steps of
/// the model in one of three forms.
pub type Told<'py> = (
    (usize, usize),
    Bound<'py, PyBytes>,
    bool,
    bool,
    Option<usize>,
    Vec<u32>,
    Option<Merges>,
    Option<LatticeTuple>,
    Option<Longest>,
);

pub fn told(py: Python<'_>, part: Explained) -> Told<'_> {
    let (mut merged, mut chosen, mut longest) = (None, None, None);
    match part.why {
        Why::Merges(story) => merged = Some(merges(story)),
        Why::Ways(ways) => chosen = Some(lattice(ways)),
        Why::Attempts(Attempts { found, stuck_at, is_too_long }) => longest = Some((found, stuck_at, is_too_long)),
        Why::LookUp => {}
    }
    let (span, bytes) = ((part.span.start, part.span.end), PyBytes::new(py, &part.bytes));
    (span, bytes, part.added, part.whole, part.alternative, part.ids, merged, chosen, longest)
}

pub fn merges(story: Story) -> Merges {
    let pair = |c: Candidate| (c.left, c.right, c.rank);
    let step = |s: Step| (s.at, pair(s.merged), s.result, s.rivals.into_iter().map(pair).collect(), s.num_candidates);
    let parted = |s: Split| (s.at, s.middle, s.id, s.left, s.right);
    let steps = story.steps.into_iter().map(step).collect();
    (story.symbols, story.starts, steps, story.splits.into_iter().map(parted).collect())
}

fn lattice(ways: Ways) -> LatticeTuple {
    let edges = |pieces: Vec<PieceMatch>| pieces.into_iter().map(|p| (p.start, p.end, p.id, p.score)).collect();
    let path = |way: Way| (edges(way.pieces), way.score);
    (edges(ways.pieces), ways.num_pieces, path(ways.best), ways.others.into_iter().map(path).collect())
}
