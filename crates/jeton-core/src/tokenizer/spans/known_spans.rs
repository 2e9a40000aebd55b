//! Spans of the tokens of a text, as columns, if the ids are known.
//!
//! At byte level, spans follow from the widths of tokens (`token_widths`). If characters are normalized one by one
//! (`one_to_one`), spans follow from Hugging Face's offsets. The offsets of two tokens can overlap; the span of the
//! later token is then only the part that is not yet covered. Other texts are normalized again with alignments
//! (`known_ids`). If this fails, they are encoded again.
//!
//! Invariant: spans equal those of [`Tokenizer::encode_with_spans`], and offsets equal those of
//! [`Tokenizer::encode_batch_with_offsets`]. Cost: 16 bytes and one lookup for each id; one pass over a text that is
//! not ASCII. Left out: templates (`frame`).

use super::char_index::CharReader;
use super::character_widths::{OneToOne, INSIDE};
use super::known_ids::{KnownIds, TextPart};
use super::span_sink::SpanSink;
use super::token_widths::{SpanKind, TokenWidths, WidthChecks};
use super::word_offsets::WordReader;
use crate::error::{ErrorKind, Result};
use crate::normalize::Normalizer;
use crate::postprocess::WhiteEnds;
use crate::tokenizer::pipeline::build::{LSTRIP, RSTRIP};
use crate::tokenizer::pipeline::fast_path::Input;
use crate::tokenizer::pipeline::permit::Permit;
use crate::tokenizer::pipeline::Tokenizer;
use crate::util::atomic_cell::made_once;
use crate::util::buffer_pool;
use crate::util::cancel::KeepGoing;
use crate::vocab::alphabet::{EndOfWord, Level};
use crate::vocab::Kind;

impl Tokenizer {
    /// Returns the spans of a text's tokens as a column with two numbers for each id, start and end. `ids` are the ids
    /// to which the text was encoded.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub fn known_spans(
        &self,
        text: Input<'_>,
        ids: &[u32],
        permit: &Permit<'_>,
        kind: SpanKind,
        keep_going: KeepGoing<'_>,
    ) -> Result<Vec<i64>> {
        let mut spans = buffer_pool::OFFSETS.take_filled(2 * ids.len());
        let columns: (&mut [[i64; 2]], &mut [[i64; 2]]) = (spans.as_chunks_mut().0, &mut []);
        self.write_spans(text, ids, permit, &mut SpanBuffers::default(), kind, columns, keep_going)?;
        Ok(spans)
    }

    /// Writes a column of spans for `ids`, the ids of the encoded text. If `first` is not empty, a second column is
    /// written to `first`: the offsets of each token in case truncation removes all tokens before this token.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    #[allow(clippy::too_many_arguments)]
    pub(in crate::tokenizer) fn write_spans(
        &self,
        text: Input<'_>,
        ids: &[u32],
        permit: &Permit<'_>,
        buffers: &mut SpanBuffers,
        kind: SpanKind,
        (out, first): (&mut [[i64; 2]], &mut [[i64; 2]]),
        keep_going: KeepGoing<'_>,
    ) -> Result<()> {
        let widths = made_once(&self.widths, || self.token_widths()).as_ref();
        if let (Some(valid), Some(widths)) = (text.valid(), widths) {
            let contents = self.raw_pattern().is_none();
            // A splitter after `ByteLevel`, which spells each byte as a character, can split inside of a character of
            // the text.
            let parts = contents && self.splitters.len() > 1 && kind != SpanKind::Offsets;
            let checks = WidthChecks { contents, parts };
            if widths.write(&self.vocab, (ids, valid.as_bytes()), checks, kind, out, first) {
                return Ok(());
            }
        }
        let mut sink = SpanSink::of_spans(kind, out, first);
        if self.write_known(text, ids, permit, buffers, &mut sink, keep_going)? {
            return Ok(());
        }
        self.trace(text.bytes, ids, permit, kind, (out, first), keep_going)
    }

    /// Returns the widths of tokens; None if the concatenated tokens do not equal the text.
    pub(in crate::tokenizer) fn token_widths(&self) -> Option<TokenWidths> {
        let alphabet = &self.model.as_bpe()?.alphabet;
        // Normalization forms (such as NFC) are permitted here, because they leave some texts unchanged. A later step
        // compares the bytes of the tokens with the text, to see if the form changed the text.
        let keeps_text = self.normalizers.iter().all(Normalizer::is_form);
        if !keeps_text || alphabet.level != Level::Byte || alphabet.end != EndOfWord::None {
            return None;
        }
        let is_known = |id| match self.vocab.kind(id) {
            Kind::Token => Some(id) != alphabet.unk(),
            Kind::Added | Kind::Special => Some(id) != alphabet.unk() && self.flags(id) & (LSTRIP | RSTRIP) == 0,
            _ => false,
        };
        let white_ends = |id| {
            let content = self.vocab.content(id);
            self.white_ends(content, id, (0, content.len()))
        };
        let white_ends: Option<&dyn Fn(u32) -> WhiteEnds> =
            if self.template.trim_offsets() { Some(&white_ends) } else { None };
        Some(TokenWidths::new(&self.vocab, is_known, white_ends, self.template.add_prefix_space()))
    }

    /// Writes a column of spans by encoding the text again.
    fn trace(
        &self,
        text: &[u8],
        ids: &[u32],
        permit: &Permit<'_>,
        kind: SpanKind,
        (out, first): (&mut [[i64; 2]], &mut [[i64; 2]]),
        keep_going: KeepGoing<'_>,
    ) -> Result<()> {
        let encoding = self.encode_with_spans(text, permit, keep_going)?;
        if encoding.ids != ids {
            return Err(ErrorKind::Internal("the ids of a text differ with and without spans".into()).into());
        }
        let column = match kind {
            SpanKind::Bytes => &encoding.byte_spans,
            SpanKind::Chars => &encoding.char_spans,
            SpanKind::Offsets => &encoding.offsets,
        };
        let trims = kind == SpanKind::Offsets && self.template.trim_offsets();
        for (index, (&(mut own), out)) in column.iter().zip(out).enumerate() {
            if trims {
                let ends = self.white_ends(text, ids[index], encoding.byte_spans[index]);
                if let Some(first) = first.get_mut(index) {
                    let mut own = own;
                    ends.trim(self.template.add_prefix_space(), 0, &mut own);
                    *first = [own.0 as i64, own.1 as i64];
                }
                ends.trim(self.template.add_prefix_space(), index, &mut own);
            }
            *out = [own.0 as i64, own.1 as i64];
        }
        Ok(())
    }

    /// Writes a column (spans, offsets or pretokens) for `ids`, the ids of the encoded text. The column is computed
    /// from the alignment of single characters. If this alignment does not determine the column, the alignment of the
    /// whole text is used instead. Returns false if the text must be encoded again.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub(in crate::tokenizer) fn write_known(
        &self,
        text: Input<'_>,
        ids: &[u32],
        permit: &Permit<'_>,
        buffers: &mut SpanBuffers,
        sink: &mut SpanSink<'_>,
        keep_going: KeepGoing<'_>,
    ) -> Result<bool> {
        let Some(valid) = text.valid() else { return Ok(false) };
        let SpanBuffers { reader, known } = buffers;
        let one_to_one = made_once(&self.one_to_one, || self.one_to_one()).as_ref();
        if let Some(aligned) = one_to_one {
            if aligned.write(self, (ids, valid), permit, (reader, known), sink, keep_going)? {
                return Ok(true);
            }
        }
        sink.word = 0;
        Ok(self.trace_known(TextPart::whole(valid), ids, permit, known, sink, keep_going)? == Some(ids.len()))
    }
}

/// Buffers that are reused for several texts.
#[derive(Default)]
pub(in crate::tokenizer) struct SpanBuffers {
    pub(in crate::tokenizer) reader: WordReader,
    pub(in crate::tokenizer) known: KnownIds,
}

impl OneToOne {
    /// Converts Hugging Face's offsets to spans in bytes or characters, for a text that is one pretoken. Returns false
    /// if the offsets do not determine the spans. `shares_first`: true if normalization prepends a mark such as `▁`
    /// to the text and aligns this mark to the first character of the text.
    pub(in crate::tokenizer) fn to_disjoint(
        &self,
        (ids, text): (&[u32], &str),
        shares_first: bool,
        kind: SpanKind,
        spans: &mut [[i64; 2]],
    ) -> bool {
        if ids.iter().any(|&id| self.is_inside(id)) {
            return self.write_with_bytes(ids, text.as_bytes(), shares_first, kind, spans);
        }
        let mut covered = 0; // number of covered characters
        for span in &mut *spans {
            let start = span[0].max(covered);
            *span = if start < span[1] { [start, span[1]] } else { [covered, covered] };
            covered = span[1];
        }
        if kind == SpanKind::Bytes && !text.is_ascii() {
            let mut reader = CharReader { text: text.as_bytes(), chars: 0, bytes: 0 };
            for span in spans {
                *span = [reader.skip_to(span[0]), reader.skip_to(span[1])];
            }
        }
        true
    }

    fn is_inside(&self, id: u32) -> bool {
        self.widths.get(id as usize).is_some_and(|&width| width & INSIDE != 0)
    }

    /// Like [`OneToOne::to_disjoint`], for a text with byte-fallback tokens. The bytes of these tokens must equal the
    /// bytes of the text. On input, `spans` has Hugging Face's offsets; on output, it has the result.
    fn write_with_bytes(
        &self,
        ids: &[u32],
        text: &[u8],
        shares_first: bool,
        kind: SpanKind,
        spans: &mut [[i64; 2]],
    ) -> bool {
        let mut reader = CharReader { text, chars: 0, bytes: 0 };
        let mut at = 0; // end of the last token, in bytes
        let Some(byte_ids) = &self.bytes else { return false };
        let is_byte = |id, at: i64| text.get(at as usize).is_some_and(|&byte| byte_ids[usize::from(byte)] == id);
        let mut is_inside = ids.first().is_some_and(|&id| self.is_inside(id));
        for (index, (&id, span)) in ids.iter().zip(spans).enumerate() {
            let starts_bytes = ids.get(index + 1).is_some_and(|&next| self.is_inside(next));
            let is_inside = std::mem::replace(&mut is_inside, starts_bytes);
            if is_inside || starts_bytes {
                if !is_byte(id, at) || shares_first && span[0] == 0 || !is_inside && span[0] != reader.chars {
                    return false;
                }
                if kind == SpanKind::Bytes {
                    *span = [at, at + 1];
                }
                at += 1;
                if !starts_bytes {
                    // The next token does not begin inside of a character, so this one must end where a character ends.
                    if reader.skip_to(reader.chars + 1) != at {
                        return false;
                    }
                } else if is_inside && text.get(at as usize).is_none_or(|byte| byte & 0xC0 != 0x80) {
                    return false;
                }
                continue;
            }
            let start = span[0].max(reader.chars);
            let chars = if start < span[1] { [start, span[1]] } else { [reader.chars; 2] };
            let bytes = [reader.skip_to(chars[0]), reader.skip_to(chars[1])];
            *span = if kind == SpanKind::Bytes { bytes } else { chars };
            at = bytes[1];
        }
        at == text.len() as i64
    }
}
