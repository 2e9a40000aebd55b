//! The threads that merge together, each in a shard of its own.
//!
//! A merge of many places is worth two hand-overs; one of few is not, and the calling thread does all shards. Between merges the
//! others wait awake for some microseconds, then asleep. What they compute does not depend on who computes it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::Thread;

use super::shard::{Merging, Shard};
use crate::error::{Error, ErrorKind, Result};

/// Looks for work before a thread goes to sleep, which costs it 50 µs to come back from: about as long.
const LOOKS: usize = 4096;

/// One step of a merge.
#[derive(Debug, Clone, Copy)]
pub enum Job {
    /// Merge the pair everywhere.
    Merge(Merging),
    /// Write down the places of the new pairs, of which there are now so many in all.
    List(usize),
}

impl Job {
    fn run(self, shard: &mut Shard) -> Result<()> {
        match self {
            Self::Merge(merging) => shard.merge(&merging),
            Self::List(num_pairs) => shard.list(num_pairs),
        }
    }
}

/// Work, and who has done it.
#[derive(Debug)]
pub struct Board {
    shards: Vec<Mutex<Shard>>,
    job: Mutex<Job>,
    turn: AtomicUsize, // how many jobs were handed over
    busy: AtomicUsize, // threads that have not finished the present one
    closed: AtomicBool,
    failed: AtomicBool,
    refused: Mutex<Option<Error>>, // by the system, what a thread that is not the calling one asked for
}

/// The calling thread's hold on the others.
#[derive(Debug)]
pub struct Crew<'b> {
    board: &'b Board,
    others: Vec<Thread>, // thread i works on shard i + 1
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner) // a thread that failed is noticed in `with_crew`
}

/// Counts a thread as finished, even where it fails.
struct Finish<'a>(&'a Board);

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.failed.store(true, Ordering::Relaxed);
        }
        self.0.busy.fetch_sub(1, Ordering::Release);
    }
}

impl Board {
    /// Work on these shards.
    pub fn new(shards: Vec<Shard>) -> Self {
        Self {
            shards: shards.into_iter().map(Mutex::new).collect(),
            job: Mutex::new(Job::List(0)),
            turn: AtomicUsize::new(0),
            busy: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            refused: Mutex::new(None),
        }
    }

    /// The shards, in order, for the calling thread alone.
    pub fn shards(&self) -> impl ExactSizeIterator<Item = MutexGuard<'_, Shard>> {
        self.shards.iter().map(lock)
    }

    /// One of them.
    pub fn shard(&self, index: usize) -> MutexGuard<'_, Shard> {
        lock(&self.shards[index])
    }

    fn work(&self, shard: usize) {
        let mut done = 0;
        let mut cancel = 0;
        while !self.closed.load(Ordering::Relaxed) {
            if self.turn.load(Ordering::Acquire) == done {
                cancel += 1;
                if cancel < LOOKS {
                    std::hint::spin_loop();
                } else {
                    std::thread::park(); // an `unpark` that came before is not lost
                }
                continue;
            }
            (done, cancel) = (done + 1, 0);
            let _finish = Finish(self);
            let job = *lock(&self.job);
            if let Err(error) = job.run(&mut lock(&self.shards[shard])) {
                *lock(&self.refused) = Some(error);
                self.failed.store(true, Ordering::Relaxed);
            }
        }
    }
}

/// Sends the others home, even where the calling thread fails.
struct Close<'a> {
    board: &'a Board,
    others: &'a [Thread],
}

impl Drop for Close<'_> {
    fn drop(&mut self) {
        self.board.closed.store(true, Ordering::Relaxed);
        self.others.iter().for_each(Thread::unpark);
    }
}

fn lost() -> Error {
    ErrorKind::Internal("a thread that merged stopped unexpectedly".into()).into()
}

/// Runs `lead` on the calling thread, with a crew that has a thread for each shard but the first; fewer where the system has none left.
///
/// # Errors
/// What `lead` returns; an internal error where another thread failed.
pub fn with_crew<R>(board: &Board, lead: impl FnOnce(&Crew<'_>) -> Result<R>) -> Result<R> {
    std::thread::scope(|scope| {
        let start = |shard| std::thread::Builder::new().spawn_scoped(scope, move || board.work(shard)).ok();
        let handles: Vec<_> = (1..board.shards.len()).map_while(start).collect();
        let others: Vec<Thread> = handles.iter().map(|handle| handle.thread().clone()).collect();
        let close = Close { board, others: &others };
        let result = lead(&Crew { board, others: others.clone() });
        drop(close);
        let failed = handles.into_iter().filter_map(|handle| handle.join().err()).count();
        if failed > 0 {
            return Err(lost());
        }
        result
    })
}

impl Crew<'_> {
    /// Runs a job in every shard; `together` on all threads, else on this one.
    ///
    /// # Errors
    /// An internal error where another thread failed.
    pub fn run(&self, job: Job, together: bool) -> Result<()> {
        let Board { shards, turn, busy, failed, refused, .. } = self.board;
        let helped = if together { self.others.len() } else { 0 };
        if helped > 0 {
            *lock(&self.board.job) = job;
            busy.store(helped, Ordering::Relaxed);
            turn.fetch_add(1, Ordering::Release);
            self.others.iter().for_each(Thread::unpark);
        }
        for (i, shard) in shards.iter().enumerate() {
            if i == 0 || i > helped {
                job.run(&mut lock(shard))?;
            }
        }
        let mut cancel = 0;
        while busy.load(Ordering::Acquire) > 0 {
            cancel += 1;
            if cancel < LOOKS {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now(); // another program has the processor of who is still at work
            }
        }
        if failed.load(Ordering::Relaxed) {
            return Err(lock(refused).take().unwrap_or_else(lost));
        }
        Ok(())
    }
}
