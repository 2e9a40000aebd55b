//! Column of spans, offsets or pretokens, written token by token.
//!
//! Invariant: the values equal those that [`super::Tokenizer::encode_with_spans`] gives for the text. Only offsets can
//! differ: they are trimmed if the template requires it.

use super::token_widths::SpanKind;

/// A column, and the state that is needed to write the next token.
pub(in crate::tokenizer) struct SpanSink<'o> {
    pub(in crate::tokenizer) column: Column<'o>,
    /// Output: for each token, the offsets that Hugging Face gives to it if truncation removes all tokens before it.
    /// Empty if these offsets are not requested.
    pub(in crate::tokenizer) first: &'o mut [[i64; 2]],
    /// Index of the next pretoken to be written.
    pub(in crate::tokenizer) word: i64,
}

pub(in crate::tokenizer) enum Column<'o> {
    Spans(SpanKind, &'o mut [[i64; 2]]),
    /// For each token, the index of its pretoken.
    Words(&'o mut [i64]),
}

impl<'o> SpanSink<'o> {
    pub(in crate::tokenizer) fn of_spans(kind: SpanKind, out: &'o mut [[i64; 2]], first: &'o mut [[i64; 2]]) -> Self {
        Self { column: Column::Spans(kind, out), first, word: 0 }
    }

    pub(in crate::tokenizer) fn of_words(out: &'o mut [i64]) -> Self {
        Self { column: Column::Words(out), first: &mut [], word: 0 }
    }
}
