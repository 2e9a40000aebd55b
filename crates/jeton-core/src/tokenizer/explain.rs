//! Why a text has the ids it has: the story of each of its pretokens.

use super::{Permit, Place, Tokenizer};
use crate::error::{ErrorKind, Result};
use crate::interrupt::GoOn;
use crate::model::explain::Story;
use crate::model::{Model, Out, Scratch};
use crate::pretokenize::Span;

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
    /// The merges.
    pub story: Story,
    /// The ids.
    pub ids: Vec<u32>,
}

impl Tokenizer {
    /// Every step of encoding `text`.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub fn explain(&self, text: &[u8], permit: &Permit<'_>, go_on: GoOn<'_>) -> Result<Vec<Explained>> {
        let mut scratch = Scratch::default();
        let mut parts = Vec::new();
        self.for_each_segment(text, permit, true, go_on, |segment| {
            let mut ids = Vec::new();
            let mut out = Out { special: permit.specials(), ..Out::ids(&mut ids) };
            self.encode_segment(&segment, go_on, &mut scratch, &mut out)?;
            let (start, end) = match segment.place {
                Place::At(at) => (at, at + segment.bytes.len()),
                Place::Traced { whole, .. } => (whole.start as usize, whole.end as usize),
                Place::After(at) => (at, at),
            };
            let mut part = Explained {
                span: Span { start, end },
                bytes: segment.bytes.to_vec(),
                added: segment.added.is_some(),
                whole: false,
                story: Story { symbols: ids.clone(), steps: Vec::new() },
                ids,
            };
            if let (Model::Bpe(model), None) = (&self.model, segment.added) {
                part.whole = model.entry(&self.vocab, segment.bytes).is_some();
                match model.explain(segment.bytes, go_on) {
                    Ok(story) => part.story = story,
                    // An entry as a whole, of units that are no entries: there is nothing to merge.
                    Err(error) if model.whole_first() && matches!(error.kind(), ErrorKind::Text { .. }) => {}
                    Err(error) => return Err(segment.located(error)),
                }
            }
            parts.push(part);
            Ok(())
        })?;
        Ok(parts)
    }
}
