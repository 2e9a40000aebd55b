//! Long pretokens in linear time, in windows.
//!
//! Tokens t1 … tn encode their text if and only if each adjacent pair encodes its text. Proof: consider the first merge
//! across the boundary of two tokens. Until then no merge has crossed any boundary, so the two went through the same
//! merges as in isolation, where they would also merge. Therefore a window is encoded; its last tokens, which may depend on
//! following text, are dropped; the next window starts there, and only the pair at the joint is checked. If the check
//! fails, tokens are dropped, twice as many each time.
//!
//! A run of one or a few characters repeats the same window and joint, so both are cached.
//!
//! Left out: a bound for texts whose joints always fail. None is known; after 64 dropped tokens the caller's slow path, a
//! heap, takes O(n log n) for any text. The property of adjacent pairs: H. van Antwerpen and A. Neubeck, github/rust-gems,
//! crates/bpe (2024).

use super::initial_symbols::InitialSymbols;
use super::ranks::{Ranks, NONE, NO_SYMBOL};
use crate::error::Result;
use crate::util::cancel::{CancelCheck, KeepGoing};
use crate::vocab::Vocab;

/// Symbols in a window: positions fit the low byte of a priority. Windows of 250 and 500 take the same time.
const WINDOW: usize = 256;

/// Priorities in a group, whose minimum is cached.
const GROUP: usize = 16;

/// Maximum number of dropped tokens.
const MOST_BACK: usize = 64;

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
    /// Merges the first `count` symbols; returns the number of tokens, or 0 if that is not supported here.
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

    /// Returns true if the joint of two tokens holds; None if they are too long for a window.
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

/// Tables that encoding reads.
pub(super) struct LongTables<'t> {
    pub(super) vocab: &'t Vocab,
    pub(super) initial: &'t InitialSymbols,
    pub(super) ranks: &'t Ranks,
    pub(super) results: &'t [u32],
}

/// Cached result of the last window.
#[derive(Default)]
struct LastWindow {
    start: usize,
    bytes: usize, // 0: none
    count: usize,
}

impl LongTables<'_> {
    /// Appends the tokens of `text`; returns false, with nothing appended, if the caller has to take another path.
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
        let (mut at, mut back) = (0, 1);
        let mut reached = 0; // end of the tokens whose joints held; up to there the number of dropped tokens keeps doubling, which ensures progress
        let mut known = LastWindow::default();
        let mut good = None; // the last joint that held
        let mut cancel = CancelCheck::new(keep_going);
        loop {
            cancel.check()?;
            let rest = &text[at..];
            // The same bytes, and one more, on which the symbols of the last character may depend.
            let is_known = known.bytes > 0
                && rest
                    .get(..=known.bytes)
                    .is_some_and(|bytes| *bytes == text[known.start..=known.start + known.bytes]);
            if !is_known {
                let found = self.initial.write(rest, &mut window.symbols);
                let is_known = self.initial.is_complete() || !window.symbols[..found.symbols].contains(&NO_SYMBOL);
                if found.bytes == 0 || !is_known {
                    out.truncate(from);
                    return Ok(false);
                }
                let bytes = if found.bytes < rest.len() { found.bytes } else { 0 };
                known = LastWindow { start: at, bytes, count: window.merge(self.ranks, self.results, found.symbols) };
            }
            if known.count == 0 {
                out.truncate(from);
                return Ok(false);
            }
            let tokens = &window.symbols[..known.count];
            if let Some(&last) = out[from..].last() {
                let pair = (last, tokens[0]);
                if good != Some(pair) {
                    match joint.joint(self, pair.0, pair.1) {
                        Some(true) => good = Some(pair),
                        Some(false) if back <= MOST_BACK && back < out.len() - from => {
                            for token in out.drain(out.len() - back..) {
                                at -= self.vocab.content(token).len();
                            }
                            back *= 2;
                            continue;
                        }
                        _ => {
                            out.truncate(from);
                            return Ok(false);
                        }
                    }
                }
            }
            let is_last = known.bytes == 0;
            let dropped = if is_last { 0 } else { (tokens.len() / 16).max(if tokens.len() > 16 { 4 } else { 2 }) };
            let kept = tokens.len() - dropped.min(tokens.len() - 1);
            out.extend_from_slice(&tokens[..kept]);
            if is_last {
                return Ok(true);
            }
            at += tokens[..kept].iter().map(|&token| self.vocab.content(token).len()).sum::<usize>();
            if at > reached {
                (reached, back) = (at, 1);
            }
        }
    }
}
