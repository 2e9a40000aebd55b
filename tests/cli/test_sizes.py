"""``jeton sizes``: the library's result as a table, lines of JSON and a plot."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import jeton

from .conftest import CORPUS, Run


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "lines.txt"
    path.write_text(
        "".join(f"{i} {line} {i * i}\n" for i, line in enumerate(CORPUS.splitlines() * 4)), encoding="utf-8"
    )
    return path


def test_the_table_equals_that_of_the_library(run: Run, corpus: Path) -> None:
    result = run("sizes", corpus, "-s", "280,320", "--hidden", 16, "--documents", "line")
    found = jeton.sizes(jeton.Corpus(corpus, documents="line"), [280, 320], hidden=16, progress=False)
    assert (result.code, result.text) == (0, f"{found}\n")
    assert "measured on" in result.err


def test_every_option_reaches_the_library(run: Run, corpus: Path, tmp_path: Path) -> None:
    test = tmp_path / "test.txt"
    test.write_text("low lower", encoding="utf-8")
    out, plot = tmp_path / "out.json", tmp_path / "sizes.svg"
    options = ["-s", "1k,300", "--hidden", 16, "--tied", "--test", test, "--pattern", "gpt2", "--special-token", "<a>"]
    more = ["--documents", "line", "--sample", "2kB", "--seed", 3, "--weight", 2, "--plot", plot, "-o", out, "--json"]
    result = run("sizes", corpus, *options, *more)
    found = jeton.sizes(
        jeton.Corpus([jeton.Source(corpus, 2)], documents="line", sample_bytes=2000, seed=3),
        [300, 1000], hidden=16, tied=True, test=jeton.Corpus(test, documents="line"), pattern="gpt2",
        special_tokens=["<a>"], progress=False,
    )  # fmt: skip
    assert result.code == 0
    assert (
        [json.loads(line) for line in result.text.splitlines()]
        == [row.to_json() for row in found]
        == found.to_json()["sizes"]
    )
    assert jeton.load(out) == found.tok
    assert plot.read_bytes().startswith(b"<?xml")


@pytest.mark.parametrize("sizes", ["many", "300;400", "", "8k,"])
def test_an_invalid_list_of_sizes_is_a_usage_error(run: Run, corpus: Path, sizes: str) -> None:
    result = run("sizes", corpus, "-s", sizes)
    assert result.code == 2
    assert "is not a list of sizes like 8000,16000" in result.err


def test_a_size_under_the_alphabet_is_an_error(run: Run, corpus: Path) -> None:
    result = run("sizes", corpus, "-s", "100,300", "--documents", "line")
    assert result.code == 1
    assert "--sizes 100 is too small" in result.err
