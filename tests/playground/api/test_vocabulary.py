"""``vocabulary``: searches of entries equal a plain search."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.playground.api.vocabulary import answer
from jeton.playground.catalog import Catalog

from ...timing import fastest

SHELF = Catalog(cached=False)


def found(catalog: Catalog, tokenizer: str, **request: Any) -> list[int]:
    ids: list[int] = []
    while True:
        page = answer(catalog, {"tokenizer": tokenizer, "from": len(ids), "limit": 500, **request})
        ids += [entry["id"] for entry in page["entries"]]
        if not page["entries"]:
            assert page["num"] == len(ids)
            return ids


@pytest.mark.parametrize("query", ["a", "aa", "the", " t", "天", "\n", "", "im_", "no such token"])
def test_text_is_found_anywhere_in_entries(query: str) -> None:
    tok = SHELF.get("lessons")
    special = {id: spelling.encode() for spelling, id in tok.special_tokens.items()}
    wanted = [id for id, data in tok.vocab.items() if query.encode() in special.get(id, data)]
    assert found(SHELF, "lessons", query=query) == wanted


@pytest.mark.parametrize("query", ["e5", "E5 A4", "e5a4a9", "0xe5 0xa4", r"\xe5\xa4"])
def test_bytes_are_found_at_whole_bytes(query: str) -> None:
    data = bytes.fromhex(query.lower().replace("0x", "").replace("\\x", ""))
    wanted = [id for id, token in SHELF.get("lessons").vocab.items() if data in token]
    assert wanted
    assert found(SHELF, "lessons", query=query, by="hex") == wanted


def test_ids_start_at_the_requested_id() -> None:
    ids = list(SHELF.get("lessons").vocab)
    assert found(SHELF, "lessons", query="1000", by="id") == [id for id in ids if id >= 1000]
    assert found(SHELF, "lessons", query=" ", by="id") == ids
    assert found(SHELF, "lessons", query="9999999", by="id") == []


def test_entries_are_filtered_by_kind() -> None:
    tok = SHELF.get("lessons")
    assert found(SHELF, "lessons", kind="special") == sorted(tok.special_tokens.values())
    assert found(SHELF, "lessons", kind="byte") == list(range(256))
    for id in found(SHELF, "lessons", kind="part"):
        with pytest.raises(UnicodeDecodeError):
            tok.vocab[id].decode()
    counts = answer(SHELF, {"tokenizer": "lessons"})["by_kind"]
    assert sum(counts.values()) == len(tok)
    assert counts["ordinary"] == len(found(SHELF, "lessons", kind="ordinary"))


def test_an_entry_has_bytes_spelling_and_display() -> None:
    tok = SHELF.get("lessons")
    entry = answer(SHELF, {"tokenizer": "lessons", "query": " the"})["entries"][0]
    assert bytes.fromhex(entry["hex"]) == tok.vocab[entry["id"]]
    assert entry["spelling"] == tok.id_to_token(entry["id"])
    assert entry["parts"][0] == ["space", "·", " "]
    end = answer(SHELF, {"tokenizer": "lessons", "kind": "special"})["entries"][0]
    assert (end["spelling"], end["special"]) == ("<|endoftext|>", True)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"query": "xyz", "by": "hex"}, "not hexadecimal"),
        ({"query": "e2 9", "by": "hex"}, "not hexadecimal"),
        ({"query": "-1", "by": "id"}, "not an id"),
        ({"query": "9" * 5_000, "by": "id"}, "not an id"),
        ({"query": "a", "by": "sound"}, "one of text, hex, id"),
        ({"kind": "rare"}, "one of all"),
        ({"limit": 10**6}, "integer from 1 to 500"),
        ({"from": -1}, "integer from 0"),
    ],
)
def test_invalid_requests_are_refused(request_: dict[str, Any], message: str) -> None:
    with pytest.raises(jeton.ConfigError, match=message):
        answer(SHELF, {"tokenizer": "bytes", **request_})


def test_entries_of_megabytes_are_shown_in_part() -> None:
    catalog = Catalog(cached=False)
    vocab = {**{byte: bytes([byte]) for byte in range(256)}, 256: "天".encode() * 500_000}
    key = catalog.add("long.json", jeton.Tokenizer.from_merges(vocab, []).to_bytes())["key"]
    (entry,) = answer(catalog, {"tokenizer": key, "query": "256", "by": "id"})["entries"]
    assert entry["num_bytes"] == 1_500_000
    assert len(entry["hex"]) == 400
    assert len(entry["spelling"]) == 200
    assert answer(catalog, {"tokenizer": key, "query": "天天"})["num"] == 1


def test_a_lone_surrogate_is_refused() -> None:
    with pytest.raises(jeton.InvalidTextError, match=r"the query has a lone surrogate, U\+D800, at position 1"):
        answer(SHELF, {"tokenizer": "lessons", "query": "a\ud800"})


@pytest.mark.alone
def test_200000_entries_are_searched_within_a_tenth_of_a_second(data: Path) -> None:
    catalog = Catalog(folder=data / "vocabs", cached=False)
    assert found(catalog, "mistral-v1", kind="byte") == list(range(3, 259))
    assert len(found(catalog, "bert-uncased", kind="special")) == len(catalog.get("bert-uncased").special_tokens)
    tok = catalog.get("o200k_base")
    answer(catalog, {"tokenizer": "o200k_base"})  # builds the index
    for query in ("the", "天", " straw", "e"):
        request = {"tokenizer": "o200k_base", "query": query}
        assert fastest(partial(answer, catalog, request), 0.1, time.perf_counter) < 0.1
        page = answer(catalog, request)
        special = {id: spelling.encode() for spelling, id in tok.special_tokens.items()}
        assert page["num"] == sum(query.encode() in special.get(id, token) for id, token in tok.vocab.items())
