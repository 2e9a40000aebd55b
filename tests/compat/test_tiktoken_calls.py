"""Generated calls of the drop-in for tiktoken and of tiktoken: `tools/compat_calls.py`, on few calls."""

from __future__ import annotations

import importlib
import os
from pathlib import Path

import pytest
from tools.compat_calls import differences

import jeton.compat.tiktoken as tiktoken
from tests.selection import amount

peer = pytest.importorskip("tiktoken", reason="tiktoken is a test dependency")

DATA = os.environ.get("JETON_TEST_DATA")


@pytest.mark.parametrize("seed", range(2))
def test_generated_calls_give_equal_results(seed: int) -> None:
    found, counts = differences(amount(2_000, default=200), 100 + seed, Path(DATA) if DATA else None)
    assert not found, "\n".join(found)
    assert len(counts) > 25


@pytest.mark.parametrize("name", ["", ".core", ".load", ".model", ".registry", "._educational"])
def test_the_drop_in_has_every_public_name(name: str) -> None:
    theirs = importlib.import_module(f"tiktoken{name}")
    ours = importlib.import_module(f"jeton.compat.tiktoken{name}")
    defined = {
        key
        for key, value in vars(theirs).items()
        if not key.startswith("_") and getattr(value, "__module__", theirs.__name__) == theirs.__name__
        if type(value).__name__ not in ("module", "_Feature")
    }
    assert {key for key in defined if not hasattr(ours, key)} == set()
    if name == ".core":
        assert {key for key in dir(peer.Encoding) if not hasattr(tiktoken.Encoding, key)} == set()
        made = {"pat_str": ".", "mergeable_ranks": {b"a": 0}, "special_tokens": {}}
        theirs, ours = peer.Encoding("a", **made), tiktoken.Encoding("a", **made)
        assert {key for key in dir(theirs._core_bpe) if not hasattr(ours._core_bpe, key)} == set()
        assert {key for key in vars(theirs) if not hasattr(ours, key)} == set()


def test_models_and_constructors_equal_the_originals() -> None:
    model = importlib.import_module("tiktoken.model")
    ours = importlib.import_module("jeton.compat.tiktoken.model")
    assert ours.MODEL_TO_ENCODING.items() >= model.MODEL_TO_ENCODING.items()
    assert ours.MODEL_PREFIX_TO_ENCODING.items() >= model.MODEL_PREFIX_TO_ENCODING.items()
    assert set(tiktoken.list_encoding_names()) == set(peer.list_encoding_names())


def test_published_facts_equal_the_originals(cache: Path) -> None:
    for name in ("r50k_base", "p50k_base", "p50k_edit", "cl100k_base", "o200k_base", "o200k_harmony"):
        ours, theirs = tiktoken.get_encoding(name), peer.get_encoding(name)
        assert (ours._pat_str, ours._special_tokens) == (theirs._pat_str, theirs._special_tokens)
        assert (ours.n_vocab, ours.special_tokens_set) == (theirs.n_vocab, theirs.special_tokens_set)
        text = "Naïve 今天 l'été\n\n  x = 1234567; don't\t\r\n<|endoftext|>"
        assert ours.encode(text, allowed_special="all") == theirs.encode(text, allowed_special="all")
        assert ours.decode([theirs.n_vocab - 1]) == theirs.decode([theirs.n_vocab - 1])
