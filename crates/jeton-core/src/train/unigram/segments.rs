//! Conversion of the counts of words to distinct segments of known characters. EM trains on these segments.
//!
//! Words are split into segments at the positions that no piece can cross: at changes of the script, before `▁`, and
//! around rare characters. So a segmentation of a word consists of segmentations of its segments, and equal segments of
//! different words are stored once, with the sum of their counts. Rare characters are in no piece and are left out;
//! each of them is one unknown piece in every segmentation.
//!
//! Invariant: the result depends only on the counts, not on their order, because segments are sorted by bytes. A
//! segment precedes its prefixes in this order.
//!
//! Cost: one table lookup for each segment. Memory: 5 bytes for each character of the distinct segments, 20 bytes for
//! each segment, and a table of the segments while they are collected. If this data exceeds the memory limit, it
//! spills to files. Source: google/sentencepiece, `trainer_interface.cc` (`LoadSentences`). SentencePiece splits texts
//! into words only; Jeton splits the words into segments.

use std::cmp::Reverse;
use std::collections::HashSet;

use super::options::UnigramOptions;
use super::valid::{CharClass, PieceLimits, UNKNOWN};
use crate::error::{Error, Result};
use crate::train::count::{Counts, Sink, SpillingCounts, END_OF_TEXT};
use crate::util::cancel::{CancelCheck, KeepGoing};
use crate::util::spill::{MemoryLimit, SpillVec};

/// A character of the text, by its index in [`Segments::characters`].
pub(super) type CharIndex = u32;

/// Value of a segment's follower if different characters follow it, or if the character after its word is unknown.
pub(super) const MANY: u32 = u32::MAX;

/// Separator between a segment and its follower in the table. This byte does not occur in UTF-8.
const THEN: u8 = 0xFF;

/// Substitute for a control or user-defined symbol.
const BOUNDARY: char = '\u{1F}';
/// Character that is counted as part of the last word of a line, if `marked_ends` is true.
const END: char = END_OF_TEXT as char;
/// First character of every word that is not the first word of a line.
const SPACE: char = '\u{2581}';
/// SentencePiece's substitute for rare characters.
const RARE: char = '\u{2585}';

/// The distinct segments of a corpus.
#[derive(Debug)]
pub(super) struct Segments {
    /// Characters that must be pieces, by code point, with their counts in the corpus.
    pub characters: Vec<(char, u64)>,
    /// All segments, concatenated.
    pub symbols: SpillVec<CharIndex>,
    /// Start of each segment in `symbols`, followed by the length of `symbols`.
    pub starts: SpillVec<u32>,
    /// Count of each segment in the corpus.
    pub weights: SpillVec<u64>,
    /// Value of the character that follows each segment (see [`Segments::follower`]); [`MANY`] if occurrences of the
    /// segment have different followers.
    pub followers: SpillVec<u32>,
    bug_compatible: bool,
    /// Total count of all characters that are not in `characters`.
    pub num_rare: u64,
    /// position in `symbols` -> maximum characters of a piece that begins there
    pub longest: SpillVec<u8>,
}

impl Segments {
    /// Splits the words of `counts` into segments.
    ///
    /// # Errors
    /// `Text` for a pretoken that is not UTF-8; [`Error::training`] for distinct segments of 2³² characters or more;
    /// `Interrupted`.
    pub fn new(
        counts: &Counts,
        options: &UnigramOptions,
        memory: &MemoryLimit,
        keep_going: KeepGoing<'_>,
    ) -> Result<Self> {
        let limits = &options.limits;
        let mut cancel = CancelCheck::new(keep_going);
        let (characters, num_rare) = characters(counts, options, &mut cancel)?;
        let mut known = CodePoints::new((CharIndex::MAX, UNKNOWN));
        for (&(c, _), symbol) in characters.iter().zip(0..) {
            *known.entry(c) = (symbol, limits.class(c));
        }
        let found = segments(counts, &known, options, memory, &mut cancel)?;
        let words = Self {
            characters,
            symbols: SpillVec::new(memory),
            starts: SpillVec::filled(0, 1, memory)?,
            weights: SpillVec::new(memory),
            followers: SpillVec::new(memory),
            bug_compatible: options.bug_compatible,
            num_rare,
            longest: SpillVec::new(memory),
        };
        let end = if options.bug_compatible && (options.starts_alike || !options.marked_ends) { 0 } else { MANY };
        let mut sink = SegmentSink { words, known, limits, end, before: Vec::new(), classes: Vec::new() };
        found.finish(keep_going, &mut sink)?;
        Ok(sink.words)
    }

    /// Moves all vectors to files.
    ///
    /// # Errors
    /// I/O errors, for example if the disk is full.
    pub fn spill(&mut self, memory: &MemoryLimit) -> Result<()> {
        let files = &memory.in_files();
        self.symbols = self.symbols.copy(files)?;
        self.starts = self.starts.copy(files)?;
        self.weights = self.weights.copy(files)?;
        self.followers = self.followers.copy(files)?;
        self.longest = self.longest.copy(files)?;
        Ok(())
    }

    /// Returns the value that represents a character when followers are compared.
    pub fn follower(&self, symbol: CharIndex) -> u32 {
        follower_of(self.characters[symbol as usize].0, self.bug_compatible)
    }

    /// Returns the number of segments.
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    /// Returns the range of segment `i` in `symbols`.
    pub fn range(&self, i: usize) -> std::ops::Range<usize> {
        self.starts[i] as usize..self.starts[i + 1] as usize
    }
}

/// Sink that builds [`Segments`]. It receives the segments in byte order, each with its follower.
struct SegmentSink<'a> {
    words: Segments,
    known: CodePoints<(CharIndex, CharClass)>,
    limits: &'a PieceLimits,
    end: u32,        // follower of the last word of a line
    before: Vec<u8>, // previous segment
    classes: Vec<CharClass>,
}

impl Sink for SegmentSink<'_> {
    fn take(&mut self, both: &[u8], weight: u64, _: u64) -> Result<()> {
        let Self { words, known, limits, end, before, classes } = self;
        let cut = both.iter().position(|&byte| byte == THEN).unwrap_or(both.len());
        let (segment, follower) = (&both[..cut], text(&both[(cut + 1).min(both.len())..])?.chars().next());
        let follower = follower.map_or(*end, |c| follower_of(c, words.bug_compatible));
        if let (true, Some(sum), Some(known)) =
            (segment == &before[..], words.weights.last_mut(), words.followers.last_mut())
        {
            *sum = sum.checked_add(weight).ok_or_else(|| Error::training("a count exceeds 2^64"))?;
            *known = if *known == follower { follower } else { MANY }; // equal segments are adjacent
            return Ok(());
        }
        before.clear();
        before.extend_from_slice(segment);
        words.followers.push(follower)?;
        classes.clear();
        for c in text(segment)?.chars() {
            let (symbol, class) = known.get(c);
            words.symbols.push(symbol)?;
            classes.push(class);
        }
        words.longest.extend((0..classes.len()).map(|at| limits.longest(&classes[at..]) as u8))?;
        words.weights.push(weight)?;
        let end = u32::try_from(words.symbols.len()).ok().filter(|&end| end < u32::MAX);
        words.starts.push(end.ok_or_else(|| Error::training("the distinct words have 2^32 characters or more"))?)
    }
}

/// Number of code points in a block of [`CodePoints`].
const BLOCK: usize = 256;

/// Lookup table by code point, divided into blocks. It is read for every character of every word. A text uses few
/// blocks, so the table takes some tens of kilobytes.
struct CodePoints<T> {
    blocks: Vec<u16>, // code point / BLOCK -> index of its block; block 0 has no values
    values: Vec<T>,
}

impl<T: Copy> CodePoints<T> {
    fn new(empty: T) -> Self {
        Self { blocks: vec![0; char::MAX as usize / BLOCK + 1], values: vec![empty; BLOCK] }
    }

    #[inline]
    fn get(&self, c: char) -> T {
        self.values[usize::from(self.blocks[c as usize / BLOCK]) * BLOCK + c as usize % BLOCK]
    }

    #[inline]
    fn entry(&mut self, c: char) -> &mut T {
        let block = &mut self.blocks[c as usize / BLOCK];
        if *block == 0 {
            *block = (self.values.len() / BLOCK) as u16;
            self.values.extend_from_within(..BLOCK);
        }
        &mut self.values[usize::from(*block) * BLOCK + c as usize % BLOCK]
    }
}

/// Returns the character, or in bug-compatible mode its first byte, which is what SentencePiece compares.
fn follower_of(c: char, bug_compatible: bool) -> u32 {
    if bug_compatible {
        u32::from(c.encode_utf8(&mut [0; 4]).as_bytes()[0])
    } else {
        u32::from(c)
    }
}

fn text(pretoken: &[u8]) -> Result<&str> {
    let at = |error: std::str::Utf8Error| Error::text("a pretoken is not UTF-8", error.valid_up_to());
    std::str::from_utf8(pretoken).map_err(at)
}

/// Returns a word and the character that follows it. The follower is None at the end of a line, and also if words were
/// counted without end marks. The follower of every other word is a space (`▁`), even before a control or
/// user-defined symbol: SentencePiece treats the symbol as a rare character, and [`RARE`] has the same first byte as a
/// space.
fn word_of(pretoken: &str, marked_ends: bool) -> (&str, Option<char>) {
    match pretoken.strip_suffix(END).filter(|word| marked_ends && !word.is_empty()) {
        Some(word) => (word, None),
        None => (pretoken, marked_ends.then_some(SPACE)),
    }
}

/// Selects characters: the required characters, and the most frequent characters until the selected ones together cover
/// `character_coverage` of the text. Among equally frequent characters, lower code points are preferred. Returns the
/// selected characters in the order of code points, and the total count of all other characters.
fn characters(
    counts: &Counts,
    options: &UnigramOptions,
    cancel: &mut CancelCheck<'_>,
) -> Result<(Vec<(char, u64)>, u64)> {
    let mut found = CodePoints::new(0u64);
    for (pretoken, count) in counts.iter() {
        for c in word_of(text(pretoken)?, options.marked_ends).0.chars() {
            cancel.check()?;
            let sum = found.entry(c);
            *sum = sum.checked_add(count).ok_or_else(|| Error::training("the count of a character exceeds 2^64"))?;
        }
    }
    let is_required: HashSet<char> = options.required_chars.chars().collect();
    let counted = ('\0'..=char::MAX).map(|c| (c, found.get(c)));
    let mut characters: Vec<(char, u64)> =
        counted.filter(|&(c, count)| count > 0 || is_required.contains(&c)).collect();
    characters.sort_unstable_by_key(|&(c, count)| (!is_required.contains(&c), Reverse(count), c));
    let total = characters.iter().fold(0u64, |sum, &(_, count)| sum.saturating_add(count));
    let (mut covered, mut kept) = (0u64, 0);
    // The covered share is compared in 32-bit floating point, as in SentencePiece.
    while kept < characters.len() && ((covered as f64 / total as f64) as f32) < options.character_coverage {
        covered = covered.saturating_add(characters[kept].1);
        kept += 1;
    }
    characters.truncate(kept);
    characters.retain(|&(c, _)| !matches!(c, '\0' | BOUNDARY | RARE));
    characters.sort_unstable();
    let known = characters.iter().fold(0u64, |sum, &(_, count)| sum.saturating_add(count));
    Ok((characters, total - known))
}

/// Returns the segments of all words, each with its follower.
fn segments(
    counts: &Counts,
    known: &CodePoints<(CharIndex, CharClass)>,
    options: &UnigramOptions,
    memory: &MemoryLimit,
    cancel: &mut CancelCheck<'_>,
) -> Result<SpillingCounts> {
    let mut segments = SpillingCounts::new(memory);
    let (mut starts, mut classes, mut key): (Vec<usize>, Vec<CharClass>, Vec<u8>) = Default::default();
    for (pretoken, count) in counts.iter().filter(|&(_, count)| count > 0) {
        starts.clear();
        classes.clear();
        let (word, behind) = word_of(text(pretoken)?, options.marked_ends);
        for (at, c) in word.char_indices() {
            starts.push(at);
            classes.push(known.get(c).1);
        }
        starts.push(word.len());
        let mut at = 0;
        while at < classes.len() {
            cancel.check()?;
            // The segment ends at the first position that no piece crosses.
            let (from, mut reach) = (at, at + 1);
            while at < reach {
                cancel.check()?;
                reach = reach.max(at + options.limits.longest(&classes[at..]));
                at += 1;
            }
            if classes[from] != UNKNOWN {
                let next = match classes.get(at) {
                    Some(&UNKNOWN) if options.bug_compatible => Some(RARE),
                    Some(_) => word[starts[at]..].chars().next(),
                    None => behind,
                };
                key.clear();
                key.extend_from_slice(&word.as_bytes()[starts[from]..starts[at]]);
                key.push(THEN);
                if let Some(c) = next {
                    key.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                }
                segments.add(&key, count)?;
            }
        }
    }
    Ok(segments)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::super::valid::PieceLimits;
    use super::*;

    const LIMITS: PieceLimits = PieceLimits {
        max_sentencepiece_length: 16,
        split_by_unicode_script: true,
        split_by_number: true,
        split_digits: false,
    };

    fn cut(words: &[(&str, u64)], coverage: f32, limits: &PieceLimits) -> Vec<(String, u64)> {
        let mut counts = Counts::default();
        words.iter().for_each(|&(word, count)| counts.add(word.as_bytes(), count).unwrap());
        let words = Segments::new(
            &counts,
            &UnigramOptions { character_coverage: coverage, limits: *limits, ..super::super::tests::options(100) },
            &MemoryLimit::unlimited(),
            &|| true,
        )
        .unwrap();
        let spell =
            |i| words.symbols[words.range(i)].iter().map(|&symbol| words.characters[symbol as usize].0).collect();
        (0..words.len()).map(|i| (spell(i), words.weights[i])).collect()
    }

    #[test]
    fn words_are_split_where_no_piece_crosses() {
        let cuts = cut(&[("▁(low)", 2), ("▁low▁", 3), ("low", 1)], 1.0, &LIMITS);
        let expected = [(")", 2), ("low", 3), ("▁(", 2), ("▁low", 3), ("▁", 3)];
        assert_eq!(cuts, expected.map(|(word, count)| (word.to_owned(), count)));
    }

    #[test]
    fn rare_characters_split_words() {
        let cuts = cut(&[("aabxaa", 9), ("b", 9)], 0.85, &LIMITS);
        assert_eq!(cuts, [("aab".to_owned(), 9), ("aa".to_owned(), 9), ("b".to_owned(), 9)]);
    }

    #[test]
    fn digits_are_separate_or_joined_by_option() {
        let split = PieceLimits { split_digits: true, ..LIMITS };
        assert_eq!(cut(&[("a12", 1)], 1.0, &split), [("1", 1), ("2", 1), ("a", 1)].map(|(w, n)| (w.to_owned(), n)));
        let joined = PieceLimits { split_by_number: false, ..LIMITS };
        assert_eq!(cut(&[("a12", 1)], 1.0, &joined), [("a12".to_owned(), 1)]);
    }

    /// If the last word of every line is marked, a space follows all other words.
    #[test]
    fn mark_at_the_end_determines_the_follower_of_a_word() {
        let follows = |words: &[&str], starts_alike: bool| {
            let mut counts = Counts::default();
            words.iter().for_each(|word| counts.add(word.as_bytes(), 1).unwrap());
            let options = UnigramOptions {
                bug_compatible: true,
                marked_ends: true,
                starts_alike,
                ..super::super::tests::options(100)
            };
            let words = Segments::new(&counts, &options, &MemoryLimit::unlimited(), &|| true).unwrap();
            let low = words.len() - 1; // `▁low` is the last in order
            assert_eq!(words.weights[low], counts.len() as u64);
            words.followers[low]
        };
        let first_byte = |c: char| u32::from(c.encode_utf8(&mut [0; 4]).as_bytes()[0]);
        assert_eq!(follows(&["▁low"], true), first_byte(SPACE));
        assert_eq!(follows(&["▁low\n"], true), 0);
        assert_eq!(follows(&["▁low\n"], false), MANY);
        assert_eq!(follows(&["▁low", "▁low\n"], true), MANY);
        // SentencePiece has a bug: it compares only the first bytes of followers. `▁` and U+2019 have the same first
        // byte.
        assert_eq!(follows(&["▁low", "▁low\u{2019}"], true), first_byte(SPACE));
    }
}
