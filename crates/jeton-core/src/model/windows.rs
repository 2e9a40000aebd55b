//! Merges long pretokens in windows, in linear time.
//!
//! Tokens t1 … tn are the encoding of their whole text if and only if each pair of adjacent tokens is the encoding of
//! the text of this pair. Proof: consider the first merge across the boundary of two tokens. Before this merge, no
//! merge has crossed any boundary, so the merges inside the two tokens were the same as when the text of the pair is
//! encoded alone. The crossing merge would therefore occur in that encoding, too: a contradiction. So a pretoken is
//! merged in windows. The last tokens of a window are dropped, because they can depend on the following text, and the
//! next window starts in their place. Only the joint, the pair of tokens at which two windows meet, is checked. If the
//! check fails, more tokens are dropped, twice as many each time.
//!
//! `fast::long` merges windows of bytes with the tables of the fast path; `merging` merges windows of symbols for any
//! model.
//!
//! Left out: texts whose joints always fail, because no time bound is known for them. After 64 dropped tokens, the
//! caller merges the whole pretoken with a priority queue, in O(n log n) for any text. Source of the property of
//! adjacent pairs: H. van Antwerpen and A. Neubeck, github/rust-gems, crates/bpe (2024).

use crate::error::Result;
use crate::util::cancel::{CancelCheck, KeepGoing};

/// Maximum number of tokens that are dropped after a failed check of a joint.
pub(super) const MAX_DROPPED: usize = 64;

/// Number of joints (pairs of tokens where two windows meet) in the cache of check results. In a run of one character,
/// a few joints recur.
const JOINTS: usize = 4;

/// A window after its merges.
#[derive(Debug, Clone, Copy)]
pub(super) struct MergedWindow {
    /// Number of tokens of the window, at least 1.
    pub(super) num_tokens: usize,
    /// First token of the window.
    pub(super) first: u32,
    /// True if the window ends at the end of the pretoken.
    pub(super) is_last: bool,
}

/// A pretoken that is merged in windows, and its output. The implementation chooses the unit of positions: bytes or
/// symbols.
pub(super) trait Windows {
    /// Merges the window at `at`; None if the implementation cannot merge it.
    fn merge(&mut self, at: usize) -> Result<Option<MergedWindow>>;

    /// Returns the last token of the output, if any.
    fn last(&self) -> Option<u32>;

    /// `pair` is the last token of the output and the first token of the window at `at`. Returns true if their
    /// concatenated text is encoded as exactly these two tokens; None if this cannot be checked.
    fn joint_holds(&mut self, at: usize, pair: (u32, u32)) -> Result<Option<bool>>;

    /// Removes the last `count` tokens of the output and returns the position of the first of them. Returns None, and
    /// removes nothing, if the output has at most `count` tokens.
    fn remove_last(&mut self, at: usize, count: usize) -> Option<usize>;

    /// Appends the first `count` tokens of the window at `at` to the output; returns the position after them.
    fn append(&mut self, at: usize, count: usize) -> usize;
}

/// Appends the tokens of a pretoken. Returns false if the caller must merge the pretoken as a whole; some tokens have
/// then been appended already.
///
/// # Errors
/// Errors of `windows`; `Interrupted`.
#[inline(always)]
pub(super) fn merge_in_windows(windows: &mut impl Windows, keep_going: KeepGoing<'_>) -> Result<bool> {
    let (mut at, mut num_dropped) = (0, 1);
    let mut reached = 0; // end of the tokens with valid joints; `num_dropped` doubles until `at` is beyond it
    let mut joints = [None; JOINTS]; // cache: the last checked pairs, and whether they were valid
    let mut next_joint = 0;
    let mut cancel = CancelCheck::new(keep_going);
    loop {
        cancel.check()?;
        let Some(MergedWindow { num_tokens, first, is_last }) = windows.merge(at)? else { return Ok(false) };
        if let Some(last) = windows.last() {
            let pair = (last, first);
            let known = joints.iter().flatten().find(|(joint, _)| *joint == pair).map(|&(_, holds)| holds);
            let holds = match known {
                Some(holds) => holds,
                None => {
                    let Some(holds) = windows.joint_holds(at, pair)? else { return Ok(false) };
                    joints[next_joint % JOINTS] = Some((pair, holds));
                    next_joint += 1;
                    holds
                }
            };
            if !holds {
                let start = windows.remove_last(at, num_dropped).filter(|_| num_dropped <= MAX_DROPPED);
                let Some(start) = start else { return Ok(false) };
                at = start;
                num_dropped *= 2;
                continue;
            }
        }
        if is_last {
            windows.append(at, num_tokens);
            return Ok(true);
        }
        let uncertain = (num_tokens / 16).max(if num_tokens > 16 { 4 } else { 2 });
        at = windows.append(at, num_tokens - uncertain.min(num_tokens - 1));
        if at > reached {
            (reached, num_dropped) = (at, 1);
        }
    }
}
