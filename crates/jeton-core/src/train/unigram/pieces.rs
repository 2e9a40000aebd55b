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

/// Properties of a piece for a walk along the text.
#[derive(Debug, Clone, Copy)]
pub(super) struct TrieNode {
    /// Its probability, or its score: the terms that the walk adds.
    pub value: f64,
    /// The longest piece that begins it.
    pub parent: u32,
    /// Its characters.
    pub length: u32,
}

/// All pieces.
#[derive(Debug, Clone)]
pub(super) struct PieceTable {
    /// place in `Segments::symbols` -> the longest piece there
    pub longest: Vec<u32>,
    /// piece -> the logarithm of its probability
    pub scores: Vec<f64>,
    /// piece -> a place where it stands, and its characters
    pub spans: Vec<(u32, u32)>,
    parents: Vec<u32>,
}

impl PieceTable {
    /// All characters and the candidates, each as probable as it is frequent and long.
    pub fn new(words: &Segments, suffixes: &Suffixes) -> Self {
        let num = words.characters.len() + suffixes.candidates.len();
        let mut weights: Vec<f64> = words.characters.iter().map(|&(_, count)| count as f64).collect();
        weights.extend(suffixes.candidates.iter().map(|candidate| candidate.score as f64));
        let sum = ln(weights.iter().sum());
        let mut pieces = Self {
            longest: words.symbols.clone(), // the id of a character is its symbol
            scores: weights.iter().map(|&weight| ln(weight) - sum).collect(),
            spans: vec![(0, 1); num],
            parents: vec![NONE; num],
        };
        for (at, &symbol) in (0..).zip(&words.symbols) {
            pieces.spans[symbol as usize].0 = at;
        }
        let mut next = suffixes.candidates.iter().zip(words.characters.len() as u32..).peekable();
        for (job, sorted) in (0..).zip(&suffixes.sorted) {
            let mut open: Vec<(u32, u32)> = Vec::new(); // candidates that hold the suffix: id, their last suffix
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

    /// Pieces.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// For walks that add up `values`, one for each piece.
    pub fn nodes(&self, values: impl Iterator<Item = f64>) -> Vec<TrieNode> {
        let shapes = self.parents.iter().zip(&self.spans);
        values.zip(shapes).map(|(value, (&parent, &(_, length)))| TrieNode { value, parent, length }).collect()
    }

    /// Drops all pieces but those for which `keep` says so.
    pub fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        let mut moved = vec![NONE; self.len()]; // old id -> its new one, or that of the longest kept piece that begins it
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

    /// The characters of a piece.
    pub fn spell(&self, words: &Segments, id: usize) -> String {
        let (at, length) = self.spans[id];
        let symbols = &words.symbols[at as usize..(at + length) as usize];
        symbols.iter().map(|&symbol| words.characters[symbol as usize].0).collect()
    }
}
