"""Who may come in: requests that this machine's own page makes, and nobody else's.

A page anywhere on the web can send requests to a port of this machine, and a name that its owner points to 127.0.0.1
makes them look like ours. So ``Host`` must be our address, and ``Origin``, where there is one, too; a browser that says
where a request comes from (``Sec-Fetch-Site``) is believed for the questions, while a link from elsewhere may open the
page. A body that is too long is refused before it is read, one that stops or takes too long is given up. What the page
may load is said in every answer, errors included.

Left out: encryption and accounts, which a server for one machine has no use for; and a limit of time for the headers,
for uvicorn has none and an app sees nothing of a request before they end. A program on this machine can keep
connections open with it; a page in a browser cannot.
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

# The largest published tokenizer.json has 33.4 million bytes.
MAX_BODY_BYTES = 32 << 20
# Between two parts of a body, and for all of it, on one machine.
PATIENCE_S = 20.0
WHOLE_PATIENCE_S = 60.0

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
    """An ASGI app around another one.

    Args:
        app: what is behind the door.
        port: the port of this machine that is listened to.
        max_body_bytes: longer bodies are refused.
    """

    def __init__(self, app: App, port: int, max_body_bytes: int = MAX_BODY_BYTES) -> None:
        self._app = app
        self._hosts = {f"127.0.0.1:{port}".encode(), f"localhost:{port}".encode()}
        if port == 80:  # the port that nobody writes
            self._hosts |= {b"127.0.0.1", b"localhost"}
        self._origins = {b"http://" + host for host in self._hosts}
        self._max_body_bytes = max_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers, or lets in."""
        if scope["type"] != "http":
            raise ValueError(f"the playground speaks HTTP alone, not {scope['type']}")

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                ours = {name for name, _ in _HEADERS}
                message["headers"] = [*_HEADERS, *(pair for pair in message["headers"] if pair[0].lower() not in ours)]
            await send(message)

        try:
            self._look(scope)
            body = await self._whole_body(receive)
        except _RefusedError as refused:
            await _refuse(refused, send_with_headers)
            return
        if body is not None:  # else the other side has gone
            await self._app(scope, _giving(body, receive), send_with_headers)

    def _look(self, scope: Scope) -> None:
        """Refuses what need not be read for that."""
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        hosts = [value for name, value in headers if name == b"host"]
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            raise _RefusedError(403, "this is not the address of the playground")
        origins = [value for name, value in headers if name == b"origin"]
        if any(origin not in self._origins for origin in origins):
            raise _RefusedError(403, "the playground answers its own page only")
        sites = [value for name, value in headers if name == b"sec-fetch-site"]
        if scope["path"].startswith("/api/") and any(site not in (b"same-origin", b"none") for site in sites):
            raise _RefusedError(403, "the playground answers its own page only")
        lengths = [value for name, value in headers if name == b"content-length"]
        # compared as digits are: a number of a thousand digits is not worth a conversion
        if any(not value.isdigit() or len(value.lstrip(b"0")) > 15 for value in lengths):
            raise _RefusedError(413, self._too_long())
        if any(int(value) > self._max_body_bytes for value in lengths):
            raise _RefusedError(413, self._too_long())

    async def _whole_body(self, receive: Receive) -> bytes | None:
        """The body, whatever the headers say of it, unless it is too long or too slow; None: it broke off."""
        body = bytearray()
        more = True
        end = asyncio.get_running_loop().time() + WHOLE_PATIENCE_S
        while more:
            left = end - asyncio.get_running_loop().time()
            try:
                message = await asyncio.wait_for(receive(), min(left, PATIENCE_S))
            except TimeoutError:
                waited = WHOLE_PATIENCE_S if left < PATIENCE_S else PATIENCE_S
                raise _RefusedError(408, f"the rest of the request did not come within {waited:.0f} s") from None
            if message["type"] != "http.request":
                return None
            body += message.get("body", b"")
            if len(body) > self._max_body_bytes:
                raise _RefusedError(413, self._too_long())
            more = message.get("more_body", False)
        return bytes(body)

    def _too_long(self) -> str:
        return f"the request has more than {self._max_body_bytes >> 20} MB, which is the most that is read"


def _giving(body: bytes, receive: Receive) -> Receive:
    """Gives the body once; what comes after it is news that the other side has gone."""
    given = False

    async def giving() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return giving


class _RefusedError(Exception):
    """A request that is not let in: its HTTP status, and why."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


async def _refuse(refused: _RefusedError, send: Send) -> None:
    body = json.dumps({"error": str(refused), "kind": "Refused"}).encode()
    # the rest of the body is not read, so the connection cannot go on
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
