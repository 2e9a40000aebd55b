//! Stages that split a document into the pretokens to count. They are the same as the stages of a tokenizer that
//! precede its model.
//!
//! Invariant: the pretokens are the segments that a tokenizer with these stages passes to its model
//! ([`crate::tokenizer::Tokenizer::for_each_segment`]), in order.
//!
//! Cost: a single pattern without other stages has no additional cost, because its pretokens borrow from the text.
//! Normalizers add a scan for characters that change. Other stages build an aligned text of each document, which takes
//! a few times the document's size. Left out: aligned texts of 4 GiB or more, which are an error. Plain version:
//! `tokenizer/pipeline/segments.rs`.

use serde::Deserialize;
use serde_json::Value;

use crate::added_tokens::{Added, AddedTokenMatcher};
use crate::error::{Error, Result};
use crate::normalize::{self, Normalizer};
use crate::pretokenize::{Pretokenizer, Splitter};
use crate::util::cancel::{CancelCheck, KeepGoing};
use crate::vocab::byte_alphabet;

/// Stages that split a text into pretokens.
#[derive(Debug)]
pub enum Stages {
    /// One pattern, which splits the unchanged text.
    Pattern(Pretokenizer),
    /// Any other stages, which rewrite the text or split it in several steps.
    Parts(Parts),
}

/// Stages that rewrite the text, or split it in several steps.
#[derive(Debug)]
pub struct Parts {
    normalizers: Vec<Normalizer>,
    splitters: Vec<Splitter>,
    plain: Option<Pretokenizer>, // the only splitter, if it is one pattern and `cuts` is None
    cuts: Option<AddedTokenMatcher>, // user-defined tokens and boundaries, matched in normalized text
    skips: Skips,
    marks_ends: bool,
    byte_alphabet: bool, // pretokens are spelled in the byte alphabet
    is_traced: bool,     // a splitter needs the alignment with the input
}

/// Conditions under which a text is skipped instead of counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Skips {
    over_bytes: Option<usize>,
    with: Option<String>,
}

impl Skips {
    fn has(&self, text: &str) -> bool {
        self.over_bytes.is_some_and(|most| text.len() > most)
            || self.with.as_ref().is_some_and(|mark| text.contains(mark.as_str()))
    }
}

/// Id that the matcher returns for every boundary symbol, and the pretoken that is counted for it.
const BOUNDARY: (u32, &[u8]) = (1, b"\x1F");

/// Byte that is counted as part of the last pretoken of a text, if the ends of texts are marked. It cannot occur in a
/// text, because texts are lines.
pub const END_OF_TEXT: u8 = b'\n';

#[derive(Deserialize)]
struct StagesJson {
    #[serde(default)]
    normalizer: Vec<Value>,
    #[serde(default)]
    pretokenizer: Vec<Value>,
    #[serde(default)]
    user_defined: Vec<String>,
    #[serde(default)]
    boundaries: Vec<String>,
    #[serde(default)]
    skip_over_bytes: Option<usize>,
    #[serde(default)]
    skip_with: Option<String>,
    #[serde(default)]
    mark_ends: bool,
    #[serde(default)]
    byte_level: bool,
}

impl Stages {
    /// Reads stages from JSON:
    ///
    /// - `normalizer` and `pretokenizer`: lists of components;
    /// - `user_defined`: tokens that SentencePiece's normalizer does not change. They split the normalized text and are
    ///   not counted;
    /// - `boundaries`: strings that also split the normalized text. Each occurrence is counted as one U+001F;
    /// - `mark_ends`: the last pretoken of a text is counted with U+000A after it;
    /// - `skip_over_bytes`: texts with more bytes than this number are not counted;
    /// - `skip_with`: texts that contain this string are not counted;
    /// - `byte_level`: the component `ByteLevel` yields bytes instead of characters of the byte alphabet.
    ///
    /// # Errors
    /// [`Error::config`] for unknown components, as [`Normalizer::from_json`] and [`Splitter::from_json`].
    pub fn from_json(stages: &str) -> Result<Self> {
        let spelled: StagesJson = serde_json::from_str(stages)
            .map_err(|error| Error::config(format!("the stages before counting: {error}")))?;
        let user_defined: Vec<&[u8]> = spelled.user_defined.iter().map(String::as_bytes).collect();
        let byte_alphabet = spelled.byte_level
            && spelled.normalizer.iter().chain(&spelled.pretokenizer).any(|part| part["type"] == "ByteLevel");
        let normalizers = spelled.normalizer.iter().map(|part| Normalizer::from_json(&part.to_string(), &user_defined));
        let normalizers = normalizers.collect::<Result<Vec<_>>>()?;
        let splitters = spelled.pretokenizer.iter().map(|part| Splitter::from_json(&part.to_string()));
        let splitters = splitters.collect::<Result<Vec<_>>>()?;
        let boundaries = spelled.boundaries.iter().map(|token| Added::plain(token.as_bytes(), BOUNDARY.0));
        let cuts = AddedTokenMatcher::new(user_defined.iter().map(|token| Added::plain(token, 0)).chain(boundaries))?;
        let skips = Skips { over_bytes: spelled.skip_over_bytes, with: spelled.skip_with };
        let plain = Splitter::as_one_pattern(&splitters);
        let plain = plain.filter(|_| cuts.is_none() && !spelled.mark_ends && !byte_alphabet);
        Ok(match plain {
            Some(pattern) if normalizers.is_empty() && skips == Skips::default() => Self::Pattern(pattern),
            plain => {
                let is_traced = splitters.iter().any(Splitter::needs_origins);
                let marks_ends = spelled.mark_ends;
                Self::Parts(Parts { normalizers, splitters, plain, cuts, skips, marks_ends, byte_alphabet, is_traced })
            }
        })
    }
}

/// Maximum average number of pretokens for each byte of a text. It exceeds 1 because normalizers can lengthen a text.
const MOST_PRETOKENS_A_BYTE: u64 = 128;

impl Stages {
    /// Returns the number of positions that are reserved for each byte of a document. Each pretoken takes one position,
    /// so a document of n bytes can have at most n times this number of pretokens.
    pub fn places_a_byte(&self) -> u64 {
        match self {
            Self::Pattern(_) => 1,
            Self::Parts(_) => MOST_PRETOKENS_A_BYTE,
        }
    }
}

impl Parts {
    /// Calls `each` with the pretokens of a text, in order.
    ///
    /// # Errors
    /// Errors of the components, with an offset in their input; errors of `each`; `Interrupted`.
    pub fn for_each(
        &self,
        text: &str,
        keep_going: KeepGoing<'_>,
        mut each: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        if self.skips.has(text) {
            return Ok(());
        }
        let mut cancel = CancelCheck::new(keep_going);
        if let Some(pattern) = &self.plain {
            let text = normalize::normalized(&self.normalizers, text, keep_going)?;
            for span in pattern.spans(&text) {
                let span = span?;
                each(&text.as_bytes()[span.start..span.end])?;
                cancel.check()?;
            }
            return Ok(());
        }
        let mut aligned = normalize::aligned(&self.normalizers, text, 0, self.is_traced, keep_going)?;
        match &self.cuts {
            Some(matcher) => matcher.cut(&mut aligned)?,
            None => aligned.cut(|_, text, parts| {
                parts.push(0, text.len(), None); // as in `tokenizer/pipeline/segments.rs`
                Ok(())
            })?,
        }
        for splitter in &self.splitters {
            splitter.apply(&mut aligned, keep_going)?;
        }
        let mut bytes = Vec::new();
        let mut pieces = aligned.chunks().iter().peekable();
        while let Some(piece) = pieces.next() {
            cancel.check()?;
            if let Some(id) = piece.id {
                if id == BOUNDARY.0 {
                    each(BOUNDARY.1)?;
                }
                continue;
            }
            let ends = self.marks_ends && pieces.peek().is_none();
            let spelled = &aligned.text()[piece.range()];
            if !self.byte_alphabet && !ends {
                each(spelled.as_bytes())?;
                continue;
            }
            bytes.clear();
            if self.byte_alphabet {
                byte_alphabet::push_bytes(spelled, &mut bytes);
            } else {
                bytes.extend_from_slice(spelled.as_bytes());
            }
            bytes.extend(ends.then_some(END_OF_TEXT));
            each(&bytes)?;
        }
        Ok(())
    }
}
