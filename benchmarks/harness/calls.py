"""Calls of two libraries in one process, in alternating rounds, on texts that no round before had.

Times are CPU time of all threads, medians of the rounds; the first round warms up. If a result differs, the run ends.
Importing and loading run in new processes, with modules compiled before, as installed ones are.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from corpora import corpus

from . import record

__all__ = ["Case", "Comparison", "Timed", "load_times", "measured"]

Timed = tuple[str, str, float, float]  # case, unit, peer, Jeton


@dataclass(frozen=True)
class Case:
    """A kind of call.

    Attributes:
        name: the measured call.
        size: characters of each text.
        count: texts of a round.
        call: (tokenizer, arguments) → results; timed.
        prepare: (tokenizer, texts) → arguments of `call`, not timed.
        calls: number of calls in a round; None: `count`.
        comparable: result → value that is equal for both libraries.
    """

    name: str
    size: int
    count: int
    call: Callable[[Any, Any], Any]
    prepare: Callable[[Any, list[str]], Any] = lambda tok, texts: texts
    calls: int | None = None
    comparable: Callable[[Any], Any] = repr


def texts_of(text: str, size: int) -> Iterator[str]:
    """Parts of a text, from the start again at its end."""
    at = 0
    while True:
        if at + size > len(text):
            at = 0
        yield text[at : at + size]
        at += size


def measure(case: Case, peer: Any, ours: Any, text: str, rounds: int) -> tuple[float, float]:
    """Seconds of a call of the peer, and of one of Jeton."""
    parts = texts_of(text, case.size)
    spent: dict[int, list[float]] = {0: [], 1: []}
    for turn in range(rounds + 1):
        arguments = case.prepare(ours, [next(parts) for _ in range(case.count)])
        found = []
        for which in (0, 1) if turn % 2 else (1, 0):
            tok = (peer, ours)[which]
            start = time.process_time()
            result = case.call(tok, arguments)
            spent[which].append(time.process_time() - start)
            found.append(result)
        if case.comparable(found[0]) != case.comparable(found[1]):
            raise SystemExit(f"{case.name}: the results differ")
    calls = case.count if case.calls is None else case.calls
    return statistics.median(spent[0][1:]) / calls, statistics.median(spent[1][1:]) / calls


def measured(cases: Sequence[Case], peer: Any, ours: Any, text: str, rounds: int) -> Iterator[Timed]:
    """Times of cases."""
    for case in cases:
        theirs, mine = measure(case, peer, ours, text, rounds)
        yield case.name, "µs a call", theirs * 1e6, mine * 1e6


def load_times(peer: str, ours: str, names: Sequence[str], rounds: int) -> Iterator[Timed]:
    """Medians of the seconds that two programs print, one number for each name."""
    found: dict[str, list[list[float]]] = {peer: [], ours: []}
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for turn in range(rounds + 1):
            for code in (peer, ours) if turn % 2 else (ours, peer):
                command = [sys.executable, "-c", code]
                done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
                if turn:  # the first round compiles the modules
                    found[code].append([float(value) for value in done.stdout.split()])
    medians = [[statistics.median(column) for column in zip(*found[code], strict=True)] for code in (peer, ours)]
    for name, theirs, mine in zip(names, *medians, strict=True):
        yield name, "ms", theirs * 1e3, mine * 1e3


class Comparison(NamedTuple):
    """Comparison of Jeton with a peer, for each of some vocabularies.

    Attributes:
        name: name of the record.
        peer: name and version of the peer.
        facts: vocabulary → the first columns of its rows; the first of these names it.
        rounds: number of rounds of a record.
        rows: (vocabulary, English text, rounds) → times.
    """

    name: str
    peer: str
    facts: Mapping[str, Mapping[str, str]]
    rounds: int
    rows: Callable[[str, str, int], Iterator[Timed]]

    def main(self, description: str) -> int:
        """Runs the command; returns the exit code."""
        parser = argparse.ArgumentParser(description=description.splitlines()[0])
        parser.add_argument("--only", nargs="+", choices=self.facts, default=list(self.facts), help="vocabularies")
        parser.add_argument("--rounds", type=int, default=self.rounds)
        parser.add_argument("--output", type=Path, help="output file (default: the record, for a complete run)")
        parser.add_argument("--update", action="store_true", help="replace the rows of --only in the record")
        asked = parser.parse_args()
        if "JETON_TEST_DATA" not in os.environ:
            raise SystemExit("set JETON_TEST_DATA to the folder of corpora and vocabularies")
        text = corpus("english", 40_000_000).decode("utf-8", "ignore")
        found = []
        for vocabulary in asked.only:
            facts = self.facts[vocabulary]
            for case, unit, peer, ours in self.rows(vocabulary, text, asked.rounds):
                print(
                    f"{vocabulary:13.13} {case:75} {peer:12.2f} {ours:12.2f} {unit:10} {peer / ours:8.2f}", flush=True
                )
                medians = {"peer_median": f"{peer:.3f}", "jeton_median": f"{ours:.3f}", "ratio": f"{peer / ours:.2f}"}
                found.append({**facts, "case": case, "unit": unit, "peer": self.peer} | medians)
        columns = [*facts, "case", "unit", "peer", "peer_median", "jeton_median", "ratio"]
        is_complete = asked.update or (asked.only == list(self.facts) and asked.rounds >= self.rounds)
        path = asked.output or record.destination(self.name, complete=is_complete)
        if asked.update:
            record.update(path, columns, found, order=list(self.facts))
        else:
            record.write(path, columns, found)
        return 0
