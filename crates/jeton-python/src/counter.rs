//! `Counter`: counts the distinct pretokens of documents, in memory and in runs on disk.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use jeton_core::added_tokens::{Added, AddedTokenMatcher};
use jeton_core::error::Result;
use jeton_core::train::count::{self, Dropped, RunReader, RunWriter, Source, Totals};
use jeton_core::util::cancel::KeepGoing;
use pyo3::prelude::*;

use crate::corpus::{texts_of, TextColumn};
use crate::counts::Counts;
use crate::error;
use crate::mmap::{self, Limit};
use crate::signals::{run_with_signals, SignalCheck};

/// Buffer size in bytes, for reading each run and for writing.
const BUFFER: usize = 1 << 17;

/// Counts the pretokens of documents, batch by batch.
#[pyclass(frozen, module = "jeton._core")]
pub struct Counter(Mutex<Option<count::Counter>>);

/// Totals of dropped pretokens: (distinct pretokens, occurrences, bytes of all occurrences).
type DroppedColumns = (u64, u64, u64);

fn finished() -> PyErr {
    pyo3::exceptions::PyRuntimeError::new_err("the counter is finished, or failed before")
}

fn columns(dropped: Dropped) -> DroppedColumns {
    (dropped.distinct, dropped.occurrences, dropped.bytes)
}

/// Writes a run to a new file. If `durable`, syncs the file to disk.
fn write_run<R>(
    path: &PathBuf,
    durable: bool,
    fill: impl FnOnce(&mut RunWriter<BufWriter<File>>) -> Result<R>,
) -> Result<R> {
    let mut writer = RunWriter::new(BufWriter::with_capacity(BUFFER, File::create_new(path)?));
    let filled = fill(&mut writer)?;
    let mut buffered = writer.finish()?;
    buffered.flush()?;
    if durable {
        buffered.get_ref().sync_all()?; // can take a second on a busy disk
    }
    Ok(filled)
}

fn read_runs(paths: &[PathBuf]) -> Result<Vec<Box<dyn Source + Send>>> {
    let read = |path: &PathBuf| -> Result<Box<dyn Source + Send>> {
        let file = File::open(path)?;
        let len = file.metadata()?.len();
        Ok(Box::new(RunReader::new(BufReader::with_capacity(BUFFER, file), len)?))
    };
    paths.iter().map(read).collect()
}

#[pymethods]
impl Counter {
    /// Merges the files `runs` into the file `path`, and drops pretokens with a count below `min_count`.
    #[staticmethod]
    #[pyo3(signature = (runs, path, min_count, durable = true))]
    fn merge_runs(
        py: Python<'_>,
        runs: Vec<PathBuf>,
        path: PathBuf,
        min_count: u64,
        durable: bool,
    ) -> PyResult<DroppedColumns> {
        let merge = |keep_going: KeepGoing<'_>| {
            let mut sources = read_runs(&runs)?;
            write_run(&path, durable, |writer| count::merge(&mut sources, min_count, keep_going, writer))
        };
        Ok(columns(run_with_signals(py, merge, |failed| error::plain(py, failed))?))
    }
}

impl Counter {
    /// Takes the counter out of `self` for the duration of a call. Until the call puts it back, no other thread can use
    /// the counter; after an error, it is not put back.
    fn take(&self) -> PyResult<count::Counter> {
        self.0.lock().ok().and_then(|mut slot| slot.take()).ok_or_else(finished)
    }

    fn put_back(&self, counter: count::Counter) {
        if let Ok(mut slot) = self.0.lock() {
            *slot = Some(counter);
        }
    }

    fn look<R>(&self, at: impl FnOnce(&count::Counter) -> R) -> PyResult<R> {
        let slot = self.0.lock().map_err(|_| finished())?;
        slot.as_ref().map(at).ok_or_else(finished)
    }
}

#[pymethods]
impl Counter {
    #[new]
    #[pyo3(signature = (stages_json, *, special_tokens, totals = None))]
    fn new(
        py: Python<'_>,
        stages_json: &str,
        special_tokens: Vec<String>,
        totals: Option<(u64, u64, u64)>,
    ) -> PyResult<Self> {
        let stages = count::Stages::from_json(stages_json).map_err(|failed| error::plain(py, failed))?;
        let tokens = special_tokens.iter().map(|token| Added::plain(token.as_bytes(), 0));
        let special = AddedTokenMatcher::new(tokens).map_err(|failed| error::plain(py, failed))?;
        let mut counter = count::Counter::new(stages, special);
        let (documents, bytes, special_tokens) = totals.unwrap_or_default();
        counter.resume(Totals { documents, bytes, special_tokens });
        Ok(Self(Mutex::new(Some(counter))))
    }

    /// Counts the documents in `columns`, in order, except the first `skip` documents. An error about a document has a
    /// position in bytes and the attribute `document`: the index of the document, where 0 is the first document that is
    /// not skipped. After Ctrl-C, this call has `patience` seconds to finish. If it finishes in time, the counter stays
    /// valid. Otherwise, and after any error, the counter is invalid.
    #[pyo3(signature = (columns, *, threads, skip = 0, patience = 0.0))]
    fn add(
        &self,
        py: Python<'_>,
        columns: Vec<Bound<'_, TextColumn>>,
        threads: usize,
        skip: usize,
        patience: f64,
    ) -> PyResult<()> {
        let texts = texts_of(&columns);
        let texts = texts.get(skip..).unwrap_or_default();
        let mut counter = self.take()?;
        let patience = Duration::try_from_secs_f64(patience).unwrap_or_default();
        let mut watch = SignalCheck::new(None).with_grace_period(patience);
        let done = py.detach(|| counter.add(texts, threads, &mut || watch.keep_going(0)));
        if done.is_ok() {
            self.put_back(counter);
        }
        watch.finish(done, |(index, failed)| {
            let error = error::plain(py, failed);
            match error.value(py).setattr("document", index) {
                Ok(()) => error,
                Err(failed) => failed,
            }
        })
    }

    /// Returns (documents, bytes, special tokens) so far.
    fn totals(&self) -> PyResult<(u64, u64, u64)> {
        self.look(|counter| {
            let totals = counter.totals();
            (totals.documents, totals.bytes, totals.special_tokens)
        })
    }

    /// Returns the memory of the counts in bytes, and the position in the corpus at which the counted documents end.
    fn memory(&self) -> PyResult<(usize, u64)> {
        self.look(|counter| (counter.memory(), counter.end()))
    }

    /// Writes all counts as a run to a new file, and frees their memory. If `durable`, syncs the file to disk.
    #[pyo3(signature = (path, durable = true))]
    fn spill(&self, py: Python<'_>, path: PathBuf, durable: bool) -> PyResult<()> {
        let mut counter = self.take()?;
        let spill = |keep_going: KeepGoing<'_>| write_run(&path, durable, |writer| counter.spill(keep_going, writer));
        run_with_signals(py, spill, |failed| error::plain(py, failed))?;
        mmap::trim();
        self.put_back(counter);
        Ok(())
    }

    /// Merges the counts with the counts in the files `runs`, and drops pretokens with a count below `min_count`.
    /// Returns the merged counts, and the totals of the dropped pretokens. If the merged counts exceed `memory`, they
    /// spill to files. The counter cannot be used afterwards.
    #[pyo3(signature = (runs, min_count, memory = None))]
    fn finish(
        &self,
        py: Python<'_>,
        runs: Vec<PathBuf>,
        min_count: u64,
        memory: Option<&Limit>,
    ) -> PyResult<(Counts, DroppedColumns)> {
        let (counter, memory) = (self.take()?, mmap::memory(memory));
        let finish = |keep_going: KeepGoing<'_>| {
            let runs = read_runs(&runs)?;
            memory.enforce_during(|| counter.finish(runs, min_count, &memory, keep_going))
        };
        let (counts, _, dropped) = run_with_signals(py, finish, |failed| error::plain(py, failed))?;
        Ok((Counts(counts), columns(dropped)))
    }
}
