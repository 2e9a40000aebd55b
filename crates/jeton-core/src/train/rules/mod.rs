//! Rules that say which pairs may merge.
//!
//! A rule says of two tokens, by their spellings, whether they may become one. It is asked once, when the pair is born,
//! and all occurrences of the pair are treated alike. So a token still has one derivation, and the learner stays exact
//! (`learn.rs`).
//!
//! A spelling is what the tie rules compare: the token's bytes, and the end-of-word mark where it ends a word.

pub mod hf;
pub mod named;
pub mod sentencepiece;

/// Says which pairs may merge.
pub trait Rule: Sync {
    /// Returns true if `left` and `right` may become one token.
    fn allows(&self, left: &[u8], right: &[u8]) -> bool;
}
