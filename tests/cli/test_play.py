"""``jeton play``: it says where it is, answers, and ends with Ctrl-C; what goes wrong is said in a line."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .conftest import Run

pytest.importorskip("uvicorn", reason="the playground needs the extra play")


@contextmanager
def playing(*args: object) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A playground in a process of its own, and its first line."""
    command = [sys.executable, "-m", "jeton.cli", "play", "--no-browser", *map(str, args)]
    environment = {
        **os.environ,
        "JETON_OFFLINE": "1",
        "JETON_CACHE_DIR": "/nonexistent",
        "HF_HUB_CACHE": "/nonexistent",
    }
    environment.pop("PYTHONUNBUFFERED", None)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline().decode().strip()
    finally:
        process.kill()
        process.communicate()


def get(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=20) as answer:
        return bytes(answer.read())


def test_it_answers_where_it_says_and_ends_quietly(path: Path) -> None:
    with playing("-t", path) as (process, url):
        assert url.startswith("http://127.0.0.1:")
        assert b"<title>Jeton" in get(url)
        keys = [entry["key"] for entry in json.loads(get(url + "api/tokenizers"))]
        assert keys == ["small", "lessons", "bytes"]
        start = time.perf_counter()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 130
        assert time.perf_counter() - start < 5
        assert process.stderr is not None
        said = process.stderr.read().decode()
        assert said.splitlines() == ["the playground is open; Ctrl-C ends it", "jeton: interrupted"]


def test_a_folder_and_a_port(path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with playing("--vocabs", path.parent, "--port", port, "--json", "-q") as (_, line):
        url = json.loads(line)["url"]
        assert url == f"http://127.0.0.1:{port}/"
        assert "small" in [entry["key"] for entry in json.loads(get(url + "api/tokenizers"))]


def test_it_listens_to_this_machine_only(path: Path) -> None:
    with playing("-q") as (_, url):
        port = int(url.rstrip("/").rpartition(":")[2])
        with socket.socket() as other:  # the port is free on every other address of this machine
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            other.bind(("127.0.0.2", port))


def test_a_port_that_is_taken(run: Run) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = run("play", "--no-browser", "--port", port)
    assert (result.code, result.out) == (1, b"")
    assert result.err == f"jeton: port {port} is taken by another program; without --port a free one is found\n"


def test_a_tokenizer_that_is_not_there(run: Run) -> None:
    result = run("play", "--no-browser", "-t", "nowhere.json")
    assert result.code == 1
    assert "no file or folder 'nowhere.json'" in result.err


@pytest.mark.parametrize("args", [("--port", "70000"), ("--vocabs", "nowhere"), ("extra",)])
def test_wrong_usage(run: Run, args: tuple[str, ...]) -> None:
    assert run("play", "--no-browser", *args).code == 2


@pytest.mark.parametrize("package", ["uvicorn", "starlette"])
def test_the_extra_is_named_where_it_is_missing(run: Run, monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    for name in list(sys.modules):
        if name.partition(".")[0] == package or name.startswith("jeton.playground"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    result = run("play", "--no-browser")
    assert result.code == 1
    assert result.err.startswith(f"jeton: jeton play needs {package}")
    assert result.err.endswith("pip install 'jeton[play]'\n")
