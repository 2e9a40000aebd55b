//! Documents → distinct pretokens with 64-bit counts, in the order of their first appearance.
//!
//! Invariant: the result depends on the documents and their order alone, not on threads, nor on how documents are grouped
//! into calls. Threads take consecutive parts of a batch; the tables are joined in the order of the text, so "first" needs no
//! positions. One long document is cut, too: see [`crate::parallel`].
//!
//! Cost: one hash and one table look-up a pretoken; memory follows the distinct pretokens.
//! Left out: spilling to disk, JSONL and the like (the caller reads).
//! Plain version: `reference/step08_split.py`, a `dict` of counts.

use hashbrown::hash_table::Entry;
use hashbrown::HashTable;

use crate::error::{Error, ErrorKind, Result};
use crate::hash::Hash;
use crate::parallel::{self, Landing, Part};
use crate::pretokenize::Pretokenizer;
use crate::special::Matcher;

/// Distinct pretokens and how often each stands in the corpus.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    arena: Vec<u8>,
    entries: Vec<Pretoken>,
    table: HashTable<u32>, // index into entries
    hash: Hash,
}

#[derive(Debug, Clone, Copy)]
struct Pretoken {
    start: u64,
    len: u32,
    hash: u32,
    count: u64,
}

impl Counts {
    /// Distinct pretokens.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// All pretokens, with repetition.
    pub fn total(&self) -> u64 {
        self.entries.iter().fold(0, |sum, entry| sum.saturating_add(entry.count))
    }

    /// Pretokens with their counts, in the order of first appearance.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], u64)> {
        self.entries.iter().map(|entry| (self.bytes(entry), entry.count))
    }

    fn bytes(&self, entry: &Pretoken) -> &[u8] {
        &self.arena[entry.start as usize..entry.start as usize + entry.len as usize]
    }

    /// Adds `count` occurrences of `pretoken`.
    ///
    /// # Errors
    /// [`Error::training`] past 2³² distinct pretokens, a pretoken of 4 GiB, or a count of 2⁶⁴.
    #[inline]
    pub fn add(&mut self, pretoken: &[u8], count: u64) -> Result<()> {
        let hash = self.hash.bytes(pretoken);
        let Self { arena, entries, table, .. } = self;
        let found = table.entry(
            hash,
            |&i| {
                let entry = &entries[i as usize];
                let start = entry.start as usize;
                entry.hash == hash as u32
                    && entry.len as usize == pretoken.len()
                    && &arena[start..start + pretoken.len()] == pretoken
            },
            |&i| {
                let entry = &entries[i as usize];
                let start = entry.start as usize;
                self.hash.bytes(&arena[start..start + entry.len as usize])
            },
        );
        match found {
            Entry::Occupied(slot) => {
                let entry = &mut entries[*slot.get() as usize];
                entry.count = entry.count.checked_add(count).ok_or_else(|| Error::training("a count passes 2^64"))?;
            }
            Entry::Vacant(slot) => {
                let (Ok(index), Ok(len)) = (u32::try_from(entries.len()), u32::try_from(pretoken.len())) else {
                    return Err(Error::training(
                        "more than 2^32 distinct pretokens, or one of 4 GiB or more: use a pattern that cuts the text",
                    ));
                };
                slot.insert(index);
                entries.push(Pretoken { start: arena.len() as u64, len, hash: hash as u32, count });
                arena.extend_from_slice(pretoken);
            }
        }
        Ok(())
    }

    /// Adds everything in `other`; what is new here comes after what was here, in `other`'s order.
    ///
    /// # Errors
    /// As [`Counts::add`].
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        other.iter().try_for_each(|(pretoken, count)| self.add(pretoken, count))
    }
}

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
    pretokenizer: Pretokenizer,
    special: Option<Matcher>,
    counts: Counts,
    totals: Totals,
}

impl Counter {
    /// A counter that cuts documents at `special` tokens, then into pretokens.
    pub fn new(pretokenizer: Pretokenizer, special: Option<Matcher>) -> Self {
        Self { pretokenizer, special, counts: Counts::default(), totals: Totals::default() }
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
        let pretokenizer = &self.pretokenizer;
        let parts = parallel::plan(segments, pretokenizer, threads)?;
        // The first part starts where the text does, so it is always right and counts straight into the whole.
        let first = std::sync::Mutex::new(Some(std::mem::take(&mut self.counts)));
        let work = |part: &Part<'_>, go_on: &dyn Fn() -> bool| {
            let head = if part.index == 0 { first.lock().ok().and_then(|mut counts| counts.take()) } else { None };
            count_part(part, pretokenizer, head.unwrap_or_default(), go_on)
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
    pretokenizer: &Pretokenizer,
    mut counts: Counts,
    go_on: &dyn Fn() -> bool,
) -> Result<(Counts, Landing)> {
    let landing =
        part.for_each_span(pretokenizer, go_on, |text, span| counts.add(&text.as_bytes()[span.start..span.end], 1))?;
    Ok((counts, landing))
}
