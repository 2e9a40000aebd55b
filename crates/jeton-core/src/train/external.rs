//! Learning of merges beyond a memory limit, by passes over a file of sequences. A pass loads only the segments that
//! can merge.
//!
//! Learning is divided into passes. Each pass has a *floor*, the lowest count of the pairs that it merges:
//!
//! ```text
//! file ─ cut at rare pairs, add up equal segments ─► segments ─ engine: all merges that reach the floor ─► merges
//! file ─ apply these merges, bound the counts of pairs ─► next file
//! ```
//!
//! # Correctness
//! A pair whose count is below the floor cannot merge while another pair reaches the floor. If another merge changes
//! one symbol of such a pair, the new pair is at most as frequent: `(x, ab)` occurs only where `(x, a)` occurred. So
//! until no pair reaches the floor, no merge crosses the boundary between the two symbols of a pair below the floor.
//! Sequences are cut at these boundaries, and equal segments are stored once, with the sum of their weights. All
//! occurrences of every pair that reaches the floor are in memory, so the engine finds the same merges as it would in
//! whole sequences. Segments are in the order of their first occurrence, as `TieBreak::First` requires.
//!
//! A `pair_sketch` decides which pairs are below the floor. It never underestimates a count.
//!
//! # Cost
//! For each pass, the file is read twice and written once, always sequentially. The floor is as low as memory permits:
//! when the segments exceed the memory limit, the floor is raised, and the segments are cut again. By Zipf's law, the
//! pairs with counts between c/2 and c have about the same total number of occurrences for each c. So the number of
//! passes is logarithmic in the counts, and less memory means more passes.
//!
//! The limit is exceeded in two cases. First, even the segments of the most frequent pairs can exceed it
//! ([`FINE_PASSES`]), for example with a rule that forbids frequent pairs everywhere. Second, the options can require
//! merges of pairs that occur only once or twice.
//!
//! Source: Jeton's own; out-of-core frequent pairs as in Park, Chen and Yu 1995. Left out: learning from bounds of
//! counts without posting lists, which takes hundreds of passes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Mutex;

use super::count::Counts;
use super::engine::{first_floor, learn_in_memory, Floors, State};
use super::layout::{lay_out, most_symbols, Layout, Sequences};
use super::merge::{LearnedMerge, OnMerge};
use super::options::{Beginning, LearnOptions};
use super::pair_sketch::{Counter, PairSketch};
use super::replay::{Replay, ReplayScratch};
use super::segments::Segments;
use super::sequence_file::SequenceFile;
use super::symbol_array::SymbolArray;
use crate::error::{ErrorKind, Result};
use crate::parallel;
use crate::util::cancel::{CancelCheck, KeepGoing};
use crate::util::spill::MemoryLimit;

/// Bytes of memory for each symbol in [`learn_in_memory`]: 8 for a cell, and 4 for its position in a posting list.
const BYTES_PER_SYMBOL: usize = 12;

/// Number of passes, counted from the first, in which the floor can rise up to the count of the most frequent pair. In
/// each later pass, the floor is at most 7/8 of that count, even if the segments then exceed the memory limit. So each
/// later pass lowers the count of the most frequent pair by at least an eighth, and six of them halve it.
const FINE_PASSES: usize = 32;

/// Returns true if the sequences and posting lists of the counts exceed the memory limit.
pub fn is_needed(counts: &Counts, options: &LearnOptions<'_>) -> bool {
    options.memory.is_limited() && options.memory.is_tight(most_symbols(counts, options.level) * BYTES_PER_SYMBOL)
}

/// Learns merges like [`super::learn::learn`].
///
/// # Errors
/// As [`super::learn::learn`]; I/O errors of the files.
pub fn learn(
    counts: &Counts,
    beginning: Beginning<'_>,
    options: &LearnOptions<'_>,
    watch: &mut OnMerge<'_>,
) -> Result<Vec<LearnedMerge>> {
    let memory = options.memory.for_vectors();
    // The memory limit is divided equally among the shards, and equal segments in different shards are not combined. So
    // a low limit permits only few shards.
    let num_shards = options.threads.min(memory / 4 / options.tuning.shard_bytes.max(1)).max(1);
    let counters = memory / 4 / size_of::<Counter>() / num_shards;
    let make = |num_ids| Shard::new(num_ids, num_ids + options.num_merges, counters, options.memory);
    let layout = lay_out(counts, beginning, options, num_shards, make, &mut || watch(options.done))?;
    counts.release();
    let Layout { shards, mut tokens, corpus_tokens } = layout;
    let (mut files, mut sketch) = finish(shards)?;
    let mut state = State { merges: options.done.to_vec(), corpus_tokens };
    let lowest = options.min_frequency.max(1);
    let mut floor = first_floor(corpus_tokens, options);
    let mut most = sketch.most().min(corpus_tokens); // upper bound of the counts of all pairs that may merge
    let (mut highest, mut num_passes) = (most, 0);
    while most >= lowest && state.merges.len() < options.num_merges {
        highest = highest.max(lowest);
        let floor_now = floor.clamp(lowest, highest).into();
        let pass =
            Pass { files: &files, sketch: &sketch, highest, bytes: memory, floor: floor_now, memory: options.memory };
        let (cells, reached) = pass.load(&mut || watch(&state.merges))?;
        let (before, first_id) = (state.merges.len(), tokens.len());
        tokens.compact();
        learn_in_memory(cells, Floors { first: reached, lowest: reached }, &mut tokens, &mut state, options, watch)?;
        most = reached - 1;
        let new = &state.merges[before..];
        floor = next_floor(new.first().map(|merge| merge.count), reached, first_floor(corpus_tokens, options));
        if !new.is_empty() && most >= lowest && state.merges.len() < options.num_merges {
            let replay = Replay::new(new, first_id as u32)?;
            let make = || Shard::new(tokens.len(), tokens.len() + options.num_merges, counters, options.memory);
            (files, sketch) = rewrite(&files, &replay, make, &mut || watch(&state.merges))?;
            most = most.min(sketch.most());
        }
        num_passes += 1;
        highest = match new {
            [] => most / 2, // the sketch overestimates a count, or a rule forbids the most frequent pairs
            _ if num_passes < FINE_PASSES => most,
            _ => most - most / 8,
        };
    }
    Ok(state.merges)
}

/// Returns the floor with which the next pass starts. In the previous pass, the first merge had the count `top`, and
/// the floor was `floor`.
fn next_floor(top: Option<u64>, floor: u64, expected: u64) -> u64 {
    let most = floor - 1;
    let ratio = top.map_or(4, |top| top / floor);
    (most / ratio.max(1) / 2).max(expected.min(most / 8))
}

/// Writer of the file of one shard: the sequences written so far, and the sketch of their pairs.
struct Shard {
    file: SequenceFile,
    sketch: PairSketch,
    ids: Vec<u32>,
}

impl Shard {
    fn new(num_ids: usize, most_ids: usize, counters: usize, memory: &MemoryLimit) -> Result<Self> {
        let sketch = PairSketch::new(most_ids, counters)?;
        Ok(Self { file: SequenceFile::new(num_ids, memory), sketch, ids: Vec::new() })
    }
}

impl Sequences for Shard {
    fn reserve(&mut self, _: usize, _: usize) -> Result<()> {
        Ok(())
    }

    #[inline]
    fn push(&mut self, ids: impl ExactSizeIterator<Item = u32>, weight: u64) -> Result<()> {
        self.ids.clear();
        self.ids.extend(ids);
        self.sketch.add(&self.ids, weight);
        self.file.push(self.ids.iter().copied(), weight)
    }
}

/// Returns the files of all shards, and one sketch of the pairs in all files.
fn finish(shards: Vec<Shard>) -> Result<(Vec<SequenceFile>, PairSketch)> {
    let mut files = Vec::with_capacity(shards.len());
    let mut all: Option<PairSketch> = None;
    for Shard { file, sketch, .. } in shards {
        files.push(file.finish()?);
        match &mut all {
            Some(all) => all.join(&sketch),
            None => all = Some(sketch),
        }
    }
    all.map(|sketch| (files, sketch)).ok_or_else(|| ErrorKind::Internal("no shards".into()).into())
}

/// Applies merges to all sequences.
fn rewrite(
    files: &[SequenceFile],
    replay: &Replay<'_>,
    make: impl Fn() -> Result<Shard> + Sync,
    watch: &mut dyn FnMut() -> bool,
) -> Result<(Vec<SequenceFile>, PairSketch)> {
    let job = |i: usize, keep_going: KeepGoing<'_>| {
        let (mut shard, mut scratch) = (make()?, ReplayScratch::default());
        let mut cancel = CancelCheck::new(keep_going);
        files[i].for_each(|ids, weight, _| {
            cancel.check()?;
            replay.apply(ids, &mut scratch, |_| ());
            if ids.len() > 1 {
                shard.push(ids.iter().copied(), weight)?;
            }
            Ok(())
        })?;
        Ok(shard)
    };
    let shards = parallel::jobs(files.len(), files.len(), watch, job).into_iter().collect::<Result<_>>()?;
    finish(shards)
}

/// A pass over the files. It loads only those segments in which a merge is possible.
struct Pass<'f> {
    files: &'f [SequenceFile],
    sketch: &'f PairSketch,
    highest: u64, // maximum of the floor
    bytes: usize,
    floor: AtomicU64,
    memory: &'f MemoryLimit,
}

impl Pass<'_> {
    /// Returns the segments of each shard, and the floor: sequences were cut at pairs whose counts are below it.
    fn load(self, watch: &mut dyn FnMut() -> bool) -> Result<(Vec<SymbolArray>, u64)> {
        let num_files = self.files.len();
        let read =
            |i: usize, keep_going: KeepGoing<'_>| self.read(&self.files[i], keep_going).map(Some).map(Mutex::new);
        let read = parallel::jobs(num_files, num_files, watch, read).into_iter().collect::<Result<Vec<_>>>()?;
        let floor = self.floor.load(Ordering::Relaxed);
        let lay_out = |i: usize, keep_going: KeepGoing<'_>| {
            let segments = read[i].lock().ok().and_then(|mut segments| segments.take());
            let mut segments = segments.ok_or_else(|| ErrorKind::Internal("segments are taken twice".into()))?;
            segments.cut(self.sketch, floor, keep_going)?;
            segments.into_cells(keep_going)
        };
        let cells = parallel::jobs(num_files, num_files, watch, lay_out).into_iter().collect::<Result<_>>()?;
        self.memory.trim();
        Ok((cells, floor))
    }

    /// Reads the segments of a file. Whenever the segments need more memory than one shard may use, raises the floor
    /// and cuts the segments again.
    fn read(&self, file: &SequenceFile, keep_going: KeepGoing<'_>) -> Result<Segments> {
        let mut cancel = CancelCheck::new(keep_going);
        let mut segments = Segments::new(file.width, self.floor.load(Ordering::Relaxed), self.sketch);
        let most = self.bytes / self.files.len();
        file.for_each(|ids, weight, share| {
            cancel.check()?;
            let mut floor = self.floor.load(Ordering::Relaxed);
            segments.add(ids, weight, self.sketch, floor)?;
            if segments.memory() <= most {
                return Ok(());
            }
            // The rest of the file adds fewer new segments than the first part, because more of them are duplicates. So
            // the memory is predicted to grow less than linearly with the share of the file.
            let (kept, enough) = (share.powf(0.3).min(0.95), share.sqrt().clamp(0.5, 0.95) * most as f64);
            while segments.memory() as f64 > enough && floor < self.highest {
                let raised = self.sketch.raised(floor, self.highest, kept);
                floor = self.floor.fetch_max(raised, Ordering::Relaxed).max(raised);
                segments.cut(self.sketch, floor, keep_going)?;
                self.memory.trim();
            }
            Ok(())
        })?;
        Ok(segments)
    }
}
