//! Compiles normalization rules to SentencePiece's character map, which `charsmap` reads.
//!
//! The result is a trie. Nodes with equal children share one stored set of children, so the rules of NFKC (225
//! thousand, most of them spellings of Hangul syllables) take 60 thousand units instead of half a million. The trie
//! maps text like SentencePiece's map of the same rules. Its bytes differ, because the two builders store sets of
//! children at different positions.
//!
//! Invariant: two different sets of children never have the same base. Units do not store their parents, so a lookup
//! could not tell the two sets apart. Cost: one pass over the sorted rules. For each set of children,
//! the last 16 blocks of the trie are searched for the first position at which all children fit.
//! Source: google/sentencepiece `builder.cc` for the layout of the map; S. Yata, Darts-clone, for the units. Inverse:
//! `charsmap.rs`.

use std::collections::BTreeMap;

use hashbrown::HashMap;

use super::charsmap::Charsmap;
use crate::error::{Error, Result};

/// Rules: source -> replacement.
pub type Rules = BTreeMap<String, String>;

/// Number of units in a block. A set of children never crosses a block boundary.
const BLOCK: usize = 256;
/// Number of blocks at the end of the trie that are searched for free positions, as in Darts-clone.
const OPEN_BLOCKS: usize = 16;
/// Maximum number of units, because offsets to children have 21 bits.
const MAX_UNITS: usize = 1 << 21;

/// Children of a node of the trie, as (byte, child). Byte 0 leads to the value: the offset of a replacement.
type Children = Vec<(u8, Child)>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Child {
    Value(u32),
    Node { children: u32, has_value: bool },
}

/// Returns the rules of a character map.
///
/// # Errors
/// [`Error::format`] if the map is invalid. [`Error::config`] if the trie of the map has more than four million paths,
/// or if the source text of a rule is not UTF-8.
pub fn decompile(map: &[u8]) -> Result<Rules> {
    const MOST: usize = 1 << 22;
    let rules = Charsmap::new(map)?.rules(MOST);
    rules.ok_or_else(|| Error::config("the character map has too many rules, or one for bytes that are not UTF-8"))
}

/// Compiles rules to a character map.
///
/// # Errors
/// [`Error::config`] for a rule that is empty or contains NUL, and for too many rules.
pub fn compile(rules: &Rules) -> Result<Vec<u8>> {
    if let Some(key) = rules.iter().find(|(key, text)| key.is_empty() || key.contains('\0') || text.contains('\0')) {
        return Err(Error::config(format!("a rule for {:?} is empty or contains U+0000", key.0)));
    }
    let mut texts = Vec::new();
    let mut places: HashMap<&str, u32> = HashMap::new(); // replacement -> its offset in `texts`
    for text in rules.values() {
        places.entry(text).or_insert_with(|| {
            let place = texts.len() as u32;
            texts.extend_from_slice(text.as_bytes());
            texts.push(0);
            place
        });
    }
    let mut sets = Sets::default();
    let entries: Vec<(&[u8], u32)> = rules.iter().map(|(key, text)| (key.as_bytes(), places[text.as_str()])).collect();
    let root = sets.build(&entries, 0);
    let units = TrieLayout::default().place(&sets.all, root)?;
    let mut blob = (units.len() as u32 * 4).to_le_bytes().to_vec();
    blob.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
    blob.extend_from_slice(&texts);
    Ok(blob)
}

/// Distinct sets of children of trie nodes. Equal sets are stored once and have one number.
#[derive(Debug, Default)]
struct Sets {
    all: Vec<Children>,
    numbers: HashMap<Children, u32>,
}

impl Sets {
    /// Adds the set of children of a trie node, and the sets of the nodes below. Returns the index of the node's set in
    /// `all`. `entries`: the sorted rules that begin with the bytes on the path to the node; `depth`: the number of
    /// these bytes.
    fn build(&mut self, entries: &[(&[u8], u32)], depth: usize) -> u32 {
        let mut children = Children::new();
        let mut rest = entries;
        while let Some(&(key, value)) = rest.first() {
            let Some(&byte) = key.get(depth) else {
                children.push((0, Child::Value(value)));
                rest = &rest[1..];
                continue;
            };
            let (below, after) = rest.split_at(rest.partition_point(|entry| entry.0.get(depth) <= Some(&byte)));
            let has_value = key.len() == depth + 1;
            children.push((byte, Child::Node { children: self.build(below, depth + 1), has_value }));
            rest = after;
        }
        let next = self.all.len() as u32;
        let all = &mut self.all;
        *self.numbers.entry(children).or_insert_with_key(|children| {
            all.push(children.clone());
            next
        })
    }
}

/// Trie under construction, with the flags of the units that are already taken.
#[derive(Debug, Default)]
struct TrieLayout {
    units: Vec<u32>,
    is_taken: Vec<bool>,
    is_base: Vec<bool>,
    bases: HashMap<u32, usize>, // number of a set -> its base
}

impl TrieLayout {
    fn place(mut self, sets: &[Children], root: u32) -> Result<Vec<u32>> {
        self.grow();
        self.is_taken[0] = true; // the root
        self.is_base[0] = true;
        let mut todo = vec![(0, root, 0)]; // (unit, set of its children, its lower bits)
        while let Some((unit, set, low)) = todo.pop() {
            let known = self.bases.get(&set).copied();
            let base = known.unwrap_or_else(|| self.find_base(&sets[set as usize]));
            if self.units.len() > MAX_UNITS {
                return Err(Error::config("the rules are too many for a character map"));
            }
            self.units[unit] = ((unit ^ base) as u32) << 10 | low;
            if known.is_some() {
                continue;
            }
            self.bases.insert(set, base);
            for &(byte, child) in &sets[set as usize] {
                let at = base ^ usize::from(byte);
                self.is_taken[at] = true;
                match child {
                    Child::Value(value) => self.units[at] = 1 << 31 | value,
                    Child::Node { children, has_value } => {
                        todo.push((at, children, u32::from(byte) | u32::from(has_value) << 8));
                    }
                }
            }
        }
        Ok(self.units)
    }

    fn grow(&mut self) {
        let len = self.units.len() + BLOCK;
        self.units.resize(len, 0);
        self.is_taken.resize(len, false);
        self.is_base.resize(len, false);
    }

    /// Finds a base at which all children of a set fit.
    fn find_base(&mut self, set: &Children) -> usize {
        let first = set.first().map_or(0, |child| usize::from(child.0));
        loop {
            let open = self.units.len().saturating_sub(OPEN_BLOCKS * BLOCK);
            let fits = |&base: &usize| {
                !self.is_base[base] && set.iter().all(|&(byte, _)| !self.is_taken[base ^ usize::from(byte)])
            };
            let free = (open..self.units.len()).filter(|&at| !self.is_taken[at]);
            if let Some(base) = free.map(|at| at ^ first).find(fits) {
                self.is_base[base] = true;
                return base;
            }
            self.grow();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::super::charsmap::Charsmap;
    use super::*;

    #[test]
    fn decompiling_gives_the_compiled_rules() {
        let rules = [("a", "b"), ("ab", ""), ("abc", "a"), ("é", "e"), ("éé", "ee"), ("\u{10FFFF}", "x")];
        let rules: Rules = rules.map(|(key, text)| (key.to_owned(), text.to_owned())).into();
        let map = Charsmap::new(&compile(&rules).unwrap()).unwrap();
        for (key, text) in &rules {
            assert_eq!(map.prefixes(key).last(), Some((key.len(), text.as_str())), "{key}");
        }
        assert_eq!(map.prefixes("b").count(), 0);
        assert_eq!(map.prefixes("abd").collect::<Vec<_>>(), [(1, "b"), (2, "")]);
    }

    #[test]
    fn invalid_rules_are_refused() {
        for (key, text) in [("", "a"), ("a\0", ""), ("a", "\0")] {
            let rules = Rules::from([(key.to_owned(), text.to_owned())]);
            assert!(compile(&rules).is_err(), "{key:?}");
        }
    }
}
