//! Serializes the messages `SentencePieceText` and `NBestSentencePieceText` as SentencePiece does.
//!
//! Source: google/sentencepiece, `sentencepiece.proto` (field numbers).

use super::decode::DecodedText;
use super::encode::EncodedText;
use crate::format::wire::{put, Value};

/// Appends a piece to a message. `buffer` must be empty, and is empty again afterwards.
fn put_piece(
    piece: &[u8],
    id: u32,
    surface: Option<&[u8]>,
    range: (u64, u64),
    buffer: &mut Vec<u8>,
    out: &mut Vec<u8>,
) {
    put(1, Value::Bytes(piece), buffer);
    put(2, Value::Number(id.into()), buffer);
    if let Some(surface) = surface {
        put(3, Value::Bytes(surface), buffer);
    }
    put(4, Value::Number(range.0), buffer);
    put(5, Value::Number(range.1), buffer);
    put(2, Value::Bytes(buffer), out);
    buffer.clear();
}

/// Returns the serialized message of an encoded text. `content` returns the text of an id.
pub fn encoded_message<'v>(text: &[u8], encoded: &EncodedText, content: impl Fn(u32) -> &'v [u8]) -> Vec<u8> {
    let (mut out, mut buffer) = (Vec::with_capacity(text.len() * 4), Vec::new());
    put(1, Value::Bytes(text), &mut out);
    for piece in &encoded.pieces {
        let spelled = piece.unknown.as_ref().map_or_else(|| content(piece.id), |text| text.as_bytes());
        let (start, end) = piece.range;
        let surface = text.get(start as usize..end as usize).filter(|_| piece.has_surface);
        put_piece(spelled, piece.id, surface, (start.into(), end.into()), &mut buffer, &mut out);
    }
    if let Some(score) = encoded.score {
        put(3, Value::Float(score), &mut out);
    }
    out
}

/// Returns the serialized message of the n best segmentations.
pub fn nbest_message<'v>(text: &[u8], best: &[EncodedText], content: impl Fn(u32) -> &'v [u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for encoded in best {
        put(1, Value::Bytes(&encoded_message(text, encoded, &content)), &mut out);
    }
    out
}

/// Returns the serialized message of a decoded text. `pieces`: the texts of its pieces.
pub fn decoded_message<'p>(decoded: &DecodedText, pieces: impl Iterator<Item = &'p [u8]>) -> Vec<u8> {
    let (mut out, mut buffer) = (Vec::new(), Vec::new());
    put(1, Value::Bytes(decoded.whole()), &mut out);
    for (piece, spelled) in decoded.pieces.iter().zip(pieces) {
        let (start, end) = piece.range;
        let surface = Some(&decoded.text[start..end]);
        put_piece(spelled, piece.id, surface, (start as u64, end as u64), &mut buffer, &mut out);
    }
    out
}
