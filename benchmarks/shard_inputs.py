"""Inputs of the benchmarks of shards: documents of about 2 KB of the four corpora, in files of several formats.

Documents are made one by one, so that memory does not depend on the size. After the text of the corpora come perturbed
copies of it, pass after pass, so that no document occurs twice.

`write_mixed` writes documents of very different sizes instead, of passages that are drawn from all of the corpora.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import Any

from corpora import CORPORA, MEGABYTE, corpus, whole_characters

__all__ = ["INPUTS", "documents", "write_inputs", "write_mixed"]

DOCUMENT = 2_000  # characters
PASSAGE = (60, 3_000)  # characters, of a passage of a mixed document
PASSAGES = 1.2  # exponent of the Pareto distribution of their number in a document
MOST_PASSAGES = 2_000
INPUTS = ("jsonl", "parquet", "zstd")
ROW_GROUP = 2_000


def documents(megabytes: float) -> Iterator[str]:
    """Yields documents of all corpora in equal shares, `megabytes` of text in all."""
    limit = int(megabytes * MEGABYTE / len(CORPORA))
    pieces = []
    for name in CORPORA:
        text = whole_characters(corpus(name, limit), limit).decode()
        pieces.append([text[start : start + DOCUMENT] for start in range(0, len(text), DOCUMENT)])
    left = [limit] * len(CORPORA)
    chance, is_first = random.Random(0), True
    while any(left):
        for number, own in enumerate(pieces):
            for piece in own:
                text = piece if is_first else perturbed(piece, own, chance)
                left[number] = max(0, left[number] - len(text.encode()))
                yield text
                if not left[number]:
                    break
        pieces = [own if rest else [] for own, rest in zip(pieces, left, strict=True)]
        is_first = False


def perturbed(text: str, others: list[str], chance: random.Random) -> str:
    """A copy with some short ranges replaced by text from elsewhere."""
    parts, at = [], 0
    while at < len(text):
        step = chance.randrange(40, 200)
        other = others[chance.randrange(len(others))]
        start = chance.randrange(len(other))
        parts += [text[at : at + step], other[start : start + 6]]
        at += step + 6
    return "".join(parts)


def write_inputs(folder: Path, megabytes: float, num_files: int, inputs: tuple[str, ...] = INPUTS) -> dict[str, Path]:
    """Writes the documents in each format; returns format -> folder."""
    places = {name: folder / name for name in inputs}
    for place in places.values():
        place.mkdir(parents=True)
    whole, held, size, number = megabytes * MEGABYTE, [], 0, 0
    for text in documents(megabytes):
        held.append(text)
        size += len(text.encode())
        if number + 1 < num_files and size >= whole * (number + 1) / num_files:
            write_files(places, number, held)
            held, number = [], number + 1
    write_files(places, number, held)
    return places


def write_files(places: dict[str, Path], number: int, texts: list[str]) -> None:
    """Writes one file of each format."""
    name = f"{number:03}"
    if "parquet" in places:
        import pyarrow as pa
        import pyarrow.parquet as pq

        table: Any = pa.table({"text": texts})
        pq.write_table(table, places["parquet"] / f"{name}.parquet", row_group_size=ROW_GROUP)
    rows = "".join(json.dumps({"text": text, "id": index}) + "\n" for index, text in enumerate(texts)).encode()
    if "jsonl" in places:
        (places["jsonl"] / f"{name}.jsonl").write_bytes(rows)
    if "zstd" in places:
        import zstandard

        (places["zstd"] / f"{name}.jsonl.zst").write_bytes(zstandard.ZstdCompressor().compress(rows))


def write_mixed(folder: Path, megabytes: float, num_files: int) -> None:
    """Writes JSON Lines of documents of mixed sizes, `megabytes` of text in all.

    A document is one passage, rarely thousands of them. Each passage begins anywhere in a corpus that is drawn for the
    document, so each file has all of them, and no two files have the same documents. Characters are not escaped.
    """
    folder.mkdir(parents=True)
    paths = [folder / f"{number:03}.jsonl" for number in range(num_files)]
    with ProcessPoolExecutor() as pool:
        list(pool.map(partial(write_mixed_file, num_bytes=int(megabytes * MEGABYTE / num_files)), paths))


def write_mixed_file(path: Path, num_bytes: int) -> None:
    """Writes one file. Its name is the seed."""
    chance = random.Random(path.stem)
    with open(path, "w", encoding="utf-8") as file:
        while num_bytes > 0:
            source, passages = _corpus_text(chance.choice(CORPORA)), []
            for _ in range(min(int(chance.paretovariate(PASSAGES)), MOST_PASSAGES)):
                start = chance.randrange(len(source) - PASSAGE[1])
                passages.append(source[start : start + chance.randint(*PASSAGE)])
            text = "\n".join(passages)
            num_bytes -= len(text.encode())
            file.write(json.dumps({"id": f"{path.stem}-{num_bytes}", "text": text}, ensure_ascii=False) + "\n")


@cache
def _corpus_text(name: str) -> str:
    return corpus(name, 35 * MEGABYTE).decode("utf-8", "ignore")
