//! The pipeline that owns the stages: match added tokens, pretokenize, model.
//!
//! Invariant: same text, same tokenizer, same ids, for any number of threads and any grouping of texts.
//! Nothing here changes after construction, so a tokenizer can be shared between threads.

use crate::decode;
use crate::error::{Error, ErrorKind, Result};
use crate::model::bpe::{Bpe, Scratch};
use crate::model::explain::Story;
use crate::parallel::{self, Landing, Part};
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

/// A text's ids and where each comes from.
#[derive(Debug, Clone, Default)]
pub struct Encoding {
    /// The ids.
    pub ids: Vec<u32>,
    /// Half-open byte range of each.
    pub byte_spans: Vec<(usize, usize)>,
    /// The smallest range of characters that covers it. A run of bytes that is no UTF-8 counts as Python's `errors="replace"` does.
    pub char_spans: Vec<(usize, usize)>,
    /// Byte range of each pretoken and added token, and the index of its first id.
    pub pretokens: Vec<(usize, usize, usize)>,
    /// Byte ranges that no token covers.
    pub dropped: Vec<(usize, usize)>,
}

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

/// A single text is encoded on several threads from this size on: below it, starting them costs more than a tenth of the work.
const LONG_TEXT: usize = 1 << 20;

/// Texts of a batch are handed to threads in groups of about this many bytes.
const GROUP: usize = 1 << 16;

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

    /// The number of ids of `text`.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub fn count(&self, text: &[u8], permission: &Permission) -> Result<usize> {
        let (mut scratch, mut ids, mut count) = (Scratch::default(), Vec::new(), 0);
        self.pieces(text, permission, |piece| {
            match piece {
                Piece::Added(..) => count += 1,
                Piece::Pretoken(span) => {
                    ids.clear();
                    self.encode_pretoken(text, span, &mut scratch, &mut ids)?;
                    count += ids.len();
                }
            }
            Ok(())
        })?;
        Ok(count)
    }

    /// The ids of one text, which is cut for up to `threads` threads when it is long.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`]; `Interrupted` when `watch` returns false.
    pub fn encode_long(
        &self,
        text: &[u8],
        permission: &Permission,
        threads: usize,
        watch: &mut dyn FnMut() -> bool,
    ) -> Result<Vec<u32>> {
        let mut ids = Vec::new();
        if threads <= 1 || text.len() < LONG_TEXT {
            self.encode(text, permission, &mut Scratch::default(), &mut ids)?;
            return Ok(ids);
        }
        self.segments(text, permission, |span, id| {
            match (id, std::str::from_utf8(&text[span.start..span.end])) {
                (Some(id), _) => ids.push(id),
                (None, Ok(text)) => {
                    self.encode_parts(text, threads, watch, &mut ids).map_err(|error| error.shifted(span.start))?;
                }
                (None, Err(_)) => {
                    let mut scratch = Scratch::default();
                    self.pretokens(text, span.start, span.end, &mut |piece| match piece {
                        Piece::Pretoken(span) => self.encode_pretoken(text, span, &mut scratch, &mut ids),
                        Piece::Added(..) => Ok(()),
                    })?;
                }
            }
            Ok(())
        })?;
        Ok(ids)
    }

    fn encode_parts(
        &self,
        text: &str,
        threads: usize,
        watch: &mut dyn FnMut() -> bool,
        ids: &mut Vec<u32>,
    ) -> Result<()> {
        let texts = [text];
        let threads = threads.min(text.len() / parallel::BYTES_WORTH_A_THREAD).max(1);
        let parts = parallel::plan(&texts, &self.pretokenizer, threads)?;
        let work = |part: &Part<'_>, go_on: &dyn Fn() -> bool| -> Result<(Vec<u32>, Landing)> {
            let (mut scratch, mut ids) = (Scratch::default(), Vec::new());
            let encode = |text: &str, span: Span| self.encode_pretoken(text.as_bytes(), span, &mut scratch, &mut ids);
            let landing = part.for_each_span(&self.pretokenizer, go_on, encode)?;
            Ok((ids, landing))
        };
        for part in parallel::run(&parts, watch, work)? {
            ids.extend_from_slice(&part);
        }
        Ok(())
    }

    /// The ids of many texts one after the other, and where each text's begin: `offsets[i]..offsets[i + 1]`.
    ///
    /// # Errors
    /// The index of the first text that failed, and its error.
    #[allow(clippy::type_complexity)]
    pub fn encode_batch(
        &self,
        texts: &[&[u8]],
        permission: &Permission,
        threads: usize,
        watch: &mut dyn FnMut() -> bool,
    ) -> std::result::Result<(Vec<u32>, Vec<i64>), (usize, Error)> {
        let mut groups = vec![0];
        let (mut in_group, mut total) = (0, 0);
        for (i, text) in texts.iter().enumerate() {
            total += text.len();
            in_group += text.len() + 1;
            if in_group >= GROUP {
                groups.push(i + 1);
                in_group = 0;
            }
        }
        if groups.last() != Some(&texts.len()) {
            groups.push(texts.len());
        }
        let job = |group: usize, go_on: &dyn Fn() -> bool| {
            let (mut scratch, mut ids, mut ends) = (Scratch::default(), Vec::new(), Vec::new());
            for (i, text) in (groups[group]..).zip(&texts[groups[group]..groups[group + 1]]) {
                let result = if go_on() {
                    self.encode(text, permission, &mut scratch, &mut ids)
                } else {
                    Err(ErrorKind::Interrupted.into())
                };
                if let Err(error) = result {
                    return Ok(Err((i, error)));
                }
                ends.push(ids.len());
            }
            Ok(Ok((ids, ends)))
        };
        let threads =
            if threads <= 1 && total < LONG_TEXT { 0 } else { threads.min(total / parallel::BYTES_WORTH_A_THREAD) };
        let (mut ids, mut offsets) = (Vec::new(), vec![0]);
        for (group, result) in parallel::jobs(groups.len() - 1, threads, watch, job).into_iter().enumerate() {
            let (part, ends) = result.map_err(|error| (groups[group], error))??;
            offsets.extend(ends.iter().map(|&end| (ids.len() + end) as i64));
            ids.extend_from_slice(&part);
        }
        Ok((ids, offsets))
    }

    /// The ids of `text` with the place of each.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub fn encode_with_spans(&self, text: &[u8], permission: &Permission) -> Result<Encoding> {
        let mut scratch = Scratch::default();
        let mut encoding = Encoding::default();
        let mut covered = 0;
        self.pieces(text, permission, |piece| {
            let first = encoding.ids.len();
            let (Piece::Added(span, _) | Piece::Pretoken(span)) = piece;
            if covered < span.start {
                encoding.dropped.push((covered, span.start));
            }
            covered = span.end;
            encoding.pretokens.push((span.start, span.end, first));
            match piece {
                Piece::Added(span, id) => {
                    encoding.ids.push(id);
                    encoding.byte_spans.push((span.start, span.end));
                }
                Piece::Pretoken(span) => {
                    self.encode_pretoken(text, span, &mut scratch, &mut encoding.ids)?;
                    self.place(text, span, &encoding.ids[first..], &mut encoding.byte_spans);
                }
            }
            Ok(())
        })?;
        if covered < text.len() {
            encoding.dropped.push((covered, text.len()));
        }
        encoding.char_spans = char_spans(text, &encoding.byte_spans);
        Ok(encoding)
    }

    /// Byte spans of the ids of one pretoken.
    fn place(&self, text: &[u8], pretoken: Span, ids: &[u32], spans: &mut Vec<(usize, usize)>) {
        let unk = self.model.alphabet.unk();
        let mut at = pretoken.start;
        for &id in ids {
            let len = if Some(id) == unk { char_len(&text[at..pretoken.end]) } else { self.vocab.content(id).len() };
            spans.push((at, at + len));
            at += len;
        }
    }

    /// Every step of encoding `text`.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub fn explain(&self, text: &[u8], permission: &Permission) -> Result<Vec<Explained>> {
        let mut scratch = Scratch::default();
        let mut parts = Vec::new();
        self.pieces(text, permission, |piece| {
            let mut ids = Vec::new();
            parts.push(match piece {
                Piece::Added(span, id) => {
                    ids.push(id);
                    let story = Story { symbols: vec![id], steps: Vec::new() };
                    Explained { span, added: true, whole: false, story, ids }
                }
                Piece::Pretoken(span) => {
                    let pretoken = &text[span.start..span.end];
                    self.encode_pretoken(text, span, &mut scratch, &mut ids)?;
                    let whole = self.model.whole_first() && self.vocab.find(pretoken, false).is_some();
                    let story = self.model.explain(pretoken).map_err(|error| error.shifted(span.start))?;
                    Explained { span, added: false, whole, story, ids }
                }
            });
            Ok(())
        })?;
        Ok(parts)
    }

    /// Appends what `ids` decode to.
    ///
    /// # Errors
    /// As [`decode::decode`].
    pub fn decode(&self, ids: &[u32], skip_special: bool, out: &mut Vec<u8>) -> Result<()> {
        decode::decode(&self.vocab, ids, skip_special, out)
    }
}

fn char_len(text: &[u8]) -> usize {
    text.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next()).map_or(1, char::len_utf8)
}

/// The smallest character ranges that cover byte spans, which do not go backwards.
fn char_spans(text: &[u8], byte_spans: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut starts = Vec::new(); // byte where each character starts
    let mut at = 0;
    for chunk in text.utf8_chunks() {
        starts.extend(chunk.valid().char_indices().map(|(i, _)| at + i));
        at += chunk.valid().len();
        if !chunk.invalid().is_empty() {
            starts.push(at);
            at += chunk.invalid().len();
        }
    }
    let mut first = 0; // characters that start at or before the present byte, less one
    let place = |&(start, end): &(usize, usize)| {
        while first + 1 < starts.len() && starts[first + 1] <= start {
            first += 1;
        }
        let mut past = first;
        while past < starts.len() && starts[past] < end {
            past += 1;
        }
        if start == end {
            let at = starts.partition_point(|&byte| byte < start);
            return (at, at);
        }
        (first, past)
    };
    byte_spans.iter().map(place).collect()
}
