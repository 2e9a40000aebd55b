//! Counts → the pieces of a Unigram model and their scores.
//!
//! Text is a sequence of pieces, each drawn with its own probability; training looks for the pieces that make the corpus likely.
//! It begins with many substrings and takes turns: two rounds of EM, then a quarter of the pieces goes, those that are missed
//! least, until a tenth more than wanted is left. The last tenth goes by score.
//!
//! ```text
//! valid     which runs of characters may be a piece
//! words     counts → distinct segments, the text of all that follows
//! suffixes  its repeated substrings
//! pieces    the pieces, and where each stands
//! expect    E-step: how often each is expected
//! best      best segmentations
//! prune     which pieces stay
//! numbers   exp, ln, digamma: the same on every machine
//! ```
//!
//! Invariant: the result depends on the counts and the options alone, to the last bit: not on the order of the counts, on threads, or
//! on the machine. All sums are in 64 bits, in an order that is fixed.
//!
//! Cost: about 40 walks over the text of distinct segments. Memory: some 30 bytes a character of these, 8 bytes a piece for each
//! of 16 chunks.
//! Source: Kudo 2018, arXiv 1804.10959; google/sentencepiece 0.2.3, `unigram_model_trainer.cc`.
//! Left out: pieces across white space, seeds from a file, pruning by an L1 penalty (`use_sparse_pruning`).

mod best;
mod expect;
mod numbers;
mod pieces;
mod prune;
mod suffixes;
mod valid;
mod words;

use super::count::Counts;
use crate::error::{Error, Result};
use crate::interrupt::Looks;
use crate::parallel;
use numbers::digamma;
use pieces::Pieces;
pub use prune::Scored;
use suffixes::Suffixes;
pub use valid::Limits;
use words::Words;

/// What to learn.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Entries of the vocabulary, those of `num_others` among them.
    pub vocab_size: usize,
    /// Entries that are not learned: special tokens and bytes.
    pub num_others: usize,
    /// The share of all characters in the corpus that must be pieces.
    pub character_coverage: f64,
    /// Substrings to begin with, beside the characters.
    pub seed_size: usize,
    /// Rounds of EM between two prunings.
    pub num_sub_iterations: usize,
    /// The share of the pieces that a pruning keeps.
    pub shrinking_factor: f64,
    /// Whether what follows a word is not known, so that each whole word may be a piece; else it is white space, as SentencePiece has it for
    /// a table of words, and a word that is never followed by anything else is no candidate.
    pub whole_words: bool,
    /// What a piece may hold.
    pub limits: Limits,
}

/// What was learned.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// Pieces and scores, best first.
    pub pieces: Vec<Scored>,
    /// How many of them had to be, because they are characters.
    pub num_characters: usize,
    /// Pieces that training began with.
    pub num_seeds: usize,
    /// Prunings until few enough were left.
    pub num_rounds: usize,
}

/// Pieces expected less often than this are dropped.
const LEAST_EXPECTED: f64 = 0.5;

/// A character that is no piece is by this less probable than the worst piece; a difference of scores.
const UNKNOWN_PENALTY: f64 = 10.0;

/// How many pieces more than wanted EM ends with.
const MORE: f64 = 1.1;

/// Learns pieces; `watch` is called about every 20 ms with the pieces that are left, and stops the work by returning false.
///
/// # Errors
/// `Interrupted`; [`Error::config`] where the characters alone are more than the vocabulary holds; [`Error::training`] for a corpus without
/// characters or with too many.
pub fn learn(
    counts: &Counts,
    options: &Options,
    threads: usize,
    watch: &mut dyn FnMut(usize) -> bool,
) -> Result<Model> {
    let threads = threads.max(1);
    let read = |_: usize, go_on: &dyn Fn() -> bool| {
        Words::new(counts, options.character_coverage, &options.limits, options.whole_words, go_on)
    };
    let words = one(parallel::jobs(1, 1, &mut || watch(0), read))?;
    let num_characters = words.characters.len();
    if num_characters == 0 {
        return Err(Error::training("the corpus holds no character to learn from"));
    }
    let least = num_characters + options.num_others;
    if least > options.vocab_size {
        return Err(Error::config(format!(
            "vocab_size={} has no room: {num_characters} characters and {} other entries take {least}; raise it, or lower \
             character_coverage",
            options.vocab_size, options.num_others
        )));
    }
    let suffixes = Suffixes::new(&words, options.seed_size, threads, &mut || watch(0))?;
    let pieces = Pieces::new(&words, &suffixes);
    drop(suffixes);
    let num_seeds = pieces.len();
    let mut learner = Learner { words: &words, options, threads, pieces };
    let num_rounds = learner.run(watch)?;
    let pieces = prune::finish(&words, &learner.pieces, options.vocab_size - options.num_others);
    Ok(Model { pieces, num_characters, num_seeds, num_rounds })
}

/// The result of the only job.
fn one<R>(mut done: Vec<Result<R>>) -> Result<R> {
    done.pop().unwrap_or_else(|| Err(Error::training("a worker thread stopped unexpectedly")))
}

struct Learner<'a> {
    words: &'a Words,
    options: &'a Options,
    threads: usize,
    pieces: Pieces,
}

impl Learner<'_> {
    /// EM and pruning in turns. Returns how many turns it took.
    fn run(&mut self, watch: &mut dyn FnMut(usize) -> bool) -> Result<usize> {
        let wanted = (self.options.vocab_size as f64 * MORE) as usize;
        let mut rounds = 0;
        loop {
            for _ in 0..self.options.num_sub_iterations {
                self.maximize(watch)?;
            }
            let before = self.pieces.len();
            self.prune(wanted, watch)?;
            rounds += 1;
            // What has no alternative always stays; where nothing else is left, no pruning makes it fewer.
            if self.pieces.len() <= wanted || self.pieces.len() == before {
                break;
            }
        }
        self.drop_shadowed(watch)?;
        Ok(rounds)
    }

    /// What a character costs that is no piece.
    fn unknown(&self) -> f64 {
        self.pieces.scores.iter().copied().fold(f64::INFINITY, f64::min) - UNKNOWN_PENALTY
    }

    /// One round of EM: scores from how often pieces are expected under those before. Digamma in the place of the logarithm takes from
    /// rare pieces more than their share (variational Bayes with a sparse prior).
    fn maximize(&mut self, watch: &mut dyn FnMut(usize) -> bool) -> Result<()> {
        let num = self.pieces.len();
        let mut expected =
            expect::expected(self.words, &self.pieces, self.unknown(), self.threads, &mut || watch(num))?;
        self.pieces.retain(|id| expected[id] >= LEAST_EXPECTED);
        expected.retain(|&count| count >= LEAST_EXPECTED);
        let sum = digamma(expected.iter().sum());
        self.pieces.scores = expected.iter().map(|&count| digamma(count) - sum).collect();
        Ok(())
    }

    fn alternatives(&self, watch: &mut dyn FnMut(usize) -> bool) -> Result<Vec<Option<best::Alternative>>> {
        let (num, unknown) = (self.pieces.len(), self.unknown());
        let find =
            |_: usize, go_on: &dyn Fn() -> bool| best::alternatives(&self.pieces, unknown, &mut Looks::new(go_on));
        one(parallel::jobs(1, 1, &mut || watch(num), find))
    }

    fn prune(&mut self, wanted: usize, watch: &mut dyn FnMut(usize) -> bool) -> Result<()> {
        let num = self.pieces.len();
        let alternatives = self.alternatives(watch)?;
        let frequencies =
            best::frequencies(self.words, &self.pieces, self.unknown(), self.threads, &mut || watch(num))?;
        let most = wanted.max((num as f64 * self.options.shrinking_factor) as usize);
        prune::prune(&mut self.pieces, &frequencies, &alternatives, most);
        Ok(())
    }

    /// Drops pieces that no best segmentation can hold, because others spell them better.
    fn drop_shadowed(&mut self, watch: &mut dyn FnMut(usize) -> bool) -> Result<()> {
        let alternatives = self.alternatives(watch)?;
        let is_best =
            |(own, other): (&f64, &Option<best::Alternative>)| other.as_ref().is_none_or(|other| other.score <= *own);
        let keep: Vec<bool> = self.pieces.scores.iter().zip(&alternatives).map(is_best).collect();
        self.pieces.retain(|id| keep[id]);
        Ok(())
    }
}
