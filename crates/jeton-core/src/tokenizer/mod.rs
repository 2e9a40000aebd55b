//! The pipeline of all stages: match added tokens, normalize, pretokenize, model, postprocess; and decode.
//!
//! Invariant: the same text and the same tokenizer give the same ids, for any number of threads and any grouping of
//! texts. A tokenizer is immutable after construction, so threads can share it.
//!
//! The input of the model consists of *segments*: added tokens and pretokens. If no stage rewrites the text and the
//! pretokenizer is a single pattern, the segments borrow from the text. Otherwise each range of text between added
//! tokens becomes an `AlignedText`, and the chunks of the `AlignedText` are the segments.
//!
//! ```text
//! pipeline   text → ids, and ids → text
//! spans      spans of the tokens of a text
//! cut        longest parts of a text that have at most a given number of tokens
//! explain    explanation of an encoding
//! words      how many tokens the words of a text have
//! agreement  agreement of several tokenizers on a corpus, and the passages that they split differently
//! ```

mod agreement;
mod cut;
mod explain;
mod pipeline;
mod spans;
mod words;

pub use agreement::{Agreement, Encoder, Passage};
pub use cut::chunk::Chunk;
pub use cut::growing::{Change, Growing};
pub use cut::{Cut, TextCutter};
pub use explain::{Explained, Explanation, Why};
pub use pipeline::batch_decode::DecodedRows;
pub use pipeline::build::{Extras, ENTRY};
pub use pipeline::fast_path::Input;
pub use pipeline::frame::Framed;
pub use pipeline::permit::{Permission, Permit};
pub use pipeline::rows::{FileIds, IdType, RowForm, Rows};
pub use pipeline::segments::{Origin, Segment};
pub use pipeline::Tokenizer;
pub use spans::batch_spans::BatchOffsets;
pub use spans::batch_words::BatchWords;
pub use spans::token_widths::SpanKind;
pub use spans::{Encoding, SpanChunk};
pub use words::TokensInWords;
