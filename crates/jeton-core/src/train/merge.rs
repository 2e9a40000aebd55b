//! A learned merge.

/// One merge, and the state of the corpus after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LearnedMerge {
    /// Left id.
    pub left: u32,
    /// Right id.
    pub right: u32,
    /// The new id.
    pub result: u32,
    /// Count of the pair in the corpus.
    pub count: u64,
    /// Tokens that the whole corpus takes after the merge.
    pub corpus_tokens: u64,
    /// Different tokens that occur in it after the merge.
    pub tokens_in_use: u32,
}

/// Callback that gets the merges so far, and returns false to cancel.
pub type OnMerge<'w> = dyn FnMut(&[LearnedMerge]) -> bool + 'w;
