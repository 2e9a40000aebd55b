//! Unigram training: equal pieces for every memory limit, number of threads and interruption.

#![allow(clippy::unwrap_used)]

mod storage;

use std::cell::Cell;
use std::sync::atomic::Ordering;

use jeton_core::train::count::Counts;
use jeton_core::train::unigram::{learn, SavedPieces, UnigramOptions, UnigramResult, UnigramRun};
use jeton_core::util::spill::MemoryLimit;
use proptest::prelude::*;
use storage::limited;

fn options(vocab_size: usize, longest: usize, bug_compatible: bool) -> UnigramOptions {
    let options = format!(
        r#"{{"vocab_size": {vocab_size}, "num_reserved": 1, "character_coverage": 1.0, "required_chars": "",
        "seed_sentencepiece_size": 0, "num_sub_iterations": 2, "shrinking_factor": 0.75, "bug_compatible": {bug_compatible},
        "single_precision": false, "max_sentencepiece_length": {longest}, "split_by_unicode_script": true,
        "split_by_number": true, "split_digits": false}}"#
    );
    UnigramOptions::from_json(&options).unwrap()
}

fn counts<S: AsRef<str>>(words: impl IntoIterator<Item = (S, u64)>) -> Counts {
    let mut counts = Counts::default();
    words.into_iter().for_each(|(word, count)| counts.add(word.as_ref().as_bytes(), count).unwrap());
    counts
}

/// Creates words of pseudorandom letters; frequent letters recur in all words.
fn words(num: u64) -> Counts {
    let mut state = 7u64;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let letters = ["a", "b", "ab", "cab", "dé", "e", "日", "本", "日本", "e"];
    let word = |draw: &mut dyn FnMut(u64) -> u64| {
        let tail: String = (0..3 + draw(9)).map(|_| letters[(draw(10) * draw(10) / 10) as usize]).collect();
        ("▁".to_owned() + &tail, 1 + draw(5))
    };
    counts((0..num).map(|_| word(&mut draw)))
}

fn learned(counts: &Counts, options: &UnigramOptions, threads: usize, memory: &MemoryLimit) -> UnigramResult {
    let run = UnigramRun { threads, memory, done: None, save: &mut |_, _| true };
    memory.enforce_during(|| learn(counts, options, run, &mut |_| true)).unwrap()
}

#[test]
fn memory_limit_does_not_change_the_result() {
    let counts = words(60_000);
    for bug_compatible in [false, true] {
        let options = options(400, 16, bug_compatible);
        let free = learned(&counts, &options, 1, &MemoryLimit::unlimited());
        assert!(free.pieces.len() > 300 && free.num_rounds > 3, "{} pieces", free.pieces.len());
        for (limit, threads) in [(1 << 20, 2), (8 << 20, 1)] {
            let (memory, files) = limited(limit, usize::MAX);
            assert_eq!(learned(&counts, &options, threads, &memory), free, "{limit}, {threads} threads");
            assert!(files.load(Ordering::Relaxed) > 3 || limit > 1 << 20, "{limit}");
        }
    }
}

/// Under the smallest limit, a bucket has space for a thousand suffixes. Here, more suffixes begin with the
/// same characters.
#[test]
fn suffixes_that_exceed_a_bucket_are_sorted() {
    let long = |unit: &str, num: usize| "▁".to_owned() + &unit.repeat(num);
    let counts = counts([(long("a", 90_000), 3), (long("ab", 30_000), 1), (long("aab", 10_000), 2)]);
    for longest in [2, 16, 254] {
        let options = options(60, longest, false);
        let free = learned(&counts, &options, 2, &MemoryLimit::unlimited());
        assert_eq!(learned(&counts, &options, 2, &limited(1 << 20, usize::MAX).0), free, "{longest}");
    }
}

#[test]
fn a_full_disk_is_an_error() {
    let (counts, options) = (words(60_000), options(400, 16, false));
    for largest in [0, 1 << 20, 2 << 20] {
        let (memory, _) = limited(1 << 20, largest);
        let run = UnigramRun { threads: 2, memory: &memory, done: None, save: &mut |_, _| true };
        let failed = learn(&counts, &options, run, &mut |_| true).unwrap_err();
        assert!(failed.to_string().contains("the disk is full"), "{failed}");
    }
}

/// Learns with an interruption in the second step of each run.
fn resumed(counts: &Counts, options: &UnigramOptions, memory: &MemoryLimit) -> (UnigramResult, usize) {
    let (mut done, mut runs) = (None, 0);
    loop {
        let (steps, mut saved) = (Cell::new(0), None);
        let mut save = |state: &dyn Fn() -> SavedPieces, is_interrupted: bool| {
            steps.set(steps.get() + 1);
            saved = is_interrupted.then(state);
            true
        };
        let run = UnigramRun { threads: 2, memory, done, save: &mut save };
        match learn(counts, options, run, &mut |_| steps.get() == 0) {
            Ok(result) => return (result, runs),
            Err(_) => done = Some(SavedPieces::from_bytes(&saved.unwrap().to_bytes()).unwrap()),
        }
        runs += 1;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn limits_and_interruptions_do_not_change_the_result(
        found in prop::collection::vec(("▁[abcdé日本1 ]{1,40}", 1u64..50), 1..300),
        longest in prop::sample::select(vec![1, 2, 5, 16, 254]),
        bug_compatible: bool,
    ) {
        let (counts, options) = (counts(found), options(60, longest, bug_compatible));
        let free = learned(&counts, &options, 1, &MemoryLimit::unlimited());
        let (memory, _) = limited(1 << 10, usize::MAX);
        prop_assert_eq!(&learned(&counts, &options, 2, &memory), &free);
        prop_assert_eq!(&resumed(&counts, &options, &memory).0, &free);
    }
}
