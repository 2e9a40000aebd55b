//! Finds pairs of adjacent characters that no match of a regex contains.
//!
//! A position automaton (Glushkov 1961) of the syntax tree shows which character can be read directly after which other
//! character. If no path through the tree reads `right` after `left`, no match covers both, and an attempt that has
//! read `left` fails at `right` exactly as it fails at the end of the text. So the text on one side of the position
//! between them does not affect the matches on the other side.
//!
//! Bodies of lookaheads count as paths, too. Left out: patterns that look back; [`Adjacency::of`] returns None for
//! them.
//!
//! If two characters are read by the same leaves, they have the same effects, so effects are looked up by classes of
//! characters. The lookup table is built when the first pair beyond ASCII is looked up; this takes a millisecond.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::program;
use super::syntax::{parse, Assertion, Greed, SyntaxNode};
use crate::util::atomic_cell::made_once;
use crate::util::pair_effect::PairEffect;
use crate::util::property_table::PropertyTable;
use regex_syntax::hir::ClassUnicode;

/// Maximum number of leaves. It is limited because the table of pairs grows quadratically. Published patterns have up
/// to 50 leaves.
const MAX_LEAVES: usize = 1 << 10;

/// Character sets of a pattern, and for each set, which sets can be read directly after it.
#[derive(Debug, Clone)]
pub(crate) struct Adjacency {
    leaves: Vec<Leaf>,
    /// Lookup table by class, built on first use. The inner Option is None if there are too many classes for a table.
    classes: OnceLock<Option<PairTable>>,
}

/// Effects of the pattern on two adjacent characters, looked up by the classes of the characters.
#[derive(Debug, Clone)]
struct PairTable {
    class_of: PropertyTable,
    num_classes: usize,
    /// Effect for each pair of classes, computed for the first character of each class.
    effects: Vec<PairEffect>,
}

/// A character set at one position of the pattern.
#[derive(Debug, Clone)]
struct Leaf {
    set: ClassUnicode,
    /// Leaves that can be read directly after this leaf, ascending.
    follow: Vec<usize>,
    /// True if an assertion about the end of the text or line can be checked directly after this leaf.
    asserts_end: bool,
    /// If Some, each character of the set matches the whole pattern by itself, unless one of the leaves in this list
    /// also contains the character.
    alone: Option<Vec<usize>>,
}

/// First and last leaves of the paths through a node of the syntax tree.
#[derive(Debug, Default)]
struct Paths {
    can_be_empty: bool,
    /// Leaves that can be read first. Includes [`END`] if an assertion about the end can be checked first.
    first: Vec<usize>,
    /// Leaves that can be read last.
    last: Vec<usize>,
}

/// Pseudo leaf that stands for an assertion about the end of the text or line.
const END: usize = usize::MAX;

impl Adjacency {
    /// Analyzes a pattern; None if it looks back, does not compile, or is too large.
    pub(crate) fn of(pattern: &str) -> Option<Self> {
        let tree = parse(pattern).ok()?;
        if program::compile(&tree).ok()?.looks_back {
            return None;
        }
        let mut made = Self { leaves: Vec::new(), classes: OnceLock::new() };
        made.paths(&tree)?;
        let (mut next, mut alone) = (0, Vec::new());
        leaves_alone(&tree, &mut next, &mut alone);
        for (leaf, except) in alone {
            made.leaves.get_mut(leaf)?.alone = Some(except);
        }
        for leaf in &mut made.leaves {
            leaf.asserts_end = leaf.follow.contains(&END);
            leaf.follow.retain(|&next| next != END);
            leaf.follow.sort_unstable();
            leaf.follow.dedup();
        }
        Some(made)
    }

    /// Returns how a split by the pattern affects the position between two adjacent characters. The split makes each
    /// match a separate part.
    #[inline]
    pub(crate) fn effect(&self, left: char, right: char) -> PairEffect {
        if left.is_ascii() && right.is_ascii() {
            return self.find_effect(left, right);
        }
        match made_once(&self.classes, || self.pair_table()) {
            Some(table) => table.effect(left, right),
            None => self.find_effect(left, right),
        }
    }

    fn find_effect(&self, left: char, right: char) -> PairEffect {
        let [before, after] = [left, right].map(|c| self.leaves_of(c));
        let crosses = |&leaf: &usize| {
            let leaf = &self.leaves[leaf];
            leaf.asserts_end || leaf.follow.iter().any(|next| after.contains(next))
        };
        if before.iter().any(crosses) {
            return PairEffect::Unknown;
        }
        // A character that is a match by itself is always part of a match, regardless of where the search begins.
        if self.always_matches(&before) || self.always_matches(&after) {
            PairEffect::Split
        } else if before.is_empty() && after.is_empty() {
            PairEffect::Keep(left, right)
        } else {
            PairEffect::Unknown
        }
    }

    /// Builds the table of effects; None for more than 64 sets of characters or 256 classes.
    fn pair_table(&self) -> Option<PairTable> {
        let mut sets: Vec<&ClassUnicode> = Vec::new();
        for leaf in &self.leaves {
            if !sets.contains(&&leaf.set) {
                sets.push(&leaf.set);
            }
        }
        if sets.len() > 64 {
            return None;
        }
        let ranges = sets.iter().flat_map(|set| set.ranges());
        let mut bounds: Vec<u32> =
            ranges.flat_map(|range| [u32::from(range.start()), u32::from(range.end()) + 1]).collect();
        bounds.extend([0, 0x11_0000]);
        bounds.sort_unstable();
        bounds.dedup();
        let mut flat = vec![0; 0x11_0000];
        let (mut class_of, mut first) = (HashMap::new(), Vec::new());
        for pair in bounds.windows(2) {
            // Surrogates are skipped: they are not characters, and no set contains them.
            let Some(c) = (pair[0]..pair[1]).find_map(char::from_u32) else { continue };
            let key = sets.iter().fold(0u64, |key, set| key << 1 | u64::from(contains(set, c)));
            let class = *class_of.entry(key).or_insert_with(|| {
                first.push(c);
                first.len() - 1
            });
            flat[pair[0] as usize..pair[1] as usize].fill(u8::try_from(class).ok()?);
        }
        let pairs = first.iter().flat_map(|&left| first.iter().map(move |&right| (left, right)));
        let effects = pairs.map(|(left, right)| self.find_effect(left, right)).collect();
        Some(PairTable { class_of: PropertyTable::from_flat(&flat), num_classes: first.len(), effects })
    }

    /// Returns true if `text` can be inside of a single match, or inside of the text between two matches. Returns false
    /// only if this is impossible in every context.
    pub(crate) fn may_cover(&self, text: &str) -> bool {
        let mut path: Option<Vec<usize>> = None; // leaves that can have read the last character
        let mut is_matched = false; // true if some character is always part of a match
        for c in text.chars() {
            let leaves = self.leaves_of(c);
            is_matched |= self.always_matches(&leaves);
            path = Some(match path {
                None => leaves,
                Some(last) => {
                    let follows = |next: &usize| last.iter().any(|&leaf| self.leaves[leaf].follow.contains(next));
                    leaves.into_iter().filter(follows).collect()
                }
            });
        }
        !is_matched || path.is_none_or(|path| !path.is_empty())
    }

    /// Returns true if a character is a match by itself. `leaves`: all leaves that contain the character.
    fn always_matches(&self, leaves: &[usize]) -> bool {
        let is_match = |&leaf: &usize| {
            let except = self.leaves[leaf].alone.as_ref();
            except.is_some_and(|except| !except.iter().any(|other| leaves.contains(other)))
        };
        leaves.iter().any(is_match)
    }

    /// Returns true if no part of the pattern reads the character.
    pub(crate) fn never_reads(&self, c: char) -> bool {
        self.leaves_of(c).is_empty()
    }

    /// Returns true if no match contains both characters, and if matches that end with `left` do not depend on the
    /// following text.
    pub(crate) fn separates(&self, left: char, right: char) -> bool {
        let after = self.leaves_of(right);
        let crosses = |leaf: &Leaf| leaf.asserts_end || leaf.follow.iter().any(|next| after.contains(next));
        !self.leaves_of(left).into_iter().any(|leaf| crosses(&self.leaves[leaf]))
    }

    fn leaves_of(&self, c: char) -> Vec<usize> {
        (0..self.leaves.len()).filter(|&leaf| contains(&self.leaves[leaf].set, c)).collect()
    }

    /// Adds the leaves of a node in order, and returns its paths.
    fn paths(&mut self, node: &SyntaxNode) -> Option<Paths> {
        Some(match node {
            SyntaxNode::Empty => Paths { can_be_empty: true, ..Paths::default() },
            SyntaxNode::Class(class) => {
                let leaf = self.leaves.len();
                if leaf == MAX_LEAVES {
                    return None;
                }
                self.leaves.push(Leaf { set: class.set.clone(), follow: Vec::new(), asserts_end: false, alone: None });
                Paths { can_be_empty: false, first: vec![leaf], last: vec![leaf] }
            }
            SyntaxNode::Concat(parts) => {
                let mut all = Paths { can_be_empty: true, ..Paths::default() };
                for part in parts {
                    let next = self.paths(part)?;
                    self.follows(&all.last, &next.first);
                    if all.can_be_empty {
                        all.first.extend_from_slice(&next.first);
                    }
                    if next.can_be_empty {
                        all.last.extend_from_slice(&next.last);
                    } else {
                        all.last = next.last;
                    }
                    all.can_be_empty &= next.can_be_empty;
                }
                all
            }
            SyntaxNode::Alternate(branches) => {
                let mut all = Paths::default();
                for branch in branches {
                    let next = self.paths(branch)?;
                    all.can_be_empty |= next.can_be_empty;
                    all.first.extend(next.first);
                    all.last.extend(next.last);
                }
                all
            }
            SyntaxNode::Repeat { node, min, max, .. } => {
                let mut body = self.paths(node)?;
                if *max > 1 {
                    self.follows(&body.last, &body.first);
                }
                body.can_be_empty |= *min == 0;
                body
            }
            SyntaxNode::Atomic(node) => self.paths(node)?,
            // The lookahead reads the characters of its body, but does not consume them: the following node reads from
            // the position at which the body began.
            SyntaxNode::Look { node, .. } => {
                Paths { can_be_empty: true, first: self.paths(node)?.first, last: Vec::new() }
            }
            SyntaxNode::Assert(Assertion::EndText | Assertion::EndLine) => {
                Paths { can_be_empty: true, first: vec![END], last: Vec::new() }
            }
            SyntaxNode::Assert(_) => return None,
        })
    }

    fn follows(&mut self, last: &[usize], first: &[usize]) {
        for &leaf in last {
            self.leaves[leaf].follow.extend_from_slice(first);
        }
    }
}

impl PairTable {
    #[inline]
    fn effect(&self, left: char, right: char) -> PairEffect {
        let (before, after) = (usize::from(self.class_of.of(left)), usize::from(self.class_of.of(right)));
        match self.effects[before * self.num_classes + after] {
            PairEffect::Keep(..) => PairEffect::Keep(left, right),
            other => other,
        }
    }
}

fn contains(set: &ClassUnicode, c: char) -> bool {
    let ranges = set.ranges();
    let at = ranges.partition_point(|range| range.end() < c);
    ranges.get(at).is_some_and(|range| range.start() <= c)
}

/// Adds to `alone` each leaf whose characters match the whole `node` by themselves, without an assertion. Each leaf has
/// a list of exceptions: the leaves of preceding optional parts that do not backtrack. If such a leaf also contains a
/// character, the optional part consumes it. Returns the range of the leaves of `node`, which begins at `next`.
fn leaves_alone(node: &SyntaxNode, next: &mut usize, alone: &mut Vec<(usize, Vec<usize>)>) -> std::ops::Range<usize> {
    let start = *next;
    match node {
        SyntaxNode::Empty | SyntaxNode::Assert(_) => {}
        SyntaxNode::Class(_) => {
            alone.push((start, Vec::new()));
            *next += 1;
        }
        SyntaxNode::Concat(parts) => {
            let optional: Vec<bool> = parts.iter().map(is_optional).collect();
            let num_needed = optional.iter().filter(|&&is_optional| !is_optional).count();
            let mut taken = Vec::new(); // leaves of preceding parts that do not backtrack
            for (part, is_optional) in parts.iter().zip(optional) {
                let mut own = Vec::new();
                let leaves = leaves_alone(part, next, &mut own);
                if num_needed == usize::from(!is_optional) {
                    alone.extend(own.into_iter().map(|(leaf, except)| (leaf, [&except[..], &taken].concat())));
                }
                if !backtracks(part) {
                    taken.extend(leaves);
                }
            }
        }
        SyntaxNode::Alternate(branches) => {
            for branch in branches {
                leaves_alone(branch, next, alone);
            }
        }
        SyntaxNode::Repeat { node, min, max, .. } => {
            let mut own = Vec::new();
            leaves_alone(node, next, &mut own);
            if *min <= 1 && *max > 0 {
                alone.append(&mut own);
            }
        }
        SyntaxNode::Atomic(node) => {
            leaves_alone(node, next, alone);
        }
        SyntaxNode::Look { node, .. } => {
            leaves_alone(node, next, &mut Vec::new());
        }
    }
    start..*next
}

/// Returns true if a node can match the empty text at every position. Assertions and lookaheads do not count, because
/// they can fail.
fn is_optional(node: &SyntaxNode) -> bool {
    match node {
        SyntaxNode::Empty => true,
        SyntaxNode::Class(_) | SyntaxNode::Look { .. } | SyntaxNode::Assert(_) => false,
        SyntaxNode::Concat(parts) => parts.iter().all(is_optional),
        SyntaxNode::Alternate(branches) => branches.iter().any(is_optional),
        SyntaxNode::Repeat { node, min, .. } => *min == 0 || is_optional(node),
        SyntaxNode::Atomic(node) => is_optional(node),
    }
}

/// Returns true if the matcher tries all matches of a node, not only the first, when the rest of the pattern fails.
fn backtracks(node: &SyntaxNode) -> bool {
    match node {
        SyntaxNode::Empty | SyntaxNode::Class(_) | SyntaxNode::Look { .. } | SyntaxNode::Assert(_) => true,
        SyntaxNode::Concat(parts) | SyntaxNode::Alternate(parts) => parts.iter().all(backtracks),
        SyntaxNode::Repeat { greed: Greed::Possessive, .. } | SyntaxNode::Atomic(_) => false,
        SyntaxNode::Repeat { node, .. } => backtracks(node),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;

    fn effect(pattern: &str, pair: &str) -> PairEffect {
        let mut chars = pair.chars();
        let (left, right) = (chars.next().unwrap(), chars.next().unwrap());
        Adjacency::of(pattern).unwrap().effect(left, right)
    }

    #[test]
    fn published_patterns_have_the_expected_effects() {
        let pattern = crate::pretokenize::published("cl100k").unwrap();
        for (pair, expected) in [
            ("a ", PairEffect::Split),
            ("a,", PairEffect::Split),
            ("a1", PairEffect::Split),
            ("1a", PairEffect::Split),
            ("天。", PairEffect::Split),
            ("a'", PairEffect::Split),
            (" a", PairEffect::Unknown),
            ("ab", PairEffect::Unknown),
            ("12", PairEffect::Unknown),
            ("  ", PairEffect::Unknown),
            ("\nA", PairEffect::Unknown),
            (",\n", PairEffect::Unknown),
            ("'s", PairEffect::Unknown),
        ] {
            assert_eq!(effect(pattern, pair), expected, "{pair:?}");
        }
        // In o200k, a contraction can follow letters.
        assert_eq!(effect(crate::pretokenize::published("o200k").unwrap(), "a'"), PairEffect::Unknown);
    }

    #[test]
    fn the_table_has_the_effects_of_all_pairs() {
        let inside = "aZé\u{301}1٣²天あ。\u{2028} \n'/\u{1F600}\u{E000}\u{10FFFF}\u{D7FF}ǅʰ";
        for pattern in ["cl100k", "o200k", "gpt2"].map(|name| crate::pretokenize::published(name).unwrap()) {
            let adjacency = Adjacency::of(pattern).unwrap();
            let table = adjacency.pair_table().unwrap();
            for left in inside.chars() {
                for right in inside.chars() {
                    assert_eq!(table.effect(left, right), adjacency.find_effect(left, right), "{left:?} {right:?}");
                }
            }
        }
        let apart: String = ('\u{4E00}'..'\u{4E60}').flat_map(|c| [c, '|']).collect();
        assert!(Adjacency::of(apart.trim_end_matches('|')).unwrap().pair_table().is_none());
        assert_eq!(effect(apart.trim_end_matches('|'), "丂丁"), PairEffect::Split);
    }

    #[test]
    fn may_cover_is_false_for_a_text_that_no_match_covers() {
        let covers = |pattern: &str, text: &str| Adjacency::of(pattern).unwrap().may_cover(text);
        let pattern = crate::pretokenize::published("cl100k").unwrap();
        for text in ["ab", " ab", "'s", "\n\n", "!?\n", "123", "a", ""] {
            assert!(covers(pattern, text), "{text:?}");
        }
        for text in ["a b", "ab.", "1a", "x'", " ab c", "a\n", "1,"] {
            assert!(!covers(pattern, text), "{text:?}");
        }
        // `ab` and `bc` each occur in a match, but no match contains all three characters.
        assert!(covers("ab|bc|[abc]", "bc"));
        assert!(!covers("ab|bc|[abc]", "abc"));
        assert!(covers("[0-9]{1,3}", "ab")); // text between matches
        assert!(!covers("[0-9]{1,3}", "a1"));
    }

    #[test]
    fn text_between_matches_stays_together() {
        assert_eq!(effect("[0-9]{1,3}", "ab"), PairEffect::Keep('a', 'b'));
        assert_eq!(effect("[0-9]{1,3}", "a1"), PairEffect::Split);
        assert_eq!(effect("[0-9]{1,3}", "1a"), PairEffect::Split);
        assert_eq!(effect("[0-9]{2}", "a1"), PairEffect::Unknown); // "1" alone is not a match
        assert_eq!(effect("ab|c", "xb"), PairEffect::Unknown);
    }

    #[test]
    fn possessive_parts_and_assertions_prevent_a_certain_split() {
        assert_eq!(effect("x?+x", "ax"), PairEffect::Unknown); // "x" alone is not a match
        assert_eq!(effect("x?x", "ax"), PairEffect::Split);
        assert_eq!(effect("[xy]?+[xz]", "az"), PairEffect::Split);
        assert_eq!(effect("a+$|a", "ab"), PairEffect::Unknown);
        assert_eq!(effect("a(?=b)|a", "ab"), PairEffect::Unknown);
        assert_eq!(effect("a(?!c)|a|b", "ab"), PairEffect::Split);
        assert!(Adjacency::of(r"(?<=a)b").is_none());
        assert!(Adjacency::of(r"\ba").is_none());
    }
}
