//! Construction of a tokenizer from options in JSON and a vocabulary.
//!
//! The options are the fields of `Definition` in Python: a model, and the components of the other stages, named as in
//! `tokenizer.json`.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;
use serde_json::{json, Value};

use super::space_marks::SpaceMarks;
use super::{Matchers, Tokenizer};
use crate::added_tokens::{Added, AddedTokenMatcher};
use crate::decode::Decoder;
use crate::encode::Encoder;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::normalize::Normalizer;
use crate::postprocess::Template;
use crate::pretokenize::Splitter;
use crate::vocab::marks::Marks;
use crate::vocab::{Kind, Vocab};

/// Flags of added tokens, as in the vocabulary.
pub(in crate::tokenizer) const LSTRIP: u8 = 1;
pub(in crate::tokenizer) const RSTRIP: u8 = 2;
pub(in crate::tokenizer) const SINGLE_WORD: u8 = 4;
pub(in crate::tokenizer) const NORMALIZED: u8 = 8;
/// Flag of an added token that is also an entry of the model. In text where the matcher
/// of added tokens finds no match, the model can still produce this token. The flag is never set for a special token.
pub const ENTRY: u8 = 16;
/// Flag of an added token whose matches include the ASCII white space next to it, but no other white space, as in
/// llama.cpp.
pub(in crate::tokenizer) const ASCII_SPACE: u8 = 32;

/// Options of a tokenizer, as they are in JSON.
#[derive(Deserialize)]
struct TokenizerOptions {
    model: Value,
    #[serde(default)]
    normalizer: Vec<Value>,
    #[serde(default)]
    pretokenizer: Vec<Value>,
    #[serde(default)]
    decoder: Value,
    #[serde(default)]
    template: Value,
    /// End-of-word suffix in the strings of Hugging Face's format.
    #[serde(default)]
    suffix: Option<String>,
}

/// Properties of a vocabulary that are stored outside its entries (an entry has an id, a kind and a content).
#[derive(Debug, Clone, Default)]
pub struct Extras {
    /// Merges as (left, right, result) in order of rank.
    pub merges: Vec<(u32, u32, u32)>,
    /// Scores by id; empty if the model has none.
    pub scores: Vec<f64>,
    /// Flags of added tokens, as (id, flags).
    pub flags: Vec<(u32, u8)>,
}

/// If the decoder has no `Respell`, prepends one for the added tokens that normalization changes. Since version 0.23,
/// HF decodes these tokens to their normalized spelling.
fn respelled(decoder: Value, spellings: &[(u32, Vec<u8>)], byte_level: bool, suffix: Option<&str>) -> Value {
    if spellings.is_empty() || decoder[0]["type"] == "Respell" {
        return decoder;
    }
    let text = |content: &[u8]| String::from_utf8_lossy(content).into_owned();
    let contents: Vec<(u32, String)> = spellings.iter().map(|(id, content)| (*id, text(content))).collect();
    let mut parts = vec![json!({"type": "Respell", "contents": contents})];
    match (decoder, suffix) {
        (Value::Array(own), _) => parts.extend(own),
        (_, Some(suffix)) if byte_level => parts.extend([
            json!({"type": "Replace", "pattern": {"String": suffix}, "content": "Ġ"}),
            json!({"type": "ByteLevel"}),
            json!({"type": "Replace", "pattern": {"Regex": r" \z"}, "content": ""}),
        ]),
        (_, Some(suffix)) => parts.push(json!({"type": "BPEDecoder", "suffix": suffix})),
        _ if byte_level => {} // entries contain bytes, so no decoder is needed
        _ => parts.push(json!({"type": "Fuse"})),
    }
    Value::Array(parts)
}

/// Sets the flag [`ENTRY`] for the ids in `entries` and clears it for all other ids. As a result, tokenizers that
/// give the same ids have the same flags, whichever file they were read from.
fn with_entries(flags: Vec<(u32, u8)>, entries: Vec<u32>) -> Vec<(u32, u8)> {
    let mut flags: BTreeMap<u32, u8> = flags.into_iter().map(|(id, flags)| (id, flags & !ENTRY)).collect();
    entries.into_iter().for_each(|id| *flags.entry(id).or_default() |= ENTRY);
    flags.into_iter().filter(|entry| entry.1 != 0).collect()
}

impl Tokenizer {
    /// Builds a tokenizer.
    ///
    /// # Errors
    /// [`Error::config`] for options that are invalid or contradict the vocabulary.
    pub fn from_json(options: &str, vocab: Vocab, extras: Extras) -> Result<Self> {
        Self::with_normalizers(options, None, vocab, extras)
    }

    /// Builds a tokenizer. `normalizers`, if given, replace the normalizers of the options, and must be of the same
    /// types.
    ///
    /// # Errors
    /// As [`Self::from_json`].
    pub fn with_normalizers(
        options: &str,
        normalizers: Option<Vec<Normalizer>>,
        vocab: Vocab,
        extras: Extras,
    ) -> Result<Self> {
        let mut options: TokenizerOptions = serde_json::from_str(options)
            .map_err(|error| Error::config(format!("the options of a tokenizer: {error}")))?;
        let is_type = |part: &Value, name: &str| part["type"] == name;
        let byte_level = is_type(&options.model, "BPE") && options.model["level"] == "byte";
        let parts = options.normalizer.iter().chain(&options.pretokenizer);
        let byte_alphabet = byte_level && parts.clone().any(|part| is_type(part, "ByteLevel"));
        // User-defined pieces of SentencePiece are matched by its normalizer and models, not by the matcher of added
        // tokens.
        let sentencepiece = parts.clone().any(|part| is_type(part, "SentencePiece"))
            || ["Pieces", "Words", "Chars"].iter().any(|name| is_type(&options.model, name));
        let user_defined: Vec<&[u8]> = match sentencepiece {
            true => vocab.iter().filter(|&(_, kind, _)| kind == Kind::Added).map(|(_, _, content)| content).collect(),
            false => Vec::new(),
        };
        let made = |part: &Value| Normalizer::from_json(&part.to_string(), &user_defined);
        let normalizers = match normalizers {
            Some(normalizers) => normalizers,
            None => {
                let all = options.normalizer.iter().map(made).collect::<Result<Vec<_>>>();
                all.map_err(|error| error.in_stage("normalizer"))?
            }
        };
        let splitters = options.pretokenizer.iter().map(|part| Splitter::from_json(&part.to_string()));
        let splitters = splitters.collect::<Result<Vec<_>>>().map_err(|error| error.in_stage("pretokenizer"))?;
        // The `ByteLevel` normalizer replaces each byte of the text by a character of the byte alphabet. The model then
        // receives these characters and converts them back to bytes.
        let spells_bytes = normalizers.iter().any(Normalizer::spells_bytes);
        let plain = Splitter::as_one_pattern(&splitters).filter(|_| !spells_bytes);
        let is_bytewise = plain.is_none() && byte_alphabet && !spells_bytes;
        let bytewise = is_bytewise.then(|| Splitter::as_bytewise_pattern(&splitters)).flatten();
        let template = match &options.template {
            Value::Null => Template::default(),
            template => Template::from_json(&template.to_string()).map_err(|error| error.in_stage("template"))?,
        };
        let added = vocab.iter().filter(|&(_, kind, _)| matches!(kind, Kind::Added | Kind::Special)).map(|(id, ..)| id);
        let added: Vec<u32> = added.collect();
        let mut flags = extras.flags;
        flags.sort_unstable();
        let listed: Vec<u32> = flags.iter().filter(|entry| entry.1 & ENTRY != 0).map(|entry| entry.0).collect();
        if let (false, Value::Object(model)) = (listed.is_empty(), &mut options.model) {
            model.insert("added".into(), json!(listed));
        }
        let model = Model::from_json(&options.model.to_string(), &vocab, extras.merges, &extras.scores)
            .map_err(|error| error.in_stage("model"))?;
        let flags = with_entries(flags, model.added_entries());
        let needs_origins = splitters.iter().any(Splitter::needs_origins);
        let space_marks = SpaceMarks::of(&normalizers, &splitters).filter(|found| model.takes(&vocab, found.marks()));
        let encoder = Encoder::new(&vocab, &model, space_marks.as_ref().map_or(Marks::Written, SpaceMarks::marks));
        let mut tokenizer = Self {
            vocab,
            added,
            flags,
            scores: extras.scores,
            encoder,
            model,
            decoder: Decoder::from_json("null", &Vocab::default(), byte_level, None)?,
            template,
            normalizers,
            splitters,
            plain,
            bytewise,
            space_marks,
            byte_alphabet,
            needs_origins,
            model_finds_added: sentencepiece,
            spellings: Vec::new(),
            matchers: Default::default(),
            widths: OnceLock::new(),
            one_to_one: OnceLock::new(),
            joints: OnceLock::new(),
            reach: OnceLock::new(),
            parts: OnceLock::new(),
        };
        tokenizer.spellings = tokenizer.normalized_spellings()?;
        let suffix = options.suffix.as_deref();
        let decoder = respelled(options.decoder, &tokenizer.spellings, byte_level, suffix);
        tokenizer.decoder = Decoder::from_json(&decoder.to_string(), &tokenizer.vocab, byte_level, suffix)
            .map_err(|error| error.in_stage("decoder"))?;
        let is_special = |id| tokenizer.vocab.kind(id) == Kind::Special;
        let made = [
            tokenizer.matchers_for(|id| tokenizer.always_matched(id))?,
            tokenizer.matchers_for(|id| tokenizer.always_matched(id) || is_special(id))?,
        ];
        tokenizer.matchers = made;
        Ok(tokenizer)
    }

    /// Returns true for an added token that is not special, if added tokens are found by the matcher and not by the
    /// model. Such a token is matched even if the caller permits no special tokens.
    pub(in crate::tokenizer) fn always_matched(&self, id: u32) -> bool {
        self.vocab.kind(id) == Kind::Added && !self.model_finds_added
    }

    /// Returns true if an added token is matched in normalized text. With SentencePiece's normalizer, the result
    /// is always false, because this normalizer writes characters that added tokens do not contain (a dummy prefix,
    /// `▁`). In the classes of `transformers` that run SentencePiece, all added tokens are matched in the raw text.
    pub(in crate::tokenizer) fn is_matched_in_normalized_text(&self, id: u32) -> bool {
        self.flags(id) & NORMALIZED != 0 && !self.model_finds_added
    }

    /// Returns true if a match of the added token includes the white space before or after it.
    pub(in crate::tokenizer) fn takes_space(&self, id: u32) -> bool {
        self.flags(id) & (LSTRIP | RSTRIP) != 0
    }

    /// Returns the byte string by which the matcher recognizes an added token.
    pub(in crate::tokenizer) fn matched_spelling(&self, id: u32) -> &[u8] {
        let spelled = self.spellings.binary_search_by_key(&id, |(id, _)| *id).ok();
        spelled.map_or(self.vocab.content(id), |at| self.spellings[at].1.as_slice())
    }

    /// Builds the matchers of the added tokens for which `wanted` returns true.
    pub(in crate::tokenizer) fn matchers_for(&self, wanted: impl Fn(u32) -> bool) -> Result<Matchers> {
        let tokens = |normalized: bool| {
            let ids = self.added.iter().copied().filter(|&id| wanted(id));
            let ids = ids.filter(move |&id| self.is_matched_in_normalized_text(id) == normalized);
            AddedTokenMatcher::new(ids.filter_map(|id| {
                let flags = self.flags(id);
                let content = self.matched_spelling(id);
                let has = |flag: u8| flags & flag != 0;
                (!content.is_empty()).then(|| Added {
                    content,
                    id,
                    single_word: has(SINGLE_WORD),
                    lstrip: has(LSTRIP),
                    rstrip: has(RSTRIP),
                    ascii_space: has(ASCII_SPACE),
                    passed_over: false,
                })
            }))
        };
        Ok(Matchers { raw: tokens(false)?, normalized: tokens(true)? })
    }

    /// Normalizes the added tokens that are matched in normalized text; returns those that normalization changes.
    fn normalized_spellings(&self) -> Result<Vec<(u32, Vec<u8>)>> {
        let mut spellings = Vec::new();
        if self.normalizers.is_empty() {
            return Ok(spellings);
        }
        for &(id, _) in &self.flags {
            let Ok(content) = std::str::from_utf8(self.vocab.content(id)) else { continue };
            if !self.is_matched_in_normalized_text(id) {
                continue;
            }
            let normalized = self.normalized(content, &|| true)?;
            if normalized != content {
                spellings.push((id, normalized.as_bytes().to_vec()));
            }
        }
        Ok(spellings)
    }
}
