//! Rules that constrain which pairs may merge.
//!
//! A rule decides from the spellings of two tokens whether they may merge. The learner checks the rule once for all
//! occurrences of a pair, when the pair is created. So a token still has a single derivation, and the learner stays
//! exact (`learn.rs`).
//!
//! A spelling, as rules and tie rules see it, consists of the token's bytes, and of the end-of-word mark if the token
//! ends a word.

pub mod extension;
pub mod hf;
pub mod named;
pub mod sentencepiece;

/// Constraint on the pairs that may merge.
pub trait Rule: Sync {
    /// Returns true if `left` and `right` are allowed to merge into one token.
    fn allows(&self, left: &[u8], right: &[u8]) -> bool;
}
