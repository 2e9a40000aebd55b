//! Options of random segmentations. Their meaning depends on the type of the model, as in SentencePiece.

use crate::error::{Error, Result};
use crate::model::{Model, Sampler};
use crate::tokenizer::Tokenizer;

/// Options of one random segmentation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Draw {
    /// Unigram: number of best segmentations to sample from. A negative number means all segmentations; 0 and 1 mean
    /// that the best segmentation is returned without sampling. BPE ignores this option.
    pub nbest: i32,
    /// Unigram: factor by which scores are multiplied. BPE: probability that a merge is skipped.
    pub alpha: f32,
}

impl Draw {
    /// Sets the options of a sampler. Returns false if the options ask for the best segmentation, so that nothing is
    /// sampled.
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
