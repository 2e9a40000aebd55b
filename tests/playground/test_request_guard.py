"""Requests that the server accepts or refuses: raw requests to a real server."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import jeton.playground
from jeton.playground import request_guard
from jeton.playground.request_guard import HEADERS, MAX_BODY_BYTES

from .conftest import Send

QUESTION = {"tokenizer": "bytes", "text": "hi"}
STATIC = Path(jeton.playground.__file__).with_name("static")


@pytest.fixture
def port(address: str) -> str:
    return address.rpartition(":")[2]


class TestHost:
    @pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "LOCALHOST"])
    def test_the_playgrounds_address_is_accepted(self, send: Send, port: str, name: str) -> None:
        assert send("GET", "/", headers={"Host": f"{name}:{port}"}).status == 200

    @pytest.mark.parametrize(
        "host",
        [
            "evil.example",
            "evil.example:{port}",
            "127.0.0.1",
            "localhost",
            "127.0.0.1:1",
            "127.0.0.1:{port}.evil.example",
            "localhost.evil.example:{port}",
            "[::1]:{port}",
            "0.0.0.0:{port}",
            "user@127.0.0.1:{port}",
            "",
        ],
    )
    def test_every_other_host_is_refused(self, send: Send, port: str, host: str) -> None:
        reply = send("POST", "/api/tokens", QUESTION, {"Host": host.format(port=port)})
        assert reply.status == 403
        assert reply.json["error"] == "the Host header is not the address of the playground"

    def test_two_host_headers_are_refused(self, address: str, port: str) -> None:
        request = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nHost: evil.example\r\n\r\n"
        assert status(raw(port, request.encode())) in (400, 403)

    def test_a_missing_host_header_is_refused(self, port: str) -> None:
        assert status(raw(port, b"GET / HTTP/1.0\r\n\r\n")) == 403


class TestOrigin:
    @pytest.mark.parametrize("origin", ["http://127.0.0.1:{port}", "http://localhost:{port}"])
    def test_the_playgrounds_origin_is_accepted(self, send: Send, port: str, origin: str) -> None:
        assert send("POST", "/api/tokens", QUESTION, {"Origin": origin.format(port=port)}).status == 200

    @pytest.mark.parametrize(
        "origin",
        [
            "http://evil.example",
            "https://127.0.0.1:{port}",
            "http://127.0.0.1",
            "http://127.0.0.1:1",
            "http://127.0.0.1:{port}.evil.example",
            "null",
            "",
            "file://",
        ],
    )
    @pytest.mark.parametrize(("method", "path"), [("POST", "/api/tokens"), ("GET", "/api/tokenizers"), ("GET", "/")])
    def test_every_other_origin_is_refused(self, send: Send, port: str, origin: str, method: str, path: str) -> None:
        body = QUESTION if method == "POST" else None
        reply = send(method, path, body, {"Origin": origin.format(port=port)})
        assert (reply.status, reply.json["error"]) == (403, "the playground accepts requests of its own page only")
        assert "access-control-allow-origin" not in reply.headers

    def test_preflight_of_another_origin_is_refused(self, send: Send) -> None:
        headers = {"Origin": "http://evil.example", "Access-Control-Request-Method": "PUT"}
        assert send("OPTIONS", "/api/tokenizers", headers=headers).status == 403

    @pytest.mark.parametrize(
        ("site", "status"), [("same-origin", 200), ("none", 200), ("same-site", 403), ("cross-site", 403)]
    )
    def test_sec_fetch_site_decides_about_requests(self, send: Send, site: str, status: int) -> None:
        assert send("GET", "/api/tokenizers", headers={"Sec-Fetch-Site": site}).status == status

    def test_a_link_from_another_site_opens_the_page(self, send: Send) -> None:
        assert send("GET", "/", headers={"Sec-Fetch-Site": "cross-site"}).status == 200


class TestBody:
    def test_a_length_over_the_limit_is_refused_before_anything_is_read(self, send: Send) -> None:
        reply = send("POST", "/api/tokens", None, {"Content-Length": str(MAX_BODY_BYTES + 1)})
        assert reply.status == 413
        assert "32 MB" in reply.json["error"]

    @pytest.mark.parametrize("length", ["9" * 18, "9" * 4000])
    def test_a_huge_content_length_is_refused(self, send: Send, length: str) -> None:
        assert send("POST", "/api/tokens", None, {"Content-Length": length}).status in (400, 413)

    def test_a_body_without_length_over_the_limit_is_refused(self, port: str) -> None:
        head = f"PUT /api/tokenizers HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
        chunk = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
        with socket.create_connection(("127.0.0.1", int(port)), timeout=30) as connection:
            connection.sendall(head)
            try:
                for _ in range((MAX_BODY_BYTES >> 20) + 1):
                    connection.sendall(chunk)
            except OSError:
                pass  # refused in the meantime
            assert status(connection.recv(1 << 16)) == 413

    def test_a_missing_body_times_out(self, port: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(request_guard, "CHUNK_TIMEOUT_S", 0.2)
        start = time.perf_counter()
        request = f"POST /api/tokens HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 100\r\n\r\nx"
        assert status(raw(port, request.encode())) == 408
        assert time.perf_counter() - start < 5

    def test_a_slow_body_times_out(self, port: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(request_guard, "BODY_TIMEOUT_S", 0.5)
        start = time.perf_counter()
        head = f"POST /api/tokens HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 1000\r\n\r\n"
        with socket.create_connection(("127.0.0.1", int(port)), timeout=30) as connection:
            connection.sendall(head.encode())
            connection.settimeout(0.05)
            reply = b""
            while not reply and time.perf_counter() - start < 10:
                connection.sendall(b"x")
                with suppress(TimeoutError):
                    reply = connection.recv(1 << 16)
        assert status(reply) == 408
        assert time.perf_counter() - start < 5

    @pytest.mark.parametrize(
        "body",
        [b"", b"{", b"[]", b'"text"', b"\xff", b"[" * 100_000, b"null", b'{"tokenizer": 3}', b'{"tokenizer": "bytes"}'],
    )
    def test_an_invalid_request_gets_a_readable_error(self, send: Send, body: bytes) -> None:
        reply = send("POST", "/api/tokens", body)
        assert reply.status == 400
        assert reply.json["kind"] == "ConfigError"
        assert reply.json["error"].startswith("the request")

    @pytest.mark.parametrize(
        "files",
        [
            '[["a",Infinity]]', '[["a",NaN]]', '[["a",1e400]]', '[["a",3.0]]', '[["a","3"]]', '[["a",true]]', "[[1,3]]",
            '[["a",-1],["b",4]]', '[["a",3,4]]', '[["a"]]', '{"ab":3}', '"ab"', "[]", "3", "", "null", "[" * 9_000,
            f'[["a",{"9" * 5_000}]]', f'[["a",{"9" * 4_000}]]', "%ff",
        ],
    )  # fmt: skip
    def test_an_invalid_list_of_files_gets_a_readable_error(self, send: Send, files: str) -> None:
        reply = send("PUT", "/api/tokenizers", b"abc", {"X-Files": files})
        assert reply.status == 400
        assert reply.json["error"].startswith("the header X-Files is not a list of names and sizes")


class TestPaths:
    def test_the_page_is_served(self, send: Send) -> None:
        reply = send("GET", "/")
        assert reply.status == 200
        assert reply.headers["content-type"] == "text/html; charset=utf-8"
        assert b"<title>Jeton" in reply.body

    @pytest.mark.parametrize("file", sorted(path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*.js")))
    def test_modules_have_a_type_that_browsers_run(self, send: Send, file: str) -> None:
        reply = send("GET", f"/{file}")
        assert (reply.status, reply.headers["content-type"]) == (200, "text/javascript; charset=utf-8")
        assert reply.body == (STATIC / file).read_bytes()

    @pytest.mark.parametrize(
        "path",
        [
            "/../catalog.py",
            "/..%2fshelf.py",
            "/%2e%2e/catalog.py",
            "/views/../../catalog.py",
            "/views/..%5c..%5cshelf.py",
            "//etc/passwd",
            "/etc/passwd",
            "/views/",
            "/views",
            "/app.js/",
            "/app.js%00.html",
            "/%00",
            "/__init__.py",
            "/api",
            "/api/",
            "/api/tokens/",
            "/api/__import__",
            "/api/request_fields",
            "/index.html?x=1",
        ],
    )
    def test_other_paths_are_not_found(self, send: Send, path: str) -> None:
        assert send("GET", path).status == 404

    @pytest.mark.parametrize(
        ("method", "path", "allowed"),
        [
            ("GET", "/api/tokens", "POST"),
            ("DELETE", "/api/tokenizers", "GET"),
            ("POST", "/api/tokenizers", "PUT"),
            ("POST", "/", "GET"),
            ("PUT", "/app.js", "GET"),
            ("TRACE", "/", "GET"),
            ("OPTIONS", "/api/tokens", "POST"),
        ],
    )
    def test_other_methods_are_refused(self, send: Send, method: str, path: str, allowed: str) -> None:
        reply = send(method, path, b"" if method in ("POST", "PUT") else None)
        assert reply.status == 405
        assert allowed in reply.headers["allow"]

    def test_a_websocket_is_not_opened(self, send: Send) -> None:
        headers = {
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec-WebSocket-Key": "x" * 22 + "==",
            "Sec-WebSocket-Version": "13",
        }
        assert send("GET", "/api/tokens", headers=headers).status in (400, 404, 405, 426)


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/", {}, 200),
        ("HEAD", "/", {}, 200),
        ("GET", "/app.js", {}, 200),
        ("GET", "/style.css", {}, 200),
        ("GET", "/api/tokenizers", {}, 200),
        ("GET", "/nowhere", {}, 404),
        ("GET", "/api/tokens", {}, 405),
        ("POST", "/api/tokens", {}, 400),
        ("GET", "/", {"Host": "evil.example"}, 403),
        ("GET", "/", {"Origin": "null"}, 403),
        ("POST", "/api/tokens", {"Content-Length": str(MAX_BODY_BYTES + 1)}, 413),
    ],
)
def test_every_response_has_the_security_headers(
    send: Send, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    body = b"" if method == "POST" and "Content-Length" not in headers else None
    reply = send(method, path, body, headers)
    assert reply.status == status
    for name, value in HEADERS.items():
        assert reply.headers[name.lower()] == value
    assert "server" not in reply.headers


def test_the_policy_permits_no_other_origin() -> None:
    policy = dict(rule.strip().split(" ", 1) for rule in HEADERS["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert "unsafe" not in HEADERS["Content-Security-Policy"]


def test_static_files_have_no_inline_code_and_no_external_resources() -> None:
    for path in STATIC.rglob("*"):
        if path.is_dir():
            continue
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".html":
            assert " style=" not in text
            assert "<script>" not in text
            assert " on" not in {word[:3] for word in text.split("<")[1:] if "=" in word[:3]}
        for word in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
            "srcdoc",
            "DOMParser",
        ):
            assert word not in text, f"{path.name} has {word}"
        for place in ("http://", "https://"):
            for found in text.split(place)[1:]:
                assert found.startswith("www.w3.org/"), (
                    f"{path.name} names {place}{found[:40]}"
                )  # names of vocabularies


# ── help ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def raw(port: str, request: bytes) -> bytes:
    """The response to these bytes."""
    with socket.create_connection(("127.0.0.1", int(port)), timeout=30) as connection:
        connection.sendall(request)
        return connection.recv(1 << 16)


def status(reply: bytes) -> int:
    return int(reply.split(b" ", 2)[1])


@pytest.fixture(autouse=True)
def _the_playground_still_answers(send: Send) -> Iterator[None]:
    yield
    assert send("POST", "/api/tokens", QUESTION).json["num_tokens"] == 2
