"""Grammar of a template's replies, derived from renderings of probe messages.

A reply is a sequence of slots. Each slot contains one component of the message: reasoning, content, the name of a
tool, a key or a value of its arguments, or a JSON text of several of these. Between two slots there is text of the
template. `derive` renders probe messages, whose texts it recognizes in the rendering, in all combinations of reasoning,
content, number of calls and types of arguments. For each pair of adjacent slots, it records the text between them. The
result is a finite-state grammar: its states are slots, and its edges are the template's texts.

The grammar accepts more than the template writes, because it records only adjacent pairs. Therefore `parsing` proves
each message by rendering it.

Left out: templates that change the spelling of a key, or that escape a value in other ways than JSON or Python do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

from ..errors import ChatTemplateError
from .nesting import NestedForm, derive_nested
from .values import num_shared

__all__ = [
    "INVALID",
    "JSON_SLOTS",
    "Edge",
    "MessageStyle",
    "ReplyGrammar",
    "decode_json",
    "derive",
    "unified",
]

Renderer = Callable[[Sequence[Mapping[str, Any]], bool], str]  # (messages, add_generation_prompt) -> text

INVALID: Any = object()  # returned for a text that is no valid value of a slot
JSON_SLOTS = ("calls", "call", "arguments")
_DIGITS = "\0"  # placeholder in an edge's literal for a number that differs between calls
_PLACEHOLDERS = ("\0name", "\0id", "\0arguments", "\0text", _DIGITS)
_PROBE = "qz"  # prefix of each probe text, to recognize a probe text even if a template has changed it
_REASONING, _CONTENT = "qzreasoning", "qzcontent"
_NAMES = ("qznameaa", "qznamebb", "qznamecc")
_IDS = ("qzid0000a", "qzid0000b", "qzid0000c")  # nine letters and digits, as templates of Mistral require
_KEYS = tuple(tuple(f"qzkey{call}{n}x" for n in "ab") for call in "abc")
_TEXT = "qzt{}qzu"
_MARKED_TEXT = 'qzt"{}<&>\nqzu'  # JSON and Python escape it in different ways


class MessageStyle(NamedTuple):
    """Form in which the template reads a message's reasoning and the arguments of its calls.

    Attributes:
        reasoning: key of the reasoning; ``"parts"`` if the content is a list with an item of type ``thinking``; None if
            the template renders no reasoning.
        is_text: whether arguments are passed as a JSON text instead of an object.
    """

    reasoning: str | None
    is_text: bool

    def message(self, reasoning: str | None, content: str, calls: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Returns an assistant message of this form; each of `calls` has ``name``, ``arguments`` and ``id``.

        Examples:
            >>> MessageStyle("reasoning_content", False).message("hm", "yes", [])
            {'role': 'assistant', 'content': 'yes', 'reasoning_content': 'hm'}
        """
        message: dict[str, Any] = {"role": "assistant", "content": content}
        if reasoning is not None and self.reasoning == "parts":
            thoughts = {"type": "thinking", "thinking": reasoning}
            message["content"] = [thoughts, *([{"type": "text", "text": content}] if content else [])]
        elif reasoning is not None and self.reasoning is not None:
            message[self.reasoning] = reasoning
        if calls:
            message["tool_calls"] = [self._call(call) for call in calls]
        return message

    def _call(self, call: Mapping[str, Any]) -> dict[str, Any]:
        arguments = call["arguments"]
        if self.is_text:
            arguments = json.dumps(arguments, ensure_ascii=False)
        return {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": arguments}}


_PRINTED_PARTS = re.compile(r"""["']thinking["']\s*:""")  # matches if a list of parts is printed as a whole
_STYLES = [
    MessageStyle(reasoning, is_text)
    for is_text in (False, True)
    for reasoning in ("reasoning_content", "reasoning", "parts")
]


@dataclass(frozen=True)
class Edge:
    """The template's text between two slots.

    Attributes:
        literal: the text, in which a zero byte is the placeholder of a number that differs between calls.
        target: label of the next slot; ``"end"`` after the last one.
    """

    literal: str
    target: str

    def pattern(self, is_relaxed: bool) -> re.Pattern[str]:
        """Returns a regular expression for the literal. If relaxed, the amount and kind of white space can differ."""
        return _pattern(self.literal, is_relaxed)


@lru_cache(maxsize=1024)
def _pattern(literal: str, is_relaxed: bool) -> re.Pattern[str]:
    parts = []
    for part in literal.split(_DIGITS):
        if is_relaxed and literal.strip():
            pieces = re.split(r"(\s+)", part)
            pieces[1::2] = [
                r"\s+" if before[-1:].isalnum() and after[:1].isalnum() else r"\s*"
                for before, after in zip(pieces[::2], pieces[2::2], strict=False)
            ]
            pieces[::2] = map(re.escape, pieces[::2])
            parts.append("".join(pieces))
        else:
            parts.append(re.escape(part))
    return re.compile(r"\d+".join(parts))


@dataclass
class ReplyGrammar:
    """Grammar of a template's replies, from `derive`.

    Attributes:
        prompt: the rendered prompt, without the prefix that it shares with the rendered context and all rendered
            replies.
        style: form of messages that this template reads.
        edges: slot -> edges that leave it; the first slot is ``"start"``.
        codecs: label of a value's slot -> (type, codec) of the value, such as ``("str", "raw")``.
        patterns: JSON patterns of the slots ``"calls"`` (one element) and ``"call"``.
        nested: form of lists and objects, if the template writes them neither as JSON nor as Python.
        ending: the text that all replies end with.
    """

    prompt: str
    style: MessageStyle
    edges: dict[str, list[Edge]] = field(default_factory=dict)
    codecs: dict[str, tuple[str, Any]] = field(default_factory=dict)
    patterns: dict[str, list[Any]] = field(default_factory=dict)
    nested: NestedForm | None = None
    ending: str = ""

    def starts(self, slot: str) -> list[str]:
        """Returns the texts that the template can write before `slot` if it is the first slot of a reply."""
        return [edge.literal for edge in self.edges.get("start", ()) if edge.target == slot]

    def reaches(self, slot: str) -> bool:
        """Tests whether any edge leads to a slot."""
        return any(edge.target == slot for edges in self.edges.values() for edge in edges)

    @property
    def has_calls(self) -> bool:
        """True if the grammar has slots for tool calls and their arguments."""
        return any(map(self.reaches, JSON_SLOTS)) or any(map(self.reaches, self.codecs))


# ── JSON ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("an object has a key twice")
    return made


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_unique, parse_constant=_no_constant)


def decode_json(text: str, start: int) -> tuple[Any, int] | None:
    """Decodes the JSON value that begins at an index; returns the value and its end, or None if there is none.

    Examples:
        >>> decode_json('x {"a": [1]} y', 2), decode_json("{'a': 1}", 0)
        (({'a': [1]}, 12), None)
    """
    try:
        value, end = _DECODER.raw_decode(text, start)
        json.dumps(value, ensure_ascii=False).encode()  # raises an error for a lone surrogate, which is not text
    except (ValueError, RecursionError):
        return None
    return value, end


def unified(pattern: Any, value: Any) -> dict[str, Any] | None:
    """Matches a JSON value with a pattern. Returns the values of the pattern's placeholders; None if it does not match.

    Examples:
        >>> unified({"name": "\\0name", "arguments": "\\0arguments"}, {"arguments": {}, "name": "f"})
        {'name': 'f', 'arguments': {}}
    """
    if isinstance(pattern, str):
        if pattern == _DIGITS:
            return {} if str(value).isdecimal() else None
        if pattern == "\0text":
            decoded = decode_json(value, 0) if isinstance(value, str) else None
            return {"arguments": decoded[0]} if decoded and isinstance(decoded[0], dict) else None
        if pattern in _PLACEHOLDERS:
            kind = dict if pattern == "\0arguments" else str
            return {pattern[1:]: value} if isinstance(value, kind) else None
    if isinstance(pattern, dict):
        if not isinstance(value, dict):
            return None
        if (pattern.keys() == {"\0name"}) and len(value) == 1:
            [(name, arguments)] = value.items()
            found = unified(pattern["\0name"], arguments)
            return None if found is None else {"name": name, **found}
        if pattern.keys() != value.keys():
            return None
        made: dict[str, Any] = {}
        for key, part in pattern.items():
            found = unified(part, value[key])
            if found is None:
                return None
            made.update(found)
        return made
    return {} if pattern == value and type(pattern) is type(value) else None


# ── probes ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Slot(NamedTuple):
    literal: str  # the template's text before the slot
    label: str


class _Probe:
    """A message with recognizable texts, which begin with ``qz``; `slots` finds these texts in a rendering of it."""

    def __init__(self, style: MessageStyle, reasoning: bool, content: bool, arguments: Sequence[Mapping[str, Any]]):
        calls: list[dict[str, Any]] = [
            {"name": name, "id": id, "arguments": values}
            for name, id, values in zip(_NAMES, _IDS, arguments, strict=False)
        ]
        self.calls = calls
        self.message = style.message(_REASONING if reasoning else None, _CONTENT if content else "", calls)
        self.codecs: dict[str, tuple[str, Any]] = {}
        self.patterns: dict[str, list[Any]] = {}
        self._labels: dict[str, str] = {_REASONING: "reasoning", _CONTENT: "content"}
        for call in calls:
            self._labels |= {call["name"]: "name", call["id"]: "id"}
            for key, value in call["arguments"].items():
                self._labels[key] = "key"
                self._spellings(value)
        words = sorted(self._labels, key=len, reverse=True)
        self._regex = re.compile("|".join([*map(re.escape, words), r"[\[{]"]))

    def _spellings(self, value: Any) -> None:
        """Adds the spellings of a value to the texts to search for.

        Truth values and null are left out, because `_with_constants` finds them.
        """
        kind = _kind(value)
        if kind == "str":
            escaped = (("json", json.dumps(value)[1:-1]), ("python", repr(value)[1:-1])) if "\n" in value else ()
            for codec, text in (("raw", value), *escaped):
                self._add(text, kind, codec)
        elif kind == "number":
            self._add(json.dumps(value), kind, "json")
        elif kind in ("list", "dict"):
            self._add(repr(value), kind, "python")

    def _add(self, text: str, kind: str, codec: str) -> None:
        label = self._labels.setdefault(text, f"value:{kind}:{codec}")
        self.codecs[label] = (kind, codec)

    def slots(self, text: str) -> list[_Slot] | None:
        """Returns the slots of a rendering, in order, ``"end"`` last; None if the template changed a probe text."""
        found: list[_Slot] = []
        seen: dict[str, int] = {}
        at = begin = 0
        while match := self._regex.search(text, at):
            word, end = match[0], match.end()
            if word in "[{":
                at = end
                decoded = decode_json(text, match.start())
                label = self._json_label(decoded[0]) if decoded else None
                if decoded is None or label is None:
                    continue
                end = decoded[1]
            else:
                count = seen[word] = seen.get(word, -1) + 1
                label = self._labels[word] + (f"#{count}" if count else "")
            found.append(_Slot(text[begin : match.start()], label))
            at = begin = end
        found.append(_Slot(text[begin:], "end"))
        found = self._with_constants(found)
        return None if any(_PROBE in slot.literal for slot in found) else found

    def _json_label(self, value: Any) -> str | None:
        if _PROBE not in json.dumps(value) and not any(value == call["arguments"] for call in self.calls):
            return None
        for call in self.calls:
            if value == call["arguments"]:
                return "arguments"
            for item in call["arguments"].values():
                if isinstance(item, list | dict) and value == item:
                    label = f"value:{_kind(item)}:json"
                    self.codecs[label] = (_kind(item), "json")
                    return label
        patterns = [self._pattern(one) for one in (value if isinstance(value, list) else [value])]
        if any(_PROBE in json.dumps(pattern) or _no_arguments(pattern) for pattern in patterns):
            return None
        label = "calls" if isinstance(value, list) else "call"
        self.patterns.setdefault(label, []).append(_common(patterns))
        return label

    def _pattern(self, value: Any) -> Any:
        """Returns a JSON value with placeholders instead of the probe's values."""
        for call in self.calls:
            if value == call["arguments"]:
                return "\0arguments"
            if isinstance(value, str) and value[:1] == "{" and decode_json(value, 0) == (call["arguments"], len(value)):
                return "\0text"
        if isinstance(value, dict):
            return {("\0name" if key in _NAMES else key): self._pattern(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._pattern(item) for item in value]
        return "\0name" if value in _NAMES else "\0id" if value in _IDS else value

    def _with_constants(self, slots: list[_Slot]) -> list[_Slot]:
        """Adds the slots of truth values and null that follow keys.

        `slots` cannot find these values, because it searches only for texts that are unique.
        """
        values = [value for call in self.calls for value in call["arguments"].values()]
        kind = _kind(values[0]) if values else ""
        if kind not in ("bool", "null"):
            return slots
        words = ("true", "True") if kind == "bool" else ("null", "None")
        pairs = [(n, slot.literal) for n, slot in enumerate(slots) if n and slots[n - 1].label.startswith("key")]
        places = [(literal.rfind(word), word) for _, literal in pairs[:1] for word in words if word in literal]
        if not places:
            return slots
        place, word = places[0]
        before = pairs[0][1][:place]
        spelled = {"true": ("true", "false"), "True": ("True", "False")}.get(word, (word,))
        label = f"value:{kind}:{word}"
        made = []
        for n, slot in enumerate(slots):
            after_key = n > 0 and slots[n - 1].label.startswith("key")
            if after_key and slot.literal.startswith(before + word):
                made += [_Slot(before, label), _Slot(slot.literal[len(before + word) :], slot.label)]
            else:
                made.append(slot)
        self.codecs[label] = (kind, spelled)
        return made


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    kinds = {bool: "bool", int: "number", float: "number", str: "str", list: "list", dict: "dict"}
    return kinds[type(value)]


def _no_arguments(pattern: Any) -> bool:
    text = json.dumps(pattern)
    return not any(json.dumps(name)[1:-1] in text for name in ("\0arguments", "\0text"))


def _common(patterns: list[Any]) -> Any:
    """Returns the common pattern of a list's elements, with placeholders for numbers that differ."""
    first, *others = patterns
    if isinstance(first, dict) and all(isinstance(one, dict) and one.keys() == first.keys() for one in others):
        return {key: _common([one[key] for one in patterns]) for key in first}
    differs = any(one != first for one in others)
    return _DIGITS if differs and all(str(one).isdecimal() for one in patterns) else first


_VALUES: dict[str, Callable[[int], Any]] = {
    "str": lambda n: _TEXT.format("abcdef"[n]),
    "marked": lambda n: _MARKED_TEXT.format("abcdef"[n]),
    "number": lambda n: 7130001 + n,
    "bool": lambda _: True,
    "null": lambda _: None,
    "list": lambda n: [f"qzitem{'abcdef'[n]}", 1],
    "dict": lambda n: {f"qzitem{'abcdef'[n]}": 1},
}


def _arguments(kind: str, calls: int) -> list[dict[str, Any]]:
    """Returns the arguments of each call: one argument for the last of several calls, two for the others."""
    made, count = [], 0
    for call in range(calls):
        keys = _KEYS[call][: 1 if calls > 1 and call == calls - 1 else 2]
        made.append({key: _VALUES[kind](count + n) for n, key in enumerate(keys)})
        count += len(keys)
    return made


def _probes(style: MessageStyle) -> Iterator[_Probe]:
    """Yields all probes: first 0 to 3 calls, then each type of arguments, then calls without arguments."""
    shapes = list(product((False, True) if style.reasoning else (False,), (True, False)))
    for calls, (reasoning, content) in product(range(4), shapes):
        yield _Probe(style, reasoning, content, _arguments("str", calls))
    for kind, content, calls in product(_VALUES, (False, True), (2, 1)):
        yield _Probe(style, False, content, _arguments(kind, calls))
    for content, calls in product((False, True), (3, 2, 1)):
        yield _Probe(style, False, content, [{}] * calls)


# ── derivation ──────────────────────────────────────────────────────────────────────────────────────────────────────


def derive(renderer: Renderer, context: Sequence[Mapping[str, Any]] = ()) -> ReplyGrammar:
    """Derives the grammar of a template's replies.

    Args:
        renderer: function that renders messages; in its result, each special token is a single character.
        context: messages before the reply; by default one user message.

    Raises:
        ChatTemplateError: the template refuses the context, or renders neither content nor calls.
    """
    context = list(context) or [{"role": "user", "content": "Hello"}]
    prompt = renderer(context, True)
    style = _style(renderer, context, prompt)
    texts = [(probe, _rendered(renderer, context, probe)) for probe in _probes(style)]
    rendered = [(probe, text) for probe, text in texts if text is not None]
    if not rendered:
        raise ChatTemplateError("the chat template renders no reply here")
    base = min(num_shared(prompt, text) for text in (renderer(context, False), *(text for _, text in rendered)))
    grammar = ReplyGrammar(prompt[base:], style)
    literals: dict[tuple[str, str], list[str]] = {}
    for probe, text in rendered:
        slots = probe.slots(text[base:])
        if slots is None:
            continue
        source = "start"
        for literal, label in slots:
            known = literals.setdefault((source, label), [])
            if literal not in known:
                known.append(literal)
            source = label
        grammar.codecs |= {
            label: codec for label, codec in probe.codecs.items() if any(s.label == label for s in slots)
        }
        for label, patterns in probe.patterns.items():
            known_patterns = grammar.patterns.setdefault(label, [])
            known_patterns += [pattern for pattern in patterns if pattern not in known_patterns]
    for (source, target), known in literals.items():
        grammar.edges.setdefault(source, []).extend(Edge(literal, target) for literal in _merged(known))
    _add_nested(grammar, renderer, context, base)
    for edges in grammar.edges.values():  # strings are last: text that could also be a number is first read as a number
        edges.sort(key=lambda edge: grammar.codecs.get(edge.target, ("",))[0] == "str")
    ends = [edge.literal for edges in grammar.edges.values() for edge in edges if edge.target == "end"]
    grammar.ending = ends[0][len(ends[0]) - min(num_shared(ends[0][::-1], end[::-1]) for end in ends) :]
    if not grammar.reaches("content") and not grammar.has_calls:
        raise ChatTemplateError("the chat template changes the content of replies, so replies cannot be parsed back")
    return grammar


def _add_nested(grammar: ReplyGrammar, renderer: Renderer, context: Sequence[Mapping[str, Any]], base: int) -> None:
    """Adds slots for lists and objects that the template writes by its own rules.

    These slots get the same edges as the slot of numbers.
    """
    known = {kind for kind, _ in grammar.codecs.values()}
    number = "value:number:json"
    if number not in grammar.codecs or {"list", "dict"} <= known:
        return
    key = _KEYS[0][0]

    def written(value: Any) -> str | None:
        probe = _Probe(grammar.style, False, False, [{key: value}])
        text = _rendered(renderer, context, probe)
        return text[base:].partition(key)[2] if text is not None and key in text[base:] else None

    constants: dict[str, Any] = {}
    for kind, spelled in grammar.codecs.values():
        if kind in ("bool", "null"):
            constants |= dict(zip(spelled, (True, False) if kind == "bool" else (None,), strict=True))
    grammar.nested = derive_nested(written, constants)
    for kind in ("list", "dict") if grammar.nested else ():
        if kind not in known:
            label = f"value:{kind}:nested"
            grammar.codecs[label] = (kind, "nested")
            for edges in list(grammar.edges.values()):
                edges += [Edge(edge.literal, label) for edge in edges if edge.target == number]
            grammar.edges[label] = list(grammar.edges.get(number, ()))


def _merged(literals: list[str]) -> list[str]:
    """Merges literals that differ only in numbers into one literal with placeholders."""
    by_shape: dict[str, list[str]] = {}
    for literal in literals:
        by_shape.setdefault(re.sub(r"\d+", _DIGITS, literal), []).append(literal)
    return [same[0] if len(same) == 1 else shape for shape, same in by_shape.items()]


def _rendered(renderer: Renderer, context: Sequence[Mapping[str, Any]], probe: _Probe) -> str | None:
    try:
        return renderer([*context, probe.message], False)
    except ChatTemplateError:
        return None


def _style(renderer: Renderer, context: Sequence[Mapping[str, Any]], prompt: str) -> MessageStyle:
    """Tries the styles of messages, and returns the one with which the template prints reasoning and arguments."""
    reasoning = None
    for style in _STYLES[:3]:
        probes = (_Probe(style, True, True, _arguments("str", number)) for number in (0, 1))
        if any("reasoning" in _labels(renderer, context, prompt, probe) for probe in probes):
            reasoning = style.reasoning
            break
    for is_text in (False, True):
        style = MessageStyle(reasoning, is_text)
        probe = _Probe(style, False, False, _arguments("str", 1))
        labels = _labels(renderer, context, prompt, probe)
        if labels & {*JSON_SLOTS, *probe.codecs}:
            return style
    return MessageStyle(reasoning, False)


def _labels(renderer: Renderer, context: Sequence[Mapping[str, Any]], prompt: str, probe: _Probe) -> set[str]:
    """Returns the labels of the slots in a probe's rendering."""
    text = _rendered(renderer, context, probe)
    if text is None or _PRINTED_PARTS.search(text):
        return set()
    slots = probe.slots(text[num_shared(prompt, text) :])
    return {slot.label for slot in slots or ()}
