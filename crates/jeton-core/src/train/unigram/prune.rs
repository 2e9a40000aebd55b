//! Pruning: drops the pieces whose removal reduces the likelihood least. At the end of training, drops the pieces with
//! the lowest scores.
//!
//! The loss of likelihood is an estimate. It assumes that each occurrence of a dropped piece is replaced by the piece's
//! best alternative: the best segmentation of its spelling into other pieces. The frequency of the dropped piece is
//! added to the frequency of each piece in this segmentation. A piece whose alternative has a better score is in no
//! best segmentation. Such a piece, and any other piece that is in no best segmentation, is dropped immediately.
//!
//! Invariant: the result depends only on the counts. Pieces with equal losses are ordered by id (the ids depend only on
//! the counts), and pieces with equal scores are ordered by spelling.
//!
//! Source: Kudo 2018, section 3.2; google/sentencepiece 0.2.3, `unigram_model_trainer.cc` (`PruneSentencePieces`,
//! `FinalizeSentencePieces`), where the loss of a piece is weighted by its share of all occurrences.

use super::numbers::ln;
use super::pieces::{PieceTable, NONE};
use super::segments::Segments;
use crate::error::Result;
use crate::util::spill::{MemoryLimit, SpillVec};

/// Pieces that must be kept, and the losses of the other pieces.
pub(super) struct Pruning<'a> {
    frequencies: &'a [u64],
    total: f64,
    keep: SpillVec<bool>,
    losses: SpillVec<(f64, u32)>,
    kept: usize,
}

impl<'a> Pruning<'a> {
    /// Prepares the pruning of pieces. `frequencies`: the frequency of each piece, by id.
    ///
    /// # Errors
    /// I/O errors of spill files.
    pub fn new(frequencies: &'a [u64], memory: &MemoryLimit) -> Result<Self> {
        let total = frequencies.iter().map(|&frequency| frequency as f64).sum();
        let keep = SpillVec::filled(false, frequencies.len(), memory)?;
        Ok(Self { frequencies, total, keep, losses: SpillVec::new(memory), kept: 0 })
    }

    /// Adds a piece with its score and its alternative, as returned by [`super::best::alternatives`].
    ///
    /// # Errors
    /// I/O errors of spill files.
    pub fn add(&mut self, id: usize, score: f64, alternative: Option<(f64, &[u32])>) -> Result<()> {
        match alternative.filter(|_| self.frequencies[id] > 0) {
            None if self.frequencies[id] > 0 => {
                self.keep[id] = true;
                self.kept += 1;
            }
            Some((other, pieces)) if other <= score => {
                self.losses.push((loss(self.frequencies, self.total, id, pieces), id as u32))?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Drops pieces until `most` are left. More are left if too many pieces have no alternative.
    ///
    /// # Errors
    /// I/O errors of spill files.
    pub fn apply(mut self, pieces: &mut PieceTable, most: usize) -> Result<()> {
        self.losses.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        for &(_, id) in self.losses.iter().take(most.saturating_sub(self.kept)) {
            self.keep[id as usize] = true;
        }
        pieces.retain(|id| self.keep[id])
    }
}

/// Returns how much the log-likelihood of the text decreases without one piece.
fn loss(frequencies: &[u64], total: f64, id: usize, alternative: &[u32]) -> f64 {
    let own = frequencies[id] as f64;
    let with = ln(own) - ln(total);
    let total_without = ln(total + own * (alternative.len() as f64 - 1.0));
    let frequency = |id: u32| if id == NONE { 0.0 } else { frequencies[id as usize] as f64 };
    let without: f64 = alternative.iter().map(|&id| ln(frequency(id) + own) - total_without).sum();
    own / total * (with - without)
}

/// A piece and its score.
pub type Scored = (String, f64);

/// Step between scores. Required characters that pruning has dropped get new scores, as in SentencePiece: the most
/// frequent dropped character gets the lowest score of the remaining pieces. Each further dropped character, by falling
/// frequency, gets the previous score plus this step.
const STEP: f64 = 0.0001;

/// Returns the `size` pieces of the vocabulary in descending order of scores: all required characters, and the longer
/// pieces with the highest scores. If `single`, scores are rounded to 32 bits.
pub(super) fn finish(words: &Segments, pieces: &PieceTable, size: usize, single: bool) -> Vec<Scored> {
    let round = |score: f64| if single { f64::from(score as f32) } else { score };
    let scores = &pieces.scores;
    let worst = scores.iter().copied().fold(f64::INFINITY, f64::min);
    let mut characters: Vec<(std::cmp::Reverse<u64>, usize)> =
        words.characters.iter().enumerate().map(|(symbol, &(_, count))| (std::cmp::Reverse(count), symbol)).collect();
    characters.sort_unstable();
    let mut own: Vec<Option<f64>> = vec![None; characters.len()];
    for (&(at, _), &score) in pieces.spans.iter().zip(&**scores).filter(|(span, _)| span.1 == 1) {
        own[words.symbols[at as usize] as usize] = Some(score);
    }
    let mut missing = 0;
    let mut chosen: Vec<Scored> = Vec::with_capacity(size);
    for (_, symbol) in characters {
        let score = own[symbol].unwrap_or_else(|| {
            missing += 1;
            worst + STEP * f64::from(missing - 1)
        });
        chosen.push((words.characters[symbol].0.to_string(), round(score)));
    }
    let longer = (0..pieces.len()).filter(|&id| pieces.spans[id].1 > 1);
    let mut others: Vec<Scored> = longer.map(|id| (pieces.spell(words, id), round(scores[id]))).collect();
    let order = |a: &Scored, b: &Scored| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0));
    others.sort_unstable_by(order);
    others.truncate(size.saturating_sub(chosen.len()));
    chosen.extend(others);
    chosen.sort_unstable_by(order);
    chosen
}
