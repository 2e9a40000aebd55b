//! Options of random segmentations, with the meaning that SentencePiece gives them for each model.

use crate::error::{Error, Result};
use crate::model::{Model, Sampler};
use crate::tokenizer::Tokenizer;

/// Options of one random segmentation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Draw {
    /// Unigram: samples from this many best segmentations; negative: from all; 0 and 1: the best one. BPE ignores it.
    pub nbest: i32,
    /// Unigram: factor of scores. BPE: probability that a merge is skipped.
    pub alpha: f32,
}

impl Draw {
    /// Sets the options of a sampler; returns false if the result is the best segmentation.
    ///
    /// # Errors
    /// [`Error::config`] for a model that cannot sample.
    pub(super) fn set(&self, tok: &Tokenizer, sampler: &mut Sampler) -> Result<bool> {
        match tok.model() {
            Model::Unigram(_) => {
                sampler.alpha = self.alpha.into();
                sampler.nbest = usize::try_from(self.nbest).ok();
                Ok(!matches!(self.nbest, 0 | 1))
            }
            Model::Pieces(_) => {
                sampler.dropout = f64::from(self.alpha).min(1.0);
                Ok(true)
            }
            _ => Err(Error::config("SampleEncode is not available for this model")),
        }
    }
}
