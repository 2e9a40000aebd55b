//! Decodes ids or pieces to text, with the range of each piece.
//!
//! `▁` becomes a space, byte pieces become their bytes, and control pieces have no text. The unknown piece becomes its
//! surface (the text configured for it). The caller can also pass text that is not a piece; it is kept unchanged.
//!
//! If the normalizer adds a space at the start, one `▁` is removed there. If the normalizer removes extra spaces, a
//! leading `▁` is removed from each piece until a piece yields text.
//!
//! Invariant: a byte that is not part of a UTF-8 character becomes U+FFFD. If several byte pieces form a character, the
//! range of the last of them is the whole character, and the ranges of the others are empty.
//!
//! Cost: linear. Source: google/sentencepiece, `sentencepiece_processor.cc` (`Decode`). The decoder of
//! [`crate::decode`] is the fast version for ids.

use super::pieces::{PieceKind, PieceTable};
use crate::error::Result;
use crate::tokenizer::Tokenizer;

const SPACE: &str = "\u{2581}";

/// A piece of a decoded text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DecodedPiece {
    /// Id of the piece.
    pub id: u32,
    /// Half-open byte range of the piece's surface in the text.
    pub range: (usize, usize),
}

/// Decoded text. It is valid UTF-8 if all pieces are.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DecodedText {
    /// Text of the pieces, before the denormalizer. `DecodedPiece::range` is a range of this text.
    pub text: Vec<u8>,
    /// Text that the denormalizer returns; None if the model has no denormalizer.
    pub denormalized: Option<Vec<u8>>,
    /// The pieces, in order.
    pub pieces: Vec<DecodedPiece>,
}

impl PieceTable {
    /// Decodes pieces, given as (id, text).
    ///
    /// # Errors
    /// [`crate::error::Error::config`] for denormalized text over the limit.
    pub fn decode<'p>(&self, tok: &Tokenizer, pieces: impl Iterator<Item = (u32, &'p [u8])>) -> Result<DecodedText> {
        let mut done = DecodedText::default();
        let mut run = Vec::new(); // bytes of the current run of byte pieces
        let (mut at_start, mut took_one) = (self.takes_space, false);
        for (id, piece) in pieces {
            if let Some(byte) = self.byte(tok, id) {
                run.push(byte);
                done.pieces.push(DecodedPiece { id, range: (0, 0) });
                continue;
            }
            done.end_run(&mut run);
            at_start &= !took_one && done.text.is_empty();
            took_one = false;
            let start = done.text.len();
            match self.kind(tok, id) {
                PieceKind::Control => {}
                PieceKind::Unknown if tok.vocab().content(id) == piece => {
                    done.text.extend_from_slice(self.unk_surface.as_bytes());
                }
                PieceKind::Unknown => done.text.extend_from_slice(piece),
                _ => {
                    let rest = piece.strip_prefix(SPACE.as_bytes()).filter(|_| at_start);
                    took_one = rest.is_some() && !self.takes_many;
                    put_spaces(rest.unwrap_or(piece), &mut done.text);
                }
            }
            done.pieces.push(DecodedPiece { id, range: (start, done.text.len()) });
        }
        done.end_run(&mut run);
        done.denormalized =
            self.denormalizer.as_ref().map(|denormalizer| denormalizer.whole(&done.text)).transpose()?;
        Ok(done)
    }

    /// Decodes pieces, given by their text.
    ///
    /// # Errors
    /// As [`PieceTable::decode`].
    pub fn decode_pieces(&self, tok: &Tokenizer, pieces: &[&[u8]]) -> Result<DecodedText> {
        self.decode(tok, pieces.iter().map(|&piece| (self.id(tok, piece), piece)))
    }

    /// Decodes ids, which must be in the vocabulary. As in SentencePiece, each id is converted to its piece's text, and
    /// this text is looked up, which can give another id.
    ///
    /// # Errors
    /// As [`PieceTable::decode`].
    pub fn decode_ids(&self, tok: &Tokenizer, ids: &[u32]) -> Result<DecodedText> {
        let text = |&id: &u32| tok.vocab().content(id);
        self.decode(tok, ids.iter().map(text).map(|piece| (self.id(tok, piece), piece)))
    }
}

impl DecodedText {
    /// Returns the decoded text, after the denormalizer.
    pub fn whole(&self) -> &[u8] {
        self.denormalized.as_deref().unwrap_or(&self.text)
    }

    /// Writes the text of the run of byte pieces, and sets the ranges of these pieces.
    fn end_run(&mut self, run: &mut Vec<u8>) {
        let mut piece = self.pieces.len() - run.len();
        for chunk in run.utf8_chunks() {
            for c in chunk.valid().chars() {
                let start = self.text.len();
                self.text.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                for _ in 1..c.len_utf8() {
                    self.pieces[piece].range = (start, start);
                    piece += 1;
                }
                self.pieces[piece].range = (start, self.text.len());
                piece += 1;
            }
            for _ in chunk.invalid() {
                let start = self.text.len();
                self.text.extend_from_slice("\u{FFFD}".as_bytes());
                self.pieces[piece].range = (start, self.text.len());
                piece += 1;
            }
        }
        run.clear();
    }
}

/// Appends a piece, with a space in place of each `▁`.
fn put_spaces(piece: &[u8], out: &mut Vec<u8>) {
    let mut rest = piece;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix(SPACE.as_bytes()) {
            out.push(b' ');
            rest = after;
            continue;
        }
        let len = 1 + rest[1..].iter().position(|&byte| byte == SPACE.as_bytes()[0]).unwrap_or(rest.len() - 1);
        out.extend_from_slice(&rest[..len]);
        rest = &rest[len..];
    }
}
