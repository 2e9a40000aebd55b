//! Replay of findings: every case of `testdata/fuzz/index.toml` has the recorded outcome.

use std::path::Path;

use jeton_fuzz::{engine, targets};

type Failure = Box<dyn std::error::Error>;

#[test]
fn kept_cases_have_their_outcome() -> Result<(), Failure> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/fuzz");
    let index: toml::Table = std::fs::read_to_string(folder.join("index.toml"))?.parse()?;
    let cases = index["case"].as_array().ok_or("no cases")?;
    let mut failures = Vec::new();
    for case in cases {
        let text =
            |name: &str| case.get(name).and_then(toml::Value::as_str).ok_or_else(|| format!("a case without {name}"));
        let (name, outcome) = (text("name")?, text("outcome")?);
        let target = name.split('/').next().and_then(targets::by_name);
        let Some(target) = target else { continue }; // a Python target: tests/test_fuzz_cases.py
        let input = std::fs::read(folder.join(name))?;
        let found = engine::outcome(target, &input);
        let (what, message) = found.parts();
        if what != outcome || !message.contains(text("message").unwrap_or_default()) {
            failures.push(format!("{name}: {what} {message}"));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
    Ok(())
}

/// Each target accepts its seeds, and a short run has no finding.
#[test]
fn every_target_runs() -> Result<(), Failure> {
    let findings = std::env::temp_dir().join(format!("jeton-fuzz-{}", std::process::id()));
    for target in targets::targets() {
        for seed in (target.seeds)() {
            let outcome = engine::outcome(target, &seed);
            assert_eq!(outcome.parts().0, "fine", "a seed of {}: {outcome:?}", target.name);
        }
        let time = std::time::Duration::from_millis(200);
        let report = engine::run(target, Vec::new(), &engine::Limits { time, seed: 1, findings: findings.clone() })?;
        assert!(report.executions > 0 && report.findings.is_empty(), "{}: {:?}", target.name, report.findings);
    }
    std::fs::remove_dir_all(&findings)?;
    Ok(())
}
