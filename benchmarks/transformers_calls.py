"""Cost of accelerated tokenizers of transformers beside the original ones; `benchmarks/record/transformers.csv`.

    JETON_TEST_DATA=… python benchmarks/transformers_calls.py [--only roberta-base …] [--rounds 7] [--output FILE]

Both tokenizers run in this process, in alternating rounds, on texts that no round before had. Times are CPU time of all
threads, medians of the rounds. If a result differs, the run ends. Loading runs in new processes. Needs transformers.
"""

from __future__ import annotations

import argparse
import logging
import os
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from corpora import corpus
from harness import record

# file -> padding token, model
VOCABULARIES = {
    "roberta-base": ("<pad>", "byte-level BPE"),
    "gpt-neox-20b": ("<|padding|>", "byte-level BPE"),
    "phi-3-mini": ("<|endoftext|>", "BPE with byte fallback"),
    "bert-uncased": ("[PAD]", "WordPiece"),
    "t5-small": ("<pad>", "Unigram"),
}
COLUMNS = ("vocabulary", "model", "case", "unit", "peer", "peer_median", "jeton_median", "ratio")
TEMPLATE = "{% for m in messages %}<|{{ m.role }}|>{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}"
LOAD = """
import json, sys, time
from transformers import PreTrainedTokenizerFast
import tokenizers
{prepare}
start = time.process_time()
tok = {make}
loaded = time.process_time()
tok("hello world")
print(loaded - start, time.process_time() - start)
"""


class Case(NamedTuple):
    """A kind of call.

    Attributes:
        name: the measured call.
        size: characters of each text.
        count: texts of a round.
        call: (tokenizer, arguments) → results; timed.
        prepare: (tokenizer, texts) → arguments of `call`, not timed.
        calls: number of calls in a round.
    """

    name: str
    size: int
    count: int
    call: Callable[[Any, Any], Any]
    prepare: Callable[[Any, list[str]], Any] = lambda tok, texts: texts
    calls: int = 1


def ids_of(tok: Any, texts: list[str]) -> list[list[int]]:
    found: list[list[int]] = tok(texts, verbose=False)["input_ids"]
    return found


def pairs_of(tok: Any, texts: list[str]) -> list[tuple[str, str]]:
    return [(text[: len(text) // 2], text[len(text) // 2 :]) for text in texts]


def chats_of(tok: Any, texts: list[str]) -> list[list[dict[str, str]]]:
    return [
        [
            {"role": role, "content": text[at : at + 500]}
            for at, role in zip((0, 500, 1000, 1500), ("user", "assistant") * 2, strict=True)
        ]
        for text in texts
    ]


def masks(tok: Any, chats: Any) -> Any:
    return tok.apply_chat_template(chats, chat_template=TEMPLATE, return_dict=True, return_assistant_tokens_mask=True)


CASES = [
    Case("one text, 13 characters", 13, 500, lambda tok, texts: [tok(text) for text in texts], calls=500),
    Case("one text, 1,000 characters", 1000, 100, lambda tok, texts: [tok(text) for text in texts], calls=100),
    Case(
        'one text, 1,000 characters, padding="max_length", truncation=True',
        1000,
        100,
        lambda tok, texts: [tok(text, padding="max_length", truncation=True) for text in texts],
        calls=100,
    ),
    Case("one pair, 200 characters", 200, 200, lambda tok, pairs: [tok(*pair) for pair in pairs], pairs_of, 200),
    Case(
        "one text, 1,000,000 characters", 1_000_000, 1, lambda tok, texts: [tok(text, verbose=False) for text in texts]
    ),
    Case("batch of 500, 2,000 characters", 2000, 500, lambda tok, texts: tok(texts, verbose=False)),
    Case(
        "batch of 500, padding=True, truncation=True",
        2000,
        500,
        lambda tok, texts: tok(texts, padding=True, truncation=True),
    ),
    Case(
        'batch of 500, padding=True, truncation=True, return_tensors="np"',
        2000,
        500,
        lambda tok, texts: tok(texts, padding=True, truncation=True, return_tensors="np"),
    ),
    Case(
        "batch of 500, return_offsets_mapping=True",
        2000,
        500,
        lambda tok, texts: tok(texts, return_offsets_mapping=True, verbose=False),
    ),
    Case(
        'batch of 500 pairs, truncation="only_second", overflow, stride, offsets',
        2000,
        500,
        lambda tok, pairs: tok(
            pairs,
            truncation="only_first",
            max_length=384,
            stride=64,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
        ),
        lambda tok, texts: [(text, text[:40]) for text in texts],
    ),
    Case("batch of 8, 100 characters, padding=True", 100, 8, lambda tok, texts: tok(texts, padding=True)),
    Case("batch of 100, word_ids of each", 1000, 100, lambda tok, texts: [tok(texts).word_ids(at) for at in (0, 99)]),
    Case("batch of 50 chats with assistant masks", 2000, 50, masks, chats_of),
    Case("decode, 13 characters", 13, 500, lambda tok, ids: [tok.decode(row) for row in ids], ids_of, 500),
    Case("decode, 1,000 characters", 1000, 100, lambda tok, ids: [tok.decode(row) for row in ids], ids_of, 100),
    Case(
        "batch_decode of 500, skip_special_tokens=True",
        2000,
        500,
        lambda tok, ids: tok.batch_decode(ids, skip_special_tokens=True),
        ids_of,
    ),
]


def texts_of(text: str, size: int) -> Iterator[str]:
    """Parts of a text, from the start again at its end."""
    at = 0
    while True:
        if at + size > len(text):
            at = 0
        yield text[at : at + size]
        at += size


def measure(case: Case, peer: Any, ours: Any, text: str, rounds: int) -> tuple[float, float]:
    """Seconds of a round with the original and with the accelerated tokenizer."""
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
        if repr(found[0]) != repr(found[1]):
            raise SystemExit(f"{case.name}: the results differ")
    return statistics.median(spent[0][1:]), statistics.median(spent[1][1:])  # the first round warms up


def load_times(path: str, rounds: int) -> tuple[list[float], list[float]]:
    """Seconds of loading, and of loading and a first text: of the original, and of `JetonTokenizer`."""
    makers = {
        "peer": ("", f"PreTrainedTokenizerFast(tokenizer_file={path!r})"),
        "ours": (
            "from jeton.integrations.transformers import JetonTokenizer",
            f"JetonTokenizer(tokenizer_file={path!r})",
        ),
    }
    found: dict[str, list[list[float]]] = {"peer": [], "ours": []}
    for turn in range(rounds + 1):
        for name in sorted(makers, reverse=bool(turn % 2)):
            prepare, make = makers[name]
            code = LOAD.format(prepare=prepare, make=make)
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
            if turn:
                found[name].append([float(value) for value in done.stdout.split()])
    medians = {name: [statistics.median(column) for column in zip(*rows, strict=True)] for name, rows in found.items()}
    return medians["peer"], medians["ours"]


def file_of(name: str, folder: Path) -> Path:
    """A `tokenizer.json`, written if the data has another format."""
    vocabs = Path(os.environ["JETON_TEST_DATA"], "vocabs")
    if (path := vocabs / f"{name}.tokenizer.json").exists():
        return path
    import jeton

    path = folder / f"{name}.tokenizer.json"
    if not path.exists():
        jeton.load(vocabs / f"{name}.vocab.txt").save(path)
    return path


def rows(name: str, text: str, rounds: int, path: Path) -> Iterator[tuple[str, str, float, float]]:
    """Case, unit, original, accelerated."""
    from transformers import PreTrainedTokenizerFast

    from jeton.integrations.transformers import accelerate

    pad, _ = VOCABULARIES[name]
    theirs, ours = load_times(str(path), rounds)
    for at, what in enumerate(("load", "load and a first text")):
        yield what, "ms", theirs[at] * 1e3, ours[at] * 1e3
    options = {"tokenizer_file": str(path), "pad_token": pad, "model_max_length": 512}
    peer, fast = PreTrainedTokenizerFast(**options), accelerate(PreTrainedTokenizerFast(**options))
    for case in CASES:
        before, after = measure(case, peer, fast, text, rounds)
        yield case.name, "µs a call", before / case.calls * 1e6, after / case.calls * 1e6


def main() -> int:
    """Runs the command; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", default=tuple(VOCABULARIES), help="vocabularies")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--output", type=Path, help="output file (default: replace the record)")
    asked = parser.parse_args()
    if "JETON_TEST_DATA" not in os.environ:
        raise SystemExit("set JETON_TEST_DATA to the folder of corpora and vocabularies")
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    import tempfile

    from transformers import __version__

    text = corpus("english", 40_000_000).decode("utf-8", "ignore")
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for name in asked.only:
            for case, unit, peer, ours in rows(name, text, asked.rounds, file_of(name, Path(folder))):
                print(f"{name:13} {case:75} {peer:12.1f} {ours:12.1f} {unit:10} {peer / ours:8.1f}", flush=True)
                medians = {"peer_median": f"{peer:.2f}", "jeton_median": f"{ours:.2f}", "ratio": f"{peer / ours:.1f}"}
                facts = {"vocabulary": name, "model": VOCABULARIES[name][1], "case": case, "unit": unit}
                found.append(facts | {"peer": f"transformers {__version__}"} | medians)
    is_complete = tuple(asked.only) == tuple(VOCABULARIES) and asked.rounds >= 7
    record.write(asked.output or record.destination("transformers", complete=is_complete), COLUMNS, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
