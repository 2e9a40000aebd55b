//! `Counter`: documents → distinct pretokens with their counts.

use std::sync::Mutex;

use jeton_core::error::Error;
use jeton_core::special::{Added, Matcher};
use jeton_core::train::count;
use pyo3::prelude::*;

use crate::arguments::Text;
use crate::counts::Counts;
use crate::error;
use crate::watch::Watch;

/// Counts documents, batch by batch.
#[pyclass(frozen, module = "jeton._core")]
pub struct Counter(Mutex<Option<count::Counter>>);

fn finished() -> PyErr {
    pyo3::exceptions::PyRuntimeError::new_err("the counter is finished, or failed before")
}

#[pymethods]
impl Counter {
    #[new]
    #[pyo3(signature = (stages_json, *, special_tokens))]
    fn new(py: Python<'_>, stages_json: &str, special_tokens: Vec<String>) -> PyResult<Self> {
        let stages = count::Stages::from_json(stages_json).map_err(|failed| error::plain(py, failed))?;
        let tokens = special_tokens.iter().map(|token| Added::plain(token.as_bytes(), 0));
        let special = Matcher::new(tokens).map_err(|failed| error::plain(py, failed))?;
        Ok(Self(Mutex::new(Some(count::Counter::new(stages, special)))))
    }

    /// Counts documents (`str`, or `bytes` in UTF-8), in order. An error about a text has its index as `document`, and a position in
    /// bytes.
    #[pyo3(signature = (documents, *, threads))]
    fn add(&self, py: Python<'_>, documents: Vec<Bound<'_, PyAny>>, threads: usize) -> PyResult<()> {
        let mut texts = Vec::with_capacity(documents.len());
        for document in &documents {
            let text = Text::of(document)?;
            texts.push(
                std::str::from_utf8(text.bytes())
                    .map_err(|broken| text.error(py, Error::text("a document is not UTF-8", broken.valid_up_to())))?,
            );
        }
        // Taken out while it works: a failed counter must not be used again, and another thread must not see half of it.
        let mut counter = self.0.lock().ok().and_then(|mut slot| slot.take()).ok_or_else(finished)?;
        let mut watch = Watch::new(None);
        let done = py.detach(|| counter.add(&texts, threads, &mut || watch.go_on(0)));
        watch.finish(done, |(index, failed)| {
            let error = error::plain(py, failed);
            match error.value(py).setattr("document", index) {
                Ok(()) => error,
                Err(failed) => failed,
            }
        })?;
        if let Ok(mut slot) = self.0.lock() {
            *slot = Some(counter);
        }
        Ok(())
    }

    /// The counts, and (documents, bytes, special tokens met). The counter is empty afterwards.
    fn finish(&self, py: Python<'_>) -> PyResult<(Counts, u64, u64, u64)> {
        let counter = self.0.lock().ok().and_then(|mut slot| slot.take()).ok_or_else(finished)?;
        let (counts, totals) = py.detach(|| counter.finish()).map_err(|failed| error::plain(py, failed))?;
        Ok((Counts(counts), totals.documents, totals.bytes, totals.special_tokens))
    }
}
