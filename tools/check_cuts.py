"""Checks `Tokenizer.split` and `Tokenizer.truncate` on published vocabularies, corpora and languages.

    python tools/check_cuts.py DATA                      # DATA has vocabs/, corpora/ (*.txt.xz) and udhr/ (*.txt)
    python tools/check_cuts.py DATA --only cl100k_base.tiktoken --scale 0.2 --seed 7

For each vocabulary, the tool splits and truncates random passages, with limits from 1 to 8,192 tokens and each unit of
the argument ``at``:

- chunks: each chunk, encoded again, has as many tokens as its `num_tokens` states, and at most the limit. The joined
  chunks are the text, and their spans are correct. If a single character has more tokens than the limit, `split`
  must raise `ConfigError` with the position of such a character.
- truncation: the truncated text, from which the end, the beginning or the middle was removed, has at most as many
  tokens as the limit when it is encoded again.
- brute force: for short passages, and for long texts that are hard to cut, such as a repeated letter, the result is the
  longest text within the limit. This text is found by trying every boundary, from the longest text to the shortest.
- linear time: processor time per byte for 1, 2, 4 and 8 MB of English and of Chinese is compared.

Prints one line for each vocabulary and for each failure. The exit code is 1 if there is a failure. With ``--scale 1`` a
run takes some fifteen minutes of processor time.
"""

from __future__ import annotations

import argparse
import lzma
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import jeton
from jeton import _core

VOCABULARIES = (
    "cl100k_base.tiktoken",
    "o200k_base.tiktoken",
    "llama3.tiktoken",
    "r50k_base.tiktoken",
    "roberta-base.tokenizer.json",
    "gpt-neox-20b.tokenizer.json",
    "phi-3-mini.tokenizer.json",
    "mistral-v1.model",
    "t5-small.tokenizer.json",
    "bert-uncased.vocab.txt",
    "mbart-en-fairseq.sentencepiece.bpe.model",
    "spm-ja.model",
)
CORPORA = ("english", "chinese", "code", "docs_es_pt_ja")
LIMITS = (1, 2, 3, 4, 7, 16, 32, 100, 512, 2_048, 8_192)
UNITS = ("character", "grapheme", "word", "sentence")
SMALLER = {"sentence": "word", "word": "grapheme", "grapheme": "character"}
SIDES: tuple[Literal["right", "left", "middle"], ...] = ("right", "left", "middle")
UNSPACED = ("tha", "khm", "lao", "mya", "cmn_hans", "jpn", "bod")  # files of `udhr` in scripts without spaces
SIZES_MB = (1, 2, 4, 8)
MOST_GROWTH = 1.5  # maximum of this ratio: time per byte of the largest text / time per byte of the smallest text


# Vocabularies for which `truncate(side="left")` may return a suffix of the text that is shorter than the limit allows.
# This can happen if a passage of more than 1 KiB has no position at which the ids before the position and the ids after
# the position are independent of each other (docs/encoding.md).
SUFFIX_BY_BISECTION = {
    "phi-3-mini.tokenizer.json", "mistral-v1.model", "mbart-en-fairseq.sentencepiece.bpe.model", "spm-ja.model",
    "t5-small.tokenizer.json", "bert-uncased.vocab.txt",
}  # fmt: skip


def sides_of(name: str) -> tuple[str, ...]:
    """Returns the sides for which brute force checks `truncate` on long texts that are hard to cut."""
    return ("right",) if name in SUFFIX_BY_BISECTION else ("right", "left")


class Checker:
    """Checks of one vocabulary, with the number of comparisons."""

    def __init__(self, name: str, tok: jeton.Tokenizer) -> None:
        self.name = name
        self.tok = tok
        self.done: Counter[str] = Counter()
        self.failed = 0

    def fail(self, kind: str, *facts: object) -> None:
        """Counts and prints a failure."""
        self.failed += 1
        if self.failed <= 20:
            print(f"FAIL {self.name}: {kind}:", *(repr(fact)[:300] for fact in facts), flush=True)

    def split(self, text: str, limit: int, at: Any) -> None:
        """Checks the chunks of a text at one limit."""
        try:
            chunks = self.tok.split(text, limit, at=at)
        except jeton.ConfigError as error:
            position = error.position
            self.done["documented errors"] += 1
            if position is None or self.tok.count(text[position]) <= limit:
                self.fail("error without a character over the limit", text, limit, at, str(error))
            return
        self.done["chunks"] += len(chunks)
        counts = self.tok.count_batch([chunk.text for chunk in chunks])
        data, start, byte_start = text.encode(), 0, 0
        for chunk, count in zip(chunks, counts, strict=True):
            if count > limit or count != chunk.num_tokens:
                self.fail("number of tokens", chunk, count, limit, at)
            spans = (chunk.char_span, chunk.byte_span)
            own = text[slice(*spans[0])], data[slice(*spans[1])].decode()
            if spans[0][0] != start or spans[1][0] != byte_start or own != (chunk.text, chunk.text):
                self.fail("spans", chunk, start, byte_start)
            start, byte_start = spans[0][1], spans[1][1]
        if "".join(chunk.text for chunk in chunks) != text:
            self.fail("the chunks are not the text", text, limit, at)

    def truncate(self, text: str, limit: int, at: Any) -> None:
        """Checks the number of tokens of truncated texts."""
        for side in SIDES:
            if side == "middle" and self.tok.count("…") > limit:
                continue
            cut = self.tok.truncate(text, limit, side=side, at=at)
            self.done["truncated"] += 1
            if self.tok.count(cut) > limit:
                self.fail("truncated", side, at, limit, cut)
            parts = {"right": text.startswith(cut), "left": text.endswith(cut)}
            if not parts.get(side, True):
                self.fail("no part of the text", side, cut)

    def _longest(self, text: str, limit: int, at: str | None, side: str) -> str:
        while at:
            ends = [0, *_core.unit_boundaries(text, at)]
            for position in ends[:0:-1] if side == "right" else ends[:-1]:
                part = text[:position] if side == "right" else text[position:]
                if self.tok.count(part) <= limit:
                    return part
            at = SMALLER.get(at)
        return ""

    def by_force(self, text: str, limit: int, at: Any, sides: tuple[str, ...] = SIDES[:2]) -> None:
        """Compares each result of `truncate` with the longest text within the limit, found by trying every boundary."""
        for side in sides:
            self.done["brute force"] += 1
            found = self.tok.truncate(text, limit, side=side, at=at)  # type: ignore[arg-type]
            if found != (longest := self._longest(text, limit, at, side)):
                self.fail("not the longest", side, at, limit, text, found, longest)

    def chunks_by_force(self, text: str, limit: int) -> None:
        """Compares the first three chunks of a text with those found by trying every character boundary."""
        try:
            chunks = self.tok.split(text, limit)
        except jeton.ConfigError:
            return
        for chunk in chunks[:3]:
            self.done["brute force"] += 1
            rest = text[chunk.char_span[0] :][: len(chunk.text) + 400]
            found = self._longest(rest, limit, "character", "right")
            if found != chunk.text:
                self.fail("not the longest chunk", limit, chunk, found)

    def growth(self, text: str) -> float:
        """Returns the ratio: time per byte of the largest text / time per byte of the smallest text."""
        took, data = [], text.encode()
        for size in SIZES_MB:
            part = data[: size << 20].decode("utf-8", "ignore")
            began = time.process_time()
            self.tok.split(part, 512)
            took.append((time.process_time() - began) / len(part.encode()))
        return took[-1] / took[0]


def passages(folder: Path, scale: float, rng: random.Random) -> Iterator[tuple[str, str]]:
    """Yields the name and the text of every source: corpora and languages."""
    for name in CORPORA:
        with lzma.open(folder / "corpora" / f"{name}.txt.xz") as file:
            yield name, file.read(24 << 20).decode("utf-8", "ignore")
    languages = sorted(path for path in (folder / "udhr").glob("*.txt"))
    chosen = [path for path in languages if path.stem in UNSPACED]
    chosen += rng.sample(languages, max(4, int(60 * scale)))
    for path in chosen:
        yield path.stem, path.read_text(encoding="utf-8")


def runs(texts: dict[str, str]) -> Iterator[str]:
    """Yields long texts that are hard to cut: letters of scripts without spaces, repeated strings, random letters."""
    for name in UNSPACED:
        if name in texts:
            yield "".join(c for c in texts[name] if c.isalpha() or not (c.isascii() or c.isspace()))[:3_000]
    yield from ("a" * 3_000, "xyzw" * 700, " " * 2_500, "=" * 2_500, "今天天气" * 600, "1234567890" * 250, "é" * 2_000)
    letters = random.Random(1)  # noqa: S311
    yield "".join(letters.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(3_000))


def check(name: str, folder: Path, texts: dict[str, str], scale: float, seed: int) -> Checker:
    """Checks one vocabulary with all kinds of texts."""
    checker = Checker(name, jeton.load(folder / "vocabs" / name))
    rng = random.Random(f"{name} {seed}")  # noqa: S311
    for text in texts.values():
        for limit in LIMITS:
            size = int(min(400 + 12 * limit, 60_000) * max(scale, 0.1))
            for at in UNITS:
                start = rng.randrange(max(1, len(text) - size))
                checker.split(text[start : start + size], limit, at)
        for limit in rng.sample(LIMITS, 4):
            start = rng.randrange(max(1, len(text) - 50 * limit))
            checker.truncate(text[start : start + 50 * limit + 200], limit, rng.choice(UNITS))
        for _ in range(int(12 * scale) + 2):
            start = rng.randrange(max(1, len(text) - 60))
            passage = text[start : start + rng.randrange(4, 60)]
            checker.by_force(passage, rng.choice((1, 2, 3, 5, 9, 16)), rng.choice(UNITS))
    for run in runs(texts):
        for limit in (1, 5, 40, 200):
            if sides_of(name):
                checker.chunks_by_force(run, limit)
            if limit in {5, 40}:
                checker.by_force(run[:1_300], limit, "character", sides_of(name))
    return checker


def main() -> int:
    """Runs the command; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path, help="folder with vocabs/, corpora/ and udhr/")
    parser.add_argument("--only", nargs="+", default=VOCABULARIES, help="vocabularies")
    parser.add_argument("--scale", type=float, default=1.0, help="amount of text (default: 1)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-times", action="store_true", help="leave out the times of large texts")
    asked = parser.parse_args()
    rng = random.Random(asked.seed)  # noqa: S311
    texts = dict(passages(asked.data, asked.scale, rng))
    failed = 0
    total: Counter[str] = Counter()
    for name in asked.only:
        began = time.process_time()
        checker = check(name, asked.data, texts, asked.scale, asked.seed)
        facts = dict(checker.done)
        if not asked.no_times:
            for corpus in ("english", "chinese"):
                growth = checker.growth(texts[corpus])
                facts[f"{corpus} 8 MB / 1 MB per byte"] = round(growth, 2)  # type: ignore[assignment]
                if growth > MOST_GROWTH:
                    checker.fail("time is not linear", corpus, growth)
        failed += checker.failed
        total += checker.done
        shown = ", ".join(f"{key} {value:,}" for key, value in facts.items())
        print(f"{name}: {shown}, failures {checker.failed}, {time.process_time() - began:.0f} s", flush=True)
    print("total:", ", ".join(f"{key} {value:,}" for key, value in total.items()) + f", failures {failed}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
