//! Why a text has the ids it has: the story of each of its pretokens.

use super::{Permit, Segment, Tokenizer};
use crate::error::Result;
use crate::interrupt::GoOn;
use crate::model::explain::Story;
use crate::model::Scratch;
use crate::pretokenize::Span;

/// How one part of a text was encoded.
#[derive(Debug, Clone)]
pub struct Explained {
    /// Its byte range.
    pub span: Span,
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
        self.for_each_segment(text, permit, go_on, |segment| {
            let mut ids = Vec::new();
            parts.push(match segment {
                Segment::Added(span, id) => {
                    ids.push(id);
                    let story = Story { symbols: vec![id], steps: Vec::new() };
                    Explained { span, added: true, whole: false, story, ids }
                }
                Segment::Pretoken(span) => {
                    let pretoken = &text[span.start..span.end];
                    self.encode_pretoken(text, span, go_on, &mut scratch, &mut ids)?;
                    let whole = self.model.whole_first() && self.vocab.find(pretoken, false).is_some();
                    let story = self.model.explain(pretoken, go_on).map_err(|error| error.shifted(span.start))?;
                    Explained { span, added: false, whole, story, ids }
                }
            });
            Ok(())
        })?;
        Ok(parts)
    }
}
