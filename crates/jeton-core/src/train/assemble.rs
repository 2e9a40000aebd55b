//! Conversion of learned merges and pieces to the entries of a vocabulary.

use std::collections::HashSet;

use super::merge::LearnedMerge;
use super::sequences::Symbols;
use crate::error::{Error, Result};
use crate::vocab::alphabet::Level;
use crate::vocab::{Kind, List, MAX_BYTES};

/// Merges as (left, right, result), in ascending order of the result.
pub type Merges = Vec<(u32, u32, u32)>;

/// Initial entries, followed by one entry for the result of each merge. `num_bytes` is the total length of the results.
struct Merged {
    entries: List,
    positions: Vec<u32>, // id -> index of the entry; u32::MAX if there is none
    num_bytes: usize,
}

impl Merged {
    fn new(entries: List) -> Self {
        let mut positions = vec![u32::MAX; entries.next_id() as usize];
        (0..).zip(entries.iter()).for_each(|(position, entry)| positions[entry.0 as usize] = position);
        Self { entries, positions, num_bytes: 0 }
    }

    fn part(&self, id: u32) -> (Kind, &[u8]) {
        match self.positions.get(id as usize) {
            Some(&position) if position != u32::MAX => {
                let (_, kind, content) = self.entries.at(position as usize);
                (kind, content)
            }
            _ => (Kind::Token, &[]),
        }
    }

    /// Appends an entry for the result of a merge. `kind` maps the kind of the right part to the kind of the result.
    fn push(&mut self, merge: &LearnedMerge, kind: impl Fn(Kind) -> Kind) -> Result<()> {
        let ((_, left), (right_kind, right)) = (self.part(merge.left), self.part(merge.right));
        let content = [left, right].concat();
        self.num_bytes += content.len();
        if self.num_bytes > MAX_BYTES {
            return Err(Error::training(
                "the learned tokens spell more than 1 GiB: raise min_frequency or use a pattern",
            ));
        }
        let id = merge.result as usize;
        if id >= self.positions.len() {
            self.positions.resize(id + 1, u32::MAX); // merges have consecutive ids
        }
        self.positions[id] = self.entries.len() as u32;
        self.entries.push(merge.result, kind(right_kind), &content);
        Ok(())
    }
}

/// Returns (left, right, result) of each merge.
pub fn triples(merges: &[LearnedMerge]) -> Merges {
    merges.iter().map(|merge| (merge.left, merge.right, merge.result)).collect()
}

/// Returns the entries of the initial symbols, followed by the entries of the merges' results. If the right part of a
/// merge is marked as the end of a word, the result of the merge is marked, too.
///
/// # Errors
/// [`Error::training`] if the merged tokens spell more than 1 GiB.
pub fn from_merges(symbols: &Symbols, level: Level, merges: &[LearnedMerge]) -> Result<List> {
    let (mut entries, mut content) = (List::default(), Vec::new());
    for (id, symbol) in (symbols.first_id..).zip(&symbols.symbols) {
        content.clear();
        symbol.content(level, &mut content);
        entries.push(id, if symbol.ends_word { Kind::EndsWord } else { Kind::Token }, &content);
    }
    let mut merged = Merged::new(entries);
    merges.iter().try_for_each(|merge| merged.push(merge, |right| right))?;
    Ok(merged.entries)
}

/// Returns `entries`, followed by the entries of the merges' results. No result is marked as the end of a word.
///
/// # Errors
/// As [`from_merges`].
pub fn with_merges(entries: List, merges: &[LearnedMerge]) -> Result<List> {
    let mut merged = Merged::new(entries);
    merges.iter().try_for_each(|merge| merged.push(merge, |_| Kind::Token))?;
    Ok(merged.entries)
}

/// Pieces after ids were assigned to them.
#[derive(Debug)]
pub struct NumberedPieces {
    /// The reserved entries, followed by the entries of the pieces.
    pub entries: List,
    /// Score of each id; 0 for reserved entries and ids without an entry.
    pub scores: Vec<f64>,
    /// Id of each piece, in the order in which pieces were passed.
    pub ids: Vec<u32>,
}

/// Assigns ascending ids to `pieces`, which are sorted by descending score. The ids of the `reserved` entries are
/// skipped.
pub fn number(reserved: List, pieces: impl IntoIterator<Item = (String, f64)>) -> NumberedPieces {
    let taken: HashSet<u32> = reserved.iter().map(|entry| entry.0).collect();
    let free = (0..).filter(|id| !taken.contains(id));
    let (mut entries, mut ids, mut own) = (reserved, Vec::new(), Vec::new());
    for (id, (piece, score)) in free.zip(pieces) {
        entries.push(id, Kind::Token, piece.as_bytes());
        ids.push(id);
        own.push(score);
    }
    let mut scores = vec![0.0; entries.next_id() as usize];
    ids.iter().zip(own).for_each(|(&id, score)| scores[id as usize] = score);
    NumberedPieces { entries, scores, ids }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;
    use crate::vocab::alphabet::Symbol;

    fn merge(left: u32, right: u32, result: u32) -> LearnedMerge {
        LearnedMerge { left, right, result, count: 1, corpus_tokens: 1, tokens_in_use: 1 }
    }

    fn listed(entries: &List) -> Vec<(u32, Kind, &str)> {
        entries.iter().map(|(id, kind, content)| (id, kind, std::str::from_utf8(content).unwrap())).collect()
    }

    #[test]
    fn merge_has_the_spelling_of_its_parts_and_the_word_end_of_the_right_one() {
        let symbol = |c: char, ends_word| Symbol { unit: Some(u32::from(c)), ends_word, inside: false };
        let symbols =
            Symbols { first_id: 5, symbols: vec![symbol('é', false), symbol('n', true)], drops_others: false };
        let entries = from_merges(&symbols, Level::Char, &[merge(5, 6, 7), merge(5, 7, 8), merge(6, 5, 9)]).unwrap();
        let expected = [
            (5, Kind::Token, "é"),
            (6, Kind::EndsWord, "n"),
            (7, Kind::EndsWord, "én"),
            (8, Kind::EndsWord, "één"),
            (9, Kind::Token, "né"),
        ];
        assert_eq!(listed(&entries), expected);
    }

    #[test]
    fn merges_follow_existing_entries() {
        let mut entries = List::default();
        [(0, "a"), (1, "b"), (3, "ab")]
            .into_iter()
            .for_each(|(id, text)| entries.push(id, Kind::Token, text.as_bytes()));
        let entries = with_merges(entries, &[merge(3, 0, 4), merge(4, 4, 5)]).unwrap();
        assert_eq!(listed(&entries)[3..], [(4, Kind::Token, "aba"), (5, Kind::Token, "abaaba")]);
    }

    #[test]
    fn pieces_get_the_ids_that_reserved_entries_leave_free() {
        let mut reserved = List::default();
        [(0, "<unk>"), (2, "<s>"), (9, "<pad>")]
            .into_iter()
            .for_each(|(id, text)| reserved.push(id, Kind::Special, text.as_bytes()));
        let found = number(reserved, [("a".to_owned(), -1.0), ("b".to_owned(), -2.0), ("c".to_owned(), -3.0)]);
        assert_eq!(found.ids, [1, 3, 4]);
        assert_eq!(found.scores, [0.0, -1.0, 0.0, -2.0, -3.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(listed(&found.entries)[3..], [(1, Kind::Token, "a"), (3, Kind::Token, "b"), (4, Kind::Token, "c")]);
    }
}
