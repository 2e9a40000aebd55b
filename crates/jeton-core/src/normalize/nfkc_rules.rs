//! The rules that SentencePiece calls `nfkc` and `nmt_nfkc`, from Unicode's tables.
//!
//! SentencePiece replaces by longest match, without ordering marks. So its rules are NFKC of every character, and of every spelling of
//! a decomposition that composes (a letter and its marks, each perhaps in a variant; Hangul's parts); rules that shorter ones already
//! give are left out. `nmt_nfkc` makes more characters a space and drops the controls.
//!
//! Invariant: the same rules, one by one, as in the models of sentencepiece 0.2.3, which has Unicode 17.
//! Cost: a quarter of a million rules, in about a third of a second. Source: google/sentencepiece `builder.cc` (the algorithm).
//! Left out: `nfkc_cf` and `nmt_nfkc_cf`, which fold case.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashMap;
use unicode_normalization::UnicodeNormalization;

use super::compile::Rules;

/// What Unicode 18 decomposes and Unicode 17 did not have.
const LATER: [(char, char); 8] = [
    ('\u{558}', '\u{558}'),
    ('\u{58B}', '\u{58C}'),
    ('\u{209D}', '\u{209F}'),
    ('\u{107BB}', '\u{107BF}'),
    ('\u{1B123}', '\u{1B126}'),
    ('\u{1D6A6}', '\u{1D6A6}'),
    ('\u{1DF95}', '\u{1DF95}'),
    ('\u{1DFCD}', '\u{1DFFF}'),
];

/// `nmt_nfkc`: these become a space.
const SPACES: &str =
    "\t\n\u{C}\r\u{61C}\u{1680}\u{200B}\u{200C}\u{200E}\u{200F}\u{2028}\u{2029}\u{2581}\u{FEFF}\u{FFFD}";
/// `nmt_nfkc`: a tilde that Japanese tells from the narrow one stays.
const KEPT: &str = "\u{FF5E}";

/// The rules with this name, if there are any.
pub fn named(name: &str) -> Option<Rules> {
    match name {
        "nfkc" => Some(nfkc()),
        "nmt_nfkc" => Some(nmt(nfkc())),
        _ => None,
    }
}

fn nfkc() -> Rules {
    let is_later = |c: char| LATER.iter().any(|&(first, last)| (first..=last).contains(&c));
    let mut rules = Rules::new();
    let mut spelled = BTreeSet::new(); // decompositions of more than one character
    let mut variants: HashMap<char, Vec<char>> = HashMap::new(); // character -> what decomposes to it alone
    for c in ('\u{1}'..=char::MAX).filter(|&c| !is_noncharacter(c)) {
        if is_later(c) {
            variants.entry(c).or_default().push(c);
            continue;
        }
        let composed: String = c.nfkc().collect();
        if !is_alone(&composed, c) {
            rules.insert(c.to_string(), composed);
        }
        let parts: String = c.nfkd().collect();
        let mut chars = parts.chars();
        match (chars.next(), chars.next()) {
            (Some(only), None) => variants.entry(only).or_default().push(c),
            _ => {
                spelled.insert(parts);
            }
        }
    }
    for parts in spelled {
        let composed: String = parts.nfkc().collect();
        if composed != parts {
            for spelling in spellings(&parts, &variants) {
                if spelling != composed {
                    rules.insert(spelling, composed.clone());
                }
            }
        }
    }
    without_redundant(&rules)
}

fn nmt(mut rules: Rules) -> Rules {
    rules.extend(SPACES.chars().map(|c| (c.to_string(), " ".to_owned())));
    let controls = ('\u{1}'..='\u{1F}').chain(['\u{7F}', '\u{8F}', '\u{9F}']).filter(|&c| !SPACES.contains(c));
    rules.extend(controls.map(|c| (c.to_string(), String::new())));
    rules.remove(KEPT);
    without_redundant(&rules)
}

fn is_noncharacter(c: char) -> bool {
    c as u32 & 0xFFFE == 0xFFFE || ('\u{FDD0}'..='\u{FDEF}').contains(&c)
}

fn is_alone(text: &str, c: char) -> bool {
    text.starts_with(c) && text.len() == c.len_utf8()
}

/// Every text whose characters decompose, one by one, to those of `parts`.
fn spellings(parts: &str, variants: &HashMap<char, Vec<char>>) -> Vec<String> {
    let mut all = vec![String::new()];
    for part in parts.chars() {
        let ways = variants.get(&part).map_or(&[][..], Vec::as_slice);
        all = all.iter().flat_map(|start| ways.iter().map(move |way| format!("{start}{way}"))).collect();
    }
    all
}

/// The rules that shorter ones do not give.
fn without_redundant(rules: &Rules) -> Rules {
    let mut by_length: BTreeMap<usize, Vec<(&String, &String)>> = BTreeMap::new();
    for (key, text) in rules {
        by_length.entry(key.chars().count()).or_default().push((key, text));
    }
    let mut kept: HashMap<&str, &str> = HashMap::new();
    for (length, rules) in by_length {
        let needed = rules.into_iter().filter(|(key, text)| length == 1 || apply(&kept, key, length - 1) != **text);
        let needed: Vec<_> = needed.collect();
        kept.extend(needed.into_iter().map(|(key, text)| (key.as_str(), text.as_str())));
    }
    kept.into_iter().map(|(key, text)| (key.to_owned(), text.to_owned())).collect()
}

/// What the rules for up to `longest` characters make of a text.
fn apply(rules: &HashMap<&str, &str>, text: &str, longest: usize) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let ends = rest.char_indices().map(|(at, c)| at + c.len_utf8()).take(longest);
        let found = ends.filter_map(|end| rules.get(&rest[..end]).map(|text| (end, *text))).last();
        let (taken, text) = found.unwrap_or((first.len_utf8(), &rest[..first.len_utf8()]));
        out.push_str(text);
        rest = &rest[taken..];
    }
    out
}
