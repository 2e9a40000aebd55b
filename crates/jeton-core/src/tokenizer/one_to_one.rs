//! Offsets of ids for normalizers that turn each character into one.
//!
//! Two kinds of tokenizers. In the first, the whole text is one pretoken: spaces become `▁`, and one may be prepended
//! (SentencePiece's BPE, and Hugging Face's `Prepend` and `Replace`); so offsets are sums of the tokens' characters. In
//! the second, words are separated by white space, which is dropped, and may get a `▁` each (BERT, T5, mBART); the
//! contents of the tokens are compared with the text, character by character.
//!
//! Invariant: if the result is true, the offsets are those of [`Tokenizer::encode_with_spans`]. Texts with other characters,
//! added tokens, and other unknown tokens than whole words, take the slow path. Cost: one byte for each id, made once; a lookup for each token, in the
//! second kind for each character.

use std::collections::HashMap;

use super::char_index::num_chars;
use super::character_widths::{AlignedKind, OneToOne, CHANGES, INSIDE};
use super::pipeline::Tokenizer;
use crate::model::Model;
use crate::vocab::alphabet::{byte_entries, EndOfWord, WORD_START};
use crate::vocab::{Kind, Vocab};

/// Cache of the images of characters beyond ASCII.
pub(super) type CharacterImages = HashMap<char, Option<char>>;

impl Tokenizer {
    /// Returns the widths of ids in characters; None for tokenizers that change numbers of characters.
    pub(super) fn one_to_one(&self) -> Option<OneToOne> {
        let ends_words = self.model.as_bpe().is_some_and(|bpe| bpe.alphabet.end != EndOfWord::None);
        if self.template.trim_offsets() || self.byte_alphabet || self.plain.is_some() || ends_words {
            return None;
        }
        let kind = if self.splitters.is_empty() {
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
            let mut ascii = Box::new([CHANGES; 128]);
            for (c, image) in (0..128u8).zip(ascii.iter_mut()) {
                *image = self.image(c.into()).and_then(|image| u8::try_from(image).ok()).unwrap_or(CHANGES);
            }
            AlignedKind::Words { mark, ascii }
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
            u8::try_from(num_chars(content)).ok().filter(|&chars| chars < INSIDE).unwrap_or(0)
        };
        let widths = (0..self.vocab.len() as u32).map(width).collect();
        Some(OneToOne { widths, kind })
    }

    /// Returns the alignment of a text that is one pretoken, if each of its characters is one of the normalized text.
    fn aligned_whole(&self) -> Option<AlignedKind> {
        let mut mark_end = None;
        if !self.model.continuing_prefix().is_empty() {
            return None;
        }
        for (index, normalizer) in self.normalizers.iter().enumerate() {
            if let Some(end) = normalizer.prepends(WORD_START) {
                // A later component might prepend before it.
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

    /// Returns the character that a character becomes, next to any others.
    fn image(&self, c: char) -> Option<char> {
        let image = self.normalizers.iter().try_fold(c, |c, normalizer| normalizer.image(c))?;
        (image != WORD_START).then_some(image)
    }
}

impl OneToOne {
    /// Writes Hugging Face's offsets of the ids of a text: two numbers for each, in characters. Returns false if they do
    /// not follow.
    pub(super) fn write(
        &self,
        tok: &Tokenizer,
        ids: &[u32],
        text: &str,
        images: &mut CharacterImages,
        out: &mut [i64],
    ) -> bool {
        let spans = out.as_chunks_mut::<2>().0;
        match &self.kind {
            AlignedKind::Whole { mark_end } => self.write_whole(&tok.vocab, ids, text, *mark_end, spans),
            AlignedKind::Words { mark, ascii } => {
                let words = Words { tok, text, images, mark: *mark, ascii, at: 0, chars: 0 };
                self.write_words(words, ids, spans)
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
        let mut chars = 0; // of the text, so far
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

    fn write_words(&self, mut words: Words<'_>, ids: &[u32], spans: &mut [[i64; 2]]) -> bool {
        let model = &words.tok.model;
        let prefix = model.continuing_prefix().as_bytes();
        // A whole word is unknown.
        let unk = model.unk().filter(|_| matches!(model, Model::WordPiece(_) | Model::WordLevel(_)));
        for (&id, span) in ids.iter().zip(spans) {
            if Some(id) == unk {
                match words.pass_unknown() {
                    Some(own) => *span = own,
                    None => return false,
                }
                continue;
            }
            if self.width(id) == 0 {
                return false;
            }
            let content = words.tok.vocab.content(id);
            let content = match content.strip_prefix(prefix) {
                Some(inside) if !inside.is_empty() => inside,
                _ => content,
            };
            match words.pass(content) {
                Some(own) => *span = own,
                None => return false,
            }
        }
        words.skip_white_space();
        words.at == words.text.len()
    }
}

/// Position in a text whose tokens are passed in order.
struct Words<'w> {
    tok: &'w Tokenizer,
    text: &'w str,
    images: &'w mut CharacterImages,
    mark: Option<char>,
    ascii: &'w [u8; 128],
    at: usize,
    chars: i64,
}

impl Words<'_> {
    /// Passes a token; returns its offsets, or None if the text differs.
    fn pass(&mut self, content: &[u8]) -> Option<[i64; 2]> {
        self.skip_white_space();
        let mut mark = [0; 4];
        let mark: &[u8] = self.mark.map_or(&[], |c| c.encode_utf8(&mut mark).as_bytes());
        let (start, mut rest) = (self.chars, content);
        if let (Some(after), false) = (content.strip_prefix(mark), mark.is_empty()) {
            // The mark is aligned to the first character of the word, which `starts_word` has just found to follow.
            if !self.starts_word() {
                return None;
            }
            if after.is_empty() {
                return (self.at < self.text.len()).then_some([start, start + 1]);
            }
            rest = after;
        }
        let bytes = self.text.as_bytes();
        // Most tokens are ASCII.
        if let Some(own) = bytes.get(self.at..self.at + rest.len()) {
            if own.iter().zip(rest).all(|(&own, &byte)| own < 0x80 && self.ascii[usize::from(own & 0x7F)] == byte) {
                self.at += rest.len();
                self.chars += rest.len() as i64;
                return Some([start, self.chars]);
            }
        }
        while let Some(&byte) = rest.first() {
            let own = *bytes.get(self.at)?;
            if own < 0x80 && byte < 0x80 {
                if self.ascii[usize::from(own)] != byte {
                    return None;
                }
                (self.at, rest) = (self.at + 1, &rest[1..]);
            } else {
                let c = self.text[self.at..].chars().next()?;
                let image = self.image(c)?;
                let mut spelled = [0; 4];
                rest = rest.strip_prefix(image.encode_utf8(&mut spelled).as_bytes())?;
                self.at += c.len_utf8();
            }
            self.chars += 1;
        }
        Some([start, self.chars])
    }

    /// Passes an unknown word; returns its offsets.
    fn pass_unknown(&mut self) -> Option<[i64; 2]> {
        self.skip_white_space();
        let (start, text) = (self.chars, self.text);
        // Most unknown words are punctuation.
        if let Some(&byte) = text.as_bytes().get(self.at).filter(|byte| byte.is_ascii_punctuation()) {
            let is_itself = self.ascii[usize::from(byte)] == byte;
            if is_itself && self.tok.splitters.iter().any(|splitter| splitter.isolates(byte.into())) {
                (self.at, self.chars) = (self.at + 1, self.chars + 1);
                return Some([start, self.chars]);
            }
        }
        for c in text[self.at..].chars() {
            let image = self.image(c)?;
            let is_single = self.tok.splitters.iter().any(|splitter| splitter.isolates(image));
            if self.chars > start && (is_single || image.is_whitespace()) {
                break;
            }
            self.at += c.len_utf8();
            self.chars += 1;
            if is_single {
                break;
            }
        }
        (self.chars > start).then_some([start, self.chars])
    }

    /// Returns true at the start of the text and after white space.
    fn starts_word(&mut self) -> bool {
        let before = self.text[..self.at].chars().next_back();
        before.is_none_or(|c| self.image(c).is_some_and(char::is_whitespace))
    }

    fn skip_white_space(&mut self) {
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            let len = if byte < 0x80 {
                let image = self.ascii[usize::from(byte)];
                if image == CHANGES || !char::from(image).is_whitespace() {
                    return;
                }
                1
            } else {
                let Some(c) = self.text[self.at..].chars().next() else { return };
                if !self.image(c).is_some_and(char::is_whitespace) {
                    return;
                }
                c.len_utf8()
            };
            self.at += len;
            self.chars += 1;
        }
    }

    fn image(&mut self, c: char) -> Option<char> {
        if c.is_ascii() {
            let image = self.ascii[c as usize];
            return (image != CHANGES).then_some(image.into());
        }
        let tok = self.tok;
        *self.images.entry(c).or_insert_with(|| tok.image(c))
    }
}
