"""Several processes on one folder: each sees whole files, and all end with the same shards."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.shards import running
from jeton.shards.folder import ShardFolder
from jeton.shards.planning import missing_tasks
from jeton.shards.shuffling import run_bucket
from jeton.shards.storage import LocalStorage
from jeton.util.atomic import write_atomically

from ..selection import amount
from .conftest import digest

OPTIONS: dict[str, Any] = {"task_bytes": 10_000, "append_eos": True}


class Entries:
    """Entries of a folder, some of which vanish before they are examined."""

    def __init__(self, entries: Any, gone: str) -> None:
        self._entries, self._gone = entries, gone

    def __enter__(self) -> Entries:
        return self

    def __exit__(self, *error: object) -> None:
        self._entries.close()

    def __iter__(self) -> Iterator[Any]:
        for entry in self._entries:
            if entry.name.endswith(self._gone):
                os.unlink(entry.path)
            yield entry


def test_a_listing_omits_files_that_vanish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.bin", ".b.bin.0123456789abcdef.tmp", "c.bin"):
        (tmp_path / name).write_bytes(b"abc")
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: Entries(scandir(path), ".tmp"))
    assert LocalStorage(str(tmp_path)).sizes() == {"a.bin": 3, "c.bin": 3}
    assert LocalStorage(str(tmp_path / "none")).sizes() == {}


def test_a_listing_without_a_file_that_is_replaced(
    corpus: Path, tok: jeton.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """POSIX permits a listing to omit a name that is replaced while the folder is listed."""
    jeton.shards.make(corpus, tmp_path, tok, progress=False, shuffle=1, **OPTIONS)
    sizes, names = LocalStorage.sizes, LocalStorage.names
    left_out = {"shard-00000.bin", "00000.json"}
    monkeypatch.setattr(
        LocalStorage,
        "sizes",
        lambda self, folder="": {name: size for name, size in sizes(self, folder).items() if name not in left_out},
    )
    monkeypatch.setattr(
        LocalStorage, "names", lambda self, folder="": [name for name in names(self, folder) if name not in left_out]
    )
    jeton.shards.merge(tmp_path)
    assert jeton.shards.verify(tmp_path, progress=False).is_valid


def test_verify_and_merge_while_another_process_publishes(corpus: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    jeton.shards.make(corpus, tmp_path, tok, progress=False, **OPTIONS)
    plan, folder, stop = ShardFolder(tmp_path).load_plan(), ShardFolder(tmp_path), threading.Event()
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path.name.startswith(("shard-", "0"))]
    published = 0

    def publish() -> None:
        nonlocal published
        while not stop.is_set():
            for path in files:
                with write_atomically(path, sweep=False) as file:
                    file.write(path.read_bytes())
                published += 1

    thread = threading.Thread(target=publish)
    thread.start()
    try:
        for _ in range(amount(200, default=3)):
            assert missing_tasks(folder, plan, 0) == []
            jeton.shards.merge(tmp_path)
            assert jeton.shards.verify(tmp_path, progress=False).problems == ()
    finally:
        stop.set()
        thread.join()
    assert published > 10


def test_a_bucket_that_another_process_has_completed(corpus: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    """Its `merge` has removed the spooled documents."""
    jeton.shards.make(corpus, tmp_path, tok, progress=False, shuffle=1, **OPTIONS)
    folder = ShardFolder(tmp_path)
    plan = folder.load_plan()
    assert folder.spools() == set()
    for task in plan.stages[1].tasks:
        assert run_bucket(folder, plan, task)["task"] == task.number
    (tmp_path / "done" / "00001.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"spool/00000\.bin"):
        run_bucket(folder, plan, plan.stages[1].tasks[1])


@pytest.mark.parametrize("stage", [0, 1])
def test_a_merge_between_listing_and_work(
    stage: int, corpus: Path, tok: jeton.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The slower of two calls lists the tasks before the other call completes all of them and merges."""
    jeton.shards.make(corpus, tmp_path / "one", tok, progress=False, shuffle=1, **OPTIONS)
    folder = tmp_path / "two"
    plan = jeton.shards.plan(corpus, folder, tok, shuffle=1, **OPTIONS)
    listed = running.stage_done
    calls = 0

    def late(place: ShardFolder, made: Any, number: int) -> set[int]:
        nonlocal calls
        found = listed(place, made, number)
        if number == stage and not calls:
            calls += 1
            jeton.shards.make(corpus, folder, tok, progress=False, shuffle=1, **OPTIONS)
        return found

    monkeypatch.setattr(running, "stage_done", late)
    jeton.shards.make(corpus, folder, tok, progress=False, shuffle=1, **OPTIONS)
    assert calls == 1
    assert digest(folder) == digest(tmp_path / "one")
    assert not list(folder.glob("spool/*.bin"))
    assert jeton.shards.status(folder).merged
    assert plan.num_shards > 1


MAKE = """
import jeton, logging, sys
logging.disable()
corpus, folder, shuffle = sys.argv[1:]
options = {"task_bytes": 3000, "append_eos": True, "shuffle": int(shuffle) or None, "progress": False}
jeton.shards.make(corpus, folder, f"{folder}.json", workers=2, **options)
"""


@pytest.mark.slow(reason="a minute; the tests above choose the moments")
@pytest.mark.parametrize("shuffle", [0, 7])
def test_calls_at_once_end_with_the_same_shards(
    shuffle: int, corpus: Path, tok: jeton.Tokenizer, tmp_path: Path
) -> None:
    digests = set()
    for trial in range(amount(8, default=2)):
        folder = tmp_path / f"out-{trial}"
        tok.save(f"{folder}.json")
        arguments = [sys.executable, "-c", MAKE, corpus, folder, str(shuffle)]
        processes = [subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True) for _ in range(3)]
        errors = [process.communicate()[1] for process in processes]
        assert [process.returncode for process in processes] == [0, 0, 0], "\n".join(errors)[-3000:]
        digests.add(digest(folder))
        assert not list(folder.glob("spool/*.bin"))
    assert len(digests) == 1
