//! Spans of a text, or of a part of it, whose ids are known. The text is normalized and split again, with alignments,
//! but the model does not run.
//!
//! The tokens of a pretoken are found by their contents: the next ids are consumed until the concatenated contents of
//! their tokens equal the bytes of the pretoken. The content of an unknown token, a byte-fallback entry and a few other
//! tokens differs from the bytes that the token covers, so a pretoken with such a token is encoded again.
//!
//! Invariant: if a result is returned, its values equal those of [`Tokenizer::encode_with_spans`]. Cost: the stages
//! before the model with alignments, and one comparison for each token. Memory: linear in the longest pretoken.

use super::char_index::CharIndex;
use super::span_sink::{Column, SpanSink};
use super::token_widths::SpanKind;
use super::{hf_offsets, place_bytes, OwnBytes};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Out, Scratch};
use crate::tokenizer::pipeline::permit::Permit;
use crate::tokenizer::pipeline::segments::{Origin, Segment};
use crate::tokenizer::pipeline::Tokenizer;
use crate::util::cancel::{CancelCheck, KeepGoing};
use crate::vocab::alphabet::EndOfWord;
use crate::vocab::{Kind, Vocab};

/// Buffers that are reused for several texts.
#[derive(Default)]
pub(in crate::tokenizer) struct KnownIds {
    chars: CharIndex,
    ends: Vec<usize>,
    again: Vec<u32>, // ids of a pretoken that is encoded again
    spans: Vec<(usize, usize)>,
    scratch: Scratch,
}

/// Part of a text that can be encoded independently of the rest.
#[derive(Debug, Clone, Copy)]
pub(in crate::tokenizer) struct TextPart<'t> {
    /// Text of the part.
    pub(in crate::tokenizer) text: &'t str,
    /// Number of bytes, and number of characters, before the part.
    pub(in crate::tokenizer) before: (usize, usize),
    /// Index of the part's first id among the ids of the text.
    pub(in crate::tokenizer) first_id: usize,
    /// False if the part is the whole text.
    pub(in crate::tokenizer) is_part: bool,
}

impl<'t> TextPart<'t> {
    /// Returns a part that is the whole text.
    pub(in crate::tokenizer) fn whole(text: &'t str) -> Self {
        Self { text, before: (0, 0), first_id: 0, is_part: false }
    }
}

impl Tokenizer {
    /// Writes the elements of the column for one part of a text. `part.first_id` is the index of the part's first id;
    /// the index after its last id is returned. Returns None if the column must be computed in another way, for example
    /// because the part may contain an added token.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub(in crate::tokenizer) fn trace_known(
        &self,
        part: TextPart<'_>,
        ids: &[u32],
        permit: &Permit<'_>,
        known: &mut KnownIds,
        sink: &mut SpanSink<'_>,
        keep_going: KeepGoing<'_>,
    ) -> Result<Option<usize>> {
        let text = part.text;
        if !matches!(sink.column, Column::Words(_)) {
            known.chars.set(text);
        }
        let mut at = part.first_id;
        let mut last_end = 0; // end of the last token so far, in bytes of the part
        let traced = !matches!(sink.column, Column::Words(_));
        let done = self.for_each_segment(text.as_bytes(), permit, traced, keep_going, |segment| {
            let len = self.match_ids(&segment, &ids[at..], permit, known, keep_going)?;
            let own = at..at + len;
            let is_entry = |&id: &u32| matches!(self.vocab.kind(id), Kind::Token | Kind::EndsWord);
            let unk = self.model.unk();
            let is_entries = || ids[own.clone()].iter().all(|id| is_entry(id) || Some(*id) == unk);
            if part.is_part && (segment.added.is_some() || !is_entries()) {
                return Err(not_known());
            }
            at += len;
            match &mut sink.column {
                Column::Words(words) => words[own].fill(sink.word),
                Column::Spans(SpanKind::Offsets, out) => {
                    let first = sink.first.get_mut(own.clone()).unwrap_or_default();
                    let columns = (&mut out[own.clone()], first);
                    self.write_hf_offsets(
                        &segment,
                        part,
                        (own.start, &ids[own]),
                        known,
                        columns,
                        &mut last_end,
                        keep_going,
                    )?;
                }
                Column::Spans(kind, out) => {
                    write_own(&segment, part, known, *kind, &mut out[own], &mut last_end)?;
                }
            }
            sink.word += 1;
            Ok(())
        });
        match done {
            Err(error) if matches!(error.kind(), ErrorKind::Internal(_)) => Ok(None),
            Err(error) => Err(error),
            Ok(()) => Ok(Some(at)),
        }
    }

    /// Writes Hugging Face's offsets of the ids of a segment. `at` is the index of the first id.
    #[allow(clippy::too_many_arguments)]
    fn write_hf_offsets(
        &self,
        segment: &Segment<'_>,
        part: TextPart<'_>,
        (at, ids): (usize, &[u32]),
        known: &mut KnownIds,
        (out, first): (&mut [[i64; 2]], &mut [[i64; 2]]),
        last_end: &mut usize,
        keep_going: KeepGoing<'_>,
    ) -> Result<()> {
        let KnownIds { chars, ends, spans, .. } = known;
        let shift = part.before.1;
        spans.clear();
        let mut start = 0;
        for &end in &*ends {
            spans.push(hf_offsets(segment, start, end));
            start = end;
        }
        if self.model.places_bytes_together() {
            place_bytes(&self.vocab, segment, ids, ends, spans, &mut CancelCheck::new(keep_going))?;
        }
        for (index, ((&id, &span), out)) in ids.iter().zip(&*spans).zip(out).enumerate() {
            let offsets = chars.range(part.text, span);
            let mut own = offsets;
            if self.template.trim_offsets() {
                let is_entry = matches!(self.vocab.kind(id), Kind::Token | Kind::EndsWord);
                let is_raw = matches!(segment.place, Origin::At(_));
                // If a token is not an entry of the model, its bytes may differ from the text at the token's
                // offsets.
                if !is_entry && (segment.added.is_none() || !is_raw && span.0 < *last_end)
                    || self.model.shows_text_of(id)
                {
                    return Err(not_known());
                }
                let white = self.white_ends(part.text.as_bytes(), id, span);
                white.trim(self.template.add_prefix_space(), at + index, &mut own);
                if let Some(first) = first.get_mut(index) {
                    let mut own = offsets;
                    white.trim(self.template.add_prefix_space(), 0, &mut own);
                    *first = [own.0 as i64, own.1 as i64];
                }
                *last_end = (*last_end).max(span.1);
            }
            *out = [(own.0 + shift) as i64, (own.1 + shift) as i64];
        }
        Ok(())
    }

    /// Finds the ends of the tokens of a segment. The ids of these tokens are the first elements of `ids`. Returns the
    /// number of tokens.
    pub(in crate::tokenizer) fn match_ids(
        &self,
        segment: &Segment<'_>,
        ids: &[u32],
        permit: &Permit<'_>,
        known: &mut KnownIds,
        keep_going: KeepGoing<'_>,
    ) -> Result<usize> {
        let KnownIds { ends, again, scratch, .. } = known;
        ends.clear();
        if segment.added.is_none() && self.match_contents(segment.bytes, ids, ends) {
            return Ok(ends.len());
        }
        ends.clear();
        again.clear();
        let mut out = Out { special: permit.specials(), ..Out::with_ends(again, ends) };
        self.encode_segment(segment, keep_going, scratch, &mut out)?;
        match ids.starts_with(again) && ends.len() == again.len() {
            true => Ok(again.len()),
            false => Err(not_known()),
        }
    }

    /// Compares the contents of tokens with a pretoken, and writes the ends of the tokens. Returns false if the
    /// contents differ from the pretoken.
    fn match_contents(&self, pretoken: &[u8], ids: &[u32], ends: &mut Vec<usize>) -> bool {
        if self.model.as_bpe().is_some_and(|bpe| bpe.alphabet.end == EndOfWord::Symbol) {
            return false; // the end-of-word mark is not in the text
        }
        let (unk, prefix) = (self.model.unk(), self.model.continuing_prefix().as_bytes());
        let mut at = 0;
        let mut ids = ids.iter();
        while at < pretoken.len() {
            let Some(&id) = ids.next().filter(|&&id| Some(id) != unk) else { return false };
            let prefix = if at == 0 { &[] } else { prefix };
            match own_bytes(&self.vocab, id, prefix, &pretoken[at..]) {
                None | Some(0) => return false,
                Some(len) => at += len,
            }
            ends.push(at);
        }
        true
    }
}

/// Writes byte or character spans of the tokens of a segment. `cursor` is the end of the token that was written last,
/// as a byte offset in the part.
fn write_own(
    segment: &Segment<'_>,
    part: TextPart<'_>,
    known: &KnownIds,
    kind: SpanKind,
    out: &mut [[i64; 2]],
    cursor: &mut usize,
) -> Result<()> {
    let (before_bytes, before_chars) = part.before;
    let mut own = OwnBytes::new(segment, part.text.as_bytes());
    let mut start = 0;
    for (&end, out) in known.ends.iter().zip(out) {
        let span = own.span(start, end, *cursor);
        if part.is_part && span == (0, 0) {
            return Err(not_known()); // the span is empty, and the previous part determines its position
        }
        *cursor = span.1;
        *out = match kind {
            SpanKind::Bytes => [(span.0 + before_bytes) as i64, (span.1 + before_bytes) as i64],
            _ => {
                let chars = known.chars.range(part.text, span);
                [(chars.0 + before_chars) as i64, (chars.1 + before_chars) as i64]
            }
        };
        start = end;
    }
    Ok(())
}

/// Returns how many bytes at the start of `text` a token covers: the length of its content without `prefix`. Returns
/// None if the content lacks the prefix, if `text` does not start with the rest, or if the content of a token of this
/// kind can differ from the text.
fn own_bytes(vocab: &Vocab, id: u32, prefix: &[u8], text: &[u8]) -> Option<usize> {
    let content = vocab.content(id);
    match vocab.kind(id) {
        Kind::Token | Kind::EndsWord | Kind::Added => {}
        _ => return None,
    }
    if content.starts_with(b"<0x") {
        return None; // the token may be a byte-fallback entry
    }
    let own = content.strip_prefix(prefix)?;
    text.starts_with(own).then_some(own.len())
}

/// Creates the error that stops the computation of spans from known ids. This module catches the error, so that the
/// caller can compute the spans in another way.
fn not_known() -> Error {
    ErrorKind::Internal("the tokens of a pretoken are not those of the text".into()).into()
}
