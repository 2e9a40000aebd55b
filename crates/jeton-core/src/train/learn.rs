//! Counts → merges. `engine` learns in memory; beyond a memory limit, `external` learns from sequences in a file.
//!
//! Both learn the same merges. Plain version: `reference/step04_train.py`.

use super::count::Counts;
use super::engine::{first_floor, learn_in_memory, Floors, State};
use super::external;
use super::layout::{lay_out, Layout};
use super::merge::{LearnedMerge, OnMerge};
use super::options::{Beginning, KnownTokens, LearnOptions};
use super::sequences::Symbols;
use super::symbol_array::SymbolArray;
use crate::error::Result;

/// Learns merges from counts. `watch` is called before each merge, and while pairs are counted.
///
/// # Errors
/// `Interrupted`; [`crate::error::Error::training`] for a corpus that is too large: 2³¹ symbols in the distinct
/// pretokens of one thread, 2⁶³ symbols in total, or spellings of more than 1 GiB; at character level,
/// [`crate::error::Error::text`] for a pretoken that is not UTF-8.
pub fn learn(
    counts: &Counts,
    symbols: &Symbols,
    options: &LearnOptions<'_>,
    watch: &mut OnMerge<'_>,
) -> Result<Vec<LearnedMerge>> {
    learn_from(counts, Beginning::Alphabet(symbols), options, watch)
}

/// Continues training from the tokens of earlier merges.
///
/// # Errors
/// As [`learn`]; errors of `known`'s methods.
pub fn learn_more(
    counts: &Counts,
    known: &dyn KnownTokens,
    options: &LearnOptions<'_>,
    watch: &mut OnMerge<'_>,
) -> Result<Vec<LearnedMerge>> {
    learn_from(counts, Beginning::Tokens(known), options, watch)
}

fn learn_from(
    counts: &Counts,
    beginning: Beginning<'_>,
    options: &LearnOptions<'_>,
    watch: &mut OnMerge<'_>,
) -> Result<Vec<LearnedMerge>> {
    let options = &LearnOptions { done: &options.done[..options.done.len().min(options.num_merges)], ..*options };
    counts.adopt_by(options.memory);
    if external::is_needed(counts, options) {
        return external::learn(counts, beginning, options, watch);
    }
    let make = |_| SymbolArray::new();
    let Layout { shards, mut tokens, corpus_tokens } =
        lay_out(counts, beginning, options, options.threads, make, &mut || watch(options.done))?;
    let mut state = State { merges: options.done.to_vec(), corpus_tokens };
    let floors = Floors { first: first_floor(corpus_tokens, options), lowest: options.min_frequency.max(1) };
    learn_in_memory(shards, floors, &mut tokens, &mut state, options, watch)?;
    Ok(state.merges)
}
