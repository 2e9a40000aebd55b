#!/usr/bin/env python3
"""Makes the source distribution, and builds a wheel from it in an empty environment without a network.

Crates are fetched before, by the lock file of the distribution, and maturin is installed; then cargo and pip run
offline. Needs Rust. ``--only-make`` leaves out the build.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tarfile
import tempfile
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
    """Builds a wheel of the unpacked distribution offline, and runs the smoke test with it."""
    subprocess.run(["cargo", "fetch", "--locked"], cwd=source, check=True)
    environment = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    scripts = environment / ("Scripts" if os.name == "nt" else "bin")
    pip = [str(scripts / "python"), "-m", "pip"]
    subprocess.run([*pip, "install", "--quiet", "maturin>=1.9,<2"], check=True)
    offline = {**os.environ, "CARGO_NET_OFFLINE": "true", "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"}
    wheel = [*pip, "wheel", "--no-build-isolation", "--no-index", "--no-deps", "-w", str(folder), str(source)]
    subprocess.run(wheel, env=offline, check=True)
    (built,) = folder.glob("*.whl")
    install = [sys.executable, str(Path(__file__).parent / "install_wheel.py"), str(built)]
    return subprocess.run(install, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
