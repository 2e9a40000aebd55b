//! Generates the normalization rules that SentencePiece calls `nfkc`, `nmt_nfkc`, `nfkc_cf` and `nmt_nfkc_cf` from
//! Unicode's tables.
//!
//! SentencePiece replaces the longest match and does not reorder marks. Its rules therefore map not only every
//! character to its NFKC form, but also every sequence of characters that NFKC composes: a letter with its marks, or
//! the parts of a Hangul syllable. A sequence can also be spelled with variants: characters that decompose to one of
//! its characters. Each of these spellings has a rule, too. A rule is left out if shorter rules have the same effect.
//! `nmt_nfkc` also maps more characters to a space and removes control characters. The rules that end in `_cf` also
//! fold case, character by character.
//!
//! Invariant: the rules equal the rules of sentencepiece 0.2.3, which has Unicode 17. Cost: about 0.2 s for 250,000
//! rules. Source: google/sentencepiece `builder.cc` (the algorithm).

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashMap;
use unicode_normalization::UnicodeNormalization;

use super::compile::Rules;

/// Ranges (first, last) of characters whose decompositions are new in Unicode 18. They are skipped, because
/// SentencePiece has Unicode 17.
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

/// Characters that `nmt_nfkc` maps to a space.
const SPACES: &str =
    "\t\n\u{C}\r\u{61C}\u{1680}\u{200B}\u{200C}\u{200E}\u{200F}\u{2028}\u{2029}\u{2581}\u{FEFF}\u{FFFD}";
/// Character that `nmt_nfkc` does not change: the fullwidth tilde, which Japanese text needs.
const KEPT: &str = "\u{FF5E}";

/// Returns the rules with this name; None for an unknown name.
pub fn named(name: &str) -> Option<Rules> {
    match name {
        "nfkc" => Some(nfkc()),
        "nmt_nfkc" => Some(nmt(nfkc())),
        "nfkc_cf" => Some(folded(nfkc())),
        "nmt_nfkc_cf" => Some(folded(nmt(nfkc()))),
        _ => None,
    }
}

fn nfkc() -> Rules {
    let is_later = |c: char| LATER.iter().any(|&(first, last)| (first..=last).contains(&c));
    let mut rules = Vec::new();
    let mut spelled = BTreeSet::new(); // decompositions of more than one character
    let mut variants: HashMap<char, Vec<char>> = HashMap::new(); // character -> characters that decompose to it alone
    for c in ('\u{1}'..=char::MAX).filter(|&c| !is_noncharacter(c) && !is_later(c)) {
        let mut parts = c.nfkd();
        match (parts.next(), parts.next()) {
            (Some(only), None) if only == c => continue, // most characters do not change
            (Some(only), None) => variants.entry(only).or_default().push(c),
            _ => {
                spelled.insert(c.nfkd().collect::<String>());
            }
        }
        let composed: String = c.nfkc().collect();
        if !is_alone(&composed, c) {
            rules.push((c.to_string(), composed));
        }
    }
    for parts in spelled {
        let composed: String = parts.nfkc().collect();
        if composed != parts {
            let others = spellings(&parts, &variants).into_iter().filter(|spelling| *spelling != composed);
            rules.extend(others.map(|spelling| (spelling, composed.clone())));
        }
    }
    without_redundant(rules.into_iter().collect())
}

fn nmt(mut rules: Rules) -> Rules {
    rules.extend(SPACES.chars().map(|c| (c.to_string(), " ".to_owned())));
    let controls = ('\u{1}'..='\u{1F}').chain(['\u{7F}', '\u{8F}', '\u{9F}']).filter(|&c| !SPACES.contains(c));
    rules.extend(controls.map(|c| (c.to_string(), String::new())));
    rules.remove(KEPT);
    without_redundant(rules)
}

/// Folds the case of all replacements, and adds a rule for each character that folding changes and that has no rule.
fn folded(mut rules: Rules) -> Rules {
    rules.values_mut().for_each(|text| *text = text.chars().map(fold).collect());
    for c in ('\u{1}'..=char::MAX).filter(|&c| !is_noncharacter(c)) {
        let to = fold(c);
        if to != c {
            rules.entry(c.to_string()).or_insert_with(|| to.to_string());
        }
    }
    without_redundant(rules)
}

/// Returns the simple case folding of a character (statuses C and S of CaseFolding.txt).
fn fold(c: char) -> char {
    let only = |mut mapped: &mut dyn Iterator<Item = char>| {
        let first = mapped.next();
        first.filter(|_| (&mut mapped).next().is_none())
    };
    let upper = only(&mut c.to_uppercase()).unwrap_or(c);
    match c {
        'ı' => c,                                                   // its upper case is the upper case of `i`
        '\u{13A0}'..='\u{13FD}' | '\u{AB70}'..='\u{ABBF}' => upper, // Cherokee folds to upper case
        '\u{1FD3}' => '\u{390}',
        '\u{1FE3}' => '\u{3B0}',
        '\u{FB05}' => '\u{FB06}',
        _ => only(&mut upper.to_lowercase()).unwrap_or(upper),
    }
}

fn is_noncharacter(c: char) -> bool {
    c as u32 & 0xFFFE == 0xFFFE || ('\u{FDD0}'..='\u{FDEF}').contains(&c)
}

fn is_alone(text: &str, c: char) -> bool {
    text.starts_with(c) && text.len() == c.len_utf8()
}

/// Returns all texts that become `parts` when each of their characters is decomposed.
fn spellings(parts: &str, variants: &HashMap<char, Vec<char>>) -> Vec<String> {
    let mut all = vec![String::new()];
    for part in parts.chars() {
        let others = variants.get(&part).map_or(&[][..], Vec::as_slice);
        let spell = |start: &String, way: char| {
            let mut text = String::with_capacity(start.len() + way.len_utf8());
            text.push_str(start);
            text.push(way);
            text
        };
        let ways = || std::iter::once(part).chain(others.iter().copied());
        all = all.iter().flat_map(|start| ways().map(move |way| spell(start, way))).collect();
    }
    all
}

/// Removes each rule that is redundant: without it, rules with shorter keys give the same replacement.
fn without_redundant(mut rules: Rules) -> Rules {
    let mut by_length: BTreeMap<usize, Vec<(usize, &str, &str)>> = BTreeMap::new();
    for (place, (key, text)) in rules.iter().enumerate() {
        by_length.entry(key.chars().count()).or_default().push((place, key, text));
    }
    let mut is_needed = vec![true; rules.len()];
    let mut kept: HashMap<&str, &str> = HashMap::with_capacity(rules.len());
    for (length, rules) in by_length {
        for &(place, key, text) in &rules {
            is_needed[place] = length == 1 || !give(&kept, key, length - 1, text);
        }
        kept.extend(rules.iter().filter(|rule| is_needed[rule.0]).map(|&(_, key, text)| (key, text)));
    }
    drop(kept);
    let mut is_needed = is_needed.into_iter();
    rules.retain(|_, _| is_needed.next() == Some(true));
    rules
}

/// Returns true if the rules for up to `longest` characters map a text to `wanted`.
fn give(rules: &HashMap<&str, &str>, text: &str, longest: usize, wanted: &str) -> bool {
    let (mut rest, mut wanted) = (text, wanted);
    while let Some(first) = rest.chars().next() {
        let ends = rest.char_indices().map(|(at, c)| at + c.len_utf8()).take(longest);
        let found = ends.filter_map(|end| rules.get(&rest[..end]).map(|text| (end, *text))).last();
        let (taken, text) = found.unwrap_or((first.len_utf8(), &rest[..first.len_utf8()]));
        let Some(after) = wanted.strip_prefix(text) else { return false };
        (rest, wanted) = (&rest[taken..], after);
    }
    wanted.is_empty()
}
