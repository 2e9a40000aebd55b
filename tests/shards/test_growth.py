"""Growing corpora, and changes of inputs, shards and options: valid tasks are kept, and the others run again."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.errors import ConfigError, FormatError, ShardError
from jeton.shards.folder import ShardFolder
from jeton.shards.tasks import InputFile, cut_tasks

from .conftest import facts_of, rewrite, stored, texts

OPTIONS: dict[str, Any] = {"append_eos": True, "task_bytes": 2000, "format": "bin"}


def write(folder: Path, name: str, seed: int, number: int = 60) -> Path:
    """A file of rows, of lines, or one text."""
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    rows = "".join(json.dumps({"text": text}) + "\n" for text in texts(seed, number))
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(rows.encode(), mtime=0))
    else:
        path.write_text(rows if name.endswith(".jsonl") else " ".join(texts(seed, number)), encoding="utf-8")
    return path


def make(corpus: Any, folder: Path, tok: jeton.Tokenizer, **options: Any) -> jeton.shards.Report:
    reading = {name: options.pop(name) for name in ("errors", "field") if name in options}
    return jeton.shards.make(
        jeton.Corpus(corpus, **reading), folder, tok, **{**OPTIONS, "progress": False, "workers": 1, **options}
    )


def digest(folder: Path) -> str:
    """Hash of all shards and the manifest, without the plan, which has the times of additions."""
    sha = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.is_file() and not path.name.startswith(("report", "plan", ".")):
            data = path.read_bytes()
            if path.name == "manifest.json":  # without the arguments of inputs
                data = repr({name: value for name, value in facts_of(path).items() if name != "arguments"}).encode()
            sha.update(path.name.encode() + data)
    return sha.hexdigest()


def times(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in (folder / "done").iterdir()}


def ran_again(folder: Path, before: dict[str, int]) -> list[str]:
    """Tasks that have run since, in order."""
    return sorted(name for name, time in times(folder).items() if before.get(name) != time)


@pytest.mark.parametrize("options", [{}, {"format": "megatron", "pack": 64}, {"format": "olmo"}], ids=str)
def test_adding_gives_the_files_of_one_run(options: dict[str, Any], tok: jeton.Tokenizer, tmp_path: Path) -> None:
    data = tmp_path / "data"
    old = [write(data, "a.jsonl", 1, 200), write(data, "b.jsonl.gz", 2), write(data, "c.txt", 3)]
    new = [write(data, "0.jsonl", 4), write(data, "d.txt", 5)]
    make(old, tmp_path / "out", tok, **options)
    before = times(tmp_path / "out")
    last = sorted(before)[-1]
    report = jeton.shards.add(tmp_path / "out", new, progress=False)
    whole = make([*old, *new], tmp_path / "whole", tok, **options)
    assert digest(tmp_path / "out") == digest(tmp_path / "whole")
    assert (report.documents, report.sources) == (whole.documents, whole.sources)
    assert ran_again(tmp_path / "out", before)[0] >= last
    before = times(tmp_path / "out")
    jeton.shards.add(tmp_path / "out", new, progress=False)  # files that it has already
    assert not ran_again(tmp_path / "out", before)


def test_a_repeated_call_adds_new_files(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    """New files are appended, even if their names sort first."""
    data = tmp_path / "data"
    old = [write(data, "b.jsonl", 1, 200), write(data, "d.jsonl", 2)]
    make(data, tmp_path / "out", tok)
    before = times(tmp_path / "out")
    new = [write(data, "a.jsonl", 3), write(data, "c.jsonl", 4)]
    for _ in range(2):
        make(data, tmp_path / "out", tok)
    assert len(ran_again(tmp_path / "out", before)) < len(times(tmp_path / "out")) - 1
    make([*old, *new], tmp_path / "whole", tok)
    assert digest(tmp_path / "out") == digest(tmp_path / "whole")
    for refused, difference in ((old, "a.jsonl is no longer one"), ([*reversed(old), *new], "their order differs")):
        with pytest.raises(ConfigError, match=difference) as caught:
            make(refused, tmp_path / "out", tok)
        assert caught.value.option == "corpus"
    assert digest(tmp_path / "out") == digest(tmp_path / "whole")


def test_counts_are_added(tmp_path: Path) -> None:
    data = tmp_path / "data"
    old, new = write(data, "a.jsonl", 1, 200), write(data, "b.jsonl", 2)
    options: dict[str, Any] = {"format": "counts", "task_bytes": 2000, "progress": False, "join": True}
    jeton.shards.make(old, tmp_path / "out", **options)
    jeton.shards.add(tmp_path / "out", new, join=True, progress=False)
    jeton.shards.make([old, new], tmp_path / "whole", **options)
    assert digest(tmp_path / "out") == digest(tmp_path / "whole")
    assert jeton.Counts.load(tmp_path / "out" / "joined" / "joined.jtc") == jeton.count_pretokens([old, new])


@pytest.mark.parametrize("options", [{}, {"pack": 50, "packing": "best_fit"}, {"format": "olmo"}], ids=str)
def test_a_shuffle_has_generations(options: dict[str, Any], tok: jeton.Tokenizer, tmp_path: Path) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    old = [write(data, "a.jsonl", 1, 200), write(data, "b.txt", 2)]
    first = make(old, out, tok, shuffle=7, **options)
    before = {path.name: path.read_bytes() for path in out.glob("shard-*")}
    new = [write(data, "c.jsonl", 3, 100), write(data, "d.txt", 4)]
    report = jeton.shards.add(out, new, progress=False)
    manifest = facts_of(out / "manifest.json")
    assert manifest["generations"] == [first.shards, report.shards - first.shards] == list(report.generations)
    assert jeton.shards.report(out) == report
    assert "shards of each generation" in (out / "report.md").read_text()
    assert all((out / name).read_bytes() == data for name, data in before.items())
    assert not list(out.glob("spool/*.bin"))
    more = write(data, "e.jsonl", 5)
    jeton.shards.add(out, more, progress=False)
    assert len(facts_of(out / "manifest.json")["generations"]) == 3
    # A single run of this plan gives equal files.
    (tmp_path / "again").mkdir()
    for name in ("plan.json", "tokenizer.json"):
        shutil.copy(out / name, tmp_path / "again" / name)
    jeton.shards.run(tmp_path / "again", progress=False)
    jeton.shards.merge(tmp_path / "again")
    assert digest(tmp_path / "again") == digest(out)
    if not options:
        make([*old, *new, more], tmp_path / "whole", tok)
        assert sorted(stored(out)) == sorted(stored(tmp_path / "whole"))


def test_inputs_before_the_first_task_are_one_generation(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    data = tmp_path / "data"
    options = {**OPTIONS, "shuffle": 7}
    jeton.shards.plan(write(data, "b.jsonl", 1), tmp_path / "out", tok, **options)
    write(data, "a.jsonl", 2)
    assert jeton.shards.plan(data, tmp_path / "out", tok, **options).grown == ()
    make(data, tmp_path / "out", tok, shuffle=7)
    make(data, tmp_path / "whole", tok, shuffle=7)
    assert digest(tmp_path / "out") == digest(tmp_path / "whole")


def test_changes_are_logged(tok: jeton.Tokenizer, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    make(write(data, "a.jsonl", 1), out, tok)
    caplog.set_level("INFO", "jeton")
    write(data, "a.jsonl", 2)
    write(data, "b.jsonl", 3)
    write(data, "c.jsonl", 3)
    jeton.shards.plan(jeton.Corpus(data, errors="skip"), out, tok, **OPTIONS)
    record = caplog.records[-1]
    assert record.getMessage() == f"{out}: 1 input has changed; 2 inputs are new; errors='skip' instead of 'strict'"
    assert record.levelname == "WARNING"


def test_a_shard_of_a_generation_that_is_lost(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    """Only the stages of its generation run again."""
    data, out = tmp_path / "data", tmp_path / "out"
    make(write(data, "a.jsonl", 1, 200), out, tok, shuffle=7)
    first = len(list(out.glob("shard-*.bin")))
    jeton.shards.add(out, write(data, "b.jsonl", 2, 200), progress=False)
    whole, before = digest(out), times(out)
    last = sorted(out.glob("shard-*.bin"))[-1]
    last.unlink()
    jeton.shards.repair(out, progress=False)
    assert digest(out) == whole
    assert ran_again(out, before) == [f"{last.stem.removeprefix('shard-')}.json"]
    spooled = jeton.shards.plan([data / "a.jsonl", data / "b.jsonl"], out, tok, shuffle=7, **OPTIONS).generations
    assert [len(one.buckets) for one in spooled] == [first, len(before) - first]


def test_a_repaired_input_runs_its_tasks(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    files = [write(data, f"{number}.jsonl", number, 100) for number in range(5)]
    make(data, out, tok)
    plan = jeton.shards.plan(data, out, tok, **OPTIONS)
    reading = [task.number for task in plan.tasks if any(piece.input == 2 for piece in task.pieces)]
    for number in (90, 110):
        before = times(out)
        write(data, "2.jsonl", 9, number)
        make(data, out, tok)
        assert ran_again(out, before) == [f"{task:05}.json" for task in reading]
        shutil.rmtree(tmp_path / "whole", ignore_errors=True)
        make(files, tmp_path / "whole", tok)
        assert stored(out) == stored(tmp_path / "whole")
        again = tmp_path / "again"
        shutil.rmtree(again, ignore_errors=True)
        again.mkdir()
        for name in ("plan.json", "tokenizer.json"):
            shutil.copy(out / name, again / name)
        jeton.shards.run(again, progress=False)
        jeton.shards.merge(again)
        assert digest(again) == digest(out)


def test_cuts_of_a_file_that_has_changed() -> None:
    """Tasks of later files keep their pieces; each byte of the changed file is in one piece."""
    rng = random.Random(3)
    for _ in range(300):
        files = [InputFile(f"{number}.jsonl", rng.randrange(60), "") for number in range(4)]
        before = list(cut_tasks(files, [True] * 4, 20))
        changed = list(files)
        changed[1] = files[1].changed_to(InputFile("1.jsonl", rng.randrange(80), "x"), 20)
        after = list(cut_tasks(changed, [True] * 4, 20))
        own = [piece for task in after for piece in task.pieces if piece.input == 1]
        assert own[0].start == 0
        assert own[-1].end == changed[1].size
        assert all(left.end == right.start for left, right in pairwise(own))
        if changed[1].cut is not None or changed[1].size == files[1].size:
            others = [[[p for p in task.pieces if p.input != 1] for task in tasks] for tasks in (before, after)]
            assert others[0] == others[1]


def test_a_file_that_has_its_planned_size_again_is_planned_as_new() -> None:
    planned = InputFile("a.jsonl", 25, "1")
    grown = planned.changed_to(InputFile("a.jsonl", 30, "2"), 10)
    assert grown.cut == 25
    assert grown.changed_to(InputFile("a.jsonl", 25, "3"), 10) == InputFile("a.jsonl", 25, "3")


def test_another_error_policy_repeats_failed_tasks(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    path = write(data, "a.jsonl", 1, 300)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:150], "nonsense\n", *lines[150:]]))
    with pytest.raises(FormatError, match=r"a\.jsonl:151"):
        make(path, out, tok)
    before = times(out)
    assert before
    report = make(path, out, tok, errors="skip")
    assert report.num_skipped == 1
    assert set(before.items()) <= set(times(out).items())
    make(path, tmp_path / "whole", tok, errors="skip")
    assert digest(out) == digest(tmp_path / "whole")
    with pytest.raises(FormatError, match=r"a\.jsonl:151"):  # the task that skipped the record is no longer valid
        make(path, out, tok)
    assert (jeton.shards.status(out).total - jeton.shards.status(out).done, jeton.shards.status(out).merged) == (1, 0)


def test_policies_where_nothing_is_skipped(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    path = write(tmp_path / "data", "a.jsonl", 1, 300)
    make(path, tmp_path / "out", tok)
    before = times(tmp_path / "out")
    for errors in ("skip", "replace", "strict"):
        make(path, tmp_path / "out", tok, errors=errors)
        assert not ran_again(tmp_path / "out", before)


def test_another_policy_spools_the_buckets_again(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    path = write(data, "a.jsonl", 1, 200)
    path.write_bytes(path.read_bytes() + b'{"text": "low \xff"}\n')
    make(path, out, tok, shuffle=3, errors="skip")
    make(path, out, tok, shuffle=3, errors="replace")
    make(path, tmp_path / "whole", tok, shuffle=3, errors="replace")
    assert digest(out) == digest(tmp_path / "whole")


def test_another_policy_is_interrupted_between_the_stages(
    tok: jeton.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shard's identity lacks the policy, so a shard must not outlive the spooled documents that it was made of."""
    path = write(tmp_path / "data", "a.jsonl", 1, 200)
    path.write_bytes(path.read_bytes() + b'{"text": "low \xff"}\n')
    make(path, tmp_path / "whole", tok, shuffle=3, errors="replace")
    make(path, tmp_path / "out", tok, shuffle=3, errors="skip")
    real = ShardFolder.remove_done

    def remove(self: ShardFolder, tasks: Any, folder: str = "done") -> None:
        real(self, tasks, folder)
        if tasks:
            raise KeyboardInterrupt

    monkeypatch.setattr(ShardFolder, "remove_done", remove)
    with pytest.raises(KeyboardInterrupt):
        make(path, tmp_path / "out", tok, shuffle=3, errors="replace")
    monkeypatch.undo()
    make(path, tmp_path / "out", tok, shuffle=3, errors="replace")
    assert digest(tmp_path / "out") == digest(tmp_path / "whole")


@pytest.mark.parametrize("options", [{}, {"shuffle": 5}], ids=str)
@pytest.mark.parametrize("verb", ["make", "repair"])
def test_lost_and_damaged_files_are_written_again(
    verb: str, options: dict[str, Any], tok: jeton.Tokenizer, tmp_path: Path
) -> None:
    path, out = write(tmp_path / "data", "a.jsonl", 1, 300), tmp_path / "out"
    make(path, out, tok, **options)
    whole = digest(out)
    shards = sorted(out.glob("shard-*.bin"))
    shards[1].unlink()
    shards[2].write_bytes(shards[2].read_bytes()[:-2])
    data = bytearray(shards[3].read_bytes())
    data[7] ^= 1
    shards[3].write_bytes(data)
    (out / "done" / "00000.json").write_bytes(b"{}")
    with pytest.raises(ShardError, match=r"repair"):
        jeton.shards.merge(out)
    if verb == "repair":
        jeton.shards.repair(out, progress=False)
    else:
        make(path, out, tok, **options)
    assert digest(out) == whole
    assert jeton.shards.verify(out, progress=False).is_valid


def test_repair_reads_inputs_that_have_changed(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    files = [write(data, f"{number}.jsonl", number, 100) for number in range(3)]
    make(data, out, tok)
    write(data, "1.jsonl", 8, 95)
    files[0].unlink()  # its tasks are complete, except the one that it shares with the next file
    with pytest.raises(FileNotFoundError, match=r"0\.jsonl"):
        jeton.shards.repair(out, progress=False)
    write(data, "0.jsonl", 0, 100)
    jeton.shards.repair(out, progress=False)
    make(files, tmp_path / "whole", tok)
    assert stored(out) == stored(tmp_path / "whole")


def test_adding_reads_earlier_inputs_that_have_changed(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    files = [write(data, f"{number}.jsonl", number, 100) for number in range(30)]
    make(data, out, tok)
    write(data, "3.jsonl", 99, 100)
    new = write(tmp_path / "more", "new.jsonl", 31, 10)
    jeton.shards.add(out, new, progress=False)
    make([*sorted(files), new], tmp_path / "whole", tok)
    assert stored(out) == stored(tmp_path / "whole")


@pytest.mark.parametrize("options", [{}, {"shuffle": 5}], ids=str)
def test_repair_needs_inputs_for_lost_shards_only(
    options: dict[str, Any], tok: jeton.Tokenizer, tmp_path: Path
) -> None:
    path, out = write(tmp_path / "data", "a.jsonl", 1, 100), tmp_path / "out"
    made = make(path, out, tok, **options)
    whole = digest(out)
    path.unlink()
    (out / "manifest.json").write_bytes(b"{}")  # repairing the manifest needs no input
    assert jeton.shards.repair(out, progress=False).documents == made.documents
    assert digest(out) == whole
    (out / "shard-00001.bin").unlink()
    with pytest.raises(FileNotFoundError, match=r"a\.jsonl"):
        jeton.shards.repair(out, progress=False)


def test_a_folder_of_an_earlier_version_grows(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    """Its completions have the digest of the plan: they are valid, and get identities before the plan changes."""
    data = tmp_path / "data"
    for options in ({}, {"shuffle": 4}):
        shutil.rmtree(data, ignore_errors=True)
        out = tmp_path / f"out-{len(options)}"
        old = write(data, "a.jsonl", 1, 200)
        make(old, out, tok, **options)
        plan = jeton.shards.plan(old, out, tok, **OPTIONS, **options)
        for path in [*out.glob("done/*.json"), *out.glob("spool/*.json")]:
            facts = facts_of(path)
            for name in ("identity", "errors", "records"):
                facts.pop(name, None)
            rewrite(path, {**facts, "plan": plan.digest})
        before = times(out)
        make(old, out, tok, **options)
        assert not ran_again(out, before)
        assert jeton.shards.verify(out, progress=False).is_valid
        shards = {path.name: path.stat().st_mtime_ns for path in out.glob("shard-*.bin")}
        jeton.shards.add(out, write(data, "b.jsonl", 2), progress=False)
        kept = [name for name, time in shards.items() if (out / name).stat().st_mtime_ns == time]
        assert len(kept) >= len(shards) - 1
        assert "plan" not in facts_of(out / "done" / "00000.json")


def test_shards_of_earlier_plans_are_removed(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    """A file that became much smaller is divided anew; files that no task wrote stay."""
    path, out = write(tmp_path / "data", "a.jsonl", 1, 300), tmp_path / "out"
    make(path, out, tok)
    (out / ".notes").touch()
    (out / "report-notes").touch()
    write(tmp_path / "data", "a.jsonl", 1, 20)
    make(path, out, tok)
    make(path, tmp_path / "whole", tok)
    assert digest(out) == digest(tmp_path / "whole")
    assert sorted(times(out)) == sorted(times(tmp_path / "whole"))
    assert (out / ".notes").exists()


TOOL = Path(__file__).parents[2] / "tools" / "grow_shards.py"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.parametrize(
    ("mode", "number"),
    [
        ("kills", 2),
        pytest.param("kills", 200, marks=pytest.mark.slow(reason="a minute; two kills are in the default selection")),
        pytest.param("sequences", 40, marks=pytest.mark.slow(reason="a minute; the other tests of this file")),
    ],
)
@pytest.mark.timeout(600)
def test_random_growth_equals_one_run(mode: str, number: int) -> None:
    run = subprocess.run([sys.executable, TOOL, mode, "--number", str(number)], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]


@pytest.mark.parametrize("options", [{}, {"shuffle": 5, "pack": 30}], ids=str)
@pytest.mark.parametrize("number", [0, 1, 2, 3, 4, 6])
def test_an_interrupted_change_of_plan(
    number: int, options: dict[str, Any], tok: jeton.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process ends before each of the first steps of `add`: the folder belongs to the old or the new plan."""
    data, out = tmp_path / "data", tmp_path / "out"
    files = [write(data, f"{one}.jsonl", one) for one in range(3)]
    make(files[:2], out, tok, **options)
    write(data, "1.jsonl", 7, 61)
    steps = 0
    for name in ("remove", "put"):
        real = getattr(type(ShardFolder(out).storage), name)

        def step(*arguments: Any, real: Any = real, **rest: Any) -> Any:
            nonlocal steps
            steps += 1
            if steps > number:
                raise KeyboardInterrupt
            return real(*arguments, **rest)

        monkeypatch.setattr(type(ShardFolder(out).storage), name, step)
    with pytest.raises(KeyboardInterrupt):
        jeton.shards.add(out, data, progress=False)
    monkeypatch.undo()
    shutil.copytree(out, tmp_path / "copy")
    jeton.shards.add(out, data, progress=False)
    jeton.shards.repair(tmp_path / "copy", progress=False)  # completes the existing plan
    assert jeton.shards.verify(tmp_path / "copy", progress=False).is_valid
    make(files, tmp_path / "whole", tok)
    if not options:
        assert stored(out) == stored(tmp_path / "whole")
    (tmp_path / "again").mkdir()
    for name in ("plan.json", "tokenizer.json"):
        shutil.copy(out / name, tmp_path / "again" / name)
    jeton.shards.run(tmp_path / "again", progress=False)
    jeton.shards.merge(tmp_path / "again")
    assert digest(tmp_path / "again") == digest(out)


def test_files_added_through_a_link_are_recognized(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    old, new = write(data, "a.jsonl", 1), write(data, "b.jsonl", 2)
    make(old, out, tok)
    (tmp_path / "link").symlink_to(data)
    jeton.shards.add(out, tmp_path / "link", progress=False)
    jeton.shards.add(out, data, progress=False)
    make([old, new], tmp_path / "whole", tok)
    assert stored(out) == stored(tmp_path / "whole")


def test_invalid_additions_are_refused(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    path = write(data, "a.jsonl", 1)
    with pytest.raises(ShardError, match="there is no folder"):
        jeton.shards.add(out, path)
    make(path, out, tok)
    with pytest.raises(ConfigError, match="was planned with field 'text', but this call has 'body'"):
        jeton.shards.add(out, jeton.Corpus(path, field="body"))
    with pytest.raises(ConfigError, match="is inside of"):
        jeton.shards.add(out, tmp_path)
    with pytest.raises(FileNotFoundError):
        jeton.shards.add(out, tmp_path / "missing")
    assert jeton.shards.verify(out, progress=False).is_valid


def test_jobs_complete_a_changed_plan(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    old = write(data, "a.jsonl", 1, 200)
    make(old, out, tok)
    new = write(data, "b.jsonl", 2)
    jeton.shards.plan([old, new], out, tok, **OPTIONS)
    assert not jeton.shards.status(out).merged
    for job in range(3):
        jeton.shards.run(out, job=(job, 3), progress=False)
    jeton.shards.merge(out)
    make([old, new], tmp_path / "whole", tok)
    assert digest(out) == digest(tmp_path / "whole")


def test_identities_do_not_depend_on_other_inputs(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    files = [write(tmp_path / "data", f"{number:02}.jsonl", number, 5) for number in range(60)]
    one = jeton.shards.plan(files[:30], tmp_path / "one", tok, **OPTIONS)
    two = jeton.shards.plan(files, tmp_path / "two", tok, **OPTIONS)
    same = [one.identity(number) == two.identity(number) for number in range(one.num_tasks)]
    assert all(same[:-1])
    assert len({two.identity(number) for number in range(two.num_tasks)}) == two.num_tasks
    os.utime(files[0], ns=(1, 1))
    other = jeton.shards.plan(files, tmp_path / "three", tok, **OPTIONS)
    assert [other.identity(number) == two.identity(number) for number in range(3)] == [False, True, True]


def test_sources_of_many_inputs_are_grouped_as_in_one_run(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    old = [write(data, f"{number:02}.jsonl", number, 4) for number in range(35)]
    make(old, out, tok)
    new = [write(data, f"{number:02}.jsonl", number, 4) for number in range(35, 50)]
    report = jeton.shards.add(out, new, progress=False)
    assert list(report.sources) == [f"{data}/"]
    assert report.sources == make([*old, *new], tmp_path / "whole", tok).sources
