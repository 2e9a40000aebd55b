//! Lookup tables that map each code point to one byte, built from Unicode properties of `regex-syntax`.
//!
//! The tables have two stages: the first maps each block of 64 code points to the place of its values in the second.
//! Blocks with equal values share one place. Building a table takes 0.1 ms, because most ranges cover whole blocks. A
//! lookup takes two loads.

use std::collections::HashMap;

/// Number of code points in a block. Beyond ASCII, the code points of a block differ only in the last byte of their
/// UTF-8.
pub(crate) const BLOCK: usize = 64;

/// Two-stage table, code point → value.
#[derive(Debug, Clone)]
pub(crate) struct PropertyTable {
    /// For each run of [`BLOCK`] code points, the index of its block in `values`.
    pub(crate) blocks: Vec<u16>,
    /// Distinct blocks, concatenated.
    pub(crate) values: Vec<u8>,
}

impl PropertyTable {
    /// Creates a table from pairs `(class of a regex, value)`. Where classes overlap, the later one determines the
    /// value. Code points in no class have the value `default`.
    pub(crate) fn new(default: u8, classes: &[(&str, u8)]) -> Self {
        let mut blocks = vec![Block::Uniform(default); 0x11_0000 / BLOCK];
        let mut mixed: Vec<[u8; BLOCK]> = Vec::new();
        for &(class, value) in classes {
            for (first, last) in ranges(class) {
                let (first, last) = (first as usize, last as usize);
                for (number, block) in blocks.iter_mut().enumerate().take(last / BLOCK + 1).skip(first / BLOCK) {
                    let (start, end) = (number * BLOCK, (number + 1) * BLOCK);
                    if first <= start && end <= last + 1 {
                        *block = Block::Uniform(value);
                        continue;
                    }
                    if let Block::Uniform(old) = *block {
                        *block = Block::Mixed(mixed.len());
                        mixed.push([old; BLOCK]);
                    }
                    if let Block::Mixed(at) = *block {
                        mixed[at][first.max(start) - start..(last + 1).min(end) - start].fill(value);
                    }
                }
            }
        }
        let mut distinct = Distinct::default();
        let mut uniform = [None; 256];
        let number = |block| match block {
            Block::Uniform(value) => {
                *uniform[usize::from(value)].get_or_insert_with(|| distinct.number(&[value; BLOCK]))
            }
            Block::Mixed(at) => distinct.number(&mixed[at]),
        };
        let blocks = blocks.into_iter().map(number).collect();
        Self { blocks, values: distinct.values }
    }

    /// Creates a table from the values of all code points.
    pub(crate) fn from_flat(flat: &[u8]) -> Self {
        let mut distinct = Distinct::default();
        let mut last: (&[u8; BLOCK], u16) = (&[0; BLOCK], distinct.number(&[0; BLOCK]));
        let number = |block| {
            if block != last.0 {
                // Most blocks equal the previous one, such as those of ideographs or of unassigned characters.
                // Hashing all blocks would take a millisecond.
                last = (block, distinct.number(block));
            }
            last.1
        };
        let blocks = flat.as_chunks().0.iter().map(number).collect();
        Self { blocks, values: distinct.values }
    }

    /// Returns the value of a character.
    #[inline(always)]
    pub(crate) fn of(&self, character: char) -> u8 {
        let code = character as usize;
        self.at(code / BLOCK, code)
    }

    /// Returns the value of a code point. `block`: the code point divided by [`BLOCK`], rounded down. `last`: a number
    /// with the same last 6 bits as the code point, for example the last byte of the character in UTF-8.
    #[inline(always)]
    pub(crate) fn at(&self, block: usize, last: usize) -> u8 {
        self.values[usize::from(self.blocks[block]) + last % BLOCK]
    }
}

/// Values of one block of code points, in the form that is used while a table is built.
#[derive(Clone, Copy)]
enum Block {
    /// All code points have this value.
    Uniform(u8),
    /// The code points have different values. The number is the index of their block among the distinct blocks.
    Mixed(usize),
}

/// Distinct blocks, concatenated, and the index of each block.
#[derive(Default)]
struct Distinct {
    start_of: HashMap<[u8; BLOCK], u16>,
    values: Vec<u8>,
}

impl Distinct {
    fn number(&mut self, block: &[u8; BLOCK]) -> u16 {
        *self.start_of.entry(*block).or_insert_with(|| {
            self.values.extend_from_slice(block);
            (self.values.len() - BLOCK) as u16
        })
    }
}

/// Returns the code point ranges of a regex class; no ranges if the class is invalid. All classes that the core uses
/// are valid.
pub(crate) fn ranges(class: &str) -> Vec<(u32, u32)> {
    match regex_syntax::parse(class).map(regex_syntax::hir::Hir::into_kind) {
        Ok(regex_syntax::hir::HirKind::Class(regex_syntax::hir::Class::Unicode(set))) => {
            set.iter().map(|range| (u32::from(range.start()), u32::from(range.end()))).collect()
        }
        Ok(regex_syntax::hir::HirKind::Literal(literal)) => std::str::from_utf8(&literal.0)
            .ok()
            .and_then(|text| text.chars().next())
            .map(|only| (u32::from(only), u32::from(only)))
            .into_iter()
            .collect(),
        _ => Vec::new(),
    }
}
