//! Readers and writers of vocabulary entries in files.
//!
//! The caller opens files, interprets their fields, and refuses unsupported features. This module does not handle
//! paths.
//!
//! ```text
//! hf_json        tokenizer.json
//! json_object    parser of JSON objects, for hf_json and tekken
//! numbers        scores in tokenizer.json, rounded as HF does
//! merges_txt     vocab.json and merges.txt
//! vocab_txt      BERT's vocab.txt
//! ranks          tiktoken's rank files
//! tekken         Mistral's tekken.json
//! sentencepiece  SentencePiece's `.model`
//! layout         ids of SentencePiece models in the numbering of fairseq
//! converted      the merges that `transformers` creates from a SentencePiece model
//! wire           protobuf's wire format, for sentencepiece
//! safetensors    headers of safetensors files
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
