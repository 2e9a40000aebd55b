//! K-way merge of sorted counts in the byte order of pretokens.
//!
//! For each pretoken, the counts of all sources are added, and the earliest of its positions is kept. So the result
//! does not depend on how a corpus is divided into sources.
//!
//! Cost: a heap with one pretoken for each source; memory is linear in the number of sources, not in their sizes.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::BinaryHeap;

use super::run::Source;
use super::table::Counts;
use crate::error::{Error, Result};
use crate::util::cancel::{CancelCheck, KeepGoing};

/// Destination of the merged pretokens, in byte order.
pub trait Sink {
    /// Accepts the next pretoken in byte order.
    ///
    /// # Errors
    /// Errors of the destination.
    fn take(&mut self, pretoken: &[u8], count: u64, first: u64) -> Result<()>;
}

impl<W: std::io::Write> Sink for super::run::RunWriter<W> {
    fn take(&mut self, pretoken: &[u8], count: u64, first: u64) -> Result<()> {
        self.push(pretoken, count, first)
    }
}

impl Sink for Counts {
    fn take(&mut self, pretoken: &[u8], count: u64, first: u64) -> Result<()> {
        self.push(pretoken, count, first)
    }
}

/// Totals of the pretokens that were dropped because they are rare.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Number of distinct pretokens.
    pub distinct: u64,
    /// Sum of the pretokens' counts.
    pub occurrences: u64,
    /// Total number of bytes of all occurrences.
    pub bytes: u64,
}

impl Dropped {
    /// Returns true if the count of a pretoken is at least `min_count`. Otherwise, adds the pretoken to the totals of
    /// dropped pretokens and returns false.
    pub(super) fn keeps(&mut self, pretoken: &[u8], count: u64, min_count: u64) -> bool {
        if count >= min_count {
            return true;
        }
        self.distinct += 1;
        self.occurrences = self.occurrences.saturating_add(count);
        self.bytes = self.bytes.saturating_add(count.saturating_mul(pretoken.len() as u64));
        false
    }
}

/// Current pretoken of a source. Heads are ordered by their pretoken only.
struct Head {
    pretoken: Vec<u8>,
    count: u64,
    first: u64,
    source: usize,
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.pretoken.cmp(&other.pretoken)
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.pretoken == other.pretoken
    }
}

impl Eq for Head {}

/// Writes the pretokens of all sources with a total count of at least `min_count` to `sink`; returns the totals of the
/// rarer pretokens.
///
/// # Errors
/// Errors of sources and sink; [`Error::training`] if a total count reaches 2⁶⁴; `Interrupted`.
pub fn merge(
    sources: &mut [Box<dyn Source + Send + '_>],
    min_count: u64,
    keep_going: KeepGoing<'_>,
    sink: &mut impl Sink,
) -> Result<Dropped> {
    let mut heap = BinaryHeap::with_capacity(sources.len());
    for (source, from) in sources.iter_mut().enumerate() {
        let mut pretoken = Vec::new();
        if let Some((count, first)) = from.next(&mut pretoken)? {
            heap.push(Reverse(Head { pretoken, count, first, source }));
        }
    }
    let (mut dropped, mut cancel) = (Dropped::default(), CancelCheck::new(keep_going));
    let mut pretoken = Vec::new();
    while let Some(Reverse(head)) = heap.peek() {
        cancel.check()?;
        pretoken.clone_from(&head.pretoken);
        let (mut sum, mut earliest) = (0u64, u64::MAX);
        while let Some(mut head) = heap.peek_mut().filter(|head| head.0.pretoken == pretoken) {
            let own = &mut head.0;
            sum = sum.checked_add(own.count).ok_or_else(|| Error::training("a count exceeds 2^64"))?;
            earliest = earliest.min(own.first);
            match sources[own.source].next(&mut own.pretoken)? {
                Some((count, first)) => (own.count, own.first) = (count, first),
                None => drop(PeekMut::pop(head)),
            }
        }
        if dropped.keeps(&pretoken, sum, min_count) {
            sink.take(&pretoken, sum, earliest)?;
        }
    }
    Ok(dropped)
}
