//! Replay of the priority queue that SentencePiece's BPE uses to encode a pretoken. Stale entries are replayed, too.
//! `explanation/agenda.py` in the Python package implements the same replay and explains the queue. A test of the page
//! compares the results of the two implementations.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use jeton_core::tokenizer::Tokenizer;
use jeton_core::vocab::Kind;
use serde::Serialize;

/// The queue of a pretoken is replayed only if the pretoken has at most this many initial symbols.
const MOST_SYMBOLS: usize = 2_000;

#[derive(Debug, Serialize)]
pub struct Agenda {
    entries: Vec<Entry>,
    frozen: Vec<(usize, u32)>, // start and id of each user-defined piece
}

#[derive(Debug, Serialize)]
struct Entry {
    score: f64,
    position: usize,
    id: u32,
    is_stale: bool,
}

/// Entry of the queue. Entries are popped by highest score, then leftmost position, then shortest length.
#[derive(PartialEq)]
struct Offer {
    cost: f64, // negated score
    left: usize,
    end: usize,
    id: u32,
}

impl Eq for Offer {}

impl PartialOrd for Offer {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Offer {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let rest = |offer: &Self| (offer.left, offer.end, offer.id);
        self.cost
            .partial_cmp(&other.cost)
            .unwrap_or(std::cmp::Ordering::Equal)
            .then_with(|| rest(self).cmp(&rest(other)))
    }
}

/// Replays the queue of a pretoken. `merges`: the core's merges as (position, id). Returns None if the pretoken is
/// too long, or if the replay differs from `merges`.
pub fn of(tok: &Tokenizer, text: &[u8], symbols: &[u32], starts: &[usize], merges: &[(usize, u32)]) -> Option<Agenda> {
    if symbols.len() > MOST_SYMBOLS {
        return None;
    }
    let is_frozen: Vec<bool> = symbols.iter().map(|&id| tok.vocab().kind(id) == Kind::Added).collect();
    let held = starts.iter().zip(symbols).zip(&is_frozen).filter(|(_, held)| **held);
    let frozen = held.map(|((&start, &id), _)| (start, id)).collect();
    let entries = replay(tok, text, starts, &is_frozen);
    let merged = entries.iter().filter(|entry| !entry.is_stale).map(|entry| (entry.position, entry.id));
    merged.eq(merges.iter().copied()).then_some(Agenda { entries, frozen })
}

fn replay(tok: &Tokenizer, text: &[u8], starts: &[usize], is_frozen: &[bool]) -> Vec<Entry> {
    let num = starts.len();
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    let mut ends: Vec<Option<usize>> = ends.take(num).map(Some).collect(); // None if merged into the symbol on the left
    let mut before: Vec<Option<usize>> = (0..num).map(|at| at.checked_sub(1)).collect();
    let mut after: Vec<usize> = (1..=num).collect();
    let mut heap = BinaryHeap::new();
    let offer = |left: Option<usize>, after: &[usize], ends: &[Option<usize>]| {
        let left = left?;
        let right = after[left];
        if right == num || is_frozen[left] || is_frozen[right] {
            return None;
        }
        let end = ends[right]?;
        let id = tok.vocab().find(&text[starts[left]..end], false)?;
        let is_piece = matches!(tok.vocab().kind(id), Kind::Token | Kind::Unused);
        let score = tok.scores().get(id as usize).copied().unwrap_or_default();
        is_piece.then_some(Reverse(Offer { cost: -score, left, end, id }))
    };
    for left in 0..num {
        heap.extend(offer(Some(left), &after, &ends));
    }
    let mut entries = Vec::new();
    while let Some(Reverse(Offer { cost, left, end, id })) = heap.pop() {
        let right = after[left];
        let is_stale = ends[left].is_none() || right == num || ends[right] != Some(end);
        entries.push(Entry { score: 0.0 - cost, position: starts[left], id, is_stale });
        if is_stale {
            continue;
        }
        (ends[left], ends[right]) = (Some(end), None);
        after[left] = after[right];
        if after[left] < num {
            before[after[left]] = Some(left);
        }
        heap.extend(offer(before[left], &after, &ends));
        heap.extend(offer(Some(left), &after, &ends));
    }
    entries
}
