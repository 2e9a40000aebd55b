//! Seeds of Unigram training: frequent substrings, from the sorted suffixes of all segments.
//!
//! Suffixes are compared up to one character beyond the maximum length of a piece that begins there. They are grouped by
//! their first character, and the groups form jobs of about equal size. Within a group, several characters at a time are
//! packed into one number for sorting; suffixes with equal numbers are sorted by the next characters.
//!
//! A substring is a seed if it occurs twice or more and is followed by different characters, or by an unknown one;
//! otherwise a longer substring represents it. These are the inner nodes of the suffix tree, found from the longest common
//! prefixes of adjacent suffixes with a stack (Abouelhoda, Kurtz, Ohlebusch 2004). The text after a segment in its word
//! counts, too.
//!
//! Cost: O(n log n) for n characters of distinct segments, times (longest piece / characters in a number) in the worst case
//! (one repeated character). Memory: 4 bytes for each character, and the candidates. Source: google/sentencepiece,
//! `unigram_model_trainer.cc` (`MakeSeedSentencePieces`). SentencePiece compares the following *bytes*, and all words are
//! followed by the same; this is optional here.

use std::cmp::Reverse;
use std::ops::Range;

use super::segments::{CharIndex, Segments, MANY};
use crate::error::Result;
use crate::parallel;
use crate::util::cancel::{CancelCheck, KeepGoing};

/// Maximum number of jobs.
const JOBS: usize = 16;

/// Minimum suffixes in a job.
const SUFFIXES_WORTH_A_JOB: usize = 1 << 15;

/// A substring: the common prefix, of `length` characters, of the suffixes `first..=last` of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SeedCandidate {
    /// Number of occurrences times length.
    pub score: u64,
    pub length: u32,
    pub job: u32,
    pub first: u32,
    pub last: u32,
}

impl SeedCandidate {
    /// Sort key: descending score, then descending length, then string.
    fn order(&self) -> impl Ord {
        (Reverse(self.score), Reverse(self.length), self.job, self.first)
    }
}

/// Sorted suffixes, by job, and the best candidates.
pub(super) struct Suffixes {
    /// Start of each suffix in `Segments::symbols`.
    pub sorted: Vec<Vec<u32>>,
    /// In lexicographic order: a prefix precedes its extensions.
    pub candidates: Vec<SeedCandidate>,
}

impl Suffixes {
    /// Sorts the suffixes, and selects the `most` best candidates.
    ///
    /// # Errors
    /// `Interrupted`.
    pub fn new(words: &Segments, most: usize, threads: usize, watch: &mut dyn FnMut() -> bool) -> Result<Self> {
        let text = SuffixText::new(words);
        let mut sizes = vec![0; words.characters.len()]; // symbol -> number of suffixes that begin with it
        words.symbols.iter().for_each(|&symbol| sizes[symbol as usize] += 1);
        let groups = groups(&sizes, words.symbols.len());
        let work = |job: usize, keep_going: KeepGoing<'_>| {
            let mut cancel = CancelCheck::new(keep_going);
            let sorted = text.sorted(&groups[job], &sizes, &mut cancel)?;
            let candidates = text.candidates(&sorted, job as u32, most, &mut cancel)?;
            Ok((sorted, candidates))
        };
        let (mut sorted, mut candidates) = (Vec::new(), Vec::new());
        for done in parallel::jobs(groups.len(), threads, watch, work) {
            let (suffixes, found) = done?;
            sorted.push(suffixes);
            candidates.extend(found);
        }
        keep_best(&mut candidates, most);
        candidates.sort_unstable_by_key(|candidate| (candidate.job, candidate.first, candidate.length));
        Ok(Self { sorted, candidates })
    }
}

/// Splits symbols into groups with about equally many suffixes.
fn groups(sizes: &[usize], total: usize) -> Vec<Range<usize>> {
    let share = (total / JOBS).max(SUFFIXES_WORTH_A_JOB);
    let (mut groups, mut start, mut size) = (Vec::new(), 0, 0);
    for (symbol, &more) in sizes.iter().enumerate() {
        size += more;
        if size >= share || symbol + 1 == sizes.len() {
            groups.push(start..symbol + 1);
            (start, size) = (symbol + 1, 0);
        }
    }
    groups
}

/// The text, with properties of positions.
struct SuffixText<'a> {
    words: &'a Segments,
    left: Vec<u8>,     // characters left in the segment, up to 255
    segment: Vec<u32>, // index of the segment
    bits: u32,         // bits of a symbol in a number; 0 after the end
}

impl<'a> SuffixText<'a> {
    fn new(words: &'a Segments) -> Self {
        let mut left = vec![0; words.symbols.len()];
        let mut segment = vec![0; words.symbols.len()];
        for i in 0..words.len() {
            let range = words.range(i);
            let end = range.end;
            for at in range {
                (left[at], segment[at]) = ((end - at).min(255) as u8, i as u32);
            }
        }
        let bits = u32::BITS - (words.characters.len() as u32).leading_zeros();
        Self { words, left, segment, bits: bits.max(1) }
    }

    fn in_a_number(&self) -> usize {
        (u64::BITS / self.bits) as usize
    }

    /// Returns the number of characters of the suffix at `at` that are compared.
    fn reach(&self, at: u32) -> usize {
        let at = at as usize;
        usize::from(self.words.longest[at].saturating_add(1).min(self.left[at]))
    }

    fn symbol(&self, at: u32, depth: usize) -> CharIndex {
        self.words.symbols[at as usize + depth]
    }

    /// Packs characters of the suffix at `at` from `depth` on into one number.
    fn number(&self, at: u32, depth: usize) -> u64 {
        let reach = self.reach(at);
        let mut number = 0;
        for i in depth..depth + self.in_a_number() {
            let symbol = if i < reach { u64::from(self.symbol(at, i)) + 1 } else { 0 };
            number = number << self.bits | symbol;
        }
        number
    }

    /// Returns the sorted suffixes whose first characters are in `group`.
    fn sorted(&self, group: &Range<usize>, sizes: &[usize], cancel: &mut CancelCheck<'_>) -> Result<Vec<u32>> {
        let mut next = Vec::with_capacity(group.len()); // index for the next suffix of each character
        let mut total = 0;
        for &size in &sizes[group.clone()] {
            next.push(total);
            total += size;
        }
        let mut sorted = vec![0; total];
        for (at, &symbol) in (0..).zip(&self.words.symbols) {
            cancel.check()?;
            if group.contains(&(symbol as usize)) {
                let place = &mut next[symbol as usize - group.start];
                sorted[*place] = at;
                *place += 1;
            }
        }
        let mut start = 0;
        for &size in &sizes[group.clone()] {
            self.sort(&mut sorted[start..start + size], cancel)?;
            start += size;
        }
        Ok(sorted)
    }

    /// Sorts suffixes that begin with the same character.
    fn sort(&self, suffixes: &mut [u32], cancel: &mut CancelCheck<'_>) -> Result<()> {
        let mut tasks = vec![(0..suffixes.len(), 1)];
        let mut keys: Vec<(u64, u32)> = Vec::new();
        while let Some((range, depth)) = tasks.pop() {
            cancel.check_now()?;
            let part = &mut suffixes[range.clone()];
            keys.clear();
            keys.extend(part.iter().map(|&at| (self.number(at, depth), at)));
            keys.sort_unstable();
            part.iter_mut().zip(&keys).for_each(|(to, &(_, at))| *to = at);
            let mut start = 0;
            for equal in keys.chunk_by(|a, b| a.0 == b.0) {
                let has_more = equal[0].0 & ((1 << self.bits) - 1) != 0; // the last character is not the end
                if equal.len() > 1 && has_more {
                    let from = range.start + start;
                    tasks.push((from..from + equal.len(), depth + self.in_a_number()));
                }
                start += equal.len();
            }
        }
        Ok(())
    }

    fn common(&self, a: u32, b: u32) -> usize {
        let most = self.reach(a).min(self.reach(b));
        (0..most).take_while(|&i| self.symbol(a, i) == self.symbol(b, i)).count()
    }

    /// Returns the followers of the first `length` characters of a node with the suffix `at`.
    fn next(&self, at: u32, node: &OpenNode, length: usize) -> u32 {
        if node.length == length {
            return node.next;
        }
        self.words.follower(self.symbol(at, length))
    }

    /// Joins a node with a completed child, whose last suffix is `at`.
    fn joined(&self, node: OpenNode, ended: &OpenNode, at: u32) -> OpenNode {
        let next = if self.next(at, ended, node.length) == node.next { node.next } else { MANY };
        OpenNode { count: node.count.saturating_add(ended.count), next, ..node }
    }

    /// Returns the best substrings that are prefixes of these suffixes.
    fn candidates(
        &self,
        sorted: &[u32],
        job: u32,
        most: usize,
        cancel: &mut CancelCheck<'_>,
    ) -> Result<Vec<SeedCandidate>> {
        let mut found = Vec::new();
        let mut offer = |last: usize, open: &OpenNode| {
            let OpenNode { length, first, count, next } = *open;
            if next == MANY
                && (2..=usize::from(self.words.longest[sorted[first] as usize])).contains(&length)
                && count >= 2
            {
                let score = count.saturating_mul(length as u64);
                found.push(SeedCandidate { score, length: length as u32, job, first: first as u32, last: last as u32 });
                if found.len() > 2 * most + (1 << 12) {
                    keep_best(&mut found, most);
                }
            }
        };
        let mut open: Vec<OpenNode> = vec![OpenNode { length: 0, first: 0, count: 0, next: MANY }];
        for (i, &at) in sorted.iter().enumerate() {
            cancel.check()?;
            let shared = sorted.get(i + 1).map_or(0, |&next| self.common(at, next));
            let segment = self.segment[at as usize] as usize;
            let (count, next) = (self.words.weights[segment], self.words.followers[segment]);
            let mut node = OpenNode { length: self.reach(at), first: i, count, next };
            if let Some(same) = open.pop_if(|top| top.length == node.length) {
                node = self.joined(same, &node, at);
            }
            while node.length > shared {
                offer(i, &node);
                node = match open.pop_if(|top| top.length >= shared) {
                    Some(around) => self.joined(around, &node, at),
                    None => OpenNode { length: shared, next: self.next(at, &node, shared), ..node },
                };
            }
            open.push(node);
        }
        Ok(found)
    }
}

/// A node of the suffix tree that is not completed.
#[derive(Debug, Clone, Copy)]
struct OpenNode {
    length: usize,
    first: usize,
    count: u64,
    next: u32, // follower of all occurrences, or MANY
}

fn keep_best(candidates: &mut Vec<SeedCandidate>, most: usize) {
    if candidates.len() > most {
        if most > 0 {
            candidates.select_nth_unstable_by_key(most - 1, SeedCandidate::order);
        }
        candidates.truncate(most);
    }
}
