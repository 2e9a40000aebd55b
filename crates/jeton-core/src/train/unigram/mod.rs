//! Unigram training: counts → pieces and their scores.
//!
//! A text is a sequence of independent pieces with probabilities; training maximizes the likelihood of the corpus. It
//! starts from frequent substrings as seeds, then alternates between two EM iterations and pruning of the quarter of the
//! pieces with the least loss, until 1.1 times the vocabulary size is left. The final selection is by score.
//!
//! ```text
//! valid     runs of characters that may be a piece
//! segments  counts → distinct segments, the text of the other modules
//! suffixes  repeated substrings of the segments
//! pieces    the pieces, and their occurrences
//! expect    E-step: expected frequencies
//! best      best segmentations
//! prune     pruning
//! numbers   exp, ln, digamma: the same on every machine
//! ```
//!
//! Invariant: the result depends on the counts and the options only, to the last bit: not on the order of the counts, on
//! threads, or on the machine. All sums are in 64 bits, in a fixed order.
//!
//! Cost: about 40 passes over the text of distinct segments. Memory: about 30 bytes for each of its characters, 8 bytes for
//! each piece and each of 16 chunks. Source: Kudo 2018, arXiv 1804.10959; google/sentencepiece 0.2.3,
//! `unigram_model_trainer.cc`. Left out: pieces across white space, seeds from a file, pruning by an L1 penalty
//! (`use_sparse_pruning`).

mod best;
mod expect;
mod numbers;
mod options;
mod pieces;
mod prune;
mod segments;
mod suffixes;
mod valid;

use super::count::Counts;
use crate::error::{Error, Result};
use crate::parallel;
use crate::util::cancel::CancelCheck;
use expect::UnknownPiece;
use numbers::digamma;
pub use options::UnigramOptions;
use pieces::{PieceTable, NONE};
pub use prune::Scored;
use segments::Segments;
use suffixes::Suffixes;
pub use valid::PieceLimits;

/// Result of training.
#[derive(Debug, Clone, PartialEq)]
pub struct UnigramResult {
    /// Pieces and scores, in descending order.
    pub pieces: Vec<Scored>,
    /// Number of required pieces, which are characters.
    pub num_characters: usize,
    /// Number of seeds.
    pub num_seeds: usize,
    /// Number of prunings.
    pub num_rounds: usize,
}

/// Pieces with a lower expected count are dropped.
const LEAST_EXPECTED: f64 = 0.5;

/// Score of a character that is not a piece, below the worst piece.
const UNKNOWN_PENALTY: f64 = 10.0;

/// EM ends with this multiple of the vocabulary size.
const MORE: f64 = 1.1;

/// Learns pieces. `watch` is called regularly with the number of remaining pieces, and cancels by returning false.
///
/// # Errors
/// `Interrupted`; [`Error::config`] if the characters alone exceed the vocabulary size; [`Error::training`] for a corpus
/// without characters or with too many.
pub fn learn(
    counts: &Counts,
    options: &UnigramOptions,
    threads: usize,
    watch: &mut dyn FnMut(usize) -> bool,
) -> Result<UnigramResult> {
    let threads = threads.max(1);
    let read = |_: usize, keep_going: &dyn Fn() -> bool| Segments::new(counts, options, keep_going);
    let words = one(parallel::jobs(1, 1, &mut || watch(0), read))?;
    let num_characters = words.characters.len();
    if num_characters == 0 {
        return Err(Error::training("the corpus holds no character to learn from"));
    }
    let least = num_characters + options.num_reserved;
    if least > options.vocab_size {
        return Err(Error::config(format!(
            "vocab_size={} has no room: {num_characters} characters and {} other entries take {least}; raise it, or lower \
             character_coverage",
            options.vocab_size, options.num_reserved
        )));
    }
    let suffixes = Suffixes::new(&words, options.num_seeds(), threads, &mut || watch(0))?;
    let pieces = PieceTable::new(&words, &suffixes);
    drop(suffixes);
    let num_seeds = pieces.len();
    let mut learner = UnigramLearner { words: &words, options, threads, pieces };
    let num_rounds = learner.run(watch)?;
    let size = options.vocab_size - options.num_reserved;
    let pieces = prune::finish(&words, &learner.pieces, size, options.single_precision);
    Ok(UnigramResult { pieces, num_characters, num_seeds, num_rounds })
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
}

impl UnigramLearner<'_> {
    /// Alternates between EM and pruning. Returns the number of prunings.
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
            // A piece without an alternative is never pruned; if only such pieces remain, pruning ends.
            if self.pieces.len() <= wanted || self.pieces.len() == before {
                break;
            }
        }
        self.drop_shadowed(watch)?;
        Ok(rounds)
    }

    /// Returns the handling of characters that are not pieces.
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

    /// One iteration of EM: new scores from the expected counts under the previous ones. Digamma instead of the logarithm
    /// reduces rare pieces more than proportionally (variational Bayes with a sparse prior).
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
        let find = |_: usize, keep_going: &dyn Fn() -> bool| {
            best::alternatives(&self.pieces, unknown, &mut CancelCheck::new(keep_going))
        };
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

    /// Drops pieces that occur in no best segmentation, because their alternatives score higher.
    fn drop_shadowed(&mut self, watch: &mut dyn FnMut(usize) -> bool) -> Result<()> {
        let alternatives = self.alternatives(watch)?;
        let is_best =
            |(own, other): (&f64, &Option<best::Alternative>)| other.as_ref().is_none_or(|other| other.score <= *own);
        let keep: Vec<bool> = self.pieces.scores.iter().zip(&alternatives).map(is_best).collect();
        self.pieces.retain(|id| keep[id]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

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

    fn counts(words: &[(String, u64)]) -> Counts {
        let mut counts = Counts::default();
        words.iter().for_each(|(word, count)| counts.add(word.as_bytes(), *count).unwrap());
        counts
    }

    /// Words of syllables, many enough for several chunks.
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
    fn threads_and_order_change_nothing() {
        let mut words = text(30_000);
        let one = learn(&counts(&words), &options(300), 1, &mut |_| true).unwrap();
        assert_eq!(one.pieces.len(), 299);
        assert_eq!(learn(&counts(&words), &options(300), 3, &mut |_| true).unwrap(), one);
        words.reverse();
        assert_eq!(learn(&counts(&words), &options(300), 2, &mut |_| true).unwrap(), one);
    }

    #[test]
    fn syllables_are_found() {
        let model = learn(&counts(&text(5_000)), &options(60), 1, &mut |_| true).unwrap();
        for syllable in ["ta", "ri", "mo"] {
            assert!(model.pieces.iter().any(|(piece, _)| piece == syllable), "{syllable}: {:?}", model.pieces);
        }
        assert!(model.pieces.windows(2).all(|pair| pair[0].1 >= pair[1].1));
    }

    #[test]
    fn what_cannot_be_learned_is_said() {
        let few = counts(&[("▁abcdef".to_owned(), 1)]);
        assert!(learn(&few, &options(7), 1, &mut |_| true).unwrap_err().to_string().contains("take 8"));
        assert!(learn(&Counts::default(), &options(7), 1, &mut |_| true)
            .unwrap_err()
            .to_string()
            .contains("no character"));
        assert!(learn(&counts(&text(3_000)), &options(60), 1, &mut |_| false).is_err());
    }

    /// A long run without a cut: sums are kept from vanishing, and no path is quadratic.
    #[test]
    fn long_words_do_not_vanish() {
        let word = "ab".repeat(100_000) + &"c".repeat(100_000);
        let model = learn(&counts(&[(word, 1)]), &options(30), 1, &mut |_| true).unwrap();
        assert!(model.pieces.iter().all(|(_, score)| score.is_finite()));
        assert_eq!(model.pieces[0].0.chars().count(), 16);
    }
}
