//! Options with which a Unigram model is trained.

use serde::Deserialize;

use super::valid::{self, PieceLimits};
use crate::error::{Error, Result};

/// Options of Unigram training, named as in SentencePiece.
#[derive(Debug, Clone, Deserialize)]
pub struct UnigramOptions {
    /// Total number of entries, including `num_reserved`.
    pub vocab_size: usize,
    /// Number of entries that are not learned: special tokens and bytes.
    pub num_reserved: usize,
    /// Share of the corpus that the characters in the vocabulary must cover. The most frequent characters are selected.
    pub character_coverage: f32,
    /// Characters that are always pieces.
    pub required_chars: String,
    /// Number of seeds in addition to the characters. The value 0 means eight times the vocabulary size, but not less
    /// than 100,000.
    pub seed_sentencepiece_size: usize,
    /// Number of EM iterations between two prunings.
    pub num_sub_iterations: usize,
    /// Share of the pieces that a pruning keeps.
    pub shrinking_factor: f64,
    /// Reproduces SentencePiece's bugs. SentencePiece compares only the first bytes of the characters that follow a
    /// substring, and treats the ends of all words as the same follower. As a result, some whole words do not become
    /// seeds. It also adds the counts of unknown characters to the count of the most frequent character.
    pub bug_compatible: bool,
    /// True if words at the end of a line were counted with a mark ([`crate::train::count::END_OF_TEXT`]). All other
    /// words are followed by a space.
    #[serde(default)]
    pub marked_ends: bool,
    /// True if all lines begin with a space. If so, the last words of all lines are followed by the same character.
    #[serde(default)]
    pub starts_alike: bool,
    /// True to round scores to 32 bits at the end, as in a `.model`.
    pub single_precision: bool,
    /// Options that determine which pieces are valid.
    #[serde(flatten)]
    pub limits: PieceLimits,
}

impl UnigramOptions {
    /// Reads options from JSON.
    ///
    /// # Errors
    /// [`Error::config`] for invalid JSON.
    pub fn from_json(options: &str) -> Result<Self> {
        let options: Self =
            serde_json::from_str(options).map_err(|error| Error::config(format!("options of training: {error}")))?;
        if options.limits.max_sentencepiece_length > valid::MOST {
            let message = format!("exceeds {}, the supported maximum", valid::MOST);
            return Err(Error::option("max_sentencepiece_length", options.limits.max_sentencepiece_length, &message));
        }
        Ok(options)
    }

    /// Returns the number of seeds in addition to the characters.
    pub(super) fn num_seeds(&self) -> usize {
        match self.seed_sentencepiece_size {
            0 => self.vocab_size.saturating_mul(8).max(100_000),
            size => size,
        }
    }
}
