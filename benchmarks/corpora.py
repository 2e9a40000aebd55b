"""Corpora for benchmarks: those of JETON_TEST_DATA if it is set, else generated text.

Generated words have another frequency distribution than a language, so their figures are not comparable; the record
names the source.
"""

from __future__ import annotations

import lzma
import os
import random
from itertools import accumulate
from pathlib import Path

__all__ = [
    "CORPORA",
    "MEGABYTE",
    "SENTENCE",
    "corpus",
    "documents",
    "whole_characters",
    "write_corpora",
    "write_documents",
]

CORPORA = ("english", "chinese", "code", "docs_es_pt_ja")
MEGABYTE = 1_000_000
LINES_PER_DOCUMENT = 1_000
SENTENCE = "A tokenizer cuts text into tokens, and a model reads their numbers."


def write_corpora(folder: Path, megabytes: float) -> str:
    """Writes the corpora, each limited to `megabytes`, and returns their source."""
    limit = int(megabytes * MEGABYTE)
    data = os.environ.get("JETON_TEST_DATA")
    for name in CORPORA:
        (folder / name).write_bytes(whole_characters(corpus(name, limit), limit))
    english = (folder / "english").read_bytes()
    (folder / "english 1 MB").write_bytes(whole_characters(english, min(limit, MEGABYTE)))
    (folder / "one byte").write_bytes(b"a" * min(limit, MEGABYTE))
    noise = random.Random(0)
    (folder / "random").write_bytes(bytes(noise.getrandbits(7) for _ in range(min(limit, MEGABYTE))))
    (folder / "tiny").write_text(SENTENCE, encoding="utf-8")
    with open(folder / "all", "wb") as together:
        for name in CORPORA:
            together.write((folder / name).read_bytes())
    return "JETON_TEST_DATA" if data else "generated"


def corpus(name: str, limit: int) -> bytes:
    """Returns a whole corpus; of generated text, `limit` bytes."""
    if data := os.environ.get("JETON_TEST_DATA"):
        return lzma.decompress(Path(data, "corpora", f"{name}.txt.xz").read_bytes())
    return generated_text(min(limit, 35 * MEGABYTE), CORPORA.index(name)).encode()


def whole_characters(raw: bytes, limit: int) -> bytes:
    return raw[:limit].decode("utf-8", "ignore").encode()


def generated_text(size: int, seed: int) -> str:
    """Generates words of random syllables with a skewed frequency distribution."""
    choose = random.Random(seed)
    syllables = [a + b for a in "bdfgklmnprst" for b in ("a", "e", "i", "o", "u", "an", "er")]
    words = ["".join(choose.choices(syllables, k=choose.randint(1, 4))) for _ in range(50_000)]
    weights = list(accumulate(1 / rank for rank in range(1, len(words) + 1)))
    lines: list[str] = []
    length = 0
    while length < size:
        lines.append(" ".join(choose.choices(words, cum_weights=weights, k=12)) + ".\n")
        length += len(lines[-1])
    return "".join(lines)


def write_documents(source: Path, folder: Path) -> None:
    """Writes documents of a thousand lines as files."""
    if folder.is_dir():
        return
    folder.mkdir()
    for number, text in enumerate(documents(source, whole=False)):
        (folder / f"{number:06}.txt").write_bytes(text.encode())


def documents(path: Path, *, whole: bool) -> list[str]:
    """Returns documents of a thousand lines, or the whole text as one."""
    with open(path, encoding="utf-8", newline="\n") as file:
        if whole:
            return [file.read()]
        lines = list(file)
    return ["".join(lines[i : i + LINES_PER_DOCUMENT]) for i in range(0, len(lines), LINES_PER_DOCUMENT)]
