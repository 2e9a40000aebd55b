//! Documents → distinct pretokens with 64-bit counts, in the order of their first appearance.
//!
//! Invariant: the result depends on the documents and their order alone, not on threads, nor on how documents are grouped
//! into calls. Threads take consecutive parts of a batch; the tables are joined in the order of the text, so "first" needs no
//! positions. One long document is cut, too: see [`crate::parallel`].
//!
//! Cost: one hash and one table look-up a pretoken; memory follows the distinct pretokens.
//! Left out: spilling to disk, JSONL and the like (the caller reads).
//! Plain version: `reference/step08_split.py`, a `dict` of counts.

mod stages;
mod table;

use crate::error::{Error, ErrorKind, Result};
use crate::parallel::{self, Landing, Part};
use crate::pretokenize::Pretokenizer;
use crate::special::Matcher;
pub use stages::Stages;
pub use table::Counts;

/// What counting met besides pretokens.
#[derive(Debug, Clone, Copy, Default)]
pub struct Totals {
    /// Documents.
    pub documents: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Special tokens that stood in them, each a cut.
    pub special_tokens: u64,
}

/// Counts documents, batch by batch.
#[derive(Debug)]
pub struct Counter {
    stages: Stages,
    special: Option<Matcher>,
    counts: Counts,
    totals: Totals,
}

impl Counter {
    /// A counter that cuts documents at `special` tokens, then into pretokens.
    pub fn new(stages: Stages, special: Option<Matcher>) -> Self {
        Self { stages, special, counts: Counts::default(), totals: Totals::default() }
    }

    /// Counts `documents`, in order, on up to `threads` threads. `watch` is called about every 20 ms on the calling thread; when
    /// it returns false, counting stops with [`crate::error::ErrorKind::Interrupted`].
    ///
    /// # Errors
    /// [`Error::text`] for a regex that needs too many steps, with the index of the document and the byte in it; as
    /// [`Counts::add`], with index 0.
    pub fn add(
        &mut self,
        documents: &[&str],
        threads: usize,
        watch: &mut dyn FnMut() -> bool,
    ) -> std::result::Result<(), (usize, Error)> {
        let mut segments = Vec::with_capacity(documents.len());
        for document in documents {
            self.totals.documents += 1;
            self.totals.bytes += document.len() as u64;
            self.cut(document, &mut segments);
        }
        self.count(&segments, threads, watch).map_err(|error| locate(error, documents, &segments))
    }

    fn count(&mut self, segments: &[&str], threads: usize, watch: &mut dyn FnMut() -> bool) -> Result<()> {
        let bytes: usize = segments.iter().map(|segment| segment.len()).sum();
        let threads = threads.min(bytes / parallel::BYTES_WORTH_A_THREAD).max(1);
        let stages = &self.stages;
        // Through a draft a text is one piece of work, so that only the ends of texts are cuts.
        let whole = Pretokenizer::none();
        let cutter = if let Stages::Pattern(pattern) = stages { pattern } else { &whole };
        let parts = parallel::plan(segments, cutter, threads)?;
        // The first part starts where the text does, so it is always right and counts straight into the whole.
        let first = std::sync::Mutex::new(Some(std::mem::take(&mut self.counts)));
        let work = |part: &Part<'_>, go_on: &dyn Fn() -> bool| {
            let head = if part.index == 0 { first.lock().ok().and_then(|mut counts| counts.take()) } else { None };
            count_part(part, stages, segments, head.unwrap_or_default(), go_on)
        };
        let mut tables = parallel::run(&parts, watch, work)?.into_iter();
        self.counts = tables.next().unwrap_or_default();
        tables.try_for_each(|table| self.counts.merge(&table))
    }

    fn cut<'t>(&mut self, document: &'t str, segments: &mut Vec<&'t str>) {
        let mut start = 0;
        if let Some(special) = &self.special {
            while let Some(found) = special.find(document.as_bytes(), start) {
                self.totals.special_tokens += 1;
                segments.push(&document[start..found.start]);
                start = found.end;
            }
        }
        segments.push(&document[start..]);
    }

    /// The counts, and what else was met.
    pub fn finish(self) -> (Counts, Totals) {
        (self.counts, self.totals)
    }
}

/// The document of an error that names a byte of all segments together, and the error with the byte in that document.
fn locate(error: Error, documents: &[&str], segments: &[&str]) -> (usize, Error) {
    let ErrorKind::Text { message, at } = error.kind() else { return (0, error) };
    let mut before = 0;
    for segment in segments {
        if *at < before + segment.len() {
            let address = segment.as_ptr() as usize + (at - before);
            let holds = |document: &&str| document.as_bytes().as_ptr_range().end as usize >= address;
            let index = documents.iter().position(|document| document.as_ptr() as usize <= address && holds(document));
            let index = index.unwrap_or(0);
            return (index, Error::text(message, address - documents[index].as_ptr() as usize));
        }
        before += segment.len();
    }
    (0, error)
}

fn count_part(
    part: &Part<'_>,
    stages: &Stages,
    segments: &[&str],
    mut counts: Counts,
    go_on: &dyn Fn() -> bool,
) -> Result<(Counts, Landing)> {
    let landing = match stages {
        Stages::Pattern(pattern) => {
            part.for_each_span(pattern, go_on, |text, span| counts.add(&text.as_bytes()[span.start..span.end], 1))?
        }
        Stages::Parts(parts) => {
            let mut index = part.texts().start;
            part.for_each_range(|text, _, _| {
                let before = || segments[..index].iter().map(|text| text.len()).sum();
                parts
                    .for_each(text, go_on, |pretoken| counts.add(pretoken, 1))
                    .map_err(|error| error.shifted(before()))?;
                index += 1;
                Ok(text.len())
            })?
        }
    };
    Ok((counts, landing))
}
