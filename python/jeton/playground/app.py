"""The ASGI application: API endpoints and static files.

Responses of endpoints are JSON. Endpoints run in a thread pool of `NUM_AT_WORK` threads, because the core releases the
GIL. The routes of static files are fixed when the app is created, so no request path is used as a file system path.
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

from .. import __version__
from ..errors import ConfigError, JetonError
from ..util.language import LANGUAGES, in_language, read_catalog, use_language
from .api import NAMES, find
from .catalog import Catalog
from .request_guard import MAX_BODY_BYTES, RequestGuard

__all__ = ["make_app"]

_LOG = logging.getLogger("jeton")

# A fixed table, because `mimetypes` reads the machine's table, and browsers reject modules with a wrong type.
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
# Maximum number of concurrent endpoint calls. Each change of a text is a call; for long texts, calls wait in a queue.
NUM_AT_WORK = 4


def make_app(catalog: Catalog, port: int, *, max_body_bytes: int = MAX_BODY_BYTES) -> RequestGuard:
    """Creates the ASGI app of the playground, wrapped in a `RequestGuard`.

    Args:
        catalog: the available tokenizers.
        port: the port at which the app is served.
        max_body_bytes: maximum length of a request body.
    """
    endpoints = _Endpoints(catalog)
    routes = [
        Route("/api/tokenizers", endpoints.tokenizers, methods=["GET", "PUT"]),
        *(Route(f"/api/{name}", endpoints.question(name), methods=["POST"]) for name in NAMES),
        *(Route(path, _page(file), methods=["GET"]) for path, file in _files().items()),
        *(Route(f"/strings.{name}.json", _strings(name), methods=["GET"]) for name in LANGUAGES),
    ]
    errors: Mapping[Any, Callable[[Request, Exception], Response]] = {HTTPException: _http_error, Exception: _fault}
    app = Starlette(routes=routes, exception_handlers=errors)
    app.router.redirect_slashes = False
    return RequestGuard(app, port, max_body_bytes)


class _Endpoints:
    """Endpoint functions over one catalog, with a common limit on concurrency."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._limiter: anyio.CapacityLimiter | None = None

    async def tokenizers(self, request: Request) -> Response:
        """GET: lists the tokenizers. PUT: adds tokenizers from uploaded files."""
        if request.method != "PUT":
            return await self._work(request, self._catalog.describe)
        data = await request.body()
        header = request.headers.get("x-files", "")
        return await self._work(request, lambda: self._catalog.open(_files_of(header, data)))

    def question(self, name: str) -> Callable[[Request], Any]:
        """Returns the ASGI endpoint for an API function."""

        async def endpoint(request: Request) -> Response:
            body = await request.body()
            return await self._work(request, lambda: find(name)(self._catalog, _read(body)))

        return endpoint

    async def _work(self, request: Request, work: Callable[[], Any]) -> Response:
        """Runs a call in a worker thread, unless the client has disconnected."""
        if self._limiter is None:  # must be created inside the event loop
            self._limiter = anyio.CapacityLimiter(NUM_AT_WORK)
        language = request.headers.get("accept-language", "en")
        async with self._limiter:
            if await request.is_disconnected():
                return Response(status_code=499)
            return await anyio.to_thread.run_sync(_respond, work, language if language in LANGUAGES else "en")


def _respond(work: Callable[[], Any], language: str) -> Response:
    """Builds the response in `language`; without this, messages would be in the language of the server's shell."""
    with use_language(language):
        try:
            return _json(work())
        except JetonError as error:
            return _json({"error": in_language(str(error)), "kind": type(error).__name__}, 400)
        except OSError as error:  # a tokenizer file was removed or cannot be read
            message = in_language(error.strerror or str(error))
            return _json({"error": message, "kind": type(error).__name__}, 400)
        except Exception as error:
            return _fault(None, error)


def _strings(language: str) -> Callable[[Request], Any]:
    """Returns the ASGI endpoint for the translations of a language."""

    async def endpoint(request: Request) -> Response:
        return _json(read_catalog("strings", language))

    return endpoint


def _files_of(header: str, data: bytes) -> list[tuple[str, bytes]]:
    """Splits an upload into files. `header` lists names and sizes as percent-encoded JSON; `data` has the contents."""
    try:
        listed = [(name, size) for name, size in json.loads(unquote(header))]
    except (ValueError, TypeError, RecursionError):
        listed = []
    are_typed = all(type(name) is str and type(size) is int and size >= 0 for name, size in listed)
    if not listed or not are_typed or sum(size for _, size in listed) != len(data):
        raise ConfigError("the header X-Files is not a list of names and sizes that add up to the length of the body")
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
    # Only an error message that quotes the input can contain a lone surrogate. UTF-8 cannot represent a lone surrogate,
    # so "replace" writes "?" for it.
    body = json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return Response(body, status, media_type="application/json")


def _fault(_: Request | None, error: Exception) -> Response:
    _LOG.error("internal error in the playground; please report this bug of Jeton", exc_info=error)
    message = in_language("Internal error of Jeton; the terminal shows the traceback")
    return _json({"error": message, "kind": "InternalError"}, 500)


def _http_error(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    message = {404: "not found", 405: "method not allowed"}.get(status, "rejected")
    response = _json({"error": message, "kind": "HTTPError"}, status)
    if isinstance(error, HTTPException):
        response.headers.update(error.headers or {})
    return response


def _files() -> dict[str, Traversable]:
    """Returns path → static file."""
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
    """Returns the ASGI endpoint for a static file; the HTML page gets Jeton's version in a `meta` element."""
    blank, version = (f'<meta name="jeton-version" content="{value}">'.encode() for value in ("", __version__))

    async def endpoint(request: Request) -> Response:
        data = file.read_bytes().replace(blank, version)
        return Response(data, headers={"Content-Type": TYPES[_suffix(file.name)]})

    return endpoint
