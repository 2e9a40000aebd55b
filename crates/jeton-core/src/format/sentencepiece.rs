//! Reads and writes SentencePiece's `.model`: a protobuf message with the pieces in the order of their ids, and
//! run-time options.
//!
//! This module parses the outer message itself, so that errors name the piece and the byte; `prost` parses nested
//! messages. All fields that affect ids or decoded text are read. The training options, the self test and unknown
//! fields are skipped, and are not written again.
//!
//! Invariant: [`read`] accepts only models that SentencePiece loads: exactly one unknown piece, no empty or duplicate
//! pieces, and the 256 byte pieces if and only if the model has byte fallback. With byte fallback, the piece U+0000 is
//! unused. In addition, pieces must be UTF-8, scores finite, and types known, which SentencePiece does not check.
//!
//! Cost: one pass; memory linear in the file. prost limits nesting to 100 groups. Source: google/sentencepiece
//! `src/sentencepiece_model.proto` (field numbers, defaults), `src/model_interface.cc` (checks).

use std::borrow::Cow;

use base64::prelude::{Engine, BASE64_STANDARD};
use hashbrown::HashSet;
use prost::encoding::{decode_key, decode_varint, skip_field, DecodeContext, WireType};
use prost::Message;
use serde::{Deserialize, Serialize};

use super::wire::{self, read_message, Field, Value};
use crate::error::{Error, Result};
use crate::vocab::{Kind, MAX_ID};

/// Estimated number of bytes of a piece in a file, for allocation.
const USUAL_BYTES: usize = 16;

/// Types of pieces, numbered as in the file.
const KINDS: [(i32, Kind); 6] = [
    (1, Kind::Token),
    (2, Kind::Special), // unknown piece
    (3, Kind::Special), // control piece
    (4, Kind::Added),
    (5, Kind::Unused),
    (6, Kind::Byte),
];
const UNKNOWN: i32 = 2;
const CONTROL: i32 = 3;
const UNUSED: i32 = 5;
/// The piece U+0000. It is unused in a model with byte fallback, where `<0x00>` stands for U+0000.
const NUL: &[u8] = b"\0";
const MODELS: [(&str, i32); 4] = [("unigram", 1), ("bpe", 2), ("word", 3), ("char", 4)];

/// A piece of a model file.
#[derive(Debug, Clone, PartialEq)]
pub struct PieceProto<'f> {
    /// Kind of the piece: ordinary, special (unknown or control), added (user-defined), byte or unused.
    pub kind: Kind,
    /// Spelling of the piece, with `▁` for a space.
    pub content: Cow<'f, [u8]>,
    /// Score of the piece; 0 if the file has none.
    pub score: f32,
}

/// Content of a model file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelProto<'f> {
    /// Run-time options.
    pub facts: Facts,
    /// Pieces; the index is the id.
    pub pieces: Vec<PieceProto<'f>>,
}

/// Run-time options, named as in the format.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Type of the model: `unigram`, `bpe`, `word` or `char`.
    pub model_type: String,
    /// Spelling of the unknown piece.
    pub unk: String,
    /// True if unknown characters become byte pieces.
    pub byte_fallback: bool,
    /// True if the `▁` of a word is at its end instead of its start.
    pub treat_whitespace_as_suffix: bool,
    /// Text to which the unknown piece is decoded.
    pub unk_surface: String,
    /// Beginning-of-sentence piece, if it is a control piece of the model.
    pub bos: Option<String>,
    /// End-of-sentence piece, if it is a control piece of the model.
    pub eos: Option<String>,
    /// Padding piece, if it is a control piece of the model.
    pub pad: Option<String>,
    /// Name of the normalization rules.
    pub normalizer: String,
    /// Character map of the normalizer in base64; None if no character changes.
    pub precompiled_charsmap: Option<String>,
    /// True if a space is inserted before the text.
    pub add_dummy_prefix: bool,
    /// True if white space is trimmed at both ends, and each run of spaces is collapsed to one space.
    pub remove_extra_whitespaces: bool,
    /// True if spaces become `▁`.
    pub escape_whitespaces: bool,
    /// Options of the denormalizer, which rewrites decoded text.
    #[serde(default)]
    pub denormalizer: Option<DenormalizerFacts>,
}

/// Options of a denormalizer, named as in the format.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DenormalizerFacts {
    /// Character map of the denormalizer in base64.
    pub precompiled_charsmap: String,
    /// True if a space is inserted before the text.
    pub add_dummy_prefix: bool,
    /// True if white space is trimmed at both ends, and each run of spaces is collapsed to one space.
    pub remove_extra_whitespaces: bool,
    /// True if spaces become `▁`.
    pub escape_whitespaces: bool,
}

impl DenormalizerFacts {
    fn of(proto: &NormalizerProto) -> Option<Self> {
        let map = Some(proto.precompiled_charsmap()).filter(|map| !map.is_empty())?;
        Some(Self {
            precompiled_charsmap: BASE64_STANDARD.encode(map),
            add_dummy_prefix: proto.add_dummy_prefix(),
            remove_extra_whitespaces: proto.remove_extra_whitespaces(),
            escape_whitespaces: proto.escape_whitespaces(),
        })
    }

    fn to_proto(&self) -> Result<NormalizerProto> {
        Ok(NormalizerProto {
            name: Some("user_defined".to_owned()),
            precompiled_charsmap: Some(bytes_of("denormalizer", &self.precompiled_charsmap)?),
            add_dummy_prefix: Some(self.add_dummy_prefix),
            remove_extra_whitespaces: Some(self.remove_extra_whitespaces),
            escape_whitespaces: Some(self.escape_whitespaces),
        })
    }
}

fn bytes_of(name: &str, base64: &str) -> Result<Vec<u8>> {
    BASE64_STANDARD.decode(base64).map_err(|error| Error::config(format!("{name}: {error}")))
}

impl Facts {
    /// Returns the options as a JSON object.
    ///
    /// # Errors
    /// [`Error::config`] if serialization fails, which does not occur.
    pub fn to_json(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|error| Error::config(error.to_string()))
    }

    /// Reads the output of [`Facts::to_json`].
    ///
    /// # Errors
    /// [`Error::config`] for invalid JSON.
    pub fn from_json(json: &str) -> Result<Self> {
        serde_json::from_str(json).map_err(|error| Error::config(format!("not the options of a model: {error}")))
    }
}

/// Protobuf message of a piece, as `prost` parses it.
#[derive(Clone, PartialEq, Message)]
struct RawPiece {
    #[prost(bytes = "vec", optional, tag = "1")]
    piece: Option<Vec<u8>>,
    #[prost(float, optional, tag = "2")]
    score: Option<f32>,
    #[prost(int32, optional, tag = "3", default = "1")]
    kind: Option<i32>,
}

/// A piece whose missing fields have their default values.
#[derive(Debug)]
struct Piece<'f> {
    text: Cow<'f, [u8]>,
    score: f32,
    number: i32, // number of the piece's type
}

impl From<RawPiece> for Piece<'_> {
    fn from(raw: RawPiece) -> Self {
        Self { score: raw.score(), number: raw.kind(), text: raw.piece.unwrap_or_default().into() }
    }
}

impl Piece<'_> {
    fn kind(&self) -> Option<Kind> {
        KINDS.iter().find(|known| known.0 == self.number).map(|known| known.1)
    }
}

#[derive(Clone, PartialEq, Message)]
struct Trainer {
    #[prost(int32, optional, tag = "3", default = "1")]
    model_type: Option<i32>,
    #[prost(int32, optional, tag = "4")]
    vocab_size: Option<i32>,
    #[prost(bool, optional, tag = "24")]
    treat_whitespace_as_suffix: Option<bool>,
    #[prost(bool, optional, tag = "35")]
    byte_fallback: Option<bool>,
    #[prost(int32, optional, tag = "40")]
    unk_id: Option<i32>,
    #[prost(int32, optional, tag = "41")]
    bos_id: Option<i32>,
    #[prost(int32, optional, tag = "42")]
    eos_id: Option<i32>,
    #[prost(int32, optional, tag = "43")]
    pad_id: Option<i32>,
    #[prost(string, optional, tag = "44", default = " \u{2047} ")]
    unk_surface: Option<String>,
    #[prost(string, optional, tag = "45", default = "<unk>")]
    unk_piece: Option<String>,
    #[prost(string, optional, tag = "46", default = "<s>")]
    bos_piece: Option<String>,
    #[prost(string, optional, tag = "47", default = "</s>")]
    eos_piece: Option<String>,
    #[prost(string, optional, tag = "48", default = "<pad>")]
    pad_piece: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct NormalizerProto {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
    #[prost(bytes = "vec", optional, tag = "2")]
    precompiled_charsmap: Option<Vec<u8>>,
    #[prost(bool, optional, tag = "3", default = "true")]
    add_dummy_prefix: Option<bool>,
    #[prost(bool, optional, tag = "4", default = "true")]
    remove_extra_whitespaces: Option<bool>,
    #[prost(bool, optional, tag = "5", default = "true")]
    escape_whitespaces: Option<bool>,
}

/// Reads a file.
///
/// # Errors
/// [`Error::format`] with the byte offset; if a piece is invalid, also with the index of the piece.
pub fn read(file: &[u8]) -> Result<ModelProto<'_>> {
    let (mut model, charsmap) = read_with_charsmap(file)?;
    model.facts.precompiled_charsmap = (!charsmap.is_empty()).then(|| BASE64_STANDARD.encode(charsmap));
    Ok(model)
}

/// Reads a file. Returns the character map separately; it is empty if no character changes.
///
/// # Errors
/// As [`read`].
pub fn read_with_charsmap(file: &[u8]) -> Result<(ModelProto<'_>, Vec<u8>)> {
    let mut trainer = Trainer::default();
    let mut normalizer = NormalizerProto::default();
    let mut denormalizer = NormalizerProto::default();
    let mut pieces: Vec<Piece<'_>> = Vec::with_capacity(file.len() / USUAL_BYTES);
    let mut rest = file;
    while !rest.is_empty() {
        let at = file.len() - rest.len();
        let place = |what: String| if what.is_empty() { format!("byte {at}") } else { format!("{what}, byte {at}") };
        let wrong = |what: &str, error: prost::DecodeError| {
            Error::format(format!("not a readable SentencePiece model: {error}"), place(what.into()))
        };
        let (tag, wire) = decode_key(&mut rest).map_err(|error| wrong("", error))?;
        if !(matches!(tag, 1 | 2 | 3 | 5)) {
            skip_field(wire, tag, &mut rest, DecodeContext::default()).map_err(|error| wrong("", error))?;
            continue;
        }
        if wire != WireType::LengthDelimited {
            let message = format!("field {tag} of the model has wire type {wire:?} where a message is expected");
            return Err(Error::format(message, place(String::new())));
        }
        let length = decode_varint(&mut rest).map_err(|error| wrong("", error))?;
        let inside = usize::try_from(length).ok().and_then(|length| rest.split_at_checked(length));
        let Some((inside, after)) = inside else {
            let message = format!("the file is cut off: a field of {length} bytes, of which it has {}", rest.len());
            return Err(Error::format(message, place(String::new())));
        };
        rest = after;
        match tag {
            1 => {
                let index = pieces.len();
                let piece = match usual_piece(inside) {
                    Some(piece) => piece,
                    None => RawPiece::decode(inside).map_err(|error| wrong(&format!("piece {index}"), error))?.into(),
                };
                check(&piece).map_err(|message| Error::format(message, place(format!("piece {index}"))))?;
                if index > MAX_ID as usize {
                    return Err(Error::format("more pieces than any vocabulary has", place(format!("piece {index}"))));
                }
                pieces.push(piece);
            }
            2 => trainer.merge(inside).map_err(|error| wrong("trainer_spec", error))?,
            3 => normalizer.merge(inside).map_err(|error| wrong("normalizer_spec", error))?,
            _ => denormalizer.merge(inside).map_err(|error| wrong("denormalizer_spec", error))?,
        }
    }
    for piece in pieces.iter_mut().filter(|piece| trainer.byte_fallback() && *piece.text == *NUL) {
        piece.number = UNUSED;
    }
    check_all(&pieces, trainer.byte_fallback())?;
    let facts = facts(&trainer, &normalizer, &denormalizer, &pieces)?;
    let pieces = pieces.into_iter().map(|piece| {
        let kind = piece.kind().unwrap_or(Kind::Token);
        PieceProto { kind, content: piece.text, score: piece.score }
    });
    let model = ModelProto { facts, pieces: pieces.collect() };
    Ok((model, normalizer.precompiled_charsmap.unwrap_or_default()))
}

/// Reads a piece in the form that SentencePiece writes: fields in ascending order, each at most once, and a text of up
/// to 127 bytes. Returns None for a piece in another form. Nearly all pieces have this form, and parsing them with
/// `prost` takes four times as long.
fn usual_piece(message: &[u8]) -> Option<Piece<'_>> {
    let [0x0A, len @ 0..0x80, rest @ ..] = message else { return None };
    let (text, mut rest) = rest.split_at_checked(usize::from(*len))?;
    let mut piece = Piece { text: text.into(), score: 0.0, number: 1 };
    if let [0x15, a, b, c, d, after @ ..] = rest {
        piece.score = f32::from_le_bytes([*a, *b, *c, *d]);
        rest = after;
    }
    if let [0x18, kind @ 0..0x80, after @ ..] = rest {
        piece.number = i32::from(*kind);
        rest = after;
    }
    rest.is_empty().then_some(piece)
}

/// Checks a single piece.
fn check(piece: &Piece<'_>) -> std::result::Result<(), String> {
    let Ok(text) = std::str::from_utf8(&piece.text) else {
        return Err(format!("the piece {:?} is not UTF-8", String::from_utf8_lossy(&piece.text)));
    };
    if text.is_empty() {
        return Err("the piece is empty".into());
    }
    if !piece.score.is_finite() {
        return Err(format!("the score of {text:?} is {}", piece.score));
    }
    match piece.kind() {
        None => Err(format!("the piece {text:?} has the unknown type {}", piece.number)),
        Some(Kind::Byte) if byte_of(text).is_none() && *piece.text != *NUL => {
            Err(format!("the byte piece {text:?} is not spelled like <0x0A>"))
        }
        Some(_) => Ok(()),
    }
}

/// Returns the byte that a byte piece (`<0x0A>`) stands for; None for any other text.
pub fn byte_of(text: &str) -> Option<u8> {
    let digits = text.strip_prefix("<0x")?.strip_suffix('>')?;
    let byte = u8::from_str_radix(digits, 16).ok()?;
    (text == format!("<0x{byte:02X}>")).then_some(byte)
}

/// Checks all pieces together.
fn check_all(pieces: &[Piece<'_>], byte_fallback: bool) -> Result<()> {
    // SentencePiece has two tables: one of ordinary pieces and one of all others. A text can occur once in each table.
    let mut seen = [HashSet::with_capacity(pieces.len()), HashSet::new()];
    let mut unknown = None;
    let mut bytes = 0;
    for (index, piece) in pieces.iter().enumerate() {
        let wrong = |message: String| Err(Error::format(message, format!("piece {index}")));
        let text = &*piece.text;
        let table = usize::from(matches!(piece.kind(), Some(Kind::Special | Kind::Byte)));
        if !seen[table].insert(text) {
            return wrong(format!("the piece {:?} appears in the model twice", crate::vocab::show(text)));
        }
        if piece.number == UNKNOWN {
            if let Some(other) = unknown.replace(index) {
                return wrong(format!("a second unknown piece; the first is piece {other}"));
            }
        }
        if piece.kind() == Some(Kind::Byte) {
            bytes += 1;
            if !byte_fallback {
                return wrong("a byte piece in a model without byte_fallback".into());
            }
        }
    }
    if unknown.is_none() {
        return Err(Error::format("the model has no unknown piece", format!("{} pieces", pieces.len())));
    }
    if byte_fallback && bytes != 256 {
        let message = format!("the model falls back to bytes and has {bytes} byte pieces, not 256");
        return Err(Error::format(message, "trainer_spec.byte_fallback"));
    }
    Ok(())
}

fn facts(
    trainer: &Trainer,
    normalizer: &NormalizerProto,
    denormalizer: &NormalizerProto,
    pieces: &[Piece<'_>],
) -> Result<Facts> {
    let Some((model_type, _)) = MODELS.iter().find(|known| known.1 == trainer.model_type()) else {
        let message = format!("unknown model type {}", trainer.model_type());
        return Err(Error::format(message, "trainer_spec.model_type"));
    };
    // SentencePiece finds the piece of a role by its spelling; it uses the ids in trainer_spec only for training.
    let role = |name: &str| {
        let found = pieces.iter().any(|piece| piece.number == CONTROL && *piece.text == *name.as_bytes());
        found.then(|| name.to_owned())
    };
    let or = |name: &str, default: &str| if name.is_empty() { default.to_owned() } else { name.to_owned() };
    let unk = pieces.iter().find(|piece| piece.number == UNKNOWN).map(|piece| piece.text.to_vec());
    Ok(Facts {
        model_type: (*model_type).to_owned(),
        unk: String::from_utf8(unk.unwrap_or_default()).unwrap_or_default(),
        byte_fallback: trainer.byte_fallback(),
        treat_whitespace_as_suffix: trainer.treat_whitespace_as_suffix(),
        unk_surface: trainer.unk_surface().to_owned(),
        bos: role(&or(trainer.bos_piece(), "<s>")),
        eos: role(&or(trainer.eos_piece(), "</s>")),
        pad: role(&or(trainer.pad_piece(), "<pad>")),
        normalizer: normalizer.name().to_owned(),
        precompiled_charsmap: None,
        add_dummy_prefix: normalizer.add_dummy_prefix(),
        remove_extra_whitespaces: normalizer.remove_extra_whitespaces(),
        escape_whitespaces: normalizer.escape_whitespaces(),
        denormalizer: DenormalizerFacts::of(denormalizer),
    })
}

/// Returns all messages of a model file except the pieces, as (field number, content, position in the file).
///
/// # Errors
/// [`Error::format`] with the byte offset.
pub fn specs(file: &[u8]) -> Result<Vec<(u32, &[u8], usize)>> {
    let (mut found, mut num_pieces) = (Vec::new(), 0);
    for field in read_message(file) {
        let Field { number, value, at } = field?;
        match value {
            Value::Bytes(piece) if number == 1 => {
                let wrong = |error| Error::format(format!("not a piece: {error}"), format!("piece {num_pieces}"));
                RawPiece::decode(piece).map_err(wrong)?;
                num_pieces += 1;
            }
            Value::Bytes(content) => found.push((number, content, at)),
            Value::Number(_) | Value::Float(_) | Value::Fixed64(_) => {}
        }
    }
    Ok(found)
}

/// Replaces the fields of a file that follow its pieces: trainer, normalizer and, unless it is empty, denormalizer.
///
/// # Errors
/// As [`specs`].
pub fn with_specs(file: &[u8], trainer: &[u8], normalizer: &[u8], denormalizer: &[u8]) -> Result<Vec<u8>> {
    let first = specs(file)?.first().map_or(file.len(), |&(_, _, at)| at);
    let mut out = file[..first].to_vec();
    wire::put(2, Value::Bytes(trainer), &mut out);
    wire::put(3, Value::Bytes(normalizer), &mut out);
    if !denormalizer.is_empty() {
        wire::put(5, Value::Bytes(denormalizer), &mut out);
    }
    Ok(out)
}

/// Writes a file.
///
/// # Errors
/// [`Error::config`] for a model that SentencePiece refuses to load.
pub fn write(model: &ModelProto<'_>) -> Result<Vec<u8>> {
    let ModelProto { facts, pieces } = model;
    let number = MODELS.iter().find(|known| known.0 == facts.model_type).map(|known| known.1);
    let number =
        number.ok_or_else(|| Error::config(format!("a SentencePiece model cannot be a {:?}", facts.model_type)))?;
    let id = |name: &Option<String>| {
        let name = name.as_ref()?.as_bytes();
        let found = pieces.iter().position(|piece| piece.kind == Kind::Special && *piece.content == *name);
        found.map(|id| id as i32)
    };
    // If the name of a role is missing, SentencePiece uses the default name, even if the piece with this name has
    // another role or does not exist.
    let role = |name: &Option<String>, default: &str| {
        let is_taken = |name: &str| pieces.iter().any(|piece| *piece.content == *name.as_bytes());
        match name {
            None if is_taken(default) => {
                let free = |i: usize| format!("<no {}{}>", default.trim_matches(['<', '/', '>']), "_".repeat(i));
                (0..).map(free).find(|name| !is_taken(name))
            }
            name => name.clone(),
        }
    };
    let mut file = Vec::new();
    let mut raw = Vec::with_capacity(pieces.len());
    for piece in pieces {
        // The search is in reverse order, so that special pieces get the type "control", not "unknown".
        let known = KINDS.iter().rev().find(|known| known.1 == piece.kind);
        let Some((mut number, _)) = known else {
            let spelled = crate::vocab::show(&piece.content);
            return Err(Error::config(format!("{spelled:?} ends a word, which a SentencePiece model cannot express")));
        };
        if piece.kind == Kind::Special && *piece.content == *facts.unk.as_bytes() {
            number = UNKNOWN;
        }
        raw.push(Piece { text: Cow::Borrowed(&piece.content), score: piece.score, number });
    }
    for (index, piece) in raw.iter().enumerate() {
        check(piece).map_err(|message| Error::config(format!("id {index}: {message}")))?;
    }
    check_all(&raw, facts.byte_fallback).map_err(|error| Error::config(error.to_string()))?;
    for Piece { text, score, number } in raw {
        let kind = Some(number).filter(|&number| number != 1); // omits the default value, as SentencePiece does
        put(1, &RawPiece { piece: Some(text.into_owned()), score: Some(score), kind }, &mut file);
    }
    let trainer = Trainer {
        model_type: Some(number),
        vocab_size: Some(pieces.len() as i32),
        treat_whitespace_as_suffix: Some(facts.treat_whitespace_as_suffix),
        byte_fallback: Some(facts.byte_fallback),
        unk_id: Some(id(&Some(facts.unk.clone())).unwrap_or(-1)),
        bos_id: Some(id(&facts.bos).unwrap_or(-1)),
        eos_id: Some(id(&facts.eos).unwrap_or(-1)),
        pad_id: Some(id(&facts.pad).unwrap_or(-1)),
        unk_surface: Some(facts.unk_surface.clone()),
        unk_piece: Some(facts.unk.clone()),
        bos_piece: role(&facts.bos, "<s>"),
        eos_piece: role(&facts.eos, "</s>"),
        pad_piece: role(&facts.pad, "<pad>"),
    };
    put(2, &trainer, &mut file);
    let charsmap =
        facts.precompiled_charsmap.as_ref().map(|text| bytes_of("precompiled_charsmap", text)).transpose()?;
    let normalizer = NormalizerProto {
        name: Some(facts.normalizer.clone()),
        precompiled_charsmap: charsmap,
        add_dummy_prefix: Some(facts.add_dummy_prefix),
        remove_extra_whitespaces: Some(facts.remove_extra_whitespaces),
        escape_whitespaces: Some(facts.escape_whitespaces),
    };
    put(3, &normalizer, &mut file);
    if let Some(denormalizer) = &facts.denormalizer {
        put(5, &denormalizer.to_proto()?, &mut file);
    }
    Ok(file)
}

fn put(tag: u32, message: &impl Message, file: &mut Vec<u8>) {
    wire::put(tag, Value::Bytes(&message.encode_to_vec()), file);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;

    fn piece(kind: Kind, content: &str, score: f32) -> PieceProto<'static> {
        PieceProto { kind, content: content.as_bytes().to_vec().into(), score }
    }

    fn small() -> ModelProto<'static> {
        let facts = Facts {
            model_type: "unigram".into(),
            unk: "<unk>".into(),
            unk_surface: " ? ".into(),
            bos: Some("<s>".into()),
            normalizer: "identity".into(),
            precompiled_charsmap: Some(BASE64_STANDARD.encode(b"rules")),
            add_dummy_prefix: true,
            ..Facts::default()
        };
        let pieces = vec![
            piece(Kind::Special, "<unk>", 0.0),
            piece(Kind::Special, "<s>", 0.0),
            piece(Kind::Token, "▁a", -1.5),
            piece(Kind::Unused, "b", -2.0),
            piece(Kind::Added, "<x>", 0.0),
            piece(Kind::Token, "<s>", -3.0), // allowed, because control pieces are in the other table
        ];
        ModelProto { facts, pieces }
    }

    #[test]
    fn model_is_equal_after_writing_and_reading() {
        let mut model = small();
        assert_eq!(read(&write(&model).unwrap()).unwrap(), model);
        model.facts.byte_fallback = true;
        model.pieces.extend((0..=255u8).map(|byte| piece(Kind::Byte, &format!("<0x{byte:02X}>"), 0.0)));
        assert_eq!(read(&write(&model).unwrap()).unwrap(), model);
        model.pieces.pop();
        assert!(write(&model).unwrap_err().to_string().contains("255 byte pieces"));
    }

    #[test]
    fn a_denormalizer_is_kept() {
        let mut model = small();
        let precompiled_charsmap = BASE64_STANDARD.encode(b"rules");
        model.facts.denormalizer = Some(DenormalizerFacts { precompiled_charsmap, ..DenormalizerFacts::default() });
        assert_eq!(read(&write(&model).unwrap()).unwrap(), model);
    }

    fn refused(file: &[u8]) -> String {
        read(file).unwrap_err().to_string()
    }

    fn with(raw: &RawPiece) -> Vec<u8> {
        let mut file = write(&small()).unwrap();
        put(1, raw, &mut file);
        file
    }

    #[test]
    fn errors_name_the_piece_and_the_byte() {
        let raw = |piece: &[u8], score, kind| with(&RawPiece { piece: Some(piece.to_vec()), score, kind });
        let end = write(&small()).unwrap().len();
        assert_eq!(refused(&raw(b"", None, None)), format!("the piece is empty (piece 6, byte {end})"));
        assert!(refused(&raw(b"\xff", None, None)).contains("not UTF-8 (piece 6"));
        assert!(refused(&raw(b"c", Some(f32::NAN), None)).contains("is NaN (piece 6"));
        assert!(refused(&raw(b"c", None, Some(9))).contains("unknown type 9"));
        assert!(refused(&raw(b"c", None, Some(-1))).contains("unknown type -1"));
        assert!(refused(&raw(b"c", None, Some(2))).contains("second unknown piece; the first is piece 0 (piece 6)"));
        assert!(refused(&raw(b"b", None, None)).contains("twice (piece 6)"));
        assert!(refused(&raw(b"<0xA>", None, Some(6))).contains("not spelled"));
        assert!(refused(&raw(b"<0x0A>", None, Some(6))).contains("without byte_fallback"));
        assert!(refused(b"").contains("no unknown piece"));
        assert!(refused(b"\x08\x01").contains("wire type Varint where a message is expected (byte 0)"));
        assert!(refused(b"\x0a\xff\xff\xff\xff\x0f").contains("(byte 0)"));
        // The piece in these bytes has a 32-bit number where its text is expected.
        assert!(refused(b"\x0a\x02\x0d\x01").contains("(piece 0, byte 0)"));
        assert!(refused(&[0x33; 100_000]).contains("byte 0")); // groups nested 100,000 deep
    }

    #[test]
    fn truncated_file_is_an_error_or_a_shorter_model() {
        let file = write(&small()).unwrap();
        for end in 0..file.len() {
            let _ = read(&file[..end]);
        }
    }

    proptest! {
        #[test]
        fn damaged_file_gives_a_model_or_an_error(changes in prop::collection::vec((0usize..100, any::<u8>()), 1..6)) {
            let mut file = write(&small()).unwrap();
            for (at, byte) in changes {
                let at = at % file.len();
                file[at] = byte;
            }
            if let Ok(model) = read(&file) {
                let written = write(&model).unwrap();
                prop_assert_eq!(read(&written).unwrap().pieces, model.pieces);
            }
        }
    }
}
