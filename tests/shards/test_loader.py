"""`jeton.shards.loader`: one global order for all ranks, workers and resumptions; batches equal plain Python."""

from __future__ import annotations

import json
import os
import pickle
import random
import subprocess
import sys
import threading
from collections import Counter
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jeton
from jeton.errors import ConfigError, ShardError
from jeton.shards import loader as make_loader
from jeton.shards import opened as opened_module

from ..selection import amount
from .conftest import facts_of, rehash, rewrite
from .plain import Row, ids_of_folder, rows_of
from .test_conversations import TEMPLATE, conversations

Batch = dict[str, Any]
LENGTH, ROWS = 96, 3  # ids of a row; rows of a batch, which do not divide those of an epoch
ROOT = Path(__file__).parent.parent.parent
CHAT = {"chat": True, "append_eos": False}
LAYOUTS: dict[str, dict[str, Any]] = {
    "megatron": {},
    "megatron-packed": {"pack": LENGTH},
    "bin": {"dtype": "uint32"},
    "bin-conversations-packed": {"pack": LENGTH, "packing": "best_fit", **CHAT},
    "llmc": {"shuffle": 3},
    "datatrove-conversations": CHAT,
    "olmo-packed": {"pack": LENGTH, "packing": "best_fit", "shuffle": 1},
    "olmo": {"prepend_bos": True},
}


@pytest.fixture(scope="module")
def folders(corpus: Path, tok: jeton.Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Shards of each layout, tens of them in a folder."""
    folder = tmp_path_factory.mktemp("layouts")
    rows = (json.dumps({"messages": one}) + "\n" for one in conversations(7, 250))
    (folder / "chats.jsonl").write_text("".join(rows))
    made = {}
    for name, options in LAYOUTS.items():
        if "chat" in options:
            pytest.importorskip("jinja2")
        source = folder / "chats.jsonl" if "chat" in options else corpus
        defaults = {"append_eos": True, "task_bytes": 5000, "progress": False, "verify": False}
        used = tok.with_chat_template(TEMPLATE) if "chat" in options else tok
        jeton.shards.make(source, folder / name, used, format=name.split("-")[0], **{**defaults, **options})
        made[name] = folder / name
    return made


def plain(rows: list[Row], shift: bool = False) -> dict[str, Any]:
    """A batch of rows."""
    labels = []
    for row in rows:
        learned = zip(row.ids, row.mask, row.positions, strict=True)
        own = [id if mask and position else -100 for id, mask, position in learned]
        labels.append([*own[1:], -100] if shift else own)
    flat = [position for row in rows for position in row.positions]
    return {
        "input_ids": [list(row.ids) for row in rows],
        "position_ids": [list(row.positions) for row in rows],
        "loss_mask": [list(row.mask) for row in rows],
        "cu_seqlens": [*(at for at, position in enumerate(flat) if position == 0), len(flat)],
        "labels": labels,
    }


def lists(batch: Batch) -> dict[str, Any]:
    return {name: array.tolist() for name, array in batch.items()}


def row_of(batch: Batch) -> list[Row]:
    names = ("input_ids", "loss_mask", "position_ids")
    return [Row(*map(tuple, one)) for one in zip(*(batch[name].tolist() for name in names), strict=True)]


def interleaved(ranks: list[jeton.shards.ShardLoader], steps: int | None = None) -> list[dict[str, Any]]:
    """The global order: batches of all ranks, step by step, from the rank on that has the batch of the position."""
    first = ranks[0].state_dict()["position"] % len(ranks)
    iterators = list(map(iter, ranks[first:] + ranks[:first]))
    found: list[dict[str, Any]] = []
    for batches in islice(zip_longest(*iterators), steps):
        found += [lists(batch) for batch in batches if batch is not None]
    return found


def loaders(source: Any, world_size: int, **options: Any) -> list[jeton.shards.ShardLoader]:
    return [
        make_loader(source, **{"batch": ROWS, "rank": rank, "world_size": world_size, **options})
        for rank in range(world_size)
    ]


def length_of(name: str) -> dict[str, Any]:
    return {} if "pack" in LAYOUTS[name] else {"rows": LENGTH}


@pytest.mark.parametrize("name", LAYOUTS)
def test_batches_are_those_of_plain_python(name: str, folders: dict[str, Path]) -> None:
    expected = rows_of(ids_of_folder(folders[name]), LENGTH)
    batches = make_loader(folders[name], batch=ROWS, **length_of(name))
    assert (batches.num_rows, batches.num_batches) == (len(expected), -(-len(expected) // ROWS))
    found = []
    for batch in batches:
        rows = row_of(batch)
        assert lists(batch) == plain(rows)
        found += rows
    assert Counter(found) == Counter(expected)
    assert found != expected
    in_order = make_loader(folders[name], batch=ROWS, seed=None, shift_labels=True, **length_of(name))
    for number, batch in enumerate(in_order):
        assert lists(batch) == plain(expected[number * ROWS : (number + 1) * ROWS], shift=True)
    types = {key: array.dtype.name for key, array in batch.items()}
    wide = ("input_ids", "position_ids", "labels")
    assert types == {**dict.fromkeys(wide, "int64"), "loss_mask": "uint8", "cu_seqlens": "int32"}


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_global_order_does_not_depend_on_the_number_of_ranks(name: str, folders: dict[str, Path]) -> None:
    options = length_of(name)
    dataset = jeton.shards.open(folders[name])
    epochs = [interleaved(loaders(dataset, 1, epoch=epoch, **options)) for epoch in range(2)]
    assert epochs[0] != epochs[1]
    counts = [Counter(json.dumps(row) for batch in epoch for row in batch["input_ids"]) for epoch in epochs]
    assert counts[0] == counts[1]
    rng = random.Random(name)
    for world_size in (1, 2, 3, 8):
        for workers in (0, 2):
            ranks = loaders(dataset, world_size, workers=workers, **options)
            assert interleaved(ranks) == epochs[0]
            assert sum(map(len, ranks)) == len(epochs[0])
            assert {rank.epoch for rank in ranks} == {1}
            for _ in range(amount(5, default=1)):
                # Some steps, then another number of ranks, then the rest.
                steps = rng.randrange(max(1, len(epochs[0]) // world_size))
                ranks = loaders(dataset, world_size, workers=workers, **options)
                first = interleaved(ranks, steps)
                [state] = {json.dumps(rank.state_dict()) for rank in ranks}
                others = loaders(dataset, rng.choice([1, 2, 3, 8]), workers=rng.choice([0, 2]), **options)
                for other in others:
                    other.load_state_dict(json.loads(state))
                assert first + interleaved(others) == epochs[0]
                assert interleaved(others) == epochs[1]


def test_iterations_share_one_position(folders: dict[str, Path]) -> None:
    whole = interleaved([make_loader(folders["bin"], LENGTH, ROWS)])
    batches = make_loader(folders["bin"], LENGTH, ROWS, workers=2)
    found = []
    for batch in batches:
        found.append(lists(batch))
        if len(found) == 5:
            break
    assert batches.state_dict()["position"] == 5  # not the position of prefetched batches
    batches.set_epoch(0)
    for batch in batches:
        found.append(lists(batch))
    assert found == whole
    assert batches.state_dict()["position"] == 0
    batches.set_epoch(7)
    assert interleaved([batches]) == interleaved([make_loader(folders["bin"], LENGTH, ROWS, epoch=7)])
    assert not any(thread.name.startswith("jeton-loader") for thread in threading.enumerate())


def test_all_ranks_have_equally_many_on_request(folders: dict[str, Path]) -> None:
    order = interleaved([make_loader(folders["megatron"], LENGTH, ROWS)])
    full = len(order) - (len(order[-1]["input_ids"]) < ROWS)
    for world_size in (1, 2, 3, 8):
        ranks = loaders(folders["megatron"], world_size, rows=LENGTH, drop_last=True)
        [number] = {len(rank) for rank in ranks}
        assert number == full // world_size
        state = ranks[0].state_dict()
        assert interleaved(ranks) == order[: number * world_size]
        for rank in ranks:
            rank.load_state_dict({**state, "position": 5})
        assert interleaved(ranks) == order[5 : full - (full - 5) % world_size]
    with pytest.raises(ConfigError, match="less than a batch for each rank"):
        make_loader(folders["megatron"], LENGTH, 1000, drop_last=True)


def test_rows_continue_across_folders(folders: dict[str, Path]) -> None:
    paths = [folders["megatron"], folders["bin"], folders["llmc"]]
    documents = [document for path in paths for document in ids_of_folder(path)]
    expected = rows_of(documents, 1000)  # each row spans several shards
    found = [row for batch in make_loader(paths, 1000, 4) for row in row_of(batch)]
    assert Counter(found) == Counter(expected)
    in_order = [row for batch in make_loader(jeton.shards.open(paths), 1000, 4, seed=None) for row in row_of(batch)]
    assert in_order == expected


def test_seed_and_dtype_determine_batches(folders: dict[str, Path]) -> None:
    orders = [interleaved([make_loader(folders["olmo"], LENGTH, ROWS, seed=seed)]) for seed in (0, 1, 2**80)]
    assert orders[0] != orders[1] != orders[2] != orders[0]
    batch = next(iter(make_loader(folders["olmo"], LENGTH, ROWS, dtype="int32")))
    assert {array.dtype.name for name, array in batch.items() if name in ("input_ids", "position_ids")} == {"int32"}
    assert lists(batch) == orders[0][0]
    for array in batch.values():
        array[:] = 0


def test_a_pickled_loader_continues(folders: dict[str, Path]) -> None:
    batches = make_loader(folders["olmo-packed"], batch=ROWS, seed=4, shift_labels=True, world_size=2, rank=1)
    iterator = iter(batches)
    next(iterator)
    again = pickle.loads(pickle.dumps(batches))
    assert again.state_dict() == batches.state_dict()
    assert [lists(batch) for batch in again] == [lists(batch) for batch in iterator]
    assert "rank 1 of 2, epoch 0" in repr(
        pickle.loads(pickle.dumps(make_loader(folders["bin"], 8, 2, rank=1, world_size=2)))
    )


def test_states_of_another_order_are_refused(folders: dict[str, Path]) -> None:
    batches = make_loader(folders["bin"], LENGTH, ROWS)
    state = batches.state_dict()
    assert json.loads(json.dumps(state)) == state
    for name, other in (
        ("rows", make_loader(folders["bin"], LENGTH + 1, ROWS)),
        ("batch", make_loader(folders["bin"], LENGTH, ROWS + 1)),
        ("seed", make_loader(folders["bin"], LENGTH, ROWS, seed=1)),
        ("num_rows", make_loader([folders["bin"], folders["megatron"]], LENGTH, ROWS)),
        ("data", make_loader(folders["megatron"], LENGTH, ROWS)),
    ):
        with pytest.raises(ConfigError, match=f"another order: {name} is "):
            other.load_state_dict(state)
    for wrong in (None, {}, {"epoch": 0, "position": 0, "order": 3}):
        with pytest.raises(ConfigError, match="a state_dict of a loader"):
            batches.load_state_dict(wrong)  # type: ignore[arg-type]
    for change in ({"epoch": -1}, {"position": 10**9}, {"position": "1"}):
        with pytest.raises(ConfigError, match=r"epoch=|position="):
            batches.load_state_dict({**state, **change})


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"batch": 0}, "batch=0"),
        ({"rank": 2, "world_size": 2}, "rank=2"),
        ({"world_size": 0}, "world_size=0"),
        ({"workers": -1}, "workers=-1"),
        ({"seed": -1}, "seed=-1"),
        ({"epoch": -1}, "epoch=-1"),
        ({"dtype": "uint16"}, "dtype='uint16'"),
        ({"tensors": "jax"}, "tensors='jax'"),
        ({"shift_labels": 1}, "shift_labels=1"),
        ({"drop_last": 1}, "drop_last=1"),
        ({"rows": 0}, "rows=0"),
        ({"rows": None}, "not packed; pass rows="),
        ({"rows": 10**9}, "fewer than a row of 1,000,000,000"),
        ({"rows": 1 << 20, "batch": 1 << 12}, "at most 2,147,483,647"),
    ],
    ids=str,
)
def test_wrong_options_are_refused(options: dict[str, Any], match: str, folders: dict[str, Path]) -> None:
    with pytest.raises(ConfigError, match=match):
        make_loader(folders["bin"], **{"rows": LENGTH, **options})


def test_packed_rows_have_one_length(folders: dict[str, Path]) -> None:
    assert make_loader(folders["megatron-packed"], LENGTH).num_rows == make_loader(folders["megatron-packed"]).num_rows
    with pytest.raises(ConfigError, match="packed in rows of 96 ids: leave rows= out"):
        make_loader(folders["megatron-packed"], LENGTH + 1)


def test_threads_share_few_open_shards(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opened_module, "MOST_OPEN", 1)
    expected = interleaved([make_loader(folders["olmo"], LENGTH, 8)])
    for _ in range(5):
        assert interleaved([make_loader(folders["olmo"], LENGTH, 8, workers=4)]) == expected


@pytest.mark.parametrize("workers", [0, 2])
def test_errors_of_workers_are_raised(workers: int, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("low lower\n" * 200)
    lines = jeton.Corpus(tmp_path / "lines.txt", documents="line")
    jeton.shards.make(lines, tmp_path / "out", tok, format="bin", progress=False)
    path = tmp_path / "out" / "shard-00000.documents"
    for value in (0, 1 << 40, (1 << 64) - 1):
        ends = np.fromfile(path, "<u8")
        changed = ends.copy()
        changed[50] = value
        changed.tofile(path)
        rehash(tmp_path / "out", path.name)
        with pytest.raises(ShardError, match=r"shard-00000\.bin: the ends of its documents are not ascending"):
            list(make_loader(tmp_path / "out", 4, 8, workers=workers))
        ends.tofile(path)
        rehash(tmp_path / "out", path.name)
    manifest = facts_of(tmp_path / "out" / "manifest.json")
    manifest["shards"][0]["tokens"] += 4
    rewrite(tmp_path / "out" / "manifest.json", manifest)
    with pytest.raises(ShardError, match="merge again"):
        list(make_loader(tmp_path / "out", 4, 8, workers=workers))
    assert not any(thread.name.startswith("jeton-loader") for thread in threading.enumerate())


def test_missing_torch_is_named(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(jeton.errors.MissingDependencyError, match="tensors='torch' needs the package torch"):
        make_loader(folders["bin"], LENGTH, tensors="torch")


def python_with_torch() -> str:
    """Debian's PyTorch belongs to the Python of the system."""
    for python in (sys.executable, "/usr/bin/python3"):
        command = [python, "-c", "import torch, numpy"]
        if Path(python).exists() and not subprocess.run(command, capture_output=True, check=False).returncode:
            return python
    pytest.skip("no Python here has PyTorch: tools/setup_tools.sh installs Debian's")


@pytest.mark.slow(
    reason="a process of PyTorch, with two workers a folder: 10 s; tensors are the arrays of the other tests"
)
def test_a_model_trains_on_rows_and_conversations(corpus: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    python = python_with_torch()
    rows = (json.dumps({"messages": one}) + "\n" for one in conversations(7, 60))
    (tmp_path / "chats.jsonl").write_text("".join(rows))
    options = {"task_bytes": 4000, "progress": False, "verify": False, "format": "bin"}
    chat_tok = tok.with_chat_template(TEMPLATE)
    source = corpus / "b.jsonl.gz"
    chats = {"chat": True, "pack": 64, "packing": "best_fit"}
    jeton.shards.make(tmp_path / "chats.jsonl", tmp_path / "conversations", chat_tok, **chats, **options)
    jeton.shards.make(source, tmp_path / "packed", tok, append_eos=True, pack=64, packing="best_fit", **options)
    jeton.shards.make(source, tmp_path / "documents", tok, append_eos=True, **options)
    folders = [str(tmp_path / name) for name in ("conversations", "packed", "documents")]
    command = [python, str(ROOT / "tools" / "train_on_shards.py"), *folders]
    (tmp_path / "path").mkdir()  # Jeton without the packages beside it: NumPy is that of PyTorch's Python
    (tmp_path / "path" / "jeton").symlink_to(Path(jeton.__file__).parent)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "path"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, check=False, timeout=240, env=environment)
    assert done.returncode == 0, done.stderr.decode()
    lines = done.stdout.decode().splitlines()
    assert [line.partition(":")[0] for line in lines[:3]] == ["conversations", "packed", "documents"]
    assert all("as document by document" in line for line in lines[:3])
