"""How a text became tokens: pretokens, every merge with its rank and what competed, in words, JSON, color and HTML.

An `Explanation` stores merges and not sequences: n symbols have up to n - 1 merges, and the sequences between them
would take O(n²). Sequences are replayed on demand. Words and HTML leave out what nobody would read and say how much
that is; the JSON always holds everything.

Left out: computing any of it (the core does, by the same code that encodes).
"""

from __future__ import annotations

import html
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from .drawing import Drawing, described, draw, to_html, to_terminal, visible, wants_color

__all__ = ["ExplainedMerge", "ExplainedPretoken", "Explanation", "explained"]

# What a person reads: beyond this many pretokens, merges in one pretoken, or symbols in one line, words and HTML stop
# and say what they leave out. Together they bound the output at a few thousand lines, about what a terminal keeps.
MAX_PRETOKENS_SHOWN = 100
MAX_MERGES_SHOWN = 40
MAX_SYMBOLS_SHOWN = 40
# Drawn tokens of the whole text; a screenful of screens, and what a browser lays out without a pause.
MAX_TOKENS_SHOWN = 2_000


@dataclass(frozen=True, slots=True)
class ExplainedMerge:
    """One merge, at the moment it was done.

    Attributes:
        left, right: the ids of the pair.
        rank: the merge's priority; lower goes first.
        result: the id that took their place.
        position: where the left symbol begins, in bytes from the beginning of the pretoken.
        rivals: the best few other pairs that could have merged at that moment, as (left, right, rank).
        num_rivals: at how many other places some pair could have merged, repetitions of one pair included.
    """

    left: int
    right: int
    rank: int
    result: int
    position: int
    rivals: Sequence[tuple[int, int, int]] = ()
    num_rivals: int = 0


@dataclass(frozen=True, slots=True)
class ExplainedPretoken:
    """One pretoken, from its first symbols to its ids.

    Attributes:
        byte_span: where it lies in the text.
        text: its bytes.
        special: whether it is a special or added token, which is matched whole and never merged.
        start_ids: the symbols before the first merge.
        merges: the merges in the order in which they were done.
        ids: the symbols after the last one: its tokens.
        start_lengths: bytes of the text that each first symbol covers, where that is not the symbol's own bytes (an
            unknown character, an end-of-word mark); None: it is.
        whole: whether the model took the pretoken as it stands in the vocabulary, before any merge.
        by_merges: whether the model works by merges at all; others are not explained step by step.
    """

    byte_span: tuple[int, int]
    text: bytes
    special: bool
    start_ids: Sequence[int]
    merges: Sequence[ExplainedMerge]
    ids: Sequence[int]
    start_lengths: Sequence[int] | None = None
    whole: bool = False
    by_merges: bool = True


def explained(
    start: int,
    end: int,
    text: bytes,
    added: bool,
    whole: bool,
    symbols: list[int],
    steps: list[tuple[int, tuple[int, int, int], int, list[tuple[int, int, int]], int]],
    ids: list[int],
    *,
    by_merges: bool,
    by_chars: bool,
) -> ExplainedPretoken:
    """One pretoken as the core explains it, and whether its model works by merges and on characters.

    Examples:
        >>> steps = [(0, (1, 2, 0), 256, [], 1)]
        >>> explained(0, 2, b"st", False, False, [1, 2], steps, [256], by_merges=True, by_chars=False).merges
        [ExplainedMerge(left=1, right=2, rank=0, result=256, position=0, rivals=[], num_rivals=0)]
    """
    if whole and len(symbols) - len(steps) != len(ids):
        symbols, steps = ids, []  # an entry that no merges reach
    merges = [
        ExplainedMerge(*pair, result=result, position=at, rivals=rivals, num_rivals=candidates - 1)
        for at, pair, result, rivals, candidates in steps
    ]
    lengths = _lengths(text, symbols) if by_chars and not added else None
    return ExplainedPretoken((start, end), text, added, symbols, merges, ids, lengths, whole, by_merges)


def _lengths(pretoken: bytes, symbols: Sequence[int]) -> list[int]:
    """Bytes of the text that each initial symbol at character level covers."""
    lengths = [len(char.encode()) for char in pretoken.decode()]
    return lengths + [0] * (len(symbols) - len(lengths))  # the end-of-word mark covers none


class TokenLike(Protocol):
    """What an explanation needs to know of a token."""

    @property
    def id(self) -> int: ...
    @property
    def bytes(self) -> bytes: ...
    @property
    def byte_span(self) -> tuple[int, int]: ...


@dataclass(frozen=True, repr=False)
class Explanation:
    """Every step from a text to its tokens; ``print`` it, or take `json`, `html` or `to_terminal`.

    Attributes:
        text: the text's bytes.
        pretokens: how each pretoken became tokens.
        tokens: the tokens of the whole text.
        describe: id -> the bytes of that token.

    Examples:
        >>> names = {1: b"s", 2: b"t", 256: b"st"}
        >>> merge = ExplainedMerge(1, 2, rank=0, result=256, position=0)
        >>> pretoken = ExplainedPretoken((0, 2), b"st", False, [1, 2], [merge], [256])
        >>> print(Explanation(b"st", [pretoken], [], names.__getitem__))
        "st" · 2 bytes · 1 pretoken · 1 merge · 0 tokens
        <BLANKLINE>
        pretoken 1: "st", bytes 0 to 2
          s t
          -- (1, 2) s+t -> st  rank 0, id 256
          st
          no pair left has a merge: stop
          ids [256]
    """

    text: bytes
    pretokens: Sequence[ExplainedPretoken]
    tokens: Sequence[TokenLike]
    describe: Callable[[int], bytes]

    @cached_property
    def drawing(self) -> Drawing:
        """The first `MAX_TOKENS_SHOWN` tokens of the text, drawn."""
        tokens = self.tokens[: MAX_TOKENS_SHOWN + 4]  # a character is cut in 4 at most
        text = self.text if len(tokens) == len(self.tokens) else self.text[: tokens[-1].byte_span[1]]
        special = {id for pretoken in self.pretokens if pretoken.special for id in pretoken.ids}
        spelled = {token.id: token.bytes for token in tokens if token.id in special}
        spans = [token.byte_span for token in tokens]
        ids, data = [token.id for token in tokens], [token.bytes for token in tokens]
        return described(text, ids, data, spans, None, spelled).head(MAX_TOKENS_SHOWN)

    @cached_property
    def num_merges(self) -> int:
        """All merges in the text."""
        return sum(len(pretoken.merges) for pretoken in self.pretokens)

    def sequences(self, pretoken: ExplainedPretoken) -> Iterator[list[int]]:
        """Replays one pretoken: its symbols before the first merge, after it, and so on to its ids.

        Each is a new list; all of them together cost O(merges × symbols), which is why nobody stores them.
        """
        ids = list(pretoken.start_ids)
        yield list(ids)
        for merge in pretoken.merges:
            # Among equal ranks the leftmost goes first, so a merge is always at its pair's first place; no offsets
            # are needed.
            index = ids.index(merge.left)
            while ids[index + 1] != merge.right:
                index = ids.index(merge.left, index + 1)
            ids[index : index + 2] = [merge.result]
            yield list(ids)

    def to_dict(self) -> dict[str, Any]:
        """What `json` holds, as Python objects; a text that is not UTF-8 stands there readable and as ``bytes_hex``."""
        data: dict[str, Any] = {"text": _readable(self.text)}
        if data["text"].encode() != self.text:
            data["bytes_hex"] = self.text.hex()
        data["pretokens"] = [self._pretoken_dict(pretoken) for pretoken in self.pretokens]
        data["tokens"] = [
            {"id": token.id, "bytes_hex": token.bytes.hex(), "byte_span": list(token.byte_span)}
            for token in self.tokens
        ]
        return data

    def _pretoken_dict(self, pretoken: ExplainedPretoken) -> dict[str, Any]:
        merges = [
            {
                "left": merge.left,
                "right": merge.right,
                "rank": merge.rank,
                "result": merge.result,
                "position": merge.position,
                "rivals": [list(rival) for rival in merge.rivals],
                "num_rivals": merge.num_rivals,
            }
            for merge in pretoken.merges
        ]
        lengths = {} if pretoken.start_lengths is None else {"start_lengths": list(pretoken.start_lengths)}
        return {
            "text": _readable(pretoken.text),
            "byte_span": list(pretoken.byte_span),
            "special": pretoken.special,
            "whole": pretoken.whole,
            "start_ids": list(pretoken.start_ids),
            **lengths,
            "merges": merges,
            "ids": list(pretoken.ids),
        }

    @cached_property
    def json(self) -> str:
        """Everything, as one JSON document on one line; merges are in the order in which they were done."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    @cached_property
    def html(self) -> str:
        """A fragment of HTML that brings its own style, needs no script and loads nothing."""
        return _to_html(self)

    def to_terminal(self, *, color: bool | None = None, width: int | None = None) -> str:
        """The words, and the tokens drawn; `color` None: whether standard output wants it."""
        colored = wants_color(sys.stdout) if color is None else color
        lines = [
            self._summary(),
            *_words(self, color=colored),
            "",
            to_terminal(self.drawing, color=colored, width=width),
        ]
        if len(self.tokens) > MAX_TOKENS_SHOWN:
            lines.append(f"… and {len(self.tokens) - MAX_TOKENS_SHOWN:,} tokens more")
        return "\n".join(lines)

    def __str__(self) -> str:
        return "\n".join([self._summary(), *_words(self, color=False)])

    def _summary(self) -> str:
        parts = [_quoted(self.text), _counted(len(self.text), "byte"), _counted(len(self.pretokens), "pretoken")]
        parts += [_counted(self.num_merges, "merge"), _counted(len(self.tokens), "token")]
        return " · ".join(parts)

    def __repr__(self) -> str:
        return f"Explanation({self._summary()})"

    def _repr_html_(self) -> str:
        return self.html

    def name(self, id: int) -> str:
        """A symbol in visible form."""
        return visible(self.describe(id))


def _words(explanation: Explanation, *, color: bool) -> Iterator[str]:
    """The explanation in words, line by line."""
    first_seen: dict[tuple[bytes, tuple[int, ...]], int] = {}
    shown = explanation.pretokens[:MAX_PRETOKENS_SHOWN]
    for number, pretoken in enumerate(shown, start=1):
        yield ""
        yield _heading(number, pretoken)
        earlier = first_seen.setdefault((pretoken.text, tuple(pretoken.ids)), number)
        if earlier != number:
            yield f"  as pretoken {earlier}: ids {list(pretoken.ids)}"
        else:
            yield from ("  " + line for line in _pretoken_words(explanation, pretoken, color=color))
    if len(explanation.pretokens) > len(shown):
        left_out = explanation.pretokens[MAX_PRETOKENS_SHOWN:]
        merges = sum(len(pretoken.merges) for pretoken in left_out)
        yield ""
        yield (
            f"… {_counted(len(left_out), 'pretoken')} more with {_counted(merges, 'merge')}: "
            "too long to show here; the JSON has them all"
        )


def _pretoken_words(explanation: Explanation, pretoken: ExplainedPretoken, *, color: bool) -> Iterator[str]:
    if pretoken.special:
        yield f"a special token, matched whole: ids {list(pretoken.ids)}"
        return
    if pretoken.whole:
        yield f"in the vocabulary as it stands, which this model takes before any merge: ids {list(pretoken.ids)}"
        if not pretoken.merges:
            return
        yield "its merges lead there too:"
    sequences = explanation.sequences(pretoken)
    yield _sequence(explanation, next(sequences), color=color)
    for merge, ids in zip(pretoken.merges[:MAX_MERGES_SHOWN], sequences, strict=False):
        yield "-- " + _merge_words(explanation, merge)
        yield _sequence(explanation, ids, color=color)
    left_out = len(pretoken.merges) - MAX_MERGES_SHOWN
    if left_out > 0:
        yield f"… {_counted(left_out, 'merge')} more: too long to show here; the JSON has them all"
    if not pretoken.by_merges:
        yield f"cut in {_counted(len(pretoken.ids), 'token')} by the model, which has no merges"
        yield f"ids {_some(pretoken.ids)}"
        return
    yield (
        "no pair left has a merge: stop" if len(pretoken.ids) > 1 or pretoken.merges else "one symbol: nothing to merge"
    )
    yield f"ids {_some(pretoken.ids)}"


def _merge_words(explanation: Explanation, merge: ExplainedMerge) -> str:
    name = explanation.name
    pair = f"({merge.left}, {merge.right}) {name(merge.left)}+{name(merge.right)} -> {name(merge.result)}"
    words = f"{pair}  rank {merge.rank}, id {merge.result}"
    if merge.rivals:
        rivals = [f"({left}, {right}) {name(left)}+{name(right)} rank {rank}" for left, right, rank in merge.rivals]
        words += "; competed: " + ", ".join(rivals)
    if merge.num_rivals > len(merge.rivals):
        words += f"; {_counted(merge.num_rivals, 'other place')} could have merged"
    return words


def _heading(number: int, pretoken: ExplainedPretoken) -> str:
    start, end = pretoken.byte_span
    return f"pretoken {number}: {_quoted(pretoken.text)}, bytes {start} to {end}"


def _sequence(explanation: Explanation, ids: Sequence[int], *, color: bool = False) -> str:
    """The symbols of one moment; drawn together, so that a character cut between two of them is named."""
    shown = [(id, explanation.describe(id)) for id in ids[:MAX_SYMBOLS_SHOWN]]
    more = f" … {len(ids) - MAX_SYMBOLS_SHOWN} more" if len(ids) > MAX_SYMBOLS_SHOWN else ""
    drawing = draw(shown)
    if color:
        return to_terminal(drawing, color=True, break_lines=False) + more
    return " ".join(look.shown for look in drawing) + more


def _some(ids: Sequence[int]) -> str:
    """A list of ids, cut where it gets too long to read."""
    if len(ids) <= MAX_SYMBOLS_SHOWN:
        return str(list(ids))
    return str(list(ids[:MAX_SYMBOLS_SHOWN]))[:-1] + f", … {len(ids) - MAX_SYMBOLS_SHOWN} more]"


def _quoted(data: bytes) -> str:
    """A text in quotes, in visible form, cut where it gets too long for a heading."""
    shown = visible(data[:240])
    return f'"{shown}"' if len(data) <= 240 and len(shown) <= 60 else f'"{shown[:60]}…"'


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _readable(data: bytes) -> str:
    """Bytes as text, U+FFFD where they are none."""
    return data.decode("utf-8", "replace")


_CSS = (
    ".jeton-explanation table{border-collapse:collapse;font-family:ui-monospace,monospace}"
    ".jeton-explanation td,.jeton-explanation th{padding:1px 10px 1px 0;text-align:left;vertical-align:top}"
    ".jeton-explanation summary{cursor:pointer;margin-top:4px}"
    ".jeton-explanation .rivals{opacity:.7}"
)


def _to_html(explanation: Explanation) -> str:
    """The tokens drawn, then one foldable table of merges for each distinct pretoken."""
    drawing = explanation.drawing
    parts = [f"<p>{html.escape(explanation._summary())}</p>", to_html(drawing)]
    if len(explanation.tokens) > MAX_TOKENS_SHOWN:
        parts.append(f"<p>… and {len(explanation.tokens) - MAX_TOKENS_SHOWN:,} tokens more</p>")
    seen: set[tuple[bytes, tuple[int, ...]]] = set()
    for number, pretoken in enumerate(explanation.pretokens[:MAX_PRETOKENS_SHOWN], start=1):
        key = (pretoken.text, tuple(pretoken.ids))
        if key not in seen:
            seen.add(key)
            parts.append(_pretoken_html(explanation, number, pretoken))
    left_out = len(explanation.pretokens) - MAX_PRETOKENS_SHOWN
    if left_out > 0:
        parts.append(f"<p>… {_counted(left_out, 'pretoken')} more: too long to show here; the JSON has them all</p>")
    return f'<div class="jeton-explanation"><style>{_CSS}</style>{"".join(parts)}</div>'


def _pretoken_html(explanation: Explanation, number: int, pretoken: ExplainedPretoken) -> str:
    heading = html.escape(f"{_heading(number, pretoken)} · ids {_some(pretoken.ids)}")
    if pretoken.special or not pretoken.merges:
        return f"<div>{heading}{' · special' if pretoken.special else ' · whole' if pretoken.whole else ''}</div>"
    sequences = explanation.sequences(pretoken)
    rows = [f"<tr><td></td><td></td><td>{html.escape(_sequence(explanation, next(sequences)))}</td><td></td></tr>"]
    for merge, ids in zip(pretoken.merges[:MAX_MERGES_SHOWN], sequences, strict=False):
        merged, _, rivals = _merge_words(explanation, merge).partition("; ")
        cells = [str(merge.rank), merged, _sequence(explanation, ids)]
        row = "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
        rows.append(f'<tr>{row}<td class="rivals">{html.escape(rivals)}</td></tr>')
    left_out = len(pretoken.merges) - MAX_MERGES_SHOWN
    if left_out > 0:
        rows.append(f'<tr><td colspan="4">… {_counted(left_out, "merge")} more; the JSON has them all</td></tr>')
    head = "<tr><th>rank</th><th>merge</th><th>symbols</th><th></th></tr>"
    return f"<details><summary>{heading}</summary><table>{head}{''.join(rows)}</table></details>"
