"""``jeton vocab``: one line per entry, and searches in the text of tokens."""

from __future__ import annotations

import json
from pathlib import Path

import jeton

from .conftest import CORPUS, Run


def test_every_entry_has_a_line(run: Run, tok: jeton.Tokenizer, path: Path) -> None:
    lines = run("vocab", "-t", path).text.splitlines()
    assert [int(line.split()[0]) for line in lines] == sorted(tok.vocab)
    assert lines[ord("A")].split() == ["65", "A", "41"]
    assert lines[ord("\n")].split() == ["10", "↵", "0a"]
    assert lines[-1].split()[:2] == ["299", "<|end|>"]
    assert lines[-1].endswith("special")
    left, right, id = tok.merges[0]
    assert f"({left}, {right}) " in lines[id]
    assert lines[id].endswith("rank 0")


def test_grep_searches_the_text_itself(run: Run, tok: jeton.Tokenizer, path: Path) -> None:
    lines = run("vocab", "-t", path, "--json", "--grep", "^ n").text.splitlines()
    found = {entry["id"] for entry in map(json.loads, lines)}
    assert found == {id for id, token in tok.vocab.items() if token.startswith(b" n")}
    assert found


def test_grep_without_a_match_is_exit_code_0(run: Run, path: Path) -> None:
    assert run("vocab", "-t", path, "--grep", "not in there") == (0, b"", "")


def test_an_invalid_regular_expression_is_a_usage_error(run: Run, path: Path) -> None:
    result = run("vocab", "-t", path, "--grep", "(")
    assert (result.code, result.out) == (2, b"")
    assert "regular expression" in result.err


def test_json_has_every_fact(run: Run, tok: jeton.Tokenizer, path: Path) -> None:
    entries = [json.loads(line) for line in run("vocab", "-t", path, "--json").text.splitlines()]
    assert {entry["id"]: bytes.fromhex(entry["bytes_hex"]) for entry in entries} == dict(tok.vocab)
    assert [entry["token"] for entry in entries if entry["special"]] == ["<|end|>"]
    merges = {entry["merge"]["rank"]: entry for entry in entries if entry["merge"]}
    assert [(merges[r]["merge"]["left"], merges[r]["merge"]["right"], merges[r]["id"]) for r in sorted(merges)] == list(
        tok.merges
    )


def test_pieces_that_decode_to_nothing_show_their_spelling(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "small.model"
    jeton.train([CORPUS], 40, preset="sentencepiece", progress=False).save(path)
    lines = run("vocab", "-t", path).text.splitlines()
    assert [line.split()[1] for line in lines[:3]] == ["<unk>", "<s>", "</s>"]
    entries = [json.loads(line) for line in run("vocab", "-t", path, "--json", "--grep", "^</?s>$").text.splitlines()]
    assert [(entry["token"], entry["bytes_hex"]) for entry in entries] == [("<s>", ""), ("</s>", "")]
