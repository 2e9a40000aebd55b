//! Finds positions that no token of a model crosses, from the two characters at the position.
//!
//! A merge (or a piece of Unigram) that crosses a position forms a token that contains the characters on both sides. If
//! no entry contains these two characters side by side, the model chooses the tokens before and after the position
//! independently. Here, every pair is stored; the filters of `vocab/merge_boundaries` are faster approximations.
//!
//! Left out: models that treat a pretoken as a whole (WordPiece, WordLevel, SentencePiece's word and character models),
//! and models that mark the start or the end of a pretoken. In models of characters, no position beside a character
//! without an entry is found, because the model can fuse adjacent unknown characters.

use std::collections::HashSet;

use super::Model;
use crate::vocab::alphabet::{Alphabet, EndOfWord, Level};
use crate::vocab::{Kind, Vocab};

/// Pairs of units (bytes or characters) that are adjacent in some entry of a model.
#[derive(Debug)]
pub enum ModelPairs {
    /// Tokens can cross any position.
    All,
    /// Bit set of pairs of bytes.
    Bytes(Box<[u64; 1 << 10]>),
    /// Pairs of characters, and the characters that are entries.
    Chars {
        /// Adjacent characters of entries.
        pairs: HashSet<(char, char)>,
        /// Entries of one character.
        singles: HashSet<char>,
    },
}

/// Returns true if a unit has the same symbol at the start, inside and at the end of a pretoken.
fn is_unmarked(alphabet: &Alphabet) -> bool {
    alphabet.end == EndOfWord::None && alphabet.prefix().is_empty()
}

impl Model {
    /// Returns true for byte-level BPE without end-of-word mark and without prefix, so that the content of a token is
    /// exactly the bytes of text that it stands for. Every byte that occurs in UTF-8 text must have a token; other
    /// bytes can be unknown.
    pub fn is_byte_level(&self) -> bool {
        self.as_bpe().is_some_and(|bpe| {
            bpe.alphabet.level == Level::Byte && bpe.alphabet.bytes_of_text().is_some() && is_unmarked(&bpe.alphabet)
        })
    }

    /// Lists the pairs of units that are adjacent in an entry, in time linear in the size of the vocabulary.
    pub fn pairs_of_entries(&self, vocab: &Vocab) -> ModelPairs {
        if self.is_byte_level() {
            let mut bits = Box::new([0; 1 << 10]);
            for (_, _, content) in vocab.iter() {
                for pair in content.windows(2) {
                    let at = usize::from(pair[0]) << 8 | usize::from(pair[1]);
                    bits[at / 64] |= 1 << (at % 64);
                }
            }
            return ModelPairs::Bytes(bits);
        }
        let has_characters = match self {
            Self::Bpe(bpe) => bpe.alphabet.level == Level::Char && is_unmarked(&bpe.alphabet),
            Self::Pieces(_) | Self::Unigram(_) => true,
            _ => false,
        };
        if !has_characters {
            return ModelPairs::All;
        }
        let (mut pairs, mut singles) = (HashSet::new(), HashSet::new());
        for (_, kind, content) in vocab.iter() {
            let Ok(text) = std::str::from_utf8(content) else { continue };
            let mut chars = text.chars();
            let Some(mut last) = chars.next() else { continue };
            if kind == Kind::Token && chars.as_str().is_empty() {
                singles.insert(last);
            }
            for next in chars {
                pairs.insert((last, next));
                last = next;
            }
        }
        ModelPairs::Chars { pairs, singles }
    }
}

impl ModelPairs {
    /// Returns true if no token crosses the position between two adjacent characters of a pretoken.
    pub fn splits(&self, left: char, right: char) -> bool {
        match self {
            Self::All => false,
            Self::Bytes(bits) => {
                let (mut before, mut after) = ([0; 4], [0; 4]);
                let before = left.encode_utf8(&mut before).as_bytes();
                let after = right.encode_utf8(&mut after).as_bytes();
                let at = usize::from(before[before.len() - 1]) << 8 | usize::from(after[0]);
                bits[at / 64] >> (at % 64) & 1 == 0
            }
            Self::Chars { pairs, singles } => {
                singles.contains(&left) && singles.contains(&right) && !pairs.contains(&(left, right))
            }
        }
    }
}
