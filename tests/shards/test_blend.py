"""`jeton.shards.blend`: quotas by weights, epochs and tokens; each row occurs once in a pass; nothing is copied."""

from __future__ import annotations

import pickle
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jeton
from jeton.errors import ConfigError, ShardError
from jeton.shards import blend
from jeton.shards.blend import Blend, _rounded

from .plain import ids_of_folder, rows_of
from .test_loader import interleaved, loaders

LENGTH = 48
Rows = Counter[tuple[int, ...]]


@pytest.fixture(scope="module")
def folders(corpus: Path, tok: jeton.Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three folders of different formats and sizes; the last one is packed."""
    folder = tmp_path_factory.mktemp("blend")
    options = {"append_eos": True, "task_bytes": 2000, "progress": False, "verify": False}
    for name, source, format, pack in (
        ("a", "a.jsonl", "bin", None),
        ("b", "b.jsonl.gz", "megatron", None),
        ("c", "c.parquet", "olmo", LENGTH),
    ):
        jeton.shards.make(corpus / source, folder / name, tok, format=format, pack=pack, **options)
    return [folder / name for name in "abc"]


def rows(folder: Path) -> Rows:
    return Counter(row.ids for row in rows_of(ids_of_folder(folder), LENGTH))


def read(mix: Blend, epoch: int = 0, **options: Any) -> Rows:
    batches = jeton.shards.loader(mix, LENGTH, 7, epoch=epoch, **options)
    return Counter(tuple(row) for batch in batches for row in batch["input_ids"].tolist())


def test_shares_in_epochs_and_tokens_are_exact(folders: list[Path]) -> None:
    own = [rows(folder) for folder in folders]
    sizes = [counts.total() for counts in own]
    mix = blend({folders[0]: {"epochs": 2}, folders[1]: {"tokens": 10 * LENGTH + 1}, folders[2]: {"epochs": 0.5}})
    assert mix.rows() == dict(zip(map(str, folders), [2 * sizes[0], 10, sizes[2] // 2], strict=True))
    found = read(mix)
    assert found.total() == sum(mix.rows().values())
    assert all(found[row] >= 2 * count for row, count in own[0].items())
    rest = found - Counter({row: 2 * count for row, count in own[0].items()})
    assert rest <= own[1] + own[2]
    assert rest.total() == 10 + sizes[2] // 2


def test_weights_give_the_largest_epoch_without_repetition(folders: list[Path]) -> None:
    own = [rows(folder) for folder in folders[:2]]
    sizes = [counts.total() for counts in own]
    # The largest epoch in which no row is read twice.
    mix = blend({folders[0]: 3, folders[1]: 1})
    total = min(Fraction(sizes[0]) / Fraction(3, 4), Fraction(sizes[1]) * 4)
    assert mix.rows(LENGTH) == dict(
        zip(map(str, folders), _rounded([total * 3 / 4, total / 4], int(total)), strict=False)
    )
    assert read(mix) <= own[0] + own[1]
    # With a given size, also a larger one.
    mix = blend([(folders[0], 0.1), (folders[1], {"weight": 0.9})], tokens=LENGTH * sizes[1] * 3)
    quotas = list(mix.rows(LENGTH).values())
    assert quotas[1] == pytest.approx(2.7 * sizes[1], abs=1)
    found = read(mix)
    assert found.total() == sum(quotas) == 3 * sizes[1]
    assert all(2 * count <= found[row] for row, count in own[1].items())


def test_passes_go_on_in_the_next_epoch(folders: list[Path]) -> None:
    own = rows(folders[2])
    for epochs in (0.25, 0.5, 1.5):
        mix = blend({folders[2]: {"epochs": epochs}})
        quota = mix.rows()[str(folders[2])]
        found: Rows = Counter()
        for epoch in range(8):
            found += read(mix, epoch)
            passes, part = divmod((epoch + 1) * quota, own.total())
            assert all(passes * count <= found[row] <= (passes + 1) * count for row, count in own.items())
            assert found.total() - passes * own.total() == part
    assert read(blend({folders[2]: {"epochs": 0.5}}), 0) != read(blend({folders[2]: {"epochs": 0.5}}), 0, seed=1)


def test_the_global_order_does_not_depend_on_ranks_or_resumption(folders: list[Path]) -> None:
    mix = blend({folders[0]: 2, folders[1]: 1, folders[2]: 1}, tokens=LENGTH * 300)
    whole = interleaved(loaders(mix, 1, rows=LENGTH))
    sources = [rows(folder) for folder in folders]
    first = Counter(
        next(at for at, own in enumerate(sources) if tuple(row) in own)
        for batch in whole[:40]
        for row in batch["input_ids"]
    )
    assert set(first) == {0, 1, 2}  # mixed from the start
    for world_size in (2, 3, 8):
        ranks = loaders(mix, world_size, rows=LENGTH, workers=2)
        begun = interleaved(ranks, 4)
        others = loaders(pickle.loads(pickle.dumps(mix)), 3, rows=LENGTH)
        for other in others:
            other.load_state_dict(ranks[0].state_dict())
        assert begun + interleaved(others) == whole


def test_a_single_source_is_read_in_order_without_a_seed(folders: list[Path]) -> None:
    expected = [row.ids for row in rows_of(ids_of_folder(folders[1]), LENGTH)]
    mix = blend({folders[1]: {"epochs": 2}})
    found = [
        tuple(row) for batch in jeton.shards.loader(mix, LENGTH, 4, seed=None) for row in batch["input_ids"].tolist()
    ]
    assert found == expected * 2
    with pytest.raises(ConfigError, match="seed=None keeps the order of files"):
        jeton.shards.loader(blend({folders[0]: 1, folders[1]: 1}), LENGTH, seed=None)


@given(st.lists(st.fractions(0, 100), min_size=1, max_size=8))
def test_rounded_shares_sum_to_the_total(parts: list[Fraction]) -> None:
    total = int(sum(parts))
    parts = [part * total / sum(parts) for part in parts] if sum(parts) else parts
    found = _rounded(parts, total)
    assert sum(found) == total
    assert all(abs(one - part) < 1 for one, part in zip(found, parts, strict=True))


@pytest.mark.parametrize(
    ("share", "match"),
    [
        (0, "weight of .*a is 0; it must be above 0"),
        (-1.5, "must be above 0"),
        (float("nan"), "must be above 0"),
        ({"epochs": float("inf")}, "epochs of .*a is inf; it must be above 0"),
        (True, "the share of .*a is True; expected a weight, or one of"),
        ("1", "the share of .*a is '1'"),
        (None, "the share of"),
        ({}, "the share of"),
        ({"epochs": 1, "tokens": 5}, "the share of"),
        ({"rows": 1}, "the share of"),
        ({"tokens": 0}, "tokens of .*a is 0"),
    ],
    ids=str,
)
def test_wrong_shares_are_refused(share: Any, match: str, folders: list[Path]) -> None:
    with pytest.raises(ConfigError, match=match):
        blend({folders[0]: share})


def test_invalid_blends_are_refused(folders: list[Path], corpus: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    options: dict[str, Any] = {"append_eos": True, "progress": False, "verify": False}
    other = tok.add_tokens(["<|other|>"])
    jeton.shards.make(corpus / "a.jsonl", tmp_path / "tokenizer", other, **options)
    jeton.shards.make(corpus / "a.jsonl", tmp_path / "rows", tok, pack=LENGTH + 1, **options)
    for name, folder in (("tokenizer", folders[0]), ("the length of rows", folders[2])):
        path = tmp_path / name.rsplit(" ", 1)[-1]
        with pytest.raises(ConfigError, match=f"{folder} and {path} cannot be blended: .*{name.split()[-1]} is "):
            blend({folder: 1, path: 1})
    with pytest.raises(ConfigError, match="either weights, or epochs and tokens"):
        blend({folders[0]: 1, folders[1]: {"epochs": 1}})
    with pytest.raises(ConfigError, match="tokens=100 sets the size of a blend of weights"):
        blend({folders[0]: {"epochs": 1}}, tokens=100)
    for wrong in (3, "a", None):
        with pytest.raises(ConfigError, match="a mapping of folders to shares"):
            blend(wrong)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="is empty: a blend"):
        blend({})
    with pytest.raises(ConfigError, match=r"the share of .*a is less than a row of 48 ids"):
        blend({folders[0]: {"tokens": LENGTH - 1}, folders[1]: {"epochs": 1}}).rows(LENGTH)
    with pytest.raises(ConfigError, match="pass rows="):
        blend({folders[0]: 1}).rows()
    with pytest.raises(ShardError, match=r"no manifest\.json"):
        blend({tmp_path: 1})


def test_a_blend_accepts_datasets_and_numpy_numbers(folders: list[Path]) -> None:
    one, two = jeton.shards.open(folders[0]), jeton.shards.open([folders[1]])
    mix = blend({one: np.int64(1), two: np.float32(0.5)}, tokens=3000)
    assert list(mix.rows(10).values()) == [200, 100]
    assert mix.datasets == (one, two)
    assert repr(mix) == f"Blend(2 folders, {one.num_tokens + two.num_tokens:,} tokens)"
