"""Vocabularies that the page downloads: only named ones, only on request, only with the right hash."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import pytest

import jeton
from jeton.formats.registry import REGISTRY, KnownRankFile
from jeton.playground.api.download import answer
from jeton.playground.catalog import Catalog

from ...formats.remote.conftest import Server, server

__all__ = ["server"]  # a fixture

RANKS = b"".join(base64.b64encode(bytes([byte])) + b" %d\n" % byte for byte in range(256))
TINY = KnownRankFile(
    "tiny_base",
    "https://example.invalid/encodings/tiny_base.tiktoken",
    hashlib.sha256(RANKS).hexdigest(),
    "gpt2",
    {},
    num_bytes=len(RANKS),
)
PATH = f"/tiny_base-{TINY.sha256[:8]}.tiktoken"


@pytest.fixture
def catalog(server: Server, monkeypatch: pytest.MonkeyPatch) -> Catalog:
    monkeypatch.setitem(REGISTRY, "tiny_base", TINY)
    server.answers[PATH] = RANKS
    return Catalog(cached=False)


def names(catalog: Catalog) -> list[str]:
    """Names with a size and a hash; repositories of the hub have neither."""
    return [entry["name"] for entry in answer(catalog, {})["downloads"] if entry["bytes"]]


def test_the_list_downloads_nothing(server: Server, catalog: Catalog) -> None:
    listed = answer(catalog, {})["downloads"]
    tiny = {"name": "tiny_base", "bytes": len(RANKS), "host": "example.invalid", "models": ()}
    assert [entry for entry in listed if entry["bytes"]][-1] == tiny
    hub = [entry for entry in listed if not entry["bytes"]]
    assert {"deepseek", "qwen3"} <= {model for entry in hub for model in entry["models"]}
    assert {entry["host"] for entry in hub} == {"huggingface.co"}
    assert names(catalog) == ["r50k_base", "cl100k_base", "o200k_base", "llama3", "tiny_base"]
    assert server.requests == []


def test_a_name_is_downloaded_once_and_added(server: Server, catalog: Catalog) -> None:
    entry = answer(catalog, {"name": "tiny_base"})["entry"]
    assert (entry["key"], entry["loaded"], entry["vocab_size"]) == ("tiny_base", True, 256)
    assert catalog.get("tiny_base").encode("hi") == [104, 105]
    assert "tiny_base" not in names(catalog)
    assert answer(catalog, {"name": "tiny_base"})["entry"] == entry
    assert server.requests == [PATH]


def test_a_file_with_another_hash_is_refused(server: Server, catalog: Catalog) -> None:
    server.answers[PATH] = RANKS + b"\n"
    with pytest.raises(jeton.errors.DownloadError):
        answer(catalog, {"name": "tiny_base"})
    assert "tiny_base" in names(catalog)


@pytest.mark.parametrize("name", ["p50k_base", "hf:owner/name", "/etc/passwd", "", "x" * 1000])
def test_no_other_name_is_downloaded(server: Server, catalog: Catalog, name: str) -> None:
    with pytest.raises(jeton.ConfigError):
        answer(catalog, {"name": name})
    assert server.requests == []


def test_offline_mode_refuses_downloads(server: Server, catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JETON_OFFLINE", "1")
    with pytest.raises(jeton.errors.DownloadError, match="JETON_OFFLINE"):
        answer(catalog, {"name": "tiny_base"})


def test_sizes_are_those_of_the_files(data: Path) -> None:
    for known in REGISTRY.values():
        if known.num_bytes:
            name = "llama3" if known.name.startswith("llama3") else known.url.rpartition("/")[2].partition(".")[0]
            content = (data / "vocabs" / f"{name}.tiktoken").read_bytes()
            assert (len(content), hashlib.sha256(content).hexdigest()) == (known.num_bytes, known.sha256)
