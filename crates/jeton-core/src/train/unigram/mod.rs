//! Unigram training: counts → pieces and their scores.
//!
//! A text is modeled as a sequence of independent pieces with probabilities, and training maximizes the likelihood of
//! the corpus. Training starts with frequent substrings, the seeds. Then it alternates between two EM iterations and a
//! pruning, which drops a quarter of the pieces: those whose removal reduces the likelihood least. It stops when the
//! number of pieces is at most 1.1 times the vocabulary size, and finally selects the pieces with the best scores.
//!
//! ```text
//! valid     runs of characters that are allowed to be a piece
//! segments  counts → distinct segments, which the other modules read
//! suffixes  repeated substrings of the segments
//! pieces    the pieces, and their occurrences
//! expect    E-step: expected frequencies
//! best      best segmentations
//! prune     pruning
//! saved     pieces between two steps, for checkpoints
//! numbers   exp, ln, digamma: the same on every machine
//! ```
//!
//! Invariant: the result depends only on the counts and the options, to the last bit. It does not depend on the order
//! of the counts, threads, the memory limit, interruptions, or the machine. All sums are in 64 bits, in a fixed order.
//!
//! Cost: about 40 passes over the text of distinct segments. Memory: about 15 bytes for each of its characters, and
//! 60 bytes for each piece, plus 8 for each piece and thread. If this exceeds the memory limit, vectors that are
//! accessed in order are stored in files. Source: Kudo 2018, arXiv 1804.10959; google/sentencepiece 0.2.3,
//! `unigram_model_trainer.cc`.
//! Left out: pieces across white space, seeds from a file, pruning by an L1 penalty (`use_sparse_pruning`).

mod best;
mod expect;
mod numbers;
mod options;
mod pieces;
mod prune;
mod saved;
mod segments;
mod suffixes;
mod valid;

use super::count::Counts;
use crate::error::{Error, ErrorKind, Result};
use crate::parallel;
use crate::util::cancel::CancelCheck;
use crate::util::spill::{MemoryLimit, SpillVec};
use expect::UnknownPiece;
use numbers::digamma;
pub use options::UnigramOptions;
use pieces::{PieceTable, NONE};
use prune::Pruning;
pub use prune::Scored;
pub use saved::SavedPieces;
use segments::Segments;
use suffixes::Suffixes;
pub use valid::PieceLimits;

/// Result of training: pieces, and totals of the run.
#[derive(Debug, Clone, PartialEq)]
pub struct UnigramResult {
    /// Pieces with their scores, in descending order of scores.
    pub pieces: Vec<Scored>,
    /// Number of required pieces; each is a single character.
    pub num_characters: usize,
    /// Number of seeds with which training began.
    pub num_seeds: usize,
    /// Number of prunings that were done.
    pub num_rounds: usize,
}

/// Pieces with a lower expected count are dropped.
const LEAST_EXPECTED: f64 = 0.5;

/// Difference between the score of the worst piece and the score of a character that is not a piece.
const UNKNOWN_PENALTY: f64 = 10.0;

/// Pruning stops when the number of pieces is at most this multiple of the vocabulary size.
const MORE: f64 = 1.1;

/// Threads, memory and checkpoints of a run. None of these changes the result.
pub struct UnigramRun<'a> {
    /// Maximum number of threads.
    pub threads: usize,
    /// Memory limit, beyond which vectors spill to files.
    pub memory: &'a MemoryLimit,
    /// Pieces of an earlier run with equal counts and options.
    pub done: Option<SavedPieces>,
    /// Called after each step. The flag is true if training ends here because it was interrupted. The callback can save
    /// the pieces. It cancels training by returning false.
    pub save: &'a mut dyn FnMut(&dyn Fn() -> SavedPieces, bool) -> bool,
}

/// Learns pieces. `watch` is called regularly with the number of remaining pieces; it cancels training by returning
/// false.
///
/// # Errors
/// `Interrupted`; [`Error::config`] if the characters alone exceed the vocabulary size; [`Error::training`] for a corpus
/// without characters or with too many; [`Error::format`] for pieces of another run; I/O errors of spill files.
pub fn learn(
    counts: &Counts,
    options: &UnigramOptions,
    run: UnigramRun<'_>,
    watch: &mut dyn FnMut(usize) -> bool,
) -> Result<UnigramResult> {
    let UnigramRun { threads, memory, done, save } = run;
    let threads = threads.max(1);
    counts.adopt_by(memory);
    let read = |_: usize, keep_going: &dyn Fn() -> bool| Segments::new(counts, options, memory, keep_going);
    let mut words = one(parallel::jobs(1, 1, &mut || watch(0), read))?;
    let num_characters = words.characters.len();
    if num_characters == 0 {
        return Err(Error::training("the corpus contains no character to learn from"));
    }
    let least = num_characters + options.num_reserved;
    if least > options.vocab_size {
        let message = format!(
            "is too small: {num_characters} characters and {} other entries need {least}; raise it, or lower \
             character_coverage",
            options.num_reserved
        );
        return Err(Error::option("vocab_size", options.vocab_size, &message));
    }
    let bytes = bytes(&words, options);
    memory.trim_for(bytes);
    let stored = if memory.is_tight(bytes) { memory.in_files() } else { memory.clone() };
    if memory.is_tight(bytes) {
        words.spill(memory)?;
    }
    let suffixes = Suffixes::new(&words, options.num_seeds(), threads, memory, &stored, &mut || watch(0))?;
    let mut pieces = PieceTable::new(&words, &suffixes, memory, &stored)?;
    drop(suffixes);
    memory.trim_for(bytes);
    let num_seeds = pieces.len();
    let (mut rounds, mut iterations, mut is_complete) = (0, 0, false);
    if let Some(done) = done {
        pieces.restore(&done.seeds, &done.scores)?;
        (rounds, iterations, is_complete) = (done.rounds, done.iterations, done.is_complete);
    }
    let has_changed = false;
    let mut learner =
        UnigramLearner { words: &words, options, threads, pieces, rounds, iterations, is_complete, has_changed };
    let learned = learner.run(watch, save);
    if learned.as_ref().is_err_and(|error| matches!(error.kind(), ErrorKind::Interrupted)) && learner.has_changed {
        save(&|| learner.saved(), true);
    }
    learned?;
    let size = options.vocab_size - options.num_reserved;
    let pieces = prune::finish(&words, &learner.pieces, size, options.single_precision);
    Ok(UnigramResult { pieces, num_characters, num_seeds, num_rounds: learner.rounds as usize })
}

/// Returns the total bytes of all vectors, for comparison with the memory limit.
fn bytes(words: &Segments, options: &UnigramOptions) -> usize {
    const A_CHARACTER: usize = 13; // bytes: symbol, maximum length of a piece, sorted suffix, longest piece
    const A_SEGMENT: usize = 16; // bytes: start, count, follower
    const A_PIECE: usize = 64; // bytes: score, span, seed, parent; properties for a pass, two sums
    let num_pieces = options.num_seeds().min(words.symbols.len());
    A_CHARACTER * words.symbols.len() + A_SEGMENT * words.len() + A_PIECE * num_pieces
}

/// Returns the result of the only job.
fn one<R>(mut done: Vec<Result<R>>) -> Result<R> {
    done.pop().unwrap_or_else(|| Err(Error::training("a worker thread stopped unexpectedly")))
}

struct UnigramLearner<'a> {
    words: &'a Segments,
    options: &'a UnigramOptions,
    threads: usize,
    pieces: PieceTable,
    rounds: u64,       // number of prunings
    iterations: u64,   // number of EM iterations since the last pruning
    is_complete: bool, // true after the last pruning
    has_changed: bool, // true after a step of this run
}

impl UnigramLearner<'_> {
    /// Alternates between EM and pruning.
    fn run(
        &mut self,
        watch: &mut dyn FnMut(usize) -> bool,
        save: &mut dyn FnMut(&dyn Fn() -> SavedPieces, bool) -> bool,
    ) -> Result<()> {
        let wanted = (self.options.vocab_size as f64 * MORE) as usize;
        while !self.is_complete {
            if self.iterations < self.options.num_sub_iterations as u64 {
                self.maximize(watch)?;
                self.iterations += 1;
            } else {
                let before = self.pieces.len();
                self.prune(wanted, watch)?;
                (self.rounds, self.iterations) = (self.rounds + 1, 0);
                // A piece without an alternative is never pruned; if only such pieces remain, pruning ends.
                self.is_complete = self.pieces.len() <= wanted || self.pieces.len() == before;
            }
            self.has_changed = true;
            if !save(&|| self.saved(), false) {
                self.has_changed = false;
                return Err(ErrorKind::Interrupted.into());
            }
        }
        self.drop_shadowed(watch)
    }

    /// Returns the state for a checkpoint.
    fn saved(&self) -> SavedPieces {
        SavedPieces {
            rounds: self.rounds,
            iterations: self.iterations,
            is_complete: self.is_complete,
            seeds: self.pieces.seeds.to_vec(),
            scores: self.pieces.scores.to_vec(),
        }
    }

    /// Returns the score and the id that are used for characters that are not pieces.
    fn unknown(&self) -> UnknownPiece {
        let Segments { characters, symbols, num_rare, .. } = self.words;
        let most_frequent =
            (0..).zip(characters).max_by_key(|&(symbol, &(_, count))| (count, std::cmp::Reverse(symbol)));
        let is_it = |&(at, length): &(u32, u32)| {
            length == 1 && most_frequent.is_some_and(|(symbol, _)| symbols[at as usize] == symbol)
        };
        let id = if self.options.bug_compatible { self.pieces.spans.iter().position(is_it) } else { None };
        let worst = self.pieces.scores.iter().copied().fold(f64::INFINITY, f64::min);
        UnknownPiece { score: worst - UNKNOWN_PENALTY, id: id.map_or(NONE, |id| id as u32), num_rare: *num_rare }
    }

    /// Runs one iteration of EM, which computes expected counts from the current scores, and new scores from these
    /// counts. The digamma function replaces the logarithm of a count, which lowers the probability of a rare piece by
    /// a larger factor than that of a frequent piece (variational Bayes with a sparse prior).
    fn maximize(&mut self, watch: &mut dyn FnMut(usize) -> bool) -> Result<()> {
        let num = self.pieces.len();
        let mut expected =
            expect::expected(self.words, &self.pieces, self.unknown(), self.threads, &mut || watch(num))?;
        self.pieces.retain(|id| expected[id] >= LEAST_EXPECTED)?;
        expected.retain_mut(|count| *count >= LEAST_EXPECTED);
        let sum = digamma(expected.iter().sum());
        self.pieces.scores.iter_mut().zip(&*expected).for_each(|(score, &count)| *score = digamma(count) - sum);
        Ok(())
    }

    fn prune(&mut self, wanted: usize, watch: &mut dyn FnMut(usize) -> bool) -> Result<()> {
        let (num, unknown) = (self.pieces.len(), self.unknown());
        let frequencies = best::frequencies(self.words, &self.pieces, unknown, self.threads, &mut || watch(num))?;
        let decide = |_: usize, keep_going: &dyn Fn() -> bool| {
            let mut pruning = Pruning::new(&frequencies, &self.pieces.stored)?;
            best::alternatives(&self.pieces, unknown, &mut CancelCheck::new(keep_going), |id, alternative| {
                pruning.add(id, self.pieces.scores[id], alternative)
            })?;
            Ok(pruning)
        };
        let pruning = one(parallel::jobs(1, 1, &mut || watch(num), decide))?;
        pruning.apply(&mut self.pieces, wanted.max((num as f64 * self.options.shrinking_factor) as usize))
    }

    /// Drops each piece whose spelling can be segmented into other pieces with a higher total score. Such a piece is in
    /// no best segmentation.
    fn drop_shadowed(&mut self, watch: &mut dyn FnMut(usize) -> bool) -> Result<()> {
        let (num, unknown) = (self.pieces.len(), self.unknown());
        let decide = |_: usize, keep_going: &dyn Fn() -> bool| {
            let mut keep = SpillVec::new(&self.pieces.stored);
            best::alternatives(&self.pieces, unknown, &mut CancelCheck::new(keep_going), |id, alternative| {
                keep.push(alternative.is_none_or(|(score, _)| score <= self.pieces.scores[id]))
            })?;
            Ok(keep)
        };
        let keep: SpillVec<bool> = one(parallel::jobs(1, 1, &mut || watch(num), decide))?;
        self.pieces.retain(|id| keep[id])
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use std::cell::Cell;

    use super::*;

    pub(super) fn options(vocab_size: usize) -> UnigramOptions {
        let limits = PieceLimits {
            max_sentencepiece_length: 16,
            split_by_unicode_script: true,
            split_by_number: true,
            split_digits: false,
        };
        UnigramOptions {
            vocab_size,
            num_reserved: 1,
            character_coverage: 1.0,
            required_chars: String::new(),
            seed_sentencepiece_size: 0,
            num_sub_iterations: 2,
            shrinking_factor: 0.75,
            bug_compatible: false,
            marked_ends: false,
            starts_alike: true,
            single_precision: false,
            limits,
        }
    }

    fn learned(
        counts: &Counts,
        options: &UnigramOptions,
        threads: usize,
        watch: &mut dyn FnMut(usize) -> bool,
    ) -> Result<UnigramResult> {
        let memory = MemoryLimit::unlimited();
        learn(counts, options, UnigramRun { threads, memory: &memory, done: None, save: &mut |_, _| true }, watch)
    }

    fn counts(words: &[(String, u64)]) -> Counts {
        let mut counts = Counts::default();
        words.iter().for_each(|(word, count)| counts.add(word.as_bytes(), *count).unwrap());
        counts
    }

    /// Returns `num` words that consist of syllables, with their counts. 30,000 such words fill more than one chunk.
    fn text(num: u64) -> Vec<(String, u64)> {
        const SYLLABLES: [&str; 8] = ["ta", "ri", "mo", "ken", "su", "la", "ok", "é"];
        let mut state = 1u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let word = |draw: &mut dyn FnMut(u64) -> u64| {
            let syllables = (0..2 + draw(5)).map(|_| SYLLABLES[(draw(8) * draw(8) / 8) as usize]);
            let word: String = syllables.collect();
            ("▁".to_owned() + &word, 1 + draw(9))
        };
        (0..num).map(|_| word(&mut draw)).collect()
    }

    #[test]
    fn result_does_not_depend_on_threads_or_order() {
        let mut words = text(30_000);
        let one = learned(&counts(&words), &options(300), 1, &mut |_| true).unwrap();
        assert_eq!(one.pieces.len(), 299);
        assert_eq!(learned(&counts(&words), &options(300), 3, &mut |_| true).unwrap(), one);
        words.reverse();
        assert_eq!(learned(&counts(&words), &options(300), 2, &mut |_| true).unwrap(), one);
    }

    #[test]
    fn training_resumes_after_every_step() {
        let (counts, options, memory) = (counts(&text(5_000)), options(60), MemoryLimit::unlimited());
        let whole = learned(&counts, &options, 1, &mut |_| true).unwrap();
        let (mut done, mut runs) = (None, 0);
        let last = loop {
            // Each run is interrupted in its second step, and the next run resumes from the saved pieces.
            let (steps, mut saved) = (Cell::new(0), None);
            let mut save = |state: &dyn Fn() -> SavedPieces, is_interrupted: bool| {
                steps.set(steps.get() + 1);
                saved = is_interrupted.then(state);
                true
            };
            let run = UnigramRun { threads: 2, memory: &memory, done: done.clone(), save: &mut save };
            match (learn(&counts, &options, run, &mut |_| steps.get() == 0), saved) {
                (Ok(result), _) => break result,
                (Err(_), Some(state)) => {
                    assert_eq!(SavedPieces::from_bytes(&state.to_bytes()).unwrap(), state);
                    assert_ne!(done.as_ref(), Some(&state));
                    done = Some(state);
                }
                (Err(error), None) => unreachable!("{error}"),
            }
            runs += 1;
        };
        assert!(runs > 4, "{runs}");
        assert_eq!(last, whole);
    }

    #[test]
    fn pieces_of_another_run_are_an_error() {
        let (counts, memory) = (counts(&text(3_000)), MemoryLimit::unlimited());
        let wrong = [
            SavedPieces::default(),
            SavedPieces { seeds: vec![1, 0], scores: vec![-1.0, -1.0], ..SavedPieces::default() },
            SavedPieces { seeds: vec![u32::MAX], scores: vec![-1.0], ..SavedPieces::default() },
            SavedPieces { seeds: vec![0], scores: vec![f64::NAN], ..SavedPieces::default() },
            SavedPieces { seeds: vec![0], scores: vec![], ..SavedPieces::default() },
        ];
        for done in wrong {
            let run = UnigramRun { threads: 1, memory: &memory, done: Some(done), save: &mut |_, _| true };
            learn(&counts, &options(60), run, &mut |_| true).unwrap_err();
        }
        let bytes = SavedPieces { seeds: vec![7; 3], scores: vec![0.5; 3], ..SavedPieces::default() }.to_bytes();
        for end in 0..bytes.len() {
            SavedPieces::from_bytes(&bytes[..end]).unwrap_err();
        }
    }

    #[test]
    fn syllables_become_pieces() {
        let model = learned(&counts(&text(5_000)), &options(60), 1, &mut |_| true).unwrap();
        for syllable in ["ta", "ri", "mo"] {
            assert!(model.pieces.iter().any(|(piece, _)| piece == syllable), "{syllable}: {:?}", model.pieces);
        }
        assert!(model.pieces.windows(2).all(|pair| pair[0].1 >= pair[1].1));
    }

    #[test]
    fn impossible_training_is_an_error() {
        let few = counts(&[("▁abcdef".to_owned(), 1)]);
        assert!(learned(&few, &options(7), 1, &mut |_| true).unwrap_err().to_string().contains("need 8"));
        assert!(learned(&Counts::default(), &options(7), 1, &mut |_| true)
            .unwrap_err()
            .to_string()
            .contains("no character"));
        assert!(learned(&counts(&text(3_000)), &options(60), 1, &mut |_| false).is_err());
    }

    /// A long word is not cut into shorter words. Nevertheless, the sums of probabilities over the segmentations of a
    /// long word do not underflow to 0, and no step takes quadratic time.
    #[test]
    fn long_words_keep_their_probability() {
        let word = "ab".repeat(100_000) + &"c".repeat(100_000);
        let model = learned(&counts(&[(word, 1)]), &options(30), 1, &mut |_| true).unwrap();
        assert!(model.pieces.iter().all(|(_, score)| score.is_finite()));
        assert_eq!(model.pieces[0].0.chars().count(), 16);
    }
}
