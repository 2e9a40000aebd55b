//! The pipeline that owns the stages: match added tokens, pretokenize, model.
//!
//! Invariant: same text, same tokenizer, same ids, for any number of threads and any grouping of texts.
//! Nothing here changes after construction, so a tokenizer can be shared between threads.
//!
//! `long` cuts long texts and batches for threads, `spans` says where each id comes from, `explain` why.

mod explain;
mod long;
mod permit;
mod spans;

pub use explain::Explained;
pub use permit::{Permission, Permit};
pub use spans::Encoding;

use crate::decode;
use crate::error::Result;
use crate::interrupt::{GoOn, Looks};
use crate::model::bpe::Bpe;
use crate::model::{Out, Scratch};
use crate::pretokenize::{Pretokenizer, Span};
use crate::special::Matcher;
use crate::vocab::{Kind, Vocab};

/// A part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Segment {
    /// An added token.
    Added(Span, u32),
    /// A pretoken.
    Pretoken(Span),
}

/// A tokenizer.
#[derive(Debug)]
pub struct Tokenizer {
    vocab: Vocab,
    added: Vec<u32>, // ids of added tokens, special or not
    model: Bpe,
    pretokenizer: Pretokenizer,
    vocabulary_tokens: Option<Matcher>, // added, not special
    every_token: Option<Matcher>,       // all added
    special_tokens: Option<Matcher>,    // special only
}

impl Tokenizer {
    /// Puts a tokenizer together.
    ///
    /// # Errors
    /// As [`Matcher::new`].
    pub fn new(vocab: Vocab, model: Bpe, pretokenizer: Pretokenizer) -> Result<Self> {
        let is_added = |kind| matches!(kind, Kind::Added | Kind::Special);
        let added: Vec<u32> = vocab.iter().filter(|&(_, kind, _)| is_added(kind)).map(|(id, _, _)| id).collect();
        let matcher = |wanted: &dyn Fn(Kind) -> bool| {
            let ids = added.iter().copied().filter(|&id| wanted(vocab.kind(id)));
            Matcher::new(ids.map(|id| (vocab.content(id), id)))
        };
        let vocabulary_tokens = matcher(&|kind| kind == Kind::Added)?;
        let every_token = matcher(&is_added)?;
        let special_tokens = matcher(&|kind| kind == Kind::Special)?;
        Ok(Self { vocab, added, model, pretokenizer, vocabulary_tokens, every_token, special_tokens })
    }

    /// The ids of all added tokens, special or not, ascending.
    pub fn added(&self) -> &[u32] {
        &self.added
    }

    /// id ↔ bytes.
    pub fn vocab(&self) -> &Vocab {
        &self.vocab
    }

    /// The model.
    pub fn model(&self) -> &Bpe {
        &self.model
    }

    /// How text is split.
    pub fn pretokenizer(&self) -> &Pretokenizer {
        &self.pretokenizer
    }

    /// Calls `each` with the segments of `text`, in order.
    ///
    /// Bytes that are not UTF-8 form pretokens of their own; the text between them is split by itself.
    ///
    /// # Errors
    /// `Special` under [`Permission::Raise`]; `Interrupted` when `go_on` returns false; what `each` and the pretokenizer
    /// return.
    pub fn for_each_segment(
        &self,
        text: &[u8],
        permit: &Permit<'_>,
        go_on: GoOn<'_>,
        mut each: impl FnMut(Segment) -> Result<()>,
    ) -> Result<()> {
        self.stretches(text, permit, |span, id| match id {
            Some(id) => each(Segment::Added(span, id)),
            None => self.pretokens(text, span, go_on, &mut |span| each(Segment::Pretoken(span))),
        })
    }

    /// Calls `each` with the pretokens of a stretch of text without added tokens.
    fn pretokens(
        &self,
        text: &[u8],
        stretch: Span,
        go_on: GoOn<'_>,
        each: &mut impl FnMut(Span) -> Result<()>,
    ) -> Result<()> {
        let mut at = stretch.start;
        let mut broken = at; // start of the present run of bytes that are not UTF-8
        let mut looks = Looks::new(go_on);
        for chunk in text[stretch.start..stretch.end].utf8_chunks() {
            if !chunk.valid().is_empty() {
                if broken < at {
                    each(Span { start: broken, end: at })?;
                }
                for span in self.pretokenizer.spans(chunk.valid()) {
                    let span = span.map_err(|error| error.shifted(at))?;
                    each(Span { start: at + span.start, end: at + span.end })?;
                    looks.now_and_then()?;
                }
                at += chunk.valid().len();
                broken = at;
            }
            at += chunk.invalid().len();
        }
        looks.look()?;
        if broken < at {
            each(Span { start: broken, end: at })?;
        }
        Ok(())
    }

    /// Appends the ids of `text` to `out`.
    ///
    /// # Errors
    /// As [`Tokenizer::for_each_segment`] and [`Bpe::encode`].
    pub fn encode(
        &self,
        text: &[u8],
        permit: &Permit<'_>,
        go_on: GoOn<'_>,
        scratch: &mut Scratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        self.for_each_segment(text, permit, go_on, |segment| {
            match segment {
                Segment::Added(_, id) => out.push(id),
                Segment::Pretoken(span) => self.encode_pretoken(text, span, go_on, scratch, out)?,
            }
            Ok(())
        })
    }

    fn encode_pretoken(
        &self,
        text: &[u8],
        span: Span,
        go_on: GoOn<'_>,
        scratch: &mut Scratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let pretoken = &text[span.start..span.end];
        self.model
            .encode(&self.vocab, pretoken, go_on, scratch, &mut Out::ids(out))
            .map_err(|error| error.shifted(span.start))
    }

    /// Appends what `ids` decode to.
    ///
    /// # Errors
    /// As [`decode::decode`].
    pub fn decode(&self, ids: &[u32], skip_special: bool, out: &mut Vec<u8>) -> Result<()> {
        decode::decode(&self.vocab, ids, skip_special, out)
    }
}
