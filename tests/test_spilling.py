"""Counting under a memory limit, or with interruptions, gives the counts of one run in memory."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
import zlib
from collections.abc import Callable, Iterator
from itertools import accumulate, product
from itertools import count as numbers
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jeton
from jeton import _core
from jeton.corpus import Document
from jeton.errors import ConfigError, FormatError
from jeton.training import checkpoint, limits
from jeton.training import count as counting
from jeton.training import runs as runs_module
from jeton.training.runs import Position, RunFolder
from jeton.training.stages import Stages
from jeton.util import machine

from .selection import amount, rest_is_slow


def words(seed: int, num: int) -> str:
    """A text in which new distinct words keep occurring."""
    rng = random.Random(seed)
    lengths = rng.choices((1, 1, 1, 2, 2, 3, 5, 8, 20), k=num)
    letters = "".join(rng.choices("abcdefgh", k=sum(lengths)))
    return " ".join(letters[end - length : end] for length, end in zip(lengths, accumulate(lengths), strict=True))


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return [words(seed, amount(60_000, default=24_000)) for seed in range(24)]


@pytest.fixture(scope="module")
def corpus(texts: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of the texts, for other processes."""
    path = tmp_path_factory.mktemp("corpus") / "texts.json"
    path.write_text(json.dumps(texts))
    return path


@pytest.fixture(scope="module")
def plain(texts: list[str]) -> jeton.Counts:
    return jeton.count_pretokens(texts, pattern="gpt2", progress=False)


def with_limits(options: dict[str, Any]) -> dict[str, Any]:
    """Moves options of `Limits` into one object."""
    names = ("memory_limit", "spill_folder", "checkpoint")
    limits = jeton.Limits(**{name: options[name] for name in names if name in options})
    return {**{name: value for name, value in options.items() if name not in names}, "limits": limits}


def counted(texts: object, **options: object) -> jeton.Counts:
    return jeton.count_pretokens(texts, pattern="gpt2", progress=False, **with_limits(options))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("limit", "threads"),
    rest_is_slow(
        product([1 << 20, "3MB", "64MiB"], [1, 2, 5]),
        lambda case: case in ((1 << 20, 5), ("3MB", 2), ("64MiB", 1)),
        "each limit, and each number of threads",
    ),
)
def test_a_limit_of_memory_changes_nothing(
    texts: list[str],
    plain: jeton.Counts,
    limit: int | str,
    threads: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spills = []
    put = RunFolder.put
    monkeypatch.setattr(RunFolder, "put", lambda self, *rest: (spills.append(1), put(self, *rest)))
    limited = counted(texts, memory_limit=limit, spill_folder=tmp_path / "here", threads=threads)
    assert limited == plain
    assert (len(spills) > 2) == (limit != "64MiB")
    assert not any((tmp_path / "here").glob("*")), "the runs are removed"
    limited.save(tmp_path / "limited.jtc")
    plain.save(tmp_path / "plain.jtc")
    assert (tmp_path / "limited.jtc").read_bytes() == (tmp_path / "plain.jtc").read_bytes()


def test_rare_pretokens_are_dropped_after_all_runs_are_joined(texts: list[str], plain: jeton.Counts) -> None:
    assert counted(texts, memory_limit=1 << 20, min_count=2) == plain.without_rare(2)


def test_many_runs_are_merged_in_steps(
    texts: list[str], plain: jeton.Counts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs_module, "MOST_RUNS", 2)
    assert counted(texts, memory_limit=1 << 20) == plain
    assert counted(texts, memory_limit=1 << 20, checkpoint=tmp_path) == plain
    assert counted(texts, checkpoint=tmp_path) == plain


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.text(alphabet="ab é日 \n", max_size=30), max_size=8), st.lists(st.booleans(), min_size=8, max_size=8)
)
def test_a_run_may_start_at_any_byte(documents: list[str], cuts: list[bool]) -> None:
    """The counter adds documents one by one, and spills after some of them."""
    counter = _core.Counter(Stages.of("o200k").core_json(), special_tokens=[])
    spill = RunFolder.open(None, checkpoint=False, options={})
    try:
        for number, (document, cut) in enumerate(zip(documents, cuts, strict=False)):
            counter.add([_core.TextColumn([document.encode()])], threads=1)
            if cut:
                spill.put(counter, Position(number + 1))
        core, _ = counter.finish(spill.runs(), 1)
        expected = jeton.count_pretokens(documents, progress=False)
        assert (core.items(), core.end) == (expected.items(), expected._core.end)
    finally:
        spill.close()


@pytest.mark.parametrize("limit", ["much", 0, -1, "5", "12 parsecs", True, 1.5, "1e9"])
def test_invalid_limits_are_refused(limit: object) -> None:
    with pytest.raises(ConfigError, match="memory_limit="):
        counted(["a"], memory_limit=limit)


def test_the_memory_limit_of_a_container_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "memory.max").write_text("123000000\n")
    monkeypatch.setattr(machine, "CGROUP", tmp_path)
    assert machine.available() == 123_000_000
    assert limits.parse_bytes(None) == 30_750_000
    (tmp_path / "memory.max").write_text("max\n")
    assert machine.available() > 123_000_000


# --- checkpoints --------------------------------------------------------------------------------------------------


class Stopping:
    """Documents that end in an error after a number of them, as a disk or network may."""

    def __init__(self, texts: list[str], after: int) -> None:
        self.texts, self.after = texts, after

    def __iter__(self) -> Iterator[str]:
        for number, text in enumerate(self.texts):
            if number == self.after:
                raise KeyboardInterrupt
            yield text


@pytest.mark.parametrize("after", rest_is_slow([0, 1, 7, 23], lambda after: after in (0, 7), "the beginning and later"))
def test_ctrl_c_keeps_counts(texts: list[str], plain: jeton.Counts, after: int, tmp_path: Path) -> None:
    limit = {"memory_limit": "8MiB"}  # batches of a megabyte
    with pytest.raises(KeyboardInterrupt):
        counted(Stopping(texts, after), checkpoint=tmp_path, **limit)
    state = (
        json.loads((tmp_path / "state.json").read_text()) if (tmp_path / "state.json").exists() else {"documents": 0}
    )
    assert after - 9 < state["documents"] <= after
    assert counted(texts, checkpoint=tmp_path, threads=1) == plain
    assert counted(texts, checkpoint=tmp_path) == plain, "a repetition continues at the end"


def test_a_checkpoint_of_something_else_is_refused_by_name(texts: list[str], tmp_path: Path) -> None:
    few = texts[:3]
    counted(few, checkpoint=tmp_path)
    with pytest.raises(ConfigError, match=r'was made with stages .*"gpt2".*, but this call has .*"o200k"'):
        jeton.count_pretokens(few, limits=jeton.Limits(checkpoint=tmp_path), progress=False)
    with pytest.raises(ConfigError, match=r'was made with special_tokens \[\], but this call has \["<x>"\]'):
        counted(few, checkpoint=tmp_path, special_tokens=["<x>"])
    with pytest.raises(
        ConfigError, match=r"another corpus: its 3 documents are not the first ones of this corpus \(2 were read"
    ):
        counted(few[:2], checkpoint=tmp_path)
    with pytest.raises(ConfigError, match="another corpus"):
        counted([few[0], few[2], few[1], "more"], checkpoint=tmp_path)
    assert counted(texts[:4], checkpoint=tmp_path) == counted(texts[:4]), "a corpus that has grown is continued"


@pytest.mark.parametrize(
    "state", [b"", b"{}", b"[1]", b'{"version": 1, "runs": ["../../etc/passwd"]}', b"\xff", b"[" * 100_000]
)
def test_a_damaged_state_is_an_error(state: bytes, tmp_path: Path) -> None:
    (tmp_path / "state.json").write_bytes(state)
    with pytest.raises(FormatError, match=r"state\.json"):
        counted(["a"], checkpoint=tmp_path)


def test_a_missing_or_damaged_run(texts: list[str], tmp_path: Path) -> None:
    counted(texts[:2], checkpoint=tmp_path)
    (run,) = tmp_path.glob("run-*.jtr")
    whole = run.read_bytes()
    run.write_bytes(whole[:-100])
    with pytest.raises(FormatError, match="damaged"):
        counted(texts[:2], checkpoint=tmp_path)
    run.unlink()
    with pytest.raises(FormatError, match=r"run-000001\.jtr is missing"):
        counted(texts[:2], checkpoint=tmp_path)


def test_leftovers_of_a_killed_process_are_removed(texts: list[str], plain: jeton.Counts, tmp_path: Path) -> None:
    for name in ("run-000009.jtr", "run-000001.jtr.tmp"):
        (tmp_path / name).write_bytes(b"half of a run")
    (tmp_path / "mine.txt").write_text("not ours")
    assert counted(texts, checkpoint=tmp_path) == plain
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.txt", "run-000001.jtr", "state.json"]


def test_positions_tell_documents_apart() -> None:
    texts = [b"", b"a", b"b", b"ab", b"x" * 600, b"x" * 601, b"x" * 300 + b"y" * 300]
    one = [Position().after(Document(text, "")) for text in texts]
    two = [first.after(Document(text, "")) for first in one for text in texts]
    assert len({*one, *two}) == len(one) + len(two)


def ended(process: subprocess.Popen[bytes], code: int = 0) -> str:
    """Waits for a process, which must end with this code; returns its output."""
    said = process.communicate(timeout=120)[1].decode()
    assert process.returncode == code, said
    return said


def start(corpus: Path, folder: Path, then: str = "") -> subprocess.Popen[bytes]:
    script = textwrap.dedent(f"""
        import json, sys, os, signal
        import jeton
        from jeton.training import count as counting
        counting.CHECKPOINT_EVERY = 0.0
        texts = json.load(open({os.fspath(corpus)!r}))
        limits = jeton.Limits(checkpoint={os.fspath(folder)!r}, memory_limit="8MiB")
        options = dict(pattern="gpt2", progress=False, limits=limits)
        {then}
        print("ready", flush=True)
        jeton.count_pretokens(texts, **options).save({os.fspath(folder / "out.jtc")!r})
    """)
    return subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


# Short batches give at least eight runs. A process waits after two of them, so it cannot end before it is killed.
WAITS = (
    "import time; from jeton.training.runs import RunFolder; put = RunFolder.put; n = []; "
    "jeton.Limits.batch_bytes = property(lambda self: 50_000); "
    "RunFolder.put = lambda self, counter, position: "
    "(n.append(put(self, counter, position)), len(n) > 1 and time.sleep(3600))"
)


def test_counting_completes_after_kill_9(corpus: Path, plain: jeton.Counts, tmp_path: Path) -> None:
    """The process is killed three times, at different times of its work; the next run completes."""
    rng = random.Random(5)
    plain.save(tmp_path / "plain.jtc")
    for _ in range(3):
        before = set(tmp_path.glob("run-*.jtr"))
        process = start(corpus, tmp_path, WAITS)
        while process.poll() is None and not set(tmp_path.glob("run-*.jtr")) - before:
            time.sleep(0.002)
        time.sleep(rng.random() * 0.05)  # it has begun its work
        process.kill()
        ended(process, -signal.SIGKILL)
    ended(start(corpus, tmp_path))
    assert (tmp_path / "out.jtc").read_bytes() == (tmp_path / "plain.jtc").read_bytes()


STEPS = {
    "before the rename": "real = os.replace; os.replace = lambda a, b: die() if 'run-000003' in str(b) else real(a, b)",
    "before the state": "real = os.replace; os.replace = lambda a, b: (die() if seen(b) > 3 else real(a, b))",
    "in the middle of a run": "from jeton.training.runs import RunFolder; put = RunFolder.put; "
    "RunFolder.put = lambda self, counter, position: die() if len(self._runs) == 2 else put(self, counter, position)",
}


@pytest.mark.parametrize(
    "step",
    rest_is_slow(
        STEPS, lambda step: step == "in the middle of a run", "one step; test_counting_completes_after_kill_9"
    ),
)
def test_a_process_that_ends_at_a_chosen_step(step: str, corpus: Path, plain: jeton.Counts, tmp_path: Path) -> None:
    helpers = "die = lambda: os.kill(os.getpid(), signal.SIGKILL); n = []; seen = lambda b: n.append(b) or len(n); "
    process = start(corpus, tmp_path, helpers + STEPS[step])
    ended(process, -signal.SIGKILL)
    ended(start(corpus, tmp_path))
    assert jeton.Counts.load(tmp_path / "out.jtc") == plain


@pytest.mark.skipif(sys.platform == "win32", reason="limits on files are POSIX's")
def test_a_full_disk_is_a_clear_error_and_loses_nothing(corpus: Path, plain: jeton.Counts, tmp_path: Path) -> None:
    full = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))"
    process = start(corpus, tmp_path, full)
    said = ended(process, 1)
    assert "OSError" in said
    assert "the checkpoint is still valid" in said
    assert not list(tmp_path.glob("*.tmp")), "no partial run"
    ended(start(corpus, tmp_path))
    assert jeton.Counts.load(tmp_path / "out.jtc") == plain


@pytest.mark.slow(reason="test_processes.py interrupts counting, test_ctrl_c_keeps_counts resumes it")
def test_a_signal_while_the_core_counts(corpus: Path, texts: list[str], plain: jeton.Counts, tmp_path: Path) -> None:
    """After a SIGINT the process ends within a second, and the next one continues."""
    process = start(corpus, tmp_path, "counting.CHECKPOINT_EVERY = 1e9; texts = texts * 60")
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    _, said = process.communicate(timeout=60)
    assert process.returncode != 0, "the process ended before the signal"
    assert "KeyboardInterrupt" in said.decode()
    assert time.monotonic() - began < 5  # for busy machines; on an idle one it is well under a second
    assert counted(texts * 60, checkpoint=tmp_path) == counted(texts * 60)


@pytest.mark.slow(reason="signals are checked each 0.1 s, so counting takes longer than that on a fast machine")
def test_a_batch_that_ends_in_time_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The signal arrives inside of a batch, which has some tenths of a second to end."""
    texts = [" ".join(map(str, range(first, first + 2_000_000))) for first in (0, 7_000_000)]
    interrupted: list[bool] = []
    add = _core.Counter.add

    class Interrupting:
        """Sends signals until one arrives while the core counts, when the counter cannot be read."""

        def __init__(self, counter: _core.Counter) -> None:
            self.counter = counter

        def __getattr__(self, name: str) -> object:
            return getattr(self.counter, name)

        def add(self, *args: object, **options: object) -> None:
            signal.signal(signal.SIGALRM, self.interrupt)
            signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
            add(self.counter, *args, **options)  # type: ignore[arg-type]

        def interrupt(self, *_: object) -> None:
            try:
                self.counter.totals()
            except RuntimeError:
                signal.setitimer(signal.ITIMER_REAL, 0)
                interrupted.append(True)
                raise KeyboardInterrupt from None

    class Run(counting._CountingRun):
        def __init__(self, corpus: object, counter: _core.Counter, *rest: object) -> None:
            super().__init__(corpus, Interrupting(counter), *rest)  # type: ignore[arg-type]

    old = signal.getsignal(signal.SIGALRM)
    monkeypatch.setattr(counting, "_CountingRun", Run)
    monkeypatch.setattr(counting, "PATIENCE", 60.0)
    try:
        with pytest.raises(KeyboardInterrupt):
            counted(texts, checkpoint=tmp_path)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    monkeypatch.undo()
    assert interrupted
    assert json.loads((tmp_path / "state.json").read_text())["documents"] == 2
    assert counted(texts, checkpoint=tmp_path) == counted(texts)


@pytest.mark.parametrize("moment", ["before the run", "after the run", "in the state", "after the state"])
def test_a_signal_while_a_checkpoint_is_written(
    moment: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Counts have left memory, and are not on disk yet: the write is completed before Ctrl-C ends counting."""
    write, save_state = RunFolder._write, RunFolder._save_state

    def writing(spill: RunFolder, fill: Callable[[str], object]) -> None:
        if moment == "before the run":
            signal.raise_signal(signal.SIGINT)
        write(spill, fill)
        if moment == "after the run":
            signal.raise_signal(signal.SIGINT)

    def saving(spill: RunFolder) -> None:
        if moment == "in the state":
            signal.raise_signal(signal.SIGINT)
        save_state(spill)
        if moment == "after the state":
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(RunFolder, "_write", writing)
    monkeypatch.setattr(RunFolder, "_save_state", saving)
    texts = ["some words", "and more words", "and some more"]
    with pytest.raises(KeyboardInterrupt):
        counted(texts, checkpoint=tmp_path)
    monkeypatch.undo()
    assert json.loads((tmp_path / "state.json").read_text())["documents"] == 3
    assert f"the checkpoint {tmp_path} holds the counts of 3 documents" in caplog.text
    assert counted(texts, checkpoint=tmp_path) == counted(texts)


def test_an_interrupt_before_any_count_is_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def documents() -> Iterator[str]:
        raise KeyboardInterrupt
        yield ""

    with pytest.raises(KeyboardInterrupt):
        counted(documents(), checkpoint=tmp_path)
    assert f"nothing is kept in the checkpoint {tmp_path} yet" in caplog.text


# --- learning ------------------------------------------------------------------------------------------------------


def trained(texts: object, size: int = 3000, **options: object) -> jeton.Tokenizer:
    return jeton.train(texts, size, pattern="gpt2", progress=False, **with_limits(options))  # type: ignore[arg-type]


def columns(tok: jeton.Tokenizer) -> object:
    assert tok.training is not None
    assert tok.training.log is not None
    return [(step.pair_count, step.corpus_tokens, step.tokens_in_use) for step in tok.training.log]


@pytest.mark.parametrize(
    "tie_break",
    rest_is_slow(
        ["lowest_ids", "first", "highest_pair", "shortest"], lambda tie_break: tie_break == "first", "one rule"
    ),
)
def test_learning_within_a_limit_of_memory_changes_nothing(texts: list[str], tie_break: str, tmp_path: Path) -> None:
    """The sequences exceed the limit, so they are stored in a file, which is read a few times."""
    texts = texts[: amount(24, default=6)]
    free = trained(texts, tie_break=tie_break, memory_limit="1GiB")
    limited = trained(texts, tie_break=tie_break, memory_limit="4MiB", spill_folder=tmp_path / "here", threads=2)
    assert limited.fingerprint == free.fingerprint
    assert columns(limited) == columns(free)
    assert not any((tmp_path / "here").glob("*")), "unnamed files leave nothing behind"


@pytest.mark.skipif(sys.platform != "linux", reason="what is resident is known on Linux")
def test_learning_keeps_to_the_limit(plain: jeton.Counts, tmp_path: Path) -> None:
    """The peak of resident memory of learning, in a separate process, beyond the memory before it."""
    plain.save(tmp_path / "counts.jtc")
    script = textwrap.dedent(f"""
        import sys, jeton, re
        from pathlib import Path
        counts = jeton.Counts.load({os.fspath(tmp_path / "counts.jtc")!r})
        jeton.train(["a few words"], 260, pattern="gpt2", progress=False)
        Path("/proc/self/clear_refs").write_text("5")
        most = lambda: int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) >> 10
        before = most()
        limit = jeton.Limits(memory_limit=sys.argv[1])
        tok = jeton.train(counts, {amount(3_000, default=1_500)}, pattern="gpt2", progress=False, limits=limit)
        print(tok.fingerprint, most() - before)
    """)

    def learned(limit: str) -> tuple[str, int]:
        fingerprint, most = subprocess.check_output([sys.executable, "-c", script, limit]).decode().split()
        return fingerprint, int(most)

    free, most = learned("8GiB")
    found = []
    while len(found) < 3 and min(found, default=most) >= most * 0.7:  # a busy system writes mapped pages later
        limited, least = learned("6MiB")
        assert free == limited
        found.append(least)
    assert min(found) < most * 0.7, (most, found)


@pytest.mark.skipif(sys.platform != "linux", reason="page faults are counted as on Linux")
def test_page_faults_under_a_limit_are_bounded(plain: jeton.Counts, tmp_path: Path) -> None:
    """Page faults measure the cost of spilling: far below the needed memory, each visit of a position used to cost one.

    With 5 MiB, their number is 22 times that without a limit; it was 600 times.
    """
    plain.save(tmp_path / "counts.jtc")
    script = textwrap.dedent(f"""
        import resource, sys, jeton
        counts = jeton.Counts.load({os.fspath(tmp_path / "counts.jtc")!r})
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        limits = jeton.Limits(sys.argv[1], threads=1)
        tok = jeton.train(counts, {amount(3_000, default=1_500)}, pattern="gpt2", progress=False, limits=limits)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before, tok.fingerprint)
    """)
    limits = ["8GiB", "5MiB", "45MiB", "20MiB", "10MiB"][: amount(5, default=2)]
    said = [subprocess.check_output([sys.executable, "-c", script, limit]).decode().split() for limit in limits]
    (free, fingerprint), *limited = said
    for limit, (faults, own) in zip(limits[1:], limited, strict=True):
        assert own == fingerprint
        assert int(faults) < 40 * int(free), (limit, faults, free)


@pytest.mark.skipif(sys.platform != "linux", reason="what is mapped is known on Linux")
def test_arithmetic_of_counts_keeps_to_the_limit(texts: list[str], plain: jeton.Counts, tmp_path: Path) -> None:
    limited = counted(texts, memory_limit="1MiB", spill_folder=tmp_path)
    maps = Path("/proc/self/maps")

    def mapped() -> int:
        return maps.read_text().count(os.fspath(tmp_path))

    before = mapped()
    assert before > 0
    made = [limited + limited, limited - limited, limited.scaled(3), limited.without_rare(2)]
    assert mapped() >= before + 4
    limited.save(tmp_path / "counts.jtc")
    assert jeton.Counts.load(tmp_path / "counts.jtc") == limited
    others = [plain + plain, plain - plain, plain.scaled(3), plain.without_rare(2)]
    assert all(one == other for one, other in zip(made, others, strict=True))
    del made
    assert mapped() == before


@pytest.mark.parametrize(
    "options",
    rest_is_slow(
        [
            {"tie_break": "first"},
            {"tie_break": "shortest", "level": "char"},
            {"end_of_word": "</w>", "tie_break": "highest_pair", "pattern": None},
            {"preset": "hf", "pattern": None},
            {"preset": "sentencepiece", "pattern": None},
            {"preset": "subword-nmt", "pattern": None},
            {"superwords": True},
            {"rules": ["lone_punctuation"], "min_frequency": 3},
        ],
        lambda options: "superwords" in options or options.get("tie_break") == "first" or options.get("preset") == "hf",
        "our rules, a preset, superwords",
    ),
    ids=lambda options: "-".join(map(str, options.values())),
)
def test_learning_goes_on_from_its_merges(
    options: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Learning is interrupted repeatedly after some merges; each run adds new ones."""
    texts = [words(seed, 500) for seed in range(300)]  # SentencePiece leaves out longer lines
    given = {"pattern": "gpt2", "progress": False, **options}
    plain = jeton.train(texts, 900, **given)  # type: ignore[arg-type]
    saves = []
    monkeypatch.setattr(checkpoint, "SAVE_EVERY_S", 0.0)
    real = checkpoint.write_atomically

    def write(path: Path) -> Any:
        saves.append(path)
        if len(saves) in (150, 151, 300):  # the save itself is interrupted, too
            raise KeyboardInterrupt
        return real(path)

    monkeypatch.setattr(checkpoint, "write_atomically", write)
    stopped = 0
    while True:
        try:
            resumed = jeton.train(texts, 900, limits=jeton.Limits(checkpoint=tmp_path), **given)  # type: ignore[arg-type]
        except KeyboardInterrupt:
            stopped += 1
        else:
            break
    assert stopped == 3
    assert resumed.fingerprint == plain.fingerprint
    assert columns(resumed) == columns(plain)


def test_a_checkpoint_of_merges_serves_every_size(texts: list[str], tmp_path: Path) -> None:
    for size in (600, 400, 900):
        again = trained(texts[:3], size, checkpoint=tmp_path, min_frequency=2)
        assert again.fingerprint == trained(texts[:3], size, min_frequency=2).fingerprint


def test_merges_of_something_else_are_refused_by_name(
    texts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "SAVE_EVERY_S", 0.0)
    counts = counted(texts[:2])
    trained(counts, 400, checkpoint=tmp_path)
    with pytest.raises(ConfigError, match="were learned with tie_break"):
        trained(counts, 400, checkpoint=tmp_path, tie_break="first")
    with pytest.raises(ConfigError, match="were learned with counts"):
        trained(counted(texts[:3]), 400, checkpoint=tmp_path)
    path = tmp_path / checkpoint.FILE_NAME
    whole = path.read_bytes()
    for damaged in (b"", b"{}\n", whole[:-1], whole[:-40] + b"\0" * 40, b"[1]\n" + whole):
        path.write_bytes(damaged)
        with pytest.raises(FormatError, match="merges"):
            trained(counts, 400, checkpoint=tmp_path)


def test_invalid_merges_in_a_checkpoint_are_an_error(
    texts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file with a valid checksum and invalid merges is an error, never a panic."""
    monkeypatch.setattr(checkpoint, "SAVE_EVERY_S", 0.0)
    counts = counted(texts[:2])
    trained(counts, 400, checkpoint=tmp_path)
    path = tmp_path / checkpoint.FILE_NAME
    first, _, merges = path.read_bytes().partition(b"\n")
    rng, refused = random.Random(3), 0
    for _ in range(30):
        wrong = bytearray(merges)
        for _ in range(rng.randrange(1, 4)):
            wrong[rng.randrange(12)] = rng.randrange(256)  # of the first merge: left, right, result
        if bytes(wrong) == merges:
            continue
        head = json.loads(first) | {"checksum": zlib.crc32(wrong)}
        path.write_bytes(json.dumps(head).encode() + b"\n" + wrong)
        try:
            trained(counts, 400, checkpoint=tmp_path)  # a different pair may be indistinguishable from a learned one
        except FormatError:
            refused += 1
    assert refused > 20


def learner(corpus: Path, folder: Path, then: str = "") -> subprocess.Popen[bytes]:
    script = textwrap.dedent(f"""
        import json
        import jeton
        from jeton.training import checkpoint
        checkpoint.SAVE_EVERY_S = 0.02
        texts = json.load(open({os.fspath(corpus)!r}))
        limits = dict(checkpoint={os.fspath(folder)!r})
        {then}
        options = dict(pattern="gpt2", progress=False, limits=jeton.Limits(**limits))
        jeton.train(texts, 6000, **options).save({os.fspath(folder / "out.json")!r})
    """)
    return subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.slow(reason="test_learning_goes_on_from_its_merges; test_counting_completes_after_kill_9 kills counting")
def test_learning_completes_after_kill_9(corpus: Path, texts: list[str], tmp_path: Path) -> None:
    """The process is killed each time it has saved more merges, until it completes."""
    trained(texts, 6000).save(tmp_path / "plain.json")
    path, killed = tmp_path / checkpoint.FILE_NAME, 0
    for attempt in numbers():
        process = learner(corpus, tmp_path)
        before = path.stat().st_size if path.exists() else 0
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline and attempt < 3:
            if path.exists() and path.stat().st_size > before:
                break
            time.sleep(0.002)
        if process.poll() is None and attempt < 3:
            process.kill()
            killed += 1
        _, said = process.communicate(timeout=120)
        if process.returncode == 0:
            break
        assert process.returncode == -signal.SIGKILL, said.decode()
    assert killed >= 2
    made = [json.loads((tmp_path / name).read_bytes()) for name in ("out.json", "plain.json")]
    for file in made:  # durations and bytes read again may differ
        file["model"]["jeton"].pop("training", None)
    assert made[0] == made[1]


@pytest.mark.slow(reason="test_a_full_disk_is_a_clear_error_and_loses_nothing, of counting")
@pytest.mark.skipif(sys.platform == "win32", reason="limits on files are POSIX's")
def test_learning_continues_after_a_full_disk(corpus: Path, texts: list[str], tmp_path: Path) -> None:
    full = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (900_000, 900_000))"
    process = learner(corpus, tmp_path, f"{full}; limits['memory_limit'] = '4MiB'")
    said = ended(process, 1)
    assert "OSError" in said
    assert "spill_folder=" in said or "the checkpoint" in said
    ended(learner(corpus, tmp_path))
    assert jeton.load(tmp_path / "out.json").fingerprint == trained(texts, 6000).fingerprint
