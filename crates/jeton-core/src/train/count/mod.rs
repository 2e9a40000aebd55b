//! Documents → distinct pretokens with 64-bit counts, in the order of their first appearance.
//!
//! ```text
//! stages      stages before counting
//! table       distinct pretokens, with counts and first positions
//! worker      one thread: counts its parts of the text in its own table
//! join        combination of the tables of all threads
//! spilling    a table that spills to sorted runs, for the segments of Unigram
//! run         sorted counts as bytes, for spilling and files
//! merge       k-way merge of sorted counts in tables and runs
//! scripts     counts by script
//! arithmetic  subtraction and weighting of counts
//! ```
//!
//! Invariant: the result depends only on the documents and their order, not on threads or on the grouping of documents
//! into calls. Each thread has its own table for the whole corpus, in which each pretoken has its first position in the
//! corpus. Tables are combined once, at the end, and the lowest position determines the order.
//!
//! Positions: a document gets [`Stages::places_a_byte`] positions for each of its bytes, so that all pretokens that
//! begin at a byte have different positions.
//!
//! Cost: one pass over the text, with batched lookups of pretokens. Memory is linear in the distinct pretokens of
//! each thread. To bound it, the caller reads the size of the tables ([`Counter::memory`]) and spills the counts
//! ([`Counter::spill`]) when they are too large. Left out: formats such as JSONL, which the caller reads, and files,
//! which the caller opens. Plain version: `reference/step08_split.py`, a `dict` of counts.

mod arithmetic;
mod join;
mod merge;
mod run;
mod scripts;
mod spilling;
mod stages;
mod table;
mod worker;

use std::sync::Mutex;

use crate::added_tokens::AddedTokenMatcher;
use crate::error::{Error, ErrorKind, Result};
use crate::parallel::{self, BatchPart, Landing};
use crate::pretokenize::Pretokenizer;
use crate::util::cancel::KeepGoing;
use crate::util::spill::MemoryLimit;
pub use merge::{merge, Dropped, Sink};
pub use run::{RunReader, RunWriter, Source};
pub use scripts::Share;
pub(in crate::train) use spilling::SpillingCounts;
pub use stages::{Stages, END_OF_TEXT};
pub use table::Counts;
use worker::{CountWorker, DocumentSegment};

/// Number of bytes of text that a thread counts in one round.
const ROUND: usize = 32 << 20;

/// Totals of the documents.
#[derive(Debug, Clone, Copy, Default)]
pub struct Totals {
    /// Number of documents.
    pub documents: u64,
    /// Total bytes of the documents.
    pub bytes: u64,
    /// Number of special tokens in the documents, each of which separates pretokens.
    pub special_tokens: u64,
}

/// Counter of the pretokens in documents, which are added batch by batch.
#[derive(Debug)]
pub struct Counter {
    stages: Stages,
    special: Option<AddedTokenMatcher>,
    workers: Vec<CountWorker>,
    totals: Totals,
}

impl Counter {
    /// Creates a counter that splits documents at `special` tokens, and the text between them into pretokens.
    pub fn new(stages: Stages, special: Option<AddedTokenMatcher>) -> Self {
        Self { stages, special, workers: Vec::new(), totals: Totals::default() }
    }

    /// Returns the totals so far.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Counts `documents`, in order, on up to `threads` threads. `watch` is called regularly in the calling thread;
    /// if it returns false, counting stops with [`crate::error::ErrorKind::Interrupted`]. After an error the counter is
    /// invalid.
    ///
    /// # Errors
    /// [`Error::text`] for a regex that needs too many steps, with the index of the document and the byte offset in it;
    /// the errors of [`Counts::add`], with index 0.
    pub fn add(
        &mut self,
        documents: &[&str],
        threads: usize,
        watch: &mut dyn FnMut() -> bool,
    ) -> std::result::Result<(), (usize, Error)> {
        let mut segments = Vec::with_capacity(documents.len());
        for (index, document) in documents.iter().enumerate() {
            self.cut(document, index, &mut segments);
            self.totals.documents += 1;
            self.totals.bytes += document.len() as u64;
        }
        self.count(&segments, threads, watch).map_err(|error| locate(error, &segments))
    }

    fn cut<'t>(&mut self, document: &'t str, index: usize, segments: &mut Vec<DocumentSegment<'t>>) {
        let mut push = |start: usize, end: usize| {
            let place = (self.totals.bytes + start as u64) * self.stages.places_a_byte();
            segments.push(DocumentSegment { text: &document[start..end], document: index, at: start, place });
        };
        let mut start = 0;
        if let Some(special) = &self.special {
            while let Some(found) = special.find(document.as_bytes(), start) {
                self.totals.special_tokens += 1;
                push(start, found.start);
                start = found.end;
            }
        }
        push(start, document.len());
    }

    fn count(
        &mut self,
        segments: &[DocumentSegment<'_>],
        threads: usize,
        watch: &mut dyn FnMut() -> bool,
    ) -> Result<()> {
        let texts: Vec<&str> = segments.iter().map(|segment| segment.text).collect();
        let bytes: usize = texts.iter().map(|text| text.len()).sum();
        let threads = threads.min(bytes / parallel::BYTES_WORTH_A_THREAD).max(1);
        // A single pattern can be applied to part of a text, but all other stages need whole texts. For these stages,
        // each part of the work ends where a text ends.
        let whole = Pretokenizer::none();
        let cutter = if let Stages::Pattern(pattern) = &self.stages { pattern } else { &whole };
        let parts = parallel::plan(&texts, cutter, bytes.div_ceil(ROUND).next_multiple_of(threads))?;
        if self.workers.len() < threads {
            self.workers.resize_with(threads, CountWorker::default);
        }
        let stages = &self.stages;
        let mut landing = None;
        for group in parts.chunks(threads) {
            landing = round(&mut self.workers, group, landing, watch, |worker, part, keep_going| {
                worker.count(part, stages, segments, keep_going)
            })?;
        }
        Ok(())
    }

    /// Continues from another counter, which had these `totals` and has spilled its counts.
    pub fn resume(&mut self, totals: Totals) {
        self.totals = totals;
    }

    /// Returns the memory of the tables in bytes.
    pub fn memory(&self) -> usize {
        self.workers.iter().map(|worker| worker.counts().memory()).sum()
    }

    /// Writes all counts to `sink`, sorted in byte order, and frees the tables.
    ///
    /// # Errors
    /// Errors of `sink`; `Interrupted`. After an error the counter is invalid.
    pub fn spill(&mut self, keep_going: KeepGoing<'_>, sink: &mut impl Sink) -> Result<()> {
        self.merge_with(Vec::new(), 0, keep_going, sink).map(drop)
    }

    /// Merges the counts with the spilled counts in `runs`, and drops pretokens with a count below `min_count`.
    ///
    /// # Errors
    /// As [`Counter::spill`]; errors of `runs`.
    pub fn merge_with(
        &mut self,
        runs: Vec<Box<dyn Source + Send + '_>>,
        min_count: u64,
        keep_going: KeepGoing<'_>,
        sink: &mut impl Sink,
    ) -> Result<Dropped> {
        let mut tables: Vec<_> = self.workers.drain(..).map(CountWorker::into_counts).collect();
        let sorting: Vec<_> = tables.iter_mut().map(Mutex::new).collect();
        let sort = |at: usize, _: KeepGoing<'_>| {
            if let Ok(mut table) = sorting[at].lock() {
                table.sort_by_bytes();
            }
            Ok(())
        };
        parallel::jobs(sorting.len(), sorting.len(), &mut || true, sort).into_iter().collect::<Result<Vec<()>>>()?;
        drop(sorting);
        let mut sources = runs;
        sources.extend(tables.iter().map(|table| Box::new(table.sorted()) as Box<dyn Source + Send + '_>));
        merge::merge(&mut sources, min_count, keep_going, sink)
    }

    /// Adds the spilled counts in `runs` to the counts, and drops pretokens that occur fewer than `min_count` times.
    /// Returns the remaining counts, the totals of the documents, and the totals of the dropped pretokens. If there are
    /// `runs`, the returned counts are in files.
    ///
    /// # Errors
    /// As [`Counts::add`] and [`Counter::merge_with`].
    pub fn finish(
        mut self,
        runs: Vec<Box<dyn Source + Send + '_>>,
        min_count: u64,
        memory: &MemoryLimit,
        keep_going: KeepGoing<'_>,
    ) -> Result<(Counts, Totals, Dropped)> {
        let end = self.end();
        let (mut counts, mut dropped): (Counts, Dropped);
        if runs.is_empty() {
            counts = join::all(self.workers.into_iter().map(CountWorker::into_counts).collect())?;
            dropped = Dropped::default();
            if min_count > 1 {
                dropped = counts.drop_rare(min_count, keep_going)?;
            }
        } else {
            counts = Counts::within(&memory.in_files());
            dropped = self.merge_with(runs, min_count, keep_going, &mut counts)?;
            counts.sort_by_place()?;
            counts.release();
        }
        counts.ends_at(end);
        Ok((counts, self.totals, dropped))
    }

    /// Returns the position after all documents.
    pub fn end(&self) -> u64 {
        self.totals.bytes.saturating_mul(self.stages.places_a_byte())
    }
}

/// Counts the pretokens of consecutive parts, each part on its own worker. `landing` is the position where the last
/// pretoken of the previous round ends. Counting in the first part starts there.
fn round<'t>(
    workers: &mut [CountWorker],
    group: &[BatchPart<'t>],
    landing: Option<Landing>,
    watch: &mut dyn FnMut() -> bool,
    count: impl Fn(&mut CountWorker, &BatchPart<'t>, &dyn Fn() -> bool) -> Result<Landing> + Sync,
) -> Result<Option<Landing>> {
    let parts: Vec<BatchPart<'t>> = group.iter().enumerate().map(|(i, part)| part.renumbered(i, landing)).collect();
    // For each worker: the part that the worker has counted in this round, and the size of the worker's table before
    // this count. If the part turns out to begin inside a pretoken, the count of the part is undone, and the part is
    // counted again from another position.
    let seats: Vec<_> = workers.iter_mut().map(|worker| Mutex::new((worker, None))).collect();
    let landings = parallel::run(&parts, watch, |part, keep_going| {
        let lost = || Error::from(ErrorKind::Internal("a worker was lost".into()));
        let mut seat = seats.get(part.index).and_then(|seat| seat.lock().ok()).ok_or_else(lost)?;
        let (worker, done) = &mut *seat;
        if let Some((wrong, mark)) = done.take() {
            worker.undo(mark, |worker| count(worker, &wrong, &|| true).map(drop))?;
        }
        *done = Some((*part, worker.mark()));
        let landing = count(worker, part, keep_going)?;
        Ok((landing, landing))
    })?;
    Ok(landings.last().copied().or(landing))
}

/// Finds the document in which an error occurred. The offset in `error` counts from the start of the concatenated
/// segments. Returns the index of the document, and the error with its offset from the start of the document.
fn locate(error: Error, segments: &[DocumentSegment<'_>]) -> (usize, Error) {
    let ErrorKind::Text { message, at } = error.kind() else { return (0, error) };
    let mut before = 0;
    for segment in segments {
        if *at < before + segment.text.len() {
            return (segment.document, Error::text(message, segment.at + at - before));
        }
        before += segment.text.len();
    }
    (0, error)
}
