//! Readers and writers of vocabulary entries in files.
//!
//! The caller interprets fields, refuses features and opens files; this module does not handle paths.

pub mod converted;
pub mod hf_json;
mod json_object;
pub mod layout;
pub mod merges_txt;
mod numbers;
pub mod ranks;
pub mod safetensors;
pub mod sentencepiece;
pub mod tekken;
pub mod vocab_txt;
pub mod wire;
