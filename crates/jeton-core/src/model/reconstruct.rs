//! Merges of a vocabulary that ranks tokens: the last merge of each token, found by merging its bytes alone.
//!
//! Adjacent symbols merge if their concatenation is a token; the lowest rank first, then the leftmost. Before a token is formed, no merge
//! crosses its edges, so the merges inside do not depend on the context: in any text, its last two symbols are those of its bytes alone.
//! One pair for each token therefore suffices, whether or not ranks increase along merges. A token whose bytes alone end in more than two
//! symbols is unreachable.
//!
//! Shorter tokens come first, because only they can occur inside.
//!
//! Cost: O(n log n) for n bytes of tokens of any lengths. Cancellable.

use super::merging::Merger;
use super::output::Out;
use super::pairs::{Merge, Pairs};
use super::scratch::Scratch;
use crate::error::Result;
use crate::util::cancel::{CancelCheck, KeepGoing};
use crate::vocab::Vocab;

/// Minimum length of tokens with a cancellation check each.
const LONG: usize = 64;

/// Returns the last merges of `tokens`. `symbols` appends the initial symbols of a content, and returns false if it has none; `rank` returns
/// the rank of an id.
///
/// # Errors
/// `Interrupted`.
pub(super) fn merges_of_tokens<'v>(
    vocab: &'v Vocab,
    tokens: impl Iterator<Item = (u32, &'v [u8])>,
    symbols: impl Fn(&[u8], &mut Vec<u32>) -> bool,
    rank: impl Fn(u32) -> u32,
    keep_going: KeepGoing<'_>,
) -> Result<Pairs> {
    let mut tokens: Vec<(u32, &[u8])> = tokens.collect();
    tokens.sort_by_key(|(_, content)| content.len());
    let mut pairs = Pairs::with_capacity(tokens.len());
    let (mut scratch, mut ids, mut cancel) = (Scratch::default(), Vec::new(), CancelCheck::new(keep_going));
    for (result, content) in tokens {
        if content.len() < LONG {
            cancel.check()?;
        } else {
            cancel.check_now()?;
        }
        scratch.symbols.clear();
        if !symbols(content, &mut scratch.symbols) || scratch.symbols.len() < 2 {
            continue;
        }
        ids.clear();
        let merger = Merger { merges: &pairs, word_start: None };
        merger.run(content.len(), keep_going, &mut scratch, &mut Out::ids(&mut ids))?;
        if let &[left, right] = &ids[..] {
            // The content of the unknown token may differ from the text.
            let rest = content.strip_prefix(vocab.content(left));
            if rest.is_some_and(|rest| rest == vocab.content(right)) {
                pairs.insert(left, right, Merge { rank: rank(result), result });
            }
        }
    }
    Ok(pairs)
}
