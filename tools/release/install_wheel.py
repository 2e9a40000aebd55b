#!/usr/bin/env python3
"""Installs a wheel into an empty environment and runs the smoke test there, without Rust on PATH.

``python tools/release/install_wheel.py dist/jeton-….whl python3.11 python3.13`` does this for each interpreter. pip is
not allowed to use source distributions, so a dependency without a wheel is an error.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SMOKE = Path(__file__).resolve().parent / "smoke.py"


def main() -> int:
    """Tests the wheel on each interpreter; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("interpreters", nargs="*", default=[sys.executable])
    options = parser.parse_args()
    wheel = options.wheel.resolve(strict=True)
    codes = [install(wheel, interpreter) for interpreter in options.interpreters]
    return int(any(codes))


def install(wheel: Path, interpreter: str) -> int:
    """Installs the wheel into a new virtual environment of `interpreter`, and runs the smoke test there.

    Returns:
        The exit code of the smoke test; a negative number if a signal ended the test.
    """
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([interpreter, "-m", "venv", folder], check=True)
        scripts = Path(folder) / ("Scripts" if os.name == "nt" else "bin")
        python = scripts / ("python.exe" if os.name == "nt" else "python")
        kept = ("SYSTEMROOT", "TEMP", "TMP", "HOME", "PIP_CERT", "SSL_CERT_FILE", "PIP_INDEX_URL")
        environment = {name: os.environ[name] for name in kept if name in os.environ} | {"PATH": str(scripts)}
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
        subprocess.run([*pip, str(wheel)], env=environment, cwd=folder, check=True)
        return subprocess.run([python, "-I", str(SMOKE)], env=environment, cwd=folder, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
