"""``jeton measure``: the library's figures, for people and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import jeton

from .conftest import CORPUS, Run


def test_figures(run: Run, tok: jeton.Tokenizer, path: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(CORPUS, encoding="utf-8")
    expected = jeton.measure(tok, [CORPUS])
    for place, data in ((tmp_path, b""), ("-", CORPUS.encode())):
        facts = json.loads(run("measure", "-t", path, "--json", place, input=data).text)
        assert facts["tokens"] == expected.tokens == len(tok.encode(CORPUS))
        assert facts["bytes"] == len(CORPUS.encode())
        assert facts["bytes_per_token"] == expected.bytes_per_token
    lines = run("measure", "-t", path, tmp_path).text.splitlines()
    assert f"{expected.bytes_per_token:,.4f}" in lines[0]
    assert any(line.split() == ["tokens", f"{expected.tokens:,}"] for line in lines)


def test_a_missing_corpus(run: Run, path: Path, tmp_path: Path) -> None:
    assert run("measure", "-t", path).code == 2
    assert run("measure", "-t", path, tmp_path / "missing").code == 1
