//! Worker of the counter: counts the pretokens in some parts of the text, with its own table.
//!
//! Named patterns take the fast path: a bit-parallel scan finds the starts of pretokens, and the pretokens of a window
//! are counted as one batch. Other patterns yield pretokens one by one. Plain version: [`BatchPart::for_each_span`]
//! and a map from pretokens to counts.

use super::stages::Stages;
use super::table::{Counts, KeyBatch, Mark};
use crate::error::{Error, ErrorKind, Result};
use crate::parallel::{BatchPart, Landing};
use crate::pretokenize::{Pretokenizer, StartFinder, Starts};
use crate::util::cancel::{CancelCheck, KeepGoing};

/// Part of a document that contains no special token.
#[derive(Debug, Clone, Copy)]
pub(super) struct DocumentSegment<'t> {
    pub(super) text: &'t str,
    pub(super) document: usize,
    pub(super) at: usize,  // offset of its first byte in the document
    pub(super) place: u64, // position of its first byte in the corpus
}

/// Table and buffers of a counting thread.
#[derive(Debug, Default)]
pub(super) struct CountWorker {
    counts: Counts,
    starts: Starts,
    batch: Box<KeyBatch>,
    takes_back: bool,
}

impl CountWorker {
    /// Counts the pretokens that start in `part`.
    ///
    /// # Errors
    /// Errors of the stages, with the byte offset in the concatenated segments; the errors of [`Counts::add`];
    /// `Interrupted`.
    pub(super) fn count(
        &mut self,
        part: &BatchPart<'_>,
        stages: &Stages,
        segments: &[DocumentSegment<'_>],
        keep_going: KeepGoing<'_>,
    ) -> Result<Landing> {
        let mut index = part.texts().start;
        part.for_each_range(|text, from, until| {
            let place = segments[index].place;
            let next = match stages {
                Stages::Parts(parts) => {
                    let end = place + (text.len() as u64) * stages.places_a_byte();
                    let mut at = place;
                    parts.for_each(text, keep_going, |pretoken| {
                        at += 1;
                        if at > end {
                            return Err(Error::text("the normalizer makes over 128 pretokens of a byte", 0));
                        }
                        self.one(pretoken, at - 1)
                    })?;
                    Ok(text.len())
                }
                Stages::Pattern(pattern) => match pattern.finder() {
                    Some(finder) => self.windows(finder, text, from, until, place, keep_going),
                    None => self.spans(pattern, text, from, until, place, keep_going),
                },
            };
            let before = |error: Error| error.shifted(segments[..index].iter().map(|before| before.text.len()).sum());
            let next = next.map_err(before)?;
            index += 1;
            Ok(next)
        })
    }

    /// Fast path: counts the pretokens of whole windows of text.
    fn windows(
        &mut self,
        finder: StartFinder<'_>,
        text: &str,
        from: usize,
        until: usize,
        place: u64,
        keep_going: KeepGoing<'_>,
    ) -> Result<usize> {
        let Self { counts, starts, batch, takes_back } = self;
        finder.for_each_window(starts, text, from, until, None, keep_going, |rest, bounds| {
            if !keep_going() {
                return Err(ErrorKind::Interrupted.into());
            }
            if *takes_back {
                let spans = bounds.windows(2).map(|pair| pair[0] as usize..pair[1] as usize);
                spans.for_each(|span| take_back(counts, &rest[span]));
                return Ok(());
            }
            counts.add_all(rest, bounds, place + (text.len() - rest.len()) as u64, batch)
        })
    }

    /// Slow path: counts pretokens one by one.
    fn spans(
        &mut self,
        pattern: &Pretokenizer,
        text: &str,
        from: usize,
        until: usize,
        place: u64,
        keep_going: KeepGoing<'_>,
    ) -> Result<usize> {
        let mut cancel = CancelCheck::new(keep_going);
        for span in pattern.spans_from(text, from) {
            let span = span?;
            if span.start >= until {
                return Ok(span.start);
            }
            self.one(&text.as_bytes()[span.start..span.end], place + span.start as u64)?;
            cancel.check()?;
        }
        Ok(text.len())
    }

    fn one(&mut self, pretoken: &[u8], place: u64) -> Result<()> {
        if self.takes_back {
            take_back(&mut self.counts, pretoken);
            return Ok(());
        }
        self.counts.add_at(pretoken, 1, place)
    }

    /// Returns the current number of entries and arena bytes of the table.
    pub(super) fn mark(&self) -> Mark {
        self.counts.mark()
    }

    /// Undoes all counts that were added after `mark`. For this, `again` must count the same text a second time; while
    /// it runs, each occurrence is subtracted instead of added.
    ///
    /// # Errors
    /// Errors of `again`.
    pub(super) fn undo(&mut self, mark: Mark, again: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        self.takes_back = true;
        let done = again(self);
        self.takes_back = false;
        self.counts.forget_since(mark);
        done
    }

    /// Returns the table.
    pub(super) fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Returns the table and drops the buffers.
    pub(super) fn into_counts(self) -> Counts {
        self.counts
    }
}

/// Subtracts one occurrence that was counted earlier.
fn take_back(counts: &mut Counts, pretoken: &[u8]) {
    let taken = counts.take_away(pretoken, 1);
    debug_assert!(taken.is_ok());
}
