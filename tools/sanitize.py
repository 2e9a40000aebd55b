"""Runs the Rust tests under a sanitizer, or the concurrency models under loom.

    python tools/sanitize.py address
    python tools/sanitize.py thread
    python tools/sanitize.py loom

``address``: AddressSanitizer with debug assertions and overflow checks (out-of-bounds access, use after free, leaks).
``thread``: ThreadSanitizer (data races). The standard library is not instrumented, so ``tools/tsan.supp`` suppresses
its false positives, each with a reason. ``loom``: models of ``crates/jeton-core/src/util/atomic_cell.rs``, in all
thread interleavings that the C11 memory model permits, up to a bound.

Sanitizers are unstable options of rustc. They work on the stable toolchain with ``RUSTC_BOOTSTRAP=1``, which this
script sets. Left out: doctests, and the Python binding, whose library would need an instrumented interpreter.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Passed as `--target`, even if it is the host's platform: without this option, cargo would also instrument build
# scripts and procedural macros.
PLATFORM = "x86_64-unknown-linux-gnu"


def instrumented(sanitizer: str, *flags: str) -> tuple[list[str], dict[str, str]]:
    """Returns options and environment of cargo for a build with a sanitizer and additional flags of rustc."""
    coverage = any("sancov" in flag for flag in flags)
    folder = ROOT / "target" / "-".join([sanitizer, *(["coverage"] if coverage else [])])
    options = ["--locked", "--target", PLATFORM, "--target-dir", str(folder)]
    flags = (f"-Zsanitizer={sanitizer}", "-Cforce-frame-pointers=yes", *flags)
    environment = {
        **os.environ, "RUSTC_BOOTSTRAP": "1", "RUSTFLAGS": " ".join(flags),
        "CARGO_PROFILE_RELEASE_LTO": "off", "CARGO_PROFILE_RELEASE_STRIP": "none",
    }  # fmt: skip
    return options, environment


def tests(options: list[str], names: list[str]) -> list[str]:
    """Returns the command line that runs Rust tests; `names` selects them."""
    return [
        "cargo",
        "test",
        *options,
        "-p",
        "jeton-core",
        "-p",
        "jeton-fuzz",
        "--lib",
        "--tests",
        "--no-fail-fast",
        "--",
        *names,
    ]


def address(names: list[str]) -> int:
    """Runs the tests under AddressSanitizer."""
    options, environment = instrumented("address")
    # allocator_may_return_null: tests request allocations that must fail. RUST_MIN_STACK: stack frames are larger with
    # a sanitizer.
    environment |= {
        "ASAN_OPTIONS": "allocator_may_return_null=1:detect_stack_use_after_return=1",
        "RUST_MIN_STACK": str(16 << 20),
    }
    return subprocess.run(tests(options, names), cwd=ROOT, env=environment, check=False).returncode


def thread(names: list[str]) -> int:
    """Runs the tests under ThreadSanitizer."""
    # Some sanitizers change the ABI, so rustc refuses to link the uninstrumented standard library. ThreadSanitizer does
    # not change the ABI, so the link is permitted here with `-Cunsafe-allow-abi-mismatch`.
    options, environment = instrumented("thread", "-Cunsafe-allow-abi-mismatch=sanitizer")
    environment |= {
        "TSAN_OPTIONS": f"suppressions={ROOT / 'tools' / 'tsan.supp'}:allocator_may_return_null=1",
        "RUST_MIN_STACK": str(16 << 20),
        "PROPTEST_CASES": "16",  # few, since ThreadSanitizer is fifty times slower where threads spin
    }
    timed = ["--skip", "a_quarter_million_pieces_load_fast", "--skip", "kept_cases_have_their_outcome"]
    return subprocess.run([*tests(options, names), *timed], cwd=ROOT, env=environment, check=False).returncode


def loom(names: list[str]) -> int:
    """Runs the models of `crates/jeton-core/tests/atomic_cell_models.rs`."""
    # No optimization: the concurrency models are small, and optimizing the crate takes longer than running them.
    environment = {
        **os.environ, "RUSTFLAGS": "--cfg loom", "LOOM_MAX_PREEMPTIONS": "3",
        "CARGO_PROFILE_TEST_OPT_LEVEL": "0", "CARGO_PROFILE_TEST_DEBUG": "0",
    }  # fmt: skip
    folder = str(ROOT / "target" / "loom")
    command = [
        "cargo",
        "test",
        "--locked",
        "-p",
        "jeton-core",
        "--test",
        "atomic_cell_models",
        "--target-dir",
        folder,
        "--",
        *names,
    ]
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


def main() -> int:
    """Runs the selected tests; returns their exit code."""
    commands = {"address": address, "thread": thread, "loom": loom}
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("command", choices=commands)
    parser.add_argument("names", nargs="*", help="only the tests whose names contain one of these")
    arguments = parser.parse_args()
    return commands[arguments.command](arguments.names)


if __name__ == "__main__":
    sys.exit(main())
