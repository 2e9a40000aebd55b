"""Inputs of the benchmarks of shards: documents of about 2 KB of the four corpora, in files of several formats.

Documents are made one by one, so that memory does not depend on the size. After the text of the corpora come perturbed
copies of it, pass after pass, so that no document occurs twice.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from corpora import CORPORA, MEGABYTE, corpus, whole_characters

__all__ = ["INPUTS", "documents", "write_inputs"]

DOCUMENT = 2_000  # characters
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
