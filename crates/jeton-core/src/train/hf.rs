//! Counts → initial symbols and merges, by the rules of Hugging Face's `BpeTrainer`.
//!
//! The alphabet consists of the required characters and the most frequent characters of the corpus, up to a limit, in
//! the order of code points. It is followed by the symbols with a prefix or suffix that occur in the corpus. A
//! character outside of the alphabet is removed from its word, so its neighbors become adjacent. The spelling of a
//! merged token is the spelling of its left part, followed by the spelling of its right part without the prefix.
//!
//! In two cases, the library uses the iteration order of a hash map, which differs between processes. Here the order is
//! defined in both cases. If the limit of the alphabet excludes some of several equally frequent characters, lower code
//! points are preferred. Symbols with a prefix or suffix are sorted by their string.
//!
//! Cost: one pass over the counts, on all threads, and the cost of learning. Source: huggingface/tokenizers
//! `models/bpe/trainer.rs`. Left out: two tokens with the same spelling, which share an id in the library and are an
//! error here. Tests: `tests/parity/test_hf_training.py` and `test_training_parity.py` compare this trainer with
//! the library's.

use std::collections::{BTreeSet, HashSet};

use serde::Deserialize;

use super::count::Counts;
use super::learn;
use super::merge::{LearnedMerge, OnMerge};
use super::options::{LearnOptions, TieBreak};
use super::rules::hf::ShorterThan;
use super::rules::Rule;
use super::sequences::Symbols;
use super::units::Units;
use crate::error::{Error, Result};
use crate::vocab::alphabet::{EndOfWord, Level, Symbol};
use crate::vocab::byte_alphabet;
use crate::vocab::{show, Kind, MAX_BYTES};

/// Options of the trainer.
#[derive(Debug, Clone, Deserialize)]
pub struct HfOptions {
    /// True if symbols are bytes, in the order of the byte alphabet; false if symbols are characters.
    pub byte_level: bool,
    /// Rule for pairs with equal counts; Hugging Face's library uses `lowest_ids`.
    pub tie_break: TieBreak,
    /// Total number of entries, without special tokens.
    pub vocab_size: usize,
    /// Id of the first entry of the vocabulary.
    pub first_id: u32,
    /// Pairs with a lower count are not merged.
    pub min_frequency: u64,
    /// Maximum number of symbols in the alphabet, not counting symbols with a prefix or suffix.
    pub limit_alphabet: Option<usize>,
    /// Units (bytes or code points) that are in the alphabet even if the corpus lacks them.
    pub initial_alphabet: Vec<u32>,
    /// Prefix of symbols that are not the first of a word.
    pub prefix: Option<String>,
    /// Suffix of the last symbol of a word.
    pub suffix: Option<String>,
    /// Exclusive maximum length of tokens, in symbols. Tokens of two symbols are exempt.
    pub max_token_length: Option<usize>,
}

/// Entry of the learned vocabulary: id, kind, content.
pub type LearnedEntry = (u32, Kind, Vec<u8>);

/// Result of training: vocabulary and merges.
#[derive(Debug)]
pub struct HfResult {
    /// The alphabet, then the results of merges.
    pub entries: Vec<LearnedEntry>,
    /// Number of initial symbols, with which the entries begin.
    pub num_symbols: usize,
    /// The merges, in the order in which they were learned.
    pub merges: Vec<LearnedMerge>,
}

impl HfOptions {
    /// Reads options from JSON.
    ///
    /// # Errors
    /// [`Error::config`] for invalid JSON, and for a prefix in combination with `byte_level`.
    pub fn from_json(options: &str) -> Result<Self> {
        let options: Self =
            serde_json::from_str(options).map_err(|error| Error::config(format!("options of training: {error}")))?;
        if options.byte_level && options.prefix.is_some() {
            return Err(Error::config("continuing_subword_prefix needs level \"char\""));
        }
        Ok(options)
    }

    fn level(&self) -> Level {
        if self.byte_level {
            Level::Byte
        } else {
            Level::Char
        }
    }

    fn end(&self) -> EndOfWord {
        if self.suffix.is_some() {
            EndOfWord::Suffix
        } else {
            EndOfWord::None
        }
    }

    /// Returns the key by which units are sorted in the alphabet: for a character, its code point; for a byte, the code
    /// point of its character in the byte alphabet.
    fn key(&self, unit: u32) -> u32 {
        match self.level() {
            Level::Byte => byte_alphabet::stand_in(unit as u8).into(),
            Level::Char => unit,
        }
    }

    /// Returns the spelling of a symbol in the vocabulary. The spelling has no suffix, because the entry's kind shows
    /// whether the entry ends a word.
    fn content(&self, symbol: Symbol) -> Vec<u8> {
        let mut content = Vec::new();
        if symbol.inside {
            content.extend_from_slice(self.prefix.as_deref().unwrap_or_default().as_bytes());
        }
        symbol.content(self.level(), &mut content);
        content
    }
}

/// Learns merges and the resulting vocabulary. `watch` is called as in [`learn::learn`].
///
/// # Errors
/// [`Error::config`] if the alphabet alone exceeds the vocabulary size; [`Error::training`] for two tokens with the
/// same spelling; the errors of [`learn::learn`].
pub fn learn(
    counts: &Counts,
    options: &HfOptions,
    run: &LearnOptions<'_>,
    watch: &mut OnMerge<'_>,
) -> Result<HfResult> {
    let symbols = symbols(counts, options, run.threads, &mut || watch(run.done))?;
    let num_symbols = symbols.symbols.len();
    let Some(num_merges) = options.vocab_size.checked_sub(num_symbols) else {
        return Err(Error::config(format!(
            "the vocabulary size leaves room for {} entries beside the special tokens, but the alphabet alone has {num_symbols}",
            options.vocab_size
        )));
    };
    let rule = options.max_token_length.map(|limit| ShorterThan { limit, level: options.level() });
    let core = LearnOptions {
        tie_break: options.tie_break,
        num_merges,
        min_frequency: options.min_frequency,
        level: options.level(),
        end: options.end(), // the suffix has no spelling here, because the length limit ignores it
        rule: rule.as_ref().map(|rule| rule as &dyn Rule),
        ..*run
    };
    let merges = learn::learn(counts, &symbols, &core, watch)?;
    let entries = spell(&symbols, &merges, options)?;
    Ok(HfResult { entries, num_symbols, merges })
}

/// Counts the units of the corpus, on up to `threads` threads, and returns the initial symbols.
fn symbols(counts: &Counts, options: &HfOptions, threads: usize, watch: &mut dyn FnMut() -> bool) -> Result<Symbols> {
    let units = Units::count(counts, options.level(), options.end(), threads, watch)?;
    let asked: HashSet<u32> = options.initial_alphabet.iter().copied().collect();
    let mut kept: Vec<(u32, u64)> = units.iter().filter(|(unit, _)| !asked.contains(unit)).collect();
    kept.extend(asked.into_iter().map(|unit| (unit, u64::MAX)));
    kept.sort_by_key(|&(unit, count)| (std::cmp::Reverse(count), options.key(unit)));
    kept.truncate(options.limit_alphabet.unwrap_or(usize::MAX));
    let mut kept: Vec<u32> = kept.into_iter().map(|(unit, _)| unit).collect();
    kept.sort_by_key(|&unit| options.key(unit));
    let plain = |unit: u32| Symbol { unit: Some(unit), ends_word: false, inside: false };
    let mut symbols: Vec<Symbol> = kept.iter().copied().map(plain).collect();
    symbols.extend(marked(&units, options, &kept));
    Ok(Symbols { symbols, first_id: options.first_id, drops_others: true })
}

/// Returns the symbols of the corpus that have a prefix or a suffix, sorted by their string.
fn marked(units: &Units, options: &HfOptions, kept: &[u32]) -> Vec<Symbol> {
    let mut found = BTreeSet::new();
    for &unit in kept {
        for (behind, ends_word) in [(false, true), (true, false), (true, true)] {
            let symbol = Symbol { unit: Some(unit), ends_word, inside: behind && options.prefix.is_some() };
            if (symbol.inside || symbol.ends_word) && units.has(unit, behind, ends_word) {
                let mut string = options.content(symbol);
                if symbol.ends_word {
                    string.extend_from_slice(options.suffix.as_deref().unwrap_or_default().as_bytes());
                }
                found.insert((string, symbol));
            }
        }
    }
    found.into_iter().map(|(_, symbol)| symbol).collect()
}

fn spell(symbols: &Symbols, merges: &[LearnedMerge], options: &HfOptions) -> Result<Vec<LearnedEntry>> {
    let mut entries: Vec<LearnedEntry> = Vec::with_capacity(symbols.symbols.len() + merges.len());
    for (id, &symbol) in (symbols.first_id..).zip(&symbols.symbols) {
        let kind = if symbol.ends_word { Kind::EndsWord } else { Kind::Token };
        entries.push((id, kind, options.content(symbol)));
    }
    let prefix = options.prefix.as_deref().unwrap_or_default().as_bytes();
    let mut spelled = 0;
    for merge in merges {
        let entry = |id: u32| &entries[(id - symbols.first_id) as usize];
        let (_, kind, right) = entry(merge.right);
        let right = right.strip_prefix(prefix).unwrap_or(right);
        let content = [entry(merge.left).2.as_slice(), right].concat();
        spelled += content.len();
        if spelled > MAX_BYTES {
            return Err(Error::training(
                "the learned tokens spell more than 1 GiB: raise min_frequency or use a pattern",
            ));
        }
        entries.push((merge.result, *kind, content));
    }
    let mut known = HashSet::new();
    match entries.iter().find(|(_, kind, content)| !known.insert((*kind as u8, content))) {
        None => Ok(entries),
        Some((_, _, content)) => Err(Error::training(format!(
            "the token {:?} can be formed in two ways, because the prefix also occurs in the corpus, and both would get the same id, as with Hugging Face; choose another prefix, or split the text at the prefix's characters",
            show(content)
        ))),
    }
}
