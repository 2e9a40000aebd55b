#!/usr/bin/env python3
"""Builds the wheel for one platform: ``python tools/release/wheel.py manylinux-x86_64``.

zig links Linux wheels against the glibc version in their tag, or against musl, so they build on any Linux without a
container. Paths of the building machine are replaced in the binary. Needs maturin, and ziglang for Linux.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent

# Platform -> Rust's target, and the tag that the wheel must satisfy.
PLATFORMS = {
    "manylinux-x86_64": ("x86_64-unknown-linux-gnu", "manylinux_2_17"),
    "manylinux-aarch64": ("aarch64-unknown-linux-gnu", "manylinux_2_17"),
    "musllinux-x86_64": ("x86_64-unknown-linux-musl", "musllinux_1_2"),
    "musllinux-aarch64": ("aarch64-unknown-linux-musl", "musllinux_1_2"),
    "macos-x86_64": ("x86_64-apple-darwin", None),
    "macos-aarch64": ("aarch64-apple-darwin", None),
    "windows-x86_64": ("x86_64-pc-windows-msvc", None),
    "windows-aarch64": ("aarch64-pc-windows-msvc", None),
}


def main() -> int:
    """Runs maturin; returns its exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("platform", choices=PLATFORMS)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder of the wheel")
    parser.add_argument(
        "--free-threaded", metavar="PYTHON", help="for this free-threaded interpreter, without the stable interface"
    )
    options = parser.parse_args()
    target, compatibility = PLATFORMS[options.platform]
    command = [sys.executable, "-m", "maturin", "build", "--release", "--locked", "--target", target]
    command += ["--out", str(options.out)]
    if compatibility:
        command += ["--compatibility", compatibility, "--zig"]
    if options.free_threaded:
        command += ["--interpreter", options.free_threaded]
    flags = [os.environ.get("RUSTFLAGS", ""), *remapped()]
    scripts = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # maturin finds zig there
    environment = {**os.environ, "PATH": scripts, "RUSTFLAGS": " ".join(filter(None, flags))}
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


def remapped() -> list[str]:
    """Returns flags that replace paths of this machine in debug information and panic messages."""
    cargo = os.environ.get("CARGO_HOME", str(Path.home() / ".cargo"))
    return [f"--remap-path-prefix={path}={name}" for path, name in ((cargo, "cargo"), (str(ROOT), "jeton"))]


if __name__ == "__main__":
    sys.exit(main())
