"""A short run of `fuzz/templates.py` with fixed seeds: hostile templates in processes with limited memory."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from ..material import TESTDATA
from ..selection import amount

pytest.importorskip("jinja2")

SCRIPT = TESTDATA.parent / "fuzz" / "templates.py"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="each template runs in a forked process")
@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    "command",
    [["bombs", "--each", str(amount(2, default=1))], ["run", "--templates", str(amount(25, default=8))]],
    ids=lambda c: c[0],
)
def test_template_bombs_end_within_limits(command: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *command, "--max-seconds", "0.5"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
