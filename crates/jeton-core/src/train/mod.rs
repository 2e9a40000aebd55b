//! corpus → counts → merges.
//!
//! [`count`] turns documents into distinct pretokens with their counts; [`sequences`] assigns ids to their symbols;
//! [`learn`] finds merges, and [`unigram`] pieces. This package neither reads files nor depends on Python.

pub mod assemble;
mod bucket_queue;
pub mod count;
mod engine;
mod external;
mod heap;
pub mod hf;
mod layout;
pub mod learn;
pub mod merge;
pub mod options;
mod pair_sketch;
mod replay;
pub mod rules;
mod segments;
pub mod sentencepiece;
pub mod sentencepiece_words;
mod sequence_file;
pub mod sequences;
mod shard;
mod symbol_array;
mod tokens;
pub mod unigram;
mod units;
mod worker_pool;
