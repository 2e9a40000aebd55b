"""A running playground, Chromium, and a page whose errors fail the test."""

from __future__ import annotations

import http.client
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytest.importorskip("starlette", reason="the playground needs the extra play")
pytest.importorskip("uvicorn", reason="the playground needs the extra play")

from jeton.playground.catalog import Catalog
from jeton.playground.server import bind, make_server

from ..material import tokenizer

# Functions of each module with browser tests that the default selection has: the first ones, which are about what the
# module is for.
KEPT = 3
FUNCTIONS = pytest.StashKey[list[str]]()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Leaves the later browser tests of each module to ``JETON_TESTS=all``: each takes seconds."""
    module = item.getparent(pytest.Module)
    if module is None or "chromium" not in getattr(item, "fixturenames", ()):
        return
    functions = module.stash.setdefault(FUNCTIONS, [])
    function = item.nodeid.partition("[")[0]
    if function not in functions:
        functions.append(function)
    if functions.index(function) >= KEPT:
        item.add_marker(pytest.mark.slow(reason=f"the first {KEPT} browser tests of each module"))


@contextmanager
def running(catalog: Catalog) -> Iterator[str]:
    """Runs a playground with these tokenizers; yields its address."""
    with bind() as listener:
        port = listener.getsockname()[1]
        server = make_server(catalog, port)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            server.should_exit = True
            thread.join(timeout=30)
            assert not thread.is_alive()


@pytest.fixture(scope="session")
def vocabs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a few small tokenizers."""
    folder = tmp_path_factory.mktemp("vocabs")
    tokenizer("byte gpt2").save(folder / "small.json")
    tokenizer("char gpt2").save(folder / "characters.json")
    (folder / "torn.json").write_text('{"model": {"type": "BPE"')
    return folder


@pytest.fixture(scope="session")
def catalog(vocabs: Path) -> Catalog:
    return Catalog(folder=vocabs, cached=False)


@pytest.fixture(scope="session")
def address(catalog: Catalog) -> Iterator[str]:
    """The address of the playground of the tests."""
    with running(catalog) as address:
        yield address


class Reply(NamedTuple):
    """A response of the server."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Send = Callable[..., Reply]


@pytest.fixture
def send(address: str) -> Send:
    """``send("POST", "/api/tokens", {…})``, with the headers as given and the path as it is."""

    def send(method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Reply:
        host = address.removeprefix("http://")
        connection = http.client.HTTPConnection(host, timeout=30)
        data = json.dumps(body).encode() if isinstance(body, dict | list) else body
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in ({"Host": host} | dict(headers or {})).items():
                connection.putheader(name, value)
            if isinstance(data, bytes) and not any(name.lower() == "content-length" for name in headers or {}):
                connection.putheader("Content-Length", str(len(data)))
            connection.endheaders(data)
            answer = connection.getresponse()
            return Reply(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    return send


# ── Chromium ──────────────────────────────────────────────────────────────────────────────────────────────────────


class Problems(list[str]):
    """Errors on a page: of scripts, of the console and of requests."""

    def watch(self, page: Any) -> None:
        page.on("pageerror", lambda error: self.append(f"script: {error}"))
        page.on("console", lambda message: self.append(message.text) if message.type in ("error", "warning") else None)
        page.on("requestfailed", lambda request: self._failed(request))

    def _failed(self, request: Any) -> None:
        if request.failure != "net::ERR_ABORTED":  # a request that a newer one replaced
            self.append(f"{request.url}: {request.failure}")

    def forgive(self, words: str) -> None:
        """Removes an error that a test has caused on purpose; it must have occurred."""
        left = [problem for problem in self if words not in problem]
        assert len(left) < len(self), f"no complaint of {words!r}: {list(self)}"
        self[:] = left


@pytest.fixture
def problems() -> Problems:
    return Problems()


@pytest.fixture
def context_options() -> dict[str, Any]:
    """Options of the browser's context; a test overrides them by parametrizing this fixture."""
    return {"viewport": {"width": 1280, "height": 900}}


@pytest.fixture
def page(chromium: Any, address: str, problems: Problems, context_options: dict[str, Any]) -> Iterator[Any]:
    """A new page of the playground, without stored state; errors on it fail the test."""
    context = chromium.new_context(base_url=address, **context_options)
    context.set_default_timeout(15_000)
    page = context.new_page()
    problems.watch(page)
    yield page
    context.close()
    assert not problems, "\n".join(problems)


@pytest.fixture
def open_page(page: Any) -> Callable[..., Any]:
    """``open_page(view="tokens", text="…")``: opens the playground in a state, and waits until it is ready."""

    def open_page(**state: Any) -> Any:
        from urllib.parse import urlencode

        pairs = [(k, v) if isinstance(v, str) else (f"{k}:", json.dumps(v)) for k, v in state.items()]
        page.goto("/#" + urlencode(pairs))
        page.wait_for_selector("html[data-ready]", state="attached")
        return page

    return open_page


def choose(page: Any, name: str, label: str = "Tokenizer") -> None:
    """Chooses an option of a combobox by typing."""
    box = page.get_by_role("combobox", name=label, exact=True)
    box.fill(name)
    box.press("Enter")


def wait_until(page: Any, script: str) -> None:
    """Waits until a JavaScript expression is true.

    `wait_for_function` calls `eval`, which the Content-Security-Policy of the page forbids.
    """
    until = time.monotonic() + 15
    while not page.evaluate(script):
        assert time.monotonic() < until, f"never true: {script}"
        page.wait_for_timeout(20)


def axe_violations(page: Any) -> list[str]:
    """Violations that the accessibility checker axe finds."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = axe.run(page).response["violations"]
    return [f"{v['id']}: {v['help']}: " + "; ".join(n["html"][:200] for n in v["nodes"][:5]) for v in found]


os.environ.setdefault("JETON_OFFLINE", "1")
