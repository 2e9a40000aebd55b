//! The stages of a tokenizer, properties of its entries, and decoding.

use crate::decode::{Decoded, Decoder};
use crate::encode::Encoder;
use crate::error::Result;
use crate::model::Model;
use crate::normalize::Normalizer;
use crate::postprocess::Template;
use crate::pretokenize::{Pretokenizer, Splitter};
use crate::special::AddedTokenMatcher;
use crate::vocab::Vocab;

/// A tokenizer.
#[derive(Debug)]
pub struct Tokenizer {
    pub(super) vocab: Vocab,
    pub(super) added: Vec<u32>,       // ids of added tokens, special or not
    pub(super) flags: Vec<(u32, u8)>, // of added tokens that have any, by rising id
    pub(super) scores: Vec<f64>,      // by id; empty where the model has none
    pub(super) model: Model,
    pub(super) encoder: Encoder,
    pub(super) decoder: Decoder,
    pub(super) template: Template,
    pub(super) normalizers: Vec<Normalizer>,
    pub(super) splitters: Vec<Splitter>,
    pub(super) plain: Option<Pretokenizer>, // all that happens before the model, where that is one pattern
    pub(super) byte_alphabet: bool,         // pieces spell bytes in the byte alphabet
    pub(super) needs_origins: bool,         // a splitter looks where its pieces come from
    pub(super) model_finds_added: bool, // SentencePiece: user-defined pieces are its normalizer's and its model's business
    pub(super) spellings: Vec<(u32, Vec<u8>)>, // what normalized text holds of added tokens that are looked for there
    pub(super) matchers: [Matchers; 2], // for no special tokens, and for all
}

/// Matchers of added tokens in raw and in normalized text.
#[derive(Debug, Clone, Default)]
pub(super) struct Matchers {
    pub(super) raw: Option<AddedTokenMatcher>,
    pub(super) normalized: Option<AddedTokenMatcher>,
}

impl Tokenizer {
    /// The ids of all added tokens, special or not, ascending.
    pub fn added(&self) -> &[u32] {
        &self.added
    }

    /// The flags of an added token: 1 strips white space on the left, 2 on the right, 4 matches single words only, 8
    /// matches normalized text, 16 is an entry of the model, too.
    pub fn flags(&self, id: u32) -> u8 {
        self.flags.binary_search_by_key(&id, |&(id, _)| id).map_or(0, |at| self.flags[at].1)
    }

    /// All flags that are not 0, by rising id.
    pub fn all_flags(&self) -> &[(u32, u8)] {
        &self.flags
    }

    /// The scores by id; empty where the model has none.
    pub fn scores(&self) -> &[f64] {
        &self.scores
    }

    /// id ↔ bytes.
    pub fn vocab(&self) -> &Vocab {
        &self.vocab
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Template around a text or a pair.
    pub fn template(&self) -> &Template {
        &self.template
    }

    /// The bytes that `ids` decode to.
    ///
    /// # Errors
    /// As [`Decoder::decode`].
    pub fn decode<'a>(&'a self, ids: &'a [u32], skip_special: bool) -> Result<Decoded<'a>> {
        self.decoder.decode(&self.vocab, ids, skip_special)
    }

    /// The text that `ids` decode to, with U+FFFD where the bytes are no text.
    ///
    /// # Errors
    /// As [`Decoder::decode_text`].
    pub fn decode_text(&self, ids: &[u32], skip_special: bool) -> Result<String> {
        self.decoder.decode_text(&self.vocab, ids, skip_special)
    }

    /// Appends what an id adds in the middle of a text.
    pub fn decode_one(&self, id: u32, out: &mut Vec<u8>) {
        self.decoder.token(&self.vocab, id, out);
    }
}
