//! Spans of tokens, for tokenizers that normalize each character independently, split text into words, and drop white
//! space.
//!
//! The tokens of a word cover the normalized characters of the word in order, so the widths of the tokens determine the
//! spans. The spelling of a token is not compared with the text, but the tokens of a word must cover the word exactly.
//! If a character is normalized to several characters, or to none, a list maps each normalized character to the
//! original character.
//!
//! An unknown token of WordPiece or WordLevel is a whole word. An unknown token of Unigram is a run of characters
//! that occur in no piece.
//!
//! A word is normalized again with alignments (`known_ids`) in two cases: the word has a character of the class
//! `CHANGES`, or the tokens do not cover the word exactly. The text that is normalized again extends on both sides to a
//! word boundary that is not next to a character of the class `CHANGES`.
//!
//! Invariant: the same as in `one_to_one`. Cost: one class lookup for each character, one width lookup for each token;
//! words that are normalized again have the cost of `known_ids`.

use super::char_index::CharReader;
use super::character_widths::{
    Image, WordRules, AMBIGUOUS, CHANGES, CLASS, CONTINUES, DROPPED, END, ISOLATED, MARKED, NOT_ONE, ORDINARY, UNKNOWN,
    WHITE,
};
use super::known_ids::{KnownIds, TextPart};
use super::span_sink::{Column, SpanSink};
use super::token_widths::SpanKind;
use crate::error::{ErrorKind, Result};
use crate::model::Model;
use crate::tokenizer::pipeline::permit::Permit;
use crate::tokenizer::pipeline::Tokenizer;
use crate::util::cancel::KeepGoing;

/// Number of bytes of text in a block, so that its classes fit the L2 cache. In tests, blocks are small, so that a
/// short text has several blocks.
const BLOCK: usize = if cfg!(test) { 16 } else { 1 << 15 };

/// Buffers that are reused for several texts.
#[derive(Default)]
pub(in crate::tokenizer) struct WordReader {
    classes: Vec<u8>,  // classes of the normalized characters of a block, followed by `END`
    origins: Vec<u32>, // for each of `classes`, index of the original character in the block; only with `has_origins`
    has_origins: bool, // if false, a normalized character and its original have equal indices
    is_ascii: bool,
}

/// A tokenizer, the widths of its tokens, and its rules for words.
#[derive(Clone, Copy)]
pub(in crate::tokenizer) struct Words<'a> {
    pub(in crate::tokenizer) tok: &'a Tokenizer,
    pub(in crate::tokenizer) widths: &'a [u8],
    pub(in crate::tokenizer) rules: &'a WordRules,
}

/// A word: the range of its normalized characters, and the index of its first id.
#[derive(Clone, Copy)]
struct Word {
    start: usize,
    end: usize,
    first_id: usize,
}

impl WordReader {
    /// Writes the column (spans, offsets or pretokens) for the ids of an encoded text. Returns false if the widths of
    /// the tokens do not determine the column.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub(in crate::tokenizer) fn write(
        &mut self,
        words: Words<'_>,
        (ids, text): (&[u32], &str),
        permit: &Permit<'_>,
        known: &mut KnownIds,
        sink: &mut SpanSink<'_>,
        keep_going: KeepGoing<'_>,
    ) -> Result<bool> {
        let is_words = matches!(sink.column, Column::Words(_));
        if is_words && !words.rules.ends_at_white || may_shift(words, text) {
            return Ok(false);
        }
        let mut block = TextPart { text, before: (0, 0), first_id: 0, is_part: true };
        while !block.text.is_empty() {
            let rest = block.text;
            block.text = &rest[..block_len(words, rest)];
            let chars = self.read(words, block.text);
            match self.write_block(words, block, ids, permit, known, sink, keep_going)? {
                Some(next) => block.first_id = next,
                None => return Ok(false),
            }
            let len = block.text.len();
            block.before = (block.before.0 + len, block.before.1 + chars);
            block.text = &rest[len..];
            if !block.text.is_empty() && !keep_going() {
                return Err(ErrorKind::Interrupted.into());
            }
        }
        Ok(block.first_id == ids.len())
    }

    /// Writes the elements of the column for a block of the text. Returns the index after the last id of the block;
    /// None if the widths of the tokens do not determine the column.
    #[allow(clippy::too_many_arguments)]
    fn write_block(
        &self,
        words: Words<'_>,
        block: TextPart<'_>,
        ids: &[u32],
        permit: &Permit<'_>,
        known: &mut KnownIds,
        sink: &mut SpanSink<'_>,
        keep_going: KeepGoing<'_>,
    ) -> Result<Option<usize>> {
        let (text, (bytes, chars)) = (block.text, block.before);
        let mut reader = CharReader { text: text.as_bytes(), chars: 0, bytes: 0 };
        let (mut at, mut id) = (0, block.first_id);
        loop {
            let before = at;
            while self.class(at) == WHITE {
                at += 1;
            }
            if self.class(at) == END {
                return Ok(Some(id));
            }
            let end = match self.class(at) {
                ISOLATED => at + 1,
                _ => at + self.classes[at..].iter().take_while(|&&class| class & CLASS == ORDINARY).count(),
            };
            if self.class(at) != CHANGES && self.class(end) != CHANGES {
                let place = (reader.chars, reader.bytes);
                let word = Word { start: at, end, first_id: id };
                if let Some(next) = self.write_word(words, word, ids, block.before, &mut reader, sink) {
                    (at, id) = (end, next);
                    sink.word += 1;
                    continue;
                }
                (reader.chars, reader.bytes) = place;
            }
            at = self.boundary(before, end.max(at + 1));
            // The normalizer may have removed characters before the first normalized character of the block. A part
            // that begins there includes the removed characters, because combining marks may be reordered across them.
            let first = if before == 0 { 0 } else { self.origin(before) };
            let from = reader.skip_to(first as i64) as usize;
            let to = reader.skip_to(self.origin(at) as i64) as usize;
            let before = (bytes + from, chars + first);
            let part = TextPart { text: &text[from..to], before, first_id: id, is_part: true };
            match words.tok.trace_known(part, ids, permit, known, sink, keep_going)? {
                Some(next) => id = next,
                None => return Ok(None),
            }
        }
    }

    #[inline(always)]
    fn class(&self, at: usize) -> u8 {
        self.classes.get(at).map_or(END, |class| class & CLASS)
    }

    /// Returns the index of the original character that was normalized to the character at `at`.
    #[inline(always)]
    fn origin(&self, at: usize) -> usize {
        if self.has_origins {
            self.origins[at] as usize
        } else {
            at
        }
    }

    /// Returns the first word boundary that is at or after `at`, is after `start`, and has no character of the class
    /// `CHANGES` next to it.
    fn boundary(&self, start: usize, at: usize) -> usize {
        let mut at = at.max(start + 1);
        loop {
            let (left, right) = (self.class(at - 1), self.class(at));
            let is_boundary = matches!(left, WHITE | ISOLATED) || matches!(right, WHITE | ISOLATED);
            if right == END || left != CHANGES && right != CHANGES && is_boundary {
                return at;
            }
            at += 1;
        }
    }

    /// Writes the elements of the column for a word. Returns the index after the last id of the word; None if the
    /// widths do not cover the word.
    #[inline(always)]
    fn write_word(
        &self,
        words: Words<'_>,
        word: Word,
        ids: &[u32],
        (bytes, chars): (usize, usize),
        reader: &mut CharReader<'_>,
        sink: &mut SpanSink<'_>,
    ) -> Option<usize> {
        let shifted = |span: [i64; 2], by: usize| [span[0] + by as i64, span[1] + by as i64];
        let Words { widths, rules, .. } = words;
        // `flag` tells whether a token begins or continues a word; `expected` is the value of the flag in the first
        // token of a word.
        let (flag, expected) = if rules.mark.is_some() { (MARKED, MARKED) } else { (CONTINUES, 0) };
        let (mut at, mut id) = (word.start, word.first_id);
        let mut covered = 0; // number of characters up to the end of the last span
        while at < word.end {
            let &own = ids.get(id)?;
            let begins = id == word.first_id;
            let width = widths.get(own as usize).copied().unwrap_or(0);
            let len = if width == 0 {
                self.unknown_len(words, word, own, at, begins)?
            } else {
                // The first token of a word must have the expected value of the flag. If words have marks, later tokens
                // must not have this value. If words have no marks, any token can follow.
                if begins && width & flag != expected || !begins && rules.mark.is_some() && width & flag == expected {
                    return None;
                }
                usize::from(width & (CONTINUES - 1))
            };
            // The first token can be only the mark that precedes a word (`▁`). It covers no character of the word, so
            // it is aligned to the first character.
            let last = at + len.max(1) - 1;
            if last >= word.end {
                return None;
            }
            let span = [self.origin(at) as i64, self.origin(last) as i64 + 1];
            match &mut sink.column {
                Column::Spans(SpanKind::Offsets, out) => out[id] = shifted(span, chars),
                Column::Spans(kind, out) => {
                    let start = span[0].max(covered);
                    let own = if start < span[1] { [start, span[1]] } else { [covered; 2] };
                    covered = own[1];
                    out[id] = match kind {
                        SpanKind::Bytes if !self.is_ascii => {
                            shifted([reader.skip_to(own[0]), reader.skip_to(own[1])], bytes)
                        }
                        SpanKind::Bytes => shifted(own, bytes),
                        _ => shifted(own, chars),
                    };
                }
                Column::Words(out) => out[id] = sink.word,
            }
            at += len;
            id += 1;
        }
        Some(id)
    }

    /// Returns the number of characters covered by the unknown token, which has no fixed width. Returns None if the
    /// number is uncertain, or if `id` is not the unknown token.
    #[cold]
    fn unknown_len(&self, words: Words<'_>, word: Word, id: u32, at: usize, begins: bool) -> Option<usize> {
        let Words { tok, rules, .. } = words;
        if Some(id) != tok.model.unk() {
            return None;
        }
        match &tok.model {
            Model::WordPiece(_) | Model::WordLevel(_) if rules.ends_at_white && begins => Some(word.end - word.start),
            Model::Unigram(_) if rules.mark.is_some() && !begins => {
                let rest = &self.classes[at..word.end];
                let run = rest.iter().take_while(|&&class| class & UNKNOWN != 0).count();
                let len = if rules.fuses_unknown { run } else { run.min(1) };
                let is_certain = rest.get(run).is_none_or(|class| class & AMBIGUOUS == 0);
                (is_certain && len > 0).then_some(len)
            }
            _ => None,
        }
    }

    /// Finds the classes of the characters of a block. Returns the number of characters.
    fn read(&mut self, words: Words<'_>, text: &str) -> usize {
        let Self { classes, origins, has_origins, is_ascii } = self;
        *is_ascii = text.is_ascii();
        classes.clear();
        origins.clear();
        *has_origins = false;
        if *is_ascii {
            classes.extend(text.bytes().map(|byte| words.rules.ascii[usize::from(byte & 0x7F)]));
            if classes.iter().fold(0, |all, class| all | class) & NOT_ONE == 0 {
                classes.push(END);
                return text.len();
            }
            classes.clear();
        }
        classes.reserve(text.len() + 1);
        let mut chars = 0u32;
        for c in text.chars() {
            let image = words.image(c);
            if image.len() == 1 {
                classes.push(image.entry(0));
                if *has_origins {
                    origins.push(chars);
                }
            } else {
                if !*has_origins {
                    origins.extend(0..chars);
                    *has_origins = true;
                }
                classes.extend((0..image.len()).map(|index| image.entry(index)));
                origins.resize(classes.len(), chars);
            }
            chars += 1;
        }
        classes.push(END);
        origins.push(chars);
        chars as usize
    }
}

impl Words<'_> {
    #[inline(always)]
    fn image(&self, c: char) -> Image {
        self.rules.images.of(c, |c| self.tok.character_image(c, self.rules))
    }
}

/// Returns true if the normalizer may remove characters at the start of the text and thereby shift the alignment.
fn may_shift(words: Words<'_>, text: &str) -> bool {
    let first = text.chars().next().map(|c| words.image(c).class());
    words.rules.may_shift && matches!(first, Some(CHANGES | DROPPED))
}

/// Returns the number of bytes of the next block of a text. The block ends at a word boundary that is not next to a
/// character of the class `CHANGES`.
fn block_len(words: Words<'_>, text: &str) -> usize {
    if text.len() <= BLOCK {
        return text.len();
    }
    let from = (BLOCK..).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len());
    let mut left = CHANGES;
    for (at, c) in text[from..].char_indices() {
        let right = words.image(c).class() & CLASS;
        let is_boundary = matches!(left, WHITE | ISOLATED) || matches!(right, WHITE | ISOLATED);
        if is_boundary && ![left, right].iter().any(|class| matches!(*class, CHANGES | DROPPED)) {
            return from + at;
        }
        left = right;
    }
    text.len()
}
