//! Splits text at matches. A behavior defines the chunks that result from the matches and from the text between them.
//!
//! Source: huggingface/tokenizers, tokenizer/normalizer.rs (`split`).

use serde::Deserialize;

use crate::aligned_text::ChunkSink;

/// Range of a chunk: a match or the text between two matches. A match can be empty, but text between matches cannot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) is_match: bool,
}

/// Handling of matches when a chunk is split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) enum Behavior {
    /// Matches are removed.
    Removed,
    /// Each match is a separate chunk.
    Isolated,
    /// A match directly after text is appended to this text. Any other match, such as the second of two adjacent
    /// matches, is a separate chunk.
    MergedWithPrevious,
    /// A match directly before text is prepended to this text. Any other match, such as the first of two adjacent
    /// matches, is a separate chunk.
    MergedWithNext,
    /// Adjacent matches are one chunk.
    Contiguous,
}

/// Splits one chunk into smaller chunks, given its matches and the ranges between them.
#[derive(Debug)]
pub(super) struct Cutter<'p, 'd> {
    parts: &'p mut ChunkSink<'d>,
    behavior: Behavior,
    open: Option<Stretch>, // unfinished chunk that the next range can extend; `is_match` refers to its last range
}

impl<'p, 'd> Cutter<'p, 'd> {
    pub(super) fn new(behavior: Behavior, parts: &'p mut ChunkSink<'d>) -> Self {
        Self { parts, behavior, open: None }
    }

    /// Adds the next range.
    #[inline]
    pub(super) fn push(&mut self, next: Stretch) {
        let joins = |open: Stretch| match self.behavior {
            Behavior::Removed | Behavior::Isolated => false,
            Behavior::MergedWithPrevious => next.is_match && !open.is_match,
            Behavior::MergedWithNext => !next.is_match && open.is_match,
            Behavior::Contiguous => next.is_match == open.is_match,
        };
        match (self.behavior, self.open) {
            (Behavior::Isolated, _) => self.parts.push(next.start, next.end, None),
            (Behavior::Removed, _) if next.is_match => {}
            (Behavior::Removed, _) => self.parts.push(next.start, next.end, None),
            (_, Some(open)) if joins(open) => self.open = Some(Stretch { start: open.start, ..next }),
            _ => {
                self.finish();
                self.open = Some(next);
            }
        }
    }

    /// Completes the last chunk.
    #[inline]
    pub(super) fn finish(&mut self) {
        if let Some(Stretch { start, end, .. }) = self.open.take() {
            self.parts.push(start, end, None);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;
    use crate::aligned_text::AlignedText;

    #[test]
    fn each_behavior_gives_its_chunks() {
        // The ranges of "a--b-" for matches of "-".
        let stretches = [(0, 1, false), (1, 2, true), (2, 3, true), (3, 4, false), (4, 5, true)]
            .map(|(start, end, is_match)| Stretch { start, end, is_match });
        for (behavior, expected) in [
            (Behavior::Removed, &[0..1, 3..4][..]),
            (Behavior::Isolated, &[0..1, 1..2, 2..3, 3..4, 4..5]),
            (Behavior::MergedWithPrevious, &[0..2, 2..3, 3..5]),
            (Behavior::MergedWithNext, &[0..1, 1..2, 2..4, 4..5]),
            (Behavior::Contiguous, &[0..1, 1..3, 3..4, 4..5]),
        ] {
            let mut aligned = AlignedText::new("a--b-", false).unwrap();
            aligned
                .cut(|_, _, parts| {
                    let mut cutter = Cutter::new(behavior, parts);
                    stretches.iter().for_each(|&stretch| cutter.push(stretch));
                    cutter.finish();
                    Ok(())
                })
                .unwrap();
            let found: Vec<_> = aligned.chunks().iter().map(|piece| piece.range()).collect();
            assert_eq!(found, expected, "{behavior:?}");
        }
    }
}
