//! Leftmost-longest search for many patterns: Aho–Corasick on a double-array trie.
//!
//! The node of a match has no failure link, nor do the nodes after it: a match that begins later is not wanted. A node inside of a
//! pattern whose failure link leads to a match has that match, too, until the pattern itself matches.
//!
//! Cost: construction is linear in the bytes of the patterns; 16 bytes a slot. A search takes one step for each byte, and skips
//! bytes with which no pattern begins. The crate aho-corasick, which is faster on few patterns, takes quadratic time to build an
//! automaton of patterns that are each other's prefixes: it follows the permutation of its states around each cycle (15 s for the
//! 80,000 patterns x0, x1, … x79999). Source: Aho and Corasick 1975; leftmost semantics as in aho-corasick
//! (`src/nfa/noncontiguous.rs`, `fill_failure_transitions`).

use super::trie::{Trie, NONE, ROOT};

/// Failure link of a node after which the search ends.
const DEAD: u32 = u32::MAX;

/// Maximum number of first bytes that `memchr` searches at once.
const MOST_SEARCHED: usize = 3;

/// Patterns to search for.
#[derive(Debug, Clone)]
pub struct PatternSet {
    trie: Trie,       // value of a node: the pattern that matches at its end
    links: Vec<u32>,  // node -> failure link
    lens: Vec<usize>, // of the patterns
    begins: [bool; 256],
    searched: Vec<u8>, // bytes with which patterns begin, if they are few
}

/// A match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PatternMatch {
    /// Index of the pattern.
    pub pattern: usize,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl PatternSet {
    /// Builds a set of patterns that are not empty. Of two equal ones the first is found.
    pub fn new(patterns: &[&[u8]]) -> Self {
        let mut nodes = Vec::new(); // (depth, node)
        let ids = (0..patterns.len() as u32).rev();
        let entries = patterns.iter().rev().copied().zip(ids).collect();
        let mut trie = Trie::build(entries, |node, depth| nodes.push((depth, node)));
        nodes.sort_by_key(|&(depth, _)| depth);
        let mut links = vec![ROOT; trie.num_slots()];
        for (depth, node) in nodes {
            links[node as usize] = match trie.value(node) {
                NONE if depth == 1 => ROOT,
                NONE => {
                    let link = next_link(&trie, &links, node);
                    if link != DEAD {
                        trie.set_value(node, trie.value(link));
                    }
                    link
                }
                _ => DEAD,
            };
        }
        let mut begins = [false; 256];
        patterns.iter().filter_map(|pattern| pattern.first()).for_each(|&byte| begins[usize::from(byte)] = true);
        let mut searched: Vec<u8> = (0..=255).filter(|&byte| begins[usize::from(byte)]).collect();
        if searched.len() > MOST_SEARCHED {
            searched.clear();
        }
        Self { trie, links, lens: patterns.iter().map(|pattern| pattern.len()).collect(), begins, searched }
    }

    /// Returns the leftmost match that begins at or after `from`; the longest of those.
    pub fn find(&self, text: &[u8], from: usize) -> Option<PatternMatch> {
        let (mut node, mut last) = (ROOT, None);
        let mut at = self.first_candidate(text, from)?;
        while let Some(&byte) = text.get(at) {
            node = loop {
                if let Some(child) = self.trie.child(node, byte) {
                    at += 1;
                    break child;
                }
                if node == ROOT {
                    at = self.first_candidate(text, at + 1)?;
                    break ROOT;
                }
                match self.links[node as usize] {
                    DEAD => return last,
                    link => node = link,
                }
            };
            if let Some(&len) = self.lens.get(self.trie.value(node) as usize) {
                last = Some(PatternMatch { pattern: self.trie.value(node) as usize, start: at - len, end: at });
            }
        }
        last
    }

    /// Returns the first position from `from` on at which a pattern may begin.
    #[inline]
    fn first_candidate(&self, text: &[u8], from: usize) -> Option<usize> {
        let rest = text.get(from..)?;
        let found = match self.searched[..] {
            [a] => memchr::memchr(a, rest),
            [a, b] => memchr::memchr2(a, b, rest),
            [a, b, c] => memchr::memchr3(a, b, c, rest),
            _ => rest.iter().position(|&byte| self.begins[usize::from(byte)]),
        };
        found.map(|at| from + at)
    }
}

/// Returns the failure link of a node below the first level, whose pattern does not end there: the node of the longest proper
/// suffix, from the links of shorter ones.
fn next_link(trie: &Trie, links: &[u32], node: u32) -> u32 {
    let (parent, byte) = trie.parent(node);
    let mut link = links[parent as usize];
    while link != DEAD {
        if let Some(child) = trie.child(link, byte) {
            return child;
        }
        if link == ROOT {
            return ROOT;
        }
        link = links[link as usize];
    }
    DEAD
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Follows the definition.
    fn plain(patterns: &[Vec<u8>], text: &[u8], from: usize) -> Option<PatternMatch> {
        (from..text.len()).find_map(|start| {
            let at_start = (0..patterns.len()).filter(|&i| text[start..].starts_with(&patterns[i]));
            let longest = at_start.max_by_key(|&i| (patterns[i].len(), std::cmp::Reverse(i)))?;
            Some(PatternMatch { pattern: longest, start, end: start + patterns[longest].len() })
        })
    }

    proptest! {
        #[test]
        fn the_leftmost_longest_match_is_found(
            patterns in proptest::collection::vec(proptest::collection::vec(97u8..100, 1..6), 1..12),
            text in proptest::collection::vec(97u8..101, 0..40),
        ) {
            let set = PatternSet::new(&patterns.iter().map(Vec::as_slice).collect::<Vec<_>>());
            for from in 0..=text.len() {
                prop_assert_eq!(set.find(&text, from), plain(&patterns, &text, from));
            }
        }
    }

    #[test]
    fn patterns_that_begin_with_many_bytes() {
        let patterns: Vec<Vec<u8>> = (0..=255u8).map(|byte| vec![byte, byte]).collect();
        let set = PatternSet::new(&patterns.iter().map(Vec::as_slice).collect::<Vec<_>>());
        assert_eq!(set.find(b"abcddd", 0), Some(PatternMatch { pattern: usize::from(b'd'), start: 3, end: 5 }));
        assert_eq!(set.find(b"abcd", 0), None);
    }
}
