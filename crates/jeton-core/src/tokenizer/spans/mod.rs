//! Spans of the tokens of a text, in bytes and in characters.
//!
//! Invariant: byte spans are ascending and disjoint, and cover the text if nothing is dropped. A token that covers no
//! bytes has an empty span at its position. If normalization expands a character to several tokens, the first of them
//! has all bytes of the character.
//!
//! *Offsets* are Hugging Face's ranges: from the origin of a token's first byte to the origin of its last byte. The
//! offsets of different tokens can overlap.
//!
//! ```text
//! token_widths      spans by id alone, if a text is the concatenation of its tokens
//! one_to_one        spans by character, if characters are normalized one by one (`character_widths`)
//! known_ids         spans from a trace of the stages, without running the model
//! batch_spans       columns of a batch, by one of the three modules above; known_spans: the same for one text
//! batch_words       indices of pretokens; word_offsets: offsets inside words
//! char_index        bytes → characters
//! token_texts       texts of tokens, as the model sees them
//! span_sink         the column that spans are written to
//! ```

pub(in crate::tokenizer) mod batch_spans;
pub(in crate::tokenizer) mod batch_words;
pub(in crate::tokenizer) mod char_index;
pub(in crate::tokenizer) mod character_widths;
pub(in crate::tokenizer) mod known_ids;
pub(in crate::tokenizer) mod known_spans;
pub(in crate::tokenizer) mod one_to_one;
pub(in crate::tokenizer) mod span_sink;
pub(in crate::tokenizer) mod token_texts;
pub(in crate::tokenizer) mod token_widths;
pub(in crate::tokenizer) mod word_offsets;

use super::pipeline::permit::Permit;
use super::pipeline::segments::{Origin, Segment};
use super::pipeline::Tokenizer;
use crate::aligned_text::InputRange;
use crate::error::Result;
use crate::model::{Out, Scratch};
use crate::postprocess::Item;
use crate::util::cancel::{CancelCheck, KeepGoing};
use crate::vocab::Vocab;

/// Number of tokens in a chunk. The Python objects of a chunk take some megabytes.
const CHUNK: usize = 1 << 14;

/// Ids of a text with their spans.
#[derive(Debug, Clone, Default)]
pub struct Encoding {
    /// Ids of the text's tokens.
    pub ids: Vec<u32>,
    /// Half-open byte range of each token.
    pub byte_spans: Vec<(usize, usize)>,
    /// Smallest range of characters that covers each byte range of `byte_spans`. Invalid UTF-8 counts as the characters
    /// by which Python's `errors="replace"` replaces it.
    pub char_spans: Vec<(usize, usize)>,
    /// Hugging Face's offsets, in characters.
    pub offsets: Vec<(usize, usize)>,
    /// For each pretoken and added token: start and end of its byte range, and the index of its first id.
    pub pretokens: Vec<(usize, usize, usize)>,
    /// Byte ranges of the text that no token covers.
    pub dropped: Vec<(usize, usize)>,
}

/// Chunk of consecutive tokens of a text, or of the template.
#[derive(Debug, Clone, Copy)]
pub struct SpanChunk<'c> {
    /// Ids of the chunk's tokens.
    pub ids: &'c [u32],
    /// Half-open byte range of each id in the text; for tokens of the template, the empty range at the start or end
    /// of the text.
    pub byte_spans: &'c [(usize, usize)],
    /// True if the tokens are from the text, false if they are from the template.
    pub from_text: bool,
}

impl Tokenizer {
    /// Encodes `text` with the spans of its ids.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub fn encode_with_spans(&self, text: &[u8], permit: &Permit<'_>, keep_going: KeepGoing<'_>) -> Result<Encoding> {
        self.encode_head_with_spans(text, permit, usize::MAX, keep_going)
    }

    /// Encodes only the first pretokens, until they have `most` tokens. The model does not process the rest of the
    /// text, so errors there are not reported.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub fn encode_head_with_spans(
        &self,
        text: &[u8],
        permit: &Permit<'_>,
        most: usize,
        keep_going: KeepGoing<'_>,
    ) -> Result<Encoding> {
        let mut placer = Placer::default();
        self.for_each_segment(text, permit, true, keep_going, |segment| {
            if placer.encoding.ids.len() >= most {
                return Ok(());
            }
            self.place(&segment, text, permit, keep_going, &mut placer)
        })?;
        let Placer { mut encoding, offsets, cursor, .. } = placer;
        let mut seen = text;
        if encoding.ids.len() < most {
            if cursor < text.len() {
                encoding.dropped.push((cursor, text.len()));
            }
        } else {
            let ends = encoding.byte_spans.iter().chain(&offsets).map(|span| span.1);
            seen = &text[..ends.max().map_or(0, |end| end.min(text.len()))];
        }
        let starts = char_starts(seen);
        encoding.char_spans = char_ranges(&starts, &encoding.byte_spans);
        encoding.offsets = offsets.iter().map(|&span| char_range(&starts, span)).collect();
        Ok(encoding)
    }

    /// Calls `each` with the tokens of `text` in order, in chunks of some thousands, so that memory does not grow with
    /// the number of tokens. With `template`, includes the tokens of the template for one text.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`]; errors of `each`.
    pub fn encode_in_chunks(
        &self,
        text: &[u8],
        permit: &Permit<'_>,
        template: bool,
        keep_going: KeepGoing<'_>,
        each: &mut dyn FnMut(SpanChunk<'_>) -> Result<()>,
    ) -> Result<()> {
        let items = self.template.single();
        let is_text = |item: &Item| matches!(item, Item::Sequence { .. });
        let mut left = items.iter().filter(|item| is_text(item)).count();
        let mut at = 0; // byte position of the template's next tokens
        for item in items {
            match item {
                Item::Ids { ids, .. } if template => {
                    each(SpanChunk { ids, byte_spans: &vec![(at, at); ids.len()], from_text: false })?;
                }
                Item::Ids { .. } => {}
                Item::Sequence { .. } => {
                    let end = self.text_in_chunks(text, permit, keep_going, each)?;
                    left -= 1;
                    at = if left == 0 { text.len() } else { end };
                }
            }
        }
        Ok(())
    }

    /// Calls `each` with chunks of the ids and spans of a text, without a template. Returns the end of the last token.
    fn text_in_chunks(
        &self,
        text: &[u8],
        permit: &Permit<'_>,
        keep_going: KeepGoing<'_>,
        each: &mut dyn FnMut(SpanChunk<'_>) -> Result<()>,
    ) -> Result<usize> {
        let mut placer = Placer::default();
        let mut flush = |encoding: &mut Encoding, offsets: &mut Vec<(usize, usize)>| {
            let columns = encoding.ids.chunks(CHUNK).zip(encoding.byte_spans.chunks(CHUNK));
            for (ids, byte_spans) in columns {
                each(SpanChunk { ids, byte_spans, from_text: true })?;
            }
            for column in [&mut encoding.byte_spans, &mut encoding.dropped, offsets] {
                column.clear();
            }
            encoding.ids.clear();
            encoding.pretokens.clear();
            Ok(())
        };
        self.for_each_segment(text, permit, true, keep_going, |segment| {
            self.place(&segment, text, permit, keep_going, &mut placer)?;
            if placer.encoding.ids.len() < CHUNK {
                return Ok(());
            }
            flush(&mut placer.encoding, &mut placer.offsets)
        })?;
        flush(&mut placer.encoding, &mut placer.offsets)?;
        Ok(placer.cursor)
    }

    /// Encodes a segment and appends the spans of its tokens.
    fn place(
        &self,
        segment: &Segment<'_>,
        text: &[u8],
        permit: &Permit<'_>,
        keep_going: KeepGoing<'_>,
        placer: &mut Placer,
    ) -> Result<()> {
        let Placer { encoding, offsets, cursor, ends, scratch } = placer;
        let first = encoding.ids.len();
        ends.clear();
        let mut out = Out { special: permit.specials(), ..Out::with_ends(&mut encoding.ids, ends) };
        self.encode_segment(segment, keep_going, scratch, &mut out)?;
        let mut own = OwnBytes::new(segment, text);
        let mut cancel = CancelCheck::new(keep_going);
        let mut start = 0;
        for &end in &*ends {
            cancel.check()?;
            let span = own.span(start, end, *cursor);
            if *cursor < span.0 {
                encoding.dropped.push((*cursor, span.0));
            }
            *cursor = span.1;
            encoding.byte_spans.push(span);
            offsets.push(hf_offsets(segment, start, end));
            start = end;
        }
        if self.model.places_bytes_together() {
            place_bytes(&self.vocab, segment, &encoding.ids[first..], ends, &mut offsets[first..], &mut cancel)?;
        }
        let (from, to) = match segment.place {
            Origin::At(at) => (at, at + segment.bytes.len()),
            Origin::Traced { source, .. } => (source.whole.start as usize, source.whole.end as usize),
            Origin::After(at) => (at, at),
        };
        encoding.pretokens.push((from, to, first));
        Ok(())
    }
}

/// Spans of the tokens so far, and buffers for the current segment.
#[derive(Default)]
struct Placer {
    encoding: Encoding,
    offsets: Vec<(usize, usize)>, // Hugging Face's offsets, in bytes
    cursor: usize,                // end of the last span: all bytes before it are covered or dropped
    ends: Vec<usize>,
    scratch: Scratch,
}

/// Input ranges of the bytes of a segment, read in order. The trace can give several adjacent bytes the same range. If
/// these bytes are unchanged text, each byte gets its own one-byte range instead. The one-byte ranges are computed, not
/// stored: for a document that is one segment, they would take 16 bytes for each byte.
pub(in crate::tokenizer) struct OwnBytes<'s> {
    segment: &'s Segment<'s>,
    text: &'s [u8],
    /// Range of bytes of the segment that have the same input range.
    run: std::ops::Range<usize>,
    /// True if the bytes of `run` are unchanged text.
    is_unchanged: bool,
}

impl<'s> OwnBytes<'s> {
    pub(in crate::tokenizer) fn new(segment: &'s Segment<'s>, text: &'s [u8]) -> Self {
        Self { segment, text, run: 0..0, is_unchanged: false }
    }

    /// Returns the span of the token that consists of bytes `start..end` of the segment. All bytes of the input before
    /// `cursor` belong to earlier tokens or are dropped.
    pub(in crate::tokenizer) fn span(&mut self, start: usize, end: usize, cursor: usize) -> (usize, usize) {
        let ranges = if start < end { self.range(start).zip(self.range(end - 1)) } else { None };
        let (from, to) = ranges.map_or((cursor, cursor), |(first, last)| (first.0.max(cursor), last.1));
        if from < to {
            (from, to)
        } else {
            (cursor, cursor)
        }
    }

    /// Returns the input range of a byte; None if the byte has none. `index` must not decrease between calls.
    fn range(&mut self, index: usize) -> Option<(usize, usize)> {
        let sources = match self.segment.place {
            Origin::Traced { source, .. } => source.bytes,
            Origin::At(at) => return (index < self.segment.bytes.len()).then_some((at + index, at + index + 1)),
            Origin::After(_) => return None,
        };
        let range = |index: usize| sources.get(index).map(|range| (range.start as usize, range.end as usize));
        while index >= self.run.end {
            let start = self.run.end;
            let (from, to) = range(start)?;
            let len = sources[start..].iter().take_while(|&&next| next == sources[start]).count();
            self.run = start..start + len;
            self.is_unchanged = self.segment.bytes.get(self.run.clone()) == self.text.get(from..to);
        }
        let (from, to) = range(self.run.start)?;
        Some(match self.is_unchanged {
            true => (from + index - self.run.start, from + index - self.run.start + 1),
            false => (from, to),
        })
    }
}

/// Returns Hugging Face's offsets of the bytes `start..end` of a segment: from the start of the first byte's range in
/// the input to the end of the last byte's range.
pub(in crate::tokenizer) fn hf_offsets(segment: &Segment<'_>, start: usize, end: usize) -> (usize, usize) {
    match segment.place {
        Origin::At(at) => (at + start, at + end),
        Origin::Traced { hf, .. } => match hf.bytes.get(start..end) {
            Some([InputRange { start, .. }, .., InputRange { end, .. }] | [InputRange { start, end }]) => {
                (*start as usize, *end as usize)
            }
            _ => (hf.whole.start as usize + start, hf.whole.start as usize + end),
        },
        Origin::After(at) => (at, at),
    }
}

/// Gives each token in a run of byte-fallback tokens (such as `<0x0A>`) the offsets of the whole run, as HF's Unigram
/// does. Each of these tokens stands for one byte, although its spelling is longer.
pub(in crate::tokenizer) fn place_bytes(
    vocab: &Vocab,
    segment: &Segment<'_>,
    ids: &[u32],
    ends: &[usize],
    offsets: &mut [(usize, usize)],
    cancel: &mut CancelCheck<'_>,
) -> Result<()> {
    let start = |i: usize| if i == 0 { 0 } else { ends[i - 1] };
    let is_byte = |i: usize| ends[i] - start(i) == 1 && vocab.content(ids[i]).len() > 1;
    let mut i = 0;
    while i < ends.len() {
        let from = i;
        while i < ends.len() && is_byte(i) {
            i += 1;
        }
        match from < i {
            true => offsets[from..i].fill(hf_offsets(segment, start(from), ends[i - 1])),
            false => i += 1,
        }
        cancel.check()?;
    }
    Ok(())
}

/// Returns the start of each character. An invalid sequence counts as one character, as in Python's
/// `errors="replace"`.
fn char_starts(text: &[u8]) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut at = 0;
    for chunk in text.utf8_chunks() {
        starts.extend(chunk.valid().char_indices().map(|(i, _)| at + i));
        at += chunk.valid().len();
        if !chunk.invalid().is_empty() {
            starts.push(at);
            at += chunk.invalid().len();
        }
    }
    starts
}

/// Returns the smallest range of characters that covers a byte range.
fn char_range(starts: &[usize], (start, end): (usize, usize)) -> (usize, usize) {
    if start == end {
        let at = starts.partition_point(|&byte| byte < start);
        return (at, at);
    }
    (starts.partition_point(|&byte| byte <= start).saturating_sub(1), starts.partition_point(|&byte| byte < end))
}

/// Converts ascending byte ranges to character ranges, in one pass.
fn char_ranges(starts: &[usize], byte_spans: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut first = 0; // index of the character that contains the start of the current range
    let place = |&(start, end): &(usize, usize)| {
        while first + 1 < starts.len() && starts[first + 1] <= start {
            first += 1;
        }
        if start == end {
            return char_range(starts, (start, end));
        }
        let mut past = first;
        while past < starts.len() && starts[past] < end {
            past += 1;
        }
        (first, past)
    };
    byte_spans.iter().map(place).collect()
}
