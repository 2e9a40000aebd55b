//! Counts → sequences of ids with weights, the learner's input.
//!
//! At byte level, the caller provides the alphabet (all 256 bytes, in the order of their ids). At character level, the
//! alphabet consists of the characters of the corpus. They are ordered by code point, or by descending count; if counts
//! are equal, by first appearance. Plain version: `reference/step09_characters.py`, `reference/step10_words.py`.

use std::collections::hash_map::Entry;
use std::collections::HashMap;

use super::count::Counts;
use crate::error::Result;
use crate::vocab::alphabet::{for_each_symbol, Alphabet, EndOfWord, Level, Symbol};

/// The initial symbols of a corpus, in order of their ids.
#[derive(Debug, Clone)]
pub struct Symbols {
    /// `symbols[i]` has id `first_id + i`.
    pub symbols: Vec<Symbol>,
    /// Id of the first symbol.
    pub first_id: u32,
    /// True if characters that are not symbols are removed from their pretokens; false if they are reported as errors.
    pub drops_others: bool,
}

/// Returns the alphabet of a corpus, with ids from 0. Bytes are in the order of their values. Characters are in the
/// order of descending counts; characters with equal counts are in the order of first appearance.
///
/// # Errors
/// An error for a pretoken that is not valid UTF-8, if the symbols are characters.
pub fn symbols(counts: &Counts, level: Level, end: EndOfWord) -> Result<Symbols> {
    let mut seen: Vec<(Symbol, u64)> = Vec::new(); // in order of first appearance
    let mut index: HashMap<Symbol, usize> = HashMap::new();
    if level == Level::Byte {
        let glued: &[bool] = if end == EndOfWord::Suffix { &[false, true] } else { &[false] };
        let all = glued
            .iter()
            .flat_map(|&ends_word| (0..256).map(move |byte| Symbol { unit: Some(byte), ends_word, inside: false }));
        seen.extend(all.map(|symbol| (symbol, 0)));
        if end == EndOfWord::Symbol {
            seen.push((Symbol { unit: None, ends_word: true, inside: false }, 0));
        }
    } else {
        for (pretoken, count) in counts.iter() {
            for_each_symbol(pretoken, level, end, |symbol, _| {
                match index.entry(symbol) {
                    Entry::Occupied(at) => seen[*at.get()].1 = seen[*at.get()].1.saturating_add(count),
                    Entry::Vacant(at) => {
                        at.insert(seen.len());
                        seen.push((symbol, count));
                    }
                }
                Ok(())
            })?;
        }
        seen.sort_by_key(|&(_, count)| std::cmp::Reverse(count)); // stable: ties stay in order of appearance
    }
    Ok(Symbols { symbols: seen.into_iter().map(|(symbol, _)| symbol).collect(), first_id: 0, drops_others: false })
}

impl Symbols {
    /// Returns the lookup table from symbol to id.
    pub fn alphabet(&self, level: Level, end: EndOfWord, unk: Option<u32>) -> Alphabet {
        let mut alphabet = Alphabet::new(level, end, unk).dropping_unknown(self.drops_others);
        for (id, &symbol) in (self.first_id..).zip(&self.symbols) {
            alphabet.insert(symbol, id);
        }
        alphabet
    }
}
