//! Training: corpus → counts → merges or pieces.
//!
//! [`count`] turns documents into distinct pretokens with their counts; [`sequences`] assigns ids to their symbols;
//! [`learn`] finds merges, and [`unigram`] pieces. This package neither reads files nor depends on Python.
//!
//! ```text
//! count          documents → distinct pretokens with counts
//! sequences      counts → sequences of symbols, by layout
//! learn          in memory by engine, or beyond a memory limit by external; rules: which pairs may merge
//! shard          sequences of one thread in a symbol_array, and their pairs; worker_pool: the threads
//! bucket_queue   pairs by count; heap: pairs that fit no bucket
//! external       passes over a sequence_file: segments that can merge, by a pair_sketch
//! replay         application of given merges, to continue from them
//! hf, sentencepiece, sentencepiece_words   inputs by the rules of peers
//! unigram        pieces of Unigram
//! assemble       merges and pieces → entries
//! ```

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
