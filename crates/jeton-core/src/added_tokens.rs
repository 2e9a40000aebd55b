//! Finds added tokens in a text, by leftmost-longest matching.
//!
//! A match at an earlier position takes precedence; among matches at the same position, the longest one (`<a>b` over
//! `<a>`). The caller's permission, not the text, selects the tokens to match. Flags change the matches: a single-word
//! token matches only without adjacent word characters, and a token can include the white space on its left or right.
//!
//! Invariant: matches are ascending, disjoint and not empty. If two tokens could include the same white space, the left
//! token includes it. But a right token without `lstrip` keeps the white space at the start of its own content.
//!
//! Cost: construction O(tokens), search O(text), one Aho–Corasick pass. Each white space character is read at most once
//! for the token on its left and once for the token on its right. Plain version: `reference/step07_special.py`. Source
//! of the flags: huggingface/tokenizers, tokenizer/added_vocabulary.rs (`find_matches`), and the behavior of the wheel
//! 0.23.3. Left out: overlapping matches. In HF, the matches of two tokens both include the white space between them;
//! Jeton gives the same ids.

use crate::aligned_text::AlignedText;
use crate::error::{Error, Result};
use crate::util::pattern_set::{Candidates, PatternSet};

/// An added token to match.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Added<'a> {
    /// Content of the token.
    pub content: &'a [u8],
    /// Id of the token.
    pub id: u32,
    /// True if the token matches only where no word character is adjacent to it.
    pub single_word: bool,
    /// True if a match includes the white space on its left.
    pub lstrip: bool,
    /// True if a match includes the white space on its right.
    pub rstrip: bool,
    /// True if the white space included by `lstrip` and `rstrip` is only ASCII.
    pub ascii_space: bool,
    /// True if matches of this token are encoded as ordinary text. Other added tokens do not match where they overlap
    /// such a match. HF treats special tokens in this way if `encode_special_tokens` is true.
    pub passed_over: bool,
}

impl<'a> Added<'a> {
    /// Creates a token without flags.
    pub fn plain(content: &'a [u8], id: u32) -> Self {
        Self { content, id, ..Self::default() }
    }
}

/// Aho–Corasick matcher of added tokens.
#[derive(Debug, Clone)]
pub struct AddedTokenMatcher {
    contents: Box<PatternSet>,
    tokens: Vec<Added<'static>>, // pattern -> token; its content is left empty
}

/// A match of an added token in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddedTokenMatch {
    /// Byte offset of the start.
    pub start: usize,
    /// Byte offset of the end, exclusive.
    pub end: usize,
    /// Id of the token.
    pub id: u32,
}

impl AddedTokenMatcher {
    /// Builds a matcher for `tokens`; `None` if the list is empty. If two tokens have equal content, the first one is
    /// used.
    ///
    /// # Errors
    /// [`Error::config`] for an empty token.
    pub fn new<'a>(tokens: impl IntoIterator<Item = Added<'a>>) -> Result<Option<Self>> {
        let (contents, tokens): (Vec<&[u8]>, Vec<_>) =
            tokens.into_iter().map(|token| (token.content, Added { content: &[], ..token })).unzip();
        if contents.is_empty() {
            return Ok(None);
        }
        if contents.iter().any(|content| content.is_empty()) {
            return Err(Error::config("a special token cannot be the empty string"));
        }
        Ok(Some(Self { contents: Box::new(PatternSet::new(&contents)), tokens }))
    }

    /// Returns the first match at or after `start`. The match includes no white space before `start`.
    pub fn find(&self, text: &[u8], start: usize) -> Option<AddedTokenMatch> {
        Matches { at: start, end: start, ..self.matches(text) }.next()
    }

    /// Iterates over the matches in a text.
    pub fn matches<'m>(&'m self, text: &'m [u8]) -> Matches<'m> {
        Matches {
            matcher: self,
            text,
            candidates: Candidates::default(),
            at: 0,
            end: 0,
            white_end: 0,
            ascii_end: 0,
            waiting: None,
        }
    }

    /// Adds the number of matches of each token in a text to `counts[id]`. Ignores ids beyond the end of `counts`.
    pub fn count(&self, text: &[u8], counts: &mut [u64]) {
        for found in self.matches(text) {
            if let Some(count) = counts.get_mut(found.id as usize) {
                *count += 1;
            }
        }
    }

    /// Splits all chunks of a text at the matches.
    ///
    /// # Errors
    /// None. The function returns a `Result` because the other stages do.
    pub fn cut(&self, aligned: &mut AlignedText) -> Result<()> {
        aligned.cut(|_, text, parts| {
            let mut start = 0;
            for found in self.matches(text.as_bytes()) {
                parts.push(start, found.start, None);
                parts.push(found.start, found.end, Some(found.id));
                start = found.end;
            }
            parts.push(start, text.len(), None);
            Ok(())
        })
    }
}

/// Iterator over the matches in a text.
#[derive(Debug)]
pub struct Matches<'m> {
    matcher: &'m AddedTokenMatcher,
    text: &'m [u8],
    candidates: Candidates,
    at: usize,                        // position at which the search continues
    end: usize,                       // end of the last token, including white space
    white_end: usize,                 // end of the white space that was read for `rstrip`
    ascii_end: usize,                 // end of the ASCII white space that was read
    waiting: Option<AddedTokenMatch>, // last match, kept until the start of the next match is known
}

impl Iterator for Matches<'_> {
    type Item = AddedTokenMatch;

    fn next(&mut self) -> Option<AddedTokenMatch> {
        loop {
            let Some(found) = self.advance() else { return self.waiting.take() };
            if let Some(last) = self.waiting.replace(found) {
                return Some(AddedTokenMatch { end: last.end.min(found.start), ..last });
            }
            if found.end == self.at {
                return self.waiting.take(); // no token follows that could include its white space
            }
        }
    }
}

impl Matches<'_> {
    /// Returns the next match that the flags permit.
    fn advance(&mut self) -> Option<AddedTokenMatch> {
        loop {
            let found = self.matcher.contents.find(self.text, self.at, &mut self.candidates)?;
            let (token, start, end) = (&self.matcher.tokens[found.pattern], found.start, found.end);
            self.at = end;
            if token.passed_over || token.single_word && self.has_word_beside(start, end) {
                continue;
            }
            let ascii = token.ascii_space;
            let from = if token.lstrip { self.white_start(start, ascii) } else { start };
            let to = if token.rstrip { self.white_end(end, ascii) } else { end };
            self.end = to;
            if from == to {
                continue; // the previous token includes all of this match as white space; HF drops it, too
            }
            let from = if from < to { from } else { start }; // HF panics in the second case
            return Some(AddedTokenMatch { start: from, end: to, id: token.id });
        }
    }

    fn has_word_beside(&self, start: usize, end: usize) -> bool {
        let is_word = |c| regex_syntax::try_is_word_character(c).unwrap_or(false);
        last_char(&self.text[..start]).is_some_and(is_word) || first_char(&self.text[end..]).is_some_and(is_word)
    }

    /// Returns the start of the white space before `start`, limited by the end of the last token.
    fn white_start(&self, mut start: usize, ascii: bool) -> usize {
        let low = self.end;
        while let Some(c) = self.text.get(low..start).and_then(last_char).filter(|&c| is_white(c, ascii)) {
            start -= c.len_utf8();
        }
        start.max(low)
    }

    /// Returns the end of the white space after a token that ends at position `end`.
    fn white_end(&mut self, end: usize, ascii: bool) -> usize {
        // All text between the end of an earlier token and `known` is white space, so reading can continue at `known`.
        let known = if ascii { &mut self.ascii_end } else { &mut self.white_end };
        let mut to = end.max(*known);
        while let Some(c) = first_char(&self.text[to..]).filter(|&c| is_white(c, ascii)) {
            to += c.len_utf8();
        }
        *known = to;
        to
    }
}

/// Returns true if `c` is white space; with `ascii`, only if it is ASCII white space.
fn is_white(c: char, ascii: bool) -> bool {
    c.is_whitespace() && (!ascii || c.is_ascii())
}

/// Returns the first character, if the bytes begin with a complete one.
fn first_char(text: &[u8]) -> Option<char> {
    let head = &text[..text.len().min(4)];
    head.utf8_chunks().next()?.valid().chars().next()
}

/// Returns the last character, if the bytes end with a complete one.
fn last_char(text: &[u8]) -> Option<char> {
    let tail = &text[text.len().saturating_sub(4)..];
    let start = tail.iter().rposition(|byte| byte & 0xC0 != 0x80)?;
    std::str::from_utf8(&tail[start..]).ok()?.chars().next()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;

    fn find(tokens: &[(&str, &str)], text: &[u8]) -> Vec<(usize, usize, u32)> {
        let added = tokens.iter().zip(0..).map(|((content, flags), id)| Added {
            content: content.as_bytes(),
            id,
            single_word: flags.contains('w'),
            lstrip: flags.contains('l'),
            rstrip: flags.contains('r'),
            ascii_space: flags.contains('a'),
            passed_over: flags.contains('p'),
        });
        let matcher = AddedTokenMatcher::new(added).unwrap().unwrap();
        let found: Vec<_> = matcher.matches(text).map(|found| (found.start, found.end, found.id)).collect();
        let mut end = 0;
        for &(start, stop, _) in &found {
            assert!(end <= start && start < stop && stop <= text.len());
            end = stop;
        }
        found
    }

    #[test]
    fn matches_are_counted_by_id() {
        let tokens = [("<a>", 0), ("<a>b", 2), ("c", 9)];
        let added = tokens.iter().map(|(content, id)| Added::plain(content.as_bytes(), *id));
        let matcher = AddedTokenMatcher::new(added).unwrap().unwrap();
        let mut counts = [0, 0, 5];
        matcher.count(b"<a><a>b<a>bc<a", &mut counts);
        assert_eq!(counts, [1, 0, 7]); // id 9 is beyond the counts
    }

    /// The expected matches are those of HF 0.23.3, except in cases in which HF returns overlapping matches.
    #[test]
    fn flags_change_matches_as_in_hf() {
        let both = [("<a>", "lr")];
        assert_eq!(find(&both, b"  <a>  <a>  x  <a>"), [(0, 7, 0), (7, 12, 0), (13, 18, 0)]);
        assert_eq!(find(&both, "x\u{85}<a>\u{2028}\u{a0}y".as_bytes()), [(1, 11, 0)]);
        assert_eq!(find(&both, b"\xa0<a>\xe2\x80"), [(1, 4, 0)]);
        let ascii = [("<a>", "lra"), ("<b>", "lr")];
        assert_eq!(find(&ascii, "\u{a0} <a> \u{a0}<b>\u{a0} x".as_bytes()), [(2, 7, 0), (7, 15, 1)]);
        assert_eq!(find(&[(" ", "ra")], "x \t\u{2003} y".as_bytes()), [(1, 3, 0), (6, 7, 0)]);
        let words = [("a", "w"), ("aa b", "w"), ("b", "")];
        assert_eq!(find(&words, b"aa b"), [(0, 4, 1)]);
        assert_eq!(find(&words, b"aa bc"), []);
        assert_eq!(find(&words, "a²".as_bytes()), [(0, 1, 0)]);
        assert_eq!(find(&words, "a\u{200d}".as_bytes()), []);
        assert_eq!(find(&words, "éa \u{301}".as_bytes()), []);
        assert_eq!(find(&words, b"\xc3\x28a\xa9"), [(2, 3, 0)]);
        assert_eq!(find(&[("<a>b", "p"), ("<a>", "")], b"x<a>bx<a>"), [(6, 9, 1)]);
    }

    #[test]
    fn rstrip_does_not_take_white_space_of_the_next_token() {
        let tokens = [("<a>", "r"), (" b", ""), (" ", "")];
        assert_eq!(find(&tokens, b"<a> b"), [(0, 3, 0), (3, 5, 1)]);
        assert_eq!(find(&tokens, b"<a>   bx"), [(0, 3, 0), (3, 4, 2), (4, 5, 2), (5, 7, 1)]);
        let tokens = [("<a>", "r"), (" b", "l"), (" ", "l")];
        assert_eq!(find(&tokens, b"<a> b"), [(0, 4, 0), (4, 5, 1)]);
        assert_eq!(find(&tokens, b"<a> x"), [(0, 4, 0)]);
        assert_eq!(find(&tokens, b"<a>   x"), [(0, 3, 0), (3, 4, 2), (4, 5, 2), (5, 6, 2)]);
    }

    #[test]
    fn megabytes_of_white_space_take_linear_time() {
        let spaces = " ".repeat(1 << 20);
        for flags in ["l", "r", "lr", "lrw"] {
            find(&[("<a>", flags), (" ", flags)], format!("<a>{spaces}<a>").as_bytes());
            find(&[("<a>", flags), ("\u{3000}", flags)], spaces.as_bytes());
            find(&[("<a>", flags)], "<a>".repeat(1 << 18).as_bytes());
            find(&[("<a>", flags), (" x", flags)], format!("{spaces}<a>{}", " <a>".repeat(1 << 18)).as_bytes());
        }
    }

    #[test]
    fn cut_splits_an_aligned_text_at_matches() -> Result<()> {
        let mut aligned = AlignedText::new("Hey <b> <a>", false)?;
        let token = |content, id| Added { lstrip: true, ..Added::plain(content, id) };
        let matcher = AddedTokenMatcher::new([token(b"<a>".as_slice(), 1), token(b"<b>", 2)])?.unwrap();
        matcher.cut(&mut aligned)?;
        let pieces: Vec<_> = aligned.chunks().iter().map(|piece| (piece.range(), piece.id)).collect();
        assert_eq!(pieces, [(0..3, None), (3..7, Some(2)), (7..11, Some(1))]);
        Ok(())
    }
}
