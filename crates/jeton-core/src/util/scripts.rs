//! Scripts of characters, and the main script of a text.
//!
//! Source: Unicode's property Script, from `regex-syntax`. All rare scripts have the name `Other`.

use std::sync::OnceLock;

use regex_syntax::hir::{Class, HirKind};

use super::atomic_cell::made_once;

/// Names of the scripts. The name of all other scripts is `Other`; for characters without a script, it is `None`.
const NAMES: [&str; 43] = [
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
    "Tagalog",
    "Ol_Chiki",
    "Adlam",
];
/// Script number of all scripts that [`NAMES`] does not list.
const OTHER: usize = NAMES.len();
/// Script number of characters that have no script: digits, punctuation and white space.
pub(crate) const NONE: usize = NAMES.len() + 1;

/// Minimum share of kana, in percent, for a text in Han and kana to be Japanese. Kana occur in Chinese text only in
/// quotations; in Japanese text, about half of the characters are kana.
const JAPANESE_PERCENT: usize = 10;

/// Returns the names of all scripts by number.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    NAMES.into_iter().chain(["Other", "None"])
}

/// Returns ranges of characters in ascending order, each with the number of its script.
fn ranges() -> &'static [(char, char, usize)] {
    static RANGES: OnceLock<Vec<(char, char, usize)>> = OnceLock::new();
    made_once::<Vec<_>>(&RANGES, || {
        let mut table = Vec::new();
        let mut add = |class: &str, script: usize| {
            // All names are valid classes, which a test checks.
            if let Ok(HirKind::Class(Class::Unicode(set))) =
                regex_syntax::parse(class).map(regex_syntax::hir::Hir::into_kind)
            {
                table.extend(set.iter().map(|range| (range.start(), range.end(), script)));
            }
        };
        for (number, name) in NAMES.iter().enumerate() {
            add(&format!(r"\p{{Script={name}}}"), number);
        }
        add(r"[\p{Script=Common}\p{Script=Inherited}]", NONE);
        table.sort_unstable();
        table
    })
}

/// Returns the number of a character's script.
pub(crate) fn script(c: char) -> usize {
    if c.is_ascii() {
        return if c.is_ascii_alphabetic() { 0 } else { NONE };
    }
    let at = ranges().partition_point(|&(_, last, _)| last < c);
    ranges().get(at).filter(|&&(first, ..)| first <= c).map_or(OTHER, |&(.., script)| script)
}

/// Returns the name of the script to which most characters of a text belong. The name is `Japanese` for Han with kana,
/// and `None` if no character has a script.
///
/// ```
/// use jeton_core::util::scripts::main_script;
///
/// let scripts = ["3 кота, 1 cat", "今日は", "12.5"].map(main_script);
/// assert_eq!(scripts, ["Cyrillic", "Japanese", "None"]);
/// ```
pub fn main_script(text: &str) -> &'static str {
    let mut numbers = [0_usize; NONE + 1];
    text.chars().for_each(|c| numbers[script(c)] += 1);
    let number_of = |wanted: &str| names().zip(numbers).find(|&(name, _)| name == wanted).map_or(0, |found| found.1);
    let (kana, han) = (number_of("Hiragana") + number_of("Katakana"), number_of("Han"));
    numbers[NONE] = 0;
    let mut most = ("None", 0);
    for (name, number) in names().zip(numbers) {
        if number > most.1 {
            most = (name, number);
        }
    }
    match most {
        (_, 0) => "None",
        ("Han" | "Hiragana" | "Katakana", _) if kana * 100 >= (kana + han) * JAPANESE_PERCENT => "Japanese",
        (name, _) => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_script_has_characters_and_none_overlap() {
        assert!((0..NAMES.len()).all(|script| ranges().iter().any(|range| range.2 == script)));
        assert!(ranges().windows(2).all(|pair| pair[0].1 < pair[1].0));
        let name = |c| names().nth(script(c));
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
        assert!(('\0'..='\x7f').all(|c| script(c) == if c.is_ascii_alphabetic() { 0 } else { NONE }));
    }
    #[test]
    fn most_characters_decide_the_main_script() {
        let cases = [
            ("", "None"),
            ("漢字", "Han"),
            ("他说「さ」字是日本的,我们不认识这个字", "Han"),
            ("東京都に行く", "Japanese"),
            ("カタカナ", "Japanese"),
            ("한국어 漢字", "Hangul"),
            ("ab жи", "Latin"),
            ("ab жиж", "Cyrillic"),
            ("𐎠𐎠", "Other"),
        ];
        for (text, expected) in cases {
            assert_eq!(main_script(text), expected, "{text}");
        }
    }
}
