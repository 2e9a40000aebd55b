"""Command lines run in the process of the test, with bytes as input and output."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

import jeton
from jeton.cli import main

CORPUS = "low lower lowest new newer newest wide wider widest 今天的天气很好 今天的天气不好\n" * 20


class Result(NamedTuple):
    """Exit code and output of a command line."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()


Run = Callable[..., Result]


class Terminal(io.TextIOWrapper):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """``run("encode", "-t", path, input=b"text")``."""

    def run(*args: object, input: bytes = b"", keyboard: bool = False, terminal: bool = False) -> Result:
        out, err = io.BytesIO(), io.StringIO()
        stdin = (Terminal if keyboard else io.TextIOWrapper)(io.BytesIO(input))
        stdout = (Terminal if terminal else io.TextIOWrapper)(out, encoding="utf-8", newline="")
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", stdin)
            patch.setattr(sys, "stdout", stdout)
            patch.setattr(sys, "stderr", err)
            code = main([str(arg) for arg in args])
            stdout.flush()
        return Result(code, out.getvalue(), err.getvalue())

    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return run


@pytest.fixture(scope="session")
def tok() -> jeton.Tokenizer:
    return jeton.train([CORPUS], 300, pattern="gpt2", special_tokens=["<|end|>"], progress=False)


@pytest.fixture(scope="session")
def path(tok: jeton.Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tokenizer as a file."""
    path = tmp_path_factory.mktemp("tokenizer") / "small.json"
    tok.save(path)
    return path


@pytest.fixture(scope="session")
def char_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer that needs UTF-8, and has an entry for U+FFFD."""
    path = tmp_path_factory.mktemp("tokenizer") / "char.json"
    jeton.train([CORPUS + "\ufffd"], 60, level="char", progress=False).save(path)
    return path
