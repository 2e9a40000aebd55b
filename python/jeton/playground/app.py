"""Paths → answers, and the files of the page.

Every answer is JSON and every question runs in a thread, a few at a time, for the core releases the interpreter. A
file of the page is served if it was there when the app was made; no path of a request is ever a path of the disk.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any
from urllib.parse import unquote

import anyio
import anyio.to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ..errors import ConfigError, JetonError
from .api import NAMES, find
from .catalog import Catalog
from .request_guard import MAX_BODY_BYTES, RequestGuard

__all__ = ["make_app"]

_LOG = logging.getLogger("jeton")

# By the file's suffix, and not as a machine's own table has it: without the right type a browser runs no module.
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
# Questions at work at the same time; a person types faster than ten megabytes are encoded.
NUM_AT_WORK = 4


def make_app(catalog: Catalog, port: int, *, max_body_bytes: int = MAX_BODY_BYTES) -> RequestGuard:
    """The playground as an ASGI app, behind its door.

    Args:
        catalog: the tokenizers there are.
        port: the port of this machine it will be reached at.
        max_body_bytes: longer requests are refused.
    """
    endpoints = _Endpoints(catalog)
    routes = [
        Route("/api/tokenizers", endpoints.tokenizers, methods=["GET", "PUT"]),
        *(Route(f"/api/{name}", endpoints.question(name), methods=["POST"]) for name in NAMES),
        *(Route(path, _page(file), methods=["GET"]) for path, file in _files().items()),
    ]
    errors: Mapping[Any, Callable[[Request, Exception], Response]] = {HTTPException: _http_error, Exception: _fault}
    app = Starlette(routes=routes, exception_handlers=errors)
    app.router.redirect_slashes = False
    return RequestGuard(app, port, max_body_bytes)


class _Endpoints:
    """Takes questions and gives answers."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._limiter: anyio.CapacityLimiter | None = None

    async def tokenizers(self, request: Request) -> Response:
        """GET: which tokenizers there are. PUT: more of them, from files that were opened on the page."""
        if request.method != "PUT":
            return await self._work(request, self._catalog.describe)
        data = await request.body()
        header = request.headers.get("x-files", "")
        return await self._work(request, lambda: self._catalog.open(_files_of(header, data)))

    def question(self, name: str) -> Callable[[Request], Any]:
        """The endpoint of one kind of question."""

        async def endpoint(request: Request) -> Response:
            body = await request.body()
            return await self._work(request, lambda: find(name)(self._catalog, _read(body)))

        return endpoint

    async def _work(self, request: Request, work: Callable[[], Any]) -> Response:
        """Does it in a thread, unless nobody waits for it anymore."""
        if self._limiter is None:  # made inside the loop that it belongs to
            self._limiter = anyio.CapacityLimiter(NUM_AT_WORK)
        async with self._limiter:
            if await request.is_disconnected():
                return Response(status_code=499)
            return await anyio.to_thread.run_sync(_answered, work)


def _answered(work: Callable[[], Any]) -> Response:
    try:
        return _json(work())
    except JetonError as error:
        return _json({"error": str(error), "kind": type(error).__name__}, 400)
    except OSError as error:  # a file that is gone or not to be read
        return _json({"error": error.strerror or str(error), "kind": type(error).__name__}, 400)
    except Exception as error:
        return _fault(None, error)


def _files_of(header: str, data: bytes) -> list[tuple[str, bytes]]:
    """The files of a request: the header has names and sizes, as JSON in percent-encoding, the body their bytes."""
    try:
        listed = [(str(name), int(size)) for name, size in json.loads(unquote(header))]
    except (ValueError, TypeError, RecursionError):
        listed = []
    if not listed or any(size < 0 for _, size in listed) or sum(size for _, size in listed) != len(data):
        raise ConfigError("the request's X-Files is not a list of names and sizes that are those of the body")
    files, start = [], 0
    for name, size in listed:
        files.append((name, data[start : start + size]))
        start += size
    return files


def _read(body: bytes) -> dict[str, Any]:
    try:
        request = json.loads(body)
    except (ValueError, RecursionError):
        raise ConfigError("the request is not JSON") from None
    if not isinstance(request, dict):
        raise ConfigError("the request is not a JSON object")
    return request


def _json(answer: Any, status: int = 200) -> Response:
    # a lone surrogate, which a text may hold and UTF-8 may not, can only come from an echo in a message
    body = json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return Response(body, status, media_type="application/json")


def _fault(_: Request | None, error: Exception) -> Response:
    _LOG.error("the playground cannot answer; this is a fault of Jeton", exc_info=error)
    return _json({"error": "Jeton failed here; the terminal shows how", "kind": "InternalError"}, 500)


def _http_error(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    words = {404: "there is no such page", 405: "this page takes no such request"}.get(status, "refused")
    response = _json({"error": words, "kind": "HTTPError"}, status)
    if isinstance(error, HTTPException):
        response.headers.update(error.headers or {})
    return response


def _files() -> dict[str, Traversable]:
    """Path → file of the page."""
    found: dict[str, Traversable] = {}

    def walk(folder: Traversable, path: str) -> None:
        for entry in folder.iterdir():
            if entry.is_dir():
                walk(entry, f"{path}{entry.name}/")
            elif _suffix(entry.name) in TYPES:
                found[path + entry.name] = entry

    walk(resources.files(__package__) / "static", "/")
    found["/"] = found.pop("/index.html")
    return found


def _suffix(name: str) -> str:
    return "." + name.rpartition(".")[2]


def _page(file: Traversable) -> Callable[[Request], Any]:
    async def endpoint(request: Request) -> Response:
        return Response(file.read_bytes(), headers={"Content-Type": TYPES[_suffix(file.name)]})

    return endpoint
