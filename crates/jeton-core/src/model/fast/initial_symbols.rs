//! Bytes → initial symbols of merging. The initial symbols of a character are the tokens that its bytes merge into,
//! where this gives the same ids as starting from single bytes.
//!
//! A character that is not ASCII can be replaced by the result of merging its bytes, under two conditions:
//!
//! 1. No merge of a part of the character with a neighbor comes before a merge inside the character. A merge of a part
//!    with a neighbor results in a crossing token: a token that crosses the boundary of the character, and begins or
//!    ends inside the character. So the condition holds if all crossing tokens have higher ranks than the merges inside
//!    the character.
//! 2. All merges of the whole character with a neighbor have higher ranks than the merges inside the character. This
//!    always holds in a vocabulary where each merge has a higher rank than the merges that produced its two symbols.
//!
//! For each pair of bytes on the two sides of a boundary, a table of 256 × 256 contains the lowest rank of the crossing
//! tokens. In cl100k, 250 tokens begin or end inside a character; in o200k, 794 do. Unseen text in 380 languages is
//! encoded 1.2 times as fast as if merging started from single bytes.
//!
//! Left out: characters beyond U+FFFF; their initial symbols are bytes.

use super::ranks::{Ranks, NONE, NO_SYMBOL};
use crate::model::bpe::Bpe;
use crate::model::pairs::{Merge, Pairs};
use crate::util::utf8::{char_len, of_three, of_two};
use crate::vocab::Vocab;

const BITS: u32 = 20; // number of bits of a symbol
const MASK: u64 = (1 << BITS) - 1;

/// Lookup tables: byte or character → initial symbols.
#[derive(Debug, Clone)]
pub(super) struct InitialSymbols {
    bytes: Box<[u32; 256]>,
    ascii_pairs: Box<[u32]>, // left << 7 | right -> rank
    characters: Box<[u64]>,  // code point -> up to three symbols; their number is in the high bits
    tops: Box<[u32]>,        // code point -> highest rank inside; empty if it never exceeds the highest symbol
    crossing: Box<[u32]>,    // byte before << 8 | byte after -> lowest rank
    is_complete: bool,       // every byte has a symbol
    is_chars: bool,          // only whole characters have a symbol
}

/// Result of segmentation: the number of symbols, the number of bytes, and a bitmap (`inner`). Bit i of the bitmap is
/// set if symbols i and i + 1 cannot merge with each other.
pub(super) struct Segmented {
    pub(super) symbols: usize,
    pub(super) bytes: usize,
    pub(super) inner: u64,
    pub(super) is_ascii: bool,
}

impl InitialSymbols {
    /// Builds the tables for models whose symbols are characters. Characters beyond U+FFFF get no symbol.
    pub(super) fn of_characters(symbol: impl Fn(char) -> Option<u32>, ranks: &Ranks) -> Self {
        let symbol = |code| char::from_u32(code).and_then(&symbol).unwrap_or(NO_SYMBOL);
        let mut bytes = Box::new([NO_SYMBOL; 256]);
        (0..0x80).for_each(|code| bytes[code as usize] = symbol(code));
        let mut characters: Box<[u64]> = vec![0; 1 << 16].into();
        for code in 0x80..1 << 16 {
            let id = symbol(code);
            if id != NO_SYMBOL {
                characters[code as usize] = u64::from(id) | 1 << (3 * BITS);
            }
        }
        Self {
            is_complete: false,
            is_chars: true,
            ascii_pairs: (0..1 << 14).map(|i| ranks.of(bytes[i >> 7], bytes[i & 0x7F])).collect(),
            bytes,
            characters,
            tops: Box::default(),
            crossing: vec![NONE; 1 << 16].into(),
        }
    }

    /// Builds the tables for models whose symbols are bytes.
    pub(super) fn of_bytes(vocab: &Vocab, model: &Bpe, pairs: &Pairs, ranks: &Ranks, results: &[u32]) -> Self {
        let mut bytes = Box::new([NO_SYMBOL; 256]);
        for byte in 0..=255u8 {
            let mut symbols = Vec::new();
            if model.alphabet.symbols(&[byte], &mut symbols, None).is_ok() {
                // A byte whose symbol is the unknown token gets no entry, because that token can cover several bytes.
                match symbols[..] {
                    [id] if vocab.content(id) == [byte] => bytes[usize::from(byte)] = id,
                    _ => continue,
                }
            }
        }
        let mut initial = Self {
            is_complete: !bytes.contains(&NO_SYMBOL),
            is_chars: false,
            ascii_pairs: (0..1 << 14).map(|i| ranks.of(bytes[i >> 7], bytes[i & 0x7F])).collect(),
            bytes,
            characters: vec![0; 1 << 16].into(),
            tops: vec![0; 1 << 16].into(),
            crossing: vec![NONE; 1 << 16].into(),
        };
        // symbol -> lowest rank among the pairs that contain the symbol
        let mut lowest = vec![NONE; vocab.len()];
        for (left, right, merge) in pairs.iter() {
            for id in [left, right] {
                lowest[id as usize] = merge.rank.min(lowest[id as usize]);
            }
        }
        for code in 0x80..1 << 16 {
            if let Some(c) = char::from_u32(code) {
                let (symbols, len, top) = initial.alone(c, ranks, results);
                let symbols = &symbols[..len];
                let grows = !matches!(*symbols, [whole] if whole != NO_SYMBOL && lowest[whole as usize] <= top);
                if grows && !symbols.contains(&NO_SYMBOL) {
                    let packed = symbols.iter().rev().fold(0, |packed, &id| packed << BITS | u64::from(id));
                    initial.characters[code as usize] = packed | (symbols.len() as u64) << (3 * BITS);
                    initial.tops[code as usize] = top;
                }
            }
        }
        let highest = |packed: u64| (packed & MASK).max(packed >> BITS & MASK).max(packed >> (2 * BITS) & MASK);
        if initial.characters.iter().zip(&initial.tops).all(|(&packed, &top)| highest(packed) >= u64::from(top)) {
            initial.tops = Box::default();
        }
        // The bitmap has a bit for each entry of the vocabulary. The bit is set for the few tokens that begin or end
        // inside a character. The loop over the pairs reads the bytes of these tokens only. For all other tokens it
        // reads only the bitmap, which fits the cache, so random reads cause no cache misses.
        let mut crosses = vec![0u64; vocab.len().div_ceil(64)];
        for (id, _, content) in vocab.iter() {
            crosses[id as usize / 64] |= u64::from(crossings(content).next().is_some()) << (id % 64);
        }
        for (_, _, Merge { rank, result }) in pairs.iter() {
            if crosses[result as usize / 64] >> (result % 64) & 1 != 0 {
                for [left, right] in crossings(vocab.content(result)) {
                    let lowest = &mut initial.crossing[usize::from(left) << 8 | usize::from(right)];
                    *lowest = rank.min(*lowest);
                }
            }
        }
        initial
    }

    /// Merges the bytes of a character, which must not be beyond U+FFFF. Returns the resulting symbols, their number,
    /// and the highest rank of the merges that were applied.
    fn alone(&self, c: char, ranks: &Ranks, results: &[u32]) -> ([u32; 3], usize, u32) {
        let (mut symbols, mut len, mut top) = ([NO_SYMBOL; 3], 0, 0);
        for byte in c.encode_utf8(&mut [0; 4]).bytes() {
            symbols[len] = self.bytes[usize::from(byte)];
            len += 1;
        }
        while len > 1 {
            let pairs = symbols[..len].windows(2).map(|pair| ranks.of(pair[0], pair[1])).enumerate();
            match pairs.min_by_key(|&(_, rank)| rank) {
                Some((at, rank)) if rank != NONE => {
                    symbols[at] = if results.is_empty() { rank } else { results[rank as usize] };
                    symbols.copy_within(at + 2..len, at + 1);
                    len -= 1;
                    top = top.max(rank);
                }
                _ => break,
            }
        }
        (symbols, len, top)
    }

    /// Returns true if merging starts with bytes, not with characters, and every byte has a symbol.
    pub(super) fn merges_bytes(&self) -> bool {
        self.is_complete && !self.is_chars
    }

    /// Returns true if every byte has a symbol.
    pub(super) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Returns the additional capacity that [`InitialSymbols::spell`] requires.
    pub(super) fn room(&self) -> usize {
        if self.is_chars {
            4
        } else {
            0
        }
    }

    /// Writes one symbol for each byte of `text`, or for each character if the model's symbols are characters, and
    /// returns the number of symbols. The symbols do not depend on neighboring characters. `symbols` must be longer
    /// than `text` by at least [`InitialSymbols::room`].
    #[inline(always)]
    pub(super) fn spell(&self, text: &[u8], symbols: &mut [u32]) -> usize {
        if self.is_chars {
            return self.write(text, symbols).symbols;
        }
        for (symbol, &byte) in symbols.iter_mut().zip(text) {
            *symbol = self.bytes[usize::from(byte)];
        }
        text.len()
    }

    /// Returns the rank of a pair of ASCII bytes.
    #[inline(always)]
    pub(super) fn ascii_pair(&self, left: u8, right: u8) -> u32 {
        self.ascii_pairs[usize::from(left & 0x7F) << 7 | usize::from(right & 0x7F)]
    }

    /// Writes the initial symbols of `text` (UTF-8), until the text ends or fewer than four elements of `symbols` are
    /// left.
    #[inline(always)]
    pub(super) fn write(&self, text: &[u8], symbols: &mut [u32]) -> Segmented {
        let (mut rest, mut count, mut inner) = (text, 0, 0u64);
        let mut before = NONE; // lowest rank of a token that crosses the start of `rest`
        let mut is_ascii = true;
        while let (&[byte, ..], Some(room)) = (rest, symbols[count..].first_chunk_mut::<4>()) {
            if byte < 0x80 {
                room[0] = self.bytes[usize::from(byte)];
                count += 1;
                rest = &rest[1..];
                before = match rest {
                    &[next @ 0x80..=0xFF, ..] => self.lowest_crossing(byte, next),
                    _ => NONE,
                };
                continue;
            }
            is_ascii = false;
            let (length, last, code) = match *rest {
                [a @ 0xE0..0xF0, b, c, ..] => (3, c, of_three(a, b, c) as usize),
                [a @ 0xC0..0xE0, b, ..] => (2, b, of_two(a, b) as usize),
                [0xF0..=0xFF, _, _, d, ..] => (4, d, 0),
                [0..0xC0, ..] => (1, byte, 0), // the text begins inside a character
                _ => break,
            };
            let after = rest.get(length).map_or(NONE, |&next| self.lowest_crossing(last, next));
            let packed = self.characters[code];
            let ids = [packed & MASK, packed >> BITS & MASK, packed >> (2 * BITS) & MASK].map(|id| id as u32);
            let top = if self.tops.is_empty() { ids[0].max(ids[1]).max(ids[2]) } else { self.tops[code] };
            let parts = (packed >> (3 * BITS)) as usize;
            if parts > 0 && before.min(after) > top {
                *room = [ids[0], ids[1], ids[2], NO_SYMBOL];
                // The symbols of one character do not merge with each other.
                inner |= ((1 << (parts - 1)) - 1) << (count & 63);
                count += parts;
            } else {
                for (symbol, &byte) in room.iter_mut().zip(&rest[..length]) {
                    *symbol = self.bytes[usize::from(byte)];
                }
                count += length;
            }
            rest = &rest[length..];
            before = after;
        }
        Segmented { symbols: count, bytes: text.len() - rest.len(), inner, is_ascii }
    }

    /// Writes the symbols of text that is not UTF-8, one for each byte; writes no symbols if the model's symbols are
    /// characters.
    #[inline(always)]
    pub(super) fn write_bytes(&self, text: &[u8], symbols: &mut [u32]) -> Segmented {
        let len = if self.is_chars { 0 } else { self.spell(text, symbols) };
        Segmented { symbols: len, bytes: len, inner: 0, is_ascii: false }
    }

    /// Returns the lowest rank of the crossing tokens for a character boundary between the bytes `left` and `right`. A
    /// crossing token contains the boundary, and begins or ends inside a character next to the boundary.
    #[inline(always)]
    fn lowest_crossing(&self, left: u8, right: u8) -> u32 {
        self.crossing[usize::from(left) << 8 | usize::from(right)]
    }
}

/// Finds the character boundaries inside the token that follow a cut first character or precede a cut last character,
/// and yields the two bytes next to each. A character is cut if some of the character's bytes are outside the token.
fn crossings(token: &[u8]) -> impl Iterator<Item = [u8; 2]> + '_ {
    let is_later = |byte: u8| byte & 0xC0 == 0x80;
    // If the token begins inside a character, this character ends before the first byte that is not a continuation
    // byte.
    let begins = token.first().is_some_and(|&byte| is_later(byte));
    let begin = if begins { token.iter().position(|&byte| !is_later(byte)) } else { None };
    // If the token ends inside a character, this character starts at the last byte that is not a continuation byte.
    let ends = token.last().is_some_and(|&byte| byte >= 0x80);
    let end = if ends { token.iter().rposition(|&byte| !is_later(byte)) } else { None };
    let end = end.filter(|&at| at > 0 && token.len() - at < char_len(token[at]));
    begin.into_iter().chain(end).map(|at| [token[at - 1], token[at]])
}
