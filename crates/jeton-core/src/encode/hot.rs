//! What a thread met lately: pretokens of up to 15 bytes → one token or a few, in less than a megabyte.
//!
//! The words of a vocabulary take 8 MiB or 16, and those that a text uses are spread over all of it, so that most look-ups leave the second cache.
//! A text keeps using the same few thousand; here these stand close together. A new one takes the place of one in its line,
//! whichever. Nothing depends on what is here: the plain version is to look further.

use super::words::{Batch, Key, Words};
use super::BATCH;

/// Lines, with three pretokens each: 512 KiB.
const BITS: u32 = 13;

/// Tokens of a pretoken at most.
pub(super) const MOST: usize = 4;

/// What [`Hot::find`] gives for several tokens is at least this.
const SEVERAL: u32 = 1 << 31;
const COUNT_SHIFT: u32 = 24;

/// The table.
pub(super) struct Hot {
    words: Words,
    tokens: Box<[[u32; MOST]]>, // of each key, where there are several
}

impl Default for Hot {
    fn default() -> Self {
        Self { words: Words::empty(BITS), tokens: vec![[0; MOST]; 3 << BITS].into_boxed_slice() }
    }
}

impl Hot {
    /// As [`Words::find`]; the tokens of what has several are missed as well.
    #[inline]
    pub(super) fn find(
        &self,
        text: &[u8],
        bounds: &[u32],
        batch: &mut Batch,
        ids: &mut [u32],
        missed: &mut [u8; BATCH],
    ) -> usize {
        self.words.find(text, bounds, batch, ids, missed)
    }

    /// The tokens that `found` stands for, and how many.
    #[inline]
    pub(super) fn tokens(&self, found: u32) -> ([u32; MOST], usize) {
        let slot = (found & ((1 << COUNT_SHIFT) - 1)) as usize;
        (self.tokens[slot % self.tokens.len()], ((found & !SEVERAL) >> COUNT_SHIFT) as usize)
    }

    /// Remembers the tokens of a pretoken, if they are not too many.
    pub(super) fn put(&mut self, key: Key, ids: &[u32]) {
        match ids {
            [] => {}
            &[id] if id < SEVERAL => drop(self.words.put(key, |_| id)),
            [..] if ids.len() <= MOST => {
                let slot = self.words.put(key, |slot| SEVERAL | (ids.len() as u32) << COUNT_SHIFT | slot as u32);
                self.tokens[slot][..ids.len()].copy_from_slice(ids);
            }
            _ => {}
        }
    }
}
