//! Lattice of all segmentations of a text by a Unigram model: n-best search (A*) and sampling.
//!
//! The lattice contains all pieces at all positions, ordered by start, then by length. If a position has an unknown
//! character, this character is placed after all pieces that start at the position. The pieces that end at the same
//! position form a linked list, ordered by start.
//! The n-best search builds paths from the end of the text by A*. Its heuristic is the Viterbi score, which is exact,
//! so the best paths are found first. Sampling is forward filtering, then backward sampling.
//!
//! Scores are added with the precision of the library that the model comes from (32 or 64 bits). Paths with equal
//! scores are listed in the order in which the search finds them; in SentencePiece, the order depends on its heap.
//!
//! Cost: memory O(pieces in the lattice). When the agenda of A* is full, it is pruned to the best paths, as in both
//! libraries, so some of the n best segmentations of a long text can be missing. SentencePiece 0.2.3 limits the search;
//! beyond the limit it returns only the best path. Source: SentencePiece src/unigram_model.cc (Lattice), HF
//! models/unigram/lattice.rs; Kudo 2018, arXiv 1804.10959, section 3.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use hashbrown::HashMap;

use super::best_paths::NO_ID;
use super::output::{Out, PlacedSegmentation, Segmentation, Specials};
use super::sampling::{Sampler, Scaled};
use super::unigram::{check_len, Unigram};
use super::unknown::{char_len, utf8};
use crate::error::{Error, Result};
use crate::util::cancel::{CancelCheck, KeepGoing};

/// Maximum number of segmentations in an n-best search (SentencePiece's limit).
pub const MOST: usize = 1024;

/// A piece at a position.
#[derive(Debug, Clone, Copy)]
struct Edge {
    start: u32,
    end: u32,
    id: u32,   // NO_ID: unknown character
    next: u32, // the next edge with the same end; NONE: the last one
    score: f64,
    best: f64, // best score of a path that ends with this edge
}

const NONE: u32 = u32::MAX;

struct Lattice {
    edges: Vec<Edge>,
    ending: Vec<(u32, u32)>, // position -> first and last edge that ends there
}

impl Lattice {
    fn new(model: &Unigram, text: &[u8], special: Specials<'_>, cancel: &mut CancelCheck<'_>) -> Result<Self> {
        let mut lattice = Self { edges: Vec::new(), ending: vec![(NONE, NONE); text.len() + 1] };
        let mut start = 0;
        while start < text.len() {
            let next = start + char_len(text, start);
            let mut is_char_known = false;
            let (mut chars, mut counted) = (0, start);
            for (end, id) in model.pieces(text, start, special) {
                cancel.check()?;
                is_char_known |= end == next;
                while counted < end {
                    counted += char_len(text, counted);
                    chars += 1;
                }
                lattice.add(start, end, id, model.round(model.score(id, chars)))?;
            }
            if !is_char_known {
                lattice.add(start, next, NO_ID, model.unk_score)?;
            }
            cancel.check()?;
            start = next;
        }
        Ok(lattice)
    }

    fn add(&mut self, start: usize, end: usize, id: u32, score: f64) -> Result<()> {
        if self.edges.len() >= NONE as usize {
            return Err(Error::text("the text has too many segmentations to choose from", start));
        }
        let new = self.edges.len() as u32;
        self.edges.push(Edge { start: start as u32, end: end as u32, id, next: NONE, score, best: 0.0 });
        let (first, last) = &mut self.ending[end];
        match self.edges.get_mut(*last as usize) {
            Some(edge) => edge.next = new,
            None => *first = new,
        }
        *last = new;
        Ok(())
    }

    /// Iterates over the edges that end at a position.
    fn ending(&self, place: usize) -> impl Iterator<Item = u32> + '_ {
        let first = Some(self.ending[place].0).filter(|&edge| edge != NONE);
        std::iter::successors(first, |&edge| Some(self.edges[edge as usize].next).filter(|&next| next != NONE))
    }

    /// Computes `best` of each edge. Edges are ordered by start, so all edges that end at a position precede the edges
    /// that start there.
    fn find_best(&mut self, model: &Unigram, cancel: &mut CancelCheck<'_>) -> Result<()> {
        let mut at = (NONE, 0.0); // start of the previous edge, and best score up to it
        for i in 0..self.edges.len() {
            cancel.check()?;
            let Edge { start, score, .. } = self.edges[i];
            if at.0 != start {
                let before = self.ending(start as usize).map(|edge| self.edges[edge as usize].best);
                at = (start, before.reduce(|best, new| if new > best { new } else { best }).unwrap_or(0.0));
            }
            self.edges[i].best = model.round(at.1 + score);
        }
        Ok(())
    }
}

impl Lattice {
    /// Returns the best path up to `end`, and the sum of its scores. Requires [`Lattice::find_best`].
    fn viterbi(&self, end: usize) -> (Vec<(u32, usize)>, f64) {
        let (mut path, mut at, mut score) = (Vec::new(), end, None);
        while at > 0 {
            let first = |best: Edge, next: Edge| if next.best > best.best { next } else { best };
            let Some(edge) = self.ending(at).map(|edge| self.edges[edge as usize]).reduce(first) else { break };
            score = score.or(Some(edge.best));
            path.push((edge.id, at));
            at = edge.start as usize;
        }
        path.reverse();
        (path, score.unwrap_or(0.0))
    }
}

/// A path from some edge to the end of the text.
#[derive(Debug, Clone, Copy)]
struct Path {
    edge: u32,
    then: u32,  // rest of the path; NONE at the end of the text
    score: f64, // sum of the scores of its edges
}

/// Number of stored paths at which SentencePiece prunes the agenda.
const MOST_KEPT: usize = 100_000;
/// SentencePiece's limit on the number of all paths.
const MOST_PATHS: usize = 500_000;
/// SentencePiece's limit on the number of prunings.
const MOST_CUTS: usize = 10;

/// Work that a search has done so far.
struct Effort {
    paths: usize,
    cuts: usize,
    most_kept: usize, // number of stored paths at which the agenda is pruned
}

impl Effort {
    /// Returns true if SentencePiece would give up and return only the best path.
    fn is_too_much(&self) -> bool {
        self.paths >= MOST_PATHS || self.cuts > MOST_CUTS
    }
}

/// A path in the agenda. Paths are ordered by the best score that they can reach, then by age.
struct OpenPath {
    promise: f64,
    age: u64,
    path: u32,
}

impl Ord for OpenPath {
    fn cmp(&self, other: &Self) -> Ordering {
        self.promise.total_cmp(&other.promise).then(other.age.cmp(&self.age))
    }
}

impl PartialOrd for OpenPath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for OpenPath {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for OpenPath {}

/// State of an n-best search (A*), with its agenda.
struct Search<'l> {
    lattice: &'l Lattice,
    model: &'l Unigram,
    paths: Vec<Path>,
    agenda: BinaryHeap<OpenPath>,
    age: u64,
}

impl Search<'_> {
    /// For each edge that ends at `place`, pushes a path onto the agenda: this edge, followed by the path `then`.
    fn expand(&mut self, place: usize, then: u32) {
        let so_far = self.paths.get(then as usize).map_or(0.0, |path| path.score);
        let lattice = self.lattice;
        for edge in lattice.ending(place) {
            let Edge { score, best, .. } = lattice.edges[edge as usize];
            self.paths.push(Path { edge, then, score: self.model.round(score + so_far) });
            let path = self.paths.len() as u32 - 1;
            self.agenda.push(OpenPath { promise: self.model.round(best + so_far), age: self.age, path });
            self.age += 1;
        }
    }

    /// Keeps the `keep` paths that can reach the best scores, and removes stored paths that no kept path contains.
    fn cut_back(&mut self, keep: usize) {
        let (mut paths, mut moved) = (Vec::new(), HashMap::new());
        let kept: Vec<OpenPath> = std::iter::from_fn(|| self.agenda.pop()).take(keep).collect();
        let mut chain = Vec::new();
        self.agenda = BinaryHeap::with_capacity(keep);
        for open in kept {
            let mut at = open.path;
            while at != NONE && !moved.contains_key(&at) {
                chain.push(at);
                at = self.paths[at as usize].then;
            }
            while let Some(old) = chain.pop() {
                let path = self.paths[old as usize];
                let then = moved.get(&path.then).copied().unwrap_or(NONE);
                moved.insert(old, paths.len() as u32);
                paths.push(Path { then, ..path });
            }
            self.agenda.push(OpenPath { path: moved[&open.path], ..open });
        }
        self.paths = paths;
    }
}

impl Unigram {
    /// Returns the `n` best segmentations in descending order: ids and sum of scores.
    ///
    /// # Errors
    /// `Config` if `n` is 0 or greater than [`MOST`]; errors of [`Unigram::encode`].
    pub fn nbest(
        &self,
        text: &[u8],
        n: usize,
        special: Specials<'_>,
        keep_going: KeepGoing<'_>,
    ) -> Result<Vec<Segmentation>> {
        let found = self.nbest_with_ends(text, n, special, keep_going)?;
        Ok(found.into_iter().map(|(ids, _, score)| (ids, score)).collect())
    }

    /// Returns the `n` best segmentations. Each consists of the ids, the offsets at which their tokens end in the text,
    /// and the sum of scores.
    ///
    /// # Errors
    /// As [`Unigram::nbest`].
    pub fn nbest_with_ends(
        &self,
        text: &[u8],
        n: usize,
        special: Specials<'_>,
        keep_going: KeepGoing<'_>,
    ) -> Result<Vec<PlacedSegmentation>> {
        let paths = self.best_paths(text, n, special, keep_going)?;
        let write = |(path, score): (Vec<(u32, usize)>, f64)| {
            let (mut ids, mut ends) = (Vec::with_capacity(path.len()), Vec::with_capacity(path.len()));
            self.write(text, path.into_iter(), &mut Out { special, ..Out::with_ends(&mut ids, &mut ends) })?;
            Ok((ids, ends, score))
        };
        paths.into_iter().map(write).collect()
    }

    #[allow(clippy::type_complexity)]
    pub(super) fn best_paths(
        &self,
        text: &[u8],
        n: usize,
        special: Specials<'_>,
        keep_going: KeepGoing<'_>,
    ) -> Result<Vec<(Vec<(u32, usize)>, f64)>> {
        if n == 0 || n > MOST {
            return Err(Error::config(format!("the number of segmentations must be from 1 to {MOST}, not {n}")));
        }
        utf8(text)?;
        check_len(text)?;
        if text.is_empty() {
            return Ok(vec![(Vec::new(), 0.0)]);
        }
        let mut cancel = CancelCheck::new(keep_going);
        let mut lattice = Lattice::new(self, text, special, &mut cancel)?;
        lattice.find_best(self, &mut cancel)?;
        // As in SentencePiece and HF: an agenda of `most` paths or more is pruned to the best `keep` paths.
        let (most, keep) = (if self.single { 10_000 } else { 100_001 }, (n * 10).min(512));
        let (paths, agenda) = (Vec::new(), BinaryHeap::new());
        let mut search = Search { lattice: &lattice, model: self, paths, agenda, age: 0 };
        search.expand(text.len(), NONE);
        let mut found = Vec::new();
        let mut effort = Effort { paths: 1 + search.paths.len(), cuts: 0, most_kept: MOST_KEPT };
        while let Some(OpenPath { promise, path, .. }) = search.agenda.pop() {
            cancel.check()?;
            let start = lattice.edges[search.paths[path as usize].edge as usize].start as usize;
            if start > 0 {
                let before = search.paths.len();
                search.expand(start, path);
                effort.paths += search.paths.len() - before;
                let is_large = self.single && search.agenda.len() > keep && search.paths.len() >= effort.most_kept;
                if search.agenda.len() >= most || is_large {
                    search.cut_back(keep);
                    effort.cuts += 1;
                    effort.most_kept = search.paths.len() + MOST_KEPT;
                }
                if self.single && effort.is_too_much() {
                    return Ok(vec![lattice.viterbi(text.len())]);
                }
                continue;
            }
            effort.paths += 1;
            let steps =
                std::iter::successors(search.paths.get(path as usize), |path| search.paths.get(path.then as usize));
            let edges = steps.map(|path| lattice.edges[path.edge as usize]);
            found.push((edges.map(|edge| (edge.id, edge.end as usize)).collect(), promise));
            if found.len() == n {
                break;
            }
        }
        Ok(found)
    }

    /// Appends a sampled segmentation.
    ///
    /// # Errors
    /// As [`Unigram::nbest`].
    pub fn sample(
        &self,
        text: &[u8],
        sampler: &mut Sampler,
        keep_going: KeepGoing<'_>,
        out: &mut Out<'_>,
    ) -> Result<()> {
        if !sampler.alpha.is_finite() {
            return Err(Error::config(format!("alpha is {}, which is not a finite number", sampler.alpha)));
        }
        if let Some(n) = sampler.nbest {
            let paths = self.best_paths(text, n, out.special, keep_going)?;
            let weight = |score: f64| Scaled::exp(sampler.alpha * score);
            let weights: Vec<Scaled> = paths.iter().map(|path| weight(path.1)).collect();
            let sum = weights.iter().fold(Scaled::ZERO, |sum, &weight| sum.plus(weight));
            let chosen = sampler.choose(weights.into_iter(), sum);
            return self.write(text, paths[chosen].0.iter().copied(), out);
        }
        utf8(text)?;
        check_len(text)?;
        let mut cancel = CancelCheck::new(keep_going);
        let lattice = Lattice::new(self, text, out.special, &mut cancel)?;
        // position -> sum of the probabilities of all segmentations up to it
        let mut sums = vec![Scaled::ZERO; text.len() + 1];
        sums[0] = Scaled::ONE;
        let mut weights = Vec::with_capacity(lattice.edges.len());
        for edge in &lattice.edges {
            cancel.check()?;
            let weight = sums[edge.start as usize].times(Scaled::exp(sampler.alpha * edge.score));
            weights.push(weight);
            sums[edge.end as usize] = sums[edge.end as usize].plus(weight);
        }
        let (mut path, mut end) = (Vec::new(), text.len());
        while end > 0 {
            cancel.check()?;
            let chosen = sampler.choose(lattice.ending(end).map(|edge| weights[edge as usize]), sums[end]);
            let Some(edge) = lattice.ending(end).nth(chosen) else { break };
            let edge = lattice.edges[edge as usize];
            path.push((edge.id, end));
            end = edge.start as usize;
        }
        self.write(text, path.into_iter().rev(), out)
    }
}
