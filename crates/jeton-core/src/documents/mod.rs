//! Documents of a block of a file, as columns: one buffer of text, and the range of each document in it.
//!
//! ```text
//! json_rows   one field of JSON Lines
//! lines       lines of text
//! ```
//!
//! Invariant: every range is on character boundaries of the buffer. Left out: reading files, and errors about single
//! records; the caller handles both.

pub mod json_rows;
pub mod lines;

/// Range of a document in its buffer, in bytes: start, and one past the end.
pub type Span = (usize, usize);
