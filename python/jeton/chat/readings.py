"""Searches for the ways in which the grammar of a template can read a reply.

A *reading* is a sequence of slots that covers the text. A slot of free text can end before each occurrence of
a template text that can follow the slot; the earliest occurrence is tried first. A slot of JSON ends where the JSON
value ends, so a string in it can contain any text. The search backtracks, caches positions from which no reading is
possible, and has a limit of steps.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Callable, Iterator
from heapq import merge
from typing import Any, NamedTuple

from .grammar import INVALID, JSON_SLOTS, Edge, ReplyGrammar, decode_json, unified

__all__ = ["Part", "Reading", "Search", "value_at"]

_MAX_STEPS = 20_000  # limit of steps; a reply with one call takes about 20
_STEP = 1 << 12  # a possible end of a slot costs one step, and one more for each `_STEP` characters of the slot
_MAX_LITERAL = 100_000  # maximum length of a Python literal, in characters
_NAME = re.compile(r"""[^\s"'<>(){}\[\]=]+""")
_NAMES = ("name", "id", "key")
_END = "end"

SchemaTypes = Callable[[str, str], object]  # (tool, parameter) -> type in its JSON schema, or None


class Part(NamedTuple):
    """A slot of a reading, with its text.

    Attributes:
        edge: the edge that leads to the slot; the edge's target is the slot's label.
        raw: the text of the slot; for ``"end"``, the part of the edge's literal that the reply contains.
        value: the value that the text is decoded to.
    """

    edge: Edge
    raw: str
    value: Any


Reading = list[Part]


class _Option(NamedTuple):
    """A possible end of a slot: its index, the slot's value, the next edge, and the start of the next slot."""

    end: int
    value: Any
    edge: Edge
    next: int


class _State(NamedTuple):
    edge: Edge
    start: int
    tool: str  # name of the current call's tool; empty before the first call
    options: Iterator[_Option]


class Search:
    """Search for readings of one text, with a limit of steps."""

    def __init__(
        self, grammar: ReplyGrammar, text: str, controls: re.Pattern[str], is_relaxed: bool, types: SchemaTypes
    ) -> None:
        self._grammar = grammar
        self._text = text
        self._controls = controls
        self._is_relaxed = is_relaxed
        self._types = types
        self._num_steps = 0
        self._absent: dict[re.Pattern[str], int] = {}

    @property
    def _is_exhausted(self) -> bool:
        return self._num_steps > _MAX_STEPS

    def readings(self, first: Edge, start: int) -> Iterator[Reading]:
        """Yields the readings that begin at `start` with the slot to which the edge `first` leads."""
        if first.target == _END:
            if start == len(self._text):
                yield [Part(first, first.literal, None)]
            return
        dead: set[tuple[str, int]] = set()  # (slot, start) from which no reading ends
        states = [_State(first, start, "", self._options(first.target, start, ""))]
        ended = [False]  # for each state: True if a complete reading that passes through the state was found
        chosen: list[_Option] = []
        while states:
            state = states[-1]
            del chosen[len(states) - 1 :]
            self._num_steps += 1
            option = None if self._is_exhausted else next(state.options, None)
            if option is None:
                states.pop()
                if not ended.pop():
                    dead.add((state.edge.target, state.start))
                elif ended:
                    ended[-1] = True
                continue
            chosen.append(option)
            if option.edge.target == _END:
                ended[-1] = True
                parts = [
                    Part(one.edge, self._text[one.start : choice.end], choice.value)
                    for one, choice in zip(states, chosen, strict=True)
                ]
                yield [*parts, Part(option.edge, self._text[option.end :], None)]
            elif (option.edge.target, option.next) not in dead:
                tool = self._text[state.start : option.end] if state.edge.target == "name" else state.tool
                options = self._options(option.edge.target, option.next, tool)
                states.append(_State(option.edge, option.next, tool, options))
                ended.append(False)

    def _options(self, slot: str, start: int, tool: str) -> Iterator[_Option]:
        edges = self._grammar.edges.get(slot, [])
        if _is_json(self._grammar, slot):
            found = value_at(self._grammar, slot, self._text, start)
            if found and not self._controls.search(json.dumps(found[0], ensure_ascii=False)):
                value, end = found
                for edge in edges:
                    if edge.target == _END:
                        if end in self._last_ends(edge, slot):
                            yield _Option(end, value, edge, len(self._text))
                    elif match := edge.pattern(self._is_relaxed).match(self._text, end):
                        yield _Option(end, value, edge, match.end())
            return
        for end, edge, following in self._ends(slot, start, edges):
            self._num_steps += 1 + (end - start) // _STEP
            if self._is_exhausted:
                return
            raw = self._text[start:end]
            value = _decoded(self._grammar, slot, raw)
            if value is not INVALID and self._fits(slot, raw, edge, edges, tool):
                yield _Option(end, value, edge, following)

    def _ends(self, slot: str, start: int, edges: list[Edge]) -> Iterator[tuple[int, Edge, int]]:
        """Yields the possible ends of a free-text slot: before each text that can follow, then at the reply's end."""
        if slot.partition("#")[0] in _NAMES:
            name = _NAME.match(self._text, start)
            limit = name.end() if name else start
        else:
            control = self._controls.search(self._text, start)
            limit = control.start() if control else len(self._text)
        found = [self._matches(edge, rank, start, limit) for rank, edge in enumerate(edges) if edge.target != _END]
        for end, _, _, edge, following in merge(*found, key=lambda one: one[:3]):
            yield end, edge, following
        for edge in edges:
            if edge.target == _END:
                for end in self._last_ends(edge, slot):
                    if start <= end <= limit:
                        yield end, edge, len(self._text)

    def _last_ends(self, edge: Edge, slot: str) -> Iterator[int]:
        """Yields the possible ends of the last slot; after it comes the edge's literal or a prefix of the literal.

        A prefix of the literal is possible because a reply can lack the stop token, and because content can be cut off
        anywhere. For a slot other than content, the prefix must contain the text that closes the slot.
        """
        literal, is_regex = edge.literal, "\0" in edge.literal
        least = 0
        if slot != "content":
            stops = [match.start() for match in self._controls.finditer(literal)]
            least = min([len(literal) - len(self._grammar.ending), *stops[-1:]])
        for length in range(len(literal), least - 1, -1):
            if not is_regex:
                if self._text.endswith(literal[:length]):
                    yield len(self._text) - length
            elif length in (least, len(literal)) or self._controls.match(literal[length - 1]):
                pattern = Edge(literal[:length], _END).pattern(self._is_relaxed).pattern
                if match := re.search(rf"{pattern}\Z", self._text):
                    yield match.start()

    def _matches(self, edge: Edge, rank: int, start: int, limit: int) -> Iterator[tuple[int, int, int, Edge, int]]:
        match = self._next(edge, start)
        while match and match.start() <= limit:
            yield match.start(), match.start() - match.end(), rank, edge, match.end()
            match = self._next(edge, match.start() + 1)  # matches may overlap

    def _next(self, edge: Edge, start: int) -> re.Match[str] | None:
        """Finds the first match of an edge's literal from `start` on. If there is none, caches `start`."""
        pattern = edge.pattern(self._is_relaxed)
        if start >= self._absent.get(pattern, len(self._text) + 1):
            return None
        match = pattern.search(self._text, start)
        if match is None:
            self._absent[pattern] = start
        return match

    def _fits(self, slot: str, raw: str, edge: Edge, edges: list[Edge], tool: str) -> bool:
        """Tests that a value's type fits the tool's schema: ``3`` is not a number if the schema declares a string."""
        kind = self._grammar.codecs.get(edge.target, ("", ""))[0]
        if not slot.startswith("key") or kind in ("", "str") or self._types(tool, raw) != "string":
            return True
        return not any(
            other.literal == edge.literal and self._grammar.codecs.get(other.target, ("", ""))[0] == "str"
            for other in edges
        )


def value_at(grammar: ReplyGrammar, slot: str, text: str, start: int) -> tuple[Any, int] | None:
    """Decodes the value of a JSON slot at an index of a text; returns the value and its end, or None if invalid."""
    name = slot.partition("#")[0]
    if grammar.nested and grammar.codecs.get(name, ("", ""))[1] == "nested":
        return grammar.nested.read(text, start, grammar.codecs[name][0])
    decoded = decode_json(text, start)
    if decoded is None:
        return None
    value, end = decoded
    if name == "arguments":
        return decoded if isinstance(value, dict) else None
    if name in JSON_SLOTS:
        calls = value if name == "calls" and isinstance(value, list) else [value]
        patterns = grammar.patterns.get(name, [])
        read = [
            next((u for u in (unified(pattern, call) for pattern in patterns) if u is not None), None) for call in calls
        ]
        return (read, end) if read and all(one is not None for one in read) else None
    kind = grammar.codecs[name][0]
    is_kind = isinstance(value, {"list": list, "dict": dict}.get(kind, (int, float))) and not isinstance(value, bool)
    return decoded if is_kind else None


def _is_json(grammar: ReplyGrammar, slot: str) -> bool:
    name = slot.partition("#")[0]
    kind, codec = grammar.codecs.get(name, ("", ""))
    return name in JSON_SLOTS or codec == "nested" or (codec == "json" and kind != "str")


def _decoded(grammar: ReplyGrammar, slot: str, raw: str) -> Any:
    """Decodes the text of a slot that is not JSON; returns `INVALID` if it cannot be decoded."""
    name = slot.partition("#")[0]
    if name in _NAMES:
        return raw if _NAME.fullmatch(raw) else INVALID
    kind, codec = grammar.codecs.get(name, ("", "raw"))
    if codec == "raw":
        return raw
    if isinstance(codec, tuple):  # the codec lists the texts for true and false, or the text for null
        values = (True, False) if kind == "bool" else (None,)
        return dict(zip(codec, values, strict=True)).get(raw, INVALID)
    if codec == "json":
        decoded = decode_json(f'"{raw}"', 0)
        return decoded[0] if decoded and decoded[1] == len(raw) + 2 else INVALID
    value = _python_literal(raw if kind != "str" else f"'{raw}'")
    return value if isinstance(value, {"str": str, "list": list, "dict": dict}[kind]) else INVALID


def _python_literal(text: str) -> Any:
    if len(text) > _MAX_LITERAL:
        return INVALID
    try:
        with warnings.catch_warnings():  # Python warns of an unknown escape
            warnings.simplefilter("ignore")
            value = ast.literal_eval(text)
        is_json = json.loads(json.dumps(value, allow_nan=False)) == value
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return INVALID
    return value if is_json else INVALID
