//! Split points inside of pretokens, between parts that the model encodes independently.
//!
//! For SentencePiece's models and their descendants, whole texts are pretokens. A text is split before a `▁` at
//! [`MarkBoundaries`], around each character that is spelled in bytes, at [`MergeBoundaries`] and at [`LetterBoundaries`].
//! If nothing merges with the bytes of an unknown character, the ids of the text are those of the parts in order. Parts
//! repeat, so caches hit. Texts spell `▁` as [`Marks`] says.
//!
//! Cost: 8 KiB; 64 bytes at a time for ASCII and `▁`, else character by character.

use super::filters::{pair, ranges, LetterBoundaries, MarkBoundaries, MergeBoundaries};
use crate::util::simd::block::Block;
use crate::util::simd::{self, Instructions};
use crate::util::utf8::{char_len, of_three, of_two};
use crate::vocab::marks::{Marks, MARK};
use crate::vocab::Vocab;

/// Finder of split points for one vocabulary.
#[derive(Debug, Clone)]
pub struct SplitPoints {
    alone: Box<[u64; 1 << 10]>, // bit set of the characters up to U+FFFF that are separate parts
    ascii: Vec<(u8, u8)>,       // the ASCII ones among these, as ranges
    boundaries: Option<(MergeBoundaries, LetterBoundaries)>,
    letters: Vec<(u8, u8)>, // of the letter boundaries, as ranges
    ends: Vec<(u8, u8)>,
    begins: Vec<(u8, u8)>,
    mark: u32,             // `▁` as texts spell it
    joined: Vec<(u8, u8)>, // ASCII characters after which a mark is no split point
    marks_join: bool,      // likewise the mark
    wide_join: bool,       // likewise all characters beyond ASCII
    only_marks: bool,      // there are no other split points
}

impl SplitPoints {
    /// Builds the boundaries of a vocabulary.
    pub fn boundaries(vocab: &Vocab, marks: Marks) -> (MergeBoundaries, LetterBoundaries) {
        let contents = || vocab.iter().map(|entry| entry.2);
        let mut letters = LetterBoundaries::new(contents());
        if marks.are_spaces() {
            letters.exclude(b' '); // `MarkBoundaries` has the split points before marks, and after them are none
        }
        (MergeBoundaries::new(contents(), [].into_iter()), letters)
    }

    /// Creates a finder that also splits around the characters for which `is_alone` returns true.
    pub fn new(
        marks: (Marks, &MarkBoundaries),
        is_alone: impl Fn(char) -> bool,
        boundaries: Option<(MergeBoundaries, LetterBoundaries)>,
    ) -> Self {
        let (spelling, before_marks) = marks;
        let of_kind = |kind| boundaries.as_ref().map_or_else(Vec::new, |(_, letters)| letters.ranges(kind));
        let [letters, ends, begins] =
            [LetterBoundaries::LETTER, LetterBoundaries::ENDS, LetterBoundaries::BEGINS].map(of_kind);
        let mark = spelling.character();
        let joined = || before_marks.joined().iter().copied();
        let mut points = Self {
            alone: Box::new([0; 1 << 10]),
            ascii: Vec::new(),
            boundaries,
            letters,
            ends,
            begins,
            mark: mark.into(),
            joined: ranges(joined().filter(char::is_ascii).filter_map(|c| u8::try_from(c).ok())),
            marks_join: before_marks.marks_join(),
            wide_join: joined().any(|c| !c.is_ascii()),
            only_marks: false,
        };
        for c in (0..1 << 16).filter_map(char::from_u32).filter(|&c| is_alone(c)) {
            points.alone[c as usize / 64] |= 1 << (c as u32 % 64);
            match (points.ascii.last_mut(), u8::try_from(c)) {
                (Some((_, last)), Ok(byte)) if byte.is_ascii() && *last + 1 == byte => *last = byte,
                (_, Ok(byte)) if byte.is_ascii() => points.ascii.push((byte, byte)),
                _ => {}
            }
        }
        points.only_marks =
            points.boundaries.is_none() && !points.wide_join && points.alone.iter().all(|&bits| bits == 0);
        points
    }

    /// Computes the bounds of the parts of a text: 0, the starts of the other parts, and the end of the last one. For a
    /// text of more than `most` bytes, those of its first parts.
    pub fn bounds(&self, text: &[u8], most: usize, bounds: &mut Vec<u32>) {
        simd::dispatch!(
            simd::detected(),
            (this: &SplitPoints = self, text: &[u8] = text, most: usize = most, bounds: &mut Vec<u32> = bounds),
            |level: L| this.bounds_at::<<L as Instructions>::Block>(level, text, most, bounds)
        );
    }

    #[inline(always)]
    fn bounds_at<B: Block>(&self, proof: B::Proof, text: &[u8], most: usize, bounds: &mut Vec<u32>) {
        bounds.clear();
        bounds.push(0);
        // The character before `at` joins a mark; is a separate part; has three bytes and is not.
        let (mut at, mut after_joined, mut after_alone, mut after_three) = (0, false, false, false);
        let spaces = self.mark == u32::from(b' ');
        let mark_len = if spaces { 1 } else { MARK.len() };
        while at < text.len() && (at < most || bounds.len() == 1) {
            if let Some(step) = text.get(at..).and_then(|rest| rest.first_chunk::<66>()) {
                let [first, second, third] = [step.first_chunk(), step[1..].first_chunk(), step[2..].first_chunk()]
                    .map(|bytes| bytes.map(|bytes| B::load(proof, bytes)));
                let (Some(first), Some(second), Some(third)) = (first, second, third) else { return };
                let marks = match (spaces, MARK) {
                    (true, _) => first.equal(b' '),
                    (false, [one, two, three]) => first.equal(one) & second.equal(two) & third.equal(three),
                };
                let of_marks = if spaces { marks } else { marks | marks << 1 | marks << 2 };
                if self.only_marks || first.wide() & !of_marks == 0 {
                    let any =
                        |ranges: &[(u8, u8)]| ranges.iter().fold(0, |all, &(low, high)| all | first.within(low, high));
                    let alone = any(&self.ascii);
                    let joined = any(&self.joined);
                    let marks_join = if self.marks_join { marks } else { 0 };
                    let mut starts = marks & !(marks_join << mark_len | joined << 1 | u64::from(after_joined));
                    starts |= alone | alone << 1 | u64::from(after_alone);
                    let letters = any(&self.letters);
                    starts |= letters << 1 & any(&self.ends) | any(&self.begins) << 1 & letters;
                    starts |= u64::from(at > 0 && self.is_letter_boundary(text, at));
                    starts &= u64::MAX << u32::from(at == 0);
                    while starts != 0 {
                        bounds.push(at as u32 + starts.trailing_zeros());
                        starts &= starts - 1;
                    }
                    // A `▁` may extend beyond the block.
                    let len = if spaces || marks >> 62 == 0 { 64 } else { 66 - marks.leading_zeros() as usize };
                    after_joined = marks_join >> (len - mark_len) & 1 != 0 || len == 64 && joined >> 63 != 0;
                    after_alone = len == 64 && alone >> 63 != 0;
                    after_three = false;
                    at += len;
                    continue;
                }
            }
            let stop = text.len().min(at + 64);
            // Characters of three bytes, without a branch on the boundary between them.
            let (mut char_starts, mut num_starts) = ([0; 32], 0); // of 64 bytes, at most 22
            while let (Some(&[a @ 0xE0..0xF0, b, c, ..]), true) = (text[at..].first_chunk::<5>(), at < stop) {
                let code = of_three(a, b, c);
                let (is_mark, is_alone) = (code == self.mark, self.is_alone(code));
                let is_boundary = after_three & !is_mark && self.is_boundary(text, at);
                char_starts[num_starts % 32] = at as u32;
                let is_start = is_alone | after_alone | is_mark & !after_joined | is_boundary;
                num_starts += usize::from(is_start & (at > 0));
                after_joined = if is_mark { self.marks_join } else { self.wide_join };
                (at, after_alone, after_three) = (at + 3, is_alone, !is_mark);
            }
            bounds.extend_from_slice(&char_starts[..num_starts]);
            while at < stop {
                let (code, len) = character(text, at);
                let (is_mark, is_alone) = (code == self.mark, self.is_alone(code));
                let is_three = len == 3 && !is_mark;
                if at > 0
                    && (is_alone
                        || after_alone
                        || is_mark && !after_joined
                        || len == 1 && self.is_letter_boundary(text, at)
                        || is_three && after_three && self.is_boundary(text, at))
                {
                    bounds.push(at as u32);
                }
                after_joined = match text[at] {
                    _ if is_mark => self.marks_join,
                    byte @ 0..0x80 => self.joined.iter().any(|&(low, high)| (low..=high).contains(&byte)),
                    _ => self.wide_join,
                };
                (at, after_alone, after_three) = (at + len, is_alone, is_three);
                if text.get(at).is_some_and(|byte| byte & 0xF0 == 0xE0) {
                    break;
                }
            }
        }
        if at >= text.len() {
            bounds.push(text.len() as u32);
        }
    }

    /// Returns true for a boundary between two characters of three bytes, the second at `at`.
    #[inline(always)]
    fn is_boundary(&self, text: &[u8], at: usize) -> bool {
        self.boundaries.as_ref().is_some_and(|(boundaries, _)| boundaries.between(pair(&text[at - 3..])))
    }

    /// Returns true for a boundary between a letter and another byte, the second at `at`.
    #[inline(always)]
    fn is_letter_boundary(&self, text: &[u8], at: usize) -> bool {
        self.boundaries.as_ref().is_some_and(|(_, letters)| letters.between(text[at - 1], text[at]))
    }

    #[inline(always)]
    fn is_alone(&self, code: u32) -> bool {
        self.alone.get((code / 64) as usize).is_some_and(|bits| bits >> (code % 64) & 1 != 0)
    }
}

/// Returns the character at an offset, or a value beyond U+FFFF; and its length in bytes.
#[inline(always)]
fn character(text: &[u8], at: usize) -> (u32, usize) {
    match &text[at..at + char_len(text[at]).min(text.len() - at)] {
        &[a] => (u32::from(a), 1),
        &[a, b] => (of_two(a, b), 2),
        &[a, b, c] => (of_three(a, b, c), 3),
        other => (u32::MAX, other.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(points: &SplitPoints, text: &str, parts: &[&str]) {
        let mut bounds = Vec::new();
        for level in 0..3 {
            match level {
                0 => points.bounds_at::<simd::block::PortableBlock>(
                    simd::Portable,
                    text.as_bytes(),
                    usize::MAX,
                    &mut bounds,
                ),
                1 => points.bounds(text.as_bytes(), usize::MAX, &mut bounds),
                _ => points.bounds(text.as_bytes(), 1, &mut bounds),
            }
            let char_starts: Vec<&str> =
                bounds.windows(2).map(|pair| &text[pair[0] as usize..pair[1] as usize]).collect();
            if level < 2 {
                assert_eq!(char_starts, parts, "{text:?}");
            } else {
                assert!(!char_starts.is_empty() && char_starts[..] == parts[..char_starts.len()], "{text:?}");
            }
        }
    }

    #[test]
    fn parts_of_a_text() {
        let tokens = || ["中文", "▁▁", "x.", ".y", "1z"].map(str::as_bytes).into_iter();
        let boundaries = (MergeBoundaries::new(tokens(), [].into_iter()), LetterBoundaries::new(tokens()));
        let marks = (Marks::Written, &MarkBoundaries::new(tokens()));
        let points = SplitPoints::new(marks, |c| c == '\n' || c == '\t' || c == '龘', Some(boundaries));
        let parts = [
            "▁the",
            "▁▁old",
            "\n",
            "\n",
            "▁man",
            "\t",
            "中",
            "龘",
            "文😀",
            "▁▁▁",
            "龘",
            "中文",
            "中",
            "字",
            "▁x",
            "\t",
            "\n",
            "y.y",
            "1(",
            "f",
            "((1z",
            "1",
            "▁oldx",
            "\n",
            "y",
        ];
        check(&points, &parts.concat(), &parts);
        // At each place of a step, and over its end.
        for fill in 1..140 {
            let fill = "x".repeat(fill);
            let whole: Vec<&str> = [fill.as_str()].into_iter().chain(parts).collect();
            check(
                &points,
                &(whole.concat() + &fill),
                &[&whole[..whole.len() - 1], &[&("y".to_owned() + &fill)]].concat(),
            );
            for mark in ["▁", "▁▁", "\n", "é"] {
                let rest = mark.to_owned() + &fill;
                match mark {
                    "\n" => check(&points, &(fill.clone() + &rest), &[&fill, "\n", &fill]),
                    "é" => check(&points, &(fill.clone() + &rest), &[&(fill.clone() + &rest)]),
                    _ => check(&points, &(fill.clone() + &rest), &[&fill, &rest]),
                }
            }
        }
    }
}
