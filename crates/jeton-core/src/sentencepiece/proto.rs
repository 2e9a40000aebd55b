//! The messages `SentencePieceText` and `NBestSentencePieceText`, serialized as by SentencePiece.
//!
//! Source: google/sentencepiece, `sentencepiece.proto` (field numbers).

use prost::encoding::{encode_key, encode_varint, WireType};

use super::decode::DecodedText;
use super::encode::EncodedText;

/// Appends a field of bytes.
fn put_bytes(tag: u32, bytes: &[u8], out: &mut Vec<u8>) {
    encode_key(tag, WireType::LengthDelimited, out);
    encode_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

fn put_number(tag: u32, number: u64, out: &mut Vec<u8>) {
    encode_key(tag, WireType::Varint, out);
    encode_varint(number, out);
}

/// Appends a piece. `buffer` is empty before and after.
fn put_piece(
    piece: &[u8],
    id: u32,
    surface: Option<&[u8]>,
    range: (u64, u64),
    buffer: &mut Vec<u8>,
    out: &mut Vec<u8>,
) {
    put_bytes(1, piece, buffer);
    put_number(2, id.into(), buffer);
    if let Some(surface) = surface {
        put_bytes(3, surface, buffer);
    }
    put_number(4, range.0, buffer);
    put_number(5, range.1, buffer);
    put_bytes(2, buffer, out);
    buffer.clear();
}

/// Returns the message of an encoded text; `content` returns the text of an id.
pub fn encoded_message<'v>(text: &[u8], encoded: &EncodedText, content: impl Fn(u32) -> &'v [u8]) -> Vec<u8> {
    let (mut out, mut buffer) = (Vec::with_capacity(text.len() * 4), Vec::new());
    put_bytes(1, text, &mut out);
    for piece in &encoded.pieces {
        let spelled = piece.unknown.as_ref().map_or_else(|| content(piece.id), |text| text.as_bytes());
        let (start, end) = piece.range;
        let surface = text.get(start as usize..end as usize).filter(|_| piece.has_surface);
        put_piece(spelled, piece.id, surface, (start.into(), end.into()), &mut buffer, &mut out);
    }
    if let Some(score) = encoded.score {
        encode_key(3, WireType::ThirtyTwoBit, &mut out);
        out.extend_from_slice(&score.to_le_bytes());
    }
    out
}

/// Returns the message of the n best segmentations.
pub fn nbest_message<'v>(text: &[u8], best: &[EncodedText], content: impl Fn(u32) -> &'v [u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for encoded in best {
        put_bytes(1, &encoded_message(text, encoded, &content), &mut out);
    }
    out
}

/// Returns the message of a decoded text, whose pieces have these texts.
pub fn decoded_message<'p>(decoded: &DecodedText, pieces: impl Iterator<Item = &'p [u8]>) -> Vec<u8> {
    let (mut out, mut buffer) = (Vec::new(), Vec::new());
    put_bytes(1, &decoded.text, &mut out);
    for (piece, spelled) in decoded.pieces.iter().zip(pieces) {
        let (start, end) = piece.range;
        let surface = Some(&decoded.text[start..end]);
        put_piece(spelled, piece.id, surface, (start as u64, end as u64), &mut buffer, &mut out);
    }
    out
}
