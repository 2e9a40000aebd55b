//! Appends entries to a vocabulary, together with new merges that form these entries from text.
//!
//! Existing merges come first: they merge the bytes of a new entry into tokens. New merges at the end of the list join
//! these tokens. The encoding of other text therefore changes only where a new merge applies after all existing merges.
//! If the merges produce an entry from a text that contains only the entry, the merges also produce the entry inside a
//! longer pretoken, unless an earlier merge crosses an edge of the entry. The reason: the last merge of a token is the
//! same in any text (`reconstruct`).
//!
//! Cost: O(n log n) for an entry of n bytes that is joined from two tokens. O(n²) for an entry that needs bridges
//! (intermediate entries); [`MAX_BRIDGED`] bounds the length of such an entry. Left out: end-of-word marks and
//! prefixes; models with them are refused.

use std::collections::HashMap;

use super::bpe::RankOrder;
use super::merging::Merger;
use super::output::Out;
use super::pairs::{Merge, Pairs};
use super::scratch::Scratch;
use super::unknown::char_len;
use super::Model;
use crate::error::{Error, Result};
use crate::util::cancel::{CancelCheck, KeepGoing};
use crate::vocab::alphabet::{EndOfWord, Level};
use crate::vocab::{Kind, List, Vocab};

/// Maximum bytes of an entry that is joined from more than two tokens.
pub const MAX_BRIDGED: usize = 1 << 10;

/// Maximum number of passes over the requested entries that are still missing. A trained vocabulary lists each entry
/// after its parts, so the first pass usually appends every entry that can be appended. If some entries are still
/// missing, a second pass usually appends nothing, and appending ends.
const MAX_PASSES: usize = 8;

/// Result of appending one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Fate {
    /// The entry was appended and can be produced: it is the result of a merge, or a new symbol of the alphabet.
    Appended = 0,
    /// The vocabulary already has the entry.
    Existing = 1,
    /// The entry was not appended: the entry is spelled by more than two tokens, and bridges (intermediate
    /// entries) are not allowed.
    Crossed = 2,
    /// The entry was not appended: one of its characters or bytes is not in the alphabet.
    NoSymbol = 3,
    /// An added token already has the content of the entry.
    AddedToken = 4,
    /// The entry existed; new merges now form it.
    Reached = 5,
    /// The entry was appended without a merge. The encoder produces the entry only for a pretoken that equals the
    /// entry, because whole pretokens are looked up in the vocabulary before merging.
    Whole = 6,
}

/// Appended entries.
#[derive(Debug, Default)]
pub struct Appended {
    /// The new entries, including bridges.
    pub entries: List,
    /// The new merges, in order of rank.
    pub merges: Vec<(u32, u32, u32)>,
    /// Id of each requested entry; `u32::MAX` if the entry has none.
    pub ids: Vec<u32>,
    /// Result for each requested entry.
    pub fates: Vec<Fate>,
}

/// Options of appending.
#[derive(Debug, Clone, Copy)]
pub struct AppendOptions {
    /// Id of the first new entry.
    pub next_id: u32,
    /// If true, intermediate entries (bridges) are appended where the requested entries need them. New merges
    /// are also added for existing entries that merges could not produce before.
    pub bridges: bool,
    /// If true, characters that are not in the alphabet are added to it.
    pub extends_alphabet: bool,
    /// If true, an entry that is spelled by more than two tokens after all merges is appended too, but without a merge.
    pub keeps_crossed: bool,
}

struct Appender<'a> {
    vocab: &'a Vocab,
    by_character: bool,
    pairs: Pairs,
    next_rank: Option<u32>,        // None: the rank of a token is its id
    known: HashMap<&'a [u8], u32>, // added tokens
    made: HashMap<Vec<u8>, u32>,
    contents: HashMap<u32, Vec<u8>>, // of new ids
    next_id: u32,
    done: Appended,
    scratch: Scratch,
    ids: Vec<u32>,
}

impl Model {
    /// Appends entries in the given order, with merges.
    ///
    /// # Errors
    /// - `Unsupported`: the model has no merges, or has one of these features: an end-of-word mark, a prefix, unused
    ///   pieces, pieces with characters that are not pieces themselves.
    /// - `Config`: an entry that needs bridges has more than [`MAX_BRIDGED`] bytes.
    /// - `Interrupted`.
    pub fn append(
        &self,
        vocab: &Vocab,
        contents: &[&[u8]],
        options: AppendOptions,
        keep_going: KeepGoing<'_>,
    ) -> Result<Appended> {
        let refuse = |what: &str| Err(Error::unsupported(what, format!("{what} cannot get new merges")));
        let (by_character, pairs, next_rank) = match self {
            Self::Bpe(model) if model.alphabet.end != EndOfWord::None => {
                return refuse("a model with an end-of-word mark")
            }
            Self::Bpe(model) if !model.alphabet.prefix().is_empty() => {
                return refuse("a model with continuing_subword_prefix");
            }
            Self::Bpe(model) => {
                let pairs = model.pairs(vocab, keep_going)?.clone();
                let by_rank = model.ranks == RankOrder::Merges;
                let next = pairs.iter().map(|(_, _, merge)| merge.rank + 1).max().unwrap_or(0);
                (model.alphabet.level == Level::Char, pairs, by_rank.then_some(next))
            }
            Self::Pieces(model) if !model.only_merges() => {
                return refuse(
                    "a SentencePiece model with unused pieces or pieces with characters that are not pieces",
                );
            }
            Self::Pieces(model) => {
                let pairs = model.pairs(vocab, keep_going)?.clone();
                let next = pairs.iter().map(|(_, _, merge)| merge.rank + 1).max().unwrap_or(0);
                (true, pairs, Some(next))
            }
            _ => return refuse("a model without merges"),
        };
        let known = vocab.iter().filter(|entry| !matches!(entry.1, Kind::Token | Kind::Unused | Kind::Byte));
        let mut appender = Appender {
            vocab,
            by_character,
            pairs,
            next_rank,
            known: known.map(|(id, _, content)| (content, id)).collect(),
            made: HashMap::new(),
            contents: HashMap::new(),
            next_id: options.next_id,
            done: Appended::default(),
            scratch: Scratch::default(),
            ids: Vec::new(),
        };
        appender.run(contents, options, keep_going)?;
        Ok(appender.done)
    }
}

impl Appender<'_> {
    fn run(&mut self, contents: &[&[u8]], options: AppendOptions, keep_going: KeepGoing<'_>) -> Result<()> {
        let mut cancel = CancelCheck::new(keep_going);
        self.done.ids = vec![u32::MAX; contents.len()];
        self.done.fates = vec![Fate::Crossed; contents.len()];
        let mut open: Vec<usize> = (0..contents.len()).collect();
        for _ in 0..MAX_PASSES {
            let before = open.len();
            let mut still = Vec::new();
            for &at in &open {
                cancel.check()?;
                let (id, fate) = self.one(contents[at], options, keep_going)?;
                (self.done.ids[at], self.done.fates[at]) = (id, fate);
                if fate == Fate::Crossed {
                    still.push(at);
                }
            }
            open = still;
            if open.is_empty() || open.len() == before {
                break;
            }
        }
        if options.keeps_crossed {
            for at in open {
                (self.done.ids[at], self.done.fates[at]) = (self.push(contents[at].to_vec()), Fate::Whole);
            }
        }
        Ok(())
    }

    fn find(&self, content: &[u8]) -> Option<u32> {
        self.vocab.find(content, false).or_else(|| self.made.get(content).copied())
    }

    fn one(&mut self, content: &[u8], options: AppendOptions, keep_going: KeepGoing<'_>) -> Result<(u32, Fate)> {
        if content.is_empty() {
            return Ok((u32::MAX, Fate::NoSymbol));
        }
        if let Some(&id) = self.known.get(content) {
            return Ok((id, Fate::AddedToken));
        }
        let existing = self.find(content);
        if let (Some(id), false) = (existing, options.bridges) {
            let is_made = self.made.contains_key(content); // a character added to the alphabet for another entry
            return Ok((id, if is_made { Fate::Appended } else { Fate::Existing }));
        }
        if !self.units(content, options.extends_alphabet) {
            return Ok((u32::MAX, Fate::NoSymbol));
        }
        self.merge(content.len(), keep_going)?;
        if let &[id] = &self.ids[..] {
            // After the merges, a single symbol remains. It is either a new character of the alphabet, or an existing
            // entry that needs no new merges.
            let is_new = existing.is_none();
            return Ok((id, if is_new { Fate::Appended } else { Fate::Existing }));
        }
        if self.ids.len() > 2 && !options.bridges {
            return Ok((u32::MAX, Fate::Crossed));
        }
        if self.ids.len() > 2 && content.len() > MAX_BRIDGED {
            return Err(Error::config(format!("an entry of {} bytes is over {MAX_BRIDGED}", content.len())));
        }
        while let &[left, right, ..] = &self.ids[..] {
            self.join(left, right);
            self.scratch.symbols.clone_from(&self.ids);
            self.merge(content.len(), keep_going)?;
        }
        let id = self.ids.first().copied().unwrap_or(u32::MAX);
        Ok((id, if existing.is_some() { Fate::Reached } else { Fate::Appended }))
    }

    /// Splits `content` into characters or bytes, and writes the symbol of each to `scratch.symbols`. If `extends` is
    /// true, symbols that are missing from the alphabet are added, except those that are added tokens. Returns false if
    /// a symbol is still missing.
    fn units(&mut self, content: &[u8], extends: bool) -> bool {
        self.scratch.symbols.clear();
        let mut at = 0;
        while at < content.len() {
            let next = at + if self.by_character { char_len(content, at) } else { 1 };
            let unit = &content[at..next];
            let id = match self.find(unit) {
                Some(id) => id,
                None if extends && !self.known.contains_key(unit) => self.push(unit.to_vec()),
                None => return false,
            };
            self.scratch.symbols.push(id);
            at = next;
        }
        true
    }

    /// Merges `scratch.symbols` into `ids`.
    fn merge(&mut self, len: usize, keep_going: KeepGoing<'_>) -> Result<()> {
        self.ids.clear();
        let merger = Merger { merges: &self.pairs, word_start: None };
        merger.run(len, keep_going, &mut self.scratch, &mut Out::ids(&mut self.ids))
    }

    fn content(&self, id: u32) -> &[u8] {
        self.contents.get(&id).map_or_else(|| self.vocab.content(id), Vec::as_slice)
    }

    /// Adds the merge of two tokens.
    fn join(&mut self, left: u32, right: u32) {
        let content = [self.content(left), self.content(right)].concat();
        let result = self.find(&content).unwrap_or_else(|| self.push(content));
        let rank = self.next_rank.unwrap_or(result);
        self.next_rank = self.next_rank.map(|rank| rank + 1);
        self.pairs.insert(left, right, Merge { rank, result });
        self.done.merges.push((left, right, result));
    }

    fn push(&mut self, content: Vec<u8>) -> u32 {
        let id = self.next_id;
        self.next_id += 1;
        self.done.entries.push(id, Kind::Token, &content);
        self.contents.insert(id, content.clone());
        self.made.insert(content, id);
        id
    }
}
