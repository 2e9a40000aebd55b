//! Boundaries of characters, grapheme clusters, words and sentences (Unicode Standard Annex #29, default rules).
//!
//! [`TextUnit::boundaries`] returns the boundaries in order; [`TextUnit::boundaries_back`] returns the boundaries up to
//! an offset, last first. Although the second method stops at an offset, it finds the boundaries in the whole text, not
//! in the text before the offset. This matters because a boundary depends on the characters after it: if a text is cut
//! at an offset, the first part alone can have other boundaries.
//!
//! Invariant: if a text is cut at a boundary, the second part alone has the same boundaries as in the whole text. So a
//! caller that cuts a text into many parts, from left to right, can pass only the rest of the text for the next cut.
//!
//! The units are not nested: `a.א` is one word and two sentences, and a grapheme cluster can contain a word boundary
//! (U+0600 before a space).
//!
//! Cost: linear in the text for [`TextUnit::boundaries`]. [`TextUnit::boundaries_back`] reads the text in blocks, the
//! last block first. A block starts at the last *restart point* (`restart`) that is at least 512 bytes before the end
//! of the block; in natural text, a restart point occurs every few words or sentences. A text without a restart point,
//! such as megabytes of flag emoji, is read once from its start: the first boundary takes time linear in the offset,
//! and the other boundaries are then known.
//!
//! Source: grapheme clusters and words are those of the crate unicode-segmentation (Unicode 17). For sentences, that
//! crate takes time quadratic in the text (rule SB8), and has no iterator from the end. So the module `sentences`
//! computes sentences in linear time, with the properties of `regex-syntax` (Unicode 16). Tests compare these sentences
//! with those of unicode-segmentation.

mod restart;
mod sentences;
#[cfg(test)]
mod tests;
mod unit;

use unicode_segmentation::{Graphemes, UWordBounds, UnicodeSegmentation};

use sentences::Sentences;
pub use unit::TextUnit;

/// Minimum number of bytes that [`BoundariesBack`] reads at once: about 500 characters, 90 words or 4 sentences.
const BLOCK_BYTES: usize = 512;

impl TextUnit {
    /// Returns the ends of all units: byte offsets in ascending order, the last of which is the length of the text.
    /// An empty text has no ends.
    ///
    /// ```
    /// use jeton_core::util::text_unit::TextUnit;
    ///
    /// let ends = |unit: TextUnit| unit.boundaries("Hi you! 👩‍🔬").collect::<Vec<_>>();
    /// assert_eq!(ends(TextUnit::Sentence), [8, 19]);
    /// assert_eq!(ends(TextUnit::Word), [2, 3, 6, 7, 8, 19]);
    /// assert_eq!(ends(TextUnit::Grapheme), [1, 2, 3, 4, 5, 6, 7, 8, 19]);
    /// assert_eq!(ends(TextUnit::Character), [1, 2, 3, 4, 5, 6, 7, 8, 12, 15, 19]);
    /// ```
    pub fn boundaries(self, text: &str) -> Boundaries<'_> {
        Boundaries::new(self, text, 0)
    }

    /// Returns the ends of the units that end at or before the offset `at_most`, in descending order. The units are
    /// those of the whole text.
    ///
    /// ```
    /// use jeton_core::util::text_unit::TextUnit;
    ///
    /// let back = |at_most| TextUnit::Word.boundaries_back("don't stop", at_most).collect::<Vec<_>>();
    /// assert_eq!(back(10), [10, 6, 5]);
    /// assert_eq!(back(6), [6, 5]);
    /// assert!(back(4).is_empty());
    /// ```
    pub fn boundaries_back(self, text: &str, at_most: usize) -> BoundariesBack<'_> {
        BoundariesBack { unit: self, text, end: at_most.min(text.len()), block: Vec::new() }
    }
}

/// Returns true if `c` is in the set of characters that are always separated from each other: between two adjacent
/// characters of this set, there is a boundary of grapheme clusters.
pub(crate) fn is_separate_grapheme(c: char) -> bool {
    restart::graphemes().of(c) == restart::LONE
}

/// Ends of the units of a text, ascending: see [`TextUnit::boundaries`].
pub struct Boundaries<'a> {
    units: Units<'a>,
    at: usize,
}

enum Units<'a> {
    Characters(std::str::Chars<'a>),
    Graphemes(Graphemes<'a>),
    Words(UWordBounds<'a>),
    Sentences(Sentences<'a>),
}

impl<'a> Boundaries<'a> {
    /// Creates an iterator over the boundaries after `start`. `start` must be a boundary or the start of the text.
    fn new(unit: TextUnit, text: &'a str, start: usize) -> Self {
        let rest = &text[start..];
        let units = match unit {
            TextUnit::Character => Units::Characters(rest.chars()),
            TextUnit::Grapheme => Units::Graphemes(rest.graphemes(true)),
            TextUnit::Word => Units::Words(rest.split_word_bounds()),
            TextUnit::Sentence => Units::Sentences(Sentences::new(rest)),
        };
        Self { units, at: start }
    }
}

impl Iterator for Boundaries<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        self.at += match &mut self.units {
            Units::Characters(characters) => characters.next()?.len_utf8(),
            Units::Graphemes(graphemes) => graphemes.next()?.len(),
            Units::Words(words) => words.next()?.len(),
            Units::Sentences(sentences) => sentences.next()?.len(),
        };
        Some(self.at)
    }
}

/// Ends of units up to an offset, descending: see [`TextUnit::boundaries_back`].
pub struct BoundariesBack<'a> {
    unit: TextUnit,
    text: &'a str,
    /// Boundaries up to this offset have not been read yet; the text is read backward.
    end: usize,
    /// Boundaries that have been read, ascending.
    block: Vec<usize>,
}

impl Iterator for BoundariesBack<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        while self.block.is_empty() && self.end > 0 {
            let start = restart::before(self.unit, self.text, self.end.saturating_sub(BLOCK_BYTES));
            match self.unit {
                TextUnit::Sentence => {
                    let mut at = start;
                    self.block.extend(Sentences::with_limit(&self.text[start..], self.end - start).map(|sentence| {
                        at += sentence.len();
                        at
                    }));
                }
                unit => {
                    // The last unit can end far behind the block. To avoid reading the whole unit, only `known` is
                    // read: a prefix of the text that is just long enough to find all boundaries in the block.
                    let known = &self.text[..restart::known_until(unit, self.text, self.end)];
                    self.block.extend(Boundaries::new(unit, known, start).take_while(|&at| at <= self.end));
                }
            }
            self.end = start;
        }
        self.block.pop()
    }
}
