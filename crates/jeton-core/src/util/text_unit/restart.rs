//! Restart points: boundaries that depend only on two or three characters, not on the surrounding text.
//!
//! If a text is read from a restart point on, the boundaries are those of the whole text. So boundaries can be found
//! backward, block by block, where each block is read forward. The crate unicode-segmentation also has backward
//! iterators. They are not used, because they have returned other word boundaries than the forward iterators.
//!
//! Properties are those of `regex-syntax` (Unicode 16). A character whose class can differ in Unicode 17 is part of no
//! restart point; for all other characters, a test compares the classes with unicode-segmentation.

use std::sync::OnceLock;

use super::sentences::is_certain_end;
use super::unit::TextUnit;
use crate::util::atomic_cell::made_once;
use crate::util::property_table::PropertyTable;

/// Class of a character whose boundaries depend on more than the adjacent character.
pub(super) const UNCERTAIN: u8 = 0;
/// Class of letters and numbers. Adjacent characters of this class can belong to the same word.
pub(super) const LETTER: u8 = 1;
/// Class of spaces. Adjacent spaces can belong to the same segment between word boundaries.
pub(super) const SPACE: u8 = 2;
/// Class of a character that always has a boundary next to a letter, a space or another character of this class.
pub(super) const LONE: u8 = 3;

/// Returns the last restart point at or before `at`; 0 if there is none.
pub(super) fn before(unit: TextUnit, text: &str, at: usize) -> usize {
    let at = floor(text, at);
    let mut after = match text[at..].chars().next() {
        Some(character) => character,
        None => return before(unit, text, at.saturating_sub(1)),
    };
    let mut before = text[..at].char_indices().rev().peekable();
    let mut at = at;
    while let Some((start, character)) = before.next() {
        let is_certain = match unit {
            TextUnit::Character => true,
            TextUnit::Grapheme => {
                let table = graphemes();
                character == '\n' || (table.of(character) == LONE && table.of(after) == LONE)
            }
            TextUnit::Word => {
                let (left, right) = (words().of(character), words().of(after));
                character == '\n' || (left != UNCERTAIN && right != UNCERTAIN && (left != right || left == LONE))
            }
            TextUnit::Sentence => is_certain_end(before.peek().map(|&(_, first)| first), character, after),
        };
        if is_certain {
            return at;
        }
        (at, after) = (start, character);
    }
    0
}

/// Returns the length of a prefix of the text that is enough to find the boundaries up to `at`: they are the same in
/// the prefix and in the whole text. The result is not valid for sentences, for which no prefix is enough
/// (`Sentences::with_limit`).
pub(super) fn known_until(unit: TextUnit, text: &str, at: usize) -> usize {
    let at = floor(text, at);
    let mut after = text[at..].char_indices();
    let is_last = |character: char| match unit {
        TextUnit::Character | TextUnit::Grapheme | TextUnit::Sentence => true, // no rule reads more characters
        TextUnit::Word => words().of(character) != UNCERTAIN,
    };
    match after.find(|&(_, character)| is_last(character)) {
        Some((index, character)) => at + index + character.len_utf8(),
        None => text.len(),
    }
}

/// Returns the last character boundary at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Classes for word boundaries.
pub(super) fn words() -> &'static PropertyTable {
    static WORDS: OnceLock<PropertyTable> = OnceLock::new();
    made_once(&WORDS, || {
        PropertyTable::new(
            LONE,
            &[
                (r"[\p{wb=ALetter}\p{wb=Hebrew_Letter}\p{wb=Numeric}\p{wb=Katakana}]", LETTER),
                (r"\p{wb=WSegSpace}", SPACE),
                (
                    r"[\p{Cn}\p{Extended_Pictographic}\p{wb=Extend}\p{wb=Format}\p{wb=ZWJ}\p{wb=Regional_Indicator}]",
                    UNCERTAIN,
                ),
                (r"[\p{wb=MidLetter}\p{wb=MidNum}\p{wb=MidNumLet}\p{wb=Single_Quote}\p{wb=Double_Quote}]", UNCERTAIN),
                (r"[\p{wb=ExtendNumLet}\p{wb=CR}\p{wb=LF}\p{wb=Newline}]", UNCERTAIN),
                (r"[\x{B8}]", UNCERTAIN), // ALetter since Unicode 17
            ],
        )
    })
}

/// Classes for grapheme clusters: [`LONE`] or [`UNCERTAIN`].
pub(super) fn graphemes() -> &'static PropertyTable {
    static GRAPHEMES: OnceLock<PropertyTable> = OnceLock::new();
    made_once(&GRAPHEMES, || {
        PropertyTable::new(
            LONE,
            &[
                (r"[\p{Cn}\p{gcb=CR}\p{gcb=LF}\p{gcb=Control}\p{gcb=Extend}\p{gcb=ZWJ}\p{gcb=Prepend}]", UNCERTAIN),
                (
                    r"[\p{gcb=Regional_Indicator}\p{gcb=SpacingMark}\p{gcb=L}\p{gcb=V}\p{gcb=T}\p{gcb=LV}\p{gcb=LVT}]",
                    UNCERTAIN,
                ),
            ],
        )
    })
}
