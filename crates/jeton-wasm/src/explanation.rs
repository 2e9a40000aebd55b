//! Steps of a model as JSON. The form is that of the pretokens in Python's `Explanation.to_json`.

use jeton_core::error::Result;
use jeton_core::model::explain::{Candidate, Split, Step, Story};
use jeton_core::model::why::{Attempts, PieceMatch, Way};
use jeton_core::tokenizer::{Explained, Permit, Tokenizer, Why};
use serde::Serialize;

use crate::agenda::{self, Agenda};
use crate::engine::Facts;

#[derive(Debug, Serialize)]
pub struct Explanation {
    pattern: Vec<String>,
    pretokens: Vec<Pretoken>,
}

#[derive(Debug, Serialize)]
struct Pretoken {
    text: String,
    hex: String,
    byte_span: (usize, usize),
    special: bool,
    whole: bool,
    part: Option<usize>,
    start_ids: Vec<u32>,
    merges: Vec<Merge>,
    ids: Vec<u32>,
    by_merges: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    splits: Vec<Parted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agenda: Option<Agenda>,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_lengths: Option<Vec<usize>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lattice: Option<Lattice>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempts: Option<Matches>,
}

#[derive(Debug, Serialize)]
struct Merge {
    left: u32,
    right: u32,
    rank: u32,
    result: u32,
    position: usize,
    rivals: Vec<(u32, u32, u32)>, // merges that were possible: left, right, rank
    num_rivals: usize,
}

#[derive(Debug, Serialize)]
struct Parted {
    position: usize,
    middle: usize,
    id: u32,
    left: u32,
    right: u32,
}

type Edge = (usize, usize, Option<u32>, f64); // start, end, id, score

#[derive(Debug, Serialize)]
struct Lattice {
    edges: Vec<Edge>,
    num_edges: usize,
    best: Path,
    others: Vec<Path>,
}

#[derive(Debug, Serialize)]
struct Path {
    edges: Vec<Edge>,
    score: f64,
}

#[derive(Debug, Serialize)]
struct Matches {
    found: Vec<(usize, usize, u32)>,
    stuck_at: Option<usize>,
    is_too_long: bool,
}

/// Merges that form an entry from its own bytes, for drawing its tree.
#[derive(Debug, Serialize)]
pub struct EntrySteps {
    start_ids: Vec<u32>,
    start_lengths: Option<Vec<usize>>,
    merges: Vec<Merge>,
    splits: Vec<Parted>,
}

/// Returns all steps of encoding a text.
///
/// # Errors
/// As [`Tokenizer::encode`].
pub fn explain(tok: &Tokenizer, facts: &Facts, text: &[u8], permit: &Permit<'_>) -> Result<Explanation> {
    let found = tok.explain(text, permit, usize::MAX, &|| true)?;
    let pretokens = found.parts.into_iter().map(|part| pretoken(tok, facts, part)).collect();
    Ok(Explanation { pattern: tok.alternatives(), pretokens })
}

/// Returns the merges that form an entry from its own bytes; None if no merges form it.
///
/// # Errors
/// As [`Tokenizer::explain_entry`].
pub fn entry(tok: &Tokenizer, facts: &Facts, id: u32, len: usize) -> Result<Option<EntrySteps>> {
    let steps = tok.explain_entry(id, &|| true)?.map(|story| {
        let start_lengths = facts.by_chars.then(|| lengths(&story.starts, len));
        let Story { symbols, steps, splits, .. } = story;
        EntrySteps { start_ids: symbols, start_lengths, merges: merges(steps), splits: parted(splits) }
    });
    Ok(steps)
}

fn pretoken(tok: &Tokenizer, facts: &Facts, part: Explained) -> Pretoken {
    let Explained { span, bytes, added, whole, alternative, why, ids } = part;
    let mut made = Pretoken {
        text: String::from_utf8_lossy(&bytes).into_owned(),
        hex: hex(&bytes),
        byte_span: (span.start, span.end),
        special: added,
        whole,
        part: alternative,
        start_ids: ids.clone(),
        merges: Vec::new(),
        by_merges: added || whole,
        ids,
        splits: Vec::new(),
        agenda: None,
        start_lengths: None,
        lattice: None,
        attempts: None,
    };
    match why {
        Why::Merges(story) => {
            if facts.by_chars {
                made.start_lengths = Some(lengths(&story.starts, bytes.len()));
                if facts.kind == "Pieces" {
                    let merged: Vec<_> = story.steps.iter().map(|step| (step.at, step.result)).collect();
                    made.agenda = agenda::of(tok, &bytes, &story.symbols, &story.starts, &merged);
                }
            }
            let Story { symbols, steps, splits, .. } = story;
            (made.start_ids, made.merges, made.splits) = (symbols, merges(steps), parted(splits));
            made.by_merges = true;
        }
        Why::Ways(ways) => {
            made.lattice = Some(Lattice {
                edges: edges(ways.pieces),
                num_edges: ways.num_pieces,
                best: path(ways.best),
                others: ways.others.into_iter().map(path).collect(),
            });
        }
        Why::Attempts(Attempts { found, stuck_at, is_too_long }) => {
            made.attempts = Some(Matches { found, stuck_at, is_too_long });
        }
        Why::LookUp => {}
    }
    made
}

fn merges(steps: Vec<Step>) -> Vec<Merge> {
    let rival = |candidate: Candidate| (candidate.left, candidate.right, candidate.rank);
    let merge = |Step { at, merged, result, rivals, num_candidates }: Step| Merge {
        left: merged.left,
        right: merged.right,
        rank: merged.rank,
        result,
        position: at,
        rivals: rivals.into_iter().map(rival).collect(),
        num_rivals: num_candidates - 1,
    };
    steps.into_iter().map(merge).collect()
}

fn parted(splits: Vec<Split>) -> Vec<Parted> {
    let parted = |Split { at, middle, id, left, right }: Split| Parted { position: at, middle, id, left, right };
    splits.into_iter().map(parted).collect()
}

fn lengths(starts: &[usize], len: usize) -> Vec<usize> {
    let ends = starts.iter().skip(1).copied().chain([len]);
    starts.iter().zip(ends).map(|(start, end)| end - start).collect()
}

fn edges(pieces: Vec<PieceMatch>) -> Vec<Edge> {
    pieces.into_iter().map(|piece| (piece.start, piece.end, piece.id, piece.score)).collect()
}

fn path(way: Way) -> Path {
    Path { edges: edges(way.pieces), score: way.score }
}

/// Returns bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |number: u8| char::from(DIGITS[usize::from(number)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
