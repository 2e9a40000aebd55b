//! SentencePiece's normalizer: its rules by longest match, white space made one, escaped and put at the front of words.
//!
//! Invariant: the text is SentencePiece's. A byte stands for the input that its rule took; the space that is put before or after
//! the text stands for nothing, and white space that is left out is not stood for.
//!
//! Cost: linear: at each place one bounded look-up in the user-defined entries and one in the rules. ASCII that no rule is made of
//! is copied.
//! Source: google/sentencepiece, `normalizer.cc`. Left out: input that is not UTF-8, which does not get here.

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, Anchored, Input, MatchKind, StartKind};

use super::charsmap::Charsmap;
use crate::draft::Writer;
use crate::error::{Error, Result};
use crate::interrupt::Looks;

/// What stands for a space in pieces.
const MARK: &str = "\u{2581}";

/// What a model's file says about white space, under the file's names.
#[derive(Debug, Clone, Copy)]
pub(super) struct Options {
    pub(super) add_dummy_prefix: bool,
    pub(super) remove_extra_whitespaces: bool,
    pub(super) escape_whitespaces: bool,
    pub(super) treat_whitespace_as_suffix: bool,
}

/// A model's normalizer.
#[derive(Debug)]
pub(super) struct SentencePiece {
    map: Option<Charsmap>,
    options: Options,
    user_defined: Option<AhoCorasick>,
    plain: [bool; 256], // bytes that are copied as they are, where ASCII follows or nothing
}

impl SentencePiece {
    /// From its rules, its options and the contents that are left alone.
    ///
    /// # Errors
    /// [`Error::config`] for contents that are not UTF-8 or too much for one automaton.
    pub(super) fn new(map: Option<Charsmap>, options: Options, user_defined: &[&[u8]]) -> Result<Self> {
        let mut plain = [false; 256];
        for (byte, plain) in (0..128).zip(&mut plain) {
            *plain = byte != b' ' && map.as_ref().is_none_or(|map| !map.begins_in_ascii[usize::from(byte)]);
        }
        let mut contents = Vec::with_capacity(user_defined.len());
        for content in user_defined {
            let text = std::str::from_utf8(content)
                .map_err(|_| Error::config(format!("the user-defined entry {content:?} is not UTF-8")))?;
            if let Some(first) = text.bytes().next() {
                plain[usize::from(first)] = false;
                contents.push(text);
            }
        }
        let automaton = AhoCorasickBuilder::new()
            .match_kind(MatchKind::LeftmostLongest)
            .start_kind(StartKind::Anchored)
            .build(&contents)
            .map_err(|error| Error::config(format!("the user-defined entries are too many: {error}")))?;
        let user_defined = (!contents.is_empty()).then_some(automaton);
        Ok(Self { map, options, user_defined, plain })
    }

    /// How much of the text the next step takes, and what it becomes.
    fn prefix<'a>(&'a self, text: &'a str) -> Result<(usize, &'a str)> {
        if let Some(automaton) = &self.user_defined {
            let found = automaton.try_find(Input::new(text).anchored(Anchored::Yes));
            if let Some(found) = found.map_err(|error| Error::config(error.to_string()))? {
                return Ok((found.end(), &text[..found.end()]));
            }
        }
        let rule = self.map.as_ref().and_then(|map| map.prefixes(text).last());
        Ok(rule.unwrap_or_else(|| {
            let one = text.chars().next().map_or(0, char::len_utf8);
            (one, &text[..one])
        }))
    }

    /// How many bytes are copied as they are.
    #[inline]
    fn plain_run(&self, text: &[u8]) -> usize {
        let run = text.iter().take_while(|byte| self.plain[usize::from(**byte)]).count();
        let begins_rule = |byte: u8| self.map.as_ref().is_some_and(|map| map.begins[usize::from(byte)]);
        match (text[..run].last(), text.get(run)) {
            (Some(&last), Some(next)) if !next.is_ascii() && begins_rule(last) => run - 1,
            _ => run,
        }
    }

    /// Writes one piece.
    pub(super) fn write(&self, old: &str, writer: &mut Writer<'_>, looks: &mut Looks<'_>) -> Result<()> {
        let options = self.options;
        let space = if options.escape_whitespaces { MARK } else { " " };
        let mut at = 0;
        while options.remove_extra_whitespaces && at < old.len() {
            looks.now_and_then()?;
            match self.prefix(&old[at..])? {
                (taken, " ") => {
                    writer.replace(taken, "");
                    at += taken;
                }
                _ => break,
            }
        }
        if at == old.len() {
            return Ok(());
        }
        if options.add_dummy_prefix && !options.treat_whitespace_as_suffix {
            writer.replace(0, space);
        }
        let mut after_space = options.remove_extra_whitespaces;
        while at < old.len() {
            looks.now_and_then()?;
            let run = self.plain_run(&old.as_bytes()[at..]);
            if run > 0 {
                writer.copy(run);
                at += run;
                after_space = false;
                continue;
            }
            writer.check()?;
            let (taken, whole) = self.prefix(&old[at..])?;
            let new = if after_space { whole.trim_start_matches(' ') } else { whole };
            if new == " " {
                writer.replace(taken, space);
            } else if options.escape_whitespaces && new.contains(' ') {
                writer.replace(taken, &new.replace(' ', MARK));
            } else if new == &old[at..at + taken] {
                writer.copy(taken);
            } else {
                writer.replace(taken, new);
            }
            if !new.is_empty() {
                after_space = options.remove_extra_whitespaces && new.ends_with(' ');
            }
            at += taken;
        }
        while options.remove_extra_whitespaces && writer.written().ends_with(space) {
            writer.take_back(space.len());
        }
        if options.add_dummy_prefix && options.treat_whitespace_as_suffix {
            writer.append(space);
        }
        Ok(())
    }
}
