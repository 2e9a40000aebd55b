//! The scanner of each named pattern splits text like its published regex, in linear time, and from any boundary.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod pretokenize_texts;

use std::time::{Duration, Instant};

use jeton_core::pretokenize::{names, oniguruma, published, Pretokenizer, Span};
use jeton_core::util::simd::SimdLevel;
use pretokenize_texts::{oracle, pieces, rounds, spans_from, Random};
use proptest::prelude::*;

const FAMILIES: [&str; 7] = ["gpt2", "gpt4", "cl100k", "llama3", "qwen2", "qwen3.5", "o200k"];

/// Texts with known pretokens, from worked examples and by hand from the published patterns.
const KNOWN: &[(&str, &str, &[&str])] = &[
    ("cl100k", "Byte Pair Encoding", &["Byte", " Pair", " Encoding"]),
    ("cl100k", "hello123!!!? (안녕하세요!) 😉", &["hello", "123", "!!!?", " (", "안녕하세요", "!)", " 😉"]),
    ("cl100k", "x\n  ", &["x", "\n  "]),
    ("gpt4", "x\n  ", &["x", "\n", "  "]),
    ("o200k", "a \n\n  b", &["a", " \n\n", " ", " b"]),
    ("o200k", "we'LL CamelCase", &["we'LL", " Camel", "Case"]),
    ("o200k", "path/\n/", &["path", "/\n/"]),
    ("o200k", "あAB", &["あ", "AB"]),
    ("o200k", "\u{301}AB", &["\u{301}", "AB"]),
    ("o200k", "!\u{301}a", &["!\u{301}a"]),
    ("o200k", "!!\u{301}a", &["!!\u{301}", "a"]),
    ("gpt2", "I'm I'M  12345 x", &["I", "'m", " I", "'", "M", " ", " 12345", " x"]),
    ("qwen2", "123", &["1", "2", "3"]),
    (
        "qwen3.5",
        "e\u{301}a !\u{301}a!!\u{301} \u{301} 12",
        &["e\u{301}a", " !", "\u{301}a", "!!", "\u{301}", " \u{301}", " ", "1", "2"],
    ),
    ("llama3", "1234'ſx", &["123", "4", "'ſ", "x"]),
    ("whitespace", " a\u{3000}b\u{200B} \n", &["a", "b\u{200B}"]),
    ("whitespace", "  ", &[]),
    ("none", " a b", &[" a b"]),
    ("none", "", &[]),
];

#[test]
fn known_texts_have_their_pretokens() {
    for (name, text, expected) in KNOWN {
        let spans: Vec<Span> = Pretokenizer::named(name).unwrap().spans(text).map(Result::unwrap).collect();
        assert_eq!(&pieces(text, &spans), expected, "{name} on {text:?}");
    }
}

#[test]
fn scanners_equal_their_regexes_on_random_texts() {
    let regexes = FAMILIES.map(|name| fancy_regex::Regex::new(published(name).unwrap()).unwrap());
    let scanners = FAMILIES.map(|name| Pretokenizer::named(name).unwrap());
    let mut random = Random(2);
    for round in 0..rounds(4_000) {
        let text = random.text(if round % 10 == 0 { 60 } else { 10 });
        for ((regex, scanner), name) in regexes.iter().zip(&scanners).zip(FAMILIES) {
            let (expected, found) = (oracle(regex, &text), spans_from(scanner, &text, 0));
            assert_eq!(pieces(&text, &found), pieces(&text, &expected), "{name} on {text:?}");
        }
    }
}

const LEVELS: [SimdLevel; 3] = [SimdLevel::Portable, SimdLevel::Avx2, SimdLevel::Avx512];

/// The bit-parallel splitter and the scanner yield the same starts, at each level of vector instructions.
fn check_levels(name: &str, scanner: &Pretokenizer, text: &str) {
    let expected: Vec<usize> = spans_from(scanner, text, 0).iter().map(|span| span.start).collect();
    for level in LEVELS {
        let found = scanner.starts_at_level(text, level).unwrap();
        if found != expected {
            let at = (0..).find(|&i| found.get(i) != expected.get(i)).unwrap();
            let (from, to) = (
                expected[at.saturating_sub(3).min(expected.len() - 1)],
                expected.get(at + 3).copied().unwrap_or(text.len()),
            );
            panic!(
                "{name} at {level:?}: start {at} is {:?}, not {:?}, near {:?} of {text:?}",
                found.get(at),
                expected.get(at),
                &text[from..to]
            );
        }
    }
}

#[test]
fn bit_parallel_starts_equal_the_scanner() {
    let scanners = FAMILIES.map(|name| Pretokenizer::named(name).unwrap());
    let mut random = Random(7);
    for round in 0..rounds(20_000) {
        let length = [3, 10, 30, 100, 400][round % 5];
        let mut text = random.text(length);
        if round % 50 == 0 {
            text = text.repeat(1 + 40_000 / (text.len() + 1)); // more than one window
        }
        for (scanner, name) in scanners.iter().zip(FAMILIES) {
            check_levels(name, scanner, &text);
        }
    }
}

/// Constructs that depend on neighboring bytes, at each offset in a block and around the end of a window.
#[test]
fn constructs_are_split_alike_at_every_offset_of_a_block() {
    let scanners = FAMILIES.map(|name| Pretokenizer::named(name).unwrap());
    let parts = [
        "'s",
        "x's",
        "'ſx",
        "x'll's",
        "  \n  \n",
        "!\n\n  \nx",
        "!\n/ /\n",
        "12345678",
        "12٣45",
        "\u{3000}x",
        " \u{a0} ",
        "字A",
        "字aB",
        "!\u{301}a",
        "?!)\u{301}'lLa",
        "?!)\u{301}'llLa",
        "\u{301}AB",
        "aB",
        "漢字。",
        "한국어",
        "😉!",
        "\t!",
        "\r\n",
        " \n",
        "é's",
        "”a",
        " ”a",
        "ABCDe",
    ];
    let fills: [(&str, usize); 6] = [("a", 1), (" ", 1), ("\n", 1), ("1", 1), ("!", 1), ("é", 2)];
    for (fill, width) in fills {
        for (shift, part) in (0..70).flat_map(|shift| parts.map(|part| (shift, part))) {
            for start in [shift, (1 << 14) - 66 + shift] {
                let text = format!("{}{part}{}", fill.repeat(start / width), fill.repeat(70));
                for (scanner, name) in scanners.iter().zip(FAMILIES) {
                    if start < 100 || shift % 7 == 0 {
                        check_levels(name, scanner, &text);
                    }
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn scanners_equal_their_regexes_on_any_text(text in "\\PC{0,40}", spaced in "[\\s\\PC]{0,40}") {
        for name in FAMILIES {
            let regex = fancy_regex::Regex::new(published(name).unwrap()).unwrap();
            for text in [&text, &spaced] {
                let found = spans_from(&Pretokenizer::named(name).unwrap(), text, 0);
                prop_assert_eq!(found, oracle(&regex, text), "{} on {:?}", name, text);
            }
        }
    }
}

/// Each code point, alone and between two letters, for the families with different character classes.
#[test]
fn every_character_is_classed_as_the_regex_does() {
    let step = if cfg!(debug_assertions) { 97 } else { 1 };
    for name in ["gpt2", "cl100k", "o200k"] {
        let regex = fancy_regex::Regex::new(published(name).unwrap()).unwrap();
        let scanner = Pretokenizer::named(name).unwrap();
        let characters: Vec<char> = ('\0'..=char::MAX).step_by(step).collect();
        for block in characters.chunks(200) {
            let text: String = block.iter().flat_map(|&c| ['x', c, 'A', ' ', c, '\'', c]).collect();
            assert_eq!(spans_from(&scanner, &text, 0), oracle(&regex, &text), "{name} near {:?}", block[0]);
        }
    }
}

#[test]
fn every_published_spelling_has_the_scanner() {
    let spellings = [
        ("gpt2", r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"),
        ("gpt2", r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"),
    ];
    let named = FAMILIES.map(|name| (name, published(name).unwrap()));
    let mut random = Random(3);
    for (name, text) in named.into_iter().chain(spellings) {
        let pretokenizer = Pretokenizer::regex(text).unwrap();
        assert_eq!(pretokenizer.name(), Some(name), "{text}");
        let regex = fancy_regex::Regex::new(text).unwrap();
        for _ in 0..500 {
            let text = random.text(10);
            assert_eq!(spans_from(&pretokenizer, &text, 0), oracle(&regex, &text), "{name} on {text:?}");
        }
    }
    assert_eq!(Pretokenizer::named("r50k").unwrap().name(), Some("gpt2"));
    for name in names() {
        assert_eq!(Pretokenizer::named(name).unwrap().name(), Some(*name));
        assert_eq!(published(name).is_some(), oniguruma(name).is_some());
    }
    assert!(Pretokenizer::named("gpt5").is_none());
}

#[test]
fn a_text_may_be_cut_at_any_boundary() {
    let mut random = Random(5);
    for _ in 0..rounds(2_000) / 4 {
        let text = random.text(12);
        for name in FAMILIES {
            let pretokenizer = Pretokenizer::named(name).unwrap();
            assert!(pretokenizer.is_memoryless());
            let spans = spans_from(&pretokenizer, &text, 0);
            for (index, span) in spans.iter().enumerate() {
                assert_eq!(spans_from(&pretokenizer, &text, span.start), &spans[index..], "{name} on {text:?}");
            }
        }
    }
}

/// A megabyte of worst cases for regexes takes milliseconds. The limit is loose: quadratic time would be minutes.
#[test]
fn worst_cases_are_linear() {
    let size = 1_000_000;
    let repeat = |part: &str| part.repeat(size / part.len());
    let cases = [
        ("a", repeat("a")),
        ("A", repeat("A")),
        ("space", repeat(" ")),
        ("spaces x", repeat(" ") + "x"),
        ("newline", repeat("\n")),
        ("newline space", repeat("\n ")),
        ("spaces then newlines", " ".repeat(size / 2) + &"\n".repeat(size / 2) + "x"),
        ("U+3000", repeat("\u{3000}")),
        ("caret", repeat("^")),
        ("'s", repeat("'s")),
        ("'", repeat("'")),
        ("aA", repeat("aA")),
        ("digits", repeat("7")),
        ("U+0301", repeat("\u{301}")),
        ("U+0301 A", repeat("\u{301}A")),
        ("caseless A", repeat("あA")),
        ("caseless AAAA..", "あ".to_owned() + &repeat("A")),
        ("A.. caseless", repeat("A") + "あ"),
        ("slash newline", repeat("/\n")),
        ("!\\n/", repeat("!\n/")),
        ("Han", repeat("中")),
    ];
    for name in FAMILIES {
        let pretokenizer = Pretokenizer::named(name).unwrap();
        let mut report = String::new();
        for (what, text) in &cases {
            let start = Instant::now();
            let count = pretokenizer.spans(text).map(Result::unwrap).count();
            let took = start.elapsed();
            report += &format!(" {what:?}={:.1}", took.as_secs_f64() * 1e3);
            assert!(count > 0 && took < Duration::from_secs(5), "{name} took {took:?} for {what:?}");
        }
        println!("{name} ms:{report}");
    }
}

#[test]
fn starts_inside_a_character_or_past_the_end_are_clamped() {
    let pretokenizer = Pretokenizer::named("o200k").unwrap();
    assert_eq!(spans_from(&pretokenizer, "中a", 3).len(), 1);
    assert_eq!(pretokenizer.spans_from("中a", 1).map(Result::unwrap).collect::<Vec<_>>(), [Span { start: 3, end: 4 }]);
    assert_eq!(pretokenizer.spans_from("a", 7).count(), 0);
}
