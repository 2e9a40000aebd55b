"""Cost of the drop-in for tiktoken compared with tiktoken, for each kind of call; `benchmarks/record/drop-ins.csv`.

    JETON_TEST_DATA=… python benchmarks/drop_ins.py [--encoding cl100k_base] [--rounds 15] [--out FILE]

Both libraries run in this process, in alternating rounds, on texts that no round before had. Times are CPU time of all
threads, medians of the rounds. If a result differs, the run ends. Loading runs in new processes. Needs tiktoken.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from corpora import corpus
from harness import record

import jeton.compat.tiktoken
from jeton.compat.tiktoken import Encoding

URL = "https://openaipublic.blob.core.windows.net/encodings/"
ENCODINGS = ("r50k_base", "cl100k_base", "o200k_base")
COLUMNS = ("encoding", "case", "unit", "peer", "peer_median", "jeton_median", "ratio")
LOAD = """
import time
start = time.process_time()
import {module} as tiktoken
loaded = time.process_time()
enc = tiktoken.get_encoding({name!r})
enc.encode("hello world")
print(loaded - start, time.process_time() - start)
"""


class Case(NamedTuple):
    """A kind of call.

    Attributes:
        name: the measured call.
        size: characters of each text.
        count: texts of a round.
        call: (encoding, texts) → results; timed.
        prepare: (encoding, texts) → arguments of `call`, not timed.
    """

    name: str
    size: int
    count: int
    call: Callable[[Any, Any], Any]
    prepare: Callable[[Any, list[str]], Any] = lambda enc, texts: texts


def ids_of(enc: Any, texts: list[str]) -> list[list[int]]:
    return [enc.encode_ordinary(text) for text in texts]


def with_special(enc: Any, texts: list[str]) -> list[str]:
    return [f"{text[: len(text) // 2]}<|endoftext|>{text[len(text) // 2 :]}" for text in texts]


CASES = [
    Case("encode, 13 bytes", 13, 2000, lambda enc, texts: [enc.encode(text) for text in texts]),
    Case("encode_ordinary, 13 bytes", 13, 2000, lambda enc, texts: [enc.encode_ordinary(text) for text in texts]),
    Case(
        "encode(disallowed_special=()), 13 bytes",
        13,
        2000,
        lambda enc, texts: [enc.encode(text, disallowed_special=()) for text in texts],
    ),
    Case("encode, 1 KB", 1000, 100, lambda enc, texts: [enc.encode(text) for text in texts]),
    Case("encode_ordinary, 1 KB", 1000, 100, lambda enc, texts: [enc.encode_ordinary(text) for text in texts]),
    Case(
        'encode(allowed_special="all"), 1 KB',
        1000,
        100,
        lambda enc, texts: [enc.encode(text, allowed_special="all") for text in texts],
        with_special,
    ),
    Case(
        "encode(allowed_special={…}), 1 KB",
        1000,
        100,
        lambda enc, texts: [enc.encode(text, allowed_special={"<|endoftext|>"}) for text in texts],
        with_special,
    ),
    Case("encode, 1 MB", 1_000_000, 1, lambda enc, texts: [enc.encode(text) for text in texts]),
    Case("encode_to_numpy, 1 MB", 1_000_000, 1, lambda enc, texts: [enc.encode_to_numpy(text) for text in texts]),
    Case("encode_batch, 2 of 13 bytes", 13, 2, lambda enc, texts: enc.encode_batch(texts)),
    Case("encode_batch, 500 of 2 KB", 2000, 500, lambda enc, texts: enc.encode_batch(texts)),
    Case("encode_ordinary_batch, 500 of 2 KB", 2000, 500, lambda enc, texts: enc.encode_ordinary_batch(texts)),
    Case(
        "encode_with_unstable, 40 bytes", 40, 3, lambda enc, texts: [enc.encode_with_unstable(text) for text in texts]
    ),
    Case("decode, 13 bytes", 13, 2000, lambda enc, ids: [enc.decode(row) for row in ids], ids_of),
    Case("decode, 1 MB", 1_000_000, 1, lambda enc, ids: [enc.decode(row) for row in ids], ids_of),
    Case("decode_batch, 500 of 2 KB", 2000, 500, lambda enc, ids: enc.decode_batch(ids), ids_of),
    Case(
        "decode_tokens_bytes, 1 KB", 1000, 100, lambda enc, ids: [enc.decode_tokens_bytes(row) for row in ids], ids_of
    ),
    Case(
        "decode_with_offsets, 13 bytes", 13, 500, lambda enc, ids: [enc.decode_with_offsets(row) for row in ids], ids_of
    ),
    Case(
        "decode_with_offsets, 1 KB", 1000, 100, lambda enc, ids: [enc.decode_with_offsets(row) for row in ids], ids_of
    ),
    Case(
        "decode_single_token_bytes of each id, 1 KB",
        1000,
        20,
        lambda enc, ids: [enc.decode_single_token_bytes(id) for row in ids for id in row],
        ids_of,
    ),
    Case(
        "encode_single_token of each token, 1 KB",
        1000,
        20,
        lambda enc, tokens: [enc.encode_single_token(token) for token in tokens],
        lambda enc, texts: [token for text in texts for token in enc.decode_tokens_bytes(enc.encode(text))],
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


def measure(case: Case, peer: Any, ours: Encoding, text: str, rounds: int) -> tuple[float, float]:
    """Seconds of a round with tiktoken and with the drop-in."""
    parts = texts_of(text, case.size)
    spent: dict[int, list[float]] = {0: [], 1: []}
    for turn in range(rounds + 1):
        arguments = case.prepare(ours, [next(parts) for _ in range(case.count)])
        found = []
        for which in (0, 1) if turn % 2 else (1, 0):
            enc = (peer, ours)[which]
            start = time.process_time()
            result = case.call(enc, arguments)
            spent[which].append(time.process_time() - start)
            found.append(result)
        if "unstable" in case.name:  # the order of completions is random
            found = [[(stable, sorted(completions)) for stable, completions in rows] for rows in found]
        if repr(found[0]) != repr(found[1]):
            raise SystemExit(f"{case.name}: the results differ")
    return statistics.median(spent[0][1:]), statistics.median(spent[1][1:])  # the first round warms up


def load_times(name: str, rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Seconds of importing, and of importing and loading with a first text, in new processes."""
    found: dict[str, list[tuple[float, float]]] = {"tiktoken": [], "jeton.compat.tiktoken": []}
    for turn in range(rounds + 1):
        for module in sorted(found, reverse=bool(turn % 2)):
            code = LOAD.format(module=module, name=name)
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
            imported, loaded = map(float, done.stdout.split())
            if turn:
                found[module].append((imported, loaded))
    return found


def fill_cache(vocabs: Path, folder: str) -> None:
    for name in ("r50k_base", "cl100k_base", "o200k_base"):
        key = hashlib.sha1(f"{URL}{name}.tiktoken".encode(), usedforsecurity=False).hexdigest()
        (Path(folder) / key).write_bytes((vocabs / f"{name}.tiktoken").read_bytes())
    os.environ["TIKTOKEN_CACHE_DIR"] = folder


def rows(name: str, text: str, rounds: int) -> Iterator[tuple[str, str, float, float]]:
    """Case, unit, tiktoken, drop-in."""
    import tiktoken

    loads = load_times(name, rounds)
    for at, what in enumerate(("import", "import, get_encoding and a first text")):
        peer, ours = (
            statistics.median(row[at] for row in loads[module]) for module in ("tiktoken", "jeton.compat.tiktoken")
        )
        yield what, "ms", peer * 1e3, ours * 1e3
    peer, ours = tiktoken.get_encoding(name), jeton.compat.tiktoken.get_encoding(name)
    for case in CASES:
        theirs, mine = measure(case, peer, ours, text, rounds)
        calls = 1 if "batch" in case.name else case.count
        yield case.name, "µs a call", theirs / calls * 1e6, mine / calls * 1e6


def main() -> int:
    """Runs the command; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", default=ENCODINGS, help="encodings")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--output", type=Path, help="output file (default: replace the record)")
    asked = parser.parse_args()
    if "JETON_TEST_DATA" not in os.environ:
        raise SystemExit("set JETON_TEST_DATA to the folder of corpora and vocabularies")
    from tiktoken import __version__

    text = corpus("english", 40_000_000).decode("utf-8", "ignore")
    found = []
    with tempfile.TemporaryDirectory() as folder:
        fill_cache(Path(os.environ["JETON_TEST_DATA"], "vocabs"), folder)
        for name in asked.only:
            for case, unit, peer, ours in rows(name, text, asked.rounds):
                print(f"{name:12} {case:45} {peer:12.2f} {ours:12.2f} {unit:10} {peer / ours:8.1f}", flush=True)
                medians = {"peer_median": f"{peer:.3f}", "jeton_median": f"{ours:.3f}", "ratio": f"{peer / ours:.1f}"}
                facts = {"encoding": name, "case": case, "unit": unit, "peer": f"tiktoken {__version__}"}
                found.append(facts | medians)
    is_complete = tuple(asked.only) == ENCODINGS and asked.rounds >= 15
    record.write(asked.output or record.destination("drop-ins", complete=is_complete), COLUMNS, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
