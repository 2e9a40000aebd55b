//! Best segmentations by Viterbi: frequencies of pieces in the text, and replacements of dropped pieces.
//!
//! Invariant: among equally good segmentations up to a position, the one with the longest last piece is chosen. So
//! results depend only on pieces and scores. The frequency of a piece is an integer, so the order of addition does not
//! matter.
//!
//! Cost: one visit of each occurrence of each piece in the text or in another piece.
//! Source: google/sentencepiece, `unigram_model_trainer.cc` (`PruneSentencePieces`, `PruneUnreachableSentencePieces`).

use std::ops::Range;

use super::expect::{sum_of_chunks, UnknownPiece};
use super::pieces::{PieceTable, TrieNode, NONE};
use super::segments::Segments;
use crate::error::Result;
use crate::util::cancel::CancelCheck;
use crate::util::spill::SpillVec;

/// Viterbi search over one text, with reusable buffers.
struct BestWays {
    best: Vec<(f64, u32, u32)>, // position -> (best score up to it, start of the last piece, id of the last piece)
}

impl BestWays {
    /// Fills `best` for a text. `longest` has the longest piece at each position. Excludes segmentations of the text
    /// that begin with a given piece, `without`.
    fn find(
        &mut self,
        longest: &[u32],
        nodes: &[TrieNode],
        unknown: UnknownPiece,
        without: u32,
        cancel: &mut CancelCheck<'_>,
    ) -> Result<()> {
        self.best.clear();
        self.best.resize(longest.len() + 1, (f64::NEG_INFINITY, 0, NONE));
        self.best[0].0 = 0.0;
        for (start, &id) in longest.iter().enumerate() {
            cancel.check()?;
            let so_far = self.best[start].0;
            let (mut id, mut is_known) = (id, false);
            while id != NONE {
                let node = &nodes[id as usize];
                is_known |= node.length == 1;
                if let Some(there) = self.best.get_mut(start + node.length as usize) {
                    let score = so_far + node.value;
                    if score > there.0 && (start > 0 || id != without) {
                        *there = (score, start as u32, id);
                    }
                }
                id = node.parent;
            }
            if !is_known && so_far + unknown.score > self.best[start + 1].0 {
                self.best[start + 1] = (so_far + unknown.score, start as u32, unknown.id);
            }
        }
        Ok(())
    }

    /// Iterates over the pieces of the best segmentation, from the last one to the first.
    fn pieces(&self) -> impl Iterator<Item = u32> + '_ {
        let mut end = self.best.len() - 1;
        std::iter::from_fn(move || {
            let (_, start, id) = *self.best.get(end).filter(|_| end > 0)?;
            end = start as usize;
            Some(id)
        })
    }
}

/// Returns the count of each piece in the best segmentations of the text.
///
/// # Errors
/// `Interrupted`.
pub(super) fn frequencies(
    words: &Segments,
    pieces: &PieceTable,
    unknown: UnknownPiece,
    threads: usize,
    watch: &mut dyn FnMut() -> bool,
) -> Result<SpillVec<u64>> {
    let nodes = pieces.nodes(|score| score)?;
    let work = |chunk: Range<usize>, cancel: &mut CancelCheck<'_>| {
        let mut frequencies = SpillVec::filled(0u64, pieces.len(), &pieces.memory)?;
        let mut ways = BestWays { best: Vec::new() };
        for i in chunk {
            ways.find(&pieces.longest[words.range(i)], &nodes, unknown, NONE, cancel)?;
            for id in ways.pieces().filter(|&id| id != NONE) {
                let frequency = &mut frequencies[id as usize];
                *frequency = frequency.saturating_add(words.weights[i]);
            }
        }
        Ok(frequencies)
    };
    let mut sums =
        sum_of_chunks(words, pieces, threads, watch, work, |sum, more: u64| *sum = sum.saturating_add(more))?;
    if let Some(sum) = sums.get_mut(unknown.id as usize) {
        *sum = sum.saturating_add(unknown.num_rare);
    }
    Ok(sums)
}

/// Goes through the pieces in order, and finds the best segmentation of each piece into other pieces. Calls `each` with
/// the index of the piece and the result: the sum of the scores of the other pieces, and a list of their ids in reverse
/// order. The id of an unknown character is `unknown.id`. A piece of one character cannot be segmented; then the result
/// is None.
///
/// # Errors
/// Errors of `each`; I/O errors of spill files; `Interrupted`.
pub(super) fn alternatives(
    pieces: &PieceTable,
    unknown: UnknownPiece,
    cancel: &mut CancelCheck<'_>,
    mut each: impl FnMut(usize, Option<(f64, &[u32])>) -> Result<()>,
) -> Result<()> {
    let nodes = pieces.nodes(|score| score)?;
    let (mut ways, mut found) = (BestWays { best: Vec::new() }, Vec::new());
    for (id, &(at, length)) in pieces.spans.iter().enumerate() {
        if length == 1 {
            each(id, None)?;
            continue;
        }
        ways.find(&pieces.longest[at as usize..(at + length) as usize], &nodes, unknown, id as u32, cancel)?;
        found.clear();
        found.extend(ways.pieces());
        each(id, Some((ways.best[length as usize].0, &found)))?;
    }
    Ok(())
}
