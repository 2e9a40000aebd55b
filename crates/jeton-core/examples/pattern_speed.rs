//! Speed of splitting by patterns of published tokenizers, with three engines: the compiled pattern, the scanner
//! written for a named pattern, and backtracking.
//!
//! `cargo run --release -p jeton-core --example pattern_speed -- FILE...` prints a table in Markdown: MB/s on the first 4 MB
//! of each file, one thread, the best of several alternating runs; states and classes of the transducer, bytes of its
//! tables, and the time in which it was built.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement that cannot go on fails")]

#[allow(dead_code, reason = "shared with tests")]
#[path = "../tests/pretokenize_texts/real.rs"]
mod real;

use std::time::Instant;

use jeton_core::pretokenize::Pretokenizer;
use jeton_core::util::simd;
use real::REAL;

const BYTES: usize = 4_000_000;
const RUNS: usize = 7;

fn megabytes_per_second(text: &str, runs: usize, mut split: impl FnMut(&str) -> usize) -> f64 {
    let seconds = (0..runs).map(|_| {
        let start = Instant::now();
        std::hint::black_box(split(text));
        start.elapsed().as_secs_f64()
    });
    text.len() as f64 / 1e6 / seconds.fold(f64::MAX, f64::min)
}

fn starts(pretokenizer: &Pretokenizer, text: &str) -> usize {
    match pretokenizer.starts_at_level(text, simd::level()) {
        Some(starts) => starts.len(),
        None => pretokenizer.spans(text).count(),
    }
}

fn main() {
    let texts: Vec<String> = std::env::args()
        .skip(1)
        .map(|path| {
            let bytes = std::fs::read(path).unwrap();
            String::from_utf8_lossy(&bytes[..bytes.len().min(BYTES)]).into_owned()
        })
        .collect();
    println!("| pattern | compiled | named | backtracking | states | classes | KB | built, ms |");
    println!("|---|---|---|---|---|---|---|---|");
    for (name, patterns) in REAL {
        let start = Instant::now();
        let compiled = match patterns {
            [only] => Pretokenizer::regex(&format!("(?:{only})")).unwrap(),
            _ => Pretokenizer::sequence(patterns).unwrap(),
        };
        let size = compiled.size_of_transducer();
        let milliseconds = start.elapsed().as_secs_f64() * 1e3;
        let named = match patterns {
            [only] => Some(Pretokenizer::regex(only).unwrap()).filter(|pattern| pattern.name().is_some()),
            _ => None,
        };
        let stages: Vec<_> = patterns.iter().map(|pattern| Pretokenizer::backtracking(pattern).unwrap()).collect();
        let list = |split: &dyn Fn(&str) -> f64| {
            let figures: Vec<String> = texts.iter().map(|text| format!("{:.0}", split(text))).collect();
            figures.join(", ")
        };
        let fast = list(&|text| megabytes_per_second(text, RUNS, |text| starts(&compiled, text)));
        let by_name = named.map_or_else(String::new, |named| {
            list(&|text| megabytes_per_second(text, RUNS, |text| starts(&named, text)))
        });
        // Runs each stage on whole texts, one stage after the other. The result is an upper bound on the speed of
        // backtracking.
        let slow = list(&|text| {
            let text =
                &text[..text.char_indices().map(|(at, _)| at).take_while(|&at| at < BYTES / 8).last().unwrap_or(0)];
            let times =
                stages.iter().map(|stage| 1.0 / megabytes_per_second(text, 2, |text| stage.spans(text).count()));
            1.0 / times.sum::<f64>()
        });
        let size = match size {
            Ok([states, classes, bytes]) => format!("{states} | {classes} | {:.0}", bytes as f64 / 1e3),
            Err(reason) => format!("{reason} | | "),
        };
        println!("| {name} | {fast} | {by_name} | {slow} | {size} | {milliseconds:.1} |");
    }
}
