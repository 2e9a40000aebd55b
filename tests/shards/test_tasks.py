"""Tasks: how files are cut, what may be cut, and the shares of a shuffle."""

from __future__ import annotations

from typing import Any

import pytest

from jeton.shards.tasks import (
    DONE,
    SPOOL,
    UNREADABLE,
    InputFile,
    Piece,
    Stage,
    Task,
    bucket_tasks,
    cut_tasks,
    expected_bytes,
    is_divisible,
)


@pytest.mark.parametrize(
    ("files", "task_bytes", "breaks", "expected"),
    [
        ([], 10, (), []),
        ([("a", 25, True)], 10, (), [(10, [(0, 0, 10)]), (10, [(0, 10, 20)]), (5, [(0, 20, 25)])]),
        ([("a", 20, True)], 10, (), [(10, [(0, 0, 10)]), (10, [(0, 10, 20)])]),
        ([("a", 0, True)], 10, (), [(0, [(0, 0, 0)])]),
        ([("a", 0, False), ("b", 0, True)], 10, (), [(0, [(0, 0, None), (1, 0, 0)])]),
        ([("a", 25, False)], 10, (), [(25, [(0, 0, None)])]),
        ([("a", 4, False), ("b", 6, False), ("c", 1, False)], 10, (),
         [(10, [(0, 0, None), (1, 0, None)]), (1, [(2, 0, None)])]),
        ([("a", 10, False), ("b", 0, False)], 10, (), [(10, [(0, 0, None)]), (0, [(1, 0, None)])]),
        ([("a", 4, False), ("b", 7, False)], 10, (), [(4, [(0, 0, None)]), (7, [(1, 0, None)])]),
        ([("a", 4, False), ("b", 25, True)], 10, (),
         [(10, [(0, 0, None), (1, 0, 6)]), (10, [(1, 6, 16)]), (9, [(1, 16, 25)])]),
        ([("a", 4, False), ("a", 4, False)], 10, (), [(4, [(0, 0, None)]), (4, [(1, 0, None)])]),
        ([("a", 4, True), ("b", 4, True)], 10, (1,), [(4, [(0, 0, 4)]), (4, [(1, 0, 4)])]),
        ([("a", 4, True), ("b", 4, True)], 10, (0,), [(8, [(0, 0, 4), (1, 0, 4)])]),
        ([("a", 12, True), ("b", 4, True)], 10, (1,), [(10, [(0, 0, 10)]), (2, [(0, 10, 12)]), (4, [(1, 0, 4)])]),
        ([("a", 2, True), ("b", 12, True)], 10, (1,), [(2, [(0, 0, 2)]), (10, [(1, 0, 10)]), (2, [(1, 10, 12)])]),
        ([("a.gz", 3, False), ("b", 2, False)], 14, (), [(5, [(0, 0, None), (1, 0, None)])]),
        ([("a.gz", 3, False), ("b", 3, False)], 14, (), [(3, [(0, 0, None)]), (3, [(1, 0, None)])]),
        ([("a", 3, True)], 1, (), [(1, [(0, 0, 1)]), (1, [(0, 1, 2)]), (1, [(0, 2, 3)])]),
    ],
)  # fmt: skip
def test_files_are_cut(files: list[Any], task_bytes: int, breaks: Any, expected: list[Any]) -> None:
    inputs = [InputFile(name, size, "") for name, size, _ in files]
    tasks = list(cut_tasks(inputs, [divisible for *_, divisible in files], task_bytes, breaks))
    assert [(task.num_bytes, [tuple(piece) for piece in task.pieces]) for task in tasks] == expected
    assert [task.number for task in tasks] == list(range(len(tasks)))


@pytest.mark.parametrize(
    ("size", "cut", "divisible", "expected"),
    [
        (30, 25, True, [(10, [(0, 0, 10)]), (10, [(0, 10, 20)]), (10, [(0, 20, 30)])]),
        (22, 25, True, [(10, [(0, 0, 10)]), (10, [(0, 10, 20)]), (2, [(0, 20, 22)])]),
        (15, 25, True, [(10, [(0, 0, 10)]), (5, [(0, 10, 15)]), (0, [(0, 15, 15)])]),
        (5, 25, True, [(5, [(0, 0, 5)]), (0, [(0, 5, 5)]), (0, [(0, 5, 5)])]),
        (8, 0, True, [(8, [(0, 0, 8)])]),
        (8, 3, False, [(8, [(0, 0, None)])]),
    ],
)
def test_a_file_that_has_changed_keeps_its_cuts(size: int, cut: int, divisible: bool, expected: list[Any]) -> None:
    file = InputFile("a", size, "2", cut)
    assert file.cut_size == cut
    tasks = cut_tasks([file], [divisible], 10)
    assert [(task.num_bytes, [tuple(piece) for piece in task.pieces]) for task in tasks] == expected
    assert expected_bytes(file) == cut
    assert expected_bytes(file._replace(path="a.txt.gz")) == 4 * cut
    assert expected_bytes(file._replace(path="https://host/a.zst?x=1")) == 4 * cut


@pytest.mark.parametrize(
    ("before", "size", "cut"),
    [
        (InputFile("a", 25, "1"), 25, None),
        (InputFile("a", 25, "1"), 35, 25),
        (InputFile("a", 25, "1"), 36, None),
        (InputFile("a", 25, "1"), 15, 25),
        (InputFile("a", 25, "1"), 14, None),
        (InputFile("a", 25, "1", 20), 25, 20),
        (InputFile("a", 25, "1", 20), 20, None),
        (InputFile("a", 25, "1", 20), 31, None),
        (InputFile("a", 25, "1", 0), 7, 0),
    ],
)
def test_cuts_stay_if_the_size_differs_by_a_task_at_most(before: InputFile, size: int, cut: int | None) -> None:
    assert before.changed_to(InputFile("a", size, "2"), 10) == InputFile("a", size, "2", cut)


@pytest.mark.parametrize(
    ("path", "documents", "encoding", "names_lines", "input_type", "expected"),
    [
        ("a.jsonl", "file", "utf-8", False, "auto", True),
        ("a.jsonl", "line", "utf-8", False, "auto", True),
        ("a.jsonl", "file", "utf-8", True, "auto", False),
        ("a.jsonl", "file", "latin-1", False, "auto", False),
        ("a.jsonl.zst", "file", "utf-8", False, "auto", False),
        ("a.parquet", "file", "latin-1", True, "auto", True),
        ("a.parquet.gz", "file", "utf-8", False, "auto", False),
        ("a.txt", "line", "utf-8", False, "auto", True),
        ("a.txt", "line", "utf-8", True, "auto", False),
        ("a.txt", "file", "utf-8", False, "auto", False),
        ("a.json", "line", "utf-8", False, "auto", False),
        ("a.json", "file", "utf-8", False, "jsonl", True),
        ("a.jsonl", "file", "utf-8", False, "text", False),
        ("a.csv", "file", "utf-8", False, "auto", False),
    ],
)
def test_files_that_may_be_cut(
    path: str, documents: str, encoding: str, names_lines: bool, input_type: Any, expected: bool
) -> None:
    assert is_divisible(path, documents, encoding, names_lines, input_type) is expected


@pytest.mark.parametrize(
    ("buckets", "num_bytes", "expected"),
    [
        (range(0), 5, []),
        (range(3, 4), 7, [(3, 7)]),
        (range(2), 7, [(0, 3), (1, 4)]),
        (range(1, 5), 10, [(1, 2), (2, 3), (3, 2), (4, 3)]),
        (range(3), 0, [(0, 0), (1, 0), (2, 0)]),
    ],
)
def test_shares_of_a_shuffle(buckets: range, num_bytes: int, expected: list[tuple[int, int]]) -> None:
    assert list(bucket_tasks(buckets, num_bytes)) == [Task(number, (), size) for number, size in expected]


def test_facts_of_files_and_stages() -> None:
    assert InputFile("a", 1, "").is_readable
    assert not InputFile("a", 0, f"{UNREADABLE}no permission").is_readable
    assert InputFile("a", 3, "").cut_size == 3
    assert Piece(3) == (3, 0, None)
    assert (Stage("spool", SPOOL, ()).outputs, Stage("shards", DONE, ()).outputs) == ("spool", "")
