//! Merge boundaries: positions between two characters over which no token of a vocabulary reaches.
//!
//! A merge over a position makes a token that has the characters on both sides. If there is no such token, both sides
//! merge as if each was alone, whatever the ranks, and a pretoken may be split there. Texts without spaces then fall
//! into words of a few characters. These repeat, where whole clauses hardly do: a fourteenth of new Chinese text is
//! left to merge.
//!
//! [`MergeBoundaries`] has characters of three bytes, which most scripts without spaces consist of. The pairs that some
//! token has are a Bloom filter with one hash, 64 KiB: a boundary may be missed, by collision or where tokens begin or
//! end inside characters, but none is invented. [`LetterBoundaries`] has ASCII: the bytes that no token has after a
//! letter, or before one. In the vocabularies of Llama 2 and its descendants that is nearly all punctuation, and
//! `self.x(y)` falls into six parts that repeat. [`SplitPoints`] finds all of these in a text.

mod filters;
mod split_points;

pub use filters::{pair, MergeBoundaries};
pub use split_points::SplitPoints;
