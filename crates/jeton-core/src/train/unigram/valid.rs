//! Rules that determine which runs of characters are allowed to be pieces.
//!
//! Invariant: every prefix of a valid piece is valid, because validity is decided from left to right. So it is enough
//! to know the maximum length of a piece at each position.
//!
//! Cost: one check for each character of each run, up to the maximum length of a piece.
//! Source: google/sentencepiece, `trainer_interface.cc` (`IsValidSentencePiece`) and its table of scripts.
//! Left out: options that permit white space inside of pieces or at their ends.

use serde::Deserialize;

use crate::pretokenize::characters::{Script, Scripts, COMMON, INHERITED};
use crate::vocab::alphabet::WORD_START;

/// Maximum supported length of a piece in characters, because lengths are stored in 8 bits.
pub const MOST: usize = 254;

/// Options that determine which pieces are valid.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct PieceLimits {
    /// Maximum length of a piece in characters, at most `MOST`.
    pub max_sentencepiece_length: usize,
    /// True if all characters of a piece are of one script.
    pub split_by_unicode_script: bool,
    /// True if digits share one script with signs and punctuation; false if they are compatible with any script.
    pub split_by_number: bool,
    /// True if every digit is a piece of its own.
    pub split_digits: bool,
}

/// Class of a character: a script, or one of the constants below.
pub(super) type CharClass = Script;
/// Class of characters that are compatible with any script.
const ANY: CharClass = 255;
/// Class of characters that begin a word.
const START: CharClass = 254;
/// Class of characters that are always a piece of their own.
const ALONE: CharClass = 253;
/// Class of characters that are in no piece.
pub(super) const UNKNOWN: CharClass = 252;

impl PieceLimits {
    /// Returns the class of a character.
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

    /// Returns the maximum number of characters of a piece that begins at the start of `classes`; 0 for an unknown
    /// character.
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
