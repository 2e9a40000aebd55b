"""`TextColumn` of the core: documents in one buffer, compared with lists of `bytes`."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton._core import SpellingCounter, TextColumn, count_line_ends

TEXTS = [b"one", b"", "naïve 一枚".encode(), b"x" * 3000]


def columns() -> dict[str, TextColumn]:
    """The same documents in each kind of column."""
    ends = np.cumsum([0, *map(len, TEXTS)])
    arrow, borrowed = (
        TextColumn.from_arrow(b"".join(TEXTS), ends.astype("<i8").data.cast("B"), borrow=borrow)
        for borrow in (False, True)
    )
    lines = TextColumn.from_lines(b"\n".join(TEXTS))
    assert arrow is not None
    assert borrowed is not None
    assert lines is not None
    return {"objects": TextColumn(TEXTS), "arrow": arrow, "borrowed": borrowed, "lines": lines}


@pytest.mark.parametrize("kind", ["objects", "arrow", "borrowed", "lines"])
def test_columns_of_each_kind_hold_documents(kind: str) -> None:
    column = columns()[kind]
    assert (len(column), column.num_bytes) == (4, sum(map(len, TEXTS)))
    assert column.to_list() == TEXTS
    assert np.frombuffer(column.lengths(), "<i8").tolist() == list(map(len, TEXTS))
    assert column.take([3, 0, 0]).to_list() == [TEXTS[3], TEXTS[0], TEXTS[0]]
    assert column.take([]).to_list() == []
    assert column.replaced([1, 3], [b"other", None]).to_list() == [TEXTS[0], b"other", TEXTS[2]]
    assert column.replaced([], []).to_list() == TEXTS
    with pytest.raises(IndexError, match="beyond the 4 documents"):
        column.take([4])


def test_documents_that_are_not_utf8_are_refused() -> None:
    with pytest.raises(ValueError, match=r"texts\[1\] is not UTF-8"):
        TextColumn([b"a", b"\xff"])
    with pytest.raises(ValueError, match="not UTF-8"):
        TextColumn([b"a"]).replaced([0], [b"\xff"])
    assert TextColumn.from_lines(b"a\n\xff") is None
    cut = "é".encode()
    for data, ends in [(b"\xff", [0, 1]), (cut, [0, 1, 2]), (b"a", [0, 2]), (b"a", [1, 0]), (b"a", [-1, 1])]:
        for borrow in (False, True):
            assert TextColumn.from_arrow(data, np.array(ends, "<i8").data.cast("B"), borrow=borrow) is None


def test_borrowed_memory_lives_as_long_as_the_column() -> None:
    memory = bytearray(b"one two")
    column = TextColumn.from_arrow(memoryview(memory), np.array([0, 3, 7], "<i8").data.cast("B"), borrow=True)
    assert column is not None
    with pytest.raises(BufferError, match="re-sized"):
        memory.append(0)
    assert column.to_list() == [b"one", b" two"]
    del column
    memory.append(0)


@given(st.lists(st.sampled_from(["a", "é", "\r", "\n", "\r\n", ""])))
def test_lines_equal_those_of_plain_python(pieces: list[str]) -> None:
    block = "".join(pieces).encode()
    lines = block.split(b"\n")
    if block.endswith(b"\n") or not block:
        lines.pop()
    column = TextColumn.from_lines(block)
    assert column is not None
    assert column.to_list() == [line.removesuffix(b"\r") for line in lines]
    assert count_line_ends(block) == block.count(b"\n")


def test_spellings_are_counted_in_all_columns() -> None:
    counter = SpellingCounter([b"<a>", b"<a>b", b"none"])
    assert counter.count([TextColumn([b"<a><a>b", b"x"]), TextColumn([b"<a>"])]) == [2, 1, 0]
    assert SpellingCounter([]).count([TextColumn([b"x"])]) == []
