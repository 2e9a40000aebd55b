//! State of training between two steps, for checkpoints.
//!
//! ```text
//! rounds: u64 | iterations: u64 | complete: u64 | pieces: u64 | seeds: u32 each | scores: f64 each      little-endian
//! ```
//!
//! Seeds are the pieces with which training starts. They depend only on the counts and the options. So a resumed run
//! computes all seeds again, and keeps the seeds listed in the checkpoint. A resumed run has the same result as an
//! uninterrupted run, to the last bit.
//!
//! Cost: 12 bytes for each piece. Left out: the strings of the seeds. The caller adds a checksum.

use crate::error::{Error, Result};

/// Pieces that remain after some training steps.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SavedPieces {
    /// Number of prunings so far.
    pub rounds: u64,
    /// Number of EM iterations since the last pruning.
    pub iterations: u64,
    /// True after the last pruning.
    pub is_complete: bool,
    /// Index of each remaining piece in the list of all seeds, ascending.
    pub seeds: Vec<u32>,
    /// Scores of the remaining pieces, in the order of `seeds`.
    pub scores: Vec<f64>,
}

/// Number of bytes before the seeds.
const HEAD: usize = 32;

impl SavedPieces {
    /// Returns the pieces as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD + 12 * self.seeds.len());
        let head = [self.rounds, self.iterations, u64::from(self.is_complete), self.seeds.len() as u64];
        bytes.extend(head.iter().flat_map(|number| number.to_le_bytes()));
        bytes.extend(self.seeds.iter().flat_map(|seed| seed.to_le_bytes()));
        bytes.extend(self.scores.iter().flat_map(|score| score.to_le_bytes()));
        bytes
    }

    /// Reads the pieces.
    ///
    /// # Errors
    /// [`Error::format`] if the number of bytes does not fit the number of pieces.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let wrong = || Error::format("pieces that end in the middle", format!("byte {}", bytes.len()));
        let (head, rest) = bytes.split_first_chunk::<HEAD>().ok_or_else(wrong)?;
        let (numbers, _) = head.as_chunks::<8>();
        let number = |at: usize| u64::from_le_bytes(numbers[at]);
        let num = usize::try_from(number(3)).ok().filter(|num| num.checked_mul(12) == Some(rest.len()));
        let (seeds, scores) = rest.split_at(4 * num.ok_or_else(wrong)?);
        Ok(Self {
            rounds: number(0),
            iterations: number(1),
            is_complete: number(2) != 0,
            seeds: seeds.as_chunks().0.iter().map(|&seed| u32::from_le_bytes(seed)).collect(),
            scores: scores.as_chunks().0.iter().map(|&score| f64::from_le_bytes(score)).collect(),
        })
    }
}
