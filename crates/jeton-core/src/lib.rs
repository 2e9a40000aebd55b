//! The loops of Jeton that touch every byte: split, count, learn, encode, decode. Bytes in, values out; no Python, no
//! paths, no network.
//!
//! ```text
//! text    ─ match added tokens ─ normalize ─ pretokenize ─ model ─ postprocess ─►  ids
//! ids     ─ decode ─►  bytes
//! corpus  ─ count pretokens ─►  Counts  ─ learn merges ─►  merges
//! ```
//!
//! `normalize`, `pretokenize`, `model`, `postprocess` and `decode` do not know each other; [`tokenizer`] owns them;
//! [`train`] and [`mod@format`] are beside it. `tools/check_layers.py` enforces these layers.

pub mod error;
pub mod util;
pub mod vocab;

// text → ids, ids → text
pub mod aligned_text;
pub mod decode;
pub mod encode;
pub mod model;
pub mod normalize;
pub mod parallel;
pub mod postprocess;
pub mod pretokenize;
mod regex;
pub mod special;
pub mod tokenizer;

// corpus → counts → merges
pub mod train;

// vocabularies ↔ files
pub mod format;
