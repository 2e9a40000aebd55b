"""`TracedStr`: a `str` that records the origin of each of its characters.

A chat template concatenates its own literals with the contents of messages, and only its own literals may become
special tokens. Messages are therefore passed to the template as `TracedStr`. This class behaves as `str`:
concatenation, slicing, stripping, splitting, replacing and changes of case keep the origin of every character.
Operations that are not implemented here return a plain `str`; `limits.RenderBudget.own` then assigns it an origin.

A plain `str` is treated as the template's own text.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from operator import index as to_index
from typing import Any, Literal, NamedTuple, SupportsIndex

__all__ = ["CALLER", "MIXED", "TEMPLATE", "Origin", "OriginRun", "TracedStr", "join", "runs_of"]


class Origin(NamedTuple):
    """Origin of a run of characters.

    Attributes:
        source: ``"template"``; ``"message"``; ``"caller"``: tools, documents and other variables, or several messages;
            ``"mixed"``: text computed from template text and other text, in which the two cannot be distinguished.
        message: index of the message.
        generated: whether the run is inside ``{% generation %}``, which marks the model's own output.
        field: the name of the message's field, such as ``"content"``, or of the variable, such as ``"tools"``. If the
            field is a list, the name includes the index of the item: ``"tool_calls[0]"``. None for text of the
            template, and for text of several fields.
    """

    source: Literal["template", "message", "caller", "mixed"]
    message: int | None = None
    generated: bool = False
    field: str | None = None

    def inside(self, key: str | int) -> Origin:
        """Returns the origin of an element of this value: a field of a message, or an item of a field that is a list.

        Deeper elements have the same origin as the field or item that contains them.

        Examples:
            >>> Origin("message", 0).inside("tool_calls").inside(1).inside("function").field
            'tool_calls[1]'
        """
        if self.field is None and isinstance(key, str):
            return self._replace(field=key)
        if self.field is not None and isinstance(key, int) and not self.field.endswith("]"):
            return self._replace(field=f"{self.field}[{key}]")
        return self

    @classmethod
    def of_all(cls, origins: Collection[Origin]) -> Origin:
        """Returns the origin of a text computed from texts with the given origins, which do not include the template.

        Examples:
            >>> Origin.of_all([Origin("message", 0, field="content[0]"), Origin("message", 0, field="content[1]")])
            Origin(source='message', message=0, generated=False, field='content')
            >>> Origin.of_all([Origin("message", 0), Origin("message", 1)])
            Origin(source='caller', message=None, generated=False, field=None)
        """
        first, *others = origins
        if all(origin == first for origin in others):
            return first
        base = (first.field or "").partition("[")[0]
        is_one_field = all((origin.field or "").partition("[")[0] == base for origin in others)
        if all(origin[:3] == first[:3] for origin in others):
            return first._replace(field=base if base and is_one_field else None)
        return CALLER


TEMPLATE = Origin("template")
CALLER = Origin("caller")
MIXED = Origin("mixed")

OriginRun = tuple[int, Origin]  # (number of characters, origin)


class TracedStr(str):
    """String with the origins of its characters, run-length encoded.

    Examples:
        >>> text = "<|user|>" + TracedStr(" hi ", [(4, Origin("message", 0))]).strip()
        >>> text, [(length, origin.source) for length, origin in runs_of(text)]
        ('<|user|>hi', [(8, 'template'), (2, 'message')])
    """

    _runs: tuple[OriginRun, ...]

    def __new__(cls, text: str, runs: Iterable[OriginRun] | None = None) -> TracedStr:
        """Creates a string from a text and the runs that cover it.

        If `runs` is None, the whole text counts as written by the caller, so it cannot become special tokens.
        """
        self = str.__new__(cls, text)
        self._runs = ((len(text), CALLER),) if runs is None else tuple(_fused(runs))
        return self

    def __str__(self) -> str:
        return self  # `str(x)`, which templates and filters often call, must keep the origins

    # ── concatenation ────────────────────────────────────────────────────────────────────────────────────────────────

    def __add__(self, other: str) -> str:
        return join((self, other)) if isinstance(other, str) else NotImplemented

    def __radd__(self, other: str) -> str:
        return join((other, self)) if isinstance(other, str) else NotImplemented

    def __mul__(self, times: SupportsIndex) -> str:
        number = to_index(times)
        return join([self] * number) if self else self

    __rmul__ = __mul__

    def join(self, texts: Iterable[str], /) -> str:
        pieces: list[str] = []
        for text in texts:
            pieces += (self, text) if pieces else (text,)
        return join(pieces)

    # ── slicing ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def __getitem__(self, index: SupportsIndex | slice) -> TracedStr:
        if not isinstance(index, slice):
            at = to_index(index)  # raises TypeError, as `str` does: Jinja then looks for an attribute
            str.__getitem__(self, at)  # raises IndexError
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
        """Returns the slices at sorted, disjoint ranges, in one pass over the runs."""
        text = str.__str__(self)
        pieces = []
        begin, index = 0, 0  # start and index of the first run that can overlap the range
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

    def strip(self, chars: str | None = None, /) -> TracedStr:
        return self.lstrip(chars).rstrip(chars)

    def lstrip(self, chars: str | None = None, /) -> TracedStr:
        return self._cut(len(self) - len(str.lstrip(self, chars)), len(self))

    def rstrip(self, chars: str | None = None, /) -> TracedStr:
        return self._cut(0, len(str.rstrip(self, chars)))

    def removeprefix(self, prefix: str, /) -> TracedStr:
        return self._cut(len(self) - len(str.removeprefix(self, prefix)), len(self))

    def removesuffix(self, suffix: str, /) -> TracedStr:
        return self._cut(0, len(str.removesuffix(self, suffix)))

    def split(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> list[str]:
        return self._locate(str.split(self, sep, maxsplit), sep)

    def rsplit(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> list[str]:
        return self._locate(str.rsplit(self, sep, maxsplit), sep)

    def _locate(self, pieces: list[str], sep: str | None) -> list[str]:
        """Returns `pieces`, into which this string was split at `sep` (None: at white space), with their origins."""
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

    def partition(self, sep: str, /) -> tuple[str, str, str]:
        return self._three(str.partition(self, sep))

    def rpartition(self, sep: str, /) -> tuple[str, str, str]:
        return self._three(str.rpartition(self, sep))

    def _three(self, pieces: tuple[str, str, str]) -> tuple[str, str, str]:
        first, second = len(pieces[0]), len(pieces[0]) + len(pieces[1])
        head, middle, tail = self._cuts([(0, first), (first, second), (second, len(self))])
        return head, middle, tail

    # ── replacement and case ─────────────────────────────────────────────────────────────────────────────────────────

    def replace(self, old: str, new: str, /, count: SupportsIndex = -1) -> str:
        if not old:  # `str.replace` inserts between all characters
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
            # Conversions other than %s and values of other types lose the origins. A wrong number of values raises.
            return str.__mod__(self, values)
        return join(
            [pieces[0], *(text for part, piece in zip(parts, pieces[1:], strict=True) for text in (str(part), piece))]
        )

    def _same_length(self, text: str) -> str:
        """Returns `text` with the origins of this string, or without origins if its length differs.

        If the lengths differ, the characters of the two texts do not correspond.
        """
        return TracedStr(text, self._runs) if len(text) == len(self) else text

    def upper(self) -> str:
        return self._same_length(str.upper(self))

    def lower(self) -> str:
        return self._same_length(str.lower(self))

    def title(self) -> str:
        return self._same_length(str.title(self))

    def capitalize(self) -> str:
        return self._same_length(str.capitalize(self))

    def swapcase(self) -> str:
        return self._same_length(str.swapcase(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return TracedStr, (str.__str__(self)[:], self._runs)


def runs_of(text: str) -> tuple[OriginRun, ...]:
    """Returns the origins of a text's characters; for a plain `str`, the origin is the template."""
    return text._runs if isinstance(text, TracedStr) else ((len(text), TEMPLATE),)


def join(texts: Iterable[str]) -> str:
    """Concatenates texts; returns a plain `str` if none of them is a `TracedStr`.

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
    """Drops empty runs and merges adjacent runs of equal origin."""
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
