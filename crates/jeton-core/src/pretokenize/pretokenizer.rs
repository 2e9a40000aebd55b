//! Compiled patterns, and the iterator over the pretokens of a text.

use std::fmt;
use std::iter::FusedIterator;
use std::sync::{Arc, OnceLock};

use regex_syntax::hir::ClassUnicode;

use super::patterns::{self, NamedPattern};
use super::scanner;
use super::starts::{StartFinder, Starts};
use super::transducer::{Cuts, Transducer};
use crate::error::Result;
use crate::regex::{automata, automaton_without_far_looks, Alternatives, Matcher, Reason, Regex};
use crate::util::atomic_cell::made_once;
use crate::util::classes::Classes;
use crate::util::simd;
use crate::vocab::byte_alphabet::stand_in;

/// A half-open byte range of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    /// Byte offset of the start.
    pub start: usize,
    /// Byte offset of the end, which is at least one byte after the start.
    pub end: usize,
}

/// A compiled pattern. It is cheap to clone, and threads can share it.
#[derive(Clone)]
pub struct Pretokenizer(pub(super) PatternKind);

#[derive(Clone)]
pub(super) enum PatternKind {
    None,
    Whitespace,
    Named(&'static NamedPattern),
    Regex(Arc<RegexPattern>),
    Sequence(Arc<Sequence>),
}

/// A sequence of patterns. The first pattern splits the text; each later pattern splits the resulting pretokens again.
pub(super) struct Sequence {
    /// One transducer, or one for each group of adjacent patterns that can be compiled together.
    transducers: Vec<Transducer>,
    /// If there are several transducers, the reason why the patterns do not compile to one.
    several: Option<Reason>,
}

/// A sequence of at most this many patterns is compiled in groups. In a longer sequence, each pattern is compiled
/// alone, because finding a group is costly: it takes one compilation for each pattern of the group.
const MAX_GROUPED: usize = 32;

/// A regex, and its transducer, which is compiled on first use.
pub(super) struct RegexPattern {
    pub(super) regex: Regex,
    compiled: OnceLock<std::result::Result<Compiled, Reason>>,
}

/// The transducer of a regex.
struct Compiled {
    transducer: Transducer,
    /// Set of characters. The matcher splits each run of these characters again, because the transducer lacks the
    /// lookaheads that decide where pretokens end inside such a run. None: the transducer suffices.
    runs: Option<ClassUnicode>,
}

impl RegexPattern {
    fn compile(&self) -> std::result::Result<Compiled, Reason> {
        match compile(&[self.regex.text()], false, false) {
            Ok(transducer) => Ok(Compiled { transducer, runs: None }),
            Err(reason) if !self.regex.is_memoryless() => Err(reason),
            Err(reason) => {
                let (classes, automaton, runs) = automaton_without_far_looks(self.regex.text()).map_err(|_| reason)?;
                let transducer = Transducer::new(classes, &[automaton], false)?;
                match transducer.covers_all() {
                    true => Ok(Compiled { transducer, runs: Some(runs) }),
                    false => Err(reason),
                }
            }
        }
    }

    fn compiled(&self) -> std::result::Result<&Compiled, Reason> {
        made_once(&self.compiled, || self.compile()).as_ref().map_err(|reason| *reason)
    }
}

/// Compiles patterns to one transducer. `bytewise`: each byte of a text is read as its character in the byte alphabet.
/// `reads_cuts`: true if preceding patterns have already split the texts.
fn compile(patterns: &[&str], bytewise: bool, reads_cuts: bool) -> std::result::Result<Transducer, Reason> {
    let (classes, automata) = automata(patterns)?;
    let classes = if bytewise { classes.into_bytewise(stand_in) } else { classes };
    Transducer::new(classes, &automata, reads_cuts)
}

/// Compiles groups of adjacent patterns, each group as long as possible.
fn push_groups(
    transducers: &mut Vec<Transducer>,
    patterns: &[&str],
    bytewise: bool,
) -> std::result::Result<(), Reason> {
    let mut rest = patterns;
    while !rest.is_empty() {
        let reads_cuts = !transducers.is_empty();
        let (mut joined, mut found) = (1, compile(&rest[..1], bytewise, reads_cuts)?);
        while joined < rest.len() && patterns.len() <= MAX_GROUPED {
            let Ok(longer) = compile(&rest[..=joined], bytewise, reads_cuts) else { break };
            (joined, found) = (joined + 1, longer);
        }
        transducers.push(found);
        rest = &rest[joined..];
    }
    Ok(())
}

impl Pretokenizer {
    /// Returns the pretokenizer for which the whole text is one pretoken.
    pub fn none() -> Self {
        Self(PatternKind::None)
    }

    /// Returns the pretokenizer of words: maximal runs of characters without the property White_Space. White space is
    /// dropped.
    pub fn whitespace() -> Self {
        Self(PatternKind::Whitespace)
    }

    /// Returns the pattern of a name in [`patterns::names`].
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "none" => Some(Self::none()),
            "whitespace" => Some(Self::whitespace()),
            _ => patterns::by_name(name).map(|named| Self(PatternKind::Named(named))),
        }
    }

    /// Compiles a pattern in tiktoken's dialect. For the published text of a named pattern, returns the
    /// named pattern.
    ///
    /// # Errors
    /// `Config` if the pattern does not compile, with position and reason.
    pub fn regex(pattern: &str) -> Result<Self> {
        match patterns::by_text(pattern) {
            Some(named) => Ok(Self(PatternKind::Named(named))),
            None => Self::unnamed(pattern, OnceLock::new()),
        }
    }

    /// Compiles a pattern for the backtracking matcher only. Tests use it as the oracle of the faster algorithms.
    ///
    /// # Errors
    /// As [`Pretokenizer::regex`].
    pub fn backtracking(pattern: &str) -> Result<Self> {
        Self::unnamed(pattern, OnceLock::from(Err("it is to backtrack")))
    }

    fn unnamed(pattern: &str, compiled: OnceLock<std::result::Result<Compiled, Reason>>) -> Result<Self> {
        Ok(Self(PatternKind::Regex(Arc::new(RegexPattern { regex: Regex::new(pattern)?, compiled }))))
    }

    /// Compiles a sequence of patterns. The first pattern splits the text; each later pattern splits the resulting
    /// pretokens again. If possible, all patterns become one transducer; otherwise, each group of adjacent patterns
    /// becomes one transducer.
    ///
    /// # Errors
    /// The reason why one of the patterns cannot be compiled.
    pub fn sequence(patterns: &[&str]) -> std::result::Result<Self, &'static str> {
        Self::bytewise_sequence(patterns, &[])
    }

    /// Compiles two sequences of patterns. The first sequence splits a text, one pattern after the other. Each
    /// resulting chunk is then spelled in the byte alphabet, and the second sequence splits it. Spans can therefore
    /// begin and end inside characters.
    ///
    /// # Errors
    /// As [`Pretokenizer::sequence`].
    pub(crate) fn bytewise_sequence(patterns: &[&str], of_bytes: &[&str]) -> std::result::Result<Self, &'static str> {
        let together = match of_bytes {
            [] => compile(patterns, false, false),
            _ => Err("some of its patterns read bytes"),
        };
        let (transducers, several) = match together {
            Ok(one) => (vec![one], None),
            Err(reason) => {
                let mut transducers = Vec::new();
                push_groups(&mut transducers, patterns, false)?;
                push_groups(&mut transducers, of_bytes, true)?;
                (transducers, Some(reason))
            }
        };
        Ok(Self(PatternKind::Sequence(Arc::new(Sequence { transducers, several }))))
    }

    /// Returns the name; None for a regex without a name.
    pub fn name(&self) -> Option<&'static str> {
        match &self.0 {
            PatternKind::None => Some("none"),
            PatternKind::Whitespace => Some("whitespace"),
            PatternKind::Named(named) => Some(named.name),
            PatternKind::Regex(_) | PatternKind::Sequence(_) => None,
        }
    }

    /// Returns the regex in tiktoken's dialect, if any. For a named pattern, returns the regex of
    /// [`patterns::published`], even if the pattern was built from another spelling.
    pub fn pattern(&self) -> Option<&str> {
        match &self.0 {
            PatternKind::None | PatternKind::Whitespace | PatternKind::Sequence(_) => None,
            PatternKind::Named(named) => Some(named.text),
            PatternKind::Regex(pattern) => Some(pattern.regex.text()),
        }
    }

    /// Returns the alternatives of the regex, from left to right. The list is empty if there is no regex.
    pub fn alternatives(&self) -> Vec<String> {
        let alternatives = self.pattern().map(Alternatives::of);
        alternatives.iter().flat_map(|alternatives| alternatives.texts().map(str::to_owned)).collect()
    }

    /// Returns, for each pretoken of a text, the index of the regex alternative that matched it. None for unmatched
    /// text, or if there is no regex.
    pub fn alternatives_of(&self, text: &str, pretokens: &[Span]) -> Vec<Option<usize>> {
        let Some(pattern) = self.pattern() else { return vec![None; pretokens.len()] };
        let alternatives = Alternatives::of(pattern);
        let mut finder = alternatives.finder(text);
        pretokens.iter().map(|span| finder.find(span.start, span.end)).collect()
    }

    /// Returns true if the text after a boundary is split independently of the text before it. A text can then be
    /// divided at any boundary, and its parts can be split separately. A pattern that can look back (`(?<=`, `^`, `\b`,
    /// ...) is not memoryless.
    pub fn is_memoryless(&self) -> bool {
        match &self.0 {
            PatternKind::None | PatternKind::Whitespace | PatternKind::Named(_) => true,
            PatternKind::Sequence(sequence) => sequence.several.is_none(),
            PatternKind::Regex(pattern) => pattern.regex.is_memoryless(),
        }
    }

    /// Returns true if several threads can split one text, each a part of it. The pattern must be memoryless, and its
    /// matching must not have a step budget, because a budget applies to the whole text.
    pub(crate) fn is_divisible(&self) -> bool {
        match &self.0 {
            PatternKind::Regex(pattern) => {
                pattern.compiled().is_ok_and(|compiled| compiled.runs.is_none() && compiled.transducer.covers_all())
            }
            _ => self.is_memoryless(),
        }
    }

    /// Returns true if white space is dropped, so that pretokens do not cover the text.
    pub(crate) fn leaves_gaps(&self) -> bool {
        matches!(self.0, PatternKind::Whitespace)
    }

    /// Returns the finder of pretoken starts, for named patterns and for regexes that compile to a transducer.
    pub(crate) fn finder(&self) -> Option<StartFinder<'_>> {
        self.finder_at_level(simd::level())
    }

    fn finder_at_level(&self, level: simd::SimdLevel) -> Option<StartFinder<'_>> {
        match &self.0 {
            PatternKind::Named(named) => Some(StartFinder::named(named.find, level)),
            PatternKind::Regex(pattern) => {
                let Compiled { transducer, runs } = pattern.compiled().ok()?;
                let runs = runs.as_ref().map(|runs| (&pattern.regex, runs));
                Some(StartFinder::compiled(transducer, runs, level))
            }
            PatternKind::Sequence(sequence) => Some(StartFinder::sequence(&sequence.transducers, level)),
            PatternKind::None | PatternKind::Whitespace => None,
        }
    }

    /// Returns the starts of the pretokens of a text. `level` is the highest level of vector instructions that the
    /// finder may use. None if there is no finder. Tests compare the result of each level with [`Pretokenizer::spans`].
    pub fn starts_at_level(&self, text: &str, level: simd::SimdLevel) -> Option<Vec<usize>> {
        let (finder, mut starts) = (self.finder_at_level(level)?, Starts::default());
        let mut found = Vec::new();
        let each = |rest: &[u8], bounds: &[u32]| {
            let from = text.len() - rest.len();
            found.extend(bounds.iter().map(|&at| from + at as usize));
            found.pop(); // removes the end, where the next window begins
            Ok(())
        };
        finder.for_each_window(&mut starts, text, 0, usize::MAX, None, &|| true, each).ok()?;
        Some(found)
    }

    /// Returns three sizes of the transducer of a regex: number of states, number of character classes, and bytes of
    /// the table.
    ///
    /// # Errors
    /// The reason why the regex has no transducer.
    pub fn size_of_transducer(&self) -> std::result::Result<[usize; 3], &'static str> {
        match &self.0 {
            PatternKind::Regex(pattern) => pattern.compiled().map(|compiled| compiled.transducer.size()),
            PatternKind::Sequence(sequence) => match (sequence.several, &sequence.transducers[..]) {
                (None, [one]) => Ok(one.size()),
                (reason, _) => Err(reason.unwrap_or_default()),
            },
            _ => Err("it is not a regex, or has a name"),
        }
    }

    /// Iterates over the pretokens of a text.
    pub fn spans<'t>(&'t self, text: &'t str) -> Spans<'t> {
        self.spans_from(text, 0)
    }

    /// Iterates over the pretokens of `text[start..]`; lookbehinds can read the text before `start`. A `start` past the
    /// end counts as the end; a `start` inside a character counts as the end of this character.
    pub fn spans_from<'t>(&'t self, text: &'t str, start: usize) -> Spans<'t> {
        let start = (start..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len());
        let cutter = match &self.0 {
            PatternKind::None => SpanCutter::None,
            PatternKind::Whitespace => SpanCutter::Whitespace(Classes::get()),
            PatternKind::Named(named) => SpanCutter::Scanner(named.scanner, Classes::get()),
            PatternKind::Sequence(sequence) => match &sequence.transducers[..] {
                [one] => SpanCutter::Transducer(one),
                several => SpanCutter::Several { transducers: several, ends: vec![start; several.len()] },
            },
            PatternKind::Regex(pattern) => match pattern.compiled() {
                Ok(Compiled { transducer, runs: None }) if transducer.covers_all() => {
                    SpanCutter::Transducer(transducer)
                }
                _ => {
                    let regex = &pattern.regex;
                    SpanCutter::Regex { regex, matcher: regex.matcher(text, start), found: None }
                }
            },
        };
        Spans { text, at: start, is_match: true, cutter }
    }
}

impl fmt::Debug for Pretokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.name(), &self.0) {
            (Some(name), _) => write!(f, "Pretokenizer::named({name:?})"),
            (None, PatternKind::Sequence(sequence)) => write!(f, "Pretokenizer::sequence({:?})", sequence.transducers),
            (None, _) => write!(f, "Pretokenizer::regex({:?})", self.pattern().unwrap_or_default()),
        }
    }
}

/// Iterator over the pretokens of a text, until the end or the first error.
#[derive(Debug)]
pub struct Spans<'t> {
    text: &'t str,
    /// End of the last returned span; after an error, the end of the text.
    at: usize,
    /// True if the last span is a match, not text between two matches.
    pub(super) is_match: bool,
    cutter: SpanCutter<'t>,
}

enum SpanCutter<'t> {
    None,
    Whitespace(&'static Classes),
    Scanner(scanner::Scanner, &'static Classes),
    Transducer(&'t Transducer),
    Several {
        transducers: &'t [Transducer],
        /// End of the current pretoken of each pattern.
        ends: Vec<usize>,
    },
    Regex {
        regex: &'t Regex,
        matcher: Matcher<'t>,
        /// Next span: the match after the gap that was just returned.
        found: Option<Span>,
    },
}

impl fmt::Debug for SpanCutter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SpanCutter::None => "None",
            SpanCutter::Whitespace(_) => "Whitespace",
            SpanCutter::Scanner(..) => "Scanner",
            SpanCutter::Transducer(_) => "Transducer",
            SpanCutter::Several { .. } => "Several",
            SpanCutter::Regex { .. } => "Regex",
        })
    }
}

impl Iterator for Spans<'_> {
    type Item = Result<Span>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let bytes = self.text.as_bytes();
        if self.at >= bytes.len() {
            return None;
        }
        let mut start = self.at;
        let end = match &mut self.cutter {
            SpanCutter::Scanner(scan, classes) => scan(classes, bytes, start),
            SpanCutter::Transducer(transducer) => transducer.end_of_pretoken(bytes, start, Cuts::NONE),
            SpanCutter::Several { transducers, ends } => {
                let mut whole = bytes.len();
                for (transducer, end) in transducers.iter().zip(ends) {
                    if *end <= start {
                        *end = transducer.end_of_pretoken(&bytes[..whole], start, Cuts::NONE);
                    }
                    whole = *end;
                }
                whole
            }
            SpanCutter::None => bytes.len(),
            SpanCutter::Whitespace(classes) => {
                start = scanner::end_of_white_space(classes, bytes, start);
                scanner::end_of_word(classes, bytes, start)
            }
            SpanCutter::Regex { regex, matcher, found } => match found.take() {
                Some(span) => {
                    self.is_match = true;
                    span.end
                }
                None => match regex.find(matcher, start) {
                    Ok(None) => {
                        self.is_match = false;
                        bytes.len()
                    }
                    Ok(Some((from, to))) if from == start => {
                        self.is_match = true;
                        to
                    }
                    Ok(Some((from, to))) => {
                        self.is_match = false;
                        *found = Some(Span { start: from, end: to });
                        from
                    }
                    Err(error) => {
                        self.at = bytes.len();
                        return Some(Err(error));
                    }
                },
            },
        };
        self.at = end;
        (start < end).then_some(Ok(Span { start, end }))
    }
}

impl FusedIterator for Spans<'_> {}
