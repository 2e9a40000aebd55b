//! The loops of Jeton over text and over vocabulary entries: split, count, learn, encode, decode. The crate takes bytes
//! and returns values. It uses neither Python, nor paths, nor the network.
//!
//! ```text
//! text    ─ match added tokens ─ normalize ─ pretokenize ─ model ─ postprocess ─►  ids
//! ids     ─ decode ─►  bytes
//! corpus  ─ count pretokens ─►  Counts  ─ learn merges ─►  merges
//! ```
//!
//! `normalize`, `pretokenize`, `model` and `postprocess` do not depend on each other; `decode` depends only on
//! `normalize`. [`tokenizer`] combines all five. [`train`] and [`mod@format`] do not depend on the tokenizer;
//! [`sentencepiece`] and [`audit`] do. `tools/check_layers.py` enforces these layers.
//!
//! From a corpus to a tokenizer, and from a text to ids and back:
//!
//! ```
//! use jeton_core::pretokenize::Pretokenizer;
//! use jeton_core::tokenizer::{Extras, Tokenizer};
//! use jeton_core::train::assemble;
//! use jeton_core::train::count::{Counter, Stages};
//! use jeton_core::train::learn::learn;
//! use jeton_core::train::options::LearnOptions;
//! use jeton_core::train::sequences::symbols;
//! use jeton_core::util::spill::MemoryLimit;
//! use jeton_core::vocab::alphabet::{EndOfWord, Level};
//! use jeton_core::vocab::Vocab;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let documents = ["the old man told the old tale", "the older man was told"];
//! let pattern = Pretokenizer::named("gpt2").ok_or("no such pattern")?;
//! let mut counter = Counter::new(Stages::Pattern(pattern), None);
//! counter.add(&documents, 1, &mut || true).map_err(|(_, error)| error)?;
//! let (counts, totals, _) = counter.finish(Vec::new(), 1, &MemoryLimit::unlimited(), &|| true)?;
//! assert_eq!((totals.documents, counts.most_common(1)), (2, vec![(b"the".as_slice(), 2)]));
//!
//! let symbols = symbols(&counts, Level::Byte, EndOfWord::None)?;
//! let options = LearnOptions { num_merges: 12, ..LearnOptions::default() };
//! let merges = learn(&counts, &symbols, &options, &mut |_| true)?;
//! let entries = assemble::from_merges(&symbols, Level::Byte, &merges)?;
//!
//! let parts = r#"{
//!     "model": {"type": "BPE", "level": "byte", "ranks": "merges", "whole_first": false, "end_of_word": null, "unk": null},
//!     "pretokenizer": [{"type": "Pattern", "name": "gpt2"}]
//! }"#;
//! let extras = Extras { merges: assemble::triples(&merges), ..Extras::default() };
//! let tokenizer = Tokenizer::from_json(parts, Vocab::new(entries.iter())?, extras)?;
//! let ids = tokenizer.encode_long("the old man", &tokenizer.permit_none(), 1, &mut || true)?;
//! assert_eq!(ids.len(), 3); // "the", " old", " man"
//! assert_eq!(tokenizer.decode_text(&ids, false)?, "the old man");
//! # Ok(())
//! # }
//! ```
//!
//! [`tokenizer`] passes a text through [`added_tokens`], [`normalize`], [`pretokenize`], [`model`] and [`postprocess`].
//! [`encode`] is the fast path of `pretokenize` and `model`: lookup tables, caches and many pretokens at once, with the
//! same ids. [`parallel`] divides a long text or a batch among threads.

pub mod error;
pub mod util;
pub mod vocab;

// text → ids, ids → text
pub mod added_tokens;
pub mod aligned_text;
pub mod decode;
pub mod encode;
pub mod model;
pub mod normalize;
pub mod parallel;
pub mod postprocess;
pub mod pretokenize;
mod regex;
pub mod sentencepiece;
pub mod tokenizer;

// tokenizer → properties of its entries
pub mod audit;

// corpus → documents; documents → counts → merges
pub mod documents;
pub mod train;

// vocabularies ↔ files
pub mod format;
