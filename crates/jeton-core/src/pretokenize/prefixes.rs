//! Pretokens of the prefixes of a text, for the named patterns.
//!
//! A prefix of a text has the same pretokens as the text, except for the last few: in white space, in capital letters,
//! and after an apostrophe, a scanner reads beyond the end of a pretoken. [`Pretokenizer::is_final`] returns true if
//! the scanner finds a pretoken without reading beyond the prefix. [`Pretokenizer::one_from`] returns which prefixes of
//! a long pretoken are one pretoken each, so that they need not be split.
//!
//! Invariant: both functions are conservative: they return false or None if the answer is not certain. Source: the
//! rules follow the functions of `scanner.rs` one by one; tests compare with splitting each prefix. Left out: patterns
//! without a name, for which there are no such rules.

use super::pretokenizer::{PatternKind, Pretokenizer};
use crate::util::classes::{Classes, CASELESS, LETTER, LOWER, MARK, NEWLINE, NUMBER, SYMBOL, UPPER, WHITE_SPACE};

impl Pretokenizer {
    /// Returns true for patterns with rules for prefixes.
    pub(crate) fn has_prefix_rules(&self) -> bool {
        matches!(self.0, PatternKind::None | PatternKind::Named(_))
    }

    /// Returns true if a pretoken of a text, and all pretokens before it, are also pretokens of the text up to
    /// `until`. Returns false if this is not certain.
    pub(crate) fn is_final(&self, text: &[u8], (start, end): (usize, usize), until: usize) -> bool {
        let PatternKind::Named(named) = &self.0 else { return false };
        let (rules, classes) = (named.rules, Classes::get());
        let read_to = |mask: u8| {
            let mut at = end;
            while at < until {
                let (class, len) = classes.at(text, at);
                if class & mask == 0 {
                    return at + len; // the scanner also reads the character that ends the run
                }
                at += len;
            }
            usize::MAX
        };
        let (first, _) = classes.at(text, start);
        let mut read = end;
        if first & WHITE_SPACE != 0 {
            read = read.max(read_to(WHITE_SPACE));
        }
        if rules.cased {
            read = read.max(read_to(UPPER | CASELESS | MARK));
        }
        // After an apostrophe, the scanner reads the letters of a contraction, up to two bytes.
        let by_apostrophe = text.get(end) == Some(&b'\'') || text[start] == b'\'' || text[end - 1] == b'\'';
        read = read.saturating_add(if by_apostrophe { 4 } else { 1 });
        read <= until
    }

    /// Returns true if the pretoken from position `at` ends at `end`, false if this is not certain. The caller
    /// guarantees that the pretoken from the next character ends at `end`.
    pub(crate) fn ends_as_next(&self, text: &[u8], at: usize, end: usize) -> bool {
        let rules = match &self.0 {
            PatternKind::None => return true,
            PatternKind::Named(named) => named.rules,
            _ => return false,
        };
        let classes = Classes::get();
        let (class, len) = classes.at(text, at);
        let (next, next_len) = classes.at(text, at + len);
        let has = |mask: u8| class & mask != 0 && next & mask != 0;
        // If there are only two characters, the answer is not certain: the second one could be the optional prefix of
        // the characters that follow.
        if at + len + next_len >= end {
            return false;
        }
        if has(WHITE_SPACE) && classes.at(text, at + len + next_len).0 & WHITE_SPACE != 0 {
            // Both pretokens are runs of white space, which some patterns (`newlines`) split after the last line end in
            // the run. If the character at `at` is a line end, the pretoken from there therefore ends at `end` only if
            // the last character before `end` is a line end, too, or if `whole_end` applies.
            let ends_line = || end_class(classes, text, end) & NEWLINE != 0 || rules.whole_end && end == text.len();
            return class & NEWLINE == 0 || !rules.newlines || ends_line();
        }
        if !rules.cased {
            let is_number = rules.digits == usize::MAX && has(NUMBER);
            let is_symbol = has(rules.symbols()) && text[at] != b'\'' && text[at + len] != b'\'';
            let ends_in_symbol = end_class(classes, text, end) & rules.symbols() != 0;
            return has(rules.letters()) || is_number || is_symbol && ends_in_symbol;
        }
        class & LOWER != 0 && next & LOWER != 0
            || class & CASELESS != 0 && next & CASELESS != 0
            || has(SYMBOL & !MARK) && end_class(classes, text, end) & SYMBOL & !MARK != 0 && text[at] != b'\''
    }

    /// Returns a position in the pretoken `start..end` such that every prefix that ends between this position and three
    /// bytes before `end` is a single pretoken. None if no such position is certain.
    pub(crate) fn one_from(&self, text: &[u8], start: usize, end: usize) -> Option<usize> {
        let rules = match &self.0 {
            PatternKind::None => return Some(start + 1),
            PatternKind::Named(named) => named.rules,
            _ => return None,
        };
        let classes = Classes::get();
        let (first, len) = classes.at(text, start);
        let (second, second_len) = classes.at(text, start + len);
        let all = |at: usize, mask: u8| classes.run(text, at, mask) >= end;
        if first & WHITE_SPACE != 0 && all(start, WHITE_SPACE) {
            let is_one = rules.whole_end || !rules.newlines || !has_newline(text, start, end) || all(start, NEWLINE);
            return is_one.then_some(start + len);
        }
        let is_space = text[start] == b' ';
        // An optional character can precede the letters, numbers or symbols.
        let (letters, symbols) = (rules.letters(), rules.symbols());
        let (at, class, len) = if first & (letters | NUMBER) != 0 || first & symbols != 0 && second & letters == 0 {
            (start, first, len)
        } else if rules.any_prefix && first & NEWLINE == 0 && second & (LETTER | MARK) != 0 || is_space {
            (start + len, second, second_len)
        } else {
            return None;
        };
        if class & letters != 0 {
            return match rules.cased {
                false => Some(at + len),
                true => cased_from(classes, text, (at, end)),
            };
        }
        if class & NUMBER != 0 {
            return (rules.digits == usize::MAX).then_some(at + len);
        }
        // In patterns that split words by case, marks also count as letters, so a mark can begin a word.
        let is_plain = !rules.cased || class & MARK == 0 && first & MARK == 0;
        (class & symbols != 0 && is_plain && all(at, symbols)).then_some(at + len)
    }
}

/// Returns the class of the character that ends at a position.
fn end_class(classes: &Classes, text: &[u8], end: usize) -> u8 {
    let start = (0..end).rev().find(|&at| text[at] & 0xC0 != 0x80).unwrap_or(0);
    classes.at(text, start).0
}

fn has_newline(text: &[u8], start: usize, end: usize) -> bool {
    text[start..end].iter().any(|byte| matches!(byte, b'\r' | b'\n'))
}

/// Like [`Pretokenizer::one_from`], for letters that are split by case. Returns the position after the first lower-case
/// letter. Without a lower-case letter, returns the position after the first letter if all letters are capitals or all
/// are caseless; otherwise None.
fn cased_from(classes: &Classes, text: &[u8], (from, end): (usize, usize)) -> Option<usize> {
    let (mut at, mut has_upper, mut has_caseless) = (from, false, false);
    while at < end {
        let (class, len) = classes.at(text, at);
        at += len;
        if class & LOWER != 0 {
            return Some(at);
        }
        if class & (UPPER | CASELESS | MARK) == 0 {
            break; // a contraction
        }
        has_upper |= class & UPPER != 0;
        has_caseless |= class & UPPER == 0;
    }
    let (_, len) = classes.at(text, from);
    (!(has_upper && has_caseless)).then_some(from + len)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;
    use crate::pretokenize::Span;

    /// Compares `is_final` and `one_from` with the result of splitting each prefix, on random texts of few distinct
    /// characters.
    #[test]
    fn rules_for_prefixes_agree_with_splitting_each_prefix() {
        let alphabet = [
            "a", "b", "s", "l", "A", "B", "今", "\u{301}", "1", "٣", " ", " ", "\t", "\n", "\r", "'", "!", "/", "ǅ",
            "ſ", "r", "e",
        ];
        let mut state = 3u64;
        let mut below = |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % n
        };
        for name in ["gpt2", "gpt4", "cl100k", "llama3", "qwen2", "qwen3.5", "o200k"] {
            let pattern = Pretokenizer::named(name).unwrap();
            let spans = |text: &str| -> Vec<Span> { pattern.spans(text).flatten().collect() };
            let (mut finals, mut ones, mut suffixes) = (0, 0, 0);
            for _ in 0..6_000 {
                let few = 2 + below(alphabet.len() - 1);
                let offset = below(alphabet.len());
                let mut text = String::new();
                for _ in 0..below(16) {
                    let part = alphabet[(offset + below(few)) % alphabet.len()];
                    let times = if below(4) == 0 { 1 + below(5) } else { 1 };
                    (0..times).for_each(|_| text.push_str(part));
                }
                let all = spans(&text);
                for until in (1..=text.len()).filter(|&at| text.is_char_boundary(at)) {
                    let prefix = spans(&text[..until]);
                    for (index, span) in all.iter().enumerate().filter(|(_, span)| span.end <= until) {
                        if pattern.is_final(text.as_bytes(), (span.start, span.end), until) {
                            finals += 1;
                            assert_eq!(prefix.get(..=index), all.get(..=index), "{name} {text:?} up to {until}");
                        }
                    }
                }
                for (at, _) in text.char_indices() {
                    let end = |at: usize| pattern.spans(&text[at..]).flatten().next().map(|span| at + span.end);
                    let next = at + text[at..].chars().next().unwrap().len_utf8();
                    if let Some(next_end) = end(next) {
                        if pattern.ends_as_next(text.as_bytes(), at, next_end) {
                            suffixes += 1;
                            assert_eq!(end(at), Some(next_end), "{name} {text:?} from {at}");
                        }
                    }
                }
                for span in &all {
                    let Some(from) = pattern.one_from(text.as_bytes(), span.start, span.end) else { continue };
                    for until in from..(span.end + 1).saturating_sub(3) {
                        if text.is_char_boundary(until) {
                            ones += 1;
                            let found = spans(&text[span.start..until]);
                            assert_eq!(found.len(), 1, "{name} {text:?}, {span:?} up to {until}");
                        }
                    }
                }
            }
            assert!(finals > 10_000 && ones > 2_000 && suffixes > 500, "{name} {finals} {ones} {suffixes}");
        }
    }
}
