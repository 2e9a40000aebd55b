//! Offsets of a text whose ids are known: it is normalized and split again, with alignments, but the model does not run.
//!
//! The ids of a pretoken are those whose contents, in order, are its bytes. Unknown tokens, byte fallback and the like have
//! other contents; a pretoken with one of them is encoded again.
//!
//! Invariant: if the result is true, the offsets are those of [`Tokenizer::encode_with_spans`]. Cost: the stages before the
//! model with alignments, and a comparison for each token; memory for the longest pretoken.

use super::char_index::CharIndex;
use super::permit::Permit;
use super::pipeline::Tokenizer;
use super::segments::{Origin, Segment};
use super::spans::{hf_offsets, place_bytes};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Out, Scratch};
use crate::util::cancel::{CancelCheck, KeepGoing};
use crate::vocab::alphabet::EndOfWord;
use crate::vocab::{Kind, Vocab};

/// Buffers, for several texts.
#[derive(Default)]
pub(super) struct KnownIds {
    chars: CharIndex,
    ends: Vec<usize>,
    again: Vec<u32>, // ids of a pretoken that is encoded again
    spans: Vec<(usize, usize)>,
    scratch: Scratch,
}

impl Tokenizer {
    /// Writes the offsets of a text with these ids: `out` and `first` as [`super::token_widths::TokenWidths::write`]. Returns
    /// false if they must be found in another way.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub(super) fn trace_known(
        &self,
        text: &str,
        ids: &[u32],
        permit: &Permit<'_>,
        known: &mut KnownIds,
        (out, first): (&mut [i64], &mut [i64]),
        keep_going: KeepGoing<'_>,
    ) -> Result<bool> {
        let (out, first) = (out.as_chunks_mut::<2>().0, first.as_chunks_mut::<2>().0);
        known.chars.set(text);
        let mut at = 0;
        let mut last_end = 0; // of the offsets so far, in bytes
        let done = self.for_each_segment(text.as_bytes(), permit, true, keep_going, |segment| {
            let len = self.match_ids(&segment, &ids[at..], permit, known, keep_going)?;
            let (ids, out) = (&ids[at..at + len], &mut out[at..at + len]);
            let KnownIds { chars, ends, spans, .. } = &mut *known;
            spans.clear();
            let mut start = 0;
            for &end in &*ends {
                spans.push(hf_offsets(&segment, start, end));
                start = end;
            }
            if self.model.places_bytes_together() {
                place_bytes(&self.vocab, &segment, ids, ends, spans, &mut CancelCheck::new(keep_going))?;
            }
            for (index, ((&id, &span), out)) in ids.iter().zip(&*spans).zip(out).enumerate() {
                let offsets = chars.range(text, span);
                let mut own = offsets;
                if self.template.trim_offsets() {
                    let is_entry = matches!(self.vocab.kind(id), Kind::Token | Kind::EndsWord);
                    let is_raw = matches!(segment.place, Origin::At(_));
                    // The bytes of other tokens may differ from their offsets.
                    if !is_entry && (segment.added.is_none() || !is_raw && span.0 < last_end)
                        || self.model.shows_text_of(id)
                    {
                        return Err(not_known());
                    }
                    let white = self.white_ends(text.as_bytes(), id, span);
                    white.trim(self.template.add_prefix_space(), at + index, &mut own);
                    if let Some(first) = first.get_mut(at + index) {
                        let mut own = offsets;
                        white.trim(self.template.add_prefix_space(), 0, &mut own);
                        *first = [own.0 as i64, own.1 as i64];
                    }
                    last_end = last_end.max(span.1);
                }
                *out = [own.0 as i64, own.1 as i64];
            }
            at += len;
            Ok(())
        });
        match done {
            Err(error) if matches!(error.kind(), ErrorKind::Internal(_)) => Ok(false),
            Err(error) => Err(error),
            Ok(()) => Ok(at == ids.len()),
        }
    }

    /// Finds the ends of the tokens of a segment, of which `ids` begin with the ids. Returns their number.
    pub(super) fn match_ids(
        &self,
        segment: &Segment<'_>,
        ids: &[u32],
        permit: &Permit<'_>,
        known: &mut KnownIds,
        keep_going: KeepGoing<'_>,
    ) -> Result<usize> {
        let KnownIds { ends, again, scratch, .. } = known;
        ends.clear();
        if segment.added.is_none() && self.match_contents(segment.bytes, ids, ends) {
            return Ok(ends.len());
        }
        ends.clear();
        again.clear();
        let mut out = Out { special: permit.specials(), ..Out::with_ends(again, ends) };
        self.encode_segment(segment, keep_going, scratch, &mut out)?;
        match ids.starts_with(again) && ends.len() == again.len() {
            true => Ok(again.len()),
            false => Err(not_known()),
        }
    }

    /// Matches the contents of tokens with a pretoken. Returns false if they differ.
    fn match_contents(&self, pretoken: &[u8], ids: &[u32], ends: &mut Vec<usize>) -> bool {
        if self.model.as_bpe().is_some_and(|bpe| bpe.alphabet.end == EndOfWord::Symbol) {
            return false; // the mark has no bytes
        }
        let (unk, prefix) = (self.model.unk(), self.model.continuing_prefix().as_bytes());
        let mut at = 0;
        let mut ids = ids.iter();
        while at < pretoken.len() {
            let Some(&id) = ids.next().filter(|&&id| Some(id) != unk) else { return false };
            let prefix = if at == 0 { &[] } else { prefix };
            match own_bytes(&self.vocab, id, prefix, &pretoken[at..]) {
                None | Some(0) => return false,
                Some(len) => at += len,
            }
            ends.push(at);
        }
        true
    }
}

/// Returns the number of bytes of a token at the start of `text`; None if that cannot be told by its content.
fn own_bytes(vocab: &Vocab, id: u32, prefix: &[u8], text: &[u8]) -> Option<usize> {
    let content = vocab.content(id);
    match vocab.kind(id) {
        Kind::Token | Kind::EndsWord | Kind::Added => {}
        _ => return None,
    }
    if content.starts_with(b"<0x") {
        return None; // possibly byte fallback
    }
    let own = content.strip_prefix(prefix)?;
    text.starts_with(own).then_some(own.len())
}

/// Error that ends the attempt; it is not returned.
fn not_known() -> Error {
    ErrorKind::Internal("the tokens of a pretoken are not those of the text".into()).into()
}
