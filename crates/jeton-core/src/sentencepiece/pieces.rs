//! Table of the pieces of a model: piece ↔ id, and kinds of pieces.
//!
//! Invariant: control, unknown and byte pieces are in a separate table, which is searched first. For a text that is not
//! a piece, the lookup returns the id of the unknown piece.

use std::sync::atomic::AtomicBool;

use hashbrown::HashMap;
use serde_json::{json, Value};

use crate::error::{Error, Result};
use crate::format::sentencepiece::{byte_of, Facts};
use crate::model::Model;
use crate::normalize::Denormalizer;
use crate::tokenizer::Tokenizer;
use crate::vocab::Kind;

/// Kind of a piece, as in SentencePiece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PieceKind {
    /// Ordinary piece.
    Normal,
    /// The unknown piece.
    Unknown,
    /// Control piece, which is never matched in a text.
    Control,
    /// Piece that is matched before all others.
    UserDefined,
    /// Unused piece: encoding never produces it.
    Unused,
    /// Byte piece (`<0x0A>`), for a byte of a character that is not a piece.
    Byte,
}

/// Lookup of a model's pieces by text, with the options of decoding.
#[derive(Debug)]
pub struct PieceTable {
    pub(super) unk: u32,
    pub(super) unk_surface: String,
    pub(super) takes_space: bool, // true if decoding removes a `▁` at the start
    pub(super) takes_many: bool,  // true if decoding removes the white space of all leading pieces
    pub(super) byte_fallback: bool,
    pub(super) denormalizer: Option<Denormalizer>,
    pub(super) words: bool,             // true if an unknown piece is a word, not a character
    pub(super) saw_unknown: AtomicBool, // true if the last text had an unknown piece
    listed: HashMap<Box<[u8]>, u32>,    // control, unknown, byte and user-defined pieces
    begins: Box<[bool; 256]>,           // first bytes of the pieces in `listed`
}

impl PieceTable {
    /// Collects the pieces of a tokenizer. `facts`: options of the SentencePiece model from which the tokenizer was
    /// built.
    ///
    /// # Errors
    /// [`Error::config`] for a tokenizer without the unknown piece; [`Error::format`] for an invalid denormalizer.
    pub fn new(tok: &Tokenizer, facts: &Facts) -> Result<Self> {
        let unk = tok.model().unk().ok_or_else(|| Error::config("the model has no unknown piece"))?;
        let (mut listed, mut begins) = (HashMap::new(), Box::new([false; 256]));
        let of = |wanted: fn(Kind) -> bool| tok.vocab().iter().filter(move |entry| wanted(entry.1));
        let user_defined = of(|kind| kind == Kind::Added);
        for (id, _, content) in user_defined.chain(of(|kind| matches!(kind, Kind::Special | Kind::Byte))) {
            listed.insert(content.into(), id);
            begins[usize::from(content.first().copied().unwrap_or_default())] = true;
        }
        Ok(Self {
            unk,
            unk_surface: facts.unk_surface.clone(),
            takes_space: facts.add_dummy_prefix || facts.remove_extra_whitespaces,
            takes_many: facts.remove_extra_whitespaces,
            byte_fallback: facts.byte_fallback,
            denormalizer: match json!(facts.denormalizer) {
                Value::Null => None,
                part => Some(Denormalizer::from_value(&part)?),
            },
            words: matches!(tok.model(), Model::Words(_)),
            saw_unknown: AtomicBool::new(false),
            listed,
            begins,
        })
    }

    /// Returns the id of the unknown piece.
    pub fn unk(&self) -> u32 {
        self.unk
    }

    /// Returns the id of a piece; for U+0000 and for any text that is not a piece, the id of the unknown piece.
    pub fn id(&self, tok: &Tokenizer, piece: &[u8]) -> u32 {
        if piece == b"\0" {
            return self.unk;
        }
        let may_be = piece.first().is_some_and(|&byte| self.begins[usize::from(byte)]);
        let found = if may_be { self.listed.get(piece).copied() } else { None };
        found.or_else(|| tok.vocab().find(piece, false)).unwrap_or(self.unk)
    }

    /// Returns the kind of an id of the vocabulary.
    pub fn kind(&self, tok: &Tokenizer, id: u32) -> PieceKind {
        match tok.vocab().kind(id) {
            Kind::Special if id == self.unk => PieceKind::Unknown,
            Kind::Special => PieceKind::Control,
            Kind::Added => PieceKind::UserDefined,
            Kind::Unused | Kind::Unreachable | Kind::Hole => PieceKind::Unused,
            Kind::Byte => PieceKind::Byte,
            Kind::Token | Kind::EndsWord => PieceKind::Normal,
        }
    }

    /// Returns the byte that a byte piece stands for; None for other pieces.
    pub(super) fn byte(&self, tok: &Tokenizer, id: u32) -> Option<u8> {
        match tok.vocab().kind(id) {
            Kind::Byte => byte_of(std::str::from_utf8(tok.vocab().content(id)).ok()?),
            _ => None,
        }
    }
}
