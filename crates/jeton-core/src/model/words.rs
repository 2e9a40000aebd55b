//! Models that look up words or characters, without a search.
//!
//! `WordLevel` (HF) looks up each pretoken. `Words` (SentencePiece's word model) splits the text before each `▁` and
//! looks up each word. `Chars` (SentencePiece's character model) matches the longest user-defined piece at each
//! position, else looks up the character. Unused pieces are unknown in both SentencePiece models. `WordPiece` (HF)
//! takes the longest entry at the start of a word, then repeatedly the longest entry with the prefix `##`, until the
//! word is covered. A word that cannot be covered, or is too long, is unknown as a whole.
//!
//! Cost: linear; for `WordPiece`, multiplied by the length of the longest entry. Source: HF models/wordlevel/mod.rs
//! and models/wordpiece/mod.rs; SentencePiece src/word_model.cc, src/char_model.cc, src/model_interface.cc
//! (SplitIntoWords).

use super::added_entries::AddedEntries;
use super::output::Out;
use super::unknown::{char_len, check_unk, unknown, utf8, Unknown, UnknownWriter};
use crate::error::Result;
use crate::util::cancel::{CancelCheck, KeepGoing};
use crate::util::trie::Trie;
use crate::vocab::alphabet::WORD_START;
use crate::vocab::{Kind, Vocab};

/// WordLevel model: looks up the whole pretoken. A pretoken that is not an entry is unknown.
#[derive(Debug, Clone)]
pub struct WordLevel {
    pub(super) added: AddedEntries,
    pub(super) unk: Option<u32>,
}

impl WordLevel {
    /// # Errors
    /// `Config` if `unk` is not an entry.
    pub fn new(vocab: &Vocab, unk: Option<u32>, added: AddedEntries) -> Result<Self> {
        check_unk(vocab, unk)?;
        Ok(Self { added, unk })
    }

    /// Appends the id of a pretoken.
    ///
    /// # Errors
    /// `Text` for an unknown pretoken if the model has no unknown token.
    pub fn encode(&self, vocab: &Vocab, pretoken: &[u8], out: &mut Out<'_>) -> Result<()> {
        let id = self.added.find(vocab, pretoken).or(self.unk).ok_or_else(|| unknown(pretoken, 0))?;
        out.push(id, pretoken.len());
        Ok(())
    }
}

/// SentencePiece's word model.
#[derive(Debug, Clone)]
pub struct Words {
    added: AddedEntries,
    pub(super) unknown: Unknown,
}

impl Words {
    /// # Errors
    /// As [`Unknown::new`].
    pub fn new(vocab: &Vocab, unk: u32, byte_fallback: bool) -> Result<Self> {
        let unknown = Unknown::new(vocab, Some(unk), true, byte_fallback)?;
        Ok(Self { added: AddedEntries::all_added(vocab), unknown })
    }

    /// Appends the ids of a normalized text.
    ///
    /// # Errors
    /// `Text` if `text` is not UTF-8.
    pub fn encode(&self, vocab: &Vocab, text: &[u8], keep_going: KeepGoing<'_>, out: &mut Out<'_>) -> Result<()> {
        let (text_str, mut writer, mut start) = (utf8(text)?, UnknownWriter::new(&self.unknown, text, out), 0);
        let mut cancel = CancelCheck::new(keep_going);
        let starts = text_str.match_indices(WORD_START).map(|(at, _)| at).filter(|&at| at > 0);
        for end in starts.chain([text.len()]) {
            cancel.check()?;
            match self.added.find(vocab, &text[start..end]).filter(|&id| vocab.kind(id) != Kind::Unused) {
                Some(id) => writer.known(id, end)?,
                None => writer.unknown(end)?,
            }
            start = end;
        }
        writer.finish()
    }
}

/// SentencePiece's character model.
#[derive(Debug, Clone)]
pub struct Chars {
    added: Trie,
    pub(super) unknown: Unknown,
}

impl Chars {
    /// # Errors
    /// As [`Unknown::new`].
    pub fn new(vocab: &Vocab, unk: u32, byte_fallback: bool) -> Result<Self> {
        Ok(Self { added: added_trie(vocab), unknown: Unknown::new(vocab, Some(unk), true, byte_fallback)? })
    }

    /// Appends the ids of a normalized text.
    ///
    /// # Errors
    /// `Text` if `text` is not UTF-8.
    pub fn encode(&self, vocab: &Vocab, text: &[u8], keep_going: KeepGoing<'_>, out: &mut Out<'_>) -> Result<()> {
        utf8(text)?;
        let (mut writer, mut at) = (UnknownWriter::new(&self.unknown, text, out), 0);
        let mut cancel = CancelCheck::new(keep_going);
        while at < text.len() {
            cancel.check()?;
            let next = at + char_len(text, at);
            let user_defined = self.added.longest(text, at);
            let known = || vocab.find(&text[at..next], false).filter(|&id| vocab.kind(id) == Kind::Token);
            match user_defined.or_else(|| known().map(|id| (next, id))) {
                Some((end, id)) => {
                    writer.known(id, end)?;
                    at = end;
                }
                None => {
                    writer.unknown(next)?;
                    at = next;
                }
            }
        }
        writer.finish()
    }
}

/// Builds a trie of the user-defined pieces.
pub(super) fn added_trie(vocab: &Vocab) -> Trie {
    let added = vocab.iter().filter(|entry| entry.1 == Kind::Added);
    Trie::new(added.map(|(id, _, content)| (content, id)).collect())
}

/// HF's WordPiece.
#[derive(Debug, Clone)]
pub struct WordPiece {
    first: Trie,
    next: Trie, // entries with the prefix, stored without it
    pub(super) added: AddedEntries,
    pub(super) unk: u32,
    pub(super) prefix: Box<str>,
    max_chars: usize,
}

impl WordPiece {
    /// # Errors
    /// `Config` if `unk` is not an entry.
    pub fn new(vocab: &Vocab, unk: u32, prefix: &str, max_chars: usize, added: AddedEntries) -> Result<Self> {
        check_unk(vocab, Some(unk))?;
        let tokens = vocab.iter().filter(|entry| entry.1 == Kind::Token).map(|(id, _, content)| (content, id));
        let entries: Vec<_> = tokens.chain(added.ids().map(|id| (vocab.content(id), id))).collect();
        let inside = entries.iter().filter_map(|(content, id)| Some((content.strip_prefix(prefix.as_bytes())?, *id)));
        let next = Trie::new(inside.filter(|entry| !entry.0.is_empty()).collect());
        Ok(Self { first: Trie::new(entries), next, added, unk, prefix: prefix.into(), max_chars })
    }

    /// Returns true if `content` is the prefix followed by one character.
    pub(super) fn is_inner_character(&self, content: &[u8]) -> bool {
        let rest = content.strip_prefix(self.prefix.as_bytes()).and_then(|rest| std::str::from_utf8(rest).ok());
        rest.is_some_and(|rest| rest.chars().nth(1).is_none())
    }

    /// Returns true if a pretoken has more characters than the model accepts.
    pub(super) fn is_too_long(&self, pretoken: &[u8]) -> Result<bool> {
        Ok(pretoken.len() > self.max_chars && utf8(pretoken)?.chars().count() > self.max_chars)
    }

    /// Returns the end and the id of the longest entry that matches at a position.
    #[inline]
    pub(super) fn longest(&self, pretoken: &[u8], at: usize) -> Option<(usize, u32)> {
        let trie = if at == 0 { &self.first } else { &self.next };
        trie.longest(pretoken, at)
    }

    /// Appends the ids of a pretoken.
    ///
    /// # Errors
    /// `Text` if `pretoken` is not UTF-8; `Interrupted`.
    pub fn encode(&self, pretoken: &[u8], keep_going: KeepGoing<'_>, out: &mut Out<'_>) -> Result<()> {
        let is_long = self.is_too_long(pretoken)?;
        let (before, mut at) = (out.len(), 0);
        let mut cancel = CancelCheck::new(keep_going);
        while at < pretoken.len() && !is_long {
            cancel.check()?;
            let Some((end, id)) = self.longest(pretoken, at) else { break };
            out.push(id, end);
            at = end;
        }
        if at < pretoken.len() {
            utf8(pretoken)?;
            out.truncate(before);
            out.push(self.unk, pretoken.len());
        }
        Ok(())
    }
}
