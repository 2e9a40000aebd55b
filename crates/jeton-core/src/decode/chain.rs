//! Hugging Face's decoders, applied in order to a list of strings.

use std::collections::HashMap;

use super::entries::each;
use super::pieces::StringList;
use super::steps::{self, ByteAlphabet, DecodeStep};
use crate::error::{Error, Result};
use crate::util::cancel::most_bytes;
use crate::vocab::byte_alphabet::stand_in;
use crate::vocab::{Kind, Vocab};

/// Hugging Face's decoders, in order, and the rules that convert ids to the strings that the first decoder reads.
#[derive(Debug, Clone)]
pub(super) struct Chain {
    pub(super) steps: Vec<DecodeStep>,
    pub(super) spelled: bool, // contents are bytes, which a step needs in the byte alphabet
    pub(super) reads: Option<ByteAlphabet>, // if contents are bytes and ByteLevel is first: converts only added tokens
    pub(super) respelled: HashMap<u32, String>, // id -> string that replaces its content
    pub(super) ends_word: Vec<u8>, // suffix in HF's strings of entries that end a word
    pub(super) reads_ends: bool, // ByteLevel is first and can convert the suffix; else it does not change the string
}

impl Chain {
    /// Decodes ids with all steps. If `lossy` is true, replaces invalid UTF-8 as [`super::Decoder::decode_text`] does.
    ///
    /// # Errors
    /// As [`each`] and [`Chain::steps`].
    pub(super) fn run(&self, vocab: &Vocab, ids: &[u32], skip_special: bool, lossy: bool) -> Result<Vec<u8>> {
        Ok(self.strings(vocab, ids, skip_special, lossy)?.into_bytes())
    }

    /// Returns the strings after all steps. If all steps are context-free, there is one string for each id that is not
    /// skipped.
    ///
    /// # Errors
    /// As [`Chain::run`].
    pub(super) fn strings(&self, vocab: &Vocab, ids: &[u32], skip_special: bool, lossy: bool) -> Result<StringList> {
        let mut pieces = StringList::with_capacity(ids.len());
        each(vocab, ids, skip_special, |id, kind| self.push_entry(vocab, id, kind, &mut pieces))?;
        self.steps(pieces, lossy)
    }

    /// Appends the string for `id` to `pieces`, the list to which the steps are applied.
    pub(super) fn push_entry(&self, vocab: &Vocab, id: u32, kind: Kind, pieces: &mut StringList) {
        match self.respelled.get(&id) {
            Some(spelling) => self.push(spelling.as_bytes(), Kind::Added, pieces),
            None => self.push(vocab.content(id), kind, pieces),
        }
    }

    /// Returns the string that [`Chain::push_entry`] appends for `id`, if the string is stored. Returns None if the
    /// string must be computed.
    pub(super) fn stored<'a>(&'a self, vocab: &'a Vocab, id: u32, kind: Kind) -> Option<&'a [u8]> {
        if self.reads.is_some() || self.spelled || kind == Kind::EndsWord {
            return None;
        }
        Some(self.respelled.get(&id).map_or_else(|| vocab.content(id), String::as_bytes))
    }

    /// Appends the string for an entry to `pieces`, the list to which the steps are applied.
    fn push(&self, content: &[u8], kind: Kind, pieces: &mut StringList) {
        let is_text = matches!(kind, Kind::Added | Kind::Special | Kind::Unreachable);
        match &self.reads {
            Some(alphabet) if is_text => alphabet.read_or_copy(content, pieces.open()),
            _ if !is_text && (self.spelled || kind == Kind::EndsWord && !self.reads_ends && self.reads.is_some()) => {
                let mut room = [0; 4];
                for &byte in content {
                    pieces.open().extend_from_slice(stand_in(byte).encode_utf8(&mut room).as_bytes());
                }
            }
            _ => pieces.open().extend_from_slice(content),
        }
        if kind == Kind::EndsWord {
            pieces.open().extend_from_slice(&self.ends_word);
        }
        pieces.close();
    }

    /// # Errors
    /// `Config` for text over the output limit; `Text` for a regex that exceeds its budget. The limit is needed because
    /// each of many steps can double the text.
    fn steps(&self, mut pieces: StringList, lossy: bool) -> Result<StringList> {
        let mut spare = StringList::default();
        let most = most_bytes(pieces.open().len() + pieces.len());
        for step in &self.steps {
            step.run(&mut pieces, &mut spare, lossy, most)?;
            if pieces.open().len() > most {
                return Err(Self::too_long(most));
            }
        }
        Ok(pieces)
    }

    /// Returns the error for output over the limit.
    pub(super) fn too_long(most: usize) -> Error {
        Error::config(format!("the decoder produces more than {most} bytes from these ids"))
    }

    /// Appends the text to which `id` decodes between two other tokens. To find it, the steps decode the token between
    /// two markers. The output between the markers begins with the token's text. If the steps insert a prefix before
    /// the second marker, the output ends with this prefix, which is removed.
    pub(super) fn middle(&self, vocab: &Vocab, id: u32, out: &mut Vec<u8>) {
        const MARKS: [&str; 2] = ["\u{f5a5a}\u{f1111}", "\u{f5a5a}\u{f2222}"]; // private use; two characters each
        let between = |token: Option<u32>| {
            let mut pieces = StringList::default();
            self.push(MARKS[0].as_bytes(), Kind::Added, &mut pieces);
            if let Some(id) = token {
                self.push_entry(vocab, id, vocab.kind(id), &mut pieces);
            }
            self.push(MARKS[1].as_bytes(), Kind::Added, &mut pieces);
            let bytes = self.steps(pieces, false).ok()?.into_bytes();
            let start = steps::find(&bytes, MARKS[0].as_bytes())? + MARKS[0].len();
            let end = start + steps::find(&bytes[start..], MARKS[1].as_bytes())?;
            Some(bytes[start..end].to_vec())
        };
        if vocab.kind(id) == Kind::Hole {
            return;
        }
        match between(None).zip(between(Some(id))) {
            Some((before, token)) => out.extend_from_slice(token.strip_suffix(&before[..]).unwrap_or(&token)),
            None => vocab.write_decoded(id, out), // some step removes or changes the markers
        }
    }
}
