//! Hand-written matchers of the named patterns. They return the end of the pretoken that starts at a given position.
//!
//! Invariant: a [`Scanner`] splits every text exactly as the published regex of its family does with leftmost-first
//! backtracking; `tests/pretokenize_scanner.rs` compares the two. Time is linear in the text: if an alternative fails,
//! the next successful alternative consumes the text read by the failed one, so each character is read a constant
//! number of times. Memory: the class table.
//!
//! The patterns of all families have one form: each is an ordered choice of these alternatives, where `X` stands for
//! `[^\s\p{L}\p{N}]`:
//!
//! ```text
//! contraction | word | number | symbols | white space
//!   's 're ..    prefix? letters   \p{N}{1,n}   space? X+ tail    \s++$  \s*[\r\n]  \s+(?!\S)  \s+
//! ```
//!
//! [`ScanRules`] lists the differences between the patterns. Each character can begin some alternative, so there is no
//! text between pretokens.
//!
//! Source: the published patterns (`patterns.rs`); each function explains how it replaces backtracking.
//! Left out: processing of several bytes at a time, because the scanner is the slow path of `starts`.

use crate::util::classes::{
    Classes, ASCII, CASELESS, LETTER, LOWER, MARK, NEWLINE, NUMBER, SPACE, SYMBOL, UPPER, WHITE_SPACE,
};

/// Returns the end of the pretoken that starts at the given offset, which is less than the length of the text.
pub(super) type Scanner = fn(&Classes, &[u8], usize) -> usize;

/// Handling of contractions (`'s 't 're 've 'm 'll 'd`).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Contraction {
    /// A contraction in lower case is a separate pretoken. Upper case is not recognized.
    OwnLower,
    /// A contraction, in lower or upper case, is a separate pretoken.
    Own,
    /// A contraction, in lower or upper case, belongs to the word before it.
    Suffix,
}

/// Options in which the named patterns differ.
pub(super) struct ScanRules {
    pub(super) contraction: Contraction,
    /// True if one character of `[^\r\n\p{L}\p{N}]` before the letters of a word belongs to the word; false if only a
    /// space does. In the latter case, a space before digits belongs to the digits, too.
    pub(super) any_prefix: bool,
    /// True if words are split by case. Marks then count as letters of both cases.
    pub(super) cased: bool,
    /// True if marks count as letters, not as symbols.
    pub(super) marks: bool,
    /// Maximum number of digits in a pretoken.
    pub(super) digits: usize,
    /// True if the pattern treats line ends specially: it splits each run of white space after the run's last line end,
    /// and it puts line ends that follow symbols into the pretoken of the symbols.
    pub(super) newlines: bool,
    /// True if slashes among the line ends after symbols belong to the symbols, too.
    pub(super) slashes: bool,
    /// True if all white space at the end of the text is one pretoken, even if it contains a line end, because the
    /// pattern tries `\s++$` before its other alternatives for white space.
    pub(super) whole_end: bool,
}

impl ScanRules {
    /// Returns the classes of the characters that count as letters, for patterns that do not split words by case.
    pub(super) const fn letters(&self) -> u8 {
        if self.marks {
            LETTER | MARK
        } else {
            LETTER
        }
    }

    /// Returns the classes of the characters that count as symbols.
    pub(super) const fn symbols(&self) -> u8 {
        if self.marks {
            SYMBOL & !MARK
        } else {
            SYMBOL
        }
    }
}

/// Rules of one pattern as a type, so that the compiler specializes the code for it.
pub(super) trait Family {
    const RULES: ScanRules;
}

const LLAMA3: ScanRules = ScanRules {
    contraction: Contraction::Own,
    any_prefix: true,
    cased: false,
    marks: false,
    digits: 3,
    newlines: true,
    slashes: false,
    whole_end: false,
};

macro_rules! families {
    ($($name:ident, $function:ident: $rules:expr;)*) => {$(
        pub(super) struct $name;
        impl Family for $name {
            const RULES: ScanRules = $rules;
        }
        #[doc = concat!("The scanner of the family ", stringify!($name), ".")]
        pub(super) fn $function(classes: &Classes, text: &[u8], start: usize) -> usize {
            end_of_pretoken::<$name>(classes, text, start)
        }
    )*};
}

families! {
    Gpt2, gpt2: ScanRules { contraction: Contraction::OwnLower, any_prefix: false, digits: usize::MAX, newlines: false, ..LLAMA3 };
    Cl100k, cl100k: ScanRules { whole_end: true, ..LLAMA3 };
    O200k, o200k: ScanRules { contraction: Contraction::Suffix, cased: true, slashes: true, ..LLAMA3 };
    Llama3, llama3: LLAMA3;
    Qwen2, qwen2: ScanRules { digits: 1, ..LLAMA3 };
    Qwen35, qwen35: ScanRules { digits: 1, marks: true, ..LLAMA3 };
}

/// Matches the whole pattern: selects the first alternative that matches at `start`, by the class of the first
/// character.
#[inline(always)]
pub(super) fn end_of_pretoken<F: Family>(classes: &Classes, text: &[u8], start: usize) -> usize {
    let (first, length) = classes.at(text, start);
    if first & F::RULES.letters() != 0 {
        return word::<F>(classes, text, start, first).unwrap_or(start + length);
    }
    if first & NUMBER != 0 {
        return number::<F>(classes, text, start);
    }
    if first & NEWLINE == 0 || !F::RULES.newlines {
        let after = start + length;
        if F::RULES.contraction != Contraction::Suffix && text[start] == b'\'' {
            let letters = contraction::<F>(text, after);
            if letters > 0 {
                return after + letters;
            }
        }
        let is_space = text[start] == b' ';
        if F::RULES.any_prefix || is_space {
            if let Some(end) = word::<F>(classes, text, after, first) {
                return end;
            }
        }
        let (second, _) = if is_space { classes.at(text, after) } else { (first, length) };
        let from = if is_space { after } else { start };
        if !F::RULES.any_prefix && second & NUMBER != 0 {
            return number::<F>(classes, text, from);
        }
        if second & F::RULES.symbols() != 0 {
            return symbols::<F>(classes, text, from);
        }
    }
    white_space::<F>(classes, text, start)
}

/// Returns the end of the word whose letters start at `at`, if there is one. `first` is the class of the pretoken's
/// first character. This character is a letter if `at` is the start of the pretoken, else the prefix.
#[inline(always)]
fn word<F: Family>(classes: &Classes, text: &[u8], at: usize, first: u8) -> Option<usize> {
    let end = if F::RULES.cased {
        match lower_word(classes, text, at) {
            Ok(end) => end,
            // The pretoken begins with a mark. The regex can read the mark as the prefix or as a letter. Its first
            // alternative is for words with a lower-case letter. `lower_word` has just shown that this alternative
            // fails if the mark is the prefix. If the mark is a letter, this alternative matches the mark alone,
            // because no lower-case letter follows the capitals after the mark. So the regex never tries its second
            // alternative, which is for capitals.
            Err(_) if first & MARK != 0 => at,
            Err(end) => end,
        }
    } else {
        classes.run(text, at, F::RULES.letters())
    };
    if end == at && !(F::RULES.cased && first & MARK != 0) {
        return None;
    }
    if F::RULES.contraction == Contraction::Suffix && text.get(end) == Some(&b'\'') {
        let letters = contraction::<F>(text, end + 1);
        if letters > 0 {
            return Some(end + 1 + letters);
        }
    }
    Some(end)
}

/// Matches `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+` at `at`. Returns `Ok` with the end of the
/// match. If there is no match, returns `Err` with the end of the capitals that start at `at`.
///
/// The first set of the regex matches up to a lower-case letter, where the second set continues. If there is no
/// lower-case letter, the regex backtracks to the last caseless character or mark: the first set ends before this
/// character, and the second set matches only this character, because the rest of the word is capitals.
#[inline(always)]
fn lower_word(classes: &Classes, text: &[u8], mut at: usize) -> Result<usize, usize> {
    let mut caseless_end = None;
    loop {
        let (class, length) = classes.at(text, at);
        if class & LOWER != 0 {
            return Ok(classes.run(text, at + length, LOWER | CASELESS | MARK));
        }
        if class & (UPPER | CASELESS | MARK) == 0 {
            return caseless_end.ok_or(at);
        }
        at += length;
        if class & UPPER == 0 {
            caseless_end = Some(at);
        }
    }
}

/// Returns the length in bytes of the letters of a contraction at `at`, or 0 if there is none. U+017F (ſ) is an `s` in
/// case-insensitive patterns.
#[inline(always)]
pub(super) fn contraction<F: Family>(text: &[u8], at: usize) -> usize {
    let letter = |i: usize| match text.get(at + i) {
        Some(byte) if F::RULES.contraction != Contraction::OwnLower => byte.to_ascii_lowercase(),
        Some(&byte) => byte,
        None => 0,
    };
    match letter(0) {
        b's' | b't' | b'm' | b'd' => 1,
        b'l' if letter(1) == b'l' => 2,
        b'v' | b'r' if letter(1) == b'e' => 2,
        0xC5 if letter(1) == 0xBF && F::RULES.contraction != Contraction::OwnLower => 2,
        _ => 0,
    }
}

/// Returns the end of the match of `\p{N}{1,n}` that starts at `at`, where the text has a number. `n` is
/// [`ScanRules::digits`].
#[inline(always)]
fn number<F: Family>(classes: &Classes, text: &[u8], mut at: usize) -> usize {
    if F::RULES.digits == usize::MAX {
        return classes.run(text, at, NUMBER);
    }
    for _ in 0..F::RULES.digits {
        let (class, length) = classes.at(text, at);
        if class & NUMBER == 0 {
            break;
        }
        at += length;
    }
    at
}

/// Returns the end of the match of `[^\s\p{L}\p{N}]+[\r\n]*` that starts at `at`, where the text has a symbol.
#[inline(always)]
fn symbols<F: Family>(classes: &Classes, text: &[u8], at: usize) -> usize {
    let mut end = classes.run(text, at, F::RULES.symbols());
    if F::RULES.newlines {
        while end < text.len() && (ASCII[text[end] as usize] & NEWLINE != 0 || F::RULES.slashes && text[end] == b'/') {
            end += 1;
        }
    }
    end
}

/// Returns the end of the match of `\s++$|\s*[\r\n]|\s+(?!\S)|\s+` at `start`, where a run of white space starts. At
/// the end of the text, the match is the whole run. Elsewhere, the match ends after the last line end of the run. If
/// the run has no line end, the match is the run without its last character, which can be the prefix of the next
/// pretoken; a run of one character is matched whole. Some patterns lack the first alternative, or the first two: see
/// [`ScanRules`].
#[inline(always)]
fn white_space<F: Family>(classes: &Classes, text: &[u8], start: usize) -> usize {
    let (mut at, mut last, mut line_end) = (start, start, None);
    loop {
        let (class, length) = classes.at(text, at);
        if class & WHITE_SPACE == 0 {
            break;
        }
        last = at;
        at += length;
        if class & NEWLINE != 0 {
            line_end = Some(at);
        }
    }
    let is_end = at == text.len();
    match line_end {
        Some(end) if F::RULES.newlines && !(F::RULES.whole_end && is_end) => end,
        _ if is_end || last == start => at,
        _ => last,
    }
}

/// Returns the end of the maximal run of characters other than white space.
pub(super) fn end_of_word(classes: &Classes, text: &[u8], at: usize) -> usize {
    classes.run(text, at, !WHITE_SPACE)
}

/// Returns the end of the maximal run of white space.
pub(super) fn end_of_white_space(classes: &Classes, text: &[u8], at: usize) -> usize {
    classes.run(text, at, SPACE | NEWLINE)
}
