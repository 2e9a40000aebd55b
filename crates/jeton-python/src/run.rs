//! `Run`: memory limit, threads, progress callback and checkpoints of a training run.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use jeton_core::error::{Error, Result};
use jeton_core::train::count::Counts;
use jeton_core::train::merge::{LearnedMerge, OnMerge};
use jeton_core::train::options::LearnOptions;
use jeton_core::train::unigram::{self, SavedPieces, UnigramOptions, UnigramResult, UnigramRun};
use jeton_core::util::spill::MemoryLimit;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::callback;
use crate::error;
use crate::mmap::{self, Limit};
use crate::signals::SignalCheck;

/// Size in bytes of a saved merge: four numbers of 4 bytes (left, right, result, tokens in use), then two of 8 bytes
/// (count, corpus tokens); all little-endian.
const MERGE: usize = 32;

/// Memory limit, threads, progress callback, and the merges of an earlier run that is continued.
#[pyclass(frozen, module = "jeton._core")]
pub struct Run {
    memory: MemoryLimit,
    #[pyo3(get)]
    threads: usize,
    done: Vec<LearnedMerge>,
    pieces: Option<SavedPieces>,
    save: Option<Py<PyAny>>,
    save_every: Duration,
    #[pyo3(get)]
    progress: Option<Py<PyAny>>,
}

#[pymethods]
impl Run {
    /// Creates a run. `done`: merges that an earlier run passed to `save`; `pieces`: pieces of an earlier Unigram
    /// run. `save` is called with the merges or pieces so far, every `save_every` seconds and when learning is
    /// interrupted.
    #[new]
    #[pyo3(signature = (*, threads, progress = None, memory = None, done = None, pieces = None, save = None,
        save_every = 20.0))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments of the constructor")]
    fn new(
        py: Python<'_>,
        threads: usize,
        progress: Option<Py<PyAny>>,
        memory: Option<&Limit>,
        done: Option<&[u8]>,
        pieces: Option<&[u8]>,
        save: Option<Py<PyAny>>,
        save_every: f64,
    ) -> PyResult<Self> {
        let done = read(done.unwrap_or_default()).map_err(|failed| error::plain(py, failed))?;
        let pieces = pieces.map(SavedPieces::from_bytes).transpose().map_err(|failed| error::plain(py, failed))?;
        let save_every = Duration::try_from_secs_f64(save_every).unwrap_or_default();
        Ok(Self { memory: mmap::memory(memory), threads, done, pieces, save, save_every, progress })
    }
}

impl Run {
    /// Returns the options of learning for this run.
    pub fn options(&self) -> LearnOptions<'_> {
        LearnOptions { memory: &self.memory, threads: self.threads, done: &self.done, ..LearnOptions::default() }
    }

    /// Calls `learn` without the GIL.
    ///
    /// # Errors
    /// Errors of `learn`, and exceptions of the interpreter.
    pub fn learn<R: Send>(
        &self,
        py: Python<'_>,
        learn: impl FnOnce(&mut OnMerge<'_>) -> Result<R> + Send,
    ) -> PyResult<R> {
        let mut watch = SignalCheck::new(self.progress.as_ref().map(|progress| progress.clone_ref(py)));
        let (mut saved, failed) = (Instant::now(), Mutex::new(None));
        let result = py.detach(|| {
            self.memory.enforce_during(|| {
                learn(&mut |merges| {
                    let goes_on = watch.keep_going(merges.len());
                    if goes_on && (self.save.is_none() || saved.elapsed() < self.save_every) {
                        return true;
                    }
                    saved = Instant::now();
                    let said = self.save(merges);
                    let is_saved = said.is_ok();
                    if let (Err(error), Ok(mut failed)) = (said, failed.lock()) {
                        *failed = Some(error);
                    }
                    goes_on && is_saved
                })
            })
        });
        let done = watch.finish(result, |failed| error::plain(py, failed));
        unless_saving_failed(py, done, failed.into_inner().ok().flatten())
    }

    /// Learns the pieces of a Unigram model without the GIL.
    ///
    /// # Errors
    /// As [`Run::learn`].
    pub fn learn_pieces(&self, py: Python<'_>, counts: &Counts, options: &UnigramOptions) -> PyResult<UnigramResult> {
        let mut watch = SignalCheck::new(self.progress.as_ref().map(|progress| progress.clone_ref(py)));
        let (mut saved, mut failed) = (Instant::now(), None);
        let mut save = |pieces: &dyn Fn() -> SavedPieces, is_interrupted: bool| {
            if self.save.is_none() || !is_interrupted && saved.elapsed() < self.save_every {
                return true;
            }
            saved = Instant::now();
            failed = self.save_bytes(&pieces().to_bytes()).err();
            failed.is_none()
        };
        let result = py.detach(|| {
            self.memory.enforce_during(|| {
                let (threads, memory, done) = (self.threads, &self.memory, self.pieces.clone());
                let run = UnigramRun { threads, memory, done, save: &mut save };
                unigram::learn(counts, options, run, &mut |left| watch.keep_going(left))
            })
        });
        let done = watch.finish(result, |failed| error::plain(py, failed));
        unless_saving_failed(py, done, failed)
    }

    fn save(&self, merges: &[LearnedMerge]) -> PyResult<()> {
        if self.save.is_none() || merges.len() <= self.done.len() {
            return Ok(()); // no merges beyond those of the earlier run
        }
        self.save_bytes(&write(merges))
    }

    fn save_bytes(&self, bytes: &[u8]) -> PyResult<()> {
        let Some(save) = &self.save else { return Ok(()) };
        callback::attached(|py| {
            let args = (PyBytes::new(py, bytes),).into_pyobject(py)?;
            callback::call(save.bind(py), &args).map(drop)
        })
    }
}

/// Returns the error with which `save` failed, if any; else `done`, the result of learning. If `done` is the exception
/// that Ctrl-C raises, it takes precedence over the error of `save`.
fn unless_saving_failed<R>(py: Python<'_>, done: PyResult<R>, failed: Option<PyErr>) -> PyResult<R> {
    match failed {
        Some(error) if !done.as_ref().is_err_and(|own| own.is_instance_of::<PyKeyboardInterrupt>(py)) => Err(error),
        _ => done,
    }
}

fn write(merges: &[LearnedMerge]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(merges.len() * MERGE);
    for merge in merges {
        for number in [merge.left, merge.right, merge.result, merge.tokens_in_use] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&merge.count.to_le_bytes());
        bytes.extend_from_slice(&merge.corpus_tokens.to_le_bytes());
    }
    bytes
}

fn read(bytes: &[u8]) -> Result<Vec<LearnedMerge>> {
    let (merges, rest) = bytes.as_chunks::<MERGE>();
    if !rest.is_empty() {
        return Err(Error::format("merges that end in the middle", format!("byte {}", bytes.len())));
    }
    let merge = |bytes: &[u8; MERGE]| {
        let small = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let large = |at: usize| u64::from(small(at)) | u64::from(small(at + 4)) << 32;
        let [left, right, result, tokens_in_use] = [0, 4, 8, 12].map(small);
        LearnedMerge { left, right, result, tokens_in_use, count: large(16), corpus_tokens: large(24) }
    };
    Ok(merges.iter().map(merge).collect())
}
