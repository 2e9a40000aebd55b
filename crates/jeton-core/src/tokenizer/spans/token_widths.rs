//! Widths of tokens in bytes and characters, by id, for tokenizers whose tokens, concatenated, are the encoded text.
//!
//! At byte level, if one pattern splits the text and no stage rewrites it, the bytes of a token are its content. So
//! spans follow from the ids, without reading the text again and without an alignment. A token may begin inside of a
//! character; Hugging Face's offsets then include the whole character.
//!
//! Two kinds of texts take the slow path. The first are texts with tokens that have no width: added tokens that include
//! white space around them, the unknown token, the end-of-word mark. The second are texts for which the widths do not
//! add up to the length, because the pattern drops white space.
//!
//! Cost: two bytes for each id, four if the template trims offsets; a lookup for each token.

use crate::postprocess::WhiteEnds;
use crate::vocab::Vocab;

/// Kind of a column of spans: see [`super::Encoding`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanKind {
    /// Byte ranges, which are disjoint.
    Bytes,
    /// Smallest ranges of characters that cover the byte ranges.
    Chars,
    /// Hugging Face's offsets, trimmed as the template requires.
    Offsets,
}

/// Width of a token. Fields from the lowest bit: 7 bits for the number of characters that begin in it, 1 bit for a
/// token that begins inside of a character, and 8 bits for the number of bytes; if the template trims offsets, also 8
/// bits each for leading and trailing white space. The value 0 means that the width is unknown.
type Width = u32;

const UNKNOWN: Width = 0;
/// Value for a token that is too wide for the fields. Its width is computed from its content.
const WIDE: Width = 0xFFFF;
const MAX_CHARS: usize = 126; // with 127 and all other bits set, a width would equal `WIDE`
const MAX_BYTES: usize = 255;

/// Table of the widths of all tokens, by id.
#[derive(Debug)]
pub(in crate::tokenizer) struct TokenWidths {
    table: Table,
    add_prefix_space: bool,
}

#[derive(Debug)]
enum Table {
    Widths(Vec<u16>),
    /// Widths that include the numbers of white-space characters at the start and at the end of the token.
    Trimmed(Vec<Width>),
}

/// Comparisons with the text that are needed in addition to the widths.
#[derive(Debug, Clone, Copy)]
pub(in crate::tokenizer) struct WidthChecks {
    /// True if the bytes of tokens may differ from the text that they cover.
    pub(in crate::tokenizer) contents: bool,
    /// True if widths do not determine the spans of tokens that begin inside of a character.
    pub(in crate::tokenizer) parts: bool,
}

/// The fields of a token's width, unpacked.
#[derive(Debug, Clone, Copy)]
struct Unpacked {
    bytes: usize,
    chars: i64,
    begins_inside: bool,
}

fn begins_char(byte: u8) -> bool {
    byte & 0xC0 != 0x80
}

impl Unpacked {
    fn of(content: &[u8]) -> Self {
        Self {
            bytes: content.len(),
            chars: content.iter().filter(|&&byte| begins_char(byte)).count() as i64,
            begins_inside: content.first().is_some_and(|&byte| !begins_char(byte)),
        }
    }

    fn packed(self) -> Width {
        if self.bytes > MAX_BYTES || self.chars as usize > MAX_CHARS {
            return WIDE;
        }
        (self.bytes as Width) << 8 | Width::from(self.begins_inside) << 7 | self.chars as Width
    }

    #[inline(always)]
    fn from(width: Width) -> Self {
        Self { bytes: (width >> 8 & 255) as usize, chars: i64::from(width & 127), begins_inside: width >> 7 & 1 != 0 }
    }
}

impl TokenWidths {
    /// Creates the table of all widths. `is_known` returns false for a token that has no width. `white_ends` returns
    /// the white space that the template excludes from the offsets of a token; None if the template does not trim.
    /// `add_prefix_space` is an option of the template.
    pub(in crate::tokenizer) fn new(
        vocab: &Vocab,
        is_known: impl Fn(u32) -> bool,
        white_ends: Option<&dyn Fn(u32) -> WhiteEnds>,
        add_prefix_space: bool,
    ) -> Self {
        let width = |id: u32| {
            let content = vocab.content(id);
            let ends = white_ends.map(|white_ends| white_ends(id)).unwrap_or_default();
            match [ends.leading, ends.trailing].map(u8::try_from) {
                [Ok(leading), Ok(trailing)] if is_known(id) && !content.is_empty() => {
                    Unpacked::of(content).packed() | Width::from(leading) << 16 | Width::from(trailing) << 24
                }
                _ => UNKNOWN,
            }
        };
        let widths = (0..vocab.len() as u32).map(width);
        let table = match white_ends {
            Some(_) => Table::Trimmed(widths.collect()),
            None => Table::Widths(widths.map(|width| width as u16).collect()),
        };
        Self { table, add_prefix_space }
    }

    /// Writes the spans of `ids`, to which `text` was encoded; `text` is valid UTF-8. For each token, also writes to
    /// `first` the offsets that it would have if truncation removed all tokens before it; `first` is empty if these
    /// offsets are not needed. Returns false if the widths do not determine the spans.
    pub(in crate::tokenizer) fn write(
        &self,
        vocab: &Vocab,
        (ids, text): (&[u32], &[u8]),
        checks: WidthChecks,
        kind: SpanKind,
        out: &mut [[i64; 2]],
        first: &mut [[i64; 2]],
    ) -> bool {
        match &self.table {
            Table::Widths(widths) => {
                let kind = if kind == SpanKind::Bytes { kind } else { SpanKind::Chars };
                self.write_of(widths, vocab, (ids, text), checks, kind, out, first)
            }
            Table::Trimmed(widths) => self.write_of(widths, vocab, (ids, text), checks, kind, out, first),
        }
    }

    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    fn write_of<W: Copy + Into<Width>>(
        &self,
        widths: &[W],
        vocab: &Vocab,
        (ids, text): (&[u32], &[u8]),
        checks: WidthChecks,
        kind: SpanKind,
        out: &mut [[i64; 2]],
        first: &mut [[i64; 2]],
    ) -> bool {
        let (mut bytes, mut chars) = (0, 0); // number of bytes and of characters before the next token
        for (index, (&id, out)) in ids.iter().zip(out).enumerate() {
            let width = widths.get(id as usize).map_or(UNKNOWN, |&width| width.into());
            let token = match width & 0xFFFF {
                UNKNOWN => return false,
                WIDE => Unpacked::of(vocab.content(id)),
                width => Unpacked::from(width),
            };
            if checks.contents && text.get(bytes..bytes + token.bytes) != Some(vocab.content(id))
                || checks.parts && token.begins_inside
            {
                return false;
            }
            let (start, before) = (bytes, chars - i64::from(token.begins_inside));
            bytes += token.bytes;
            chars += token.chars;
            *out = match kind {
                SpanKind::Bytes => [start as i64, bytes as i64],
                SpanKind::Chars => [before, chars],
                SpanKind::Offsets => {
                    if let Some(first) = first.get_mut(index) {
                        *first = self.trimmed(width, 0, [before, chars]);
                    }
                    self.trimmed(width, index, [before, chars])
                }
            };
        }
        bytes == text.len()
    }

    /// Returns the number of bytes of a token; 0 if it has no width.
    #[inline(always)]
    pub(in crate::tokenizer) fn num_bytes(&self, vocab: &Vocab, id: u32) -> usize {
        let width = match &self.table {
            Table::Widths(widths) => Width::from(widths.get(id as usize).copied().unwrap_or_default()),
            Table::Trimmed(widths) => widths.get(id as usize).copied().unwrap_or_default() & 0xFFFF,
        };
        match width {
            WIDE => vocab.content(id).len(),
            width => (width >> 8) as usize,
        }
    }

    #[inline(always)]
    fn trimmed(&self, width: Width, index: usize, span: [i64; 2]) -> [i64; 2] {
        let ends = WhiteEnds { leading: (width >> 16 & 255) as usize, trailing: (width >> 24) as usize };
        let mut trimmed = (span[0] as usize, span[1] as usize);
        ends.trim(self.add_prefix_space, index, &mut trimmed);
        [trimmed.0 as i64, trimmed.1 as i64]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_packed_without_loss() {
        for content in ["a", "é", "中文", "\u{1f600}", &"x".repeat(126), &"é".repeat(126)] {
            for part in [content.as_bytes(), &content.as_bytes()[content.len() - 1..]] {
                let token = Unpacked::of(part);
                assert!(token.packed() != WIDE && token.packed() != UNKNOWN);
                let read = Unpacked::from(token.packed());
                assert_eq!(
                    (read.bytes, read.chars, read.begins_inside),
                    (token.bytes, token.chars, token.begins_inside)
                );
            }
        }
        for long in ["x".repeat(127), "中".repeat(86)] {
            assert_eq!(Unpacked::of(long.as_bytes()).packed(), WIDE);
        }
    }
}
