//! Encoding of pretokens in batches. The ids are those of `Model::encode`.
//!
//! Invariant: each pretoken gets the ids that `Model::encode` gives it. They depend only on the pretoken, so they can
//! be looked up, cached, and computed in any order. Results that may contain special tokens are not cached, because
//! they depend on the caller's permission.
//!
//! ```text
//! boundaries of pretokens ─► token_table ─hit─► ids
//!                              │ miss
//!                              ▼
//!                            pretoken_cache ─hit─► ids
//!                              │ miss: leaves a gap in the ids
//!                              ▼
//!                            long_pretoken_cache ─miss─► model, many pretokens at once ─► gaps filled in order
//! ```
//!
//! In most languages, most pretokens are one token, which the token table finds without a branch. For most other
//! pretokens, the pretoken cache has a recent result. Pretokens of several short texts are looked up together. Misses,
//! also those of several short texts, are collected until some hundreds are pending. Then the longer pretokens are
//! looked up in the long-pretoken caches, and the remaining pretokens are merged together.
//!
//! The tables are built on request, or once encoding without them has cost about as much as building them
//! ([`Encoder::prepare`]). Until then, and for models without tables, every pretoken takes the slow path.
//!
//! Memory: the tables, which all threads share; an [`EncodeWorker`] of about 10 MiB for each thread, which is pooled
//! between calls; and up to 36 MiB by which the caches of all workers together may grow (`JETON_CACHE_MB` changes
//! this). Memory does not grow with the text.

mod batch;
mod caches;
mod growable_cache;
mod long_pretoken_cache;
mod pretoken_cache;
mod token_table;
mod words;

use std::iter::Peekable;
use std::ops::Range;
use std::slice::Iter;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::OnceLock;

use self::batch::{PretokenBatch, BATCH};
use self::caches::{Caches, GROUP};
use self::growable_cache::GrowableCache;
use self::token_table::{TokenTable, NOT_ENTRY};
use self::words::Word;
use crate::error::Result;
use crate::model::fast::{Bench, Fast, Job, TokenRange};
use crate::model::{Model, Out, Scratch, Specials};
use crate::pretokenize::{Pretokenizer, Starts};
use crate::util::atomic_cell::made_once;
use crate::util::atomic_cell::AtomicCell;
use crate::util::buffer_pool;
use crate::util::cancel::KeepGoing;
use crate::util::process;
use crate::util::short_key;
use crate::vocab::alphabet::WORD_START;
use crate::vocab::marks::{self, Marks};
use crate::vocab::merge_boundaries::MergeBoundaries;
use crate::vocab::merge_boundaries::SplitPoints;
use crate::vocab::{Kind, Vocab};

/// Number of pending items that triggers a flush. Items are ids found by lookups, misses, ids that were passed directly,
/// and ends of texts.
const WAITING: usize = 1 << 12;

/// Number of bytes of pending pretokens that triggers a flush.
const WAITING_BYTES: usize = 1 << 16;

/// Long pretokens are split into parts. The parts are looked up in batches of about this many bytes.
const PARTS_BYTES: usize = 1 << 12;

/// Maximum bytes of a text for this encoder, since its offsets have 32 bits.
pub const LONGEST: usize = 1 << 31;

/// Capacity of the pool of workers.
const MAX_WORKERS: usize = 8;

/// Maximum number of bytes by which the caches of all workers together grow.
const MAX_GROWTH: usize = 36 << 20;

/// Number of misses after which a worker allocates its caches. The page faults of a cache of 8 MiB take 4 ms, about the
/// time to merge a few thousand pretokens.
const MISSES_WORTH_CACHES: usize = 1 << 10;

/// Number of ids that one copy of fixed length moves.
const FIXED: usize = 16;

/// Maximum length in bytes of a short text. The pretokens of several short texts are looked up together.
const SHORT_TEXT: usize = 1 << 12;

/// Number of readable bytes after each pending pretoken. Reads of fixed length need them.
const PADDING: usize = 64;

/// Cost of building the tables, for each vocabulary entry. The unit is the cost of encoding a byte without tables:
/// building takes 0.3 to 0.4 microseconds for each entry, and tables save 6 to 10 nanoseconds for each byte of English.
const COST_OF_AN_ENTRY: usize = 40;

/// Cost of merging without tables. A pretoken that must be merged takes this many times as long, for each byte, as a
/// pretoken that equals a vocabulary entry.
const COST_OF_MERGING: usize = 4;

/// Returns true if the environment has `JETON_TABLES=always`, which builds the tables at once. This is for tests, and
/// for services whose first request must be fast.
fn always() -> bool {
    static ALWAYS: OnceLock<bool> = OnceLock::new();
    *made_once(&ALWAYS, || std::env::var("JETON_TABLES").as_deref() == Ok("always"))
}

/// Returns the value of `JETON_CACHE_MB` in the environment, in bytes, or else [`MAX_GROWTH`].
fn max_growth() -> usize {
    static MOST: OnceLock<usize> = OnceLock::new();
    *made_once(&MOST, || {
        let asked = std::env::var("JETON_CACHE_MB").ok().and_then(|text| text.parse::<usize>().ok());
        asked.map_or(MAX_GROWTH, |mebibytes| mebibytes.saturating_mul(1 << 20))
    })
}

/// Speed of the search for split points, as a number of vocabulary entries. The search examines this many entries in the
/// time that encoding one byte takes (without split points).
const ENTRIES_PER_BYTE: usize = 8;

/// State that all threads share: the tables, and when to build them.
#[derive(Debug)]
pub struct Encoder {
    marks: Marks, // spelling of `▁` in the texts
    tables: OnceLock<Tables>,
    growth: AtomicUsize,                         // bytes by which the caches have grown
    building: AtomicU32,                         // id of the process that is building the tables; 0: none
    spent: AtomicUsize,                          // cost so far without tables, in bytes of text
    break_even: usize,                           // value of `spent` at which the tables are built
    split_points: OnceLock<Option<SplitPoints>>, // split points inside of pretokens; computed for the first text
    workers: [AtomicCell<EncodeWorker>; MAX_WORKERS],
}

/// Lookup tables built from a model.
#[derive(Debug)]
struct Tables {
    tokens: Option<TokenTable>, // pretokens that are one token
    fast: Option<Fast>,
    boundaries: Option<MergeBoundaries>, // split points inside of pretokens
}

/// A pretoken that no table contains, and the position at which its ids must be inserted.
#[derive(Debug, Clone, Copy)]
struct Miss {
    at: u32, // index in the pending ids; the ids of the miss are inserted before it
    start: u32,
    len: u32,
    may_be_entry: bool,
    is_text: bool,  // the pretoken is known to be UTF-8
    is_first: bool, // this is the first part of its pretoken
}

impl Miss {
    fn text<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        &bytes[self.start as usize..(self.start + self.len) as usize]
    }
}

/// Source of the ids of a miss.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IdSource {
    Cache,
    Merges, // merged by the fast path, or found as an entry
    Model,
}

/// Pending pretokens that are looked up together. They were passed one by one, or come from short texts.
#[derive(Debug, Default)]
struct PendingPretokens {
    bytes: Vec<u8>,
    bounds: Vec<u32>,             // 0, then the end of each pretoken; empty if there are none
    between: Vec<(u32, Between)>, // items between pretokens, with the number of pretokens before them
    is_text: bool,                // all pending pretokens are UTF-8
}

/// Item between two pretokens.
#[derive(Debug, Clone, Copy)]
enum Between {
    /// An id that was passed directly and needs no lookup.
    Id(u32),
    EndOfText,
}

/// Buffers and caches of one thread.
pub struct EncodeWorker {
    starts: Starts,
    batch: Box<PretokenBatch>,
    caches: Caches,
    parts: Vec<u32>, // starts of the parts of a long pretoken
    pending: PendingPretokens,
    ids: Vec<u32>,
    misses: Vec<Miss>,
    bytes: Vec<u8>,  // bytes of the misses
    marked: Vec<u8>, // a pretoken with `▁` instead of spaces
    between: Vec<(Place, Between)>,
    found: Vec<TokenRange>,
    tokens: Vec<u32>,
    jobs: Vec<Job>,
    sum: f64, // score of the current pretoken so far, for models that add up scores of words
    bench: Bench,
    scratch: Scratch,
    growth: usize, // bytes by which the caches have grown
    merged: usize, // bytes that were merged without tables
    num_misses: usize,
}

impl std::fmt::Debug for EncodeWorker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker").finish_non_exhaustive()
    }
}

/// Output of one call.
#[derive(Debug, Default)]
pub struct Written {
    /// The ids; empty if they are only counted.
    pub ids: Vec<u32>,
    /// Number of ids up to the end of each text.
    pub ends: Vec<usize>,
    /// Total number of ids.
    pub count: usize,
    /// True to count ids without storing them.
    pub counts_only: bool,
    /// Expected number of ids, for the initial capacity.
    pub expected: usize,
}

impl Tables {
    fn new(vocab: &Vocab, model: &Model, marks: Marks, keep_going: KeepGoing<'_>) -> Result<Self> {
        let fast = Fast::new(vocab, model, marks, keep_going)?;
        let merges_bytes = fast.as_ref().filter(|fast| fast.merges_bytes());
        let boundaries = merges_bytes.map(|fast| fast.boundaries(vocab, model, keep_going)).transpose()?;
        Ok(Self { tokens: token_table(vocab, model, marks, fast.as_ref(), keep_going)?, fast, boundaries })
    }
}

/// Builds the table of pretokens that are one token. If whole entries take precedence over merges, the table has all
/// entries; otherwise, it has only entries that the model encodes as one token.
fn token_table(
    vocab: &Vocab,
    model: &Model,
    marks: Marks,
    fast: Option<&Fast>,
    keep_going: KeepGoing<'_>,
) -> Result<Option<TokenTable>> {
    let tokens = || vocab.iter().filter(|entry| entry.1 == Kind::Token && !entry.2.is_empty());
    Ok(match (model.as_bpe(), fast) {
        (Some(bpe), _) if bpe.whole_first() => {
            let added = bpe.added_entries().map(|id| (vocab.content(id), id));
            let entries = tokens().map(|(id, _, content)| (content, id)).chain(added);
            Some(TokenTable::new(entries.filter(|entry| !entry.0.is_empty()), vocab.num_tokens()))
        }
        (_, Some(fast)) => {
            let spelled: Vec<_> = tokens()
                .filter_map(|(id, _, content)| Some((marks.spelled(content)?, id)))
                .filter(|(content, _)| content.len() <= short_key::MAX_BYTES)
                .collect();
            let made = fast.made(vocab, spelled.iter().map(|(content, id)| (&**content, *id)), keep_going)?;
            let contents = made.iter().filter_map(|&id| Some((marks.spelled(vocab.content(id))?, id)));
            let contents: Vec<_> = contents.collect();
            Some(TokenTable::new(contents.iter().map(|(content, id)| (&**content, *id)), made.len()))
        }
        (_, None) if matches!(model, Model::WordPiece(_)) => {
            let (mut scratch, mut ids) = (Scratch::default(), Vec::new());
            let mut made = |content: &[u8]| {
                ids.clear();
                let done = model.encode(vocab, content, &|| true, &mut scratch, &mut Out::ids(&mut ids));
                done.ok().and(ids.first().copied()).filter(|_| ids.len() == 1)
            };
            let own = tokens().filter_map(|(_, _, content)| Some((content, made(content)?)));
            Some(TokenTable::new(own, vocab.num_tokens()))
        }
        // This table is empty. It exists because the pretoken cache is only used if there is a token table.
        (_, None) if matches!((model, marks), (Model::Unigram(_), Marks::Spaces { .. })) => {
            Some(TokenTable::new(std::iter::empty(), 0))
        }
        _ => None,
    })
}

impl Encoder {
    /// Creates the encoder of a model, without tables. `marks` is the spelling of `▁` in the texts to encode.
    pub fn new(vocab: &Vocab, model: &Model, marks: Marks) -> Self {
        let is_free = always() || matches!(model, Model::Unigram(_)); // Unigram's table is empty, so it costs nothing
        Self {
            marks,
            tables: OnceLock::new(),
            growth: AtomicUsize::new(0),
            building: AtomicU32::new(0),
            spent: AtomicUsize::new(0),
            break_even: if is_free { 0 } else { vocab.num_tokens() * COST_OF_AN_ENTRY },
            split_points: OnceLock::new(),
            workers: Default::default(),
        }
    }

    /// Adds `bytes` to the number of bytes encoded without tables. Builds the tables when this number is so large that
    /// the tables are worth their cost.
    ///
    /// # Errors
    /// `Interrupted` while the tables are built.
    pub fn prepare(&self, vocab: &Vocab, model: &Model, bytes: usize, keep_going: KeepGoing<'_>) -> Result<()> {
        if self.tables.get().is_some() {
            return Ok(());
        }
        // A load and a store are used instead of an atomic addition, whose locked instruction would slow down short
        // texts. If two threads add at the same time, one of their additions is lost, which is harmless.
        let spent = self.spent.load(Ordering::Relaxed).saturating_add(bytes);
        self.spent.store(spent, Ordering::Relaxed);
        if spent >= self.break_even {
            // While one thread builds the tables, other threads take the slow path. If the process is forked in the
            // meantime, the child process lacks the building thread. If the child waited for it, the wait would not
            // end; if the child did not wait, it would never have the tables. So a thread of the child builds them.
            let (building, own) = (self.building.load(Ordering::Relaxed), process::id());
            let take = || self.building.compare_exchange(building, own, Ordering::Acquire, Ordering::Relaxed);
            if building != own && take().is_ok() {
                let made = match self.tables.get() {
                    Some(_) => Ok(()),
                    None => Tables::new(vocab, model, self.marks, keep_going).map(|made| drop(self.tables.set(made))),
                };
                self.building.store(0, Ordering::Release);
                made?;
            }
        }
        Ok(())
    }

    fn token_table(&self) -> Option<&TokenTable> {
        self.tables.get()?.tokens.as_ref()
    }

    fn fast(&self) -> Option<&Fast> {
        self.tables.get()?.fast.as_ref()
    }

    /// Runs `work` with a worker from the pool, or with a new worker if the pool is empty.
    pub fn with_worker<R>(&self, work: impl FnOnce(&mut EncodeWorker) -> R) -> R {
        let mut worker = self.workers.iter().find_map(AtomicCell::take).unwrap_or_default();
        let result = work(&mut worker);
        worker.clear();
        let growth = worker.growth;
        let mut left = Some(worker);
        for slot in &self.workers {
            left = left.and_then(|worker| slot.put(worker));
        }
        if left.is_some() {
            self.growth.fetch_sub(growth, Ordering::Relaxed);
        }
        result
    }

    /// Doubles a cache that evicts often, if the memory limit permits it.
    fn grow_if_permitted(&self, cache: &mut dyn GrowableCache, growth: &mut usize) {
        match cache.growth_bytes() {
            0 => {}
            bytes if self.permits(bytes, growth) => cache.grow(),
            _ => cache.keep_size(),
        }
    }

    /// Reserves `bytes` of the memory limit for a worker; returns false if that would exceed the limit.
    fn permits(&self, bytes: usize, growth: &mut usize) -> bool {
        let fits = |sum: usize| sum.checked_add(bytes).filter(|&sum| sum <= max_growth());
        let permitted = self.growth.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok();
        *growth += if permitted { bytes } else { 0 };
        permitted
    }
}

impl Default for EncodeWorker {
    fn default() -> Self {
        Self {
            starts: Starts::default(),
            batch: Box::default(),
            caches: Caches::default(),
            parts: Vec::new(),
            pending: PendingPretokens::default(),
            ids: Vec::new(),
            misses: Vec::new(),
            bytes: Vec::new(),
            marked: Vec::new(),
            between: Vec::new(),
            found: Vec::new(),
            tokens: Vec::new(),
            jobs: Vec::new(),
            sum: 0.0,
            bench: Bench::default(),
            scratch: Scratch::default(),
            growth: 0,
            merged: 0,
            num_misses: 0,
        }
    }
}

impl EncodeWorker {
    /// Allocates the caches after [`MISSES_WORTH_CACHES`] misses, or in the first call if `JETON_TABLES=always` is set.
    /// The pretoken cache is allocated only if the token table has been built.
    fn prepare(&mut self, encoder: &Encoder) {
        self.num_misses = self.num_misses.saturating_add(self.misses.len());
        if self.num_misses < MISSES_WORTH_CACHES && !always() {
            return;
        }
        self.caches.allocate_long();
        if !self.caches.has_pretokens() && encoder.token_table().is_some() {
            self.caches.allocate_pretokens(|bytes| encoder.permits(bytes, &mut self.growth));
        }
    }

    /// Adds an item that follows the pending pretokens in the output.
    #[inline]
    fn come_between(&mut self, what: Between) {
        let Self { pending, between, ids, misses, .. } = self;
        match pending.bounds.len().checked_sub(1) {
            Some(count) => pending.between.push((count as u32, what)),
            None => between.push((Place::after(ids, misses), what)),
        }
    }

    /// Drops pending pretokens and misses, and shrinks buffers that have grown for a long pretoken.
    fn clear(&mut self) {
        self.pending.bytes.clear();
        self.pending.bytes.shrink_to(4 * WAITING_BYTES);
        self.pending.bounds.clear();
        self.pending.between.clear();
        self.ids.clear();
        self.misses.clear();
        self.found.clear();
        self.bytes.clear();
        self.bytes.shrink_to(4 * WAITING_BYTES);
        self.marked.shrink_to(WAITING_BYTES);
        self.between.clear();
        self.tokens.clear();
        self.tokens.shrink_to(WAITING_BYTES);
        self.scratch.forget_large();
    }
}

/// State of one call, which gets pretokens and returns ids.
pub struct EncodeCall<'r> {
    /// The vocabulary.
    pub vocab: &'r Vocab,
    /// The model.
    pub model: &'r Model,
    /// The permitted special tokens.
    pub special: Specials<'r>,
    /// The encoder. Its tables may not be built yet.
    pub encoder: &'r Encoder,
    /// Buffers and caches of this thread.
    pub worker: &'r mut EncodeWorker,
    /// Cancellation callback.
    pub keep_going: KeepGoing<'r>,
    /// Output, to which ids are appended.
    pub out: &'r mut Written,
    /// True to look up the pretokens of several short texts together. If there are many texts, this saves more time
    /// than it costs to copy their bytes.
    pub joins_texts: bool,
}

impl<'r> EncodeCall<'r> {
    /// Returns the split points inside of pretokens. For SentencePiece's BPE, returns None until some text has been
    /// encoded: with only a few short texts, finding the split points would cost more time than they save.
    #[inline]
    fn split_points(&self) -> Option<&'r SplitPoints> {
        let encoder: &'r Encoder = self.encoder;
        if let Some(made) = encoder.split_points.get() {
            return made.as_ref();
        }
        let is_early = encoder.spent.load(Ordering::Relaxed) < self.vocab.num_tokens() / ENTRIES_PER_BYTE;
        if is_early && matches!(self.model, Model::Pieces(_)) {
            return None;
        }
        made_once(&encoder.split_points, || self.model.split_points(self.vocab, encoder.marks)).as_ref()
    }
}

impl EncodeCall<'_> {
    /// Appends an id that needs no lookup.
    ///
    /// # Errors
    /// As [`EncodeCall::flush`].
    #[inline]
    pub fn known(&mut self, id: u32) -> Result<()> {
        self.worker.come_between(Between::Id(id));
        if self.worker.pending.between.len() > BATCH {
            self.look_up_pending();
        }
        self.flush_if_full()
    }

    /// Ends a text.
    #[inline]
    pub fn end_of_text(&mut self) {
        self.worker.come_between(Between::EndOfText);
    }

    /// Encodes one pretoken, in which `▁` is written as in the vocabulary. `is_text` is true if the bytes are known to
    /// be UTF-8.
    ///
    /// # Errors
    /// As [`EncodeCall::flush`].
    #[inline]
    pub fn pretoken(&mut self, bytes: &[u8], is_text: bool) -> Result<()> {
        match self.encoder.marks {
            Marks::Written => self.joined(&[], bytes, is_text),
            Marks::Spaces { .. } => self.joined(&[], &marks::with_spaces(bytes), is_text),
        }
    }

    /// Encodes `prefix` followed by `text` as one pretoken, or as several if each `▁` begins a pretoken. In `prefix`,
    /// `▁` must be spelled as in `Encoder::marks`. Does nothing if the text is empty.
    ///
    /// # Errors
    /// As [`EncodeCall::flush`].
    #[inline]
    pub fn marked(&mut self, prefix: &[u8], text: &str) -> Result<()> {
        let text = marks::with_spaces(text.as_bytes());
        if !matches!((self.model, self.encoder.marks), (Model::Unigram(_), Marks::Spaces { .. })) {
            return self.joined(prefix, &text, true); // split points are before all marks
        }
        let mut start = 0;
        let mut prefix = prefix;
        while start < text.len() {
            let from = if prefix.is_empty() { start + 1 } else { start };
            let end = memchr::memchr(b' ', &text[from..]).map_or(text.len(), |at| from + at);
            self.add_one(std::mem::take(&mut prefix), &text[start..end])?;
            start = end;
        }
        Ok(())
    }

    /// Encodes the words of a text, which are separated by white space. A `▁` is put in front of each word. A `▁`
    /// inside of a word begins another pretoken.
    ///
    /// # Errors
    /// As [`EncodeCall::flush`].
    pub fn words(&mut self, text: &str) -> Result<()> {
        let mut start = 0;
        while start < text.len() {
            let word = Word::at(text, start);
            let own = &text[start..word.end];
            if word.has_mark {
                // If the word already begins with a mark, no other mark is put in front.
                let skipped = usize::from(own.starts_with(WORD_START));
                own.split(WORD_START).skip(skipped).try_for_each(|part| self.word(part))?;
            } else if !own.is_empty() {
                self.word(own)?;
            }
            start = word.next;
        }
        Ok(())
    }

    /// Encodes a word after putting a mark in front.
    #[inline]
    fn word(&mut self, word: &str) -> Result<()> {
        self.add_one(b" ", word.as_bytes())
    }

    /// Adds a pretoken to the pending ones. It consists of `prefix` and `rest`, and must be UTF-8.
    #[inline]
    fn add_one(&mut self, prefix: &[u8], rest: &[u8]) -> Result<()> {
        if !self.worker.pending.is_text {
            self.look_up_pending();
        }
        let PendingPretokens { bytes, bounds, is_text, .. } = &mut self.worker.pending;
        if bounds.is_empty() {
            bounds.push(0);
            *is_text = true;
        }
        bytes.extend_from_slice(prefix);
        bytes.extend_from_slice(rest);
        bounds.push(bytes.len() as u32);
        if bounds.len() > BATCH || bytes.len() > WAITING_BYTES {
            self.look_up_pending();
            self.flush_if_full()?;
        }
        Ok(())
    }

    /// Encodes a pretoken that consists of `prefix` and `bytes`. In both, `▁` must have the spelling that
    /// `Encoder::marks` defines. Does nothing if `bytes` is empty.
    #[inline]
    fn joined(&mut self, prefix: &[u8], bytes: &[u8], is_text: bool) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let split_points = self.split_points();
        // Always false for a Unigram model that adds up the scores of the words of a pretoken. If the words were added
        // to the pending pretokens, each word would count as a pretoken, and begin a new sum.
        let is_short = self.joins_texts && bytes.len() <= SHORT_TEXT && self.model.as_sum_of_words().is_none();
        if let Some(split_points) = split_points.filter(|_| !is_short) {
            return self.parts(split_points, prefix, bytes, is_text);
        }
        let PendingPretokens { bounds, is_text: all_are, .. } = &self.worker.pending;
        if bounds.len() > BATCH || *all_are != is_text {
            self.look_up_pending();
            self.flush_if_full()?;
        }
        let EncodeWorker { pending, parts, .. } = &mut *self.worker;
        if pending.bounds.is_empty() {
            pending.bounds.push(0);
            pending.is_text = is_text;
        }
        let before = pending.bytes.len();
        pending.bytes.extend_from_slice(prefix);
        pending.bytes.extend_from_slice(bytes);
        match split_points {
            Some(split_points) => {
                split_points.bounds(&pending.bytes[before..], usize::MAX, parts);
                pending.bounds.extend(parts[1..].iter().map(|end| before as u32 + end));
            }
            None => pending.bounds.push(pending.bytes.len() as u32),
        }
        if pending.bytes.len() > WAITING_BYTES {
            self.look_up_pending();
            self.flush_if_full()?;
        }
        Ok(())
    }

    /// Looks up all pending pretokens together.
    #[inline]
    fn look_up_pending(&mut self) {
        if self.worker.pending.bounds.is_empty() {
            return;
        }
        let mut pending = std::mem::take(&mut self.worker.pending);
        let PendingPretokens { bytes, bounds, between, is_text } = &mut pending;
        self.look_up(bytes, bounds, between, *is_text, [true; 2]);
        bytes.clear();
        bounds.clear();
        between.clear();
        self.worker.pending = pending;
    }

    /// Adds the pretokens between adjacent `bounds` of `text` to the pending pretokens. The first bound is 0.
    #[inline]
    fn add_pending(&mut self, text: &[u8], bounds: &[u32]) -> Result<()> {
        if !self.worker.pending.is_text {
            self.look_up_pending();
        }
        let (Some((first, ends)), pending) = (bounds.split_first(), &mut self.worker.pending) else { return Ok(()) };
        if pending.bounds.is_empty() {
            pending.bounds.push(*first);
            pending.is_text = true;
        }
        let before = pending.bytes.len() as u32;
        pending.bytes.extend_from_slice(&text[..ends.last().map_or(0, |&end| end as usize)]);
        pending.bounds.extend(ends.iter().map(|end| before + end));
        if pending.bounds.len() > BATCH {
            self.look_up_pending();
            self.flush_if_full()?;
        }
        Ok(())
    }

    /// Splits a pretoken into parts, and encodes the parts. The pretoken consists of `prefix` and `bytes`.
    fn parts(&mut self, split_points: &SplitPoints, prefix: &[u8], bytes: &[u8], is_text: bool) -> Result<()> {
        self.look_up_pending(); // the pending pretokens precede this one
        let mut start = 0;
        while start < bytes.len() {
            let mut parts = std::mem::take(&mut self.worker.parts);
            split_points.bounds(&bytes[start..], PARTS_BYTES, &mut parts);
            let mut rest = &parts[..];
            if let (0, false, [_, first, ..]) = (start, prefix.is_empty(), &parts[..]) {
                let first = [prefix, &bytes[..*first as usize]].concat();
                self.look_up(&first, &[0, first.len() as u32], &[], is_text, [true; 2]);
                rest = &parts[1..];
            }
            self.look_up(&bytes[start..], rest, &[], is_text, [start == 0 && prefix.is_empty(), false]);
            start += parts.last().map_or(bytes.len(), |&end| end as usize);
            self.worker.parts = parts;
            self.flush_if_full()?;
        }
        Ok(())
    }

    /// Encodes the pretokens of `text` that start in `from..until`. `from` must be the start of a pretoken. Returns the
    /// start of the first pretoken at or after `until`.
    ///
    /// # Errors
    /// As [`EncodeCall::flush`]; errors of the pretokenizer.
    pub fn text(&mut self, pretokenizer: &Pretokenizer, text: &str, from: usize, until: usize) -> Result<usize> {
        let Some(finder) = pretokenizer.finder() else {
            for span in pretokenizer.spans_from(text, from) {
                let span = span?;
                if span.start >= until {
                    return Ok(span.start);
                }
                self.pretoken(&text.as_bytes()[span.start..span.end], true)?;
            }
            return Ok(text.len());
        };
        let boundaries = self.encoder.tables.get().and_then(|tables| tables.boundaries.as_ref());
        let mut starts = std::mem::take(&mut self.worker.starts);
        let is_short = self.joins_texts && text.len() <= SHORT_TEXT;
        if !is_short {
            self.look_up_pending(); // the pending pretokens precede this text
        }
        let keep_going = self.keep_going;
        let next = finder.for_each_window(&mut starts, text, from, until, boundaries, keep_going, |rest, bounds| {
            if is_short {
                return self.add_pending(rest, bounds);
            }
            self.look_up(rest, bounds, &[], true, [true; 2]);
            self.flush_if_full()
        });
        self.worker.starts = starts;
        next
    }

    /// Looks up the ranges of `text` between adjacent `bounds`: pretokens, or parts of one pretoken. `begin[0]` is true
    /// if the first range begins a pretoken. `begin[1]` is true if each of the later ranges begins a pretoken. `between`
    /// contains the items between the pretokens.
    fn look_up(&mut self, text: &[u8], bounds: &[u32], between: &[(u32, Between)], is_text: bool, begin: [bool; 2]) {
        let mut pending = between.iter().peekable();
        match self.encoder.token_table() {
            Some(table) => self.look_up_in(table, text, bounds, &mut pending, is_text),
            None => self.look_up_entries(text, bounds, &mut pending, is_text, begin),
        }
        let EncodeWorker { between, ids, misses, .. } = &mut *self.worker;
        between.extend(pending.map(|(_, what)| (Place::after(ids, misses), *what)));
    }

    /// Does the work of [`EncodeCall::look_up`] as long as the token table is not built.
    fn look_up_entries(
        &mut self,
        text: &[u8],
        bounds: &[u32],
        pending: &mut Peekable<Iter<'_, (u32, Between)>>,
        is_text: bool,
        begin: [bool; 2],
    ) {
        for (i, range) in bounds.windows(2).enumerate() {
            let EncodeWorker { between, ids, misses, .. } = &mut *self.worker;
            while let Some((_, what)) = pending.next_if(|(before, _)| *before as usize <= i) {
                between.push((Place::after(ids, misses), *what));
            }
            let pretoken = &text[range[0] as usize..range[1] as usize];
            match self.model.as_bpe().and_then(|bpe| bpe.entry(self.vocab, pretoken)) {
                Some(id) => ids.push(id),
                None => self.miss(pretoken, false, is_text, begin[usize::from(i > 0)]),
            }
        }
    }

    /// Does the work of [`EncodeCall::look_up`] with the token table.
    #[inline]
    fn look_up_in(
        &mut self,
        table: &TokenTable,
        text: &[u8],
        bounds: &[u32],
        pending: &mut Peekable<Iter<'_, (u32, Between)>>,
        is_text: bool,
    ) {
        let uses_caches = self.uses_caches();
        let EncodeWorker { batch, caches, ids, misses, bytes, between, .. } = &mut *self.worker;
        for from in (0..bounds.len() - 1).step_by(BATCH) {
            let bounds = &bounds[from..bounds.len().min(from + BATCH + 1)];
            let found = batch.find(table, caches.pretokens(uses_caches), text, bounds, ids);
            let misses_before = misses.len();
            for &left in found.left {
                let at = left.at as usize;
                let (start, end) = (bounds[at] as usize, bounds[at + 1] as usize);
                let may_be_entry = (left.found != NOT_ENTRY || end - start > short_key::MAX_BYTES)
                    && table.may_be_entry(&text[start..end]);
                let (start, len) = copy(bytes, text, start, end);
                misses.push(Miss { at: left.before, start, len, may_be_entry, is_text, is_first: true });
            }
            let mut places = found.places();
            while let Some((before, what)) = pending.next_if(|(before, _)| (*before as usize) < from + bounds.len()) {
                let (ids, num_left) = places.after(before - from as u32);
                between.push((Place { ids: ids as u32, misses: (misses_before + num_left) as u32 }, *what));
            }
        }
    }

    fn miss(&mut self, pretoken: &[u8], may_be_entry: bool, is_text: bool, is_first: bool) {
        let EncodeWorker { ids, misses, bytes, .. } = &mut *self.worker;
        let (start, len) = copy(bytes, pretoken, 0, pretoken.len());
        misses.push(Miss { at: ids.len() as u32, start, len, may_be_entry, is_text, is_first });
    }

    fn flush_if_full(&mut self) -> Result<()> {
        let EncodeWorker { ids, misses, bytes, between, .. } = &*self.worker;
        if ids.len() + misses.len() + between.len() >= WAITING || bytes.len() >= WAITING_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    /// Encodes all pending pretokens and appends their ids to the output.
    ///
    /// # Errors
    /// Errors of the model, without an offset; `Interrupted` when `keep_going` returns false.
    pub fn flush(&mut self) -> Result<()> {
        self.look_up_pending();
        if !(self.keep_going)() {
            return Err(crate::error::ErrorKind::Interrupted.into());
        }
        let done = if self.worker.misses.is_empty() { Ok(()) } else { self.find_all() };
        if done.is_ok() {
            self.write();
        }
        self.worker.clear();
        done
    }

    /// Finds the ids of all misses.
    fn find_all(&mut self) -> Result<()> {
        self.worker.bytes.resize(self.worker.bytes.len() + PADDING, 0);
        self.worker.prepare(self.encoder);
        let EncodeWorker { caches, growth, .. } = &mut *self.worker;
        caches.all().into_iter().for_each(|cache| self.encoder.grow_if_permitted(cache, growth));
        let num = self.worker.misses.len();
        self.worker.found.resize(num, TokenRange::default());
        (0..num).step_by(GROUP).try_for_each(|from| self.find(from..num.min(from + GROUP)))?;
        if self.encoder.tables.get().is_none() {
            let cost = std::mem::take(&mut self.worker.merged) * (COST_OF_MERGING - 1); // already counted once as text
            self.encoder.prepare(self.vocab, self.model, cost, self.keep_going)?;
        }
        Ok(())
    }

    /// Finds the ids of a group of at most [`GROUP`] misses.
    fn find(&mut self, group: Range<usize>) -> Result<()> {
        let mut sources = self.look_up_caches(group.clone());
        self.merge(group.clone(), &mut sources)?;
        self.run_model(group, &sources)
    }

    /// Looks up misses in the caches. If no cache contains a pretoken and there is a fast path, the pretoken is looked
    /// up in the vocabulary: if an entry equals the pretoken, the id of this entry is used; otherwise, the pretoken
    /// becomes a merge job. Returns the source of the ids of each miss.
    fn look_up_caches(&mut self, group: Range<usize>) -> [IdSource; GROUP] {
        let uses_caches = self.uses_caches();
        let EncodeWorker { bytes, found, tokens, jobs, caches, misses, .. } = &mut *self.worker;
        let misses = &misses[group.clone()];
        if uses_caches {
            for (i, miss) in misses.iter().enumerate() {
                caches.prefetch(i, &bytes[miss.start as usize..], miss.len as usize);
            }
        }
        jobs.clear();
        let mut sources = [IdSource::Merges; GROUP];
        for (i, (miss, found)) in misses.iter().zip(&mut found[group.clone()]).enumerate() {
            let start = tokens.len() as u32;
            let known = if uses_caches { caches.append(i, miss.len as usize, tokens) } else { 0 };
            if known > 0 {
                *found = TokenRange { start, len: known as u32 };
                sources[i] = IdSource::Cache;
            } else if self.encoder.fast().is_some() {
                let text = miss.text(bytes);
                let is_text = miss.is_text || std::str::from_utf8(text).is_ok();
                let bpe = self.model.as_bpe().filter(|_| miss.may_be_entry);
                if let Some(id) = bpe.and_then(|bpe| bpe.entry(self.vocab, text)) {
                    *found = TokenRange { start, len: 1 };
                    tokens.push(id);
                } else {
                    jobs.push(Job { start: miss.start, len: miss.len, slot: (group.start + i) as u32, is_text });
                }
            } else {
                sources[i] = IdSource::Model;
            }
        }
        sources
    }

    /// Runs the merge jobs. Misses that the fast path does not support are left to the model.
    fn merge(&mut self, group: Range<usize>, sources: &mut [IdSource; GROUP]) -> Result<()> {
        let EncodeWorker { bytes, found, tokens, jobs, bench, .. } = &mut *self.worker;
        if let (Some(fast), false) = (self.encoder.fast(), jobs.is_empty()) {
            fast.merge(self.vocab, bytes, jobs, self.keep_going, bench, tokens, found)?;
            for (source, found) in sources.iter_mut().zip(&found[group]) {
                if *source == IdSource::Merges && found.len == 0 {
                    *source = IdSource::Model;
                }
            }
        }
        Ok(())
    }

    /// Encodes the misses that are left to the model, and inserts the new results into the caches. For a Unigram model
    /// that encodes words independently, also adds up the scores of the words.
    fn run_model(&mut self, group: Range<usize>, sources: &[IdSource; GROUP]) -> Result<()> {
        let uses_caches = self.uses_caches();
        let added_up = self.model.as_sum_of_words();
        let EncodeWorker { bytes, found, tokens, sum, scratch, caches, misses, merged, marked, .. } = &mut *self.worker;
        for (i, (miss, found)) in misses[group.clone()].iter().zip(&mut found[group]).enumerate() {
            let (text, source) = (miss.text(bytes), sources[i]);
            let start = tokens.len();
            if let Some(unigram) = added_up {
                if miss.is_first {
                    *sum = 0.0;
                }
                if source == IdSource::Cache {
                    if let Some(after) = unigram.sum_after(*sum, found.of(tokens), text.len()) {
                        *sum = after;
                        continue;
                    }
                }
                let asks = uses_caches && text.len() <= caches::MAX_BYTES;
                let word = (text, miss.is_text);
                let lasts = unigram.encode_word(word, asks, sum, self.keep_going, scratch, &mut Out::ids(tokens))?;
                *found = TokenRange { start: start as u32, len: (tokens.len() - start) as u32 };
                if !lasts {
                    continue;
                }
            } else if source == IdSource::Model {
                *merged += text.len();
                let mut out = Out { special: self.special, ..Out::ids(tokens) };
                let seen = if self.encoder.marks.are_spaces() {
                    marks::write_with_marks(text, marked);
                    &**marked
                } else {
                    text
                };
                self.model.encode(self.vocab, seen, self.keep_going, scratch, &mut out)?;
                *found = TokenRange { start: start as u32, len: (tokens.len() - start) as u32 };
            }
            if uses_caches && source != IdSource::Cache {
                caches.put(i, text.len(), found.of(tokens));
            }
        }
        Ok(())
    }

    /// Returns true if results may be cached. This is the case if no special token is permitted, or if the model has no
    /// special tokens: then the results do not depend on the caller's permission.
    fn uses_caches(&self) -> bool {
        matches!(self.special, Specials::None)
    }

    /// Appends the pending ids to the output, and inserts the ids of the misses where they belong.
    fn write(&mut self) {
        let out = &mut *self.out;
        let EncodeWorker { ids, misses, between, found, tokens, .. } = &*self.worker;
        let known = between.iter().filter(|(_, what)| matches!(what, Between::Id(_))).count();
        let total = ids.len() + known + found.iter().map(|found| found.len as usize).sum::<usize>();
        let before = out.count;
        out.count += total;
        if !out.counts_only {
            if out.ids.capacity() == 0 {
                out.ids = buffer_pool::IDS.take(out.expected.max(total + FIXED));
            }
            out.ids.reserve(total + FIXED);
        }
        let mut between = between.iter().peekable();
        let (mut from, mut filled) = (0, 0); // number of copied `ids`, and of ids of misses
        for number in 0..=misses.len() {
            while let Some((place, what)) = between.next_if(|(place, _)| place.misses as usize <= number) {
                let at = place.ids as usize;
                match *what {
                    Between::EndOfText => out.ends.push(before + filled + at),
                    Between::Id(id) => {
                        filled += 1;
                        if !out.counts_only {
                            append(&mut out.ids, ids, from, at - from);
                            out.ids.push(id);
                            from = at;
                        }
                    }
                }
            }
            let (Some(miss), Some(found)) = (misses.get(number), found.get(number)) else { continue };
            filled += found.len as usize;
            if !out.counts_only {
                let at = miss.at as usize;
                append(&mut out.ids, ids, from, at - from);
                append(&mut out.ids, tokens, found.start as usize, found.len as usize);
                from = at;
            }
        }
        if !out.counts_only {
            out.ids.extend_from_slice(&ids[from..]);
        }
    }
}

/// Position between two pending pretokens, as the number of ids and the number of misses before it.
#[derive(Debug, Clone, Copy)]
struct Place {
    ids: u32,
    misses: u32,
}

impl Place {
    fn after(ids: &[u32], misses: &[Miss]) -> Self {
        Self { ids: ids.len() as u32, misses: misses.len() as u32 }
    }
}

/// Appends a range of `text` to `bytes`; returns the offset and the length of the copy in `bytes`. Most ranges are short
/// and are copied with a fixed length, which costs less.
#[inline(always)]
fn copy(bytes: &mut Vec<u8>, text: &[u8], start: usize, end: usize) -> (u32, u32) {
    let (at, len) = (bytes.len(), end - start);
    match text[start..].first_chunk::<64>() {
        Some(chunk) if len <= 64 => {
            bytes.extend_from_slice(chunk);
            bytes.truncate(at + len);
        }
        _ => bytes.extend_from_slice(&text[start..end]),
    }
    (at as u32, len as u32)
}

/// Appends a range of a list. Ids are copied in blocks of fixed length; for a short range, one block is enough.
#[inline(always)]
fn append(out: &mut Vec<u32>, list: &[u32], from: usize, len: usize) {
    let (end, len_after) = (from + len, out.len() + len);
    let mut at = from;
    while let (true, Some(chunk)) = (at < end, list[at..].first_chunk::<FIXED>()) {
        out.extend_from_slice(chunk);
        at += FIXED;
    }
    if at < end {
        out.extend_from_slice(&list[at..end]);
    }
    out.truncate(len_after);
}
