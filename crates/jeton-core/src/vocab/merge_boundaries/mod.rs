//! Merge boundaries: positions between two characters that no token of a vocabulary crosses.
//!
//! A merge across a position makes a token with the characters on both sides. If there is no such token, both sides merge
//! independently, whatever the ranks, and a pretoken may be split there. Texts without spaces are thereby split into words
//! of a few characters, which repeat, unlike whole clauses: a fourteenth of new Chinese text is left to merge.
//!
//! [`MergeBoundaries`] covers characters of three bytes, of which most scripts without spaces consist. A Bloom filter with
//! one hash, 64 KiB, holds the character pairs of tokens. A boundary may be missed, because of a collision or of tokens
//! that begin or end inside characters, but none is false. [`filters::LetterBoundaries`] covers ASCII: the bytes that no token has
//! after a letter, or before one. In the vocabularies of Llama 2 and its descendants these are nearly all punctuation, and
//! `self.x(y)` is split into six parts that repeat. [`MarkBoundaries`] are before a `▁`, the mark of word starts, that
//! follows a character which no token has there: nearly all. [`SplitPoints`] finds all of these in a text.

mod filters;
mod split_points;

pub use filters::{pair, MarkBoundaries, MergeBoundaries};
pub use split_points::SplitPoints;
