//! Bits of the Unicode classes of the named patterns. build.rs also includes this file.

/// `\p{Lu}` and `\p{Lt}`.
pub(crate) const UPPER: u8 = 1;
/// `\p{Ll}`.
pub(crate) const LOWER: u8 = 1 << 1;
/// `\p{Lm}` and `\p{Lo}`.
pub(crate) const CASELESS: u8 = 1 << 2;
/// `\p{M}`.
pub(crate) const MARK: u8 = 1 << 3;
/// `\p{N}`.
pub(crate) const NUMBER: u8 = 1 << 4;
/// White_Space other than `\r` and `\n`.
pub(crate) const SPACE: u8 = 1 << 5;
/// `\r` and `\n`.
pub(crate) const NEWLINE: u8 = 1 << 6;
/// Everything else: punctuation, symbols, controls, unassigned.
pub(crate) const OTHER: u8 = 1 << 7;

/// `\p{L}`.
pub(crate) const LETTER: u8 = UPPER | LOWER | CASELESS;
/// `\s`.
pub(crate) const WHITE_SPACE: u8 = SPACE | NEWLINE;
/// `[^\s\p{L}\p{N}]`.
pub(crate) const SYMBOL: u8 = OTHER | MARK;
