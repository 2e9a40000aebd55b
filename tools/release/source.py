#!/usr/bin/env python3
"""Makes the source distribution, and builds a wheel from it in an empty environment without a network.

Before the build, `cargo vendor` copies the crates of the lock file into the unpacked distribution, and maturin is
installed. Then cargo and pip run offline, and cargo has an empty home folder. On Linux they also have no network
interfaces. Needs Rust. ``--only-make`` leaves out the build.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
REQUIRED = ("Cargo.lock", "LICENSE", "NOTICE", "THIRD_PARTY_LICENSES.txt", "README.md", "pyproject.toml")


def main() -> int:
    """Makes and checks the source distribution; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder of the distribution")
    parser.add_argument("--only-make", action="store_true")
    options = parser.parse_args()
    out = options.out.resolve()
    command = [sys.executable, "-m", "maturin", "sdist", "--out", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    print(done.stdout + done.stderr)
    made = re.findall(r"\S+\.tar\.gz", done.stdout + done.stderr)
    if done.returncode or not made:
        return 1
    archive = out / Path(made[-1]).name
    with tempfile.TemporaryDirectory() as folder, tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
        source = Path(folder) / archive.name.removesuffix(".tar.gz")
        missing = [name for name in REQUIRED if not (source / name).is_file()]
        print(f"{archive.name}: {archive.stat().st_size:,} bytes; missing: {missing or 'nothing'}")
        return 1 if missing else 0 if options.only_make else build(source, Path(folder))


def build(source: Path, folder: Path) -> int:
    """Builds a wheel offline from the unpacked source distribution, and runs the smoke test with this wheel."""
    vendor(source)
    environment = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    scripts = environment / ("Scripts" if os.name == "nt" else "bin")
    pip = [str(scripts / "python"), "-m", "pip"]
    subprocess.run([*pip, "install", "--quiet", "maturin>=1.9,<2"], check=True)
    offline = {
        **os.environ,
        "CARGO_HOME": str(folder / "cargo"),  # empty, so that no crate of this machine is used
        "CARGO_NET_OFFLINE": "true",
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
    }
    prefix = without_network()
    print(f"building offline{' without network interfaces' if prefix else ''}", flush=True)
    wheel = [*pip, "wheel", "--no-build-isolation", "--no-index", "--no-deps", "-w", str(folder), str(source)]
    subprocess.run([*prefix, *wheel], env=offline, check=True)
    (built,) = folder.glob("*.whl")
    install = [sys.executable, str(Path(__file__).parent / "install_wheel.py"), str(built)]
    return subprocess.run(install, check=False).returncode


def vendor(source: Path) -> None:
    """Copies the crates of the lock file, in the same versions, into the unpacked distribution.

    The distribution lacks the workspace's member `fuzz`, so cargo removes crates from the lock file. `--locked` would
    forbid this.

    Raises:
        RuntimeError: cargo could not copy them.
        ValueError: a crate is not in the lock file.
    """
    before = locked(source)
    done = subprocess.run(["cargo", "vendor", "vendor"], cwd=source, capture_output=True, text=True, check=False)
    if done.returncode or "[source.vendored-sources]" not in done.stdout:
        raise RuntimeError(f"cargo vendor: {done.stdout}{done.stderr}")
    if added := sorted(locked(source) - before):
        raise ValueError(f"crates that are not in the lock file of the distribution: {added}")
    config = source / ".cargo" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    config.write_text(done.stdout, encoding="utf-8")
    print(f"{len(list((source / 'vendor').iterdir()))} crates in vendor/, all of the lock file", flush=True)


def locked(source: Path) -> set[tuple[str, str]]:
    """Returns the names and versions in the lock file."""
    read = tomllib.loads((source / "Cargo.lock").read_text(encoding="utf-8"))
    return {(package["name"], package["version"]) for package in read["package"]}


def without_network() -> list[str]:
    """Returns the prefix for a command that is run without network interfaces; empty if the system forbids that."""
    command = ["unshare", "--map-root-user", "--net", "--"]
    if shutil.which("unshare") is None:
        return []
    done = subprocess.run([*command, "true"], capture_output=True, check=False)
    return [] if done.returncode else command


if __name__ == "__main__":
    sys.exit(main())
