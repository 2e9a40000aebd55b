//! Merge boundaries: positions between two characters that no token of a vocabulary crosses.
//!
//! A merge across a position forms a token that contains the characters on both sides. If there is no such token, both
//! sides merge independently, for any ranks, so a pretoken can be split at this position. Texts without spaces are thus
//! split into words of a few characters. Unlike whole clauses, these words repeat and are found in caches, so only 1/14
//! of new Chinese text has to be merged.
//!
//! [`MergeBoundaries`] covers positions between characters of three bytes. Most scripts without spaces consist of such
//! characters. A Bloom filter (one hash, 64 KiB) contains the pairs of adjacent characters in tokens. It can miss a
//! boundary, because pairs collide or because tokens begin or end inside characters, but it never reports a false one.
//!
//! [`filters::LetterBoundaries`] covers positions between an ASCII letter and an ASCII byte that is not a letter, such
//! as `.`. If no token contains a letter followed by `.`, every position between a letter and a following `.` is a
//! boundary. If no token contains `.` followed by a letter, every position between `.` and a following letter is a
//! boundary. In the vocabularies of Llama 2 and its descendants, nearly all punctuation has both properties, and
//! `self.x(y)` is split into six parts that repeat.
//!
//! [`MarkBoundaries`] covers nearly all positions before a `▁`, the mark of word starts: all except those after a
//! character that precedes `▁` in some token. [`SplitPoints`] finds all boundaries in a text.

mod filters;
mod split_points;

pub use filters::{pair, MarkBoundaries, MergeBoundaries};
pub use split_points::SplitPoints;
