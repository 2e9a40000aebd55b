//! Parser of decoder components: JSON → the algorithm that decodes.
//!
//! Names, fields and defaults are HF's, so components of a `tokenizer.json` are read unchanged. `Join`, `Respell` and
//! `SentencePiece` are Jeton's own. `Respell` is needed for added tokens that are matched in normalized text, because
//! HF decodes such a token to its normalized content.

use std::collections::HashMap;

use serde::Deserialize;

use super::chain::Chain;
use super::regex_replacer::RegexReplacer;
use super::sentence::Sentence;
use super::steps::{ByteAlphabet, DecodeStep, Replacer};
use crate::error::{Error, Result};
use crate::normalize::Denormalizer;
use crate::vocab::byte_alphabet;
use crate::vocab::{Kind, Vocab};

/// Algorithm by which ids are decoded.
#[derive(Debug, Clone)]
pub(super) enum Plan {
    /// Concatenates the contents (bytes) of the vocabulary entries. If the decoded bytes of an added token differ
    /// from its content, `respelled` contains the decoded bytes.
    Contents {
        respelled: HashMap<u32, Vec<u8>>,
    },
    Sentence(Sentence),
    Steps(Chain),
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum DecoderPart {
    #[serde(rename = "BPEDecoder")]
    Bpe {
        suffix: String,
    },
    ByteFallback {},
    ByteLevel {},
    #[serde(rename = "CTC")]
    Ctc {
        pad_token: String,
        word_delimiter_token: String,
        cleanup: bool,
    },
    Fuse {},
    Metaspace {
        replacement: char,
        prepend_scheme: Option<DecodePrependScheme>,
        add_prefix_space: Option<bool>,
    },
    Replace {
        pattern: DecodePattern,
        content: String,
    },
    Strip {
        content: char,
        start: usize,
        stop: usize,
    },
    WordPiece {
        prefix: String,
        cleanup: bool,
    },
    Join {
        separator: String,
    },
    /// Decodes each listed id to the string listed with the id, instead of the content of the vocabulary entry. Must be
    /// the first component.
    Respell {
        contents: Vec<(u32, String)>,
    },
    SentencePiece {
        add_dummy_prefix: bool,
        remove_extra_whitespaces: bool,
        #[serde(default)]
        unk: Option<u32>,
        #[serde(default = "unk_surface")]
        unk_surface: String,
        /// Fields of the denormalizer. They have the same names as the fields of a normalizer.
        #[serde(default)]
        denormalizer: Option<serde_json::Value>,
        /// Components that replace SentencePiece's algorithm, because a class of `transformers` decodes with them.
        #[serde(default)]
        components: Option<Vec<DecoderPart>>,
    },
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum DecodePrependScheme {
    First,
    Never,
    Always,
}

#[derive(Deserialize)]
enum DecodePattern {
    String(String),
    Regex(String),
}

/// Returns SentencePiece's default, U+2047 between spaces.
fn unk_surface() -> String {
    " \u{2047} ".to_owned()
}

impl Plan {
    pub fn new(json: &str, vocab: &Vocab, byte_level: bool, mark: Option<&str>) -> Result<Self> {
        let parts: Option<Vec<DecoderPart>> = serde_json::from_str(json)
            .map_err(|error| Error::config(format!("the decoder cannot be read: {error}")))?;
        let Some(mut parts) = parts else {
            return Ok(Self::Contents { respelled: HashMap::new() });
        };
        if let [DecoderPart::SentencePiece { components: Some(_), denormalizer: Some(_), .. }] = &parts[..] {
            return Err(Error::config("the decoder SentencePiece has components and a denormalizer"));
        }
        if let [DecoderPart::SentencePiece { components: Some(components), .. }] = &mut parts[..] {
            parts = std::mem::take(components);
        }
        if parts.iter().any(|part| matches!(part, DecoderPart::SentencePiece { .. })) {
            return match parts.pop() {
                Some(DecoderPart::SentencePiece {
                    add_dummy_prefix,
                    remove_extra_whitespaces,
                    unk,
                    unk_surface,
                    denormalizer,
                    components: None,
                }) if parts.is_empty() => {
                    check_unk(unk, vocab)?;
                    let denormalizer = denormalizer.as_ref().map(Denormalizer::from_value).transpose()?;
                    Ok(Self::Sentence(Sentence::new(
                        add_dummy_prefix,
                        remove_extra_whitespaces,
                        unk,
                        unk_surface,
                        denormalizer,
                    )))
                }
                _ => Err(Error::config("the decoder SentencePiece cannot be combined with other decoders")),
            };
        }
        let respelled: HashMap<u32, String> = match parts.first_mut() {
            Some(DecoderPart::Respell { contents }) => std::mem::take(contents).into_iter().collect(),
            _ => HashMap::new(),
        };
        if matches!(parts.first(), Some(DecoderPart::Respell { .. })) {
            parts.remove(0);
            if byte_level && parts.is_empty() {
                return Ok(Self::Contents { respelled: respelled_bytes(vocab, &respelled, false) });
            }
        }
        // Strings are concatenated at the end, so a final Fuse has no effect.
        while matches!(parts.last(), Some(DecoderPart::Fuse {})) {
            parts.pop();
        }
        let reads_bytes = byte_level && matches!(parts.first(), Some(DecoderPart::ByteLevel {}));
        let is_plain = vocab.iter().all(|(_, kind, _)| kind != Kind::EndsWord);
        if reads_bytes && parts.len() == 1 && is_plain {
            return Ok(Self::Contents { respelled: respelled_bytes(vocab, &respelled, true) });
        }
        let spelled = byte_level && !reads_bytes;
        let suffix = parts.iter().find_map(|part| match part {
            DecoderPart::Bpe { suffix } => Some(suffix.clone()),
            _ => None,
        });
        let ends_word = match (mark, suffix) {
            (Some(mark), _) => mark.to_owned(),
            (None, Some(suffix)) => suffix,
            (None, None) => if spelled { "Ġ" } else { " " }.to_owned(),
        };
        let mut read = Vec::new();
        ByteAlphabet::new().read_or_copy(ends_word.as_bytes(), &mut read);
        let reads_ends = mark.is_none() || byte_alphabet::read(&ends_word, &mut Vec::new()).is_ok();
        let ends_word = if reads_bytes && mark.is_some() { read } else { ends_word.into_bytes() };
        let mut steps = parts.into_iter().map(step).collect::<Result<Vec<_>>>()?;
        if let (true, Some(first)) = (reads_bytes, steps.first_mut()) {
            *first = DecodeStep::Bytes;
        }
        Ok(Self::Steps(Chain {
            steps,
            spelled,
            reads: reads_bytes.then(ByteAlphabet::new),
            respelled,
            ends_word,
            reads_ends,
        }))
    }

    /// Returns the decoded bytes of `id`: its replacement if the entry is respelled, its content otherwise.
    #[inline]
    pub fn content<'a>(&'a self, vocab: &'a Vocab, id: u32) -> &'a [u8] {
        match self {
            Self::Contents { respelled } => content(vocab, respelled, id),
            _ => vocab.content(id),
        }
    }
}

/// Returns the decoded bytes of `id`: its replacement in `respelled`, or else its content.
#[inline]
pub(super) fn content<'a>(vocab: &'a Vocab, respelled: &'a HashMap<u32, Vec<u8>>, id: u32) -> &'a [u8] {
    if respelled.is_empty() {
        return vocab.content(id); // nearly always the case, and needs no hash lookup
    }
    respelled.get(&id).map_or_else(|| vocab.content(id), Vec::as_slice)
}

/// Returns id → decoded bytes, for the added tokens whose decoded bytes differ from their content. A token is
/// decoded to its string in `strings`, or to its content if it has no string there. If `reads` is true, a string whose
/// characters are all in the byte alphabet is converted to the bytes that it spells (`ï` becomes the byte EF), as in
/// HF's ByteLevel.
fn respelled_bytes(vocab: &Vocab, strings: &HashMap<u32, String>, reads: bool) -> HashMap<u32, Vec<u8>> {
    let alphabet = ByteAlphabet::new();
    let added = vocab.iter().filter(|(_, kind, _)| matches!(kind, Kind::Added | Kind::Special));
    let bytes = added.filter_map(|(id, _, content)| {
        let string = strings.get(&id).map_or(content, String::as_bytes);
        let mut bytes = Vec::new();
        if reads {
            alphabet.read_or_copy(string, &mut bytes);
        } else {
            bytes.extend_from_slice(string);
        }
        (bytes != content).then_some((id, bytes))
    });
    bytes.collect()
}

fn check_unk(unk: Option<u32>, vocab: &Vocab) -> Result<()> {
    match unk {
        Some(id) if id as usize >= vocab.len() => {
            Err(Error::config(format!("the decoder's unknown token, id {id}, is not in the vocabulary")))
        }
        _ => Ok(()),
    }
}

fn step(part: DecoderPart) -> Result<DecodeStep> {
    Ok(match part {
        DecoderPart::Bpe { suffix } => DecodeStep::Suffix(Replacer::new(&suffix)),
        DecoderPart::ByteFallback {} => DecodeStep::ByteFallback,
        DecoderPart::ByteLevel {} => DecodeStep::ByteLevel(ByteAlphabet::new()),
        DecoderPart::Ctc { pad_token, word_delimiter_token, cleanup } => {
            DecodeStep::Ctc { pad: Replacer::new(&pad_token), delimiter: Replacer::new(&word_delimiter_token), cleanup }
        }
        DecoderPart::Fuse {} => DecodeStep::Fuse,
        DecoderPart::Metaspace { replacement, prepend_scheme, add_prefix_space } => {
            let never = prepend_scheme == Some(DecodePrependScheme::Never);
            if add_prefix_space == Some(false) && !never {
                return Err(Error::config(
                    "the decoder Metaspace has add_prefix_space = false, which means prepend_scheme = \"never\", but another prepend_scheme",
                ));
            }
            DecodeStep::Metaspace { mark: Replacer::new(&replacement.to_string()), drops_first: !never }
        }
        DecoderPart::Replace { pattern: DecodePattern::String(pattern), content } => {
            DecodeStep::Replace { pattern: Replacer::new(&pattern), content }
        }
        DecoderPart::Replace { pattern: DecodePattern::Regex(regex), content }
            if regex == r" \z" && content.is_empty() =>
        {
            DecodeStep::DropLastSpace
        }
        DecoderPart::Replace { pattern: DecodePattern::Regex(regex), content } => {
            DecodeStep::ReplaceRegex(RegexReplacer::new(&regex, &content)?)
        }
        DecoderPart::Strip { content, start, stop } => DecodeStep::Strip { content: content.to_string(), start, stop },
        DecoderPart::WordPiece { prefix, cleanup } => DecodeStep::WordPiece { prefix, cleanup },
        DecoderPart::Join { separator } => DecodeStep::Join(separator),
        DecoderPart::Respell { .. } => {
            return Err(Error::config("the decoder Respell must be the first one and occur once"))
        }
        DecoderPart::SentencePiece { .. } => {
            return Err(Error::config("the decoder SentencePiece cannot be combined with other decoders"))
        }
    })
}
