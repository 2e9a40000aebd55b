"""`cost`: tokens, price and windows, by their definitions."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import jeton
from tests.cli.conftest import Run, run  # noqa: F401  (a fixture)
from tests.material import CORPUS, TRICKY, byte_tokenizer, tokenizer


def test_figures_by_their_definitions() -> None:
    docs = [CORPUS, *TRICKY, "short"]
    toks = {"bytes": byte_tokenizer(), "trained": tokenizer("byte o200k")}
    found = jeton.cost(toks, docs, price={"trained": 3.0}, window=100, progress=False)
    for name, tok in toks.items():
        counts, cost = [tok.count(doc) for doc in docs], found[name]
        assert (cost.tokens, cost.documents, cost.bytes) == (sum(counts), len(docs), len("".join(docs).encode()))
        assert cost.over_window == sum(count > 100 for count in counts)
        assert cost.windows == sum(math.ceil(count / 100) for count in counts)
        assert [tokens for tokens, _ in cost.largest] == sorted(counts, reverse=True)[:5]
        assert cost.largest[0][1] == "corpus[0]"
    assert found["bytes"].price is None
    assert found["trained"].price == found["trained"].tokens * 3.0 / 1e6


def test_table_shows_the_requested_columns() -> None:
    heading = str(jeton.cost([byte_tokenizer()], ["abc"], progress=False)).splitlines()[0]
    assert heading.split() == ["tokenizer", "tokens", "bytes/tok"]
    text = str(jeton.cost([byte_tokenizer()] * 2, ["abc"], price={"2": 1e6}, window={"1": 2}, progress=False))
    assert [line.split()[1:] for line in text.splitlines()[1:]] == [
        ["3", "1.000", "–", "1", "2"],
        ["3", "1.000", "3.00", "–", "–"],
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"price": -1}, "price=-1 is not a number of at least 0"),
        ({"price": float("nan")}, "price=nan"),
        ({"price": True}, "price=True"),
        ({"price": {"x": 1}}, "price= has 'x', which is not the name of a tokenizer; tokenizers: tok"),
        ({"window": 0}, "window=0"),
    ],
)
def test_invalid_options_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(jeton.ConfigError, match=message):
        jeton.cost(byte_tokenizer(), ["abc"], **options)  # type: ignore[arg-type]
    with pytest.raises(jeton.ConfigError, match="no tokenizers to measure"):
        jeton.cost({}, ["abc"])


def test_the_command_prints_costs_and_skips_bad_rows(run: Run, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "rows.jsonl").write_text('{"text": "one"}\n{"text": "two words"}\nbad\n')
    args = ["cost", tmp_path / "rows.jsonl", "--price", "2.5", "--window", "1k", "--errors", "skip"]
    found = run(*args, "--json")
    assert found.code == 3
    (row,) = json.loads(found.text)
    assert (row["documents"], row["tokens"], row["window"]) == (2, 3, 1000)
    assert "rows.jsonl:2" in run(*args).text
    path = tmp_path / "bytes.json"
    byte_tokenizer().save(path)
    both = run(
        "cost", "-t", path, "--price", 1, "-t", "default", "--price", 2, tmp_path / "rows.jsonl", "--errors", "skip"
    )
    assert both.code == 3
    assert len(both.text.splitlines()) == 4
    wrong = run("cost", "-t", path, "-t", path, "-t", path, "--price", 1, "--price", 2, tmp_path / "rows.jsonl")
    assert wrong.code == 2
    assert "--price is given 2 times for 3 tokenizers" in wrong.err
