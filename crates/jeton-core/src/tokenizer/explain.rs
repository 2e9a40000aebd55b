//! Why a text has the ids it has: the story of each of its pretokens.

use super::{Permit, Place, Tokenizer};
use crate::error::{ErrorKind, Result};
use crate::interrupt::GoOn;
use crate::model::explain::Story;
use crate::model::why::{Attempts, Ways};
use crate::model::{Model, Out, Scratch};
use crate::pretokenize::Span;
use crate::vocab::Kind;

use super::segments::Segment;

/// Pieces of the lattices of one text that are told, all pretokens together. What a browser draws is far less.
const MOST_PIECES: usize = 1 << 17;

/// How one part of a text was encoded.
#[derive(Debug, Clone)]
pub struct Explained {
    /// Its byte range.
    pub span: Span,
    /// What the model saw of it.
    pub bytes: Vec<u8>,
    /// It is an added token: there is nothing to explain.
    pub added: bool,
    /// It was an entry as a whole, and the model looks there first.
    pub whole: bool,
    /// The alternative of the pattern that made it, where one pattern is all that happens before the model.
    pub alternative: Option<usize>,
    /// What the model did.
    pub why: Why,
    /// The ids.
    pub ids: Vec<u32>,
}

/// What a model did with a pretoken.
#[derive(Debug, Clone)]
pub enum Why {
    /// It merged.
    Merges(Story),
    /// It chose among segmentations.
    Ways(Ways),
    /// It looked for the longest entries.
    Attempts(Attempts),
    /// It looked the whole up, or its characters; or it is an added token, and no model saw it; or nobody can tell.
    LookUp,
}

impl Tokenizer {
    /// Every step of encoding `text`.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub fn explain(&self, text: &[u8], permit: &Permit<'_>, go_on: GoOn<'_>) -> Result<Vec<Explained>> {
        let mut scratch = Scratch::default();
        let mut parts = Vec::new();
        let mut run = Vec::new(); // (part, span) of the pretokens of the present stretch of plain text
        let mut most = MOST_PIECES;
        self.for_each_segment(text, permit, true, go_on, |segment| {
            let mut ids = Vec::new();
            let mut out = Out { special: permit.specials(), ..Out::ids(&mut ids) };
            self.encode_segment(&segment, go_on, &mut scratch, &mut out)?;
            let (start, end) = match segment.place {
                Place::At(at) => (at, at + segment.bytes.len()),
                Place::Traced { whole, .. } => (whole.start as usize, whole.end as usize),
                Place::After(at) => (at, at),
            };
            let (why, whole) = self.why(&segment, permit, most, go_on)?;
            if let Why::Ways(ways) = &why {
                most -= ways.pieces.len();
            }
            if self.plain.is_some() && segment.is_text && segment.added.is_none() {
                run.push((parts.len(), Span { start, end }));
            } else {
                self.name_alternatives(text, &mut run, &mut parts);
            }
            let (bytes, added) = (segment.bytes.to_vec(), segment.added.is_some());
            parts.push(Explained { span: Span { start, end }, bytes, added, whole, alternative: None, why, ids });
            Ok(())
        })?;
        self.name_alternatives(text, &mut run, &mut parts);
        Ok(parts)
    }

    /// How the content of an entry becomes tokens by itself, by merges; None where no merges tell.
    ///
    /// # Errors
    /// `Interrupted` when `go_on` returns false.
    pub fn explain_entry(&self, id: u32, go_on: GoOn<'_>) -> Result<Option<Story>> {
        match self.vocab.kind(id) {
            Kind::Hole | Kind::Special | Kind::Unreachable => Ok(None),
            _ => self.model.explain_entry(&self.vocab, id, go_on),
        }
    }

    /// What the model did with a segment, and whether it took it as a whole.
    fn why(&self, segment: &Segment<'_>, permit: &Permit<'_>, most: usize, go_on: GoOn<'_>) -> Result<(Why, bool)> {
        if segment.added.is_some() || segment.bytes.is_empty() {
            return Ok((Why::LookUp, false));
        }
        let located = |error| segment.located(error);
        let why = match &self.model {
            Model::Bpe(model) => {
                let whole = model.entry(&self.vocab, segment.bytes).is_some();
                return match model.explain(&self.vocab, segment.bytes, go_on) {
                    Ok(story) => Ok((Why::Merges(story), whole)),
                    // An entry as a whole, of units that are no entries: there is nothing to merge.
                    Err(error) if model.whole_first() && matches!(error.kind(), ErrorKind::Text { .. }) => {
                        Ok((Why::LookUp, whole))
                    }
                    Err(error) => Err(located(error)),
                };
            }
            Model::Pieces(model) => {
                let story = model.explain(&self.vocab, segment.bytes, go_on).map_err(located)?;
                story.map_or(Why::LookUp, Why::Merges)
            }
            Model::Unigram(model) => {
                Why::Ways(model.ways(segment.bytes, most, permit.specials(), go_on).map_err(located)?)
            }
            Model::WordPiece(model) => Why::Attempts(model.attempts(segment.bytes, go_on).map_err(located)?),
            Model::WordLevel(_) | Model::Words(_) | Model::Chars(_) => Why::LookUp,
        };
        Ok((why, false))
    }

    /// Names the alternatives that made the pretokens of a stretch of text, which the pattern saw as one.
    fn name_alternatives(&self, text: &[u8], run: &mut Vec<(usize, Span)>, parts: &mut [Explained]) {
        let (Some(&(_, first)), Some(&(_, last))) = (run.first(), run.last()) else { return };
        let stretch = std::str::from_utf8(&text[first.start..last.end]);
        if let (Some(pretokenizer), Ok(stretch)) = (&self.plain, stretch) {
            let shifted =
                |&(_, span): &(usize, Span)| Span { start: span.start - first.start, end: span.end - first.start };
            let spans: Vec<Span> = run.iter().map(shifted).collect();
            for (&(part, _), found) in run.iter().zip(pretokenizer.alternatives_of(stretch, &spans)) {
                parts[part].alternative = found;
            }
        }
        run.clear();
    }

    /// The alternatives of the pattern, where one pattern is all that happens before the model.
    pub fn alternatives(&self) -> Vec<String> {
        self.plain.as_ref().map_or_else(Vec::new, crate::pretokenize::Pretokenizer::alternatives)
    }
}
