//! Rules that constrain which pairs may merge.
//!
//! A rule decides by the spellings of two tokens whether they may merge. It is checked once, when the pair is
//! created, for all of its occurrences. So a token still has a single derivation, and the learner stays exact
//! (`learn.rs`).
//!
//! Tie rules compare spellings: the token's bytes, and the end-of-word mark if it ends a word.

pub mod extension;
pub mod hf;
pub mod named;
pub mod sentencepiece;

/// Constraint on pairs.
pub trait Rule: Sync {
    /// Returns true if `left` and `right` may become one token.
    fn allows(&self, left: &[u8], right: &[u8]) -> bool;
}
