//! Units of text, and their names.

/// Unit at whose boundaries a text is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TextUnit {
    /// A code point.
    Character,
    /// An extended grapheme cluster.
    Grapheme,
    /// A segment between word boundaries: a word, white space, or a punctuation mark.
    Word,
    /// A sentence with the white space after it.
    Sentence,
}

impl TextUnit {
    /// All units, smallest first.
    pub const ALL: [Self; 4] = [Self::Character, Self::Grapheme, Self::Word, Self::Sentence];

    /// Returns the unit with this name; None for an unknown name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|unit| unit.name() == name)
    }

    /// Returns the name of the unit.
    pub fn name(self) -> &'static str {
        match self {
            Self::Character => "character",
            Self::Grapheme => "grapheme",
            Self::Word => "word",
            Self::Sentence => "sentence",
        }
    }

    /// Returns the next smaller unit; None for characters.
    pub fn smaller(self) -> Option<Self> {
        match self {
            Self::Character => None,
            Self::Grapheme => Some(Self::Character),
            Self::Word => Some(Self::Grapheme),
            Self::Sentence => Some(Self::Word),
        }
    }
}
