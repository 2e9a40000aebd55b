//! HF's pre-tokenizers: components of a `tokenizer.json`, each of which splits the chunks of an [`AlignedText`].
//!
//! Invariant: chunks and alignments equal those of HF `tokenizers`. Chunks stay in order, and contain no dropped
//! text. Regexes have the same meaning as in HF; a regex for which this is not possible is refused, with the
//! unsupported construct in the message.
//!
//! Cost: one pass over the text for each component; components that rewrite (ByteLevel, Metaspace) copy the text.
//! Source: huggingface/tokenizers, pre_tokenizers/, as the wheel 0.23.3 behaves.
//! Left out: regexes that match the empty text. HF splits at such matches.
//!
//! ```text
//! behavior     handling of matches
//! characters   character sets
//! rewrite      ByteLevel and Metaspace, which rewrite the text
//! pair_effect  effect on the position between two characters
//! ```

mod behavior;
pub mod characters;
pub mod pair_effect;
mod rewrite;

use serde::Deserialize;

use super::pretokenizer::{PatternKind, Pretokenizer};
use crate::aligned_text::AlignedText;
use crate::error::{Error, Result};
use crate::regex::in_our_dialect;
use crate::util::cancel::{CancelCheck, KeepGoing};
use behavior::{Behavior, Cutter, Stretch};
use characters::Scripts;
pub use rewrite::{Metaspace, PrependScheme};

/// A pre-tokenizer of HF, or a pattern of Jeton.
#[derive(Debug, Clone)]
pub struct Splitter(SplitterKind);

#[derive(Debug, Clone)]
enum SplitterKind {
    Bert,
    ByteLevel { add_prefix_space: bool, pattern: Option<Pretokenizer> },
    Delimiter(char),
    Digits(Behavior),
    FixedLength(usize),
    Metaspace(Metaspace),
    Pattern(Pretokenizer),
    Punctuation(Behavior),
    Scripts,
    Split { finder: SplitPattern, behavior: Behavior, invert: bool },
    Whitespace,
    WhitespaceSplit,
}

/// Pattern of the component Split.
#[derive(Debug, Clone)]
enum SplitPattern {
    Text(String),
    Regex(Pretokenizer),
}

/// JSON of a component in `tokenizer.json`.
#[derive(Deserialize)]
#[serde(tag = "type")]
enum SplitterJson {
    BertPreTokenizer,
    ByteLevel {
        add_prefix_space: bool,
        #[serde(default = "yes")]
        use_regex: bool,
    },
    CharDelimiterSplit {
        delimiter: char,
    },
    Digits {
        individual_digits: bool,
    },
    FixedLength {
        #[serde(default = "five")]
        length: usize,
    },
    Metaspace(rewrite::MetaspaceJson),
    Pattern {
        name: Option<String>,
        regex: Option<String>,
    },
    Punctuation {
        #[serde(default = "isolated")]
        behavior: Behavior,
    },
    Split {
        pattern: SpelledPattern,
        behavior: Behavior,
        invert: bool,
    },
    UnicodeScripts,
    Whitespace,
    WhitespaceSplit,
}

#[derive(Deserialize)]
enum SpelledPattern {
    String(String),
    Regex(String),
}

fn yes() -> bool {
    true
}

fn five() -> usize {
    5
}

fn isolated() -> Behavior {
    Behavior::Isolated
}

/// Translates a regex of HF `tokenizers` (Oniguruma, Ruby's syntax) to an equivalent pattern in Jeton's dialect.
///
/// # Errors
/// `Config` with the unsupported construct.
pub fn read_oniguruma(regex: &str) -> Result<Pretokenizer> {
    if let Some(named) = super::patterns::NAMED.iter().find(|named| named.oniguruma == regex) {
        return Ok(Pretokenizer(PatternKind::Named(named)));
    }
    let refused = |what: String| {
        let message = format!("the regex `{regex}` is not supported: it contains {what}");
        Error::unsupported(what, message)
    };
    let pattern = Pretokenizer::regex(&in_our_dialect(regex).map_err(refused)?)?;
    match &pattern.0 {
        PatternKind::Regex(pattern) if pattern.regex.can_be_empty() => {
            Err(refused("a match of the empty text".to_owned()))
        }
        _ => Ok(pattern),
    }
}

impl Splitter {
    /// Reads one component of a pre-tokenizer: HF's JSON (not a Sequence), or Jeton's `{"type":"Pattern","name":…}`
    /// or `{"type":"Pattern","regex":…}`.
    ///
    /// # Errors
    /// `Config` for an unknown component, invalid options, and an unsupported regex.
    pub fn from_json(part: &str) -> Result<Self> {
        let wrong = |why: &dyn std::fmt::Display| Error::config(format!("the pre-tokenizer {part}: {why}"));
        let spelled: SplitterJson = serde_json::from_str(part).map_err(|error| wrong(&error))?;
        Ok(Self(match spelled {
            SplitterJson::BertPreTokenizer => SplitterKind::Bert,
            SplitterJson::ByteLevel { add_prefix_space, use_regex } => {
                SplitterKind::ByteLevel { add_prefix_space, pattern: Pretokenizer::named("gpt2").filter(|_| use_regex) }
            }
            SplitterJson::CharDelimiterSplit { delimiter } => SplitterKind::Delimiter(delimiter),
            SplitterJson::Digits { individual_digits: true } => SplitterKind::Digits(Behavior::Isolated),
            SplitterJson::Digits { individual_digits: false } => SplitterKind::Digits(Behavior::Contiguous),
            SplitterJson::FixedLength { length: 0 } => return Err(wrong(&"pieces of no characters")),
            SplitterJson::FixedLength { length } => SplitterKind::FixedLength(length),
            SplitterJson::Metaspace(spelled) => {
                SplitterKind::Metaspace(Metaspace::new(spelled).map_err(|why| wrong(&why))?)
            }
            SplitterJson::Pattern { name: Some(name), regex: None } => SplitterKind::Pattern(
                Pretokenizer::named(&name).ok_or_else(|| wrong(&"there is no pattern with this name"))?,
            ),
            SplitterJson::Pattern { name: None, regex: Some(regex) } => {
                SplitterKind::Pattern(Pretokenizer::regex(&regex)?)
            }
            SplitterJson::Pattern { .. } => return Err(wrong(&"it needs either a name or a regex")),
            SplitterJson::Punctuation { behavior } => SplitterKind::Punctuation(behavior),
            SplitterJson::Split { pattern, behavior, invert } => {
                let finder = match pattern {
                    SpelledPattern::String(text) => SplitPattern::Text(text),
                    SpelledPattern::Regex(regex) => SplitPattern::Regex(read_oniguruma(&regex)?),
                };
                SplitterKind::Split { finder, behavior, invert }
            }
            SplitterJson::UnicodeScripts => SplitterKind::Scripts,
            SplitterJson::Whitespace => SplitterKind::Whitespace,
            SplitterJson::WhitespaceSplit => SplitterKind::WhitespaceSplit,
        }))
    }

    /// Reads a list of components.
    ///
    /// # Errors
    /// As [`Splitter::from_json`].
    pub fn list_from_json(parts: &str) -> Result<Vec<Self>> {
        let parts: Vec<serde_json::Value> = serde_json::from_str(parts)
            .map_err(|error| Error::config(format!("the list of pre-tokenizers does not parse: {error}")))?;
        parts.iter().map(|part| Self::from_json(&part.to_string())).collect()
    }

    /// Returns the pattern, if the component does nothing but split by one pattern: a Pattern, or a Split with isolated
    /// matches.
    pub fn as_pattern(&self) -> Option<&Pretokenizer> {
        match &self.0 {
            SplitterKind::Pattern(pattern) => Some(pattern),
            SplitterKind::Split { finder: SplitPattern::Regex(pattern), behavior: Behavior::Isolated, .. } => {
                Some(pattern)
            }
            _ => None,
        }
    }

    /// Joins components into one pattern, if all of them only split, and if they compile to one transducer.
    pub fn as_one_pattern(splitters: &[Self]) -> Option<Pretokenizer> {
        match splitters {
            [] => Some(Pretokenizer::none()),
            [only] if only.as_pattern().is_some() => only.as_pattern().cloned(),
            _ => {
                let regexes: Option<Vec<String>> = splitters.iter().map(Self::as_regex).collect();
                Pretokenizer::sequence(&regexes?.iter().map(String::as_str).collect::<Vec<_>>()).ok()
            }
        }
    }

    /// Joins components into one pattern, if one of them is a ByteLevel, which writes bytes in the byte alphabet, and
    /// all others only split. The pretokens of this pattern can begin inside characters.
    pub fn as_bytewise_pattern(splitters: &[Self]) -> Option<Pretokenizer> {
        let is_level = |splitter: &Self| matches!(splitter.0, SplitterKind::ByteLevel { .. });
        let at = splitters.iter().position(is_level)?;
        let SplitterKind::ByteLevel { add_prefix_space: false, pattern } = &splitters[at].0 else { return None };
        let regexes = |splitters: &[Self]| splitters.iter().map(Self::as_regex).collect::<Option<Vec<String>>>();
        let (mut before, after) = (regexes(&splitters[..at])?, regexes(&splitters[at + 1..])?);
        if let Some(pattern) = pattern {
            before.push(pattern.pattern()?.to_owned());
        }
        let [before, after] = [&before, &after].map(|list| list.iter().map(String::as_str).collect::<Vec<_>>());
        Pretokenizer::bytewise_sequence(&before, &after).ok()
    }

    /// Returns a regex whose matches, and the text between them, are the chunks of the component; None if the component
    /// does more than split.
    fn as_regex(&self) -> Option<String> {
        let (set, behavior) = match &self.0 {
            SplitterKind::Digits(behavior) => (characters::number(), *behavior),
            SplitterKind::Punctuation(behavior) => (characters::punctuation(), *behavior),
            SplitterKind::Split { finder: SplitPattern::Text(text), behavior: Behavior::Isolated, .. } => {
                return (!text.is_empty()).then(|| regex_syntax::escape(text));
            }
            _ => return self.as_pattern()?.pattern().map(str::to_owned),
        };
        match behavior {
            Behavior::Isolated => Some(set.as_regex()),
            Behavior::Contiguous => Some(set.as_regex() + "+"),
            _ => None,
        }
    }

    /// Returns true if the component needs to know which chunk is at the start of the input. This requires tracking of
    /// alignments.
    pub fn needs_origins(&self) -> bool {
        matches!(&self.0, SplitterKind::Metaspace(metaspace) if metaspace.needs_origins())
    }

    /// Returns the separator of words: `Some(Some(mark))` if each chunk begins with the mark, `Some(None)` if the
    /// component only splits at white space and drops it, and `None` for all other components.
    pub fn word_rule(&self) -> Option<Option<char>> {
        match &self.0 {
            SplitterKind::Bert | SplitterKind::WhitespaceSplit => Some(None),
            SplitterKind::Pattern(pattern) if pattern.leaves_gaps() => Some(None),
            SplitterKind::Metaspace(metaspace) => metaspace.prepends_always().map(Some),
            _ => None,
        }
    }

    /// Returns the pattern of a Pattern, or of a ByteLevel that adds no spaces. Returns None for all other components,
    /// and for a ByteLevel without a pattern.
    pub fn byte_pattern(&self) -> Option<&Pretokenizer> {
        match &self.0 {
            SplitterKind::ByteLevel { add_prefix_space: false, pattern } => pattern.as_ref(),
            SplitterKind::Pattern(pattern) => Some(pattern),
            _ => None,
        }
    }

    /// Returns true if the component splits only at white space and around single characters, which become separate
    /// chunks.
    pub fn splits_at_characters(&self) -> bool {
        match &self.0 {
            SplitterKind::Bert => true,
            _ => self.splits_at_white_space(),
        }
    }

    /// Returns true if the component splits at white space and removes it, and does nothing else.
    pub fn splits_at_white_space(&self) -> bool {
        match &self.0 {
            SplitterKind::WhitespaceSplit => true,
            SplitterKind::Pattern(pattern) => pattern.leaves_gaps(),
            _ => false,
        }
    }

    /// Returns true if each occurrence of `c` becomes a separate chunk.
    pub fn isolates(&self, c: char) -> bool {
        matches!(self.0, SplitterKind::Bert) && characters::punctuation().has(c)
    }

    /// Returns true if no output chunk of the component contains `c`.
    pub fn removes(&self, c: char) -> bool {
        match &self.0 {
            SplitterKind::Bert | SplitterKind::Whitespace | SplitterKind::WhitespaceSplit => c.is_whitespace(),
            SplitterKind::Delimiter(delimiter) => c == *delimiter,
            SplitterKind::Pattern(pattern) => pattern.leaves_gaps() && c.is_whitespace(),
            SplitterKind::Split { finder: SplitPattern::Text(text), behavior: Behavior::Removed, invert: false } => {
                text.chars().eq([c])
            }
            SplitterKind::Metaspace(metaspace) => metaspace.spelled(c) != c,
            _ => false,
        }
    }

    /// Returns true if the component adds or replaces characters, not counting the spelling of bytes in the byte
    /// alphabet.
    pub fn inserts(&self) -> bool {
        matches!(self.0, SplitterKind::Metaspace(_)) || self.adds_prefix_space()
    }

    /// Returns true if the component adds a space to chunks that do not begin with one.
    pub fn adds_prefix_space(&self) -> bool {
        matches!(self.0, SplitterKind::ByteLevel { add_prefix_space: true, .. })
    }

    /// Returns the options of the component, if it is Metaspace.
    pub fn metaspace(&self) -> Option<Metaspace> {
        match &self.0 {
            SplitterKind::Metaspace(metaspace) => Some(*metaspace),
            _ => None,
        }
    }

    /// Returns true if the component does not change a text without spaces.
    pub fn needs_spaces(&self) -> bool {
        match &self.0 {
            SplitterKind::Split { finder: SplitPattern::Text(text), behavior, invert } => {
                text.contains(' ') && !(*invert && *behavior == Behavior::Removed)
            }
            SplitterKind::Delimiter(' ') => true,
            _ => false,
        }
    }

    /// Returns the mark by which the component replaces spaces, if any.
    pub fn space_mark(&self) -> Option<char> {
        match &self.0 {
            SplitterKind::Metaspace(metaspace) => Some(metaspace.spelled(' ')),
            _ => None,
        }
    }

    /// Applies the component to all chunks of a text except added tokens. ByteLevel and Metaspace rewrite chunks,
    /// and can also split them; all other components only split them.
    ///
    /// # Errors
    /// `Text` for a regex that needs too many steps; `Interrupted` when `keep_going` returns false.
    pub fn apply(&self, aligned: &mut AlignedText, keep_going: KeepGoing<'_>) -> Result<()> {
        let cancel = &mut CancelCheck::new(keep_going);
        match &self.0 {
            SplitterKind::Bert => {
                at_characters(aligned, Behavior::Removed, cancel, char::is_whitespace)?;
                let punctuation = characters::punctuation();
                at_characters(aligned, Behavior::Isolated, cancel, |c| punctuation.has(c))
            }
            SplitterKind::ByteLevel { add_prefix_space, pattern } => {
                if *add_prefix_space {
                    rewrite::add_prefix_space(aligned)?;
                }
                if let Some(pattern) = pattern {
                    at_matches(aligned, pattern, Behavior::Isolated, false, cancel)?;
                }
                rewrite::to_byte_alphabet(aligned, cancel)
            }
            SplitterKind::Delimiter(delimiter) => {
                at_characters(aligned, Behavior::Removed, cancel, |c| c == *delimiter)
            }
            SplitterKind::Digits(behavior) => {
                let number = characters::number();
                at_characters(aligned, *behavior, cancel, |c| number.has(c))
            }
            SplitterKind::FixedLength(length) => every(*length, aligned, cancel),
            SplitterKind::Metaspace(metaspace) => {
                metaspace.rewrite(aligned, cancel)?;
                match metaspace.split() {
                    Some(mark) => at_characters(aligned, Behavior::MergedWithNext, cancel, |c| c == mark),
                    None => Ok(()),
                }
            }
            SplitterKind::Pattern(pattern) => aligned.cut(|place, text, parts| {
                if !pattern.leaves_gaps() && is_one_character(text) {
                    parts.push(0, text.len(), None);
                    return Ok(());
                }
                for span in pattern.spans(text) {
                    cancel.check()?;
                    let span = span.map_err(|error| error.shifted(place))?;
                    parts.push(span.start, span.end, None);
                }
                Ok(())
            }),
            SplitterKind::Punctuation(behavior) => {
                let punctuation = characters::punctuation();
                at_characters(aligned, *behavior, cancel, |c| punctuation.has(c))
            }
            SplitterKind::Scripts => at_scripts(aligned, cancel),
            SplitterKind::Split { finder: SplitPattern::Text(text), behavior, invert } => {
                at_text(aligned, text, *behavior, *invert, cancel)
            }
            SplitterKind::Split { finder: SplitPattern::Regex(pattern), behavior, invert } => {
                at_matches(aligned, pattern, *behavior, *invert, cancel)
            }
            SplitterKind::Whitespace => words_and_symbols(aligned, cancel),
            SplitterKind::WhitespaceSplit => at_characters(aligned, Behavior::Removed, cancel, char::is_whitespace),
        }
    }
}

/// Splits each chunk into the matches that `find` reports for it and the ranges between them; `behavior` then joins or
/// removes matches. `find` gets the position and the text of the chunk.
#[inline]
fn at_stretches(
    aligned: &mut AlignedText,
    behavior: Behavior,
    invert: bool,
    mut find: impl FnMut(usize, &str, &mut dyn FnMut(usize, usize)) -> Result<()>,
) -> Result<()> {
    aligned.cut(|place, text, parts| {
        if behavior != Behavior::Removed && is_one_character(text) {
            parts.push(0, text.len(), None);
            return Ok(());
        }
        let mut cutter = Cutter::new(behavior, parts);
        let mut done = 0;
        find(place, text, &mut |start, end| {
            if done < start {
                cutter.push(Stretch { start: done, end: start, is_match: invert });
            }
            cutter.push(Stretch { start, end, is_match: !invert });
            done = end;
        })?;
        if done < text.len() {
            cutter.push(Stretch { start: done, end: text.len(), is_match: invert });
        }
        cutter.finish();
        Ok(())
    })
}

/// Returns true if the text is a single character, which cannot be split. After some components, most chunks are single
/// characters.
#[inline]
fn is_one_character(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some() && chars.as_str().is_empty()
}

/// Splits at each character for which `is_match` returns true.
fn at_characters(
    aligned: &mut AlignedText,
    behavior: Behavior,
    cancel: &mut CancelCheck<'_>,
    is_match: impl Fn(char) -> bool,
) -> Result<()> {
    at_stretches(aligned, behavior, false, |_, text, found| {
        for (at, c) in text.char_indices() {
            cancel.check()?;
            if is_match(c) {
                found(at, at + c.len_utf8());
            }
        }
        Ok(())
    })
}

fn at_matches(
    aligned: &mut AlignedText,
    pattern: &Pretokenizer,
    behavior: Behavior,
    invert: bool,
    cancel: &mut CancelCheck<'_>,
) -> Result<()> {
    at_stretches(aligned, behavior, invert, |start, text, found| {
        let mut spans = pattern.spans(text);
        while let Some(span) = spans.next() {
            cancel.check()?;
            let span = span.map_err(|error| error.shifted(start))?;
            if spans.is_match {
                found(span.start, span.end);
            }
        }
        Ok(())
    })
}

fn at_text(
    aligned: &mut AlignedText,
    wanted: &str,
    behavior: Behavior,
    invert: bool,
    cancel: &mut CancelCheck<'_>,
) -> Result<()> {
    at_stretches(aligned, behavior, invert, |_, text, found| {
        // As in HF, the empty text matches before, between and after all characters.
        for (at, matched) in text.match_indices(wanted) {
            cancel.check()?;
            found(at, at + matched.len());
        }
        Ok(())
    })
}

/// Splits like `\w+|[^\w\s]+`: into runs of word characters and runs of symbols; white space is dropped.
fn words_and_symbols(aligned: &mut AlignedText, cancel: &mut CancelCheck<'_>) -> Result<()> {
    let word = characters::word();
    aligned.cut(|_, text, parts| {
        let mut start = 0;
        let mut was = None; // true if the current run is a word, false if symbols; None in white space
        for (at, c) in text.char_indices() {
            cancel.check()?;
            let is = if c.is_whitespace() { None } else { Some(word.has(c)) };
            if is != was {
                if was.is_some() {
                    parts.push(start, at, None);
                }
                (start, was) = (at, is);
            }
        }
        if was.is_some() {
            parts.push(start, text.len(), None);
        }
        Ok(())
    })
}

/// Splits where the script changes. Text before the first character with a script is dropped, as in HF.
fn at_scripts(aligned: &mut AlignedText, cancel: &mut CancelCheck<'_>) -> Result<()> {
    let scripts = Scripts::get();
    aligned.cut(|_, text, parts| {
        let (mut start, mut last) = (text.len(), 0);
        for (at, c) in text.char_indices() {
            cancel.check()?;
            let script = scripts.of(c);
            if script != 0 && script != last {
                parts.push(start, at, None);
                (start, last) = (at, script);
            }
        }
        parts.push(start, text.len(), None);
        Ok(())
    })
}

/// Splits after every `length` characters.
fn every(length: usize, aligned: &mut AlignedText, cancel: &mut CancelCheck<'_>) -> Result<()> {
    aligned.cut(|_, text, parts| {
        let mut starts = text.char_indices().map(|(at, _)| at).step_by(length).peekable();
        while let Some(start) = starts.next() {
            cancel.check()?;
            parts.push(start, starts.peek().copied().unwrap_or(text.len()), None);
        }
        Ok(())
    })
}
