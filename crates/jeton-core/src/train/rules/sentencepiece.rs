//! Rule for SentencePiece's constraints on pieces.
//!
//! A piece has a maximum length, contains `▁` only at the start of a word (or at the end of a word, if an option is
//! set), and has characters of one script. Scripts are those of Unicode 9, with Hiragana and Katakana treated as Han.
//! Cost of a check: one pass over the spellings of the two tokens to merge.
//! Source: google/sentencepiece `trainer_interface.cc`, `IsValidSentencePiece`.

use serde::Deserialize;

use super::Rule;
use crate::pretokenize::characters::{Script, Scripts, COMMON, INHERITED};
use crate::vocab::alphabet::WORD_START;

/// Options that determine which pieces are valid, named as in SentencePiece.
#[derive(Debug, Clone, Copy, Deserialize)]
#[allow(clippy::struct_excessive_bools, reason = "these are the flags that there are")]
pub struct PieceRules {
    /// Maximum length of a piece in characters.
    pub max_sentencepiece_length: usize,
    /// True if all characters of a piece are of one script.
    pub split_by_unicode_script: bool,
    /// True if digits have a separate script (Common); false if they are compatible with any script.
    pub split_by_number: bool,
    /// True if no piece crosses white space.
    pub split_by_whitespace: bool,
    /// True if every digit is a piece of its own.
    pub split_digits: bool,
    /// True if white space belongs to the preceding word.
    pub treat_whitespace_as_suffix: bool,
    /// True if runs of white space may be pieces.
    pub allow_whitespace_only_pieces: bool,
}

fn is_digit(c: char) -> bool {
    matches!(c, '0'..='9' | '\u{FF10}'..='\u{FF19}')
}

impl PieceRules {
    /// Returns true if a piece of `length` characters is allowed to contain `▁` at position `at`.
    fn allows_space(&self, at: usize, length: usize) -> bool {
        let (is_first, is_last) = (at == 0, at + 1 == length);
        match (self.treat_whitespace_as_suffix, self.split_by_whitespace) {
            (false, true) => is_first,
            (false, false) => is_first || !is_last,
            (true, true) => is_last,
            (true, false) => is_last || !is_first,
        }
    }

    /// Returns true if the characters may form one piece.
    fn is_valid(&self, chars: impl Iterator<Item = char> + Clone) -> bool {
        let length = chars.clone().count();
        if length > self.max_sentencepiece_length {
            return false;
        }
        let only_space = self.allow_whitespace_only_pieces && chars.clone().all(|c| c == WORD_START);
        let scripts = Scripts::get();
        let mut before: Option<Script> = None; // None is compatible with any script
        for (at, c) in chars.enumerate() {
            if c == WORD_START {
                if !only_space && !self.allows_space(at, length) {
                    return false;
                }
                continue;
            }
            if self.split_digits && length > 1 && is_digit(c) {
                return false;
            }
            let script = match scripts.of(c) {
                _ if !self.split_by_number && is_digit(c) => None,
                INHERITED => before,
                0 => Some(COMMON), // the character is not in Unicode 9
                script => Some(script),
            };
            if self.split_by_unicode_script && script.is_some() && before.is_some() && script != before {
                return false;
            }
            before = script;
        }
        true
    }
}

impl Rule for PieceRules {
    fn allows(&self, left: &[u8], right: &[u8]) -> bool {
        match (std::str::from_utf8(left), std::str::from_utf8(right)) {
            (Ok(left), Ok(right)) => self.is_valid(left.chars().chain(right.chars())),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEFAULT: PieceRules = PieceRules {
        max_sentencepiece_length: 4,
        split_by_unicode_script: true,
        split_by_number: true,
        split_by_whitespace: true,
        split_digits: false,
        treat_whitespace_as_suffix: false,
        allow_whitespace_only_pieces: false,
    };

    fn check(candidates: PieceRules, valid: &[&str], invalid: &[&str]) {
        for (texts, expected) in [(valid, true), (invalid, false)] {
            for text in texts {
                assert_eq!(candidates.is_valid(text.chars()), expected, "{text} {candidates:?}");
            }
        }
    }

    #[test]
    fn options_decide_which_texts_are_pieces() {
        check(DEFAULT, &["ab", "▁a", "今の", "12", "e\u{301}a", "abcd"], &["a1", "a▁", "▁▁", "aж", "abcde", "今a"]);
        check(PieceRules { split_by_number: false, ..DEFAULT }, &["a1", "a1ж"], &["aж"]);
        check(PieceRules { split_digits: true, ..DEFAULT }, &["1", "ab"], &["12", "▁1"]);
        check(PieceRules { split_by_unicode_script: false, ..DEFAULT }, &["aж1"], &["a▁"]);
        check(PieceRules { treat_whitespace_as_suffix: true, ..DEFAULT }, &["a▁"], &["▁a", "▁▁"]);
        check(PieceRules { split_by_whitespace: false, ..DEFAULT }, &["a▁b", "▁a▁b"], &["a▁", "▁▁"]);
        let suffix = PieceRules { split_by_whitespace: false, treat_whitespace_as_suffix: true, ..DEFAULT };
        check(suffix, &["a▁b", "a▁"], &["▁a", "▁▁"]);
        check(PieceRules { allow_whitespace_only_pieces: true, ..DEFAULT }, &["▁▁", "▁a"], &["▁▁a", "a▁"]);
    }
}
