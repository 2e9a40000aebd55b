"""The vocabulary as readable text."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import jeton
from jeton.formats.vocab_dump import lines
from tests.material import byte_tokenizer, tokenizer


def test_a_dump_has_a_line_per_entry() -> None:
    tok = jeton.Tokenizer.from_merges(
        {9: b"\t", 97: b"a", 255: b"\xff", 300: b"aa"}, [(97, 97, 300)], special_tokens={"<|end|>": 400}
    ).add_tokens(["小"], special=False)
    assert list(lines(tok)) == [
        "# id\tkind\thex\ttoken\tleft+right",
        "9\ttoken\t09\t'\\t'",
        "97\ttoken\t61\t'a'",
        "255\ttoken\tff\tb'\\xff'",
        "300\ttoken\t6161\t'aa'\t97+97 'a'+'a'",
        "400\tspecial\t3c7c656e647c3e\t'<|end|>'",
        "401\tadded\te5b08f\t'小'",
    ]


def test_every_entry_and_merge_has_a_line(kind: str, tmp_path: Path) -> None:
    tok = tokenizer(kind)
    path = tmp_path / "tokens.vocab"
    tok.save(path)
    head, *rows = path.read_text("utf-8").splitlines()
    assert head.startswith("#")
    fields = [row.split("\t") for row in rows]
    assert [int(row[0]) for row in fields] == list(tok.vocab)
    merges = []
    for row in fields:
        shown = ast.literal_eval(row[3])
        spelled = shown.encode() if isinstance(shown, str) else shown
        assert spelled.hex() == row[2]
        assert (row[1] == "special") == (int(row[0]) in tok.special_tokens.values())
        if len(row) > 4:
            left, right = row[4].split(" ")[0].split("+")
            merges.append((int(left), int(right), int(row[0])))
    assert merges == sorted(tok.merges, key=lambda merge: merge[2])


def test_a_dump_is_written_under_several_names_and_not_read(tmp_path: Path, tok: jeton.Tokenizer) -> None:
    for name, format in (("a.vocab", None), ("a.VOCAB", None), ("a.tsv", "vocab"), ("a.txt", "vocab")):
        tok.save(tmp_path / name, format=format)
        assert (tmp_path / name).read_text("utf-8").splitlines() == list(lines(tok))
    with pytest.raises(jeton.FormatError, match="no tokenizer of any known format"):
        jeton.load(tmp_path / "a.vocab")
    with pytest.raises(jeton.ConfigError, match=r"'\.txt'.*tekken\.json or vocab\.txt.*format="):
        tok.save(tmp_path / "b.txt")


def test_odd_tokens_keep_to_one_line() -> None:
    tok = byte_tokenizer((13, 10, 300), special_tokens={"a\nb\u2028\x85": 310})
    assert all(len(line.splitlines()) == 1 for line in lines(tok))
