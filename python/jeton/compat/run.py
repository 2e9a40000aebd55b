"""Runs an unchanged Python program with libraries replaced by their drop-ins.

    python -m jeton.compat.run tiktoken script.py [arguments]
    python -m jeton.compat.run tiktoken -m module [arguments]
    python -m jeton.compat.run tiktoken,sentencepiece -c code [arguments]

Python processes that the program starts use the drop-ins, too. Processes of `multiprocessing` get this process's
`sys.path`; others get the environment variable ``PYTHONPATH``. Both begin with a folder of `shims` for each library.

At exit, standard error lists the calls of this process that took a slow path. It also lists the names that the program
looked up and that the drop-in lacks, although the installed library has them.
"""

from __future__ import annotations

import atexit
import builtins
import io
import os
import pkgutil
import runpy
import sys
from functools import partial
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import SourceFileLoader, SourcelessFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from ..errors import ConfigError
from . import PEERS, replace, report

__all__ = ["main"]

USAGE = f"""\
usage: python -m jeton.compat.run LIBRARY[,LIBRARY] (script.py | -m module | -c code) [arguments]

Runs a program unchanged, with libraries replaced by their drop-ins: {", ".join(PEERS)}.
Processes that it starts use the drop-ins, too. At exit, standard error lists slow calls of this
process, and the names of the installed libraries that the drop-ins do not have."""
SHIMS = Path(__file__).parent / "shims"


class _MissingModules(MetaPathFinder):
    """Import hook that records imports of a library's modules that the drop-in lacks."""

    def __init__(self, libraries: list[str]) -> None:
        self._prefixes = tuple(library + "." for library in libraries)

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> None:
        """Records the import and finds no module. Python calls this method after all other finders have failed."""
        if fullname.startswith(self._prefixes):
            report.missing(fullname)


def main(argv: list[str]) -> None:
    """Runs the program that the command line names.

    Args:
        argv: arguments of the command line, without the interpreter and this module.

    Raises:
        SystemExit: the arguments are wrong (2), or the program raised it.
    """
    if argv[:1] in (["-h"], ["--help"]):
        print(USAGE)  # noqa: T201
        return
    kind = argv[1] if argv[1:2] in (["-m"], ["-c"]) else ""
    program, arguments = argv[1 + bool(kind) : 2 + bool(kind)], argv[2 + bool(kind) :]
    if not program:
        _refuse(USAGE)
    libraries = [*dict.fromkeys(argv[0].split(","))]
    try:
        for library in libraries:
            core: Any = import_module(f"{replace(library).__name__}.core")
            core.report_missing_attributes()
    except ConfigError as error:
        _refuse(f"jeton.compat.run: {error}\n{USAGE}")
    if not kind and not os.path.exists(program[0]):
        _refuse(f"jeton.compat.run: there is no file {program[0]}")
    sys.meta_path.append(_MissingModules(libraries))
    atexit.register(_report, libraries, os.getpid())
    shims = [str(SHIMS / library) for library in libraries]
    inherited = os.environ.get("PYTHONPATH")
    folders = inherited.split(os.pathsep) if inherited else []
    os.environ["PYTHONPATH"] = os.pathsep.join(shims + [folder for folder in folders if folder not in shims])
    if sys.flags.safe_path:
        sys.path[:0] = shims
    else:
        sys.path[1:1] = shims  # directly after the program's folder: Python puts the folders of PYTHONPATH there, too
    sys.modules["__main__"] = _new_main()
    _run(kind, program[0], arguments)


def _new_main() -> ModuleType:
    """Returns a new module ``__main__``, in which `pickle` and `multiprocessing` find the program's names."""
    module = ModuleType("__main__")
    module.__dict__["__builtins__"] = builtins
    return module


def _run(kind: str, program: str, arguments: list[str]) -> None:
    """Runs a program in the module ``__main__``, in the same way as the interpreter."""
    sys.argv = [kind or program, *arguments]
    first, code = "", None
    if kind == "-c":
        code = compile(program, "<string>", "exec", dont_inherit=True)
    elif kind == "-m":
        first = os.getcwd()
    elif pkgutil.get_importer(program) is not None:  # a folder or an archive that contains a module __main__
        sys.path[: not sys.flags.safe_path] = [os.path.abspath(program)]
        runpy._run_module_as_main("__main__", alter_argv=False)  # type: ignore[attr-defined]
        return
    else:
        first, code = os.path.dirname(os.path.realpath(program)), _code_of(os.path.abspath(program))
    if not sys.flags.safe_path:
        sys.path[0] = first
    if code is None:
        runpy._run_module_as_main(program)  # type: ignore[attr-defined]
    else:
        exec(code, sys.modules["__main__"].__dict__)  # noqa: S102  (the user's program)


def _code_of(path: str) -> CodeType:
    """Returns the code of a script, and sets the attributes of ``__main__`` that depend on its file."""
    loader = (SourcelessFileLoader if path.endswith(".pyc") else SourceFileLoader)("__main__", path)
    sys.modules["__main__"].__dict__.update(__file__=path, __cached__=None, __loader__=loader)
    if isinstance(loader, SourcelessFileLoader):
        code = loader.get_code("__main__")
        assert code is not None  # noqa: S101  (a file loader raises instead of returning None)
        return code
    with io.open_code(path) as file:
        return compile(file.read(), path, "exec", dont_inherit=True)


def _refuse(message: str) -> None:
    print(message, file=sys.stderr)  # noqa: T201
    raise SystemExit(2)


def _report(libraries: list[str], process: int) -> None:
    if os.getpid() != process:  # a forked process: its record is a copy, which is not reported
        return
    from .originals import names_of

    for library in libraries:
        for line in report.lines(library, partial(names_of, library, [str(SHIMS / library)])):
            print(f"jeton.compat.{library}: {line}", file=sys.stderr)  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
