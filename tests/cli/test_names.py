"""``jeton names`` lists what -t accepts."""

from __future__ import annotations

import json

import jeton

from .conftest import Run


def test_each_tokenizer_has_a_line(run: Run) -> None:
    done = run("names")
    assert (done.code, done.err) == (0, "")
    lines = done.text.splitlines()
    assert lines[0] == "* default"
    assert [line[2:].split()[0] for line in lines] == [tok.name for tok in jeton.names()]
    assert any(line[2:].startswith("o200k_base        o200k, gpt-5, gpt-4.1, gpt-4o, ") for line in lines)


def test_words_filter_the_list(run: Run) -> None:
    assert [json.loads(line)["name"] for line in run("names", "GPT-4o", "--json").text.splitlines()] == ["o200k_base"]
    assert run("names", "gpt", "oss").text.split()[-2:] == ["o200k_harmony", "gpt-oss-*"]
    assert run("names", "no such tokenizer").out == b""


def test_json_has_every_fact(run: Run) -> None:
    listed = [json.loads(line) for line in run("names", "--json").text.splitlines()]
    assert [tok["name"] for tok in listed] == [tok.name for tok in jeton.names()]
    assert listed[0] == jeton.names()[0].to_json() | {"aliases": [], "models": [], "model_prefixes": []}
