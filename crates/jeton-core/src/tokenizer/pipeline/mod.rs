//! The stages of a tokenizer, properties of its entries, and decoding.
//!
//! ```text
//! build         options → tokenizer
//! permit        permission for special tokens
//! segments      text → segments
//! slow_path     segments → ids, one segment after the other; also sampling and the n best segmentations
//! space_marks   pipelines that replace spaces by `▁`
//! fast_path     long texts and batches → ids, on several threads
//! frame         templates
//! rows          batches → ids as token shards contain them: integers of 2 or 4 bytes, constant ids around each text
//! batch_decode  ids of batches → bytes and text
//! ```

pub(in crate::tokenizer) mod batch_decode;
pub(in crate::tokenizer) mod build;
pub(in crate::tokenizer) mod fast_path;
pub(in crate::tokenizer) mod frame;
pub(in crate::tokenizer) mod permit;
pub(in crate::tokenizer) mod rows;
pub(in crate::tokenizer) mod segments;
pub(in crate::tokenizer) mod slow_path;
pub(in crate::tokenizer) mod space_marks;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::OnceLock;

use self::space_marks::SpaceMarks;
use super::cut::joints::Joints;
use super::cut::token_reach::TokenReach;
use super::spans::character_widths::OneToOne;
use super::spans::token_widths::TokenWidths;
use crate::added_tokens::AddedTokenMatcher;
use crate::decode::{Decoded, Decoder};
use crate::encode::Encoder;
use crate::error::Result;
use crate::model::{Model, TokenParts};
use crate::normalize::{self, Normalizer};
use crate::postprocess::Template;
use crate::pretokenize::{Pretokenizer, Splitter};
use crate::util::cancel::KeepGoing;
use crate::vocab::Vocab;

/// A tokenizer: vocabulary, model, and all stages around the model.
#[derive(Debug)]
pub struct Tokenizer {
    pub(in crate::tokenizer) vocab: Vocab,
    pub(in crate::tokenizer) added: Vec<u32>, // ids of added tokens, special or not
    pub(in crate::tokenizer) flags: Vec<(u32, u8)>, // flags of added tokens that have any, by ascending id
    pub(in crate::tokenizer) scores: Vec<f64>, // by id; empty if the model has none
    pub(in crate::tokenizer) model: Model,
    pub(in crate::tokenizer) encoder: Encoder,
    pub(in crate::tokenizer) decoder: Decoder,
    pub(in crate::tokenizer) template: Template,
    pub(in crate::tokenizer) normalizers: Vec<Normalizer>,
    pub(in crate::tokenizer) splitters: Vec<Splitter>,
    pub(in crate::tokenizer) plain: Option<Pretokenizer>, // the only splitter, if it is a pattern; without splitters, one that never splits
    pub(in crate::tokenizer) bytewise: Option<Pretokenizer>, // all splitters, if one spells bytes and the others only split
    pub(in crate::tokenizer) space_marks: Option<SpaceMarks>, // all stages before the model, if they only replace spaces by `▁`
    pub(in crate::tokenizer) byte_alphabet: bool,             // pretokens are spelled in the byte alphabet
    pub(in crate::tokenizer) needs_origins: bool,             // a splitter needs the alignment with the input
    pub(in crate::tokenizer) model_finds_added: bool, // SentencePiece: normalizer and model match user-defined pieces
    pub(in crate::tokenizer) spellings: Vec<(u32, Vec<u8>)>, // normalized spellings of added tokens that are matched in normalized text
    pub(in crate::tokenizer) matchers: [Matchers; 2],        // matchers without special tokens; with all special tokens
    pub(in crate::tokenizer) widths: OnceLock<Option<TokenWidths>>, // widths of all ids, if a text is the concatenation of its tokens
    pub(in crate::tokenizer) one_to_one: OnceLock<Option<OneToOne>>, // None unless characters are normalized one by one
    pub(in crate::tokenizer) joints: OnceLock<Joints>,              // built on first use
    pub(in crate::tokenizer) reach: OnceLock<TokenReach>,           // built on first use
    pub(in crate::tokenizer) parts: OnceLock<Option<TokenParts>>,   // built on first use; None: see `token_parts`
}

/// Matchers of added tokens in raw and in normalized text.
#[derive(Debug, Clone, Default)]
pub(in crate::tokenizer) struct Matchers {
    pub(in crate::tokenizer) raw: Option<AddedTokenMatcher>,
    pub(in crate::tokenizer) normalized: Option<AddedTokenMatcher>,
}

impl Tokenizer {
    /// Returns the ids of all added tokens, special or not, ascending.
    pub fn added(&self) -> &[u32] {
        &self.added
    }

    /// Returns the flags of an added token, added up. 1: the token includes white space on its left; 2: the token
    /// includes white space on its right; 4: the token matches only single words; 8: the token is matched in normalized
    /// text; 16: the token is also an entry of the model.
    pub fn flags(&self, id: u32) -> u8 {
        self.flags.binary_search_by_key(&id, |&(id, _)| id).map_or(0, |at| self.flags[at].1)
    }

    /// Returns all flags that are not 0, by ascending id.
    pub fn all_flags(&self) -> &[(u32, u8)] {
        &self.flags
    }

    /// Returns the scores by id; empty if the model has none.
    pub fn scores(&self) -> &[f64] {
        &self.scores
    }

    /// Returns the spelling that an added token has in normalized text, if the token is matched there.
    pub fn normalized_spelling(&self, id: u32) -> Option<&[u8]> {
        self.spellings.iter().find(|spelling| spelling.0 == id).map(|spelling| &spelling.1[..])
    }

    /// Returns the vocabulary.
    pub fn vocab(&self) -> &Vocab {
        &self.vocab
    }

    /// Returns the model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Returns the components of the normalizer.
    pub fn normalizers(&self) -> &[Normalizer] {
        &self.normalizers
    }

    /// Returns the components of the pre-tokenizer.
    pub fn splitters(&self) -> &[Splitter] {
        &self.splitters
    }

    /// Returns the pattern that splits the text, if this pattern is the only stage before the model.
    pub(in crate::tokenizer) fn raw_pattern(&self) -> Option<&Pretokenizer> {
        self.plain.as_ref().filter(|_| self.normalizers.is_empty())
    }

    /// Normalizes a text without alignment: see [`normalize::normalized`].
    ///
    /// # Errors
    /// As [`Normalizer::apply`].
    pub(in crate::tokenizer) fn normalized<'t>(
        &self,
        text: &'t str,
        keep_going: KeepGoing<'_>,
    ) -> Result<Cow<'t, str>> {
        normalize::normalized(&self.normalizers, text, keep_going)
    }

    /// Returns the template.
    pub fn template(&self) -> &Template {
        &self.template
    }

    /// Returns the decoder.
    pub fn decoder(&self) -> &Decoder {
        &self.decoder
    }

    /// Decodes `ids` to bytes.
    ///
    /// # Errors
    /// As [`Decoder::decode`].
    pub fn decode<'a>(&'a self, ids: &'a [u32], skip_special: bool) -> Result<Decoded<'a>> {
        self.decoder.decode(&self.vocab, ids, skip_special)
    }

    /// Decodes `ids` to text, with U+FFFD for invalid UTF-8.
    ///
    /// # Errors
    /// As [`Decoder::decode_text`].
    pub fn decode_text(&self, ids: &[u32], skip_special: bool) -> Result<String> {
        self.decoder.decode_text(&self.vocab, ids, skip_special)
    }

    /// Checks that all ids have an entry.
    ///
    /// # Errors
    /// [`crate::error::ErrorKind::UnknownId`] for the first id without an entry.
    pub fn check_ids(&self, ids: &[u32]) -> Result<()> {
        self.decoder.check(&self.vocab, ids)
    }

    /// Decodes one id as if it were in the middle of a text, and appends the bytes to `out`.
    pub fn decode_one(&self, id: u32, out: &mut Vec<u8>) {
        self.decoder.token(&self.vocab, id, out);
    }
}
