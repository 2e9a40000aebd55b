//! Readers and writers of vocabulary entries in files.
//!
//! The caller opens files, interprets their fields, and refuses unsupported features. This module does not handle
//! paths.
//!
//! ```text
//! hf_json      tokenizer.json; numbers: scores, rounded as HF does; json_object: parser of its objects
//! merges_txt   vocab.json and merges.txt
//! vocab_txt    BERT's vocab.txt
//! ranks        tiktoken's rank files; tekken: Mistral's tekken.json
//! sentencepiece  `.model`, with layout (numbering) and converted (merges), over wire (protobuf)
//! safetensors  headers
//! ```

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
