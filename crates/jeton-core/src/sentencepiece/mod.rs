//! SentencePiece's interface over a tokenizer: pieces with their text, offsets and scores, and decoding of pieces.
//!
//! ```text
//! load       `.model` → tokenizer
//! pieces     piece ↔ id, kinds, surfaces of pieces
//! encode     text → ids, and the text and range of each piece
//! samples    sampled and n best segmentations
//! decode     ids or pieces → text, with the range of each piece
//! proto      the messages SentencePieceText and NBestSentencePieceText
//! ```
//!
//! Invariant: results equal those of SentencePieceProcessor 0.2.3, apart from random ones. Ids come from the fast path of
//! [`crate::tokenizer`]; the slow path runs where the text of an unknown piece is needed, or for invalid UTF-8.
//!
//! Source: google/sentencepiece, `sentencepiece_processor.cc`, `model_interface.cc`. Left out: the denormalizer.

mod decode;
mod encode;
mod load;
mod pieces;
mod proto;
mod samples;

pub use decode::{DecodedPiece, DecodedText};
pub use encode::{EncodedPiece, EncodedText, Spelled};
pub use load::load;
pub use pieces::{PieceKind, Pieces};
pub use proto::{decoded_message, encoded_message, nbest_message};
pub use samples::Draw;
