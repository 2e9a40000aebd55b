//! Reconstructs the merges of a vocabulary that has ranks of tokens instead of a merge list. For each token, it finds
//! the last merge that takes place when only the bytes of this token are encoded.
//!
//! Adjacent symbols merge if their concatenation is a token; the pair of lowest rank merges first, then the leftmost.
//! Before a token is formed, no merge crosses its edges, so the merges inside the token do not depend on the text
//! around it. In any text, the last two symbols of a token are therefore the same as when its bytes are encoded alone,
//! and one pair for each token suffices. If encoding the bytes of a token alone leaves more than two symbols, the token
//! is unreachable.
//!
//! The last two symbols are two tokens whose concatenation is the token. Among all such pairs, the correct one is found
//! without merging: both tokens of a pair are formed unless a merge across the boundary between them comes before the
//! last merge of one of them. To check this, the merges on both sides of the boundary are undone, the latest first, and
//! each pair that becomes adjacent is looked up ([`Tokens::is_last_pair`]). A token of seven bytes takes a few lookups
//! instead of all its merges.
//!
//! This method works for tokens of a trained vocabulary: their ranks are distinct, and each token has a higher rank
//! than its parts. For all other tokens, the last merge is found afterwards, by merging their bytes. They are the
//! tokens that are formed only from parts of higher ranks, the tokens of equal rank, and the tokens that contain the
//! bytes of one of these. The bytes of tokens of more than 63 bytes are merged, too, because no shorter token contains
//! them. In o200k, the bytes of 93 tokens are merged. Llama 3, whose vocabulary was extended, has 135 tokens that are
//! formed only from parts of higher ranks.
//!
//! Cost: O(n log n) for n bytes of tokens of any lengths. Cancellable. Source: undoing merges at a boundary is the
//! method of the crate bpe (github/rust-gems), which checks in this way whether two tokens can be adjacent.

use std::cmp::Ordering;

use super::merging::Merger;
use super::output::Out;
use super::pairs::{Merge, Pairs};
use super::scratch::Scratch;
use crate::error::Result;
use crate::util::cancel::{CancelCheck, KeepGoing};
use crate::util::pattern_set::{Candidates, PatternSet};
use crate::vocab::Vocab;

/// For tokens of at least this many bytes, the last merge is always found by merging their bytes, with a cancellation
/// check for each token. The lengths of shorter tokens fit a bit set of 64 bits.
const LONG: usize = 64;

/// Stands for no token.
const NONE: u32 = u32::MAX;

/// Maximum bytes of a character: no initial symbol is longer.
const MAX_SYMBOL: usize = 4;

/// Returns the last merge of each of `tokens`. `symbols` appends the initial symbols of a content, one for each of its
/// bytes or for each of its characters; it returns false if one of them has no symbol. `rank` returns the rank of an
/// id.
///
/// # Errors
/// `Interrupted`.
pub(super) fn merges_of_tokens<'v>(
    vocab: &'v Vocab,
    tokens: impl Iterator<Item = (u32, &'v [u8])>,
    symbols: impl Fn(&[u8], &mut Vec<u32>) -> bool,
    rank: impl Fn(u32) -> u32,
    keep_going: KeepGoing<'_>,
) -> Result<Pairs> {
    let mut ids: Vec<u32> = tokens.map(|(id, _)| id).collect();
    let (mut pairs, merged) = by_undoing(vocab, &ids, &symbols, &rank, keep_going)?;
    ids.retain(|&id| merged[id as usize]);
    let by_merging = ByMerging { vocab, symbols: &symbols, rank: &rank, keep_going };
    by_merging.add(&mut ids, &mut pairs)?;
    Ok(pairs)
}

/// Finds the last merge of a token by merging the bytes of this token alone.
struct ByMerging<'a, S, R> {
    vocab: &'a Vocab,
    symbols: &'a S,
    rank: &'a R,
    keep_going: KeepGoing<'a>,
}

impl<S: Fn(&[u8], &mut Vec<u32>) -> bool, R: Fn(u32) -> u32> ByMerging<'_, S, R> {
    /// Adds the last merge of each of `tokens` to `pairs`, which already contains the last merge of every other token
    /// that can occur inside one of `tokens`.
    fn add(&self, tokens: &mut [u32], pairs: &mut Pairs) -> Result<()> {
        tokens.sort_by_key(|&id| self.vocab.content_len(id));
        let (mut scratch, mut ids, mut cancel) = (Scratch::default(), Vec::new(), CancelCheck::new(self.keep_going));
        for &result in &*tokens {
            let content = self.vocab.content(result);
            if content.len() < LONG {
                cancel.check()?;
            } else {
                cancel.check_now()?;
            }
            scratch.symbols.clear();
            if !(self.symbols)(content, &mut scratch.symbols) || scratch.symbols.len() < 2 {
                continue;
            }
            ids.clear();
            let merger = Merger { merges: &*pairs, word_start: None };
            merger.run(content.len(), self.keep_going, &mut scratch, &mut Out::ids(&mut ids))?;
            if let &[left, right] = &ids[..] {
                // If a part is the unknown token, its content can differ from the bytes that it stands for. So the
                // contents of both parts are compared with the content of the token.
                let rest = content.strip_prefix(self.vocab.content(left));
                if rest.is_some_and(|rest| rest == self.vocab.content(right)) {
                    pairs.insert(left, right, Merge { rank: (self.rank)(result), result });
                }
            }
        }
        Ok(())
    }
}

/// A token of less than [`LONG`] bytes.
#[derive(Clone, Copy)]
struct Token {
    id: u32,
    time: u32,       // 0 for an initial symbol, else the rank plus one
    parts: [u32; 2], // indices of its last two symbols; NONE for an initial symbol or an unreachable token
}

/// Tokens of less than [`LONG`] bytes, by ascending rank.
struct Tokens(Vec<Token>);

impl Tokens {
    /// Finds the last merge of each token for which `merged` is false. Collects in `odd` the ids of tokens that cannot
    /// be formed from two tokens of lower rank, but whose bytes are the concatenation of two tokens of which at least
    /// one has a higher rank.
    fn undo(
        &mut self,
        vocab: &Vocab,
        [prefixes, suffixes]: [&Inside; 2],
        merged: &[bool],
        odd: &mut Vec<u32>,
        keep_going: KeepGoing<'_>,
    ) -> Result<Pairs> {
        odd.clear();
        let (mut pairs, mut cancel) = (Pairs::with_capacity(self.0.len()), CancelCheck::new(keep_going));
        for index in 0..self.0.len() {
            let Token { id, time, .. } = self.0[index];
            self.0[index].parts = [NONE; 2];
            if time == 0 || merged[id as usize] {
                continue;
            }
            cancel.check()?;
            let len = vocab.content_len(id);
            // Bit set of lengths: for each pair of tokens whose concatenation is this token, the length of the left
            // one.
            let mut splits = prefixes.lengths[index] & suffixes.lengths[index].reverse_bits() >> (LONG - 1 - len);
            let mut has_later = false;
            while splits != 0 {
                let left_len = LONG - 1 - splits.leading_zeros() as usize;
                splits ^= 1 << left_len;
                let (left, right) = (prefixes.of_length(index, left_len), suffixes.of_length(index, len - left_len));
                has_later |= left.max(right) as usize > index;
                if self.is_formed(left) && self.is_formed(right) && self.is_last_pair(&pairs, left, right) {
                    self.0[index].parts = [left, right];
                    let [left, right] = [left, right].map(|part| self.0[part as usize].id);
                    pairs.insert(left, right, Merge { rank: time - 1, result: id });
                    break;
                }
            }
            if has_later && !self.is_formed(index as u32) {
                odd.push(id);
            }
        }
        Ok(pairs)
    }

    #[inline]
    fn is_formed(&self, token: u32) -> bool {
        let token = self.0[token as usize];
        token.time == 0 || token.parts[0] != NONE
    }

    /// Returns true if merging the concatenated bytes of two tokens forms both tokens, so that they can then merge with
    /// each other. Merging the bytes of each token alone must form this token. `pairs` must contain the merges of all
    /// ranks up to the ranks of both tokens.
    ///
    /// The merges of the two tokens are undone, the last one first. When the merge of one token is undone, a part of
    /// this token becomes adjacent to the other token. If the part and the other token merge with a lower rank than
    /// that of the undone merge, they merge first, so the two tokens are not formed. Of two merges of equal rank, the
    /// left one comes first.
    #[inline]
    fn is_last_pair(&self, pairs: &Pairs, left: u32, right: u32) -> bool {
        let (mut left, mut right) = (self.0[left as usize], self.0[right as usize]);
        while left.time.max(right.time) > 0 {
            let limit; // a merge across the boundary with a lower time would have come first
            if left.time > right.time {
                limit = left.time;
                left = self.0[left.parts[1] as usize];
            } else {
                limit = right.time + 1;
                right = self.0[right.parts[0] as usize];
            }
            if pairs.get(left.id, right.id).is_some_and(|merge| merge.rank + 1 < limit) {
                return false;
            }
        }
        true
    }
}

/// Finds the last merges of tokens by undoing merges. Also returns a flag for each id: true if the last merge of the
/// token with this id must be found by merging the token's bytes.
fn by_undoing(
    vocab: &Vocab,
    ids: &[u32],
    symbols: &impl Fn(&[u8], &mut Vec<u32>) -> bool,
    rank: &impl Fn(u32) -> u32,
    keep_going: KeepGoing<'_>,
) -> Result<(Pairs, Vec<bool>)> {
    let mut merged = vec![false; vocab.len()];
    let (mut own, mut tokens) = (Vec::new(), Vec::with_capacity(ids.len()));
    for &id in ids {
        let content = vocab.content(id);
        if content.is_empty() {
            continue;
        }
        if content.len() < LONG {
            own.clear();
            let is_symbol = content.len() <= MAX_SYMBOL && symbols(content, &mut own) && own == [id];
            tokens.push(Token { id, time: if is_symbol { 0 } else { rank(id) + 1 }, parts: [NONE; 2] });
        } else {
            merged[id as usize] = true;
        }
    }
    tokens.sort_by_key(|token| token.time);
    let mut memory = Default::default();
    let prefixes = Inside::new::<AtStart>(vocab, &tokens, &mut memory);
    let suffixes = Inside::new::<AtEnd>(vocab, &tokens, &mut memory);
    drop(memory);
    let of_equal_ranks =
        tokens.chunk_by(|one, other| one.time == other.time && one.time > 0).filter(|group| group.len() > 1);
    let mut odd: Vec<u32> = of_equal_ranks.flatten().map(|token| token.id).collect();
    let mut tokens = Tokens(tokens);
    loop {
        mark_all_with(vocab, &tokens.0, &odd, &mut merged);
        let pairs = tokens.undo(vocab, [&prefixes, &suffixes], &merged, &mut odd, keep_going)?;
        if odd.is_empty() {
            return Ok((pairs, merged));
        }
    }
}

/// Marks the tokens whose bytes contain a token of `odd`.
fn mark_all_with(vocab: &Vocab, tokens: &[Token], odd: &[u32], marks: &mut [bool]) {
    if odd.is_empty() {
        return;
    }
    let set = PatternSet::new(&odd.iter().map(|&id| vocab.content(id)).collect::<Vec<_>>());
    for token in tokens {
        let content = vocab.content(token.id);
        marks[token.id as usize] |= set.find(content, 0, &mut Candidates::default()).is_some();
    }
}

/// Start or end of a token. At the start, the search finds the shorter tokens that are prefixes of the token; at the
/// end, those that are suffixes of it.
trait Side {
    /// Returns the first eight bytes of `content` (`AtStart`) or the last eight (`AtEnd`), padded with zeros. The first
    /// byte, or for `AtEnd` the last byte, is in the highest bits.
    fn eight(content: &[u8]) -> u64;
    fn has(content: &[u8], other: &[u8]) -> bool;
    fn compare(one: &[u8], other: &[u8]) -> Ordering;
}

struct AtStart;
struct AtEnd;

impl Side for AtStart {
    #[inline]
    fn eight(content: &[u8]) -> u64 {
        match content.first_chunk() {
            Some(&eight) => u64::from_be_bytes(eight),
            None => content.iter().rev().fold(0, |eight, &byte| eight >> 8 | u64::from(byte) << 56),
        }
    }

    fn has(content: &[u8], other: &[u8]) -> bool {
        content.starts_with(other)
    }

    fn compare(one: &[u8], other: &[u8]) -> Ordering {
        one.cmp(other)
    }
}

impl Side for AtEnd {
    #[inline]
    fn eight(content: &[u8]) -> u64 {
        match content.last_chunk() {
            Some(&eight) => u64::from_le_bytes(eight),
            None => content.iter().fold(0, |eight, &byte| eight >> 8 | u64::from(byte) << 56),
        }
    }

    fn has(content: &[u8], other: &[u8]) -> bool {
        content.ends_with(other)
    }

    fn compare(one: &[u8], other: &[u8]) -> Ordering {
        one.iter().rev().cmp(other.iter().rev())
    }
}

/// For each token, the other tokens that are a prefix of it, or those that are a suffix of it.
struct Inside {
    longest: Vec<(u32, u8)>, // index and length of the longest of these tokens
    lengths: Vec<u64>,       // bit set of the lengths of all these tokens
}

/// A token in a list in alphabetical order, with its first or last eight bytes for fast comparison.
#[derive(Clone, Copy, Default)]
struct Sorted {
    eight: u64,
    index: u32,
    len: u8,
}

impl Inside {
    /// Finds the tokens that are prefixes (or suffixes) of each token, in one pass over the tokens in alphabetical
    /// order. In this order, a token comes after all of its prefixes.
    fn new<S: Side>(vocab: &Vocab, tokens: &[Token], memory: &mut [Vec<Sorted>; 2]) -> Self {
        let content = |token: Sorted| vocab.content(tokens[token.index as usize].id);
        let order = sort::<S>(vocab, tokens, memory);
        let mut open: Vec<Sorted> = Vec::new(); // stack: the previous token, above its prefixes (or suffixes)
        let mut made = Self { longest: vec![(NONE, 0); tokens.len()], lengths: vec![0; tokens.len()] };
        for &token in order {
            let has = |&other: &Sorted| match other.len {
                len @ ..=8 => len <= token.len && (token.eight ^ other.eight) >> (64 - 8 * u32::from(len)) == 0,
                _ => token.eight == other.eight && S::has(content(token), content(other)),
            };
            while open.last().is_some_and(|other| !has(other)) {
                open.pop();
            }
            if let Some(&other) = open.last() {
                made.longest[token.index as usize] = (other.index, other.len);
                made.lengths[token.index as usize] = made.lengths[other.index as usize] | 1 << other.len;
            }
            open.push(token);
        }
        made
    }

    /// Returns the index of the token of `len` bytes that is a prefix (or suffix) of the token `index`. `len` must
    /// be in `lengths` of the token `index`.
    #[inline]
    fn of_length(&self, index: usize, len: usize) -> u32 {
        let (mut inside, mut its) = self.longest[index];
        while usize::from(its) > len {
            (inside, its) = self.longest[inside as usize];
        }
        inside
    }
}

/// Sorts tokens by `Side::eight` (radix sort, from the last byte to the first), then tokens that share these bytes by
/// comparison.
fn sort<'m, S: Side>(vocab: &Vocab, tokens: &[Token], memory: &'m mut [Vec<Sorted>; 2]) -> &'m [Sorted] {
    let [sorted, other] = memory;
    sorted.clear();
    sorted.extend(tokens.iter().zip(0..).map(|(token, index)| {
        let content = vocab.content(token.id);
        Sorted { eight: S::eight(content), index, len: content.len() as u8 }
    }));
    other.resize(sorted.len(), Sorted::default());
    for shift in (0..64).step_by(8) {
        let byte = |token: &Sorted| (token.eight >> shift) as usize & 0xFF;
        let mut next = [0u32; 257];
        sorted.iter().for_each(|token| next[byte(token) + 1] += 1);
        (1..next.len()).for_each(|byte| next[byte] += next[byte - 1]);
        for token in &*sorted {
            let place = &mut next[byte(token)];
            other[*place as usize] = *token;
            *place += 1;
        }
        std::mem::swap(sorted, other);
    }
    let content = |token: &Sorted| vocab.content(tokens[token.index as usize].id);
    for group in sorted.chunk_by_mut(|one, other| one.eight == other.eight) {
        if group.len() > 1 {
            group.sort_unstable_by(|one, other| {
                if one.len.min(other.len) <= 8 {
                    one.len.cmp(&other.len)
                } else {
                    S::compare(content(one), content(other))
                }
            });
        }
    }
    sorted
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;
    use crate::util::hash::Hash;
    use crate::vocab::Kind;

    /// Checks that the last merges equal those found by merging the bytes of each token. Returns two counts: of the
    /// tokens that are results of merges, and of the tokens of several bytes that are not.
    fn check(entries: &[(u32, Vec<u8>)], rank: impl Fn(u32) -> u32) -> [usize; 2] {
        let vocab = Vocab::new(entries.iter().map(|(id, content)| (*id, Kind::Token, &content[..]))).unwrap();
        let symbols = |content: &[u8], symbols: &mut Vec<u32>| {
            content.iter().all(|byte| vocab.find(&[*byte], false).inspect(|&id| symbols.push(id)).is_some())
        };
        let tokens = || vocab.iter().map(|(id, _, content)| (id, content));
        let made = merges_of_tokens(&vocab, tokens(), symbols, &rank, &|| true).unwrap();
        let mut expected = Pairs::with_capacity(0);
        let by_merging = ByMerging { vocab: &vocab, symbols: &symbols, rank: &rank, keep_going: &|| true };
        by_merging.add(&mut tokens().map(|(id, _)| id).collect::<Vec<_>>(), &mut expected).unwrap();
        let sorted = |pairs: &Pairs| {
            let mut all: Vec<_> =
                pairs.iter().map(|(left, right, merge)| (merge.result, left, right, merge.rank)).collect();
            all.sort_unstable();
            all
        };
        assert_eq!(sorted(&made), sorted(&expected), "{entries:?}");
        [expected.len(), tokens().filter(|(_, content)| content.len() > 1).count() - expected.len()]
    }

    #[test]
    fn undoing_merges_equals_merging() {
        let hash = Hash::default();
        let mut state = 1u64;
        let mut random = |below: u64| {
            state = hash.int(state);
            state % below
        };
        let mut total = [0; 2];
        for case in 0..3_000 {
            let letters = 1 + random(4);
            let mut contents: Vec<Vec<u8>> = (0..letters).map(|letter| vec![b'a' + letter as u8]).collect();
            for _ in 0..random(60) {
                // Most contents are the concatenation of two existing tokens, as in training; the others are random
                // bytes.
                let content = if random(8) > 0 {
                    let [left, right] = [0; 2].map(|_| contents[random(contents.len() as u64) as usize].clone());
                    [left, right].concat()
                } else {
                    (0..2 + random(6)).map(|_| b'a' + random(letters + 1) as u8).collect()
                };
                if content.len() < 100 && !contents.contains(&content) {
                    contents.push(content);
                }
            }
            if case % 3 == 0 {
                (1..contents.len()).for_each(|at| contents.swap(at, random(at as u64 + 1) as usize));
            }
            let entries: Vec<_> = (0..).zip(contents).collect();
            let found = match case % 5 {
                0 => check(&entries, |id| id / 2), // pairs of equal ranks
                1 => check(&entries, |id| id.min(letters as u32 + 9)),
                _ => check(&entries, |id| id),
            };
            total = [total[0] + found[0], total[1] + found[1]];
        }
        assert!(total[0] > 30_000 && total[1] > 3_000, "{total:?}");
    }
}
