//! Builds the tokenizer of a `.model` file directly. `jeton/formats/sentencepiece.py` builds the same tokenizer from a
//! definition that can be changed and saved.
//!
//! Cost: linear in the file. The pair table of BPE is built on first use.

use serde_json::{json, Value};

use crate::error::{Error, Result};
use crate::format::layout;
use crate::format::sentencepiece::{read_with_charsmap, Facts, ModelProto, PieceProto};
use crate::normalize::{CharsmapOptions, Normalizer};
use crate::tokenizer::{Extras, Tokenizer};
use crate::vocab::{Kind, Vocab};

/// Builds the tokenizer of a model file.
///
/// # Errors
/// [`Error::format`] for a file that SentencePiece does not load.
pub fn load(file: &[u8]) -> Result<(Tokenizer, Facts)> {
    let (model, charsmap) = read_with_charsmap(file)?;
    check(&model)?;
    let facts = model.facts.clone();
    let layout::Arranged { entries, scores, .. } = layout::arrange(model, None)?;
    let is_unk = |kind: Kind, content: &[u8]| kind == Kind::Special && content == facts.unk.as_bytes();
    let unk = entries.iter().find(|entry| is_unk(entry.1, entry.2)).map(|entry| entry.0);
    let vocab = Vocab::new(entries.iter())?;
    let user_defined: Vec<&[u8]> = entries.iter().filter(|entry| entry.1 == Kind::Added).map(|entry| entry.2).collect();
    let normalizer = normalizer(&facts, &charsmap, &user_defined)?;
    let extras = Extras { scores, ..Extras::default() };
    let options = options(&facts, unk).to_string();
    let tokenizer = Tokenizer::with_normalizers(&options, Some(vec![normalizer]), vocab, extras)?;
    Ok((tokenizer, facts))
}

/// Returns an error for models that SentencePiece refuses, although Jeton could encode with them.
fn check(model: &ModelProto<'_>) -> Result<()> {
    let is_unused = |piece: &PieceProto<'_>| piece.kind == Kind::Unused && *piece.content == *b"\0";
    let has_nul = |piece: &PieceProto<'_>| piece.content.contains(&0) && !is_unused(piece);
    if let Some(index) = model.pieces.iter().position(has_nul) {
        return Err(Error::format("a piece has the character U+0000", format!("piece {index}")));
    }
    let is_usable = |piece: &PieceProto<'_>| matches!(piece.kind, Kind::Token | Kind::Added | Kind::Unused);
    if model.facts.model_type == "unigram" && !model.pieces.iter().any(is_usable) {
        return Err(Error::format("the model has no pieces but control, unknown and byte pieces", "pieces"));
    }
    Ok(())
}

/// Builds the normalizer without JSON, because reading a character map from JSON would take as long as the rest of
/// loading.
fn normalizer(facts: &Facts, charsmap: &[u8], user_defined: &[&[u8]]) -> Result<Normalizer> {
    let options = CharsmapOptions {
        add_dummy_prefix: facts.add_dummy_prefix,
        remove_extra_whitespaces: facts.remove_extra_whitespaces,
        escape_whitespaces: facts.escape_whitespaces,
        treat_whitespace_as_suffix: facts.treat_whitespace_as_suffix,
    };
    Normalizer::sentencepiece(Some(charsmap).filter(|map| !map.is_empty()), options, user_defined)
}

/// Returns the options of the tokenizer as JSON.
fn options(facts: &Facts, unk: Option<u32>) -> Value {
    let mut model = json!({ "unk": unk, "byte_fallback": facts.byte_fallback });
    model["type"] = match facts.model_type.as_str() {
        "unigram" => json!("Unigram"),
        "bpe" => json!("Pieces"),
        "char" => json!("Chars"),
        _ => json!("Words"),
    };
    if facts.model_type == "unigram" {
        model["fuse_unk"] = json!(true);
        model["precision"] = json!("f32");
    }
    json!({
        "model": model,
        "normalizer": [{ "type": "SentencePiece" }], // replaced by the result of `normalizer`
        "decoder": [{
            "type": "SentencePiece",
            "add_dummy_prefix": facts.add_dummy_prefix,
            "remove_extra_whitespaces": facts.remove_extra_whitespaces,
            "treat_whitespace_as_suffix": facts.treat_whitespace_as_suffix,
            "unk_surface": facts.unk_surface,
            "unk": unk,
            "denormalizer": facts.denormalizer,
        }],
    })
}
