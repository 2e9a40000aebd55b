//! SentencePiece's BPE: two adjacent symbols merge if their concatenation is a piece. The pair whose piece has the
//! highest score merges first; among equal scores, the leftmost pair.
//!
//! Initial symbols are characters. User-defined pieces are matched before merging, the longest at each position, and
//! never merge. Unused pieces take part in merging. At the end they are split into the pair that last formed them in
//! this text; an unused piece of a single character is unknown.
//!
//! If every character of every piece is a piece, all symbols that merge are pieces. Then the pair table contains the
//! last merge of each piece (`reconstruct`), ranked by score, and `merging` merges the symbols. Otherwise, and with
//! unused pieces or sampling, the slow path looks up each concatenation as a piece.
//!
//! Cost: O(n log n). The pair table has one entry for each piece. It is built when the bytes encoded so far justify its
//! cost; until then the slow path runs. Source: SentencePiece src/bpe_model.cc. Plain version: `tests/models.rs`.

use std::cmp::Reverse;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::OnceLock;

use hashbrown::{HashMap, HashSet};

use super::linked_symbols::{SymbolNode, NONE};
use super::merging::{join, link, Merger, WordStart};
use super::output::Out;
use super::pairs::{Merge, Pairs};
use super::reconstruct::merges_of_tokens;
use super::sampling::Sampler;
use super::scratch::{Agenda, Scratch};
use super::unknown::{char_len, utf8, Unknown, UnknownWriter};
use super::words::added_trie;
use crate::error::{Error, Result};
use crate::util::cancel::{CancelCheck, KeepGoing};
use crate::util::trie::Trie;
use crate::vocab::alphabet::WORD_START;
use crate::vocab::marks::Marks;
use crate::vocab::merge_boundaries::{MarkBoundaries, SplitPoints};
use crate::vocab::{Kind, Vocab};

/// Symbol of a character that is not a piece. This symbol and all symbols with [`FROZEN`] are greater than any id, so
/// the table has no pair that contains them.
const UNKNOWN: u32 = 1 << 30;
/// Flag of a symbol that never merges (a user-defined piece).
const FROZEN: u32 = 1 << 31;

/// Number of encoded bytes per entry of the vocabulary that makes the pair table worth building. Building an entry of
/// the table takes 200 ns; encoding without the table takes 30 ns (Chinese) to 70 ns (English, code) more per byte.
const BYTES_PER_ENTRY: usize = 2;

/// Like [`BYTES_PER_ENTRY`], but for building the table while a text is encoded, not in [`super::Model::announce`]. The
/// number is higher, so that texts for which `announce` did not build the table stay below it, even if normalization
/// lengthens them. The table should be built by `announce`, because `announce` is interruptible; encoding a short text
/// is not.
const UNANNOUNCED_BYTES_PER_ENTRY: usize = 8;

/// A SentencePiece BPE model.
#[derive(Debug, Clone)]
pub struct Pieces {
    pairs: OnceLock<Pairs>, // used only if each character that occurs in a piece is a piece itself
    word_start: Option<WordStart>,
    ranks: Vec<u32>, // id -> rank of its score
    user_defined: Trie,
    ascii: [u32; 128], // ids of the pieces of one ASCII character
    pub(super) unknown: Unknown,
    has_unused: bool,
    has_odd: bool,  // true if some piece has a character that is not a piece
    longest: usize, // bytes of the longest piece
    spent: Spent,
}

/// Number of bytes encoded without the pair table so far.
#[derive(Debug, Default)]
struct Spent(AtomicUsize);

impl Clone for Spent {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Spent {
    /// Adds `bytes` to the number; returns the sum.
    fn add(&self, bytes: usize) -> usize {
        // A load and a store are used instead of an atomic addition, because a lost update is harmless.
        let sum = self.0.load(Ordering::Relaxed).saturating_add(bytes);
        self.0.store(sum, Ordering::Relaxed);
        sum
    }
}

impl Pieces {
    /// Builds a model from the scores of the pieces, by id.
    ///
    /// # Errors
    /// [`Error::config`] for a piece that has no score or the score NaN; errors of [`Unknown::new`].
    pub fn new(vocab: &Vocab, scores: &[f64], unknown: Unknown) -> Result<Self> {
        let (mut ids, mut contents) = (Vec::with_capacity(vocab.num_tokens()), Vec::with_capacity(vocab.num_tokens()));
        let (mut has_unused, mut has_odd) = (false, false);
        for (id, kind, content) in vocab.iter() {
            match kind {
                Kind::Token | Kind::Unused => {
                    has_unused |= kind == Kind::Unused;
                    ids.push(id);
                    contents.push(content);
                }
                _ => {}
            }
        }
        let ranks = ranks(vocab, scores, ids)?;
        let characters = characters(contents.iter().copied());
        for &content in &contents {
            let first = content.first().map_or(0, |_| char_len(content, 0));
            if first == content.len() {
                continue;
            }
            let mut at = 0;
            while at < content.len() && !has_odd {
                let next = at + char_len(content, at);
                has_odd |= !characters.has(&content[at..next]);
                at = next;
            }
        }
        let find = |c: char| vocab.find(c.encode_utf8(&mut [0; 4]).as_bytes(), false);
        let word_start = find(WORD_START).map(|symbol| {
            let all = vocab.iter().filter(|entry| matches!(entry.1, Kind::Token | Kind::Unused | Kind::Added));
            WordStart::new(symbol, MarkBoundaries::new(all.map(|entry| entry.2)), find)
        });
        let mut ascii = [UNKNOWN; 128];
        for (byte, id) in (0..).zip(&mut ascii) {
            *id = vocab.find(&[byte], false).unwrap_or(UNKNOWN);
        }
        let user_defined = added_trie(vocab);
        let longest = contents.iter().map(|content| content.len()).max().unwrap_or(0);
        let pairs = OnceLock::new();
        let spent = Spent::default();
        Ok(Self { pairs, word_start, ranks, user_defined, ascii, unknown, has_unused, has_odd, longest, spent })
    }

    /// Returns the split points inside of pretokens, if any. Models with unused pieces have no split points, because
    /// the pair into which an unused piece is split depends on the whole text.
    pub(super) fn split_points(&self, vocab: &Vocab, marks: Marks) -> Option<SplitPoints> {
        let before_marks = &self.word_start.as_ref().filter(|_| !self.has_unused)?.boundaries;
        let user_defined = vocab.iter().filter(|entry| entry.1 == Kind::Added).map(|entry| entry.2);
        let inside: HashSet<char> =
            user_defined.flat_map(|text| String::from_utf8_lossy(text).chars().collect::<Vec<_>>()).collect();
        let spells = self.unknown.is_spelled() && !self.has_odd;
        let is_known =
            |c: char| marks.character() == c || vocab.find(c.encode_utf8(&mut [0; 4]).as_bytes(), false).is_some();
        let boundaries = spells.then(|| SplitPoints::boundaries(vocab, marks));
        let is_alone = |c: char| spells && !inside.contains(&c) && !is_known(c);
        Some(SplitPoints::new((marks, before_marks), is_alone, boundaries))
    }

    /// Returns true if the model only merges: it has no unused pieces, and every character of a piece is a piece
    /// itself.
    pub(super) fn only_merges(&self) -> bool {
        !self.has_odd && !self.has_unused
    }

    /// Returns true if encoding the first text already requires the pair table.
    pub(super) fn needs_pairs(&self) -> bool {
        self.has_unused && !self.has_odd
    }

    /// Returns true if some piece has a character that is not a piece.
    pub(super) fn has_odd(&self) -> bool {
        self.has_odd
    }

    /// Returns true if the pair table is worth building: the bytes encoded so far and the next `bytes` are together
    /// enough.
    #[inline]
    pub(super) fn repays_pairs(&self, vocab: &Vocab, bytes: usize) -> bool {
        self.pairs.get().is_none()
            && self.only_merges()
            && self.spent.0.load(Ordering::Relaxed).saturating_add(bytes) >= vocab.num_tokens() * BYTES_PER_ENTRY
    }

    /// Adds `bytes` to the number of bytes encoded so far. Returns true if there is no pair table and this number does
    /// not yet justify building one.
    fn is_early(&self, vocab: &Vocab, bytes: usize) -> bool {
        self.pairs.get().is_none() && self.spent.add(bytes) < vocab.num_tokens() * UNANNOUNCED_BYTES_PER_ENTRY
    }

    /// Returns the symbol of a text, or [`UNKNOWN`] if it is not a piece.
    pub(super) fn symbol_of(&self, vocab: &Vocab, text: &[u8]) -> u32 {
        vocab.find(text, false).unwrap_or(UNKNOWN)
    }

    /// Returns the pair table, for models in which every character of a piece is a piece itself.
    ///
    /// # Errors
    /// `Interrupted` during construction.
    pub(super) fn pairs(&self, vocab: &Vocab, keep_going: KeepGoing<'_>) -> Result<&Pairs> {
        if let Some(pairs) = self.pairs.get() {
            return Ok(pairs);
        }
        let pieces = vocab.iter().filter(|entry| matches!(entry.1, Kind::Token | Kind::Unused));
        let made = last_merges(vocab, pieces, |id| self.ranks[id as usize], keep_going)?;
        Ok(self.pairs.get_or_init(|| made))
    }

    /// Returns the last merge of each piece as a merge list, by descending score, then by id. Encoding with this list
    /// gives the same ids as with the scores, unless two pieces have the same score. Left out: unused pieces, and
    /// pieces with a character that is not a piece itself, because merges cannot form them.
    ///
    /// # Errors
    /// `Interrupted`.
    pub fn merge_list(&self, vocab: &Vocab, keep_going: KeepGoing<'_>) -> Result<Vec<(u32, u32, u32)>> {
        let tokens = || vocab.iter().filter(|entry| entry.1 == Kind::Token);
        let mut ids: Vec<u32> = tokens().map(|(id, ..)| id).collect();
        ids.sort_by_key(|&id| self.ranks[id as usize]); // stable sort: equal ranks stay in order of id
        let mut order = vec![NONE; vocab.len()];
        (0..).zip(&ids).for_each(|(place, &id)| order[id as usize] = place);
        let pairs = last_merges(vocab, tokens(), |id| order[id as usize], keep_going)?;
        let mut merges: Vec<_> = pairs.iter().map(|(left, right, merge)| (left, right, merge.result)).collect();
        merges.sort_unstable_by_key(|merge| order[merge.2 as usize]);
        Ok(merges)
    }

    /// # Errors
    /// As [`Pieces::pairs`].
    pub(super) fn merger(&self, vocab: &Vocab, keep_going: KeepGoing<'_>) -> Result<Merger<'_, Pairs>> {
        Ok(Merger { merges: self.pairs(vocab, keep_going)?, word_start: self.word_start.as_ref() })
    }

    /// Returns the id of a symbol, or the unknown token if the symbol is not a piece.
    pub(super) fn id_of(&self, symbol: u32) -> u32 {
        match symbol {
            UNKNOWN => self.unknown.unk().unwrap_or(UNKNOWN),
            _ => symbol & !FROZEN,
        }
    }

    /// Appends the ids of a normalized text.
    ///
    /// # Errors
    /// [`Error::text`] for text that is not UTF-8, and for an unknown character if the model has no unknown token.
    pub fn encode(
        &self,
        vocab: &Vocab,
        text: &[u8],
        keep_going: KeepGoing<'_>,
        scratch: &mut Scratch,
        out: &mut Out<'_>,
    ) -> Result<()> {
        let is_plain = self.symbols(vocab, text, scratch)?;
        if self.has_odd || self.has_unused || self.is_early(vocab, text.len()) {
            return self.by_the_rule(vocab, text, None, keep_going, scratch, out);
        }
        if is_plain {
            return self.merger(vocab, keep_going)?.run(text.len(), keep_going, scratch, out);
        }
        let (mut ids, mut ends) = (std::mem::take(&mut scratch.ids), std::mem::take(&mut scratch.ends));
        ids.clear();
        ends.clear();
        self.merger(vocab, keep_going)?.run(
            text.len(),
            keep_going,
            scratch,
            &mut Out::with_ends(&mut ids, &mut ends),
        )?;
        let mut writer = UnknownWriter::new(&self.unknown, text, out);
        for (&id, &end) in ids.iter().zip(&ends) {
            match id {
                UNKNOWN => writer.unknown(end)?,
                _ => writer.known(id & !FROZEN, end)?,
            }
        }
        writer.finish()?;
        (scratch.ids, scratch.ends) = (ids, ends);
        Ok(())
    }

    /// Encodes with dropout: each merge is skipped permanently with probability `sampler.dropout`.
    ///
    /// # Errors
    /// As [`Pieces::encode`].
    pub fn sample(
        &self,
        vocab: &Vocab,
        text: &[u8],
        sampler: &mut Sampler,
        keep_going: KeepGoing<'_>,
        scratch: &mut Scratch,
        out: &mut Out<'_>,
    ) -> Result<()> {
        self.symbols(vocab, text, scratch)?;
        self.by_the_rule(vocab, text, Some(sampler), keep_going, scratch, out)
    }

    /// Writes the initial symbols and their starts to `scratch`; returns true if all symbols are pieces that can merge.
    pub(super) fn symbols(&self, vocab: &Vocab, text: &[u8], scratch: &mut Scratch) -> Result<bool> {
        utf8(text)?;
        let Scratch { symbols, starts, .. } = scratch;
        symbols.clear();
        starts.clear();
        let (mut at, mut is_plain) = (0, true);
        let mut last: (&[u8], u32) = (&[], UNKNOWN); // last lookup, for runs of a character
        while at < text.len() {
            starts.push(at);
            if let Some((end, id)) = self.user_defined.longest(text, at) {
                symbols.push(id | FROZEN);
                is_plain = false;
                at = end;
                continue;
            }
            let end = at + char_len(text, at);
            let id = match self.ascii.get(usize::from(text[at])) {
                Some(&id) => id,
                None if text[at..end] == *last.0 => last.1,
                None => {
                    last = (&text[at..end], vocab.find(&text[at..end], false).unwrap_or(UNKNOWN));
                    last.1
                }
            };
            is_plain &= id != UNKNOWN;
            symbols.push(id);
            at = end;
        }
        Ok(is_plain)
    }

    /// Slow path: for each pair of adjacent symbols, looks up the piece that equals their concatenation.
    #[cold]
    fn by_the_rule(
        &self,
        vocab: &Vocab,
        text: &[u8],
        mut sampler: Option<&mut Sampler>,
        keep_going: KeepGoing<'_>,
        scratch: &mut Scratch,
        out: &mut Out<'_>,
    ) -> Result<()> {
        let Scratch { symbols, starts, nodes, agenda, .. } = scratch;
        link(symbols, nodes)?;
        agenda.clear();
        let spells = self.has_odd || sampler.is_some() || (!self.has_unused && self.pairs.get().is_none());
        let pairs = if spells { None } else { Some(self.pairs(vocab, keep_going)?) };
        let mut cancel = CancelCheck::new(keep_going);
        let mut parts = HashMap::new(); // unused piece -> bytes of its left part
        let pair = |nodes: &[SymbolNode], left: u32| {
            let node = nodes.get(left as usize).filter(|node| node.id != NONE)?;
            let next = nodes.get(node.next as usize)?;
            let (start, middle) = (starts[left as usize], starts[node.next as usize]);
            let end = starts.get(next.next as usize).copied().unwrap_or(text.len());
            let merge = match pairs {
                Some(pairs) => pairs.get(node.id, next.id)?,
                None => self.merge_spelled(vocab, [node.id, next.id], &text[start..end])?,
            };
            Some((merge, end - start, middle - start))
        };
        let mut offer = |nodes: &[SymbolNode], agenda: &mut Agenda, left: u32| {
            if let Some((merge, size, left_size)) = pair(nodes, left) {
                agenda.push(Reverse((u64::from(merge.rank) << 32 | u64::from(left), size)));
                if self.has_unused && vocab.kind(merge.result) == Kind::Unused {
                    parts.insert(merge.result, left_size);
                }
            }
        };
        (0..nodes.len() as u32).for_each(|left| offer(nodes, agenda, left));
        while let Some(Reverse((entry, size))) = agenda.pop() {
            cancel.check()?;
            let left = entry as u32;
            let Some((merge, ..)) = pair(nodes, left).filter(|&(_, now, _)| now == size) else { continue };
            if sampler.as_mut().is_some_and(|sampler| sampler.drops_merge()) {
                continue;
            }
            let before = join(nodes, left, merge.result);
            offer(nodes, agenda, before);
            offer(nodes, agenda, left);
        }
        let mut writer = UnknownWriter::new(&self.unknown, text, out);
        let mut stack = Vec::new(); // (id, start, end), the first on top
        let mut at = if nodes.is_empty() { NONE } else { 0 };
        while at != NONE {
            let SymbolNode { id, next, .. } = nodes[at as usize];
            stack.push((id, starts[at as usize], starts.get(next as usize).copied().unwrap_or(text.len())));
            while let Some((id, start, end)) = stack.pop() {
                cancel.check()?;
                let left = parts.get(&id).filter(|_| vocab.kind(id) == Kind::Unused);
                match left {
                    Some(len) => {
                        let part = |start, end| (self.symbol_of(vocab, &text[start..end]), start, end);
                        stack.extend([part(start + len, end), part(start, start + len)]);
                    }
                    None if self.is_known(vocab, id) => writer.known(id & !FROZEN, end)?,
                    None => writer.unknown(end)?,
                }
            }
            at = next;
        }
        writer.finish()
    }

    /// Returns false for unknown characters and for unused pieces. SentencePiece before 0.2.2 returned the ids of
    /// unused pieces.
    fn is_known(&self, vocab: &Vocab, symbol: u32) -> bool {
        symbol & FROZEN != 0 || vocab.kind(symbol) == Kind::Token
    }

    /// Returns the merge of two symbols with the concatenation `together`; None if no piece equals `together`. The
    /// symbols need not be pieces.
    fn merge_spelled(&self, vocab: &Vocab, symbols: [u32; 2], together: &[u8]) -> Option<Merge> {
        if together.len() > self.longest || symbols.iter().any(|&id| id & FROZEN != 0) {
            return None;
        }
        let result = vocab.find(together, false)?;
        Some(Merge { rank: self.ranks[result as usize], result })
    }
}

/// Set of the characters that are pieces.
struct PieceCharacters {
    low: Box<[u64; 1 << 10]>, // bit set of characters up to U+FFFF
    high: HashSet<char>,
}

impl PieceCharacters {
    #[inline]
    fn has(&self, text: &[u8]) -> bool {
        if let [byte @ 0..0x80] = text {
            return self.low[usize::from(*byte) / 64] >> (byte % 64) & 1 != 0;
        }
        let Some(c) = std::str::from_utf8(text).ok().and_then(|text| text.chars().next()) else { return false };
        match self.low.get(c as usize / 64) {
            Some(bits) => bits >> (c as usize % 64) & 1 != 0,
            None => self.high.contains(&c),
        }
    }
}

/// Collects the pieces that are single characters. Looking up each character of all pieces in the vocabulary instead
/// would take half of the loading time.
fn characters<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> PieceCharacters {
    let mut found = PieceCharacters { low: Box::new([0; 1 << 10]), high: HashSet::new() };
    for content in pieces.filter(|content| content.len() <= 4) {
        if content.is_empty() || char_len(content, 0) != content.len() {
            continue;
        }
        let Some(c) = std::str::from_utf8(content).ok().and_then(|text| text.chars().next()) else { continue };
        match found.low.get_mut(c as usize / 64) {
            Some(bits) => *bits |= 1 << (c as usize % 64),
            None => drop(found.high.insert(c)),
        }
    }
    found
}

/// Returns the last merge of each piece, for models in which every character of a piece is a piece itself.
fn last_merges<'v>(
    vocab: &'v Vocab,
    pieces: impl Iterator<Item = (u32, Kind, &'v [u8])>,
    rank: impl Fn(u32) -> u32,
    keep_going: KeepGoing<'_>,
) -> Result<Pairs> {
    let symbols = |content: &[u8], symbols: &mut Vec<u32>| {
        let mut at = 0;
        while at < content.len() {
            let next = at + char_len(content, at);
            let Some(id) = vocab.find(&content[at..next], false) else { return false };
            symbols.push(id);
            at = next;
        }
        true
    };
    merges_of_tokens(vocab, pieces.map(|(id, _, content)| (id, content)), symbols, rank, keep_going)
}

/// Returns the rank of each id; pieces with the same score (in 32 bits) have the same rank.
fn ranks(vocab: &Vocab, scores: &[f64], mut ids: Vec<u32>) -> Result<Vec<u32>> {
    if let Some(id) = ids.iter().find(|&&id| scores.get(id as usize).is_none_or(|score| !score.is_finite())) {
        return Err(Error::config(format!("the piece with id {id} has no score, or one that is not a finite number")));
    }
    let score = |id: u32| scores[id as usize] as f32;
    ids.sort_by(|&a, &b| score(b).total_cmp(&score(a)));
    let mut ranks = vec![NONE; vocab.len()];
    let mut before: Option<u32> = None;
    let mut rank = 0;
    for id in ids {
        rank += u32::from(before.is_some_and(|before| score(before) != score(id)));
        ranks[id as usize] = rank;
        before = Some(id);
    }
    Ok(ranks)
}
