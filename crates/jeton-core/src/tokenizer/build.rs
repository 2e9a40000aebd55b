//! A tokenizer from its options, as JSON, and its vocabulary.
//!
//! The options are what `Definition` holds in Python: a model and the parts around it, in the words of `tokenizer.json`.

use serde::Deserialize;
use serde_json::Value;

use super::Tokenizer;
use crate::alphabet::{Alphabet, EndOfWord, Level};
use crate::error::{Error, Result};
use crate::model::bpe::Bpe;
use crate::pretokenize::Pretokenizer;
use crate::vocab::Vocab;

/// What surrounds a vocabulary.
#[derive(Deserialize)]
struct Options {
    model: Value,
    #[serde(default)]
    normalizer: Vec<Value>,
    #[serde(default)]
    pretokenizer: Vec<Value>,
}

#[derive(Deserialize)]
struct BpeOptions {
    level: String,
    ranks: String,
    whole_first: bool,
    end_of_word: Option<String>,
    unk: Option<u32>,
}

/// What a vocabulary has beside its entries.
#[derive(Debug, Clone, Default)]
pub struct Extras {
    /// (left, right, result) in order of rank.
    pub merges: Vec<(u32, u32, u32)>,
    /// Scores by id; empty where the model has none.
    pub scores: Vec<f64>,
    /// Flags of added tokens, by id.
    pub flags: Vec<(u32, u8)>,
}

impl Tokenizer {
    /// Puts a tokenizer together.
    ///
    /// # Errors
    /// [`Error::config`] for options that are not what their type needs, or that contradict the vocabulary.
    pub fn from_json(options: &str, vocab: Vocab, extras: Extras) -> Result<Self> {
        let wrong = |error: serde_json::Error| Error::config(format!("the options of a tokenizer: {error}"));
        let options: Options = serde_json::from_str(options).map_err(wrong)?;
        let bpe: BpeOptions = serde_json::from_value(options.model).map_err(wrong)?;
        let end = match bpe.end_of_word.as_deref() {
            None => EndOfWord::None,
            Some("suffix") => EndOfWord::Suffix,
            Some(_) => EndOfWord::Symbol,
        };
        let level = if bpe.level == "byte" { Level::Byte } else { Level::Char };
        let alphabet = Alphabet::of(&vocab, level, end, bpe.unk);
        let model = match bpe.ranks.as_str() {
            "tokens" => Bpe::from_ranks(&vocab, alphabet),
            _ => Bpe::from_merges(&vocab, alphabet, extras.merges, bpe.whole_first)?,
        };
        if !options.normalizer.is_empty() {
            return Err(Error::config("normalizers are not here yet"));
        }
        let pretokenizer = match &options.pretokenizer[..] {
            [] => Pretokenizer::none(),
            [part] if part["name"].is_string() => Pretokenizer::named(part["name"].as_str().unwrap_or_default())
                .ok_or_else(|| Error::config("there is no such pattern"))?,
            [part] => Pretokenizer::regex(part["regex"].as_str().unwrap_or_default())?,
            _ => return Err(Error::config("pre-tokenizers are not here yet")),
        };
        let mut flags = extras.flags;
        flags.sort_unstable();
        Ok(Self { flags, scores: extras.scores, ..Self::new(vocab, model, pretokenizer)? })
    }
}
