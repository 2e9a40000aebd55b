"""Request validation: ASGI middleware that accepts only requests of the playground's own page.

Any web page can send requests to a local port, and DNS rebinding makes them same-origin. The middleware therefore
checks that ``Host`` and, if present, ``Origin`` are the server's address. For API endpoints it also checks that
``Sec-Fetch-Site``, if present, is ``same-origin`` or ``none``. A cross-site link can still open the page. The size of a
body and the time to receive it are limited. Every response, errors included, has a Content-Security-Policy and related
headers.

Left out: encryption and authentication, since the server listens on the loopback interface only; and a timeout for
request headers, which uvicorn does not have and an app cannot add. So a local program can keep connections open, but a
page in a browser cannot.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

__all__ = ["HEADERS", "MAX_BODY_BYTES", "RequestGuard"]

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

# Default limit; the largest published tokenizer.json has 33.4 million bytes.
MAX_BODY_BYTES = 32 << 20
# Timeouts in seconds: between two chunks of a body, and for the whole body.
CHUNK_TIMEOUT_S = 20.0
BODY_TIMEOUT_S = 60.0

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_HEADERS = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]


class RequestGuard:
    """ASGI middleware that validates requests.

    Args:
        app: the wrapped application.
        port: the port at which the app is served.
        max_body_bytes: maximum length of a request body.
    """

    def __init__(self, app: App, port: int, max_body_bytes: int = MAX_BODY_BYTES) -> None:
        self._app = app
        self._hosts = {f"127.0.0.1:{port}".encode(), f"localhost:{port}".encode()}
        if port == 80:  # browsers omit the default port in `Host`
            self._hosts |= {b"127.0.0.1", b"localhost"}
        self._origins = {b"http://" + host for host in self._hosts}
        self._max_body_bytes = max_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Rejects the request or passes it to the wrapped application."""
        if scope["type"] != "http":
            raise ValueError(f"the playground supports only HTTP, not {scope['type']}")

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                ours = {name for name, _ in _HEADERS}
                message["headers"] = [*_HEADERS, *(pair for pair in message["headers"] if pair[0].lower() not in ours)]
            await send(message)

        try:
            self._check_headers(scope)
            body = await self._whole_body(receive)
        except _RefusedError as refused:
            await _refuse(refused, send_with_headers)
            return
        if body is not None:  # None: the client has disconnected
            await self._app(scope, _replay(body, receive), send_with_headers)

    def _check_headers(self, scope: Scope) -> None:
        """Checks the headers, before the body is read."""
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        hosts = [value for name, value in headers if name == b"host"]
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            raise _RefusedError(403, "the Host header is not the address of the playground")
        origins = [value for name, value in headers if name == b"origin"]
        if any(origin not in self._origins for origin in origins):
            raise _RefusedError(403, "the playground accepts requests of its own page only")
        sites = [value for name, value in headers if name == b"sec-fetch-site"]
        if scope["path"].startswith("/api/") and any(site not in (b"same-origin", b"none") for site in sites):
            raise _RefusedError(403, "the playground accepts requests of its own page only")
        lengths = [value for name, value in headers if name == b"content-length"]
        # the number of digits is checked first, since Python limits the digits that `int` converts
        if any(not value.isdigit() or len(value.lstrip(b"0")) > 15 for value in lengths):
            raise _RefusedError(413, self._too_long())
        if any(int(value) > self._max_body_bytes for value in lengths):
            raise _RefusedError(413, self._too_long())

    async def _whole_body(self, receive: Receive) -> bytes | None:
        """Reads the whole body within the limits of size and time; returns None if the client has disconnected."""
        body = bytearray()
        more = True
        end = asyncio.get_running_loop().time() + BODY_TIMEOUT_S
        while more:
            left = end - asyncio.get_running_loop().time()
            try:
                message = await asyncio.wait_for(receive(), min(left, CHUNK_TIMEOUT_S))
            except TimeoutError:
                waited = BODY_TIMEOUT_S if left < CHUNK_TIMEOUT_S else CHUNK_TIMEOUT_S
                raise _RefusedError(408, f"the request body did not arrive within {waited:.0f} s") from None
            if message["type"] != "http.request":
                return None
            body += message.get("body", b"")
            if len(body) > self._max_body_bytes:
                raise _RefusedError(413, self._too_long())
            more = message.get("more_body", False)
        return bytes(body)

    def _too_long(self) -> str:
        return f"the request body exceeds the limit of {self._max_body_bytes >> 20} MB"


def _replay(body: bytes, receive: Receive) -> Receive:
    """Returns an ASGI `receive` that gives the body first, then the messages of the server (disconnects)."""
    is_sent = False

    async def replay() -> Message:
        nonlocal is_sent
        if is_sent:
            return await receive()
        is_sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


class _RefusedError(Exception):
    """A rejected request: HTTP status and reason."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


async def _refuse(refused: _RefusedError, send: Send) -> None:
    body = json.dumps({"error": str(refused), "kind": "Refused"}).encode()
    # "close": the rest of the body is unread, so the connection cannot be reused
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
