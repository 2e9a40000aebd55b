//! Options of a model as JSON, and construction of the model from options, vocabulary, merges and scores.
//!
//! Options that also exist in `tokenizer.json` have the same names here; each model documents its options. Unknown
//! members are ignored, because the Python package adds members that the core does not read (`"end_of_word": "</w>"`).

use serde::Deserialize;

use super::added_entries::AddedEntries;
use super::bpe::Bpe;
use super::pieces::Pieces;
use super::unigram::Unigram;
use super::unknown::{check_unk, Unknown};
use super::words::{Chars, WordLevel, WordPiece, Words};
use super::Model;
use crate::error::{Error, Result};
use crate::vocab::alphabet::{Alphabet, EndOfWord, Level};
use crate::vocab::byte_alphabet;
use crate::vocab::{show, Kind, Vocab};

#[derive(Deserialize)]
#[serde(tag = "type")]
enum ModelOptions {
    #[serde(rename = "BPE")]
    Bpe(BpeOptions),
    Pieces {
        unk: Option<u32>,
        #[serde(default)]
        byte_fallback: bool,
    },
    Unigram {
        unk: Option<u32>,
        #[serde(default)]
        byte_fallback: bool,
        #[serde(default = "yes")]
        fuse_unk: bool,
        #[serde(default)]
        precision: Precision,
    },
    WordPiece {
        unk: u32,
        #[serde(default = "hashes")]
        prefix: String,
        #[serde(default = "hundred")]
        max_chars: usize,
        #[serde(default)]
        added: Vec<u32>,
    },
    WordLevel {
        unk: Option<u32>,
        #[serde(default)]
        added: Vec<u32>,
    },
    Words {
        unk: u32,
        #[serde(default)]
        byte_fallback: bool,
    },
    Chars {
        unk: u32,
        #[serde(default)]
        byte_fallback: bool,
    },
}

#[derive(Deserialize)]
struct BpeOptions {
    #[serde(default)]
    level: LevelName,
    #[serde(default)]
    ranks: RanksName,
    #[serde(default)]
    whole_first: bool,
    end_of_word: Option<EndName>,
    unk: Option<u32>,
    #[serde(default)]
    fuse_unk: bool,
    #[serde(default)]
    byte_fallback: bool,
    #[serde(default)]
    drop_unknown: bool,
    prefix: Option<String>,
    #[serde(default)]
    added: Vec<u32>,
}

#[derive(Deserialize, Default, Clone, Copy, PartialEq)]
#[serde(rename_all = "lowercase")]
enum LevelName {
    #[default]
    Byte,
    Char,
}

#[derive(Deserialize, Default, PartialEq)]
#[serde(rename_all = "lowercase")]
enum RanksName {
    #[default]
    Merges,
    Tokens,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum EndName {
    Symbol,
    Suffix,
}

#[derive(Deserialize, Default, PartialEq)]
enum Precision {
    #[serde(rename = "f32")]
    Single,
    #[default]
    #[serde(rename = "f64")]
    Double,
}

fn yes() -> bool {
    true
}

fn hashes() -> String {
    "##".into()
}

fn hundred() -> usize {
    100
}

impl Model {
    /// Builds a model from its options, the vocabulary, merges (left, right, result) and scores (by id; empty for
    /// none).
    ///
    /// `"added"` in the options of HF's models lists the added tokens that are not special and are also entries of the
    /// model. Two kinds of added tokens are entries even if they are not listed: tokens in the merges of a BPE model,
    /// and tokens with a score in a Unigram model.
    ///
    /// # Errors
    /// [`Error::config`] for invalid options; errors of the constructor of the model.
    pub fn from_json(options: &str, vocab: &Vocab, merges: Vec<(u32, u32, u32)>, scores: &[f64]) -> Result<Self> {
        let options: ModelOptions = serde_json::from_str(options)
            .map_err(|error| Error::config(format!("the options of the model: {error}")))?;
        let listed = |ids: &[u32]| {
            let mut added = AddedEntries::default();
            ids.iter().for_each(|&id| added.insert(vocab, id));
            added
        };
        Ok(match options {
            ModelOptions::Bpe(options) => Self::Bpe(bpe(options, vocab, merges)?),
            ModelOptions::Pieces { unk, byte_fallback } => {
                Self::Pieces(Pieces::new(vocab, scores, Unknown::new(vocab, unk, true, byte_fallback)?)?)
            }
            ModelOptions::Unigram { unk, byte_fallback, fuse_unk, precision } => {
                let unknown = Unknown::new(vocab, unk, fuse_unk, byte_fallback)?;
                Self::Unigram(Unigram::new(vocab, scores, unknown, precision == Precision::Single)?)
            }
            ModelOptions::WordPiece { unk, prefix, max_chars, added } => {
                Self::WordPiece(WordPiece::new(vocab, unk, &prefix, max_chars, listed(&added))?)
            }
            ModelOptions::WordLevel { unk, added } => Self::WordLevel(WordLevel::new(vocab, unk, listed(&added))?),
            ModelOptions::Words { unk, byte_fallback } => Self::Words(Words::new(vocab, unk, byte_fallback)?),
            ModelOptions::Chars { unk, byte_fallback } => Self::Chars(Chars::new(vocab, unk, byte_fallback)?),
        })
    }
}

fn bpe(options: BpeOptions, vocab: &Vocab, merges: Vec<(u32, u32, u32)>) -> Result<Bpe> {
    let level = if options.level == LevelName::Byte { Level::Byte } else { Level::Char };
    let end = match options.end_of_word {
        None => EndOfWord::None,
        Some(EndName::Symbol) => EndOfWord::Symbol,
        Some(EndName::Suffix) => EndOfWord::Suffix,
    };
    check_unk(vocab, options.unk)?;
    let mut alphabet = Alphabet::of(vocab, level, end, options.unk)
        .fusing_unknown(options.fuse_unk)
        .dropping_unknown(options.drop_unknown);
    if let Some(prefix) = &options.prefix {
        alphabet = alphabet.with_prefix(vocab, prefix)?;
    }
    if options.byte_fallback {
        alphabet = alphabet.with_byte_fallback(vocab)?;
    }
    if options.ranks == RanksName::Tokens {
        return Ok(Bpe::from_ranks(vocab, alphabet));
    }
    let mut model = Bpe::from_merges(vocab, alphabet, merges, options.whole_first)?;
    for id in options.added.into_iter().filter(|&id| vocab.kind(id) == Kind::Added) {
        if is_reached(&model, vocab.content(id), level)? {
            model.add_entry(vocab, id);
        }
    }
    Ok(model)
}

/// Returns true if the model can produce an added token without merges: as a whole pretoken or as a unit.
///
/// # Errors
/// `Config` for a token that stands for the wrong bytes. This occurs at byte level, where entries are spelled with one
/// character for each byte: the bytes spelled by the token can differ from the UTF-8 of the token.
fn is_reached(model: &Bpe, content: &[u8], level: Level) -> Result<bool> {
    if level == Level::Char {
        return Ok(model.whole_first() || model.alphabet.is_unit(content));
    }
    let mut bytes = Vec::new();
    let is_spelled = std::str::from_utf8(content).is_ok_and(|text| byte_alphabet::read(text, &mut bytes).is_ok());
    if !is_spelled || !(model.whole_first() || bytes.len() == 1) {
        return Ok(false);
    }
    if bytes != content {
        let shown = show(content);
        return Err(Error::unsupported(
            "an added token that is an entry for other bytes",
            format!("the token {shown:?} cannot be added: as an entry, its spelling stands for the bytes {bytes:02x?}"),
        ));
    }
    Ok(true)
}
