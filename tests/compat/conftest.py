"""A small encoding, and a cache of tiktoken with the published rank files of the data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tools.compat_calls import PATTERNS, SPECIAL, published, small_ranks

from jeton.compat.tiktoken import Encoding, registry


@pytest.fixture(scope="session")
def facts() -> dict[str, Any]:
    """Arguments of `Encoding`."""
    return {"pat_str": PATTERNS["gpt2"], "mergeable_ranks": small_ranks(), "special_tokens": dict(SPECIAL)}


@pytest.fixture(scope="session")
def enc(facts: dict[str, Any]) -> Encoding:
    return Encoding("small", **facts)


@pytest.fixture
def cache(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache of tiktoken, and a registry without loaded encodings."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")  # restored after the test
    published(data, str(tmp_path))
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(registry, "ENCODINGS", {})
    return tmp_path
