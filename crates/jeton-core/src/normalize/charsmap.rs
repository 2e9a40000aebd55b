//! Reads SentencePiece's character map: a double-array trie that maps source texts to offsets of their replacements.
//!
//! Layout: the size of the trie in bytes (4 bytes); the trie (4 bytes for each unit); the replacements (each ends with
//! NUL). All integers are little-endian.
//!
//! Invariant: the map is untrusted until [`Charsmap::new`] has traversed the whole trie. After this, all reachable
//! units are inside the trie, no path is longer than [`MAX_KEY`] bytes (so there is no cycle), and all replacements are
//! UTF-8 that ends with NUL. A lookup then reads a bounded number of units and cannot fail.
//!
//! Cost: a lookup reads one unit for each byte of the longest matching key; the traversal is linear in the trie.
//! Source: google/sentencepiece, `normalizer.cc`; S. Yata, Darts-clone, for the units.

use std::collections::{BTreeMap, HashSet};
use std::sync::OnceLock;

use super::char_set::CharSet;
use crate::error::{Error, Result};
use crate::util::atomic_cell::made_once;
use crate::util::text_unit::is_separate_grapheme;

/// Maximum length of a key in bytes; the longest key of the NFKC rules has 9 bytes.
const MAX_KEY: u8 = 250;

/// Maximum length of a replacement in bytes; the replacement of U+FDFA has 33 bytes.
const MAX_REPLACEMENT: usize = 4096;

/// A character map.
#[derive(Debug)]
pub(super) struct Charsmap {
    units: Vec<u32>,
    texts: String,
    /// byte -> true if a key begins with it.
    pub(super) begins: Box<[bool; 256]>,
    /// byte -> true if a key begins with this byte and either ends there or continues with an ASCII byte.
    pub(super) begins_in_ascii: Box<[bool; 256]>,
    joined_or_mapped: OnceLock<CharSet>,
}

/// Returns the label of a unit: the byte that leads to it. In a unit that stores a value, bit 31 is set, so its label
/// equals no byte.
fn label(unit: u32) -> u32 {
    unit & 0x8000_00FF
}

fn has_value(unit: u32) -> bool {
    unit & 0x100 != 0
}

/// Returns the offset that a node stores. The base of the node's children is the node's position xor this offset.
fn offset(unit: u32) -> u32 {
    (unit >> 10) << ((unit & 0x200) >> 6)
}

fn value(unit: u32) -> usize {
    (unit & 0x7FFF_FFFF) as usize
}

fn broken(what: impl Into<String>) -> Error {
    Error::format(format!("the character map is broken: {}", what.into()), "precompiled_charsmap")
}

/// Trie units, grouped into sets of siblings. Siblings share a base, which identifies the set. The sibling for byte l
/// has the label l and is stored at the index base ^ l. If the unit at index u has the label l, the base is u ^ l.
struct Edges {
    starts: Vec<u32>, // set -> index of its first child in `units`; one more at the end
    units: Vec<u32>,
}

impl Edges {
    fn new(units: &[u32]) -> Self {
        let sets = || {
            let labels = (0..).zip(units).map(|(at, &unit): (u32, _)| (at, label(unit)));
            labels.filter(|&(_, label)| (1..256).contains(&label)).map(|(at, label)| (at, (at ^ label) as usize))
        };
        let mut starts = vec![0u32; units.len() + 1];
        sets().for_each(|(_, set)| starts[set + 1] += 1);
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let (mut next, mut children) = (starts.clone(), vec![0; starts[units.len()] as usize]);
        for (at, set) in sets() {
            children[next[set] as usize] = at;
            next[set] += 1;
        }
        Self { starts, units: children }
    }

    /// Returns the children of a set.
    fn of(&self, set: u32) -> &[u32] {
        &self.units[self.starts[set as usize] as usize..self.starts[set as usize + 1] as usize]
    }
}

/// Tests whether a character is in the set of characters that never join with each other: two adjacent characters of
/// this set are always separated by a grapheme boundary. Hangul syllables are in the set, but jamo, with which they
/// join, are not.
pub(super) fn is_apart(c: char) -> bool {
    is_separate_grapheme(c) || ('\u{AC00}'..='\u{D7A3}').contains(&c)
}

impl Charsmap {
    /// Reads and validates a map.
    ///
    /// # Errors
    /// [`Error::format`] for an invalid map.
    pub(super) fn new(data: &[u8]) -> Result<Self> {
        let (size, rest) = data.split_first_chunk().ok_or_else(|| broken("it has no size"))?;
        let size = u32::from_le_bytes(*size) as usize;
        if !size.is_multiple_of(4) || size == 0 {
            return Err(broken(format!("a trie of {size} bytes")));
        }
        let (trie, texts) =
            rest.split_at_checked(size).ok_or_else(|| broken(format!("a trie of {size} bytes in {}", rest.len())))?;
        let mut units: Vec<u32> = trie.as_chunks().0.iter().map(|unit: &[u8; 4]| u32::from_le_bytes(*unit)).collect();
        units.resize(units.len().next_multiple_of(256), 0); // pads the last block; a unit with value 0 is never reached
        let texts = std::str::from_utf8(texts).map_err(|error| broken(format!("its texts are not UTF-8: {error}")))?;
        let mut map = Self {
            units,
            texts: texts.to_owned(),
            begins: Box::new([false; 256]),
            begins_in_ascii: Box::new([false; 256]),
            joined_or_mapped: OnceLock::new(),
        };
        map.check()?;
        let root = offset(map.units[0]);
        for byte in 1..=255 {
            let place = root ^ byte;
            let unit = map.units[place as usize];
            if label(unit) == byte {
                let goes_on = |next| label(map.units[(place ^ offset(unit) ^ next) as usize]) == next;
                map.begins[byte as usize] = true;
                map.begins_in_ascii[byte as usize] = has_value(unit) || (1..128).any(goes_on);
            }
        }
        Ok(map)
    }

    /// Returns the set of all characters that have a rule of their own, or that can join with an adjacent character in
    /// one grapheme ([`is_apart`] returns false). The set is built on the first call.
    pub(super) fn joined_or_mapped(&self) -> &CharSet {
        let is_mapped = |c: char| self.prefixes(c.encode_utf8(&mut [0; 4])).next().is_some();
        let is_in = |c: char| !is_apart(c) || is_mapped(c);
        made_once(&self.joined_or_mapped, || CharSet::new(is_in, None))
    }

    /// Returns the bit set of the characters from U+0080 to U+FFFF with which some rule can begin.
    pub(super) fn first_characters(&self) -> Box<[u64; 1 << 10]> {
        let mut found = Box::new([0; 1 << 10]);
        for lead in 0xC2..0xF0 {
            let Some((place, is_rule)) = self.child(0, lead) else { continue };
            let first = if lead < 0xE0 { (lead & 0x1F) << 6 } else { (lead & 0xF) << 12 };
            if lead < 0xE0 {
                found[first as usize / 64] |= self.continuations(place, is_rule);
                continue;
            }
            for second in 0x80..0xC0 {
                let Some((place, ends)) = self.child(place, second) else {
                    found[first as usize / 64 + (second & 0x3F) as usize] |= if is_rule { u64::MAX } else { 0 };
                    continue;
                };
                found[first as usize / 64 + (second & 0x3F) as usize] |= self.continuations(place, is_rule || ends);
            }
        }
        found
    }

    /// Takes all characters that share the same first bytes and have different last bytes. Returns the bit set of those
    /// last bytes with which a rule can match. The shared bytes lead to the unit at `place`. If a rule ends before the
    /// last byte (`has_ended`), the set has all continuation bytes; otherwise, the bytes for which `place` has a child.
    fn continuations(&self, place: u32, has_ended: bool) -> u64 {
        let is_child = |byte: u32| u64::from(self.child(place, 0x80 | byte).is_some());
        if has_ended {
            u64::MAX
        } else {
            (0..64).fold(0, |all, byte| all | is_child(byte) << byte)
        }
    }

    /// Returns the child of a unit for a byte, and true if a rule ends at this child.
    fn child(&self, place: u32, byte: u32) -> Option<(u32, bool)> {
        let below = place ^ offset(self.units[place as usize]) ^ byte;
        let unit = *self.units.get(below as usize)?;
        (label(unit) == byte).then(|| (below, has_value(unit)))
    }

    /// Traverses and checks the trie. Nodes can share children, so the height of each set of children is memoized.
    fn check(&self) -> Result<()> {
        const OPEN: u8 = u8::MAX;
        let edges = Edges::new(&self.units);
        let mut heights = vec![0u8; self.units.len()]; // height of the set of children at each position, from 1
        let mut path: Vec<(u32, u32, u8)> = Vec::new(); // (children, number of the next one, height so far)
        let root = self.children(0, self.units[0])?;
        heights[root as usize] = OPEN;
        path.push((root, 0, 1));
        while let Some((base, number, height)) = path.pop() {
            let Some(&place) = edges.of(base).get(number as usize) else {
                heights[base as usize] = height;
                if let Some((.., above)) = path.last_mut() {
                    *above = (*above).max(height + 1);
                    if *above > MAX_KEY {
                        return Err(broken(format!("a rule for more than {MAX_KEY} bytes")));
                    }
                }
                continue;
            };
            path.push((base, number + 1, height));
            let unit = self.units[place as usize];
            let below = self.children(place, unit)?;
            if has_value(unit) {
                self.check_text(value(self.units[below as usize]))?;
            }
            match heights[below as usize] {
                0 if path.len() > usize::from(MAX_KEY) => {
                    return Err(broken(format!("a rule for more than {MAX_KEY} bytes")))
                }
                0 => {
                    heights[below as usize] = OPEN;
                    path.push((below, 0, 1));
                }
                OPEN => return Err(broken("its trie has a cycle")),
                known => {
                    if let Some((.., above)) = path.last_mut() {
                        *above = (*above).max(known + 1);
                    }
                }
            }
        }
        if heights[root as usize] > MAX_KEY {
            return Err(broken(format!("a rule for more than {MAX_KEY} bytes")));
        }
        Ok(())
    }

    /// Returns the base of the children of a unit. The children are in one block of 256 units, one for each byte.
    fn children(&self, place: u32, unit: u32) -> Result<u32> {
        let base = place ^ offset(unit);
        match (base | 0xFF) < self.units.len() as u32 {
            true => Ok(base),
            false => Err(broken(format!("unit {place} points outside its trie"))),
        }
    }

    fn check_text(&self, start: usize) -> Result<()> {
        let text = self.texts.get(start..).ok_or_else(|| broken(format!("no text at {start}")))?;
        match text.bytes().take(MAX_REPLACEMENT + 1).position(|byte| byte == 0) {
            Some(_) => Ok(()),
            None if text.len() > MAX_REPLACEMENT => Err(broken(format!("a text of more than {MAX_REPLACEMENT} bytes"))),
            None => Err(broken(format!("the text at {start} has no end"))),
        }
    }

    /// Returns all characters that occur in the source text of at least one rule as the second or a later character.
    /// Returns None if the trie is too large for this search.
    pub(super) fn continued(&self) -> Option<HashSet<char>> {
        const MOST: usize = 1 << 20;
        // Stack of (base of a node's children, last bytes of the path to the node, flag). These last bytes are an
        // incomplete character. The flag is true if the path contains a whole character before these bytes.
        let mut seen = HashSet::new();
        let mut open = vec![(offset(self.units[0]), Vec::new(), false)];
        let mut found = HashSet::new();
        while let Some((base, partial, is_later)) = open.pop() {
            for byte in 1..=255u8 {
                let place = base ^ u32::from(byte);
                let Some(&unit) = self.units.get(place as usize).filter(|unit| label(**unit) == u32::from(byte)) else {
                    continue;
                };
                let mut partial: Vec<u8> = [&partial[..], &[byte]].concat();
                let mut is_later = is_later;
                if let Some(c) = std::str::from_utf8(&partial).ok().and_then(|text| text.chars().next()) {
                    if is_later {
                        found.insert(c);
                    }
                    partial.clear();
                    is_later = true;
                } else if partial.len() > 4 {
                    continue; // the path is not UTF-8, so it matches no text
                }
                let node = (place ^ offset(unit), partial, is_later);
                if seen.len() == MOST {
                    return None;
                }
                if seen.insert(node.clone()) {
                    open.push(node);
                }
            }
        }
        Some(found)
    }

    /// Returns all rules: source -> replacement, by ascending source. Returns None if more than `most` nodes are
    /// visited, or if a source is not UTF-8.
    pub(super) fn rules(&self, most: usize) -> Option<BTreeMap<String, String>> {
        let mut rules = BTreeMap::new();
        let mut open = vec![(offset(self.units[0]), Vec::new())]; // stack of (children of a node, path to it)
        let mut num_nodes = 0; // bounds the work: a shared node is visited once for each path
        while let Some((base, path)) = open.pop() {
            num_nodes += 1;
            if num_nodes > most {
                return None;
            }
            for byte in 1..=255u8 {
                let place = base ^ u32::from(byte);
                let Some(&unit) = self.units.get(place as usize).filter(|unit| label(**unit) == u32::from(byte)) else {
                    continue;
                };
                let path: Vec<u8> = [&path[..], &[byte]].concat();
                let below = place ^ offset(unit);
                if has_value(unit) {
                    let text = self.texts.get(value(*self.units.get(below as usize)?)..)?;
                    let source = String::from_utf8(path.clone()).ok()?;
                    rules.insert(source, text.split('\0').next()?.to_owned());
                }
                open.push((below, path));
            }
        }
        Some(rules)
    }

    /// Returns the rule for the longest matching prefix of a text, as (length of the prefix, replacement). Also returns
    /// true if a longer rule could match once more text arrives at the end.
    pub(super) fn longest(&self, text: &[u8]) -> (Option<(usize, &str)>, bool) {
        let (mut base, mut rule) = (offset(self.units[0]), None);
        for (index, &byte) in text.iter().enumerate() {
            let place = base ^ u32::from(byte);
            let Some(&unit) =
                self.units.get(place as usize).filter(|unit| byte != 0 && label(**unit) == u32::from(byte))
            else {
                return (rule, false);
            };
            base = place ^ offset(unit);
            if has_value(unit) && std::str::from_utf8(&text[..=index]).is_ok() {
                let value = self.units.get(base as usize).and_then(|&unit| self.texts.get(value(unit)..));
                rule = value.and_then(|text| Some((index + 1, text.split('\0').next()?)));
            }
        }
        let is_open =
            (1..256).any(|byte| self.units.get((base ^ byte) as usize).is_some_and(|&unit| label(unit) == byte));
        (rule, is_open)
    }

    /// Iterates over the rules for prefixes of `text`, the shortest first, as (length of the prefix, replacement).
    pub(super) fn prefixes<'m>(&'m self, text: &'m str) -> impl Iterator<Item = (usize, &'m str)> + 'm {
        let mut base = offset(self.units[0]);
        let mut bytes = text.bytes().enumerate();
        std::iter::from_fn(move || loop {
            let (index, byte) = bytes.next().filter(|(_, byte)| *byte != 0)?;
            let place = base ^ u32::from(byte);
            let unit = *self.units.get(place as usize)?;
            if label(unit) != u32::from(byte) {
                bytes = "".bytes().enumerate();
                return None;
            }
            base = place ^ offset(unit);
            if has_value(unit) && text.is_char_boundary(index + 1) {
                let text = self.texts.get(value(*self.units.get(base as usize)?)..)?;
                return Some((index + 1, text.split('\0').next()?));
            }
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;

    /// Builds a map with one rule, for `a`. The base of the root's children is 256, and `below` is the position of the
    /// value.
    fn map(below: u32, value: u32, texts: &[u8]) -> Result<Charsmap> {
        let mut units = vec![0u32; 768];
        let place = 256 ^ u32::from(b'a');
        units[0] = 256 << 10;
        units[place as usize] = (place ^ below) << 10 | 0x100 | u32::from(b'a');
        units[512] = 1 << 31 | value;
        let mut data = (units.len() as u32 * 4).to_le_bytes().to_vec();
        data.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
        data.extend_from_slice(texts);
        Charsmap::new(&data)
    }

    #[test]
    fn lookup_finds_a_rule() {
        let map = map(512, 3, b"no\0yes\0").unwrap();
        assert_eq!(map.prefixes("ab").collect::<Vec<_>>(), [(1, "yes")]);
        assert_eq!(map.prefixes("ba").count() + map.prefixes("").count() + map.prefixes("\0a").count(), 0);
        assert!(map.begins[97] && !map.begins[98]);
    }

    #[test]
    fn error_names_the_defect_of_a_map() {
        let long = [b"x".repeat(5_000), vec![0]].concat();
        let cases: [(&str, Result<Charsmap>); 10] = [
            ("no size", Charsmap::new(b"abc")),
            ("a trie of 0 bytes", Charsmap::new(&[0; 8])),
            ("a trie of 6 bytes", Charsmap::new(&[6, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
            ("bytes in 4", Charsmap::new(&[255, 255, 255, 252, 0, 0, 0, 0].map(|byte: u8| byte & !3))),
            ("cycle", map(256, 0, b"\0")),
            ("points outside", map(4096, 0, b"\0")),
            ("no text at 9", map(512, 9, b"no\0")),
            ("has no end", map(512, 0, b"no")),
            ("more than 4096", map(512, 0, &long)),
            ("not UTF-8", map(512, 0, b"\xFF\0")),
        ];
        for (expected, result) in cases {
            let error = result.unwrap_err().to_string();
            assert!(error.contains(expected), "{expected}: {error}");
        }
    }
}
