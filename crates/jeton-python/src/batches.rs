//! Batches: ids of many texts with their offsets.

use jeton_core::error::Error;
use jeton_core::tokenizer as core;
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;

use crate::arguments::{Text, Wide};
use crate::column;
use crate::error;
use crate::signals::SignalCheck;
use crate::tokenizer::Tokenizer;

type View<'py> = Bound<'py, PyMemoryView>;

/// Encodes many texts: (ids, offsets of the texts, HF's offsets, the same of each id as the first of a truncated text),
/// little-endian; ids are u32, the others i64. The last is None if it would be equal, or without `truncates`.
#[pyfunction]
#[pyo3(signature = (tok, texts, special, threads, *, template=false, truncates=false))]
#[allow(clippy::type_complexity)]
pub fn encode_batch_with_offsets<'py>(
    py: Python<'py>,
    tok: &Bound<'py, Tokenizer>,
    texts: Vec<Bound<'py, PyAny>>,
    special: Option<&Bound<'py, PyAny>>,
    threads: usize,
    template: bool,
    truncates: bool,
) -> PyResult<(View<'py>, View<'py>, View<'py>, Option<View<'py>>)> {
    let tok = tok.get();
    let permit = tok.permit(py, special)?;
    let wide = Wide::of(py, &texts, threads)?;
    let borrowed = wide.texts(&texts)?;
    let inputs: Vec<core::Input<'_>> = borrowed.iter().map(Text::input).collect();
    let mut watch = SignalCheck::new(None);
    let done = py
        .detach(|| tok.0.encode_batch_with_offsets(&inputs, &permit, threads, truncates, &mut || watch.keep_going(0)));
    let in_batch = |(index, failed): (usize, Error)| error::in_batch(py, borrowed[index].error(py, failed), index);
    let core::BatchOffsets { mut ids, mut ends, mut offsets, first } = watch.finish(done, in_batch)?;
    if template {
        offsets = py.detach(|| tok.0.framed_offsets(&offsets, &ends));
        (ids, ends) = py.detach(|| tok.0.framed(&ids, &ends));
    }
    let first = if first.is_empty() { None } else { Some(column::view(py, first)?) };
    Ok((column::view(py, ids)?, column::view(py, ends)?, column::view(py, offsets)?, first))
}
