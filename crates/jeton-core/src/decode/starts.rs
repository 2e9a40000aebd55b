//! Decodes ids, and counts the characters before each id, in one pass over the ids and one over the text.
//!
//! Some decoders only append text; for example, a decoder can concatenate the bytes of the tokens. In this case, the
//! text of the first ids is a prefix of the text of all ids. So the start of an id is the number of bytes written for
//! the preceding ids. After the text has been checked to be UTF-8, numbers of bytes are converted to numbers of
//! characters. For ASCII text, the two numbers are equal.
//!
//! Invariant: text and starts equal those of [`super::Decoder::streamed_with_starts`], which decodes the ids one by
//! one with a stream. That function also handles the other cases: text that is not UTF-8, decoder steps that join
//! strings, a denormalizer, and runs of byte pieces that end inside a character. Cost: linear in the ids and the text;
//! 8 bytes for each id.

use super::chain::Chain;
use super::contents::{self, Contents};
use super::entries::each;
use super::parts::Plan;
use crate::error::Result;
use crate::vocab::{Kind, Vocab};

/// Returns the bytes of `ids`, and the number of bytes before each id. Returns None if some id could change the text of
/// the ids before it.
///
/// # Errors
/// As [`super::Decoder::decode`].
pub(super) fn bytes_with_starts(
    plan: &Plan,
    vocab: &Vocab,
    ids: &[u32],
    skip_special: bool,
    lossy: bool,
) -> Result<Option<(Vec<u8>, Vec<usize>)>> {
    Ok(match plan {
        Plan::Contents { respelled } if respelled.is_empty() => {
            Some(Contents::new(vocab, ids, skip_special)?.into_vec_with_starts())
        }
        Plan::Contents { respelled } => Some(contents::bytes_with_starts(vocab, respelled, ids, skip_special)?),
        Plan::Sentence(sentence) if sentence.denormalizer.is_some() => None,
        Plan::Sentence(sentence) => {
            let (mut bytes, mut starts) = (Vec::new(), Vec::with_capacity(ids.len()));
            let mut writing = sentence.start(0, false);
            all(vocab, ids, |id, kind| {
                starts.push(bytes.len());
                if !(skip_special && kind == Kind::Special) {
                    writing.put(id, kind, vocab.content(id), &mut bytes);
                }
            })?;
            // A byte piece that follows a byte piece may start inside a character, because a row of byte pieces is
            // decoded together (invalid UTF-8 is replaced only at the end of the row). If an id starts inside a
            // character in any other case, the result is None: the start of this id must be found with a stream.
            let is_byte = |id: u32| vocab.kind(id) == Kind::Byte;
            let is_inside = |&start: &usize| bytes.get(start).is_some_and(|&byte| continues(byte));
            let splits = |at: usize| is_inside(&starts[at]) && !(is_byte(ids[at]) && is_byte(ids[at - 1]));
            (1..ids.len()).all(|at| !splits(at)).then_some((bytes, starts))
        }
        Plan::Steps(chain) => chain_with_starts(chain, vocab, ids, skip_special, lossy)?,
    })
}

/// Like [`bytes_with_starts`], for a chain of steps. Some steps process several strings of their input together. If
/// the chain has such a step, returns None.
fn chain_with_starts(
    chain: &Chain,
    vocab: &Vocab,
    ids: &[u32],
    skip_special: bool,
    lossy: bool,
) -> Result<Option<(Vec<u8>, Vec<usize>)>> {
    if !chain.steps.iter().all(|step| step.is_context_free()) {
        return Ok(None);
    }
    let strings = chain.strings(vocab, ids, skip_special, lossy)?;
    let (mut ends, mut end) = (strings.ends().iter(), 0);
    let mut starts = Vec::with_capacity(ids.len());
    all(vocab, ids, |_, kind| {
        starts.push(end);
        if !(skip_special && kind == Kind::Special) {
            end = ends.next().copied().unwrap_or(end);
        }
    })?;
    Ok(Some((strings.into_bytes(), starts)))
}

/// Calls `with` for every id, including special tokens.
fn all(vocab: &Vocab, ids: &[u32], with: impl FnMut(u32, Kind)) -> Result<()> {
    each(vocab, ids, false, with)
}

/// Converts byte offsets in `text` to character offsets. The offsets must be in ascending order. A byte offset inside
/// a character becomes the offset of this character.
pub(super) fn to_chars(text: &str, starts: &mut [usize]) {
    if text.is_ascii() {
        return;
    }
    let bytes = text.as_bytes();
    let (mut before, mut chars) = (0, 0);
    for start in starts {
        chars += count_first_bytes(bytes, before, *start);
        before = *start;
        *start = chars - usize::from(bytes.get(before).is_some_and(|&byte| continues(byte)));
    }
}

/// Returns how many of the bytes from `start` to `end` begin a character; tests eight bytes at a time.
#[inline(always)]
fn count_first_bytes(bytes: &[u8], mut start: usize, end: usize) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let mut count = 0;
    while start < end {
        let Some(&eight) = bytes[start..].first_chunk::<8>() else {
            return count + bytes[start..end].iter().filter(|&&byte| !continues(byte)).count();
        };
        let word = u64::from_le_bytes(eight);
        let first = !(word >> 7 & !word >> 6) & ONES; // a continuation byte begins with the bits 10
        let len = (end - start).min(8);
        count += ((first << (64 - 8 * len)).wrapping_mul(ONES) >> 56) as usize;
        start += len;
    }
    count
}

/// Returns true for a continuation byte of UTF-8.
fn continues(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}
