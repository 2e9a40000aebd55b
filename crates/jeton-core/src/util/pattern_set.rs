//! Leftmost-longest search for many patterns: Aho–Corasick on a double-array trie.
//!
//! The nodes at the ends of patterns, and all nodes below these nodes, have no failure link: when the search reaches
//! one of them, a match is found, and matches that begin later are not needed. The failure link of a node inside a
//! pattern can lead to the end of a shorter pattern. Then the shorter pattern is the match, unless the longer pattern
//! also matches.
//!
//! Between matches, the search compares 64 bytes at a time with the first two bytes of the patterns. Two bytes are more
//! selective than one: added tokens often begin with `<|` or two spaces, but a single `<` or space is frequent in text.
//!
//! Cost: construction is linear in the bytes of the patterns; 16 bytes for each slot. A search takes one step for each
//! byte, starting at a position where a pattern can begin. The crate aho-corasick is not used, because its
//! construction takes quadratic time for patterns that share prefixes (15 s for the 80,000 patterns x0, x1, … x79999):
//! when it renumbers the states, it follows a whole cycle of the permutation for each state. Source: Aho and Corasick
//! 1975; leftmost semantics as in aho-corasick (`src/nfa/noncontiguous.rs`, `fill_failure_transitions`).

use super::simd::block::Block;
use super::simd::{self, Instructions};
use super::trie::{Trie, NONE, ROOT};

/// Value that stands in for the failure link of a node that has none. Instead of following a link, the search ends.
const DEAD: u32 = u32::MAX;

/// A block of 64 bytes is compared with at most this many ranges of ASCII bytes, and at most this many ranges of other
/// bytes.
const MAX_RANGES: usize = 3;

/// Patterns to search for.
#[derive(Debug, Clone)]
pub struct PatternSet {
    trie: Trie,       // the value of a node is the pattern that ends at it
    links: Vec<u32>,  // node -> failure link
    lens: Vec<usize>, // lengths of the patterns
    // Ranges that contain the first bytes of all patterns, and ranges that contain the second bytes.
    begins: [Vec<(u8, u8)>; 2],
}

/// Positions of a text at which patterns can begin.
#[derive(Debug, Default, Clone, Copy)]
pub struct Candidates {
    end: usize, // all bytes up to here have been compared
    bits: u64,  // candidates among the last 64 bytes
}

/// Match of a pattern in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PatternMatch {
    /// Index of the pattern.
    pub pattern: usize,
    /// Offset of the first byte of the match.
    pub start: usize,
    /// Offset after the last byte of the match.
    pub end: usize,
}

impl PatternSet {
    /// Builds a set of patterns. No pattern is allowed to be empty. Of two equal patterns, the search returns the
    /// first.
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
        let begins = [0, 1].map(|at| {
            let mut has = [false; 256];
            for pattern in patterns {
                match pattern.get(at) {
                    Some(&byte) => has[usize::from(byte)] = true,
                    None => has.fill(true), // any byte can follow a pattern of one byte
                }
            }
            ranges(&has)
        });
        Self { trie, links, lens: patterns.iter().map(|pattern| pattern.len()).collect(), begins }
    }

    /// Returns the leftmost match that begins at or after `from`; if several matches begin there, the longest of them.
    /// `candidates` is the state of the search: pass the value of the previous call for the same text.
    #[inline]
    pub fn find(&self, text: &[u8], from: usize, candidates: &mut Candidates) -> Option<PatternMatch> {
        let (mut node, mut last) = (ROOT, None);
        let mut at = self.next_candidate(text, from, candidates)?;
        while let Some(&byte) = text.get(at) {
            node = loop {
                if let Some(child) = self.trie.child(node, byte) {
                    at += 1;
                    break child;
                }
                if node == ROOT {
                    at = self.next_candidate(text, at + 1, candidates)?;
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

    /// Returns the first position at or after `from` at which a pattern can begin.
    #[inline]
    fn next_candidate(&self, text: &[u8], from: usize, candidates: &mut Candidates) -> Option<usize> {
        if let Some(ahead @ 1..) = candidates.end.checked_sub(from) {
            let bits = candidates.bits & !0 << 64usize.saturating_sub(ahead);
            if bits != 0 {
                return Some(candidates.end - 64 + bits.trailing_zeros() as usize);
            }
        }
        *candidates = simd::dispatch!(
            simd::detected(),
            (set: &PatternSet = self, text: &[u8] = text, from: usize = from.max(candidates.end)) -> Option<Candidates>,
            |level: L| set.candidates::<<L as Instructions>::Block>(level, text, from)
        )?;
        Some(candidates.end - 64 + candidates.bits.trailing_zeros() as usize)
    }

    /// Reads blocks of 64 bytes from `from` on. Returns the candidates of the first block that contains one; None if no
    /// block contains a candidate.
    #[inline(always)]
    fn candidates<B: Block>(&self, proof: B::Proof, text: &[u8], from: usize) -> Option<Candidates> {
        let mut at = from;
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            let mut copy = [0; 65];
            let bytes = rest.first_chunk::<65>().unwrap_or_else(|| {
                copy[..rest.len()].copy_from_slice(rest);
                &copy
            });
            let within = |ranges: &[(u8, u8)], at: usize| {
                let block = B::load(proof, bytes[at..].first_chunk().unwrap_or(&[0; 64]));
                ranges.iter().fold(0, |mask, &(low, high)| mask | block.within(low, high))
            };
            let bits = within(&self.begins[0], 0) & within(&self.begins[1], 1);
            let bits = bits & u64::MAX >> 64usize.saturating_sub(rest.len());
            at += 64;
            if bits != 0 {
                return Some(Candidates { end: at, bits });
            }
        }
        None
    }
}

/// Returns ranges that contain all bytes of `has`. In each half (ASCII and beyond), the nearest ranges are joined until
/// at most [`MAX_RANGES`] are left.
fn ranges(has: &[bool; 256]) -> Vec<(u8, u8)> {
    let halves = [0..=0x7F, 0x80..=0xFF].map(|half: std::ops::RangeInclusive<u8>| {
        let mut ranges: Vec<(u8, u8)> = half.filter(|&byte| has[usize::from(byte)]).map(|byte| (byte, byte)).collect();
        let joined = |ranges: &[(u8, u8)]| {
            let gaps = ranges.windows(2).map(|pair| pair[1].0 - pair[0].1).zip(0..);
            gaps.min().filter(|&(gap, _)| gap == 1 || ranges.len() > MAX_RANGES).map(|(_, at): (_, usize)| at)
        };
        while let Some(at) = joined(&ranges) {
            ranges[at].1 = ranges.remove(at + 1).1;
        }
        ranges
    });
    halves.concat()
}

/// Returns the failure link of a node that is below the first level and ends no pattern. The link is the node of the
/// longest proper suffix, computed from the links of nodes at smaller depths.
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

    /// Reference search: tries all patterns at each position.
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
                prop_assert_eq!(set.find(&text, from, &mut Candidates::default()), plain(&patterns, &text, from));
            }
        }
    }

    #[test]
    fn successive_matches_in_long_texts_equal_the_definition() {
        let mut state = 1u64;
        let mut draw = |below: usize| {
            state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            (state >> 33) as usize % below
        };
        for _ in 0..300 {
            let alphabet: &[u8] = if draw(2) == 0 { b"ab<|" } else { b" a<\xe4\xff" };
            let mut string = |max: usize| -> Vec<u8> {
                let len = 1 + draw(max);
                (0..len).map(|_| if draw(3) > 0 { b'.' } else { alphabet[draw(alphabet.len())] }).collect()
            };
            let patterns: Vec<Vec<u8>> = (0..4).map(|_| string(6)).collect();
            let text = string(400);
            let set = PatternSet::new(&patterns.iter().map(Vec::as_slice).collect::<Vec<_>>());
            let (mut at, mut candidates) = (0, Candidates::default());
            loop {
                let found = set.find(&text, at, &mut candidates);
                assert_eq!(found, plain(&patterns, &text, at), "{patterns:?} {text:?} {at}");
                let Some(found) = found else { break };
                at = found.end;
            }
        }
    }

    #[test]
    fn patterns_with_many_first_bytes_are_found() {
        let patterns: Vec<Vec<u8>> = (0..=255u8).map(|byte| vec![byte, byte]).collect();
        let set = PatternSet::new(&patterns.iter().map(Vec::as_slice).collect::<Vec<_>>());
        assert_eq!(
            set.find(b"abcddd", 0, &mut Candidates::default()),
            Some(PatternMatch { pattern: usize::from(b'd'), start: 3, end: 5 })
        );
        assert_eq!(set.find(b"abcd", 0, &mut Candidates::default()), None);
    }
}
