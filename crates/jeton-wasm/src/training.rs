//! Training on a short text: the merges, and the initial symbols of its pretokens. The replay of its steps is the worker's.

use jeton_core::error::{Error, Result};
use jeton_core::pretokenize::{names, Pretokenizer};
use jeton_core::tokenizer::{Extras, Tokenizer};
use jeton_core::train::count::{Counter, Stages};
use jeton_core::train::options::{LearnOptions, TieBreak};
use jeton_core::train::{assemble, learn, sequences};
use jeton_core::util::spill::MemoryLimit;
use jeton_core::vocab::alphabet::{EndOfWord, Level};
use jeton_core::vocab::Vocab;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Options, checked by the worker.
#[derive(Debug, Deserialize)]
pub struct Options {
    vocab_size: usize,
    level: String,
    pattern: String,
    tie_break: TieBreak,
}

/// A run.
#[derive(Debug, Serialize)]
pub struct Run {
    merges: Vec<(u32, u32, u32)>, // left, right, result
    num_symbols: usize,
    vocab_size: usize,
    num_requested: usize,
    sequences: Vec<Vec<u32>>,   // the initial symbols of each pretoken, in the order of the text
    tokens: Vec<(u32, String)>, // each entry with its bytes in hexadecimal
}

/// Learns merges of a text.
///
/// # Errors
/// A size that is smaller than the alphabet, or an invalid pattern.
pub fn train(text: &str, options: &Options) -> Result<Run> {
    let level = if options.level == "char" { Level::Char } else { Level::Byte };
    let vocab_size = options.vocab_size;
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
    let num_merges = vocab_size.checked_sub(num_symbols).ok_or_else(|| {
        Error::config(format!(
            "the vocabulary size leaves room for {vocab_size} entries beside the special tokens, but the alphabet alone has {num_symbols}"
        ))
    })?;
    let learning = LearnOptions { tie_break: options.tie_break, num_merges, level, ..LearnOptions::default() };
    let learned = learn::learn(&counts, &symbols, &learning, &mut |_| true)?;
    let entries = assemble::from_merges(&symbols, level, &learned)?;
    let tokens = entries.iter().map(|(id, _, content)| (id, crate::explanation::hex(content))).collect();
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
    let sequences = found.pretokens.iter().map(|&(start, end, _)| initial(&tok, &text[start..end], level)).collect();
    Ok(Run { merges, num_symbols, vocab_size, num_requested: num_merges, sequences, tokens })
}

/// Returns the symbols of a pretoken before the first merge.
fn initial(tok: &Tokenizer, pretoken: &str, level: Level) -> Vec<u32> {
    let find = |unit: &[u8]| tok.vocab().find(unit, false);
    match level {
        Level::Byte => pretoken.as_bytes().chunks(1).filter_map(find).collect(),
        Level::Char => pretoken.chars().filter_map(|c| find(c.encode_utf8(&mut [0; 4]).as_bytes())).collect(),
    }
}
