//! Merge trees of all entries: for each id, the two tokens whose merge forms it in any text.
//!
//! Before a token is formed, no merge crosses its edges, so its last merge is the same in every text (`reconstruct`).
//! The tree of a token therefore has one node for each merge that is needed to form the token. Suppose that some
//! entries are removed, together with the merges that form them, and that all entries in the tree of each remaining
//! entry remain. If no token of a text was removed, the encoding of the text stays the same: at every step the chosen
//! merge still exists, and no merge was added.
//!
//! How to find the last merge of an entry in a merge list: leave out the merges that form the entry, and apply all
//! other merges to the initial symbols of the entry. If two symbols remain, and a merge of these two symbols forms the
//! entry, then this merge is the last merge. Otherwise, the entry is never formed.
//!
//! Cost: O(n log n) for n bytes of entries. Cancellable. Left out: SentencePiece's BPE if a piece contains a character
//! that is not a piece; such models are refused.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::linked_symbols::NONE;
use super::merging::{Look, Merger};
use super::output::Out;
use super::pairs::{Merge, Pairs};
use super::scratch::Scratch;
use super::Model;
use crate::error::{Error, Result};
use crate::util::cancel::{CancelCheck, KeepGoing};
use crate::vocab::alphabet::Level;
use crate::vocab::{Kind, Vocab};

/// Means "no part". If an entry is not formed by a merge, its left part and its right part have this value.
pub const NO_PART: u32 = NONE;

/// Merge trees of all entries, by id.
#[derive(Debug, Clone, Default)]
pub struct MergeTrees {
    /// Left part of each entry's last merge; [`NO_PART`] if no merge forms the entry.
    pub left: Vec<u32>,
    /// Right part of each entry's last merge; [`NO_PART`] if no merge forms the entry.
    pub right: Vec<u32>,
    /// True if the entry is an initial symbol.
    pub is_unit: Vec<bool>,
}

/// All merges except those that form one given token.
struct Without<'a> {
    pairs: &'a Pairs,
    result: u32,
}

impl Look for Without<'_> {
    fn get(&self, left: u32, right: u32) -> Option<Merge> {
        self.pairs.get(left, right).filter(|merge| merge.result != self.result)
    }
}

impl Model {
    /// Returns the merge trees. In a model without merges, no entry has parts, and the units are the entries of one
    /// character and the byte entries.
    ///
    /// # Errors
    /// `Unsupported` for SentencePiece's BPE if a character of a piece is not a piece itself; `Interrupted`.
    pub fn merge_trees(&self, vocab: &Vocab, keep_going: KeepGoing<'_>) -> Result<MergeTrees> {
        let len = vocab.len();
        let mut trees = MergeTrees { left: vec![NO_PART; len], right: vec![NO_PART; len], is_unit: vec![false; len] };
        for (id, kind, content) in vocab.iter() {
            trees.is_unit[id as usize] = self.is_unit(kind, content);
        }
        let mut by_last_merge = |pairs: &Pairs| {
            for (left, right, merge) in pairs.iter() {
                (trees.left[merge.result as usize], trees.right[merge.result as usize]) = (left, right);
            }
        };
        match self {
            Self::Bpe(model) if model.ranks == super::bpe::RankOrder::Tokens => {
                by_last_merge(model.pairs(vocab, keep_going)?);
            }
            Self::Bpe(model) => {
                let pairs = model.pairs(vocab, keep_going)?;
                trees.fill_from_list(vocab, &model.merges(vocab, keep_going)?, pairs, keep_going)?;
            }
            Self::Pieces(model) if model.has_odd() => {
                let message = "a piece has a character that is not a piece, so its merges have no tree";
                return Err(Error::unsupported("pieces with characters that are not pieces", message));
            }
            Self::Pieces(model) => by_last_merge(model.pairs(vocab, keep_going)?),
            _ => {}
        }
        Ok(trees)
    }

    fn is_unit(&self, kind: Kind, content: &[u8]) -> bool {
        let is_char = || std::str::from_utf8(content).is_ok_and(|text| text.chars().nth(1).is_none());
        match (self, kind) {
            (_, Kind::Byte) => true,
            (_, Kind::Hole | Kind::Special | Kind::Unreachable) => false,
            (Self::Bpe(model), _) if model.alphabet.level == Level::Byte => content.len() < 2,
            (Self::Bpe(model), _) => {
                let is_byte = || content.len() == 6 && content.starts_with(b"<0x") && content.ends_with(b">");
                is_char() || model.alphabet.is_unit(content) || (model.alphabet.spells_unknown() && is_byte())
            }
            (Self::WordPiece(model), _) => is_char() || model.is_inner_character(content),
            _ => is_char(),
        }
    }
}

impl MergeTrees {
    fn fill_from_list(
        &mut self,
        vocab: &Vocab,
        merges: &[(u32, u32, u32)],
        pairs: &Pairs,
        keep_going: KeepGoing<'_>,
    ) -> Result<()> {
        let mut first = vec![(NO_PART, NO_PART); vocab.len()]; // id -> parts of one of its merges
        for &(left, right, result) in merges {
            if pairs.get(left, right).is_some_and(|merge| merge.result == result) && first[result as usize].0 == NO_PART
            {
                first[result as usize] = (left, right);
            }
        }
        let mut cancel = CancelCheck::new(keep_going);
        let (mut scratch, mut ids, mut stack) = (Scratch::default(), Vec::new(), Vec::new());
        for id in 0..vocab.len() as u32 {
            cancel.check()?;
            if first[id as usize].0 == NO_PART {
                continue;
            }
            scratch.symbols.clear();
            stack.push(id);
            while let Some(id) = stack.pop() {
                match first[id as usize] {
                    (NO_PART, _) => scratch.symbols.push(id),
                    (left, right) => stack.extend([right, left]),
                }
            }
            ids.clear();
            let merger = Merger { merges: &Without { pairs, result: id }, word_start: None };
            merger.run(scratch.symbols.len(), keep_going, &mut scratch, &mut Out::ids(&mut ids))?;
            if let &[left, right] = &ids[..] {
                if pairs.get(left, right).is_some_and(|merge| merge.result == id) {
                    (self.left[id as usize], self.right[id as usize]) = (left, right);
                }
            }
        }
        Ok(())
    }

    /// Removes `num_removed` entries, the least frequent first, and returns which entries remain. An entry is removed
    /// only if `removable` permits it and no remaining entry is merged from it. If too few entries qualify, fewer are
    /// removed.
    ///
    /// The count of a removed entry is added to its two parts, which replace it in the corpus. So the count of an
    /// entry is the number of tokens that its removal adds. Among entries with equal counts, the one with the highest
    /// id is removed first.
    pub fn without_rare(
        &self,
        counts: &[u64],
        mut remains: Vec<bool>,
        removable: &[bool],
        num_removed: usize,
    ) -> Vec<bool> {
        let has_parts = |id: usize| self.left[id] != NO_PART;
        let mut counts = counts.to_vec();
        let mut num_wholes = vec![0u32; remains.len()]; // id -> number of entries merged from it
        for id in (0..remains.len()).filter(|&id| remains[id] && has_parts(id)) {
            num_wholes[self.left[id] as usize] += 1;
            num_wholes[self.right[id] as usize] += 1;
        }
        let is_leaf = |id: usize, num_wholes: &[u32]| removable[id] && num_wholes[id] == 0;
        let entry = |id: usize, counts: &[u64]| Reverse((counts[id], Reverse(id)));
        let mut leaves: BinaryHeap<_> = (0..remains.len())
            .filter(|&id| remains[id] && is_leaf(id, &num_wholes))
            .map(|id| entry(id, &counts))
            .collect();
        let mut done = 0;
        while done < num_removed {
            let Some(Reverse((count, Reverse(id)))) = leaves.pop() else { break };
            if !remains[id] {
                continue; // already removed: pushed twice, as both parts of one entry
            }
            remains[id] = false;
            done += 1;
            if !has_parts(id) {
                continue;
            }
            let parts = [self.left[id] as usize, self.right[id] as usize];
            for part in parts {
                counts[part] = counts[part].saturating_add(count);
                num_wholes[part] -= 1;
            }
            leaves.extend(
                parts
                    .into_iter()
                    .filter(|&part| remains[part] && is_leaf(part, &num_wholes))
                    .map(|part| entry(part, &counts)),
            );
        }
        remains
    }
}
