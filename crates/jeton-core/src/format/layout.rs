//! Id layouts for SentencePiece models: the numbering of fairseq, which Hugging Face's multilingual models retain.
//!
//! Named special tokens have fixed ids. The id of a piece is its index plus an offset. Language codes follow the
//! pieces, and the mask token is last. If the layout names an unknown or control piece, the piece gets only the fixed
//! id, not the id computed from its index. Ids are assigned while the vocabulary is built.
//!
//! Cost: one pass over the pieces. Source: facebookresearch/fairseq's dictionaries, as described in
//! huggingface/transformers 4.x, `tokenization_xlm_roberta.py`, `tokenization_mbart.py`, `tokenization_nllb.py`,
//! `tokenization_camembert.py`.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Deserialize;

use super::sentencepiece::{ModelProto, PieceProto};
use crate::error::{Error, Result};
use crate::vocab::{Kind, List, Vocab, MAX_ID};

/// Assignment of ids to pieces.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// Special token → id.
    #[serde(default)]
    pub specials: BTreeMap<String, u32>,
    /// Offset added to the index of a piece.
    #[serde(default)]
    pub shift: u32,
    /// Language codes, which become special tokens after the pieces.
    #[serde(default)]
    pub languages: Vec<String>,
    /// Mask token, which gets the last id.
    #[serde(default)]
    pub mask: Option<String>,
}

impl Layout {
    /// Reads a layout from a JSON object with the fields of this type.
    ///
    /// # Errors
    /// [`Error::config`] for invalid JSON.
    pub fn from_json(json: &str) -> Result<Self> {
        serde_json::from_str(json).map_err(|error| Error::config(format!("not an id layout: {error}")))
    }
}

/// Entries with their ids, and a score for each id.
#[derive(Debug, Default, PartialEq)]
pub struct Arranged {
    /// Entries as (id, kind, content).
    pub entries: List,
    /// id → score.
    pub scores: Vec<f64>,
    /// Id of the mask token.
    pub mask: Option<u32>,
}

/// Assigns ids to the pieces of a model, as the layout describes. Without a layout, the id of a piece is its index.
///
/// # Errors
/// [`Error::config`] if the layout has no id for the unknown piece, gives an id or a name twice, gives an id over
/// `MAX_ID`, or names a piece that is neither an unknown nor a control piece.
pub fn arrange(model: ModelProto<'_>, layout: Option<&Layout>) -> Result<Arranged> {
    let Some(layout) = layout else {
        let scores = model.pieces.iter().map(|piece| f64::from(piece.score)).collect();
        let pieces = (0..).zip(model.pieces);
        let entries = pieces.map(|(id, piece)| (id, piece.kind, piece.content)).collect();
        return Ok(Arranged { entries, scores, mask: None });
    };
    if !layout.specials.contains_key(&model.facts.unk) {
        return Err(Error::config(format!("the layout has no id for the unknown token {:?}", model.facts.unk)));
    }
    let past = (model.pieces.len() as u64) + u64::from(layout.shift);
    let added: Vec<&String> = layout.languages.iter().chain(&layout.mask).collect();
    if past + added.len() as u64 > u64::from(MAX_ID) {
        return Err(Error::config(format!("a shift of {} makes ids over {MAX_ID}", layout.shift)));
    }
    let named = layout.specials.iter().map(|(name, &id)| (name, id));
    let named: Vec<(&String, u32)> = named.chain(added.into_iter().zip(past as u32..)).collect();
    let mut names = HashMap::with_capacity(named.len());
    for &(name, id) in &named {
        if names.insert(name.as_bytes(), id).is_some() {
            return Err(Error::config(format!("the layout names {name:?} twice")));
        }
    }
    let highest = named.iter().map(|entry| entry.1).max().unwrap_or(0);
    if highest > MAX_ID {
        return Err(Error::config(format!("the layout has the id {highest}, over {MAX_ID}")));
    }
    let mut taken = vec![false; (highest as usize + 1).max(past as usize)];
    let mut take = |id: u32, content: &[u8]| {
        if std::mem::replace(&mut taken[id as usize], true) {
            return Err(Error::config(format!(
                "the layout has id {id} for {:?} and for another token",
                crate::vocab::show(content)
            )));
        }
        Ok(())
    };
    let mut entries = List::with_capacity(model.pieces.len() + named.len());
    for &(name, id) in &named {
        take(id, name.as_bytes())?;
        entries.push(id, Kind::Special, name.as_bytes());
    }
    let mut scores = vec![0.0; past as usize];
    for (id, piece) in (layout.shift..).zip(model.pieces) {
        if names.contains_key(&*piece.content) {
            if piece.kind == Kind::Special {
                continue;
            }
            let spelled = crate::vocab::show(&piece.content);
            return Err(Error::config(format!("the layout names {spelled:?}, a piece that text can spell")));
        }
        take(id, &piece.content)?;
        scores[id as usize] = f64::from(piece.score);
        entries.push(id, piece.kind, &piece.content);
    }
    let mask = layout.mask.as_ref().and_then(|mask| names.get(mask.as_bytes()).copied());
    Ok(Arranged { entries, scores, mask })
}

/// Inverse of [`arrange`]: returns the pieces of the model in the order of their indices. All pieces have ids below
/// `end`.
///
/// If an id belongs to a special token of the layout, or to no token, the piece at its index is a control piece. The
/// names of the control pieces are taken from `control`, in order; names that are not special tokens of the layout are
/// skipped. `control` lists the names in the order in which SentencePiece's trainer numbers control pieces.
///
/// # Errors
/// [`Error::config`] if `control` has too few names.
pub fn pieces<'v>(
    vocab: &'v Vocab,
    scores: &[f64],
    layout: &Layout,
    end: u32,
    control: &'v [String],
) -> Result<Vec<PieceProto<'v>>> {
    let mut named = control.iter().filter(|name| layout.specials.contains_key(*name));
    let specials: HashSet<u32> = layout.specials.values().copied().collect();
    let mut pieces = Vec::with_capacity(vocab.num_tokens());
    for id in layout.shift..end {
        let kind = vocab.kind(id);
        pieces.push(if kind == Kind::Hole || specials.contains(&id) {
            let Some(name) = named.next() else {
                let message = format!("no token has the id {id}, and a SentencePiece model has no holes");
                return Err(Error::config(message));
            };
            PieceProto { kind: Kind::Special, content: name.as_bytes().into(), score: 0.0 }
        } else {
            let score = scores.get(id as usize).copied().unwrap_or(0.0) as f32;
            PieceProto { kind, content: vocab.content(id).into(), score }
        });
    }
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::format::sentencepiece::{Facts, PieceProto};

    fn model() -> ModelProto<'static> {
        let kinds = [(Kind::Special, "<unk>"), (Kind::Special, "<s>"), (Kind::Special, "</s>"), (Kind::Token, ",")];
        let pieces = kinds.map(|(kind, text)| PieceProto { kind, content: text.as_bytes().into(), score: -1.0 });
        ModelProto { facts: Facts { unk: "<unk>".into(), ..Facts::default() }, pieces: pieces.into() }
    }

    fn layout() -> Layout {
        serde_json::from_str(
            r#"{"specials": {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}, "shift": 1, "languages": ["en"], "mask": "<mask>"}"#,
        )
        .unwrap()
    }

    #[test]
    fn specials_pieces_languages_and_mask_get_their_ids() {
        let arranged = arrange(model(), Some(&layout())).unwrap();
        let mut entries: Vec<_> = arranged.entries.iter().collect();
        entries.sort_by_key(|entry| entry.0);
        let texts: Vec<&[u8]> = entries.iter().map(|entry| entry.2).collect();
        assert_eq!(texts, [b"<s>".as_slice(), b"<pad>", b"</s>", b"<unk>", b",", b"en", b"<mask>"]);
        assert!(entries.iter().map(|entry| entry.0).eq(0..7));
        assert_eq!(arranged.scores, [0.0, 0.0, 0.0, 0.0, -1.0]);
        assert_eq!(arranged.mask, Some(6));
    }

    #[test]
    fn conflicting_ids_are_refused() {
        let refused = |change: &dyn Fn(&mut Layout)| {
            let mut layout = layout();
            change(&mut layout);
            arrange(model(), Some(&layout)).unwrap_err().to_string()
        };
        assert!(refused(&|layout| layout.shift = 0).contains("id 3 for \",\""));
        assert!(refused(&|layout| layout.shift = u32::MAX).contains("makes ids over"));
        assert!(refused(&|layout| layout.languages.push("en".into())).contains("\"en\" twice"));
        assert!(refused(&|layout| layout.mask = Some(",".into())).contains("text can spell"));
        assert!(refused(&|layout| layout.specials.clear()).contains("no id for the unknown"));
        assert!(refused(&|layout| layout.specials.extend([("x".into(), u32::MAX)])).contains("over"));
    }
}
