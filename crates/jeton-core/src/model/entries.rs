//! content → id, where some added tokens are entries of the model as well.
//!
//! A vocabulary's own table leaves added tokens out, for a matcher finds them before the model sees the text. SentencePiece's
//! user-defined pieces, and HF's added tokens that stand in `model.vocab` too, may yet come out of the model (after
//! normalization, say). Special tokens never do.

use hashbrown::HashMap;

use crate::vocab::{Kind, Vocab};

/// Added tokens by content.
#[derive(Debug, Clone, Default)]
pub struct Entries(HashMap<Box<[u8]>, u32>);

impl Entries {
    /// All added tokens that are not special.
    pub fn all_added(vocab: &Vocab) -> Self {
        let mut entries = Self::default();
        vocab.iter().filter(|entry| entry.1 == Kind::Added).for_each(|(id, _, _)| entries.insert(vocab, id));
        entries
    }

    /// Adds one; special tokens and ordinary entries are left out.
    pub fn insert(&mut self, vocab: &Vocab, id: u32) {
        if vocab.kind(id) == Kind::Added {
            self.0.insert(vocab.content(id).into(), id);
        }
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Their ids, in no order.
    pub fn ids(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.values().copied()
    }

    /// The entry with this content that does not end a word.
    #[inline]
    pub fn find(&self, vocab: &Vocab, content: &[u8]) -> Option<u32> {
        let id = vocab.find(content, false);
        if id.is_none() && !self.0.is_empty() {
            return self.0.get(content).copied();
        }
        id
    }
}
