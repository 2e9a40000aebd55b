"""Cases of the benchmark: operation, text, vocabulary and engines of each measurement."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .environments import JETON
from .starts import FIRST_SIZES, FIRST_TEXTS, FORMATS
from .targets import HF, HF_RC, RIVALS
from .texts import CALLS, KINDS, LENGTHS, WORST
from .vocabularies import MODELS, VOCABULARIES

__all__ = ["Case", "Turn", "cases"]

RANKS = ("cl100k_base", "o200k_base", "llama3")
RANK_ENGINES = (JETON, "gigatoken", HF_RC, "fastokens", "toktok", "splintr", "tiktoken")
PIECES = ("mistral-v1", "phi-3-mini")
SHORT_TEXTS = {  # vocabulary -> engines that read it
    "cl100k_base": RANK_ENGINES,
    "o200k_base": RANK_ENGINES,
    "mistral-v1": (JETON, "sentencepiece", "gigatoken", HF_RC, "fastokens", HF),
    "bert": (JETON, HF_RC, HF),
}
NO_GROWTH = "JETON_CACHE_MB=0"
SMALL_STACK = 256  # KiB; overflows if an engine recurses over the text


@dataclass(frozen=True)
class Turn:
    """Work of one process.

    Attributes:
        engine: name of the engine.
        text: name of the text in texts.py.
        threads: number of threads.
        label: distinguishes turns of one engine.
        same: turns with an equal value must give the same ids.
        job: further options for the worker.
    """

    engine: str
    text: str
    threads: int = 1
    label: str = ""
    same: str = ""
    job: dict[str, Any] = field(default_factory=dict, hash=False)

    @property
    def name(self) -> str:
        return f"{self.engine}, {self.label}" if self.label else self.engine


@dataclass(frozen=True)
class Case:
    """Turns that are compared with each other.

    Attributes:
        name: "operation: vocabulary, text".
        row: row in the table of targets.
        vocab, text: their names in the record.
        unit: "MB/s", "µs", "ms/MB", "ms" or "MiB".
        clock: "cpu", time of all threads, which other load affects least; or "wall", to compare numbers of threads.
        kind: kind of the worker's job.
        once: whether one round suffices, because four lengths of one text are measured.
    """

    name: str
    row: str
    vocab: str
    text: str
    unit: str
    turns: tuple[Turn, ...]
    clock: str = "cpu"
    kind: str = "texts"
    once: bool = False

    @property
    def rivals(self) -> tuple[str, ...]:
        return RIVALS.get(self.row, ())


def cases(threads: int, cores: int, models: Iterable[str]) -> Iterator[Case]:
    """All cases; `threads` is used by all engines, except in the cases that compare numbers of threads.

    Args:
        models: names of further vocabularies in `tokenizer.json`.
    """
    clock = "cpu" if threads == 1 else "wall"
    split, whole = {"split": True}, {"split": False}

    def turns_of(names: tuple[str, ...], text: str, job: dict[str, Any]) -> tuple[Turn, ...]:
        return tuple(Turn(name, text, threads, job=job) for name in names)

    for vocab in RANKS:
        for kind in KINDS:
            row = "english and code" if kind in ("english", "code") else "other scripts"
            turns = turns_of(RANK_ENGINES, f"halves: {kind}", split)
            yield Case(f"documents: {vocab}, {kind}", row, vocab, kind, "MB/s", turns, clock)
        for kind in ("english", "code", "chinese"):
            row = "other scripts" if kind == "chinese" else "english and code"
            turns = turns_of(RANK_ENGINES[:5], f"long: {kind}", whole)
            yield Case(f"one document: {vocab}, {kind}", row, vocab, kind, "MB/s", turns, clock)
    for vocab in models:
        names = (JETON, "gigatoken", "fastokens", HF, HF_RC)
        for kind in KINDS[:4]:
            turns = turns_of(names, f"halves: {kind}", split)
            yield Case(f"model: {vocab}, {kind}", "models", vocab, kind, "MB/s", turns, clock)
        for kind in KINDS[:3]:
            turns = turns_of(names, f"long: {kind}", whole)
            yield Case(f"model: {vocab}, one document of {kind}", "models", vocab, kind, "MB/s", turns, clock)
    for vocab in PIECES:
        for kind in KINDS:
            turns = turns_of((JETON, "gigatoken", "sentencepiece", HF_RC, "fastokens", HF), f"halves: {kind}", split)
            yield Case(f"documents: {vocab}, {kind}", "sentencepiece bpe", vocab, kind, "MB/s", turns, clock)
    for vocab in ("t5", "t5 .model", "mbart", "mbart .model", "bert"):
        names = (JETON, "sentencepiece") if vocab.endswith(".model") else (JETON, HF, HF_RC)
        for kind in KINDS:
            turns = turns_of(names, f"halves: {kind}", split)
            yield Case(f"documents: {vocab}, {kind}", "unigram, wordpiece", vocab, kind, "MB/s", turns, clock)

    for vocab, names in SHORT_TEXTS.items():
        for size in CALLS:
            for call in ("list", "array", "count"):
                row = "call of 13 bytes" if size == "13 bytes" else "call of up to 1 KB"
                turns = turns_of(names, f"calls: {size}", {"call": call})
                yield Case(f"calls: {vocab}, {call} of {size}", row, vocab, size, "µs", turns, clock, "calls")
            for form in ("lists", "array"):
                turns = turns_of(names, f"calls: {size}", {"form": form})
                name = f"calls: {vocab}, {form} of 1,000 texts of {size}"
                yield Case(name, "1,000 short texts", vocab, size, "µs", turns, clock, "batches")
        for number in (1, 10, 50):
            turns = turns_of(names, "calls: 1 KB", {"number": number})
            name = f"calls: {vocab}, decode {number} id" + "s" * (number > 1)
            yield Case(name, "decode of up to 50 ids", vocab, f"{number} ids", "µs", turns, clock, "few ids")
    for vocab in RANKS[:2]:
        for kind in ("english", "chinese"):
            turns = turns_of((JETON, "tiktoken", "gigatoken", HF_RC, "toktok"), f"long: {kind}", {})
            yield Case(f"decode: {vocab}, {kind}", "decode", vocab, kind, "MB/s", turns, clock, "decode")
            turns = turns_of((JETON, "tiktoken", "gigatoken", "toktok"), f"halves: {kind}", {"call": "count"})
            yield Case(f"count: {vocab}, {kind}", "count", vocab, kind, "MB/s", turns, clock, "counts")

    for vocab in MODELS:
        for row in WORST:
            turns = turns_of(worst_engines(vocab), f"worst: {row} × 1", whole)
            yield Case(f"worst: {vocab}, {row}", "worst", vocab, row, "ms/MB", turns)
    for vocab in MODELS:
        for row in WORST:
            small = {**whole, "stack_kib": SMALL_STACK}
            sizes = [(f"worst: {row} × {length}", f"{length} MB") for length in LENGTHS]
            turns = tuple(Turn(JETON, text, label=label, same=label, job=small) for text, label in sizes)
            yield Case(f"length: {vocab}, {row}", "length", vocab, row, "ms/MB", turns, once=True)

    counts = [count for count in (1, 2, 4, 8, 16, 32, 64) if count <= max(2, cores)]
    for vocab in RANKS[:2]:
        for name, text, job in (
            ("one document of english", "long: english", whole),
            ("one document of unspaced chinese", "unspaced", whole),
            ("many documents", "halves: english", split),
        ):
            turns = tuple(
                Turn(engine, text, count, f"{count} thread" + "s" * (count > 1), job=job)
                for engine in (JETON, "gigatoken", HF_RC)
                for count in counts
            )
            yield Case(f"threads: {vocab}, {name}", "threads", vocab, name, "MB/s", turns, "wall")

    turns = turns_of((JETON, "gigatoken", HF_RC, "fastokens"), "much", {})
    yield Case("memory: o200k_base", "memory", "o200k_base", "1 GB", "MiB", turns, "cpu", "memory")
    for vocab in RANKS[:2]:
        turns = turns_of(RANK_ENGINES, "", {})
        yield Case(f"load: {vocab}", "load", vocab, "", "ms", turns, clock, "load")
    yield Case("import: jeton", "import", "", "", "ms", (Turn(JETON, ""),), "cpu", "import")
    yield from starts()
    yield from first_texts()
    yield from footprints()


def starts() -> Iterator[Case]:
    """Processes that import a library, load a vocabulary, encode one text and end, for each format."""
    for format, (vocab, _, engines) in FORMATS.items():
        for text, size in (("13 bytes", 13), ("1 KB", 1_000)):
            turns = tuple(Turn(engine, "", job={"format": format, "size": size}) for engine in engines)
            yield Case(f"start: {format}, {text}", "start", vocab, text, "ms", turns, "cpu", "start")


def first_texts() -> Iterator[Case]:
    """Starts with one English text, by its size; the time includes tables that are built during the call."""
    for format, vocabs in FIRST_TEXTS.items():
        for vocab in vocabs:
            for text, size in FIRST_SIZES.items():
                job = {"format": format, "size": size}
                turns = tuple(Turn(engine, "english", job=job) for engine in FORMATS[format][2])
                yield Case(f"first: {format}, {vocab}, {text}", "start", vocab, text, "ms", turns, "cpu", "start")


def footprints() -> Iterator[Case]:
    """Memory of a tokenizer and of each thread, for each format; speed with caches that may grow and that may not."""
    fixed = {"environment": {"JETON_CACHE_MB": "0"}}
    for format, (vocab, form, engines) in FORMATS.items():
        if form in ("ranks", "json", "model"):
            turns = [Turn(engine, "halves: english", job={"form": form}) for engine in engines]
            turns.insert(1, Turn(JETON, "halves: english", label=NO_GROWTH, job={"form": form, **fixed}))
            yield Case(f"footprint: {format}", "footprint", vocab, "english", "MiB", tuple(turns), "cpu", "footprint")
    for kind in ("english", "chinese", "udhr"):
        default = Turn(JETON, f"halves: {kind}", job={"split": True})
        small = Turn(JETON, f"halves: {kind}", label=NO_GROWTH, job={"split": True, **fixed})
        yield Case(f"caches: cl100k_base, {kind}", "caches", "cl100k_base", kind, "MB/s", (default, small), "cpu")


def worst_engines(vocab: str) -> tuple[str, ...]:
    """All engines for one vocabulary; for others the original library, which defines the ids."""
    if vocab == "o200k_base":
        return RANK_ENGINES
    kind = VOCABULARIES[vocab].kind
    if vocab.endswith(".model") or kind == "model":
        return (JETON, "sentencepiece")
    return (JETON, "tiktoken") if kind == "ranks" else (JETON, HF)
