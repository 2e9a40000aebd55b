//! Functions that run a decoder or a template without a tokenizer, for tests that compare the results with other
//! libraries. `Tokenizer` does not need these functions, because it runs decoders and templates inside the core.

use jeton_core::decode::Decoder;
use jeton_core::postprocess::{self, Template};
use jeton_core::vocab::Vocab;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error;
use crate::vocabulary::Vocabulary;

/// (ids, type ids, mask of the template's tokens, origins). For a token of a text, the origin is (index of the text: 0
/// or 1, index of the token in the text). For a token of the template, it is None.
type AssembledTuple = (Vec<u32>, Vec<u32>, Vec<bool>, Vec<Option<(u8, usize)>>);

#[pymethods]
impl Vocabulary {
    /// Decodes ids with the given decoder components. Returns the result as bytes and as text.
    fn decode_parts<'py>(
        &self,
        py: Python<'py>,
        parts_json: &str,
        byte_level: bool,
        ids: Vec<u32>,
        skip_special: bool,
    ) -> PyResult<(Bound<'py, PyBytes>, String)> {
        let decode = || {
            let vocab = Vocab::new(self.entries.iter())?;
            let decoder = Decoder::from_json(parts_json, &vocab, byte_level, None)?;
            let bytes = decoder.decode(&vocab, &ids, skip_special)?.into_vec();
            Ok((bytes, decoder.decode_text(&vocab, &ids, skip_special)?))
        };
        let (bytes, text) = py.detach(decode).map_err(|failed| error::plain(py, failed))?;
        Ok((PyBytes::new(py, &bytes), text))
    }
}

/// Applies a template to the ids of one text, or of two texts.
#[pyfunction]
pub fn apply_template(
    py: Python<'_>,
    template_json: &str,
    first: Vec<u32>,
    second: Option<Vec<u32>>,
    add_special_tokens: bool,
) -> PyResult<AssembledTuple> {
    let template = Template::from_json(template_json).map_err(|failed| error::plain(py, failed))?;
    let out = template.apply(&first, second.as_deref(), add_special_tokens, |id| id);
    let sources = out.sources.into_iter().map(|source| source.map(|source| (source.sequence as u8, source.index)));
    Ok((out.tokens, out.type_ids, out.special_tokens_mask, sources.collect()))
}

/// Returns the offsets of a token, without the white space at the start and the end of the token.
#[pyfunction]
pub fn trim_offsets(
    content: &[u8],
    is_bytes: bool,
    add_prefix_space: bool,
    index: usize,
    span: (usize, usize),
) -> (usize, usize) {
    postprocess::trim_offsets(content, is_bytes, add_prefix_space, index, span)
}
