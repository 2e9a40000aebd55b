//! Finds the entries that texts produce.
//!
//! An entry is reached if some text of valid UTF-8, encoded without permission for special tokens, yields its id. Such
//! a text is stored as evidence, after the slow path has encoded it. A candidate text is the bytes of the entry with
//! a context (text before and after them). If the entry begins or ends with a part of a character, the missing bytes of
//! the character are added. The likely candidates are tried first. If they fail, `proofs` tries to prove that no
//! text produces the entry. If there is no proof, the remaining candidates are tried. If neither a text nor a proof is
//! found, the entry is undecided.
//!
//! Cost: for most entries, one encoding finds a text; for the others, at most [`MAX_TRIES`] encodings for each of up to
//! three forms, and `budget` in total. For entries of more than [`MAX_LEN`] bytes, no texts are tried, because some
//! models take time quadratic in the length of an entry. Only malicious files have such entries.

use super::completion::Edges;
use super::contexts::Contexts;
use super::fate::Fate;
use super::proofs::Proofs;
use crate::error::{ErrorKind, Result};
use crate::model::unformed::byte_of;
use crate::model::Scratch;
use crate::tokenizer::{Permit, Tokenizer};
use crate::util::cancel::{CancelCheck, KeepGoing};
use crate::vocab::Kind;

/// For each form (possible byte string) of an entry, the likely texts are tried first, then at most this many others.
const MAX_TRIES: usize = 20_000;

/// Maximum length of an entry in bytes. For longer entries, no texts are tried.
const MAX_LEN: usize = 4096;

/// A text uses one unit of the budget, and one more unit for each full `LONG_TEXT` bytes.
const LONG_TEXT: usize = 256;

/// Characters that few vocabularies contain. They are tried as texts that produce the unknown token.
const RARE: [&str; 6] = ["\u{10FFFD}", "\u{E000}", "𒀀", "☃", "ก", "\u{1}"];

/// Fates of all ids (whether any text produces the id), with a text for each reached id.
#[derive(Debug, Default)]
pub struct Reachability {
    /// Fate of each id.
    pub fates: Vec<Fate>,
    /// For each id, true if its own text is encoded as exactly this id.
    pub alone: Vec<bool>,
    /// Texts of the reached ids, concatenated.
    pub texts: Vec<u8>,
    /// For each id, the end of its text in `texts`.
    pub ends: Vec<usize>,
}

struct Search<'t> {
    tok: &'t Tokenizer,
    permit: Permit<'t>,
    keep_going: KeepGoing<'t>,
    scratch: Scratch,
    ids: Vec<u32>,
    budget: usize, // number of texts that can still be tried after the likely ones
}

/// Finds out for each entry whether any text produces the entry (the [`Fate`] of its id). `budget` limits how many
/// texts are tried for all entries together, apart from the likely texts; a long text counts as several (`LONG_TEXT`).
///
/// # Errors
/// `Interrupted`.
pub fn reachability(tok: &Tokenizer, budget: usize, keep_going: KeepGoing<'_>) -> Result<Reachability> {
    let (proofs, contexts) = (Proofs::new(tok, keep_going)?, Contexts::new(tok));
    let permit = tok.permit_none();
    let mut search = Search { tok, permit, keep_going, scratch: Scratch::default(), ids: Vec::new(), budget };
    let mut cancel = CancelCheck::new(keep_going);
    let mut found = Reachability::default();
    for id in 0..tok.vocab().len() as u32 {
        cancel.check()?;
        let fate = search.fate(id, &proofs, &contexts, &mut found.texts)?;
        found.fates.push(fate);
        found.alone.push(fate != Fate::Hole && !search.is_long(id) && search.is_alone(id)?);
        found.ends.push(found.texts.len());
    }
    Ok(found)
}

impl Search<'_> {
    fn fate(&mut self, id: u32, proofs: &Proofs<'_>, contexts: &Contexts, texts: &mut Vec<u8>) -> Result<Fate> {
        let kind = self.tok.vocab().kind(id);
        match kind {
            Kind::Hole => return Ok(Fate::Hole),
            Kind::Special if self.is_long(id) => return Ok(Fate::Special),
            Kind::Special => return self.special(id, texts),
            Kind::Unreachable | Kind::Unused => return Ok(proofs.find(id).unwrap_or(Fate::Undecided)),
            _ => {}
        }
        if self.is_long(id) {
            return Ok(Fate::Undecided);
        }
        let forms = self.forms(id, proofs.is_byte_entry(id));
        let edges: Vec<Edges<'_>> = forms.iter().filter_map(|bytes| Edges::of(bytes)).collect();
        for edges in &edges {
            if contexts.likely(edges, |text| self.has(text, id, texts))? {
                return Ok(Fate::Reached);
            }
        }
        if let Some(fate) = proofs.find(id) {
            return Ok(fate);
        }
        for edges in &edges {
            let most = MAX_TRIES.min(self.budget);
            let mut tries = 0;
            let reached = contexts.all(edges, most, |text| {
                tries += 1 + text.len() / LONG_TEXT;
                Ok::<_, crate::error::Error>(tries <= most && self.has(text, id, texts)?)
            })?;
            self.budget -= tries.min(most);
            if reached {
                return Ok(Fate::Reached);
            }
        }
        Ok(Fate::Undecided)
    }

    fn is_long(&self, id: u32) -> bool {
        self.tok.vocab().content_len(id) > MAX_LEN
    }

    /// Returns byte strings that could produce an entry: the decoded bytes of the entry, its content, and its content
    /// without the model's continuing prefix (such as `##`). A byte entry has only one form, the byte itself.
    fn forms(&self, id: u32, is_byte: bool) -> Vec<Vec<u8>> {
        let vocab = self.tok.vocab();
        let content = vocab.content(id);
        let mut decoded = Vec::new();
        self.tok.decode_one(id, &mut decoded);
        let mut forms = match (is_byte, byte_of(content)) {
            (true, Some(byte)) => vec![vec![byte]],
            _ => {
                let prefix = self.tok.model().continuing_prefix().as_bytes();
                vec![decoded, content.strip_prefix(prefix).unwrap_or(content).to_vec(), content.to_vec()]
            }
        };
        forms.dedup();
        forms.retain(|bytes| !bytes.is_empty());
        forms
    }

    /// Returns the fate of a special token. If no special tokens are permitted, text can produce only one special
    /// token: the unknown token.
    fn special(&mut self, id: u32, texts: &mut Vec<u8>) -> Result<Fate> {
        let content = self.tok.vocab().content(id).to_vec();
        for text in std::iter::once(&content[..]).chain(RARE.iter().map(|text| text.as_bytes())) {
            if std::str::from_utf8(text).is_ok() && self.has(text, id, texts)? {
                return Ok(Fate::Reached);
            }
        }
        Ok(Fate::Special)
    }

    /// Encodes a text; if the result contains the id, appends the text to `texts`. Returns false for text that cannot
    /// be encoded.
    fn has(&mut self, text: &[u8], id: u32, texts: &mut Vec<u8>) -> Result<bool> {
        let has = self.encode(text)? && self.ids.contains(&id);
        if has {
            texts.extend_from_slice(text);
        }
        Ok(has)
    }

    fn encode(&mut self, text: &[u8]) -> Result<bool> {
        self.ids.clear();
        let Self { tok, permit, keep_going, scratch, ids, .. } = self;
        match tok.encode(text, permit, *keep_going, scratch, ids) {
            Ok(()) => Ok(true),
            Err(error) if matches!(error.kind(), ErrorKind::Interrupted) => Err(error),
            Err(_) => Ok(false),
        }
    }

    fn is_alone(&mut self, id: u32) -> Result<bool> {
        let ids = [id];
        let Ok(decoded) = self.tok.decode(&ids, false) else { return Ok(false) };
        let text = decoded.into_vec();
        Ok(self.encode(&text)? && self.ids == [id])
    }
}
