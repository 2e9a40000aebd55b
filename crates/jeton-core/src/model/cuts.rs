//! Where a pretoken falls into parts that the model encodes by themselves: before a `▁` that follows something else, around each
//! character that is spelled in bytes, at seams, and where letters and punctuation meet that no piece holds beside each other.
//!
//! SentencePiece's models and their descendants have whole texts for pretokens. Where no piece reaches over the start of a word,
//! and nothing merges with the bytes of an unknown character, their ids are those of the parts in a row, and parts repeat.
//!
//! Cost: 8 KiB; 64 bytes a step where all is ASCII and `▁`, elsewhere character by character.

use super::unknown::char_len;
use crate::alphabet::WORD_START;
use crate::seams::{self, Joints, Seams};
use crate::simd::block::{self, Block};
use crate::simd::{self, Detected};
#[cfg(target_arch = "x86_64")]
use crate::simd::{HasAvx2, HasAvx512};
use crate::vocab::Vocab;

/// Where to cut.
#[derive(Debug, Clone)]
pub struct Cuts {
    alone: Box<[u64; 1 << 10]>, // a bit for each character up to U+FFFF that is a part of its own
    ascii: Vec<(u8, u8)>,       // the same for ASCII, as ranges
    seams: Option<(Seams, Joints)>,
    letters: Vec<(u8, u8)>, // of the joints, as ranges
    ends: Vec<(u8, u8)>,
    begins: Vec<(u8, u8)>,
    only_marks: bool, // nothing else is looked at
}

const MARK: u32 = WORD_START as u32;
const MARK_BYTES: [u8; 3] = [0xE2, 0x96, 0x81];

impl Cuts {
    /// Those of a vocabulary.
    pub(super) fn seams(vocab: &Vocab) -> (Seams, Joints) {
        let contents = || vocab.iter().map(|entry| entry.2);
        (Seams::new(contents(), [].into_iter()), Joints::new(contents()))
    }

    /// Where these characters are parts of their own.
    pub(super) fn new(is_alone: impl Fn(char) -> bool, seams: Option<(Seams, Joints)>) -> Self {
        let ranges = |kind| seams.as_ref().map_or_else(Vec::new, |(_, joints)| joints.ranges(kind));
        let [letters, ends, begins] = [Joints::LETTER, Joints::ENDS, Joints::BEGINS].map(ranges);
        let mut cuts =
            Self { alone: Box::new([0; 1 << 10]), ascii: Vec::new(), seams, letters, ends, begins, only_marks: false };
        for c in (0..1 << 16).filter_map(char::from_u32).filter(|&c| is_alone(c)) {
            cuts.alone[c as usize / 64] |= 1 << (c as u32 % 64);
            match (cuts.ascii.last_mut(), u8::try_from(c)) {
                (Some((_, last)), Ok(byte)) if byte.is_ascii() && *last + 1 == byte => *last = byte,
                (_, Ok(byte)) if byte.is_ascii() => cuts.ascii.push((byte, byte)),
                _ => {}
            }
        }
        cuts.only_marks = cuts.seams.is_none() && cuts.alone.iter().all(|&bits| bits == 0);
        cuts
    }

    /// The bounds of the parts of a text: 0, where each but the first starts, and where the last one ends. For a text of more than `most` bytes
    /// those of some first parts.
    pub fn bounds(&self, text: &[u8], most: usize, bounds: &mut Vec<u32>) {
        match simd::detected() {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `proof` proves that the processor has the instructions for which the function is compiled.
            Detected::Avx512(proof) => unsafe { self.bounds_avx512(proof, text, most, bounds) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `proof` proves that the processor has the instructions for which the function is compiled.
            Detected::Avx2(proof) => unsafe { self.bounds_avx2(proof, text, most, bounds) },
            Detected::Portable => self.bounds_at::<block::Portable>((), text, most, bounds),
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    fn bounds_avx2(&self, proof: HasAvx2, text: &[u8], most: usize, bounds: &mut Vec<u32>) {
        self.bounds_at::<block::Avx2>(proof, text, most, bounds);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,avx512f,avx512bw,avx512vl")]
    fn bounds_avx512(&self, proof: HasAvx512, text: &[u8], most: usize, bounds: &mut Vec<u32>) {
        self.bounds_at::<block::Avx512>(proof, text, most, bounds);
    }

    #[inline(always)]
    fn bounds_at<B: Block>(&self, proof: B::Proof, text: &[u8], most: usize, bounds: &mut Vec<u32>) {
        bounds.clear();
        bounds.push(0);
        // Of the character before `at`: it is a `▁`; it is a part of its own; it has three bytes and is none.
        let (mut at, mut after_mark, mut after_alone, mut after_three) = (0, false, false, false);
        while at < text.len() && (at < most || bounds.len() == 1) {
            if let Some(step) = text.get(at..).and_then(|rest| rest.first_chunk::<66>()) {
                let [first, second, third] = [step.first_chunk(), step[1..].first_chunk(), step[2..].first_chunk()]
                    .map(|bytes| bytes.map(|bytes| B::load(proof, bytes)));
                let (Some(first), Some(second), Some(third)) = (first, second, third) else { return };
                let [one, two, three] = MARK_BYTES;
                let marks = first.equal(one) & second.equal(two) & third.equal(three);
                if self.only_marks || first.wide() & !(marks | marks << 1 | marks << 2) == 0 {
                    let any =
                        |ranges: &[(u8, u8)]| ranges.iter().fold(0, |all, &(low, high)| all | first.within(low, high));
                    let alone = any(&self.ascii);
                    let mut starts = marks & !(marks << 3 | u64::from(after_mark));
                    starts |= alone | alone << 1 | u64::from(after_alone);
                    let letters = any(&self.letters);
                    starts |= letters << 1 & any(&self.ends) | any(&self.begins) << 1 & letters;
                    starts |= u64::from(at > 0 && self.is_joint(text, at));
                    starts &= u64::MAX << u32::from(at == 0);
                    while starts != 0 {
                        bounds.push(at as u32 + starts.trailing_zeros());
                        starts &= starts - 1;
                    }
                    // A `▁` may reach over the end.
                    let len = if marks >> 62 == 0 { 64 } else { 66 - marks.leading_zeros() as usize };
                    after_mark = marks >> (len - 3) & 1 != 0;
                    after_alone = len == 64 && alone >> 63 != 0;
                    after_three = false;
                    at += len;
                    continue;
                }
            }
            let stop = text.len().min(at + 64);
            // Characters of three bytes, without a branch on what is between them.
            let (mut found, mut num_found) = ([0; 32], 0); // of 64 bytes, at most 22
            while let (Some(&[a @ 0xE0..0xF0, b, c, ..]), true) = (text[at..].first_chunk::<5>(), at < stop) {
                let code = u32::from(a & 0x0F) << 12 | u32::from(b & 0x3F) << 6 | u32::from(c & 0x3F);
                let (is_mark, is_alone) = (code == MARK, self.is_alone(code));
                let is_seam = after_three & !is_mark && self.is_seam(text, at);
                found[num_found % 32] = at as u32;
                let is_start = is_alone | after_alone | is_mark & !after_mark | is_seam;
                num_found += usize::from(is_start & (at > 0));
                (at, after_mark, after_alone, after_three) = (at + 3, is_mark, is_alone, !is_mark);
            }
            bounds.extend_from_slice(&found[..num_found]);
            while at < stop {
                let (code, len) = character(text, at);
                let (is_mark, is_alone) = (code == MARK, self.is_alone(code));
                let is_three = len == 3 && !is_mark;
                if at > 0
                    && (is_alone
                        || after_alone
                        || is_mark && !after_mark
                        || len == 1 && self.is_joint(text, at)
                        || is_three && after_three && self.is_seam(text, at))
                {
                    bounds.push(at as u32);
                }
                (at, after_mark, after_alone, after_three) = (at + len, is_mark, is_alone, is_three);
                if text.get(at).is_some_and(|byte| byte & 0xF0 == 0xE0) {
                    break;
                }
            }
        }
        if at >= text.len() {
            bounds.push(text.len() as u32);
        }
    }

    /// Between two characters of three bytes, the second at `at`.
    #[inline(always)]
    fn is_seam(&self, text: &[u8], at: usize) -> bool {
        self.seams.as_ref().is_some_and(|(seams, _)| seams.between(seams::pair(&text[at - 3..])))
    }

    /// Between a letter and something else, the second at `at`.
    #[inline(always)]
    fn is_joint(&self, text: &[u8], at: usize) -> bool {
        self.seams.as_ref().is_some_and(|(_, joints)| joints.between(text[at - 1], text[at]))
    }

    #[inline(always)]
    fn is_alone(&self, code: u32) -> bool {
        self.alone.get((code / 64) as usize).is_some_and(|bits| bits >> (code % 64) & 1 != 0)
    }
}

/// The character at a place, or something beyond U+FFFF; and its bytes.
#[inline(always)]
fn character(text: &[u8], at: usize) -> (u32, usize) {
    match &text[at..at + char_len(text, at)] {
        &[a] => (u32::from(a), 1),
        &[a, b] => (u32::from(a & 0x1F) << 6 | u32::from(b & 0x3F), 2),
        &[a, b, c] => (u32::from(a & 0x0F) << 12 | u32::from(b & 0x3F) << 6 | u32::from(c & 0x3F), 3),
        other => (u32::MAX, other.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(cuts: &Cuts, text: &str, parts: &[&str]) {
        let mut bounds = Vec::new();
        for level in 0..3 {
            match level {
                0 => cuts.bounds_at::<block::Portable>((), text.as_bytes(), usize::MAX, &mut bounds),
                1 => cuts.bounds(text.as_bytes(), usize::MAX, &mut bounds),
                _ => cuts.bounds(text.as_bytes(), 1, &mut bounds),
            }
            let found: Vec<&str> = bounds.windows(2).map(|pair| &text[pair[0] as usize..pair[1] as usize]).collect();
            if level < 2 {
                assert_eq!(found, parts, "{text:?}");
            } else {
                assert!(!found.is_empty() && found[..] == parts[..found.len()], "{text:?}");
            }
        }
    }

    #[test]
    fn parts_of_a_text() {
        let tokens = || ["中文", "▁▁", "x.", ".y", "1z"].map(str::as_bytes).into_iter();
        let seams = (Seams::new(tokens(), [].into_iter()), Joints::new(tokens()));
        let cuts = Cuts::new(|c| c == '\n' || c == '\t' || c == '龘', Some(seams));
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
        check(&cuts, &parts.concat(), &parts);
        // At each place of a step, and over its end.
        for fill in 1..140 {
            let fill = "x".repeat(fill);
            let whole: Vec<&str> = [fill.as_str()].into_iter().chain(parts).collect();
            check(
                &cuts,
                &(whole.concat() + &fill),
                &[&whole[..whole.len() - 1], &[&("y".to_owned() + &fill)]].concat(),
            );
            for mark in ["▁", "▁▁", "\n", "é"] {
                let rest = mark.to_owned() + &fill;
                match mark {
                    "\n" => check(&cuts, &(fill.clone() + &rest), &[&fill, "\n", &fill]),
                    "é" => check(&cuts, &(fill.clone() + &rest), &[&(fill.clone() + &rest)]),
                    _ => check(&cuts, &(fill.clone() + &rest), &[&fill, &rest]),
                }
            }
        }
    }
}
