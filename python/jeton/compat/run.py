"""Runs a Python program unchanged, with a library replaced by its drop-in.

    python -m jeton.compat.run tiktoken script.py [arguments]
    python -m jeton.compat.run tiktoken -m module [arguments]

At exit, standard error lists the names that the drop-in does not have, and the calls that took a slow path. Processes
that the program starts use the drop-in, too, but only those of this process are listed.
"""

from __future__ import annotations

import atexit
import os
import runpy
import sys
from importlib import import_module
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any

from ..errors import ConfigError
from . import PEERS, replace, report

__all__ = ["main"]

USAGE = f"""usage: python -m jeton.compat.run {{{",".join(PEERS)}}} (script.py | -m module) [arguments]"""
SHIMS = Path(__file__).parent / "shims"


class _MissingModules(MetaPathFinder):
    """Records imports of modules of the library that the drop-in does not have."""

    def __init__(self, library: str) -> None:
        self._prefix = library + "."

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> None:
        """Finds nothing; called after all other finders failed."""
        if fullname.startswith(self._prefix):
            report.missing(fullname)


def main(argv: list[str]) -> None:
    """Runs the program that the arguments name.

    Args:
        argv: arguments of the command line, without the interpreter and this module.

    Raises:
        SystemExit: the arguments are wrong (2), or the program raised it.
    """
    if argv[:1] in (["-h"], ["--help"]):
        print(USAGE)  # noqa: T201
        return
    is_module = argv[1:2] == ["-m"]
    program, arguments = argv[1 + is_module : 2 + is_module], argv[2 + is_module :]
    if not program:
        _refuse(USAGE)
    try:
        core: Any = import_module(f"{replace(argv[0]).__name__}.core")
    except ConfigError as error:
        _refuse(f"jeton.compat.run: {error}\n{USAGE}")
    if not is_module and not os.path.exists(program[0]):
        _refuse(f"jeton.compat.run: there is no file {program[0]}")
    core.report_missing_attributes()
    sys.meta_path.append(_MissingModules(argv[0]))
    inherited = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(SHIMS), inherited] if inherited else [str(SHIMS)])
    atexit.register(_report, argv[0])
    sys.argv = [program[0], *arguments]
    if is_module:
        sys.path[0] = os.getcwd()
        runpy.run_module(program[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(program[0]))
        runpy.run_path(program[0], run_name="__main__")


def _refuse(message: str) -> None:
    print(message, file=sys.stderr)  # noqa: T201
    raise SystemExit(2)


def _report(library: str) -> None:
    for line in report.lines():
        print(f"jeton.compat.{library}: {line}", file=sys.stderr)  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
