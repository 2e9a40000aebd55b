//! Training on a short text. The result contains the merges and the initial symbols of each pretoken. With these data,
//! the worker replays the steps of the training.

use std::collections::{HashMap, HashSet};

use jeton_core::added_tokens::{Added, AddedTokenMatcher};
use jeton_core::error::{Error, Result};
use jeton_core::pretokenize::{names, Pretokenizer};
use jeton_core::tokenizer::{Extras, Tokenizer};
use jeton_core::train::count::{Counter, Counts, Stages};
use jeton_core::train::hf::{self, HfOptions};
use jeton_core::train::options::{LearnOptions, TieBreak};
use jeton_core::train::{assemble, learn, sequences};
use jeton_core::util::spill::MemoryLimit;
use jeton_core::vocab::alphabet::{EndOfWord, Level};
use jeton_core::vocab::{Kind, Vocab};
use serde::{Deserialize, Serialize};
use serde_json::{json, Value};

use crate::explanation::hex;

/// Options of training, which the worker has checked.
#[derive(Debug, Deserialize)]
pub struct Options {
    vocab_size: Option<usize>, // None means the size of the alphabet plus `DEFAULT_MERGES`
    level: String,
    pattern: String,
    tie_break: TieBreak,
    words: Option<Words>, // if set, trains on distinct words
}

/// Options of training on distinct words (as opposed to training on the whole text).
#[derive(Debug, Deserialize)]
struct Words {
    stages: Value, // stages that run before pretokens are counted
    special_tokens: Vec<String>,
    end_of_word: Option<String>, // set for BPE: the end-of-word mark
    prefix: Option<String>,      // set for WordPiece: the prefix inside of words
}

/// Default number of merges for `Options::words`, if no vocabulary size is given.
const DEFAULT_MERGES: usize = 30;

/// Result of training, in the form in which the worker receives it.
#[derive(Debug, Serialize)]
pub struct Run {
    merges: Vec<(u32, u32, u32)>, // (left, right, result)
    num_special: usize,
    vocab_size: usize,
    num_requested: usize,
    sequences: Vec<(Vec<u32>, u64)>, // initial symbols and count of each pretoken, in text order
    tokens: Vec<(u32, String)>,      // each entry with its bytes in hexadecimal
    corpus_bytes: u64,
}

/// Learns merges from a text.
///
/// # Errors
/// An error for a size smaller than the alphabet, and for an invalid pattern.
pub fn train(text: &str, options: &Options) -> Result<Run> {
    match &options.words {
        Some(words) => train_on_words(text, words, options),
        None => train_on_text(text, options),
    }
}

fn train_on_words(text: &str, words: &Words, options: &Options) -> Result<Run> {
    let special = words.special_tokens.iter().map(|token| Added::plain(token.as_bytes(), 0));
    let mut counter = Counter::new(Stages::from_json(&words.stages.to_string())?, AddedTokenMatcher::new(special)?);
    counter.add(&[text], 1, &mut || true).map_err(|(_, error)| error)?;
    let corpus_bytes = counter.totals().bytes;
    let (counts, ..) = counter.finish(Vec::new(), 1, &MemoryLimit::unlimited(), &|| true)?;
    let num_special = words.special_tokens.len();
    let end = if words.end_of_word.is_some() { EndOfWord::Symbol } else { EndOfWord::None };
    let mark = words.end_of_word.as_deref().unwrap_or_default();
    let num_symbols = num_symbols(&counts, words)?;
    let room = options.vocab_size.map_or(num_symbols + DEFAULT_MERGES, |size| size.saturating_sub(num_special));
    let (merges, entries) = if words.prefix.is_some() {
        let options = HfOptions {
            byte_level: false,
            tie_break: TieBreak::LowestIds,
            vocab_size: room,
            first_id: num_special as u32,
            min_frequency: 1,
            limit_alphabet: None,
            initial_alphabet: Vec::new(),
            prefix: words.prefix.clone(),
            suffix: None,
            max_token_length: None,
        };
        let learned = hf::learn(&counts, &options, &LearnOptions::default(), &mut |_| true)?;
        (learned.merges, learned.entries)
    } else {
        let symbols = sequences::symbols(&counts, Level::Char, end)?;
        let num_merges = room.checked_sub(num_symbols).ok_or_else(|| no_room(room, num_symbols))?;
        let learning = LearnOptions {
            tie_break: options.tie_break,
            num_merges,
            level: Level::Char,
            end,
            end_of_word: mark,
            ..LearnOptions::default()
        };
        let merges = learn::learn(&counts, &symbols, &learning, &mut |_| true)?;
        let entries = assemble::from_merges(&symbols, Level::Char, &merges)?;
        let entries = entries.iter().map(|(id, kind, content)| (id, kind, content.to_vec())).collect();
        (merges, entries)
    };
    let spelled = |kind: Kind, content: &[u8]| match kind {
        Kind::EndsWord => [content, mark.as_bytes()].concat(),
        _ => content.to_vec(),
    };
    let ids: HashMap<Vec<u8>, u32> =
        entries.iter().take(num_symbols).map(|(id, kind, content)| (spelled(*kind, content), *id)).collect();
    let prefix = words.prefix.as_deref().unwrap_or_default();
    let sequence = |word: &[u8]| -> Vec<u32> {
        let word = String::from_utf8_lossy(word);
        let symbols = word.chars().enumerate().map(|(at, c)| format!("{}{c}", if at > 0 { prefix } else { "" }));
        let marks = words.end_of_word.iter().cloned();
        symbols.chain(marks).filter_map(|symbol| ids.get(symbol.as_bytes()).copied()).collect()
    };
    Ok(Run {
        merges: assemble::triples(&merges),
        num_special,
        vocab_size: entries.len() + num_special,
        num_requested: room - num_symbols,
        sequences: counts.iter().map(|(word, count)| (sequence(word), count)).collect(),
        tokens: entries.iter().map(|(id, kind, content)| (*id, hex(&spelled(*kind, content)))).collect(),
        corpus_bytes,
    })
}

/// Returns the number of initial symbols. Each distinct character is a symbol. If a prefix is set, each distinct
/// character that occurs after the start of a word gives a second symbol: the prefix plus the character. If an
/// end-of-word mark is set, the mark is a symbol.
fn num_symbols(counts: &Counts, words: &Words) -> Result<usize> {
    let mut symbols = HashSet::new();
    for (word, _) in counts.iter() {
        let word = std::str::from_utf8(word).map_err(|_| Error::config("a word is not UTF-8"))?;
        symbols.extend(word.chars().map(|c| (false, c)));
        if words.prefix.is_some() {
            symbols.extend(word.chars().skip(1).map(|c| (true, c)));
        }
    }
    Ok(symbols.len() + usize::from(words.end_of_word.is_some() && !counts.is_empty()))
}

fn no_room(room: usize, num_symbols: usize) -> Error {
    Error::config(format!(
        "the vocabulary size leaves room for {room} entries beside the special tokens, but the alphabet alone has {num_symbols}"
    ))
}

fn train_on_text(text: &str, options: &Options) -> Result<Run> {
    let level = if options.level == "char" { Level::Char } else { Level::Byte };
    let vocab_size = options.vocab_size.unwrap_or_default();
    let pattern = match options.pattern.as_str() {
        name if names().contains(&name) => Pretokenizer::named(name),
        word if word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)) => {
            let known = names().join(", ");
            return Err(Error::config(format!("there is no pattern named '{word}'; names: {known}; or pass a regex")));
        }
        regex => Some(Pretokenizer::regex(regex)?),
    };
    let pattern = pattern.ok_or_else(|| Error::config("there is no such pattern"))?;
    if level == Level::Byte && vocab_size < 256 {
        return Err(Error::option(
            "vocab_size",
            vocab_size,
            "is too small: 256 symbols of the alphabet and 0 special tokens need at least 256",
        ));
    }
    let unlimited = MemoryLimit::unlimited();
    let mut counter = Counter::new(Stages::Pattern(pattern), None);
    counter.add(&[text], 1, &mut || true).map_err(|(_, error)| error)?;
    let (counts, ..) = counter.finish(Vec::new(), 1, &unlimited, &|| true)?;
    let symbols = sequences::symbols(&counts, level, EndOfWord::None)?;
    let num_symbols = symbols.symbols.len();
    let num_merges = vocab_size.checked_sub(num_symbols).ok_or_else(|| no_room(vocab_size, num_symbols))?;
    let learning = LearnOptions { tie_break: options.tie_break, num_merges, level, ..LearnOptions::default() };
    let learned = learn::learn(&counts, &symbols, &learning, &mut |_| true)?;
    let entries = assemble::from_merges(&symbols, level, &learned)?;
    let tokens = entries.iter().map(|(id, _, content)| (id, hex(content))).collect();
    let merges = assemble::triples(&learned);
    let part = match options.pattern.as_str() {
        "none" => None,
        name if names().contains(&name) => Some(json!({"type": "Pattern", "name": name})),
        regex => Some(json!({"type": "Pattern", "regex": regex})),
    };
    let definition = json!({
        "model": {"type": "BPE", "level": &options.level, "ranks": "merges", "whole_first": false, "end_of_word": null, "unk": null},
        "pretokenizer": part.into_iter().collect::<Vec<_>>(),
    });
    let extras = Extras { merges: merges.clone(), ..Extras::default() };
    let vocab_size = entries.len();
    let tok = Tokenizer::from_json(&definition.to_string(), Vocab::new(entries.iter())?, extras)?;
    let found = tok.encode_with_spans(text.as_bytes(), &tok.permit_none(), &|| true)?;
    let pretokens = found.pretokens.iter();
    let sequences = pretokens.map(|&(start, end, _)| (initial(&tok, &text[start..end], level), 1)).collect();
    let corpus_bytes = text.len() as u64;
    Ok(Run { merges, num_special: 0, vocab_size, num_requested: num_merges, sequences, tokens, corpus_bytes })
}

/// Returns the initial symbols of a pretoken: its bytes or characters, before any merge is applied.
fn initial(tok: &Tokenizer, pretoken: &str, level: Level) -> Vec<u32> {
    let find = |unit: &[u8]| tok.vocab().find(unit, false);
    match level {
        Level::Byte => pretoken.as_bytes().chunks(1).filter_map(find).collect(),
        Level::Char => pretoken.chars().filter_map(|c| find(c.encode_utf8(&mut [0; 4]).as_bytes())).collect(),
    }
}
