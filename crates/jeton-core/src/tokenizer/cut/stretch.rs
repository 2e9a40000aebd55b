//! Finds the longest prefix of a text that has at most a given number of tokens, for the case that this prefix ends
//! inside of a long stretch without a joint.
//!
//! Such a stretch is usually inside of one pretoken: a run of letters, or text without white space. Suppose that all
//! stages keep any two adjacent characters of the stretch together and process them independently (`PairEffect::Keep`).
//! Then a prefix that ends in the stretch has the same pretokens as the text, except that its last pretoken is cut. So
//! only the tokens of the prefixes of this one pretoken have to be counted: by `model/prefixes` for models that merge,
//! and by the table of best segmentations for Unigram.
//!
//! Invariant: every longer prefix exceeds the limit. For Unigram the returned prefix itself may exceed the limit
//! because of rounding. Cost: the text that `limit` tokens may cover (`token_reach`) is normalized and encoded once.
//! Prefixes are then tried from the longest on, and each one that exceeds the limit takes some hundred nanoseconds.
//!
//! Left out: stages whose effect on pairs of characters is unknown, and models that do not merge (except Unigram). In
//! these cases, positions are found by bisection.

use std::collections::HashMap;

use super::chunk::ceil;
use crate::error::{Error, ErrorKind, Result};
use crate::model::prefixes::{PrefixCounter, PretokenTokens};
use crate::model::{Model, Out, Scratch, Specials};
use crate::tokenizer::pipeline::permit::Permit;
use crate::tokenizer::pipeline::segments::Origin;
use crate::tokenizer::pipeline::Tokenizer;
use crate::util::cancel::KeepGoing;

/// A stretch may begin with adjacent characters that are not kept together, usually white space and marks of the
/// previous word. This is the maximum number of bytes of that beginning.
const HEAD: usize = 64;

/// Bytes per token in the first read of [`Tokenizer::longest_in_stretch`]: it reads `FIRST` × the maximum number of
/// tokens. If the limit may not be reached within this text, the function reads twice as much.
const FIRST: usize = 8;

/// A stretch of a text without a joint, with its context.
#[derive(Debug, Clone, Copy)]
pub(in crate::tokenizer) struct JointlessStretch<'t> {
    /// The text that begins with the character before the stretch, and ends at a joint after the stretch or at the end
    /// of the whole text.
    pub(in crate::tokenizer) text: &'t str,
    /// Number of bytes of the character before the stretch; 0 if the stretch begins a part (one of the pieces into
    /// which a text is cut).
    pub(in crate::tokenizer) context: usize,
    /// Number of tokens of the character before the stretch.
    pub(in crate::tokenizer) num_context: usize,
}

/// Cache of the results of [`Tokenizer::keeps`] for pairs of characters.
pub(in crate::tokenizer) type KeptPairs = HashMap<(char, char), bool>;

/// The last pretoken of a text, as bytes that the model gets.
#[derive(Debug, Default)]
struct LastPretoken {
    bytes: Vec<u8>,
    ends: Vec<usize>,  // byte of the pretoken -> end of its source in the text
    num_before: usize, // number of tokens of all pretokens before it
}

impl Tokenizer {
    /// Finds the longest prefix with at most `limit` tokens in a stretch, and returns the end of this prefix; None if
    /// the end cannot be determined. Tokens of the context (the character before the stretch) do not count. Every
    /// prefix that is longer than the returned end exceeds the limit. If the returned end is the end of the head (see
    /// `head_of_kept`), the prefix up to this end may exceed the limit, too, because pretokens can begin in the head.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub(in crate::tokenizer) fn longest_in_stretch(
        &self,
        stretch: JointlessStretch<'_>,
        limit: usize,
        permit: &Permit<'_>,
        kept: &mut KeptPairs,
        keep_going: KeepGoing<'_>,
    ) -> Result<Option<usize>> {
        let longest = self.token_reach().longest();
        let limit = limit + stretch.num_context;
        let mut size = limit.saturating_mul(FIRST).max(4 * HEAD);
        loop {
            let end = ceil(stretch.text, stretch.context.saturating_add(size).min(stretch.text.len()));
            let text = &stretch.text[..end];
            let Some(head) = self.head_of_kept(text, kept) else { return Ok(None) };
            let Some(last) = self.last_pretoken(text, permit, keep_going)? else { return Ok(None) };
            let Some(left) = limit.checked_sub(last.num_before) else { return Ok(Some(head)) };
            // Normalization can make a token longer than the text that it covers, so the bound is in bytes of the
            // normalized pretoken.
            let reached = self.token_reach().end(&last.bytes, 0, left);
            if reached + longest >= last.bytes.len() && end < stretch.text.len() {
                size = size.saturating_mul(2);
                continue;
            }
            let positions = text.char_indices().map(|(at, _)| at).chain([end]).filter(|&at| at > head);
            let ends: Vec<(usize, usize)> =
                positions.map(|at| (at, last.ends.partition_point(|&own| own <= at))).collect();
            let found = self.last_within(&last, &ends, reached, left, permit.specials(), keep_going)?;
            return Ok(found.map(|found| found.unwrap_or(head)));
        }
    }

    /// Returns the last position in `ends` up to which the pretoken has at most `limit` tokens; `Some(None)` if there
    /// is no such position, `None` if it cannot be determined. Each element of `ends` is a pair: a position in the
    /// text, and the number of bytes of the pretoken up to this position. `reached` is an upper bound of the number of
    /// bytes that `limit` tokens of the pretoken cover.
    fn last_within(
        &self,
        last: &LastPretoken,
        ends: &[(usize, usize)],
        reached: usize,
        limit: usize,
        special: Specials<'_>,
        keep_going: KeepGoing<'_>,
    ) -> Result<Option<Option<usize>>> {
        let candidates = ends.iter().rev().skip_while(|&&(_, bytes)| bytes > reached);
        if let Model::Unigram(unigram) = &self.model {
            let pretoken = &last.bytes[..ceil_bytes(&last.bytes, reached)];
            let Some(counts) = unigram.counts_of_prefixes(pretoken, special, keep_going)? else { return Ok(None) };
            let fits = |&&(_, bytes): &&(usize, usize)| counts.get(bytes).is_some_and(|&count| count as usize <= limit);
            return Ok(Some(candidates.into_iter().find(fits).map(|&(at, _)| at)));
        }
        let Some(mut counter) = PrefixCounter::new(&self.model, &self.vocab, self.token_reach().longest(), None) else {
            return Ok(None);
        };
        let pretoken = &last.bytes[..ceil_bytes(&last.bytes, reached)];
        let (mut ids, mut token_ends) = (Vec::new(), Vec::new());
        let mut out = Out::with_ends(&mut ids, &mut token_ends);
        self.model.encode(&self.vocab, pretoken, keep_going, &mut Scratch::default(), &mut out)?;
        if self.model.unk().is_some_and(|unk| ids.contains(&unk)) {
            return Ok(None);
        }
        let known = PretokenTokens { ids: &ids, ends: &token_ends, start: 0 };
        for &(at, bytes) in candidates {
            if bytes <= pretoken.len() && counter.count_prefix(pretoken, known, bytes, keep_going)? <= limit {
                return Ok(Some(Some(at)));
            }
        }
        Ok(Some(None))
    }

    /// Returns the end of the head of a text. The stages before the model may separate some characters from the
    /// preceding character (see [`Tokenizer::keeps`]). The head ends with the last character that may be separated.
    /// After the head, the stages keep all adjacent characters together. If no character may be separated, the head is
    /// the first character. Returns None if the last character of the head begins more than [`HEAD`] bytes from the
    /// start of the text.
    fn head_of_kept(&self, text: &str, kept: &mut KeptPairs) -> Option<usize> {
        let mut head = 0;
        let mut before = None;
        for (at, right) in text.char_indices() {
            if let Some(left) = before {
                if !*kept.entry((left, right)).or_insert_with(|| self.keeps(left, right)) {
                    head = at;
                    if at > HEAD {
                        return None;
                    }
                }
            }
            before = Some(right);
        }
        // The stages may split the text at `head`. The function therefore returns the end of the character that begins
        // at `head`; at this end, the stages never split the text.
        text[head..].chars().next().map(|first| head + first.len_utf8())
    }

    /// Returns the last pretoken of a text; None if the text has an added token.
    fn last_pretoken(
        &self,
        text: &str,
        permit: &Permit<'_>,
        keep_going: KeepGoing<'_>,
    ) -> Result<Option<LastPretoken>> {
        let (mut last, mut scratch, mut ids) = (LastPretoken::default(), Scratch::default(), Vec::new());
        let done = self.for_each_segment(text.as_bytes(), permit, true, keep_going, |segment| {
            if segment.added.is_some() {
                return Err(not_certain());
            }
            if !last.bytes.is_empty() {
                let mut out = Out { special: permit.specials(), ..Out::ids(&mut ids) };
                self.model.encode(&self.vocab, &last.bytes, keep_going, &mut scratch, &mut out)?;
            }
            last.bytes.clear();
            last.bytes.extend_from_slice(segment.bytes);
            last.ends.clear();
            match segment.place {
                Origin::At(start) => last.ends.extend((1..=segment.bytes.len()).map(|len| start + len)),
                Origin::Traced { source, .. } => last.ends.extend(source.bytes.iter().map(|range| range.end as usize)),
                Origin::After(_) => return Err(not_certain()),
            }
            Ok(())
        });
        last.num_before = ids.len();
        let is_ascending = last.ends.is_sorted() && last.ends.len() == last.bytes.len();
        match done {
            Ok(()) => Ok(Some(last).filter(|_| is_ascending)),
            Err(error) if matches!(error.kind(), ErrorKind::Internal(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Returns the next position that begins a character.
fn ceil_bytes(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(|&byte| byte & 0xC0 == 0x80) {
        at += 1;
    }
    at
}

/// Creates the error with which `last_pretoken` stops if the last pretoken is not certain. `last_pretoken` itself
/// catches this error and returns None.
fn not_certain() -> Error {
    ErrorKind::Internal("the pretokens of a stretch are not certain".into()).into()
}
