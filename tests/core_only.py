"""A Python as after `pip install .`: a process in which only the standard library and the core dependencies import.

The core dependencies are read from pyproject.toml. Everything else looks as if it were not installed, in this process
and in those that it starts.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
CORE = [
    re.match(r"[\w-]+", requirement)[0]  # type: ignore[index]
    for requirement in tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
]

# Python imports `sitecustomize` at its start. Finders beyond the three of Python's own belong to installed packages.
SITECUSTOMIZE = f"""
import sys
from importlib.machinery import BuiltinImporter, FrozenImporter, PathFinder

ALLOWED = sys.stdlib_module_names | set({CORE}) | {{"jeton", "sitecustomize"}}

class CoreFinder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        top = name.partition(".")[0]
        allowed = top in ALLOWED or top.startswith("_sysconfigdata")
        return PathFinder.find_spec(name, path, target) if allowed else None

sys.meta_path[:] = [BuiltinImporter, FrozenImporter, CoreFinder]
"""


def run_core_only(folder: Path, *arguments: str | Path) -> str:
    """Runs Python with these arguments in `folder`, and returns what it printed; anything on standard error fails."""
    site = folder / "core_only"
    site.mkdir(exist_ok=True)
    (site / "sitecustomize.py").write_text(SITECUSTOMIZE, encoding="utf-8")
    import jeton

    path = os.pathsep.join([str(site), str(Path(jeton.__file__).parents[1])])
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONUTF8": "1"}
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, env=environment, cwd=folder, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stderr.decode() == ""
    return done.stdout.decode()
