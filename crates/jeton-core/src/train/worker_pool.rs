//! Thread pool for merges: one worker for each shard except the first, which the calling thread processes.
//!
//! A merge with many positions is divided among the workers. This takes two synchronizations of threads. For a merge
//! with few positions, the synchronizations would take longer than the merge, so the calling thread processes all
//! shards. Between steps, workers spin for some microseconds and then park. Results do not depend on which thread
//! processes a shard.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::Thread;

use super::shard::{Merging, Shard};
use crate::error::{Error, ErrorKind, Result};

/// Number of iterations of the spin loop before a thread parks. The iterations take about 50 µs, which is as long as
/// waking a parked thread.
const SPINS: usize = 4096;

/// Step of a merge. Each step is run on every shard.
#[derive(Debug, Clone, Copy)]
pub enum ShardTask {
    /// Merge a pair everywhere.
    Merge(Merging),
    /// Fill the posting lists of the new pairs. The value is the total number of pairs.
    FillPostings(usize),
}

impl ShardTask {
    fn run(self, shard: &mut Shard) -> Result<()> {
        match self {
            Self::Merge(merging) => shard.merge(&merging),
            Self::FillPostings(num_pairs) => shard.list(num_pairs),
        }
    }
}

/// The shards, and the state that the threads share.
#[derive(Debug)]
pub struct SharedShards {
    shards: Vec<Mutex<Shard>>,
    step: Mutex<ShardTask>,
    num_steps: AtomicUsize, // number of steps started so far
    busy: AtomicUsize,      // number of workers that have not finished the current step
    closed: AtomicBool,
    failed: AtomicBool,
    error: Mutex<Option<Error>>, // first error that a worker reported
}

/// Handle with which the calling thread controls the workers.
#[derive(Debug)]
pub struct WorkerPool<'b> {
    shared: &'b SharedShards,
    workers: Vec<Thread>, // worker i processes shard i + 1
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner) // a panic is reported by `with_pool`
}

/// Guard that counts a worker as finished, even if the worker panics.
struct FinishOnDrop<'a>(&'a SharedShards);

impl Drop for FinishOnDrop<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.failed.store(true, Ordering::Relaxed);
        }
        self.0.busy.fetch_sub(1, Ordering::Release);
    }
}

impl SharedShards {
    /// Creates the shared state for these shards.
    pub fn new(shards: Vec<Shard>) -> Self {
        Self {
            shards: shards.into_iter().map(Mutex::new).collect(),
            step: Mutex::new(ShardTask::FillPostings(0)),
            num_steps: AtomicUsize::new(0),
            busy: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            error: Mutex::new(None),
        }
    }

    /// Locks the shards one after the other. Only the thread that runs `main` may call this method, and only between
    /// steps.
    pub fn shards(&self) -> impl ExactSizeIterator<Item = MutexGuard<'_, Shard>> {
        self.shards.iter().map(lock)
    }

    /// Locks one shard.
    pub fn shard(&self, index: usize) -> MutexGuard<'_, Shard> {
        lock(&self.shards[index])
    }

    fn work(&self, shard: usize) {
        let mut done = 0;
        let mut spins = 0;
        while !self.closed.load(Ordering::Relaxed) {
            if self.num_steps.load(Ordering::Acquire) == done {
                spins += 1;
                if spins < SPINS {
                    std::hint::spin_loop();
                } else {
                    std::thread::park(); // an earlier `unpark` makes this return at once
                }
                continue;
            }
            (done, spins) = (done + 1, 0);
            let _finish = FinishOnDrop(self);
            let step = *lock(&self.step);
            if let Err(error) = step.run(&mut lock(&self.shards[shard])) {
                *lock(&self.error) = Some(error);
                self.failed.store(true, Ordering::Relaxed);
            }
        }
    }
}

/// Guard that stops the workers when it is dropped, even if the calling thread panics.
struct CloseOnDrop<'a> {
    shared: &'a SharedShards,
    workers: &'a [Thread],
}

impl Drop for CloseOnDrop<'_> {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::Relaxed);
        self.workers.iter().for_each(Thread::unpark);
    }
}

fn worker_failed() -> Error {
    ErrorKind::Internal("a thread that merged stopped unexpectedly".into()).into()
}

/// Runs `main` in the calling thread, with one worker for each shard except the first. There are fewer workers if the
/// system refuses to create threads.
///
/// # Errors
/// Errors of `main`; an internal error if a worker panicked.
pub fn with_pool<R>(shared: &SharedShards, main: impl FnOnce(&WorkerPool<'_>) -> Result<R>) -> Result<R> {
    std::thread::scope(|scope| {
        let start = |shard| std::thread::Builder::new().spawn_scoped(scope, move || shared.work(shard)).ok();
        let handles: Vec<_> = (1..shared.shards.len()).map_while(start).collect();
        let workers: Vec<Thread> = handles.iter().map(|handle| handle.thread().clone()).collect();
        let close = CloseOnDrop { shared, workers: &workers };
        let result = main(&WorkerPool { shared, workers: workers.clone() });
        drop(close);
        let failed = handles.into_iter().filter_map(|handle| handle.join().err()).count();
        if failed > 0 {
            return Err(worker_failed());
        }
        result
    })
}

impl WorkerPool<'_> {
    /// Runs a step on every shard: on all threads if `together`, or else on the calling thread.
    ///
    /// # Errors
    /// Errors of the step; an internal error if a worker panicked.
    pub fn run(&self, step: ShardTask, together: bool) -> Result<()> {
        let SharedShards { shards, num_steps, busy, failed, error, .. } = self.shared;
        let num_workers = if together { self.workers.len() } else { 0 };
        if num_workers > 0 {
            *lock(&self.shared.step) = step;
            busy.store(num_workers, Ordering::Relaxed);
            num_steps.fetch_add(1, Ordering::Release);
            self.workers.iter().for_each(Thread::unpark);
        }
        for (i, shard) in shards.iter().enumerate() {
            if i == 0 || i > num_workers {
                step.run(&mut lock(shard))?;
            }
        }
        let mut spins = 0;
        while busy.load(Ordering::Acquire) > 0 {
            spins += 1;
            if spins < SPINS {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now(); // another process may occupy the processor of a worker
            }
        }
        if failed.load(Ordering::Relaxed) {
            return Err(lock(error).take().unwrap_or_else(worker_failed));
        }
        Ok(())
    }
}
