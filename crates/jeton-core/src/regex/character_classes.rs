//! Classes of characters: the coarsest partition of all characters in which each character set of a pattern is a union
//! of classes.
//!
//! Source: the alphabet compression of lexer generators (Aho, Lam, Sethi and Ullman, "Compilers", 2006, 3.9.8), over
//! code points instead of bytes. A two-level table maps a code point to its class. A block of the table has 64 code
//! points, which differ only in the last byte of UTF-8; equal blocks are stored once. Published patterns have 2 to 30
//! classes, and tables of 35 to 65 KB.

use std::collections::HashMap;

use regex_syntax::hir::ClassUnicode;

use crate::util::utf8::decode;

/// Number of code points of Unicode, including surrogates.
const CODE_POINTS: usize = 0x11_0000;

/// Number of code points in a block of the two-level table.
const BLOCK: usize = 64;

/// Half-open range of the surrogates, the only code points that are not characters.
const SURROGATES: (u32, u32) = (0xD800, 0xE000);

/// Maximum number of classes. A class is stored in a byte, and a few values are reserved.
const MAX_CLASSES: usize = 250;

/// Value in [`CharacterClasses::of_byte`] for a first byte of UTF-8 that is shared by characters of several classes.
pub(crate) const MIXED: u8 = u8::MAX;

/// Bit set of classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ClassSet([u64; 4]);

impl ClassSet {
    pub(super) fn insert(&mut self, class: u8) {
        self.0[usize::from(class) / 64] |= 1 << (class % 64);
    }

    pub(super) fn has(&self, class: u8) -> bool {
        self.0[usize::from(class) / 64] >> (class % 64) & 1 != 0
    }

    pub(super) fn union(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(own, other)| *own |= other);
    }
}

/// Classes of characters, and two additional classes: the end of the text, and continuation bytes.
#[derive(Debug)]
pub(crate) struct CharacterClasses {
    /// For each byte, a class:
    /// - ASCII byte: the class of this character.
    /// - First byte of a longer character: the class of all characters that begin with this byte, or [`MIXED`] if these
    ///   characters have several classes.
    /// - Continuation byte: an additional class. Its number is the number of the end-of-text class, plus 1.
    of_byte: Box<[u8; 256]>,
    block_of: Box<[u16]>, // code point >> 6 -> index of its block
    blocks: Vec<u8>,
    num_classes: u8,
    /// True if each byte is read as a character.
    is_bytewise: bool,
}

/// Partition under construction: all classes, and the classes of each set.
pub(super) struct Partition {
    pub(super) classes: CharacterClasses,
    class_sets: HashMap<Vec<(char, char)>, ClassSet>,
}

fn ranges(set: &ClassUnicode) -> Vec<(char, char)> {
    set.iter().map(|range| (range.start(), range.end())).collect()
}

impl Partition {
    /// Partitions the code points by these sets; None if there are too many classes.
    pub(super) fn new<'s>(sets: impl IntoIterator<Item = &'s ClassUnicode>) -> Option<Self> {
        let mut distinct: Vec<Vec<(char, char)>> = sets.into_iter().map(ranges).collect();
        distinct.sort_unstable();
        distinct.dedup();
        // Code points at which membership in a set changes, as (code point, index of the set).
        let mut changes: Vec<(u32, usize)> = Vec::new();
        for (set, ranges) in distinct.iter().enumerate() {
            for &(first, last) in ranges {
                changes.extend([(u32::from(first), set), (u32::from(last) + 1, set)]);
            }
        }
        changes.sort_unstable();
        // Bit i is set if `distinct[i]` contains the current code points.
        let mut members = vec![0u64; distinct.len().div_ceil(64).max(1)];
        let mut class_of: HashMap<Vec<u64>, u8> = HashMap::new();
        let mut table = TableBuilder::default();
        let ends = changes.iter().map(|change| change.0).chain([CODE_POINTS as u32]);
        let mut from = 0;
        for (index, to) in ends.enumerate() {
            // Surrogates are not characters, and no set contains them. They get the class of the previous code point.
            let is_class = from < to && (from, to) != SURROGATES;
            let next = class_of.len() as u8;
            let class = if is_class { *class_of.entry(members.clone()).or_insert(next) } else { table.last() };
            if class_of.len() > MAX_CLASSES {
                return None;
            }
            table.fill(from as usize..to as usize, class);
            from = to;
            if let Some(&(_, set)) = changes.get(index) {
                members[set / 64] ^= 1 << (set % 64);
            }
        }
        let mut class_sets = vec![ClassSet::default(); distinct.len()];
        for (members, &class) in &class_of {
            for (set, classes) in class_sets.iter_mut().enumerate() {
                if members[set / 64] >> (set % 64) & 1 != 0 {
                    classes.insert(class);
                }
            }
        }
        let class_sets = distinct.into_iter().zip(class_sets).collect();
        Some(Self { classes: table.finish(class_of.len() as u8), class_sets })
    }

    /// Returns the classes that make up a set. The set must be one of the sets passed to [`Self::new`].
    pub(super) fn of(&self, set: &ClassUnicode) -> ClassSet {
        self.class_sets.get(&ranges(set)).copied().unwrap_or_default()
    }
}

impl CharacterClasses {
    /// Adapts the classes to texts in which each byte is one character. A byte `b` gets the class of the character
    /// `stand_in(b)`.
    pub(crate) fn into_bytewise(mut self, stand_in: impl Fn(u8) -> char) -> Self {
        for byte in 0..=u8::MAX {
            self.of_byte[usize::from(byte)] = self.of_code(stand_in(byte).into());
        }
        self.is_bytewise = true;
        self
    }

    /// Returns the position of the first byte of the character that contains the byte at `at`.
    #[inline(always)]
    pub(crate) fn start_of_character(&self, text: &[u8], mut at: usize) -> usize {
        while text[at] & 0xC0 == 0x80 && !self.is_bytewise {
            at -= 1;
        }
        at
    }

    /// Returns the number of classes of characters, which are numbered from 0.
    pub(crate) fn num_classes(&self) -> u8 {
        self.num_classes
    }

    /// Returns the class of the end of the text.
    pub(crate) fn end(&self) -> u8 {
        self.num_classes
    }

    /// Returns the class of each byte, as described at the field `of_byte`.
    pub(crate) fn of_byte(&self) -> &[u8; 256] {
        &self.of_byte
    }

    /// Returns (class, length in bytes) of the character at `at`.
    #[inline(always)]
    pub(crate) fn at(&self, text: &[u8], at: usize) -> (u8, usize) {
        let byte = text[at];
        if byte < 0x80 || self.is_bytewise {
            return (self.of_byte[usize::from(byte)], 1);
        }
        let (code, length) = decode(text, at);
        (self.of_code(code), length)
    }

    #[inline(always)]
    fn of_code(&self, code: u32) -> u8 {
        let code = code as usize;
        self.blocks[usize::from(self.block_of[code / BLOCK]) * BLOCK + code % BLOCK]
    }

    /// Returns the size of the tables in bytes.
    pub(crate) fn memory(&self) -> usize {
        256 + self.block_of.len() * 2 + self.blocks.len()
    }
}

/// Two-level table under construction, filled in order of code points.
#[derive(Default)]
struct TableBuilder {
    block_of: Vec<u16>,
    blocks: Vec<u8>,
    current: Vec<u8>, // last block, not complete yet
    numbers: HashMap<Vec<u8>, u16>,
}

impl TableBuilder {
    fn fill(&mut self, codes: std::ops::Range<usize>, class: u8) {
        let mut left = codes.len();
        while left > 0 {
            if self.current.is_empty() && left >= 2 * BLOCK {
                let number = self.number(vec![class; BLOCK]);
                self.block_of.extend(std::iter::repeat_n(number, left / BLOCK));
                left %= BLOCK;
                continue;
            }
            let some = left.min(BLOCK - self.current.len());
            self.current.extend(std::iter::repeat_n(class, some));
            left -= some;
            if self.current.len() == BLOCK {
                let block = std::mem::take(&mut self.current);
                let number = self.number(block);
                self.block_of.push(number);
            }
        }
    }

    /// Returns the class of the last code point.
    fn last(&self) -> u8 {
        let block = self.block_of.last().map(|&block| usize::from(block) * BLOCK + BLOCK - 1);
        let in_block = block.and_then(|at| self.blocks.get(at));
        self.current.last().or(in_block).copied().unwrap_or_default()
    }

    fn number(&mut self, block: Vec<u8>) -> u16 {
        let next = (self.blocks.len() / BLOCK) as u16;
        let blocks = &mut self.blocks;
        *self.numbers.entry(block).or_insert_with_key(|block| {
            blocks.extend_from_slice(block);
            next
        })
    }

    fn finish(self, num_classes: u8) -> CharacterClasses {
        let mut of_byte = Box::new([num_classes + 1; 256]);
        let uniform = |blocks: &[u16]| {
            let mut classes = blocks.iter().flat_map(|&block| &self.blocks[usize::from(block) * BLOCK..][..BLOCK]);
            let first = classes.next().copied().unwrap_or(MIXED);
            if classes.all(|&class| class == first) {
                first
            } else {
                MIXED
            }
        };
        for byte in 0..=u8::MAX {
            let index = usize::from(byte);
            of_byte[index] = match byte {
                0..0x80 => self.blocks[usize::from(self.block_of[index / BLOCK]) * BLOCK + index % BLOCK],
                0x80..0xC0 => continue,
                0xC0..0xE0 => uniform(&self.block_of[index - 0xC0..][..1]),
                0xE0..0xF0 => uniform(&self.block_of[(index - 0xE0) * 64..][..64]),
                0xF0..0xF4 => uniform(&self.block_of[(index - 0xF0) * 4096..][..4096]),
                0xF4.. => MIXED,
            };
        }
        CharacterClasses {
            of_byte,
            block_of: self.block_of.into(),
            blocks: self.blocks,
            num_classes,
            is_bytewise: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::regex::syntax::parse_set;

    #[test]
    fn two_characters_share_a_class_exactly_if_no_set_separates_them() {
        let sets: Vec<ClassUnicode> = [r"\p{L}", r"\p{N}", r"\s", r"[^\s\p{L}\p{N}]", "[一-龥]", "(?i:s)", r"[\r\n]"]
            .iter()
            .flat_map(|text| parse_set(text, false))
            .collect();
        assert_eq!(sets.len(), 7);
        let Some(partition) = Partition::new(&sets) else { unreachable!() };
        let mut seen = HashMap::new();
        for c in (0..CODE_POINTS as u32).filter_map(char::from_u32) {
            let mut bytes = [0; 4];
            let text = c.encode_utf8(&mut bytes).as_bytes();
            let (class, length) = partition.classes.at(text, 0);
            assert_eq!(length, text.len());
            let has = |set: &ClassUnicode| set.iter().any(|range| (range.start()..=range.end()).contains(&c));
            let members: Vec<bool> = sets.iter().map(has).collect();
            for (set, &is) in sets.iter().zip(&members) {
                assert_eq!(partition.of(set).has(class), is, "{c:?}");
            }
            assert_eq!(*seen.entry(members).or_insert(class), class, "{c:?}");
            let byte = partition.classes.of_byte()[usize::from(text[0])];
            assert!(byte == class || byte == MIXED && text.len() > 1, "{c:?}");
        }
        assert_eq!(seen.len(), usize::from(partition.classes.num_classes()));
        assert_eq!(partition.classes.of_byte()[0xE6], partition.classes.at("日".as_bytes(), 0).0);
    }
}
