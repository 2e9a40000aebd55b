//! Fates of ids. A fate says that some text produces the id, that no text produces the id (and how this was proved), or
//! that the question is undecided.

/// Fate of an id: the answer to the question whether any text produces the id, with the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Fate {
    /// The id has no entry.
    Hole = 0,
    /// Some text produces the id.
    Reached = 1,
    /// It is unknown whether any text produces the id: no such text was found, but there is no proof that none exists.
    Undecided = 2,
    /// The entry is a special token that is only produced with the caller's permission.
    Special = 3,
    /// The spelling of the entry has a character outside of the byte alphabet.
    Spelling = 4,
    /// The entry is an unused piece.
    Unused = 5,
    /// The content of the entry is empty.
    Empty = 6,
    /// The bytes of the entry occur in no UTF-8 text.
    NotUtf8 = 7,
    /// The entry has a character that no normalized text contains.
    Normalizer = 8,
    /// The entry has a character that the pre-tokenizer removes.
    Removed = 9,
    /// No pretoken has the entry's characters next to each other.
    Split = 10,
    /// The symbols of the entry merge into other tokens.
    Merges = 11,
    /// Other pieces that spell the entry have a higher sum of scores.
    Scores = 12,
    /// The entry has a form that the model never produces, such as several characters in a model of single characters.
    Form = 13,
    /// The entry is the byte entry of a character for which the model never falls back to bytes.
    Character = 14,
    /// The entry contains an added token, which is matched before the model.
    Added = 15,
    /// The entry ends inside a character. The entry is never formed, no matter which bytes complete the character.
    Extended = 16,
}

impl Fate {
    /// Returns true if the entry never occurs as a symbol of a pretoken, even temporarily between merges.
    pub(super) fn is_absent(self) -> bool {
        matches!(self, Fate::NotUtf8 | Fate::Normalizer | Fate::Removed | Fate::Split | Fate::Merges | Fate::Added)
    }
}
