"""Test inputs: strings of the corpora, files of the UDHR, generated strings, bytes and ids.

A seed determines generated inputs. Strings come from `jeton.analysis.generated_texts`, which draws tokens uniformly.
Special and other added tokens are a small part of a vocabulary and therefore rare in these strings, so this module
inserts more of them, complete or truncated.
"""

from __future__ import annotations

import lzma
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from random import Random
from typing import TypeVar

import jeton
from jeton.analysis.edge_cases import EDGE_CASES
from jeton.analysis.generated_texts import generate_bytes, generate_texts

__all__ = [
    "CORPORA",
    "GENERATED",
    "batches",
    "corpus",
    "generated_bytes",
    "generated_ids",
    "generated_texts",
    "num_strings",
]

FILES = ("english", "chinese", "code", "docs_es_pt_ja")
CORPORA = (*FILES, "udhr")
GENERATED = "generated"
CORPUS_BYTES = 5_000_000
PIECE = 400  # characters of a string from a corpus
SEED = 20_261_120

# Limits of a batch, so that the objects that a compared library creates for one batch stay under 1 GB.
BATCH = 20_000  # maximum number of strings
BATCH_CHARS = 2_000_000  # maximum number of characters

# A special token is inserted into every nth generated string.
SPLICE_EVERY = 6

_T = TypeVar("_T", str, bytes, list[int])


@cache
def corpus(data: Path, name: str) -> tuple[str, ...]:
    """Returns the strings of a corpus: its first 5 MB in pieces of 400 characters, or each UDHR file as one string."""
    if name == "udhr":
        return tuple(file.read_text("utf-8") for file in sorted((data / "udhr").glob("*.txt")))
    with lzma.open(data / "corpora" / f"{name}.txt.xz") as file:
        text = file.read(CORPUS_BYTES).decode("utf-8", "ignore")  # the last character may be incomplete
    return tuple(text[start : start + PIECE] for start in range(0, len(text), PIECE))


def generated_texts(tok: jeton.Tokenizer, n: int, seed: int = SEED) -> Iterator[str]:
    """Yields `n` strings: first handwritten ones, then generated ones, some of which contain special tokens."""
    by_hand = EDGE_CASES[:n]
    yield from by_hand
    names = [token.content for token in tok.added_tokens.values()]
    spellings = [*names, *(name[:-1] for name in names), *(name[1:] for name in names)]
    draw = Random(seed + 1).random  # noqa: S311 (nothing secret)
    for i, text in enumerate(generate_texts(tok, n - len(by_hand), seed)):
        if spellings and i % SPLICE_EVERY == 0:
            for _ in range(1 + int(draw() * 3)):
                at = int(draw() * (len(text) + 1))
                # Whole spellings are chosen more often than truncated ones.
                limit = len(names) if draw() < 0.8 else len(spellings)
                text = text[:at] + spellings[int(draw() * limit)] + text[at:]
        yield text


def generated_bytes(tok: jeton.Tokenizer, n: int, seed: int = SEED) -> Iterator[bytes]:
    """Yields `n` byte strings, most of which are not UTF-8."""
    return generate_bytes(tok, n, seed)


def generated_ids(tok: jeton.Tokenizer, n: int, seed: int = SEED) -> Iterator[list[int]]:
    """Yields `n` random sequences of 1 to 20 ids. About a tenth of all ids are those of added tokens."""
    ids = tok._core.ids()
    added = list(tok.added_tokens)
    draw = Random(seed).random  # noqa: S311 (nothing secret)
    for _ in range(n):
        sequence = []
        for _ in range(1 + int(draw() * 20)):
            pool = added if added and draw() < 0.1 else ids
            sequence.append(pool[int(draw() * len(pool))])
        yield sequence


def batches(texts: Iterable[_T], size: int = BATCH, characters: int = BATCH_CHARS) -> Iterator[list[_T]]:
    """Yields batches of at most `size` texts and `characters` characters; a longer text is a batch of its own."""
    batch: list[_T] = []
    total = 0
    for text in texts:
        if batch and (len(batch) >= size or total + len(text) > characters):
            yield batch
            batch, total = [], 0
        batch.append(text)
        total += len(text)
    if batch:
        yield batch


def num_strings(data: Path, name: str, generated: int) -> int:
    """Returns the number of strings of a corpus, or `generated` for the generated strings."""
    return generated if name == GENERATED else len(corpus(data, name))


def head(texts: Iterable[_T], n: int) -> Sequence[_T]:
    """Returns the first `n` texts."""
    return list(islice(texts, n))
