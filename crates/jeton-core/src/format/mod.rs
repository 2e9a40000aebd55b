//! The loops over vocabulary entries in files.
//!
//! What a field means, what is refused and where files are is the caller's business; nothing here knows a path.

pub mod hf_json;
pub mod layout;
pub mod merges_txt;
mod numbers;
pub mod ranks;
pub mod sentencepiece;
pub mod tekken;
pub mod vocab_txt;

/// An entry on its way from a file: id, kind, content.
pub type Entry = (u32, crate::vocab::Kind, Vec<u8>);
