//! Analyzes the entries of a finished tokenizer, for `jeton.audit`.
//!
//! ```text
//! reach       search, for each entry: a text that produces the entry, or a proof that no text does
//! fate        results of this search
//! proofs      proofs that no text produces an entry
//! contexts    texts around the bytes of an entry
//! completion  bytes that complete the partial characters at the edges of an entry
//! shapes      digits, white space, partial characters, and forms of private data
//! duplicates  entries with equal text
//! ```
//!
//! Left out: severity, advice and messages, which the Python package adds.

mod completion;
mod contexts;
mod duplicates;
mod fate;
mod proofs;
mod reach;
mod shapes;

pub use duplicates::duplicates;
pub use fate::Fate;
pub use reach::{reachability, Reachability};
pub use shapes::{shape, shapes, Shape};

use crate::error::Result;
use crate::tokenizer::Tokenizer;
use crate::util::cancel::KeepGoing;

/// Returns the merges that are applied in no text, as indices in the merge list. Either another merge always forms the
/// same result first, or the result occurs in no text, not even as an intermediate symbol.
///
/// # Errors
/// `Interrupted`.
pub fn unused_merges(tok: &Tokenizer, fates: &[Fate], keep_going: KeepGoing<'_>) -> Result<Vec<u32>> {
    let Some(model) = tok.model().as_bpe() else { return Ok(Vec::new()) };
    let formation = tok.model().formation(tok.vocab(), keep_going)?;
    let trees = formation.trees();
    if !tok.model().continuing_prefix().is_empty() || trees.left.is_empty() {
        return Ok(Vec::new()); // several sequences of symbols can have the same content
    }
    let is_unused = |&(left, right, made): &(u32, u32, u32)| {
        let made = made as usize;
        (trees.left[made], trees.right[made]) != (left, right) || fates.get(made).is_some_and(|fate| fate.is_absent())
    };
    let merges = model.merges(tok.vocab(), keep_going)?;
    Ok((0..).zip(&merges).filter(|(_, merge)| is_unused(merge)).map(|(rank, _)| rank).collect())
}
