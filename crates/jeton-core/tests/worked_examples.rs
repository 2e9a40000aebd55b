//! The worked examples of `testdata`, which the Python tests also read.

#![allow(clippy::unwrap_used)]

use jeton_core::train::count::Counts;
use jeton_core::train::learn::learn;
use jeton_core::train::merge::LearnedMerge;
use jeton_core::train::options::{LearnOptions, TieBreak};
use jeton_core::train::sequences::symbols;
use jeton_core::vocab::alphabet::{EndOfWord, Level};
use toml::{Table, Value};

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}

fn tie_break(name: &str) -> TieBreak {
    match name {
        "first" => TieBreak::First,
        "lowest_ids" => TieBreak::LowestIds,
        "highest_pair" => TieBreak::HighestPair,
        "shortest" => TieBreak::Shortest,
        other => unreachable!("{other}"),
    }
}

/// Returns the input of a case: its counts, level and end-of-word mark.
fn corpus(case: &Table) -> (Counts, Level, EndOfWord, &str) {
    let mut counts = Counts::default();
    if case["level"].as_str() == Some("byte") {
        counts.add(case["text"].as_str().unwrap().as_bytes(), 1).unwrap();
        return (counts, Level::Byte, EndOfWord::None, "");
    }
    for row in case["word_counts"].as_array().unwrap() {
        let (word, count) = (row[0].as_str().unwrap(), row[1].as_integer().unwrap());
        counts.add(word.as_bytes(), count as u64).unwrap();
    }
    let end = if case["end_of_word_style"].as_str() == Some("symbol") { EndOfWord::Symbol } else { EndOfWord::Suffix };
    (counts, Level::Char, end, "</w>")
}

#[test]
fn training_gives_the_merges_of_the_worked_examples() {
    let file = include_str!("../../../testdata/cases/worked_examples.toml");
    let cases: Table = file.parse().unwrap();
    let cases = cases["train"].as_array().unwrap();
    assert!(cases.len() >= 5);
    for case in cases.iter().map(|case| case.as_table().unwrap()) {
        let (counts, level, end, end_of_word) = corpus(case);
        let symbols = symbols(&counts, level, end).unwrap();
        let options = LearnOptions {
            tie_break: tie_break(case["tie_break"].as_str().unwrap()),
            num_merges: case["num_merges"].as_integer().unwrap() as usize,
            min_frequency: case["min_frequency"].as_integer().unwrap() as u64,
            level,
            end,
            end_of_word,
            ..LearnOptions::default()
        };
        let merges = learn(&counts, &symbols, &options, &mut |_| true).unwrap();
        let expected = case["merges"].as_array().unwrap();
        assert_eq!(merges.len(), expected.len(), "{}", case["name"]);
        let mut strings: Vec<Vec<u8>> = symbols
            .symbols
            .iter()
            .map(|symbol| {
                let mut string = Vec::new();
                symbol.content(level, &mut string);
                if symbol.ends_word {
                    string.extend_from_slice(end_of_word.as_bytes());
                }
                string
            })
            .collect();
        for (LearnedMerge { left, right, result, count, .. }, row) in merges.into_iter().zip(expected) {
            let parts = [strings[left as usize].clone(), strings[right as usize].clone()];
            assert_eq!(
                parts,
                [hex(row["left"].as_str().unwrap()), hex(row["right"].as_str().unwrap())],
                "{}",
                case["name"]
            );
            let ids = [left, right, result].map(|id| Value::Integer(id.into()));
            assert_eq!(row["ids"].as_array().unwrap()[..], ids, "{}", case["name"]);
            assert_eq!(row["count"].as_integer().unwrap() as u64, count, "{}", case["name"]);
            strings.push(parts.concat());
        }
    }
}
