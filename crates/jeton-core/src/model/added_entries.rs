//! Added tokens that are also entries of the model: content → id.
//!
//! The vocabulary's table excludes added tokens, since a matcher finds them before the model runs. But the model itself
//! can produce two kinds of added tokens: SentencePiece's user-defined pieces, and HF's added tokens that are also in
//! `model.vocab`. This occurs, for example, if normalization creates their content. The model never produces special
//! tokens.

use hashbrown::HashMap;

use crate::vocab::{Kind, Vocab};

/// Added tokens by content.
#[derive(Debug, Clone, Default)]
pub struct AddedEntries(HashMap<Box<[u8]>, u32>);

impl AddedEntries {
    /// Collects all added tokens that are not special.
    pub fn all_added(vocab: &Vocab) -> Self {
        let mut entries = Self::default();
        vocab.iter().filter(|entry| entry.1 == Kind::Added).for_each(|(id, _, _)| entries.insert(vocab, id));
        entries
    }

    /// Inserts an added token; ignores special tokens and ordinary entries.
    pub fn insert(&mut self, vocab: &Vocab, id: u32) {
        if vocab.kind(id) == Kind::Added {
            self.0.insert(vocab.content(id).into(), id);
        }
    }

    /// Returns true if there are no entries.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over the ids, in arbitrary order.
    pub fn ids(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.values().copied()
    }

    /// Returns the id of the entry that has this content and does not end a word.
    #[inline]
    pub fn find(&self, vocab: &Vocab, content: &[u8]) -> Option<u32> {
        let id = vocab.find(content, false);
        if id.is_none() && !self.0.is_empty() {
            return self.0.get(content).copied();
        }
        id
    }
}
