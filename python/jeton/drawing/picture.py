"""SVG renderers of drawings and merge trees; the output is self-contained.

Widths are measured in terminal columns, and every run of text has an explicit `textLength`, so the picture is the same
with any monospaced font. Colors are hexadecimal attributes, which every program supports. The SVG has no style sheet,
no script and no external references.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from colorsys import hls_to_rgb
from dataclasses import dataclass
from functools import partial
from html import escape as html_escape
from itertools import chain, groupby, islice
from operator import attrgetter
from typing import Literal, NamedTuple

from .bidi import Direction, direction_of, visual_order
from .display_width import display_width
from .drawing import Drawing, Look
from .look_parts import LookPart, LookPartKind
from .trees import Tree

__all__ = ["Theme", "to_svg", "tree_to_svg"]

Theme = Literal["light", "dark"]

escape = partial(html_escape, quote=False)  # valid in XML, too

CELL, SIZE, LINE, MARGIN = 8.4, 14, 27, 14  # pixels: width of a column, font size, line height, margin
SMALL = 10.5  # font size of captions, in pixels
GUTTER = 2  # pixels between two tokens
FONT = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Noto Sans Mono CJK SC',monospace"

# Limits of a picture of tokens. If a picture omits tokens, it shows how many.
MAX_TOKENS = 5_000
MAX_LINES = 1_000
# A merge tree is drawn with about this number of leaves at most; lower levels are omitted.
MAX_LEAVES = 120


@dataclass(frozen=True)
class _Colors:
    """Colors of background, text, symbols and lines; `tone` is saturation and lightness of token colors, 0 to 1."""

    ground: str
    ink: str
    faint: str
    line: str
    tone: tuple[float, float]

    def of(self, hue: int) -> str:
        saturation, lightness = self.tone
        red, green, blue = (round(255 * value) for value in hls_to_rgb(hue / 360, lightness, saturation))
        return f"#{red:02x}{green:02x}{blue:02x}"


# Minimum contrast on every token color: 7:1 for text, 4.5:1 for symbols that stand for spaces, controls or bytes.
_THEMES = {
    "light": _Colors("#ffffff", "#111111", "#4a4a4a", "#444444", (0.75, 0.85)),
    "dark": _Colors("#16181d", "#f4f4f4", "#c4c4c4", "#bbbbbb", (0.45, 0.22)),
}


class _TextRun(NamedTuple):
    """Part of a token on one line; coordinates are in columns and lines."""

    x: int
    y: int
    width: int
    part: LookPart
    rtl: bool = False


def to_svg(
    drawing: Drawing,
    *,
    width: int = 80,
    theme: Theme = "light",
    title: str = "",
    caption: str = "",
    num_tokens: int | None = None,
) -> str:
    """Renders a drawing as SVG.

    Args:
        drawing: the drawing; at most 5,000 tokens on 1,000 lines are rendered.
        width: columns per line.
        theme: ``"light"`` or ``"dark"``.
        title: title for screen readers; by default the number of tokens.
        caption: text of a line below the tokens, such as the tokenizer's name.
        num_tokens: number of tokens of the text, if the drawing has only the first of them.

    Examples:
        >>> from jeton.drawing import draw
        >>> to_svg(draw([(1, b"<b>"), (2, b" x")])).count("<rect")
        3
    """
    colors = _THEMES[theme]
    shown = drawing.head(MAX_TOKENS)
    layout = _LineLayout(max(width, 4))
    gaps = {dropped.before: dropped.parts for dropped in drawing.dropped}
    laid: list[tuple[int | None, list[_TextRun]]] = []  # (index of the token, None for uncovered text; its runs)
    num_whole, total = 0, max(len(drawing), num_tokens or 0)
    for index, look in enumerate(shown):
        if index in gaps:
            laid.append((None, layout.add(gaps[index])))
        laid.append((index, layout.add(look.parts)))
        if layout.is_full:
            break
        num_whole += 1
    if num_whole == total and total in gaps:
        laid.append((None, layout.add(gaps[len(drawing)])))
    boxes: list[str] = []
    ordered = iter(_ordered([run for _, runs in laid for run in runs]))
    for at, runs in laid:
        placed = list(islice(ordered, len(runs)))
        if at is None:
            boxes += _text(placed, colors.faint, colors, bold=False)
            continue
        boxes += _token(placed, shown.table[shown.looks[at]], colors)
        if placed and at and shown.groups[at] == shown.groups[at - 1]:
            boxes.append(_bridge(placed[0], colors))
    if layout.is_full or num_whole < total:
        left_out = total - num_whole  # includes a token that is truncated at the end of the picture
        more = f"… {left_out:,} token{'' if left_out == 1 else 's'} more" if left_out else "… more"
        runs = layout.add((LookPart(LookPartKind.TEXT, more, ""),), max_lines=math.inf)
        boxes += _text(runs, colors.ink, colors, bold=False)
    lines: float = layout.lines
    widest = layout.widest
    if caption:
        lines += 1
        widest = max(widest, math.ceil(display_width(caption) * SMALL / SIZE))
        boxes.append(_caption_text(caption, lines, colors))
    return _picture(boxes, widest, lines, colors, title or f"{total:,} tokens")


def _caption_text(caption: str, lines: float, colors: _Colors) -> str:
    place = f'x="{MARGIN}" y="{MARGIN + lines * LINE - 10:.1f}" font-size="{SMALL}"'
    return f'<text {place} fill="{colors.faint}">{escape(caption)}</text>'


class _LineLayout:
    """Line layout: assigns a position to each text run of the tokens, until a maximum number of lines is reached."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._x = self._y = 0
        self.widest = 1
        self._broken = False
        self.is_full = False

    @property
    def lines(self) -> int:
        return self._y + (0 if self._broken and self._x == 0 else 1)

    def add(self, parts: Iterable[LookPart], max_lines: float = MAX_LINES) -> list[_TextRun]:
        """Lays out one token, on a new line if the current line is too short for it. Stops at `max_lines`."""
        parts = list(parts)
        needed = sum(display_width(part.shown) for part in parts)
        if self._x and self._x + needed > self._width >= needed:
            self._break()
        runs: list[_TextRun] = []
        for part in parts:
            for shown in self._pieces(part.shown):
                size = display_width(shown)
                if self._x and self._x + size > self._width:
                    self._break()
                if self._y >= max_lines:
                    self.is_full = True
                    return runs
                runs.append(_TextRun(self._x, self._y, size, part._replace(shown=shown)))
                self._x += size
                self._broken = False
                self.widest = max(self.widest, self._x)
            if part.kind is LookPartKind.NEWLINE:
                self._break()
        return runs

    def _pieces(self, shown: str) -> Iterator[str]:
        """Splits text into the pieces that fit on the rest of the current line and on the lines after it."""
        start = 0
        while start < len(shown):
            available = self._width - self._x if self._x < self._width else self._width
            end, used = start, 0
            while end < len(shown) and (used + display_width(shown[end]) <= available or end == start):
                used += display_width(shown[end])
                end += 1
            yield shown[start:end]
            start = end

    def _break(self) -> None:
        self._x, self._y, self._broken = 0, self._y + 1, True


def _ordered(runs: list[_TextRun]) -> list[_TextRun]:
    """Moves the runs of each line to their visual positions, if any run is right-to-left."""
    directions = [direction_of(run.part) for run in runs]
    if "rtl" not in directions:
        return runs
    ordered: list[_TextRun] = []
    start = 0
    base: Literal["ltr", "rtl"] | None = None  # direction of the paragraph; None at its beginning
    for _, group in groupby(runs, key=attrgetter("y")):
        line = list(group)
        end = start + len(line)
        if base is None:
            base = _base(runs[start:], directions[start:])
        lefts = {}
        x = 0
        for place in visual_order(directions[start:end], base):
            lefts[place] = x
            x += line[place].width
        ordered += [
            run._replace(x=lefts[place], rtl=_is_rtl(run, directions[start + place])) for place, run in enumerate(line)
        ]
        start = end
        if line[-1].part.kind is LookPartKind.NEWLINE:
            base = None
    return ordered


def _base(runs: Iterable[_TextRun], directions: Iterable[Direction]) -> Literal["ltr", "rtl"]:
    """Returns the direction of the paragraph: that of its first letter (UAX 9, P2)."""
    for run, direction in zip(runs, directions, strict=True):
        if direction == "ltr" or direction == "rtl":
            return direction
        if run.part.kind is LookPartKind.NEWLINE:
            break
    return "ltr"


def _is_rtl(run: _TextRun, direction: Direction) -> bool:
    """Tests whether the displayed characters are right-to-left; hexadecimal digits never are."""
    return direction == "rtl" and run.part.kind is LookPartKind.TEXT


def _token(runs: list[_TextRun], look: Look, colors: _Colors) -> Iterator[str]:
    """Yields SVG elements of a token: a box for each contiguous range on a line, then the text of the token."""
    lines: dict[int, list[_TextRun]] = {}
    for run in runs:
        lines.setdefault(run.y, []).append(run)
    for y, x, width in chain.from_iterable(map(_spans, lines.values())):
        left, top = MARGIN + x * CELL, MARGIN + y * LINE
        box = f'x="{left + GUTTER / 2:.1f}" y="{top}" width="{width * CELL - GUTTER:.1f}" height="{LINE - 5}" rx="3"'
        stroke = f' stroke="{colors.ink}"' if look.special else ""
        yield f'<rect {box} fill="{colors.of(look.hue)}"{stroke}/>'
    yield from _text(runs, colors.ink, colors, bold=look.special)


def _spans(runs: list[_TextRun]) -> Iterator[tuple[int, int, int]]:
    """Yields (line, left, width) of a token's contiguous ranges; bidi reordering can give several on a line."""
    first, *others = sorted(runs, key=attrgetter("x"))
    start, end = first.x, first.x + first.width
    for run in others:
        if run.x != end:
            yield first.y, start, end - start
            start = run.x
        end = run.x + run.width
    yield first.y, start, end - start


def _text(runs: Iterable[_TextRun], ink: str, colors: _Colors, *, bold: bool) -> Iterator[str]:
    for run in runs:
        if not run.part.shown.strip():
            continue
        fill = ink if run.part.kind is LookPartKind.TEXT else colors.faint
        weight = ' font-weight="bold"' if bold else ""
        begins, way = (run.x + run.width, ' direction="rtl"') if run.rtl else (run.x, "")
        place = f'x="{MARGIN + begins * CELL:.1f}" y="{MARGIN + run.y * LINE + 15}"{way}'
        length = f'textLength="{run.width * CELL:.1f}" lengthAdjust="spacingAndGlyphs"' if run.width else ""
        yield f'<text {place} {length} fill="{fill}"{weight}>{escape(run.part.shown)}</text>'


def _bridge(run: _TextRun, colors: _Colors) -> str:
    """Returns the SVG element of the dot that is drawn between two tokens that share a character."""
    begins = run.x + run.width if run.part.side == "rtl" else run.x
    x, y = MARGIN + begins * CELL, MARGIN + run.y * LINE + LINE / 2 - 2.5
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.2" fill="{colors.ink}"/>'


def _picture(boxes: Iterable[str], num_cells: float, num_lines: float, colors: _Colors, title: str) -> str:
    width, height = num_cells * CELL + 2 * MARGIN, num_lines * LINE - 5 + 2 * MARGIN
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.1f} {height:.1f}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="{FONT}" font-size="{SIZE}" '
        f'xml:space="preserve"><title>{escape(title)}</title>'
        f'<rect width="100%" height="100%" fill="{colors.ground}"/>{"".join(boxes)}</svg>'
    )


ROW, GAP = 58, 1.5  # ROW: pixels between two levels; GAP: columns between two leaves


def tree_to_svg(tree: Tree, *, theme: Theme = "light", title: str = "") -> str:
    """Renders a merge tree as SVG: initial symbols at the bottom, each merge above its two children.

    Trees of more than 120 initial symbols are rendered without their lowest levels.

    Examples:
        >>> import jeton
        >>> tok = jeton.Tokenizer.from_merges({97: b"a", 98: b"b", 256: b"ab"}, [(97, 98, 256)])
        >>> tree_to_svg(tok.tree(256)).count("<rect")
        4
    """
    colors = _THEMES[theme]
    kept, parted = _crown(tree)
    captions = {place: _caption(tree, place) for place in kept}
    order = sorted(kept)  # children before parents
    level: dict[int, int] = {}
    width: dict[int, float] = {}  # node -> width of its subtree, in columns
    for place in order:
        own = max(display_width(tree.looks[place].shown) + 1, len(captions[place]) * SMALL / SIZE + 0.5)
        parts = parted.get(place, ())
        level[place] = max((level[part] + 1 for part in parts), default=0)
        width[place] = max(own, sum(width[part] for part in parts) + GAP * max(len(parts) - 1, 0))
    left: dict[int, float] = {}
    right = 0.0
    for root in tree.roots:
        left[root] = right
        right += width[root] + GAP
    for place in reversed(order):
        parts = parted.get(place, ())
        at = left[place] + (width[place] - sum(width[part] for part in parts) - GAP * (len(parts) - 1)) / 2
        for part in parts:
            left[part] = at
            at += width[part] + GAP
    highest = max(level.values(), default=0)
    lines: list[str] = []
    boxes: list[str] = []
    for place in reversed(order):
        x, y = _middle(left, width, place), MARGIN + (highest - level[place]) * ROW
        for part in parted.get(place, ()):
            end = f'x2="{_middle(left, width, part):.1f}" y2="{MARGIN + (highest - level[part]) * ROW}"'
            lines.append(f'<line x1="{x:.1f}" y1="{y + 36}" {end} stroke="{colors.line}" stroke-width="1.2"/>')
        boxes += _node(tree.looks[place], captions[place], x, y, colors)
    num_leaves = len(kept) - len(parted)
    title = title or f"{len(tree.roots)} tokens from {num_leaves} symbols"
    num_lines = (highest * ROW + 44) / LINE
    return _picture([*lines, *boxes], max(right - GAP, 1), num_lines, colors, title)


def _middle(left: dict[int, float], width: dict[int, float], place: int) -> float:
    return MARGIN + (left[place] + width[place] / 2) * CELL


def _crown(tree: Tree) -> tuple[set[int], dict[int, tuple[int, int]]]:
    """Returns the nodes to draw, found breadth-first, and the two children of each node that is not drawn as a leaf."""
    kept = set(tree.roots)
    parted: dict[int, tuple[int, int]] = {}
    level = list(tree.roots)
    while level and len(kept) < 2 * MAX_LEAVES:
        below: list[int] = []
        for place in level:
            node = tree.nodes[place]
            if node.left is not None and node.right is not None and len(kept) < 2 * MAX_LEAVES:
                parted[place] = (node.left, node.right)
                below += parted[place]
                kept.update(parted[place])
        level = below
    return kept, parted


def _caption(tree: Tree, place: int) -> str:
    node = tree.nodes[place]
    return f"{node.id}" if node.rank is None else f"{node.id} · rank {node.rank}"


def _node(look: Look, caption: str, x: float, y: float, colors: _Colors) -> Iterator[str]:
    width = display_width(look.shown) * CELL
    box = f'x="{x - width / 2 - 3:.1f}" y="{y:.1f}" width="{width + 6:.1f}" height="{LINE - 5}" rx="3"'
    yield f'<rect {box} fill="{colors.of(look.hue)}"/>'
    length = f'textLength="{width:.1f}" lengthAdjust="spacingAndGlyphs"'
    place = f'x="{x - width / 2:.1f}" y="{y + 15:.1f}"'
    yield f'<text {place} {length} fill="{colors.ink}">{escape(look.shown)}</text>'
    small = f'x="{x:.1f}" y="{y + 33:.1f}" font-size="{SMALL}" text-anchor="middle"'
    yield f'<text {small} fill="{colors.faint}">{escape(caption)}</text>'
