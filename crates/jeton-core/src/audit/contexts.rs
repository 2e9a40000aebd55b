//! Builds texts that contain the bytes of an entry, the most promising texts first.
//!
//! A context is the text before or after the entry. A pre-tokenizer splits by the classes of adjacent characters, and
//! BPE can merge across the edges of an entry. So a fixed list of contexts has characters of all classes. The first and
//! the last character of the entry are also tried as contexts, because the list does not have all scripts. Other
//! entries of the vocabulary are also tried as left contexts. These entries help if the alphabet is small, or if the
//! model always matches the longest entry.

use super::completion::{Completions, Edges};
use crate::tokenizer::Tokenizer;
use crate::vocab::Kind;

/// Contexts for each side of an entry. The first [`NUM_LIKELY`] are tried for every entry that consists of whole
/// characters.
const BESIDE: [&str; 22] =
    ["", "a", " ", "A", "0", "\n", ".", "'", "#", "  ", "-", "(", "x", "Z", "中", "é", "\t", "'s", "D", "\r", "q", "ก"];
/// Number of contexts on each side that are tried before a proof is attempted.
const NUM_LIKELY: usize = 4;
/// Maximum number of entries that are tried as the left context of another entry.
const MOST_INITIALS: usize = 256;

/// Generator of candidate texts for an entry. Each candidate contains the entry. Encoding a candidate may produce the
/// entry.
#[derive(Debug)]
pub(super) struct Contexts {
    initials: Vec<String>, // entries that begin words, the shortest first
    completions: Completions,
}

impl Contexts {
    pub(super) fn new(tok: &Tokenizer) -> Self {
        let prefix = tok.model().continuing_prefix().as_bytes();
        let tokens = tok.vocab().iter().filter(|entry| matches!(entry.1, Kind::Token | Kind::EndsWord));
        let begins = |content: &&[u8]| !content.is_empty() && (prefix.is_empty() || !content.starts_with(prefix));
        let contents = tokens.map(|(_, _, content)| content).filter(begins);
        let mut all: Vec<&str> = contents.filter_map(|content| std::str::from_utf8(content).ok()).collect();
        all.sort_by_key(|text| text.len());
        let stride = all.len().div_ceil(MOST_INITIALS).max(1);
        let initials = all.iter().step_by(stride).map(|&text| text.to_owned()).collect();
        Self { initials, completions: Completions::new() }
    }

    /// Calls `try_text` with the likely texts until it returns true.
    pub(super) fn likely<E>(
        &self,
        edges: &Edges<'_>,
        mut try_text: impl FnMut(&[u8]) -> Result<bool, E>,
    ) -> Result<bool, E> {
        if !edges.is_whole() {
            return self.completed(edges, NUM_LIKELY * NUM_LIKELY, try_text);
        }
        for left in &BESIDE[..NUM_LIKELY] {
            for right in &BESIDE[..NUM_LIKELY] {
                if try_text([left, edges.whole, right].concat().as_bytes())? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Calls `try_text` with each candidate text, and stops when `try_text` returns true. If the entry begins or ends
    /// inside a character, the missing bytes of the character are added. There are many ways to add them; at most
    /// `most` of the resulting texts are tried without a context.
    pub(super) fn all<E>(
        &self,
        edges: &Edges<'_>,
        most: usize,
        mut try_text: impl FnMut(&[u8]) -> Result<bool, E>,
    ) -> Result<bool, E> {
        if !edges.is_whole() {
            // Tries the first completed texts with each of the contexts before or after them, then all completed texts
            // without context.
            for beside in BESIDE {
                let found = self.completed(edges, most / 64, |text| {
                    Ok(try_text(&[beside.as_bytes(), text].concat())? || try_text(&[text, beside.as_bytes()].concat())?)
                })?;
                if found {
                    return Ok(true);
                }
            }
            return self.completed(edges, most, try_text);
        }
        let mut chars = edges.whole.chars();
        let (first, last) = (chars.next(), chars.next_back());
        let own: Vec<String> = first.into_iter().chain(last).map(String::from).collect();
        let beside = || BESIDE.into_iter().chain(own.iter().map(String::as_str));
        for left in beside().chain(self.initials.iter().map(String::as_str)) {
            for right in beside() {
                if try_text([left, edges.whole, right].concat().as_bytes())? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Calls `each` with completed texts: texts in which the cut characters at the edges of the entry are completed.
    /// Stops after `most` texts, or earlier when `each` returns true. Each step advances the completions of both edges
    /// at once, so that the first texts are diverse.
    fn completed<E>(
        &self,
        edges: &Edges<'_>,
        most: usize,
        mut each: impl FnMut(&[u8]) -> Result<bool, E>,
    ) -> Result<bool, E> {
        let (heads, tails) = (self.completions.before(edges), self.completions.after(edges));
        let mut done = 0;
        for number in 0..heads.len().saturating_mul(tails.len()).min(most.saturating_mul(64)) {
            if done == most {
                break;
            }
            let (head, tail) = combination(number, heads.len(), tails.len());
            let text = [&heads[head], edges.head, edges.whole.as_bytes(), edges.tail, &tails[tail]].concat();
            if std::str::from_utf8(&text).is_ok() {
                done += 1;
                if each(&text)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

/// Converts the number of a combination to two indices, into a list of `heads` items and a list of `tails` items. From
/// one number to the next, both indices advance. The numbers below `heads * tails` give all combinations.
fn combination(number: usize, heads: usize, tails: usize) -> (usize, usize) {
    // If both indices always advanced by 1, the combinations would repeat after `period` steps. So the first index
    // advances by 2 at each multiple of `period`.
    let period = heads / gcd(heads, tails) * tails;
    ((number + number / period) % heads, number % tails)
}

/// Greatest common divisor.
const fn gcd(mut a: usize, mut b: usize) -> usize {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_combinations_occur_once() {
        for heads in 1..40 {
            for tails in 1..40 {
                let found: std::collections::BTreeSet<_> =
                    (0..heads * tails).map(|number| combination(number, heads, tails)).collect();
                assert_eq!(found.len(), heads * tails, "{heads} and {tails}");
                assert!(found.iter().all(|&(head, tail)| head < heads && tail < tails));
            }
        }
    }
}
