//! Finds the starts of the pretokens of a text, window by window: bit-parallel for named patterns, with a transducer
//! for other patterns.
//!
//! Invariant: for every text, the starts equal the starts of the slow path, which finds one pretoken after the other;
//! tests compare them at each level of vector instructions. The slow path of named patterns is
//! [`scanner`](super::scanner).
//!
//! A text is processed in windows. In each window, `algebra` or the transducer finds the starts in easy text and lists
//! hard positions. Around each hard position, the slow path runs from a correct start. It stops at the first start
//! after the hard position that the fast path has found as well. One common start suffices, because the text after a
//! start determines the following starts. The end of a window counts as hard, so results do not depend on the windows:
//! the slow path reads beyond the end, and the next window begins at the end of the last pretoken.
//!
//! In a sequence of patterns, each pattern splits the pretokens of the previous pattern. If the whole sequence cannot
//! be compiled to a single transducer, it becomes several transducers. Each transducer finds its starts in the window,
//! and the next transducer reads the text cut at these starts. A pretoken of a transducer can end far beyond the
//! window; in the following windows, this transducer continues at that end.
//!
//! Time is linear in the text, because the slow path never starts before the end of the previous hard range. Memory is
//! the size of a window.

mod algebra;

use std::marker::PhantomData;

use regex_syntax::hir::ClassUnicode;

use super::scanner::{end_of_pretoken, Family};
use super::transducer::{last_before, Cuts, Transducer};
use crate::error::{ErrorKind, Result};
use crate::regex::{Matcher, Regex};
use crate::util::cancel::KeepGoing;
use crate::util::classes::{Classes, LETTER, MARK, WHITE_SPACE};
use crate::util::simd::block::Block;
use crate::util::simd::{self, Detected, Instructions, SimdLevel};
use crate::vocab::merge_boundaries::{self, MergeBoundaries};

/// Number of bytes in a window: text, starts and positions fit the L1 cache (48 KiB).
const WINDOW: usize = 1 << 14;

/// Number of pretokens that `split_runs` finds between two cancellation checks. It is small, because finding one
/// pretoken can read much of the text.
const FINDS_BETWEEN_CHECKS: usize = 16;

/// Buffers for finding the starts of the pretokens in one window.
#[derive(Debug, Default)]
pub(crate) struct Starts {
    bits: Vec<u64>,
    hard: Vec<u32>,      // hard positions, ascending
    wide: Vec<u32>,      // offsets of the blocks with a byte beyond ASCII, ascending
    positions: Vec<u32>, // starts as positions; the capacity grows as needed
    count: usize,
    actions: Vec<u8>,
    split: Vec<u32>,  // starts after runs are split
    cuts: Vec<u64>,   // starts of the previous transducer, as bits
    ends: Vec<usize>, // for each transducer, end of the last pretoken it has found, as a position in the text
}

/// Finder of pretoken starts, window by window.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StartFinder<'p> {
    instructions: Detected,
    pattern: FinderPattern<'p>,
}

#[derive(Debug, Clone, Copy)]
enum FinderPattern<'p> {
    Named(NamedFinder),
    Compiled(&'p Transducer, Option<Runs<'p>>),
    Sequence(&'p [Transducer]),
}

/// The matcher, and the set of characters whose runs it splits.
type Runs<'p> = (&'p Regex, &'p ClassUnicode);

/// Function that finds the starts in a window, for a family of named patterns.
pub(super) type NamedFinder = fn(Detected, &mut Starts, &[u8], Option<&MergeBoundaries>);

impl<'p> StartFinder<'p> {
    /// Creates the finder of a named pattern. It uses vector instructions of `level`, or of the processor's level if
    /// the latter is lower.
    pub(super) fn named(find: NamedFinder, level: SimdLevel) -> Self {
        Self { instructions: simd::detected().at_most(level), pattern: FinderPattern::Named(find) }
    }

    /// Creates the finder of a compiled pattern.
    pub(super) fn compiled(transducer: &'p Transducer, runs: Option<Runs<'p>>, level: SimdLevel) -> Self {
        Self { instructions: simd::detected().at_most(level), pattern: FinderPattern::Compiled(transducer, runs) }
    }

    /// Creates the finder of compiled patterns, each of which splits the pretokens of the previous one.
    pub(super) fn sequence(transducers: &'p [Transducer], level: SimdLevel) -> Self {
        Self { instructions: simd::detected().at_most(level), pattern: FinderPattern::Sequence(transducers) }
    }

    /// Finds the pretokens of `text` that start in `from..until`, and calls `each` for each window with two arguments:
    /// the text from the start of the window on, and the bounds of the window's pretokens, relative to this start. A
    /// pretoken must start at `from`; `until` can be beyond the text. Returns the start of the next pretoken.
    /// `boundaries`: positions at which pretokens are split further.
    ///
    /// # Errors
    /// Errors of `each`; errors of the matcher, if the pattern needs it; `Interrupted` if `keep_going` returns false.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)] // the arguments are the state of a loop over a text
    pub(crate) fn for_each_window(
        self,
        starts: &mut Starts,
        text: &str,
        mut from: usize,
        until: usize,
        boundaries: Option<&MergeBoundaries>,
        keep_going: KeepGoing<'_>,
        mut each: impl FnMut(&[u8], &[u32]) -> Result<()>,
    ) -> Result<usize> {
        let mut matcher = None; // one matcher for all windows, so that its budget applies to the whole text
        if let FinderPattern::Sequence(transducers) = self.pattern {
            starts.ends.clear();
            starts.ends.resize(transducers.len(), from);
        }
        while from < until.min(text.len()) {
            let rest = &text.as_bytes()[from..];
            match self.pattern {
                FinderPattern::Named(find) => find(self.instructions, starts, rest, boundaries),
                FinderPattern::Compiled(transducer, None) => {
                    find_compiled(self.instructions, starts, std::slice::from_ref(transducer), rest, from, boundaries);
                }
                FinderPattern::Sequence(transducers) => {
                    find_compiled(self.instructions, starts, transducers, rest, from, boundaries);
                }
                FinderPattern::Compiled(transducer, Some(runs)) => {
                    find_compiled(self.instructions, starts, std::slice::from_ref(transducer), rest, from, None);
                    let matcher = matcher.get_or_insert_with(|| runs.0.matcher(text, from));
                    starts.split_runs(runs, matcher, text, from, keep_going)?;
                }
            }
            let mut bounds = starts.bounds();
            if bounds.last().is_some_and(|&end| end as usize > until - from) {
                let inside = bounds.partition_point(|&at| (at as usize) < until - from);
                bounds = &bounds[..=inside];
            }
            each(rest, bounds)?;
            from += bounds.last().map_or(0, |&end| end as usize);
        }
        Ok(from)
    }
}

impl Starts {
    /// Returns the starts of the pretokens of the last window and, as last element, the end of its last pretoken, at
    /// which the next window begins. All positions are relative to the first start.
    #[inline]
    fn bounds(&self) -> &[u32] {
        &self.positions[..=self.count]
    }

    #[inline(always)]
    fn find_named<F: Family, B: Block>(&mut self, proof: B::Proof, text: &[u8], boundaries: Option<&MergeBoundaries>) {
        let scan = Named::<F>(Classes::get(), PhantomData);
        let len = self.clear_for(text);
        self.algebra::<F, B>(proof, scan.0, text, len);
        self.finish::<B>(proof, &scan, text, len, boundaries);
    }

    #[inline(always)]
    fn find_compiled<B: Block>(
        &mut self,
        proof: B::Proof,
        transducers: &[Transducer],
        text: &[u8],
        from: usize,
        boundaries: Option<&MergeBoundaries>,
    ) {
        self.cuts.clear();
        let Some((last, before)) = transducers.split_last() else { return };
        let mut whole = text; // up to the end of the last pretoken of the previous transducer
        for (stage, transducer) in before.iter().enumerate() {
            let end = self.find_cuts::<B>(proof, transducer, whole, self.ends[stage] - from);
            self.ends[stage] = from + end;
            whole = &text[..end];
        }
        let len = self.clear_for(whole);
        let Self { bits, hard, wide, actions, cuts, .. } = self;
        let cuts = std::mem::take(cuts);
        last.find::<B>(proof, actions, whole, 0..len, Cuts(&cuts), bits, hard, wide);
        self.finish::<B>(proof, &(last, Cuts(&cuts)), whole, len, boundaries);
        self.cuts = cuts;
    }

    /// Replaces the cuts in a window, which are the starts of the previous transducer, by the starts of `transducer`. A
    /// pretoken of `transducer` must start at `begin`. Returns the end of the last pretoken of `transducer`.
    #[inline(always)]
    fn find_cuts<B: Block>(&mut self, proof: B::Proof, transducer: &Transducer, text: &[u8], begin: usize) -> usize {
        let len = self.clear_for(text);
        let mut end = begin;
        if begin < len {
            let Self { bits, hard, wide, actions, cuts, .. } = self;
            let cuts = std::mem::take(cuts);
            transducer.find::<B>(proof, actions, text, begin..len, Cuts(&cuts), bits, hard, wide);
            self.set(begin);
            end = self.recut_hard(&(transducer, Cuts(&cuts)), text, len, begin);
            self.cuts = cuts;
        }
        self.end_bits(len);
        std::mem::swap(&mut self.bits, &mut self.cuts);
        end
    }

    /// Uses the matcher to split each pretoken that begins with a character of `runs`. `from`: position in the text at
    /// which the window begins.
    fn split_runs(
        &mut self,
        (regex, runs): Runs<'_>,
        matcher: &mut Matcher<'_>,
        text: &str,
        from: usize,
        keep_going: KeepGoing<'_>,
    ) -> Result<()> {
        let mut split = std::mem::take(&mut self.split);
        split.clear();
        let is_run = |c: char| {
            let index = runs.ranges().partition_point(|range| range.end() < c);
            runs.ranges().get(index).is_some_and(|range| range.start() <= c)
        };
        for pair in self.positions[..=self.count].windows(2) {
            let [mut at, end] = [from + pair[0] as usize, from + pair[1] as usize];
            split.push(pair[0]);
            while text[at..end].chars().next().is_some_and(is_run) {
                if split.len().is_multiple_of(FINDS_BETWEEN_CHECKS) && !keep_going() {
                    return Err(ErrorKind::Interrupted.into());
                }
                at = match regex.find(matcher, at)? {
                    Some((start, end_of_match)) if start == at => end_of_match,
                    Some((start, _)) => start.min(end),
                    None => end,
                };
                if at < end {
                    split.push((at - from) as u32);
                }
            }
        }
        split.push(self.positions[self.count]);
        self.count = split.len() - 1;
        self.split = std::mem::replace(&mut self.positions, split);
        Ok(())
    }

    /// Clears the buffers for a window at the start of a text; returns the length of the window.
    #[inline(always)]
    fn clear_for(&mut self, text: &[u8]) -> usize {
        let len = text.len().min(WINDOW);
        self.bits.clear();
        self.bits.resize(len / 64 + 2, 0); // a contraction can end in the block after the last one
        self.hard.clear();
        self.wide.clear();
        len
    }

    /// Runs the slow path at the hard positions, adds a start at each merge boundary (a position that no token
    /// crosses), and lists all starts.
    #[inline(always)]
    fn finish<B: Block>(
        &mut self,
        proof: B::Proof,
        scan: &impl SlowPath,
        text: &[u8],
        len: usize,
        boundaries: Option<&MergeBoundaries>,
    ) {
        self.bits[0] |= 1;
        let end = self.recut_hard(scan, text, len, 0);
        if let Some(boundaries) = boundaries {
            self.cut::<B>(proof, text, boundaries);
        }
        self.list::<B>(proof, len);
        self.positions[self.count] = end as u32;
    }

    /// Runs the slow path at all hard positions; returns the end of the last pretoken of the window. `done`: position
    /// up to which the starts equal those of the slow path.
    #[inline(always)]
    fn recut_hard(&mut self, scan: &impl SlowPath, text: &[u8], len: usize, mut done: usize) -> usize {
        if !self.hard.is_empty() {
            let hard = std::mem::take(&mut self.hard);
            for &place in &hard {
                if place as usize >= done {
                    done = self.recut(scan, text, len, done, place as usize);
                }
            }
            self.hard = hard;
        }
        if done < len && (len < text.len() || scan.is_open_at_end(text)) {
            done = self.recut(scan, text, len, done, len);
        }
        done.max(len)
    }

    /// Runs the slow path from the last start before `place` that is certainly correct. Stops at the first start after
    /// `place` that the fast path has found as well, and returns this start.
    #[cold]
    fn recut(&mut self, scan: &impl SlowPath, text: &[u8], len: usize, done: usize, place: usize) -> usize {
        let mut start = last_before(&self.bits, place);
        while start > done && scan.may_lose(text, start) {
            start = last_before(&self.bits, start);
        }
        start = start.max(done);
        loop {
            let end = scan.end_of_pretoken(text, start);
            let agreed = end < len && self.bits[end / 64] >> (end % 64) & 1 != 0;
            self.clear(start + 1, end.min(len));
            start = end;
            if end >= len {
                return end;
            }
            self.set(end);
            if end > place && agreed {
                return end;
            }
        }
    }

    #[inline(always)]
    fn set(&mut self, at: usize) {
        self.bits[at / 64] |= 1 << (at % 64);
    }

    /// Removes the starts in `from..to`.
    #[inline(always)]
    fn clear(&mut self, from: usize, to: usize) {
        if from >= to {
            return;
        }
        let (first, last) = (from / 64, (to - 1) / 64);
        let (low, high) = (u64::MAX << (from % 64), u64::MAX >> (63 - (to - 1) % 64));
        if first == last {
            self.bits[first] &= !(low & high);
            return;
        }
        self.bits[first] &= !low;
        self.bits[first + 1..last].fill(0);
        self.bits[last] &= !high;
    }

    /// Adds starts at the merge boundaries, the positions between two characters that no token crosses.
    #[inline(always)]
    fn cut<B: Block>(&mut self, proof: B::Proof, text: &[u8], boundaries: &MergeBoundaries) {
        // `before`: mask with one bit for each of the last three bytes of the block that ends at `next`. A bit is set
        // if its byte is the first byte of a three-byte character.
        let (mut before, mut next) = (0, 0);
        for &at in &self.wide {
            let at = at as usize;
            if at != next {
                before = 0;
            }
            let rest = &text[at..];
            let mut copy = [0; 64];
            let bytes = rest.first_chunk().unwrap_or_else(|| {
                copy[..rest.len()].copy_from_slice(rest);
                &copy
            });
            let leads = B::load(proof, bytes).within(0xE0, 0xEF);
            let mut maybe = leads & (leads << 3 | before) & !self.bits[at / 64];
            (before, next) = (leads >> 61, at + 64);
            let mut cuts = 0;
            while maybe != 0 {
                let bit = maybe.trailing_zeros();
                maybe &= maybe - 1;
                let left = at + bit as usize - 3;
                cuts |= u64::from(boundaries.between(merge_boundaries::pair(&text[left..]))) << bit;
            }
            self.bits[at / 64] |= cuts;
        }
    }

    /// Clears the bits from `len` on.
    #[inline(always)]
    fn end_bits(&mut self, len: usize) {
        let (word, bit) = (len / 64, len % 64);
        self.bits[word] &= (1 << bit) - 1;
        self.bits.truncate(word + 1);
    }

    /// Converts the set bits of the first `len` bits to positions.
    #[inline(always)]
    fn list<B: Block>(&mut self, proof: B::Proof, len: usize) {
        self.end_bits(len);
        let Self { bits, positions, count, .. } = self;
        let needed = len.next_multiple_of(64) + 64;
        if positions.len() < needed {
            positions.resize(needed, 0);
        }
        *count = 0;
        for (block, &mask) in bits[..len.div_ceil(64)].iter().enumerate() {
            let base = block as u32 * 64;
            let Some(room) = positions[*count..].first_chunk_mut::<64>() else { return };
            B::places(proof, mask, base, room);
            *count += mask.count_ones() as usize;
        }
    }
}

/// Slow path, which finds one pretoken after the other.
trait SlowPath {
    /// Returns the end of the pretoken that starts at `start`.
    fn end_of_pretoken(&self, text: &[u8], start: usize) -> usize;

    /// Returns true if the start that the fast path found at `start` can be wrong because of the text after it. The
    /// fast path does not read this text.
    fn may_lose(&self, text: &[u8], start: usize) -> bool;

    /// Returns true if the end of the text can make the last starts of the fast path wrong.
    fn is_open_at_end(&self, text: &[u8]) -> bool;
}

struct Named<F>(&'static Classes, PhantomData<F>);

impl<F: Family> SlowPath for Named<F> {
    #[inline(always)]
    fn end_of_pretoken(&self, text: &[u8], start: usize) -> usize {
        end_of_pretoken::<F>(self.0, text, start)
    }

    /// Returns true if `start` is inside white space or inside the letters of a word.
    fn may_lose(&self, text: &[u8], start: usize) -> bool {
        let letters = if F::RULES.cased { LETTER | MARK } else { F::RULES.letters() };
        let mut before = start - 1;
        while text[before] & 0xC0 == 0x80 && before > 0 {
            before -= 1;
        }
        let (before, after) = (self.0.at(text, before).0, self.0.at(text, start).0);
        [letters, WHITE_SPACE].iter().any(|class| before & class != 0 && after & class != 0)
    }

    #[inline(always)]
    fn is_open_at_end(&self, text: &[u8]) -> bool {
        let last = text.len() - 1;
        text[last] < 0x80 && self.0.at(text, last).0 & WHITE_SPACE != 0
    }
}

impl SlowPath for (&Transducer, Cuts<'_>) {
    fn end_of_pretoken(&self, text: &[u8], start: usize) -> usize {
        self.0.end_of_pretoken(text, start, self.1)
    }

    fn may_lose(&self, _: &[u8], _: usize) -> bool {
        false
    }

    fn is_open_at_end(&self, _: &[u8]) -> bool {
        true
    }
}

/// Finds the starts in a window, for a family of named patterns.
pub(super) fn find_named<F: Family>(
    instructions: Detected,
    starts: &mut Starts,
    text: &[u8],
    boundaries: Option<&MergeBoundaries>,
) {
    simd::dispatch!(
        instructions,
        for <F: Family>
        (
            starts: &mut Starts = starts,
            text: &[u8] = text,
            boundaries: Option<&MergeBoundaries> = boundaries,
        ),
        |level: L| starts.find_named::<F, <L as Instructions>::Block>(level, text, boundaries)
    );
}

fn find_compiled(
    instructions: Detected,
    starts: &mut Starts,
    transducers: &[Transducer],
    text: &[u8],
    from: usize,
    boundaries: Option<&MergeBoundaries>,
) {
    simd::dispatch!(
        instructions,
        (
            starts: &mut Starts = starts,
            transducers: &[Transducer] = transducers,
            text: &[u8] = text,
            from: usize = from,
            boundaries: Option<&MergeBoundaries> = boundaries,
        ),
        |level: L| starts.find_compiled::<<L as Instructions>::Block>(level, transducers, text, from, boundaries)
    );
}
