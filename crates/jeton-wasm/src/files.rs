//! Files that a user opens. The core reads the entries of the vocabulary. The web worker reads the rest of the file as
//! JSON and then sends a plan. The tokenizer is built from the entries and the plan.

use std::collections::{HashMap, HashSet};

use jeton_core::error::{Error, Result};
use jeton_core::format::hf_json::{self, Spelling, TokenizerFile};
use jeton_core::format::layout::{self, Arranged};
use jeton_core::format::{ranks, sentencepiece, vocab_txt};
use jeton_core::tokenizer::Extras;
use jeton_core::vocab::{Kind, List};
use serde::Deserialize;
use serde_json::json;

/// Formats of the files that can be opened.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    TokenizerJson,
    Ranks,
    SentencePiece,
    VocabTxt,
}

/// A file that was read, but from which no tokenizer has been built yet.
pub enum Opened {
    Json(TokenizerFile),
    Entries(List, Extras),
}

/// Plan for building a tokenizer from an opened file.
#[derive(Debug, Deserialize)]
pub struct Plan {
    /// True if entries are spelled in the byte alphabet.
    byte_alphabet: bool,
    /// Mark at the end of entries that end a word.
    end_of_word: String,
    /// Added tokens as (id, content, is special, flags).
    added: Vec<(u32, String, bool, u8)>,
    /// Kind of entries → ids of the entries of this kind.
    kinds: HashMap<String, Vec<u32>>,
    /// Scores by id, which replace the scores in the file.
    scores: Option<Vec<f64>>,
}

/// Reads a file: returns its entries, and facts about it for the worker.
///
/// # Errors
/// [`Error::format`] with the location in the file.
pub fn read(format: Format, data: &[u8]) -> Result<(Opened, serde_json::Value)> {
    let plain = |entries, scores| Opened::Entries(entries, Extras { scores, ..Extras::default() });
    match format {
        Format::TokenizerJson => {
            let file = hf_json::read(data)?;
            let facts = json!({"rest": file.rest, "num": file.vocab.ids.len(), "has_merges": file.has_merges,
                "has_scores": !file.vocab.scores.is_empty()});
            Ok((Opened::Json(file), facts))
        }
        Format::Ranks => {
            let entries = ranks::read(data)?;
            let single: HashSet<u8> =
                entries.iter().filter(|entry| entry.2.len() == 1).map(|entry| entry.2[0]).collect();
            if let Some(byte) = (0..=255).find(|byte| !single.contains(byte)) {
                let message = format!("byte 0x{byte:02x} has no rank, so not every text could be encoded");
                return Err(Error::format(message, "the whole file"));
            }
            Ok((plain(entries, Vec::new()), json!({})))
        }
        Format::SentencePiece => {
            let model = sentencepiece::read(data)?;
            let facts: serde_json::Value =
                serde_json::to_value(&model.facts).map_err(|error| Error::config(error.to_string()))?;
            let Arranged { entries, scores, .. } = layout::arrange(model, None)?;
            Ok((plain(entries, scores), facts))
        }
        Format::VocabTxt => {
            let file = vocab_txt::read(data)?;
            Ok((plain(file.entries, Vec::new()), json!({"has_upper_case": file.has_upper_case})))
        }
    }
}

impl Opened {
    /// Returns the id of each spelling, whatever the kind of its entry; None if there is no entry.
    pub fn ids(&self, spellings: &[String]) -> Vec<Option<u32>> {
        match self {
            Self::Json(file) => spellings.iter().map(|spelling| file.vocab.id(spelling)).collect(),
            Self::Entries(entries, _) => {
                let by_content: HashMap<&[u8], u32> = entries.iter().map(|(id, _, content)| (content, id)).collect();
                spellings.iter().map(|spelling| by_content.get(spelling.as_bytes()).copied()).collect()
            }
        }
    }

    /// Returns the spelling of the entry at this index, if the file is a list of pieces.
    pub fn piece(&self, index: usize) -> Option<&str> {
        match self {
            Self::Json(file) => file.vocab.tokens.get(index),
            Self::Entries(..) => None,
        }
    }

    /// Returns true if an entry has this id.
    pub fn holds(&self, id: u32) -> bool {
        match self {
            Self::Json(file) => file.vocab.ids.contains(&id),
            Self::Entries(entries, _) => entries.iter().any(|entry| entry.0 == id),
        }
    }

    /// Returns true if some spelling contains `mark`, not counting one occurrence at the end of the spelling.
    pub fn holds_inside(&self, mark: &str) -> bool {
        let inside = |token: &str| token.strip_suffix(mark).unwrap_or(token).contains(mark);
        match self {
            Self::Json(file) => !mark.is_empty() && file.vocab.tokens.iter().any(inside),
            Self::Entries(..) => false,
        }
    }

    /// Builds the vocabulary from the opened file and the plan.
    ///
    /// # Errors
    /// [`Error::format`] if an entry and an added token have the same id.
    pub fn build(self, plan: &Plan) -> Result<(List, Extras)> {
        let added: HashMap<u32, &str> = plan.added.iter().map(|(id, content, ..)| (*id, content.as_str())).collect();
        let (mut entries, mut extras) = match self {
            Self::Entries(entries, extras) => (entries, extras),
            Self::Json(file) => {
                let spelling = Spelling { byte_alphabet: plan.byte_alphabet, end_of_word: &plan.end_of_word };
                let extras = Extras { merges: file.merges, scores: file.vocab.scores.clone(), ..Extras::default() };
                let rows = file.vocab.ids.iter().zip(file.vocab.tokens.iter());
                let entries = rows.filter(|&(id, token)| added.get(id) != Some(&token)).map(|(&id, token)| {
                    if let Some(other) = added.get(&id) {
                        let message = format!("{token:?} and the added token {other:?} have the same id, {id}");
                        return Err(Error::format(message, format!("$.model.vocab[{token:?}]")));
                    }
                    let (kind, content) = spelling.read(token);
                    Ok((id, kind, content))
                });
                (entries.collect::<Result<List>>()?, extras)
            }
        };
        entries = entries.iter().filter(|entry| !added.contains_key(&entry.0)).collect();
        for (id, content, special, flags) in &plan.added {
            let kind = if *special { Kind::Special } else { Kind::Added };
            entries.push(*id, kind, content.as_bytes());
            if *flags != 0 {
                extras.flags.push((*id, *flags));
            }
        }
        for (kind, ids) in &plan.kinds {
            let kind = kind
                .parse()
                .ok()
                .and_then(Kind::from_u8)
                .ok_or_else(|| Error::config("no kind of entries has this number"))?;
            let wanted: HashSet<u32> = ids.iter().copied().collect();
            entries.change_kinds(kind, |id, before| before == Kind::Token && wanted.contains(&id));
        }
        if let Some(scores) = &plan.scores {
            extras.scores.clone_from(scores);
        }
        Ok((entries, extras))
    }
}
