//! The script of a character, as SentencePiece's trainer asks for it.
//!
//! Hiragana, Katakana and the long vowel sound count as Han; what Unicode has no script for is common.
//!
//! Invariant: the same classes as sentencepiece 0.2.3 for every code point (`tests/parity/test_sentencepiece_training.py`).
//! Cost: built once, a few milliseconds; then one look-up for ASCII, a binary search for the rest.
//! Source: `regex-syntax`'s tables (Unicode 16); google/sentencepiece `trainer_interface.cc` for what counts as Han.

use std::sync::OnceLock;

use regex_syntax::hir::{Class, HirKind};

/// Unicode's short names. Han comes first, for others are counted as Han.
const NAMES: &str = "
    Hani Hira Kana Zinh Adlm Aghb Ahom Arab Armi Armn Avst Bali Bamu Bass Batk Beng Bhks Bopo Brah Brai Bugi Buhd Cakm Cans Cari
    Cham Cher Chrs Copt Cpmn Cprt Cyrl Deva Diak Dogr Dsrt Dupl Egyp Elba Elym Ethi Gara Geor Glag Gong Gonm Goth Gran Grek Gujr
    Gukh Guru Hang Hano Hatr Hebr Hluw Hmng Hmnp Hung Ital Java Kali Kawi Khar Khmr Khoj Kits Knda Krai Kthi Lana Laoo Latn Lepc
    Limb Lina Linb Lisu Lyci Lydi Mahj Maka Mand Mani Marc Medf Mend Merc Mero Mlym Modi Mong Mroo Mtei Mult Mymr Nagm Nand Narb
    Nbat Newa Nkoo Nshu Ogam Olck Onao Orkh Orya Osge Osma Ougr Palm Pauc Perm Phag Phli Phlp Phnx Plrd Prti Rjng Rohg Runr Samr
    Sarb Saur Sgnw Shaw Shrd Sidd Sind Sinh Sogd Sogo Sora Soyo Sund Sunu Sylo Syrc Tagb Takr Tale Talu Taml Tang Tavt Telu Tfng
    Tglg Thaa Thai Tibt Tirh Tnsa Todr Toto Tutg Ugar Vaii Vith Wara Wcho Xpeo Xsux Yezi Yiii Zanb";

/// A script, as a number.
pub(in crate::train) type Script = u8;

/// What has no script of its own.
pub(in crate::train) const COMMON: Script = 0;
const HAN: Script = 1;
const KATAKANA: Script = 3;
/// What has the script of what stands before it.
pub(in crate::train) const INHERITED: Script = 4;

const LONG_VOWEL: char = '\u{30FC}';

/// The script of each character.
#[derive(Debug)]
pub(in crate::train) struct Scripts {
    ascii: [Script; 128],
    ranges: Vec<(char, char, Script)>, // in order, first and last
}

impl Scripts {
    /// The table, built on the first call.
    pub(in crate::train) fn get() -> &'static Self {
        static SCRIPTS: OnceLock<Scripts> = OnceLock::new();
        SCRIPTS.get_or_init(Self::build)
    }

    fn build() -> Self {
        let mut table = vec![(LONG_VOWEL, LONG_VOWEL, HAN)];
        for (name, script) in NAMES.split_ascii_whitespace().zip(1..) {
            let script = if script <= KATAKANA { HAN } else { script };
            let class = format!(r"[\p{{script={name}}}--{LONG_VOWEL}]");
            table.extend(ranges(&class).into_iter().map(|(first, last)| (first, last, script)));
        }
        table.sort_unstable();
        let mut scripts = Self { ascii: [COMMON; 128], ranges: table };
        let ascii = std::array::from_fn(|code| scripts.search(char::from(code as u8)));
        scripts.ascii = ascii;
        scripts
    }

    fn search(&self, c: char) -> Script {
        let index = self.ranges.partition_point(|&(_, last, _)| last < c);
        self.ranges.get(index).filter(|&&(first, ..)| first <= c).map_or(COMMON, |&(.., script)| script)
    }

    /// The script of `c`.
    #[inline]
    pub(in crate::train) fn of(&self, c: char) -> Script {
        self.ascii.get(c as usize).copied().unwrap_or_else(|| self.search(c))
    }
}

/// The ranges of a class. The classes here are constants that parse (a test says so).
fn ranges(class: &str) -> Vec<(char, char)> {
    match regex_syntax::parse(class).map(regex_syntax::hir::Hir::into_kind) {
        Ok(HirKind::Class(Class::Unicode(set))) => set.iter().map(|range| (range.start(), range.end())).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_script_has_characters() {
        for name in NAMES.split_ascii_whitespace() {
            assert!(!ranges(&format!(r"\p{{script={name}}}")).is_empty(), "{name}");
        }
    }

    #[test]
    fn kana_count_as_han() {
        let scripts = Scripts::get();
        assert_eq!([scripts.of('今'), scripts.of('の'), scripts.of('ヲ'), scripts.of('ー')], [HAN; 4]);
        assert_eq!((scripts.of('\u{301}'), scripts.of('1'), scripts.of(' ')), (INHERITED, COMMON, COMMON));
        assert_ne!(scripts.of('a'), scripts.of('а'));
    }
}
