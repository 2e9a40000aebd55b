//! Entry points for libFuzzer: the targets of this crate, guided by coverage.
//!
//! `tools/fuzz.py --coverage` builds and runs this. The environment variable `JETON_FUZZ_TARGET` names the target;
//! the command line is libFuzzer's (<https://llvm.org/docs/LibFuzzer.html>). A violated property panics. libFuzzer
//! then reports it with a stack trace and saves the input as `crash-…`.
//!
//! Half of the mutations are those of [`mutate`], which parse JSON, protobuf and lines; the other half are
//! libFuzzer's.

#![no_main]
// Errors abort the process, as libFuzzer requires for a finding.
#![allow(clippy::panic)]

use std::sync::OnceLock;

use jeton_fuzz::mutate;
use jeton_fuzz::rng::Rng;
use jeton_fuzz::targets::{self, Outcome, Target};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

/// Environment variable with the name of the target.
const VARIABLE: &str = "JETON_FUZZ_TARGET";

/// Returns the target, with its seeds for mutations that splice two inputs.
fn target() -> &'static (&'static Target, Vec<Vec<u8>>) {
    static TARGET: OnceLock<(&'static Target, Vec<Vec<u8>>)> = OnceLock::new();
    TARGET.get_or_init(|| {
        let name = std::env::var(VARIABLE).unwrap_or_default();
        let Some(target) = targets::by_name(&name) else {
            let known: Vec<_> = targets::targets().iter().map(|target| target.name).collect();
            panic!("{VARIABLE}={name:?} is no target; targets: {}", known.join(", "))
        };
        (target, (target.seeds)())
    })
}

fuzz_target!(|input: &[u8]| {
    if let Err(Outcome::Wrong(message)) = (target().0.run)(input) {
        panic!("{message}");
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let (target, seeds) = target();
    let mut rng = Rng::new(u64::from(seed));
    let changed = match (rng.below(16), target.generate) {
        (0, Some(generate)) => generate(&mut rng),
        (1..=8, _) => mutate::mutate(&data[..size], seeds, target.shape, target.words, &mut rng),
        _ => return fuzzer_mutate(data, size, max_size),
    };
    // libFuzzer does not accept an empty input from a mutator.
    if changed.is_empty() || changed.len() > max_size {
        return fuzzer_mutate(data, size, max_size);
    }
    data[..changed.len()].copy_from_slice(&changed);
    changed.len()
});
