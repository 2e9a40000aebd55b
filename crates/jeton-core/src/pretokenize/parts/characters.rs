//! Character sets of HF's pre-tokenizers, as in the wheel `tokenizers` 0.23.3.
//!
//! The crates that HF uses have Unicode data of different versions. The sets are built from the tables of
//! `regex-syntax` (Unicode 16), restricted to the Unicode version of each crate, plus the few characters whose
//! properties have changed since. build.rs writes the ranges of all sets except scripts. Each set was compared with the
//! wheel's set for every code point.
//!
//! | set | Unicode version in HF | from |
//! |---|---|---|
//! | punctuation | 8 | crate `unicode_categories` 0.1, and ASCII's punctuation |
//! | number | 17 | `char::is_numeric`, pinned, because the compiler's version varies |
//! | word | 16 | `\w` of crate `regex` |
//! | script | 9 | SentencePiece's table, with Hiragana and Katakana counted as Han |

use std::sync::OnceLock;

use regex_syntax::hir::{Class, HirKind};

use crate::util::atomic_cell::made_once;

// Includes the ranges of `PUNCTUATION`, `NUMBER` and `WORD`, which build.rs writes.
include!(concat!(env!("OUT_DIR"), "/characters.rs"));

/// A set of characters.
#[derive(Debug)]
pub(super) struct Characters {
    low: Box<[u64; 1 << 10]>,      // bit set of the characters up to U+FFFF
    ranges: &'static [(u32, u32)], // all ranges, ascending, both ends included
}

impl Characters {
    fn new(ranges: &'static [(u32, u32)]) -> Self {
        let mut low = Box::new([0; 1 << 10]);
        for c in ranges.iter().flat_map(|&(first, last)| first..=last).take_while(|&c| c <= 0xFFFF) {
            low[c as usize / 64] |= 1 << (c % 64);
        }
        Self { low, ranges }
    }

    /// Returns true if the set has `c`.
    #[inline]
    pub(super) fn has(&self, c: char) -> bool {
        match self.low.get(c as usize / 64) {
            Some(bits) => bits >> (c as u32 % 64) & 1 != 0,
            None => {
                let index = self.ranges.partition_point(|&(_, last)| last < c.into());
                self.ranges.get(index).is_some_and(|&(first, _)| first <= c.into())
            }
        }
    }

    /// Returns the set as a regex.
    pub(super) fn as_regex(&self) -> String {
        let ranges = self.ranges.iter().map(|(first, last)| format!(r"\x{{{first:X}}}-\x{{{last:X}}}"));
        format!("[{}]", ranges.collect::<String>())
    }
}

/// Returns the set of punctuation and ASCII symbols.
pub(super) fn punctuation() -> &'static Characters {
    static SET: OnceLock<Characters> = OnceLock::new();
    made_once(&SET, || Characters::new(&PUNCTUATION))
}

/// Returns the set of numbers.
pub(super) fn number() -> &'static Characters {
    static SET: OnceLock<Characters> = OnceLock::new();
    made_once(&SET, || Characters::new(&NUMBER))
}

/// Returns the set of word characters.
pub(super) fn word() -> &'static Characters {
    static SET: OnceLock<Characters> = OnceLock::new();
    made_once(&SET, || Characters::new(&WORD))
}

/// Number of a script; 0 is compatible with any script.
pub type Script = u8;

/// Table of the scripts of characters.
#[derive(Debug)]
pub struct Scripts {
    ranges: Vec<(char, char, Script)>, // in order
}

/// Unicode's short names of scripts. The number of a script is the position of its name, from 1. Han, Hiragana and
/// Katakana come first: they have constants, because Hiragana and Katakana are counted as Han.
const SCRIPTS: &str = "
    Hani Hira Kana Adlm Aghb Ahom Arab Armi Armn Avst Bali Bamu Bass Batk Beng Bhks Bopo Brah Brai Bugi Buhd Cakm Cans Cari Cham Cher
    Copt Cprt Cyrl Deva Dsrt Dupl Egyp Elba Ethi Geor Glag Goth Gran Grek Gujr Guru Hang Hano Hatr Hebr Hluw Hmng Hung Ital Java Kali
    Khar Khmr Khoj Knda Kthi Lana Laoo Latn Lepc Limb Lina Linb Lisu Lyci Lydi Mahj Mand Mani Marc Mend Merc Mero Mlym Modi Mong Mroo
    Mtei Mult Mymr Narb Nbat Newa Nkoo Ogam Olck Orkh Orya Osge Osma Palm Pauc Perm Phag Phli Phlp Phnx Plrd Prti Rjng Runr Samr Sarb
    Saur Sgnw Shaw Shrd Sidd Sind Sinh Sora Sund Sylo Syrc Tagb Takr Tale Talu Taml Tang Tavt Telu Tfng Tglg Thaa Thai Tibt Tirh Ugar
    Vaii Wara Xpeo Xsux Yiii Zinh Zyyy";

const HAN: Script = 1;
const HIRAGANA: Script = 2;
const KATAKANA: Script = 3;
/// `Zinh` (inherited): the character takes the script of the preceding character.
pub const INHERITED: Script = 136;
/// `Zyyy`: common to all scripts.
pub const COMMON: Script = 137;

/// Characters whose script in SentencePiece's table differs from that in `regex-syntax`.
const EXCEPTIONS: [(char, char, &str); 3] =
    [('\u{589}', '\u{589}', "Zyyy"), ('\u{61C}', '\u{61C}', "Zyyy"), ('\u{953}', '\u{954}', "Deva")];

impl Scripts {
    /// Returns the table, built on the first call.
    pub fn get() -> &'static Self {
        static SCRIPTS: OnceLock<Scripts> = OnceLock::new();
        made_once(&SCRIPTS, Self::build)
    }

    fn build() -> Self {
        let mut table = Vec::new();
        for (name, script) in SCRIPTS.split_ascii_whitespace().zip(1..) {
            let (mut class, mut not) = (format!(r"\p{{script={name}}}"), String::new());
            for (first, last, exception) in EXCEPTIONS {
                *if exception == name { &mut class } else { &mut not } += &format!("{first}-{last}");
            }
            let script = if matches!(script, HIRAGANA | KATAKANA) { HAN } else { script };
            let class = format!(r"[[{class}]&&\p{{age=9.0}}&&[^{not}\u{{30FC}}\x20]]");
            table.extend(ranges(&class).into_iter().map(|(first, last)| (first, last, script)));
        }
        table.push(('\u{30FC}', '\u{30FC}', HAN));
        table.sort_unstable();
        Self { ranges: table }
    }

    /// Returns the script of `c`; 0 for a space and for characters that are not in Unicode 9.
    pub fn of(&self, c: char) -> Script {
        let index = self.ranges.partition_point(|&(_, last, _)| last < c);
        self.ranges.get(index).filter(|&&(first, ..)| first <= c).map_or(0, |&(.., script)| script)
    }
}

/// Returns the ranges of a class in the notation of `regex-syntax`. All classes in this file are valid, which a test
/// checks.
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
    fn scripts_have_their_numbers() {
        let scripts = Scripts::get();
        assert_eq!((scripts.of('\u{301}'), scripts.of('1'), scripts.of('\u{1F}')), (INHERITED, COMMON, COMMON));
    }

    /// Checks that each set has as many characters as in the wheel `tokenizers` 0.23.3.
    #[test]
    fn sets_have_their_sizes() {
        let size = |set: &Characters| ('\0'..=char::MAX).filter(|&c| set.has(c)).count();
        let sizes = (size(punctuation()), size(number()), size(word()));
        assert_eq!(sizes, SIZES);
        let scripts = Scripts::get();
        assert!(SCRIPTS.split_ascii_whitespace().count() == 137);
        assert!((1..=137).all(|script| {
            matches!(script, HIRAGANA | KATAKANA) || scripts.ranges.iter().any(|range| range.2 == script)
        }));
        assert!(scripts.ranges.windows(2).all(|pair| pair[0].1 < pair[1].0));
        let han = scripts.of('京');
        assert!(
            han == scripts.of('い') && han == scripts.of('グ') && han == scripts.of('ー') && han != scripts.of('a')
        );
        assert_eq!((scripts.of(' '), scripts.of('\u{378}')), (0, 0));
    }

    const SIZES: (usize, usize, usize) = (726, 1924, 144_667);
}
