//! Creates the merges that `transformers` creates from the pieces of a SentencePiece model, for Hugging Face's BPE.
//!
//! There is a merge for every split of a piece into two other pieces. Version 4 of `transformers` orders the merges by
//! descending score, then by descending length of the left and of the right part, in characters. Version 5 orders them
//! by ascending id, then by ascending length of the two parts. Control, unused and byte pieces are split, and used as
//! parts, like all other pieces.
//!
//! Invariant: the merges equal the result of `generate_merges`. Cost: O(m log m) for m splits. The two parts of a split
//! are only looked up if the length of each part is the length of some piece. Pieces of n bytes in total have at most
//! √(2n) different lengths.
//! Source: huggingface/transformers 4.57 convert_slow_tokenizer.py, 5.24 tokenization_utils_base.py (behavior).

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use crate::vocab::List;

/// Order in which the merges are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeOrder {
    /// By descending score (version 4).
    Scores,
    /// By ascending id (version 5).
    Ids,
}

/// Returns (left, right, result) of all merges, in order of rank. `scores` is indexed by id.
pub fn merges(entries: &List, scores: &[f64], order: MergeOrder) -> Vec<(u32, u32, u32)> {
    let ids: HashMap<&[u8], u32> = entries.iter().map(|(id, _, content)| (content, id)).collect();
    // Lengths of all pieces, in bytes. A part whose length is not in this set cannot be a piece. For most splits of a
    // long piece, this check makes a lookup of the parts unnecessary.
    let lengths: HashSet<usize> = entries.iter().map(|(_, _, content)| content.len()).collect();
    let mut rows: Vec<_> = entries.iter().collect();
    rows.sort_by_key(|row| row.0);
    let mut merges = Vec::new(); // merges with the lengths of both parts
    for (id, _, content) in rows {
        let Ok(text) = std::str::from_utf8(content) else { continue };
        let length = text.chars().count();
        for (left_length, (at, _)) in text.char_indices().enumerate().skip(1) {
            let (left, right) = content.split_at(at);
            if !lengths.contains(&left.len()) || !lengths.contains(&right.len()) {
                continue;
            }
            if let (Some(&left), Some(&right)) = (ids.get(left), ids.get(right)) {
                merges.push(((left, right, id), left_length, length - left_length));
            }
        }
    }
    let score = |id: u32| scores.get(id as usize).copied().unwrap_or(0.0);
    merges.sort_by(|a, b| {
        let by_lengths = (a.1, a.2).cmp(&(b.1, b.2));
        match order {
            MergeOrder::Scores => {
                score(b.0 .2).partial_cmp(&score(a.0 .2)).unwrap_or(Ordering::Equal).then(by_lengths.reverse())
            }
            MergeOrder::Ids => a.0 .2.cmp(&b.0 .2).then(by_lengths),
        }
    });
    merges.into_iter().map(|merge| merge.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocab::Kind;

    #[test]
    fn merges_are_ordered_by_score_or_by_id() {
        let pieces = ["a", "b", "ab", "aa", "aab", "aaa"];
        let entries: List = (0..).zip(pieces).map(|(id, piece)| (id, Kind::Token, piece)).collect();
        let scores = [0.0, 0.0, -3.0, -1.0, -2.0, -1.0];
        let by_scores = merges(&entries, &scores, MergeOrder::Scores);
        assert_eq!(by_scores, [(3, 0, 5), (0, 3, 5), (0, 0, 3), (3, 1, 4), (0, 2, 4), (0, 1, 2)]);
        let by_ids = merges(&entries, &scores, MergeOrder::Ids);
        assert_eq!(by_ids, [(0, 1, 2), (0, 0, 3), (0, 2, 4), (3, 1, 4), (0, 3, 5), (3, 0, 5)]);
    }
}
