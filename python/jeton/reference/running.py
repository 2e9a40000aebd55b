"""Helpers to run a lesson as a file or as a module, with Jeton installed or without.

Both commands print the examples of a lesson, also from a checkout that has not been built:

    python step04_train.py
    python -m jeton.reference.step04_train

A file that Python runs directly belongs to no package, so its relative imports would fail. In this case a lesson first
imports this module, which declares that the lesson belongs to the package of its folder.
"""

from __future__ import annotations

import importlib.util
import io
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

__all__ = ["jeton_command", "unless_closed", "with_jeton"]

# If the encoding of an output stream is not UTF-8 and cannot represent a character, the character is escaped.
for stream in (sys.stdout, sys.stderr):
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")

if not __package__:
    FOLDER = Path(__file__).resolve().parent
    sys.path.append(str(FOLDER.parent))
    vars(sys.modules["__main__"])["__package__"] = FOLDER.name


def unless_closed(command: Callable[[], int]) -> int:
    """Call `command` and return its exit status, or 0 if the program that reads the output, such as `head`, has ended.

    Examples:
        >>> unless_closed(lambda: 2)
        2
    """
    try:
        status = command()
        sys.stdout.flush()  # raises the error here if the pipe is closed
    except BrokenPipeError:
        # Otherwise Python would report the closed pipe again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return status


def with_jeton(compare: Callable[[], None]) -> None:
    """Run `compare`, which runs the examples of a lesson with Jeton. If Jeton is missing, print how to install it.

    Examples:
        >>> with_jeton(lambda: print("equal"))  # doctest: +SKIP
        equal
    """
    if importlib.util.find_spec("jeton") and importlib.util.find_spec("jeton._core"):
        compare()
    else:
        print("Not compared with Jeton, which is not installed here: pip install jeton")


def jeton_command(command: str) -> str:
    """Run a command line of Jeton, print it with its output, and return the output.

    Examples:
        >>> _ = jeton_command("jeton count --tokenizer gpt2 'hello world'")  # doctest: +SKIP
        $ jeton count --tokenizer gpt2 'hello world'
        2
    """
    program, *arguments = shlex.split(command)
    if program != "jeton":
        raise ValueError(f"the command is {program!r}, expected 'jeton'")
    run = [sys.executable, "-X", "utf8", "-m", "jeton.cli", *arguments]
    done = subprocess.run(run, capture_output=True, text=True, encoding="utf-8", check=False, timeout=60)
    if done.returncode:
        raise RuntimeError(f"{command}: exit status {done.returncode}: {done.stderr.strip()}")
    print("$", command)
    print(done.stdout, end="")
    return done.stdout
