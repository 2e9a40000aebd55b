"""Texts of the cases, written to files for the workers.

A corpus is reduced to a size by taking sixteen ranges of it, which are split into two halves; the second half is not
encoded before it is timed. Held-out texts are the ranges between these. Lines with special tokens are removed, because
engines treat them differently.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from urllib.parse import quote

from corpora import CORPORA, MEGABYTE, corpus, whole_characters

__all__ = ["CALLS", "KINDS", "LENGTHS", "WORST", "Texts"]

KINDS = ("english", "code", "chinese", "udhr", "docs_es_pt_ja")
LENGTHS = (1, 2, 4, 8)
CALLS = {"13 bytes": 13, "100 bytes": 100, "1 KB": 1_000}
PIECES = 16
SPECIAL = re.compile(r"</?s>|<unk>|<pad>|<mask>|<\|\w|\[(?:UNK|CLS|SEP|PAD|MASK)\]|<extra_id_|<0x[0-9A-F]{2}>")

Make = Callable[[int, random.Random], str]  # (number of bytes, random generator) -> text


def repeated(unit: str) -> Make:
    return lambda size, _: unit * (size // len(unit.encode()))


def drawn(letters: str) -> Make:
    return lambda size, chance: "".join(chance.choices(letters, k=size // len(letters[0].encode())))


def span(first: int, last: int) -> str:
    return "".join(map(chr, range(first, last + 1)))


# Inputs on which some encoders take seconds, overflow the stack or give other ids.
WORST: dict[str, Make] = {
    "letter a": repeated("a"),
    "spaces": repeated(" "),
    "spaces, then x": lambda size, _: " " * (size - 1) + "x",
    "carets": repeated("^"),
    "newlines": repeated("\n"),
    "dashes": repeated("-"),
    "random a-z": drawn(span(0x61, 0x7A)),
    "random Han": drawn(span(0x4E00, 0x9FA5)),
    "random punctuation": drawn("!#$%&()*+,-./:;<=>?@[]^_{|}~"),
    "'s": repeated("'s"),
    "aA": repeated("aA"),
    "digits": repeated("1234567890"),
    "emoji": repeated("😀"),
    "a, acute": repeated("a\u0301"),
    "one a, acutes": lambda size, _: "a" + "\u0301" * (size // 2),
    "spaces, tabs": repeated(" \t"),
    "! and dashes": lambda size, _: "!" + "-" * (size - 1),
    "random aA": drawn("abcdXYZ"),
    "random Thai": drawn(span(0x0E01, 0x0E3A)),
}


class Texts:
    """Texts, written on first use.

    Args:
        data: the folder JETON_TEST_DATA.
        folder: output folder.
        megabytes: size of a corpus; other texts scale with it.
        held_out: take the ranges of the corpora that are left out otherwise, at most `megabytes`.
    """

    def __init__(self, data: Path, folder: Path, megabytes: float, *, held_out: bool = False) -> None:
        self.data, self.folder, self.limit = data, folder, int(megabytes * MEGABYTE)
        self.held_out = held_out
        self.worst_size = min(MEGABYTE, self.limit)
        self.much = 50 * self.limit  # 1 GB beside corpora of 20 MB
        self.phases = cache(self._phases)

    def _phases(self, spec: str) -> list[tuple[str, str]]:
        """Phases of `spec` in order, each with its file."""
        what, _, which = spec.partition(": ")
        if what == "halves":
            first, second = self.halves(which)
            return [("cold", first), ("unseen", second), ("warm", second)]
        if what == "long":
            path = self.written(spec, lambda: self.cut(which, self.limit * 3 // 2))
            return [("unseen", path), ("warm", path)]
        if what == "unspaced":
            path = self.written(spec, self.unspaced)
            return [("unseen", path), ("warm", path)]
        if what == "calls":
            first, second = self.calls(CALLS[which])
            return [("cold", first), ("unseen", second), ("warm", second)]
        if what == "worst":
            row, _, length = which.partition(" × ")
            size = self.worst_size * int(length)
            return [("cold", self.written(spec, lambda: WORST[row](size, random.Random(0))))]
        if what == "much":
            return [(name, self.written(f"much {name}", partial(self.cut, name, self.much // 4))) for name in CORPORA]
        raise KeyError(spec)

    def first(self, size: int) -> str:
        """A file that begins with `size` bytes of English, if the corpus has as many."""
        return self.written(f"first {size}", partial(self.cut, "english", max(size, MEGABYTE)))

    def halves(self, kind: str) -> tuple[str, str]:
        lines = self.cut(kind, self.limit).splitlines(keepends=True)
        sizes = [len(line.encode()) for line in lines]
        half, size, at = sum(sizes) / 2, 0, 0
        while size < half:
            size, at = size + sizes[at], at + 1
        first = self.written(f"half A of {kind}", lambda: "".join(lines[:at]))
        return first, self.written(f"half B of {kind}", lambda: "".join(lines[at:]))

    def cut(self, kind: str, size: int) -> str:
        """Whole lines from all parts of a corpus, `size` bytes in total."""
        raw = self.whole(kind)
        step = len(raw) // PIECES
        if self.held_out:
            used = self.limit // PIECES  # of each step, by the halves of other runs
            if step <= used:
                raise ValueError(f"{kind} has no held-out text beside {self.limit:,} bytes")
            raw = b"".join(raw[i * step + used : (i + 1) * step] for i in range(PIECES))
            step = len(raw) // PIECES
        parts = [raw] if size >= len(raw) else [raw[i * step :][: size // PIECES] for i in range(PIECES)]
        text = "\n".join(whole_characters(part.lstrip(bytes(range(0x80, 0xC0))), size).decode() for part in parts)
        return "".join(line for line in text.splitlines(keepends=True) if not SPECIAL.search(line))

    @cache  # noqa: B019 - one object a run
    def whole(self, kind: str) -> bytes:
        if kind == "udhr":
            return b"\n".join(path.read_bytes() for path in sorted((self.data / "udhr").glob("*.txt")))
        return corpus(kind, 4 * self.limit)

    def unspaced(self) -> str:
        """Chinese text without ASCII characters, in particular without white space."""
        text = re.sub(r"[\x00-\x7f\s]+", "", self.whole("chinese").decode("utf-8"))
        return text[: self.limit // 2]  # three bytes a character

    def calls(self, size: int) -> tuple[str, str]:
        """Two lists of short, distinct texts."""
        text = self.cut("english", self.limit).encode("ascii", "ignore").decode()
        texts = list(dict.fromkeys(text[i : i + size] for i in range(0, len(text) - size, size)))
        texts = texts[: min(100_000, 8 * MEGABYTE // size)]
        half = len(texts) // 2
        return tuple(  # type: ignore[return-value]
            self.written(f"{size} bytes, {name}", partial(json.dumps, part))
            for name, part in (("A", texts[:half]), ("B", texts[half : 2 * half]))
        )

    def written(self, name: str, make: Callable[[], str]) -> str:
        path = self.folder / quote(name, safe=" ,×")
        if not path.exists():
            path.write_bytes(make().encode())
        return str(path)
