//! Parts of a text, and rounding to character boundaries; shared by the modules that cut texts.

/// If two neighboring joints are more than this number of bytes apart, the positions between them are not tried one by
/// one: all prefixes are counted at once (`stretch`), or bisection finds the position.
pub(in crate::tokenizer) const LONG: usize = 1 << 10;

/// A part of a text, with its number of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    /// Offset of the first byte of the part.
    pub start: usize,
    /// Offset after the last byte of the part.
    pub end: usize,
    /// Number of tokens of the part.
    pub count: usize,
}

/// Returns the last character boundary up to a position.
pub(in crate::tokenizer) fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Returns the first character boundary from a position on.
pub(in crate::tokenizer) fn ceil(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}
