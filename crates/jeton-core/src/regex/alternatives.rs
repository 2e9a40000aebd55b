//! Finds which alternative of a pattern produced a match.
//!
//! Alternatives are tried in order, and no part of the pattern follows them. So the first alternative that matches at
//! the start of a match produced it. Each alternative is compiled separately, with its own budget.
//!
//! Left out: alternatives inside groups. A pattern that consists of one group counts as one alternative.

use super::matcher::Matcher;
use super::program::{compile, Program};
use super::syntax::parse_branches;

/// Alternatives of a pattern, from left to right.
#[derive(Debug)]
pub(crate) struct Alternatives(Vec<(String, Program)>);

impl Alternatives {
    /// Compiles the alternatives of a valid pattern; returns no alternatives if one of them is too large.
    pub(crate) fn of(pattern: &str) -> Self {
        let compiled = parse_branches(pattern).and_then(|branches| {
            branches.into_iter().map(|(node, at)| Ok((pattern[at].to_owned(), compile(&node)?))).collect()
        });
        Self(compiled.unwrap_or_default())
    }

    /// Returns the texts of the alternatives.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(text, _)| text.as_str())
    }

    /// Creates a finder for the matches of one text.
    pub(crate) fn finder<'t>(&'t self, text: &'t str) -> AlternativeFinder<'t> {
        AlternativeFinder(self.0.iter().map(|(_, program)| Matcher::new(program, text, text.len())).collect())
    }
}

/// Finds, for matches in one text, the alternatives that produced them.
pub(crate) struct AlternativeFinder<'t>(Vec<Matcher<'t>>);

impl AlternativeFinder<'_> {
    /// Returns the index of the alternative that matches from `start` to `end`; None if no alternative matches there,
    /// or if the step budget of an alternative is exhausted.
    pub(crate) fn find(&mut self, start: usize, end: usize) -> Option<usize> {
        for (number, matcher) in self.0.iter_mut().enumerate() {
            if let Some(found) = matcher.matches(start).ok()? {
                return (found == end).then_some(number);
            }
        }
        None
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::regex::Regex;

    /// Returns, for each match of the whole pattern, the index of its alternative.
    fn numbers(pattern: &str, text: &str) -> Vec<Option<usize>> {
        let (regex, alternatives) = (Regex::new(pattern).unwrap(), Alternatives::of(pattern));
        let (mut matcher, mut finder) = (regex.matcher(text, 0), alternatives.finder(text));
        let (mut at, mut found) = (0, Vec::new());
        while let Some((start, end)) = regex.find(&mut matcher, at).unwrap() {
            found.push(finder.find(start, end));
            at = end;
        }
        found
    }

    #[test]
    fn the_first_alternative_that_matches_is_named() {
        assert_eq!(numbers(r"a+|ab|b|\s", "aab ab"), [Some(0), Some(2), Some(3), Some(0), Some(2)]);
        assert_eq!(numbers(r"[|]|\||(?:x|y)", "|y?x"), [Some(0), Some(2), Some(2)]);
        assert_eq!(numbers(r"(?i)a|b|(?#x|y)c", "ABC"), [Some(0), Some(1), Some(2)]);
    }

    #[test]
    fn alternatives_have_their_texts() {
        let alternatives = Alternatives::of(r"(?i:'s|'t)|[^|]\||\p{N}{1,3}|");
        assert_eq!(alternatives.texts().collect::<Vec<_>>(), [r"(?i:'s|'t)", r"[^|]\|", r"\p{N}{1,3}", ""]);
    }

    #[test]
    fn exhausted_budget_gives_no_alternative() {
        let text = "a".repeat(20_000);
        let alternatives = Alternatives::of("(?:a|aa)+b|a+");
        let mut finder = alternatives.finder(&text);
        let found: Vec<_> = (0..3).map(|start| finder.find(start, text.len())).collect();
        assert!(found.iter().all(|&number| number.is_none_or(|number| number == 1)));
    }
}
