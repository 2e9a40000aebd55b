//! Merges long pretokens in windows of 256 symbols (`windows`), with the tables of the fast path.
//!
//! A window is merged in arrays; the lowest rank of each group of 16 positions is cached. A run of one or a few
//! repeated characters yields the same window again and again, so the result of the last window is cached, too.

use super::initial_symbols::InitialSymbols;
use super::ranks::{Ranks, NONE, NO_SYMBOL};
use crate::error::Result;
use crate::model::windows::{merge_in_windows, MergedWindow, Windows};
use crate::util::cancel::KeepGoing;
use crate::vocab::marks::Marks;
use crate::vocab::Vocab;

/// Number of symbols in a window. With this number, positions fit the low byte of a priority. Windows of 250 and 500
/// symbols take the same time.
const WINDOW: usize = 256;

/// Number of priorities in a group. The minimum of each group is cached.
const GROUP: usize = 16;

/// Window being merged: a linked list in arrays.
#[derive(Debug)]
pub(super) struct Window {
    symbols: [u32; WINDOW],
    priorities: [u32; WINDOW], // rank << 8 | position
    lowest: [u32; WINDOW / GROUP],
    next: [u16; WINDOW],
    previous: [u16; WINDOW],
}

impl Default for Window {
    fn default() -> Self {
        Self {
            symbols: [0; WINDOW],
            priorities: [NONE; WINDOW],
            lowest: [NONE; WINDOW / GROUP],
            next: [0; WINDOW],
            previous: [0; WINDOW],
        }
    }
}

#[inline(always)]
fn priority(rank: u32, place: usize) -> u32 {
    if rank == NONE {
        NONE
    } else {
        rank << 8 | place as u32
    }
}

impl Window {
    /// Merges the first `count` symbols; returns the number of tokens, or 0 if a merge needs the slow path.
    #[inline(always)]
    fn merge(&mut self, ranks: &Ranks, results: &[u32], count: usize) -> usize {
        let Self { symbols, priorities, lowest, next, previous } = self;
        priorities.fill(NONE);
        for place in 0..count {
            next[place] = place as u16 + 1;
            previous[place] = (place as u16).wrapping_sub(1);
            if place + 1 < count {
                priorities[place] = priority(ranks.get(symbols[place], symbols[place + 1]), place);
            }
        }
        let least = |priorities: &[u32; WINDOW], group: usize| {
            priorities[group * GROUP..(group + 1) * GROUP].iter().fold(NONE, |least, &value| least.min(value))
        };
        for (group, low) in lowest.iter_mut().enumerate() {
            *low = least(priorities, group);
        }
        loop {
            let first = lowest.iter().fold(NONE, |least, &value| least.min(value));
            if first == NONE {
                break;
            }
            let place = (first & 0xFF) as usize;
            let rank = first >> 8;
            let id = if results.is_empty() { rank } else { results[rank as usize] };
            if id == NO_SYMBOL {
                return 0;
            }
            let gone = usize::from(next[place]);
            let after = usize::from(next[gone]);
            symbols[place] = id;
            next[place] = after as u16;
            priorities[gone] = NONE;
            priorities[place] = NONE;
            if after < count {
                previous[after] = place as u16;
                priorities[place] = priority(ranks.get(id, symbols[after]), place);
            }
            let groups = (place / GROUP, gone / GROUP);
            if place > 0 {
                let before = usize::from(previous[place]);
                priorities[before] = priority(ranks.get(symbols[before], id), before);
                if before / GROUP != groups.0 {
                    lowest[before / GROUP] = least(priorities, before / GROUP);
                }
            }
            lowest[groups.0] = least(priorities, groups.0);
            if groups.1 != groups.0 {
                lowest[groups.1] = least(priorities, groups.1);
            }
        }
        let (mut at, mut left) = (0, 0);
        while at < count {
            symbols[left] = symbols[at];
            left += 1;
            at = usize::from(next[at]);
        }
        left
    }

    /// Returns true if the concatenated bytes of the two tokens are encoded as exactly these tokens; None if they are
    /// too long for a window.
    #[inline(always)]
    pub(super) fn joint(&mut self, tables: &LongTables<'_>, left: u32, right: u32) -> Option<bool> {
        let (first, second) = (tables.vocab.content(left), tables.vocab.content(right));
        let len = first.len() + second.len();
        if len + tables.initial.room() > WINDOW {
            return None;
        }
        let mut both = [0; WINDOW];
        both[..first.len()].copy_from_slice(first);
        both[first.len()..len].copy_from_slice(second);
        let count = tables.initial.spell(&both[..len], &mut self.symbols);
        let left_over = self.merge(tables.ranks, tables.results, count);
        Some(left_over == 2 && self.symbols[..2] == [left, right])
    }
}

/// Lookup tables that are used to encode a text.
pub(super) struct LongTables<'t> {
    pub(super) vocab: &'t Vocab,
    pub(super) initial: &'t InitialSymbols,
    pub(super) ranks: &'t Ranks,
    pub(super) results: &'t [u32],
    pub(super) marks: Marks,
}

/// Cached result of the last window.
#[derive(Default)]
struct LastWindow {
    start: usize,
    bytes: usize, // 0: nothing cached
    count: usize,
}

/// Text being encoded. Its tokens so far are `out[from..]`. Positions are byte offsets in the text.
struct LongText<'t> {
    tables: &'t LongTables<'t>,
    text: &'t [u8],
    window: &'t mut Window,
    joint: &'t mut Window,
    known: LastWindow,
    from: usize,
    out: &'t mut Vec<u32>,
}

impl Windows for LongText<'_> {
    #[inline(always)]
    fn merge(&mut self, at: usize) -> Result<Option<MergedWindow>> {
        let Self { tables, text, window, known, .. } = self;
        let rest = &text[at..];
        // Compares the bytes of the last window and the byte after them, because the symbols of the last character can
        // depend on the byte after it.
        let is_known = known.bytes > 0
            && rest.get(..=known.bytes).is_some_and(|bytes| *bytes == text[known.start..=known.start + known.bytes]);
        if !is_known {
            let found = tables.initial.write(rest, &mut window.symbols);
            let has_all = tables.initial.is_complete() || !window.symbols[..found.symbols].contains(&NO_SYMBOL);
            if found.bytes == 0 || !has_all {
                return Ok(None);
            }
            let bytes = if found.bytes < rest.len() { found.bytes } else { 0 };
            let count = window.merge(tables.ranks, tables.results, found.symbols);
            *known = LastWindow { start: at, bytes, count };
        }
        if known.count == 0 {
            return Ok(None);
        }
        Ok(Some(MergedWindow { num_tokens: known.count, first: window.symbols[0], is_last: known.bytes == 0 }))
    }

    #[inline(always)]
    fn last(&self) -> Option<u32> {
        self.out[self.from..].last().copied()
    }

    #[inline(always)]
    fn joint_holds(&mut self, _: usize, (left, right): (u32, u32)) -> Result<Option<bool>> {
        Ok(self.joint.joint(self.tables, left, right))
    }

    #[inline(always)]
    fn remove_last(&mut self, at: usize, count: usize) -> Option<usize> {
        let Self { tables, from, out, .. } = self;
        let stays = out.len().checked_sub(count).filter(|&stays| stays > *from)?;
        Some(at - tables.num_bytes(out.drain(stays..)))
    }

    #[inline(always)]
    fn append(&mut self, at: usize, count: usize) -> usize {
        let tokens = &self.window.symbols[..count];
        self.out.extend_from_slice(tokens);
        at + self.tables.num_bytes(tokens.iter().copied())
    }
}

impl LongTables<'_> {
    /// Returns the length of a sequence of tokens in bytes.
    #[inline(always)]
    fn num_bytes(&self, tokens: impl Iterator<Item = u32>) -> usize {
        tokens.map(|token| self.marks.len(self.vocab.content(token))).sum()
    }

    /// Appends the tokens of `text`; returns false, with nothing appended, if the caller has to use the slow path.
    #[inline(always)]
    pub(super) fn encode_long(
        &self,
        text: &[u8],
        window: &mut Window,
        joint: &mut Window,
        keep_going: KeepGoing<'_>,
        out: &mut Vec<u32>,
    ) -> Result<bool> {
        let from = out.len();
        let mut text = LongText { tables: self, text, window, joint, known: LastWindow::default(), from, out };
        let done = merge_in_windows(&mut text, keep_going)?;
        if !done {
            out.truncate(from);
        }
        Ok(done)
    }
}
