//! The loops over vocabulary entries in files.
//!
//! The caller knows the meaning of fields, refuses features and opens files; nothing here knows a path.

pub mod hf_json;
pub mod layout;
pub mod merges_txt;
mod numbers;
pub mod ranks;
pub mod sentencepiece;
pub mod tekken;
pub mod vocab_txt;

/// An entry read from a file: id, kind, content.
pub type Entry = (u32, crate::vocab::Kind, Vec<u8>);
