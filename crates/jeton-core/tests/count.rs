//! Counts equal those of a hash map for any text, pattern, number of threads and grouping, also with spilled runs.

#![allow(clippy::unwrap_used)]

use std::collections::HashMap;

use jeton_core::pretokenize::Pretokenizer;
use jeton_core::train::count::{merge, Counter, Counts, RunReader, RunWriter, Source, Stages};
use jeton_core::util::spill::MemoryLimit;
use proptest::prelude::*;

type Items = Vec<(Vec<u8>, u64)>;

/// Plain version: counts pretokens one by one, in the order of first appearance.
fn plainly(pattern: &str, documents: &[&str]) -> Items {
    let pretokenizer =
        if pattern == "regex" { Pretokenizer::regex(r"\w+|\W").ok() } else { Pretokenizer::named(pattern) };
    let (mut items, mut numbers) = (Items::new(), HashMap::new());
    for document in documents {
        for span in pretokenizer.iter().flat_map(|pretokenizer| pretokenizer.spans(document)).flatten() {
            let pretoken = document.as_bytes()[span.start..span.end].to_vec();
            let number = *numbers.entry(pretoken.clone()).or_insert_with(|| {
                items.push((pretoken, 0));
                items.len() - 1
            });
            items[number].1 += 1;
        }
    }
    items
}

fn counter(pattern: &str) -> Counter {
    let part = match pattern {
        "none" => String::new(),
        "regex" => r#"{"type": "Pattern", "regex": "\\w+|\\W"}"#.to_owned(),
        name => format!(r#"{{"type": "Pattern", "name": "{name}"}}"#),
    };
    Counter::new(Stages::from_json(&format!(r#"{{"pretokenizer": [{part}]}}"#)).unwrap(), None)
}

fn items(counts: &Counts) -> Items {
    counts.iter().map(|(pretoken, count)| (pretoken.to_vec(), count)).collect()
}

fn fast(pattern: &str, groups: &[&[&str]], threads: usize) -> Counts {
    let mut counter = counter(pattern);
    for group in groups {
        counter.add(group, threads, &mut || true).map_err(|failed| failed.1).unwrap();
    }
    counter.finish(Vec::new(), 1, &MemoryLimit::unlimited(), &|| true).unwrap().0
}

/// Regexes for generated pretokens.
const KINDS: [&str; 9] = [
    "[a-c]{1,3}",
    "[a-z]{12,18}",
    " [a-b]{1,2}",
    "[ \n]{1,4}",
    "[0-9]{1,5}",
    "'[lst]{1,2}",
    "[日本語。]{1,9}",
    "\u{301}",
    "x{30,300}",
];

/// Generates pretokens of up to 15 bytes, which are their own keys, and longer ones. Some change the boundaries of
/// their neighbors.
fn word() -> impl Strategy<Value = String> {
    prop::sample::select(&KINDS[..]).prop_flat_map(|kind| prop::string::string_regex(kind).unwrap())
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(word(), 0..60).prop_map(|words| words.concat())
}

const PATTERNS: [&str; 6] = ["o200k", "gpt2", "llama3", "whitespace", "none", "regex"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn counts_equal_those_of_a_hash_map(texts in prop::collection::vec(text(), 0..8), cut in 0usize..9, which in 0..PATTERNS.len()) {
        let documents: Vec<&str> = texts.iter().map(String::as_str).collect();
        let expected = plainly(PATTERNS[which], &documents);
        let (head, tail) = documents.split_at(cut.min(documents.len()));
        for groups in [vec![&documents[..]], vec![head, tail]] {
            let counts = fast(PATTERNS[which], &groups, 2);
            prop_assert_eq!(items(&counts), expected.clone());
            prop_assert_eq!(counts.total(), expected.iter().map(|item| item.1).sum::<u64>());
        }
    }

}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn counts_of_long_texts_do_not_depend_on_threads(seed in text(), which in 0..PATTERNS.len()) {
        let long = seed.repeat((1 << 20) / seed.len().max(1) + 1);
        let documents = [long.as_str(), seed.as_str(), long.as_str()];
        let expected = plainly(PATTERNS[which], &documents);
        for threads in [1, 2, 7] {
            prop_assert_eq!(items(&fast(PATTERNS[which], &[&documents], threads)), expected.clone());
        }
    }

}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn spilled_runs_do_not_change_counts(texts in prop::collection::vec(text(), 0..8), spills in prop::collection::vec(any::<bool>(), 8), least in 0u64..4) {
        let documents: Vec<&str> = texts.iter().map(String::as_str).collect();
        let mut counter = counter("gpt2");
        let mut runs = Vec::new();
        for (document, spill) in documents.iter().zip(spills) {
            counter.add(&[document], 1, &mut || true).map_err(|failed| failed.1).unwrap();
            if spill {
                let mut writer = RunWriter::new(Vec::new());
                counter.spill(&|| true, &mut writer).unwrap();
                runs.push(writer.finish().unwrap());
            }
        }
        let sources = |runs: &[Vec<u8>]| {
            let read = |run: &Vec<u8>| Box::new(RunReader::new(std::io::Cursor::new(run.clone()), run.len() as u64).unwrap());
            runs.iter().map(|run| read(run) as Box<dyn Source + Send>).collect::<Vec<_>>()
        };
        let mut joined = RunWriter::new(Vec::new());
        merge(&mut sources(&runs), 0, &|| true, &mut joined).unwrap();
        let joined = joined.finish().unwrap();
        let (counts, totals, dropped) = counter.finish(sources(&[joined]), least, &MemoryLimit::unlimited(), &|| true).unwrap();
        let (kept, rare): (Items, Items) = plainly("gpt2", &documents).into_iter().partition(|item| item.1 >= least);
        prop_assert_eq!(items(&counts), kept);
        prop_assert_eq!(dropped.distinct, rare.len() as u64);
        prop_assert_eq!(dropped.occurrences, rare.iter().map(|item| item.1).sum::<u64>());
        prop_assert_eq!(totals.documents, documents.len() as u64);
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), len in 0u64..220) {
        let _ = Counts::read(std::io::Cursor::new(bytes), len, 1 << 40, &MemoryLimit::unlimited(), &|| true);
    }
}

/// A later thread guesses a wrong boundary, so its counts are undone.
#[test]
fn counts_after_a_wrong_boundary_are_undone() {
    // Pretokens of a megabyte have no boundary inside. Boundaries of groups of three digits depend on the first digit.
    let texts = [
        format!("{} {}", "a".repeat(1 << 20), "b".repeat(1 << 20)),
        format!("x{}", "1234567".repeat(1 << 17)),
        format!("{}{}", "ab ".repeat(1 << 17), "7".repeat(1 << 20)),
    ];
    for text in &texts {
        for pattern in ["o200k", "llama3", "gpt2"] {
            let expected = plainly(pattern, &[text, "a tail", text]);
            for threads in [2, 3, 5] {
                assert_eq!(items(&fast(pattern, &[&[text, "a tail"], &[text]], threads)), expected, "{pattern}");
            }
        }
    }
}

#[test]
fn cancelled_counting_is_an_error() {
    let text = "many words ".repeat(1 << 20);
    let failed = counter("o200k").add(&[&text, &text], 2, &mut || false);
    assert!(failed.is_err_and(|(_, error)| error.to_string() == "interrupted"));
}
