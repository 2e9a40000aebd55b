//! `BareModel`: a model without the other stages of a tokenizer, for parity tests.

use jeton_core::model::{Model, Out, Sampler, Scratch, Specials};
use jeton_core::vocab::Vocab;
use pyo3::prelude::*;

use crate::error;
use crate::vocabulary::Vocabulary;

/// A model with its vocabulary.
#[pyclass(frozen, module = "jeton._core")]
pub struct BareModel {
    vocab: Vocab,
    model: Model,
}

#[pymethods]
impl BareModel {
    /// Creates a model. `scores`: one for each id; empty if the model has no scores.
    #[new]
    fn new(py: Python<'_>, vocabulary: &Vocabulary, options: &str, scores: Vec<f64>) -> PyResult<Self> {
        let build = || {
            let vocab = Vocab::new(vocabulary.entries.iter())?;
            let model = Model::from_json(options, &vocab, vocabulary.extras.merges.clone(), &scores)?;
            Ok(Self { vocab, model })
        };
        py.detach(build).map_err(|failed| error::plain(py, failed))
    }

    /// Returns (id, byte offset of the end) of each token.
    fn encode(&self, py: Python<'_>, pretoken: &[u8]) -> PyResult<Vec<(u32, usize)>> {
        let encode = || {
            let (mut ids, mut ends) = (Vec::new(), Vec::new());
            let mut out = Out::with_ends(&mut ids, &mut ends);
            self.model.encode(&self.vocab, pretoken, &|| true, &mut Scratch::default(), &mut out)?;
            Ok(ids.into_iter().zip(ends).collect())
        };
        py.detach(encode).map_err(|failed| error::plain(py, failed))
    }

    /// Returns only the ids. Most models compute them by another code path than `encode`.
    fn encode_ids(&self, py: Python<'_>, pretoken: &[u8]) -> PyResult<Vec<u32>> {
        let encode = || {
            let mut ids = Vec::new();
            let mut out = Out::ids(&mut ids);
            self.model.encode(&self.vocab, pretoken, &|| true, &mut Scratch::default(), &mut out)?;
            Ok(ids)
        };
        py.detach(encode).map_err(|failed| error::plain(py, failed))
    }

    /// Draws `count` random encodings, all with one random number generator.
    #[pyo3(signature = (pretoken, *, seed, count=1, dropout=0.0, alpha=1.0, nbest=None))]
    #[allow(clippy::too_many_arguments)]
    fn sample(
        &self,
        py: Python<'_>,
        pretoken: &[u8],
        seed: u64,
        count: usize,
        dropout: f64,
        alpha: f64,
        nbest: Option<usize>,
    ) -> PyResult<Vec<Vec<u32>>> {
        let sample = || {
            let mut sampler = Sampler::new(seed);
            (sampler.dropout, sampler.alpha, sampler.nbest) = (dropout, alpha, nbest);
            let mut scratch = Scratch::default();
            let samples = (0..count).map(|_| {
                let mut ids = Vec::new();
                let mut out = Out::ids(&mut ids);
                self.model.sample(&self.vocab, pretoken, &mut sampler, &|| true, &mut scratch, &mut out)?;
                Ok(ids)
            });
            samples.collect::<jeton_core::error::Result<_>>()
        };
        py.detach(sample).map_err(|failed| error::plain(py, failed))
    }

    /// Returns the n best segmentations and their scores.
    fn nbest(&self, py: Python<'_>, pretoken: &[u8], n: usize) -> PyResult<Vec<(Vec<u32>, f64)>> {
        py.detach(|| self.model.nbest(pretoken, n, Specials::None, &|| true)).map_err(|failed| error::plain(py, failed))
    }
}
