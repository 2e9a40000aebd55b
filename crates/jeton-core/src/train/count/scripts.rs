//! Counts by script.
//!
//! The script of a pretoken is that of its first character with a script; digits, punctuation and white space have none.
//! Source: Unicode's property Script, from `regex-syntax`. Left out: rare scripts, which are counted under one name.

use std::sync::OnceLock;

use regex_syntax::hir::{Class, HirKind};

use super::table::Counts;

use crate::util::atomic_cell::made_once;

/// Names of counted scripts; characters of others are `Other`, those without a script `None`.
const NAMES: [&str; 40] = [
    "Latin",
    "Cyrillic",
    "Greek",
    "Han",
    "Hiragana",
    "Katakana",
    "Hangul",
    "Arabic",
    "Hebrew",
    "Devanagari",
    "Bengali",
    "Gurmukhi",
    "Gujarati",
    "Oriya",
    "Tamil",
    "Telugu",
    "Kannada",
    "Malayalam",
    "Sinhala",
    "Thai",
    "Lao",
    "Tibetan",
    "Myanmar",
    "Khmer",
    "Georgian",
    "Armenian",
    "Ethiopic",
    "Cherokee",
    "Mongolian",
    "Canadian_Aboriginal",
    "Tifinagh",
    "Thaana",
    "Syriac",
    "Nko",
    "Bopomofo",
    "Yi",
    "Javanese",
    "Balinese",
    "Coptic",
    "Vai",
];

/// Counts of the pretokens in one script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Unicode name of the script; `Other`; `None` without a script.
    pub script: &'static str,
    /// Distinct pretokens.
    pub distinct: u64,
    /// Sum of their counts.
    pub occurrences: u64,
    /// Bytes of these occurrences.
    pub bytes: u64,
}

/// Ranges of characters in order, with the index of their script.
fn ranges() -> &'static [(char, char, usize)] {
    static RANGES: OnceLock<Vec<(char, char, usize)>> = OnceLock::new();
    made_once::<Vec<_>>(&RANGES, || {
        let mut table = Vec::new();
        let mut add = |class: &str, script: usize| {
            // The constants are valid classes, which a test checks.
            if let Ok(HirKind::Class(Class::Unicode(set))) =
                regex_syntax::parse(class).map(regex_syntax::hir::Hir::into_kind)
            {
                table.extend(set.iter().map(|range| (range.start(), range.end(), script)));
            }
        };
        for (number, name) in NAMES.iter().enumerate() {
            add(&format!(r"\p{{Script={name}}}"), number);
        }
        add(r"[\p{Script=Common}\p{Script=Inherited}]", NAMES.len() + 1);
        table.sort_unstable();
        table
    })
}

/// Index of a character's script; after the named ones come `Other` and `None`.
fn script(c: char) -> usize {
    if c.is_ascii() {
        return if c.is_ascii_alphabetic() { 0 } else { NAMES.len() + 1 };
    }
    let at = ranges().partition_point(|&(_, last, _)| last < c);
    ranges().get(at).filter(|&&(first, ..)| first <= c).map_or(NAMES.len(), |&(.., script)| script)
}

impl Counts {
    /// Returns the counts of each script that occurs, most bytes first.
    pub fn scripts(&self) -> Vec<Share> {
        let names = NAMES.into_iter().chain(["Other", "None"]);
        let mut shares: Vec<_> = names.map(|script| Share { script, distinct: 0, occurrences: 0, bytes: 0 }).collect();
        let none = NAMES.len() + 1;
        for (pretoken, count) in self.iter() {
            let chars = pretoken.utf8_chunks().flat_map(|chunk| chunk.valid().chars());
            let share = &mut shares[chars.map(script).find(|&number| number != none).unwrap_or(none)];
            share.distinct += 1;
            share.occurrences = share.occurrences.saturating_add(count);
            share.bytes = share.bytes.saturating_add(count.saturating_mul(pretoken.len() as u64));
        }
        shares.retain(|share| share.distinct > 0);
        shares.sort_by_key(|share| std::cmp::Reverse(share.bytes)); // stable
        shares
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_script_has_characters_and_none_overlap() {
        assert!((0..NAMES.len()).all(|script| ranges().iter().any(|range| range.2 == script)));
        assert!(ranges().windows(2).all(|pair| pair[0].1 < pair[1].0));
        let name = |c| NAMES.into_iter().chain(["Other", "None"]).nth(script(c));
        let expected = [
            ('é', "Latin"),
            ('ж', "Cyrillic"),
            ('京', "Han"),
            ('い', "Hiragana"),
            ('1', "None"),
            ('。', "None"),
            ('𐎠', "Other"),
        ];
        assert!(expected.into_iter().all(|(c, script)| name(c) == Some(script)));
        assert!(('\0'..='\x7f').all(|c| script(c) == if c.is_ascii_alphabetic() { 0 } else { NAMES.len() + 1 }));
    }
}
