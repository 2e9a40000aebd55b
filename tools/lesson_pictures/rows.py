"""Drawings of token sequences, one above the other, and of merge trees, from results of `Tokenizer.explain`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jeton

from .canvas import MARGIN, WIDTH, Canvas

INNER = WIDTH - 2 * MARGIN
MERGED = 66  # pixels between the levels of a tree


class Symbol(NamedTuple):
    """A symbol during merging, with the range of its bytes in the text."""

    id: int
    start: int
    end: int


class Round(NamedTuple):
    """A merge, and the symbols of the text after it has been applied to every occurrence."""

    new: int
    rank: int
    symbols: list[Symbol]


def rounds(tok: jeton.Tokenizer, text: str) -> tuple[list[Symbol], list[Round]]:
    """Returns the symbols of a text's only pretoken before any merge, and after each merge.

    Raises:
        ValueError: the text has several pretokens.
    """
    (pretoken,) = tok.explain(text).to_json()["pretokens"]
    widths = [len(tok.id_to_bytes(id)) for id in pretoken["start_ids"]]
    ends = [sum(widths[: i + 1]) for i in range(len(widths))]
    first = [Symbol(id, end - width, end) for id, width, end in zip(pretoken["start_ids"], widths, ends, strict=True)]
    symbols = list(first)
    made: list[Round] = []
    for merge in pretoken["merges"]:
        at = next(i for i, symbol in enumerate(symbols) if symbol.start == merge["position"])
        symbols[at : at + 2] = [Symbol(merge["result"], symbols[at].start, symbols[at + 1].end)]
        if made and made[-1].rank == merge["rank"]:
            made.pop()
        made.append(Round(merge["result"], merge["rank"], list(symbols)))
    return first, made


def label_of(tok: jeton.Tokenizer, id: int) -> str:
    """Returns a token as text, with visible spaces, or as hexadecimal if its bytes are not text."""
    return shown(tok.id_to_bytes(id))


def shown(content: bytes) -> str:
    """Returns bytes as text with visible spaces, or as hexadecimal if they are not text."""
    try:
        return content.decode().replace(" ", "·")
    except UnicodeDecodeError:
        return content.hex(" ")


def heading(canvas: Canvas, y: float, text: str) -> float:
    """Writes the title of a row; returns the y coordinate at which the row begins."""
    canvas.text(MARGIN, y + 14, text, size=13, style="soft")
    return y + 21


def symbol_row(
    canvas: Canvas, y: float, tok: jeton.Tokenizer, symbols: Sequence[Symbol], unit: float, new: int | None = None
) -> float:
    """Draws symbols with a width of `unit` pixels per byte; returns the next row's y coordinate.

    If `new` is given, only the symbols with this id are colored.
    """
    for symbol in symbols:
        x, width = MARGIN + symbol.start * unit, (symbol.end - symbol.start) * unit
        colored = symbol.id if new is None or symbol.id == new else None
        canvas.token(x, y, width, label_of(tok, symbol.id), id=colored)
    return y + 36


def span_row(canvas: Canvas, y: float, spans: Sequence[tuple[str, int, int, int | None]], unit: float) -> float:
    """Draws (label, start, end, id) as boxes; returns the next row's y coordinate."""
    for label, start, end, id in spans:
        canvas.token(MARGIN + start * unit, y, (end - start) * unit, label, id=id, size=13)
    return y + 36


def forest(canvas: Canvas, y: float, tok: jeton.Tokenizer, pretoken: Mapping[str, Any]) -> None:
    """Draws the tree of each token in a pretoken, with leaves at the bottom. `pretoken`: from `Explanation.to_json`.

    Nodes are numbered in the order of the merges; below each node is the rank of its merge.
    """
    merges, start_ids = pretoken["merges"], pretoken["start_ids"]
    unit = INNER / len(start_ids)
    widths = [len(tok.id_to_bytes(id)) for id in start_ids]
    # byte position -> (x, level), for each symbol that is not merged yet
    nodes = {sum(widths[:i]): (MARGIN + (i + 0.5) * unit, 0) for i in range(len(start_ids))}
    made: list[tuple[int, dict[str, Any], float, int]] = []
    edges: list[tuple[tuple[float, int], tuple[float, int]]] = []
    for number, merge in enumerate(merges, 1):
        left = merge["position"]
        right = left + len(tok.id_to_bytes(merge["left"]))
        x, level = (nodes[left][0] + nodes[right][0]) / 2, 1 + max(nodes[left][1], nodes[right][1])
        edges += [((x, level), nodes[left]), ((x, level), nodes[right])]
        nodes[left] = (x, level)
        del nodes[right]
        made.append((number, merge, x, level))
    height = max(level for *_, level in made)

    def top(level: int) -> float:
        return y + (height - level) * MERGED

    for (x, level), (below, lower) in edges:
        canvas.line((x, top(level) + 42), (below, top(lower)))
    for number, merge, x, level in made:
        label = f"{number}. {tok.id_to_token(merge['result'])}"
        width = 24 + 9.3 * len(label)
        canvas.token(x - width / 2, top(level), width, label, id=merge["result"])
        canvas.text(x, top(level) + 39, f"rank {merge['rank']}", size=12, style="soft", anchor="middle")
    for i, id in enumerate(start_ids):
        canvas.token(MARGIN + i * unit + 2, top(0), unit - 4, tok.id_to_token(id), size=14)


def bytes_row(canvas: Canvas, y: float, content: bytes, unit: float) -> float:
    """Draws bytes in hexadecimal; returns the next row's y coordinate."""
    return span_row(canvas, y, [(f"{byte:02x}", i, i + 1, None) for i, byte in enumerate(content)], unit)
