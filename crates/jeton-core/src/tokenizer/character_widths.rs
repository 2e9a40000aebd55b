//! Widths of tokens in characters, and alignment of tokenizers that turn each character into one: see `one_to_one`.

/// Class of a character that becomes no single other one, or one that depends on its neighbors.
pub(super) const CHANGES: u8 = 0xFF;
/// Class of a character that becomes white space.
pub(super) const WHITE: u8 = 1;
/// Class of a character that becomes a word of its own.
pub(super) const ISOLATED: u8 = 2;
/// Class of other characters.
pub(super) const ORDINARY: u8 = 0;

/// Bit of a token that begins inside of a character.
pub(super) const INSIDE: u8 = 0x80;
/// Bit of a token of a word that begins with the mark of words, which is not counted.
pub(super) const MARKED: u8 = 0x80;
/// Bit of a token that continues a word, of which the prefix is not counted.
pub(super) const CONTINUES: u8 = 0x40;

/// Widths of ids in characters, from which the alignment follows.
#[derive(Debug)]
pub(super) struct OneToOne {
    pub(super) widths: Box<[u8]>, // id -> characters that begin in it, and the bits above; 0: unknown
    pub(super) kind: AlignedKind,
}

#[derive(Debug)]
pub(super) enum AlignedKind {
    /// One pretoken. With a prepended mark, the end of its own offsets: 0, or 1 if it is aligned to the first character.
    Whole { mark_end: Option<i64> },
    /// Words, separated by white space.
    Words(Box<WordRules>),
}

/// Rules for words.
#[derive(Debug)]
pub(super) struct WordRules {
    /// The mark before each word.
    pub(super) mark: Option<char>,
    /// Classes of characters.
    pub(super) ascii: [u8; 128],
    /// Words end only before white space, and around isolated characters.
    pub(super) ends_at_white: bool,
}
