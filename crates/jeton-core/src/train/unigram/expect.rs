//! E-step of EM (forward–backward): expected frequency of each piece in all segmentations of the text.
//!
//! The probability of a segmentation is the product of its pieces' probabilities. `alpha[i]` is the sum of the
//! probabilities of all segmentations up to position i. `rest[i]` is the sum for all segmentations from i on, divided
//! by the sum for the whole segment. So a piece with probability p from s to e has the expected frequency
//! `alpha[s] · p · rest[e]`. Probabilities are added instead of logarithms, so a step is one multiplication. Small sums
//! are scaled by a power of two, which is exact.
//!
//! Invariant: only the text determines its chunks, and sums inside a chunk and over chunks have a fixed order. Sums
//! are therefore equal to the last bit for any number of threads, on every machine.
//!
//! Cost: two visits of each occurrence of each piece; 8 bytes for each piece and thread. Source: Kudo 2018, arXiv
//! 1804.10959, section 3.2; google/sentencepiece, `unigram_model.cc` (`PopulateMarginal`). Plain version:
//! `tests/oracle/test_unigram_oracle.py`. SentencePiece counts unknown characters as occurrences of the piece with id
//! 0, which is the most frequent character; an option reproduces this.

use std::ops::Range;

use super::numbers::exp;
use super::pieces::{PieceTable, TrieNode, NONE};
use super::segments::Segments;
use crate::error::Result;
use crate::parallel;
use crate::util::cancel::{CancelCheck, KeepGoing};
use crate::util::spill::{MemoryLimit, SpillVec};

/// Maximum number of chunks of the text.
const CHUNKS: usize = 16;

/// Minimum number of characters in a chunk.
const CHARACTERS_WORTH_A_CHUNK: usize = 1 << 15;

/// If all sums that are still in use are below this bound, they are divided by it, to prevent underflow. The bound is
/// so high that a sum above it remains positive when it is multiplied by the probability of one piece.
const SMALL: f64 = f64::from_bits((1023 - 256) << 52);

/// If the sum of probabilities at a position is smaller than this, while the sums at other positions exceed [`SMALL`],
/// every segmentation with a boundary at the position is too improbable to matter.
const NOTHING: f64 = f64::from_bits((1023 - 900) << 52);

/// Splits the segments into chunks with about equally many characters. The boundaries depend only on the text.
pub(super) fn chunks(words: &Segments) -> Vec<Range<usize>> {
    let total = words.symbols.len();
    let num = (total / CHARACTERS_WORTH_A_CHUNK).clamp(1, CHUNKS);
    let cut = |k: usize| words.starts.partition_point(|&start| (start as usize) < total / num * k);
    let cuts: Vec<usize> = (1..num).map(cut).chain([words.len()]).collect();
    let starts = [0].into_iter().chain(cuts.iter().copied());
    starts.zip(&cuts).map(|(start, &end)| start.min(end)..end).collect()
}

/// Runs `work` on every chunk. Each result has one value for each piece; returns the sum for each piece, to which `add`
/// adds the values in the order of the chunks.
///
/// # Errors
/// Errors of `work`; I/O errors of spill files; `Interrupted`.
pub(super) fn sum_of_chunks<T: Copy + Default + Send + Sync>(
    words: &Segments,
    pieces: &PieceTable,
    threads: usize,
    watch: &mut dyn FnMut() -> bool,
    work: impl Fn(Range<usize>, &mut CancelCheck<'_>) -> Result<SpillVec<T>> + Sync,
    add: impl Fn(&mut T, T) + Sync + Send,
) -> Result<SpillVec<T>> {
    let chunks = chunks(words);
    let mut sums = SpillVec::filled(T::default(), pieces.len(), &pieces.stored)?;
    let mut failed = None;
    let job = |i: usize, keep_going: KeepGoing<'_>| work(chunks[i].clone(), &mut CancelCheck::new(keep_going));
    parallel::jobs_in_order(chunks.len(), threads, watch, job, |_, done| {
        match done {
            Ok(chunk) => sums.iter_mut().zip(&*chunk).for_each(|(sum, &more)| add(sum, more)),
            Err(error) => failed = failed.take().or(Some(error)),
        }
        failed.is_none()
    });
    failed.map_or(Ok(sums), Err)
}

/// Values that a segmentation uses for characters that are not pieces.
#[derive(Debug, Clone, Copy)]
pub(super) struct UnknownPiece {
    pub score: f64,
    /// Id of the piece whose count includes unknown characters; [`NONE`] if they are not counted.
    pub id: u32,
    /// Total count of the rare characters. They are unknown, too, but the segments leave them out.
    pub num_rare: u64,
}

/// Returns the expected count of each piece.
///
/// # Errors
/// `Interrupted`.
pub(super) fn expected(
    words: &Segments,
    pieces: &PieceTable,
    unknown: UnknownPiece,
    threads: usize,
    watch: &mut dyn FnMut() -> bool,
) -> Result<SpillVec<f64>> {
    let nodes = pieces.nodes(exp)?;
    let probability = exp(unknown.score);
    let work = |chunk: Range<usize>, cancel: &mut CancelCheck<'_>| {
        let mut sums = Sums::new(&nodes, probability, unknown.id, &pieces.memory)?;
        for i in chunk {
            sums.segment(&pieces.longest[words.range(i)], words.weights[i] as f64, cancel)?;
        }
        Ok(sums.expected)
    };
    let mut sums = sum_of_chunks(words, pieces, threads, watch, work, |sum, more| *sum += more)?;
    if let Some(sum) = sums.get_mut(unknown.id as usize) {
        *sum += unknown.num_rare as f64;
    }
    Ok(sums)
}

/// A piece at one position of the current segment.
struct PieceEdge {
    id: u32, // NONE if its occurrences are not counted
    end: u32,
    probability: f64,
}

struct Sums<'a> {
    nodes: &'a [TrieNode],
    unknown: f64,
    unknown_id: u32,
    expected: SpillVec<f64>, // piece -> expected count
    alpha: Vec<f64>,         // position -> sum for the segmentations up to it, times SMALL^-power
    powers: Vec<i32>,
    rest: Vec<f64>, // position -> sum from it on / sum of the whole, times SMALL^power
    edges: Vec<PieceEdge>,
    ends: Vec<usize>, // position -> end of its edges
}

impl<'a> Sums<'a> {
    fn new(nodes: &'a [TrieNode], unknown: f64, unknown_id: u32, memory: &MemoryLimit) -> Result<Self> {
        Ok(Self {
            nodes,
            unknown,
            unknown_id,
            expected: SpillVec::filled(0.0, nodes.len(), memory)?,
            alpha: Vec::new(),
            powers: Vec::new(),
            rest: Vec::new(),
            edges: Vec::new(),
            ends: Vec::new(),
        })
    }

    /// Adds the expected counts of the pieces in a segment that occurs `weight` times in the corpus.
    fn segment(&mut self, longest: &[u32], weight: f64, cancel: &mut CancelCheck<'_>) -> Result<()> {
        if let &[id] = longest {
            if let Some(sum) = self.expected.get_mut(if id == NONE { self.unknown_id } else { id } as usize) {
                *sum += weight;
            }
            return Ok(());
        }
        self.forward(longest, cancel)?;
        self.backward(weight, cancel)
    }

    fn forward(&mut self, longest: &[u32], cancel: &mut CancelCheck<'_>) -> Result<()> {
        let len = longest.len();
        self.alpha.clear();
        self.alpha.resize(len + 1, 0.0);
        self.alpha[0] = 1.0;
        self.powers.clear();
        self.edges.clear();
        self.ends.clear();
        let (mut power, mut reached) = (0, 0);
        for (start, &id) in longest.iter().enumerate() {
            cancel.check()?;
            if self.alpha[start] < SMALL {
                let window = &mut self.alpha[start..=reached];
                if window.iter().all(|&sum| sum < SMALL) {
                    window.iter_mut().for_each(|sum| *sum /= SMALL);
                    power += 1;
                }
            }
            self.powers.push(power);
            let so_far = self.alpha[start];
            let (mut id, mut is_known) = (id, false);
            while id != NONE {
                let node = &self.nodes[id as usize];
                let end = start + node.length as usize;
                self.alpha[end] += so_far * node.value;
                reached = reached.max(end);
                is_known |= node.length == 1;
                self.edges.push(PieceEdge { id, end: end as u32, probability: node.value });
                id = node.parent;
            }
            if !is_known {
                self.alpha[start + 1] += so_far * self.unknown;
                reached = reached.max(start + 1);
                self.edges.push(PieceEdge { id: self.unknown_id, end: start as u32 + 1, probability: self.unknown });
            }
            self.ends.push(self.edges.len());
        }
        self.powers.push(power);
        Ok(())
    }

    fn backward(&mut self, weight: f64, cancel: &mut CancelCheck<'_>) -> Result<()> {
        let len = self.ends.len();
        self.rest.clear();
        self.rest.resize(len + 1, 0.0);
        self.rest[len] = 1.0 / self.alpha[len];
        for start in (0..len).rev() {
            cancel.check()?;
            if self.alpha[start] < NOTHING {
                continue;
            }
            let before = if start > 0 { self.ends[start - 1] } else { 0 };
            let (so_far, power) = (self.alpha[start] * weight, self.powers[start]);
            let mut sum = 0.0;
            for edge in &self.edges[before..self.ends[start]] {
                let end = edge.end as usize;
                let mut part = edge.probability * self.rest[end];
                for _ in power..self.powers[end] {
                    part /= SMALL;
                }
                sum += part;
                if edge.id != NONE {
                    self.expected[edge.id as usize] += so_far * part;
                }
            }
            self.rest[start] = sum;
        }
        Ok(())
    }
}
