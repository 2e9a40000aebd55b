//! Initial symbols: splits a pretoken into the smallest symbols, with which merging starts.
//!
//! A pretoken is split into units (bytes or characters). An end-of-word mark, if any, is a separate symbol or part of
//! the last unit. Encoding and training both use this module, so their symbols are the same.
//!
//! A character without a symbol becomes byte tokens (`<0x0A>`) or the unknown token, which can be fused with the
//! unknown tokens next to it. If only some of the 256 bytes are entries, an unknown token and the byte tokens of the
//! next characters change places: the byte tokens come first, as in huggingface/tokenizers models/bpe/model.rs.
//!
//! Cost: one table lookup for each byte, one hash lookup for each character.
//! Plain version: `reference/step09_characters.py`, `reference/step10_words.py`.

use hashbrown::HashMap;

use crate::error::{Error, Result};
use crate::vocab::{Kind, Vocab};

/// Unit of initial symbols.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Bytes: every text can be encoded.
    Byte,
    /// Characters (Unicode scalar values): a character that did not occur in training has no id.
    Char,
}

/// How the end of a word is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndOfWord {
    /// The end of a word is not marked.
    None,
    /// The mark is a separate symbol after the last unit.
    Symbol,
    /// The mark is a suffix of the last unit. A unit with the suffix and the same unit without it are different
    /// symbols.
    Suffix,
}

/// An initial symbol, as training counts it: a unit with or without the end-of-word mark. A separate mark has `unit:
/// None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol {
    /// Value of a byte, or code point of a character.
    pub unit: Option<u32>,
    /// True if the symbol is a unit with the end-of-word mark, or the mark alone.
    pub ends_word: bool,
    /// True for a symbol that is not the first of its pretoken, if the alphabet distinguishes such symbols (by a
    /// prefix).
    pub inside: bool,
}

impl Symbol {
    /// Appends the bytes of the unit. A separate mark has no bytes.
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

/// Calls `each` with the initial symbols of `pretoken`, in order, and their byte offsets.
///
/// # Errors
/// Errors of `each`; at character level [`Error::text`] if `pretoken` is not UTF-8.
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
                each(Symbol { unit: Some(byte.into()), ends_word: suffix && i == last, inside: false }, i)?;
            }
        }
        Level::Char => {
            let text = std::str::from_utf8(pretoken)
                .map_err(|e| Error::text("the text is not UTF-8, which this tokenizer needs", e.valid_up_to()))?;
            for (i, c) in text.char_indices() {
                let ends_word = suffix && i + c.len_utf8() == text.len();
                each(Symbol { unit: Some(c.into()), ends_word, inside: false }, i)?;
            }
        }
    }
    if end == EndOfWord::Symbol && !pretoken.is_empty() {
        each(Symbol { unit: None, ends_word: true, inside: false }, pretoken.len())?;
    }
    Ok(())
}

fn single_char(content: &[u8]) -> Option<char> {
    let mut chars = std::str::from_utf8(content).ok()?.chars();
    chars.next().filter(|_| chars.next().is_none())
}

/// Stands for a missing entry.
pub const NO_ID: u32 = u32::MAX;

/// `▁`, which stands for a space in SentencePiece and its descendants.
pub const WORD_START: char = '\u{2581}';

/// Returns the id of the byte-fallback entry (`<0x0A>`) of each byte; None if there is no such entry.
pub fn byte_entries(vocab: &Vocab) -> Option<Box<[u32; 256]>> {
    let mut ids = Box::new([NO_ID; 256]);
    for (id, kind, content) in vocab.iter() {
        if let (Kind::Token | Kind::Byte | Kind::Added, Some(byte)) = (kind, byte_of_spelling(content)) {
            ids[usize::from(byte)] = id;
        }
    }
    ids.iter().any(|&id| id != NO_ID).then_some(ids)
}

/// Returns the byte that a byte-fallback entry (`<0x0A>`) stands for.
pub fn byte_of_spelling(content: &[u8]) -> Option<u8> {
    let &[b'<', b'0', b'x', high, low, b'>'] = content else { return None };
    Some(hex(high)? << 4 | hex(low)?)
}

/// Returns the ids of all bytes of a text; None if a byte has no id.
pub fn spell_in_bytes<'a>(ids: &'a [u32; 256], text: &'a [u8]) -> Option<impl Iterator<Item = u32> + 'a> {
    let spelled = || text.iter().map(|&byte| ids[usize::from(byte)]);
    spelled().all(|id| id != NO_ID).then(spelled)
}

fn hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

/// Ids of the initial symbols.
#[derive(Debug, Clone)]
pub struct Alphabet {
    /// Unit of the initial symbols.
    pub level: Level,
    /// How the end of a word is marked.
    pub end: EndOfWord,
    bytes: [[u32; 256]; 2], // [with the mark][byte] -> id
    chars: HashMap<(char, bool), u32>,
    mark: u32,
    unk: Option<u32>,
    unknown: UnknownSymbol,
    inside: HashMap<(char, bool), u32>, // only with a prefix: symbols that are not the first
    prefix: Option<Box<str>>,
    special: Vec<u32>, // units that are special tokens, for error messages
}

/// Options for characters without a symbol. The id of the unknown token is stored separately.
#[derive(Debug, Clone, Default)]
struct UnknownSymbol {
    fused: bool,
    dropped: bool,
    bytes: Option<Box<[u32; 256]>>,
}

impl Alphabet {
    /// Creates an empty alphabet. If `unk` is given, unknown characters become `unk`.
    pub fn new(level: Level, end: EndOfWord, unk: Option<u32>) -> Self {
        Self {
            level,
            end,
            bytes: [[NO_ID; 256]; 2],
            chars: HashMap::new(),
            mark: NO_ID,
            unk,
            unknown: UnknownSymbol::default(),
            inside: HashMap::new(),
            prefix: None,
            special: Vec::new(),
        }
    }

    /// Returns the ids of all bytes (without end-of-word mark), if every byte has an id.
    pub fn bytes(&self) -> Option<&[u32; 256]> {
        self.bytes[0].iter().all(|&id| id != NO_ID).then_some(&self.bytes[0])
    }

    /// Returns the ids of all bytes (without end-of-word mark), if every byte that occurs in UTF-8 text has an id. The
    /// other bytes, `C0`, `C1` and `F5` to `FF` (Unicode 16, table 3-7), can be [`NO_ID`], as in GPT-NeoX's vocabulary.
    pub fn bytes_of_text(&self) -> Option<&[u32; 256]> {
        let is_known = |(byte, &id): (u8, &u32)| id != NO_ID || matches!(byte, 0xC0 | 0xC1 | 0xF5..);
        (0..=255).zip(&self.bytes[0]).all(is_known).then_some(&self.bytes[0])
    }

    /// Sets whether adjacent unknown characters are fused into one token.
    pub fn fusing_unknown(mut self, fused: bool) -> Self {
        self.unknown.fused = fused;
        self
    }

    /// Sets whether unknown characters are removed, so that their neighbors become adjacent. Hugging Face's BPE removes
    /// them if there is no unknown token.
    pub fn dropping_unknown(mut self, dropped: bool) -> Self {
        self.unknown.dropped = dropped;
        self
    }

    /// Enables byte fallback: an unknown character becomes entries such as `<0x0A>`, if each of its bytes has such an
    /// entry.
    ///
    /// # Errors
    /// [`Error::config`] in combination with an end-of-word suffix, a prefix, or an incomplete byte alphabet, because
    /// these combinations are not specified.
    pub fn with_byte_fallback(mut self, vocab: &Vocab) -> Result<Self> {
        if self.level == Level::Byte {
            return match self.bytes[0].contains(&NO_ID) {
                true => Err(Error::config("byte_fallback needs level \"char\" or all 256 bytes in the vocabulary")),
                false => Ok(self),
            };
        }
        if self.end != EndOfWord::None || self.prefix.is_some() {
            return Err(Error::config(
                "byte_fallback cannot be combined with end_of_word or continuing_subword_prefix",
            ));
        }
        self.unknown.bytes = byte_entries(vocab);
        Ok(self)
    }

    /// Sets the prefix of symbols that are not the first of their pretoken.
    ///
    /// # Errors
    /// [`Error::config`] at byte level.
    pub fn with_prefix(mut self, vocab: &Vocab, prefix: &str) -> Result<Self> {
        if prefix.is_empty() {
            return Ok(self);
        }
        if self.level == Level::Byte {
            return Err(Error::config("continuing_subword_prefix needs level \"char\""));
        }
        for (id, kind, content) in vocab.iter() {
            let rest = content.strip_prefix(prefix.as_bytes());
            if let (Kind::Token | Kind::EndsWord, Some(c)) = (kind, rest.and_then(single_char)) {
                self.inside.insert((c, kind == Kind::EndsWord), id);
            }
        }
        self.prefix = Some(prefix.into());
        Ok(self)
    }

    /// Returns true if all characters without a symbol become bytes.
    pub fn spells_unknown(&self) -> bool {
        self.unknown.bytes.as_ref().is_some_and(|ids| !ids.contains(&NO_ID))
    }

    /// Returns true if no initial symbol depends on the text around the symbol. Then an ordinary symbol depends only on
    /// its character, and an unknown token depends only on its run of unknown characters.
    pub fn is_local(&self) -> bool {
        let spells_all_or_none = self.unknown.bytes.is_none() || self.spells_unknown();
        self.end == EndOfWord::None && self.prefix.is_none() && !self.unknown.dropped && spells_all_or_none
    }

    /// Returns the prefix of symbols that are not the first of their pretoken.
    pub fn prefix(&self) -> &str {
        self.prefix.as_deref().unwrap_or_default()
    }

    /// Creates the alphabet of a vocabulary. It contains the entries that are a single unit, and the end-of-word mark.
    pub fn of(vocab: &Vocab, level: Level, end: EndOfWord, unk: Option<u32>) -> Self {
        let mut alphabet = Self::new(level, end, unk);
        for (id, kind, content) in vocab.iter() {
            let ends_word = match kind {
                Kind::Token => false,
                Kind::EndsWord if end == EndOfWord::Suffix || content.is_empty() => true,
                Kind::Special => {
                    let is_unit = |c: &char| level == Level::Char || c.is_ascii();
                    alphabet.special.extend(single_char(content).filter(is_unit).map(u32::from));
                    continue;
                }
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
            alphabet.insert(Symbol { unit, ends_word, inside: false }, id);
        }
        alphabet
    }

    /// Sets the id of a symbol.
    pub fn insert(&mut self, symbol: Symbol, id: u32) {
        if let (true, Some(c)) = (symbol.inside, symbol.unit.and_then(char::from_u32)) {
            self.prefix.get_or_insert_default();
            self.inside.insert((c, symbol.ends_word), id);
            return;
        }
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

    /// Returns the id that replaces an unknown character.
    pub fn unk(&self) -> Option<u32> {
        self.unk
    }

    /// Returns the id of a symbol.
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

    /// Returns true if the content is one character, with or without the prefix (`##`).
    pub fn is_unit(&self, content: &[u8]) -> bool {
        single_char(content).or_else(|| self.unit_inside(content)).is_some()
    }

    fn unit_inside(&self, content: &[u8]) -> Option<char> {
        single_char(content.strip_prefix(self.prefix.as_deref()?.as_bytes())?)
    }

    /// Inserts an entry as a symbol if its content is a single unit (a byte or a character).
    pub fn insert_entry(&mut self, id: u32, content: &[u8]) {
        if let Some(c) = self.unit_inside(content) {
            self.inside.insert((c, false), id);
        }
        let unit = match (self.level, content) {
            (Level::Byte, &[byte]) => Some(byte.into()),
            (Level::Byte, _) => None,
            (Level::Char, _) => single_char(content).map(u32::from),
        };
        if unit.is_some() {
            self.insert(Symbol { unit, ends_word: false, inside: false }, id);
        }
    }

    /// Appends the ids of the initial symbols of `pretoken` to `out`, and their offsets to `starts`. Returns the offset
    /// after the last symbol. If `starts` is given and unknown characters are removed, all offsets are counted in the
    /// shortened pretoken, as in Hugging Face's BPE.
    ///
    /// # Errors
    /// [`Error::text`] for a unit without an id and without a substitute.
    pub fn symbols(&self, pretoken: &[u8], out: &mut Vec<u32>, starts: Option<&mut Vec<usize>>) -> Result<usize> {
        let plain = !self.unknown.fused && self.unknown.bytes.is_none() && self.prefix.is_none();
        if !plain || starts.is_some() {
            return self.symbols_and_starts(pretoken, out, starts.unwrap_or(&mut Vec::new()));
        }
        for_each_symbol(pretoken, self.level, self.end, |symbol, at| {
            match self.id(symbol).or(self.unk) {
                Some(id) => out.push(id),
                None if self.unknown.dropped => {}
                None => return Err(self.unknown(symbol, at)),
            }
            Ok(())
        })?;
        Ok(pretoken.len())
    }

    fn symbols_and_starts(&self, pretoken: &[u8], out: &mut Vec<u32>, starts: &mut Vec<usize>) -> Result<usize> {
        let mut at = 0;
        let mut push = |id, len: usize| {
            out.push(id);
            starts.push(at);
            at += len;
        };
        let mut run = None; // (id, bytes) of the current run of unknown characters
        for_each_symbol(pretoken, self.level, self.end, |symbol, offset| {
            let mut spelling = [0; 4];
            let spelling: &[u8] = match (self.level, symbol.unit.and_then(char::from_u32)) {
                (_, None) => &[],
                (Level::Byte, _) => &pretoken[offset..=offset],
                (Level::Char, Some(c)) => c.encode_utf8(&mut spelling).as_bytes(),
            };
            let inside = offset > 0 && self.prefix.is_some();
            if let Some(id) = if inside { self.id_inside(symbol) } else { self.id(symbol) } {
                if let Some((unk, len)) = run.take() {
                    push(unk, len);
                }
                push(id, spelling.len());
            } else if let Some(ids) = self.unknown.bytes.as_ref().and_then(|ids| spell_in_bytes(ids, spelling)) {
                ids.for_each(|id| push(id, 1));
            } else if self.unknown.dropped {
                return Ok(());
            } else if let Some(unk) = self.unk {
                match &mut run {
                    Some((_, len)) if self.unknown.fused => *len += spelling.len(),
                    _ => {
                        if let Some((unk, len)) = run.replace((unk, spelling.len())) {
                            push(unk, len);
                        }
                    }
                }
            } else {
                return Err(self.unknown(symbol, offset));
            }
            Ok(())
        })?;
        if let Some((unk, len)) = run {
            push(unk, len);
        }
        Ok(if self.unknown.dropped { at } else { pretoken.len() })
    }

    fn id_inside(&self, symbol: Symbol) -> Option<u32> {
        match symbol.unit.and_then(char::from_u32) {
            Some(c) => self.inside.get(&(c, symbol.ends_word)).copied(),
            None => self.id(symbol),
        }
    }

    #[cold]
    fn unknown(&self, symbol: Symbol, at: usize) -> Error {
        let what = match (self.level, symbol.unit.and_then(char::from_u32)) {
            (_, None) => "the end-of-word mark".to_string(),
            (Level::Byte, _) => format!("byte 0x{:02x}", symbol.unit.unwrap_or(0)),
            (Level::Char, Some(c)) => format!("character {c:?} (U+{:04X})", c as u32),
        };
        if let Some(token) = symbol.unit.filter(|unit| self.special.contains(unit)).and_then(char::from_u32) {
            let token = token.to_string();
            return Error::text(
                format!(
                    "the special token {token:?} is the only entry for {what}, and special= does not permit it; permit it, or use a tokenizer in which it is not special"
                ),
                at,
            );
        }
        let place = if symbol.ends_word { " at the end of a word" } else { "" };
        Error::text(format!("{what}{place} is not in the vocabulary, and the tokenizer has no unknown token"), at)
    }
}
