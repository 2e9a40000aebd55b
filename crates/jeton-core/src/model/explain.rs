//! The merges of one pretoken, one by one, each with what competed. Of the models that do not merge, `why` tells.
//!
//! The same list and heap as the encoder's, watched; beside them, the pairs that could merge, in order of rank. It stores
//! merges, never sequences, so n symbols need O(n) memory and O(n log n) time; the sequence at any moment is the initial symbols
//! with the merges so far played back.
//!
//! Plain version: `reference/step05_encode.py`.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::bpe::Bpe;
use super::merging::{join, Merger, Node, NONE};
use super::pairs::Pairs;
use super::pieces::Pieces;
use super::{Model, Scratch};
use crate::alphabet::EndOfWord;
use crate::error::{ErrorKind, Result};
use crate::interrupt::{GoOn, Looks};
use crate::vocab::Vocab;

/// How many competing pairs a step names. Three fit a line of a terminal.
const RIVALS: usize = 3;

/// A pair that could merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidate {
    /// Its rank.
    pub rank: u32,
    /// Left id.
    pub left: u32,
    /// Right id.
    pub right: u32,
}

/// One merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Where the left symbol begins, in bytes from the start of the pretoken.
    pub at: usize,
    /// The pair that was merged.
    pub merged: Candidate,
    /// What it became.
    pub result: u32,
    /// The next best different pairs that could have merged at that moment, best first.
    pub rivals: Vec<Candidate>,
    /// Places where some merge was possible at that moment, this one included.
    pub num_candidates: usize,
}

/// How one pretoken was encoded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Story {
    /// The initial symbols.
    pub symbols: Vec<u32>,
    /// Where each of them begins, in bytes from the start of the pretoken.
    pub starts: Vec<usize>,
    /// The merges, in order.
    pub steps: Vec<Step>,
}

/// The pairs that could merge at one moment, best first, and in how many places each.
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
    /// The story of one pretoken by its merges. A model that takes whole pretokens first skips it; the caller asks
    /// [`Bpe::whole_first`] to say so.
    ///
    /// # Errors
    /// As [`Bpe::encode`].
    pub fn explain(&self, vocab: &Vocab, pretoken: &[u8], go_on: GoOn<'_>) -> Result<Story> {
        let (mut symbols, mut starts) = (Vec::new(), Vec::new());
        self.alphabet.symbols(pretoken, &mut symbols, Some(&mut starts))?;
        story(&self.merger(vocab, go_on)?, symbols, starts, go_on)
    }
}

impl Pieces {
    /// The story of a pretoken by its merges; unknown characters are the unknown token until the end. None where the model does not
    /// simply merge: where it has unused pieces, or pieces of characters that are none.
    ///
    /// # Errors
    /// As [`Pieces::encode`].
    pub fn explain(&self, vocab: &Vocab, text: &[u8], go_on: GoOn<'_>) -> Result<Option<Story>> {
        if !self.only_merges() {
            return Ok(None);
        }
        let mut scratch = Scratch::default();
        self.symbols(vocab, text, &mut scratch)?;
        let mut story = story(&self.merger(vocab, go_on)?, scratch.symbols, scratch.starts, go_on)?;
        story.symbols.iter_mut().for_each(|symbol| *symbol = self.id_of(*symbol));
        Ok(Some(story))
    }
}

impl Model {
    /// How the content of an entry becomes tokens by itself. None where the model does not merge, and where it would see more than the
    /// content (an end-of-word mark) or less (a prefix), or refuses it.
    ///
    /// # Errors
    /// `Interrupted`.
    pub fn explain_entry(&self, vocab: &Vocab, id: u32, go_on: GoOn<'_>) -> Result<Option<Story>> {
        let content = vocab.content(id);
        let story = match self {
            Self::Bpe(model) if model.alphabet.end == EndOfWord::None && model.alphabet.prefix().is_empty() => {
                model.explain(vocab, content, go_on).map(Some)
            }
            Self::Pieces(model) => model.explain(vocab, content, go_on),
            _ => Ok(None),
        };
        match story {
            Err(error) if matches!(error.kind(), ErrorKind::Text { .. }) => Ok(None),
            story => story,
        }
    }
}

fn story(merger: &Merger<'_, Pairs>, symbols: Vec<u32>, starts: Vec<usize>, go_on: GoOn<'_>) -> Result<Story> {
    let mut steps = Vec::new();
    if symbols.is_empty() {
        return Ok(Story { symbols, starts, steps });
    }
    let (mut nodes, mut heap, mut candidates) = (Vec::new(), BinaryHeap::new(), Candidates::default());
    merger.fill(&symbols, &mut nodes, &mut heap)?;
    (0..nodes.len() as u32).for_each(|at| candidates.add(candidate(merger, &nodes, at)));
    let mut looks = Looks::new(go_on);
    while let Some(Reverse(entry)) = heap.pop() {
        looks.now_and_then()?;
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
        let Node { prev, next, .. } = nodes[at as usize];
        [prev, at, next].iter().for_each(|&place| candidates.remove(candidate(merger, &nodes, place)));
        let before = join(&mut nodes, at, merge.result);
        for place in [before, at] {
            merger.offer(&nodes, &mut heap, place);
            candidates.add(candidate(merger, &nodes, place));
        }
    }
    Ok(Story { symbols, starts, steps })
}

/// The pair that starts at this place, if it can merge.
fn candidate(merger: &Merger<'_, Pairs>, nodes: &[Node], place: u32) -> Option<Candidate> {
    let node = nodes.get(place as usize)?;
    let (left, right) = (node.id, nodes.get(node.next as usize)?.id);
    let merge = merger.get(left, right)?;
    (left != NONE).then_some(Candidate { rank: merge.rank, left, right })
}
