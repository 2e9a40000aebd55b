//! The fuzzer's command line; `tools/fuzz.py` calls it.
//!
//!     jeton-fuzz list
//!     jeton-fuzz run TARGET --seconds 60 --seed 1 --findings FOLDER [--show 20] [FILE…]
//!     jeton-fuzz replay TARGET FILE…
//!     jeton-fuzz seeds TARGET --findings FOLDER               writes the target's seeds and generated inputs
//!     jeton-fuzz mutants TARGET --seed 1 [FILE…]      endless mutants, each after its length (4 bytes, little endian)
//!
//! `run` prints one JSON line at its end, after the most frequent outcomes (`--show`). Files are additional seeds.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use jeton_fuzz::engine::{self, Limits};
use jeton_fuzz::rng::Rng;
use jeton_fuzz::targets::{self, Target};

type Failure = Box<dyn std::error::Error>;

struct Arguments {
    target: &'static Target,
    seconds: f64,
    seed: u64,
    findings: PathBuf,
    show: usize,
    files: Vec<Vec<u8>>,
    names: Vec<String>,
}

fn arguments(mut words: impl Iterator<Item = String>) -> Result<Arguments, Failure> {
    let name = words.next().ok_or("which target?")?;
    let target = targets::by_name(&name).ok_or_else(|| format!("there is no target {name}"))?;
    let mut read = Arguments {
        target,
        seconds: 10.0,
        seed: 1,
        findings: "findings".into(),
        show: 0,
        files: Vec::new(),
        names: Vec::new(),
    };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        match word.as_str() {
            "--seconds" => read.seconds = value()?.parse()?,
            "--seed" => read.seed = value()?.parse()?,
            "--show" => read.show = value()?.parse()?,
            "--findings" => read.findings = value()?.into(),
            _ => {
                read.files.push(std::fs::read(&word).map_err(|error| format!("{word}: {error}"))?);
                read.names.push(word);
            }
        }
    }
    Ok(read)
}

fn main() -> Result<(), Failure> {
    let mut words = std::env::args().skip(1);
    engine::quiet_panics();
    match words.next().as_deref() {
        Some("list") => targets::targets().iter().for_each(|target| println!("{}", target.name)),
        Some("run") => run(arguments(words)?)?,
        Some("replay") => {
            let given = arguments(words)?;
            for (name, file) in given.names.iter().zip(&given.files) {
                let outcome = engine::outcome(given.target, file);
                let (what, message) = outcome.parts();
                println!("{what}\t{name}\t{message}");
            }
        }
        Some("seeds") => seeds(arguments(words)?)?,
        Some("mutants") => mutants(arguments(words)?)?,
        _ => return Err("list, run, replay, seeds or mutants?".into()),
    }
    Ok(())
}

fn run(given: Arguments) -> Result<(), Failure> {
    let limits = Limits { time: Duration::from_secs_f64(given.seconds), seed: given.seed, findings: given.findings };
    let report = engine::run(given.target, given.files, &limits)?;
    for (outcome, times) in report.outcomes.iter().take(given.show) {
        println!("{times:>10} {outcome}");
    }
    let facts = serde_json::json!({
        "target": given.target.name, "executions": report.executions, "fine": report.fine, "kept": report.kept, "findings": report.findings,
    });
    println!("{facts}");
    Ok(())
}

/// Number of generated inputs that `seeds` writes.
const NUM_GENERATED: usize = 500;

/// Writes the initial corpus of coverage-guided fuzzing.
fn seeds(given: Arguments) -> Result<(), Failure> {
    std::fs::create_dir_all(&given.findings)?;
    let mut inputs = (given.target.seeds)();
    if let Some(generate) = given.target.generate {
        let mut rng = Rng::new(given.seed);
        inputs.extend((0..NUM_GENERATED).map(|_| generate(&mut rng)));
    }
    for (number, input) in inputs.into_iter().chain(given.files).enumerate() {
        std::fs::write(given.findings.join(format!("seed-{number:04}")), input)?;
    }
    Ok(())
}

fn mutants(given: Arguments) -> Result<(), Failure> {
    let mut rng = Rng::new(given.seed);
    let pool = if given.files.is_empty() { (given.target.seeds)() } else { given.files };
    let mut out = std::io::stdout().lock();
    loop {
        let input = engine::choose(given.target, &pool, &mut rng);
        out.write_all(&u32::try_from(input.len())?.to_le_bytes())?;
        out.write_all(&input)?;
    }
}
