//! Stores the last merge of each token. From these merges, a check can tell whether two tokens are valid neighbors,
//! without merging the tokens' bytes again.
//!
//! Suppose that every token has a higher rank than its parts and is the result of one pair only. Then merges are
//! applied in the order of their ranks. The check undoes the merges of two adjacent tokens, the latest merge first.
//! After each step, the check has the two symbols that were next to the boundary at this point of the encoding. The
//! tokens are valid neighbors if no pair across the boundary has an earlier merge than the merge just undone. Among
//! equal ranks, the left pair merges first.
//!
//! Cost: 12 bytes for each id, allocated once; one lookup of a pair for each undone merge, up to twice the depth of
//! the merge trees. Source: `is_valid_token_pair` of the crate `bpe` (github/rust-gems).

use super::pairs::Pairs;
use crate::vocab::{Kind, Vocab};

/// Last merge of each token, by id.
#[derive(Debug)]
pub struct TokenParts {
    parts: Box<[TokenHalves]>,
    is_complete: bool,
}

#[derive(Debug, Clone, Copy)]
struct TokenHalves {
    left: u32,
    right: u32,
    order: u32, // rank plus one; 0 for an initial symbol
}

impl TokenParts {
    /// Collects the merges of a byte-level vocabulary. Returns None if a token is the result of several pairs, if one
    /// of its parts has the same or a higher rank, or if its bytes merge into other tokens.
    pub(super) fn new(pairs: &Pairs, vocab: &Vocab) -> Option<Self> {
        let mut parts = vec![TokenHalves { left: 0, right: 0, order: 0 }; vocab.len()];
        for (left, right, merge) in pairs.iter() {
            let own = parts.get_mut(merge.result as usize)?;
            if own.order != 0 {
                return None;
            }
            *own = TokenHalves { left, right, order: merge.rank.checked_add(1)? };
        }
        let order = |id: u32| parts.get(id as usize).map(|own| own.order);
        let increases =
            |own: &TokenHalves| own.order == 0 || [own.left, own.right].iter().all(|&id| order(id) < Some(own.order));
        if !parts.iter().all(increases) {
            return None;
        }
        let is_made = |(id, kind, content): (u32, Kind, &[u8])| {
            kind != Kind::Token || content.len() == 1 || parts.get(id as usize).is_some_and(|own| own.order > 0)
        };
        let is_complete = vocab.iter().all(is_made);
        let made = Self { parts: parts.into(), is_complete };
        // Checks each token, because its bytes could merge into other tokens instead.
        let is_reached = |own: &TokenHalves| own.order == 0 || made.stay_apart(pairs, own.left, own.right, true);
        made.parts.iter().all(is_reached).then_some(made)
    }

    /// Returns true if encoding the concatenation of two tokens gives these two tokens, so that no merge crosses their
    /// boundary. The caller ensures that the bytes of each token, encoded alone, merge into that token.
    pub(super) fn are_neighbors(&self, pairs: &Pairs, left: u32, right: u32) -> bool {
        self.stay_apart(pairs, left, right, false)
    }

    /// Returns true if no merge crosses the boundary of two tokens. With `until_both`, ignores merges that run after
    /// both tokens are complete.
    fn stay_apart(&self, pairs: &Pairs, mut left: u32, mut right: u32, until_both: bool) -> bool {
        let mut limit = if until_both { 0 } else { u32::MAX }; // merges of lower `order` precede the last undone merge
        loop {
            if pairs.get(left, right).is_some_and(|merge| merge.rank < limit.saturating_sub(1)) {
                return false;
            }
            let (Some(of_left), Some(of_right)) = (self.parts.get(left as usize), self.parts.get(right as usize))
            else {
                return true;
            };
            if of_left.order > of_right.order {
                limit = of_left.order;
                left = of_left.right;
            } else if of_right.order > 0 {
                // The pair across the boundary is to the left of the undone pair. So if the two ranks are equal, the
                // pair across the boundary merges first.
                limit = of_right.order + 1;
                right = of_right.left;
            } else {
                return true;
            }
        }
    }

    /// Returns true if every entry of the model, except single bytes, is the result of a merge.
    pub(super) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Returns true if the token is the result of a merge.
    pub(super) fn is_merged(&self, id: u32) -> bool {
        self.parts.get(id as usize).is_some_and(|own| own.order > 0)
    }
}
