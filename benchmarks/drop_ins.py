"""Cost of the drop-in for tiktoken compared with tiktoken, for each kind of call; `benchmarks/record/drop-ins.csv`.

    JETON_TEST_DATA=… python benchmarks/drop_ins.py [--only cl100k_base] [--rounds 15] [--output FILE | --update]

As `harness.calls` says. Needs tiktoken.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.calls import Case, Comparison, Timed, load_times, measured

import jeton.compat.tiktoken

URL = "https://openaipublic.blob.core.windows.net/encodings/"
ENCODINGS = ("r50k_base", "cl100k_base", "o200k_base")
LOAD = """
import time
start = time.process_time()
import {module} as tiktoken
loaded = time.process_time()
enc = tiktoken.get_encoding({name!r})
enc.encode("hello world")
print(loaded - start, time.process_time() - start)
"""


def ids_of(enc: Any, texts: list[str]) -> list[list[int]]:
    return [enc.encode_ordinary(text) for text in texts]


def ordered(rows: list[tuple[list[int], list[list[int]]]]) -> list[Any]:
    """Sorts completions, whose order is random in tiktoken."""
    return [(stable, sorted(completions)) for stable, completions in rows]


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
    Case("encode_batch, 2 of 13 bytes", 13, 2, lambda enc, texts: enc.encode_batch(texts), calls=1),
    Case("encode_batch, 500 of 2 KB", 2000, 500, lambda enc, texts: enc.encode_batch(texts), calls=1),
    Case("encode_ordinary_batch, 500 of 2 KB", 2000, 500, lambda enc, texts: enc.encode_ordinary_batch(texts), calls=1),
    Case(
        "encode_with_unstable, 40 bytes",
        40,
        3,
        lambda enc, texts: [enc.encode_with_unstable(text) for text in texts],
        comparable=ordered,
    ),
    Case("decode, 13 bytes", 13, 2000, lambda enc, ids: [enc.decode(row) for row in ids], ids_of),
    Case("decode, 1 MB", 1_000_000, 1, lambda enc, ids: [enc.decode(row) for row in ids], ids_of),
    Case("decode_batch, 500 of 2 KB", 2000, 500, lambda enc, ids: enc.decode_batch(ids), ids_of, 1),
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


def fill_cache(vocabs: Path, folder: str) -> None:
    for name in ("r50k_base", "cl100k_base", "o200k_base"):
        key = hashlib.sha1(f"{URL}{name}.tiktoken".encode(), usedforsecurity=False).hexdigest()
        (Path(folder) / key).write_bytes((vocabs / f"{name}.tiktoken").read_bytes())
    os.environ["TIKTOKEN_CACHE_DIR"] = folder


def rows(name: str, text: str, rounds: int) -> Iterator[Timed]:
    """Case, unit, tiktoken, drop-in."""
    import tiktoken

    with tempfile.TemporaryDirectory() as folder:
        fill_cache(Path(os.environ["JETON_TEST_DATA"], "vocabs"), folder)
        programs = (LOAD.format(module=module, name=name) for module in ("tiktoken", "jeton.compat.tiktoken"))
        yield from load_times(*programs, ("import", "import, get_encoding and a first text"), rounds)
        peer, ours = tiktoken.get_encoding(name), jeton.compat.tiktoken.get_encoding(name)
        yield from measured(CASES, peer, ours, text, rounds)


def main() -> int:
    """Runs the command; returns the exit code."""
    from tiktoken import __version__

    facts = {name: {"encoding": name} for name in ENCODINGS}
    return Comparison("drop-ins", f"tiktoken {__version__}", facts, 15, rows).main(__doc__ or "")


if __name__ == "__main__":
    sys.exit(main())
