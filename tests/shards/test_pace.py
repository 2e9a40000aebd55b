"""`status` with details: skipped records, rate and time left."""

from __future__ import annotations

import json
import logging
import os
import time
from pathlib import Path

import pytest

import jeton
from jeton.shards.pace import WINDOW_S

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture
def planned(tok: jeton.Tokenizer, tmp_path: Path) -> Path:
    """A folder of at least ten tasks, with two skipped records."""
    lines = [json.dumps({"text": f"low lower {number}"}) for number in range(200)]
    lines[3] = lines[150] = "broken"
    (tmp_path / "rows.jsonl").write_text("\n".join(lines))
    corpus = jeton.Corpus(tmp_path / "rows.jsonl", errors="skip")
    jeton.shards.plan(corpus, tmp_path / "out", tok, task_bytes=600)
    return tmp_path / "out"


def run(folder: Path, job: tuple[int, int] | None = None) -> None:
    logging.disable(logging.WARNING)
    try:
        jeton.shards.run(folder, job=job, progress=False)
    finally:
        logging.disable(logging.NOTSET)


def test_pace_before_any_task_is_unknown(planned: Path) -> None:
    found = jeton.shards.status(planned, details=True)
    assert (found.skipped, found.bytes_per_s, found.seconds_left, found.idle_s) == (0, None, None, None)
    assert jeton.shards.status(planned).skipped is None


def test_rate_and_time_left_follow_from_recent_tasks(planned: Path) -> None:
    run(planned, (0, 2))
    now = time.time()
    tasks = {task.number: task.num_bytes for task in jeton.shards.Plan.from_json(_plan(planned)).tasks}
    done = sorted(int(path.stem) for path in (planned / "done").iterdir())
    for at, number in enumerate(done):
        os.utime(planned / "done" / f"{number:05}.json", (now - 100 + at, now - 100 + at))
    found = jeton.shards.status(planned, details=True)
    expected = sum(tasks[number] for number in done[1:]) / 100
    assert found.bytes_per_s == pytest.approx(expected, rel=0.05)
    left = sum(size for number, size in tasks.items() if number not in done)
    assert found.seconds_left == pytest.approx(left / expected, rel=0.05)
    assert found.idle_s == pytest.approx(100 - len(done) + 1, abs=3)
    assert found.skipped == 2, "both broken lines are in tasks of even numbers"
    for number in done:
        os.utime(planned / "done" / f"{number:05}.json", (now - 2 * WINDOW_S,) * 2)
    assert jeton.shards.status(planned, details=True).bytes_per_s is None


def test_a_complete_folder_has_no_time_left(planned: Path) -> None:
    run(planned)
    found = jeton.shards.status(planned, details=True)
    assert (found.skipped, found.bytes_per_s, found.seconds_left) == (2, None, 0.0)
    (planned / "done" / "00000.json").write_text("damaged")
    assert jeton.shards.status(planned, details=True).skipped is None


def test_the_pace_is_known_at_a_url(planned: Path, tok: jeton.Tokenizer) -> None:
    fsspec = pytest.importorskip("fsspec")
    corpus = jeton.Corpus(planned.parent / "rows.jsonl", errors="skip")
    try:
        jeton.shards.plan(corpus, "memory://pace/out", tok, task_bytes=600)
        logging.disable(logging.WARNING)
        jeton.shards.run("memory://pace/out", job=(0, 2), progress=False)
        found = jeton.shards.status("memory://pace/out", details=True)
        assert found.bytes_per_s is not None
        assert found.idle_s is not None
        assert found.idle_s < 60
    finally:
        logging.disable(logging.NOTSET)
        fsspec.filesystem("memory").rm("/pace", recursive=True)


def _plan(folder: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((folder / "plan.json").read_bytes())
    return found
