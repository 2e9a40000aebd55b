"""Unigram training under a memory limit, or with interruptions, gives the pieces and scores of one run in memory."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from itertools import count as numbers
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.errors import ConfigError, FormatError
from jeton.training import checkpoint
from jeton.training.presets import SentencePieceUnigram

from .selection import amount, rest_is_slow


def lines(num: int) -> list[str]:
    """Lines of words of random syllables; most words are distinct."""
    rng = random.Random(11)
    syllables = [rng.choice("bdgkmnrst") + rng.choice("aeioué") + rng.choice(["", "n", "st"]) for _ in range(60)]
    syllables += ["今天", "天气", "かな", "12", "语言"]
    return [
        " ".join("".join(rng.choices(syllables, k=rng.randint(1, 6))) for _ in range(rng.randint(1, 30)))
        for _ in range(num)
    ]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "lines.txt"
    path.write_text("\n".join(lines(amount(20_000, default=6_000))), "utf-8")
    return path


def train(corpus: object, size: int = 1_000, preset: object = None, **limits: Any) -> jeton.Tokenizer:
    by = {"preset": "unigram" if preset is None else preset}
    return jeton.train(corpus, size, progress=False, limits=jeton.Limits(**limits), **by)  # type: ignore[arg-type]


def vocabulary(tok: jeton.Tokenizer) -> list[tuple[str, float]]:
    scores = tok._core.scores()
    return [(tok.id_to_token(id), scores[id]) for id in range(tok.vocab_size)]


@pytest.fixture(scope="module")
def plain(corpus: Path) -> list[tuple[str, float]]:
    return vocabulary(train(corpus))


@pytest.mark.parametrize(
    ("limit", "threads"),
    rest_is_slow(
        [("1MiB", 1), ("1MiB", 3), ("6MiB", 2), ("20MiB", 2)],
        lambda case: case in (("1MiB", 3), ("6MiB", 2)),
        "the smallest limit, and a larger one",
    ),
)
def test_a_memory_limit_changes_nothing(
    corpus: Path, plain: list[tuple[str, float]], limit: str, threads: int, tmp_path: Path
) -> None:
    tok = train(corpus, memory_limit=limit, threads=threads, spill_folder=tmp_path / "here")
    assert vocabulary(tok) == plain  # scores to the last bit
    assert not any((tmp_path / "here").glob("*")), "no file is left behind"


def test_a_memory_limit_changes_nothing_with_the_preset(corpus: Path) -> None:
    preset = SentencePieceUnigram(split_digits=True, max_sentencepiece_length=9, hard_vocab_limit=False)
    assert vocabulary(train(corpus, preset=preset, memory_limit="2MiB")) == vocabulary(train(corpus, preset=preset))


@pytest.mark.skipif(sys.platform != "linux", reason="what is resident is known on Linux")
def test_learning_keeps_to_the_limit(tmp_path: Path) -> None:
    """The peak of resident memory of training, in a separate process, beyond the memory before it.

    It includes modules and batches of documents, so a small limit is exceeded.
    """
    path = tmp_path / "lines.txt"
    path.write_text("\n".join(lines(amount(40_000, default=15_000))), "utf-8")
    script = textwrap.dedent(f"""
        import re, sys, jeton
        from pathlib import Path
        jeton.train(["a few words"] * 9, 12, preset="unigram", progress=False)
        Path("/proc/self/clear_refs").write_text("5")
        most = lambda: int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) >> 10
        before = most()
        limits = jeton.Limits(memory_limit=sys.argv[1], threads=2)
        tok = jeton.train({os.fspath(path)!r}, 2_000, preset="unigram", progress=False, limits=limits)
        print(tok.fingerprint, most() - before)
    """)
    said = [subprocess.check_output([sys.executable, "-c", script, limit]).decode() for limit in ("8GiB", "16MiB")]
    (free, most), (limited, least) = (line.split() for line in said)
    assert free == limited
    assert int(least) <= 48 < int(most), (most, least)


# --- checkpoints --------------------------------------------------------------------------------------------------


def test_training_resumes_after_any_step(
    corpus: Path, plain: list[tuple[str, float]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each run is interrupted after one more step; some saves are interrupted, too."""
    monkeypatch.setattr(checkpoint, "SAVE_EVERY_S", 0.0)
    real, saves = checkpoint.write_atomically, 0

    def write(path: Path) -> Any:
        nonlocal saves
        if path.name != checkpoint.PIECES_FILE_NAME:
            return real(path)
        saves += 1
        if saves % 3 == 0:
            raise KeyboardInterrupt
        return real(path)

    monkeypatch.setattr(checkpoint, "write_atomically", write)
    stopped = 0
    while True:
        try:
            resumed = train(corpus, checkpoint=tmp_path)
        except KeyboardInterrupt:
            stopped += 1
        else:
            break
    assert stopped >= 3
    assert vocabulary(resumed) == plain
    assert vocabulary(train(corpus, checkpoint=tmp_path)) == plain, "a repetition continues at the end"


def test_another_size_learns_from_the_start(
    corpus: Path, plain: list[tuple[str, float]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "SAVE_EVERY_S", 0.0)
    train(corpus, 700, checkpoint=tmp_path)
    assert vocabulary(train(corpus, checkpoint=tmp_path)) == plain


def test_a_checkpoint_of_another_training_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "SAVE_EVERY_S", 0.0)
    train(lines(300), 300, checkpoint=tmp_path)
    with pytest.raises(ConfigError, match=r"was made with|were learned with"):
        train(lines(300), 300, preset=SentencePieceUnigram(shrinking_factor=0.6), checkpoint=tmp_path)
    path = tmp_path / checkpoint.PIECES_FILE_NAME
    whole = path.read_bytes()
    for damaged in (b"", b"{}\n", whole[:-1], whole[:-40] + b"\0" * 40, b"[1]\n" + whole):
        path.write_bytes(damaged)
        with pytest.raises(FormatError, match="pieces"):
            train(lines(300), 300, checkpoint=tmp_path)


def test_invalid_pieces_in_a_checkpoint_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file with a valid checksum and invalid pieces gives an error or a vocabulary, never a panic."""
    monkeypatch.setattr(checkpoint, "SAVE_EVERY_S", 0.0)
    train(lines(200), 300, checkpoint=tmp_path)
    path = tmp_path / checkpoint.PIECES_FILE_NAME
    first, _, pieces = path.read_bytes().partition(b"\n")
    rng, number, refused = random.Random(3), amount(200, default=40), 0
    for _ in range(number):
        wrong = bytearray(pieces)
        for _ in range(rng.randrange(1, 4)):
            wrong[rng.randrange(48)] = rng.randrange(256)
        head = json.loads(first) | {"checksum": checkpoint.zlib.crc32(wrong)}
        path.write_bytes(json.dumps(head).encode() + b"\n" + wrong)
        try:
            train(lines(200), 300, checkpoint=tmp_path)
        except (FormatError, jeton.TrainingError):
            refused += 1
    assert refused > number / 2


def learner(corpus: Path, folder: Path) -> subprocess.Popen[bytes]:
    script = textwrap.dedent(f"""
        import jeton
        from jeton.training import checkpoint
        checkpoint.SAVE_EVERY_S = 0.0
        limits = jeton.Limits(checkpoint={os.fspath(folder)!r}, memory_limit="8MiB")
        tok = jeton.train({os.fspath(corpus)!r}, 1_000, preset="unigram", progress=False, limits=limits)
        tok.save({os.fspath(folder / "out.model")!r})
    """)
    return subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def stopped_again_and_again(
    corpus: Path, folder: Path, stop: Callable[[subprocess.Popen[bytes]], object], expected: bytes
) -> int:
    """Stops a process each time it has saved pieces, until it completes. Returns the number of stops."""
    path, stops, rng = folder / checkpoint.PIECES_FILE_NAME, 0, random.Random(1)
    for attempt in numbers():
        process = learner(corpus, folder)
        before = path.read_bytes() if path.exists() else b""
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline and attempt < 3:
            if path.exists() and path.read_bytes() != before:
                time.sleep(rng.random() * 0.05)
                break
            time.sleep(0.002)
        if process.poll() is None and attempt < 3:
            stop(process)
            stops += 1
        _, said = process.communicate(timeout=120)
        if process.returncode == 0:
            break
        assert process.returncode == -signal.SIGKILL or b"KeyboardInterrupt" in said, said.decode()
    assert (folder / "out.model").read_bytes() == expected
    return stops


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX's")
@pytest.mark.parametrize(
    "stop",
    rest_is_slow(
        [subprocess.Popen.kill, lambda process: process.send_signal(signal.SIGINT)],
        lambda stop: stop is subprocess.Popen.kill,
        "kill -9; test_training_resumes_after_any_step raises KeyboardInterrupt",
    ),
    ids=["kill -9", "Ctrl-C"],
)
def test_a_process_that_is_stopped(
    corpus: Path, stop: Callable[[subprocess.Popen[bytes]], object], tmp_path: Path
) -> None:
    """The final file is equal byte for byte."""
    train(corpus).save(tmp_path / "plain.model")
    assert stopped_again_and_again(corpus, tmp_path, stop, (tmp_path / "plain.model").read_bytes()) >= 2
