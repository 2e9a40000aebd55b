//! Initial symbols: what a pretoken is before the first merge.
//!
//! A pretoken is cut into units (bytes or characters), and an end-of-word mark, where there is one, is a symbol of its own
//! or glued to the last unit. Encoding and training share this file, so they cannot disagree.
//!
//! Cost: one table look-up a byte, one hash look-up a character.
//! Plain version: `reference/step09_characters.py`, `reference/step10_words.py`.

use hashbrown::HashMap;

use crate::error::{Error, Result};
use crate::vocab::{Kind, Vocab};

/// The unit a pretoken is cut into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// 256 possible units; any bytes can be encoded.
    Byte,
    /// Unicode scalar values; what training never saw has no id.
    Char,
}

/// How the end of a word is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndOfWord {
    /// Not at all.
    None,
    /// By a symbol of its own after the last unit.
    Symbol,
    /// By a mark glued to the last unit: the unit at the end of a word is another symbol than the same unit inside.
    Suffix,
}

/// One initial symbol, as training counts it: a unit, and whether the mark is part of it. The mark alone is `unit: None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Symbol {
    /// A byte's value or a character's code point.
    pub unit: Option<u32>,
    /// The end-of-word mark is glued to it, or is all of it.
    pub ends_word: bool,
}

impl Symbol {
    /// The bytes of its unit (none for the mark alone).
    pub fn content(self, level: Level, out: &mut Vec<u8>) {
        match (level, self.unit) {
            (_, None) => {}
            (Level::Byte, Some(unit)) => out.push(unit as u8),
            (Level::Char, Some(unit)) => {
                if let Some(c) = char::from_u32(unit) {
                    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                }
            }
        }
    }
}

/// Calls `each` with every initial symbol of `pretoken`, in order, and its byte offset.
///
/// # Errors
/// Whatever `each` returns; at character level also [`Error::text`] where `pretoken` is not UTF-8.
pub fn for_each_symbol(
    pretoken: &[u8],
    level: Level,
    end: EndOfWord,
    mut each: impl FnMut(Symbol, usize) -> Result<()>,
) -> Result<()> {
    let suffix = end == EndOfWord::Suffix;
    match level {
        Level::Byte => {
            let last = pretoken.len().wrapping_sub(1);
            for (i, &byte) in pretoken.iter().enumerate() {
                each(Symbol { unit: Some(byte.into()), ends_word: suffix && i == last }, i)?;
            }
        }
        Level::Char => {
            let text = std::str::from_utf8(pretoken)
                .map_err(|e| Error::text("a character-level tokenizer needs UTF-8", e.valid_up_to()))?;
            for (i, c) in text.char_indices() {
                let ends_word = suffix && i + c.len_utf8() == text.len();
                each(Symbol { unit: Some(c.into()), ends_word }, i)?;
            }
        }
    }
    if end == EndOfWord::Symbol && !pretoken.is_empty() {
        each(Symbol { unit: None, ends_word: true }, pretoken.len())?;
    }
    Ok(())
}

fn single_char(content: &[u8]) -> Option<char> {
    let mut chars = std::str::from_utf8(content).ok()?.chars();
    chars.next().filter(|_| chars.next().is_none())
}

const NO_ID: u32 = u32::MAX;

/// The ids of the initial symbols.
#[derive(Debug, Clone)]
pub struct Alphabet {
    /// The unit.
    pub level: Level,
    /// The end of a word.
    pub end: EndOfWord,
    bytes: [[u32; 256]; 2], // [glued to the mark?][byte] -> id
    chars: HashMap<(char, bool), u32>,
    mark: u32,
    unk: Option<u32>,
}

impl Alphabet {
    /// An alphabet without symbols; unknown characters become `unk` where it is given.
    pub fn new(level: Level, end: EndOfWord, unk: Option<u32>) -> Self {
        Self { level, end, bytes: [[NO_ID; 256]; 2], chars: HashMap::new(), mark: NO_ID, unk }
    }

    /// The alphabet of a vocabulary: its entries of one unit, and the mark.
    pub fn of(vocab: &Vocab, level: Level, end: EndOfWord, unk: Option<u32>) -> Self {
        let mut alphabet = Self::new(level, end, unk);
        for (id, kind, content) in vocab.iter() {
            let ends_word = match kind {
                Kind::Token => false,
                Kind::EndsWord if end == EndOfWord::Suffix || content.is_empty() => true,
                _ => continue,
            };
            let unit = match (level, content) {
                (_, []) if ends_word => None,
                (Level::Byte, &[byte]) => Some(byte.into()),
                (Level::Char, _) => match single_char(content) {
                    Some(c) => Some(c.into()),
                    None => continue,
                },
                _ => continue,
            };
            alphabet.insert(Symbol { unit, ends_word }, id);
        }
        alphabet
    }

    /// Gives `symbol` an id.
    pub fn insert(&mut self, symbol: Symbol, id: u32) {
        match (self.level, symbol.unit) {
            (_, None) => self.mark = id,
            (Level::Byte, Some(unit)) => self.bytes[usize::from(symbol.ends_word)][unit as usize & 255] = id,
            (Level::Char, Some(unit)) => {
                if let Some(c) = char::from_u32(unit) {
                    self.chars.insert((c, symbol.ends_word), id);
                }
            }
        }
    }

    /// What stands in for an unknown character.
    pub fn unk(&self) -> Option<u32> {
        self.unk
    }

    /// The id of a symbol.
    #[inline]
    pub fn id(&self, symbol: Symbol) -> Option<u32> {
        let id = match (self.level, symbol.unit) {
            (_, None) => self.mark,
            (Level::Byte, Some(unit)) => self.bytes[usize::from(symbol.ends_word)][unit as usize & 255],
            (Level::Char, Some(unit)) => {
                let c = char::from_u32(unit)?;
                return self.chars.get(&(c, symbol.ends_word)).copied();
            }
        };
        (id != NO_ID).then_some(id)
    }

    /// Appends the ids of the initial symbols of `pretoken` to `out`.
    ///
    /// # Errors
    /// [`Error::text`] at a unit without an id, when there is no unknown token.
    pub fn symbols(&self, pretoken: &[u8], out: &mut Vec<u32>) -> Result<()> {
        for_each_symbol(pretoken, self.level, self.end, |symbol, at| {
            match self.id(symbol).or(self.unk) {
                Some(id) => out.push(id),
                None => return Err(self.unknown(symbol, at)),
            }
            Ok(())
        })
    }

    #[cold]
    fn unknown(&self, symbol: Symbol, at: usize) -> Error {
        let what = match (self.level, symbol.unit.and_then(char::from_u32)) {
            (_, None) => "the end-of-word mark".to_string(),
            (Level::Byte, _) => format!("byte 0x{:02x}", symbol.unit.unwrap_or(0)),
            (Level::Char, Some(c)) => format!("character {c:?} (U+{:04X})", c as u32),
        };
        let place = if symbol.ends_word { " at the end of a word" } else { "" };
        Error::text(
            format!("{what}{place} is not in the vocabulary, and the tokenizer has no unknown token (train with unk_token=)"),
            at,
        )
    }
}
