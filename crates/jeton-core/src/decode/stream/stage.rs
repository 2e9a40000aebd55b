//! One decoder on strings that arrive in fragments.
//!
//! A [`StringList`] is one fragment of the whole list: its first string continues the open string of the previous
//! fragment, and the bytes after its last complete string begin a string that is still open. Invariant: the output for
//! all fragments equals that of [`DecodeStep::run`] on the whole list. Strings that arrive whole are processed by the
//! same code as in batches.
//!
//! Only bytes that the rest of the list can change are held back:
//!
//! | step | held back |
//! |---|---|
//! | `Fuse`, `Join` | nothing |
//! | `Metaspace`, `Replace` | the beginning of a pattern |
//! | `Replace` of a regex | text from the first position where a match depends on later text |
//! | `Strip`, `Replace` of ` \z` | characters at the end of an open string, which may be removed |
//! | `WordPiece` | in an open string, the beginning of the prefix or of a replacement |
//! | `ByteLevel` | an incomplete character; after a step that joins, a string in the byte alphabet |
//! | `ByteFallback` | a run of byte pieces |
//! | `BPEDecoder` | a string from its first suffix on, until the next string begins |
//! | `CTC` | an open string, because it may equal the previous one |
//!
//! Strings are open only after a step that joins all strings. After such a step, `ByteLevel`, `BPEDecoder` and `CTC`
//! may hold back the whole text; no known tokenizer uses them there.

use super::super::pieces::StringList;
use super::super::regex_replacer::RegexHeld;
use super::super::steps::{ctc_piece, ByteAlphabet, DecodeStep, Replacer};
use super::byte_run::ByteRun;
use super::strip::Stripped;
use super::utf8::{Invalid, Utf8};
use super::words::Word;
use crate::error::Result;

/// State of a [`DecodeStep`] in a stream.
#[derive(Debug, Clone)]
pub(super) struct Stage {
    state: StepState,
    is_first: bool, // the current string is the first one of the list
    is_open: bool,  // true if the current string has begun
}

#[derive(Debug, Clone)]
enum StepState {
    /// State of `Fuse` and `Join`, which hold back nothing.
    None,
    Bytes(Utf8),
    ByteLevel {
        spelled: Spelled,
        utf8: Utf8,
    },
    ByteFallback(ByteRun),
    Suffix {
        matched: usize,
        held: Option<Vec<u8>>,
        is_closed: bool,
    },
    Ctc {
        before: Option<Vec<u8>>,
        piece: Vec<u8>,
    },
    /// State of `Metaspace` and `Replace`: number of bytes of the pattern that are held back.
    Replace {
        matched: usize,
        is_empty: bool,
    },
    ReplaceRegex(Box<RegexHeld>),
    LastSpace(bool),
    Strip(Stripped),
    WordPiece(Box<Word>),
}

impl Stage {
    /// Creates a stage; `next` is the following step.
    pub fn new(step: &DecodeStep, next: Option<&DecodeStep>) -> Self {
        let state = match step {
            DecodeStep::Fuse | DecodeStep::Join(_) => StepState::None,
            DecodeStep::Bytes => StepState::Bytes(Utf8::default()),
            DecodeStep::ByteLevel(_) => StepState::ByteLevel { spelled: Spelled::default(), utf8: Utf8::default() },
            DecodeStep::ByteFallback => {
                let joined = matches!(next, None | Some(DecodeStep::Fuse | DecodeStep::Bytes));
                StepState::ByteFallback(ByteRun::new(joined))
            }
            DecodeStep::Suffix(_) => StepState::Suffix { matched: 0, held: None, is_closed: false },
            DecodeStep::Ctc { .. } => StepState::Ctc { before: None, piece: Vec::new() },
            DecodeStep::Metaspace { .. } | DecodeStep::Replace { .. } => {
                StepState::Replace { matched: 0, is_empty: true }
            }
            DecodeStep::ReplaceRegex(_) => StepState::ReplaceRegex(Box::default()),
            DecodeStep::DropLastSpace => StepState::LastSpace(false),
            DecodeStep::Strip { .. } => StepState::Strip(Stripped::default()),
            DecodeStep::WordPiece { cleanup, .. } => StepState::WordPiece(Box::new(Word::new(*cleanup))),
        };
        Self { state, is_first: true, is_open: false }
    }

    /// From now on, writes runs of byte pieces early (see [`super::byte_run`]). Returns false if this is not possible:
    /// the step is not `ByteFallback`, the next step does not join the strings, or a run is already held back.
    pub fn write_early(&mut self) -> bool {
        match &mut self.state {
            StepState::ByteFallback(run) => run.write_early(),
            _ => false,
        }
    }

    /// Returns true if a run of byte pieces was written early, but turned out not to be UTF-8.
    pub fn is_wrong(&self) -> bool {
        matches!(&self.state, StepState::ByteFallback(run) if run.is_wrong())
    }

    /// Reads a fragment of the list and appends the output to `into`. Stops soon after more than `most` bytes are
    /// written.
    ///
    /// # Errors
    /// As [`DecodeStep::run`].
    pub fn push(
        &mut self,
        step: &DecodeStep,
        from: &StringList,
        into: &mut StringList,
        lossy: bool,
        most: usize,
    ) -> Result<()> {
        for (fragment, is_closed) in from.fragments() {
            if !self.is_open {
                if fragment.is_empty() && !is_closed {
                    continue;
                }
                if is_closed && step.is_context_free() {
                    step.one(fragment, self.is_first, false, into.open(), most)?;
                    into.close();
                } else {
                    self.is_open = true;
                    self.begin(step, into, most);
                }
            }
            if self.is_open {
                self.part(step, fragment, into, lossy, most);
                if is_closed {
                    self.close(step, into, lossy, most)?;
                    self.is_open = false;
                }
            }
            self.is_first &= !is_closed;
            if into.open().len() > most {
                break;
            }
        }
        Ok(())
    }

    /// Reads a whole string; the step must be context-free and have no open string. Appends to `out` until it has more
    /// than `most` bytes.
    ///
    /// # Errors
    /// As [`DecodeStep::run`].
    pub fn push_closed(&mut self, step: &DecodeStep, string: &[u8], out: &mut Vec<u8>, most: usize) -> Result<()> {
        step.one(string, self.is_first, false, out, most)?;
        self.is_first = false;
        Ok(())
    }

    /// Begins a string.
    fn begin(&mut self, step: &DecodeStep, into: &mut StringList, most: usize) {
        match (&mut self.state, step) {
            (StepState::Suffix { held, is_closed, .. }, DecodeStep::Suffix(suffix)) => {
                if std::mem::take(is_closed) {
                    suffix.replace(&held.take().unwrap_or_default(), " ", into.open(), most);
                    into.close();
                }
                *held = suffix.needle.is_empty().then(Vec::new);
            }
            (StepState::WordPiece(word), _) if !self.is_first => word.begin(),
            (_, DecodeStep::Join(separator)) if !self.is_first => into.open().extend_from_slice(separator.as_bytes()),
            _ => {}
        }
    }

    /// Reads a part of a string.
    fn part(&mut self, step: &DecodeStep, part: &[u8], into: &mut StringList, lossy: bool, most: usize) {
        match (&mut self.state, step) {
            (StepState::Bytes(utf8), _) => write_utf8(utf8, part, into, lossy),
            (StepState::ByteLevel { spelled, utf8 }, DecodeStep::ByteLevel(alphabet)) => {
                if let Some(text) = spelled.push(part, alphabet) {
                    write_utf8(utf8, &text, into, lossy);
                }
            }
            (StepState::ByteFallback(run), _) => run.part(part, into, lossy),
            (StepState::Suffix { held: Some(held), .. }, _) => held.extend_from_slice(part),
            (StepState::Suffix { matched, held, .. }, DecodeStep::Suffix(suffix)) => {
                if let Some(read) = suffix.needle.find(matched, part, into.open()) {
                    *held = Some([suffix.needle.text(), &part[read..]].concat());
                }
            }
            (StepState::Ctc { piece, .. }, _) => piece.extend_from_slice(part),
            (StepState::Replace { matched, is_empty }, _) => {
                if let Some((pattern, with)) = replacement(step, self.is_first) {
                    *is_empty &= part.is_empty();
                    pattern.part(matched, part, with, into.open(), most);
                }
            }
            (StepState::ReplaceRegex(held), DecodeStep::ReplaceRegex(replacer)) => {
                replacer.part(held, part, into.open(), most);
            }
            (StepState::LastSpace(held), _) => {
                if let Some((last, rest)) = part.split_last() {
                    into.open().extend(held.then_some(b' '));
                    into.open().extend_from_slice(rest);
                    *held = *last == b' ';
                    into.open().extend((!*held).then_some(*last));
                }
            }
            (StepState::Strip(state), DecodeStep::Strip { content, start, stop }) => {
                state.part(part, content.as_bytes(), *start, *stop, into.open());
            }
            (StepState::WordPiece(word), DecodeStep::WordPiece { prefix, .. }) => {
                word.part(part, prefix.as_bytes(), into.open());
            }
            _ => into.open().extend_from_slice(part),
        }
    }

    /// Ends a string.
    fn close(&mut self, step: &DecodeStep, into: &mut StringList, lossy: bool, most: usize) -> Result<()> {
        match (&mut self.state, step) {
            (_, DecodeStep::Fuse | DecodeStep::Bytes) => return Ok(()),
            (StepState::ByteLevel { spelled, utf8 }, DecodeStep::ByteLevel(alphabet)) => {
                write_utf8(utf8, &spelled.close(alphabet), into, lossy);
                return Ok(());
            }
            (StepState::ByteFallback(run), _) => {
                run.close(into, lossy);
                return Ok(());
            }
            (StepState::Suffix { matched, held, is_closed }, DecodeStep::Suffix(suffix)) => {
                *is_closed = held.is_some();
                if *is_closed {
                    return Ok(());
                }
                suffix.needle.flush(matched, into.open());
            }
            (StepState::Ctc { before, piece }, DecodeStep::Ctc { pad, delimiter, cleanup }) => {
                let piece = std::mem::take(piece);
                if before.as_ref() != Some(&piece) {
                    ctc_piece(&piece, into, pad, delimiter, *cleanup, most);
                }
                *before = Some(piece);
                return Ok(());
            }
            (StepState::Replace { matched, is_empty }, _) => {
                if let Some((pattern, with)) = replacement(step, self.is_first) {
                    let is_empty = std::mem::replace(is_empty, true);
                    pattern.close(matched, if is_empty { "" } else { with }, into.open());
                }
            }
            (StepState::ReplaceRegex(held), DecodeStep::ReplaceRegex(replacer)) => {
                replacer.close(held, into.open(), most)?;
            }
            (StepState::LastSpace(held), _) => *held = false,
            (StepState::Strip(state), DecodeStep::Strip { content, .. }) => {
                state.close(content.as_bytes(), into.open())
            }
            (StepState::WordPiece(word), DecodeStep::WordPiece { prefix, .. }) => {
                word.close(prefix.as_bytes(), into.open())
            }
            _ => {}
        }
        into.close();
        Ok(())
    }

    /// Ends the list, after its last fragment.
    pub fn finish(&mut self, step: &DecodeStep, into: &mut StringList, lossy: bool, most: usize) {
        match (&mut self.state, step) {
            (StepState::Bytes(utf8) | StepState::ByteLevel { utf8, .. }, _) => {
                write_utf8(utf8, &[], into, lossy);
                let _ = utf8.finish(Invalid::Replace, |text| into.open().extend_from_slice(text.as_bytes()));
                into.close();
            }
            (StepState::ByteFallback(run), _) => run.end_run(into, lossy),
            (StepState::Suffix { held: Some(held), is_closed: true, .. }, DecodeStep::Suffix(suffix)) => {
                suffix.replace(held, "", into.open(), most);
                into.close();
            }
            (_, DecodeStep::Fuse) => into.close(),
            _ => {}
        }
    }
}

/// Returns the pattern and the replacement of a step that replaces strings; None for other steps.
fn replacement(step: &DecodeStep, is_first: bool) -> Option<(&Replacer, &str)> {
    match step {
        DecodeStep::Metaspace { mark, drops_first } => Some((mark, if is_first && *drops_first { "" } else { " " })),
        DecodeStep::Replace { pattern, content } => Some((pattern, content)),
        _ => None,
    }
}

fn write_utf8(utf8: &mut Utf8, bytes: &[u8], into: &mut StringList, lossy: bool) {
    if lossy {
        let _ = utf8.push(bytes, Invalid::Replace, |text| into.open().extend_from_slice(text.as_bytes()));
    } else {
        into.open().extend_from_slice(utf8.take_incomplete()); // held back by earlier lossy calls
        into.open().extend_from_slice(bytes);
    }
}

/// A string that may be in the byte alphabet. It is copied unchanged if it has a character outside of the alphabet.
#[derive(Debug, Clone, Default)]
struct Spelled {
    held: Vec<u8>,
    checked: usize, // bytes of `held` that were checked to be characters of the alphabet
    is_copied: bool,
}

impl Spelled {
    /// Reads a part of the string. While every character read so far is in the byte alphabet, returns None. After a
    /// character outside of the alphabet, the string is copied unchanged: returns all bytes not returned yet.
    fn push(&mut self, part: &[u8], alphabet: &ByteAlphabet) -> Option<Vec<u8>> {
        self.held.extend_from_slice(part);
        if !self.is_copied {
            let chunk = self.held[self.checked..].utf8_chunks().next()?;
            self.checked += chunk.valid().len();
            let is_incomplete = self.checked + chunk.invalid().len() == self.held.len()
                && std::str::from_utf8(chunk.invalid()).map_or_else(|error| error.error_len().is_none(), |_| true);
            self.is_copied = !is_incomplete || !chunk.valid().chars().all(|c| alphabet.byte(c).is_some());
        }
        self.is_copied.then(|| std::mem::take(&mut self.held))
    }

    /// Ends the string; returns the text that `push` has not returned yet.
    fn close(&mut self, alphabet: &ByteAlphabet) -> Vec<u8> {
        let Self { held, is_copied, .. } = std::mem::take(self);
        if is_copied {
            return held;
        }
        let mut text = Vec::new();
        alphabet.read_or_copy(&held, &mut text);
        text
    }
}
