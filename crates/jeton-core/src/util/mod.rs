//! Utilities that do not depend on tokenizers: memory, concurrency, SIMD, text encoding.

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
