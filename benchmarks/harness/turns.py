"""Alternating rounds: each engine once in each round, in a new process; ids are compared before figures are used."""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from corpora import MEGABYTE

import jeton

from .cases import Case, Turn
from .environments import JETON
from .measure import Found, Machinery, start, startup_seconds
from .report import Results
from .starts import program
from .texts import Texts
from .vocabularies import Vocabularies

__all__ = ["Bench", "Different"]

STARTS = 5  # starts of Python, with and without the import, in one round


class Different(Exception):  # noqa: N818 - a result, not an error
    """Two engines gave different ids; the message has the location."""


@dataclass
class Bench:
    """Context of all cases."""

    machinery: Machinery
    texts: Texts
    vocabularies: Vocabularies
    rounds: int
    total: int = 0
    done: int = 0

    def take_turns(self, case: Case) -> Results:
        """Runs all rounds of a case.

        Raises:
            Different: two engines differ, or one engine in two rounds.
        """
        results: Results = {}
        dropped: set[Turn] = set()
        for turn_number in range(self.rounds_of(case)):
            shift = turn_number % len(case.turns)  # the order rotates
            for turn in (*case.turns[shift:], *case.turns[:shift]):
                self.done += 1
                if turn in dropped:
                    continue
                say = f"[{self.done}/{self.total}] {case.name}: round {turn_number + 1}, {turn.name}"
                print(say, file=sys.stderr, flush=True)
                found = self.measure(case, turn)
                if found.problem and turn_number == 0:
                    dropped.add(turn)
                elif found.problem:
                    found = Found({}, problem=f"in round {turn_number + 1}: {found.problem}")
                    results[turn] = []
                    dropped.add(turn)
                results.setdefault(turn, []).append(found)
                self.compare(case, results, turn)
        return {turn: results[turn] for turn in case.turns if turn in results}

    def rounds_of(self, case: Case) -> int:
        return 1 if case.once else self.rounds

    def measure(self, case: Case, turn: Turn) -> Found:
        if case.kind == "import":
            return self.start_often(turn)
        if case.kind == "start":
            return self.start(case, turn)
        return self.machinery.run(turn.engine, self.job(case, turn), turn.threads)

    def job(self, case: Case, turn: Turn) -> dict[str, Any]:
        texts = self.texts.phases(turn.text) if turn.text else []
        vocab = self.vocabularies.forms(case.vocab)
        return {**turn.job, "kind": case.kind, "vocab": vocab, "texts": texts, "total": self.texts.much}

    def start_often(self, turn: Turn) -> Found:
        """Import time: medians of starting Python with and without the import, alternating."""
        python = self.machinery.pythons[turn.engine]
        with_it, without = [], []
        for _ in range(STARTS):
            without.append(startup_seconds(python, "pass"))
            with_it.append(startup_seconds(python, "import jeton"))
        added = {
            clock: statistics.median(one[clock] for one in with_it) - statistics.median(one[clock] for one in without)
            for clock in ("cpu", "wall")
        }
        return Found({"import": added}, jeton.__version__)

    def start(self, case: Case, turn: Turn) -> Found:
        """Times of a cold start, after one that compiles the modules: medians of several, one of over a megabyte."""
        forms = self.vocabularies.forms(case.vocab)
        corpus = self.texts.first(turn.job["size"]) if turn.text else None
        code = program(turn.job["format"], turn.engine, forms, turn.job["size"], corpus)
        python, setup = self.machinery.pythons[turn.engine], self.machinery.setups[turn.engine]
        try:
            count = STARTS if turn.job["size"] <= MEGABYTE else 1
            runs = [start(python, code) for _ in range(count + 1)][1:]
        except RuntimeError as error:
            return Found({}, problem=str(error))
        phases = {
            phase: {
                "cpu": statistics.median(run[phase]["cpu"] for run in runs),
                "wall": statistics.median(run[phase]["wall"] for run in runs),
                "digest": runs[0]["digest"],
            }
            for phase in ("import", "load", "first text", "process")
        }
        version = setup.packages[0].partition("==")[2] if setup.packages else jeton.__version__
        return Found(phases, version)

    # ── equal ids ─────────────────────────────────────────────────────────────────────────────────────────────────

    def compare(self, case: Case, results: Results, turn: Turn) -> None:
        """Compares the newest result with the first result of each engine."""
        newest = results[turn][-1]
        for phase, facts in newest.phases.items():
            if facts.get("exact") is False and turn.engine == JETON and lossless(case.vocab):
                raise Different(f"{case.name}: {turn.name} does not decode to the text")
            for other, rounds in results.items():
                first = rounds[0].phases.get(phase, {})
                if other.same == turn.same and first.get("digest") != facts.get("digest") and first:
                    raise Different(self.difference(case, other, turn, phase))

    def difference(self, case: Case, one: Turn, other: Turn, phase: str) -> str:
        """Repeats two turns with ids, and describes their first difference."""
        head = f"{case.name}: {one.name} and {other.name} differ, {phase}"
        if case.kind not in ("texts", "calls", "counts"):
            return head
        with tempfile.TemporaryDirectory() as folder:
            found = []
            for i, turn in enumerate((one, other)):
                job = {**self.job(case, turn), "dump": str(Path(folder, str(i)))}
                problem = self.machinery.run(turn.engine, job, turn.threads).problem
                if problem:
                    return f"{head}; once more: {turn.name}: {problem}"
                with np.load(Path(folder, f"{i}.{phase}.npz")) as arrays:
                    found.append((arrays["ids"], arrays["counts"]))
        forms = self.vocabularies.forms(case.vocab)
        tok = jeton.load(forms["jeton"], **forms["jeton_options"])
        return f"{head}; {first_difference(found[0], found[1], tok.decode_bytes)}"


def lossless(vocab: str) -> bool:
    return vocab in ("cl100k_base", "o200k_base", "llama3", "r50k_base")


def first_difference(one: tuple[Any, Any], other: tuple[Any, Any], decode: Callable[[list[int]], bytes]) -> str:
    """Describes the first difference: document, position and tokens."""
    documents = min(len(one[1]), len(other[1]))
    if len(one[1]) != len(other[1]):
        return f"{len(one[1])} documents and {len(other[1])}"
    starts = [np.concatenate([[0], np.cumsum(counts)]) for _, counts in (one, other)]
    for document in range(documents):
        a, b = (
            side[0][start[document] : start[document + 1]] for side, start in zip((one, other), starts, strict=True)
        )
        if len(a) == len(b) and (a == b).all():
            if one[1][document] != other[1][document]:
                return f"document {document}: {one[1][document]} ids and {other[1][document]}"
            continue
        same = min(len(a), len(b))
        at = int(np.argmax(a[:same] != b[:same])) if (a[:same] != b[:same]).any() else same
        near = slice(max(0, at - 2), at + 6)
        sides = (f"…{ids[near].tolist()} {decode(ids[near].tolist())!r}, {len(ids)} ids" for ids in (a, b))
        return f"document {document}, id {at}: {' and '.join(sides)}"
    return "once more they were equal"
