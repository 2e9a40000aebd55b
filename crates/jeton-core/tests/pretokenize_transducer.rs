//! Compiled patterns split text like the backtracking matcher, at each level of vector instructions.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod pretokenize_texts;
#[path = "pretokenize_texts/real.rs"]
mod real;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use jeton_core::pretokenize::Pretokenizer;
use jeton_core::util::simd::SimdLevel;
use pretokenize_texts::{random_pattern, rounds, spans_from, Random};
use real::REAL;

const LEVELS: [SimdLevel; 3] = [SimdLevel::Portable, SimdLevel::Avx2, SimdLevel::Avx512];

/// Returns the starts of the pretokens of patterns, each of which splits the pretokens of the previous one.
fn one_after_the_other(stages: &[Pretokenizer], text: &str) -> Vec<usize> {
    let mut starts = vec![0];
    for stage in stages {
        let ends: Vec<usize> = starts.iter().skip(1).copied().chain([text.len()]).collect();
        let parts = starts.iter().zip(&ends).filter(|(from, to)| from < to);
        let split = parts.flat_map(|(&from, &to)| {
            spans_from(stage, &text[from..to], 0).into_iter().map(move |span| from + span.start)
        });
        starts = split.collect();
    }
    starts
}

/// Compares a compiled pattern with the matcher.
fn check(pretokenizer: &Pretokenizer, oracle: &[Pretokenizer], text: &str) {
    let expected = one_after_the_other(oracle, text);
    let one_by_one: Vec<usize> = spans_from(pretokenizer, text, 0).iter().map(|span| span.start).collect();
    assert_eq!(one_by_one, expected, "{pretokenizer:?} on {text:?}");
    for level in LEVELS {
        let Some(found) = pretokenizer.starts_at_level(text, level) else {
            assert!(pretokenizer.size_of_transducer().is_err() && oracle.len() == 1);
            return;
        };
        if let Some(at) = (0..expected.len().max(found.len())).find(|&i| found.get(i) != expected.get(i)) {
            let from = expected[at.saturating_sub(3).min(expected.len() - 1)];
            let to = expected.get(at + 3).copied().unwrap_or(text.len());
            panic!(
                "{pretokenizer:?} at {level:?}: start {at} is {:?}, not {:?}, near {:?} of {} bytes",
                found.get(at),
                expected.get(at),
                &text[from..to],
                text.len(),
            );
        }
    }
}

fn texts(random: &mut Random, count: usize) -> Vec<String> {
    let size = |round| {
        if round % 100 == 0 {
            8_000
        } else if round % 10 == 0 {
            600
        } else {
            10
        }
    };
    (0..rounds(count)).map(|round| random.text(size(round))).collect()
}

/// Published patterns that do not compile to one transducer, because a pattern before the last one recognizes its
/// boundary late.
const STAGE_BY_STAGE: [&str; 5] =
    ["DeepSeek LLM", "DeepSeek Coder", "MPT's default", "Viking", "Chameleon, its pieces of text"];

#[test]
fn published_sequences_equal_splitting_stage_by_stage() {
    let (mut random, mut stage_by_stage) = (Random(3), Vec::new());
    for (name, patterns) in REAL {
        let pretokenizer = match patterns {
            [only] => Pretokenizer::regex(&format!("(?:{only})")).unwrap(),
            _ => Pretokenizer::sequence(patterns).unwrap_or_else(|reason| panic!("{name}: {reason}")),
        };
        if pretokenizer.size_of_transducer().is_err() {
            stage_by_stage.push(*name);
        }
        let oracle: Vec<_> = patterns.iter().map(|pattern| Pretokenizer::backtracking(pattern).unwrap()).collect();
        texts(&mut random, 2_000).iter().for_each(|text| check(&pretokenizer, &oracle, text));
    }
    assert_eq!(stage_by_stage, STAGE_BY_STAGE);
}

/// Patterns are not joined if a boundary of a later pattern would change how an earlier one splits.
#[test]
fn sequences_that_depend_on_later_boundaries_are_not_joined() {
    let mut random = Random(6);
    for patterns in [
        &[r"\p{N}{1,3}", r"\p{N}"][..],
        &[r"\p{N}{2}", r"\d|\p{L}+"],
        &[r"..", r"[ab]"],
        &[r"\d{1,3}", "[2]", "[a]"],
        &["[ab]{1,2}", "[^a]", r"\p{P}"],
    ] {
        let pretokenizer = Pretokenizer::sequence(patterns).unwrap();
        assert!(!pretokenizer.is_memoryless(), "{patterns:?}");
        let oracle: Vec<_> = patterns.iter().map(|pattern| Pretokenizer::backtracking(pattern).unwrap()).collect();
        texts(&mut random, 400).iter().for_each(|text| check(&pretokenizer, &oracle, text));
    }
}

/// The matcher splits the runs in which a lookahead decides where pretokens end.
#[test]
fn lookaheads_within_runs_equal_the_matcher() {
    let mut random = Random(8);
    for pattern in [
        r"\d{1,3}(?=(?:\d{3})*(?!\d))|\p{L}+|[^\d\p{L}]+",
        r"\d{1,3}(?=(?:\d{3})*x)|\d{2}|\D+",
        r"\d(?=\d\d[^1])|\p{L}+|[^\d\p{L}]",
        r"[a-f](?=[a-f]*!)|[^a-f\s]+|\s+(?!\S)|\s+",
        r"\d+(?=\d1)|\d+?(?=34)|\D{1,4}",
    ] {
        let (pretokenizer, oracle) =
            (Pretokenizer::regex(pattern).unwrap(), [Pretokenizer::backtracking(pattern).unwrap()]);
        pretokenizer.size_of_transducer().unwrap_or_else(|reason| panic!("{pattern}: {reason}"));
        texts(&mut random, 1_000).iter().for_each(|text| check(&pretokenizer, &oracle, text));
        for _ in 0..rounds(1_000) {
            let text: String =
                (0..1 + random.below(60)).map(|_| ["1", "2", "34", "a", "x", " ", "!"][random.below(7)]).collect();
            check(&pretokenizer, &oracle, &text);
        }
    }
}

/// The budget of the matcher applies to the whole text, not to each window.
#[test]
fn lookaheads_that_read_the_whole_rest_end_within_the_budget() {
    let text = ["1 ", &"y".repeat(18)].concat().repeat(if cfg!(debug_assertions) { 2_000 } else { 20_000 }) + "x";
    let pretokenizer = Pretokenizer::regex(r"\d(?=[^x]*x)|\s+|[^\s\d]+").unwrap();
    assert!(pretokenizer.size_of_transducer().is_ok());
    let start = Instant::now();
    let found = pretokenizer.starts_at_level(&text, SimdLevel::Avx512);
    let is_spent = pretokenizer.spans(&text).any(|span| span.is_err());
    assert_eq!(found.is_none(), is_spent);
    assert!(start.elapsed() < Duration::from_secs(20), "took {:?}", start.elapsed());
}

#[test]
fn named_patterns_equal_their_transducer() {
    let mut random = Random(4);
    for name in ["gpt2", "gpt4", "cl100k", "llama3", "qwen2", "qwen3.5", "o200k"] {
        let pattern = format!("(?:{})", jeton_core::pretokenize::published(name).unwrap());
        let (pretokenizer, oracle) = (Pretokenizer::regex(&pattern).unwrap(), [Pretokenizer::named(name).unwrap()]);
        texts(&mut random, 2_000).iter().for_each(|text| check(&pretokenizer, &oracle, text));
    }
}

/// Generates alternatives like those of tokenizers: an optional prefix, a repeated class, an optional suffix, and
/// sometimes an assertion.
fn random_splitter(random: &mut Random) -> String {
    const CLASSES: [&str; 16] = [
        r"\p{L}",
        r"\p{N}",
        r"\s",
        r"[^\s\p{L}\p{N}]",
        r"[\p{L}\p{M}]",
        r"\p{Lu}",
        r"\p{Ll}",
        r"[a-z]",
        r"[\r\n]",
        r"\S",
        " ",
        "'",
        "[^a]",
        ".",
        r"[\p{P}\p{S}]",
        r"[0-9]",
    ];
    const REPEATS: [&str; 12] = ["", "+", "+", "++", "{1,3}", "{1,3}+", "{2}", "+?", "{2,}", "{1,2}?", "", "+"];
    const OPTIONAL: [&str; 8] = ["?", "*", "?+", "*+", "??", "*?", "{0,2}", "?"];
    const ENDS: [&str; 12] =
        ["", "", "", "", "", "", r"(?!\S)", "$", r"(?=\s)", r"(?!\p{L})", r"(?:'s|'ll|'[a-z])?", r"(?i:'s|'re)?"];
    let branches = (0..1 + random.below(6)).map(|_| {
        let mut branch = String::new();
        for _ in 0..random.below(3) {
            branch += CLASSES[random.below(16)];
            branch += OPTIONAL[random.below(8)];
        }
        branch += CLASSES[random.below(16)];
        branch += REPEATS[random.below(12)];
        for _ in 0..random.below(3) {
            branch += CLASSES[random.below(16)];
            branch += OPTIONAL[random.below(8)];
        }
        branch + ENDS[random.below(12)]
    });
    branches.collect::<Vec<_>>().join("|")
}

/// Each pattern cuts the text of the next one, inside a window, and also if its pretokens are longer than a window.
#[test]
fn random_sequences_equal_splitting_stage_by_stage() {
    const LONG: [&str; 10] = ["a", "B", "一", "1", " ", "\n", "!", "é", "a ", "1一"];
    let mut random = Random(9);
    let (mut several, mut one) = (0, 0);
    for _ in 0..rounds(1_500) {
        let splitter = |random: &mut Random| match random.below(6) {
            0..2 => random_splitter(random) + r"|\s+(?!\S)|\s+|\S",
            2..5 => [r"\p{N}", r"[\r\n]", r"\s?[A-Za-z]+", r"\s?\p{P}+", r"\s+$", "[一-龥]+", r"\p{N}{3}"]
                [random.below(7)]
            .to_owned(),
            _ => random_splitter(random),
        };
        let patterns: Vec<String> = (0..2 + random.below(3)).map(|_| splitter(&mut random)).collect();
        let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
        let Ok(pretokenizer) = Pretokenizer::sequence(&patterns) else { continue };
        match pretokenizer.size_of_transducer() {
            Ok(_) => one += 1,
            Err(_) => several += 1,
        }
        let oracle: Vec<_> = patterns.iter().map(|pattern| Pretokenizer::backtracking(pattern).unwrap()).collect();
        for round in 0..12 {
            let text = match round {
                0..8 => random.text(8),
                8 => random.text(500),
                9 => random.text(40_000),
                // Runs of up to three windows, for which the budget of the matcher suffices.
                _ => (0..4)
                    .map(|_| {
                        let most = 1 << random.below(16);
                        let length = 1 + random.below(most);
                        LONG[random.below(10)].repeat(length) + &random.text(5)
                    })
                    .collect(),
            };
            if oracle.iter().all(|stage| !spans_end_in_error(stage, &text)) {
                check(&pretokenizer, &oracle, &text);
            }
        }
    }
    println!("{several} of several transducers, {one} of one");
    assert!(several * 10 > rounds(1_500) && one > 0, "{several} of several transducers, {one} of one");
}

/// Half of the patterns end with alternatives that leave no text unmatched; without those, few compile.
#[test]
fn random_patterns_equal_the_matcher() {
    let mut random = Random(5);
    let (mut pairs, mut compiled, mut reasons) = (0, 0, BTreeMap::new());
    for _ in 0..rounds(4_000) {
        let pattern = match random.below(4) {
            0 => random_pattern(&mut random, 3).0,
            1 => random_splitter(&mut random),
            _ => random_splitter(&mut random) + r"|\s+(?!\S)|\s+|\S",
        };
        let Ok(pretokenizer) = Pretokenizer::regex(&pattern) else { continue };
        if let Err(reason) = pretokenizer.size_of_transducer() {
            *reasons.entry(reason).or_insert(0) += 1;
            continue;
        }
        compiled += 1;
        let oracle = [Pretokenizer::backtracking(&pattern).unwrap()];
        for round in 0..24 {
            let few = || ["a", "b", "A", " ", "é", "\n", "'s", "1"];
            let text = match round {
                0..12 => random.text(8),
                12..22 => (0..1 + random.below(9)).map(|_| few()[random.below(8)]).collect(),
                22 => random.text(500),
                _ => (0..1_500).map(|_| few()[random.below(8)]).collect(),
            };
            if spans_end_in_error(&oracle[0], &text) {
                continue;
            }
            check(&pretokenizer, &oracle, &text);
            pairs += 1;
        }
    }
    println!("{pairs} pairs of {compiled} patterns; {reasons:?}");
    assert!(compiled * 10 > rounds(4_000), "only {compiled} compiled: {reasons:?}");
}

/// Returns true if the spans end with an error. Only the matcher has a budget; compiled patterns need none.
fn spans_end_in_error(pretokenizer: &Pretokenizer, text: &str) -> bool {
    pretokenizer.spans(text).any(|span| span.is_err())
}

/// Compiling ends soon, with a transducer or with a reason.
#[test]
fn patterns_with_too_many_states_have_no_transducer() {
    let literals: String = (0..600).map(|i| format!("{}|", char::from_u32(0x4E00 + i).unwrap())).collect();
    let words: String = (0..300).map(|i| format!("w{i}x{i}|")).collect();
    let sets: String = (0..200).map(|i| format!(r"[\x{{{:x}}}-\x{{{:x}}}]+|", 200 + i, 900 + i)).collect();
    for pattern in [
        r"[ab]{1,900}c|\O",
        r"\O{1,400}",
        r"(?:a|b|c){40}(?:d|e){40}|\O",
        r"(?:[ab]*a[ab]{12}c)|\O",
        r"(?:\p{L}{1,30}\p{N}{1,30}){1,10}|\O",
        r"(?:a?b?c?d?x){1,60}|\O",
        &(literals + r"\O"),
        &(words + r"\O"),
        &(sets + r"\O"),
    ] {
        let pretokenizer = Pretokenizer::regex(pattern).unwrap();
        let start = Instant::now();
        let size = pretokenizer.size_of_transducer();
        let took = start.elapsed();
        println!("{took:.0?} {size:?} {}", &pattern[..pattern.floor_char_boundary(40)]);
        assert!(took < Duration::from_secs(if cfg!(debug_assertions) { 20 } else { 2 }), "{pattern} took {took:?}");
    }
}

#[test]
fn patterns_without_a_transducer_have_a_reason() {
    for (pattern, reason) in [
        (r"(?<=a)b", "looks back"),
        (r"\bword", "looks back"),
        (r"a(?=bc)", "more than one character"),
        (r"\p{L}{1,3}(?=(?:\p{L}{3})*x)|\w+", "more than one character"),
        (r"\d*(?=ab)|\d|[^\d]+", "empty"),
        (r"\d(?=\d\d)|\d*|\D", "empty"),
        (r"\d(?=\d\d)|\D{2}|\d{2}", "more than one character"),
        (r"\s{2}(?![\s\S]*!)|\S{2}|\s(?=\s{2})", "more than one character"),
        (r"[\s\S](?=\S\S\S)|[\s\S]", "more than one character"),
        (r"(?>ab|a)c", "atomic group"),
        (r"(?:ab)++c", "possessively"),
        (r"a*", "empty"),
        (r"(?:a?)+b", "what may be empty"),
        (r"aab|x", "begins later goes on"),
        (r"ab\O{3}c|b", "begins later has ended"),
        (r"a{9}b|x", "after many characters"),
        (r"(?:a[ab]{0,12}c|[ab])", "stay open"),
        (r"[ab]{1,2000}c|\O", "intervals"),
    ] {
        let found = Pretokenizer::regex(pattern).unwrap().size_of_transducer().expect_err(pattern);
        assert!(found.contains(reason), "{pattern}: {found}");
    }
}
