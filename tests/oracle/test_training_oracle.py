"""Training: the engine equals the lessons on random corpora, for every tie rule and level.

A corpus is 1 to 400 symbols over an alphabet of 2 to 5, in runs, cut into pretokens with weights up to 2⁴⁰. Corpora are
numbered and each number always gives the same corpus, so a failure names all that is needed to see it again.
`JETON_ORACLE_CORPORA` sets how many run for each rule and level; ``python -m tests.oracle.test_training_oracle 10000``
runs them outside pytest, on all cores.
"""

from __future__ import annotations

import itertools
import logging
import os
import random
import sys
import time
from collections.abc import Iterator
from multiprocessing import get_context
from typing import Any, NamedTuple

import pytest

import jeton
from jeton.reference.step01_levels import BYTES
from jeton.reference.step04_train import TIE_BREAKS, train
from jeton.reference.step09_characters import train_characters
from jeton.reference.step10_words import train_words
from jeton.tokens.spelling import Spelling
from tests.selection import amount

LEVELS = ("byte", "char", "symbol", "suffix")
NUM_CORPORA = int(os.environ.get("JETON_ORACLE_CORPORA") or amount(1_000, default=80))
CHUNK = 50

# Every length in UTF-8, one that combines, and the letters of the mark itself.
CHARACTERS = "abcz</w>é\u0301ß中文字😀𝔸Ġ"


class Corpus(NamedTuple):
    """The input of both implementations."""

    counts: dict[Any, int]  # pretoken -> weight, in order of first appearance
    num_merges: int
    min_frequency: int


def make_corpus(seed: int, level: str) -> Corpus:
    """The corpus of a number."""
    rng = random.Random(f"{level} {seed}")
    size = rng.randint(2, 5)
    letters: list[Any]
    if level == "byte":
        letters = [bytes([byte]) for byte in rng.sample(range(256), size)]
    else:
        letters = rng.sample(CHARACTERS, size)
    symbols = list(_symbols(rng, letters))
    counts: dict[Any, int] = {}
    longest = rng.choice([3, 8, 40, 400])
    while symbols:
        length = rng.randint(1, longest)
        pretoken = (b"" if level == "byte" else "").join(symbols[:length])
        del symbols[:length]
        weight = rng.choice([1, 1, 2, 3, rng.randint(1, 10), rng.randint(1, 1 << 40)])
        counts[pretoken] = min(counts.get(pretoken, 0) + weight, 1 << 40)
    return Corpus(counts, rng.choice([3, 10, 60, 1_000]), rng.choice([1, 1, 1, 2, 5]))


def _symbols(rng: random.Random, letters: list[Any]) -> Iterator[Any]:
    """A random sequence: single symbols, runs of one symbol, and repetitions of what came before."""
    made: list[Any] = []
    total = rng.choice([rng.randint(1, 8), rng.randint(1, 60), rng.randint(1, 400)])
    while len(made) < total:
        kind = rng.random()
        if kind < 0.5:
            made.append(rng.choice(letters))
        elif kind < 0.75:
            made += [rng.choice(letters)] * rng.randint(2, 9)
        else:
            start = rng.randrange(len(made)) if made else 0
            made += made[start : start + rng.randint(2, 12)]
    return iter(made[:total])


def by_engine(corpus: Corpus, level: str, rule: Any) -> tuple[list[bytes], list[tuple[int, int, int]], list[int]]:
    """Alphabet, merges, and the count of each merge."""
    options: dict[str, Any] = {"level": "byte" if level == "byte" else "char", "pattern": "none"}
    if level in ("symbol", "suffix"):
        options = {"end_of_word": "</w>", "end_of_word_style": level}
    counts = corpus.counts
    alphabet = len(set("".join(counts))) + 1 if level != "byte" else 256
    if level == "suffix":
        alphabet = len({char for word in counts for char in word[:-1]} | {word[-1] + "</w>" for word in counts})
    if level == "char":
        alphabet -= 1
    tok = jeton.train(
        counts,
        alphabet + corpus.num_merges,
        tie_break=rule,
        min_frequency=corpus.min_frequency,
        progress=False,
        **options,
    )
    facts = tok.training
    assert facts is not None
    assert facts.log is not None
    assert [(step.left, step.right, step.id) for step in facts.log] == list(tok.merges)
    assert (facts.stopped is None) == (len(tok.merges) == corpus.num_merges)
    spelling = Spelling(tok)
    return [spelling(id) for id in range(alphabet)], list(tok.merges), [step.pair_count for step in facts.log]


def by_reference(corpus: Corpus, level: str, rule: str) -> tuple[list[bytes], list[tuple[int, int, int]], list[int]]:
    """The same from the plain version."""
    counts, num_merges, min_frequency = corpus
    if level == "byte":
        alphabet = BYTES
        sequences = [list(pretoken) for pretoken in counts]
        weights = list(counts.values())
        merges = train(sequences, weights, BYTES, num_merges, tie_break=rule, min_frequency=min_frequency)
    elif level == "char":
        size = len(set("".join(counts)))
        alphabet, merges = train_characters(counts, size + num_merges, tie_break=rule, min_frequency=min_frequency)
    else:
        alphabet, merges = train_words(counts, num_merges, style=level, tie_break=rule, min_frequency=min_frequency)
    return list(alphabet.values()), [merge[:3] for merge in merges], [merge.count for merge in merges]


def check(job: tuple[str, str, int, int]) -> str | None:
    """A description of the first corpus of a range on which the two differ."""
    level, rule, first, last = job
    logging.getLogger("jeton").setLevel(logging.ERROR)  # most of these trainings stop early
    for seed in range(first, last):
        corpus = make_corpus(seed, level)
        engine, reference = by_engine(corpus, level, rule), by_reference(corpus, level, rule)
        if engine != reference:
            place = next((i for i, (a, b) in enumerate(zip(engine[1], reference[1], strict=False)) if a != b), None)
            return f"{level}, {rule}, corpus {seed}, first at merge {place}: {corpus}\n{engine}\n{reference}"
    return None


def jobs(levels: tuple[str, ...], rules: tuple[str, ...], num_corpora: int) -> list[tuple[str, str, int, int]]:
    """Ranges of corpora, small enough that all cores stay busy."""
    starts = range(0, num_corpora, CHUNK)
    return [
        (level, rule, start, min(start + CHUNK, num_corpora))
        for start, level, rule in itertools.product(starts, levels, rules)
    ]


def run(todo: list[tuple[str, str, int, int]]) -> list[str]:
    """Runs jobs on all cores. Spawned and not forked, for pytest has threads of its own."""
    with get_context("spawn").Pool() as pool:
        return [failure for failure in pool.imap_unordered(check, todo) if failure]


@pytest.mark.timeout(0 if NUM_CORPORA > 1_000 else 300)
def test_engine_and_reference_learn_the_same_merges() -> None:
    assert not run(jobs(LEVELS, TIE_BREAKS, NUM_CORPORA))


def test_generated_corpora_contain_ties_runs_and_high_weights() -> None:
    """Runs, ties, high weights and early stops all occur; otherwise the oracle would prove little."""
    for level in LEVELS:
        corpora = [make_corpus(seed, level) for seed in range(200)]
        lengths = [sum(map(len, corpus.counts)) for corpus in corpora]
        assert min(lengths) <= 3
        assert 300 < max(lengths) <= 400
        assert max(max(corpus.counts.values()) for corpus in corpora) > 1 << 38
        assert {len({symbol for pretoken in corpus.counts for symbol in pretoken}) for corpus in corpora} >= {
            2,
            3,
            4,
            5,
        }
        assert (
            sum(
                any(pretoken[i : i + 1] * 3 in pretoken for pretoken in corpus.counts for i in range(len(pretoken)))
                for corpus in corpora
            )
            > 50
        )
        assert make_corpus(7, level) == make_corpus(7, level)


def main() -> int:
    """Runs as many corpora for each rule and level as the command line says."""
    num_corpora = int(sys.argv[1]) if len(sys.argv) > 1 else NUM_CORPORA
    began, failures = time.perf_counter(), 0
    for level, rule in itertools.product(LEVELS, TIE_BREAKS):
        found = run(jobs((level,), (rule,), num_corpora))
        failures += len(found)
        seconds = time.perf_counter() - began
        print(
            f"{level:<7} {rule:<13} {num_corpora} corpora: {'equal' if not found else found[0]}  {seconds:.0f} s",
            flush=True,
        )
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
