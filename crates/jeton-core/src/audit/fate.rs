//! Fates of ids: reached, undecided, or in no text, with the kind of the proof.

/// Fate of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Fate {
    /// Id without an entry.
    Hole = 0,
    /// Some text produces it.
    Reached = 1,
    /// Neither a text nor a proof was found.
    Undecided = 2,
    /// Special token that is produced only with the caller's permission.
    Special = 3,
    /// Its spelling has a character outside of the byte alphabet.
    Spelling = 4,
    /// Unused piece.
    Unused = 5,
    /// Its content is empty.
    Empty = 6,
    /// Its bytes are not part of UTF-8.
    NotUtf8 = 7,
    /// No normalized text contains one of its characters.
    Normalizer = 8,
    /// The pre-tokenizer removes one of its characters.
    Removed = 9,
    /// No pretoken has its characters next to each other.
    Split = 10,
    /// Merging forms other tokens.
    Merges = 11,
    /// Other pieces have a higher sum of scores.
    Scores = 12,
    /// The model produces entries of another form only.
    Form = 13,
    /// Byte entry of a character that never falls back to bytes.
    Character = 14,
    /// It contains an added token, which is matched first.
    Added = 15,
    /// It ends inside a character, and no possible rest of the character may follow.
    Extended = 16,
}

impl Fate {
    /// Returns true if no pretoken has the entry as a symbol, not even before further merges.
    pub(super) fn is_absent(self) -> bool {
        matches!(self, Fate::NotUtf8 | Fate::Normalizer | Fate::Removed | Fate::Split | Fate::Merges | Fate::Added)
    }
}
