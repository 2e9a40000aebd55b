//! Options of learning merges, and the sequences with which learning begins.

use serde::Deserialize;

use super::merge::LearnedMerge;
use super::rules::Rule;
use super::sequences::Symbols;
use crate::error::Result;
use crate::util::spill::MemoryLimit;
use crate::vocab::alphabet::{EndOfWord, Level};

/// Tie rule: which of the pairs with equal counts is merged first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TieBreak {
    /// Pair with the first occurrence in the current sequences.
    First,
    /// Pair with the lowest (left id, right id).
    LowestIds,
    /// Pair with the highest spellings: the spellings of the left tokens are compared first, then those of the right.
    HighestPair,
    /// Pair whose result consists of the fewest symbols of the alphabet. Among several such pairs, the one whose result
    /// has the spelling that is first in byte order.
    Shortest,
}

/// Options of learning merges.
#[derive(Clone, Copy)]
pub struct LearnOptions<'a> {
    /// Tie rule: order of pairs with equal counts.
    pub tie_break: TieBreak,
    /// Maximum number of merges, including `done`.
    pub num_merges: usize,
    /// Merges that an earlier run learned from the same counts with these options; learning continues after them.
    pub done: &'a [LearnedMerge],
    /// Pairs with a lower count are not merged; 0 means 1.
    pub min_frequency: u64,
    /// Unit of a symbol: a byte or a character.
    pub level: Level,
    /// Marking of the last symbol of a word.
    pub end: EndOfWord,
    /// Spelling of the end-of-word mark, for tie rules that compare strings.
    pub end_of_word: &'a str,
    /// Rule that determines which pairs are allowed to merge; `None` permits all pairs.
    pub rule: Option<&'a dyn Rule>,
    /// Maximum number of threads; does not change the result.
    pub threads: usize,
    /// Memory limit of sequences and posting lists.
    pub memory: &'a MemoryLimit,
    /// Thresholds that affect only the time of learning.
    pub tuning: Tuning,
}

static UNLIMITED: MemoryLimit = MemoryLimit::unlimited();

impl Default for LearnOptions<'_> {
    fn default() -> Self {
        Self {
            tie_break: TieBreak::LowestIds,
            num_merges: 0,
            done: &[],
            min_frequency: 1,
            level: Level::Byte,
            end: EndOfWord::None,
            end_of_word: "",
            rule: None,
            threads: 1,
            memory: &UNLIMITED,
            tuning: Tuning::default(),
        }
    }
}

/// Initial sequences, before the first merge of this run.
#[derive(Clone, Copy)]
pub(super) enum Beginning<'a> {
    /// Pretokens are split into symbols of an alphabet.
    Alphabet(&'a Symbols),
    /// Pretokens are encoded with the tokens of earlier merges.
    Tokens(&'a dyn KnownTokens),
}

/// Tokens that exist before learning, from earlier merges.
pub trait KnownTokens: Sync {
    /// Returns the id that the first new merge gets. All known tokens have lower ids.
    fn next_id(&self) -> u32;
    /// Returns the spelling of a token; empty for an unknown id.
    fn spelling(&self, id: u32) -> &[u8];
    /// Returns the number of initial symbols of a token.
    fn num_symbols(&self, id: u32) -> u32;
    /// Encodes a pretoken with the known tokens.
    ///
    /// # Errors
    /// An error for a pretoken that cannot be encoded.
    fn encode(&self, pretoken: &[u8], ids: &mut Vec<u32>) -> Result<()>;
}

/// Thresholds, which affect the time of learning, but not the result.
#[derive(Debug, Clone, Copy)]
pub struct Tuning {
    /// Minimum number of bytes of distinct pretokens for each thread. With fewer bytes, most merges change so few
    /// positions that threads would not save time.
    pub shard_bytes: usize,
    /// A merge is divided among threads if its pair has at least this many positions. Visiting that many positions
    /// takes a few hundred microseconds, and synchronizing threads takes ten microseconds.
    pub shared_places: usize,
    /// Divisor that determines the floor, the minimum count of a pair with a posting list, at the start of learning:
    /// floor = symbols of the corpus / merges / this value. About nine tenths of the pairs have lower counts. They get
    /// posting lists only after all other pairs are merged, so they usually cost nothing. On the measured corpora, with
    /// 32,000 and with 128,000 merges, the last merge was two to four times as frequent as the floor.
    pub floor_divisor: u64,
}

impl Default for Tuning {
    fn default() -> Self {
        Self { shard_bytes: 4 << 20, shared_places: 1 << 13, floor_divisor: 100 }
    }
}
