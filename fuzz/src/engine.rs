//! The loop: choose an input, change it, run the target, look at the outcome.
//!
//! Before each run the input is written to a file, so that what ends the process (a stack overflow, memory, a run that
//! does not end) leaves its cause behind. Time is the thread's own, and the least of three runs: others may be using
//! the machine.

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

/// Time limit of a run: this long for each byte of input, and [`FLOOR`] more: a hundred times the usual.
const PER_BYTE: Duration = Duration::from_micros(20);
const FLOOR: Duration = Duration::from_millis(400);

/// Factor of all limits on time: instrumented code with AddressSanitizer is several times slower, and
/// libFuzzer has a limit of its own.
pub const SLOWDOWN: u32 = if cfg!(feature = "coverage") { 10 } else { 1 };

/// After this long a run is taken to have no end, and the process stops.
const ENDLESS: Duration = Duration::from_secs(20);

/// The status of the process when a run does not end.
pub const STATUS_ENDLESS: i32 = 70;

/// Largest pool: novelty is judged by messages, and a message may hold parts of the input.
const MOST_KEPT: usize = 5000;

/// Options of a run.
#[derive(Debug)]
pub struct Limits {
    /// Time limit.
    pub time: Duration,
    /// The first input's seed.
    pub seed: u64,
    /// Folder for findings, and the file `current`.
    pub findings: PathBuf,
}

/// Result of a run.
#[derive(Debug, Default)]
pub struct Report {
    /// Inputs run.
    pub executions: u64,
    /// Of these, inputs that were fine.
    pub fine: u64,
    /// Inputs kept because their outcome was new.
    pub kept: usize,
    /// The other kinds of outcome, and how often each was seen, the most frequent first.
    pub outcomes: Vec<(String, u64)>,
    /// One line for each kind of finding.
    pub findings: Vec<String>,
}

/// Result of one input.
pub fn outcome(target: &Target, input: &[u8]) -> Outcome {
    let began = cpu_time();
    let outcome = caught(target, input);
    let limit = (FLOOR + PER_BYTE * input.len() as u32) * SLOWDOWN;
    let has_texts = target.name == "pipeline"; // times each text
    if has_texts || cpu_time().saturating_sub(began) < limit || matches!(outcome, Outcome::Wrong(_)) {
        return outcome;
    }
    match least(|| drop(caught(target, input))) {
        time if time < limit => outcome,
        _ => Outcome::Wrong(format!("slow: over {limit:?}")),
    }
}

/// The least time that two runs take.
pub fn least(run: impl Fn()) -> Duration {
    let timed = |_| {
        let began = cpu_time();
        run();
        cpu_time().saturating_sub(began)
    };
    (0..2).map(timed).min().unwrap_or_default()
}

/// Processor time of this thread; where the system does not say, the time of day.
pub fn cpu_time() -> Duration {
    static BEGAN: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let spent = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let spent = spent.and_then(|text| text.split(' ').next()?.parse().ok()).filter(|&nanos: &u64| nanos > 0);
    spent.map_or_else(|| BEGAN.get_or_init(Instant::now).elapsed(), Duration::from_nanos)
}

thread_local! {
    static PANIC: std::cell::RefCell<String> = const { std::cell::RefCell::new(String::new()) };
}

/// Panics are remembered instead of printed.
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
    catch_unwind(AssertUnwindSafe(|| (target.run)(input)))
        .unwrap_or_else(|_| Outcome::Wrong(format!("panic: {}", PANIC.with(|message| message.borrow().clone()))))
}

/// A message without what differs from input to input: numbers, and everything from the first quotation on.
pub fn signature(message: &str) -> String {
    let end = message.find(['"', '`', '\'']).unwrap_or(message.len());
    message[..end].chars().filter(|c| !c.is_ascii_digit()).take(120).collect()
}

/// Runs a target on changed inputs until the time is over.
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
            next_seed += 1; // first all as they are
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

/// The next input: made anew, or one of the pool changed.
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

/// Writes a finding, as found and minimized, with its outcome.
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

/// Start of the current run, if there is one.
type Clock = Arc<Mutex<Option<Instant>>>;

fn clock(watch: &Clock) -> std::sync::MutexGuard<'_, Option<Instant>> {
    watch.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Starts the thread that ends the process when the present run began long ago.
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
