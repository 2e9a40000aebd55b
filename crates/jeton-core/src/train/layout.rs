//! Counts → shards: each distinct pretoken once, as a sequence of initial symbols, weighted by its count.
//!
//! Pretokens keep the order of the counts. A shard has consecutive ones, with about as many symbols as the other shards. A
//! pretoken of one symbol has no pairs and is only counted.

use super::count::Counts;
use super::options::{Beginning, KnownTokens, LearnOptions};
use super::replay::{Replay, ReplayScratch};
use super::shard::Shard;
use super::symbol_array::{SymbolArray, MAX_SYMBOLS};
use super::tokens::Tokens;
use crate::error::{Error, Result};
use crate::parallel;
use crate::util::alloc;
use crate::util::cancel::{CancelCheck, KeepGoing};
use crate::util::spill::MemoryLimit;
use crate::vocab::alphabet::{Alphabet, EndOfWord, Level};

/// Bytes for each symbol: a cell, and its position in a posting list.
pub const BYTES_PER_SYMBOL: usize = 12;

/// The sequences of one shard.
struct Sequences {
    cells: SymbolArray,
    uses: Vec<u64>, // by id
}

/// Builds the shards, on up to `options.threads` threads. Returns the shards, the tokens with their counts, and the number
/// of tokens of the whole corpus.
///
/// # Errors
/// As [`super::learn::learn`].
pub fn lay_out(
    counts: &Counts,
    beginning: Beginning<'_>,
    options: &LearnOptions<'_>,
    watch: &mut dyn FnMut() -> bool,
) -> Result<(Vec<Shard>, Tokens, u64)> {
    let bytes: usize = counts.iter().map(|(pretoken, _)| pretoken.len()).sum();
    let ranges = ranges(counts, bytes, options);
    let threads = if bytes < parallel::BYTES_WORTH_A_THREAD { 1 } else { ranges.len() };
    let mut tokens = Tokens::new(beginning, options)?;
    let replay = Replay::new(options.done, tokens.len() as u32)?;
    for merge in options.done {
        tokens.push_done(merge.left, merge.right)?;
    }
    options.memory.trim_for(bytes * BYTES_PER_SYMBOL);
    let source = SequenceSource::new(beginning, options);
    let job = |i: usize, keep_going: KeepGoing<'_>| {
        lay_out_range(counts, ranges[i].clone(), &source, &replay, tokens.len(), options.memory, keep_going)
    };
    let laid = parallel::jobs(ranges.len(), threads, watch, job).into_iter().collect::<Result<Vec<_>>>()?;
    let mut total: u128 = 0;
    let mut cells = 0;
    for sequences in &laid {
        cells += sequences.cells.len();
        for (id, &uses) in (0..).zip(&sequences.uses) {
            total += u128::from(uses);
            tokens.occurs(id, uses);
        }
    }
    if total > i64::MAX as u128 {
        return Err(too_many());
    }
    // Each merge removes a cell at least.
    let num_ids = tokens.len() + (options.num_merges - options.done.len()).min(cells);
    // If cells and posting lists exceed the limit, posting lists spill, because they are read in order.
    let tight = options.memory.is_tight(cells * BYTES_PER_SYMBOL);
    let memory = if tight { options.memory.in_files() } else { options.memory.clone() };
    let shards = laid.into_iter().map(|sequences| Shard::new(sequences.cells, num_ids, &memory));
    let shards = shards.collect::<Result<Vec<_>>>()?;
    Ok((shards, tokens, total as u64))
}

fn too_many() -> Error {
    Error::training("the counts add up to more than 2^63 symbols")
}

fn check_cells(cells: usize) -> Result<()> {
    if cells > MAX_SYMBOLS {
        return Err(Error::training(
            "more than 2^31 symbols in the distinct pretokens of one thread: use a pattern that cuts the text shorter",
        ));
    }
    Ok(())
}

/// Splits the pretokens into ranges of about equal bytes.
fn ranges(counts: &Counts, bytes: usize, options: &LearnOptions<'_>) -> Vec<std::ops::Range<usize>> {
    let shards = options.threads.min(bytes / options.tuning.shard_bytes.max(1)).max(1);
    let mut ranges = Vec::with_capacity(shards);
    let (mut start, mut done) = (0, 0);
    for (i, (pretoken, _)) in counts.iter().enumerate() {
        done += pretoken.len();
        if ranges.len() + 1 < shards && done >= bytes / shards * (ranges.len() + 1) {
            ranges.push(start..i + 1);
            start = i + 1;
        }
    }
    ranges.push(start..counts.len());
    ranges
}

fn lay_out_range(
    counts: &Counts,
    range: std::ops::Range<usize>,
    source: &SequenceSource<'_>,
    replay: &Replay<'_>,
    num_ids: usize,
    memory: &MemoryLimit,
    keep_going: KeepGoing<'_>,
) -> Result<Sequences> {
    let pretokens = || counts.range(range.clone());
    let mut sequences = Sequences { cells: SymbolArray::with_capacity(0, memory)?, uses: alloc::filled(0, num_ids)? };
    let mut cancel = CancelCheck::new(keep_going);
    if let (SequenceSource::Bytes(ids), true) = (source, replay.is_empty()) {
        let has_pairs = |&(pretoken, count): &(&[u8], u64)| pretoken.len() > 1 && count > 0;
        let room: usize = pretokens().filter(has_pairs).map(|(pretoken, _)| pretoken.len() + 1).sum();
        check_cells(room)?; // before the memory is allocated
        sequences.cells = SymbolArray::with_capacity(room, memory)?;
        for (pretoken, count) in pretokens() {
            cancel.check()?;
            sequences.push(pretoken.iter().map(|&byte| ids[usize::from(byte)]), count)?;
        }
        return Ok(sequences);
    }
    let (mut ids, mut scratch) = (Vec::new(), ReplayScratch::default());
    for (pretoken, count) in pretokens() {
        cancel.check()?;
        ids.clear();
        match source {
            SequenceSource::Alphabet(alphabet) => alphabet.symbols(pretoken, &mut ids, None)?,
            SequenceSource::Tokens(known) => known.encode(pretoken, &mut ids)?,
            SequenceSource::Bytes(bytes) => ids.extend(pretoken.iter().map(|&byte| bytes[usize::from(byte)])),
        }
        replay.apply(&mut ids, &mut scratch, |_| ());
        sequences.push(ids.iter().copied(), count)?;
    }
    Ok(sequences)
}

/// Source of the ids.
enum SequenceSource<'a> {
    Bytes(Box<[u32; 256]>), // at byte level without a mark
    Alphabet(Box<Alphabet>),
    Tokens(&'a dyn KnownTokens),
}

impl<'a> SequenceSource<'a> {
    fn new(beginning: Beginning<'a>, options: &LearnOptions<'_>) -> Self {
        match beginning {
            Beginning::Tokens(known) => Self::Tokens(known),
            Beginning::Alphabet(symbols) => {
                let alphabet = symbols.alphabet(options.level, options.end, None);
                let bytes = (options.level == Level::Byte && options.end == EndOfWord::None).then(|| alphabet.bytes());
                bytes
                    .flatten()
                    .map(|ids| Self::Bytes(Box::new(*ids)))
                    .unwrap_or_else(|| Self::Alphabet(Box::new(alphabet)))
            }
        }
    }
}

impl Sequences {
    #[inline]
    fn push(&mut self, ids: impl ExactSizeIterator<Item = u32> + Clone, count: u64) -> Result<()> {
        for id in ids.clone() {
            let uses = &mut self.uses[id as usize];
            *uses = uses.checked_add(count).ok_or_else(too_many)?;
        }
        if ids.len() > 1 && count > 0 {
            check_cells(self.cells.len() + ids.len())?;
            self.cells.push(ids, count)?;
        }
        Ok(())
    }
}
