//! Table of counts of pretokens. Above a memory limit, the table spills to sorted runs. The only order in which callers
//! can read the counts is the byte order of the pretokens.
//!
//! ```text
//! run     length: u32 | bytes | count: u64      native byte order, ascending; all runs are in one vector
//! ```
//!
//! Invariant: the result does not depend on the memory limit.
//!
//! Cost: the same as for [`Counts`]. If the limit is exceeded, each entry is also sorted, written and read once. The
//! runs are in a memory-mapped file. Unlike the runs of [`super::RunWriter`], these runs do not contain the first
//! position of each pretoken in the corpus.

use super::merge::{self, Sink};
use super::run::Source;
use super::table::Counts;
use crate::error::{Error, ErrorKind, Result};
use crate::util::cancel::KeepGoing;
use crate::util::spill::{MemoryLimit, SpillVec};

/// Counts, partly in a table in memory and partly in sorted runs.
#[derive(Debug)]
pub(in crate::train) struct SpillingCounts {
    table: Counts,
    runs: SpillVec<u8>,
    ends: Vec<usize>, // end of each run in `runs`
    most: usize,      // maximum bytes of the table before it spills
}

impl SpillingCounts {
    /// Creates an empty table.
    pub fn new(memory: &MemoryLimit) -> Self {
        // The table spills at a quarter of the limit, because a growing table has its old and its new slots in memory
        // at the same time.
        let most = memory.working_memory(1).saturating_mul(2);
        Self { table: Counts::default(), runs: SpillVec::new(&memory.in_files()), ends: Vec::new(), most }
    }

    /// Adds `count` occurrences of `pretoken`.
    ///
    /// # Errors
    /// As [`Counts::add`]; I/O errors of the runs.
    pub fn add(&mut self, pretoken: &[u8], count: u64) -> Result<()> {
        self.table.add(pretoken, count)?;
        if self.table.memory() > self.most {
            self.spill()?;
        }
        Ok(())
    }

    #[cold]
    fn spill(&mut self) -> Result<()> {
        let mut table = std::mem::take(&mut self.table);
        table.sort_by_bytes();
        for (pretoken, count) in table.iter() {
            let length = u32::try_from(pretoken.len()).map_err(|_| Error::training("a pretoken of 4 GiB or more"))?;
            self.runs.extend_from_slice(&length.to_ne_bytes())?;
            self.runs.extend_from_slice(pretoken)?;
            self.runs.extend_from_slice(&count.to_ne_bytes())?;
        }
        self.ends.push(self.runs.len());
        Ok(())
    }

    /// Writes all counts to `sink`, in the order of bytes.
    ///
    /// # Errors
    /// Errors of `sink`; [`Error::training`] for a count of 2⁶⁴; `Interrupted`.
    pub fn finish(mut self, keep_going: KeepGoing<'_>, sink: &mut impl Sink) -> Result<()> {
        self.table.sort_by_bytes();
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        let runs = starts.zip(&self.ends).map(|(start, &end)| Run { left: &self.runs[start..end] });
        let mut sources: Vec<Box<dyn Source + Send + '_>> = runs.map(|run| Box::new(run) as _).collect();
        sources.push(Box::new(self.table.sorted()));
        merge::merge(&mut sources, 0, keep_going, sink).map(drop)
    }
}

/// Part of a run that has not been read yet.
struct Run<'r> {
    left: &'r [u8],
}

impl<'r> Run<'r> {
    fn take(&mut self, bytes: usize) -> Result<&'r [u8]> {
        let (taken, left) =
            self.left.split_at_checked(bytes).ok_or_else(|| ErrorKind::Internal("a run that ends too early".into()))?;
        self.left = left;
        Ok(taken)
    }

    fn number<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.take(N).map(|bytes| *bytes.first_chunk().unwrap_or(&[0; N]))
    }
}

impl Source for Run<'_> {
    fn next(&mut self, pretoken: &mut Vec<u8>) -> Result<Option<(u64, u64)>> {
        if self.left.is_empty() {
            return Ok(None);
        }
        let length = u32::from_ne_bytes(self.number()?) as usize;
        pretoken.clear();
        pretoken.extend_from_slice(self.take(length)?);
        Ok(Some((u64::from_ne_bytes(self.number()?), 0)))
    }
}
