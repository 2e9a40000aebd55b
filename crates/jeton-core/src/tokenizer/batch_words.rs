//! Index of the pretoken of each id of many texts, as a column: Hugging Face's `word_ids`.
//!
//! The fast path gives the ids. Where words are separated by white space, pretokens follow from the widths of tokens
//! (`one_to_one`). Other texts are split again, and the ids of a pretoken are those whose contents are its bytes
//! (`known_ids`); the model runs only where contents do not tell.
//!
//! Invariant: indices equal those of the pretokens of [`Tokenizer::encode_with_spans`], for any number of threads. Cost: the
//! stages before the model, and 8 bytes and a comparison for each id. Left out: templates and truncation.

use super::batch_spans::TextError;
use super::fast_path::{groups, Input, KeepGoingMut, PART};
use super::known_spans::SpanBuffers;
use super::permit::Permit;
use super::pipeline::Tokenizer;
use super::span_sink::SpanSink;
use crate::error::{ErrorKind, Result};
use crate::model::{Out, Scratch};
use crate::parallel;
use crate::util::cancel::KeepGoing;

/// Ids of many texts, and the pretokens that they belong to.
#[derive(Debug, Clone, Default)]
pub struct BatchWords {
    /// The ids of all texts.
    pub ids: Vec<u32>,
    /// The ids of text i are `ends[i]..ends[i + 1]`.
    pub ends: Vec<i64>,
    /// Index of the pretoken of each id in its text.
    pub words: Vec<i64>,
}

impl Tokenizer {
    /// Encodes many texts with the indices of their pretokens.
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
            let mut words = Vec::new();
            for index in groups[group].clone() {
                let ids = &ids[ends[index] as usize..ends[index + 1] as usize];
                let found = self.append_words(texts[index], ids, permit, &mut buffers, &mut words, keep_going);
                if let Err(error) = found {
                    return Ok(Err((index, error)));
                }
            }
            Ok(Ok(words))
        };
        let mut words = Vec::with_capacity(ids.len());
        for (group, done) in groups.iter().zip(parallel::jobs(groups.len(), threads, watch, work)) {
            words.append(&mut done.map_err(|error| (group.start, error))??);
        }
        Ok(BatchWords { ids, ends, words })
    }

    /// Appends the index of the pretoken of each of `ids`, those of a text.
    fn append_words(
        &self,
        text: Input<'_>,
        ids: &[u32],
        permit: &Permit<'_>,
        buffers: &mut SpanBuffers,
        words: &mut Vec<i64>,
        keep_going: KeepGoing<'_>,
    ) -> Result<()> {
        let first = words.len();
        words.resize(first + ids.len(), 0);
        let mut sink = SpanSink::of_words(&mut words[first..]);
        if self.write_known(text, ids, permit, buffers, &mut sink, keep_going)? {
            return Ok(());
        }
        words.truncate(first);
        let (mut again, mut scratch, mut word) = (Vec::with_capacity(ids.len()), Scratch::default(), 0);
        let mut ends = Vec::new();
        self.for_each_segment(text.bytes, permit, false, keep_going, |segment| {
            let mut out = Out { special: permit.specials(), ..Out::with_ends(&mut again, &mut ends) };
            self.encode_segment(&segment, keep_going, &mut scratch, &mut out)?;
            words.resize(first + again.len(), word);
            word += 1;
            Ok(())
        })?;
        match again == ids {
            true => Ok(()),
            false => Err(ErrorKind::Internal("the ids of a text differ with and without pretokens".into()).into()),
        }
    }
}
