//! Steps by which the model encodes a text, pretoken by pretoken.

use std::collections::BTreeSet;

use hashbrown::HashMap;

use super::pipeline::permit::Permit;
use super::pipeline::segments::Origin;
use super::pipeline::Tokenizer;
use crate::error::{ErrorKind, Result};
use crate::model::explain::Story;
use crate::model::why::{Attempts, Ways};
use crate::model::{Model, Out, Scratch};
use crate::pretokenize::Span;
use crate::util::cancel::KeepGoing;
use crate::vocab::Kind;

use super::pipeline::segments::Segment;

/// Maximum number of lattice pieces that are listed for a text, over all pretokens. A browser cannot draw more.
const MOST_PIECES: usize = 1 << 17;

/// Encoding of one pretoken or added token.
#[derive(Debug, Clone)]
pub struct Explained {
    /// Byte range in the text.
    pub span: Span,
    /// Bytes of the pretoken as the model gets them.
    pub bytes: Vec<u8>,
    /// True for an added token, which the model does not encode.
    pub added: bool,
    /// True if the vocabulary has the whole pretoken, and the model looks it up before merging.
    pub whole: bool,
    /// Index of the regex alternative that matched, if one pattern is the only stage before the model.
    pub alternative: Option<usize>,
    /// Steps by which the model encodes the pretoken.
    pub why: Why,
    /// Ids of the pretoken.
    pub ids: Vec<u32>,
}

/// Steps by which a model encodes a pretoken.
#[derive(Debug, Clone)]
pub enum Why {
    /// Merges of a BPE model.
    Merges(Story),
    /// Segmentations of a Unigram model, from which the best one is chosen.
    Ways(Ways),
    /// Longest matches of a WordPiece model.
    Attempts(Attempts),
    /// No steps, for one of three reasons: the model looked up the whole pretoken or its characters; the pretoken is an
    /// added token; or it is unknown text.
    LookUp,
}

/// Encoding of a text: all steps for the first pretokens, and totals of all pretokens.
#[derive(Debug, Clone, Default)]
pub struct Explanation {
    /// Steps of the first pretokens.
    pub parts: Vec<Explained>,
    /// Number of pretokens of the whole text.
    pub num_parts: usize,
    /// Number of merges of the whole text.
    pub num_merges: usize,
    /// Number of tokens of the whole text.
    pub num_tokens: usize,
    /// Ids of the added tokens that occur in the text.
    pub added: BTreeSet<u32>,
}

/// Maximum bytes of a pretoken whose numbers of tokens and merges are cached. Longer pretokens rarely repeat.
const LONGEST_COUNTED: usize = 64;

impl Tokenizer {
    /// Returns all steps of encoding the first `most` pretokens of `text`. For the rest, only tokens and merges are
    /// counted.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub fn explain(
        &self,
        text: &[u8],
        permit: &Permit<'_>,
        most: usize,
        keep_going: KeepGoing<'_>,
    ) -> Result<Explanation> {
        let mut scratch = Scratch::default();
        let mut all = Explanation::default();
        let mut run = PlainStretch::default();
        let mut most_pieces = MOST_PIECES;
        let mut ids = Vec::new();
        let mut counted: HashMap<Vec<u8>, (usize, usize)> = HashMap::new(); // pretoken -> (number of tokens, number of merges)
        self.for_each_segment(text, permit, true, keep_going, |segment| {
            all.num_parts += 1;
            let is_told = all.parts.len() < most;
            let (start, end) = match segment.place {
                Origin::At(at) => (at, at + segment.bytes.len()),
                Origin::Traced { source, .. } => (source.whole.start as usize, source.whole.end as usize),
                Origin::After(at) => (at, at),
            };
            let is_unchanged = matches!(segment.place, Origin::At(_));
            if self.plain.is_some() && is_unchanged && segment.is_text && segment.added.is_none() {
                run.add(is_told.then_some(all.parts.len()), Span { start, end });
            } else {
                self.name_alternatives(text, &mut run, &mut all.parts);
            }
            all.added.extend(segment.added);
            if let Some(&(tokens, merges)) = counted.get(segment.bytes).filter(|_| !is_told && segment.added.is_none())
            {
                all.num_tokens += tokens;
                all.num_merges += merges;
                return Ok(());
            }
            ids.clear();
            let mut out = Out { special: permit.specials(), ..Out::ids(&mut ids) };
            self.encode_segment(&segment, keep_going, &mut scratch, &mut out)?;
            all.num_tokens += ids.len();
            if !is_told && !self.merges(segment.bytes.len()) {
                return Ok(());
            }
            let (why, whole) = self.why(&segment, permit, &ids, most_pieces, keep_going)?;
            let num_merges = if let Why::Merges(story) = &why { story.steps.len() } else { 0 };
            all.num_merges += num_merges;
            if !is_told {
                if segment.added.is_none() && segment.bytes.len() <= LONGEST_COUNTED {
                    counted.insert(segment.bytes.to_vec(), (ids.len(), num_merges));
                }
                return Ok(());
            }
            if let Why::Ways(ways) = &why {
                most_pieces -= ways.pieces.len();
            }
            let (bytes, added) = (segment.bytes.to_vec(), segment.added.is_some());
            let (span, ids) = (Span { start, end }, ids.clone());
            all.parts.push(Explained { span, bytes, added, whole, alternative: None, why, ids });
            Ok(())
        })?;
        self.name_alternatives(text, &mut run, &mut all.parts);
        Ok(all)
    }

    /// Returns true if the model encodes by merges and a pretoken of `len` bytes is long enough for one.
    fn merges(&self, len: usize) -> bool {
        len > 1 && matches!(self.model, Model::Bpe(_) | Model::Pieces(_))
    }

    /// Returns the merges that are applied when the content of an entry is encoded; None if the model does not merge or
    /// cannot encode this content.
    ///
    /// # Errors
    /// `Interrupted` when `keep_going` returns false.
    pub fn explain_entry(&self, id: u32, keep_going: KeepGoing<'_>) -> Result<Option<Story>> {
        match self.vocab.kind(id) {
            Kind::Hole | Kind::Special | Kind::Unreachable => Ok(None),
            _ => self.model.explain_entry(&self.vocab, id, keep_going),
        }
    }

    /// Returns the steps by which the model encoded a segment as `ids`, and the value of `Explained::whole`.
    fn why(
        &self,
        segment: &Segment<'_>,
        permit: &Permit<'_>,
        ids: &[u32],
        most: usize,
        keep_going: KeepGoing<'_>,
    ) -> Result<(Why, bool)> {
        if segment.added.is_some() || segment.bytes.is_empty() {
            return Ok((Why::LookUp, false));
        }
        let located = |error| segment.located(error);
        let why = match &self.model {
            Model::Bpe(model) => {
                let whole = model.entry(&self.vocab, segment.bytes).is_some();
                return match model.explain(&self.vocab, segment.bytes, keep_going) {
                    // The model looked up the whole segment and found an entry that merges do not form.
                    Ok(story) if whole && story.symbols.len() - story.steps.len() != ids.len() => {
                        Ok((Why::LookUp, whole))
                    }
                    Ok(story) => Ok((Why::Merges(story), whole)),
                    // The model looked up the whole segment and found an entry. Merges cannot form this entry, because
                    // some of its bytes or characters are not entries.
                    Err(error) if model.whole_first() && matches!(error.kind(), ErrorKind::Text { .. }) => {
                        Ok((Why::LookUp, whole))
                    }
                    Err(error) => Err(located(error)),
                };
            }
            Model::Pieces(model) => {
                let story = model.explain(&self.vocab, segment.bytes, keep_going).map_err(located)?;
                story.map_or(Why::LookUp, Why::Merges)
            }
            Model::Unigram(model) => {
                Why::Ways(model.ways(segment.bytes, most, permit.specials(), keep_going).map_err(located)?)
            }
            Model::WordPiece(model) => Why::Attempts(model.attempts(segment.bytes, keep_going).map_err(located)?),
            Model::WordLevel(_) | Model::Words(_) | Model::Chars(_) => Why::LookUp,
        };
        Ok((why, false))
    }

    /// Sets, for each explained pretoken of a range of the text, the alternative of the pattern that matched it. For
    /// this, the pattern splits the range as one text.
    fn name_alternatives(&self, text: &[u8], run: &mut PlainStretch, parts: &mut [Explained]) {
        let PlainStretch { told, start, end } = std::mem::take(run);
        if told.is_empty() {
            return;
        }
        let stretch = std::str::from_utf8(&text[start..end]);
        if let (Some(pretokenizer), Ok(stretch)) = (&self.plain, stretch) {
            let shifted = |&(_, span): &(usize, Span)| Span { start: span.start - start, end: span.end - start };
            let spans: Vec<Span> = told.iter().map(shifted).collect();
            for (&(part, _), found) in told.iter().zip(pretokenizer.alternatives_of(stretch, &spans)) {
                parts[part].alternative = found;
            }
        }
    }

    /// Returns the alternatives of the pattern; empty unless the pattern is the only splitter.
    pub fn alternatives(&self) -> Vec<String> {
        self.plain.as_ref().map_or_else(Vec::new, crate::pretokenize::Pretokenizer::alternatives)
    }
}

/// Pretokens of the current range of text between added tokens.
#[derive(Default)]
struct PlainStretch {
    told: Vec<(usize, Span)>, // (index of the part, span) of the explained pretokens
    start: usize,             // start of the range in the text
    end: usize,
}

impl PlainStretch {
    fn add(&mut self, part: Option<usize>, span: Span) {
        if self.end == 0 {
            self.start = span.start;
        }
        self.end = span.end;
        self.told.extend(part.map(|part| (part, span)));
    }
}
