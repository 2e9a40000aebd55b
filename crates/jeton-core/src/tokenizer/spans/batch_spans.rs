//! Offsets of the tokens of many texts, as columns.
//!
//! The fast path computes the ids. If a text is the concatenation of its tokens, the offsets follow from the ids
//! (`token_widths`). If characters are normalized one by one, the offsets follow from the number of characters of each
//! token (`one_to_one`). Other texts are normalized and split again, with alignments, and their pretokens are matched
//! with the ids without running the model (`known_ids`). If the ids do not match, the text is encoded again with its
//! spans.
//!
//! Invariant: offsets equal those of [`Tokenizer::encode_with_spans`], trimmed as the template requires, for any
//! number of threads.
//!
//! Cost: 16 bytes and one lookup for each id. Source: huggingface/tokenizers, tokenizer/encoding.rs. Left out:
//! truncation.

use std::sync::{Mutex, PoisonError};

use super::known_spans::SpanBuffers;
use super::token_widths::SpanKind;
use crate::error::{Error, ErrorKind};
use crate::parallel;
use crate::tokenizer::pipeline::fast_path::{groups, Input, PART};
use crate::tokenizer::pipeline::permit::Permit;
use crate::tokenizer::pipeline::Tokenizer;
use crate::util::buffer_pool;
use crate::util::cancel::{KeepGoing, KeepGoingMut};

/// Ids of many texts, and Hugging Face's offsets of their tokens.
#[derive(Debug, Clone, Default)]
pub struct BatchOffsets {
    /// The ids of all texts.
    pub ids: Vec<u32>,
    /// Boundaries between texts: the ids of text i are `ends[i]..ends[i + 1]`.
    pub ends: Vec<i64>,
    /// Start and end of each token, in characters of its text.
    pub offsets: Vec<i64>,
    /// Offsets that each token would have as the first token of a truncated text; empty if they cannot differ from
    /// `offsets`.
    pub first: Vec<i64>,
}

/// Ids of consecutive texts, and the columns that are filled for them.
struct Task<'a> {
    texts: &'a [Input<'a>],
    ends: &'a [i64],
    offsets: &'a mut [i64],
    first: &'a mut [i64],
}

/// Index of the text that failed, and the error.
pub(in crate::tokenizer) type TextError = (usize, Error);

impl Tokenizer {
    /// Encodes many texts with their offsets. With `truncates`, also fills [`BatchOffsets::first`].
    ///
    /// # Errors
    /// As [`Tokenizer::encode_batch`].
    pub fn encode_batch_with_offsets<'t, I: Into<Input<'t>> + Copy + Sync>(
        &self,
        texts: &[I],
        permit: &Permit<'_>,
        threads: usize,
        truncates: bool,
        watch: KeepGoingMut<'_>,
    ) -> std::result::Result<BatchOffsets, TextError> {
        let (ids, ends) = self.encode_batch(texts, permit, threads, watch)?;
        let texts: Vec<Input<'_>> = texts.iter().map(|&text| text.into()).collect();
        let has_first = truncates && self.template.trim_offsets() && self.template.add_prefix_space();
        let mut offsets = buffer_pool::OFFSETS.take_filled(2 * ids.len());
        let mut first = vec![0; if has_first { 2 * ids.len() } else { 0 }];
        let groups = groups(&texts, if threads <= 1 { usize::MAX } else { PART });
        let (mut rest, mut rest_of_first) = (&mut offsets[..], &mut first[..]);
        let mut tasks = Vec::with_capacity(groups.len());
        for group in &groups {
            let ends = &ends[group.start..=group.end];
            let len = 2 * (ends[ends.len() - 1] - ends[0]) as usize;
            let (own, after) = rest.split_at_mut(len);
            let (own_first, after_first) = rest_of_first.split_at_mut(if has_first { len } else { 0 });
            (rest, rest_of_first) = (after, after_first);
            let texts = &texts[group.clone()];
            tasks.push(Mutex::new(Some(Task { texts, ends, offsets: own, first: own_first })));
        }
        let work = |group: usize, keep_going: KeepGoing<'_>| {
            let task = tasks[group].lock().unwrap_or_else(PoisonError::into_inner).take();
            let Some(task) = task else { return Err(ErrorKind::Interrupted.into()) };
            Ok(self.fill(task, &ids, permit, keep_going).map_err(|(index, error)| (groups[group].start + index, error)))
        };
        let results = parallel::jobs(groups.len(), threads, watch, work);
        for (group, done) in groups.iter().zip(results) {
            done.map_err(|error| (group.start, error))??;
        }
        drop(tasks);
        Ok(BatchOffsets { ids, ends, offsets, first })
    }

    /// Writes the offsets of the texts of a task.
    fn fill(
        &self,
        task: Task<'_>,
        ids: &[u32],
        permit: &Permit<'_>,
        keep_going: KeepGoing<'_>,
    ) -> std::result::Result<(), TextError> {
        let Task { texts, ends, mut offsets, mut first } = task;
        let mut buffers = SpanBuffers::default();
        for (index, (text, range)) in texts.iter().zip(ends.windows(2)).enumerate() {
            let ids = &ids[range[0] as usize..range[1] as usize];
            let (own, rest) = offsets.split_at_mut(2 * ids.len());
            let (own_first, rest_of_first) = first.split_at_mut(if first.is_empty() { 0 } else { 2 * ids.len() });
            (offsets, first) = (rest, rest_of_first);
            if !keep_going() {
                return Err((index, ErrorKind::Interrupted.into()));
            }
            let columns = (own.as_chunks_mut().0, own_first.as_chunks_mut().0);
            self.write_spans(*text, ids, permit, &mut buffers, SpanKind::Offsets, columns, keep_going)
                .map_err(|error| (index, error))?;
        }
        Ok(())
    }
}
