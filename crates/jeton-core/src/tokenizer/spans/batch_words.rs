//! For each id of many texts, the index of its pretoken, as a column: Hugging Face's `word_ids`.
//!
//! The fast path computes the ids. How their pretokens are found depends on the tokenizer and the text:
//!
//! - One named pattern splits the text: the pattern runs again, and the widths of the tokens determine which tokens
//!   begin in each pretoken (`token_widths`).
//! - White space separates the words: the pretokens follow from the widths of the tokens (`one_to_one`).
//! - Otherwise, the stages before the model run again, and each pretoken gets the next ids whose concatenated contents
//!   equal its bytes (`known_ids`). The model runs again only if contents do not determine the ids.
//!
//! Invariant: indices equal those of the pretokens of [`Tokenizer::encode_with_spans`], for any number of threads.
//! Cost: the stages before the model; 8 bytes and one comparison for each id. Left out: templates and truncation.

use super::batch_spans::TextError;
use super::known_spans::SpanBuffers;
use super::span_sink::SpanSink;
use super::token_widths::TokenWidths;
use crate::error::{ErrorKind, Result};
use crate::model::{Out, Scratch};
use crate::parallel;
use crate::pretokenize::Starts;
use crate::tokenizer::pipeline::fast_path::{groups, Input, PART};
use crate::tokenizer::pipeline::permit::Permit;
use crate::tokenizer::pipeline::Tokenizer;
use crate::util::atomic_cell::made_once;
use crate::util::buffer_pool;
use crate::util::cancel::{KeepGoing, KeepGoingMut};

/// Ids of many texts, and the index of the pretoken of each id.
#[derive(Debug, Clone, Default)]
pub struct BatchWords {
    /// The ids of all texts.
    pub ids: Vec<u32>,
    /// Boundaries between texts: the ids of text i are `ends[i]..ends[i + 1]`.
    pub ends: Vec<i64>,
    /// For each id, the index of its pretoken among the pretokens of its text.
    pub words: Vec<i64>,
}

impl Tokenizer {
    /// Encodes many texts, and returns for each id the index of its pretoken, too.
    ///
    /// # Errors
    /// As [`Tokenizer::encode_batch`].
    pub fn encode_batch_with_words<'t, I: Into<Input<'t>> + Copy + Sync>(
        &self,
        texts: &[I],
        permit: &Permit<'_>,
        threads: usize,
        watch: KeepGoingMut<'_>,
    ) -> std::result::Result<BatchWords, TextError> {
        let (ids, ends) = self.encode_batch(texts, permit, threads, watch)?;
        let texts: Vec<Input<'_>> = texts.iter().map(|&text| text.into()).collect();
        let groups = groups(&texts, if threads <= 1 { usize::MAX } else { PART });
        let work = |group: usize, keep_going: KeepGoing<'_>| {
            let mut buffers = SpanBuffers::default();
            let (from, to) = (ends[groups[group].start] as usize, ends[groups[group].end] as usize);
            let mut words = vec![0; to - from];
            for index in groups[group].clone() {
                let own = ends[index] as usize..ends[index + 1] as usize;
                let (ids, out) = (&ids[own.clone()], &mut words[own.start - from..own.end - from]);
                if let Err(error) = self.write_words(texts[index], ids, permit, &mut buffers, out, keep_going) {
                    return Ok(Err((index, error)));
                }
            }
            Ok(Ok(words))
        };
        let mut words = Vec::new();
        for (group, done) in groups.iter().zip(parallel::jobs(groups.len(), threads, watch, work)) {
            let mut own = done.map_err(|error| (group.start, error))??;
            if words.is_empty() {
                words = own; // with one thread, there are no others
            } else {
                words.append(&mut own);
            }
        }
        Ok(BatchWords { ids, ends, words })
    }

    /// Returns, for each id, the index of its pretoken. `ids` are the ids to which the text was encoded.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub fn known_words(
        &self,
        text: Input<'_>,
        ids: &[u32],
        permit: &Permit<'_>,
        keep_going: KeepGoing<'_>,
    ) -> Result<Vec<i64>> {
        let mut words = buffer_pool::OFFSETS.take_filled(ids.len());
        self.write_words(text, ids, permit, &mut SpanBuffers::default(), &mut words, keep_going)?;
        Ok(words)
    }

    /// Writes, for each id, the index of its pretoken. `ids` are the ids to which the text was encoded.
    fn write_words(
        &self,
        text: Input<'_>,
        ids: &[u32],
        permit: &Permit<'_>,
        buffers: &mut SpanBuffers,
        words: &mut [i64],
        keep_going: KeepGoing<'_>,
    ) -> Result<()> {
        let widths = made_once(&self.widths, || self.token_widths()).as_ref();
        if let Some(widths) = widths {
            if self.write_words_by_width(text, ids, permit, widths, words, keep_going)? {
                return Ok(());
            }
        }
        if self.write_known(text, ids, permit, buffers, &mut SpanSink::of_words(words), keep_going)? {
            return Ok(());
        }
        let (mut again, mut scratch, mut word) = (Vec::with_capacity(ids.len()), Scratch::default(), 0);
        let mut ends = Vec::new();
        self.for_each_segment(text.bytes, permit, false, keep_going, |segment| {
            let first = again.len();
            let mut out = Out { special: permit.specials(), ..Out::with_ends(&mut again, &mut ends) };
            self.encode_segment(&segment, keep_going, &mut scratch, &mut out)?;
            words.get_mut(first..again.len()).unwrap_or_default().fill(word);
            word += 1;
            Ok(())
        })?;
        match again == ids {
            true => Ok(()),
            false => Err(ErrorKind::Internal("the ids of a text differ with and without pretokens".into()).into()),
        }
    }

    /// Like [`Tokenizer::write_words`], for texts that one named pattern splits. In the normalized text, a token
    /// belongs to the pretoken in which it begins. Returns false if widths do not determine the pretokens.
    fn write_words_by_width(
        &self,
        text: Input<'_>,
        ids: &[u32],
        permit: &Permit<'_>,
        widths: &TokenWidths,
        words: &mut [i64],
        keep_going: KeepGoing<'_>,
    ) -> Result<bool> {
        let (Some(pretokenizer), Some(valid)) = (&self.plain, text.valid()) else { return Ok(false) };
        let Some(finder) = pretokenizer.finder() else { return Ok(false) };
        let (mut id, mut at, mut word) = (0, 0, 0);
        let mut starts = Starts::default();
        let mut is_known = true;
        // Called with the ends of successive pretokens, relative to `from`. This is a single loop over the tokens,
        // because a branch on the number of tokens of a pretoken would often be mispredicted.
        let mut to = |from: usize, ends: &[u32]| {
            let mut index = 0;
            while let Some(&end) = ends.get(index) {
                let Some((&own, out)) = ids.get(id).zip(words.get_mut(id)) else {
                    is_known = false;
                    break;
                };
                *out = word;
                let bytes = widths.num_bytes(&self.vocab, own);
                at += bytes;
                let is_end = at == from + end as usize;
                is_known &= (bytes != 0) & (at <= from + end as usize);
                index += usize::from(is_end);
                word += i64::from(is_end);
                id += 1;
            }
        };
        let mut before = 0; // number of bytes of normalized text before the current run
        self.stretches(valid.as_bytes(), permit, |span, added| {
            if added.is_some() {
                to(before, &[(span.end - span.start) as u32]);
                before += span.end - span.start;
                return Ok(());
            }
            let normalized = self.normalized(&valid[span.start..span.end], keep_going)?;
            self.normalized_stretches(&normalized, span.start, permit, |span, added| {
                let stretch = &normalized[span.start..span.end];
                if added.is_some() {
                    to(before, &[stretch.len() as u32]);
                } else {
                    let each = |rest: &[u8], bounds: &[u32]| {
                        to(before + stretch.len() - rest.len(), bounds.get(1..).unwrap_or_default());
                        match keep_going() {
                            true => Ok(()),
                            false => Err(ErrorKind::Interrupted.into()),
                        }
                    };
                    finder.for_each_window(&mut starts, stretch, 0, usize::MAX, None, keep_going, each)?;
                }
                before += stretch.len();
                Ok(())
            })
        })?;
        Ok(is_known && id == ids.len())
    }
}
