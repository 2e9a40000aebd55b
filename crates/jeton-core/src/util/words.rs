//! Finds the words of texts, and the runs of scripts that are written without spaces; counts the tokens in both.
//!
//! A word is a segment between word boundaries (Unicode Standard Annex #29) that has a letter or a number. Without a
//! dictionary, the rules of the annex find no words in Chinese, Japanese, Thai and similar scripts. In most of these
//! scripts, the rules break after each character; in scripts of class ALetter, such as Tibetan, never inside a clause.
//! Therefore letters and numbers of such scripts form *runs* instead of words. The length of a run is its number of
//! characters without combining marks. Tibetan's intersyllabic mark belongs to the character before it. Punctuation and
//! white space are in no run.
//!
//! Cost: linear in the text; 16 bytes for each word and run.
//!
//! Source: the crate unicode-segmentation finds the word boundaries in each part of the text between runs. The scripts
//! follow the classes SA, ID and AK of Unicode Standard Annex #14.
//!
//! Left out: an underscore next to Katakana is not part of a run.

use std::sync::OnceLock;

use super::atomic_cell::made_once;
use super::cancel::{CancelCheck, KeepGoing};
use super::property_table::PropertyTable;
use super::text_unit::TextUnit;
use crate::error::Result;

/// Class of punctuation, symbols and white space.
const OTHER: u8 = 0;
/// Class of a character that belongs to the character before it.
const MARK: u8 = 1;
/// Class of letters and numbers of scripts without spaces.
const UNSPACED: u8 = 2;
/// Class of all other letters and numbers.
const ALPHANUMERIC: u8 = 3;

/// Returns the table, character → class, which is built on the first call.
fn classes() -> &'static PropertyTable {
    static CLASSES: OnceLock<PropertyTable> = OnceLock::new();
    made_once(&CLASSES, || {
        let scripts = concat!(
            r"\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Bopomofo}\p{sc=Yi}\p{sc=Tangut}\p{sc=Nushu}",
            r"\p{sc=Khitan_Small_Script}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}\p{sc=Tibetan}\p{sc=Tai_Le}",
            r"\p{sc=New_Tai_Lue}\p{sc=Tai_Tham}\p{sc=Tai_Viet}\p{sc=Ahom}\p{sc=Balinese}\p{sc=Javanese}"
        );
        let unspaced = format!(r"[[[{scripts}]&&[\p{{L}}\p{{N}}]]\p{{wb=Katakana}}]");
        PropertyTable::new(
            OTHER,
            &[
                (r"[\p{Alphabetic}\p{N}]", ALPHANUMERIC),
                (&unspaced, UNSPACED),
                (r"[\p{wb=Extend}\p{wb=Format}\p{wb=ZWJ}\x{F0B}\x{F0C}]", MARK),
            ],
        )
    })
}

/// Words and runs of several texts.
///
/// ```
/// use jeton_core::util::words::Words;
///
/// let found = Words::of(&["don't 今天, ok"], &|| true)?;
/// assert_eq!((found.words(0), found.runs(0)), (&[(0, 5), (14, 16)][..], &[(6, 12)][..]));
/// assert_eq!(found.num_run_chars(), 2);
/// # Ok::<(), jeton_core::error::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Words {
    /// Half-open byte ranges in each text, ascending.
    words: Vec<(usize, usize)>,
    runs: Vec<(usize, usize)>,
    /// Cumulative number of words and of runs up to the end of each text.
    ends: Vec<(usize, usize)>,
    num_run_chars: usize,
}

impl Words {
    /// Finds the words and runs of `texts`.
    ///
    /// # Errors
    /// `Interrupted` when `keep_going` returns false.
    pub fn of(texts: &[&str], keep_going: KeepGoing<'_>) -> Result<Self> {
        let (mut found, mut cancel) = (Self::default(), CancelCheck::new(keep_going));
        for text in texts {
            found.add(text, &mut cancel)?;
            found.ends.push((found.words.len(), found.runs.len()));
        }
        Ok(found)
    }

    /// Adds the words and runs of one text.
    fn add(&mut self, text: &str, cancel: &mut CancelCheck<'_>) -> Result<()> {
        let classes = classes();
        let mut start = 0;
        while start < text.len() {
            let mut end = start; // end of the current run
            for character in text[start..].chars() {
                match classes.of(character) {
                    UNSPACED => self.num_run_chars += 1,
                    MARK if end > start => {}
                    _ => break,
                }
                end += character.len_utf8();
                cancel.check()?;
            }
            if end > start {
                self.runs.push((start, end));
                start = end;
                continue;
            }
            let mut rest = text[start..].char_indices();
            let length = loop {
                match rest.next() {
                    Some((index, character)) if !character.is_ascii() && classes.of(character) == UNSPACED => {
                        break index
                    }
                    Some(_) => cancel.check()?,
                    None => break text.len() - start,
                }
            };
            let spaced = &text[start..start + length];
            let mut before = 0;
            for end in TextUnit::Word.boundaries(spaced) {
                if spaced[before..end].chars().any(|character| classes.of(character) == ALPHANUMERIC) {
                    self.words.push((start + before, start + end));
                }
                before = end;
                cancel.check()?;
            }
            start += length;
        }
        Ok(())
    }

    /// Returns the number of words of all texts.
    pub fn num_words(&self) -> usize {
        self.words.len()
    }

    /// Returns the words of the text with this index; no words if there is no such text.
    pub fn words(&self, text: usize) -> &[(usize, usize)] {
        let (start, end) = self.bounds(text);
        self.words.get(start.0..end.0).unwrap_or_default()
    }

    /// Returns the runs of the text with this index; no runs if there is no such text.
    pub fn runs(&self, text: usize) -> &[(usize, usize)] {
        let (start, end) = self.bounds(text);
        self.runs.get(start.1..end.1).unwrap_or_default()
    }

    /// Returns (number of words, number of runs) in all texts before the text with this index, and the same numbers
    /// including this text.
    fn bounds(&self, text: usize) -> ((usize, usize), (usize, usize)) {
        let after = |text: Option<usize>| text.map_or((0, 0), |text| self.ends.get(text).copied().unwrap_or_default());
        (after(text.checked_sub(1)), after(Some(text)))
    }

    /// Returns the number of characters in all runs; combining marks are not counted.
    pub fn num_run_chars(&self) -> usize {
        self.num_run_chars
    }
}

/// Number of ranges of one or several texts, and number of tokens in these ranges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokensInRanges {
    /// Number of ranges.
    pub ranges: usize,
    /// Total number of tokens in all ranges. A token is counted in each range that it overlaps, so a range has at least
    /// one token.
    pub tokens: usize,
    /// Number of ranges with one token.
    pub whole: usize,
}

impl std::ops::Add for TokensInRanges {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { ranges: self.ranges + other.ranges, tokens: self.tokens + other.tokens, whole: self.whole + other.whole }
    }
}

/// Counts the tokens of each range of a text, from the spans of the tokens in order.
///
/// The tokens of a range are the token that overlaps its first byte, and all tokens that begin later in the range. A
/// token without bytes is treated as a part of the character before it; at the start of the text, it belongs to no
/// range.
pub struct RangeCounter<'a> {
    ranges: &'a [(usize, usize)],
    /// Index of the first range that ends at or after the start of the last added token.
    at: usize,
    /// Total number of tokens of all ranges, where the first token of each range is not counted.
    more: usize,
    /// Number of ranges with more than one token.
    divided: usize,
    /// True if the range `at` has more than one token.
    is_divided: bool,
}

impl<'a> RangeCounter<'a> {
    /// Creates a counter for ascending, disjoint ranges.
    pub fn new(ranges: &'a [(usize, usize)]) -> Self {
        Self { ranges, at: 0, more: 0, divided: 0, is_divided: false }
    }

    /// Adds the span of the next token.
    #[inline]
    pub fn add(&mut self, (start, end): (usize, usize)) {
        while self.ranges.get(self.at).is_some_and(|range| range.1 < start) {
            self.at += 1;
            self.is_divided = false;
        }
        let Some(range) = self.ranges.get(self.at) else { return };
        if range.0 < start && (start < range.1 || (start == end && start == range.1)) {
            self.more += 1;
            self.divided += usize::from(!self.is_divided);
            self.is_divided = true;
        }
    }

    /// Returns the counts.
    pub fn finish(self) -> TokensInRanges {
        let ranges = self.ranges.len();
        TokensInRanges { ranges, tokens: ranges + self.more, whole: ranges - self.divided }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;

    fn found(text: &str) -> (Vec<&str>, Vec<&str>, usize) {
        let found = Words::of(&["今 x", text], &|| true).unwrap();
        let texts = |ranges: &[(usize, usize)]| ranges.iter().map(|&(start, end)| &text[start..end]).collect();
        (texts(found.words(1)), texts(found.runs(1)), found.num_run_chars() - 1)
    }

    #[test]
    fn words_and_runs_are_found() {
        assert_eq!(found("don't 3,5 ½ _ a_b"), (vec!["don't", "3,5", "½", "a_b"], vec![], 0));
        assert_eq!(found("データベースを、使うABC"), (vec!["ABC"], vec!["データベースを", "使う"], 9));
        assert_eq!(found("བོད་སྐད་ཡིག །"), (vec![], vec!["བོད་སྐད་ཡིག"], 6));
        assert_eq!(found("\u{301}a今\u{301}b"), (vec!["a", "b"], vec!["今\u{301}"], 1));
        assert_eq!(found(""), (vec![], vec![], 0));
        assert_eq!(found("안녕하세요 세계"), (vec!["안녕하세요", "세계"], vec![], 0));
    }

    #[test]
    fn tokens_of_ranges_are_counted() {
        let count = |ranges: &[(usize, usize)], spans: &[(usize, usize)]| {
            let mut counter = RangeCounter::new(ranges);
            spans.iter().for_each(|&span| counter.add(span));
            let counts = counter.finish();
            (counts.ranges, counts.tokens, counts.whole)
        };
        let ranges = [(0, 3), (3, 6), (8, 10)];
        assert_eq!(count(&ranges, &[(0, 3), (3, 6), (6, 10)]), (3, 3, 3));
        assert_eq!(count(&ranges, &[(0, 10)]), (3, 3, 3));
        assert_eq!(count(&ranges, &[(0, 1), (1, 2), (2, 4), (4, 8), (8, 9), (9, 10)]), (3, 7, 0));
        // An empty span is counted in the range that ends at its position. At the start of the text, it is in no range.
        assert_eq!(count(&ranges, &[(0, 0), (0, 3), (3, 3), (3, 6), (6, 6), (6, 6), (6, 10)]), (3, 6, 1));
        assert_eq!(count(&[], &[(0, 1)]), (0, 0, 0));
    }

    #[test]
    fn search_for_words_can_be_cancelled() {
        for text in ["a ".repeat(10_000), "今".repeat(10_000), "a".repeat(10_000)] {
            assert!(Words::of(&[&text], &|| false).is_err());
        }
    }
}
