"""``jeton measure``: the library's table as text, JSON and CSV."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import jeton

from .conftest import CORPUS, Run


def test_figures_equal_those_of_the_library(run: Run, tok: jeton.Tokenizer, path: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(CORPUS, encoding="utf-8")
    expected = jeton.measure(tok, [CORPUS])
    for place, data in ((tmp_path, b""), ("-", CORPUS.encode())):
        facts = json.loads(run("measure", "-t", path, "--json", place, input=data).text)
        assert facts["tokens"] == expected.tokens == len(tok.encode(CORPUS))
        assert facts["bytes"] == len(CORPUS.encode())
        assert facts["bytes_per_token"] == expected.bytes_per_token
    heading, row, *_ = run("measure", "-t", path, tmp_path).text.splitlines()
    assert heading.split()[:3] == ["source", "tokens", "bytes/tok"]
    assert row.split()[1:3] == [f"{expected.tokens:,}", f"{expected.bytes_per_token:.3f}"]


def test_each_source_has_a_row_per_tokenizer(run: Run, tok: jeton.Tokenizer, path: Path, tmp_path: Path) -> None:
    other = tmp_path / "bytes.json"
    jeton.Tokenizer.from_merges({i: bytes([i]) for i in range(256)}, []).save(other)
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "a.txt").write_text(CORPUS, encoding="utf-8")
    (texts / "b.txt").write_text("the old tale\n" * 9, encoding="utf-8")
    both = ["-t", path, "-t", other]
    found = run("measure", *both, texts / "a.txt", texts / "b.txt", "--json", "--baseline", other)
    records = [json.loads(line) for line in found.text.splitlines()]
    assert [record["source"] for record in records] == [
        str(texts / name) for name in ("a.txt", "a.txt", "b.txt", "b.txt")
    ] + [
        "total",
        "total",
    ]
    assert [record["tokenizer"] for record in records] == [str(path), str(other)] * 3
    assert [record["relative_tokens"] for record in records[1::2]] == [1.0] * 3
    assert records[0]["tokens"] == len(tok.encode(CORPUS))
    rows = csv.DictReader(run("measure", *both, texts, "--by-file", "--csv", "--sort", "tokens").text.splitlines())
    sizes = {record["source"]: record["tokens"] for record in records[:-2:2]}
    assert [row["source"] for row in rows][:-2:2] == sorted(sizes, key=lambda name: -sizes[name])


def test_limit_time_plot_and_no_words(run: Run, path: Path, tmp_path: Path) -> None:
    text, plot = tmp_path / "a.txt", tmp_path / "plot.svg"
    text.write_text("the old tale\n" * 1000, encoding="utf-8")
    more = ["--limit", "1.3k", "--repeat", 2, "--no-words", "--plot", plot]
    found = run("measure", "-t", path, text, "--json", *more)
    facts = json.loads(found.text)
    assert (facts["bytes"], facts["words"]) == (1300, None)
    assert facts["seconds_per_mb"] > 0
    assert plot.read_bytes().startswith(b"<?xml")
    assert "plotted" in found.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--csv", "--json"], "--csv and --json cannot be combined"),
        (["--baseline", "other"], "--baseline other is not one of the tokenizers"),
        (["--limit", "much"], "'much' is not a size"),
        (["--sort", "colour"], "'colour' is not one of"),
        (["--plot", "plot.txt"], "the suffix of a plot is .png"),
    ],
)
def test_wrong_options_are_a_usage_error(
    run: Run, path: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    (tmp_path / "a.txt").write_text("text")
    found = run("measure", "-t", path, tmp_path / "a.txt", *arguments)
    assert found.code == 2
    assert message in found.err


def test_a_missing_corpus_is_an_error(run: Run, path: Path, tmp_path: Path) -> None:
    assert run("measure", "-t", path).code == 2
    assert run("measure", "-t", path, tmp_path / "missing").code == 1
