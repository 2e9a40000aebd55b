"""Mutants of the core: builds the core with all mutants of a sample. A process that uses the build selects one mutant.

A separate build for each mutant would take minutes. Here `a < b` becomes
`(if mutation::on(7) { a <= b } else { a < b })`, so one build has all mutants of a sample. The built extension also
reports which mutants a test has reached.

The changes are found by patterns on source that rustfmt has formatted: comparisons, terms of `&&` and `||`, sums,
integers, statements that call or assign, `return`, `break`, `continue`, and `true` and `false`. Changes that the
compiler rejects (in constants, in patterns, or with wrong types) are dropped. Left out: tests, assertions, macros,
attributes, and lines with `const`, `static` or a match arm's pattern.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "crates" / "jeton-core" / "src"
# Stage -> its modules.
STAGES: dict[str, tuple[str, ...]] = {
    "normalize": ("normalize/**/*.rs",),
    "pretokenize": ("pretokenize/**/*.rs", "regex/**/*.rs"),
    "encode": ("encode/**/*.rs",),
    "model": ("model/**/*.rs",),
    "decode": ("decode/**/*.rs",),
    "train": ("train/**/*.rs",),
    "tokenizer": ("tokenizer/**/*.rs", "added_tokens.rs", "postprocess.rs"),
}
# Stage -> its integration tests.
TESTS: dict[str, tuple[str, ...]] = {
    "normalize": ("worked_examples",),
    "pretokenize": ("pretokenize_scanner", "pretokenize_transducer", "pretokenize_regex"),
    "encode": ("fast", "parallel", "worked_examples"),
    "model": ("fast", "models", "why"),
    "decode": ("worked_examples",),
    "train": ("learn", "unigram", "count", "spill"),
    "tokenizer": ("parallel", "why", "worked_examples"),
}
MODULE = """
/// Mutants, of which a process selects one: added by `tools/mutants_core.py`.
#[allow(missing_docs, clippy::missing_safety_doc)]
pub mod mutation {
    use std::sync::atomic::{AtomicU32, AtomicU8, Ordering::Relaxed};

    const UNSET: u32 = u32::MAX - 1;
    static SELECTED: AtomicU32 = AtomicU32::new(UNSET);
    static REACHED: [AtomicU8; 4096] = [const { AtomicU8::new(0) }; 4096];

    #[inline]
    pub fn on(number: u32) -> bool {
        REACHED[number as usize].store(1, Relaxed);
        let selected = SELECTED.load(Relaxed);
        if selected == UNSET { first() == number } else { selected == number }
    }

    #[cold]
    fn first() -> u32 {
        let named = std::env::var("JETON_MUTANT").ok().and_then(|name| name.parse().ok());
        set(named.unwrap_or(u32::MAX));
        named.unwrap_or(u32::MAX)
    }

    pub fn set(number: u32) {
        SELECTED.store(number, Relaxed);
    }

    pub fn take(number: usize) -> u8 {
        REACHED[number].swap(0, Relaxed)
    }
}
"""
EXPORTS = """
#[no_mangle]
pub extern "C" fn jeton_set_mutant(number: u32) {
    jeton_core::mutation::set(number);
}

#[no_mangle]
pub unsafe extern "C" fn jeton_take_reached(reached: *mut u8) {
    for number in 0..4096 {
        unsafe { *reached.add(number) = jeton_core::mutation::take(number) };
    }
}
"""
# Regex of an operand that has no binary operator at its outer level.
OPERAND = (
    r"[*&!]{0,2}[A-Za-z_][\w:]*(?:\.[\w]+|\((?:[^()]|\([^()]*\))*\)|\[[^\[\]]*\]|\?)*|\d[\d_]*|b?'(?:\\.|[^'\\])[^']*'"
)
# Regexes of the code before an expression and of the code after it. They match only where parentheses around the
# expression would not change its meaning.
BEFORE = r"(?:(?<=[(\[])|(?<= = )|(?<=, )|(?<=return )|(?<=&& )|(?<=\|\| )|(?<=\{ )|(?<=if )|(?<=while )|(?<=^))"
AFTER = r"(?=[)\],;]|$| \{| \}| &&| \|\|)"
COMPARISON = re.compile(rf"{BEFORE}({OPERAND}) (<|<=|>|>=|==|!=) ({OPERAND}){AFTER}")
TERM = re.compile(rf"(?<=(&&|\|\|) )({OPERAND})((?: (?:<|<=|>|>=|==|!=) (?:{OPERAND}))?){AFTER}")
SUM = re.compile(rf"{BEFORE}({OPERAND}) ([+-]) ({OPERAND}){AFTER}")
INTEGER = re.compile(rf"(?:(?<=[(\[])|(?<= = )|(?<=, )|(?<= [<>+-] )|(?<= [<>=!]= ))(\d+){AFTER}")
BOOLEAN = re.compile(rf"(?:(?<=\()|(?<= = )|(?<=, )|(?<=: ))(true|false){AFTER}")
STATEMENT = re.compile(
    r"^(?:(?:self|[a-z_][\w:]*)(?:\.\w+|\((?:[^()]|\([^()]*\))*\)|\[[^\[\]]*\])*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\??"
    r"|[*a-z_][\w.\[\]]* [-+|&]?= [^;{]+|return\b[^;{]*|break|continue);$"
)
COMPARE = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
SKIPPED = re.compile(
    r"//|^#|^\||=>|\$|\[\w+; "
    r"|\b(?:const|static|unsafe|macro_rules|assert\w*|debug_assert\w*|matches|type|fn|impl|use|where)\b"
)


class Mutant(NamedTuple):
    """One change of a line: `after` replaces the characters `before`, which start at `column`."""

    stage: str
    path: str  # relative to `crates/jeton-core/src`
    line: int
    column: int
    before: str
    after: str

    def both(self, number: int) -> str:
        """Returns source code that contains both the mutant and the original."""
        if self.before.endswith(";"):
            return f"if !crate::mutation::on({number}) {{ {self.before} }}"
        return f"(if crate::mutation::on({number}) {{ {self.after} }} else {{ {self.before} }})"


def mutants(stage: str, path: Path) -> Iterator[Mutant]:
    """Yields the mutants of a module: the changes that the compiler might accept."""
    name = path.relative_to(SOURCE).as_posix()
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        text = line.strip()
        if text == "#[cfg(test)]":
            return
        if SKIPPED.search(text) or '"' in text:
            continue
        indent = len(line) - len(line.lstrip())

        def made(start: int, end: int, after: str, *, at: int = number, shift: int = indent, of: str = text) -> Mutant:
            return Mutant(stage, name, at + 1, start + shift, of[start:end], after)

        for found in COMPARISON.finditer(text):
            yield made(*found.span(), f"{found[1]} {COMPARE[found[2]]} {found[3]}")
        for found in TERM.finditer(text):
            yield made(*found.span(), "true" if found[1] == "&&" else "false")
        for found in SUM.finditer(text):
            yield made(*found.span(), f"{found[1]} {'-' if found[2] == '+' else '+'} {found[3]}")
        for found in INTEGER.finditer(text):
            yield made(*found.span(), str(int(found[1]) + 1))
        for found in BOOLEAN.finditer(text):
            yield made(*found.span(), "false" if found[1] == "true" else "true")
        if STATEMENT.match(text):
            yield made(0, len(text), "")


def sampled(seed: int, number: int) -> list[Mutant]:
    """Returns a sample of mutants, equally many for each stage. No two of the mutants change the same line."""
    chance = random.Random(seed)  # noqa: S311
    chosen: list[Mutant] = []
    for stage, patterns in STAGES.items():
        paths = sorted({path for pattern in patterns for path in SOURCE.glob(pattern) if "tests" not in path.name})
        every = [mutant for path in paths for mutant in mutants(stage, path)]
        chance.shuffle(every)
        lines: set[tuple[str, int]] = set()
        for mutant in every:
            if len(lines) == -(-number // len(STAGES)):
                break
            if (mutant.path, mutant.line) not in lines:
                lines.add((mutant.path, mutant.line))
                chosen.append(mutant)
    return chosen


def build(seed: int, number: int, folder: Path) -> dict[int, Mutant]:
    """Builds a copy of the core with a sample of mutants, as `folder/_core.abi3.so`; returns number -> mutant."""
    chosen = dict(enumerate(sampled(seed, 2 * number)))  # twice as many, since the compiler rejects some
    while True:
        for name in ("crates", "fuzz", "testdata"):
            shutil.copytree(ROOT / name, folder / name, dirs_exist_ok=True)
        for name in ("Cargo.toml", "Cargo.lock"):
            shutil.copy2(ROOT / name, folder / name)
        write(chosen, folder)
        rejected = rejects(cargo(folder), chosen)
        print(f"{len(rejected)} of {len(chosen)} mutants do not compile", flush=True)
        if not rejected:
            break
        chosen = {number: mutant for number, mutant in chosen.items() if number not in rejected}
    per_stage = -(-number // len(STAGES))
    kept: dict[int, Mutant] = {}
    for stage in STAGES:
        kept |= dict([(number, mutant) for number, mutant in chosen.items() if mutant.stage == stage][:per_stage])
    shutil.copy2(target(folder) / "release" / "lib_core.so", folder / "_core.abi3.so")
    (folder / "mutants.json").write_text(json.dumps({number: mutant._asdict() for number, mutant in kept.items()}))
    return kept


def write(chosen: dict[int, Mutant], folder: Path) -> None:
    """Writes mutants into a copy of the core."""
    source = folder / "crates" / "jeton-core" / "src"
    for name in sorted({mutant.path for mutant in chosen.values()}):
        text = (SOURCE / name).read_text(encoding="utf-8").splitlines(keepends=True)
        for number, mutant in chosen.items():
            if mutant.path == name:
                line = text[mutant.line - 1]
                end = mutant.column + len(mutant.before)
                text[mutant.line - 1] = line[: mutant.column] + mutant.both(number) + line[end:]
        (source / name).write_text("".join(text), encoding="utf-8")
    with (source / "lib.rs").open("a", encoding="utf-8") as file:
        file.write(MODULE)
    with (folder / "crates" / "jeton-python" / "src" / "lib.rs").open("a", encoding="utf-8") as file:
        file.write(EXPORTS)


def tests_of(folder: Path) -> dict[str, Path]:
    """Builds the tests of the core with the mutants; returns target -> executable. Unit tests: target `jeton_core`."""
    targets = sorted({name for names in TESTS.values() for name in names})
    options = ["--no-run", "--locked", "--message-format=json", *(f"--test={name}" for name in targets)]
    command = ["cargo", "test", "-p", "jeton-core", "--lib", *options]
    environment = {**os.environ, "CARGO_TARGET_DIR": str(target(folder))}
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {row["target"]["name"]: Path(row["executable"]) for row in rows if row.get("executable")}


def is_caught(executables: dict[str, Path], mutant: dict[str, Any]) -> bool:
    """Runs the tests of a mutant's stage; returns whether one failed."""
    module = mutant["file"].partition("/")[0].removesuffix(".rs")
    stage = mutant["stratum"].removeprefix("core: ")
    environment = {**os.environ, "JETON_MUTANT": str(mutant["number"]), "PROPTEST_CASES": "64"}
    commands = [[str(executables["jeton_core"]), "--quiet", f"{module}::"]]
    commands += [[str(executables[name]), "--quiet"] for name in TESTS[stage]]
    for command in commands:
        try:
            done = subprocess.run(
                command, cwd=SOURCE.parent, env=environment, capture_output=True, timeout=300, check=False
            )
        except subprocess.TimeoutExpired:
            return True
        if done.returncode:
            return True
    return False


def target(folder: Path) -> Path:
    """Returns the folder of cargo's build outputs."""
    return Path(os.environ.get("CARGO_TARGET_DIR", folder / "target"))


def cargo(folder: Path) -> list[dict[str, Any]]:
    """Builds the extension; returns the compiler's errors."""
    settings = {"LTO": "off", "CODEGEN_UNITS": "16", "STRIP": "true"}
    environment = {**os.environ, **{f"CARGO_PROFILE_RELEASE_{name}": value for name, value in settings.items()}}
    environment["CARGO_TARGET_DIR"] = str(target(folder))
    options = ["--release", "--locked", "--keep-going", "--message-format=json", "-p", "jeton-python"]
    features = ["--features", "pyo3/abi3-py311"]
    done = subprocess.run(
        ["cargo", "build", *options, *features],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    errors = [
        row["message"] for row in rows if row["reason"] == "compiler-message" and row["message"]["level"] == "error"
    ]
    if done.returncode and not errors:
        raise SystemExit(done.stderr)
    return errors


def rejects(errors: list[dict[str, Any]], chosen: dict[int, Mutant]) -> set[int]:
    """Returns the numbers of the mutants that are on lines with errors."""
    lines = {(mutant.path, mutant.line): number for number, mutant in chosen.items()}
    found: set[int] = set()
    unknown: list[str] = []
    for error in errors:
        places = [
            (span["file_name"].partition("jeton-core/src/")[2], line)
            for span in error["spans"]
            for line in range(span["line_start"], span["line_end"] + 1)
        ]
        at = {lines[place] for place in places if place in lines}
        found |= at
        if not at and error["spans"]:
            unknown.append(error["rendered"])
    if errors and not found:
        raise SystemExit("".join(unknown))
    return found
