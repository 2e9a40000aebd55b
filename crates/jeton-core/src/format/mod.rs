//! The loops over vocabulary entries in files: rank lines, and the two big members of `tokenizer.json`.
//!
//! What a field means, what is refused and where files are is the caller's business; nothing here knows a path.

pub mod hf_json;
pub mod ranks;
