//! Named patterns: their published regexes, equivalent regexes for Oniguruma, and other published spellings.
//!
//! The text of a pattern is in tiktoken's dialect (Rust's `regex` syntax with lookaround, possessive quantifiers and
//! `&&`). Patterns in `tokenizer.json` are in Oniguruma's dialect, where `{n,m}+` is not possessive and `$` matches at
//! the end of a line.
//!
//! Sources: tiktoken's `openai_public.py` (gpt2 = r50k, cl100k, o200k), minbpe's `regex.py` (gpt4), Meta's and Qwen's
//! tokenizers (llama3, qwen2, qwen3.5), and `tokenizers`' `ByteLevel` (gpt2 as HF writes it).

use super::scanner::{self, Family, ScanRules, Scanner};
use super::starts::{find_named, NamedFinder};

/// One named pattern.
pub(super) struct NamedPattern {
    /// Public name.
    pub(super) name: &'static str,
    /// Published regex in tiktoken's dialect.
    pub(super) text: &'static str,
    /// Equivalent regex for Oniguruma.
    pub(super) oniguruma: &'static str,
    /// Other published, equivalent regexes.
    spellings: &'static [&'static str],
    /// Scanner, which finds pretokens one by one.
    pub(super) scanner: Scanner,
    /// Rules of the scanner.
    pub(super) rules: &'static ScanRules,
    /// Function that finds pretoken starts, many bytes at a time.
    pub(super) find: NamedFinder,
}

const LLAMA3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const QWEN2: &str =
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const QWEN35: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const O200K: &str = concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
);

/// Named patterns, oldest first.
pub(super) static NAMED: [NamedPattern; 7] = [
    NamedPattern {
        name: "gpt2",
        text: r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
        oniguruma: r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
        spellings: &[
            r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
            r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
        ],
        scanner: scanner::gpt2,
        rules: &scanner::Gpt2::RULES,
        find: find_named::<scanner::Gpt2>,
    },
    NamedPattern {
        name: "gpt4",
        text: r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
        oniguruma: LLAMA3,
        spellings: &[],
        scanner: scanner::llama3,
        rules: &scanner::Llama3::RULES,
        find: find_named::<scanner::Llama3>,
    },
    NamedPattern {
        name: "cl100k",
        text: r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
        oniguruma: r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++\z|\s*[\r\n]|\s+(?!\S)|\s",
        spellings: &[],
        scanner: scanner::cl100k,
        rules: &scanner::Cl100k::RULES,
        find: find_named::<scanner::Cl100k>,
    },
    NamedPattern {
        name: "llama3",
        text: LLAMA3,
        oniguruma: LLAMA3,
        spellings: &[],
        scanner: scanner::llama3,
        rules: &scanner::Llama3::RULES,
        find: find_named::<scanner::Llama3>,
    },
    NamedPattern {
        name: "qwen2",
        text: QWEN2,
        oniguruma: QWEN2,
        spellings: &[],
        scanner: scanner::qwen2,
        rules: &scanner::Qwen2::RULES,
        find: find_named::<scanner::Qwen2>,
    },
    NamedPattern {
        name: "qwen3.5",
        text: QWEN35,
        oniguruma: QWEN35,
        spellings: &[],
        scanner: scanner::qwen35,
        rules: &scanner::Qwen35::RULES,
        find: find_named::<scanner::Qwen35>,
    },
    NamedPattern {
        name: "o200k",
        text: O200K,
        oniguruma: O200K,
        spellings: &[],
        scanner: scanner::o200k,
        rules: &scanner::O200k::RULES,
        find: find_named::<scanner::O200k>,
    },
];

/// Returns the pattern of a name; `r50k` is tiktoken's name for `gpt2`.
pub(super) fn by_name(name: &str) -> Option<&'static NamedPattern> {
    let name = if name == "r50k" { "gpt2" } else { name };
    NAMED.iter().find(|named| named.name == name)
}

/// Returns the pattern with this regex, in any of its published spellings.
pub(super) fn by_text(text: &str) -> Option<&'static NamedPattern> {
    NAMED.iter().find(|named| named.text == text || named.spellings.contains(&text))
}

/// Names accepted by [`Pretokenizer::named`](super::Pretokenizer::named).
pub fn names() -> &'static [&'static str] {
    &["none", "whitespace", "gpt2", "gpt4", "cl100k", "llama3", "qwen2", "qwen3.5", "o200k"]
}

/// Returns the regex of a named pattern in tiktoken's dialect; `none` and `whitespace` have no regex.
pub fn published(name: &str) -> Option<&'static str> {
    by_name(name).map(|named| named.text)
}

/// Returns a named pattern as an Oniguruma regex (Ruby's syntax), in the form that is customary in files of HF
/// `tokenizers`.
pub fn oniguruma(name: &str) -> Option<String> {
    by_name(name).map(|named| named.oniguruma.to_owned())
}

/// Translates a pattern in tiktoken's dialect to Oniguruma. For a named pattern, returns its customary regex.
///
/// # Errors
/// Returns the name of the unsupported construct, or the error of the pattern.
pub fn to_oniguruma(pattern: &str) -> Result<String, String> {
    match by_text(pattern) {
        Some(named) => Ok(named.oniguruma.to_owned()),
        None => crate::regex::to_oniguruma(pattern),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pretokenize::{Pretokenizer, Span};
    use crate::regex::cost;

    #[test]
    fn every_pretoken_matches_one_alternative_of_its_pattern() {
        let text = "I'll say it's 12345 times…  \n\n  \tdon't  HTTPServer x  \r\n今天\u{301} '' \u{a0}\u{3000}end   ";
        for named in &NAMED {
            let Some(pretokenizer) = Pretokenizer::named(named.name) else { unreachable!() };
            let spans: Vec<Span> = pretokenizer.spans(text).flatten().collect();
            let found = pretokenizer.alternatives_of(text, &spans);
            assert!(found.iter().all(Option::is_some), "{}: {found:?}", named.name);
            assert!(found.iter().flatten().max() < Some(&pretokenizer.alternatives().len()));
        }
    }

    #[test]
    fn published_patterns_take_a_fraction_of_the_budget() {
        for named in &NAMED {
            for part in [
                "The quick brown fox isn't 12,345.6 years old!\n",
                "今天的天气很好。",
                "    if (x[i] != \"A\") {\r\n",
                "'",
                "\u{301}A",
            ] {
                let cost = cost(named.text, &part.repeat(200));
                assert!(cost < 10.0, "{} takes {cost:.1} steps per byte of {part:?}", named.name);
            }
        }
    }
}
