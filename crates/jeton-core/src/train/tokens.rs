//! Tokens during training, with their lengths and counts. Spellings are stored only if a tie rule or a rule about pairs
//! needs them.

use super::options::{Beginning, LearnOptions, TieBreak};
use crate::error::{Error, Result};
use crate::vocab::MAX_BYTES;

/// Lengths, counts and spellings of all tokens, by id.
#[derive(Debug)]
pub struct Tokens {
    lengths: Vec<u32>, // id -> number of cells
    symbols: Vec<u32>, // id -> number of initial symbols
    uses: Vec<u64>,    // id -> occurrences in the corpus
    in_use: u32,
    strings: Option<Spellings>,
}

/// Spellings of all tokens, concatenated.
#[derive(Debug, Default)]
pub struct Spellings {
    arena: Vec<u8>,
    spans: Vec<(u32, u32)>, // id -> range in the arena
}

impl Spellings {
    fn new(beginning: Beginning<'_>, options: &LearnOptions<'_>) -> Result<Self> {
        let mut strings = Self::default();
        match beginning {
            Beginning::Alphabet(symbols) => {
                strings.spans = vec![(0, 0); symbols.first_id as usize];
                for symbol in &symbols.symbols {
                    strings.push(|arena| {
                        symbol.content(options.level, arena);
                        if symbol.ends_word {
                            arena.extend_from_slice(options.end_of_word.as_bytes());
                        }
                    })?;
                }
            }
            Beginning::Tokens(known) => {
                for id in 0..known.next_id() {
                    strings.push(|arena| arena.extend_from_slice(known.spelling(id)))?;
                }
            }
        }
        Ok(strings)
    }

    /// Returns the spelling of a token.
    pub fn of(&self, id: u32) -> &[u8] {
        let (start, end) = self.spans[id as usize];
        &self.arena[start as usize..end as usize]
    }

    /// Returns the concatenated spelling of two tokens.
    pub fn joined(&self, left: u32, right: u32) -> impl Iterator<Item = &u8> {
        self.of(left).iter().chain(self.of(right))
    }

    fn push(&mut self, spell: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        let start = self.arena.len();
        spell(&mut self.arena);
        if self.arena.len() > MAX_BYTES {
            return Err(Error::training(
                "the learned tokens spell more than 1 GiB: raise min_frequency or use a pattern",
            ));
        }
        self.spans.push((start as u32, self.arena.len() as u32));
        Ok(())
    }
}

impl Tokens {
    /// Creates the tokens that exist before the first merge.
    ///
    /// # Errors
    /// Spellings of more than 1 GiB in total.
    pub fn new(beginning: Beginning<'_>, options: &LearnOptions<'_>) -> Result<Self> {
        let symbols = match beginning {
            Beginning::Alphabet(symbols) => vec![1; symbols.first_id as usize + symbols.symbols.len()],
            Beginning::Tokens(known) => (0..known.next_id()).map(|id| known.num_symbols(id)).collect(),
        };
        let num_ids = symbols.len();
        let mut tokens = Self { lengths: vec![1; num_ids], symbols, uses: vec![0; num_ids], in_use: 0, strings: None };
        if options.rule.is_some() || matches!(options.tie_break, TieBreak::HighestPair | TieBreak::Shortest) {
            tokens.strings = Some(Spellings::new(beginning, options)?);
        }
        Ok(tokens)
    }

    /// Returns the number of ids: the highest id plus one.
    pub fn len(&self) -> usize {
        self.lengths.len()
    }

    /// Returns the number of cells of a token: one for initial tokens.
    #[inline]
    pub fn length(&self, id: u32) -> u32 {
        self.lengths[id as usize]
    }

    /// Returns the number of initial symbols of a token.
    pub fn num_symbols(&self, id: u32) -> u32 {
        self.symbols[id as usize]
    }

    /// Returns the number of distinct tokens that occur.
    pub fn in_use(&self) -> u32 {
        self.in_use
    }

    /// Returns the spellings; None if they are not needed.
    pub fn strings(&self) -> Option<&Spellings> {
        self.strings.as_ref()
    }

    /// Adds `weight` occurrences of an initial symbol.
    pub fn occurs(&mut self, id: u32, weight: u64) {
        let uses = &mut self.uses[id as usize];
        self.in_use += u32::from(*uses == 0 && weight > 0);
        *uses += weight;
    }

    /// Adds the token of a merge; returns its id.
    ///
    /// # Errors
    /// As [`Tokens::new`].
    pub fn push(&mut self, left: u32, right: u32) -> Result<u32> {
        let id = self.lengths.len() as u32;
        self.lengths.push(self.length(left) + self.length(right));
        self.symbols.push(self.num_symbols(left) + self.num_symbols(right));
        self.uses.push(0);
        if let Some(strings) = &mut self.strings {
            let parts = [strings.spans[left as usize], strings.spans[right as usize]];
            strings.push(|arena| {
                for (start, end) in parts {
                    arena.extend_from_within(start as usize..end as usize);
                }
            })?;
        }
        Ok(id)
    }

    /// Adds the result of a merge that was applied before the sequences were built. In the sequences, this token is a
    /// single symbol, so it covers one cell.
    ///
    /// # Errors
    /// As [`Tokens::new`].
    pub fn push_done(&mut self, left: u32, right: u32) -> Result<u32> {
        let id = self.push(left, right)?;
        self.lengths[id as usize] = 1;
        Ok(id)
    }

    /// Sets the length of every token to one cell.
    pub fn compact(&mut self) {
        self.lengths.fill(1);
    }

    /// Updates the counts after a merge: `merged` is the number of pairs that were replaced by `result`.
    pub fn merged(&mut self, left: u32, right: u32, result: u32, merged: u64) {
        self.uses[result as usize] = merged;
        self.uses[left as usize] -= merged;
        self.uses[right as usize] -= merged;
        let gone = |id: u32| u32::from(self.uses[id as usize] == 0);
        self.in_use += 1;
        self.in_use -= gone(left) + if left == right { 0 } else { gone(right) };
    }
}
