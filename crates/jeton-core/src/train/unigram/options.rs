//! Options of training a Unigram model.

use serde::Deserialize;

use super::valid::{self, PieceLimits};
use crate::error::{Error, Result};

/// UnigramOptions, by the names of SentencePiece's where it has them.
#[derive(Debug, Clone, Deserialize)]
pub struct UnigramOptions {
    /// Entries of the vocabulary, those of `num_reserved` among them.
    pub vocab_size: usize,
    /// Entries that are not learned: special tokens and bytes.
    pub num_reserved: usize,
    /// The share of all characters in the corpus that must be pieces.
    pub character_coverage: f32,
    /// Characters that must be pieces in any case.
    pub required_chars: String,
    /// Substrings to begin with, beside the characters; 0: eight times the vocabulary, at least 100,000.
    pub seed_sentencepiece_size: usize,
    /// Rounds of EM between two prunings.
    pub num_sub_iterations: usize,
    /// The share of the pieces that a pruning keeps.
    pub shrinking_factor: f64,
    /// Follows SentencePiece's bugs. What follows a substring is compared by its first byte, and what
    /// follows a word is always the same, so that some whole words are not among the seeds; and unknown characters are
    /// counted for the most frequent one.
    pub bug_compatible: bool,
    /// True if words that end a line were counted with a mark ([`crate::train::count::END_OF_TEXT`]). Behind the others stands
    /// a space.
    #[serde(default)]
    pub marked_ends: bool,
    /// True if all lines begin with a space, so that every end of a line is followed by the same.
    #[serde(default)]
    pub starts_alike: bool,
    /// Rounds scores to 32 bits in the end, as a `.model` holds them.
    pub single_precision: bool,
    /// UnigramOptions for valid pieces.
    #[serde(flatten)]
    pub limits: PieceLimits,
}

impl UnigramOptions {
    /// From JSON, by these names.
    ///
    /// # Errors
    /// [`Error::config`] for what does not fit them.
    pub fn from_json(options: &str) -> Result<Self> {
        let options: Self =
            serde_json::from_str(options).map_err(|error| Error::config(format!("options of training: {error}")))?;
        if options.limits.max_sentencepiece_length > valid::MOST {
            return Err(Error::config(format!(
                "max_sentencepiece_length={} is over {}, the most that is supported",
                options.limits.max_sentencepiece_length,
                valid::MOST
            )));
        }
        Ok(options)
    }

    /// Returns the number of substrings that training begins with.
    pub(super) fn num_seeds(&self) -> usize {
        match self.seed_sentencepiece_size {
            0 => self.vocab_size.saturating_mul(8).max(100_000),
            size => size,
        }
    }
}
