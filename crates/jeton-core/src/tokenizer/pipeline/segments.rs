//! Text → segments: the added tokens and pretokens that are the model's input, in order.
//!
//! Invariant: segments are ascending and not empty. Each run of invalid UTF-8 is a separate pretoken, and the text
//! between such runs is split independently.
//!
//! Cost: one pass for each stage. If the only splitter is a pattern, two cases need no further copy of the text:
//! - Normalization does not change the text: segments borrow from the text.
//! - No alignment is requested: segments borrow from the normalized text.
//!
//! In all other cases, the text is copied once for each component that rewrites text.

use std::borrow::Cow;

use super::permit::Permit;
use super::Tokenizer;
use crate::aligned_text::{AlignedText, InputRange};
use crate::error::Result;
use crate::error::{Error, ErrorKind};
use crate::normalize;
use crate::pretokenize::{Pretokenizer, Span};
use crate::util::cancel::{CancelCheck, KeepGoing};
use crate::vocab::byte_alphabet;

/// Input of the model: an added token or a pretoken.
#[derive(Debug, Clone, Copy)]
pub struct Segment<'s> {
    /// Bytes as the model gets them; for an added token, the matched bytes.
    pub bytes: &'s [u8],
    /// True if the bytes are known to be valid UTF-8.
    pub is_text: bool,
    /// Id of the added token; None for a pretoken.
    pub added: Option<u32>,
    /// Location of the bytes in the input.
    pub place: Origin<'s>,
}

/// Where the bytes of a segment come from in the input.
#[derive(Debug, Clone, Copy)]
pub enum Origin<'s> {
    /// The bytes are unchanged text that begins at this byte of the input.
    At(usize),
    /// The bytes replace text of the input, and the range of each byte in the input is known.
    Traced {
        /// Sources: the ranges of the input that the bytes replace.
        source: Ranges<'s>,
        /// Origins: the ranges of the input that Hugging Face reports for the bytes.
        hf: Ranges<'s>,
    },
    /// The alignment was not requested. The source of the bytes begins at this byte of the input or later.
    After(usize),
}

/// Ranges of the input that correspond to the bytes of a segment.
#[derive(Debug, Clone, Copy)]
pub struct Ranges<'s> {
    /// Range of each byte of the segment.
    pub bytes: &'s [InputRange],
    /// Range of the whole segment.
    pub whole: InputRange,
}

impl Segment<'_> {
    /// Converts the position of an error from an offset in the segment's bytes to an offset in the input.
    pub(in crate::tokenizer) fn located(&self, error: Error) -> Error {
        let start = match self.place {
            Origin::At(start) => return error.shifted(start),
            Origin::Traced { source, .. } => source.whole.start as usize,
            Origin::After(start) => start,
        };
        match error.into_kind() {
            ErrorKind::Text { message, .. } => Error::text(message, start),
            ErrorKind::Special { token, at } => {
                let origin = match self.place {
                    Origin::Traced { source, .. } => source.bytes.get(at).map(|range| range.start as usize),
                    _ => None,
                };
                ErrorKind::Special { token, at: origin.unwrap_or(start) }.into()
            }
            kind => kind.into(),
        }
    }
}

impl Tokenizer {
    /// Calls `each` with the segments of `text`, in order. With `traced`, each segment has the ranges of its bytes in
    /// the input.
    ///
    /// # Errors
    /// `Special` under [`super::permit::Permission::Raise`]; `Interrupted` if `keep_going` returns false; errors of
    /// `each` and of the stages.
    pub fn for_each_segment(
        &self,
        text: &[u8],
        permit: &Permit<'_>,
        traced: bool,
        keep_going: KeepGoing<'_>,
        mut each: impl FnMut(Segment<'_>) -> Result<()>,
    ) -> Result<()> {
        self.stretches(text, permit, |span, id| match id {
            Some(id) => {
                let bytes = &text[span.start..span.end];
                each(Segment { bytes, is_text: false, added: Some(id), place: Origin::At(span.start) })
            }
            None => self.pretokens(text, span, permit, traced, keep_going, &mut each),
        })
    }

    /// Calls `each` with the segments of a raw text that contains no added tokens.
    pub(in crate::tokenizer) fn pretokens(
        &self,
        text: &[u8],
        stretch: Span,
        permit: &Permit<'_>,
        traced: bool,
        keep_going: KeepGoing<'_>,
        each: &mut impl FnMut(Segment<'_>) -> Result<()>,
    ) -> Result<()> {
        let broken = |start: usize, end: usize, each: &mut dyn FnMut(Segment<'_>) -> Result<()>| {
            let bytes = &text[start..end];
            if start < end {
                each(Segment { bytes, is_text: false, added: None, place: Origin::At(start) })
            } else {
                Ok(())
            }
        };
        if let Ok(valid) = std::str::from_utf8(&text[stretch.start..stretch.end]) {
            return self.pretokens_of_text(valid, stretch.start, permit, traced, keep_going, each);
        }
        let mut at = stretch.start;
        let mut broken_from = at; // start of the current run of invalid UTF-8
        for chunk in text[stretch.start..stretch.end].utf8_chunks() {
            let valid = chunk.valid();
            if !valid.is_empty() {
                broken(broken_from, at, each)?;
                self.pretokens_of_text(valid, at, permit, traced, keep_going, each)?;
                at += valid.len();
                broken_from = at;
            }
            at += chunk.invalid().len();
        }
        broken(broken_from, at, each)
    }

    /// Calls `each` with the segments of `text`, which is valid UTF-8 and begins at byte `at` of the raw text.
    pub(in crate::tokenizer) fn pretokens_of_text(
        &self,
        text: &str,
        at: usize,
        permit: &Permit<'_>,
        traced: bool,
        keep_going: KeepGoing<'_>,
        each: &mut impl FnMut(Segment<'_>) -> Result<()>,
    ) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        let Some(pretokenizer) = &self.plain else { return self.drafted(text, at, permit, traced, keep_going, each) };
        match self.normalized(text, keep_going).map_err(|error| error.shifted(at))? {
            Cow::Borrowed(text) => {
                let place = |start| Origin::At(at + start);
                self.plain_pretokens(text, (at, &place), pretokenizer, permit, keep_going, each)
            }
            Cow::Owned(text) if !traced => {
                self.plain_pretokens(&text, (at, &|_| Origin::After(at)), pretokenizer, permit, keep_going, each)
            }
            Cow::Owned(_) => self.drafted(text, at, permit, traced, keep_going, each),
        }
    }

    /// Splits a text by one pattern, and calls `each` with the segments, which borrow from the text. The text begins at
    /// byte `at` of the raw text; `place` returns the location of a segment that begins at a given byte of the text.
    fn plain_pretokens(
        &self,
        text: &str,
        (at, place): (usize, &dyn Fn(usize) -> Origin<'static>),
        pretokenizer: &Pretokenizer,
        permit: &Permit<'_>,
        keep_going: KeepGoing<'_>,
        each: &mut impl FnMut(Segment<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut cancel = CancelCheck::new(keep_going);
        let segment = |start: usize, end: usize, added| {
            let bytes = &text.as_bytes()[start..end];
            Segment { bytes, is_text: true, added, place: place(start) }
        };
        self.normalized_stretches(text, at, permit, |stretch, added| {
            if added.is_some() {
                return each(segment(stretch.start, stretch.end, added));
            }
            for span in pretokenizer.spans(&text[stretch.start..stretch.end]) {
                let span = span.map_err(|error| error.shifted(at + stretch.start))?;
                each(segment(stretch.start + span.start, stretch.start + span.end, None))?;
                cancel.check()?;
            }
            cancel.check_now()
        })
    }

    /// Calls `each` with the pretokens of an aligned text.
    fn drafted(
        &self,
        text: &str,
        at: usize,
        permit: &Permit<'_>,
        traced: bool,
        keep_going: KeepGoing<'_>,
        each: &mut impl FnMut(Segment<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut aligned = normalize::aligned(&self.normalizers, text, at, traced || self.needs_origins, keep_going)
            .map_err(|error| error.shifted(at))?;
        match permit.normalized() {
            Some(matcher) => {
                matcher.cut(&mut aligned)?;
                for piece in aligned.chunks().iter().filter(|_| permit.refuses()) {
                    let Some(id) = piece.id else { continue };
                    self.check(id, permit, || piece.source.start as usize)?;
                }
            }
            None => aligned.cut(|_, text, parts| {
                parts.push(0, text.len(), None); // HF splits here, too: stripped text is in no chunk
                Ok(())
            })?,
        }
        let mut written = vec![0; self.splitters.len()];
        self.split(aligned, 0, &mut written, at, keep_going, &mut |aligned| {
            self.drafted_segments(aligned, at, keep_going, each)
        })
    }

    /// Applies the splitters from index `stage` on to the aligned text, and calls `each` with the result. If the text
    /// has many chunks, the chunks are split in batches, and `each` is called for each batch. `written`: for each
    /// splitter, the number of bytes written for the previous batches.
    fn split(
        &self,
        mut aligned: AlignedText,
        stage: usize,
        written: &mut [usize],
        at: usize,
        keep_going: KeepGoing<'_>,
        each: &mut dyn FnMut(&AlignedText) -> Result<()>,
    ) -> Result<()> {
        let Some(splitter) = self.splitters.get(stage) else { return each(&aligned) };
        if aligned.is_large() {
            return aligned.batches().try_for_each(|group| self.split(group, stage, written, at, keep_going, each));
        }
        aligned.comes_after(written[stage]);
        splitter.apply(&mut aligned, keep_going).map_err(|error| error.shifted(at))?;
        written[stage] += aligned.text().len();
        self.split(aligned, stage + 1, written, at, keep_going, each)
    }

    /// Calls `each` with one segment for each chunk of an aligned text.
    fn drafted_segments(
        &self,
        aligned: &AlignedText,
        at: usize,
        keep_going: KeepGoing<'_>,
        each: &mut impl FnMut(Segment<'_>) -> Result<()>,
    ) -> Result<()> {
        let (mut bytes, mut origins, mut sources) = (Vec::new(), Vec::new(), Vec::new());
        let mut cancel = CancelCheck::new(keep_going);
        for piece in aligned.chunks() {
            cancel.check()?;
            let spelled = &aligned.text()[piece.range()];
            let [piece_origins, piece_sources] =
                [aligned.origins(), aligned.sources()].map(|ranges| ranges.get(piece.range()).unwrap_or_default());
            let place = |origins, sources| match aligned.is_traced() {
                true => Origin::Traced {
                    source: Ranges { bytes: sources, whole: piece.source },
                    hf: Ranges { bytes: origins, whole: piece.origin },
                },
                false => Origin::After(at),
            };
            if self.byte_alphabet && piece.id.is_none() {
                bytes.clear();
                read_bytes(spelled, piece_origins, &mut bytes, &mut origins);
                if aligned.has_sources() {
                    bytes.clear();
                    read_bytes(spelled, piece_sources, &mut bytes, &mut sources);
                }
                let sources = if aligned.has_sources() { &sources } else { &origins };
                each(Segment { bytes: &bytes, is_text: false, added: None, place: place(&origins, sources) })?;
            } else {
                let bytes = spelled.as_bytes();
                let place = place(piece_origins, piece_sources);
                each(Segment { bytes, is_text: true, added: piece.id, place })?;
            }
        }
        Ok(())
    }
}

/// Converts text in the byte alphabet to bytes, and appends the bytes to `bytes`. `ranges` contains a range for each
/// character of the text. Fills `of_bytes` with a range for each appended byte: the range of the byte's character.
fn read_bytes(spelled: &str, ranges: &[InputRange], bytes: &mut Vec<u8>, of_bytes: &mut Vec<InputRange>) {
    of_bytes.clear();
    for (i, c) in spelled.char_indices() {
        let before = bytes.len();
        match byte_alphabet::byte(c) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
        if let Some(&range) = ranges.get(i) {
            of_bytes.resize(of_bytes.len() + bytes.len() - before, range);
        }
    }
}
