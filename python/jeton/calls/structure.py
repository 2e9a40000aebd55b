"""Finds boundaries in the structure of a text: paragraphs, blocks of Markdown, statements and definitions of code.

`boundaries` returns the starts of all lines except the first, each with a level; 0 is the strongest. Markdown is parsed
by markdown-it-py, which conforms to CommonMark and reports the lines of each block. Code of any language is scanned for
indentation and brackets. The level of a line of code depends on its indentation first, then on the number of open
brackets, then on whether a blank line precedes it. Left out: multi-line strings that are not triple-quoted (their lines
count as code), and comments after code (brackets in them are counted).

Time is linear in the text.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from ..util.optional import import_optional

__all__ = ["HEADED", "LINE", "STRUCTURES", "Boundaries", "boundaries"]

STRUCTURES = ("paragraph", "markdown", "code")
LINE = 1 << 30  # level of a line inside of a block
HEADED = LINE - 1  # level of a block that directly follows its heading
BLOCK = 7  # level of other blocks, plus their nesting depth; 1 to 6 are the levels of headings
MAX_INDENT, MAX_DEPTH = 63, 15  # maximum indentation (in columns) and bracket depth; larger ones are cut to these
TAB_SIZE = 4

_LINE_END = re.compile(r"\r\n?|\n")
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n)+")
_FRONT_MATTER = re.compile(r"---[ \t]*\r?\n(?:(?![ \t\r]*\n).*\n)*?(?:---|\.\.\.)[ \t]*\r?\n")
_INDENT = re.compile(r"[ \t]*")
# A string ends at the end of its line at the latest, so that an apostrophe in a comment affects only its line.
_CODE = re.compile(r'''"""|\'\'\'|"(?:[^"\\\n]|\\.)*"?|(?<![\w<&])'(?:[^'\\\n]|\\.)*'?|[()\[\]{}]''')
_COMMENTS = ("#", "//", "--", ";")
_ATTACHED = (*_COMMENTS, "/*", "@")  # beginnings of lines that belong to the next line
_CONTINUATION = re.compile(r"[)\]}]|(?:catch|do|done|elif|else|elsif|end|ensure|esac|except|fi|finally|rescue|then)\b")


class Boundaries(NamedTuple):
    """Character offsets at which lines start (`places`, ascending), and the level of each of these lines."""

    places: list[int]
    levels: list[int]


def boundaries(text: str, at: str) -> Boundaries:
    """Finds the boundaries of a text.

    Args:
        text: the text.
        at: one of `STRUCTURES`.

    Raises:
        MissingDependencyError: `at` is ``"markdown"``, but markdown-it-py is not installed.

    Examples:
        >>> boundaries("a\\nb\\n\\nc", "paragraph")
        Boundaries(places=[2, 4, 5], levels=[1073741824, 1073741824, 7])
    """
    places = [end.end() for end in _LINE_END.finditer(text)]
    levels = [LINE] * len(places)
    find = {"paragraph": _paragraphs, "markdown": _markdown, "code": _code}[at]
    index = 0
    for place, level in find(text, places):  # in ascending order of places
        index = bisect_left(places, place, index)
        if index < len(places) and places[index] == place:
            levels[index] = level
    return Boundaries(places, levels)


def _paragraphs(text: str, places: list[int]) -> Iterator[tuple[int, int]]:
    for blank in _BLANK_LINES.finditer(text):
        yield blank.end(), BLOCK


def _markdown(text: str, places: list[int]) -> Iterator[tuple[int, int]]:
    """Yields the starts of blocks and their levels: a heading's own level, or the nesting depth of other blocks."""
    parser = import_optional("markdown_it", 'at="markdown"', "markdown").MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    starts = [0, *places]
    front_matter = _FRONT_MATTER.match(text)
    last = front_matter.end() if front_matter else 0
    yield last, BLOCK
    is_headed = False
    for token in parser.parse(text):
        if token.map is None or token.nesting < 0 or token.type in ("inline", "thead_open", "tbody_open", "tr_open"):
            continue
        place = starts[token.map[0]]
        is_heading = token.type == "heading_open" and token.level == 0
        if place > last:  # otherwise the block is inside of a block with the same start
            yield place, HEADED if is_headed else int(token.tag[1]) if is_heading else BLOCK + token.level
            last = place
            is_headed = is_heading
        else:
            is_headed = is_headed or (is_heading and place == last)


def _code(text: str, places: list[int]) -> Iterator[tuple[int, int]]:
    """Yields the start and the level of each line of code at which a chunk can begin.

    Left out are lines inside a multi-line string or comment, and lines that belong to the preceding line: they continue
    it, are indented more, or directly follow a comment or decorator.
    """
    depth = 0
    hidden = 0  # end of the multi-line string or comment; lines before it are not boundaries
    before = -1  # indentation of the last line of code
    is_attached = after_blank = False
    closers = _Closers(text)
    for begin, end in zip([0, *places], [*places, len(text)], strict=True):
        if begin < hidden:
            after_blank = False
        else:
            first = _INDENT.match(text, begin).end()  # type: ignore[union-attr]
            if first == end or text[first] in "\r\n":
                is_attached, after_blank = False, True
                continue
            indent = len(text[begin:first].expandtabs(TAB_SIZE))
            if before >= indent and not is_attached and not _continues(text, begin, first):
                level = min(indent, MAX_INDENT) << 16 | min(depth, MAX_DEPTH) << 1 | (not after_blank)
                yield begin, level
            before, after_blank = indent, False
            is_attached = text.startswith(_ATTACHED, first)
            if text.startswith("/*", first):
                hidden = closers.end("*/", first + 2)
            elif text.startswith(_COMMENTS, first):
                continue
        depth, hidden = _scan(text, max(begin, hidden), end, depth, hidden, closers)


def _scan(text: str, begin: int, end: int, depth: int, hidden: int, closers: _Closers) -> tuple[int, int]:
    """Returns the number of open brackets after a line, and the end of a multi-line string that begins in the line."""
    while begin < end and (token := _CODE.search(text, begin, end)):
        begin, found = token.end(), token[0]
        if found in ('"""', "'''"):
            begin = closers.end(found, begin)
            hidden = max(hidden, begin)
        elif found in "([{":
            depth += 1
        elif found in ")]}":
            depth = max(depth - 1, 0)
    return depth, hidden


def _continues(text: str, begin: int, first: int) -> bool:
    """Tests whether a line continues the preceding one: it begins with ``{``, a closing bracket or, say, ``else``."""
    if text[first] == "{":
        return text[max(begin - 80, 0) : begin].rstrip()[-1:] not in ",;([{}"
    return _CONTINUATION.match(text, first) is not None


class _Closers:
    """Search for the ends of multi-line strings and comments. A missing end is searched for only once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._missing: set[str] = set()

    def end(self, closer: str, begin: int) -> int:
        """Returns the position after the next `closer`, or `begin` if there is none."""
        at = -1 if closer in self._missing else self._text.find(closer, begin)
        if at < 0:
            self._missing.add(closer)
            return begin
        return at + len(closer)
