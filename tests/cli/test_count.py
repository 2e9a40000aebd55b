"""``jeton count``: texts, standard input, and files one by one."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import jeton

from .conftest import Run


def test_counts_are_one_integer(run: Run, tok: jeton.Tokenizer, path: Path) -> None:
    assert run("count", "-t", path, "lowest newest") == (0, f"{len(tok.encode('lowest newest'))}\n".encode(), "")
    both = len(tok.encode("lowest")) + len(tok.encode("newest"))
    assert run("count", "-t", path, "lowest", "newest").text == f"{both}\n"
    assert run("count", "-t", path, input=b"low\xff\n").text == f"{len(tok.encode(b'low' + bytes([255]) + b'!'))}\n"
    assert run("count", "-t", path, input=b"").text == "0\n"
    assert json.loads(run("count", "-t", path, "--json", "lowest").text) == {"tokens": len(tok.encode("lowest"))}


def test_special_option(run: Run, path: Path) -> None:
    assert run("count", "-t", path, "--special", "all", "<|end|>").text == "1\n"
    assert int(run("count", "-t", path, "<|end|>").text) > 1


def test_each_file_has_a_line_and_the_total_is_last(run: Run, tok: jeton.Tokenizer, path: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"lowest")
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"newest\xff"))
    a, b = len(tok.encode("lowest")), len(tok.encode(b"newest\xff"))
    expected = [f"{a}\t{tmp_path}/a.txt", f"{b}\t{tmp_path}/b.txt.gz", f"{a + b}\ttotal"]
    for places in ([tmp_path], [tmp_path / "*"], [tmp_path / "a.txt", tmp_path / "b.txt.gz"]):
        assert run("count", "-t", path, "--files", *places).text.splitlines() == expected
    rows = run("count", "-t", path, "--files", "--json", tmp_path).text.splitlines()
    assert [json.loads(row) for row in rows] == [
        {"file": f"{tmp_path}/a.txt", "tokens": a},
        {"file": f"{tmp_path}/b.txt.gz", "tokens": b},
        {"total": a + b},
    ]


def test_missing_files_are_an_error(run: Run, path: Path, tmp_path: Path) -> None:
    assert run("count", "-t", path, "--files").code == 2
    result = run("count", "-t", path, "--files", tmp_path / "missing")
    assert (result.code, result.out) == (1, b"")


def test_an_error_names_the_file(run: Run, char_path: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"low\xff")
    result = run("count", "-t", char_path, "--files", tmp_path)
    assert result.code == 1
    assert result.err.startswith(f"jeton: {tmp_path}/a.txt: ")
    assert run("count", "-t", char_path, "--files", "--errors", "replace", tmp_path).code == 0


def test_counts_of_files_of_rows_equal_those_of_measure(
    run: Run, tok: jeton.Tokenizer, path: Path, tmp_path: Path
) -> None:
    rows = tmp_path / "rows.jsonl.gz"
    rows.write_bytes(gzip.compress(b'{"body": "low lower"}\n{"body": "newest <|end|>"}\n'))
    expected = tok.count("low lower") + tok.count("newest <|end|>")
    lines = run("count", "-t", path, "--files", "--field", "body", rows).text.splitlines()
    assert lines == [f"{expected}\t{rows}", f"{expected}\ttotal"]
    measured = json.loads(run("measure", "-t", path, "--json", "--field", "body", rows).text)
    assert measured["tokens"] == expected
    wrong = run("count", "-t", path, "--files", rows)
    assert wrong.code == 1
    assert "name the right one with --field" in wrong.err


def test_a_name_of_a_file_is_taken_as_text_with_a_warning(run: Run, tok: jeton.Tokenizer, path: Path) -> None:
    result = run("count", "-t", path, path)
    assert result.text == f"{tok.count(str(path))}\n"
    assert f"{path} is the name of a file, but is encoded as text; --files reads the file" in result.err
    assert run("count", "-t", path, "low").err == ""
