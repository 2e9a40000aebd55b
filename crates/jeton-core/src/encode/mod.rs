//! Pretokens → ids, many at a time: what `model` does for one, faster.
//!
//! Invariant: the ids are those that `Model::encode` gives for each pretoken. What a model makes of a pretoken depends on nothing else, so
//! it may be looked up, remembered, and computed in any order; but not remembered where special tokens may come out of it, for
//! they depend on the caller.
//!
//! ```text
//! starts of pretokens, and seams ─► words: is it one token? ─► hot: met lately? ─► a list of ids, with gaps
//!                                   gaps: memo ─► model, many at once ─► filled in order
//! ```
//!
//! Most pretokens of most languages are one token, and are found in `words` without a branch; most of the others were met lately, and are in
//! `hot`. What is left waits until some hundreds of them are there, also from many short texts: longer ones may be in `memo`, and those
//! that are new are merged side by side.
//!
//! The tables are made when somebody says so, or when going without them has cost about as much as they do (`prepare`); until then, and where a model
//! has none, every pretoken takes the plain way.
//!
//! Memory: the tables once; a [`Worker`] for each thread at work, about 10 MiB, kept for the next call, and 36 MiB that the memos of all may
//! grow into (`JETON_CACHE_MB`). None of it grows with the text.

mod batch;
mod hot;
mod memo;
mod words;

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use self::batch::Batch;
use self::hot::Hot;
use self::memo::Memo;
use self::words::{Key, Words, NO_WORD};
use crate::error::Result;
use crate::interrupt::GoOn;
use crate::model::fast::{Bench, Fast, Found, Job};
use crate::model::{Cuts, Model, Out, Scratch, Specials};
use crate::pretokenize::{Pretokenizer, Starts};
use crate::seams::Seams;
use crate::slot::made_once;
use crate::slot::Slot;
use crate::spare;
use crate::vocab::{Kind, Vocab};

/// Pretokens whose keys are made, and whose lines are fetched, before the first is looked at.
const BATCH: usize = 256;

/// Ids, known or not, that wait for being written.
const WAITING: usize = 1 << 12;

/// Bytes of pretokens that wait for their ids.
const WAITING_BYTES: usize = 1 << 16;

/// Bytes of parts that are looked up together.
const PARTS_BYTES: usize = 1 << 12;

/// Pretokens that are looked for in the memo, and merged, together.
const GROUP: usize = 64;

/// Longest text that is encoded here: places are 32-bit.
pub const LONGEST: usize = 1 << 31;

/// Workers that are kept for the next call.
const MOST_WORKERS: usize = 8;

type ShortMemo = Memo<4, 8>;
type LongMemo = Memo<8, 16>;

/// log2 of the lines of `hot`, at least and at most: 8 MiB, and 16, which it begins with if the memory of all may grow by it. To double
/// later costs a quarter of the time that 3 MB of text in many languages take.
const HOT_BITS: [u32; 2] = [16, 17];

/// log2 of the places of a memo, at first and at most: 1 MiB for both with their rings, and 40.
const SHORT_BITS: [u32; 2] = [13, 18];
const LONG_BITS: [u32; 2] = [11, 17];

/// Bytes by which the memos of all workers together may grow.
const MOST_GROWTH: usize = 36 << 20;

/// Ids that are copied together.
const FIXED: usize = 16;

/// Bytes beyond each waiting pretoken that may be read.
const PADDING: usize = 64;

/// What tables cost for each entry of the vocabulary, in bytes of text without them: half a microsecond, and ten to eighty nanoseconds a byte.
const COST_OF_AN_ENTRY: usize = 16;

/// What a byte costs that has to be merged without tables, in bytes that are found as a whole.
const COST_OF_MERGING: usize = 4;

/// Whether `JETON_TABLES=always` is in the environment: for tests, and for services whose first text counts.
fn always() -> bool {
    static ALWAYS: OnceLock<bool> = OnceLock::new();
    *made_once(&ALWAYS, || std::env::var("JETON_TABLES").as_deref() == Ok("always"))
}

/// [`MOST_GROWTH`], or what `JETON_CACHE_MB` in the environment says.
fn most_growth() -> usize {
    static MOST: OnceLock<usize> = OnceLock::new();
    *made_once(&MOST, || {
        let asked = std::env::var("JETON_CACHE_MB").ok().and_then(|text| text.parse::<usize>().ok());
        asked.map_or(MOST_GROWTH, |mebibytes| mebibytes.saturating_mul(1 << 20))
    })
}

/// What all threads share.
#[derive(Debug)]
pub struct Encoder {
    tables: OnceLock<Tables>,
    growth: AtomicUsize, // bytes that memos have grown by
    making: Mutex<()>,   // held by who makes them; nobody waits for it
    spent: AtomicUsize,  // in bytes of text, without tables
    worth: usize,        // how much of that they are worth
    cuts: Option<Cuts>,  // where pretokens are cut further
    workers: [Slot<Worker>; MOST_WORKERS],
}

/// What is made of a model.
#[derive(Debug)]
struct Tables {
    words: Option<Words>, // pretokens that are one token
    fast: Option<Fast>,
    seams: Option<Seams>, // where pretokens are cut further
}

/// A pretoken that is not one known token, and the place its ids belong.
#[derive(Debug, Clone, Copy)]
struct Miss {
    at: u32, // before which of the waiting ids
    start: u32,
    len: u32,
    may_be_entry: bool,
    is_text: bool,  // known to be UTF-8
    is_first: bool, // begins a pretoken, not only a part of it
}

/// Pretokens that came one by one, and are looked up together.
#[derive(Debug, Default)]
struct Singles {
    bytes: Vec<u8>,
    bounds: Vec<u32>, // 0, and where each ends; empty where there is none
    is_text: bool,    // all are
}

/// The memory of one thread at work.
pub struct Worker {
    starts: Starts,
    batch: Box<Batch>,
    hot: Hot,
    parts: Vec<u32>, // starts of the parts of a pretoken
    single: Singles,
    ids: Vec<u32>,
    misses: Vec<Miss>,
    bytes: Vec<u8>,   // of the misses
    marks: Vec<Mark>, // ends of texts
    found: Vec<Found>,
    tokens: Vec<u32>,
    jobs: Vec<Job>,
    sum: f64, // of the scores of the present pretoken, where they are added up
    bench: Bench,
    scratch: Scratch,
    hot_keys: Box<[Key; GROUP]>,
    short_keys: Box<[memo::Key<4>; GROUP]>,
    long_keys: Box<[memo::Key<8>; GROUP]>,
    short_memo: ShortMemo,
    long_memo: LongMemo,
    growth: usize, // bytes that the memos have grown by
    merged: usize, // bytes that were merged without tables
}

/// What remembers, and grows if it may.
trait Remember {
    /// The bytes that it needs to double, where it should; else 0.
    fn wants(&self) -> usize;
    /// Doubles.
    fn grow(&mut self);
    /// Remains as it is.
    fn stay(&mut self);
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker").finish_non_exhaustive()
    }
}

/// What a run has written.
#[derive(Debug, Default)]
pub struct Written {
    /// The ids; none where they are only counted.
    pub ids: Vec<u32>,
    /// How many ids there are at the end of each text.
    pub ends: Vec<usize>,
    /// How many ids.
    pub count: usize,
    /// Ids are counted only.
    pub counts_only: bool,
    /// For how many ids there will be room at once.
    pub expected: usize,
}

impl Tables {
    fn new(vocab: &Vocab, model: &Model, go_on: GoOn<'_>) -> Result<Self> {
        let fast = Fast::new(vocab, model, go_on)?;
        let merges_bytes = fast.as_ref().filter(|fast| fast.merges_bytes());
        let seams = merges_bytes.map(|fast| fast.seams(vocab, model, go_on)).transpose()?;
        Ok(Self { words: words(vocab, model, fast.as_ref(), go_on)?, fast, seams })
    }
}

/// The pretokens that are one token: all entries where these come first, else those that their own merges make.
fn words(vocab: &Vocab, model: &Model, fast: Option<&Fast>, go_on: GoOn<'_>) -> Result<Option<Words>> {
    let tokens = || vocab.iter().filter(|entry| entry.1 == Kind::Token && !entry.2.is_empty());
    Ok(match (model.as_bpe(), fast) {
        (Some(bpe), _) if bpe.whole_first() => {
            let added = bpe.added_entries().map(|id| (vocab.content(id), id));
            let entries = tokens().map(|(id, _, content)| (content, id)).chain(added);
            Some(Words::new(entries.filter(|entry| !entry.0.is_empty()), vocab.num_tokens()))
        }
        (_, Some(fast)) => {
            let short = tokens().filter(|entry| entry.2.len() <= words::MOST);
            let made = fast.made(vocab, short.map(|(id, _, content)| (content, id)), go_on)?;
            Some(Words::new(made.iter().map(|&id| (vocab.content(id), id)), made.len()))
        }
        (_, None) if matches!(model, Model::WordPiece(_)) => {
            let (mut scratch, mut ids) = (Scratch::default(), Vec::new());
            let mut made = |content: &[u8]| {
                ids.clear();
                let done = model.encode(vocab, content, &|| true, &mut scratch, &mut Out::ids(&mut ids));
                done.ok().and(ids.first().copied()).filter(|_| ids.len() == 1)
            };
            let own = tokens().filter_map(|(_, _, content)| Some((content, made(content)?)));
            Some(Words::new(own, vocab.num_tokens()))
        }
        _ => None,
    })
}

impl Encoder {
    /// For a model.
    pub fn new(vocab: &Vocab, model: &Model) -> Self {
        Self {
            tables: OnceLock::new(),
            growth: AtomicUsize::new(0),
            making: Mutex::default(),
            spent: AtomicUsize::new(0),
            worth: if always() { 0 } else { vocab.num_tokens() * COST_OF_AN_ENTRY },
            cuts: model.cuts(vocab),
            workers: Default::default(),
        }
    }

    /// So many more `bytes` of text are to be encoded: makes the tables where they pay.
    ///
    /// # Errors
    /// `Interrupted` while they are made.
    pub fn prepare(&self, vocab: &Vocab, model: &Model, bytes: usize, go_on: GoOn<'_>) -> Result<()> {
        if self.tables.get().is_some() {
            return Ok(());
        }
        // Not added as one: what is lost where two come at once does no harm, and a short text waits for nobody.
        let spent = self.spent.load(Ordering::Relaxed).saturating_add(bytes);
        self.spent.store(spent, Ordering::Relaxed);
        if spent >= self.worth {
            // Who comes meanwhile goes the plain way. To wait would be forever in a process that was forked just now.
            if let Ok(_guard) = self.making.try_lock() {
                if self.tables.get().is_none() {
                    let made = Tables::new(vocab, model, go_on)?;
                    self.tables.get_or_init(|| made);
                }
            }
        }
        Ok(())
    }

    fn words(&self) -> Option<&Words> {
        self.tables.get()?.words.as_ref()
    }

    fn fast(&self) -> Option<&Fast> {
        self.tables.get()?.fast.as_ref()
    }

    /// Runs `work` with a worker that nobody else has.
    pub fn with_worker<R>(&self, work: impl FnOnce(&mut Worker) -> R) -> R {
        let mut worker = self.workers.iter().find_map(Slot::take).unwrap_or_default();
        worker.prepare(self);
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

    /// Gives a memo more room, if it should have it and there is memory.
    fn let_grow(&self, memo: &mut impl Remember, growth: &mut usize) {
        match memo.wants() {
            0 => {}
            bytes if self.permits(bytes, growth) => memo.grow(),
            _ => memo.stay(),
        }
    }

    /// Whether a worker, which has grown by `growth`, may have so many bytes more; then it has them.
    fn permits(&self, bytes: usize, growth: &mut usize) -> bool {
        let fits = |sum: usize| sum.checked_add(bytes).filter(|&sum| sum <= most_growth());
        let permitted = self.growth.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok();
        *growth += if permitted { bytes } else { 0 };
        permitted
    }
}

impl Default for Worker {
    fn default() -> Self {
        Self {
            starts: Starts::default(),
            batch: Box::default(),
            hot: Hot::new(1, 1), // until there are words
            parts: Vec::new(),
            single: Singles::default(),
            ids: Vec::new(),
            misses: Vec::new(),
            bytes: Vec::new(),
            marks: Vec::new(),
            found: Vec::new(),
            tokens: Vec::new(),
            jobs: Vec::new(),
            sum: 0.0,
            bench: Bench::default(),
            scratch: Scratch::default(),
            hot_keys: Box::new([Key::default(); GROUP]),
            short_keys: Box::new([memo::Key::default(); GROUP]),
            long_keys: Box::new([memo::Key::default(); GROUP]),
            short_memo: ShortMemo::new(SHORT_BITS[0], SHORT_BITS[1]),
            long_memo: LongMemo::new(LONG_BITS[0], LONG_BITS[1]),
            growth: 0,
            merged: 0,
        }
    }
}

impl Worker {
    /// Makes room for what words are looked up for, where there are some.
    fn prepare(&mut self, encoder: &Encoder) {
        if self.hot.is_small() && encoder.words().is_some() {
            let twice = encoder.permits(hot::LINE_BYTES << HOT_BITS[0], &mut self.growth);
            self.hot = Hot::new(HOT_BITS[0] + u32::from(twice), HOT_BITS[1]);
        }
    }

    /// Forgets what waits, and gives back what a long pretoken took.
    fn clear(&mut self) {
        self.single.bytes.clear();
        self.single.bytes.shrink_to(4 * WAITING_BYTES);
        self.single.bounds.clear();
        self.ids.clear();
        self.misses.clear();
        self.found.clear();
        self.bytes.clear();
        self.bytes.shrink_to(4 * WAITING_BYTES);
        self.marks.clear();
        self.tokens.clear();
        self.tokens.shrink_to(WAITING_BYTES);
        self.scratch.forget_large();
    }
}

/// Texts on their way to ids.
pub struct Run<'r> {
    /// The entries.
    pub vocab: &'r Vocab,
    /// The model.
    pub model: &'r Model,
    /// The special tokens that may come out of it.
    pub special: Specials<'r>,
    /// Its tables, or that there are none yet.
    pub encoder: &'r Encoder,
    /// This thread's memory.
    pub worker: &'r mut Worker,
    /// Whether to go on.
    pub go_on: GoOn<'r>,
    /// Where ids go.
    pub out: &'r mut Written,
}

impl Run<'_> {
    /// An id that is known.
    #[inline]
    pub fn known(&mut self, id: u32) {
        self.look_up_singles();
        self.worker.ids.push(id);
    }

    /// The end of a text.
    #[inline]
    pub fn end_of_text(&mut self) {
        self.look_up_singles();
        let Worker { marks, ids, misses, .. } = &mut *self.worker;
        marks.push(Mark { ids: ids.len() as u32, misses: misses.len() as u32 });
    }

    /// One pretoken; `is_text` where it is known to be UTF-8.
    ///
    /// # Errors
    /// As [`Run::flush`].
    #[inline]
    pub fn pretoken(&mut self, bytes: &[u8], is_text: bool) -> Result<()> {
        if let Some(cuts) = &self.encoder.cuts {
            return self.parts(cuts, bytes, is_text);
        }
        let Singles { bounds, is_text: all_are, .. } = &self.worker.single;
        if bounds.len() > BATCH || *all_are != is_text {
            self.look_up_singles();
            self.flush_if_full()?;
        }
        let single = &mut self.worker.single;
        if single.bounds.is_empty() {
            single.bounds.push(0);
            single.is_text = is_text;
        }
        if !bytes.is_empty() {
            single.bytes.extend_from_slice(bytes);
            single.bounds.push(single.bytes.len() as u32);
            if single.bytes.len() > WAITING_BYTES {
                self.look_up_singles();
                self.flush_if_full()?;
            }
        }
        Ok(())
    }

    /// Looks up the pretokens that came one by one.
    #[inline]
    fn look_up_singles(&mut self) {
        if self.worker.single.bounds.is_empty() {
            return;
        }
        let mut single = std::mem::take(&mut self.worker.single);
        self.look_up(&single.bytes, &single.bounds, single.is_text, [true; 2]);
        single.bytes.clear();
        single.bounds.clear();
        self.worker.single = single;
    }

    /// One pretoken, part by part.
    fn parts(&mut self, cuts: &Cuts, bytes: &[u8], is_text: bool) -> Result<()> {
        let mut start = 0;
        while start < bytes.len() {
            let mut parts = std::mem::take(&mut self.worker.parts);
            cuts.bounds(&bytes[start..], PARTS_BYTES, &mut parts);
            self.look_up(&bytes[start..], &parts, is_text, [start == 0, false]);
            start += parts.last().map_or(bytes.len(), |&end| end as usize);
            self.worker.parts = parts;
            self.flush_if_full()?;
        }
        Ok(())
    }

    /// The pretokens of `text` that start from `from` on and before `until`, where one starts at `from`; returns where the next one
    /// starts.
    ///
    /// # Errors
    /// As [`Run::flush`]; what the pretokenizer returns.
    pub fn text(&mut self, pretokenizer: &Pretokenizer, text: &str, from: usize, until: usize) -> Result<usize> {
        self.look_up_singles(); // they come before it
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
        let seams = self.encoder.tables.get().and_then(|tables| tables.seams.as_ref());
        let mut from = from;
        while from < until.min(text.len()) {
            let rest = &text[from..];
            let mut starts = std::mem::take(&mut self.worker.starts);
            finder.window(&mut starts, rest, seams);
            let mut bounds = starts.bounds();
            if bounds.last().is_some_and(|&end| end as usize > until - from) {
                let inside = bounds.partition_point(|&at| (at as usize) < until - from);
                bounds = &bounds[..=inside];
            }
            let end = bounds.last().map_or(0, |&end| end as usize);
            self.look_up(rest.as_bytes(), bounds, true, [true; 2]);
            self.worker.starts = starts;
            self.flush_if_full()?;
            from += end;
        }
        Ok(from)
    }

    /// Looks up the pretokens between neighboring `bounds`; or the parts of one. `begin`: whether the first begins a pretoken,
    /// and whether the others do.
    fn look_up(&mut self, text: &[u8], bounds: &[u32], is_text: bool, begin: [bool; 2]) {
        let Some(words) = self.encoder.words() else {
            for (i, range) in bounds.windows(2).enumerate() {
                let pretoken = &text[range[0] as usize..range[1] as usize];
                match self.model.as_bpe().and_then(|bpe| bpe.entry(self.vocab, pretoken)) {
                    Some(id) => self.worker.ids.push(id),
                    None => self.miss(pretoken, false, is_text, begin[usize::from(i > 0)]),
                }
            }
            return;
        };
        let Worker { batch, hot, ids, misses, bytes, .. } = &mut *self.worker;
        for bounds in (0..bounds.len() - 1).step_by(BATCH).map(|from| &bounds[from..bounds.len().min(from + BATCH + 1)])
        {
            for &left in batch.find(words, hot, text, bounds, ids) {
                let at = left.at as usize;
                let (start, end) = (bounds[at] as usize, bounds[at + 1] as usize);
                let may_be_entry =
                    (left.found != NO_WORD || end - start > words::MOST) && words.may_be_other(&text[start..end]);
                let (start, len) = copy(bytes, text, start, end);
                misses.push(Miss { at: left.before, start, len, may_be_entry, is_text, is_first: true });
            }
        }
    }

    fn miss(&mut self, pretoken: &[u8], may_be_entry: bool, is_text: bool, is_first: bool) {
        let Worker { ids, misses, bytes, .. } = &mut *self.worker;
        let (start, len) = copy(bytes, pretoken, 0, pretoken.len());
        misses.push(Miss { at: ids.len() as u32, start, len, may_be_entry, is_text, is_first });
    }

    fn flush_if_full(&mut self) -> Result<()> {
        let Worker { ids, misses, bytes, .. } = &*self.worker;
        if ids.len() + misses.len() >= WAITING || bytes.len() >= WAITING_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    /// Finds all that waits, and writes it.
    ///
    /// # Errors
    /// What the model returns, without a place; `Interrupted` when `go_on` returns false.
    pub fn flush(&mut self) -> Result<()> {
        self.look_up_singles();
        if !(self.go_on)() {
            return Err(crate::error::ErrorKind::Interrupted.into());
        }
        let done = if self.worker.misses.is_empty() { Ok(()) } else { self.find_all() };
        if done.is_ok() {
            self.write();
        }
        self.worker.clear();
        done
    }

    /// The ids of all that waits for them.
    fn find_all(&mut self) -> Result<()> {
        self.worker.bytes.resize(self.worker.bytes.len() + PADDING, 0);
        let Worker { hot, short_memo, long_memo, growth, .. } = &mut *self.worker;
        self.encoder.let_grow(hot, growth);
        self.encoder.let_grow(short_memo, growth);
        self.encoder.let_grow(long_memo, growth);
        let num = self.worker.misses.len();
        self.worker.found.resize(num, Found::default());
        (0..num).step_by(GROUP).try_for_each(|from| self.find(from..num.min(from + GROUP)))?;
        if self.encoder.tables.get().is_none() {
            let cost = std::mem::take(&mut self.worker.merged) * (COST_OF_MERGING - 1); // once it was counted as text
            self.encoder.prepare(self.vocab, self.model, cost, self.go_on)?;
            self.worker.prepare(self.encoder);
        }
        Ok(())
    }

    /// The ids of some misses, by their numbers.
    fn find(&mut self, group: Range<usize>) -> Result<()> {
        let Self { vocab, model, special, encoder, worker, go_on, .. } = self;
        let remembers = matches!(special, Specials::None);
        let Worker {
            bytes,
            found,
            tokens,
            jobs,
            sum,
            bench,
            scratch,
            hot,
            short_memo,
            long_memo,
            hot_keys,
            short_keys,
            long_keys,
            misses,
            merged,
            ..
        } = &mut **worker;
        // What is looked for in `words` is remembered in `hot`, if it is as short.
        let hottest = if remembers && encoder.words().is_some() { words::MOST } else { 0 };
        let misses = || misses[group.clone()].iter().zip(group.clone()).enumerate();
        for (i, (miss, _)) in misses() {
            let (text, len) = (&bytes[miss.start as usize..], miss.len as usize);
            if len <= hottest {
                hot_keys[i] = Key::new(text.first_chunk().copied().unwrap_or_default(), len);
                hot.prefetch(hot_keys[i].hash());
            } else if len <= ShortMemo::MOST {
                short_keys[i] = short_memo.key(text, len);
                short_memo.prefetch(&short_keys[i]);
            } else if len <= LongMemo::MOST {
                long_keys[i] = long_memo.key(text, len);
                long_memo.prefetch(&long_keys[i]);
            }
        }
        jobs.clear();
        let (mut remembered, mut plain) = ([false; GROUP], [false; GROUP]);
        for (i, (miss, at)) in misses() {
            let start = tokens.len();
            let known = match miss.len as usize {
                _ if !remembers => 0,
                len if len <= hottest => hot.append(hot.get(hot_keys[i]), tokens),
                len if len <= ShortMemo::MOST => short_memo.get(&short_keys[i], tokens),
                len if len <= LongMemo::MOST => long_memo.get(&long_keys[i], tokens),
                _ => 0,
            };
            if known > 0 {
                found[at] = Found { start: start as u32, len: known as u32 };
                remembered[i] = true;
                continue;
            }
            let text = &bytes[miss.start as usize..(miss.start + miss.len) as usize];
            if encoder.fast().is_some() {
                let is_text = miss.is_text || std::str::from_utf8(text).is_ok();
                let entry = model.as_bpe().filter(|_| miss.may_be_entry).and_then(|bpe| bpe.entry(vocab, text));
                if let Some(id) = entry {
                    found[at] = Found { start: tokens.len() as u32, len: 1 };
                    tokens.push(id);
                } else {
                    jobs.push(Job { start: miss.start, len: miss.len, slot: at as u32, is_text });
                }
            } else {
                plain[i] = true;
            }
        }
        if let (Some(fast), false) = (encoder.fast(), jobs.is_empty()) {
            fast.merge(vocab, bytes, jobs, *go_on, bench, tokens, found)?;
            for (i, (_, at)) in misses() {
                plain[i] |= !remembered[i] && found[at].len == 0;
            }
        }
        let added_up = model.as_sum_of_words();
        for (i, (miss, at)) in misses() {
            let place = &mut found[at];
            let text = &bytes[miss.start as usize..(miss.start + miss.len) as usize];
            let start = tokens.len();
            if let Some(unigram) = added_up {
                if miss.is_first {
                    *sum = 0.0;
                }
                let ids = &tokens[place.start as usize..(place.start + place.len) as usize];
                let after = unigram.sum_after(*sum, ids, text.len()).filter(|_| remembered[i]);
                if let Some(after) = after {
                    *sum = after;
                    continue;
                }
                let asks = remembers && text.len() <= LongMemo::MOST;
                let word = (text, miss.is_text);
                let lasts = unigram.encode_word(word, asks, sum, *go_on, scratch, &mut Out::ids(tokens))?;
                *place = Found { start: start as u32, len: (tokens.len() - start) as u32 };
                if !lasts {
                    continue;
                }
            } else if plain[i] {
                *merged += text.len();
                let mut out = Out { special: *special, ..Out::ids(tokens) };
                model.encode(vocab, text, *go_on, scratch, &mut out)?;
                *place = Found { start: start as u32, len: (tokens.len() - start) as u32 };
            }
            let ids = &tokens[place.start as usize..(place.start + place.len) as usize];
            match miss.len as usize {
                _ if !remembers || remembered[i] => {}
                len if len <= hottest => hot.put(hot_keys[i], ids),
                len if len <= ShortMemo::MOST => short_memo.put(&short_keys[i], ids),
                len if len <= LongMemo::MOST => long_memo.put(&long_keys[i], ids),
                _ => {}
            }
        }
        Ok(())
    }

    /// The waiting ids, and between them those of what was missed.
    fn write(&mut self) {
        let Worker { ids, misses, marks, found, tokens, .. } = &*self.worker;
        let out = &mut *self.out;
        let total = ids.len() + found.iter().map(|found| found.len as usize).sum::<usize>();
        let before = out.count;
        out.count += total;
        if !out.counts_only {
            if out.ids.capacity() == 0 {
                out.ids = spare::IDS.take(out.expected.max(total + FIXED));
            }
            out.ids.reserve(total + FIXED);
        }
        let mut marks = marks.iter().peekable();
        let (mut from, mut filled) = (0, 0);
        for (number, (miss, found)) in misses.iter().zip(found).enumerate() {
            while let Some(mark) = marks.next_if(|mark| mark.misses as usize <= number) {
                out.ends.push(before + filled + mark.ids as usize);
            }
            filled += found.len as usize;
            if !out.counts_only {
                let at = miss.at as usize;
                append(&mut out.ids, ids, from, at - from);
                append(&mut out.ids, tokens, found.start as usize, found.len as usize);
                from = at;
            }
        }
        out.ends.extend(marks.map(|mark| before + filled + mark.ids as usize));
        if !out.counts_only {
            out.ids.extend_from_slice(&ids[from..]);
        }
    }
}

/// What is waited for at the end of a text.
#[derive(Debug, Clone, Copy)]
struct Mark {
    ids: u32,
    misses: u32,
}

/// Appends a part of a text; returns where it is, and its length. Most parts are short, and a copy of fixed length costs less.
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

/// Appends a part of a list, likewise.
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
