//! Concatenation of contents: decoding without decoder components, which suffices for most vocabularies.
//!
//! The first pass finds unknown ids and computes the length of the result. The second pass copies the contents to the
//! result in steps of sixteen bytes, because a copy of the exact length would branch on the length. The next content
//! overwrites the excess bytes.

use std::collections::HashMap;

use super::entries::{each, unknown};
use super::parts::content;
use crate::error::Result;
use crate::vocab::{Kind, Vocab};

/// Number of bytes that one copy moves; few contents are longer.
const STEP: usize = Vocab::PADDING;

/// Returns the concatenated bytes of `ids`, and the number of bytes before each id. The bytes of an id are its entry in
/// `respelled`, or else its content.
///
/// # Errors
/// [`crate::error::ErrorKind::UnknownId`] for an unknown id.
pub fn bytes_with_starts(
    vocab: &Vocab,
    respelled: &HashMap<u32, Vec<u8>>,
    ids: &[u32],
    skip_special: bool,
) -> Result<(Vec<u8>, Vec<usize>)> {
    let (mut bytes, mut starts, mut space) = (Vec::new(), Vec::with_capacity(ids.len()), false);
    each(vocab, ids, false, |id, kind| {
        starts.push(bytes.len());
        if !(skip_special && kind == Kind::Special) {
            put(content(vocab, respelled, id), kind, &mut space, &mut bytes);
        }
    })?;
    Ok((bytes, starts))
}

/// Appends the bytes of an entry to those of the previous entries. `space` tells whether the previous entry ends a
/// word, so that a space is written first; the function updates `space` for the next entry.
#[inline]
pub fn put(content: &[u8], kind: Kind, space: &mut bool, out: &mut Vec<u8>) {
    if std::mem::replace(space, kind == Kind::EndsWord) {
        out.push(b' ');
    }
    out.extend_from_slice(content);
}

/// Concatenation of the contents of `ids`. Its length is known; its bytes are copied only on request.
#[derive(Debug, Clone, Copy)]
pub struct Contents<'a> {
    vocab: &'a Vocab,
    ids: &'a [u32],
    skip_special: bool,
    len: usize,
}

impl<'a> Contents<'a> {
    /// # Errors
    /// [`crate::error::ErrorKind::UnknownId`] for an unknown id.
    pub fn new(vocab: &'a Vocab, ids: &'a [u32], skip_special: bool) -> Result<Self> {
        let mut len = 0;
        for (position, &id) in ids.iter().enumerate() {
            let place = vocab.place(id).ok_or_else(|| unknown(vocab, id, position))?;
            len += place.len();
            if place.is_odd() {
                len = match vocab.kind(id) {
                    Kind::Hole => return Err(unknown(vocab, id, position)),
                    Kind::Special if skip_special => len - place.len(),
                    Kind::EndsWord => len + 1,
                    _ => len,
                };
            }
        }
        // Subtracts the space after the last written id, if that id ends a word.
        let is_written = |&&id: &&u32| !(skip_special && vocab.kind(id) == Kind::Special);
        let last = ids.iter().rfind(is_written);
        len -= usize::from(last.is_some_and(|&id| vocab.kind(id) == Kind::EndsWord));
        Ok(Self { vocab, ids, skip_special, len })
    }

    /// Returns the length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Writes the bytes to `room`, which must have [`Contents::len`] bytes.
    pub fn write(&self, room: &mut [u8]) {
        self.write_each(room, |_| {});
    }

    /// Writes like [`Contents::write`]. Calls `before` for each id with the number of bytes written before it. If the
    /// previous id ends a word, the space that is inserted after this word is not counted yet.
    #[inline(always)]
    fn write_each(&self, room: &mut [u8], mut before: impl FnMut(usize)) {
        let (mut at, mut space) = (0, 0);
        for &id in self.ids {
            let Some(place) = self.vocab.place(id) else { continue };
            before(at - space);
            let kind = if place.is_odd() { self.vocab.kind(id) } else { Kind::Token };
            if kind == Kind::Special && self.skip_special {
                continue;
            }
            let end = at + place.len();
            // A short content is copied as an integer. If it were copied as a slice, the compiler would combine this
            // copy and the copy in the other arm into one call of `memmove`.
            match (room[at..].first_chunk_mut::<STEP>(), self.vocab.padded(place).first_chunk::<STEP>()) {
                (Some(room), Some(content)) if place.len() <= STEP => {
                    *room = u128::from_ne_bytes(*content).to_ne_bytes();
                }
                _ => room[at..end].copy_from_slice(self.vocab.at(place)),
            }
            at = end;
            space = 0;
            if kind == Kind::EndsWord && at < room.len() {
                room[at] = b' ';
                at += 1;
                space = 1;
            }
        }
    }

    /// Returns the bytes as a vector.
    pub fn into_vec(self) -> Vec<u8> {
        let mut bytes = vec![0; self.len];
        self.write(&mut bytes);
        bytes
    }

    /// Returns the bytes as a vector, and the number of bytes before each id.
    pub fn into_vec_with_starts(self) -> (Vec<u8>, Vec<usize>) {
        let (mut bytes, mut starts) = (vec![0; self.len], vec![0; self.ids.len()]);
        let mut room = starts.iter_mut();
        self.write_each(&mut bytes, |start| room.next().into_iter().for_each(|room| *room = start));
        (bytes, starts)
    }
}
