//! Bit-parallel version of the named patterns: starts of the pretokens of a text.
//!
//! Invariant: the starts equal those of [`scanner`](super::scanner), the slow path, for every text; tests compare them at
//! each level of vector instructions.
//!
//! A text is processed in windows. In each, `algebra` finds the starts in easy text and lists hard ranges. Around these the
//! scanner runs, from a correct start until both agree. Agreement suffices, because the text after a start determines the
//! following starts. The end of a window is a hard range, so results do not depend on windows: the scanner reads beyond it,
//! and the next window begins at the end of its last pretoken.
//!
//! Time is linear in the text: a hard range is processed from the end of the previous one at the earliest. Memory is that
//! of a window.

mod algebra;

use super::scanner::{end_of_pretoken, Family};
use crate::error::Result;
use crate::util::classes::{Classes, LETTER, MARK, WHITE_SPACE};
use crate::util::simd::block::Block;
use crate::util::simd::{self, Detected, Instructions, SimdLevel};
use crate::vocab::merge_boundaries::{self, MergeBoundaries};

/// Bytes in a window: text, starts and positions fit the L1 cache (48 KiB).
const WINDOW: usize = 1 << 14;

/// Buffers for the starts of one window.
#[derive(Debug, Default)]
pub(crate) struct Starts {
    bits: Vec<u64>,
    hard: Vec<u32>,      // ascending
    wide: Vec<u32>,      // offsets of the blocks with a byte beyond ASCII, ascending
    positions: Vec<u32>, // grows to the maximum needed
    count: usize,
}

/// Bit-parallel finder of pretoken starts, window by window.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StartFinder {
    instructions: Detected,
    find: fn(Detected, &mut Starts, &Classes, &[u8], Option<&MergeBoundaries>),
}

impl StartFinder {
    /// Calls `each` with windows of `text`: the text from the start of the window on, and the bounds in it of the
    /// pretokens that start in `from..until`, where `until` may be beyond the text. A pretoken starts at `from`. Returns
    /// the start of the next one. `boundaries`: pretokens are split further at these.
    ///
    /// # Errors
    /// Errors of `each`.
    #[inline(always)]
    pub(crate) fn for_each_window(
        self,
        starts: &mut Starts,
        text: &str,
        mut from: usize,
        until: usize,
        boundaries: Option<&MergeBoundaries>,
        mut each: impl FnMut(&[u8], &[u32]) -> Result<()>,
    ) -> Result<usize> {
        while from < until.min(text.len()) {
            let rest = &text.as_bytes()[from..];
            (self.find)(self.instructions, starts, Classes::get(), rest, boundaries);
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
    /// Returns the starts of the pretokens of the last window, relative to its first, and the end of the last one, where
    /// the next window begins.
    #[inline]
    fn bounds(&self) -> &[u32] {
        &self.positions[..=self.count]
    }

    #[inline(always)]
    fn find<F: Family, B: Block>(
        &mut self,
        proof: B::Proof,
        classes: &Classes,
        text: &[u8],
        boundaries: Option<&MergeBoundaries>,
    ) {
        let len = text.len().min(WINDOW);
        self.bits.clear();
        self.bits.resize(len / 64 + 2, 0); // a contraction may end in the block after the last
        self.hard.clear();
        self.wide.clear();
        self.algebra::<F, B>(proof, classes, text, len);
        self.bits[0] |= 1;
        let end = self.recut_hard::<F>(classes, text, len);
        if let Some(boundaries) = boundaries {
            self.cut::<B>(proof, text, boundaries);
        }
        self.list::<B>(proof, len);
        self.positions[self.count] = end as u32;
    }

    /// Repeats all hard ranges with the scanner; returns the end of the last pretoken of the window.
    #[inline(always)]
    fn recut_hard<F: Family>(&mut self, classes: &Classes, text: &[u8], len: usize) -> usize {
        let mut done = 0; // up to here the starts equal those of the scanner
        if !self.hard.is_empty() {
            let hard = std::mem::take(&mut self.hard);
            for &place in &hard {
                if place as usize >= done {
                    done = self.recut::<F>(classes, text, len, done, place as usize);
                }
            }
            self.hard = hard;
        }
        let ends_in_space = text[len - 1] < 0x80 && classes.at(text, len - 1).0 & WHITE_SPACE != 0;
        if done < len && (len < text.len() || ends_in_space) {
            done = self.recut::<F>(classes, text, len, done, len);
        }
        done.max(len)
    }

    /// Runs the scanner around `place`, from a correct start until the bits agree after it; returns that position.
    #[cold]
    fn recut<F: Family>(&mut self, classes: &Classes, text: &[u8], len: usize, done: usize, place: usize) -> usize {
        let mut start = self.start_before(place);
        while start > done && splits_a_run::<F>(classes, text, start) {
            start = self.start_before(start);
        }
        start = start.max(done);
        loop {
            let end = end_of_pretoken::<F>(classes, text, start);
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

    /// Returns the last start before `at`, which is not 0.
    fn start_before(&self, at: usize) -> usize {
        let last = at.saturating_sub(1);
        let mut word = last / 64;
        let mut bits = self.bits[word] & u64::MAX >> (63 - last % 64);
        while bits == 0 && word > 0 {
            word -= 1;
            bits = self.bits[word];
        }
        (word * 64 + 63).saturating_sub(bits.leading_zeros() as usize)
    }

    #[inline(always)]
    fn set(&mut self, at: usize) {
        self.bits[at / 64] |= 1 << (at % 64);
    }

    /// Removes the starts from `from` up to `to`.
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

    /// Adds the merge boundaries.
    #[inline(always)]
    fn cut<B: Block>(&mut self, proof: B::Proof, text: &[u8], boundaries: &MergeBoundaries) {
        // First bytes of three-byte characters, as the last three bits; of the block before `next`.
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

    /// Converts bits up to `len` to positions.
    #[inline(always)]
    fn list<B: Block>(&mut self, proof: B::Proof, len: usize) {
        let Self { bits, positions, count, .. } = self;
        if !len.is_multiple_of(64) {
            bits[len / 64] &= (1 << (len % 64)) - 1;
        }
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

/// Returns true if a start is within white space or within the letters of a word: following text may remove it.
fn splits_a_run<F: Family>(classes: &Classes, text: &[u8], start: usize) -> bool {
    let letters = if F::RULES.cased { LETTER | MARK } else { LETTER };
    let mut before = start - 1;
    while text[before] & 0xC0 == 0x80 && before > 0 {
        before -= 1;
    }
    let (before, after) = (classes.at(text, before).0, classes.at(text, start).0);
    [letters, WHITE_SPACE].iter().any(|class| before & class != 0 && after & class != 0)
}

/// Returns the finder of a family at a level, or at the processor's if that is lower.
pub(super) fn finder<F: Family>(level: SimdLevel) -> StartFinder {
    StartFinder { instructions: simd::detected().at_most(level), find: find::<F> }
}

fn find<F: Family>(
    instructions: Detected,
    starts: &mut Starts,
    classes: &Classes,
    text: &[u8],
    boundaries: Option<&MergeBoundaries>,
) {
    simd::dispatch!(
        instructions,
        for <F: Family>
        (
            starts: &mut Starts = starts,
            classes: &Classes = classes,
            text: &[u8] = text,
            boundaries: Option<&MergeBoundaries> = boundaries,
        ),
        |level: L| starts.find::<F, <L as Instructions>::Block>(level, classes, text, boundaries)
    );
}
