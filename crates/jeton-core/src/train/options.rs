//! Options of learning merges, and the initial symbols.

use serde::Deserialize;

use super::merge::LearnedMerge;
use super::rules::Rule;
use super::sequences::Symbols;
use crate::error::Result;
use crate::util::spill::MemoryLimit;
use crate::vocab::alphabet::{EndOfWord, Level};

/// Order of pairs that are equally frequent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TieBreak {
    /// The one whose first occurrence in the current sequences comes first.
    First,
    /// The lowest (left id, right id).
    LowestIds,
    /// The larger (left, right) as strings, left first.
    HighestPair,
    /// The one whose result has fewer initial symbols, then the smaller string.
    Shortest,
}

/// LearnOptions of learning.
#[derive(Clone, Copy)]
pub struct LearnOptions<'a> {
    /// The tie rule.
    pub tie_break: TieBreak,
    /// At most this many merges, those that are done among them.
    pub num_merges: usize,
    /// Merges that were learned before, by the same options from the same counts: learning goes on behind them.
    pub done: &'a [LearnedMerge],
    /// Pairs less frequent than this are not merged; 0 means 1.
    pub min_frequency: u64,
    /// The unit of a symbol.
    pub level: Level,
    /// Marking of the end of a word.
    pub end: EndOfWord,
    /// The spelling of the mark, where tie rules compare strings.
    pub end_of_word: &'a str,
    /// Rule that says which pairs may merge; `None` permits all.
    pub rule: Option<&'a dyn Rule>,
    /// Most threads; their number does not change the result.
    pub threads: usize,
    /// Memory limit of sequences and posting lists.
    pub memory: &'a MemoryLimit,
    /// Thresholds.
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

/// Initial sequences, before the first merge.
#[derive(Clone, Copy)]
pub(super) enum Beginning<'a> {
    /// The symbols of an alphabet.
    Alphabet(&'a Symbols),
    /// The tokens that earlier merges make.
    Tokens(&'a dyn KnownTokens),
}

/// Tokens that are known before learning begins.
pub trait KnownTokens: Sync {
    /// The id that the first merge gets.
    fn next_id(&self) -> u32;
    /// The spelling of a token; empty where an id has none.
    fn spelling(&self, id: u32) -> &[u8];
    /// Returns the number of initial symbols of a token.
    fn num_symbols(&self, id: u32) -> u32;
    /// Encodes a pretoken with the tokens.
    ///
    /// # Errors
    /// Where they can make nothing of it.
    fn encode(&self, pretoken: &[u8], ids: &mut Vec<u32>) -> Result<()>;
}

/// Thresholds. They change how long learning takes, never the result.
#[derive(Debug, Clone, Copy)]
pub struct Tuning {
    /// Bytes of distinct pretokens for each thread: with fewer, most merges have too few places to be shared.
    pub shard_bytes: usize,
    /// Places of a pair from which on its merge is shared: visiting so many takes some hundred microseconds, handing
    /// over ten.
    pub shared_places: usize,
    /// Pairs less frequent than (symbols of the corpus / merges / this) are not listed until those that are have been
    /// merged. On the corpora that were measured, the last of 32,000 and of 128,000 merges was two to four times as
    /// frequent; unlisted, the rare pairs (nine of ten) cost nothing.
    pub floor_divisor: u64,
}

impl Default for Tuning {
    fn default() -> Self {
        Self { shard_bytes: 4 << 20, shared_places: 1 << 13, floor_divisor: 100 }
    }
}
