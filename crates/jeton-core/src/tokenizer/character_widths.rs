//! Widths of tokens in characters, and alignment of tokenizers that turn each character into one: see `one_to_one`.

/// Not an image of an ASCII character.
pub(super) const CHANGES: u8 = 0xFF;

/// Bit of a token that begins inside of a character.
pub(super) const INSIDE: u8 = 0x80;

/// Widths of ids in characters, from which the alignment follows.
#[derive(Debug)]
pub(super) struct OneToOne {
    pub(super) widths: Box<[u8]>, // id -> characters that begin in it, and `INSIDE`; 0: unknown
    pub(super) kind: AlignedKind,
}

#[derive(Debug)]
pub(super) enum AlignedKind {
    /// One pretoken. With a prepended mark, the end of its own offsets: 0, or 1 if it is aligned to the first character.
    Whole { mark_end: Option<i64> },
    /// Words, with a mark before each.
    Words { mark: Option<char>, ascii: Box<[u8; 128]> },
}
