//! Counts the tokens of all prefixes and all suffixes of a pretoken, for models that only merge.
//!
//! The encoding of a text is t₁…tₙ if and only if each two adjacent tokens are the encoding of their concatenation;
//! such tokens are *valid neighbors*. Merging is local: as long as no merge crosses a boundary, the text on each side
//! merges as it does in isolation. The first merge that crosses a boundary would also occur when the two tokens at the
//! boundary are encoded together.
//!
//! Two rules follow. First, a prefix that ends at a token boundary of the pretoken has the pretoken's tokens up to this
//! boundary. Second, any other prefix can be split at an earlier boundary. Its tokens are the tokens before the
//! boundary, followed by the tokens of the rest of the prefix, encoded separately. This is valid if the two tokens at
//! the boundary are valid neighbors. A boundary a few tokens before the end of the prefix nearly always suffices.
//!
//! Suffixes of a run of one letter can lack a valid boundary nearby, because the tokens of each suffix begin at
//! different positions. The suffixes of a long pretoken are therefore counted from the shortest to the longest
//! ([`SuffixTokens`]). The tokens of a suffix are its first token and the tokens of the shorter suffix after it, if the
//! first token and the next one are valid neighbors.
//!
//! Cost: for each prefix, usually a few lookups, or merging about ten bytes; for each suffix, one lookup for each
//! possible length of its first token. Source: the validity of adjacent tokens is defined by Hendrik van Antwerpen and
//! Alexander Neubeck, "So many tokens, so little time" (github.blog, 2024); this module allows any ranks and needs no
//! table of last tokens. Left out: models that mark the start or end of a pretoken, user-defined pieces, Unigram
//! (`Unigram::counts_of_prefixes`).

use super::output::Out;
use super::pairs::{Merge, Pairs};
use super::scratch::Scratch;
use super::token_parts::TokenParts;
use super::Model;
use crate::error::{ErrorKind, Result};
use crate::util::cancel::KeepGoing;
use crate::vocab::{Kind, Vocab};

/// Number of tokens whose text the first attempt merges again: the last tokens before the end of a prefix, or the
/// tokens at the start of a suffix. Two tokens suffice for most positions; each additional token costs about ten
/// nanoseconds.
const FEW: usize = 3;

/// Maximum number of bytes that are merged in arrays.
const SHORT: usize = 48;

/// Number of positions between two checks for cancellation.
const CHECK: usize = 1 << 12;

const NO_MERGE: Merge = Merge { rank: u32::MAX, result: 0 };

/// Tokens of a pretoken, or of a long prefix of it.
#[derive(Debug, Clone, Copy)]
pub struct PretokenTokens<'k> {
    /// Ids of the tokens.
    pub ids: &'k [u32],
    /// Byte positions at which the tokens end, counted from an arbitrary origin. The pretoken begins at `start`.
    pub ends: &'k [usize],
    /// Start of the pretoken, counted from the same origin as `ends`.
    pub start: usize,
}

impl PretokenTokens<'_> {
    /// Returns the end of the token before `index`, relative to the start of the pretoken; 0 if `index` is 0.
    fn end(&self, index: usize) -> usize {
        match index.checked_sub(1) {
            Some(last) => self.ends[last] - self.start,
            None => 0,
        }
    }
}

/// First tokens and token counts of the suffixes of a pretoken, from the shortest suffix to the longest one counted so
/// far.
#[derive(Debug, Default)]
pub struct SuffixTokens {
    /// First token of each suffix, the shortest suffix first.
    firsts: Vec<u32>,
    /// Number of tokens of each suffix.
    counts: Vec<u32>,
}

impl SuffixTokens {
    /// Removes all suffixes. Must be called before another pretoken is counted.
    pub fn clear(&mut self) {
        self.firsts.clear();
        self.counts.clear();
    }

    /// Returns the index of the suffix that remains after the first `len` bytes of the suffix to be added next; None if
    /// nothing remains. The suffix to be added next is one byte longer than the longest suffix counted so far.
    fn after(&self, len: usize) -> Option<usize> {
        self.firsts.len().checked_sub(len)
    }
}

/// Counts tokens of prefixes and suffixes.
#[derive(Debug)]
pub struct PrefixCounter<'m> {
    model: &'m Model,
    vocab: &'m Vocab,
    by_bytes: bool,
    longest: usize,                // bytes of the longest entry
    parts: Option<&'m TokenParts>, // None: valid neighbors are found by merging
    looks_up: bool,                // true if whole pretokens are looked up, and some entries are not formed by merges
    scratch: Scratch,
    ids: Vec<u32>,
    ends: Vec<usize>,
    pair: Vec<u32>,
}

impl<'m> PrefixCounter<'m> {
    /// Creates a counter; None if merges alone do not determine the model's tokens. `longest`: length of the longest
    /// entry, in bytes. `parts`: the result of [`Model::token_parts`].
    pub fn new(model: &'m Model, vocab: &'m Vocab, longest: usize, parts: Option<&'m TokenParts>) -> Option<Self> {
        if !model.only_merges(vocab) {
            return None;
        }
        let looks_up = model.as_bpe().is_some_and(|bpe| {
            bpe.whole_first()
                && (parts.is_none_or(|parts| !parts.is_complete()) || bpe.added_entries().next().is_some())
        });
        Some(Self {
            model,
            vocab,
            by_bytes: model.is_byte_level(),
            longest,
            parts,
            looks_up,
            scratch: Scratch::default(),
            ids: Vec::new(),
            ends: Vec::new(),
            pair: Vec::new(),
        })
    }

    /// Returns the number of tokens of `pretoken[..end]`, encoded as a pretoken of its own.
    ///
    /// # Errors
    /// As `Model::encode`.
    pub fn count_prefix(
        &mut self,
        pretoken: &[u8],
        known: PretokenTokens<'_>,
        end: usize,
        keep_going: KeepGoing<'_>,
    ) -> Result<usize> {
        if self.is_entry(&pretoken[..end]) {
            return Ok(1);
        }
        let num_before = known.ends.partition_point(|&known_end| known_end <= known.start + end);
        if known.end(num_before) == end {
            return Ok(num_before);
        }
        if self.by_bytes {
            for first in (num_before.saturating_sub(1).max(1)..=num_before).rev() {
                if self.is_last(pretoken, known, first, end, keep_going)? {
                    return Ok(first + 1);
                }
            }
        }
        let mut few = FEW;
        loop {
            let first =
                (0..=num_before.saturating_sub(few)).rev().find(|&first| self.is_start(pretoken, known.end(first)));
            let first = first.unwrap_or(0);
            let start = known.end(first);
            self.merge(&pretoken[start..end], keep_going)?;
            if first == 0 {
                return Ok(self.ids.len());
            }
            let num = self.ids.len();
            let is_next = self.ids.first() == known.ids.get(first)
                && self.ends.first().is_some_and(|&local| start + local == known.end(first + 1));
            if is_next || self.fits_after(pretoken, known, first, start, keep_going)? {
                return Ok(first + num);
            }
            few *= 2;
        }
    }

    /// Returns the number of tokens of `pretoken[start..]`, encoded as a pretoken of its own.
    ///
    /// # Errors
    /// As `Model::encode`.
    pub fn count_suffix(
        &mut self,
        pretoken: &[u8],
        known: PretokenTokens<'_>,
        start: usize,
        keep_going: KeepGoing<'_>,
    ) -> Result<usize> {
        if self.is_entry(&pretoken[start..]) {
            return Ok(1);
        }
        let num = known.ids.len();
        let num_before = known.ends.partition_point(|&end| end < known.start + start);
        if num_before < num && known.end(num_before + 1) == start {
            return Ok(num - num_before - 1);
        }
        let mut few = FEW;
        loop {
            let from = (num_before + few).min(num);
            let after = (from..=num).find(|&after| self.is_start(pretoken, known.end(after))).unwrap_or(num);
            let end = known.end(after);
            self.merge(&pretoken[start..end], keep_going)?;
            let count = self.ids.len() + num - after;
            if after == num {
                return Ok(count);
            }
            let is_previous = self.ids.last() == known.ids.get(after - 1)
                && start + self.ends.iter().rev().nth(1).copied().unwrap_or(0) == known.end(after - 1);
            if is_previous || self.fits_before(pretoken, known, after, start, keep_going)? {
                return Ok(count);
            }
            few *= 2;
        }
    }

    /// Returns the number of tokens of `suffix`, encoded as a pretoken of its own. `suffix` is the end of a pretoken of
    /// a byte-level model. `known` contains the suffixes counted so far; the call adds each longer suffix, up to
    /// `suffix` itself. `reach` gets a position of `suffix` and returns the maximum length in bytes of a token that
    /// begins there. Returns None if one of the suffixes has no valid first token.
    ///
    /// # Errors
    /// As `Model::encode`.
    pub fn count_longer_suffix(
        &mut self,
        suffix: &[u8],
        known: &mut SuffixTokens,
        reach: impl Fn(usize) -> usize,
        keep_going: KeepGoing<'_>,
    ) -> Result<Option<usize>> {
        for at in (0..suffix.len().saturating_sub(known.firsts.len())).rev() {
            if at % CHECK == 0 && !keep_going() {
                return Err(ErrorKind::Interrupted.into());
            }
            let most = reach(at).min(self.longest).min(suffix.len() - at);
            let mut found = None;
            for len in (1..=most).rev() {
                if let Some(id) = self.first_token(&suffix[at..], len, known, keep_going)? {
                    found = Some((id, len));
                    break;
                }
            }
            let Some((id, len)) = found else { return Ok(None) };
            let count = known.after(len).map_or(0, |after| known.counts[after]);
            known.firsts.push(id);
            known.counts.push(count + 1);
        }
        if self.is_entry(suffix) {
            return Ok(Some(1));
        }
        Ok(suffix.len().checked_sub(1).map_or(Some(0), |last| known.counts.get(last).map(|&count| count as usize)))
    }

    /// Returns true if the model looks up whole pretokens, and `pretoken` is an entry.
    fn is_entry(&self, pretoken: &[u8]) -> bool {
        let entry = |model: &Model| model.as_bpe().and_then(|bpe| bpe.entry(self.vocab, pretoken));
        self.looks_up && pretoken.len() <= self.longest && entry(self.model).is_some()
    }

    /// Returns true if a token can start at a position: at the start of a character or, if the model merges bytes,
    /// anywhere.
    fn is_start(&self, pretoken: &[u8], at: usize) -> bool {
        self.by_bytes || pretoken.get(at).is_none_or(|&byte| byte & 0xC0 != 0x80)
    }

    /// Returns true if `pretoken[..end]` has these tokens: `known.ids[..first]`, then a single token for the remaining
    /// bytes. `first` must not be 0.
    fn is_last(
        &mut self,
        pretoken: &[u8],
        known: PretokenTokens<'_>,
        first: usize,
        end: usize,
        keep_going: KeepGoing<'_>,
    ) -> Result<bool> {
        let start = known.end(first);
        let content = &pretoken[start..end];
        if content.len() > self.longest {
            return Ok(false);
        }
        let found = self.vocab.find(content, false).filter(|&id| self.vocab.kind(id) == Kind::Token);
        let Some(id) = found else { return Ok(false) };
        self.are_neighbors([known.ids[first - 1], id], &pretoken[known.end(first - 1)..end], keep_going)
    }

    /// If the first `len` bytes of a suffix are its first token, returns this token. The other tokens of the suffix are
    /// then those of the shorter suffix after it.
    fn first_token(
        &mut self,
        suffix: &[u8],
        len: usize,
        known: &SuffixTokens,
        keep_going: KeepGoing<'_>,
    ) -> Result<Option<u32>> {
        let Model::Bpe(bpe) = self.model else { return Ok(None) };
        let found = match (suffix, len) {
            (&[byte, ..], 1) => bpe.alphabet.bytes_of_text().map(|bytes| bytes[usize::from(byte)]),
            _ => self.vocab.find(&suffix[..len], false).filter(|&id| self.vocab.kind(id) == Kind::Token),
        };
        let Some(id) = found else { return Ok(None) };
        if len > 1 && self.parts.is_some_and(|parts| !parts.is_merged(id)) {
            return Ok(None);
        }
        let fits = match known.after(len) {
            Some(after) => {
                let next = known.firsts[after];
                let both = &suffix[..len + self.vocab.content(next).len()];
                self.are_neighbors([id, next], both, keep_going)?
            }
            None if self.parts.is_some() => true,
            None => {
                self.merge(&suffix[..len], keep_going)?;
                self.ids == [id]
            }
        };
        Ok(fits.then_some(id))
    }

    /// Returns true if encoding the concatenation of two byte-level tokens gives these two tokens.
    fn are_neighbors(&mut self, tokens: [u32; 2], both: &[u8], keep_going: KeepGoing<'_>) -> Result<bool> {
        if let (Some(parts), Model::Bpe(bpe)) = (self.parts, self.model) {
            let is_token = parts.is_merged(tokens[1]) || self.vocab.content(tokens[1]).len() == 1;
            return Ok(is_token && parts.are_neighbors(bpe.pairs(self.vocab, keep_going)?, tokens[0], tokens[1]));
        }
        self.merge(both, keep_going)?;
        Ok(self.ids == tokens)
    }

    /// Returns true if the first token in `self.ids`, which begins at `start`, can follow the token
    /// `known.ids[first - 1]`: the two are valid neighbors.
    fn fits_after(
        &mut self,
        pretoken: &[u8],
        known: PretokenTokens<'_>,
        first: usize,
        start: usize,
        keep_going: KeepGoing<'_>,
    ) -> Result<bool> {
        let mut left = first - 1;
        while !self.is_start(pretoken, known.end(left)) {
            left -= 1;
        }
        let num = (1..=self.ends.len()).find(|&num| self.is_start(pretoken, start + self.ends[num - 1]));
        let num = num.unwrap_or(self.ends.len());
        self.pair.clear();
        self.pair.extend_from_slice(&known.ids[left..first]);
        self.pair.extend_from_slice(&self.ids[..num]);
        let end = start + self.ends.get(num - 1).copied().unwrap_or(0);
        self.merge(&pretoken[known.end(left)..end], keep_going)?;
        Ok(self.ids == self.pair)
    }

    /// Returns true if the last token in `self.ids` can precede the token `known.ids[after]`: the two are valid
    /// neighbors. The tokens in `self.ids` begin at `start`.
    fn fits_before(
        &mut self,
        pretoken: &[u8],
        known: PretokenTokens<'_>,
        after: usize,
        start: usize,
        keep_going: KeepGoing<'_>,
    ) -> Result<bool> {
        let own_end = |ends: &[usize], num: usize| num.checked_sub(1).map_or(0, |last| ends[last]);
        let mut left = self.ids.len().saturating_sub(1);
        while !self.is_start(pretoken, start + own_end(&self.ends, left)) {
            left -= 1;
        }
        let mut right = after + 1;
        while !self.is_start(pretoken, known.end(right)) {
            right += 1;
        }
        self.pair.clear();
        self.pair.extend_from_slice(&self.ids[left..]);
        self.pair.extend_from_slice(&known.ids[after..right]);
        let from = start + own_end(&self.ends, left);
        self.merge(&pretoken[from..known.end(right)], keep_going)?;
        Ok(self.ids == self.pair)
    }

    /// Merges a text, even if the whole text is an entry. Stores the tokens in `self.ids` and `self.ends`.
    fn merge(&mut self, text: &[u8], keep_going: KeepGoing<'_>) -> Result<()> {
        let Self { model, vocab, scratch, ids, ends, by_bytes, .. } = self;
        ids.clear();
        ends.clear();
        match model {
            Model::Bpe(bpe) if *by_bytes && text.len() <= SHORT => {
                let pairs = bpe.pairs(vocab, keep_going)?;
                if let Some(bytes) = bpe.alphabet.bytes_of_text() {
                    merge_short(pairs, bytes, text, ids, ends);
                }
                Ok(())
            }
            Model::Bpe(bpe) => {
                let mut out = Out::with_ends(ids, ends);
                bpe.symbols(text, scratch, &out)?;
                bpe.merger(vocab, keep_going)?.run(text.len(), keep_going, scratch, &mut out)
            }
            _ => model.encode(vocab, text, keep_going, scratch, &mut Out::with_ends(ids, ends)),
        }
    }
}

/// Merges at most [`SHORT`] bytes; the result equals that of `Merger`. The symbols after a merge keep their places,
/// because for most texts a call of `memmove` costs more than skipping merged symbols.
fn merge_short(pairs: &Pairs, bytes: &[u32; 256], text: &[u8], ids: &mut Vec<u32>, ends: &mut Vec<usize>) {
    let len = text.len();
    let (mut symbols, mut next) = ([0; SHORT], [0u8; SHORT]);
    let mut merges = [NO_MERGE; SHORT]; // merge of each symbol with the next one
    for (i, &byte) in text.iter().enumerate() {
        symbols[i] = bytes[usize::from(byte)];
        next[i] = i as u8 + 1;
        if i > 0 {
            merges[i - 1] = pairs.get(symbols[i - 1], symbols[i]).unwrap_or(NO_MERGE);
        }
    }
    loop {
        let (mut best, mut at, mut before, mut i, mut previous) = (u32::MAX, 0, None, 0, None);
        while i < len {
            if merges[i].rank < best {
                (best, at, before) = (merges[i].rank, i, previous);
            }
            previous = Some(i);
            i = usize::from(next[i]);
        }
        if best == u32::MAX {
            break;
        }
        symbols[at] = merges[at].result;
        next[at] = next[usize::from(next[at])];
        let after = usize::from(next[at]);
        let merge = |left: usize, right: usize| pairs.get(symbols[left], symbols[right]).unwrap_or(NO_MERGE);
        merges[at] = if after < len { merge(at, after) } else { NO_MERGE };
        if let Some(before) = before {
            merges[before] = merge(before, at);
        }
    }
    let mut i = 0;
    while i < len {
        ids.push(symbols[i]);
        i = usize::from(next[i]);
        ends.push(i);
    }
}

impl Model {
    /// Returns, for each token of a byte-level model, the merge that creates it, if every token has a higher rank than
    /// its parts (see `token_parts`).
    ///
    /// # Errors
    /// `Interrupted` while tables are built.
    pub fn token_parts(&self, vocab: &Vocab, keep_going: KeepGoing<'_>) -> Result<Option<TokenParts>> {
        match self {
            Self::Bpe(bpe) if self.is_byte_level() => Ok(TokenParts::new(bpe.pairs(vocab, keep_going)?, vocab)),
            _ => Ok(None),
        }
    }

    /// Returns true if the tokens of a pretoken depend only on merges of adjacent symbols. For this, the model must
    /// have no word marks and no user-defined or unused pieces, and each initial symbol must depend only on its own
    /// character.
    fn only_merges(&self, vocab: &Vocab) -> bool {
        match self {
            Self::Bpe(bpe) => self.is_byte_level() || bpe.alphabet.is_local(),
            Self::Pieces(pieces) => pieces.only_merges() && vocab.iter().all(|(_, kind, _)| kind != Kind::Added),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;
    use crate::model::bpe::Bpe;
    use crate::vocab::alphabet::{Alphabet, EndOfWord, Level};

    /// Returns a random number below `n`, by a small generator with a fixed seed: splitmix64, Steele, Lea and Flood
    /// 2014.
    fn below(state: &mut u64, n: u64) -> u64 {
        *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % n
    }

    /// Creates a model that merges a few letters. Its merges are in random order, so that a token can have a lower rank
    /// than its parts.
    fn random_model(state: &mut u64, level: Level) -> (Vocab, Model) {
        let letters: &[&str] = if level == Level::Byte { &["a", "b", "c"] } else { &["a", "b", "é", "中"] };
        let letters = &letters[..1 + below(state, letters.len() as u64) as usize];
        let mut contents: Vec<Vec<u8>> = match level {
            Level::Byte => (0..=255).map(|byte| vec![byte]).collect(),
            Level::Char => letters.iter().map(|letter| letter.as_bytes().to_vec()).collect(),
        };
        let mut usable: Vec<u32> = match level {
            Level::Byte => letters.iter().map(|letter| u32::from(letter.as_bytes()[0])).collect(),
            Level::Char => (0..letters.len() as u32).collect(),
        };
        let mut merges = Vec::new();
        for _ in 0..below(state, 14) {
            let [left, right] = [0; 2].map(|_| usable[below(state, usable.len() as u64) as usize]);
            let joined = [&contents[left as usize][..], &contents[right as usize]].concat();
            if merges.iter().any(|&(l, r, _)| (l, r) == (left, right)) || joined.len() > 12 {
                continue;
            }
            let known = contents.iter().position(|content| *content == joined);
            let result = known.unwrap_or(contents.len()) as u32;
            if known.is_none() {
                contents.push(joined);
                usable.push(result);
            }
            merges.push((left, right, result));
        }
        let is_in_order = below(state, 2) == 0;
        for i in (1..merges.len()).rev().filter(|_| !is_in_order) {
            merges.swap(i, below(state, i as u64 + 1) as usize);
        }
        let unk = contents.len() as u32;
        let mut entries: Vec<(u32, Kind, &[u8])> =
            (0..).zip(&contents).map(|(id, content)| (id, Kind::Token, &content[..])).collect();
        entries.push((unk, Kind::Special, b"<unk>"));
        let vocab = Vocab::new(entries).unwrap();
        let unk = (level == Level::Char).then_some(unk);
        let alphabet = Alphabet::of(&vocab, level, EndOfWord::None, unk).fusing_unknown(below(state, 2) == 0);
        let whole_first = below(state, 3) == 0;
        let model = Bpe::from_merges(&vocab, alphabet, merges, whole_first).unwrap();
        (vocab, Model::Bpe(model))
    }

    #[test]
    fn counts_of_prefixes_and_suffixes_equal_encoding_each_alone() {
        let (mut state, mut in_order) = (5, 0);
        for round in 0..3_000 {
            let level = if round % 2 == 0 { Level::Byte } else { Level::Char };
            let (vocab, model) = random_model(&mut state, level);
            let parts = model.token_parts(&vocab, &|| true).unwrap();
            in_order += usize::from(parts.is_some());
            let mut counter = PrefixCounter::new(&model, &vocab, 12, parts.as_ref()).unwrap();
            for _ in 0..5 {
                let mut text = String::new();
                while text.len() < below(&mut state, 60) as usize {
                    let letter = ["a", "b", "c", "é", "中", "z"][below(&mut state, 6) as usize];
                    let times = if below(&mut state, 5) == 0 { below(&mut state, 20) } else { 1 };
                    (0..times).for_each(|_| text.push_str(letter));
                }
                let encode = |text: &[u8]| {
                    let (mut ids, mut ends) = (Vec::new(), Vec::new());
                    let mut out = Out::with_ends(&mut ids, &mut ends);
                    model.encode(&vocab, text, &|| true, &mut Scratch::default(), &mut out).unwrap();
                    (ids, ends)
                };
                let bytes = text.as_bytes();
                let (ids, ends) = encode(bytes);
                let known = PretokenTokens { ids: &ids, ends: &ends, start: 0 };
                let mut suffixes = SuffixTokens::default();
                for at in (0..bytes.len()).rev().filter(|_| level == Level::Byte) {
                    let suffix = counter.count_longer_suffix(&bytes[at..], &mut suffixes, |_| 12, &|| true).unwrap();
                    assert_eq!(suffix, Some(encode(&bytes[at..]).0.len()), "{text:?} from {at}, round {round}");
                }
                for at in (1..text.len()).filter(|&at| text.is_char_boundary(at)) {
                    let prefix = counter.count_prefix(bytes, known, at, &|| true).unwrap();
                    assert_eq!(prefix, encode(&bytes[..at]).0.len(), "{text:?} up to {at}, round {round}");
                    let suffix = counter.count_suffix(bytes, known, at, &|| true).unwrap();
                    assert_eq!(suffix, encode(&bytes[at..]).0.len(), "{text:?} from {at}, round {round}");
                }
            }
        }
        assert!(in_order > 300, "{in_order}");
    }
}
