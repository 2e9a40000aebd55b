//! A learned merge.

/// One merge, and the size of the corpus after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LearnedMerge {
    /// Id of the left token.
    pub left: u32,
    /// Id of the right token.
    pub right: u32,
    /// Id of the new token.
    pub result: u32,
    /// Count of the pair in the corpus.
    pub count: u64,
    /// Number of tokens in the whole corpus after the merge.
    pub corpus_tokens: u64,
    /// Number of distinct tokens that occur in the corpus after the merge.
    pub tokens_in_use: u32,
}

/// Callback that receives the merges learned so far; returns false to cancel.
pub type OnMerge<'w> = dyn FnMut(&[LearnedMerge]) -> bool + 'w;
