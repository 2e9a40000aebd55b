//! Rules that say which pairs may merge.
//!
//! A rule says of two tokens, by their spellings, whether they may become one. It is applied once, when the pair is
//! created, and all occurrences of the pair are treated alike. So a token still has one derivation, and the learner
//! stays exact (`learn.rs`).
//!
//! Tie rules compare spellings: the token's bytes, and the end-of-word mark if it ends a word.

pub mod hf;
pub mod named;
pub mod sentencepiece;

/// Says which pairs may merge.
pub trait Rule: Sync {
    /// Returns true if `left` and `right` may become one token.
    fn allows(&self, left: &[u8], right: &[u8]) -> bool;
}
