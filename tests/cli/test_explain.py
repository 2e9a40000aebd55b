"""``jeton explain``: words, color and JSON of the library's explanation."""

from __future__ import annotations

import json
from pathlib import Path

import jeton

from .conftest import Run


def test_text_output_equals_that_of_the_library(run: Run, tok: jeton.Tokenizer, path: Path) -> None:
    result = run("explain", "-t", path, "lowest newest")
    assert (result.code, result.err) == (0, "")
    assert result.text == tok.explain("lowest newest").to_terminal(color=False) + "\n"
    assert "no mergeable pair left: stop" in result.text
    assert "rank" in result.text


def test_several_texts_are_separated_by_blank_lines(run: Run, tok: jeton.Tokenizer, path: Path) -> None:
    low, new = (tok.explain(text).to_terminal(color=False) for text in ("low", "new"))
    assert run("explain", "-t", path, "low", "new").text == f"{low}\n\n{new}\n"


def test_color_in_a_terminal(run: Run, path: Path) -> None:
    assert "\x1b[" in run("explain", "-t", path, "lowest", terminal=True).text


def test_json_has_the_documented_schema(run: Run, tok: jeton.Tokenizer, path: Path) -> None:
    text = "lowest 今<|end|>"
    data = json.loads(run("explain", "-t", path, "--json", "--special", "all", text).text)
    assert data["text"] == text
    assert "".join(pretoken["text"] for pretoken in data["pretokens"]) == text
    merges = {(left, right): (rank, id) for rank, (left, right, id) in enumerate(tok.merges)}
    shown = [merge for pretoken in data["pretokens"] for merge in pretoken["merges"]]
    assert shown
    for merge in shown:
        assert merges[merge["left"], merge["right"]] == (merge["rank"], merge["result"])
    assert [token["id"] for token in data["tokens"]] == tok.encode(text, special="all")
    assert b"".join(bytes.fromhex(token["bytes_hex"]) for token in data["tokens"]).decode() == text
    assert data["pretokens"][-1]["special"] is True


def test_every_merge_replayed_ends_in_the_ids(tok: jeton.Tokenizer) -> None:
    explanation = tok.explain("lowest newer widest 今天的天气 " * 5)
    for pretoken in explanation.pretokens:
        *_, last = explanation.sequences(pretoken)
        assert last == list(pretoken.ids)
        assert b"".join(tok.id_to_bytes(id) for id in last) == pretoken.text


def test_bytes_that_are_not_utf8_are_in_the_json(run: Run, path: Path) -> None:
    data = json.loads(run("explain", "-t", path, "--json", input=b"low\xff").text)
    assert bytes.fromhex(data["bytes_hex"]) == b"low\xff"
