//! Lists the merges of one pretoken in order, each with the candidates that come next by rank. `why` explains models
//! without merges.
//!
//! Uses the encoder's linked list and heap, and an ordered set of the mergeable pairs. The result stores the merges,
//! not the sequence after each merge, so n symbols need O(n) memory and O(n log n) time. Applying the first k merges to
//! the initial symbols gives the sequence at step k.
//!
//! Plain version: `reference/step05_encode.py`.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use hashbrown::HashMap;

use super::bpe::Bpe;
use super::linked_symbols::{SymbolNode, NONE};
use super::merging::{join, Merger};
use super::pairs::Pairs;
use super::pieces::Pieces;
use super::scratch::Scratch;
use super::Model;
use crate::error::{ErrorKind, Result};
use crate::util::cancel::{CancelCheck, KeepGoing};
use crate::vocab::alphabet::EndOfWord;
use crate::vocab::{Kind, Vocab};

/// Maximum number of other candidates listed for a step. Three fit a line of a terminal.
const RIVALS: usize = 3;

/// A pair that could merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidate {
    /// Rank of the merge.
    pub rank: u32,
    /// Id of the left symbol.
    pub left: u32,
    /// Id of the right symbol.
    pub right: u32,
}

/// One merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Byte offset of the left symbol in the pretoken.
    pub at: usize,
    /// The merged pair.
    pub merged: Candidate,
    /// Id of the result.
    pub result: u32,
    /// The next candidates in order of rank, after the pair in `merged`. Each distinct pair is listed once.
    pub rivals: Vec<Candidate>,
    /// Number of positions at which a pair could merge at this step, including `at`.
    pub num_candidates: usize,
}

/// Encoding of one pretoken, step by step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Story {
    /// The initial symbols.
    pub symbols: Vec<u32>,
    /// Byte offsets of the symbols in the pretoken.
    pub starts: Vec<usize>,
    /// The merges, in order.
    pub steps: Vec<Step>,
    /// Unused pieces that were split into their parts after the last merge, in order.
    pub splits: Vec<Split>,
}

/// An unused piece that was formed by a merge and then split into its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Split {
    /// Byte offset of the piece in the pretoken.
    pub at: usize,
    /// Byte offset of the right part.
    pub middle: usize,
    /// Id of the piece.
    pub id: u32,
    /// Id of the left part.
    pub left: u32,
    /// Id of the right part.
    pub right: u32,
}

/// Mergeable pairs at one step, in order of rank, each with the number of its positions.
#[derive(Default)]
struct Candidates {
    places: BTreeMap<Candidate, usize>,
    total: usize,
}

impl Candidates {
    fn add(&mut self, candidate: Option<Candidate>) {
        if let Some(candidate) = candidate {
            *self.places.entry(candidate).or_default() += 1;
            self.total += 1;
        }
    }

    fn remove(&mut self, candidate: Option<Candidate>) {
        let Some(candidate) = candidate else { return };
        if let Some(places) = self.places.get_mut(&candidate) {
            self.total -= 1;
            *places -= 1;
            if *places == 0 {
                self.places.remove(&candidate);
            }
        }
    }

    fn rivals(&self, winner: Candidate) -> Vec<Candidate> {
        self.places.keys().filter(|&&candidate| candidate != winner).take(RIVALS).copied().collect()
    }
}

impl Bpe {
    /// Returns the merges of one pretoken. If the model looks up whole pretokens ([`Bpe::whole_first`]), the caller
    /// must first check whether the pretoken is an entry, because then no merges apply.
    ///
    /// # Errors
    /// As [`Bpe::encode`].
    pub fn explain(&self, vocab: &Vocab, pretoken: &[u8], keep_going: KeepGoing<'_>) -> Result<Story> {
        let (mut symbols, mut starts) = (Vec::new(), Vec::new());
        self.alphabet.symbols(pretoken, &mut symbols, Some(&mut starts))?;
        story(&self.merger(vocab, keep_going)?, symbols, starts, keep_going, |_, _| {}).map(|(story, _)| story)
    }
}

impl Pieces {
    /// Returns the merges of a pretoken. In the initial symbols, the unknown token replaces unknown characters. Returns
    /// None if some piece contains a character that is not a piece, because merges do not describe such a model.
    ///
    /// # Errors
    /// As [`Pieces::encode`].
    pub fn explain(&self, vocab: &Vocab, text: &[u8], keep_going: KeepGoing<'_>) -> Result<Option<Story>> {
        if self.has_odd() {
            return Ok(None);
        }
        let mut scratch = Scratch::default();
        self.symbols(vocab, text, &mut scratch)?;
        let mut halves = HashMap::new(); // unused piece -> bytes of its left part
        let seen = |result, len| {
            if vocab.kind(result) == Kind::Unused {
                halves.insert(result, len);
            }
        };
        let (mut story, last) =
            story(&self.merger(vocab, keep_going)?, scratch.symbols, scratch.starts, keep_going, seen)?;
        let mut cancel = CancelCheck::new(keep_going);
        let ends = last.iter().skip(1).map(|symbol| symbol.1).chain([text.len()]);
        let mut stack: Vec<_> = last.iter().zip(ends).map(|(&(id, start), end)| (id, start, end)).collect();
        stack.reverse(); // so that the first symbol is on top
        while let Some((id, start, end)) = stack.pop() {
            cancel.check()?;
            let Some(&len) = halves.get(&id) else { continue };
            let middle = start + len;
            let part = |start, end| (self.symbol_of(vocab, &text[start..end]), start, end);
            let (left, right) = (part(start, middle), part(middle, end));
            let ids = [left.0, right.0].map(|symbol| self.id_of(symbol));
            story.splits.push(Split { at: start, middle, id, left: ids[0], right: ids[1] });
            stack.extend([right, left]);
        }
        story.symbols.iter_mut().for_each(|symbol| *symbol = self.id_of(*symbol));
        Ok(Some(story))
    }
}

impl Model {
    /// Returns the merges of the content of an entry. Returns None if merges do not describe the model, if the model
    /// refuses the content, or if the model has an end-of-word mark or a prefix, because the content as a pretoken can
    /// then have other symbols than the entry.
    ///
    /// # Errors
    /// `Interrupted`.
    pub fn explain_entry(&self, vocab: &Vocab, id: u32, keep_going: KeepGoing<'_>) -> Result<Option<Story>> {
        let content = vocab.content(id);
        let story = match self {
            Self::Bpe(model) if model.alphabet.end == EndOfWord::None && model.alphabet.prefix().is_empty() => {
                model.explain(vocab, content, keep_going).map(Some)
            }
            Self::Pieces(model) => model.explain(vocab, content, keep_going),
            _ => Ok(None),
        };
        match story {
            Err(error) if matches!(error.kind(), ErrorKind::Text { .. }) => Ok(None),
            story => story,
        }
    }
}

/// Returns the merges, and the final symbols with their starts. Calls `seen` for each new pair that could merge, with
/// the result of the merge and the length in bytes of the left symbol.
fn story(
    merger: &Merger<'_, Pairs>,
    symbols: Vec<u32>,
    starts: Vec<usize>,
    keep_going: KeepGoing<'_>,
    mut seen: impl FnMut(u32, usize),
) -> Result<(Story, Vec<(u32, usize)>)> {
    let mut steps = Vec::new();
    let (mut nodes, mut heap, mut candidates) = (Vec::new(), BinaryHeap::new(), Candidates::default());
    if !symbols.is_empty() {
        merger.fill(&symbols, &mut nodes, &mut heap)?;
    }
    let mut offered = |nodes: &[SymbolNode], candidates: &mut Candidates, at: u32| {
        candidates.add(candidate(merger, nodes, at));
        if let Some((result, next)) = result(merger, nodes, at) {
            seen(result, starts[next as usize] - starts[at as usize]);
        }
    };
    (0..nodes.len() as u32).for_each(|at| offered(&nodes, &mut candidates, at));
    let mut cancel = CancelCheck::new(keep_going);
    while let Some(Reverse(entry)) = heap.pop() {
        cancel.check()?;
        let (rank, at) = ((entry >> 32) as u32, entry as u32);
        let Some(merge) = merger.live(&nodes, rank, at) else { continue };
        let Some(merged) = candidate(merger, &nodes, at) else { continue };
        steps.push(Step {
            at: starts[at as usize],
            merged,
            result: merge.result,
            rivals: candidates.rivals(merged),
            num_candidates: candidates.total,
        });
        let SymbolNode { prev, next, .. } = nodes[at as usize];
        [prev, at, next].iter().for_each(|&place| candidates.remove(candidate(merger, &nodes, place)));
        let before = join(&mut nodes, at, merge.result);
        for place in [before, at] {
            merger.offer(&nodes, &mut heap, place);
            offered(&nodes, &mut candidates, place);
        }
    }
    let mut last = Vec::new();
    let mut at = if nodes.is_empty() { NONE } else { 0 };
    while at != NONE {
        last.push((nodes[at as usize].id, starts[at as usize]));
        at = nodes[at as usize].next;
    }
    Ok((Story { symbols, starts, steps, splits: Vec::new() }, last))
}

/// If the pair at this position can merge, returns the id of the result and the position of the right symbol.
fn result(merger: &Merger<'_, Pairs>, nodes: &[SymbolNode], place: u32) -> Option<(u32, u32)> {
    let node = nodes.get(place as usize).filter(|node| node.id != NONE)?;
    let merge = merger.get(node.id, nodes.get(node.next as usize)?.id)?;
    Some((merge.result, node.next))
}

/// Returns the pair at this position, if it can merge.
fn candidate(merger: &Merger<'_, Pairs>, nodes: &[SymbolNode], place: u32) -> Option<Candidate> {
    let node = nodes.get(place as usize)?;
    let (left, right) = (node.id, nodes.get(node.next as usize)?.id);
    let merge = merger.get(left, right)?;
    (left != NONE).then_some(Candidate { rank: merge.rank, left, right })
}
