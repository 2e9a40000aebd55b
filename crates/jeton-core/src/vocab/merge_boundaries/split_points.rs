//! Finds split points inside of pretokens, between parts that the model encodes independently.
//!
//! In SentencePiece's models and their descendants, whole texts are pretokens. A text is split before `▁` at
//! [`MarkBoundaries`], around each character that is spelled in bytes, at [`MergeBoundaries`] and at
//! [`LetterBoundaries`]. Then the ids of the text are the ids of its parts in order, because no merge crosses a split
//! point. Splits around characters that are spelled in bytes require that no merge contains a byte token, which the
//! caller must check. The same parts occur in many texts, so they are often in a cache. [`Marks`] determines how texts
//! spell `▁`.
//!
//! Cost: 8 KiB of memory; texts are read in steps of 64 bytes, with one or two lookups for each character of two or
//! three bytes.

use super::filters::{pair, ranges, LetterBoundaries, MarkBoundaries, MergeBoundaries};
use crate::util::simd::block::Block;
use crate::util::simd::{self, Instructions};
use crate::util::utf8::{of_three, of_two};
use crate::vocab::marks::{Marks, MARK};
use crate::vocab::Vocab;

/// Finder of split points for one vocabulary.
#[derive(Debug, Clone)]
pub struct SplitPoints {
    alone: Box<[u64; 1 << 10]>, // bit set of the characters up to U+FFFF that become separate parts
    ascii: Vec<(u8, u8)>,       // the ASCII characters of `alone`, as ranges
    boundaries: Option<MergeBoundaries>,
    letters: Vec<(u8, u8)>, // letters of the letter boundaries, as ranges
    ends: Vec<(u8, u8)>,
    begins: Vec<(u8, u8)>,
    mark: u32,             // `▁` as texts spell it
    joined: Vec<(u8, u8)>, // ASCII characters after which there is no split before `▁`
    marks_join: bool,      // true if there is no split between two `▁`
    wide_join: bool,       // true if there is no split before `▁` after characters beyond ASCII
    only_marks: bool,      // true if the only split points are before `▁`
}

impl SplitPoints {
    /// Builds the merge boundaries and letter boundaries of a vocabulary.
    pub fn boundaries(vocab: &Vocab, marks: Marks) -> (MergeBoundaries, LetterBoundaries) {
        let contents = || vocab.iter().map(|entry| entry.2);
        let mut letters = LetterBoundaries::new(contents());
        if marks.are_spaces() {
            letters.exclude(b' '); // `MarkBoundaries` has the split points before marks; there are none after them
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
            boundaries: boundaries.map(|both| both.0),
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

    /// Splits a text into parts, and writes the bounds of the parts to `bounds`: 0, the split points between the parts,
    /// and the end of the last part. If the text has more than `most` bytes, splitting stops after about `most` bytes.
    /// The first part is always complete, even if the part is longer than `most` bytes.
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
        let spaces = self.mark == u32::from(b' ');
        let mark_len = if spaces { 1 } else { MARK.len() };
        // Results of the previous step, as bitmaps of positions in this step. `starts_before`: split points.
        // `joined_before`: a `▁` at this position is not a split point. `three_before`: a character of three bytes ends
        // before this position.
        let (mut starts_before, mut joined_before, mut three_before) = (0, 0, 0);
        let (mut after_letter, mut after_begin) = (0, 0); // state: letter classes of the previous byte
        let mut at = 0;
        while at < text.len() && (at < most || bounds.len() == 1) {
            let (rest, mut padded) = (&text[at..], [0; 66]);
            let step = match rest.first_chunk::<66>() {
                Some(step) => step,
                None => {
                    padded[..rest.len()].copy_from_slice(rest);
                    &padded
                }
            };
            let Some(block) = step.first_chunk().map(|bytes| B::load(proof, bytes)) else { return };
            let marks = match (spaces, MARK) {
                (true, _) => block.equal(b' '),
                (false, [one, two, three]) => {
                    block.equal(one) & later::<B>(proof, step, 1).equal(two) & later::<B>(proof, step, 2).equal(three)
                }
            };
            let wide = block.wide();

            let joined = within(block, &self.joined) | if self.wide_join { wide } else { 0 };
            let joining_marks = if self.marks_join { marks } else { 0 };
            let mut starts = marks & !(joining_marks << mark_len | joined << 1 | joined_before) | starts_before;
            joined_before = joining_marks >> (64 - mark_len) | joined >> 63;
            starts_before = 0;
            if !self.only_marks {
                let (alone, letters, begins) =
                    (within(block, &self.ascii), within(block, &self.letters), within(block, &self.begins));
                starts |= alone | alone << 1 | (letters << 1 | after_letter) & within(block, &self.ends);
                starts |= (begins << 1 | after_begin) & letters;
                starts_before = alone >> 63;
                (after_letter, after_begin) = (letters >> 63, begins >> 63);
                if wide != 0 {
                    let two = self.alone_among(block.within(0xC0, 0xDF), rest);
                    let three = block.within(0xE0, 0xEF) & if spaces { u64::MAX } else { !marks };
                    let (alone, after_boundary) = self.of_three(three, three << 3 | three_before, text, at);
                    starts |= two | two << 2 | alone | alone << 3 | after_boundary;
                    starts_before |= two >> 62 | alone >> 61;
                    three_before = three >> 61;
                } else {
                    three_before = 0;
                }
            }
            starts &= (u64::MAX << u32::from(at == 0)) & (u64::MAX >> (64 - rest.len().min(64)));
            while starts != 0 {
                bounds.push(at as u32 + starts.trailing_zeros());
                starts &= starts - 1;
            }
            at += 64;
        }
        if at >= text.len() {
            bounds.push(text.len() as u32);
        }
    }

    /// Returns a bitmap of the characters of two bytes that become separate parts. `leads`: bitmap of the first bytes
    /// of all characters of two bytes.
    #[inline(always)]
    fn alone_among(&self, mut leads: u64, text: &[u8]) -> u64 {
        let mut alone = 0;
        while leads != 0 {
            let place = leads.trailing_zeros();
            leads &= leads - 1;
            if let Some(&[a, b]) = text[place as usize..].first_chunk() {
                alone |= u64::from(self.is_alone(of_two(a, b))) << place;
            }
        }
        alone
    }

    /// Tests characters of three bytes. Returns one bitmap of the characters that become separate parts, and another of
    /// the characters that have a boundary before them. `leads`: bitmap of the first bytes of the characters, counted
    /// from `at`. `after`: bitmap of the positions that follow a character of three bytes.
    #[inline(always)]
    fn of_three(&self, mut leads: u64, after: u64, text: &[u8], at: usize) -> (u64, u64) {
        let (mut alone, mut after_boundary) = (0, 0);
        while leads != 0 {
            let place = leads.trailing_zeros();
            leads &= leads - 1;
            let start = at + place as usize;
            if let Some(&[a, b, c]) = text[start..].first_chunk() {
                alone |= u64::from(self.is_alone(of_three(a, b, c))) << place;
                // There is no branch on `after`, because the CPU could hardly predict it. The only branch tests for the
                // start of the text.
                let is_boundary = start >= 3 && self.is_boundary(text, start);
                after_boundary |= (u64::from(is_boundary) & after >> place) << place;
            }
        }
        (alone, after_boundary)
    }

    /// Returns true if there is a boundary at `at`, between two characters of three bytes.
    #[inline(always)]
    fn is_boundary(&self, text: &[u8], at: usize) -> bool {
        self.boundaries.as_ref().is_some_and(|boundaries| boundaries.between(pair(&text[at - 3..])))
    }

    #[inline(always)]
    fn is_alone(&self, code: u32) -> bool {
        self.alone.get((code / 64) as usize).is_some_and(|bits| bits >> (code % 64) & 1 != 0)
    }
}

/// Returns the 64 bytes of `step` from byte `from` on, as a block.
#[inline(always)]
fn later<B: Block>(proof: B::Proof, step: &[u8; 66], from: usize) -> B {
    B::load(proof, step[from..].first_chunk().unwrap_or(&[0; 64]))
}

/// Returns a bitmap of the bytes that are in any of `ranges`.
#[inline(always)]
fn within<B: Block>(block: B, ranges: &[(u8, u8)]) -> u64 {
    let mut all = 0;
    for &(low, high) in ranges {
        all |= block.within(low, high);
    }
    all
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
    fn text_is_split_into_the_expected_parts() {
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
        // Tests texts of every length, so that the last step of 64 bytes contains every possible number of bytes.
        for num_chars in 1..=parts.concat().chars().count() {
            let text: String = parts.concat().chars().take(num_chars).collect();
            let mut rest = &text[..];
            let mut own = Vec::new();
            for part in parts {
                let (start, end) = rest.split_at(part.len().min(rest.len()));
                own.extend((!start.is_empty()).then_some(start));
                rest = end;
            }
            check(&points, &text, &own);
        }
        // Tests split points at each position of a step, and across the end of a step.
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

    #[test]
    fn text_with_spaces_for_marks_is_split_into_the_expected_parts() {
        let tokens = || ["▁a", ">▁</", "x▁y", "é▁", "▁▁", "a"].map(str::as_bytes).into_iter();
        let before_marks = MarkBoundaries::new(tokens());
        let mut letters = LetterBoundaries::new(tokens());
        letters.exclude(b' ');
        let boundaries = (MergeBoundaries::new(tokens(), [].into_iter()), letters);
        let spaces = Marks::Spaces { begin_pretokens: false };
        let points = SplitPoints::new((spaces, &before_marks), |c| c == '\n', Some(boundaries));
        for fill in 0..140 {
            let fill = "y".repeat(fill);
            let text = fill.clone() + "the  old\n man> <a  b> é 中 文x y 😀 z";
            let first = fill + "the";
            let parts = [&first, "  old", "\n", " man", "> <", "a", "  b", "> é 中 文x y", " 😀 z"];
            check(&points, &text, &parts);
        }
        let each = Marks::Spaces { begin_pretokens: true };
        let points = SplitPoints::new((each, &MarkBoundaries::all()), |_| false, None);
        check(&points, "a  b> c é ", &["a", " ", " b>", " c", " é", " "]);
    }
}
