//! ids → bytes.
//!
//! Every id adds its content; one that ends a word adds a space as well, save at the very end. The bytes of broken-up
//! characters come together again here; what is still not UTF-8 then is the caller's choice.
//!
//! Plain version: `reference/step06_decode.py`.

use crate::error::{ErrorKind, Result};
use crate::vocab::{Kind, Vocab};

/// Appends what `ids` decode to.
///
/// # Errors
/// [`ErrorKind::UnknownId`] for an id outside the vocabulary or in a hole of it.
pub fn decode(vocab: &Vocab, ids: &[u32], skip_special: bool, out: &mut Vec<u8>) -> Result<()> {
    let mut space_at_end = false;
    for (position, &id) in ids.iter().enumerate() {
        match vocab.kind(id) {
            Kind::Hole => {
                let (num_tokens, highest) = (vocab.num_tokens(), vocab.len().saturating_sub(1) as u32);
                return Err(ErrorKind::UnknownId { id, position, num_tokens, highest }.into());
            }
            Kind::Special if skip_special => continue,
            kind => {
                vocab.write_decoded(id, out);
                space_at_end = kind == Kind::EndsWord;
            }
        }
    }
    if space_at_end {
        out.pop();
    }
    Ok(())
}
