"""A server on this machine in place of the network, and an environment without caches of the user."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

VARIABLES = (
    "JETON_OFFLINE",
    "TIKTOKEN_CACHE_DIR",
    "DATA_GYM_CACHE_DIR",
    "HF_HUB_OFFLINE",
    "TRANSFORMERS_OFFLINE",
    "HF_HUB_CACHE",
    "HF_TOKEN",
    "HUGGING_FACE_HUB_TOKEN",
    "http_proxy",
    "https_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
)


class Server:
    """Records its requests. ``answers[path]`` is a body, or a function of the handler."""

    def __init__(self) -> None:
        self.answers: dict[str, bytes | Callable[[BaseHTTPRequestHandler], None]] = {}
        self.requests: list[str] = []
        self.headers: list[dict[str, str]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                path = unquote(urlsplit(self.path).path)
                server.requests.append(path)
                server.headers.append(dict(self.headers))
                answer = server.answers.get(path)
                if answer is None:
                    reply(self, b"not here", status=404)
                elif isinstance(answer, bytes):
                    reply(self, answer)
                else:
                    answer(self)

            def do_HEAD(self) -> None:
                self.do_GET()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def reply(
    handler: BaseHTTPRequestHandler, body: bytes, *, status: int = 200, length: int | None = None, **headers: str
) -> None:
    """An answer with a body; `length` is a false length, after which the connection ends."""
    handler.send_response(status)
    handler.send_header("Content-Length", str(len(body) if length is None else length))
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    if handler.command != "HEAD":
        handler.wfile.write(body)
    if length is not None:
        handler.close_connection = True


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    made = Server()
    monkeypatch.setenv("JETON_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("JETON_REGISTRY_URL", made.url)
    monkeypatch.setenv("HF_ENDPOINT", made.url)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("HF_TOKEN_PATH", str(tmp_path / "token"))
    yield made
    made.close()


COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub:
    """A repository as the hub serves it."""

    def __init__(self, server: Server, name: str = "owner/name") -> None:
        self.server, self.name = server, name

    def put(self, files: dict[str, bytes], *, commit: str = COMMIT, large: tuple[str, ...] = ()) -> None:
        """Serves these files; those in `large` have a sha256, as files in LFS."""
        siblings: list[dict[str, Any]] = []
        for name, content in files.items():
            git = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
            sha256 = hashlib.sha256(content).hexdigest()
            entry: dict[str, Any] = {"rfilename": name, "size": len(content), "blobId": git}
            if name in large:
                entry["lfs"] = {"sha256": sha256, "size": len(content), "pointerSize": 130}
            siblings.append(entry)
            etag = f'"{sha256 if name in large else git}"'
            self.server.answers[f"/{self.name}/resolve/{commit}/{name}"] = self._file(content, etag, commit)
        info = json.dumps({"id": self.name, "sha": commit, "siblings": siblings}).encode()
        for revision in ("main", commit):
            self.server.answers[f"/api/models/{self.name}/revision/{revision}"] = info

    @staticmethod
    def _file(content: bytes, etag: str, commit: str) -> Callable[[BaseHTTPRequestHandler], None]:
        return lambda handler: reply(handler, content, ETag=etag, X_Repo_Commit=commit)

    def fail(self, status: int, **headers: str) -> None:
        """Answers every request about the repository with this status."""
        for path in [*self.server.answers, *(f"/api/models/{self.name}/revision/{r}" for r in ("main", COMMIT))]:
            self.server.answers[path] = lambda handler: reply(handler, b'{"error": "no"}', status=status, **headers)


@pytest.fixture
def hub(server: Server) -> Hub:
    pytest.importorskip("huggingface_hub")
    return Hub(server)
