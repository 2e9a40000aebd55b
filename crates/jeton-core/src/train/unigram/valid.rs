//! Runs of characters that may be a piece.
//!
//! Invariant: validity is decided from left to right, so every prefix of a valid piece is valid, and one length for each
//! position suffices.
//!
//! Cost: one check for each character of each run, up to the longest piece.
//! Source: google/sentencepiece, `trainer_interface.cc` (`IsValidSentencePiece`) and its table of scripts.
//! Left out: white space inside of pieces or at their ends.

use serde::Deserialize;

use crate::pretokenize::characters::{Script, Scripts, COMMON, INHERITED};
use crate::vocab::alphabet::WORD_START;

/// The most characters of a piece that are carried: lengths have 8 bits.
pub const MOST: usize = 254;

/// Options for valid pieces.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct PieceLimits {
    /// Characters of the longest piece, at most `MOST`.
    pub max_sentencepiece_length: usize,
    /// No piece holds characters of two scripts.
    pub split_by_unicode_script: bool,
    /// Digits have a script of their own, with signs and punctuation; else they go with any.
    pub split_by_number: bool,
    /// A digit is a piece of its own.
    pub split_digits: bool,
}

/// Class of a character: a script, or one of these.
pub(super) type CharClass = Script;
/// Goes with every script.
const ANY: CharClass = 255;
/// Begins a word.
const START: CharClass = 254;
/// Is alone.
const ALONE: CharClass = 253;
/// Is in no piece.
pub(super) const UNKNOWN: CharClass = 252;

impl PieceLimits {
    /// The class of a character.
    pub(super) fn class(&self, c: char) -> CharClass {
        let is_digit = matches!(c, '0'..='9' | '\u{FF10}'..='\u{FF19}');
        if c == WORD_START {
            START
        } else if is_digit && self.split_digits {
            ALONE
        } else if !self.split_by_unicode_script || (is_digit && !self.split_by_number) {
            ANY
        } else {
            match Scripts::get().of(c) {
                0 => COMMON,
                script => script,
            }
        }
    }

    /// Returns the most characters of a piece that begins where `classes` does; 0 before an unknown one.
    pub(super) fn longest(&self, classes: &[CharClass]) -> usize {
        let mut script = ANY;
        for (length, &class) in classes.iter().take(self.max_sentencepiece_length).enumerate() {
            let own = match class {
                UNKNOWN => return length,
                START | ALONE if length > 0 => return length,
                ALONE => return 1,
                START | INHERITED | ANY => script,
                own => own,
            };
            if script != ANY && own != script {
                return length;
            }
            script = if class == ANY { ANY } else { own };
        }
        classes.len().min(self.max_sentencepiece_length)
    }
}
