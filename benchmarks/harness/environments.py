"""Virtual environments of the engines, with pinned packages, created on first use.

The name of an environment's folder contains a digest of interpreter and pins, and a marker file is written at the end
of the installation, so a changed pin or an interrupted installation creates a new one.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tomllib
import venv
from dataclasses import dataclass
from pathlib import Path

__all__ = ["JETON", "EngineSetup", "engines", "interpreter"]

FILE = Path(__file__).resolve().parent.parent / "environments.toml"
JETON = "jeton"


@dataclass(frozen=True)
class EngineSetup:
    """Name of an engine, module of its adapter, and pins of its environment (none: the current interpreter)."""

    name: str
    adapter: str
    packages: tuple[str, ...] = ()

    @property
    def distribution(self) -> str:
        """Package that defines the version of the engine."""
        return self.packages[0].partition("==")[0] if self.packages else self.name


def engines() -> dict[str, EngineSetup]:
    """All engines, Jeton first."""
    found = {JETON: EngineSetup(JETON, "jeton_engine")}
    for name, facts in tomllib.loads(FILE.read_text("utf-8")).items():
        found[name] = EngineSetup(name, facts["adapter"], tuple(facts["packages"]))
    return found


def interpreter(engine: EngineSetup, folder: Path) -> Path:
    """Returns the Python interpreter of an engine; installs the engine on first use.

    Raises:
        RuntimeError: the installation failed; with the end of pip's output.
    """
    if not engine.packages:
        return Path(sys.executable)
    wanted = hashlib.sha256(repr((sys.version, engine.packages)).encode()).hexdigest()[:10]
    place = folder / f"{engine.name.replace(' ', '-')}-{wanted}"
    python = place / "bin" / "python"
    finished = place / "finished"
    if finished.exists():
        return python
    print(f"making the environment of {engine.name}: {' '.join(engine.packages)}", file=sys.stderr, flush=True)
    shutil.rmtree(place, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    venv.create(place, with_pip=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--only-binary", ":all:", *engine.packages]
    done = subprocess.run(install, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{engine.name} could not be installed into {place}:\n{done.stderr.strip()[-1500:]}")
    finished.touch()
    return python
