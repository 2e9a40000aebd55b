//! Looks up the kind of entry that each id has, and makes the error for an id without an entry.

use crate::error::{Error, ErrorKind, Result};
use crate::vocab::{Kind, Vocab};

/// Calls `with(id, kind)` for every id, except for ids of special tokens if `skip_special` is true.
pub(super) fn each(vocab: &Vocab, ids: &[u32], skip_special: bool, mut with: impl FnMut(u32, Kind)) -> Result<()> {
    for (position, &id) in ids.iter().enumerate() {
        match vocab.kind(id) {
            Kind::Hole => return Err(unknown(vocab, id, position)),
            Kind::Special if skip_special => {}
            kind => with(id, kind),
        }
    }
    Ok(())
}

/// Returns the error for an unknown id.
pub(super) fn unknown(vocab: &Vocab, id: u32, position: usize) -> Error {
    let (num_tokens, highest) = (vocab.num_tokens(), vocab.len().saturating_sub(1) as u32);
    ErrorKind::UnknownId { id, position, num_tokens, highest }.into()
}
