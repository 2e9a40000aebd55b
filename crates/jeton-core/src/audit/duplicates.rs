//! Finds groups of entries whose decoded texts are equal, or become equal when the normalizer components that map
//! characters are applied.
//!
//! Components that add a prefix or strip spaces are not applied, because they would make ` a` and `a` equal.
//!
//! Cost: one normalization for each entry, and a hash table of the texts that occur. Left out: SentencePiece's
//! character map, which also changes spaces; special tokens and byte entries.

use hashbrown::HashMap;

use crate::aligned_text::AlignedText;
use crate::error::Result;
use crate::model::unformed::byte_of;
use crate::tokenizer::Tokenizer;
use crate::util::cancel::{CancelCheck, KeepGoing};
use crate::vocab::Kind;

/// Returns groups of at least two ids with equal texts, sorted by id. The flag of a group is true if the decoded bytes
/// are equal even without the normalizer.
///
/// # Errors
/// `Interrupted`.
pub fn duplicates(tok: &Tokenizer, keep_going: KeepGoing<'_>) -> Result<Vec<(Vec<u32>, bool)>> {
    let mut groups: HashMap<Vec<u8>, Vec<u32>> = HashMap::new();
    let (vocab, mut cancel) = (tok.vocab(), CancelCheck::new(keep_going));
    for (id, kind, _) in vocab.iter() {
        cancel.check()?;
        let is_text =
            matches!(kind, Kind::Token | Kind::EndsWord | Kind::Added) && byte_of(vocab.content(id)).is_none();
        let text = normalized(tok, id, keep_going)?;
        if is_text && !text.is_empty() {
            groups.entry(text).or_default().push(id);
        }
    }
    let mut found: Vec<(Vec<u32>, bool)> =
        groups.into_values().filter(|ids| ids.len() > 1).map(|ids| (ids, false)).collect();
    for (ids, is_equal) in &mut found {
        let decoded = |id| {
            let mut bytes = Vec::new();
            tok.decode_one(id, &mut bytes);
            bytes
        };
        let first = decoded(ids[0]);
        *is_equal = ids[1..].iter().all(|&id| decoded(id) == first);
    }
    found.sort_unstable();
    Ok(found)
}

/// Returns the decoded bytes of an entry, normalized if they are UTF-8. If the entry starts with
/// `continuing_subword_prefix`, its content is used instead of the decoded bytes, so that `##a` and `a` remain
/// different.
fn normalized(tok: &Tokenizer, id: u32, keep_going: KeepGoing<'_>) -> Result<Vec<u8>> {
    let (vocab, mut bytes) = (tok.vocab(), Vec::new());
    tok.decode_one(id, &mut bytes);
    let prefix = tok.model().continuing_prefix().as_bytes();
    if !prefix.is_empty() && vocab.content(id).starts_with(prefix) {
        bytes = vocab.content(id).to_vec();
    }
    let Ok(text) = std::str::from_utf8(&bytes) else { return Ok(bytes) };
    let mut aligned = AlignedText::new(text, false)?;
    let mut is_changed = false;
    for part in tok.normalizers().iter().filter(|part| part.maps_characters()) {
        part.apply(&mut aligned, keep_going)?;
        is_changed = true;
    }
    Ok(if is_changed { aligned.text().as_bytes().to_vec() } else { bytes })
}
