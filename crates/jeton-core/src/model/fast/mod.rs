//! Merges many pretokens fast, with tables that fit the CPU caches.
//!
//! Invariant: a BPE model gets the same ids as with `Bpe::encode` without its lookup of whole pretokens; a `Pieces`
//! model gets the same ids as with `Pieces::encode`. `merging` is the slow path. It handles the cases that are not
//! supported here: unknown characters, texts that contain a user-defined piece, and merges that result in pieces with
//! equal scores.
//!
//! ```text
//! initial_symbols  bytes → initial symbols, whole characters if that gives the same ids
//! ranks            (left, right) → rank, a perfect hash table
//! lanes            short pretokens, interleaved, with ranks in registers (`util/simd/min`)
//! long             long pretokens, in windows, in linear time
//! ```
//!
//! Each loop is compiled for the levels of `simd`. Memory, in addition to the model: 1.1 MiB, and 10 to 20 bytes for
//! each merge.

mod initial_symbols;
mod lanes;
mod long;
mod ranks;

use self::initial_symbols::InitialSymbols;
use self::lanes::{Rank, Work};
use self::long::{LongTables, Window};
use self::ranks::{Ranks, NO_SYMBOL};
use super::bpe::{self, Bpe};
use super::pairs::Pairs;
use super::Model;
use crate::error::Result;
use crate::util::cancel::KeepGoing;
use crate::util::simd::min::MinArray;
use crate::util::simd::{self, Instructions};
use crate::util::trie::Trie;
use crate::vocab::alphabet::{EndOfWord, Level, Symbol, WORD_START};
use crate::vocab::marks::Marks;
use crate::vocab::merge_boundaries::MergeBoundaries;
use crate::vocab::{Kind, Vocab};

/// Tables of a model.
#[derive(Debug, Clone)]
pub struct Fast {
    ranks: Ranks,
    results: Vec<u32>, // rank -> id, NO_SYMBOL if a rank has several ids; empty if each rank equals its id
    initial: InitialSymbols,
    apart: Apart,
    marks: Marks, // how texts spell `▁`
}

/// Contents of tokens that never merge. A text that contains such a token takes the slow path.
#[derive(Debug, Clone, Default)]
struct Apart {
    contents: Trie,
    first: Vec<u8>, // first bytes of the contents
}

impl Apart {
    /// Builds the trie of the added tokens.
    fn new(vocab: &Vocab, marks: Marks) -> Self {
        let added = vocab.iter().filter(|entry| entry.1 == Kind::Added);
        let spelled: Vec<_> = added.filter_map(|(id, _, content)| Some((marks.spelled(content)?, id))).collect();
        let contents = Trie::new(spelled.iter().map(|(content, id)| (&**content, *id)).collect());
        let first = (0..=255).filter(|&byte| contents.begins_with(&[byte])).collect();
        Self { contents, first }
    }

    #[inline]
    fn is_in(&self, text: &[u8]) -> bool {
        let begins = |at: usize| self.first.contains(&text[at]) && self.contents.matches(text, at).next().is_some();
        !self.first.is_empty() && (0..text.len()).any(begins)
    }
}

/// A pretoken to merge.
#[derive(Debug, Clone, Copy)]
pub struct Job {
    /// Offset of the pretoken in the caller's buffer.
    pub start: u32,
    /// Length in bytes.
    pub len: u32,
    /// Index of the result in the caller's list of ranges.
    pub slot: u32,
    /// True for UTF-8. Other text is merged byte by byte if it is short; else it takes the slow path.
    pub is_text: bool,
}

/// Range of the tokens of a job.
#[derive(Debug, Clone, Copy, Default)]
pub struct TokenRange {
    /// Index of the first token in the caller's buffer.
    pub start: u32,
    /// Number of tokens; 0 if the caller has to use the slow path.
    pub len: u32,
}

impl TokenRange {
    /// Returns the tokens of this range.
    #[inline]
    pub fn of(self, tokens: &[u32]) -> &[u32] {
        &tokens[self.start as usize..(self.start + self.len) as usize]
    }
}

/// Reusable buffers.
#[derive(Debug, Default)]
pub struct Bench {
    work: Box<Work>,
    slots: Vec<u32>,
    window: Box<Window>,
    joint: Box<Window>,
}

struct AsciiPairs<'a> {
    initial: &'a InitialSymbols,
    pretoken: &'a [u8],
}

impl Rank for AsciiPairs<'_> {
    #[inline(always)]
    fn of(&self, _: &[u32; 64], place: usize) -> u32 {
        self.initial.ascii_pair(self.pretoken[place - 1], self.pretoken[place])
    }
}

struct AnyPairs<'a>(&'a Ranks);

impl Rank for AnyPairs<'_> {
    #[inline(always)]
    fn of(&self, symbols: &[u32; 64], place: usize) -> u32 {
        self.0.get(symbols[place & 63], symbols[(place + 1) & 63])
    }
}

impl Fast {
    /// Builds the tables of a model; None if it does not merge, has end-of-word marks or prefixes, or is too large.
    ///
    /// # Errors
    /// `Interrupted` when `keep_going` returns false.
    pub fn new(vocab: &Vocab, model: &Model, marks: Marks, keep_going: KeepGoing<'_>) -> Result<Option<Self>> {
        let pairs = match model {
            Model::Bpe(model) if model.alphabet.end == EndOfWord::None && model.alphabet.prefix().is_empty() => {
                model.pairs(vocab, keep_going)?
            }
            Model::Pieces(model) if model.only_merges() => model.pairs(vocab, keep_going)?,
            _ => return Ok(None),
        };
        Ok(Self::of_pairs(vocab, model, marks, pairs))
    }

    fn of_pairs(vocab: &Vocab, model: &Model, marks: Marks, pairs: &Pairs) -> Option<Self> {
        let ranks = Ranks::new(pairs)?;
        let spelled = |c: char| if c == marks.character() { WORD_START } else { c };
        match model {
            Model::Bpe(model) => {
                let alphabet = &model.alphabet;
                let results = match model.ranks {
                    bpe::RankOrder::Merges => results(pairs)?,
                    bpe::RankOrder::Tokens => Vec::new(),
                };
                let symbol = |c: char| alphabet.id(Symbol { unit: Some(c.into()), ends_word: false, inside: false });
                let initial = match alphabet.level {
                    Level::Byte => InitialSymbols::of_bytes(vocab, model, pairs, &ranks, &results),
                    Level::Char => InitialSymbols::of_characters(|c| symbol(spelled(c)), &ranks),
                };
                Some(Self { ranks, results, initial, apart: Apart::default(), marks })
            }
            Model::Pieces(_) => {
                let results = results(pairs)?;
                let symbol = |c: char| vocab.find(c.encode_utf8(&mut [0; 4]).as_bytes(), false);
                let initial = InitialSymbols::of_characters(|c| symbol(spelled(c)), &ranks);
                Some(Self { ranks, results, initial, apart: Apart::new(vocab, marks), marks })
            }
            _ => None,
        }
    }

    /// Returns the ids of those `entries` (content, id) that merging produces: it turns the content into one token, and
    /// this token has the entry's id. Each content must be spelled as it would be in a text that the model reads.
    ///
    /// # Errors
    /// As [`Fast::merge`].
    pub fn made<'a>(
        &self,
        vocab: &Vocab,
        entries: impl Iterator<Item = (&'a [u8], u32)>,
        keep_going: KeepGoing<'_>,
    ) -> Result<Vec<u32>> {
        let (mut text, mut jobs, mut ids) = (Vec::new(), Vec::new(), Vec::new());
        for (content, id) in entries.filter(|entry| std::str::from_utf8(entry.0).is_ok()) {
            jobs.push(Job {
                start: text.len() as u32,
                len: content.len() as u32,
                slot: ids.len() as u32,
                is_text: true,
            });
            text.extend_from_slice(content);
            ids.push(id);
        }
        let (mut tokens, mut found) = (Vec::new(), vec![TokenRange::default(); ids.len()]);
        self.merge(vocab, &text, &jobs, keep_going, &mut Bench::default(), &mut tokens, &mut found)?;
        let is_own = |&(id, found): &(u32, TokenRange)| found.len == 1 && tokens[found.start as usize] == id;
        Ok(ids.into_iter().zip(found).filter(is_own).map(|(id, _)| id).collect())
    }

    /// Returns true if merging starts with bytes, not with characters, and every byte has a symbol.
    pub fn merges_bytes(&self) -> bool {
        self.initial.merges_bytes()
    }

    /// Returns the merge boundaries.
    ///
    /// # Errors
    /// As [`Fast::merge`].
    pub fn boundaries(&self, vocab: &Vocab, model: &Model, keep_going: KeepGoing<'_>) -> Result<MergeBoundaries> {
        let whole_first = model.as_bpe().is_some_and(Bpe::whole_first);
        let ends = |content: &[u8]| content.len() > 2 && (content[0] >= 0xE0 || content[content.len() - 3] >= 0xE0);
        let ended = || vocab.iter().filter(|entry| whole_first && ends(entry.2)).map(|(id, _, content)| (content, id));
        let mut is_made = vec![false; vocab.len()];
        match model.as_bpe().filter(|bpe| bpe.ranks == bpe::RankOrder::Tokens) {
            // Here, a token is the result of a merge in `pairs` if and only if merging its bytes gives this token.
            Some(bpe) => {
                bpe.pairs(vocab, keep_going)?.iter().for_each(|(.., merge)| is_made[merge.result as usize] = true)
            }
            None => self.made(vocab, ended(), keep_going)?.iter().for_each(|&id| is_made[id as usize] = true),
        }
        let wholes = ended().filter(|&(_, id)| !is_made[id as usize]).map(|(content, _)| content);
        Ok(MergeBoundaries::new(vocab.iter().map(|entry| entry.2), wholes))
    }

    /// Merges the pretokens of `jobs`, which are ranges of `text`. Appends their tokens to `tokens`, and stores the
    /// ranges of these tokens in `found`.
    ///
    /// # Errors
    /// `Interrupted` when `keep_going` returns false.
    #[allow(clippy::too_many_arguments)] // each argument is a buffer of the caller
    pub fn merge(
        &self,
        vocab: &Vocab,
        text: &[u8],
        jobs: &[Job],
        keep_going: KeepGoing<'_>,
        bench: &mut Bench,
        tokens: &mut Vec<u32>,
        found: &mut [TokenRange],
    ) -> Result<()> {
        simd::dispatch!(
            simd::detected(),
            (
                this: &Fast = self,
                vocab: &Vocab = vocab,
                text: &[u8] = text,
                jobs: &[Job] = jobs,
                keep_going: KeepGoing<'_> = keep_going,
                bench: &mut Bench = bench,
                tokens: &mut Vec<u32> = tokens,
                found: &mut [TokenRange] = found,
            ) -> Result<()>,
            |level: L| this
                .merge_at::<<L as Instructions>::Min16, <L as Instructions>::Min32, <L as Instructions>::Min64>(
                    level, vocab, text, jobs, keep_going, bench, tokens, found,
                )
        )
    }

    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    fn merge_at<Small: MinArray, Middle: MinArray<Proof = Small::Proof>, Large: MinArray<Proof = Small::Proof>>(
        &self,
        proof: Small::Proof,
        vocab: &Vocab,
        text: &[u8],
        jobs: &[Job],
        keep_going: KeepGoing<'_>,
        bench: &mut Bench,
        tokens: &mut Vec<u32>,
        found: &mut [TokenRange],
    ) -> Result<()> {
        let Bench { work, slots, window, joint } = bench;
        work.clear();
        slots.clear();
        for job in jobs {
            let pretoken = &text[job.start as usize..(job.start + job.len) as usize];
            if self.apart.is_in(pretoken) {
                continue;
            }
            if pretoken.len() > lanes::MOST {
                if !job.is_text {
                    continue;
                }
                let start = tokens.len();
                let Self { initial, ranks, results, marks, .. } = self;
                let tables = LongTables { vocab, initial, ranks, results, marks: *marks };
                if tables.encode_long(pretoken, window, joint, keep_going, tokens)? {
                    found[job.slot as usize] = TokenRange { start: start as u32, len: (tokens.len() - start) as u32 };
                }
                continue;
            }
            if self.prepare(pretoken, job.is_text, work) {
                slots.push(job.slot);
            }
            if work.is_full() {
                self.turn::<Small, Middle, Large>(proof, work, slots, tokens, found);
            }
        }
        self.turn::<Small, Middle, Large>(proof, work, slots, tokens, found);
        Ok(())
    }

    /// Adds a short pretoken to the group; returns false if it has a byte without a symbol.
    #[inline(always)]
    fn prepare(&self, pretoken: &[u8], is_text: bool, work: &mut Work) -> bool {
        let Self { initial, ranks, .. } = self;
        let room = work.room();
        let first = match is_text {
            true => initial.write(pretoken, &mut room[1..]),
            false => initial.write_bytes(pretoken, &mut room[1..]),
        };
        if first.bytes < pretoken.len() || !initial.is_complete() && room[1..=first.symbols].contains(&NO_SYMBOL) {
            return false;
        }
        if first.is_ascii {
            work.push(first.symbols, 0, AsciiPairs { initial, pretoken });
        } else {
            work.push(first.symbols, first.inner << 1, AnyPairs(ranks));
        }
        true
    }

    #[inline(always)]
    fn turn<Small: MinArray, Middle: MinArray<Proof = Small::Proof>, Large: MinArray<Proof = Small::Proof>>(
        &self,
        proof: Small::Proof,
        work: &mut Work,
        slots: &mut Vec<u32>,
        tokens: &mut Vec<u32>,
        found: &mut [TokenRange],
    ) {
        work.merge::<Small, Middle, Large>(proof, &self.ranks, &self.results, |index, symbols, mut places| {
            let start = tokens.len();
            while places != 0 {
                tokens.push(symbols[places.trailing_zeros() as usize]);
                places &= places - 1;
            }
            found[slots[index] as usize] = TokenRange { start: start as u32, len: (tokens.len() - start) as u32 };
        });
        work.clear();
        slots.clear();
    }
}

/// Returns a table from rank to the result of the merges with this rank, or [`NO_SYMBOL`] if their results differ. None
/// if an id or a rank is too large.
fn results(pairs: &Pairs) -> Option<Vec<u32>> {
    const NONE_YET: u32 = u32::MAX;
    let mut results = Vec::new();
    for (_, _, merge) in pairs.iter() {
        if merge.result >= NO_SYMBOL {
            return None;
        }
        let rank = merge.rank as usize;
        results.resize(results.len().max(rank + 1), NONE_YET);
        let is_only = [NONE_YET, merge.result].contains(&results[rank]);
        results[rank] = if is_only { merge.result } else { NO_SYMBOL };
    }
    Some(results)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;

    /// Two tokens that are each half as long as a window must fit one window together, so that `joint` can check the
    /// boundary between them. If it could not, the whole text would be merged with the heap. Runs of spaces often yield
    /// tokens of this length.
    #[test]
    fn joint_of_two_tokens_of_half_a_window_is_checked() {
        let runs: Vec<Vec<u8>> = (0..8).map(|i| vec![b' '; 1 << i]).collect();
        let vocab = Vocab::new((0..).zip(&runs).map(|(id, run)| (id, Kind::Token, run.as_slice()))).unwrap();
        let model =
            Model::from_json(r#"{"type": "BPE", "ranks": "tokens", "whole_first": true}"#, &vocab, Vec::new(), &[]);
        let Fast { ranks, results, initial, .. } =
            &Fast::new(&vocab, &model.unwrap(), Marks::Written, &|| true).unwrap().unwrap();
        let tables = LongTables { vocab: &vocab, initial, ranks, results, marks: Marks::Written };
        let joint = |left, right| Window::default().joint(&tables, left, right);
        assert_eq!([joint(7, 7), joint(7, 6), joint(6, 7), joint(6, 6)], [true, true, false, false].map(Some));
    }
}
