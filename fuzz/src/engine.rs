//! The fuzzing loop: choose an input, mutate it, run the target, classify the outcome.
//!
//! Each input is written to a file before the run, so it is available if the process crashes or hangs. The time of an
//! input is the CPU time of the thread, the minimum of three runs, because the machine may be shared.

use std::any::Any;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::minimize;
use crate::mutate;
use crate::rng::Rng;
use crate::targets::{Outcome, Target};

/// Time limit of a run for each byte of input, in addition to [`FLOOR`]. It is a hundred times the usual time.
const PER_BYTE: Duration = Duration::from_micros(20);
const FLOOR: Duration = Duration::from_millis(400);

/// Factor of all time limits. Code with instrumentation and AddressSanitizer is several times slower, and libFuzzer
/// has its own limit.
pub const SLOWDOWN: u32 = if cfg!(feature = "coverage") { 10 } else { 1 };

/// Timeout of a run, after which the process exits.
const ENDLESS: Duration = Duration::from_secs(20);

/// Exit code after a timeout.
pub const STATUS_ENDLESS: i32 = 70;

/// Maximum size of the pool. It is needed because novelty is judged by messages, which may contain parts of the
/// input.
const MOST_KEPT: usize = 5000;

/// Options of a run.
#[derive(Debug)]
pub struct Limits {
    /// Time limit.
    pub time: Duration,
    /// Seed of the first input.
    pub seed: u64,
    /// Folder for findings, and the file `current`.
    pub findings: PathBuf,
}

/// Result of a run.
#[derive(Debug, Default)]
pub struct Report {
    /// Number of inputs that were run.
    pub executions: u64,
    /// Number of inputs that were accepted.
    pub fine: u64,
    /// Number of inputs that were kept because their outcome was new.
    pub kept: usize,
    /// Other kinds of outcomes with their frequencies, in descending order.
    pub outcomes: Vec<(String, u64)>,
    /// One line for each kind of finding.
    pub findings: Vec<String>,
}

/// Result of one input.
pub fn outcome(target: &Target, input: &[u8]) -> Outcome {
    let began = cpu_time();
    let outcome = caught(target, input);
    let limit = (FLOOR + PER_BYTE * input.len() as u32) * SLOWDOWN;
    let has_texts = target.name == "pipeline"; // this target measures the time of each text itself
    if has_texts || cpu_time().saturating_sub(began) < limit || matches!(outcome, Outcome::Wrong(_)) {
        return outcome;
    }
    match least(|| drop(caught(target, input))) {
        time if time < limit => outcome,
        _ => Outcome::Wrong(format!("slow: over {limit:?}")),
    }
}

/// Returns the minimum time of two runs.
pub fn least(run: impl Fn()) -> Duration {
    let timed = |_| {
        let began = cpu_time();
        run();
        cpu_time().saturating_sub(began)
    };
    (0..2).map(timed).min().unwrap_or_default()
}

/// Returns the CPU time of this thread, or wall time if the system does not support that.
pub fn cpu_time() -> Duration {
    static BEGAN: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let spent = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let spent = spent.and_then(|text| text.split(' ').next()?.parse().ok()).filter(|&nanos: &u64| nanos > 0);
    spent.map_or_else(|| BEGAN.get_or_init(Instant::now).elapsed(), Duration::from_nanos)
}

thread_local! {
    static PANIC: std::cell::RefCell<String> = const { std::cell::RefCell::new(String::new()) };
}

/// Records panics instead of printing them.
pub fn quiet_panics() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map_or(String::new(), |at| format!("{}:{}", at.file(), at.line()));
        PANIC.with(|message| *message.borrow_mut() = format!("{place}: {}", said(info.payload())));
    }));
}

fn said(payload: &dyn Any) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default()
}

fn caught(target: &Target, input: &[u8]) -> Outcome {
    catch_unwind(AssertUnwindSafe(|| (target.run)(input).map_or_else(|other| other, Outcome::Fine)))
        .unwrap_or_else(|_| Outcome::Wrong(format!("panic: {}", PANIC.with(|message| message.borrow().clone()))))
}

/// Removes the parts of a message that vary between inputs: numbers, and everything from the first quotation mark on.
pub fn signature(message: &str) -> String {
    let end = message.find(['"', '`', '\'']).unwrap_or(message.len());
    message[..end].chars().filter(|c| !c.is_ascii_digit()).take(120).collect()
}

/// Runs a target on mutated inputs until the time limit.
///
/// # Errors
/// Files that cannot be written.
pub fn run(target: &Target, corpus: Vec<Vec<u8>>, limits: &Limits) -> std::io::Result<Report> {
    std::fs::create_dir_all(&limits.findings)?;
    let current = File::create(limits.findings.join("current"))?;
    let watch = watchdog();
    let mut rng = Rng::new(limits.seed);
    let mut pool = (target.seeds)();
    pool.extend(corpus);
    let mut report = Report::default();
    let (mut seen, mut wrong) = (HashMap::<String, u64>::new(), HashSet::new());
    let began = Instant::now();
    let mut next_seed = 0;
    while began.elapsed() < limits.time {
        let input = if next_seed < pool.len() && report.executions == next_seed as u64 {
            next_seed += 1; // seeds are first run unchanged
            pool[next_seed - 1].clone()
        } else {
            choose(target, &pool, &mut rng)
        };
        current.set_len(input.len() as u64)?;
        current.write_all_at(&input, 0)?;
        *clock(&watch) = Some(Instant::now());
        let outcome = outcome(target, &input);
        *clock(&watch) = None;
        report.executions += 1;
        report.fine += u64::from(matches!(outcome, Outcome::Fine(_)));
        let (what, message) = outcome.parts();
        let signature = format!("{what} {}", signature(message));
        if let Outcome::Wrong(message) = &outcome {
            if wrong.insert(signature.clone()) {
                let path = record(target, &input, &signature, message, &limits.findings, wrong.len())?;
                println!("FINDING {} {message}\n        {}", target.name, path.display());
                std::io::stdout().flush()?;
                report.findings.push(message.chars().take(300).collect());
            }
        } else if let Some(times) = seen.get_mut(&signature) {
            *times += 1;
        } else if report.kept < MOST_KEPT {
            seen.insert(signature, 1);
            if input.len() < 1 << 15 {
                report.kept += 1;
                pool.push(input);
            }
        }
    }
    std::fs::remove_file(limits.findings.join("current"))?;
    report.outcomes = seen.into_iter().collect();
    report.outcomes.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    Ok(report)
}

/// Returns the next input: a generated one, or a mutant of one in the pool.
pub fn choose(target: &Target, pool: &[Vec<u8>], rng: &mut Rng) -> Vec<u8> {
    match target.generate {
        Some(generate) if pool.is_empty() || !rng.once_in(3) => generate(rng),
        _ => {
            let recent = rng.once_in(2) && pool.len() > 40;
            let at = if recent { pool.len() - 1 - rng.below(40) } else { rng.below(pool.len()) };
            pool.get(at).map_or_else(Vec::new, |input| mutate::mutate(input, pool, target.shape, target.words, rng))
        }
    }
}

/// Writes a finding, original and minimized, with its outcome.
fn record(
    target: &Target,
    input: &[u8],
    wanted: &str,
    message: &str,
    folder: &Path,
    number: usize,
) -> std::io::Result<PathBuf> {
    let name = format!("{}-{number:03}", target.name);
    std::fs::write(folder.join(format!("{name}.found")), input)?;
    std::fs::write(folder.join(format!("{name}.txt")), message)?;
    let same = |input: &[u8]| {
        let outcome = outcome(target, input);
        let (what, message) = outcome.parts();
        format!("{what} {}", signature(message)) == wanted
    };
    let time = if message.starts_with("slow") { Duration::from_secs(60) } else { Duration::from_secs(10) };
    let small = minimize::minimize(input, target.shape, time, same);
    let path = folder.join(format!("{name}.min"));
    std::fs::write(&path, small)?;
    Ok(path)
}

/// Start of the current run, if any.
type Clock = Arc<Mutex<Option<Instant>>>;

fn clock(watch: &Clock) -> std::sync::MutexGuard<'_, Option<Instant>> {
    watch.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Starts the watchdog thread, which exits the process after a timeout.
fn watchdog() -> Clock {
    let watch = Clock::default();
    let watched = Arc::clone(&watch);
    std::thread::spawn(move || loop {
        std::thread::sleep(Duration::from_millis(500));
        if clock(&watched).is_some_and(|began| began.elapsed() > ENDLESS) {
            println!("ENDLESS a run has taken {ENDLESS:?}");
            std::process::exit(STATUS_ENDLESS);
        }
    });
    watch
}
