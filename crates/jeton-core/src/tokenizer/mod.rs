//! The pipeline of all stages: match added tokens, normalize, pretokenize, model, postprocess; and decode.
//!
//! Invariant: same text, same tokenizer, same ids, for any number of threads and any grouping of texts.
//! A tokenizer is immutable after construction, so threads can share it.
//!
//! The model's input are *segments*: added tokens and pretokens. If no stage rewrites text and one pattern splits it,
//! segments borrow from the text; else they come from an `AlignedText` of each range between added tokens.
//!
//! ```text
//! pipeline   the stages of a tokenizer
//! build      options → tokenizer
//! segments   text → segments
//! slow_path  segments → ids, one by one; sampling, n best
//! fast_path  long texts and batches, on threads
//! spans      spans of ids
//! explain    explanation of ids
//! batch_spans  offsets of batches, from token_widths (by id), one_to_one (by character; word_offsets in words) or known_ids (traced, without running the model), into a span_sink
//! known_spans  columns of spans of a text whose ids are known
//! batch_words  indices of the pretokens of ids of batches
//! batch_decode ids of batches → bytes and text
//! frame      templates
//! rows       ids of batches as files have them
//! permit     permission for special tokens
//! words      numbers of tokens in words; agreement of several tokenizers
//! joints     positions where ids are independent, by the characters next to them
//! joint_search  joints of a text
//! cut        longest parts of a text within a number of tokens; byte_cut for byte-level models, stretch for text without joints, both with token_reach
//! growing    ids of a text that grows
//! ```

mod agreement;
mod batch_decode;
mod batch_spans;
mod batch_words;
mod build;
mod byte_cut;
mod char_index;
mod character_widths;
mod chunk;
mod cut;
mod explain;
mod fast_path;
mod frame;
mod growing;
mod joint_search;
mod joints;
mod known_ids;
mod known_spans;
mod one_to_one;
mod permit;
mod pipeline;
mod rows;
mod segments;
mod slow_path;
mod span_sink;
mod spans;
mod stretch;
mod token_reach;
mod token_widths;
mod word_offsets;
mod words;

pub use agreement::{Agreement, Encoder, Passage};
pub use batch_decode::DecodedRows;
pub use batch_spans::BatchOffsets;
pub use batch_words::BatchWords;
pub use build::{Extras, ENTRY};
pub use chunk::Chunk;
pub use cut::{Cut, TextCutter};
pub use explain::{Explained, Explanation, Why};
pub use fast_path::Input;
pub use frame::Framed;
pub use growing::{Change, Growing};
pub use permit::{Permission, Permit};
pub use pipeline::Tokenizer;
pub use rows::{FileIds, IdType, RowForm, Rows};
pub use segments::{Origin, Segment};
pub use spans::{Encoding, SpanChunk};
pub use token_widths::SpanKind;
pub use words::TokensInWords;
