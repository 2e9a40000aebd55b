//! Encodes text that no entry covers: as byte tokens, or as one unknown token for each character or each run.
//!
//! Source: SentencePiece's `PopulateSentencePieceText` (src/sentencepiece_processor.cc), HF's models/unigram/model.rs.

use super::output::{Out, Specials};
use crate::error::{Error, Result};
use crate::vocab::alphabet::{byte_entries, spell_in_bytes, NO_ID};
use crate::vocab::{Kind, Vocab};

/// Lookup of a run of unknown characters: takes the bytes of the run and its start, and returns the piece that equals
/// the run, if any.
type SpellUnknown<'a> = &'a dyn Fn(&[u8], usize) -> Result<Option<u32>>;

/// Ids that replace unknown text: the unknown token or byte tokens.
#[derive(Debug, Clone)]
pub struct Unknown {
    unk: Option<u32>,
    fused: bool,
    bytes: Option<Box<[u32; 256]>>,
}

impl Unknown {
    /// Creates the replacement of unknown text by the unknown token `unk`. If `bytes` is true, unknown text is replaced
    /// by byte tokens (`<0x0A>`) instead, provided that the vocabulary has a byte token for each byte of the text.
    ///
    /// # Errors
    /// [`Error::config`] if `unk` is not an entry.
    pub fn new(vocab: &Vocab, unk: Option<u32>, fused: bool, bytes: bool) -> Result<Self> {
        check_unk(vocab, unk)?;
        let bytes = if bytes { byte_entries(vocab) } else { None };
        Ok(Self { unk, fused, bytes })
    }

    /// Returns true if all unknown characters become bytes.
    pub fn is_spelled(&self) -> bool {
        self.bytes.as_ref().is_some_and(|ids| !ids.contains(&NO_ID))
    }

    /// Returns true if a whole run of unknown characters becomes one unknown token.
    pub fn is_fused(&self) -> bool {
        self.fused
    }

    /// Returns the id of the unknown token.
    pub fn unk(&self) -> Option<u32> {
        self.unk
    }

    fn write(
        &self,
        text: &[u8],
        start: usize,
        end: usize,
        spelled: Option<SpellUnknown<'_>>,
        out: &mut Out<'_>,
    ) -> Result<()> {
        let run = &text[start..end];
        let found = match spelled {
            Some(find) => find(run, start)?,
            None => None,
        };
        if let Some(id) = found {
            out.push(id, end);
        } else if let Some(ids) = self.bytes.as_ref().and_then(|ids| spell_in_bytes(ids, run)) {
            ids.zip(start + 1..).for_each(|(id, end)| out.push(id, end));
        } else if let Some(unk) = self.unk {
            out.push(unk, end);
        } else {
            return Err(unknown(run, start));
        }
        Ok(())
    }
}

/// # Errors
/// [`Error::config`] if `unk` is not an entry.
pub fn check_unk(vocab: &Vocab, unk: Option<u32>) -> Result<()> {
    match unk.filter(|&unk| vocab.kind(unk) == Kind::Hole) {
        Some(unk) => Err(Error::config(format!("the unknown token's id, {unk}, is not in the vocabulary"))),
        None => Ok(()),
    }
}

/// Creates the error for text that cannot be encoded, because the model has no unknown token.
#[cold]
pub fn unknown(text: &[u8], at: usize) -> Error {
    let first = text.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next());
    let what = first.map_or("a byte that is not UTF-8".into(), |c| format!("character {c:?} (U+{:04X})", c as u32));
    Error::text(format!("{what} is not in the vocabulary, and the tokenizer has no unknown token"), at)
}

/// # Errors
/// [`Error::text`] if `pretoken` is not UTF-8.
pub fn utf8(pretoken: &[u8]) -> Result<&str> {
    std::str::from_utf8(pretoken)
        .map_err(|e| Error::text("the text is not UTF-8, which this tokenizer needs", e.valid_up_to()))
}

/// Returns the number of bytes of one character of a UTF-8 text: the character that begins at byte `at`.
#[inline]
pub fn char_len(text: &[u8], at: usize) -> usize {
    crate::util::utf8::char_len(text[at]).min(text.len() - at)
}

/// Writer of known and unknown parts of a text, in order.
pub struct UnknownWriter<'w, 'o> {
    unknown: &'w Unknown,
    text: &'w [u8],
    out: &'w mut Out<'o>,
    at: usize,
    run: Option<usize>, // start of the current run of unknown characters
    spelled: Option<SpellUnknown<'w>>,
}

impl<'w, 'o> UnknownWriter<'w, 'o> {
    /// Creates a writer at the start of `text`.
    pub fn new(unknown: &'w Unknown, text: &'w [u8], out: &'w mut Out<'o>) -> Self {
        Self { unknown, text, out, at: 0, run: None, spelled: None }
    }

    /// Makes the writer first look up each run of unknown characters with `spelled`. Only a run that is not found
    /// becomes unknown tokens or byte tokens.
    pub fn looking_up(self, spelled: SpellUnknown<'w>) -> Self {
        Self { spelled: Some(spelled), ..self }
    }

    /// Returns the permitted special tokens.
    pub fn special(&self) -> Specials<'o> {
        self.out.special
    }

    /// Returns the start of the text that is not written yet.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Returns the text that is not written yet, up to `end`.
    pub fn text_to(&self, end: usize) -> &'w [u8] {
        &self.text[self.at..end]
    }

    /// Writes the id of an entry that covers the text up to `end`.
    ///
    /// # Errors
    /// As [`UnknownWriter::finish`].
    pub fn known(&mut self, id: u32, end: usize) -> Result<()> {
        if self.run.is_some() {
            self.flush()?;
        }
        self.out.push(id, end);
        self.at = end;
        Ok(())
    }

    /// Marks the text up to `end` as unknown.
    ///
    /// # Errors
    /// As [`UnknownWriter::finish`].
    pub fn unknown(&mut self, end: usize) -> Result<()> {
        self.run.get_or_insert(self.at);
        self.at = end;
        if self.unknown.fused {
            Ok(())
        } else {
            self.flush()
        }
    }

    /// Writes unknown characters up to `end`.
    ///
    /// # Errors
    /// As [`UnknownWriter::finish`].
    pub fn unknown_characters(&mut self, end: usize) -> Result<()> {
        if self.unknown.fused {
            return self.unknown(end);
        }
        while self.at < end {
            self.unknown(self.at + char_len(self.text, self.at))?;
        }
        Ok(())
    }

    /// Ends the text: writes the run of unknown characters that is still pending, if any.
    ///
    /// # Errors
    /// [`Error::text`] for unknown text, if there is neither an unknown token nor a byte token for it.
    pub fn finish(mut self) -> Result<()> {
        self.flush()
    }

    fn flush(&mut self) -> Result<()> {
        match self.run.take() {
            Some(start) => self.unknown.write(self.text, start, self.at, self.spelled, self.out),
            None => Ok(()),
        }
    }
}
