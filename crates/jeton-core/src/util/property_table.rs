//! Lookup tables, code point → one byte, made from Unicode properties of `regex-syntax`.
//!
//! A two-stage table: blocks of code points that have the same values are stored once. Built from the flat table of all
//! code points in under a millisecond; two loads for each lookup.

/// Code points in a block: those that differ only in the last byte of their UTF-8.
pub(crate) const BLOCK: usize = 64;

/// Two-stage table of the value of each code point.
#[derive(Debug, Clone)]
pub(crate) struct PropertyTable {
    /// Index into `values` of the block of each run of [`BLOCK`] code points.
    blocks: Vec<u16>,
    /// Distinct blocks, concatenated.
    values: Vec<u8>,
}

impl PropertyTable {
    /// Creates a table from `(class of a regex, value)`; a later class takes precedence. Code points in no class have the
    /// value `default`.
    pub(crate) fn new(default: u8, classes: &[(&str, u8)]) -> Self {
        let mut flat = vec![default; 0x11_0000];
        for (class, value) in classes {
            for (first, last) in ranges(class) {
                flat[first as usize..=last as usize].fill(*value);
            }
        }
        Self::from_flat(&flat)
    }

    /// Creates a table from the values of all code points.
    pub(crate) fn from_flat(flat: &[u8]) -> Self {
        let mut number_of = std::collections::HashMap::new(); // block -> its number
        let mut values = Vec::new();
        let mut last: (&[u8], u16) = (&[], 0);
        let number = |block| {
            if block != last.0 {
                // Most blocks equal the one before: of ideographs, or without characters. Hashing all takes a millisecond.
                let number = *number_of.entry(block).or_insert_with(|| {
                    values.extend_from_slice(block);
                    (values.len() - BLOCK) as u16
                });
                last = (block, number);
            }
            last.1
        };
        let blocks = flat.chunks(BLOCK).map(number).collect();
        Self { blocks, values }
    }

    /// Returns the value of a character.
    #[inline(always)]
    pub(crate) fn of(&self, character: char) -> u8 {
        let code = character as usize;
        self.at(code / BLOCK, code)
    }

    /// Returns the value by index of the block and last bits of a code point or of its last byte.
    #[inline(always)]
    pub(crate) fn at(&self, block: usize, last: usize) -> u8 {
        self.values[usize::from(self.blocks[block]) + last % BLOCK]
    }

    /// Returns the size of the table in bytes.
    #[cfg(test)]
    pub(crate) fn num_bytes(&self) -> usize {
        self.blocks.len() * 2 + self.values.len()
    }
}

/// Returns the ranges of a class of `regex-syntax`; none for an invalid one. The classes of the core are valid.
fn ranges(class: &str) -> Vec<(u32, u32)> {
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
