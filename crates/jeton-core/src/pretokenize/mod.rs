//! Splits text into pretokens, the ranges within which the model merges.
//!
//! Invariant: the spans are ascending, disjoint, not empty, on character boundaries, and cover the text; only
//! [`Pretokenizer::whitespace`] leaves gaps. Text that no alternative of a pattern matches is a separate pretoken.
//! Named and compiled patterns take linear time on any text. Other regexes have a step budget that is linear in the
//! length of the text. They return an error if the budget is exhausted.
//!
//! ```text
//! pretokenizer  compiled pattern, and iterator over the pretokens of a text
//! scanner       hand-written matchers of the named patterns
//! transducer    compiled patterns
//! starts        starts of the pretokens of a window, with vector instructions
//! patterns      names and texts of patterns, and equivalents for other engines
//! prefixes      pretokens of the prefixes of a text
//! parts         HF's pre-tokenizers
//! ```

pub mod parts;
mod patterns;
mod prefixes;
mod pretokenizer;
mod scanner;
mod starts;
mod transducer;

pub use parts::{characters, read_oniguruma, Metaspace, PrependScheme, Splitter};
pub use patterns::{names, oniguruma, published, to_oniguruma};
pub use pretokenizer::{Pretokenizer, Span, Spans};
pub(crate) use starts::{StartFinder, Starts};
