//! Regexes of users and files: parser, compiler, and a matcher with a step budget.
//!
//! Existing engines that support lookaround limit the backtracking of each match separately. They also delegate parts
//! such as `(?=.*b)` to automata, which have no limit. A text can therefore take quadratic time without an error. In
//! this engine, each character that is read counts toward one budget for the whole text. Tests compare with
//! fancy-regex, which tiktoken uses.
//!
//! ```text
//! syntax          text → tree
//! program         tree → instructions
//! matcher         instructions × text → matches
//! failure_cache   memoized failures of a search
//! alternatives    which alternative of a pattern produced a match
//! adjacency       pairs of characters that no match contains
//! to_oniguruma    tree → regex for HF tokenizers
//! from_oniguruma  regex of HF tokenizers → text in Jeton's dialect
//!
//! character_classes  the classes of characters that patterns distinguish
//! automaton          tree → deterministic automaton over these classes
//! ```

mod adjacency;
mod alternatives;
mod automaton;
mod character_classes;
mod failure_cache;
mod from_oniguruma;
mod matcher;
mod program;
mod syntax;
mod to_oniguruma;

use crate::error::Error;
pub(crate) use adjacency::Adjacency;
pub(crate) use alternatives::Alternatives;
use automaton::{collect_sets, without_far_looks};
pub(crate) use automaton::{minimal, Automaton, Reason, Step, Transition, DEAD, START};
use character_classes::Partition;
pub(crate) use character_classes::{CharacterClasses, MIXED};
#[cfg(test)]
pub(crate) use matcher::cost;
use matcher::Exhausted;
pub(crate) use matcher::{Decided, Matcher};
use program::Program;
use regex_syntax::hir::ClassUnicode;
use syntax::Refusal;
pub use to_oniguruma::to_oniguruma;

/// Changes a pattern so that no lookahead reads more than one character, as `without_far_looks` describes. Returns the
/// automaton of the changed pattern, and a set of characters. The caller must split each run of these characters again.
///
/// # Errors
/// The reason why there is no automaton.
pub(crate) fn automaton_without_far_looks(
    pattern: &str,
) -> Result<(CharacterClasses, Automaton, ClassUnicode), Reason> {
    let without = syntax::parse(pattern).ok().as_ref().and_then(without_far_looks);
    let without = without.ok_or("it looks ahead at more than one character")?;
    let mut sets = Vec::new();
    collect_sets(&without.tree, &mut sets);
    let partition = Partition::new(&sets).ok_or("it has too many classes of characters")?;
    let automaton = Automaton::new(&without.tree, &partition)?;
    Ok((partition.classes, automaton, without.set))
}

/// Builds the automata of patterns over common classes of characters.
///
/// # Errors
/// The reason why a pattern has no automaton.
pub(crate) fn automata(patterns: &[&str]) -> Result<(CharacterClasses, Vec<Automaton>), Reason> {
    let trees = patterns.iter().map(|pattern| syntax::parse(pattern)).collect::<Result<Vec<_>, _>>();
    let Ok(trees) = trees else { return Err("it does not compile") };
    let mut sets = Vec::new();
    trees.iter().for_each(|tree| collect_sets(tree, &mut sets));
    let partition = Partition::new(&sets).ok_or("it has too many classes of characters")?;
    let automata = trees.iter().map(|tree| Automaton::new(tree, &partition)).collect::<Result<Vec<_>, _>>()?;
    Ok((partition.classes, automata))
}

/// Translates a regex of HF `tokenizers` (Oniguruma, Ruby's syntax) to Jeton's dialect. The meaning is the same.
///
/// # Errors
/// Name of the unsupported construct.
pub(crate) fn in_our_dialect(regex: &str) -> Result<String, String> {
    let same = to_oniguruma(regex).is_ok_and(|text| text == regex);
    if same {
        Ok(regex.to_owned())
    } else {
        from_oniguruma::read(regex)
    }
}

/// A compiled regex.
#[derive(Debug)]
pub(crate) struct Regex {
    text: String,
    program: Program,
    can_be_empty: bool,
}

impl Regex {
    pub(crate) fn new(text: &str) -> crate::error::Result<Self> {
        let compile = |node| {
            let can_be_empty = program::first(&node, &mut ClassUnicode::empty());
            program::compile(&node).map(|program| (program, can_be_empty))
        };
        match syntax::parse(text).and_then(compile) {
            Ok((program, can_be_empty)) => Ok(Self { text: text.to_owned(), program, can_be_empty }),
            Err(Refusal { what, at }) => Err(Error::config(format!(
                "the pattern `{text}` does not compile because of {what}, at byte {at} of the pattern"
            ))),
        }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns true if the regex can match the empty text. Jeton does not split at empty matches.
    pub(crate) fn can_be_empty(&self) -> bool {
        self.can_be_empty
    }

    pub(crate) fn is_memoryless(&self) -> bool {
        !self.program.looks_back
    }

    /// Creates a matcher for `text`, with a budget for the text after `start`.
    pub(crate) fn matcher<'t>(&'t self, text: &'t str, start: usize) -> Matcher<'t> {
        Matcher::new(&self.program, text, text.len() - start)
    }

    /// Returns the first match that is not empty and starts at `start` or later.
    pub(crate) fn find(&self, matcher: &mut Matcher<'_>, start: usize) -> crate::error::Result<Option<(usize, usize)>> {
        matcher.find(start).map_err(|exhausted| self.exhausted(exhausted, start))
    }

    /// Like [`Regex::find`], for a text that can continue: stops at the first position at which further text could
    /// change the match.
    pub(crate) fn find_decided(&self, matcher: &mut Matcher<'_>, start: usize) -> crate::error::Result<Decided> {
        matcher.find_decided(start).map_err(|exhausted| self.exhausted(exhausted, start))
    }

    /// Returns an upper bound of the number of preceding characters that affect whether a match starts at a position.
    pub(crate) fn reach_back(&self) -> usize {
        self.program.reach_back()
    }

    fn exhausted(&self, exhausted: Exhausted, start: usize) -> Error {
        let why = match exhausted {
            Exhausted::Steps => "backtracks so much that its budget of 1,000 steps per byte is spent",
            Exhausted::Alternatives => "repeats a group so often that too many alternatives stay open",
        };
        let hint = "make its repeats possessive (`a++`) or its lookarounds shorter";
        Error::text(format!("the pattern `{}` {why}; {hint}", self.text), start)
    }
}
