//! The pieces, and their occurrences in the text.
//!
//! All pieces that begin at a position are prefixes of one another. Each piece refers to its longest proper prefix that is
//! a piece (its parent), and each position to the longest piece that begins there, so the chain of parents yields all
//! pieces of the position: a trie without traversal, at 4 bytes for each character of text. When pieces are dropped, chains
//! skip them.
//!
//! Invariant: a parent's id is lower than its children's; ids are in the order of strings within the characters and within
//! the other pieces, so they depend on the counts only.
//!
//! Cost: linear in the text to build and to drop pieces; visiting a piece reads 16 bytes.

use super::numbers::ln;
use super::segments::Segments;
use super::suffixes::Suffixes;

/// No piece.
pub(super) const NONE: u32 = u32::MAX;

/// Properties of a piece for a pass over the text.
#[derive(Debug, Clone, Copy)]
pub(super) struct TrieNode {
    /// Probability or score, which the pass adds up.
    pub value: f64,
    /// Longest proper prefix that is a piece.
    pub parent: u32,
    /// Length in characters.
    pub length: u32,
}

/// All pieces.
#[derive(Debug, Clone)]
pub(super) struct PieceTable {
    /// position in `Segments::symbols` -> longest piece there
    pub longest: Vec<u32>,
    /// piece -> logarithm of its probability
    pub scores: Vec<f64>,
    /// piece -> (position of an occurrence, length in characters)
    pub spans: Vec<(u32, u32)>,
    parents: Vec<u32>,
}

impl PieceTable {
    /// Builds the table of all characters and candidates, with probabilities proportional to count times length.
    pub fn new(words: &Segments, suffixes: &Suffixes) -> Self {
        let num = words.characters.len() + suffixes.candidates.len();
        let mut weights: Vec<f64> = words.characters.iter().map(|&(_, count)| count as f64).collect();
        weights.extend(suffixes.candidates.iter().map(|candidate| candidate.score as f64));
        let sum = ln(weights.iter().sum());
        let mut pieces = Self {
            longest: words.symbols.clone(), // ids of characters equal their symbols
            scores: weights.iter().map(|&weight| ln(weight) - sum).collect(),
            spans: vec![(0, 1); num],
            parents: vec![NONE; num],
        };
        for (at, &symbol) in (0..).zip(&words.symbols) {
            pieces.spans[symbol as usize].0 = at;
        }
        let mut next = suffixes.candidates.iter().zip(words.characters.len() as u32..).peekable();
        for (job, sorted) in (0..).zip(&suffixes.sorted) {
            let mut open: Vec<(u32, u32)> = Vec::new(); // candidates that are prefixes of the suffix: (id, their last suffix)
            for (rank, &at) in (0..).zip(sorted) {
                while open.pop_if(|top| top.1 < rank).is_some() {}
                while let Some((candidate, id)) = next.next_if(|(it, _)| (it.job, it.first) == (job, rank)) {
                    pieces.parents[id as usize] = open.last().map_or(words.symbols[at as usize], |top| top.0);
                    pieces.spans[id as usize] = (at, candidate.length);
                    open.push((id, candidate.last));
                }
                if let Some(&(id, _)) = open.last() {
                    pieces.longest[at as usize] = id;
                }
            }
        }
        pieces
    }

    /// Returns the number of pieces.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Returns the pieces with `values`, for a pass over the text.
    pub fn nodes(&self, values: impl Iterator<Item = f64>) -> Vec<TrieNode> {
        let shapes = self.parents.iter().zip(&self.spans);
        values.zip(shapes).map(|(value, (&parent, &(_, length)))| TrieNode { value, parent, length }).collect()
    }

    /// Drops the pieces for which `keep` returns false.
    pub fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        let mut moved = vec![NONE; self.len()]; // old id -> new id, or that of its longest prefix that is kept
        let mut kept = 0;
        for old in 0..self.len() {
            let parent = match self.parents[old] {
                NONE => NONE,
                parent => moved[parent as usize],
            };
            moved[old] = parent;
            if keep(old) {
                self.parents[kept] = parent;
                self.spans[kept] = self.spans[old];
                self.scores[kept] = self.scores[old];
                moved[old] = kept as u32;
                kept += 1;
            }
        }
        self.parents.truncate(kept);
        self.spans.truncate(kept);
        self.scores.truncate(kept);
        let longest = self.longest.iter_mut().filter(|id| **id != NONE);
        longest.for_each(|id| *id = moved[*id as usize]);
    }

    /// Returns the spelling of a piece.
    pub fn spell(&self, words: &Segments, id: usize) -> String {
        let (at, length) = self.spans[id];
        let symbols = &words.symbols[at as usize..(at + length) as usize];
        symbols.iter().map(|&symbol| words.characters[symbol as usize].0).collect()
    }
}
