//! What becomes of matches and of the text between them.
//!
//! Source: huggingface/tokenizers, tokenizer/normalizer.rs (`split`).

use serde::Deserialize;

use crate::draft::Cut;

/// A part of a piece: a match, or what lies between two matches. A match may be empty; what lies between may not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) is_match: bool,
}

/// Where matches go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) enum Behavior {
    /// Away.
    Removed,
    /// Each is a part of its own.
    Isolated,
    /// The first of a row joins the text before it.
    MergedWithPrevious,
    /// The last of a row joins the text after it.
    MergedWithNext,
    /// Those in a row are one part.
    Contiguous,
}

impl Behavior {
    /// Appends the parts that stay. The stretches tile the piece.
    pub(super) fn cut(self, stretches: &[Stretch], cuts: &mut Vec<Cut>) {
        let first = cuts.len();
        let cut = |stretch: &Stretch| Cut { start: stretch.start, end: stretch.end, id: None };
        match self {
            Self::Removed => cuts.extend(stretches.iter().filter(|stretch| !stretch.is_match).map(cut)),
            Self::Isolated => cuts.extend(stretches.iter().map(cut)),
            Self::Contiguous | Self::MergedWithPrevious => {
                let mut was_match = false;
                for stretch in stretches {
                    let joins = match self {
                        Self::Contiguous => stretch.is_match == was_match,
                        _ => stretch.is_match && !was_match,
                    };
                    was_match = stretch.is_match;
                    match cuts[first..].last_mut() {
                        Some(last) if joins => last.end = stretch.end,
                        _ => cuts.push(cut(stretch)),
                    }
                }
            }
            Self::MergedWithNext => {
                let mut was_match = false;
                for stretch in stretches.iter().rev() {
                    let joins = stretch.is_match && !was_match;
                    was_match = stretch.is_match;
                    match cuts[first..].last_mut() {
                        Some(last) if joins => last.start = stretch.start,
                        _ => cuts.push(cut(stretch)),
                    }
                }
                cuts[first..].reverse();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_behavior() {
        // "a--b-", split at "-"
        let stretches = [(0, 1, false), (1, 2, true), (2, 3, true), (3, 4, false), (4, 5, true)]
            .map(|(start, end, is_match)| Stretch { start, end, is_match });
        for (behavior, expected) in [
            (Behavior::Removed, &[(0, 1), (3, 4)][..]),
            (Behavior::Isolated, &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]),
            (Behavior::MergedWithPrevious, &[(0, 2), (2, 3), (3, 5)]),
            (Behavior::MergedWithNext, &[(0, 1), (1, 2), (2, 4), (4, 5)]),
            (Behavior::Contiguous, &[(0, 1), (1, 3), (3, 4), (4, 5)]),
        ] {
            let mut cuts = vec![Cut { start: 0, end: 9, id: None }];
            behavior.cut(&stretches, &mut cuts);
            let found: Vec<_> = cuts[1..].iter().map(|cut| (cut.start, cut.end)).collect();
            assert_eq!(found, expected, "{behavior:?}");
        }
    }
}
