"""The page without a server, with small tokenizers of every kind, for node and for Chromium."""

from __future__ import annotations

import functools
import http.server
import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import jeton

from ...material import CORPUS, tokenizer

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "tools"))

import build_page  # noqa: E402
from page.compiler import is_current, module_path  # noqa: E402

sys.path.remove(str(ROOT / "tools"))

Request = tuple[str, dict[str, Any]]
KEYS = ("unigram", "wordpiece", "pieces", "characters", "words", "default", "lessons", "bytes")


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A tokenizer of each kind of model."""
    folder = tmp_path_factory.mktemp("kinds")
    unigram = jeton.train([CORPUS], 118, preset="sentencepiece-unigram", progress=False)
    unigram.save(folder / "unigram.model")
    pieces = jeton.train([CORPUS], 200, preset="sentencepiece", progress=False)
    pieces.save(folder / "pieces.model")
    jeton.train([CORPUS], 300, preset="bert", progress=False).save(folder / "wordpiece.json")
    tokenizer("char gpt2").save(folder / "characters.json")
    tokenizer("words suffix").save(folder / "words.json")
    return [str(path) for path in sorted(folder.iterdir())]


@pytest.fixture(scope="session")
def module() -> bytes:
    """The core as WebAssembly."""
    if not is_current():
        pytest.skip("the core is not compiled to WebAssembly, or older than its sources: make page")
    return module_path().read_bytes()


@pytest.fixture(scope="session")
def site(module: bytes, files: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the page, below that of its versions."""
    folder = build_page.version_folder(tmp_path_factory.mktemp("site"))
    build_page.build(folder, module, files)
    build_page.lead_to_version(folder.parent)
    return folder


@pytest.fixture(scope="session")
def engine() -> Callable[..., list[Any]]:
    """``engine(site, requests, language="en")``: answers of the page's worker, in node."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node on this machine")

    def ask(site: Path, requests: list[Request], language: str = "en") -> list[Any]:
        folder = next((site / "engine").iterdir())
        command = [node, str(Path(__file__).parent / "ask.mjs"), str(folder), language]
        done = subprocess.run(command, input=json.dumps(requests).encode(), capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        answers: list[Any] = json.loads(done.stdout)
        return answers

    return ask


@pytest.fixture(scope="session")
def static_address(site: Path) -> Iterator[str]:
    """The address of a plain file server for the page, below a folder as on most hosts."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(site.parent.parent))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/{site.parent.name}/{site.name}/"
        server.shutdown()
        thread.join(timeout=30)
