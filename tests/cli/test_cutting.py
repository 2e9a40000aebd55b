"""``jeton truncate`` and ``jeton split``: texts, standard input and files, as text and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import jeton
from jeton.calls.structure import STRUCTURES

from .conftest import Run

TEXT = "lowest newest lower newer low new " * 20


def test_truncate_prints_the_librarys_text(run: Run, tok: jeton.Tokenizer, path: Path) -> None:
    assert run("truncate", "-t", path, "-n", "7", TEXT) == (0, tok.truncate(TEXT, 7).encode() + b"\n", "")
    for side in ("left", "middle"):
        wanted = tok.truncate(TEXT, 9, side=side, marker="~", at="word")
        args = ("--side", side, "--marker", "~", "--at", "word")
        assert run("truncate", "-t", path, "-n", "9", *args, input=TEXT.encode()).text == wanted + "\n"
    facts = json.loads(run("truncate", "-t", path, "-n", "7", "--json", TEXT).text)
    assert facts == {"text": tok.truncate(TEXT, 7), "num_tokens": 7, "truncated": True}
    assert json.loads(run("truncate", "-t", path, "-n", "7", "--json", "low").text)["truncated"] is False


def test_split_prints_the_librarys_chunks(run: Run, tok: jeton.Tokenizer, path: Path, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in run("split", "-t", path, "-n", "16", "--overlap", "4", TEXT).text.splitlines()]
    chunks = tok.split(TEXT, 16, overlap=4)
    assert [(row["text"], row["num_tokens"], tuple(row["char_span"]), tuple(row["byte_span"])) for row in rows] == [
        (chunk.text, chunk.num_tokens, chunk.char_span, chunk.byte_span) for chunk in chunks
    ]
    texts = run("split", "-t", path, "-n", "16", "--separator", "----", TEXT).text
    assert texts == "\n----\n".join(chunk.text for chunk in tok.split(TEXT, 16)) + "\n"
    (tmp_path / "rows.jsonl").write_text('{"text": "lowest"}\n{"text": "newest"}\n')
    for at in STRUCTURES:
        text = "# low\n\nlower\n\n    lowest\n"
        rows = [json.loads(line) for line in run("split", "-t", path, "-n", "9", "--at", at, text).text.splitlines()]
        assert [row["text"] for row in rows] == [chunk.text for chunk in tok.split(text, 9, at=at)]
        assert run("truncate", "-t", path, "-n", "9", "--at", at, text)[0] == 2

    rows = [json.loads(line) for line in run("split", "-t", path, "-n", "99", "--files", tmp_path).text.splitlines()]
    assert [row["text"] for row in rows] == ["lowest", "newest"]
    assert all(str(tmp_path / "rows.jsonl") in row["source"] for row in rows)


def test_errors_have_exit_codes(run: Run, path: Path) -> None:
    assert run("truncate", "-t", path, "text")[0] == 2  # -n is missing
    assert run("split", "-t", path, "-n", "3", "--separator", "-", "--json", "low")[0] == 2
    code, out, err = run("split", "-t", path, "-n", "1", "今")
    assert (code, out) == (1, b"")
    assert "position 0 takes 3 tokens, more than the limit of 1" in err
    code, out, err = run("split", "-t", path, "-n", "5", input=b"low\xff")
    assert (code, out) == (1, b"")
    assert "not UTF-8 at byte 3" in err
    code, out, err = run("split", "-t", path, "-n", "5", "--errors", "replace", input=b"low\xff")
    assert code == 0
    assert "�" in out.decode()
    assert "replaced bytes that are not UTF-8 with U+FFFD at 1 places" in err
