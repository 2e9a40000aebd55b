//! The pipeline that owns the stages: match added tokens, pretokenize, model.
//!
//! Invariant: same text, same tokenizer, same ids, for any number of threads and any grouping of texts.
//! Nothing here changes after construction, so a tokenizer can be shared between threads.
//!
//! `long` cuts long texts and batches for threads, `spans` says where each id comes from, `explain` why.

mod explain;
mod long;
mod spans;

pub use explain::Explained;
pub use spans::Encoding;

use crate::decode;
use crate::error::{ErrorKind, Result};
use crate::model::bpe::{Bpe, Scratch};
use crate::pretokenize::{Pretokenizer, Span};
use crate::special::Matcher;
use crate::vocab::{Kind, Vocab};

/// Which special tokens a text may contain. Added tokens that are not special are always matched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Permission {
    /// None: their spelling is plain text.
    #[default]
    None,
    /// All.
    All,
    /// Finding one is an error.
    Raise,
    /// Those with these ids.
    Only(Vec<u32>),
}

/// A part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    /// An added token.
    Added(Span, u32),
    /// A pretoken.
    Pretoken(Span),
}

/// A tokenizer.
#[derive(Debug)]
pub struct Tokenizer {
    vocab: Vocab,
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
        let matcher = |wanted: &dyn Fn(Kind) -> bool| {
            let tokens = vocab.iter().filter(|&(_, kind, _)| wanted(kind));
            Matcher::new(tokens.map(|(id, _, content)| (content, id)))
        };
        let vocabulary_tokens = matcher(&|kind| kind == Kind::Added)?;
        let every_token = matcher(&|kind| matches!(kind, Kind::Added | Kind::Special))?;
        let special_tokens = matcher(&|kind| kind == Kind::Special)?;
        Ok(Self { vocab, model, pretokenizer, vocabulary_tokens, every_token, special_tokens })
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

    /// Calls `each` with the added tokens of `text` and with the stretches between them (id `None`, perhaps empty), in order.
    fn segments(
        &self,
        text: &[u8],
        permission: &Permission,
        mut each: impl FnMut(Span, Option<u32>) -> Result<()>,
    ) -> Result<()> {
        let only;
        let matcher = match permission {
            Permission::None => &self.vocabulary_tokens,
            Permission::All => &self.every_token,
            Permission::Raise => {
                if let Some(found) = self.special_tokens.as_ref().and_then(|special| special.find(text, 0)) {
                    let token = String::from_utf8_lossy(self.vocab.content(found.id)).into_owned();
                    return Err(ErrorKind::Special { token, at: found.start }.into());
                }
                &self.vocabulary_tokens
            }
            Permission::Only(ids) => {
                let wanted = |&(id, kind, _): &(u32, Kind, &[u8])| {
                    kind == Kind::Added || (kind == Kind::Special && ids.contains(&id))
                };
                only = Matcher::new(self.vocab.iter().filter(wanted).map(|(id, _, content)| (content, id)))?;
                &only
            }
        };
        let mut start = 0;
        if let Some(matcher) = matcher {
            while let Some(found) = matcher.find(text, start) {
                each(Span { start, end: found.start }, None)?;
                each(Span { start: found.start, end: found.end }, Some(found.id))?;
                start = found.end;
            }
        }
        each(Span { start, end: text.len() }, None)
    }

    /// Calls `each` with the pieces of `text`, in order.
    ///
    /// Bytes that are not UTF-8 form pretokens of their own; the text between them is split by itself.
    ///
    /// # Errors
    /// [`ErrorKind::Special`] under [`Permission::Raise`]; what `each` and the pretokenizer return.
    pub fn pieces(
        &self,
        text: &[u8],
        permission: &Permission,
        mut each: impl FnMut(Piece) -> Result<()>,
    ) -> Result<()> {
        self.segments(text, permission, |span, id| match id {
            Some(id) => each(Piece::Added(span, id)),
            None => self.pretokens(text, span.start, span.end, &mut each),
        })
    }

    fn pretokens(
        &self,
        text: &[u8],
        start: usize,
        end: usize,
        each: &mut impl FnMut(Piece) -> Result<()>,
    ) -> Result<()> {
        let mut at = start;
        let mut broken = start; // start of the present run of bytes that are not UTF-8
        for chunk in text[start..end].utf8_chunks() {
            if !chunk.valid().is_empty() {
                if broken < at {
                    each(Piece::Pretoken(Span { start: broken, end: at }))?;
                }
                for span in self.pretokenizer.spans(chunk.valid()) {
                    let span = span.map_err(|error| error.shifted(at))?;
                    each(Piece::Pretoken(Span { start: at + span.start, end: at + span.end }))?;
                }
                at += chunk.valid().len();
                broken = at;
            }
            at += chunk.invalid().len();
        }
        if broken < at {
            each(Piece::Pretoken(Span { start: broken, end: at }))?;
        }
        Ok(())
    }

    /// Appends the ids of `text` to `out`.
    ///
    /// # Errors
    /// As [`Tokenizer::pieces`] and [`Bpe::encode`].
    pub fn encode(
        &self,
        text: &[u8],
        permission: &Permission,
        scratch: &mut Scratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        self.pieces(text, permission, |piece| {
            match piece {
                Piece::Added(_, id) => out.push(id),
                Piece::Pretoken(span) => self.encode_pretoken(text, span, scratch, out)?,
            }
            Ok(())
        })
    }

    fn encode_pretoken(&self, text: &[u8], span: Span, scratch: &mut Scratch, out: &mut Vec<u32>) -> Result<()> {
        let pretoken = &text[span.start..span.end];
        self.model.encode(&self.vocab, pretoken, scratch, out).map_err(|error| error.shifted(span.start))
    }

    /// Appends what `ids` decode to.
    ///
    /// # Errors
    /// As [`decode::decode`].
    pub fn decode(&self, ids: &[u32], skip_special: bool, out: &mut Vec<u8>) -> Result<()> {
        decode::decode(&self.vocab, ids, skip_special, out)
    }
}
