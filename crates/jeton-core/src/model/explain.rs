//! The merges of one pretoken, one by one, each with what competed.
//!
//! The same list and heap as the encoder's, watched. It stores merges, never sequences, so n symbols need O(n) memory; the
//! sequence at any moment is the initial symbols with the merges so far played back.
//!
//! Plain version: `reference/step05_encode.py`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::bpe::{join, Bpe, Node, NONE};
use crate::alphabet::for_each_symbol;
use crate::error::Result;

/// How many competing pairs a step names. Three fit a line of a terminal.
const RIVALS: usize = 3;

/// A pair that could merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// Left id.
    pub left: u32,
    /// Right id.
    pub right: u32,
    /// Its rank.
    pub rank: u32,
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Story {
    /// The initial symbols.
    pub symbols: Vec<u32>,
    /// The merges, in order.
    pub steps: Vec<Step>,
}

impl Bpe {
    /// The story of one pretoken by its merges. A model that takes whole pretokens first skips it; the caller asks
    /// [`Bpe::whole_first`] to say so.
    ///
    /// # Errors
    /// As [`Bpe::encode`].
    pub fn explain(&self, pretoken: &[u8]) -> Result<Story> {
        let mut symbols = Vec::new();
        self.alphabet.symbols(pretoken, &mut symbols)?;
        let mut starts = Vec::with_capacity(symbols.len());
        for_each_symbol(pretoken, self.alphabet.level, self.alphabet.end, |_, at| {
            starts.push(at);
            Ok(())
        })?;
        let mut steps = Vec::new();
        if symbols.is_empty() {
            return Ok(Story { symbols, steps });
        }
        let (mut nodes, mut heap) = (Vec::new(), BinaryHeap::new());
        self.fill(&symbols, &mut nodes, &mut heap);
        let mut num_candidates = heap.len();
        while let Some(Reverse(entry)) = heap.pop() {
            let (rank, at) = ((entry >> 32) as u32, entry as u32);
            let Some(merge) = self.live(&nodes, rank, at) else { continue };
            let merged = self.candidate(&nodes, rank, at);
            let rivals = self.rivals(&nodes, &mut heap, merged);
            steps.push(Step { at: starts[at as usize], merged, result: merge.result, rivals, num_candidates });
            let around = [nodes[at as usize].prev, at, nodes[at as usize].next];
            num_candidates -= around.iter().filter(|&&place| self.has_merge(&nodes, place)).count();
            let before = join(&mut nodes, at, merge.result);
            for place in [before, at] {
                self.offer(&nodes, &mut heap, place);
                num_candidates += usize::from(self.has_merge(&nodes, place));
            }
        }
        Ok(Story { symbols, steps })
    }

    fn candidate(&self, nodes: &[Node], rank: u32, at: u32) -> Candidate {
        let node = nodes[at as usize];
        let right = nodes.get(node.next as usize).map_or(NONE, |next| next.id);
        Candidate { left: node.id, right, rank }
    }

    /// The best live entries of the heap that are other pairs than `winner`; the heap keeps what it had.
    ///
    /// A long run of one pair would be read again at each step, so at most a few entries are looked at.
    fn rivals(&self, nodes: &[Node], heap: &mut BinaryHeap<Reverse<u64>>, winner: Candidate) -> Vec<Candidate> {
        const LOOK_AT: usize = 32;
        let (mut rivals, mut seen) = (Vec::new(), Vec::new());
        while rivals.len() < RIVALS && seen.len() < LOOK_AT {
            let Some(Reverse(entry)) = heap.pop() else { break };
            let (rank, at) = ((entry >> 32) as u32, entry as u32);
            if self.live(nodes, rank, at).is_none() {
                continue;
            }
            seen.push(Reverse(entry));
            let candidate = self.candidate(nodes, rank, at);
            if candidate != winner && !rivals.contains(&candidate) {
                rivals.push(candidate);
            }
        }
        heap.extend(seen);
        rivals
    }

    fn has_merge(&self, nodes: &[Node], place: u32) -> bool {
        let next = |node: &Node| nodes.get(node.next as usize).copied();
        let pair = nodes.get(place as usize).and_then(|node| Some((node.id, next(node)?.id)));
        pair.is_some_and(|(left, right)| self.merge(left, right).is_some())
    }
}
