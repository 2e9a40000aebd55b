//! Seeds of Unigram training: frequent substrings, from the sorted suffixes of all segments.
//!
//! Only the first n + 1 characters of a suffix are compared, where n is the maximum length of a piece that begins at
//! the start of the suffix. Suffixes are grouped by their first character, and the groups form jobs of about equal
//! size. A job processes its suffixes in buckets, in order. For each bucket it packs the compared characters of each
//! suffix into 64-bit numbers, in one sequential pass over the text. It then sorts and scans the bucket without reading
//! the text again. A bucket contains the suffixes whose first number is in a certain range, and the ranges come from a
//! sample. So the bucket size bounds the memory, and the text is never accessed at random.
//!
//! A substring is a seed if it occurs at least twice and is followed by different characters, or by an unknown
//! character. If it is always followed by the same character, the longer substring represents it. The seeds are inner
//! nodes of the suffix tree. They are found by means of a stack, from the longest common prefixes of adjacent suffixes
//! (Abouelhoda, Kurtz, Ohlebusch 2004). If a substring ends where its segment ends, its follower (the character that
//! follows the substring) is the next character of the word.
//!
//! Cost: O(n log n) for n characters of distinct segments; in the worst case (one repeated character), the time is
//! multiplied by the length of the longest piece divided by the number of characters in a 64-bit number. Memory: 4
//! bytes for each character, the candidates, and a bucket for each thread. The sorted suffixes and the candidates spill
//! to files beyond the memory limit. Source: google/sentencepiece, `unigram_model_trainer.cc`
//! (`MakeSeedSentencePieces`). SentencePiece compares only the first *byte* of the following characters, and gives all
//! words the same follower; an option reproduces this.

use std::cmp::Reverse;
use std::ops::Range;

use super::segments::{CharIndex, Segments, MANY};
use crate::error::{Error, Result};
use crate::parallel;
use crate::util::cancel::{CancelCheck, KeepGoing};
use crate::util::spill::{MemoryLimit, PageCheck, SpillVec};

/// Maximum number of jobs.
const JOBS: usize = 16;

/// Minimum number of suffixes in a job.
const SUFFIXES_WORTH_A_JOB: usize = 1 << 15;

/// Size of a bucket in bytes, about the size of a second-level cache.
const BUCKET_BYTES: usize = 4 << 20;

/// Minimum number of suffixes in a bucket, even if the memory limit is smaller.
const FEWEST_IN_A_BUCKET: usize = 1 << 10;

/// Number of suffixes that are sampled for each boundary between buckets.
const SAMPLES: usize = 16;

/// A substring: the common prefix, `length` characters long, of the suffixes `first..=last` of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SeedCandidate {
    /// Score of the substring: its number of occurrences times its length.
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

/// The sorted suffixes of each job, and the seed candidates with the highest scores.
pub(super) struct Suffixes {
    /// Starts of the sorted suffixes in `Segments::symbols`, by job.
    pub sorted: Vec<SpillVec<u32>>,
    /// Candidates in lexicographic order: a prefix precedes its extensions.
    pub candidates: SpillVec<SeedCandidate>,
}

impl Suffixes {
    /// Sorts the suffixes, and selects the `most` candidates with the highest scores. `stored` is the memory limit of
    /// vectors that are accessed in order, and `memory` is the memory limit of all other vectors.
    ///
    /// # Errors
    /// `Interrupted`; I/O errors of spill files.
    pub fn new(
        words: &Segments,
        most: usize,
        threads: usize,
        memory: &MemoryLimit,
        stored: &MemoryLimit,
        watch: &mut dyn FnMut() -> bool,
    ) -> Result<Self> {
        let text = SuffixText::new(words, threads, memory, stored);
        let mut sizes = vec![0; words.characters.len()]; // symbol -> number of suffixes that begin with it
        words.symbols.iter().for_each(|&symbol| sizes[symbol as usize] += 1);
        let groups = groups(&sizes, words.symbols.len());
        let work = |job: usize, keep_going: KeepGoing<'_>| {
            text.job(job as u32, &groups[job], &sizes, most, &mut CancelCheck::new(keep_going))
        };
        let (mut sorted, mut candidates, mut failed) = (Vec::new(), SpillVec::new(stored), None);
        parallel::jobs_in_order(groups.len(), threads, watch, work, |_, done| {
            let joined = done.and_then(|(suffixes, found)| {
                sorted.push(suffixes);
                candidates.extend_from_slice(&found)?;
                keep_best(&mut candidates, most);
                Ok(())
            });
            failed = failed.take().or(joined.err());
            failed.is_none()
        });
        failed.map_or(Ok(()), Err)?;
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

/// The text, and how its suffixes are packed and divided into buckets.
struct SuffixText<'a> {
    words: &'a Segments,
    memory: &'a MemoryLimit,
    stored: &'a MemoryLimit, // memory limit of vectors that are accessed in order
    bits: u32,               // bits of a symbol in a number; the value 0 marks the end
    in_a_number: usize,      // number of characters that fit in a number
    numbers: usize,          // numbers that the compared characters of a suffix take
    most: usize,             // maximum number of suffixes in a bucket
}

impl<'a> SuffixText<'a> {
    fn new(words: &'a Segments, threads: usize, memory: &'a MemoryLimit, stored: &'a MemoryLimit) -> Self {
        let bits = (u32::BITS - (words.characters.len() as u32).leading_zeros()).max(1);
        let in_a_number = (u64::BITS / bits) as usize;
        let longest = words.longest.iter().copied().max().map_or(1, |longest| usize::from(longest) + 1);
        let numbers = longest.div_ceil(in_a_number);
        let bytes = numbers * size_of::<u64>() + size_of::<(u64, u32)>() + size_of::<SuffixInfo>();
        let most = (memory.working_memory(threads).min(BUCKET_BYTES) / bytes).max(FEWEST_IN_A_BUCKET);
        Self { words, memory, stored, bits, in_a_number, numbers, most }
    }

    /// Returns how many characters of a suffix are compared. `at`: start of the suffix; `end`: end of its segment.
    fn reach(&self, at: usize, end: usize) -> usize {
        usize::from(self.words.longest[at].saturating_add(1)).min(end - at)
    }

    /// Packs symbols into a number. If the number has room for more symbols, the bits of the missing symbols are 0.
    #[inline(always)]
    fn number(&self, symbols: &[CharIndex]) -> u64 {
        let number = symbols.iter().fold(0, |number, &symbol| number << self.bits | u64::from(symbol + 1));
        // Appends zero bits for the missing symbols. If there are no symbols, the shift can be 64, which the mask turns
        // into 0. The result is still correct, because the number is 0.
        number << ((self.bits as usize * (self.in_a_number - symbols.len())) & 63)
    }

    /// Sorts the suffixes whose first character is in `group`. Returns the sorted suffixes, and the candidates with the
    /// highest scores among the prefixes of these suffixes.
    fn job(
        &self,
        job: u32,
        group: &Range<usize>,
        sizes: &[usize],
        most: usize,
        cancel: &mut CancelCheck<'_>,
    ) -> Result<(SpillVec<u32>, SpillVec<SeedCandidate>)> {
        let size = sizes[group.clone()].iter().sum();
        let mut sorted = self.suffixes(group, size, cancel)?;
        let mut scan = CandidateScan::new(self, job, most);
        let mut bucket = Bucket::new(&MemoryLimit::unlimited());
        for range in self.buckets(&mut sorted, cancel)? {
            let mut larger = None; // a bucket of suffixes with equal first numbers, larger than usual
            let bucket = if range.len() <= self.most { &mut bucket } else { larger.insert(Bucket::new(self.memory)) };
            bucket.load(self, &sorted[range.clone()], cancel)?;
            bucket.sort(self, cancel)?;
            bucket.scan(self, &mut sorted[range], &mut scan, cancel)?;
        }
        scan.finish()?;
        Ok((sorted, scan.found))
    }

    /// Returns the suffixes whose first character is in `group`, in the order of the text.
    fn suffixes(&self, group: &Range<usize>, size: usize, cancel: &mut CancelCheck<'_>) -> Result<SpillVec<u32>> {
        let mut suffixes = SpillVec::new(self.stored);
        suffixes.reserve(size)?;
        let mut pages = PageCheck::new(self.stored);
        for (at, &symbol) in (0..).zip(&*self.words.symbols) {
            cancel.check()?;
            pages.check();
            if group.contains(&(symbol as usize)) {
                suffixes.push(at)?;
            }
        }
        Ok(suffixes)
    }

    /// Splits suffixes into buckets, by the first 64-bit number of each packed suffix. Returns the ranges of the
    /// buckets, in order.
    fn buckets(&self, suffixes: &mut SpillVec<u32>, cancel: &mut CancelCheck<'_>) -> Result<Vec<Range<usize>>> {
        let all = 0..suffixes.len();
        if all.len() <= self.most {
            return Ok(vec![all]);
        }
        // The number of buckets is twice the necessary number, so they are half full on average. The boundaries are
        // only estimates, so some buckets are fuller.
        let wanted = all.len().div_ceil(self.most / 2).min(usize::from(u16::MAX));
        let mut pages = PageCheck::new(self.stored);
        let mut first_number = |segment: &mut usize, at: u32| {
            pages.check();
            let at = at as usize;
            let reach = self.reach(at, self.end(segment, at)).min(self.in_a_number);
            self.number(&self.words.symbols[at..at + reach])
        };
        let step = (suffixes.len() / (wanted * SAMPLES)).max(1);
        let mut segment = 0;
        let mut samples: Vec<u64> = suffixes.iter().step_by(step).map(|&at| first_number(&mut segment, at)).collect();
        samples.sort_unstable();
        // Bucket k has the suffixes from bound k - 1 up to bound k, exclusive.
        let mut bounds: Vec<u64> = (1..wanted).map(|k| samples[samples.len() * k / wanted]).collect();
        bounds.dedup();
        let mut sizes = vec![0usize; bounds.len() + 1];
        let mut of = SpillVec::new(self.stored);
        let mut segment = 0;
        for &at in &**suffixes {
            cancel.check()?;
            let number = first_number(&mut segment, at);
            let bucket = bounds.partition_point(|&bound| bound <= number);
            sizes[bucket] += 1;
            of.push(bucket as u16)?;
        }
        let mut start = 0;
        let ranges = sizes.iter().map(|&size| {
            start += size;
            start - size..start
        });
        let mut ranges: Vec<Range<usize>> = ranges.collect();
        let mut next: Vec<usize> = ranges.iter().map(|range| range.start).collect();
        let mut moved = SpillVec::filled(0, suffixes.len(), self.stored)?;
        for (&at, &bucket) in suffixes.iter().zip(&*of) {
            cancel.check()?;
            pages.check();
            let place = &mut next[usize::from(bucket)];
            moved[*place] = at;
            *place += 1;
        }
        *suffixes = moved;
        ranges.retain(|range| !range.is_empty());
        Ok(ranges)
    }

    /// Returns the end of the segment that contains `at`. `segment` is the index of a segment that begins at or
    /// before `at`; it is set to the index of the segment that contains `at`.
    fn end(&self, segment: &mut usize, at: usize) -> usize {
        let starts = &self.words.starts;
        let at = at as u32;
        let (mut low, mut step) = (*segment, 1); // invariant: starts[low] <= at
        while starts.get(low + step).is_some_and(|&start| start <= at) {
            low += step;
            step *= 2;
        }
        let high = (low + step).min(starts.len());
        *segment = low + starts[low..high].partition_point(|&start| start <= at) - 1;
        starts[*segment + 1] as usize
    }
}

/// Properties of a suffix, by which seeds are selected.
#[derive(Debug, Clone, Copy)]
struct SuffixInfo {
    count: u64,  // count of the suffix's segment
    next: u32,   // follower of the suffix's segment
    reach: u8,   // number of compared characters
    longest: u8, // maximum characters of a piece at its start
}

/// Suffixes that are packed, sorted and scanned together.
struct Bucket {
    numbers: SpillVec<u64>,      // packed characters of each suffix, in the order of the text
    infos: SpillVec<SuffixInfo>, // in the order of the text
    order: SpillVec<(u64, u32)>, // first number and index, in lexicographic order after `sort`
}

impl Bucket {
    fn new(memory: &MemoryLimit) -> Self {
        Self { numbers: SpillVec::new(memory), infos: SpillVec::new(memory), order: SpillVec::new(memory) }
    }

    /// Fills the bucket with suffixes, which are passed in the order of the text.
    fn load(&mut self, text: &SuffixText<'_>, suffixes: &[u32], cancel: &mut CancelCheck<'_>) -> Result<()> {
        let words = text.words;
        self.numbers.truncate(0);
        self.infos.truncate(0);
        self.order.truncate(0);
        self.numbers.reserve(suffixes.len() * text.numbers)?;
        self.infos.reserve(suffixes.len())?;
        self.order.reserve(suffixes.len())?;
        let mut segment = 0;
        let mut pages = PageCheck::new(text.stored);
        for (index, at) in (0..).zip(suffixes.iter().map(|&at| at as usize)) {
            cancel.check()?;
            pages.check();
            let end = text.end(&mut segment, at);
            let reach = text.reach(at, end);
            let symbols = &words.symbols[at..at + reach];
            let mut numbers = symbols.chunks(text.in_a_number).map(|symbols| text.number(symbols));
            let first = numbers.next().unwrap_or_default();
            self.order.push((first, index))?;
            self.numbers.push(first)?;
            for _ in 1..text.numbers {
                self.numbers.push(numbers.next().unwrap_or_default())?;
            }
            self.infos.push(SuffixInfo {
                count: words.weights[segment],
                next: words.followers[segment],
                reach: reach as u8,
                longest: words.longest[at],
            })?;
        }
        Ok(())
    }

    /// Sorts the suffixes; equal suffixes stay in the order in which they occur in the text.
    fn sort(&mut self, text: &SuffixText<'_>, cancel: &mut CancelCheck<'_>) -> Result<()> {
        let Self { numbers, order, .. } = self;
        let rest = |index: u32| {
            let start = index as usize * text.numbers;
            &numbers[start + 1..start + text.numbers]
        };
        cancel.check_now()?;
        order.sort_unstable();
        let mut start = 0;
        while start < order.len() {
            cancel.check()?;
            let first = order[start].0;
            let len = order[start..].iter().take_while(|other| other.0 == first).count();
            let has_more = first & ((1 << text.bits) - 1) != 0; // the last character is not the end
            if len > 1 && has_more {
                order[start..start + len].sort_unstable_by(|a, b| rest(a.1).cmp(rest(b.1)).then_with(|| a.1.cmp(&b.1)));
            }
            start += len;
        }
        Ok(())
    }

    /// Passes the suffixes, in lexicographic order, to `scan`. Also sorts `suffixes` into this order.
    fn scan(
        &mut self,
        text: &SuffixText<'_>,
        suffixes: &mut [u32],
        scan: &mut CandidateScan<'_>,
        cancel: &mut CancelCheck<'_>,
    ) -> Result<()> {
        for &(_, index) in &*self.order {
            cancel.check()?;
            let index = index as usize;
            scan.add(&self.numbers[index * text.numbers..(index + 1) * text.numbers], self.infos[index])?;
        }
        // Reuses `order` for the positions, since its numbers are no longer needed.
        for (place, &at) in self.order.iter_mut().zip(&*suffixes) {
            place.0 = u64::from(at);
        }
        for (suffix, &(_, index)) in suffixes.iter_mut().zip(&*self.order) {
            *suffix = self.order[index as usize].0 as u32;
        }
        Ok(())
    }
}

/// Node of the suffix tree to which more suffixes can still be added.
#[derive(Debug, Clone, Copy)]
struct OpenNode {
    length: usize,
    first: u32,
    longest: u8, // longest piece at the start of its first suffix
    count: u64,
    next: u32, // common follower of all occurrences, or MANY
}

/// Traversal of the suffix tree along the sorted suffixes of a job.
struct CandidateScan<'a> {
    text: &'a SuffixText<'a>,
    job: u32,
    most: usize,
    found: SpillVec<SeedCandidate>,
    open: Vec<OpenNode>,
    last: Vec<u64>, // packed characters of the previous suffix
    info: Option<SuffixInfo>,
    num: u32, // number of suffixes so far
}

impl<'a> CandidateScan<'a> {
    fn new(text: &'a SuffixText<'a>, job: u32, most: usize) -> Self {
        let root = OpenNode { length: 0, first: 0, longest: 0, count: 0, next: MANY };
        let (found, last) = (SpillVec::new(text.stored), vec![0; text.numbers]);
        Self { text, job, most, found, open: vec![root], last, info: None, num: 0 }
    }

    /// Adds the next suffix.
    fn add(&mut self, numbers: &[u64], info: SuffixInfo) -> Result<()> {
        if let Some(last) = self.info {
            let shared = self.shared(numbers).min(usize::from(last.reach.min(info.reach)));
            self.close(last, shared)?;
        }
        self.last.copy_from_slice(numbers);
        self.info = Some(info);
        self.num = self.num.checked_add(1).ok_or_else(|| Error::training("more than 2^32 substrings"))?;
        Ok(())
    }

    /// Completes all open nodes, and keeps the candidates with the highest scores.
    fn finish(&mut self) -> Result<()> {
        if let Some(last) = self.info.take() {
            self.close(last, 0)?;
        }
        keep_best(&mut self.found, self.most);
        Ok(())
    }

    /// Returns the length of the common prefix of the previous suffix and the next suffix. `numbers` are the packed
    /// characters of the next suffix.
    fn shared(&self, numbers: &[u64]) -> usize {
        let Some(differs) = self.last.iter().zip(numbers).position(|(a, b)| a != b) else { return usize::MAX };
        let unused = u64::BITS as usize - self.text.bits as usize * self.text.in_a_number;
        let equal = (self.last[differs] ^ numbers[differs]).leading_zeros() as usize - unused;
        differs * self.text.in_a_number + equal / self.text.bits as usize
    }

    /// Returns the character at index `depth` of the previous suffix.
    fn symbol(&self, depth: usize) -> CharIndex {
        let (number, at) = (self.last[depth / self.text.in_a_number], depth % self.text.in_a_number);
        let shift = (self.text.in_a_number - 1 - at) * self.text.bits as usize;
        (number >> shift & ((1 << self.text.bits) - 1)) as CharIndex - 1
    }

    /// Adds the suffix `last` to the tree. `shared` is the length of the common prefix of `last` and the next suffix;
    /// nodes that are longer than `shared` are complete.
    fn close(&mut self, last: SuffixInfo, shared: usize) -> Result<()> {
        let at = self.num - 1;
        let SuffixInfo { count, next, reach, longest } = last;
        let mut node = OpenNode { length: usize::from(reach), first: at, longest, count, next };
        if let Some(same) = self.open.pop_if(|top| top.length == node.length) {
            node = self.joined(same, &node);
        }
        while node.length > shared {
            self.offer(at, &node)?;
            node = match self.open.pop_if(|top| top.length >= shared) {
                Some(around) => self.joined(around, &node),
                None => OpenNode { length: shared, next: self.next(&node, shared), ..node },
            };
        }
        self.open.push(node);
        Ok(())
    }

    /// Returns the character that follows the first `length` characters of `node`. The node must contain the previous
    /// suffix.
    fn next(&self, node: &OpenNode, length: usize) -> u32 {
        if node.length == length {
            return node.next;
        }
        self.text.words.follower(self.symbol(length))
    }

    /// Adds a completed child, which contains the previous suffix, to its parent `node`; returns the parent.
    fn joined(&self, node: OpenNode, ended: &OpenNode) -> OpenNode {
        let next = if self.next(ended, node.length) == node.next { node.next } else { MANY };
        OpenNode { count: node.count.saturating_add(ended.count), next, ..node }
    }

    /// Keeps a completed node if it qualifies as a seed: at least two occurrences and different followers.
    fn offer(&mut self, last: u32, node: &OpenNode) -> Result<()> {
        let OpenNode { length, first, longest, count, next } = *node;
        if next == MANY && (2..=usize::from(longest)).contains(&length) && count >= 2 {
            let score = count.saturating_mul(length as u64);
            self.found.push(SeedCandidate { score, length: length as u32, job: self.job, first, last })?;
            if self.found.len() > self.most + self.most / 2 + (1 << 12) {
                keep_best(&mut self.found, self.most);
            }
        }
        Ok(())
    }
}

fn keep_best(candidates: &mut SpillVec<SeedCandidate>, most: usize) {
    if candidates.len() > most {
        if most > 0 {
            candidates.select_nth_unstable_by_key(most - 1, SeedCandidate::order);
        }
        candidates.truncate(most);
    }
}
