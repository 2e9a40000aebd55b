//! Encodes text to ids, and to pieces with their text and range.
//!
//! A piece covers bytes of the normalized text. Its range in the input begins at the input character that produced its
//! first byte, and ends where the range of the next piece begins. A run of unknown characters is one piece, whose text
//! is the run. If a character falls back to bytes, each of its bytes is a separate piece; the last of these pieces has
//! the range of the character.
//!
//! If no id is the unknown piece, each id determines which normalized text it covers. Therefore the ids are computed on
//! the fast path in this case.
//!
//! Cost: linear; on the slow path, the model runs a second time.

use std::cell::RefCell;
use std::sync::atomic::Ordering;

use super::pieces::PieceTable;
use super::samples::Draw;
use crate::error::{Error, Result};
use crate::model::{Model, Out, Sampler, Scratch, Specials};
use crate::normalize::{Normalizer, Started};
use crate::tokenizer::{Input, Tokenizer};
use crate::util::cancel::KeepGoing;
use crate::util::utf8;
use crate::vocab::Kind;

/// A piece of an encoded text.
#[derive(Debug, Clone, PartialEq)]
pub struct EncodedPiece {
    /// Id of the piece.
    pub id: u32,
    /// Text of the piece, if it is unknown; the id determines the text of other pieces.
    pub unknown: Option<String>,
    /// Half-open byte range of the piece in the input.
    pub range: (u32, u32),
    /// True if the piece has a surface, that is, its text in the input. Of the byte pieces of a character, only the
    /// last one has a surface.
    pub has_surface: bool,
}

/// Encoded text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EncodedText {
    /// The pieces, in order.
    pub pieces: Vec<EncodedPiece>,
    /// Score of the segmentation. [`PieceTable::nbest`] sets it; otherwise None.
    pub score: Option<f32>,
}

/// Ids of a text, and the texts of the unknown pieces.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SpelledIds {
    /// Ids in order.
    pub ids: Vec<u32>,
    /// Texts of the unknown pieces in `ids`, in order.
    pub unknown: Vec<String>,
}

/// Ids of a normalized text. The text of `ids[i]` ends at byte `ends[i]` of the normalized text.
#[derive(Debug, Clone, Default)]
pub(super) struct SegmentedIds {
    pub(super) ids: Vec<u32>,
    pub(super) ends: Vec<usize>,
}

impl PieceTable {
    /// Encodes a text to ids.
    ///
    /// # Errors
    /// `Interrupted`, and the errors of [`Tokenizer::encode`].
    pub fn ids(
        &self,
        tok: &Tokenizer,
        text: Input<'_>,
        threads: usize,
        watch: &mut dyn FnMut() -> bool,
    ) -> Result<Vec<u32>> {
        if text.valid().is_some() {
            return tok.encode_long(text, &tok.permit_none(), threads, watch);
        }
        let watch = RefCell::new(watch);
        let keep_going: KeepGoing<'_> = &|| (watch.borrow_mut())();
        let normal = normalizer(tok)?.with_starts(text.bytes(), keep_going)?;
        Ok(self.segment(tok, &normal.text, keep_going)?.ids)
    }

    /// Encodes a text to pieces with ranges. `ids`: the ids of the text, if the caller has them.
    ///
    /// # Errors
    /// As [`PieceTable::ids`].
    pub fn encode(
        &self,
        tok: &Tokenizer,
        text: Input<'_>,
        ids: Option<Vec<u32>>,
        keep_going: KeepGoing<'_>,
    ) -> Result<EncodedText> {
        let normal = normalizer(tok)?.with_starts(text.bytes(), keep_going)?;
        let ids = match ids {
            None if text.valid().is_some() => Some(tok.encode_long(text, &tok.permit_none(), 1, &mut || keep_going())?),
            ids => ids,
        };
        let known = ids.and_then(|ids| self.ends_of(tok, ids, &normal.text));
        let segmented = match known {
            Some(segmented) => segmented,
            None => self.segment(tok, &normal.text, keep_going)?,
        };
        self.placed(tok, &normal, segmented)
    }

    /// Encodes a text to pieces without ranges.
    ///
    /// If the text has unknown pieces, the slow path runs, because only it returns the ends of the unknown pieces. The
    /// next text then takes the slow path without trying the fast path.
    ///
    /// # Errors
    /// As [`PieceTable::ids`].
    pub fn spell(
        &self,
        tok: &Tokenizer,
        text: Input<'_>,
        threads: usize,
        watch: &mut dyn FnMut() -> bool,
    ) -> Result<SpelledIds> {
        let is_likely = self.saw_unknown.load(Ordering::Relaxed);
        if !is_likely {
            let ids = self.ids(tok, text, threads, watch)?;
            if !ids.contains(&self.unk) {
                return Ok(SpelledIds { ids, unknown: Vec::new() });
            }
        }
        let watch = RefCell::new(watch);
        let keep_going: KeepGoing<'_> = &|| (watch.borrow_mut())();
        let normal = normalizer(tok)?.without_starts(text.bytes(), keep_going)?;
        let SegmentedIds { ids, ends } = self.segment(tok, &normal, keep_going)?;
        let start = |index: usize| if index == 0 { 0 } else { ends[index - 1] };
        let is_unk = |(index, &id): (usize, &u32)| (id == self.unk).then_some(start(index)..ends[index]);
        let unknown = ids.iter().enumerate().filter_map(is_unk);
        let unknown = unknown.map(|range| normal.get(range).map(str::to_owned)).collect::<Option<Vec<_>>>();
        let unknown = unknown.ok_or_else(|| Error::config("an unknown piece has no text"))?;
        let has_unknown = !unknown.is_empty();
        if has_unknown != is_likely {
            self.saw_unknown.store(has_unknown, Ordering::Relaxed);
        }
        Ok(SpelledIds { ids, unknown })
    }

    /// Encodes a text by random sampling.
    ///
    /// # Errors
    /// [`Error::config`] if the model cannot sample, and the errors of [`PieceTable::ids`].
    pub fn sample(
        &self,
        tok: &Tokenizer,
        text: &[u8],
        draw: &Draw,
        sampler: &mut Sampler,
        keep_going: KeepGoing<'_>,
    ) -> Result<EncodedText> {
        let normal = normalizer(tok)?.with_starts(text, keep_going)?;
        let segmented = match draw.set(tok, sampler)? {
            true => {
                let mut done = SegmentedIds::default();
                let mut out = Out { special: Specials::None, ..Out::with_ends(&mut done.ids, &mut done.ends) };
                let (bytes, scratch) = (normal.text.as_bytes(), &mut Scratch::default());
                tok.model().sample(tok.vocab(), bytes, sampler, keep_going, scratch, &mut out)?;
                done
            }
            false => self.segment(tok, &normal.text, keep_going)?,
        };
        self.placed(tok, &normal, segmented)
    }

    /// Returns the `n` best segmentations of a text in descending order of score. As in SentencePiece, the score is 0
    /// if `n` is at most 1.
    ///
    /// # Errors
    /// [`Error::config`] if the model does not score segmentations, and the errors of [`PieceTable::ids`].
    pub fn nbest(&self, tok: &Tokenizer, text: &[u8], n: usize, keep_going: KeepGoing<'_>) -> Result<Vec<EncodedText>> {
        if n <= 1 && matches!(tok.model(), Model::Unigram(_)) {
            let best = self.encode(tok, Input::from(text), None, keep_going)?;
            return Ok(vec![EncodedText { score: Some(0.0), ..best }]);
        }
        let normal = normalizer(tok)?.with_starts(text, keep_going)?;
        let found = tok.model().nbest_with_ends(normal.text.as_bytes(), n, keep_going)?;
        let placed = found.into_iter().map(|(ids, ends, score)| {
            let text = self.placed(tok, &normal, SegmentedIds { ids, ends })?;
            Ok(EncodedText { score: Some(score as f32), ..text })
        });
        placed.collect()
    }

    /// Runs the model on a normalized text.
    fn segment(&self, tok: &Tokenizer, normal: &str, keep_going: KeepGoing<'_>) -> Result<SegmentedIds> {
        let mut done = SegmentedIds::default();
        let mut out = Out { special: Specials::None, ..Out::with_ends(&mut done.ids, &mut done.ends) };
        tok.model().encode(tok.vocab(), normal.as_bytes(), keep_going, &mut Scratch::default(), &mut out)?;
        Ok(done)
    }

    /// Returns `ids`, and for each id the byte of `normal` at which its text ends. Returns None if an id is the unknown
    /// piece. Returns None, too, if the total length of the texts is not the length of `normal`.
    fn ends_of(&self, tok: &Tokenizer, ids: Vec<u32>, normal: &str) -> Option<SegmentedIds> {
        let mut ends = Vec::with_capacity(ids.len());
        let mut end = 0;
        for &id in &ids {
            end += match tok.vocab().kind(id) {
                Kind::Byte => 1,
                _ if id == self.unk => return None,
                _ => tok.vocab().content_len(id),
            };
            ends.push(end);
        }
        (end == normal.len()).then_some(SegmentedIds { ids, ends })
    }

    /// Converts a segmentation to an [`EncodedText`]: adds the text of each unknown piece, and the range of each piece
    /// in the input.
    fn placed(&self, tok: &Tokenizer, normal: &Started, done: SegmentedIds) -> Result<EncodedText> {
        let misplaced = || Error::config("the pieces of a text do not cover it");
        let (bytes, starts) = (normal.text.as_bytes(), &normal.starts);
        let place = |at: usize| starts.get(at).copied().ok_or_else(misplaced);
        let mut pieces = Vec::with_capacity(done.ids.len());
        let mut at = 0;
        let mut unit = 0..0; // character (or word) that the current byte pieces spell
        for (&id, &end) in done.ids.iter().zip(&done.ends) {
            let (mut range, mut has_surface, mut unknown) = ((place(at)?, place(end)?), true, None);
            if self.byte_fallback && tok.vocab().kind(id) == Kind::Byte {
                if at >= unit.end {
                    unit = at..self.unit_end(&normal.text, at);
                }
                let first = place(unit.start)?;
                has_surface = end >= unit.end;
                range = if has_surface { (first, place(unit.end)?) } else { (first, first) };
            } else if id == self.unk {
                let text = normal.text.get(at..end).ok_or_else(misplaced)?;
                unknown = Some(text.to_owned());
            }
            pieces.push(EncodedPiece { id, unknown, range, has_surface });
            at = end;
        }
        if at != bytes.len() {
            return Err(misplaced());
        }
        Ok(EncodedText { pieces, score: None })
    }

    /// Returns the end of the unit that falls back to bytes as a whole: a character or, in a word model, a word.
    fn unit_end(&self, text: &str, at: usize) -> usize {
        let bytes = text.as_bytes();
        let next = (at + utf8::char_len(bytes[at])).min(bytes.len());
        if !self.words {
            return next;
        }
        text.get(next..).and_then(|rest| rest.find('\u{2581}')).map_or(bytes.len(), |found| next + found)
    }
}

fn normalizer(tok: &Tokenizer) -> Result<&Normalizer> {
    match tok.normalizers() {
        [only] => Ok(only),
        _ => Err(Error::config("a SentencePiece model has one normalizer")),
    }
}
