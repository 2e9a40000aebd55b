//! Training: corpus → counts → merges or pieces.
//!
//! [`count`] turns documents into distinct pretokens with their counts; [`sequences`] assigns ids to their symbols;
//! [`learn`] finds merges, and [`unigram`] pieces. This package neither reads files nor depends on Python.
//!
//! ```text
//! count          documents → distinct pretokens with counts
//! sequences      counts → sequences of symbols, by layout
//! learn          counts → merges, by engine in memory, or by external if a memory limit is too low for engine
//! rules          conditions on the pairs that are allowed to merge
//! shard          the sequences of one thread (symbol_array) and their pairs; worker_pool has the threads
//! bucket_queue   queue of pairs by count; heap contains the pairs that fit no bucket
//! external       passes over a sequence_file; a pair_sketch determines which segments to merge in a pass
//! replay         application of given merges, before training continues from them
//! hf, sentencepiece, sentencepiece_words   alphabets and rules of other libraries
//! unigram        counts → pieces of Unigram
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
