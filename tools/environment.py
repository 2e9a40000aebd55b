"""Creates a virtual environment with Jeton in it, for the Makefile: ``python tools/environment.py .venv test lint``.

It reports missing requirements before pip would fail. The script itself runs on Python 3.7 or later, so that it can
report a Python that is too old for Jeton. A second run installs Jeton into the same environment again and builds only
what has changed. Left out: programs that are not packages of Python or Rust, which ``tools/setup_tools.sh`` installs.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PYTHON = (3, 11)


def main(folder: str, extras: list[str]) -> int:
    """Creates the environment; returns the exit code."""
    problems = list(missing())
    if problems:
        for problem in problems:
            print(f"error: {problem}", file=sys.stderr)
        return 1
    note = toolchain_note()
    if note:
        print(f"note: {note}", file=sys.stderr)
    python = os.path.join(folder, "Scripts" if os.name == "nt" else "bin", "python")
    version = f"import sys; sys.exit(sys.version_info[:2] != {tuple(sys.version_info[:2])})"
    if not os.path.exists(python) or subprocess.call([python, "-c", version]) != 0:
        status = subprocess.call([sys.executable, "-m", "venv", "--clear", folder])
        if status != 0:
            return status
    package = f"{ROOT}[{','.join(extras)}]" if extras else ROOT
    status = subprocess.call([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package])
    if status != 0 and note:
        print(f"error: the build needs Rust. {note}", file=sys.stderr)
    return status


def missing() -> Iterator[str]:
    """Yields each requirement that this Python does not meet, with a remedy."""
    if sys.version_info < PYTHON:
        found = ".".join(map(str, sys.version_info[:3]))
        needed = ".".join(map(str, PYTHON))
        yield f"{sys.executable} is Python {found}; Jeton needs {needed} or later. Name one: make PYTHON=python3.13 …"
    for module in ("venv", "ensurepip"):
        try:
            __import__(module)
        except ImportError:
            yield f"{sys.executable} has no module {module}. On Debian and Ubuntu: apt-get install python3-venv"


def toolchain_note() -> str | None:
    """Returns which of cargo, rustc and cc is missing or too old, with a remedy; None if Jeton can be built."""
    with open(os.path.join(ROOT, "Cargo.toml"), encoding="utf-8") as file:
        needed = [int(number) for number in re.findall(r'^rust-version = "(\d+)\.(\d+)', file.read(), re.MULTILINE)[0]]
    least = ".".join(map(str, needed))
    if shutil.which("cargo") is None or shutil.which("rustc") is None:
        return (
            f"no Rust toolchain (cargo, rustc) is on PATH. Install version {least} or later from https://rustup.rs; "
            "without one, the build downloads it if the network permits."
        )
    found = subprocess.run(["rustc", "--version"], stdout=subprocess.PIPE, text=True, check=False).stdout
    version = [int(number) for number in re.findall(r"\d+", found)[:2]]
    if version < needed:
        return f"Jeton needs Rust {least} or later, and rustc is {found.strip()!r}. Update it: rustup update"
    if os.name != "nt" and shutil.which("cc") is None:
        return "no linker (cc) is on PATH. On Debian and Ubuntu: apt-get install gcc"
    return None


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: python tools/environment.py FOLDER [EXTRA ...]")
    sys.exit(main(sys.argv[1], sys.argv[2:]))
