"""Grows folders of shards with repairs, kills, damage and changed options, and compares the results.

    python tools/grow_shards.py kills --number 200         200 times: run `add`, kill its process
    python tools/grow_shards.py sequences --number 40      random sequences of changes

``kills`` adds files to folders, alternately in order and shuffled, and kills the process (SIGKILL) at random moments.
In each folder, the last call of `add` ends without a kill. The result must equal that of one call without kills. If
files were added in order, the result must also equal that of one run over all files.

``sequences`` makes a folder of a random format and takes random steps: it adds files (with `add`, or with another
call of `make` that has more inputs), rewrites an input, puts a bad record into an input or removes such a record, loses
or damages shards and completions, kills a process, and changes options. A step that must be refused has to fail with
the name of the option or the input, and must leave the folder unchanged. At the end, the folder is compared with two
new folders. The first is made by one run of the folder's plan, and must be equal byte for byte. The second is made by
one run over all inputs, and must have the same documents (not compared if sequences are packed). If the folder was not
repaired, the second must also be equal byte for byte; exception: shuffled folders that have grown. Needs `os.fork`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from interrupt_shards import child, void

import jeton
from jeton.errors import ConfigError, FormatError, ShardError

TASK_BYTES = 3000
BAD = "nonsense\n"
POLICIES = ("strict", "skip", "replace")
LAYOUTS: tuple[dict[str, Any], ...] = (
    {"format": "megatron"}, {"format": "bin", "shuffle": 3}, {"format": "olmo"}, {"format": "datatrove"},
    {"format": "bin", "pack": 64}, {"format": "olmo", "shuffle": 5}, {"format": "counts"},
    {"format": "bin", "shuffle": 1, "pack": 48, "packing": "best_fit"},
)  # fmt: skip
Work = Callable[[Callable[[str], None]], None]


def digest(folder: Path) -> str:
    """Returns the hash of shards, manifest and rejects. Leaves out the plan, which depends on how the folder grew."""
    sha = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.is_file() and not path.name.startswith(("report", "plan", ".")):
            sha.update(path.name.encode() + path.read_bytes())
    return sha.hexdigest()[:16]


def write_rows(path: Path, rng: random.Random, number: int, bad: bool = False) -> None:
    """Writes rows of random words; one of them is invalid if `bad`."""
    words = ["low", "lower", "new", "newest", "wide", "日本", "ä", "\n", "x" * 30]
    rows = [json.dumps({"text": " ".join(rng.choices(words, k=rng.randrange(12)))}) + "\n" for _ in range(number)]
    if bad:
        rows.insert(rng.randrange(number), BAD)
    path.write_text("".join(rows))


def run_of_plan(folder: Path, place: Path) -> str:
    """Runs the plan of a folder once in a new folder, and returns the digest of the result."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    for name in ("plan.json", "tokenizer.json"):
        if (folder / name).exists():
            shutil.copy(folder / name, place / name)
    jeton.shards.run(place, workers=1, progress=False)
    jeton.shards.merge(place, max_skipped="100%")
    return digest(place)


def documents(folder: Path) -> list[bytes]:
    """Returns the token ids of each document, as bytes; for a folder of counts, one item with all counts."""
    manifest = json.loads((folder / "manifest.json").read_bytes())
    if manifest["format"] == "counts":
        counts = [jeton.Counts.load(path) for path in sorted(folder.glob("shard-*.jtc"))]
        return [repr(sum(counts[1:], counts[0]).items()).encode()]
    return [ids.tobytes() for ids in jeton.shards.open(folder)]


def kill_after(work: Work, delay: float) -> bool:
    """Starts a process and kills it after some time; returns False if it ended before the kill.

    Raises:
        SystemExit: the process failed.
    """
    process, pipe = child(work)
    deadline = time.perf_counter() + delay
    while time.perf_counter() < deadline:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            os.close(pipe)
            if status:
                raise SystemExit("a process failed")
            return False
        time.sleep(0.0005)
    os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    os.close(pipe)
    if not os.WIFSIGNALED(status) and status:
        raise SystemExit("a process failed")
    return os.WIFSIGNALED(status)


def kills(number: int, seed: int, folder: Path, tok: jeton.Tokenizer) -> bool:
    """Kills processes while they run `add`; returns True if all digests are equal afterwards."""
    rng = random.Random(seed)  # noqa: S311
    old, new = [folder / f"{n}.jsonl" for n in range(3)], [folder / f"{n}.jsonl" for n in range(3, 6)]
    for path in [*old, *new]:
        write_rows(path, rng, 150)
    layouts = ({"format": "megatron"}, {"format": "bin", "shuffle": 7, "pack": 64, "packing": "best_fit"})
    expected, seconds = [], []
    for index, options in enumerate(layouts):
        base, whole = folder / f"base-{index}", folder / f"whole-{index}"
        options |= {"task_bytes": TASK_BYTES, "append_eos": True, "progress": False, "verify": False}
        jeton.shards.make(old, base, tok, **options)
        shutil.copytree(base, whole)
        began = time.perf_counter()
        jeton.shards.add(whole, new, progress=False, verify=False, workers=2)
        seconds.append(time.perf_counter() - began)
        expected.append(digest(whole))
    jeton.shards.make([*old, *new], folder / "one", tok, **layouts[0])
    if digest(folder / "one") != expected[0]:
        print("adding differs from one run")
        return False
    found, killed, trial = Counter[str](), Counter[str](), 0
    while killed.total() < number:
        which = trial % 2
        place = folder / f"out-{trial}"
        shutil.copytree(folder / f"base-{which}", place)

        def work(_: Callable[[str], None], place: Path = place) -> None:
            jeton.shards.add(place, new, progress=False, verify=False, workers=2)

        for _ in range(rng.randrange(1, 12)):
            if killed.total() >= number or not kill_after(work, rng.uniform(0, 1.2 * seconds[which])):
                break
            facts = json.loads((place / "plan.json").read_bytes())
            is_merged = (place / "manifest.json").exists()
            killed[("merged" if is_merged else "after the plan") if "grown" in facts else "before the plan"] += 1
        work(void)
        found["as expected" if digest(place) == expected[which] else "different"] += 1
        left = [path.name for path in (*place.rglob(".*.tmp"), *place.glob("spool/*.bin"))]
        if left:
            print("left behind:", left)
            return False
        shutil.rmtree(place)
        trial += 1
    print(f"{killed.total()} kills: {dict(killed)}; {trial} folders: {dict(found)}")
    return set(found) == {"as expected"}


class Sequence:
    """A folder of shards, with its inputs in the order of its plan."""

    def __init__(self, number: int, seed: int, folder: Path, tok: jeton.Tokenizer) -> None:
        self._rng = random.Random(f"{seed}/{number}")  # noqa: S311
        self._folder, self.out = folder, folder / "out"
        self.options = {"task_bytes": TASK_BYTES, **LAYOUTS[number % len(LAYOUTS)]}
        self._is_counts = self.options["format"] == "counts"
        if not self._is_counts:
            self.options |= {"append_eos": True}
        self._tok = None if self._is_counts else tok
        self.errors, self.files, self._bad = "strict", [self._new() for _ in range(self._rng.randrange(1, 4))], set()
        self.done: list[str] = []
        self.is_repaired = False

    def _new(self) -> Path:
        path = self._folder / f"{len(list(self._folder.glob('*.jsonl'))):02}-{self._rng.randrange(1000)}.jsonl"
        write_rows(path, self._rng, self._rng.randrange(1, 150))
        return path

    def _make(self, _: Callable[[str], None] = void, files: list[Path] | None = None, **changes: Any) -> None:
        """Makes the shards of `files` (default: all inputs). `changes` override the options of this folder."""
        options = {**self.options, "workers": 2, "progress": False, "max_skipped": "100%", **changes}
        corpus = jeton.Corpus(files or self.files, errors=options.pop("errors", self.errors))
        jeton.shards.make(corpus, self.out, self._tok, **options)

    def _expect(self, work: Callable[[], None]) -> None:
        """Runs a step. It may fail because of a bad record, unless the policy is to skip such records."""
        try:
            work()
        except FormatError as error:
            if not self._bad or self.errors == "skip" or "not a JSON row" not in str(error):
                raise

    def _refused(self, name: str, work: Callable[[], None]) -> None:
        """Runs a step that must fail with a message that contains `name`, and must leave the folder unchanged."""
        before = {path: path.read_bytes() for path in self.out.rglob("*") if path.is_file()}
        try:
            work()
        except ConfigError as error:
            if name not in str(error):
                raise
        else:
            raise AssertionError(f"{name} is not refused")
        if before != {path: path.read_bytes() for path in self.out.rglob("*") if path.is_file()}:
            raise AssertionError(f"refusing {name} changed the folder")

    def _add(self) -> None:
        new = [self._new() for _ in range(self._rng.randrange(1, 3))]
        self.files += new
        if self._rng.random() < 0.5:
            self._expect(
                lambda: void(
                    jeton.shards.add(
                        self.out, new, errors=self.errors, progress=False, workers=2, max_skipped="100%"
                    )
                )
            )  # fmt: skip
            return
        among = list(self.files)  # earlier files keep their order; new files are inserted
        for path in new:
            among.remove(path)
        at = self._rng.randrange(len(among) + 1)
        self._expect(lambda: self._make(files=[*among[:at], *new, *among[at:]]))

    def _rewrite(self) -> None:
        path = self._rng.choice(self.files)
        write_rows(path, self._rng, self._rng.randrange(1, 150))
        self._bad.discard(path)
        self.is_repaired = True
        self._expect(self._make)

    def _bad_record(self) -> None:
        path = self._rng.choice(self.files)
        write_rows(path, self._rng, self._rng.randrange(1, 150), bad=True)
        self._bad.add(path)
        self.is_repaired = True
        self._expect(self._make)

    def _keep_going(self) -> None:
        try:
            self._make(keep_going=True)
        except ShardError as error:
            if not self._bad or self.errors == "skip" or not error.failed:
                raise

    def _policy(self) -> None:
        self.errors = self._rng.choice(POLICIES)
        self._expect(self._make)

    def _damage(self) -> None:
        files = [
            path for path in self.out.rglob("*") if path.parent.name == "done" or path.name.startswith("shard-")
        ]  # fmt: skip
        for path in self._rng.sample(files, min(len(files), 3)):
            data = bytearray(path.read_bytes())
            kind = self._rng.choice(["lose", "cut", "flip"])
            if kind == "lose":
                path.unlink()
            else:
                if kind == "flip" and data:
                    data[self._rng.randrange(len(data))] ^= 1 << self._rng.randrange(8)
                path.write_bytes(data if kind == "flip" else data[: len(data) // 2])
        if self._rng.random() < 0.5:
            self._expect(self._make)
        else:
            self._expect(
                lambda: void(jeton.shards.repair(self.out, progress=False, workers=2, max_skipped="100%"))
            )  # fmt: skip

    def _kill(self) -> None:
        if self._bad and self.errors != "skip":
            return
        self.files.append(self._new())
        for _ in range(3):
            kill_after(self._make, self._rng.uniform(0, 0.15))
        self._make()

    def _other_option(self) -> None:
        changes: list[tuple[str, dict[str, Any]]] = [("task_bytes", {"task_bytes": TASK_BYTES + 1})]
        if not self._is_counts:
            changes += [("append_eos", {"append_eos": False}), ("shuffle", {"shuffle": 99})]
        name, change = self._rng.choice(changes)
        self._refused(name, lambda: self._make(**change))

    def _fewer_inputs(self) -> None:
        if len(self.files) > 1:
            lost = self._rng.choice(self.files)
            self._refused("is no longer one", lambda: self._make(files=[path for path in self.files if path != lost]))

    def run(self) -> tuple[bool, str]:
        """Takes random steps. Returns two values: whether the folder is as expected, and a description of the steps."""
        steps = ("add", "rewrite", "bad_record", "keep_going", "policy", "damage", "kill", "other_option",
                 "fewer_inputs")  # fmt: skip
        self._make()
        for _ in range(self._rng.randrange(4, 12)):
            self.done.append(self._rng.choice(steps))
            before, is_begun = list(self.files), any(self.out.glob("done/*")) or any(self.out.glob("spool/*.json"))
            getattr(self, f"_{self.done[-1]}")()
            files = [Path(path) for path, *_ in json.loads((self.out / "plan.json").read_bytes())["inputs"]]
            # Once a task has been completed, new inputs must follow the earlier ones.
            if sorted(files) != sorted(self.files) or (is_begun and files[: len(before)] != before):
                return False, f"other inputs after {', '.join(self.done)}"
            self.files = files
        if self._bad:
            self.errors = "skip"
        self._make()
        problems = []
        if not jeton.shards.verify(self.out, progress=False).is_valid:
            problems.append("not valid")
        if run_of_plan(self.out, self._folder / "again") != digest(self.out):
            problems.append("other bytes than one run of the plan")
        facts = json.loads((self.out / "plan.json").read_bytes())
        files = [Path(path) for path, *_ in facts["inputs"]]
        if files != self.files:
            problems.append("other inputs")
        whole, self.out = self.out, self._folder / "whole"
        self._make(files=files)
        is_exact = not self.is_repaired and not ("shuffle" in self.options and "grown" in facts)
        if is_exact and digest(whole) != digest(self.out):
            problems.append("other bytes than one run")
        if "pack" not in self.options:
            found, expected = documents(whole), documents(self.out)
            if (sorted(found) if "shuffle" in self.options else found) != (
                sorted(expected) if "shuffle" in self.options else expected
            ):
                problems.append("other documents than one run")
        about = " ".join(f"{name}={value}" for name, value in self.options.items() if name != "task_bytes")
        return not problems, f"{about}: {', '.join(self.done)}: {', '.join(problems) or 'equal'}"


def sequences(number: int, seed: int, folder: Path, tok: jeton.Tokenizer, first: int = 0) -> bool:
    """Runs random sequences; returns True if all results are as expected."""
    good, steps = 0, Counter[str]()
    for one in range(first, first + number):
        place = folder / str(one)
        place.mkdir()
        sequence = Sequence(one, seed, place, tok)
        is_good, about = sequence.run()
        print(f"{one:3} {about}", flush=True)
        good += is_good
        steps.update(sequence.done)
        shutil.rmtree(place)
    print(f"{good} of {number} sequences equal; steps: {dict(steps)}")
    return good == number


def main(arguments: list[str] | None = None) -> int:
    """Runs the selected mode; returns 1 if a folder differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=["kills", "sequences"])
    parser.add_argument("--number", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first sequence")
    options = parser.parse_args(arguments)
    tok = jeton.train(["low lower lowest new newer newest wide wider 日本語"] * 3, 280, progress=False)
    tok = tok.add_tokens(["<|end|>"]).with_roles(eos="<|end|>")
    with tempfile.TemporaryDirectory() as name:
        if options.mode == "kills":
            equal = kills(options.number or 200, options.seed, Path(name), tok)
        else:
            equal = sequences(options.number or 40, options.seed, Path(name), tok, options.first)
    print("equal" if equal else "DIFFERENT")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
