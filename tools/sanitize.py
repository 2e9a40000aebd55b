"""Runs the Rust tests under a sanitizer, or the concurrency models under loom.

    python tools/sanitize.py address
    python tools/sanitize.py thread
    python tools/sanitize.py loom

``address`` is AddressSanitizer with debug assertions and overflow checks: reads and writes outside of an allocation, or
after it was freed, and leaks. ``thread`` is ThreadSanitizer: data races. The standard library is not instrumented, so
``tools/tsan.supp`` names what it can't see there, each entry with its reason. ``loom`` runs the models of
``crates/jeton-core/src/util/atomic_cell.rs``: every interleaving of their threads that the C11 memory
model allows, up to a bound.

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
# Given even where it is the host's own: then build scripts and procedural macros are not instrumented.
PLATFORM = "x86_64-unknown-linux-gnu"


def instrumented(sanitizer: str, *flags: str) -> tuple[list[str], dict[str, str]]:
    """Options and environment of cargo for code with a sanitizer and further flags of rustc."""
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
    """The command that runs Rust tests; `names` filters them."""
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
    """All tests under AddressSanitizer."""
    options, environment = instrumented("address")
    # Tests ask for allocations that must fail: without the first, AddressSanitizer ends the process. Frames are larger.
    environment |= {
        "ASAN_OPTIONS": "allocator_may_return_null=1:detect_stack_use_after_return=1",
        "RUST_MIN_STACK": str(16 << 20),
    }
    return subprocess.run(tests(options, names), cwd=ROOT, env=environment, check=False).returncode


def thread(names: list[str]) -> int:
    """All tests under ThreadSanitizer."""
    # rustc refuses to mix this with its own standard library, for some sanitizers change the ABI. This one does not.
    options, environment = instrumented("thread", "-Cunsafe-allow-abi-mismatch=sanitizer")
    environment |= {
        "TSAN_OPTIONS": f"suppressions={ROOT / 'tools' / 'tsan.supp'}:allocator_may_return_null=1",
        "RUST_MIN_STACK": str(16 << 20),
        "PROPTEST_CASES": "16",  # ThreadSanitizer takes fifty times as long where threads spin
    }
    timed = ["--skip", "a_quarter_million_pieces_load_fast", "--skip", "kept_cases_have_their_outcome"]
    return subprocess.run([*tests(options, names), *timed], cwd=ROOT, env=environment, check=False).returncode


def loom(names: list[str]) -> int:
    """The models of `crates/jeton-core/tests/atomic_cell_models.rs`."""
    # Models are small: to optimize the rest of the crate would take longer than they do.
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
    """Runs what was asked for; the exit code of the tests."""
    commands = {"address": address, "thread": thread, "loom": loom}
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("command", choices=commands)
    parser.add_argument("names", nargs="*", help="only the tests whose names contain one of these")
    arguments = parser.parse_args()
    return commands[arguments.command](arguments.names)


if __name__ == "__main__":
    sys.exit(main())
