"""Packing into rows: equal to plain Python, with document boundaries in each format."""

from __future__ import annotations

import random
import tracemalloc
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jeton
from jeton.errors import ConfigError, FormatError, ShardError
from jeton.shards.collecting import NO_TASK, gather, read_origins
from jeton.shards.opened import _folder as opened_folder
from jeton.shards.packing import PADDING, pack

from ..selection import amount, rest_is_slow
from .conftest import EOS, TABLES, digest, facts_of, rewrite, tables
from .test_identity import IDS

Piece = tuple[int, int, int]  # document, first id, length
Rows = list[list[Piece]]


def concatenated(lengths: list[int], row: int) -> Rows:
    """Rows of concatenated documents; the last row without padding."""
    ids = [(document, first) for document, length in enumerate(lengths) for first in range(length)]
    rows = []
    for start in range(0, len(ids), row):
        pieces: list[Piece] = []
        for document, first in ids[start : start + row]:
            if pieces and pieces[-1][0] == document:
                pieces[-1] = (*pieces[-1][:2], pieces[-1][2] + 1)
            else:
                pieces.append((document, first, 1))
        rows.append(pieces)
    return rows


def best_fitted(lengths: list[int], row: int) -> Rows:
    """Best-fit decreasing by a search of all rows, without padding."""
    pieces = [
        (document, first, min(row, length - first))
        for document, length in enumerate(lengths)
        for first in range(0, length, row)
    ]
    rows: list[tuple[int, int, Rows[0]]] = []  # type: ignore[type-arg]  # free space, time of the last change, pieces
    for time, piece in enumerate(sorted(pieces, key=lambda piece: -piece[2])):
        fits = [number for number, (free, _, _) in enumerate(rows) if free >= piece[2]]
        if fits:
            best = min(fits, key=lambda number: (rows[number][0], -rows[number][1]))
            rows[best] = (rows[best][0] - piece[2], time, [*rows[best][2], piece])
        else:
            rows.append((row - piece[2], time, [piece]))
    # rows ordered by the piece that opened them, pieces of a row by document
    return [sorted(own) for _, _, own in sorted(rows, key=lambda known: known[2][0])]


def padded(rows: Rows, row: int) -> list[Piece]:
    """All pieces, with padding."""
    result = []
    for pieces in rows:
        free = row - sum(length for _, _, length in pieces)
        result += pieces + [(PADDING, 0, free)] * (free > 0)
    return result


@pytest.mark.parametrize("method", ["concatenate", "best_fit"])
def test_pieces_are_those_of_plain_python(method: str) -> None:
    rng = random.Random(method)
    for _ in range(amount(400, default=60)):
        row = rng.choice([2, 3, 8, 64, 100])
        lengths = [rng.randrange(1, rng.choice([4, row, 3 * row]) + 1) for _ in range(rng.choice([0, 1, 5, 60]))]
        made = pack(np.array(lengths, np.int64), {"length": row, "method": method, "rest": "pad"})
        rows = (concatenated if method == "concatenate" else best_fitted)(lengths, row)
        found = list(zip(made.documents.tolist(), made.firsts.tolist(), made.lengths.tolist(), strict=True))
        assert found == padded(rows, row)
        assert made.padding == len(rows) * row - sum(lengths)
        pieces = [document for own in rows for document, _, _ in own]
        assert made.cut == len([1 for document in range(len(lengths)) if pieces.count(document) > 1])
        ends = [0, *accumulate(len(padded([own], row)) for own in rows)]
        assert made.row_ends.tolist() == ends[1:]


def test_rest_drop_drops_the_incomplete_row() -> None:
    made = pack(np.array([3, 4, 2]), {"length": 4, "method": "concatenate", "rest": "drop"})
    assert (made.documents.tolist(), made.lengths.tolist()) == ([0, 1, 1, 2], [3, 1, 3, 1])
    assert (made.dropped, made.padding, made.cut) == (1, 0, 2)
    made = pack(np.array([3]), {"length": 4, "method": "concatenate", "rest": "drop"})
    assert (made.dropped, len(made.documents), len(made.row_ends)) == (3, 0, 0)


def test_best_fit_cuts_less_than_concatenating() -> None:
    rng = np.random.default_rng(1)
    lengths = rng.geometric(1 / 600, 20_000)
    fits, cuts = (
        pack(lengths, {"length": 2048, "method": method, "rest": "pad"}) for method in ("best_fit", "concatenate")
    )
    assert fits.cut == int((lengths > 2048).sum())
    assert fits.cut < cuts.cut / 5
    assert fits.padding < 0.01 * lengths.sum()


def make(corpus: Path, folder: Path, tok: jeton.Tokenizer, **options: Any) -> jeton.shards.Report:
    options = {"append_eos": True, "progress": False, "task_bytes": 12_000, "pack": 50, **options}
    return jeton.shards.make(corpus, folder, tok, **options)


def rows_of(folder: Path, report: jeton.shards.Report) -> tuple[list[list[int]], list[list[int]]]:
    """Ids and position ids of all rows, by `jeton.shards.open` or pyarrow."""
    if report.format in TABLES:
        found = list(tables(folder))
        return tuple(  # type: ignore[return-value]
            [row for table in found for row in table[name].to_pylist()] for name in ("input_ids", "position_ids")
        )
    blocks = list(jeton.shards.open(folder).rows(7))
    return (
        [row for block in blocks for row in block.ids.tolist()],
        [row for block in blocks for row in block.position_ids.tolist()],
    )


@pytest.mark.parametrize(
    ("format", "method"),
    rest_is_slow(
        [(format, method) for format in IDS for method in ("concatenate", "best_fit")],
        lambda case: (case[1] == "best_fit") != (case[0] in ("bin", "arrow")),
        "each format with one method",
    ),
)
def test_every_format_has_rows_and_boundaries(
    format: str, method: str, corpus: Path, tok: jeton.Tokenizer, documents: list[list[int]], tmp_path: Path
) -> None:
    report = make(corpus, tmp_path, tok, format=format, packing=method)
    ids, positions = rows_of(tmp_path, report)
    assert report.packing is not None
    assert len(ids) == report.packing["rows"]
    assert {len(row) for row in ids} == {50}
    # Each document, put together from its pieces.
    origins = np.concatenate([read_origins(tmp_path, f"shard-{shard:05}") for shard in range(report.shards)]).tolist()
    flat = [(id, position) for row in zip(ids, positions, strict=True) for id, position in zip(*row, strict=True)]
    pieces: list[list[int]] = []
    for id, position in flat:
        if position == 0:
            pieces.append([])
        pieces[-1].append(id)
    assert len(pieces) == len(origins) == report.packing["pieces"]
    found: dict[tuple[int, int], list[tuple[int, list[int]]]] = {}
    padding = 0
    for (task, index, first), piece in zip(origins, pieces, strict=True):
        if task == NO_TASK:
            assert set(piece) == {EOS}
            padding += len(piece)
        else:
            found.setdefault((task, index), []).append((first, piece))
    whole = []
    for _, own in sorted(found.items()):
        assert [first for first, _ in sorted(own)] == [0, *accumulate(len(piece) for _, piece in sorted(own))][:-1]
        whole.append([id for _, piece in sorted(own) for id in piece])
    assert whole == documents
    assert report.packing["padding"] == padding == len(ids) * 50 - sum(map(len, documents))
    assert report.packing["cut"] == sum(len(own) > 1 for own in found.values())
    assert report.packing["fill"] == 1 - padding / (len(ids) * 50)
    assert (report.documents, report.tokens) == (len(documents), sum(map(len, documents)))
    assert jeton.shards.verify(tmp_path, progress=False).compared > 50


def test_an_opened_folder_has_rows(corpus: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    report = make(corpus, tmp_path, tok, packing="best_fit", join=True)
    opened = jeton.shards.open(tmp_path)
    assert report.packing is not None
    assert (len(opened), opened.row_length, opened.num_tokens) == (report.packing["rows"], 50, 50 * len(opened))
    rows = list(opened.rows(1))
    assert len(rows) == len(opened)
    for index in (0, 1, len(opened) // 2, -1):
        assert opened[index]["input_ids"].tolist() == rows[index].ids[0].tolist()
    assert [row["input_ids"].tolist() for row in opened] == [row.ids[0].tolist() for row in rows]
    for many in opened.rows(10):
        assert many.cu_seqlens[0] == 0
        starts = np.flatnonzero(many.position_ids.ravel() == 0)
        assert many.cu_seqlens.tolist() == [*starts.tolist(), many.ids.size]
        assert {0, many.ids.size, *range(0, many.ids.size, 50)} <= set(many.cu_seqlens.tolist())
    joined = np.fromfile(tmp_path / "joined" / "joined.bin", "<u2")
    assert joined.tolist() == [id for row in opened for id in row["input_ids"].tolist()]
    ends = np.fromfile(tmp_path / "joined" / "joined.documents", "<u8")
    assert (len(ends), int(ends[-1])) == (report.packing["pieces"], len(joined))
    assert (tmp_path / "joined" / "joined.idx").stat().st_size == 42 + 20 * len(opened)
    make(corpus, tmp_path / "plain", tok, pack=None)
    with pytest.raises(ConfigError, match="is not packed"):
        next(jeton.shards.open(tmp_path / "plain").rows())


def test_dropped_ids_are_reported(
    corpus: Path, tok: jeton.Tokenizer, documents: list[list[int]], tmp_path: Path
) -> None:
    report = make(corpus, tmp_path, tok, rest="drop", format="bin", task_bytes=10**9)
    total = sum(map(len, documents))
    assert report.packing is not None
    assert (report.packing["dropped"], report.packing["padding"]) == (total % 50, 0)
    ids = [id for row in jeton.shards.open(tmp_path) for id in row["input_ids"].tolist()]
    assert ids == [id for own in documents for id in own][: total // 50 * 50]
    assert "ids of padding, dropped" in (tmp_path / "report.md").read_text()


@pytest.mark.parametrize("method", ["concatenate", "best_fit"])
def test_packed_rows_of_a_shuffle_do_not_depend_on_workers(
    method: str, corpus: Path, tok: jeton.Tokenizer, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"packing": method, "shuffle": 3, "format": "parquet", "pad": "<|begin|>"}
    report = make(corpus, tmp_path / "a", tok, workers=1, **options)
    make(corpus, tmp_path / "b", tok, workers=3, **options)
    assert digest(tmp_path / "a") == digest(tmp_path / "b")
    masks = [row for table in tables(tmp_path / "a") for row in table["loss_mask"].to_pylist()]
    ids = [row for table in tables(tmp_path / "a") for row in table["input_ids"].to_pylist()]
    assert report.packing is not None
    assert sum(row.count(0) for row in masks) == report.packing["padding"]
    for row, mask in zip(ids, masks, strict=True):
        assert {id for id, value in zip(row, mask, strict=True) if not value} <= {EOS + 1}
    # Rows do not have the order in which best-fit decreasing opens them, by number of documents.
    plain = make(corpus, tmp_path / "c", tok, pack=None, shuffle=3, format="parquet")
    assert (plain.documents, plain.tokens) == (report.documents, report.tokens)


def test_a_shard_with_an_incomplete_row_is_refused(corpus: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    make(corpus, tmp_path, tok)
    path = tmp_path / "shard-00000.bin"
    path.write_bytes(path.read_bytes()[:-2])
    with pytest.raises(ShardError, match=r"but the manifest says [\d,]+; .*if the file is damaged, .*repair"):
        jeton.shards.open(tmp_path)[0]
    folder = opened_folder(tmp_path)
    with pytest.raises(ShardError, match=r"rows of 50 ids"):
        folder.layout.read(folder.path, "shard-00000", folder.facts)
    path.unlink()
    with pytest.raises(ShardError, match=r"shard-00000.bin is missing; jeton\.shards\.repair \(jeton shards repair\)"):
        jeton.shards.open(tmp_path)[0]


def test_invalid_packing_options_are_refused(corpus: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    def refused(match: str, tokenizer: Any = tok, **options: Any) -> None:
        with pytest.raises(ConfigError, match=match):
            jeton.shards.plan(corpus, tmp_path / "out", tokenizer, **options)
        assert not (tmp_path / "out").exists()

    refused("pack=1 ", pack=1)
    refused("pack=20000000 ", pack=20_000_000)
    refused("packing='first_fit' is not one of", pack=8, packing="first_fit")
    refused("rest='cut' is not one of", pack=8, rest="cut")
    refused("packing='best_fit' is for packing: pass pack=", packing="best_fit")
    refused("pad='<|end|>' is for packing", pad="<|end|>")
    refused("rows of best_fit end with padding anywhere", pack=8, packing="best_fit", rest="drop")
    refused("needs no padding", pack=8, rest="drop", pad="<|end|>")
    refused("pad='<x>' is not a special token", pack=8, pad="<x>")
    refused("neither the role pad nor eos", jeton.Tokenizer.from_merges({97: b"a"}, []), pack=8)
    with pytest.raises(ConfigError, match="pack= applies to formats of ids"):
        jeton.shards.plan(corpus, tmp_path / "counts", format="counts", pack=8)
    make(corpus, tmp_path / "out", tok, verify=False)
    for options, option in (({"pack": 60}, "pack"), ({"packing": "best_fit"}, "packing"), ({"pack": None}, "packing")):
        with pytest.raises(ConfigError, match=f"was planned with {option} ") as caught:
            make(corpus, tmp_path / "out", tok, **options)
        assert caught.value.option == option


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("packing", {"length": 8}),
        ("packing", {"length": 8, "method": "best_fit", "rest": "pad", "pad": None}),
        ("packing", {"length": 0, "method": "best_fit", "rest": "pad", "pad": 1}),
        ("packing", 8),
        ("shuffle", -1),
        ("shuffle", "7"),
        ("chat", 1),
    ],
)
def test_a_plan_with_invalid_packing_is_refused(
    name: str, value: Any, corpus: Path, tok: jeton.Tokenizer, tmp_path: Path
) -> None:
    jeton.shards.plan(corpus, tmp_path, tok)
    rewrite(tmp_path / "plan.json", {**facts_of(tmp_path / "plan.json"), name: value})
    with pytest.raises(FormatError, match=r"plan\.json: not a plan of shards"):
        jeton.shards.run(tmp_path, progress=False)


def test_a_pad_role_comes_first(corpus: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    plan = jeton.shards.plan(corpus, tmp_path / "a", tok.with_roles(pad="<|begin|>"), pack=8, append_eos=True)
    assert plan.packing is not None
    assert plan.packing["pad"] == EOS + 1
    plan = jeton.shards.plan(corpus, tmp_path / "b", tok, pack=8, append_eos="<|begin|>")
    assert plan.packing is not None
    assert plan.packing["pad"] == EOS + 1


def test_rows_read_document_ends_once(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("low\n" * 50_000)
    options = {"pack": 8, "format": "bin", "verify": False, "progress": False}
    jeton.shards.make(jeton.Corpus(tmp_path / "lines.txt", documents="line"), tmp_path / "out", tok, **options)
    dataset = jeton.shards.open(tmp_path / "out")
    ends = dataset.shard(0).ends.nbytes
    rows = dataset.rows(4)
    next(rows)
    tracemalloc.start()
    next(rows)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert ends > 300_000 > 10 * peak


ranges_of = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12)), max_size=30)


@given(ranges_of, st.sampled_from(["<u1", "<u2", "<i4"]))
def test_gathering_equals_slices(ranges: list[tuple[int, int]], dtype: str) -> None:
    values = np.arange(52).astype(dtype)
    starts, lengths = (
        (np.array(column, np.int64) for column in zip(*ranges, strict=True)) if ranges else (np.empty(0, np.int64),) * 2
    )
    found = gather(values, starts, lengths)
    assert found.dtype == values.dtype
    assert found.tolist() == [item for start, length in ranges for item in values[start : start + length].tolist()]


@pytest.mark.parametrize(
    ("starts", "lengths"),
    [([0, 50], [1, 3]), ([-1, 0], [1, 1]), ([0, 1], [-1, 1]), ([2**62, 0], [1, 1]), ([0], [1, 1])],
)
def test_gathering_beyond_the_values_is_an_error(starts: list[int], lengths: list[int]) -> None:
    with pytest.raises(ValueError, match=r"beyond|as many"):
        gather(np.arange(52, dtype="<i4"), np.array([*starts, 0]), np.array([*lengths, 0]))
