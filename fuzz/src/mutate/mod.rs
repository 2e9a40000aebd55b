//! Random mutations of inputs: of bytes, and of lines, JSON and protobuf by their structure.

mod bytes;
mod json;
mod lines;
mod proto;

pub use json::nodes;

use crate::rng::Rng;

/// Format of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Bytes without structure.
    Bytes,
    /// Lines of text.
    Lines,
    /// One JSON value.
    Json,
    /// A protobuf message.
    Proto,
}

/// Maximum length of an input; longer ones are truncated, because many runs find more defects than large files.
pub const MOST_BYTES: usize = 1 << 16;

/// Returns a mutant of `input`; `others` are inputs to splice with, `words` the dictionary of the format.
pub fn mutate(input: &[u8], others: &[Vec<u8>], shape: Shape, words: &[&str], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = input.to_vec();
    let by_shape = !rng.once_in(4);
    if by_shape {
        for _ in 0..rng.between(1, 3) {
            let other = || others.get(Rng::new(bytes.len() as u64).below(others.len())).map_or(&[][..], Vec::as_slice);
            let changed = match shape {
                Shape::Bytes => None,
                Shape::Lines => Some(lines::mutate(&bytes, other(), words, rng)),
                Shape::Json => json::mutate(&bytes, words, rng),
                Shape::Proto => proto::mutate(&bytes, rng),
            };
            bytes = changed.unwrap_or_else(|| bytes::mutate(&bytes, other(), words, rng));
        }
    }
    if !by_shape || rng.once_in(6) {
        for _ in 0..rng.between(1, 4) {
            let other = others.get(rng.below(others.len())).map_or(&[][..], Vec::as_slice);
            bytes = bytes::mutate(&bytes, other, words, rng);
        }
    }
    bytes.truncate(MOST_BYTES.max(input.len()));
    bytes
}
