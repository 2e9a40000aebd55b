//! Initial symbols: the units of a pretoken before the first merge.
//!
//! A pretoken is split into units (bytes or characters). An end-of-word mark, if any, is a separate symbol or part of the
//! last unit. Encoding and training share this module, so they agree.
//!
//! A character without a symbol becomes byte tokens (`<0x0A>`) or the unknown token, alone or fused with its neighbors.
//! If only some of the 256 bytes are entries, fused unknown characters come after the bytes that follow them, as in
//! Hugging Face's tokenizers (models/bpe/model.rs).
//!
//! Cost: one table lookup for each byte, one hash lookup for each character.
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

/// Marking of the end of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndOfWord {
    /// Not at all.
    None,
    /// By a symbol of its own after the last unit.
    Symbol,
    /// By a mark glued to the last unit: the unit at the end of a word is another symbol than the same unit inside.
    Suffix,
}

/// One initial symbol, as training counts it: a unit, and whether the mark is part of it. The mark alone is `unit:
/// None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol {
    /// A byte's value or a character's code point.
    pub unit: Option<u32>,
    /// The end-of-word mark is glued to it, or is all of it.
    pub ends_word: bool,
    /// It is not the first of its pretoken, where that makes it another symbol.
    pub inside: bool,
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
                each(Symbol { unit: Some(byte.into()), ends_word: suffix && i == last, inside: false }, i)?;
            }
        }
        Level::Char => {
            let text = std::str::from_utf8(pretoken)
                .map_err(|e| Error::text("a character-level tokenizer needs UTF-8", e.valid_up_to()))?;
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

/// No entry.
pub const NO_ID: u32 = u32::MAX;

/// `▁`, what SentencePiece and its descendants write for a space.
pub const WORD_START: char = '\u{2581}';

/// byte -> the entry that is spelled for it, `<0x0A>`; None where no entry is.
pub fn byte_entries(vocab: &Vocab) -> Option<Box<[u32; 256]>> {
    let mut ids = Box::new([NO_ID; 256]);
    for (id, kind, content) in vocab.iter() {
        if let (Kind::Token | Kind::Byte | Kind::Added, &[b'<', b'0', b'x', high, low, b'>']) = (kind, content) {
            if let (Some(high), Some(low)) = (hex(high), hex(low)) {
                ids[usize::from(high << 4 | low)] = id;
            }
        }
    }
    ids.iter().any(|&id| id != NO_ID).then_some(ids)
}

/// The ids of all bytes of a text; None where one is missing.
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
    unknown: UnknownSymbol,
    inside: HashMap<(char, bool), u32>, // with a prefix: the symbols that are not the first of a pretoken
    prefix: Option<Box<str>>,
}

/// Handling of characters without a symbol, beyond the unknown token.
#[derive(Debug, Clone, Default)]
struct UnknownSymbol {
    fused: bool,
    dropped: bool,
    bytes: Option<Box<[u32; 256]>>,
}

impl Alphabet {
    /// An alphabet without symbols; unknown characters become `unk` where it is given.
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
        }
    }

    /// The ids of all bytes inside a pretoken, where every byte has one.
    pub fn bytes(&self) -> Option<&[u32; 256]> {
        self.bytes[0].iter().all(|&id| id != NO_ID).then_some(&self.bytes[0])
    }

    /// Neighboring unknown characters are one token.
    pub fn fusing_unknown(mut self, fused: bool) -> Self {
        self.unknown.fused = fused;
        self
    }

    /// Unknown characters are no symbols, and their neighbors are neighbors (training, where Hugging Face limits the
    /// alphabet).
    pub fn dropping_unknown(mut self, dropped: bool) -> Self {
        self.unknown.dropped = dropped;
        self
    }

    /// Unknown characters become the entries `<0x0A>` of their bytes, where all of them are entries.
    ///
    /// # Errors
    /// [`Error::config`] together with an end-of-word suffix, a prefix, or units that are bytes and incomplete: what
    /// these mean together is nowhere written.
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

    /// Symbols inside a pretoken are the entries that begin with `prefix`.
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

    /// Returns true if every character without a symbol becomes its bytes.
    pub fn spells_unknown(&self) -> bool {
        self.unknown.bytes.as_ref().is_some_and(|ids| !ids.contains(&NO_ID))
    }

    /// Prefix of symbols inside a pretoken.
    pub fn prefix(&self) -> &str {
        self.prefix.as_deref().unwrap_or_default()
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
            alphabet.insert(Symbol { unit, ends_word, inside: false }, id);
        }
        alphabet
    }

    /// Gives `symbol` an id.
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

    /// Substitute for an unknown character.
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

    /// Returns true if an entry with this content is one character, at the start of a pretoken or inside it.
    pub fn is_unit(&self, content: &[u8]) -> bool {
        single_char(content).or_else(|| self.unit_inside(content)).is_some()
    }

    fn unit_inside(&self, content: &[u8]) -> Option<char> {
        single_char(content.strip_prefix(self.prefix.as_deref()?.as_bytes())?)
    }

    /// Gives the entry `id` its symbol, if it is one unit.
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

    /// Appends the ids of the initial symbols of `pretoken` to `out`, and where each begins to `starts`.
    ///
    /// # Errors
    /// [`Error::text`] at a unit without an id, if there is no substitute.
    pub fn symbols(&self, pretoken: &[u8], out: &mut Vec<u32>, starts: Option<&mut Vec<usize>>) -> Result<()> {
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
        })
    }

    fn symbols_and_starts(&self, pretoken: &[u8], out: &mut Vec<u32>, starts: &mut Vec<usize>) -> Result<()> {
        let mut at = 0;
        let mut push = |id, len: usize| {
            out.push(id);
            starts.push(at);
            at += len;
        };
        let mut run = None; // (id, bytes) of the present run of unknown characters
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
        Ok(())
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
        let place = if symbol.ends_word { " at the end of a word" } else { "" };
        Error::text(format!("{what}{place} is not in the vocabulary, and the tokenizer has no unknown token"), at)
    }
}
