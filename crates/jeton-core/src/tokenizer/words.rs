//! Counts the tokens in words, and in runs of characters whose scripts are written without spaces.
//!
//! Tokens are counted as they are found, and not stored, so a text takes only the memory of one chunk of spans.

use super::pipeline::permit::Permit;
use super::pipeline::Tokenizer;
use crate::error::Result;
use crate::parallel;
use crate::util::cancel::{CancelCheck, KeepGoing};
use crate::util::words::{RangeCounter, TokensInRanges, Words};

/// Numbers of tokens in words, and in runs of characters from scripts without spaces, for one or several texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokensInWords {
    /// Numbers of tokens in words.
    pub words: TokensInRanges,
    /// Numbers of tokens in runs. A run is a sequence of characters whose scripts are written without spaces.
    pub runs: TokensInRanges,
}

impl TokensInWords {
    fn plus(self, other: Self) -> Self {
        Self { words: self.words + other.words, runs: self.runs + other.runs }
    }
}

impl Tokenizer {
    /// Encodes `texts`, without templates, on up to `threads` threads, and counts the tokens in their words. `words`
    /// must come from the same texts.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`], for the first text that failed.
    pub fn count_in_words(
        &self,
        texts: &[&[u8]],
        words: &Words,
        permit: &Permit<'_>,
        threads: usize,
        watch: &mut dyn FnMut() -> bool,
    ) -> Result<TokensInWords> {
        let of_text = |index: usize, keep_going: KeepGoing<'_>| {
            let mut counters = Counters::of_text(words, index);
            self.encode_in_chunks(texts[index], permit, false, keep_going, &mut |chunk| {
                chunk.byte_spans.iter().for_each(|&span| counters.add(span));
                Ok(())
            })?;
            Ok(counters.finish())
        };
        let mut total = TokensInWords::default();
        for counts in parallel::jobs(texts.len(), threads, watch, of_text) {
            total = total.plus(counts?);
        }
        Ok(total)
    }

    /// Counts the tokens in the words of texts that are already encoded. `ids` has the tokens of all texts. `texts` has
    /// two numbers for each text: the index in `ids` at which the text ends, and the length of the text in bytes.
    ///
    /// The tokens of a text must decode to exactly the bytes of the text. Returns None if the decoded length differs
    /// from the length of the text, or if an id is not in the vocabulary.
    ///
    /// # Errors
    /// `Interrupted` when `keep_going` returns false.
    pub fn count_ids_in_words(
        &self,
        ids: &[u32],
        texts: &[(usize, usize)],
        words: &Words,
        keep_going: KeepGoing<'_>,
    ) -> Result<Option<TokensInWords>> {
        let mut cancel = CancelCheck::new(keep_going);
        let mut lengths = vec![None; self.vocab.len()]; // id -> number of decoded bytes
        let mut decoded = Vec::new();
        let mut total = TokensInWords::default();
        let mut first = 0;
        for (index, &(last, num_bytes)) in texts.iter().enumerate() {
            let mut counters = Counters::of_text(words, index);
            let mut at = 0;
            for &id in ids.get(first..last).unwrap_or_default() {
                let Some(length) = lengths.get_mut(id as usize) else { return Ok(None) };
                let length = *length.get_or_insert_with(|| {
                    decoded.clear();
                    self.decode_one(id, &mut decoded);
                    decoded.len()
                });
                counters.add((at, at + length));
                at += length;
                cancel.check()?;
            }
            if at != num_bytes {
                return Ok(None);
            }
            total = total.plus(counters.finish());
            first = last;
        }
        Ok(Some(total))
    }
}

/// Counters of the tokens of one text: one counts them in words, the other in runs.
struct Counters<'w> {
    words: RangeCounter<'w>,
    runs: RangeCounter<'w>,
}

impl<'w> Counters<'w> {
    fn of_text(words: &'w Words, index: usize) -> Self {
        Self { words: RangeCounter::new(words.words(index)), runs: RangeCounter::new(words.runs(index)) }
    }

    #[inline]
    fn add(&mut self, span: (usize, usize)) {
        self.words.add(span);
        self.runs.add(span);
    }

    fn finish(self) -> TokensInWords {
        TokensInWords { words: self.words.finish(), runs: self.runs.finish() }
    }
}
