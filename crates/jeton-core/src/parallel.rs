//! Parallel encoding of a batch of texts. Results equal the results of a single thread.
//!
//! The batch is split into parts of about equal bytes. A split between texts is always valid. A split inside a long
//! text is a guess: the pretokenizer runs from an arbitrary character until its boundaries have, almost certainly,
//! synchronized with the true boundaries; one of them becomes the split. If the pretokenizer is memoryless (the text
//! after a boundary determines the following boundaries), verifying the guess costs nothing: the preceding part
//! continues to its first boundary at or after the split. If this boundary is the split, the guess was right, by
//! induction from the start of the text. Otherwise, the later part is encoded again from the end of the earlier part.
//! Results therefore do not depend on the number of threads. If the pretokenizer uses the backtracking matcher, a text
//! stays in one part, because the matcher's step budget applies to the whole text.
//!
//! The calling thread is one of the workers. If it only waited, a run on two threads would start two other threads, and
//! Linux would keep both of them on one processor for a few milliseconds.
//!
//! Cost: no copy of the text. The calling thread calls `watch` at each of its cancellation checks, and every 20 ms
//! while it waits. Threads are started for each batch (50 µs each), not pooled, because a forked process does not have
//! the threads of a pool.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};
use crate::pretokenize::{Pretokenizer, Span};
use crate::util::cancel::{CancelCheck, KeepGoing};

/// To guess a split, the pretokenizer starts at an arbitrary position and skips this number of pretokens. The
/// boundaries that it finds usually agree with the true boundaries after at most three pretokens; with 32, no guess was
/// wrong on Chinese, code and mixed text.
const SYNC_PRETOKENS: usize = 32;

/// Interval of cancellation checks while the calling thread waits for other threads.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Position in a batch: index of the text, and byte offset in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct BatchPosition {
    text: usize,
    byte: usize,
}

/// Position where the last pretoken of a part ends: the first boundary at or after the part's end.
pub type Landing = BatchPosition;

/// Part of a batch: consecutive texts. The part may contain only a range of its first text and of its last.
#[derive(Debug, Clone, Copy)]
pub struct BatchPart<'t> {
    texts: &'t [&'t str],
    /// Index of the part in the list of parts.
    pub index: usize,
    start: BatchPosition,
    end: BatchPosition,
}

impl BatchPart<'_> {
    /// Returns a copy of the part with the given index. If the index is 0 and `start` is given, the copy begins at
    /// `start`.
    pub fn renumbered(&self, index: usize, start: Option<Landing>) -> Self {
        let start = start.filter(|_| index == 0).unwrap_or(self.start);
        Self { index, start, end: self.end.max(start), ..*self }
    }

    /// Returns the texts of this part, as a range of indices in the batch.
    pub fn texts(&self) -> std::ops::Range<usize> {
        self.start.text..if self.end.byte == 0 { self.end.text } else { self.end.text + 1 }
    }

    fn bytes_before(&self, index: usize) -> usize {
        self.texts[..index].iter().map(|text| text.len()).sum()
    }

    /// Calls `each` with the ranges of texts of this part. `each(text, from, until)` processes all pretokens that start
    /// in `from..until` and returns the start of the next pretoken; `until` can be beyond the text.
    ///
    /// # Errors
    /// Errors of `each`.
    pub fn for_each_range(&self, mut each: impl FnMut(&str, usize, usize) -> Result<usize>) -> Result<Landing> {
        let mut landing = self.end;
        for index in self.texts() {
            let text = self.texts[index];
            let start = if index == self.start.text { self.start.byte } else { 0 };
            let until = if index == self.end.text { self.end.byte } else { usize::MAX };
            let next = each(text, start, until)?;
            landing = if next < text.len() {
                BatchPosition { text: index, byte: next }
            } else {
                BatchPosition { text: index + 1, byte: 0 }
            };
        }
        Ok(landing.max(self.end))
    }

    /// Calls `each` with all pretokens that start in this part.
    ///
    /// # Errors
    /// Errors of `each`; errors of the pretokenizer, with the byte offset from the start of the batch; `Interrupted`
    /// if `keep_going` returns false.
    pub fn for_each_span(
        &self,
        pretokenizer: &Pretokenizer,
        keep_going: KeepGoing<'_>,
        mut each: impl FnMut(&str, Span) -> Result<()>,
    ) -> Result<Landing> {
        let mut cancel = CancelCheck::new(keep_going);
        for index in self.texts() {
            let text = self.texts[index];
            let start = if index == self.start.text { self.start.byte } else { 0 };
            let end = if index == self.end.text { self.end.byte } else { usize::MAX };
            for span in pretokenizer.spans_from(text, start) {
                let span = span.map_err(|error| error.shifted(self.bytes_before(index)))?;
                if span.start >= end {
                    return Ok(BatchPosition { text: index, byte: span.start });
                }
                each(text, span)?;
                cancel.check()?;
            }
        }
        Ok(BatchPosition { text: self.texts().end, byte: 0 }.max(self.end))
    }
}

/// Splits `texts` into at most `parts` parts with about equal numbers of bytes.
///
/// # Errors
/// Errors of the pretokenizer.
pub fn plan<'t>(texts: &'t [&'t str], pretokenizer: &Pretokenizer, parts: usize) -> Result<Vec<BatchPart<'t>>> {
    let total: usize = texts.iter().map(|text| text.len()).sum();
    let mut cuts = vec![BatchPosition { text: 0, byte: 0 }];
    let (mut index, mut before) = (0, 0); // (index of the text, bytes of the previous texts)
    for k in 1..parts {
        let target = total / parts * k;
        while index < texts.len() && before + texts[index].len() <= target {
            before += texts[index].len();
            index += 1;
        }
        let Some(text) = texts.get(index) else { break };
        let mut place = BatchPosition { text: index, byte: 0 };
        // A text is split only if the pretokenizer is divisible. Otherwise, the boundaries can depend on earlier text,
        // or a split could change the position at which the matcher exhausts its step budget for the text.
        if pretokenizer.is_divisible() {
            place = match boundary_near(text, target - before, pretokenizer)? {
                Some(byte) => BatchPosition { text: index, byte },
                None => BatchPosition { text: index + 1, byte: 0 },
            };
        }
        if cuts.last().is_some_and(|&last| place > last) {
            cuts.push(place);
        }
    }
    let finish = BatchPosition { text: texts.len(), byte: 0 };
    let ends = cuts.iter().skip(1).copied().chain([finish]);
    Ok(cuts.iter().zip(ends).enumerate().map(|(index, (&start, end))| BatchPart { texts, index, start, end }).collect())
}

/// Returns a probable boundary shortly after `byte`; `None` if the text ends before a boundary is found.
fn boundary_near(text: &str, byte: usize, pretokenizer: &Pretokenizer) -> Result<Option<usize>> {
    let mut start = byte;
    while !text.is_char_boundary(start) {
        start += 1;
    }
    pretokenizer.spans_from(text, start).nth(SYNC_PRETOKENS).map(|span| span.map(|span| span.start)).transpose()
}

/// Minimum number of bytes for each thread, because starting a thread costs about 50 µs.
pub const BYTES_WORTH_A_THREAD: usize = 1 << 17;

/// Runs `work` on all parts, each in its own thread, and returns the results in order. `watch` is called regularly in
/// the calling thread; if `watch` returns false, all `keep_going` callbacks return false, too.
///
/// # Errors
/// The error of the earliest part that failed.
pub fn run<'t, R: Send>(
    parts: &[BatchPart<'t>],
    watch: &mut dyn FnMut() -> bool,
    work: impl Fn(&BatchPart<'t>, KeepGoing<'_>) -> Result<(R, Landing)> + Sync,
) -> Result<Vec<R>> {
    let mut results = Vec::with_capacity(parts.len());
    run_in_order(parts, parts.len(), watch, work, |result| results.push(result))?;
    Ok(results)
}

/// Runs parts on up to `threads` threads. Calls `each` with the results in order, while other parts run.
///
/// # Errors
/// As [`run`].
pub fn run_in_order<'t, R: Send>(
    parts: &[BatchPart<'t>],
    threads: usize,
    watch: &mut dyn FnMut() -> bool,
    work: impl Fn(&BatchPart<'t>, KeepGoing<'_>) -> Result<(R, Landing)> + Sync,
    mut each: impl FnMut(R) + Send,
) -> Result<()> {
    let (mut landing, mut failed) = (None, None);
    jobs_in_order(
        parts.len(),
        threads,
        watch,
        |job, keep_going| work(&parts[job], keep_going),
        |job, result| {
            if failed.is_some() {
                return false;
            }
            let part = &parts[job];
            let done = match landing {
                // The guess was wrong, which is rare. This thread repeats the part; the other threads continue.
                Some(start) if start != part.start => {
                    work(&BatchPart { start, end: part.end.max(start), ..*part }, &|| true)
                }
                _ => result,
            };
            match done {
                Ok((result, landed)) => {
                    landing = Some(landed);
                    each(result);
                }
                Err(error) => failed = Some(error),
            }
            failed.is_none()
        },
    );
    failed.map_or(Ok(()), Err)
}

/// Runs jobs 0, 1, … on up to `threads` threads, including the calling one, and returns the results in order.
pub fn jobs<R: Send>(
    num_jobs: usize,
    threads: usize,
    watch: &mut dyn FnMut() -> bool,
    job: impl Fn(usize, KeepGoing<'_>) -> Result<R> + Sync,
) -> Vec<Result<R>> {
    let mut results = Vec::with_capacity(num_jobs);
    jobs_in_order(num_jobs, threads, watch, job, |_, result| {
        results.push(result);
        true
    });
    results
}

/// Runs jobs. Calls `each` with the results in order, while other jobs run; the calls are made in threads that have
/// finished a job. If `each` returns false, no more jobs are started, and running jobs are cancelled.
pub fn jobs_in_order<R: Send>(
    num_jobs: usize,
    threads: usize,
    watch: &mut dyn FnMut() -> bool,
    job: impl Fn(usize, KeepGoing<'_>) -> Result<R> + Sync,
    each: impl FnMut(usize, Result<R>) -> bool + Send,
) {
    // `watch` is called before the first job, so that a series of short calls of this function can be cancelled, too.
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(!watch()));
    let joined =
        Joined { arrived: Mutex::default(), joining: Mutex::new(Joining { turn: 0, early: BTreeMap::new(), each }) };
    let work = |keep_going: KeepGoing<'_>| loop {
        let i = next.fetch_add(1, Ordering::Relaxed);
        if i >= num_jobs {
            break;
        }
        let result = if keep_going() { job(i, keep_going) } else { Err(ErrorKind::Interrupted.into()) };
        if !joined.take(i, result) {
            stop.store(true, Ordering::Relaxed);
        }
    };
    std::thread::scope(|scope| {
        let (at_work, all_done) = mpsc::channel::<()>();
        // If the system cannot start a thread, fewer threads run.
        let start = |_| {
            let (at_work, work, stop) = (at_work.clone(), &work, &stop);
            let all = move || {
                let _until_here = at_work;
                work(&|| !stop.load(Ordering::Relaxed));
            };
            std::thread::Builder::new().spawn_scoped(scope, all).ok()
        };
        let num_others = (1..threads.min(num_jobs)).map_while(start).count();
        drop(at_work);
        let watch = RefCell::new(watch);
        let look = || {
            if !(watch.borrow_mut())() {
                stop.store(true, Ordering::Relaxed);
            }
            !stop.load(Ordering::Relaxed)
        };
        work(&look);
        // Waits only if there are other threads. On WebAssembly, which has no clock, waiting with a timeout would
        // panic.
        while num_others > 0 && all_done.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
            look();
        }
    });
    joined.take_what_is_left(num_jobs);
}

/// In-order reducer: buffers results so that `each` is called in order.
///
/// Non-blocking: a thread that finishes while another runs `each` leaves its result to that thread.
struct Joined<R, E> {
    arrived: Mutex<Vec<(usize, Result<R>)>>,
    joining: Mutex<Joining<R, E>>,
}

struct Joining<R, E> {
    turn: usize,
    early: BTreeMap<usize, Result<R>>, // results that arrived before their turn
    each: E,
}

impl<R, E: FnMut(usize, Result<R>) -> bool> Joined<R, E> {
    /// Adds a result; returns false once `each` has returned false.
    fn take(&self, i: usize, result: Result<R>) -> bool {
        self.arrived().push((i, result));
        let mut wants_more = true;
        while !self.arrived().is_empty() {
            let mut joining = match self.joining.try_lock() {
                Ok(joining) => joining,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => break, // the other thread checks for this result when it has finished
            };
            let arrived = std::mem::take(&mut *self.arrived());
            joining.early.extend(arrived);
            while let Some((turn, result)) = joining.next() {
                wants_more &= (joining.each)(turn, result);
            }
        }
        wants_more
    }

    /// Calls `each` with the remaining results after all threads have ended, and with an error for each missing result.
    fn take_what_is_left(self, num_jobs: usize) {
        let Joining { turn, mut early, mut each } = self.joining.into_inner().unwrap_or_else(PoisonError::into_inner);
        for i in turn..num_jobs {
            each(i, early.remove(&i).unwrap_or_else(|| Err(lost())));
        }
    }

    fn arrived(&self) -> MutexGuard<'_, Vec<(usize, Result<R>)>> {
        self.arrived.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<R, E> Joining<R, E> {
    /// Returns the next result in order, if present.
    fn next(&mut self) -> Option<(usize, Result<R>)> {
        let result = self.early.remove(&self.turn)?;
        self.turn += 1;
        Some((self.turn - 1, result))
    }
}

fn lost() -> Error {
    ErrorKind::Internal("a worker thread stopped unexpectedly".into()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_passed_in_order_while_jobs_run() {
        let job = |i: usize, _: KeepGoing<'_>| {
            std::thread::sleep(Duration::from_micros(((i * 7) % 5) as u64 * 200));
            Ok(i)
        };
        for threads in [0, 1, 2, 7] {
            let mut seen = Vec::new();
            jobs_in_order(20, threads, &mut || true, job, |i, result| {
                seen.push((i, result.ok()));
                true
            });
            assert_eq!(seen, (0..20).map(|i| (i, Some(i))).collect::<Vec<_>>(), "{threads} threads");
        }
    }

    #[test]
    fn no_job_starts_after_the_caller_returns_false() {
        for threads in [0, 1, 3] {
            let begun = AtomicUsize::new(0);
            let job = |i: usize, keep_going: KeepGoing<'_>| {
                begun.fetch_add(1, Ordering::Relaxed);
                while i > 2 && keep_going() && begun.load(Ordering::Relaxed) < 1_000 {
                    std::thread::yield_now();
                }
                if i > 2 {
                    Err(ErrorKind::Interrupted.into())
                } else {
                    Ok(i)
                }
            };
            let mut fine = 0;
            jobs_in_order(1_000, threads, &mut || true, job, |i, result| {
                fine += usize::from(result.is_ok());
                i < 2
            });
            assert_eq!(fine, 3, "{threads} threads");
            assert!(begun.load(Ordering::Relaxed) <= 3 + 2 * threads, "{threads} threads");
        }
    }
}
