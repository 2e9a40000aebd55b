//! Text → pretokens: the ranges within which merges happen.
//!
//! Invariant: the spans are in order, disjoint, not empty, on character boundaries, and tile the text; only
//! [`Pretokenizer::whitespace`] leaves gaps. Text that no alternative of a pattern matches is a pretoken of its own. A
//! named pattern takes time linear in the text, whatever the text; any other regex runs under a budget of steps that is
//! linear in the text and ends in an error that says so.
//!
//! ```text
//! pretokenizer  a compiled pattern, and the pretokens of a text
//! scanner   the named patterns, written out
//! starts    the same, 64 bytes a step
//! patterns  their names and texts, and equivalents in another engine
//! parts     HF's pre-tokenizers, for tokenizers that came from there
//! ```

mod parts;
mod patterns;
mod pretokenizer;
mod scanner;
mod starts;

pub use parts::{characters, read_oniguruma, Splitter};
pub use patterns::{names, oniguruma, published, to_oniguruma};
pub use pretokenizer::{Pretokenizer, Span, Spans};
pub(crate) use starts::{StartFinder, Starts};
