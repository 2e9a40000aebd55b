"""After failures of every kind, repeating the call completes the folder with equal bytes."""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jeton
from jeton.errors import ConfigError, FormatError, InvalidTextError, ShardError

from ..selection import amount
from .conftest import digest, facts_of, rehash, rewrite, stored, texts

OPTIONS: dict[str, Any] = {"append_eos": True, "task_bytes": 2000}

SHUFFLED: dict[str, Any] = {**OPTIONS, "shuffle": 7, "pack": 100, "packing": "best_fit"}
# Runs until it is killed; argv: corpus, output, tokenizer, runner, options of the plan.
SCRIPT = """
import json
import sys
import jeton
if __name__ == "__main__":
    corpus, output, tok, runner, options = sys.argv[1:]
    run = {"workers": 2, "runner": runner, "progress": False, "join": True, "verify": False}
    jeton.shards.make(corpus, output, jeton.load(tok), **run, **json.loads(options))
"""


@pytest.fixture
def saved(tok: jeton.Tokenizer, tmp_path: Path) -> Path:
    tok.save(tmp_path / "tok.json")
    return tmp_path / "tok.json"


@pytest.mark.skipif(os.name != "posix", reason="Windows has no SIGKILL")
@pytest.mark.parametrize(
    ("runner", "options"),
    [
        ("threads", SHUFFLED),
        pytest.param("threads", OPTIONS, marks=pytest.mark.slow(reason="a shuffle is killed in the default selection")),
        pytest.param("processes", SHUFFLED, marks=pytest.mark.slow(reason="threads are in the default selection")),
    ],
)
def test_killed_runs_complete_after_restarts(
    runner: str, options: dict[str, Any], corpus: Path, saved: Path, tmp_path: Path
) -> None:
    """A process group is killed at a random moment and started again, until it ends by itself."""
    jeton.shards.make(corpus, tmp_path / "whole", jeton.load(saved), join=True, progress=False, **options)
    (tmp_path / "make.py").write_text(SCRIPT)
    rng = random.Random(runner)
    killed, wanted = 0, amount(6, default=2)
    trial, longest = 0, 0.6  # seconds until a process is killed; on a fast machine a run takes less than half of it
    while killed < wanted:
        trial += 1
        folder = tmp_path / f"out-{trial}"
        began = time.monotonic()
        for _ in range(12):
            arguments = [sys.executable, tmp_path / "make.py", corpus, folder, saved, runner, json.dumps(options)]
            with subprocess.Popen(arguments, start_new_session=True, stderr=subprocess.DEVNULL) as process:
                while not folder.exists() and process.poll() is None:  # imports
                    time.sleep(0.01)
                try:
                    process.wait(rng.uniform(0, longest))
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                    killed += 1
                if process.wait() == 0:
                    longest /= 1.5
                    break
            assert time.monotonic() - began < 60
        jeton.shards.make(corpus, folder, jeton.load(saved), join=True, progress=False, **options)
        assert digest(folder) == digest(tmp_path / "whole")
        assert not [*folder.rglob(".*.tmp"), *folder.glob("spool/*.bin")]
        assert trial < 30


def test_complete_tasks_are_kept_when_one_fails(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    rows = [json.dumps({"text": text}) for text in texts(5, 200)]
    bad = [*rows[:150], "nonsense", *rows[150:]]
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(bad))
    with pytest.raises(FormatError, match=r"rows\.jsonl:151: not a JSON row"):
        jeton.shards.make(path, tmp_path / "out", tok, workers=1, progress=False, **OPTIONS)
    status = jeton.shards.status(tmp_path / "out")
    assert 0 < status.done < status.total
    assert status.missing[0] == status.done
    assert not list((tmp_path / "out").glob(".*.tmp"))
    with pytest.raises(ShardError, match="tasks are not complete"):
        jeton.shards.merge(tmp_path / "out")


def test_skipped_records_have_the_lines_of_their_file(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    rows = [json.dumps({"text": text}) for text in texts(5, 200)]
    for line in (20, 150, 190):
        rows[line - 1] = "nonsense"
    rows[170] = '{"other": 1}'
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(rows))
    report = jeton.shards.make(jeton.Corpus(path, errors="skip"), tmp_path / "out", tok, progress=False, **OPTIONS)
    assert report.skipped == {
        "not a JSON row": (3, tuple(f"{path}:{line}" for line in (20, 150, 190))),
        "without the field 'text'": (1, (f"{path}:171",)),
    }
    assert (report.num_skipped, report.shards > 5) == (4, True)
    expected = [[*tok.encode(json.loads(row)["text"]), tok.eos_id] for row in rows if "text" in row]
    assert stored(tmp_path / "out") == [ids for ids in expected if len(ids) > 1]
    largest = max(expected, key=len)
    assert report.largest[0] == (len(largest), f"{path}:{rows.index(_row(rows, tok, largest)) + 1}")
    assert "skipped 4 records" in (tmp_path / "out" / "report.md").read_text()


def _row(rows: list[str], tok: jeton.Tokenizer, ids: list[int | None]) -> str:
    """The first row with these ids."""
    return next(row for row in rows if "text" in row and [*tok.encode(json.loads(row)["text"]), tok.eos_id] == ids)


def test_invalid_text_is_replaced(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"low\n\xff\xff\nnew\n")
    with pytest.raises(InvalidTextError, match=r"a\.txt:2: byte 4"):
        jeton.shards.make(jeton.Corpus(tmp_path / "a.txt", documents="line"), tmp_path / "a", tok, progress=False)
    report = jeton.shards.make(
        jeton.Corpus(tmp_path / "a.txt", documents="line", errors="replace"),
        tmp_path / "b",
        tok,
        task_bytes=4,
        progress=False,
    )
    assert report.replaced == {str(tmp_path / "a.txt"): 2}
    assert tok.decode(jeton.shards.open(tmp_path / "b")[1]) == "\ufffd\ufffd"


def test_text_that_the_tokenizer_cannot_encode(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("aaa\nab\n")
    tok = jeton.Tokenizer.from_merges({97: b"a"}, [])
    with pytest.raises(InvalidTextError, match=r"a\.txt:2: "):
        jeton.shards.make(jeton.Corpus(tmp_path / "a.txt", documents="line"), tmp_path / "out", tok, progress=False)


def test_a_corrupt_gzip_file_is_an_error_or_skipped(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl.gz"
    rng = random.Random(1)
    data = gzip.compress("".join(json.dumps({"text": str(rng.random())}) + "\n" for _ in range(20000)).encode())
    path.write_bytes(data[: len(data) // 2] + bytes(100) + data[len(data) // 2 + 100 :])
    with pytest.raises(FormatError, match=r"rows\.jsonl\.gz"):  # the checksum fails, or a garbage row precedes it
        jeton.shards.make(path, tmp_path / "out", tok, progress=False)
    assert jeton.shards.status(tmp_path / "out").done == 0
    path.write_bytes(data[: len(data) // 2])
    report = jeton.shards.make(jeton.Corpus(path, errors="skip"), tmp_path / "skip", tok, progress=False)
    assert report.skipped["file that cannot be read"] == (1, (str(path),))
    assert report.documents > 1000


@pytest.fixture
def planned(tok: jeton.Tokenizer, tmp_path: Path) -> Path:
    """A folder with a plan of one file of lines."""
    (tmp_path / "a.txt").write_text("low lower\n" * 500)
    jeton.shards.plan(jeton.Corpus(tmp_path / "a.txt", documents="line"), tmp_path / "out", tok, task_bytes=1000)
    return tmp_path / "out"


def replan(folder: Path, tok: jeton.Tokenizer, **options: Any) -> jeton.shards.Plan:
    reading = {name: options.pop(name) for name in ("documents", "errors") if name in options}
    corpus = jeton.Corpus(folder.parent / "a.txt", **{"documents": "line", **reading})
    return jeton.shards.plan(corpus, folder, tok, **{"task_bytes": 1000, **options})


class TestChanges:
    """Inputs, options and files that no longer match the plan."""

    def test_a_changed_input_needs_a_new_plan(self, planned: Path, tok: jeton.Tokenizer) -> None:
        path = planned.parent / "a.txt"
        jeton.shards.run(planned, job=(0, 2), progress=False)
        path.write_text("low newer\n" * 500)
        os.utime(path, ns=(1, 1))
        with pytest.raises(ShardError, match=r"a\.txt has changed since it was planned"):
            jeton.shards.run(planned, progress=False)
        replan(planned, tok)  # this invalidates the tasks of the input
        assert jeton.shards.status(planned).done == 0
        assert jeton.shards.run(planned, progress=False).is_complete

    def test_an_input_changed_while_read_is_refused(self, planned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        from jeton.shards import execution

        def encode(*arguments: Any) -> dict[str, Any]:
            os.utime(planned.parent / "a.txt", ns=(1, 1))
            return real(*arguments)

        real = execution._encode
        monkeypatch.setattr(execution, "_encode", encode)
        with pytest.raises(ShardError, match="has changed"):
            jeton.shards.run(planned, progress=False)
        assert jeton.shards.status(planned).done == 0

    def test_a_vanished_input_is_named(self, planned: Path) -> None:
        (planned.parent / "a.txt").unlink()
        with pytest.raises(FileNotFoundError, match=r"a\.txt"):
            jeton.shards.run(planned, progress=False)

    def test_a_new_input_extends_the_plan(self, planned: Path, tok: jeton.Tokenizer) -> None:
        (planned.parent / "b.txt").write_text("x")
        both = [planned.parent / "a.txt", planned.parent / "b.txt"]
        lines = jeton.Corpus(both, documents="line")
        assert jeton.shards.plan(lines, planned, tok, task_bytes=1000).inputs[1].path == str(both[1])
        with pytest.raises(ConfigError, match=r"other inputs: .*b\.txt is no longer one"):
            replan(planned, tok)

    def test_another_tokenizer_is_refused(self, planned: Path, tok: jeton.Tokenizer) -> None:
        with pytest.raises(ConfigError, match=r"was planned with tokenizer 'j1:.*', but this call has 'j1:"):
            replan(planned, tok.add_tokens(["<|more|>"]))
        with pytest.raises(
            ConfigError, match=r"but this call has 'j1:.*; other differences: append_eos; pass the same"
        ):
            replan(planned, tok.add_tokens(["<|more|>"]), append_eos="<|more|>")
        tok.add_tokens(["<|more|>"]).save(planned / "tokenizer.json")
        with pytest.raises(ShardError, match="but the plan is for j1:"):
            jeton.shards.run(planned, progress=False)
        (planned / "tokenizer.json").unlink()
        with pytest.raises(ShardError, match="is missing"):
            jeton.shards.run(planned, progress=False)

    @pytest.mark.parametrize(
        ("option", "value"),
        [
            ("format", "bin"),
            ("documents", "file"),
            ("task_bytes", 2000),
            ("append_eos", True),
            ("prepend_bos", True),
            ("dtype", "int32"),
        ],
    )
    def test_another_option_is_refused(self, option: str, value: Any, planned: Path, tok: jeton.Tokenizer) -> None:
        before = digest(planned)
        with pytest.raises(ConfigError, match=f"was planned with {option} ") as caught:
            replan(planned, tok, **{option: value})
        assert caught.value.option == option
        assert digest(planned) == before

    def test_a_completion_of_another_plan_is_refused(self, planned: Path) -> None:
        jeton.shards.run(planned, progress=False)
        done = planned / "done" / "00002.json"
        rewrite(done, {**facts_of(done), "identity": "other"})
        with pytest.raises(ShardError, match=r"00002\.json belongs to another plan"):
            jeton.shards.merge(planned)

    def test_tasks_of_a_plan_that_was_removed(self, planned: Path, tok: jeton.Tokenizer) -> None:
        jeton.shards.run(planned, progress=False)
        (planned / "plan.json").unlink()
        replan(planned, tok, append_eos=True)
        with pytest.raises(ShardError, match=r"00000\.json belongs to another plan; jeton\.shards\.repair"):
            jeton.shards.merge(planned)
        assert jeton.shards.run(planned, progress=False).is_complete
        jeton.shards.merge(planned)
        assert jeton.shards.verify(planned, progress=False).is_valid

    def test_a_task_that_runs_again_needs_another_merge(self, planned: Path) -> None:
        jeton.shards.run(planned, progress=False)
        jeton.shards.merge(planned)
        jeton.shards.run(planned, progress=False)
        assert jeton.shards.status(planned).merged
        (planned / "done" / "00001.json").unlink()
        jeton.shards.run(planned, progress=False)
        assert not jeton.shards.status(planned).merged

    def test_a_damaged_completion_is_refused(self, planned: Path) -> None:
        jeton.shards.run(planned, progress=False)
        done = planned / "done" / "00002.json"
        facts = facts_of(done)
        del facts["outputs"]
        rewrite(done, facts)
        with pytest.raises(ShardError, match=r"00002\.json is damaged: it has no 'outputs'; jeton\.shards\.repair"):
            jeton.shards.merge(planned)
        jeton.shards.run(planned, progress=False)
        jeton.shards.merge(planned)

    @pytest.mark.parametrize("change", [{"dtype": "nope"}, {"dtype": None}, {"eos": "a"}, {"bos": -1}, {"format": "x"}])
    def test_a_plan_that_was_edited(self, change: dict[str, Any], planned: Path) -> None:
        rewrite(planned / "plan.json", {**facts_of(planned / "plan.json"), **change})
        with pytest.raises(FormatError, match=r"plan\.json: not a plan of shards .*" + next(iter(change))):
            jeton.shards.run(planned, progress=False)

    def test_a_missing_or_short_shard_is_made_again(self, planned: Path) -> None:
        jeton.shards.run(planned, progress=False)
        (planned / "shard-00001.bin").write_bytes(b"")
        with pytest.raises(ShardError, match=r"shard-00001\.bin has 0 bytes, .* run again"):
            jeton.shards.merge(planned)
        (planned / "shard-00001.bin").unlink()
        with pytest.raises(ShardError, match=r"shard-00001\.bin is missing"):
            jeton.shards.merge(planned)
        jeton.shards.run(planned, progress=False)
        jeton.shards.merge(planned)
        assert jeton.shards.verify(planned, progress=False).is_valid

    @pytest.mark.parametrize("content", ["", "[]", "{}", '{"version": 2}', '{"version": 1, "inputs": [[1]]}'])
    def test_a_damaged_plan_is_refused(self, content: str, planned: Path) -> None:
        (planned / "plan.json").write_text(content)
        with pytest.raises(FormatError, match=r"plan\.json"):
            jeton.shards.run(planned, progress=False)


def test_a_folder_without_a_plan_is_refused(tmp_path: Path) -> None:
    for verb in (jeton.shards.run, jeton.shards.merge, jeton.shards.verify, jeton.shards.status):
        with pytest.raises(ShardError, match=r"no plan\.json"):
            verb(tmp_path)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("mounting a file system needs a privilege")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_an_error_and_the_run_resumes(small_disk: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("low lower new\n" * 40_000)
    corpus = jeton.Corpus(path, documents="line")
    options: dict[str, Any] = {"task_bytes": 50_000, "progress": False}
    filler = small_disk / "filler"
    filler.write_bytes(bytes(600_000))
    with pytest.raises(OSError, match=r"No space left on device: '.*(shard-|done/)\d+\.\w+'"):
        jeton.shards.make(corpus, small_disk / "out", tok, **options)
    status = jeton.shards.status(small_disk / "out")
    assert 0 < status.done < status.total
    assert not list((small_disk / "out").glob(".*.tmp"))
    filler.unlink()
    subprocess.run(["mount", "-o", "remount,size=20m", str(small_disk)], check=True)
    jeton.shards.make(corpus, small_disk / "out", tok, **options)
    jeton.shards.make(corpus, tmp_path / "out", tok, **options)
    assert digest(small_disk / "out") == digest(tmp_path / "out")


def test_a_full_disk_in_plan_and_merge(small_disk: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    path, folder, filler = tmp_path / "a.txt", small_disk / "out", small_disk / "filler"
    path.write_text("low lower\n" * 500)
    corpus = jeton.Corpus(path, documents="line")

    def fill() -> None:
        with suppress(OSError), filler.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))

    fill()
    with pytest.raises(OSError, match="No space left on device"):
        jeton.shards.plan(corpus, folder, tok, task_bytes=1000)
    assert not (folder / "plan.json").exists()
    filler.unlink()
    jeton.shards.plan(corpus, folder, tok, task_bytes=1000)
    jeton.shards.run(folder, progress=False)
    fill()
    with pytest.raises(OSError, match="No space left on device"):
        jeton.shards.merge(folder)
    assert not jeton.shards.status(folder).merged
    assert jeton.shards.status(folder).is_complete
    filler.unlink()
    jeton.shards.merge(folder)
    assert jeton.shards.verify(folder, progress=False).is_valid
    assert not list(folder.glob(".*.tmp"))


def test_a_read_only_file_system(small_disk: Path, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("low lower\n" * 500)
    folder = small_disk / "out"
    jeton.shards.plan(jeton.Corpus(tmp_path / "a.txt", documents="line"), folder, tok, task_bytes=1000)
    jeton.shards.run(folder, job=(0, 2), progress=False)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(OSError, match="Read-only file system"):
        jeton.shards.run(folder, progress=False)
    assert jeton.shards.status(folder).done == 3
    subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
    assert jeton.shards.run(folder, progress=False).is_complete


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="this user may write everywhere")
def test_a_read_only_folder(planned: Path) -> None:
    planned.chmod(0o500)
    with pytest.raises(PermissionError):
        jeton.shards.run(planned, progress=False)
    planned.chmod(0o700)
    assert jeton.shards.run(planned, progress=False).is_complete


def test_ctrl_c_leaves_no_threads_or_temporary_files(planned: Path) -> None:
    """The interrupt arrives while tasks run: no thread is left, and no temporary file."""

    def interrupt(event: jeton.ProgressEvent) -> None:
        if event.done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        jeton.shards.run(planned, workers=2, progress=interrupt)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("jeton-worker")]
    assert not list(planned.glob(".*.tmp"))
    assert jeton.shards.run(planned, progress=False).is_complete


def test_a_progress_function_that_raises_stops_the_workers(planned: Path) -> None:
    def fail(event: jeton.ProgressEvent) -> None:
        if event.done:
            raise RuntimeError("progress")

    with pytest.raises(RuntimeError, match="progress") as caught:  # the exception holds the frames
        jeton.shards.run(planned, workers=2, progress=fail)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("jeton-worker")]
    assert caught.traceback


def test_a_run_removes_files_of_killed_ones(planned: Path) -> None:
    (planned / ".shard-00001.bin.0123456789abcdef.tmp").touch()
    jeton.shards.run(planned, job=(0, 5), progress=False)
    assert not list(planned.glob(".*.tmp"))


class TestVerify:
    """Problems that `verify` finds."""

    @pytest.fixture
    def made(self, planned: Path) -> Path:
        jeton.shards.run(planned, progress=False)
        jeton.shards.merge(planned)
        return planned

    def problems(self, folder: Path) -> str:
        return "\n".join(jeton.shards.verify(folder, progress=False).problems)

    def test_intact_shards_are_valid(self, made: Path) -> None:
        found = jeton.shards.verify(made, progress=False)
        assert (found.is_valid, found.documents, found.decoded_equal) == (True, 500, found.decoded)
        assert found.compared > 100

    def test_a_flipped_bit_is_found(self, made: Path) -> None:
        path = made / "shard-00002.idx"
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(data)
        assert "shard-00002.idx: its bytes have changed" in self.problems(made)

    def test_a_shard_with_ids_of_another_text_is_found(self, made: Path) -> None:
        """Files, hashes and counts agree; the ids are not those of the source."""
        name = "shard-00000.bin"
        (made / name).write_bytes(bytes((made / name).stat().st_size))
        rehash(made, name)
        assert self.problems(made) == "shard-00000: its ids differ from those of its source"

    def test_a_missing_file_is_found(self, made: Path) -> None:
        (made / "shard-00001.bin").unlink()
        assert "shard-00001.bin: it is missing" in self.problems(made)

    def test_damaged_files_are_reported(self, planned: Path, tok: jeton.Tokenizer) -> None:
        """Every difference is reported; none is raised."""
        for format in ("bin", "parquet", "arrow"):
            folder = planned.parent / format
            options = {"task_bytes": 1000, "prepend_bos": True, "format": format}
            lines = jeton.Corpus(planned.parent / "a.txt", documents="line")
            jeton.shards.make(lines, folder, tok, progress=False, **options)
            if format == "bin":
                ends = folder / "shard-00000.documents"
                whole = np.fromfile(ends, "<u8")
                whole[[0, -1]].tofile(ends)
                rehash(folder, ends.name)
                assert "documents 2, expected" in self.problems(folder)
                np.append(whole, whole[-1]).tofile(ends)
                rehash(folder, ends.name)
                assert "shard-00000: the ends of its documents are not ascending" in self.problems(folder)
            else:
                path = folder / f"shard-00000.{format}"
                path.write_bytes(path.read_bytes()[:-20])
                assert f"shard-00000.{format}: it has" in self.problems(folder)
                path.write_bytes(b"x" * 100)
                assert "it cannot be read" not in self.problems(folder)  # not read, as its size differs
                rehash(folder, path.name)
                assert f"shard-00000.{format}: it cannot be read" in self.problems(folder)

    def test_a_manifest_of_another_plan_is_found(self, made: Path, tok: jeton.Tokenizer) -> None:
        (made / "plan.json").unlink()
        replan(made, tok, append_eos=True)
        assert "it belongs to another plan" in self.problems(made)

    def test_documents_without_eos_are_found(self, tok: jeton.Tokenizer, planned: Path) -> None:
        """A tokenizer file without its template would give documents without eos."""
        folder = planned.parent / "eos"
        jeton.shards.make(
            jeton.Corpus(planned.parent / "a.txt", documents="line"), folder, tok, append_eos=True, progress=False
        )
        path = folder / "shard-00000.bin"
        data = path.read_bytes()
        path.write_bytes(data[:-2] + bytes(2))
        rehash(folder, path.name)
        assert f"1 document lacks the eos id {tok.eos_id}" in self.problems(folder)


def test_progress_reaches_the_end(planned: Path) -> None:
    events: list[jeton.ProgressEvent] = []
    jeton.shards.run(planned, workers=2, progress=events.append)
    done = [event.done for event in events]
    assert done == sorted(done)
    assert (events[-1].done, events[-1].total, events[-1].unit) == (5000, 5000, "B")
