//! The pipeline that owns the stages: match added tokens, normalize, pretokenize, model, postprocess; and decode.
//!
//! Invariant: same text, same tokenizer, same ids, for any number of threads and any grouping of texts.
//! Nothing here changes after construction, so a tokenizer can be shared between threads.
//!
//! Text goes to the model in *segments*: added tokens and pretokens. Where nothing rewrites text and one pattern cuts
//! it, segments are borrowed from the text; else they come from a `Draft` of each stretch between added tokens.
//!
//! ```text
//! pipeline   the stages of a tokenizer
//! build      parts → tokenizer
//! segments   text → segments
//! slow_path  segments → ids, one by one; sampling, n best
//! long       long texts and batches, on threads
//! spans      where each id comes from
//! explain    why it is there
//! frame      the template around ids
//! permit     which special tokens a text may hold
//! ```

mod build;
mod explain;
mod frame;
mod long;
mod permit;
mod pipeline;
mod segments;
mod slow_path;
mod spans;

pub use build::{Extras, ENTRY};
pub use explain::{Explained, Explanation, Why};
pub use frame::Framed;
pub use long::Input;
pub use permit::{Permission, Permit};
pub use pipeline::Tokenizer;
pub use segments::{Origin, Segment};
pub use spans::{Encoding, SpanChunk};
