"""`TracedStr`: a text that knows whose each of its characters is.

A chat template joins its own words with those of messages, and only its own may be control. So messages are given to
the template as `TracedStr`, a `str` like any other to it, and what a template does with text keeps the origin of every
character: joining, cutting, stripping, replacing, changing case. What is not followed here gives a plain `str`; the
`sandbox` then says whose it is.

A plain `str` is the template's.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Literal, NamedTuple, SupportsIndex

__all__ = ["CALLER", "MIXED", "TEMPLATE", "Origin", "OriginRun", "TracedStr", "join", "runs_of"]


class Origin(NamedTuple):
    """Whose some characters are.

    Attributes:
        source: ``"template"``; ``"message"``; ``"caller"``: of tools, documents and other variables, or of several
            messages; ``"mixed"``: the template's words and others', and nothing says which are which.
        message: the index of the message.
        generated: whether they stand where the template says that the model writes (``{% generation %}``).
    """

    source: Literal["template", "message", "caller", "mixed"]
    message: int | None = None
    generated: bool = False


TEMPLATE = Origin("template")
CALLER = Origin("caller")
MIXED = Origin("mixed")

OriginRun = tuple[int, Origin]  # so many characters


class TracedStr(str):
    """A text and the origins of its characters.

    Examples:
        >>> text = "<|user|>" + TracedStr(" hi ", [(4, Origin("message", 0))]).strip()
        >>> text, [(length, origin.source) for length, origin in runs_of(text)]
        ('<|user|>hi', [(8, 'template'), (2, 'message')])
    """

    _runs: tuple[OriginRun, ...]

    def __new__(cls, text: str, runs: Iterable[OriginRun] | None = None) -> TracedStr:
        """A text with its runs, which tile it; without them, of nobody known: the caller's, so never control."""
        self = str.__new__(cls, text)
        self._runs = ((len(text), CALLER),) if runs is None else tuple(_fused(runs))
        return self

    def __str__(self) -> str:
        return self  # so that `str(x)`, which templates and filters call all the time, forgets nothing

    # ── joining ───────────────────────────────────────────────────────────────────────────────────────────────────

    def __add__(self, other: str) -> str:
        return join((self, other)) if isinstance(other, str) else NotImplemented

    def __radd__(self, other: str) -> str:
        return join((other, self)) if isinstance(other, str) else NotImplemented

    def __mul__(self, times: SupportsIndex) -> str:
        return join([self] * times.__index__()) if self else self

    __rmul__ = __mul__

    def join(self, texts: Iterable[str]) -> str:
        pieces: list[str] = []
        for text in texts:
            pieces += (self, text) if pieces else (text,)
        return join(pieces)

    # ── cutting ───────────────────────────────────────────────────────────────────────────────────────────────────

    def __getitem__(self, index: SupportsIndex | slice) -> TracedStr:
        if not isinstance(index, slice):
            at = index.__index__()
            str.__getitem__(self, at)  # IndexError
            at += len(self) if at < 0 else 0
            return self._cut(at, at + 1)
        start, stop, step = index.indices(len(self))
        if step == 1:
            return self._cut(start, max(start, stop))
        kept = range(start, stop, step) if step > 0 else range(start, stop, step)[::-1]
        runs = []
        begin = 0
        for length, origin in self._runs:
            runs.append((bisect_left(kept, begin + length) - bisect_left(kept, begin), origin))
            begin += length
        return TracedStr(str.__getitem__(self, index), runs if step > 0 else reversed(runs))

    def _cut(self, start: int, stop: int) -> TracedStr:
        return self._cuts([(start, stop)])[0]

    def _cuts(self, cuts: Iterable[tuple[int, int]]) -> list[TracedStr]:
        """The ranges, which are in order and disjoint, in one pass over the runs."""
        text = str.__str__(self)
        pieces = []
        begin, index = 0, 0  # the run in which a range may start
        for start, stop in cuts:
            while index < len(self._runs) - 1 and begin + self._runs[index][0] <= start:
                begin, index = begin + self._runs[index][0], index + 1
            runs, at = [], begin
            for length, origin in islice(self._runs, index, None):
                runs.append((min(at + length, stop) - max(at, start), origin))
                at += length
                if at >= stop:
                    break
            pieces.append(TracedStr(text[start:stop], runs))
        return pieces

    def __iter__(self) -> Iterator[str]:
        at = 0
        text = str.__str__(self)
        for length, origin in self._runs:
            for char in text[at : at + length]:
                yield TracedStr(char, ((1, origin),))
            at += length

    def strip(self, chars: str | None = None) -> TracedStr:
        return self.lstrip(chars).rstrip(chars)

    def lstrip(self, chars: str | None = None) -> TracedStr:
        return self._cut(len(self) - len(str.lstrip(self, chars)), len(self))

    def rstrip(self, chars: str | None = None) -> TracedStr:
        return self._cut(0, len(str.rstrip(self, chars)))

    def removeprefix(self, prefix: str) -> TracedStr:
        return self._cut(len(self) - len(str.removeprefix(self, prefix)), len(self))

    def removesuffix(self, suffix: str) -> TracedStr:
        return self._cut(0, len(str.removesuffix(self, suffix)))

    def split(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> list[str]:
        return self._found(str.split(self, sep, maxsplit), sep)

    def rsplit(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> list[str]:
        return self._found(str.rsplit(self, sep, maxsplit), sep)

    def _found(self, pieces: list[str], sep: str | None) -> list[str]:
        """The pieces of a split, which stand in order; between two is the separator, or any white space."""
        cuts: list[tuple[int, int]] = []
        at = 0
        for piece in pieces:
            start = self.find(piece, at) if sep is None else at
            cuts.append((start, start + len(piece)))
            at = start + len(piece) + len(sep or "")
        return [*self._cuts(cuts)]

    def splitlines(self, keepends: bool = False) -> list[str]:
        cuts: list[tuple[int, int]] = []
        at = 0
        for whole, line in zip(str.splitlines(self, True), str.splitlines(self, keepends), strict=True):
            cuts.append((at, at + len(line)))
            at += len(whole)
        return [*self._cuts(cuts)]

    def partition(self, sep: str) -> tuple[str, str, str]:
        return self._three(str.partition(self, sep))

    def rpartition(self, sep: str) -> tuple[str, str, str]:
        return self._three(str.rpartition(self, sep))

    def _three(self, pieces: tuple[str, str, str]) -> tuple[str, str, str]:
        first, second = len(pieces[0]), len(pieces[0]) + len(pieces[1])
        head, middle, tail = self._cuts([(0, first), (first, second), (second, len(self))])
        return head, middle, tail

    # ── changing ──────────────────────────────────────────────────────────────────────────────────────────────────

    def replace(self, old: str, new: str, count: SupportsIndex = -1) -> str:
        if not old:  # between all characters
            return str.replace(self, old, new, count)
        pieces: list[str] = []
        for piece in self.split(old, count):
            pieces += (new, piece) if pieces else (piece,)
        return join(pieces)

    def __mod__(self, values: Any) -> str:
        parts = values if isinstance(values, tuple) else (values,)
        pieces = self.split("%s")
        plain = "%" not in "".join(pieces) and all(isinstance(part, str | int | float) for part in parts)
        if not plain or len(pieces) != len(parts) + 1:
            return str.__mod__(self, values)  # other fields, or an error
        return join(
            [pieces[0], *(text for part, piece in zip(parts, pieces[1:], strict=True) for text in (str(part), piece))]
        )

    def _as_long(self, text: str) -> str:
        """The same characters changed, if they are as many: else nothing says which became which."""
        return TracedStr(text, self._runs) if len(text) == len(self) else text

    def upper(self) -> str:
        return self._as_long(str.upper(self))

    def lower(self) -> str:
        return self._as_long(str.lower(self))

    def title(self) -> str:
        return self._as_long(str.title(self))

    def capitalize(self) -> str:
        return self._as_long(str.capitalize(self))

    def swapcase(self) -> str:
        return self._as_long(str.swapcase(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return TracedStr, (str.__str__(self)[:], self._runs)


def runs_of(text: str) -> tuple[OriginRun, ...]:
    """Whose the characters of a text are: a plain `str` is the template's."""
    return text._runs if isinstance(text, TracedStr) else ((len(text), TEMPLATE),)


def join(texts: Iterable[str]) -> str:
    """The texts one after the other; plain where none is traced.

    Examples:
        >>> type(join(["a", "b"])), type(join(["a", TracedStr("b")])).__name__
        (<class 'str'>, 'TracedStr')
    """
    texts = list(texts)
    whole = "".join(texts)
    if not any(isinstance(text, TracedStr) for text in texts):
        return whole
    return TracedStr(whole, [run for text in texts for run in runs_of(text)])


def _fused(runs: Iterable[OriginRun]) -> Iterator[OriginRun]:
    """Without empty runs, and neighbors of one origin as one."""
    held: OriginRun | None = None
    for length, origin in runs:
        if held is not None and (not length or origin == held[1]):
            held = (held[0] + length, held[1])
        elif held is None or not held[0]:
            held = (length, origin)
        else:
            yield held
            held = (length, origin)
    if held is not None:
        yield held
