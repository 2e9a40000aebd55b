//! Fast path from texts to ids: batches, long texts on several threads, cancellation.
//!
//! The stages before the model are the same as in `segments`, but the model itself is replaced by the encoder of the
//! module `encode`. If a text cannot be encoded, it is encoded again on the slow path, since only the error of the slow
//! path includes the position in the text.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::permit::Permit;
use super::segments::Segment;
use super::Tokenizer;
use crate::encode::{EncodeCall, Written, LONGEST};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Scratch, Specials};
use crate::parallel::{self, BatchPart, Landing, BYTES_WORTH_A_THREAD};
use crate::pretokenize::{Pretokenizer, Span};
use crate::util::buffer_pool;
use crate::util::cancel::{KeepGoing, KeepGoingMut};
use crate::util::simd;

/// A text of at least this many bytes is split into parts. The parts are divided among threads, and encoding can be
/// canceled. A shorter text takes less than 50 ms; starting threads would add more than a tenth of this time.
const LONG_TEXT: usize = 1 << 20;

/// Expected bytes per token of texts in the languages of the vocabulary, for the initial capacity of results. Results
/// grow on demand.
const USUAL_BYTES_PER_TOKEN: f32 = 4.0;
/// Expected bytes per token of long texts. This low value makes the initial capacity large enough for nearly all
/// languages. If the capacity were too small, growing would copy all ids; a capacity that is too large costs nothing,
/// because untouched pages take no memory. Texts of at least [`VERY_LONG`] bytes use [`USUAL_BYTES_PER_TOKEN`] instead:
/// the system could refuse such a large allocation.
const FEW_BYTES_PER_TOKEN: f32 = 1.5;
const VERY_LONG: usize = 1 << 28;

/// Approximate number of bytes that a thread encodes in one unit of work. The ids of so few bytes are still in the CPU
/// cache when the results are joined.
pub(in crate::tokenizer) const PART: usize = 1 << 18;

/// Number of jobs for each thread when many short ranges are encoded together.
const PARTS_OF_A_THREAD: usize = 4;

/// Input of encoding: valid UTF-8, or bytes that may be invalid UTF-8.
#[derive(Debug, Clone, Copy)]
pub struct Input<'t> {
    pub(in crate::tokenizer) bytes: &'t [u8],
    text: Option<&'t str>,
}

impl<'t> From<&'t str> for Input<'t> {
    fn from(text: &'t str) -> Self {
        Self { bytes: text.as_bytes(), text: Some(text) }
    }
}

impl<'t, B: AsRef<[u8]> + ?Sized> From<&'t B> for Input<'t>
where
    B: NotText,
{
    fn from(bytes: &'t B) -> Self {
        Self { bytes: bytes.as_ref(), text: None }
    }
}

/// Marker of types that may contain invalid UTF-8.
pub trait NotText {}
impl NotText for [u8] {}
impl NotText for Vec<u8> {}
impl<const N: usize> NotText for [u8; N] {}

impl<'t> Input<'t> {
    /// Returns the bytes.
    pub fn bytes(&self) -> &'t [u8] {
        self.bytes
    }

    /// Returns the text if it is valid UTF-8.
    pub fn valid(&self) -> Option<&'t str> {
        self.text.or_else(|| std::str::from_utf8(self.bytes).ok())
    }

    /// Returns a range of the text if the range is valid UTF-8.
    fn text(&self, span: Span) -> Option<&'t str> {
        let known = self.text.and_then(|text| text.get(span.start..span.end));
        known.or_else(|| std::str::from_utf8(&self.bytes[span.start..span.end]).ok())
    }
}

impl Tokenizer {
    /// Announces that texts of `bytes` bytes in total will be encoded. Builds the pair table of the model and the
    /// tables of the fast path if they are worth their cost for this amount. For `usize::MAX`, builds them in any case.
    ///
    /// # Errors
    /// `Interrupted` when `watch` returns false during construction.
    pub fn prepare(&self, bytes: usize, watch: KeepGoingMut<'_>) -> Result<()> {
        let watch = RefCell::new(watch);
        let keep_going = || (watch.borrow_mut())();
        self.model.announce(&self.vocab, bytes, &keep_going)?;
        self.encoder.prepare(&self.vocab, &self.model, bytes, &keep_going)
    }

    /// Builds the pair table of the model now, if encoding the first text will require the table.
    ///
    /// # Errors
    /// `Interrupted` when `watch` returns false during construction.
    pub fn prepare_model(&self, watch: KeepGoingMut<'_>) -> Result<()> {
        if !self.model.needs_pairs() {
            return Ok(());
        }
        let watch = RefCell::new(watch);
        self.model.prepare(&self.vocab, &|| (watch.borrow_mut())())
    }

    /// Encodes one text, with up to `threads` threads if it is long.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`]; `Interrupted` when `watch` returns false.
    pub fn encode_long<'t>(
        &self,
        text: impl Into<Input<'t>>,
        permit: &Permit<'_>,
        threads: usize,
        watch: KeepGoingMut<'_>,
    ) -> Result<Vec<u32>> {
        let text = text.into();
        if text.bytes.len() < LONG_TEXT {
            return Ok(self.whole(text, permit, watch, false)?.ids);
        }
        Ok(self.in_parts(text, permit, threads, watch, false)?.ids)
    }

    /// Counts the ids of a text.
    ///
    /// # Errors
    /// As [`Tokenizer::encode_long`].
    pub fn count<'t>(
        &self,
        text: impl Into<Input<'t>>,
        permit: &Permit<'_>,
        threads: usize,
        watch: KeepGoingMut<'_>,
    ) -> Result<usize> {
        let text = text.into();
        if text.bytes.len() < LONG_TEXT {
            return Ok(self.whole(text, permit, watch, true)?.count);
        }
        Ok(self.in_parts(text, permit, threads, watch, true)?.count)
    }

    /// Encodes a short text in the calling thread.
    fn whole(
        &self,
        text: Input<'_>,
        permit: &Permit<'_>,
        watch: KeepGoingMut<'_>,
        counts_only: bool,
    ) -> Result<Written> {
        let bytes = text.bytes.len();
        self.prepare(bytes, watch)?;
        let out = Written::new(counts_only, expected(bytes));
        let done = self.run(permit, out, &|| true, |run| self.run_text(text, permit, run));
        done.or_else(|error| self.plainly(error, text, permit, watch))
    }

    /// Encodes a long text in parts.
    fn in_parts(
        &self,
        text: Input<'_>,
        permit: &Permit<'_>,
        threads: usize,
        watch: KeepGoingMut<'_>,
        counts_only: bool,
    ) -> Result<Written> {
        self.prepare(text.bytes.len(), watch)?;
        let whole = Span { start: 0, end: text.bytes.len() };
        let done = if text.bytes.len() > LONGEST {
            Err(ErrorKind::Internal("a text is too long for 32-bit places".into()).into())
        } else if self.plain.is_none() || self.space_marks.is_some() || text.text(whole).is_none() {
            let bytes = text.bytes.len();
            let work = |_, keep_going: KeepGoing<'_>| {
                let out = Written::new(counts_only, expected(bytes));
                self.run(permit, out, keep_going, |run| self.run_text(text, permit, run))
            };
            parallel::jobs(1, 1, watch, work).pop().unwrap_or_else(|| Err(ErrorKind::Interrupted.into()))
        } else {
            self.stretches_in_parts(text, permit, threads, watch, counts_only)
        };
        done.or_else(|error| self.plainly(error, text, permit, watch))
    }

    /// Encodes a text on the slow path after the fast path failed. If the slow path fails, too, its error is returned,
    /// because it includes the position in the text.
    #[cold]
    fn plainly(&self, error: Error, text: Input<'_>, permit: &Permit<'_>, watch: KeepGoingMut<'_>) -> Result<Written> {
        if matches!(error.kind(), ErrorKind::Interrupted) {
            return Err(error);
        }
        let plain = |_, keep_going: KeepGoing<'_>| {
            let mut ids = Vec::new();
            self.encode(text.bytes, permit, keep_going, &mut Scratch::default(), &mut ids)?;
            Ok(Written { count: ids.len(), ids, ..Written::default() })
        };
        parallel::jobs(1, 1, watch, plain).pop().unwrap_or(Err(error))
    }

    /// Runs `work`, which writes to `out`, in this thread with pooled buffers.
    pub(in crate::tokenizer) fn run(
        &self,
        permit: &Permit<'_>,
        mut out: Written,
        keep_going: KeepGoing<'_>,
        work: impl FnOnce(&mut EncodeCall<'_>) -> Result<()>,
    ) -> Result<Written> {
        self.encoder.with_worker(|worker| {
            let (vocab, model, encoder) = (&self.vocab, &self.model, &self.encoder);
            let special = if model.has_special_pieces() { permit.specials() } else { Specials::None };
            let mut run =
                EncodeCall { vocab, model, special, encoder, worker, keep_going, out: &mut out, joins_texts: false };
            work(&mut run)?;
            run.flush()
        })?;
        Ok(out)
    }

    /// Encodes one text.
    pub(in crate::tokenizer) fn run_text(
        &self,
        text: Input<'_>,
        permit: &Permit<'_>,
        run: &mut EncodeCall<'_>,
    ) -> Result<()> {
        self.stretches(text.bytes, permit, |span, id| self.run_stretch(text, span, id, permit, run))
    }

    /// Encodes either one added token, or one range of the text that contains no added token.
    fn run_stretch(
        &self,
        text: Input<'_>,
        span: Span,
        id: Option<u32>,
        permit: &Permit<'_>,
        run: &mut EncodeCall<'_>,
    ) -> Result<()> {
        if let Some(id) = id {
            return run.known(id);
        }
        run.joins_texts |= span.end - span.start < text.bytes.len();
        let (valid, keep_going) = (text.text(span), run.keep_going);
        if let (Some(space_marks), None, Some(text)) = (&self.space_marks, permit.normalized(), valid) {
            if space_marks.takes_words() {
                return run.words(&self.normalized(text, keep_going)?);
            }
            return run.marked(space_marks.prefix(text, span.start), text);
        }
        // If `space_marks` is set, the encoder expects a space in the place of each `▁`. `run.pretoken` (further below)
        // replaces each `▁` by a space. The next branch would not replace `▁`, so it is skipped.
        let pretokenizer = self.plain.as_ref().or(self.bytewise.as_ref());
        if let (Some(pretokenizer), Some(text), None) = (pretokenizer, valid, &self.space_marks) {
            let text = self.normalized(text, keep_going)?;
            return self.normalized_stretches(&text, span.start, permit, |span, id| {
                run_plain(&text, span, id, pretokenizer, run)
            });
        }
        let mut each = |segment: Segment<'_>| match segment.added {
            Some(id) => run.known(id),
            None => run.pretoken(segment.bytes, segment.is_text),
        };
        match valid {
            Some(valid) => self.pretokens_of_text(valid, span.start, permit, false, keep_going, &mut each),
            None => self.pretokens(text.bytes, span, permit, false, keep_going, &mut each),
        }
    }

    /// Encodes a long text. The tokenizer must split texts by a single pattern, or not split texts at all. A long range
    /// between added tokens is encoded in several parts. Short ranges are encoded together, several in one job.
    fn stretches_in_parts(
        &self,
        text: Input<'_>,
        permit: &Permit<'_>,
        threads: usize,
        watch: KeepGoingMut<'_>,
        counts_only: bool,
    ) -> Result<Written> {
        let Some(pretokenizer) = &self.plain else {
            return Err(ErrorKind::Internal("a text that is not plain was cut for threads".into()).into());
        };
        let mut all = Written::new(counts_only, 0);
        if threads > 1 && !counts_only {
            all.ids = buffer_pool::IDS.take(expected(text.bytes.len()));
        }
        let mut call = InParts { tok: self, permit, threads, watch, all, lists: Lists::default() };
        let stretches = |each: EachRange<'_>| self.stretches(text.bytes, permit, each);
        let short = |span, id, run: &mut EncodeCall<'_>| self.run_stretch(text, span, id, permit, run);
        call.ranges(stretches, short, |call, span| {
            let Some(part) = text.text(span) else {
                return Err(ErrorKind::Internal("a text that is not valid was cut for threads".into()).into());
            };
            let normalize = |_, keep_going: KeepGoing<'_>| self.normalized(part, keep_going);
            let interrupted = || Err(ErrorKind::Interrupted.into());
            let text = parallel::jobs(1, 1, call.watch, normalize).pop().unwrap_or_else(interrupted)?;
            let stretches = |each: EachRange<'_>| self.normalized_stretches(&text, span.start, permit, each);
            let short = |span, id, run: &mut EncodeCall<'_>| run_plain(&text, span, id, pretokenizer, run);
            call.ranges(stretches, short, |call, span| call.long(&text[span.start..span.end], pretokenizer))
        })?;
        Ok(call.all)
    }

    /// Encodes many texts; the ids of text i are `offsets[i]..offsets[i + 1]` of the result.
    ///
    /// # Errors
    /// The index of the first text that failed, and its error.
    pub fn encode_batch<'t, I: Into<Input<'t>> + Copy + Sync>(
        &self,
        texts: &[I],
        permit: &Permit<'_>,
        threads: usize,
        watch: KeepGoingMut<'_>,
    ) -> std::result::Result<(Vec<u32>, Vec<i64>), (usize, Error)> {
        let all = self.batch(texts, permit, threads, watch, false)?;
        let offsets = [0].into_iter().chain(all.ends.iter().map(|&end| end as i64)).collect();
        Ok((all.ids, offsets))
    }

    /// Counts the ids of many texts.
    ///
    /// # Errors
    /// As [`Tokenizer::encode_batch`].
    pub fn count_batch<'t, I: Into<Input<'t>> + Copy + Sync>(
        &self,
        texts: &[I],
        permit: &Permit<'_>,
        threads: usize,
        watch: KeepGoingMut<'_>,
    ) -> std::result::Result<Vec<i64>, (usize, Error)> {
        let all = self.batch(texts, permit, threads, watch, true)?;
        let mut before = 0;
        Ok(all.ends.iter().map(|&end| (end - std::mem::replace(&mut before, end)) as i64).collect())
    }

    fn batch<'t, I: Into<Input<'t>> + Copy + Sync>(
        &self,
        texts: &[I],
        permit: &Permit<'_>,
        threads: usize,
        watch: KeepGoingMut<'_>,
        counts_only: bool,
    ) -> std::result::Result<Written, (usize, Error)> {
        let texts: Vec<Input<'_>> = texts.iter().map(|&text| text.into()).collect();
        let total: usize = texts.iter().map(|text| text.bytes.len()).sum();
        self.prepare(total, watch).map_err(|error| (0, error))?;
        let threads = if total < LONG_TEXT { 1 } else { threads.min(total / BYTES_WORTH_A_THREAD).max(1) };
        // With a single thread, the ids of all texts are written to one output and need not be joined.
        let groups = groups(&texts, if threads == 1 { usize::MAX } else { PART });
        let lists = Lists::default();
        let small = |group: usize, keep_going: KeepGoing<'_>| {
            let texts = &texts[groups[group].clone()];
            let bytes = texts.iter().map(|text| text.bytes.len()).sum();
            self.run(permit, lists.out(counts_only, bytes), keep_going, |run| {
                run.joins_texts = texts.len() > 1;
                let following = texts.iter().skip(1).map(|text| text.bytes).chain([&[][..]]);
                texts.iter().zip(following).try_for_each(|(&text, following)| {
                    following.iter().take(4096).step_by(64).for_each(|byte| simd::prefetch(byte));
                    self.run_text(text, permit, run)?;
                    run.end_of_text();
                    Ok(())
                })
            })
        };
        let mut all = Written::default();
        if groups.len() > 1 && !counts_only {
            all.ids = buffer_pool::IDS.take(expected(total));
        }
        // A long text that cannot be divided is one job, like a group of short texts. A text of more than `LONGEST`
        // bytes is too long for the fast path; `in_parts` encodes it on the slow path.
        let is_divisible = self.plain.is_some() && self.space_marks.is_none();
        let is_long = |group: &Range<usize>| {
            let len = texts[group.start].bytes.len();
            len >= LONG_TEXT && is_divisible || len > LONGEST
        };
        let mut from = 0;
        while let Some(group) = groups.get(from) {
            if is_long(group) {
                let written = self.in_parts(texts[group.start], permit, threads, watch, counts_only); // uses all threads
                let written = written.map_err(|error| (group.start, error))?;
                all.append(Written { ends: vec![written.count], ..written });
                from += 1;
                continue;
            }
            let many = groups[from..].iter().take_while(|group| !is_long(group)).count();
            let mut failed = None;
            let job = |i, keep_going: KeepGoing<'_>| small(from + i, keep_going);
            parallel::jobs_in_order(many, threads, watch, job, |i, result| {
                match result {
                    Ok(written) if failed.is_none() => lists.keep(all.append(written)),
                    Err(error) if failed.is_none() => failed = Some((from + i, error)),
                    _ => {}
                }
                failed.is_none()
            });
            from = match failed {
                None => from + many,
                Some((group, error)) => {
                    let group_of_texts = groups[group].clone();
                    if matches!(error.kind(), ErrorKind::Interrupted) {
                        return Err((group_of_texts.start, error));
                    }
                    let start = group_of_texts.start;
                    let written = self.one_by_one(&texts[group_of_texts], permit, watch);
                    all.append(written.map_err(|(i, error)| (start + i, error))?);
                    group + 1
                }
            };
        }
        Ok(all)
    }

    /// Encodes texts one by one to find the first that fails; returns its index and error.
    fn one_by_one(
        &self,
        texts: &[Input<'_>],
        permit: &Permit<'_>,
        watch: KeepGoingMut<'_>,
    ) -> std::result::Result<Written, (usize, Error)> {
        let mut written = Written::default();
        for (index, &text) in texts.iter().enumerate() {
            let ids = self.encode_long(text, permit, 1, watch).map_err(|error| (index, error))?;
            written.ids.extend_from_slice(&ids);
            written.count = written.ids.len();
            written.ends.push(written.count);
        }
        Ok(written)
    }
}

/// Encodes either an added token or a range of normalized text. `pretokenizer` splits the range into pretokens.
fn run_plain(
    text: &str,
    span: Span,
    id: Option<u32>,
    pretokenizer: &Pretokenizer,
    run: &mut EncodeCall<'_>,
) -> Result<()> {
    if let Some(id) = id {
        return run.known(id);
    }
    run.joins_texts |= span.end - span.start < text.len();
    run.text(pretokenizer, &text[span.start..span.end], 0, usize::MAX).map(drop)
}

/// Callback for each added token, and each range without added tokens.
type EachRange<'c> = &'c mut dyn FnMut(Span, Option<u32>) -> Result<()>;

/// A long text that is encoded in parts.
struct InParts<'p> {
    tok: &'p Tokenizer,
    permit: &'p Permit<'p>,
    threads: usize,
    watch: KeepGoingMut<'p>,
    all: Written,
    lists: Lists,
}

impl InParts<'_> {
    /// Encodes the ranges that `for_each` passes to its callback, in order. Each job encodes many short ranges, one by
    /// one, with `short`. A range of at least `PART` bytes is encoded with `long`, which can divide it into jobs.
    fn ranges(
        &mut self,
        for_each: impl FnOnce(EachRange<'_>) -> Result<()>,
        short: impl Fn(Span, Option<u32>, &mut EncodeCall<'_>) -> Result<()> + Sync,
        mut long: impl FnMut(&mut Self, Span) -> Result<()>,
    ) -> Result<()> {
        let (mut waiting, mut bytes) = (Vec::new(), 0);
        for_each(&mut |span, id| {
            let len = span.end - span.start;
            let is_long = id.is_none() && len >= PART;
            if !is_long {
                waiting.push((span, id));
                bytes += len + size_of::<(Span, Option<u32>)>();
            }
            if is_long || bytes >= PARTS_OF_A_THREAD * PART * self.threads {
                self.short(&waiting, &short)?;
                waiting.clear();
                bytes = 0;
            }
            if is_long {
                long(self, span)?;
            }
            Ok(())
        })?;
        self.short(&waiting, &short)
    }

    /// Encodes adjacent short ranges, many of them in each job.
    fn short(
        &mut self,
        ranges: &[(Span, Option<u32>)],
        each: impl Fn(Span, Option<u32>, &mut EncodeCall<'_>) -> Result<()> + Sync,
    ) -> Result<()> {
        let bytes = |ranges: &[(Span, Option<u32>)]| match ranges {
            [first, .., last] => last.0.end - first.0.start,
            _ => ranges.iter().map(|(span, _)| span.end - span.start).sum(),
        };
        let (tok, permit, lists, counts_only) = (self.tok, self.permit, &self.lists, self.all.counts_only);
        let threads = self.threads.min(bytes(ranges) / BYTES_WORTH_A_THREAD).max(1);
        let num_jobs = if threads == 1 { 1 } else { PARTS_OF_A_THREAD * threads };
        let jobs: Vec<_> = ranges.chunks(ranges.len().div_ceil(num_jobs).max(1)).collect();
        let work = |job: usize, keep_going: KeepGoing<'_>| {
            tok.run(permit, lists.out(counts_only, bytes(jobs[job])), keep_going, |run| {
                jobs[job].iter().try_for_each(|&(span, id)| each(span, id, run))
            })
        };
        let mut failed = None;
        parallel::jobs_in_order(jobs.len(), threads, self.watch, work, |_, result| {
            match result {
                Ok(written) if failed.is_none() => lists.keep(self.all.append(written)),
                Ok(_) => {}
                Err(error) => failed = failed.take().or(Some(error)),
            }
            failed.is_none()
        });
        failed.map_or(Ok(()), Err)
    }

    /// Encodes one range, on several threads if it is long enough.
    fn long(&mut self, text: &str, pretokenizer: &Pretokenizer) -> Result<()> {
        let (texts, bytes) = ([text], text.len());
        let (tok, permit, lists, counts_only) = (self.tok, self.permit, &self.lists, self.all.counts_only);
        let threads = self.threads.min(bytes / BYTES_WORTH_A_THREAD).max(1);
        // With one thread, dividing into parts would only add copies.
        let parts = if threads == 1 { 1 } else { threads.max(bytes / PART) };
        let parts = parallel::plan(&texts, pretokenizer, parts)?;
        let work = |part: &BatchPart<'_>, keep_going: KeepGoing<'_>| -> Result<(Written, Landing)> {
            let mut landing = None;
            let out = lists.out(counts_only, bytes / parts.len());
            let written = tok.run(permit, out, keep_going, |run| {
                let range = |text: &str, from, until| run.text(pretokenizer, text, from, until);
                landing = Some(part.for_each_range(range)?);
                Ok(())
            })?;
            landing.map(|landing| (written, landing)).ok_or_else(|| ErrorKind::Interrupted.into())
        };
        parallel::run_in_order(&parts, threads, self.watch, work, |written| lists.keep(self.all.append(written)))
    }
}

/// Returns the expected number of ids of a text of `bytes` bytes.
fn expected(bytes: usize) -> usize {
    let is_long = (LONG_TEXT..VERY_LONG).contains(&bytes);
    (bytes as f32 / if is_long { FEW_BYTES_PER_TOKEN } else { USUAL_BYTES_PER_TOKEN }) as usize
}

impl Written {
    pub(in crate::tokenizer) fn new(counts_only: bool, expected: usize) -> Self {
        Self { counts_only, expected, ..Self::default() }
    }

    /// Appends the ids and counts of `other`. Returns a buffer of ids that can be reused.
    fn append(&mut self, other: Self) -> Vec<u32> {
        let before = self.count;
        self.count += other.count;
        self.ends.extend(other.ends.iter().map(|end| before + end));
        if self.ids.capacity() == 0 {
            self.ids = other.ids;
            return Vec::new();
        }
        self.ids.extend_from_slice(&other.ids);
        other.ids
    }
}

/// Pool of free buffers for ids. The parts of one call take buffers from the pool; used buffers return to the pool.
#[derive(Debug, Default)]
struct Lists(Mutex<Vec<Vec<u32>>>);

impl Lists {
    /// Returns an empty output for a text of `bytes` bytes. The output reuses a buffer of the pool if the pool has any.
    fn out(&self, counts_only: bool, bytes: usize) -> Written {
        let list = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Written { ids: list.unwrap_or_default(), ..Written::new(counts_only, expected(bytes)) }
    }

    fn keep(&self, mut list: Vec<u32>) {
        list.clear();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(list);
    }
}

/// Returns groups of consecutive texts of about `size` bytes each; a long text is a separate group.
pub(in crate::tokenizer) fn groups(texts: &[Input<'_>], size: usize) -> Vec<Range<usize>> {
    let mut groups = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (i, text) in texts.iter().enumerate() {
        let len = text.bytes.len();
        if len >= LONG_TEXT && start < i {
            groups.push(start..i);
            start = i;
        }
        bytes += len + 1; // encoding an empty text also takes time
        if bytes >= size || len >= LONG_TEXT {
            groups.push(start..i + 1);
            (start, bytes) = (i + 1, 0);
        }
    }
    if start < texts.len() {
        groups.push(start..texts.len());
    }
    groups
}
