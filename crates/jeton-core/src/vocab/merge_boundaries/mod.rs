//! Merge boundaries: positions between two characters that no token of a vocabulary crosses.
//!
//! A merge across a position forms a token with the characters on both sides. If there is no such token, both sides
//! merge independently, whatever the ranks, and a pretoken may be split there. Texts without spaces are thus split
//! into words of a few characters. Unlike whole clauses these repeat, so only a fourteenth of new Chinese text has to
//! be merged.
//!
//! [`MergeBoundaries`] covers characters of three bytes, of which most scripts without spaces consist. A Bloom filter
//! with one hash, 64 KiB, has the character pairs of tokens. A boundary may be missed, because of a collision or of
//! tokens that begin or end inside characters, but none is false. [`filters::LetterBoundaries`] covers positions
//! in ASCII between a letter and a byte that no token contains on that side of a letter. In the vocabularies of Llama 2
//! and its descendants nearly all punctuation is such a byte, and `self.x(y)` is split into six parts that repeat.
//! [`MarkBoundaries`] covers nearly all positions before a `▁`, the mark of word starts: all except those after a
//! character that precedes `▁` in some token. [`SplitPoints`] finds all boundaries in a text.

mod filters;
mod split_points;

pub use filters::{pair, MarkBoundaries, MergeBoundaries};
pub use split_points::SplitPoints;
