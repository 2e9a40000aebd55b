//! Where each id of a text comes from, in bytes and in characters.

use super::{Permit, Segment, Tokenizer};
use crate::error::Result;
use crate::interrupt::GoOn;
use crate::model::{Out, Scratch};

/// A text's ids and where each comes from.
#[derive(Debug, Clone, Default)]
pub struct Encoding {
    /// The ids.
    pub ids: Vec<u32>,
    /// Half-open byte range of each.
    pub byte_spans: Vec<(usize, usize)>,
    /// The smallest range of characters that covers it. A run of bytes that is no UTF-8 counts as Python's `errors="replace"` does.
    pub char_spans: Vec<(usize, usize)>,
    /// Byte range of each pretoken and added token, and the index of its first id.
    pub pretokens: Vec<(usize, usize, usize)>,
    /// Byte ranges that no token covers.
    pub dropped: Vec<(usize, usize)>,
}

impl Tokenizer {
    /// The ids of `text` with the place of each.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub fn encode_with_spans(&self, text: &[u8], permit: &Permit<'_>, go_on: GoOn<'_>) -> Result<Encoding> {
        let mut scratch = Scratch::default();
        let mut encoding = Encoding::default();
        let mut covered = 0;
        self.for_each_segment(text, permit, go_on, |segment| {
            let first = encoding.ids.len();
            let (Segment::Added(span, _) | Segment::Pretoken(span)) = segment;
            if covered < span.start {
                encoding.dropped.push((covered, span.start));
            }
            covered = span.end;
            encoding.pretokens.push((span.start, span.end, first));
            match segment {
                Segment::Added(span, id) => {
                    encoding.ids.push(id);
                    encoding.byte_spans.push((span.start, span.end));
                }
                Segment::Pretoken(span) => {
                    let mut ends = Vec::new();
                    let pretoken = &text[span.start..span.end];
                    let mut out = Out::with_ends(&mut encoding.ids, &mut ends);
                    let done = self.model.encode(&self.vocab, pretoken, go_on, &mut scratch, &mut out);
                    done.map_err(|error| error.shifted(span.start))?;
                    let mut start = span.start;
                    for end in ends {
                        encoding.byte_spans.push((start, span.start + end));
                        start = span.start + end;
                    }
                }
            }
            Ok(())
        })?;
        if covered < text.len() {
            encoding.dropped.push((covered, text.len()));
        }
        encoding.char_spans = char_spans(text, &encoding.byte_spans);
        Ok(encoding)
    }
}

/// The smallest character ranges that cover byte spans, which do not go backwards.
fn char_spans(text: &[u8], byte_spans: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut starts = Vec::new(); // byte where each character starts
    let mut at = 0;
    for chunk in text.utf8_chunks() {
        starts.extend(chunk.valid().char_indices().map(|(i, _)| at + i));
        at += chunk.valid().len();
        if !chunk.invalid().is_empty() {
            starts.push(at);
            at += chunk.invalid().len();
        }
    }
    let mut first = 0; // characters that start at or before the present byte, less one
    let place = |&(start, end): &(usize, usize)| {
        while first + 1 < starts.len() && starts[first + 1] <= start {
            first += 1;
        }
        let mut past = first;
        while past < starts.len() && starts[past] < end {
            past += 1;
        }
        if start == end {
            let at = starts.partition_point(|&byte| byte < start);
            return (at, at);
        }
        (first, past)
    };
    byte_spans.iter().map(place).collect()
}
