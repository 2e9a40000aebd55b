//! Character properties for normalizers, one bit each, for every code point.
//!
//! Invariant: bits equal the tables of HF's crates, which are pinned to old versions. Normalization forms and marks
//! follow Unicode 9; BERT's controls and nonspacing marks follow Unicode 8. Characters assigned later have no
//! properties; characters whose classes changed later are listed in this file. Unicode guarantees that normalization
//! forms of assigned characters do not change.
//!
//! Cost: the table is built on first use in a few milliseconds; a lookup takes two loads. Source: black-box comparison
//! of all code points with the wheel 0.23.3; the crates unicode-normalization-alignments 0.1.12 and unicode_categories
//! 0.1.1.

use std::collections::HashMap;
use std::sync::OnceLock;

use regex_syntax::hir::{Class, HirKind};
use unicode_normalization::char::{canonical_combining_class, decompose_canonical};
use unicode_normalization::{is_nfc_quick, is_nfd_quick, is_nfkc_quick, is_nfkd_quick, IsNormalized};

use super::lower_case::lower;
use crate::util::atomic_cell::made_once;

/// The character can change or be reordered under NFD.
pub(super) const NFD: u16 = 1;
/// The character changes under NFC, or can compose with the preceding character.
pub(super) const NFC: u16 = 1 << 1;
/// The character can change or be reordered under NFKD.
pub(super) const NFKD: u16 = 1 << 2;
/// The character changes under NFKC, or can compose with the preceding character.
pub(super) const NFKC: u16 = 1 << 3;
/// The character is a mark, as defined by `StripAccents`.
pub(super) const MARK: u16 = 1 << 4;
/// The character is a nonspacing mark, as defined by `BertNormalizer`.
pub(super) const NONSPACING: u16 = 1 << 5;
/// `BertNormalizer` removes the character as a control character.
pub(super) const CONTROL: u16 = 1 << 6;
/// The character is white space for `BertNormalizer`, but not the space itself.
pub(super) const SPACE: u16 = 1 << 7;
/// `BertNormalizer` adds spaces around the character.
pub(super) const CHINESE: u16 = 1 << 8;
/// The character differs from its lower case.
pub(super) const UPPER: u16 = 1 << 9;
/// The character is a mark that NFD can reorder and whose category is not Mn (nonspacing), or NFD decomposes the
/// character into such a mark.
pub(super) const ORDERED: u16 = 1 << 10;
/// All bits above.
pub(super) const ALL: u16 = (1 << 11) - 1;
/// Each normalization form has two bits, `CHANGES` positions apart. The upper bit is set if the form changes the
/// character, or can compose it with the preceding character. If only the lower bit is set, the character is a mark
/// that the form can only reorder.
pub(super) const CHANGES: u32 = 11;

const FORMS: u16 = NFD | NFC | NFKD | NFKC;

/// Pairs of a property bit and the set of characters that have it. The sets reproduce classes of old Unicode versions,
/// but are written with the classes of the current version.
const CLASSES: [(u16, &str); 5] = [
    (MARK, r"[[[\p{M}&&\p{age=9.0}]--\x{111C9}]\x{1CF2}\x{1CF3}]"),
    (NONSPACING, r"[[[\p{Mn}&&\p{age=8.0}]--[\x{1885}\x{1886}\x{A9BD}\x{111C9}]]\x{1734}\x{1171E}]"),
    (CONTROL, r"[[[\p{Cc}[\p{Cf}&&\p{age=8.0}]\p{Co}]--[\t\n\r]]\x{FFFD}]"),
    (SPACE, r"[[\s&&[^\p{Cc}\x20]]\t\n\r]"),
    // The blocks that BERT counts as Chinese, with their ranges in Unicode 8.
    (
        CHINESE,
        r"[\x{3400}-\x{4DBF}\x{4E00}-\x{9FFF}\x{F900}-\x{FAFF}\x{20000}-\x{2A6DF}\x{2A700}-\x{2B73F}\x{2B740}-\x{2B81F}\x{2B920}-\x{2CEAF}\x{2F800}-\x{2FA1F}]",
    ),
];

/// Superset of the characters that a normalization form can change: those that have a decomposition or a combining
/// class, and those that can compose with another character. Large blocks without such characters are excluded to save
/// time.
const FORMED: &str = r"[[\p{age=9.0}&&[^\p{Cc}\p{Co}]]--[\x00-\x7F\x{3400}-\x{4DB5}\x{4E00}-\x{9FFF}\x{17000}-\x{18AFF}\x{20000}-\x{2CEAF}]]";

/// Superset of the characters that differ from their lower case. Large blocks without such characters are excluded.
const CASED: &str = r"[\x00-\x{2FFF}\x{A640}-\x{ABFF}\x{FB00}-\x{1EFFF}]";

/// Number of code points in a block.
const BLOCK: usize = 256;

/// Two-stage table.
#[derive(Debug)]
pub(super) struct Properties {
    blocks: Vec<u16>, // index of the block for each run of BLOCK code points
    bits: Vec<u16>,   // distinct blocks, concatenated
}

impl Properties {
    /// Returns the table, built on the first call.
    pub(super) fn get() -> &'static Self {
        static PROPERTIES: OnceLock<Properties> = OnceLock::new();
        made_once(&PROPERTIES, Self::build)
    }

    fn build() -> Self {
        let mut flat = vec![0u16; 0x11_0000];
        for (bit, class) in CLASSES {
            for c in ranges(class).into_iter().flatten() {
                flat[c as usize] |= bit;
            }
        }
        for c in ranges(FORMED).into_iter().flatten() {
            flat[c as usize] |= forms(c);
            if flat[c as usize] & NFD != 0 {
                let mut is_ordered = false;
                decompose_canonical(c, |d| {
                    is_ordered |= canonical_combining_class(d) != 0 && flat[d as usize] & NONSPACING == 0;
                });
                flat[c as usize] |= u16::from(is_ordered) * ORDERED;
            }
        }
        for c in ranges(CASED).into_iter().flatten() {
            flat[c as usize] |= u16::from(lower(c).next() != Some(c)) * UPPER;
        }
        let mut number_of = HashMap::new(); // block -> its index
        let mut bits = Vec::new();
        let blocks = flat.chunks(BLOCK).map(|block| {
            *number_of.entry(block).or_insert_with(|| {
                bits.extend_from_slice(block);
                (bits.len() / BLOCK - 1) as u16
            })
        });
        Self { blocks: blocks.collect(), bits }
    }

    /// Returns the bits of a character.
    #[inline]
    pub(super) fn of(&self, c: char) -> u16 {
        let code = c as usize;
        self.bits[usize::from(self.blocks[code / BLOCK]) * BLOCK + code % BLOCK]
    }
}

fn forms(c: char) -> u16 {
    let quick = [
        (NFD, is_nfd_quick(std::iter::once(c))),
        (NFC, is_nfc_quick(std::iter::once(c))),
        (NFKD, is_nfkd_quick(std::iter::once(c))),
        (NFKC, is_nfkc_quick(std::iter::once(c))),
    ];
    let changes: u16 = quick.into_iter().filter(|(_, is)| *is != IsNormalized::Yes).map(|(bit, _)| bit).sum();
    let is_ordered = canonical_combining_class(c) != 0;
    changes << CHANGES | if is_ordered { FORMS } else { changes }
}

/// Returns the ranges of a class; no ranges if it is invalid. The constants above are valid.
fn ranges(class: &str) -> Vec<std::ops::RangeInclusive<char>> {
    match regex_syntax::parse(class).map(regex_syntax::hir::Hir::into_kind) {
        Ok(HirKind::Class(Class::Unicode(set))) => set.iter().map(|range| range.start()..=range.end()).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_is_valid() {
        for class in CLASSES.iter().map(|(_, class)| *class).chain([FORMED]) {
            assert!(!ranges(class).is_empty(), "{class}");
        }
    }

    #[test]
    fn characters_of_later_unicode_versions_have_no_forms() {
        let of = |c| Properties::get().of(c);
        assert_eq!(of('\u{105C9}'), 0); // Unicode 16: decomposes
        assert_eq!(of('\u{898}') & FORMS, 0); // Unicode 14: a mark
        assert_eq!(of('\u{301}'), FORMS | MARK | NONSPACING | (NFC | NFKC) << CHANGES);
        assert_eq!(of('\u{316}'), FORMS | MARK | NONSPACING);
        assert_eq!(of('é') & ALL, NFD | NFKD);
        assert_eq!(of('\u{1161}') & ALL, NFC | NFKC);
        assert_eq!(of('가') & FORMS, NFD | NFKD);
        assert_eq!(of('ﬁ') & ALL, NFKD | NFKC);
    }

    #[test]
    fn upper_bit_is_set_for_every_character_with_another_lower_case() {
        for c in '\0'..=char::MAX {
            assert_eq!(Properties::get().of(c) & UPPER != 0, lower(c).next() != Some(c), "{c:?}");
        }
    }

    #[test]
    fn table_takes_less_than_128_kib() {
        let table = Properties::get();
        let bytes = size_of_val(&table.blocks[..]) + size_of_val(&table.bits[..]);
        assert!(bytes < 128 << 10, "{bytes}");
    }
}
