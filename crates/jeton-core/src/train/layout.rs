//! Counts → sequences: each distinct pretoken once, as a sequence of initial symbols, weighted by its count.
//!
//! Pretokens keep the order of the counts. Each shard has consecutive pretokens with about the same number of
//! symbols. A pretoken of one symbol has no pairs and is only counted.

use super::count::Counts;
use super::options::{Beginning, KnownTokens, LearnOptions};
use super::replay::{Replay, ReplayScratch};
use super::tokens::Tokens;
use crate::error::{Error, Result};
use crate::parallel;
use crate::util::alloc;
use crate::util::cancel::{CancelCheck, KeepGoing};
use crate::util::spill::PageCheck;
use crate::vocab::alphabet::{Alphabet, EndOfWord, Level};

/// Destination of the sequences of one shard.
pub trait Sequences: Send {
    /// Reserves memory for `symbols` symbols in `sequences` sequences.
    ///
    /// # Errors
    /// [`crate::error::ErrorKind::Memory`]; [`Error::training`] for more symbols than a shard may have.
    fn reserve(&mut self, symbols: usize, sequences: usize) -> Result<()>;

    /// Appends a sequence of two or more symbols.
    ///
    /// # Errors
    /// As [`Sequences::reserve`]; I/O errors.
    fn push(&mut self, ids: impl ExactSizeIterator<Item = u32>, weight: u64) -> Result<()>;
}

/// Sequences of all shards, the tokens with their counts, and the number of tokens in the corpus.
pub struct Layout<S> {
    /// Sequences of each shard.
    pub shards: Vec<S>,
    /// The initial tokens, and the tokens that the merges of `options.done` create.
    pub tokens: Tokens,
    /// Number of tokens in the corpus.
    pub corpus_tokens: u64,
}

/// Returns an upper bound of the number of array cells that [`lay_out`] fills: one for each initial symbol, and one at
/// the end of each pretoken.
pub fn most_symbols(counts: &Counts, level: Level) -> usize {
    let symbols = |pretoken: &[u8]| match level {
        Level::Byte => pretoken.len(),
        Level::Char => pretoken.iter().filter(|&&byte| byte as i8 >= -0x40).count(), // no continuation bytes
    };
    counts.sum(|pretoken, _| symbols(pretoken) as u64 + 1) as usize
}

/// Lays out the counts in up to `shards` shards, with one thread for each shard. `make(n)` creates an empty shard for
/// ids below n.
///
/// # Errors
/// As [`super::learn::learn`].
pub fn lay_out<S: Sequences>(
    counts: &Counts,
    beginning: Beginning<'_>,
    options: &LearnOptions<'_>,
    shards: usize,
    make: impl Fn(usize) -> Result<S> + Sync,
    watch: &mut dyn FnMut() -> bool,
) -> Result<Layout<S>> {
    let bytes = counts.sum(|pretoken, _| pretoken.len() as u64) as usize;
    let ranges = ranges(counts, bytes, shards.min(bytes / options.tuning.shard_bytes.max(1)).max(1));
    let threads = if bytes < parallel::BYTES_WORTH_A_THREAD { 1 } else { ranges.len() };
    let mut tokens = Tokens::new(beginning, options)?;
    let replay = Replay::new(options.done, tokens.len() as u32)?;
    for merge in options.done {
        tokens.push_done(merge.left, merge.right)?;
    }
    options.memory.trim_for(bytes);
    let source = SequenceSource::new(beginning, options);
    let num_ids = tokens.len();
    let job = |i: usize, keep_going: KeepGoing<'_>| {
        let mut shard = LaidOut { sequences: make(num_ids)?, uses: alloc::filled(0, num_ids)? };
        let pages = PageCheck::new(options.memory);
        shard.lay_out(counts, ranges[i].clone(), &source, &replay, pages, keep_going)?;
        Ok(shard)
    };
    let mut total: u128 = 0;
    let mut shards = Vec::new();
    for shard in parallel::jobs(ranges.len(), threads, watch, job) {
        let LaidOut { sequences, uses } = shard?;
        for (id, uses) in (0..).zip(uses) {
            total += u128::from(uses);
            tokens.occurs(id, uses);
        }
        shards.push(sequences);
    }
    if total > i64::MAX as u128 {
        return Err(too_many());
    }
    Ok(Layout { shards, tokens, corpus_tokens: total as u64 })
}

fn too_many() -> Error {
    Error::training("the counts add up to more than 2^63 symbols")
}

/// Splits the pretokens into up to `shards` ranges with about the same number of bytes.
fn ranges(counts: &Counts, bytes: usize, shards: usize) -> Vec<std::ops::Range<usize>> {
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

/// A shard, with the number of occurrences of each id.
struct LaidOut<S> {
    sequences: S,
    uses: Vec<u64>, // id -> number of occurrences
}

impl<S: Sequences> LaidOut<S> {
    fn lay_out(
        &mut self,
        counts: &Counts,
        range: std::ops::Range<usize>,
        source: &SequenceSource<'_>,
        replay: &Replay<'_>,
        mut pages: PageCheck<'_>,
        keep_going: KeepGoing<'_>,
    ) -> Result<()> {
        let pretokens = || counts.range(range.clone());
        let mut cancel = CancelCheck::new(keep_going);
        if let (SequenceSource::Bytes(ids), true) = (source, replay.is_empty()) {
            let has_pairs = |&(pretoken, count): &(&[u8], u64)| pretoken.len() > 1 && count > 0;
            let sizes = pretokens().filter(has_pairs).map(|(pretoken, _)| pretoken.len());
            let (symbols, sequences) = sizes.fold((0, 0), |(symbols, sequences), len| (symbols + len, sequences + 1));
            self.sequences.reserve(symbols, sequences)?;
            for (pretoken, count) in pretokens() {
                cancel.check()?;
                pages.check();
                self.push(pretoken.iter().map(|&byte| ids[usize::from(byte)]), count)?;
            }
            return Ok(());
        }
        let (mut ids, mut scratch) = (Vec::new(), ReplayScratch::default());
        for (pretoken, count) in pretokens() {
            cancel.check()?;
            pages.check();
            ids.clear();
            match source {
                SequenceSource::Alphabet(alphabet) => {
                    alphabet.symbols(pretoken, &mut ids, None)?;
                }
                SequenceSource::Tokens(known) => known.encode(pretoken, &mut ids)?,
                SequenceSource::Bytes(bytes) => ids.extend(pretoken.iter().map(|&byte| bytes[usize::from(byte)])),
            }
            replay.apply(&mut ids, &mut scratch, |_| ());
            self.push(ids.iter().copied(), count)?;
        }
        Ok(())
    }

    #[inline]
    fn push(&mut self, ids: impl ExactSizeIterator<Item = u32> + Clone, count: u64) -> Result<()> {
        for id in ids.clone() {
            let uses = &mut self.uses[id as usize];
            *uses = uses.checked_add(count).ok_or_else(too_many)?;
        }
        if ids.len() > 1 && count > 0 {
            self.sequences.push(ids, count)?;
        }
        Ok(())
    }
}

/// Conversion of a pretoken to ids.
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
