//! Utilities that do not depend on tokenizers: memory, concurrency, SIMD, text encoding.
//!
//! ```text
//! alloc, spill, huge_pages    fallible allocation; vectors that spill to files; large pages
//! atomic_cell, buffer_pool    pools without locks
//! cancel                      cancellation checks
//! simd                        levels of vector instructions
//! hash, short_key             hashes; strings of up to 15 bytes as integers
//! pattern_set, trie           leftmost-longest search for many patterns
//! classes, scripts            properties of characters, in a property_table
//! utf8, text_unit, words      characters; boundaries of text units; words
//! pair_effect                 effects of a stage on two adjacent characters
//! best_fit                    bin packing
//! ```

pub mod alloc;
pub mod atomic_cell;
pub mod best_fit;
pub mod buffer_pool;
pub mod cancel;
mod class_bits;
pub(crate) mod classes;
pub mod hash;
pub mod huge_pages;
pub mod pair_effect;
pub mod pattern_set;
pub(crate) mod process;
pub(crate) mod property_table;
pub mod scripts;
pub(crate) mod short_key;
pub mod simd;
pub mod spill;
pub mod text_unit;
pub mod trie;
pub mod utf8;
pub mod words;
