//! Spans of tokens for normalizers that process characters one by one.
//!
//! There are two kinds of tokenizers with such normalizers. In the first kind, the whole text is one pretoken, and each
//! character is normalized to one character: spaces become `▁`, and a `▁` may be prepended (SentencePiece's BPE, and
//! Hugging Face's `Prepend` and `Replace`). So the offset of a token is the number of characters in the tokens before
//! it. In the second kind, words are separated by white space, which is dropped, and each word may get a `▁` (BERT, T5,
//! mBART). So the offset of a token is the number of characters in the tokens before it, plus the white space between
//! their words (`word_offsets`).
//!
//! Invariant: if [`OneToOne::write`] returns true, the offsets that it has written equal those of
//! [`Tokenizer::encode_with_spans`]. Texts with added tokens take the slow path. In the first kind, two more groups of
//! texts take the slow path: texts with unknown tokens, and texts with characters that are not normalized to one
//! character. Memory: one byte for each id, and four bytes for each character that has occurred. Time: one lookup for
//! each token and, in the second kind, one for each character.

use super::char_index::num_chars;
use super::character_widths::{
    AlignedKind, Image, Images, KnownCharacters, OneToOne, WordRules, CHANGES, CONTINUES, DROPPED, INSIDE, ISOLATED,
    MARKED, MOST_IMAGE, NOT_ONE, WHITE,
};
use super::known_ids::KnownIds;
use super::span_sink::{Column, SpanSink};
use super::token_widths::SpanKind;
use super::word_offsets::{WordReader, Words};
use crate::error::Result;
use crate::model::Model;
use crate::normalize::Normalizer;
use crate::tokenizer::pipeline::permit::Permit;
use crate::tokenizer::pipeline::space_marks::SpaceMarks;
use crate::tokenizer::pipeline::Tokenizer;
use crate::util::cancel::KeepGoing;
use crate::vocab::alphabet::{byte_entries, EndOfWord, WORD_START};
use crate::vocab::{Kind, Vocab};

impl Tokenizer {
    /// Returns the widths of tokens in characters; None if the tokenizer is of neither kind (see the comment of this
    /// module).
    pub(in crate::tokenizer) fn one_to_one(&self) -> Option<OneToOne> {
        let ends_words = self.model.as_bpe().is_some_and(|bpe| bpe.alphabet.end != EndOfWord::None);
        if self.template.trim_offsets() || self.byte_alphabet || self.raw_pattern().is_some() || ends_words {
            return None;
        }
        let splits_nothing = self.space_marks.as_ref().is_some_and(SpaceMarks::normalizers_alone);
        let kind = if self.splitters.is_empty() || splits_nothing {
            self.aligned_whole()?
        } else {
            let mut rules = self.splitters.iter().map(|splitter| splitter.word_rule());
            let (first, second) = (rules.next()??, rules.next());
            let mark = match (first, second) {
                (None, None) => None,
                (None, Some(Some(Some(mark)))) if self.model.continuing_prefix().is_empty() => Some(mark),
                _ => return None,
            };
            if rules.next().is_some() {
                return None;
            }
            let mut rules = WordRules {
                mark,
                images: Images::new(self.known_characters()),
                ascii: [0; 128],
                ends_at_white: self
                    .splitters
                    .iter()
                    .all(|splitter| splitter.splits_at_characters() || matches!(splitter.word_rule(), Some(Some(_)))),
                may_shift: self.normalizers.iter().any(Normalizer::may_shift_alignment),
                fuses_unknown: matches!(&self.model, Model::Unigram(model) if model.fuses_unknown()),
            };
            rules.ascii = std::array::from_fn(|byte| {
                let image = self.character_image(char::from(byte as u8), &rules);
                if image.len() == 1 {
                    image.entry(0)
                } else {
                    NOT_ONE
                }
            });
            AlignedKind::Words(Box::new(rules))
        };
        let bytes = byte_entries(&self.vocab);
        let unk = self.model.unk();
        let has_bytes = matches!(kind, AlignedKind::Whole { .. }) && !self.model.places_bytes_together();
        let width = |id: u32| {
            let content = self.vocab.content(id);
            if content.starts_with(b"<0x") {
                let byte =
                    bytes.as_ref().filter(|_| has_bytes).and_then(|bytes| bytes.iter().position(|&own| own == id));
                return byte.map_or(0, |byte| if byte & 0xC0 == 0x80 { INSIDE } else { 1 });
            }
            if self.vocab.kind(id) != Kind::Token || Some(id) == unk || content.is_empty() {
                return 0;
            }
            if let AlignedKind::Words(rules) = &kind {
                return self.width_in_word(content, rules);
            }
            u8::try_from(num_chars(content)).ok().filter(|&chars| chars < INSIDE).unwrap_or(0)
        };
        let widths = (0..self.vocab.len() as u32).map(width).collect();
        Some(OneToOne { widths, kind, bytes })
    }

    /// Returns the alignment of a text that is one pretoken, if each of its characters becomes one normalized
    /// character.
    fn aligned_whole(&self) -> Option<AlignedKind> {
        let mut mark_end = None;
        if !self.model.continuing_prefix().is_empty() {
            return None;
        }
        for (index, normalizer) in self.normalizers.iter().enumerate() {
            if let Some(end) = normalizer.prepends(WORD_START) {
                // Only the first component may prepend a mark: a later component might prepend a second mark, in front
                // of the first mark.
                if mark_end.is_some() || index > 0 {
                    return None;
                }
                mark_end = Some(i64::from(end));
            } else if !normalizer.keeps_number_of_characters() {
                return None;
            }
        }
        Some(AlignedKind::Whole { mark_end })
    }

    /// Returns the width of a token in a word: a number of characters and flags, in one byte. If the token begins with
    /// the mark of words or with the continuing prefix, this start is not counted, and the flag `MARKED` or `CONTINUES`
    /// is set. Returns 0 if the number of characters does not fit into the bits below the flags.
    fn width_in_word(&self, content: &[u8], rules: &WordRules) -> u8 {
        let mut mark = [0; 4];
        let (start, flag): (&[u8], u8) = match rules.mark {
            Some(mark_char) => (mark_char.encode_utf8(&mut mark).as_bytes(), MARKED),
            None => (self.model.continuing_prefix().as_bytes(), CONTINUES),
        };
        let (own, flag) = match content.strip_prefix(start).filter(|_| !start.is_empty()) {
            Some(own) if !own.is_empty() || flag == MARKED => (own, flag),
            _ => (content, 0),
        };
        u8::try_from(num_chars(own)).ok().filter(|&chars| chars < CONTINUES).map_or(0, |chars| chars | flag)
    }

    /// Returns the normalized form of a character, independent of its neighbors.
    pub(in crate::tokenizer) fn character_image(&self, c: char, rules: &WordRules) -> Image {
        let of_all = |text: String, normalizer: &Normalizer| -> Option<String> {
            text.chars().map(|c| normalizer.image(c)).collect()
        };
        let Some(image) = self.normalizers.iter().try_fold(c.to_string(), of_all) else { return Image::new(CHANGES) };
        let isolates = |c: char| self.splitters.iter().any(|splitter| splitter.isolates(c));
        let word = image.trim_matches(char::is_whitespace);
        let count = word.chars().count();
        let has_white = [image.starts_with(char::is_whitespace), image.ends_with(char::is_whitespace)];
        let is_mark = |c: char| c == WORD_START || Some(c) == rules.mark;
        match count {
            _ if word.contains(is_mark) => Image::new(CHANGES),
            0 => Image::new(if image.is_empty() { DROPPED } else { WHITE }),
            1 if has_white == [true; 2] || word.contains(isolates) => Image::new(ISOLATED),
            _ if has_white != [false; 2]
                || count > MOST_IMAGE
                || word.contains(|c: char| c.is_whitespace() || isolates(c)) =>
            {
                Image::new(CHANGES)
            }
            _ => Image::of_word(word.chars().map(|c| rules.images.flags(c))),
        }
    }

    /// Returns the characters that occur in the pieces of a Unigram model. They determine which characters of a text
    /// are unknown. Returns None for other models.
    fn known_characters(&self) -> Option<KnownCharacters> {
        let Model::Unigram(_) = &self.model else { return None };
        let unk = self.model.unk();
        let mut known = KnownCharacters::default();
        for (id, kind, content) in self.vocab.iter() {
            let Ok(text) = std::str::from_utf8(content) else { continue };
            let mut chars = text.chars();
            if let (Kind::Token, Some(c), None) = (kind, chars.next(), chars.next()) {
                if Some(id) != unk {
                    known.pieces.insert(c);
                }
            }
            known.others.extend(text.chars());
            if Some(id) == unk {
                // The model also produces the unknown token where the text contains the spelling of that token.
                known.unk_start = text.chars().next();
            }
        }
        Some(known)
    }
}

impl OneToOne {
    /// Writes the column (spans, offsets or pretokens) for a text and its ids. Returns false if the widths of the
    /// tokens do not determine the values of the column.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub(in crate::tokenizer) fn write(
        &self,
        tok: &Tokenizer,
        (ids, text): (&[u32], &str),
        permit: &Permit<'_>,
        (reader, known): (&mut WordReader, &mut KnownIds),
        sink: &mut SpanSink<'_>,
        keep_going: KeepGoing<'_>,
    ) -> Result<bool> {
        match (&self.kind, &mut sink.column) {
            (AlignedKind::Words(rules), _) => {
                let words = Words { tok, widths: &self.widths, rules };
                reader.write(words, (ids, text), permit, known, sink, keep_going)
            }
            (AlignedKind::Whole { mark_end }, Column::Spans(SpanKind::Offsets, spans)) => {
                Ok(self.write_whole(&tok.vocab, ids, text, *mark_end, spans))
            }
            (AlignedKind::Whole { mark_end }, Column::Spans(kind, spans)) => Ok(self
                .write_whole(&tok.vocab, ids, text, *mark_end, spans)
                && self.to_disjoint((ids, text), *mark_end == Some(1), *kind, spans)),
            // Without added tokens, the text is one pretoken.
            (AlignedKind::Whole { .. }, Column::Words(out)) => {
                out.fill(0);
                Ok(ids.iter().all(|&id| self.width(id) != 0))
            }
        }
    }

    fn width(&self, id: u32) -> u8 {
        self.widths.get(id as usize).copied().unwrap_or(0)
    }

    fn write_whole(
        &self,
        vocab: &Vocab,
        ids: &[u32],
        text: &str,
        mark_end: Option<i64>,
        spans: &mut [[i64; 2]],
    ) -> bool {
        let mut chars = 0; // number of characters before the current token
        let mut rest = ids.iter().zip(spans);
        if let Some(mark_end) = mark_end {
            let Some((&id, span)) = rest.next() else { return text.is_empty() };
            let mut mark = [0; 4];
            let width = self.width(id);
            if !vocab.content(id).starts_with(WORD_START.encode_utf8(&mut mark).as_bytes()) || width == 0 {
                return false;
            }
            chars = i64::from(width) - 1;
            *span = [0, chars.max(mark_end)];
        }
        let mut is_known = true;
        for (&id, span) in rest {
            let width = self.width(id);
            is_known &= width != 0;
            let start = chars - i64::from(width >> 7);
            chars += i64::from(width & !INSIDE);
            *span = [start, chars];
        }
        is_known && chars == num_chars(text.as_bytes()) as i64
    }
}
