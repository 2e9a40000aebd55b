"""Ranges of files: for any split points, the documents of all ranges are those of the file."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any, Literal

import pytest

from jeton.corpus import Corpus, FileRange, RangeReader, open_corpus, ranges
from jeton.errors import FormatError, InvalidTextError

LINES = [
    b"one\ntwo\r\n\nthree\n\n\nfour",
    b"\n\na\n",
    b"x",
    b"",
    b"\r\n\r\n",
    "ä\n日本\n".encode(),
]


def read(parts: list[FileRange], corpus: Corpus) -> tuple[list[bytes], list[str]]:
    """The documents of ranges, one reader each, and their sources."""
    texts, sources = [], []
    for part in parts:
        for batch in RangeReader([part], corpus).batches():
            texts += batch.texts
            sources += [batch.source(index) for index in range(len(batch.texts))]
    return texts, sources


def whole(path: Path, **options: Any) -> tuple[list[bytes], list[str]]:
    documents = list(open_corpus(path, **options))
    return [document.data for document in documents], [document.source for document in documents]


@pytest.mark.parametrize("data", LINES)
@pytest.mark.parametrize("read_bytes", [1, 2, 3, 1 << 18])
def test_two_ranges_have_all_lines(
    data: bytes, read_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranges, "READ_BYTES", read_bytes)
    path = tmp_path / "a.txt"
    path.write_bytes(data)
    corpus = Corpus(path, documents="line")
    expected = whole(path, documents="line")
    for split in range(len(data) + 1):
        parts = [FileRange(str(path), 0, split), FileRange(str(path), split, len(data))]
        assert read(parts, corpus) == expected, split


def test_ranges_of_every_size_have_all_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    rows = [json.dumps({"text": f"row {number} " + "ab\n" * (number % 4)}) for number in range(12)]
    path.write_bytes(b"\xef\xbb\xbf" + "\n".join([*rows, "", rows[0]]).encode())
    size = path.stat().st_size
    expected = whole(path)
    for length in (*range(1, 60), size):
        parts = [FileRange(str(path), start, min(start + length, size)) for start in range(0, size, length)]
        assert read(parts, Corpus(path)) == expected, length


def test_a_range_of_lines_begins_and_ends_at_whole_lines() -> None:
    raw = io.BytesIO(b"a" * 100 + b"\nbc\n" + b"d" * 1000)
    lines = ranges.LineRange(raw, 50, 103)
    assert lines.start == 101
    assert lines.read(10) == b"bc\n"
    assert lines.read(10) == b""


def test_lines_before_a_range_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    data = b"one\ntwo\n\nfour"
    path.write_bytes(data)
    for start in range(len(data) + 1):
        begins = [0, 4, 8, 9]
        assert FileRange(str(path), start, start + 1).lines_before == sum(begin < start for begin in begins), start


@pytest.mark.parametrize("rows_in_group", [1, 3, 100])
def test_ranges_of_row_groups_join_to_the_file(rows_in_group: int, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "a.parquet"
    table = pa.table({"text": [f"text {number}" for number in range(10)], "id": list(range(10))})
    pq.write_table(table, path, row_group_size=rows_in_group)
    size, expected = path.stat().st_size, whole(path)
    for length in (*range(50, size, 97), size):
        parts = [FileRange(str(path), start, min(start + length, size)) for start in range(0, size, length)]
        assert read(parts, Corpus(path)) == expected, length


POLICIES: list[Literal["strict", "replace"]] = ["strict", "replace"]


@pytest.mark.parametrize("policy", POLICIES)
def test_an_error_names_the_line_of_the_file(policy: Literal["strict", "replace"], tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": "a"}\n' * 5 + b"nonsense\n" + b'{"text": "a"}\n' * 5)
    reader = RangeReader([FileRange(str(path), 20, 160)], Corpus(path, errors=policy))
    with pytest.raises(FormatError, match=r"a\.jsonl:6: not a JSON row"):
        list(reader.batches())


def test_invalid_text_names_the_byte_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"abc\n" * 5 + b"x\xff\n")
    reader = RangeReader([FileRange(str(path), 6, 23)], Corpus(path, documents="line"))
    with pytest.raises(InvalidTextError, match=r"a\.txt:6: byte 21 \(0xff\)"):
        list(reader.batches())


def test_skipped_lines_are_relative_to_their_range(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": "a"}\n' * 5 + b"nonsense\n" + b'{"text": "a"}\n' * 5)
    corpus = Corpus(path, errors="skip")
    first, second = (RangeReader([FileRange(str(path), *span)], corpus) for span in ((0, 30), (30, 149)))
    assert [len(batch.texts) for batch in first.batches()] == [3]
    assert [len(batch.texts) for batch in second.batches()] == [7]
    assert first.lines == {str(path): 3}
    assert second.skipped["not a JSON row"].places == (f"{path}:3",)  # line 6 of the file


def test_a_document_has_a_maximum_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from jeton.corpus import range_reader

    monkeypatch.setattr(range_reader, "MAX_DOCUMENT", 9)
    (tmp_path / "a.txt").write_bytes(b"0123456789")
    with pytest.raises(FormatError, match=r"a\.txt: one document has more than 9 bytes"):
        read([FileRange(str(tmp_path / "a.txt"))], Corpus(tmp_path))
    rows = tmp_path / "a.jsonl"
    rows.write_bytes(b'{"text": "0123456789"}\n{"text": "ok"}\n')
    with pytest.raises(FormatError, match=r"a\.jsonl:1: one document has more than 9 bytes"):
        read([FileRange(str(rows))], Corpus(tmp_path))
    reader = RangeReader([FileRange(str(rows))], Corpus(tmp_path, errors="skip"))
    assert [batch.texts for batch in reader.batches()] == [[b"ok"]]
    assert reader.skipped["too large"].count == 1


def test_parquet_is_read_in_batches_of_about_a_megabyte(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    texts = [f"{number} " * 2_000 for number in range(600)]  # 8 kB each
    pq.write_table(pa.table({"text": texts, "other": ["x" * 100] * 600}), tmp_path / "a.parquet")
    reader = RangeReader([FileRange(str(tmp_path / "a.parquet"), 0, None)], Corpus(tmp_path / "a.parquet"))
    batches = list(reader.batches())
    assert [text.decode() for batch in batches for text in batch.texts] == texts
    assert 4 <= len(batches) <= 10
    assert max(batch.num_bytes for batch in batches) < 2_000_000
