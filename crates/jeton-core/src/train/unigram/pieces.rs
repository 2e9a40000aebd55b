//! The pieces and their occurrences in the text.
//!
//! All pieces that begin at a position are prefixes of one another. Each piece refers to its longest proper prefix that
//! is a piece (its parent), and each position to the longest piece that begins there. So the chain of parents yields
//! all pieces at the position. This replaces the traversal of a trie and takes 4 bytes for each character of text. When
//! pieces are dropped, the chains skip them.
//!
//! Invariant: a parent's id is lower than its children's. The first ids are those of single characters, in the order of
//! code points. The ids of longer pieces follow, in lexicographic order. So the ids depend only on the counts.
//!
//! Each piece also has the number of its seed, from which [`PieceTable::restore`] rebuilds the pieces of an earlier
//! run.
//!
//! Cost: building and dropping pieces is linear in the text; visiting a piece reads 16 bytes. Memory: 4 bytes for each
//! character of text and 24 for each piece; both spill to files beyond the memory limit. Vectors in files are written
//! in the order of positions, because writing pages in random order costs a page fault for each of them.

use super::numbers::ln;
use super::segments::Segments;
use super::suffixes::Suffixes;
use crate::error::{Error, Result};
use crate::util::spill::{MemoryLimit, PageCheck, SpillVec};

/// Id that means "no piece".
pub(super) const NONE: u32 = u32::MAX;

/// Data of a piece that a pass over the text reads when it visits the piece.
#[derive(Debug, Clone, Copy)]
pub(super) struct TrieNode {
    /// Probability or score of the piece, whichever the pass needs.
    pub value: f64,
    /// Longest proper prefix that is a piece.
    pub parent: u32,
    /// Length of the piece in characters.
    pub length: u32,
}

/// Number of occurrences that are sorted by position before they are written as a batch.
const WRITTEN_AT_ONCE: usize = 1 << 18;

/// Table of all pieces, and the longest piece at each position of the text.
#[derive(Debug)]
pub(super) struct PieceTable {
    /// position in `Segments::symbols` -> longest piece there
    pub longest: SpillVec<u32>,
    /// piece -> logarithm of its probability
    pub scores: SpillVec<f64>,
    /// piece -> (position of an occurrence, length in characters)
    pub spans: SpillVec<(u32, u32)>,
    /// piece -> its seed number, which is its id before any piece was dropped; the numbers ascend
    pub seeds: SpillVec<u32>,
    parents: SpillVec<u32>,
    /// Memory limit of vectors that are accessed at random.
    pub memory: MemoryLimit,
    /// Memory limit of vectors that are accessed in order.
    pub stored: MemoryLimit,
}

impl PieceTable {
    /// Builds the table of all characters and candidates, with initial probabilities proportional to count times
    /// length. `stored` is for vectors that are accessed in order, `memory` for all others.
    ///
    /// # Errors
    /// I/O errors of spill files.
    pub fn new(words: &Segments, suffixes: &Suffixes, memory: &MemoryLimit, stored: &MemoryLimit) -> Result<Self> {
        let num_characters = words.characters.len();
        let num = num_characters + suffixes.candidates.len();
        let weights = || {
            let characters = words.characters.iter().map(|&(_, count)| count as f64);
            characters.chain(suffixes.candidates.iter().map(|candidate| candidate.score as f64))
        };
        let sum = ln(weights().sum());
        let mut pieces = Self {
            longest: words.symbols.copy(stored)?, // ids of characters equal their symbols
            scores: SpillVec::new(stored),
            spans: SpillVec::filled((0, 1), num, stored)?,
            seeds: SpillVec::new(stored),
            parents: SpillVec::filled(NONE, num, stored)?,
            memory: memory.clone(),
            stored: stored.clone(),
        };
        pieces.scores.reserve(num)?;
        weights().try_for_each(|weight| pieces.scores.push(ln(weight) - sum))?;
        pieces.seeds.extend((0..num).map(|id| id as u32))?;
        for (at, &symbol) in (0..).zip(&*words.symbols) {
            pieces.spans[symbol as usize].0 = at;
        }
        let mut next = suffixes.candidates.iter().zip(num_characters as u32..).peekable();
        let at_once = if pieces.longest.is_in_file() { WRITTEN_AT_ONCE } else { 0 };
        let mut pages = PageCheck::new(stored);
        let mut unwritten: Vec<(u32, u32)> = Vec::new(); // (position, longest piece there)
        for (job, sorted) in (0..).zip(&suffixes.sorted) {
            let mut open: Vec<(u32, u32)> = Vec::new(); // candidates that are prefixes of the suffix: (id, last suffix)
            for (rank, &at) in (0..).zip(&**sorted) {
                pages.check();
                while open.pop_if(|top| top.1 < rank).is_some() {}
                while let Some((candidate, id)) = next.next_if(|(it, _)| (it.job, it.first) == (job, rank)) {
                    pieces.parents[id as usize] = open.last().map_or(words.symbols[at as usize], |top| top.0);
                    pieces.spans[id as usize] = (at, candidate.length);
                    open.push((id, candidate.last));
                }
                match open.last() {
                    Some(&(id, _)) if at_once == 0 => pieces.longest[at as usize] = id,
                    Some(&(id, _)) => {
                        unwritten.push((at, id));
                        if unwritten.len() == at_once {
                            pieces.write(&mut unwritten);
                        }
                    }
                    None => {}
                }
            }
        }
        pieces.write(&mut unwritten);
        Ok(pieces)
    }

    fn write(&mut self, unwritten: &mut Vec<(u32, u32)>) {
        unwritten.sort_unstable();
        let mut pages = PageCheck::new(&self.stored);
        for (at, id) in unwritten.drain(..) {
            pages.check();
            self.longest[at as usize] = id;
        }
    }

    /// Keeps only the pieces with these seed numbers, and sets their scores. The table must still contain all seeds.
    ///
    /// # Errors
    /// [`Error::format`] for seeds that are not ascending, or scores that are not finite.
    pub fn restore(&mut self, seeds: &[u32], scores: &[f64]) -> Result<()> {
        let is_valid = seeds.len() == scores.len()
            && seeds.is_sorted_by(|a, b| a < b)
            && seeds.last().is_some_and(|&last| (last as usize) < self.len())
            && scores.iter().all(|score| score.is_finite());
        if !is_valid {
            return Err(Error::format("pieces that no training of this corpus has", "the checkpoint"));
        }
        let mut next = seeds.iter().copied().peekable();
        self.retain(|id| next.next_if_eq(&(id as u32)).is_some())?;
        self.scores.copy_from_slice(scores);
        Ok(())
    }

    /// Returns the number of pieces.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Returns one trie node for each piece, by id. `value` computes the value of a node from the piece's score.
    ///
    /// # Errors
    /// I/O errors of spill files.
    pub fn nodes(&self, value: impl Fn(f64) -> f64) -> Result<SpillVec<TrieNode>> {
        let mut nodes = SpillVec::new(&self.memory);
        let shapes = self.parents.iter().zip(&*self.spans);
        let node = |(&score, (&parent, &(_, length)))| TrieNode { value: value(score), parent, length };
        nodes.extend(self.scores.iter().zip(shapes).map(node))?;
        Ok(nodes)
    }

    /// Drops the pieces for which `keep` returns false. `keep` is called with each id in order.
    ///
    /// # Errors
    /// I/O errors of spill files.
    pub fn retain(&mut self, mut keep: impl FnMut(usize) -> bool) -> Result<()> {
        // Maps the old id of a piece to its new id. If the piece is dropped, the old id is mapped to the new id of its
        // longest prefix that is kept, or to NONE.
        let mut moved = SpillVec::filled(NONE, self.len(), &self.memory)?;
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
                self.seeds[kept] = self.seeds[old];
                moved[old] = kept as u32;
                kept += 1;
            }
        }
        self.parents.truncate(kept);
        self.spans.truncate(kept);
        self.scores.truncate(kept);
        self.seeds.truncate(kept);
        let mut pages = PageCheck::new(&self.stored);
        for id in self.longest.iter_mut().filter(|id| **id != NONE) {
            pages.check();
            *id = moved[*id as usize];
        }
        Ok(())
    }

    /// Returns the spelling of a piece.
    pub fn spell(&self, words: &Segments, id: usize) -> String {
        let (at, length) = self.spans[id];
        let symbols = &words.symbols[at as usize..(at + length) as usize];
        symbols.iter().map(|&symbol| words.characters[symbol as usize].0).collect()
    }
}
