//! SentencePiece's interface for a tokenizer: encodes to pieces with text, offsets and scores, and decodes pieces.
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
//! Invariant: results equal the results of SentencePieceProcessor 0.2.3, except random segmentations. Ids come from the
//! fast path of [`crate::tokenizer`]. The slow path runs if the text of an unknown piece is needed, and for invalid
//! UTF-8.
//!
//! Source: google/sentencepiece, `sentencepiece_processor.cc`, `model_interface.cc`.

mod decode;
mod encode;
mod load;
mod pieces;
mod proto;
mod samples;

pub use decode::{DecodedPiece, DecodedText};
pub use encode::{EncodedPiece, EncodedText, SpelledIds};
pub use load::load;
pub use pieces::{PieceKind, PieceTable};
pub use proto::{decoded_message, encoded_message, nbest_message};
pub use samples::Draw;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;
    use crate::format::sentencepiece::{write, Facts, ModelProto, PieceProto};
    use crate::vocab::Kind;

    fn model(model_type: &str, byte_fallback: bool) -> (crate::tokenizer::Tokenizer, PieceTable) {
        let facts = Facts {
            model_type: model_type.into(),
            unk: "<unk>".into(),
            unk_surface: " ? ".into(),
            byte_fallback,
            add_dummy_prefix: true,
            remove_extra_whitespaces: true,
            escape_whitespaces: true,
            ..Facts::default()
        };
        let mut pieces = vec![("<unk>", Kind::Special), ("<s>", Kind::Special)];
        pieces.extend(["▁", "▁a", "a", "b", "ab"].map(|piece| (piece, Kind::Token)));
        let mut pieces: Vec<PieceProto<'_>> = (0..)
            .zip(pieces)
            .map(|(at, (piece, kind))| PieceProto { kind, content: piece.as_bytes().into(), score: -(at as f32) })
            .collect();
        if byte_fallback {
            let byte = |byte: u8| format!("<0x{byte:02X}>").into_bytes();
            pieces.extend((0..=255).map(|b| PieceProto { kind: Kind::Byte, content: byte(b).into(), score: 0.0 }));
        }
        let (tok, facts) = load(&write(&ModelProto { facts, pieces }).unwrap()).unwrap();
        let pieces = PieceTable::new(&tok, &facts).unwrap();
        (tok, pieces)
    }

    fn ranges(text: &str, model_type: &str, byte_fallback: bool) -> Vec<(u32, (u32, u32), bool)> {
        let (tok, pieces) = model(model_type, byte_fallback);
        let encoded = pieces.encode(&tok, text.into(), None, &|| true).unwrap();
        encoded.pieces.iter().map(|piece| (piece.id, piece.range, piece.has_surface)).collect()
    }

    #[test]
    fn pieces_have_their_ranges_of_the_input() {
        for model_type in ["unigram", "bpe"] {
            assert_eq!(ranges(" a  b ", model_type, false), [(3, (1, 2), true), (2, (2, 4), true), (5, (4, 5), true)]);
            // A run of unknown characters is one piece.
            assert_eq!(ranges("aéé", model_type, false), [(3, (0, 1), true), (0, (1, 5), true)]);
            // The last byte piece of a character has the range of the character.
            let [first, second] = [7 + 0xC3, 7 + 0xA9];
            let bytes = [(3, (0, 1), true), (first, (1, 1), false), (second, (1, 3), true)];
            assert_eq!(ranges("aé", model_type, true), bytes);
        }
        assert_eq!(ranges("", "bpe", false), []);
        assert_eq!(ranges("   ", "unigram", false), []);
    }

    #[test]
    fn unknown_pieces_have_their_text() {
        let (tok, pieces) = model("unigram", false);
        for _ in 0..2 {
            let spelled = pieces.spell(&tok, "aéxb".into(), 1, &mut || true).unwrap();
            assert_eq!((spelled.ids, spelled.unknown), (vec![3, 0, 5], vec!["éx".to_owned()]));
        }
        let spelled = pieces.spell(&tok, "ab".into(), 1, &mut || true).unwrap();
        assert!(spelled.unknown.is_empty());
    }

    #[test]
    fn decoding_replaces_bytes_outside_of_characters() {
        let (tok, pieces) = model("bpe", true);
        let decoded = pieces.decode_ids(&tok, &[3, 7 + 0xC3, 7 + 0xA9, 7 + 0xFF, 1, 0]).unwrap();
        assert_eq!(String::from_utf8(decoded.text).unwrap(), "aé\u{FFFD} ? ");
        let ranges: Vec<_> = decoded.pieces.iter().map(|piece| piece.range).collect();
        assert_eq!(ranges, [(0, 1), (1, 1), (1, 3), (3, 6), (6, 6), (6, 9)]);
        let decoded = pieces.decode_pieces(&tok, &[b"\xE2\x96\x81a", b"other", b"<unk>"]).unwrap();
        assert_eq!(String::from_utf8(decoded.text).unwrap(), "aother ? ");
    }
}
