"""``jeton play`` prints its address, answers, and ends with Ctrl-C; errors are one line."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from .conftest import Run

pytest.importorskip("uvicorn", reason="the playground needs the extra play")


@contextmanager
def playing(*args: object) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Runs a playground in its own process; yields the process and its address."""
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


def test_the_printed_address_answers_and_ctrl_c_ends_quietly(path: Path) -> None:
    with playing("-t", path) as (process, url):
        assert url.startswith("http://127.0.0.1:")
        assert b"<title>Jeton" in get(url)
        keys = [entry["key"] for entry in json.loads(get(url + "api/tokenizers"))]
        assert keys == ["small", "default", "lessons", "bytes"]
        start = time.perf_counter()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 130
        assert time.perf_counter() - start < 5
        assert process.stderr is not None
        said = process.stderr.read().decode()
        assert said.splitlines() == ["the playground is open; press Ctrl-C to stop it", "jeton: interrupted"]


def test_ctrl_c_ends_quietly_while_requests_run(path: Path) -> None:
    """One request lacks its body, and others of ten megabytes take longer than the time limit."""
    with playing("-t", path, "-q") as (process, url), ExitStack() as stack:
        host, port = url.removeprefix("http://").rstrip("/").split(":")

        def begin(body: bytes, length: int) -> None:
            connection = stack.enter_context(socket.create_connection((host, int(port)), timeout=20))
            head = f"POST /api/tokens HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: {length}\r\n\r\n"
            connection.sendall(head.encode() + body)

        text = "".join(f"word{n * n % 99_991} " for n in range(110_000)) * 10
        long = json.dumps({"tokenizer": "small", "text": text, "limit": 200_000}).encode()
        assert len(long) > 10_000_000
        begin(b"{", 100)
        for _ in range(3):
            begin(long, len(long))
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
        assert process.returncode == 130
        assert said.decode().splitlines() == ["jeton: interrupted"]


def test_refused_upgrades_print_nothing() -> None:
    with playing("-q") as (process, url):
        headers = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(urllib.request.Request(url + "api/tokens", headers=headers), timeout=20)
        upgrade = b"GET / HTTP/1.1\r\nHost: %b\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
        host, port = url.removeprefix("http://").rstrip("/").split(":")
        for request in (upgrade % f"{host}:{port}".encode(), b"no HTTP at all\r\n\r\n"):
            with socket.create_connection((host, int(port)), timeout=20) as connection:
                connection.sendall(request)
                assert connection.recv(100).startswith(b"HTTP/1.1")
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
        assert said.decode().splitlines() == ["jeton: interrupted"]


def test_the_default_port_if_free_and_otherwise_another(path: Path) -> None:
    with ExitStack() as stack:
        first = stack.enter_context(playing("-q"))[1]  # 7777, unless another program on this machine uses it
        second = stack.enter_context(playing("-q"))[1]
        assert b"<title>Jeton" in get(first)
        assert b"<title>Jeton" in get(second)
        assert second.startswith("http://127.0.0.1:")
        assert second not in (first, "http://127.0.0.1:7777/")


def test_the_default_port_is_that_of_the_lessons(monkeypatch: pytest.MonkeyPatch) -> None:
    from jeton.playground import server

    with server.bind() as probe:  # a free port in place of the default
        port = probe.getsockname()[1]
    assert server.DEFAULT_PORT == 7777
    monkeypatch.setattr(server, "DEFAULT_PORT", port)
    with server.bind(None) as usual:
        assert usual.getsockname()[1] == port
        with server.bind(None) as other:
            assert other.getsockname()[1] != port


def test_the_page_has_the_given_folder_and_port(path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with playing("--vocabs", path.parent, "--port", port, "--json", "-q") as (_, line):
        url = json.loads(line)["url"]
        assert url == f"http://127.0.0.1:{port}/"
        assert "small" in [entry["key"] for entry in json.loads(get(url + "api/tokenizers"))]


def test_the_server_listens_on_the_loopback_address_only(path: Path) -> None:
    with playing("-q") as (_, url):
        port = int(url.rstrip("/").rpartition(":")[2])
        with socket.socket() as other:  # the port is free on every other address of this machine
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            other.bind(("127.0.0.2", port))


def test_a_port_in_use_is_an_error(run: Run) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = run("play", "--no-browser", "--port", port)
    assert (result.code, result.out) == (1, b"")
    assert result.err == f"jeton: port {port} is in use; omit --port to use a free one\n"


def test_a_missing_tokenizer_is_an_error(run: Run) -> None:
    result = run("play", "--no-browser", "-t", "nowhere.json")
    assert result.code == 1
    assert "no file or folder 'nowhere.json'" in result.err


@pytest.mark.parametrize("args", [("--port", "70000"), ("--vocabs", "nowhere"), ("extra",)])
def test_wrong_options_are_a_usage_error(run: Run, args: tuple[str, ...]) -> None:
    assert run("play", "--no-browser", *args).code == 2


@pytest.mark.parametrize("package", ["uvicorn", "starlette"])
def test_a_missing_package_names_the_extra(run: Run, monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    for name in list(sys.modules):
        if name.partition(".")[0] == package or name.startswith("jeton.playground"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    result = run("play", "--no-browser")
    assert result.code == 1
    assert result.err.startswith(f"jeton: jeton play needs {package}")
    assert result.err.endswith("pip install 'jeton[play]'\n")
