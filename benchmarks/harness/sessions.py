"""Processor time and memory of a program with all of its processes, also those that are children of a server."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Session", "run_session"]

SECONDS = 0.1  # between samples


@dataclass(frozen=True)
class Session:
    """Result of a program.

    Attributes:
        status: exit code.
        output, errors: standard output and error.
        cpu: processor seconds of all processes, each until its last sample.
        peak_mb: highest sum of the memory of all processes (PSS: a page that n of them share counts 1/n in each).
    """

    status: int
    output: str
    errors: str
    cpu: float
    peak_mb: float


def run_session(command: Sequence[str], folder: Path, end: Path) -> Session:
    """Runs a program in a session of its own, on Linux, and samples its processes.

    Args:
        command: program and arguments.
        folder: for files of its output.
        end: a file that the program makes where its measured work ends; later samples do not count.
    """
    end.unlink(missing_ok=True)
    seen: dict[int, float] = {}
    peak = 0.0
    with open(folder / "stdout", "w+") as output, open(folder / "stderr", "w+") as errors:
        program = subprocess.Popen(command, stdout=output, stderr=errors, start_new_session=True)
        while program.poll() is None:
            if end.exists():
                program.wait()
                break
            memory = 0.0
            for pid in _members(program.pid):
                try:
                    fields = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
                    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii")
                except OSError:  # it ended
                    continue
                seen[pid] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
                memory += int(rollup.partition("\nPss:")[2].split()[0]) / 1024
            peak = max(peak, memory)
            time.sleep(SECONDS)
        output.seek(0), errors.seek(0)
        return Session(program.returncode, output.read(), errors.read(), sum(seen.values()), peak)


def _members(session: int) -> list[int]:
    """Processes of a session."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                if os.getsid(int(entry)) == session:
                    found.append(int(entry))
            except OSError:  # it ended
                continue
    return found
