"""Parses replies of a model to content, reasoning and tool calls, and proves each result by rendering it.

    ids ─ text, special tokens as single characters ─►  readings by the grammar  ─ render each message ─►  the first
                                                                                   that gives the same text

`grammar` derives from renderings how a template writes replies. `readings` yields the ways in which a reply can be read
by this grammar. The message of each reading is rendered; the result is the first message whose rendering equals the
generation prompt and the reply. Differences that lose no information, such as spaces in JSON, are permitted and
reported. Text for which no reading is proved stays in the content.

Cost: deriving the grammar takes about a hundred renderings of a short conversation; the grammar is cached. Each proof
is one rendering of the whole conversation; nearly always the first reading is proved.

Left out: streams of ids; replies with images or sounds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ..errors import ChatTemplateError
from .encode import ChatTokenizer, control_spans
from .grammar import Edge, ReplyGrammar, derive
from .prepared import PreparedTemplate
from .readings import Part, Reading, SchemaTypes, Search, value_at
from .values import num_shared

if TYPE_CHECKING:
    from .template import RenderedRun

__all__ = ["Reply", "ReplyParser", "ReplyTokenizer"]

_FIRST_CONTROL = 0xF0000  # first of the private-use characters that represent special tokens
_MAX_PROOFS = 12  # approximate maximum number of renderings of the whole conversation for one reply
_MAX_GRAMMARS = 64
_NOT_RENDERED = "the rendering lacks {!r} of the generation prompt"
_INSERTED = "the rendering has {!r}, which the reply lacks"
_EMPTY_REASONING = "the rendering lacks the empty reasoning"
_JSON = "the rendering formats the arguments differently"
_SPACES = "the rendering differs in white space"
_REPLY = "qzreply"  # content of test messages; no template writes this text by itself
_STOP = "the rendering of the turn lacks the stop token {!r}"


@dataclass(frozen=True)
class Reply:
    """A parsed reply of a model.

    Attributes:
        content: the text for the user; the whole reply if it cannot be parsed.
        reasoning: the reasoning, or None.
        tool_calls: calls as in OpenAI's messages: ``{"id", "type", "function": {"name", "arguments"}}``, the arguments
            as an object. The id is the one in the reply if the template writes ids, else a generated number.
        refusal: the reason why possible reasoning or calls are left in the content; None if the reply is fully parsed.
        differences: how the rendering of `message` differs from the text of the reply; empty if they are equal.
        is_complete: whether the reply ends with the stop token, or with the text by which this template ends a turn.
        message: the reply as a message for the next rendering, with the keys that the template reads.

    Examples:
        >>> import jeton
        >>> tok = jeton.train(["hi there"], 256 + 2, special_tokens=["<|im_start|>", "<|im_end|>"], progress=False)
        >>> conv = tok.conversation([{"role": "user", "content": "hi"}], template="chatml")
        >>> conv.parse(tok.encode("hello<|im_end|>", special="all"))
        Reply(content='hello')
        >>> conv.parse(tok.encode("hel", special="all"))
        Reply(content='hel', is_complete=False)
    """

    content: str
    reasoning: str | None = None
    tool_calls: list[dict[str, Any]] = field(default_factory=list)
    refusal: str | None = None
    differences: tuple[str, ...] = ()
    is_complete: bool = True
    message: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        names = ("reasoning", "tool_calls", "refusal", "differences")
        more = "".join(f", {name}={getattr(self, name)!r}" for name in names if getattr(self, name))
        return f"Reply(content={self.content!r}{more}{'' if self.is_complete else ', is_complete=False'})"


class ReplyTokenizer(ChatTokenizer, Protocol):
    """The part of a tokenizer's interface that parsing a reply needs."""

    def decode_bytes(self, ids: Iterable[int]) -> bytes: ...  # noqa: D102


class ReplyParser:
    """Parser of the replies to one prompt.

    Args:
        tok: the tokenizer.
        template: the template with its variables, including the tools. If a tool's schema declares a parameter as a
            string, its value is parsed as a string.
        messages: the messages before the reply.
        num_calls: number of tool calls before the reply. If the calls of the reply have no ids, ids with
            consecutive numbers are generated, starting with this number.

    Raises:
        ChatTemplateError: the template refuses the messages.
    """

    def __init__(
        self,
        tok: ReplyTokenizer,
        template: PreparedTemplate,
        messages: Sequence[Mapping[str, Any]],
        *,
        num_calls: int = 0,
    ) -> None:
        self._tok = tok
        self._template = template
        self._num_calls = num_calls
        self._messages = list(messages)
        self._controls = _Controls(tok)
        self._types = _parameter_types(template.given["tools"] or ())
        self._prompt = self._render(self._messages, True)
        self._num_proofs = 0

    def _render(self, messages: Sequence[Mapping[str, Any]], add_generation_prompt: bool) -> str:
        rendering = self._template.render(messages, add_generation_prompt=add_generation_prompt)
        return self._controls.of_text(*rendering)

    def __call__(self, ids: Iterable[int]) -> Reply:
        """Parses the ids that a model sampled after the prompt, with or without the stop token at the end.

        Raises:
            UnknownTokenError: an id is not in the vocabulary.
        """
        ids = [*ids]
        self._num_proofs = 0
        text = self._controls.of_ids(ids)
        if text is None:
            return self._as_text(
                ids, "the reply has bytes that are not UTF-8, or private-use characters from U+F0000 on"
            )
        refusal = "no message renders as this reply"
        for context in ([], self._messages):
            try:
                grammar = self._grammar(context)
            except ChatTemplateError as error:
                refusal = str(error)
                continue
            reply = self._parsed(grammar, text)
            if reply is not None:
                return reply
        return self._as_text(ids, refusal)

    def _as_text(self, ids: list[int], refusal: str) -> Reply:
        is_complete = bool(ids) and self._controls.is_control(ids[-1])
        content = self._tok.decode_bytes(ids[:-1] if is_complete else ids).decode("utf-8", "replace")
        message = {"role": "assistant", "content": content}
        return Reply(content, refusal=refusal, is_complete=is_complete, message=message)

    def stop_ids(self) -> list[int]:
        """Returns the ids of the special tokens at which a reply ends, derived from renderings of replies.

        Such a token is the last special token of the text that ends a turn. If that text has no special token, or if
        the token also occurs inside a reply, such as between two calls, the first special token of the next turn is
        used instead.
        """
        grammar = self._grammar([])
        shown = [*self._messages, grammar.style.message(None, _REPLY, [])]
        edges = [
            edge for source, edges in grammar.edges.items() if source not in ("start", "reasoning") for edge in edges
        ]
        literals = dict.fromkeys(edge.literal for edge in edges if edge.target == "end")
        between = "".join(edge.literal for edge in edges if edge.target != "end")
        inner = {*self._controls.any.findall(between)}
        found = ["" if (stop := self._stop(literal)) in inner else stop for literal in literals]
        for role in ("user", "tool") if "" in found else ():
            following = {"role": role, "content": _REPLY, "name": "tool", "tool_call_id": "call00000"}
            try:
                text = self._render([*shown, following], False)
            except ChatTemplateError:
                continue
            start = text.find(_REPLY, len(self._prompt) - len(grammar.prompt))
            match = self._controls.any.search(text, start) if start >= 0 else None
            found.append(match[0] if match else "")
        return self._controls.ids(dict.fromkeys(filter(None, found)))

    def _stop(self, literal: str) -> str:
        """Returns the last special token of the text that ends a turn; an empty text if there is none."""
        length = num_shared(literal[::-1], self._prompt[::-1])
        # Some templates write the generation prompt after each chat, even if `add_generation_prompt` is false.
        after = self._controls.any.findall(literal[len(literal) - length :])
        return after[0] if after else "".join(self._controls.any.findall(literal)[-1:])

    def _grammar(self, context: list[Mapping[str, Any]]) -> ReplyGrammar:
        """Returns the grammar of replies that follow the messages of `context`; derives it if it is not cached."""
        source, *variables, controls = self._template
        key = (source, json.dumps([*variables, context], sort_keys=True), (*controls,))
        grammar = _grammars.get(key)
        if grammar is None:
            grammar = derive(self._render, context)
            while len(_grammars) >= _MAX_GRAMMARS:
                _grammars.pop(next(iter(_grammars), key), None)
            _grammars[key] = grammar
        return grammar

    # ── readings ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _parsed(self, grammar: ReplyGrammar, text: str) -> Reply | None:
        if not self._prompt.endswith(grammar.prompt):
            return None
        best: Reply | None = None
        for stop in ("", text[-1:]) if self._controls.ends(text) else ("",):
            for is_relaxed in (False, True):
                reply = self._first(grammar, text.removesuffix(stop), is_relaxed)
                if reply is None:
                    continue
                if stop:
                    note = _STOP.format(self._controls.spelled(stop))
                    reply = replace(reply, differences=(*reply.differences, note), is_complete=True)
                if reply.refusal is None:
                    return reply
                best = best or reply
        return best

    def _first(self, grammar: ReplyGrammar, text: str, is_relaxed: bool) -> Reply | None:
        """Returns the reply of the first reading that `_proved` accepts; None if it accepts none."""
        whole = grammar.prompt + text
        search = Search(grammar, whole, self._controls.any, is_relaxed, self._types)
        for _, group in groupby(_starts(grammar, whole, is_relaxed), key=lambda one: (one.edge.literal, one.notes)):
            starts = list(group)
            for start in starts:
                for reading in search.readings(start.edge, start.at):
                    reply = self._proved(grammar, whole, reading, start, is_relaxed)
                    if reply is not None:
                        return reply
                    if self._num_proofs > _MAX_PROOFS:
                        return None
            for start in starts:  # the reply may consist of reasoning that is cut off
                rest = whole[start.at :]
                if start.edge.target == "reasoning" and rest.strip() and not self._controls.any.search(rest):
                    reply = self._proved(grammar, whole, [Part(start.edge, rest, rest)], start, is_relaxed)
                    if reply is not None:
                        return reply
        return None

    def _proved(
        self, grammar: ReplyGrammar, whole: str, reading: Reading, start: _Start, is_relaxed: bool
    ) -> Reply | None:
        """Renders a reading's message. Returns the reply if rendering and text differ at most in form, else None."""
        parts = _assembled(reading)
        if parts is None:
            return None
        calls = [{"id": f"call{self._num_calls + n:05}", **call} for n, call in enumerate(parts.calls)]
        is_blank = parts.reasoning is not None and not parts.reasoning.strip()
        reasoning = None if is_blank else parts.reasoning
        message = grammar.style.message(reasoning, parts.content, calls)
        self._num_proofs += 1
        try:
            rendering = self._render([*self._messages, message], False)
        except ChatTemplateError:
            return None
        base = len(self._prompt) - len(grammar.prompt)
        if not rendering.startswith(self._prompt[:base]):
            return None
        rendering = rendering[base:]
        notes = list(start.notes)
        if is_blank and not rendering.startswith(whole):
            following = reading[1:]
            edges = [
                edge for edge in grammar.edges.get("start", ()) if following and edge.target == following[0].edge.target
            ]
            found = (
                _compared(grammar, [following[0]._replace(edge=edge), *following[1:]], rendering, True)
                for edge in edges
            )
            compared = next((one for one in found if one is not None), None)
            notes.append(_EMPTY_REASONING)
        elif not notes and rendering.startswith(whole):
            compared = []
        else:
            compared = _compared(grammar, reading, rendering, is_relaxed)
        if compared is None:
            return None
        ending = reading[-1]
        refusal = _left_over(grammar, parts.content, whole)
        shown = grammar.style.message(None, "", calls).get("tool_calls", [])
        for call, one in zip(shown, calls, strict=True):
            call["function"]["arguments"] = one["arguments"]
        is_complete = ending.edge.target == "end" and self._is_complete(ending)
        differences = tuple(dict.fromkeys([*notes, *compared]))
        differences = tuple(self._controls.spelled(one) for one in differences)
        return Reply(parts.content, reasoning, shown, refusal, differences, is_complete, message)

    def _is_complete(self, ending: Part) -> bool:
        if self._controls.any.search(ending.edge.literal):
            return self._controls.ends(ending.raw) or ending.raw == ending.edge.literal
        literal = ending.edge.literal.rstrip()
        return bool(literal) and ending.raw.startswith(literal)


_grammars: dict[Any, ReplyGrammar] = {}


class _Controls:
    """Represents each special token by a private-use character, so that it differs from text that spells the token."""

    def __init__(self, tok: ReplyTokenizer) -> None:
        self._tok = tok
        spelled = {id: token for token, id in tok.special_tokens.items()}
        self._char_of = {id: chr(_FIRST_CONTROL + n) for n, id in enumerate(sorted(spelled))}
        self._spelling = {ord(char): spelled[id] for id, char in self._char_of.items()}
        self.any = re.compile(f"[{chr(_FIRST_CONTROL)}-{chr(_FIRST_CONTROL + max(len(spelled), 1) - 1)}]")

    def of_ids(self, ids: Sequence[int]) -> str | None:
        """Decodes ids; returns None if they are not text."""
        parts: list[str] = []
        begin = 0
        for at in [*(at for at, id in enumerate(ids) if id in self._char_of), len(ids)]:
            try:
                plain = self._tok.decode_bytes(ids[begin:at]).decode()
            except UnicodeDecodeError:
                return None
            if self.any.search(plain):
                return None
            parts.append(plain)
            parts += (self._char_of[id] for id in ids[at : at + 1])
            begin = at + 1
        return "".join(parts)

    def of_text(self, text: str, pieces: list[RenderedRun]) -> str:
        """Replaces the special tokens that the template writes in a text by the characters that represent them."""
        parts: list[str] = []
        at = 0
        for match in control_spans(self._tok, text, pieces):
            parts += (text[at : match.start], self._char_of[match.id])
            at = match.end
        return "".join((*parts, text[at:]))

    def spelled(self, text: str) -> str:
        """Replaces the characters that represent special tokens in a text by the tokens' spellings."""
        return text.translate(self._spelling)

    def ids(self, chars: Iterable[str]) -> list[int]:
        """Returns the ids of the special tokens that characters represent."""
        id_of = {char: id for id, char in self._char_of.items()}
        return [id_of[char] for char in chars]

    def is_control(self, id: int) -> bool:
        """Tests whether an id is that of a special token."""
        return id in self._char_of

    def ends(self, text: str) -> bool:
        """Tests whether a text ends with a special token."""
        return bool(self.any.match(text[-1:]))


def _parameter_types(tools: Sequence[Mapping[str, Any]]) -> SchemaTypes:
    """Returns a function (name of a tool, name of a parameter) -> type of the parameter in the tool's schema."""
    types: dict[tuple[str, str], Any] = {}
    for tool in tools:
        function = tool.get("function", tool)
        function = function if isinstance(function, Mapping) else {}
        parameters = function.get("parameters")
        properties = parameters.get("properties") if isinstance(parameters, Mapping) else None
        for key, schema in properties.items() if isinstance(properties, Mapping) else ():
            types[str(function.get("name")), str(key)] = schema.get("type") if isinstance(schema, Mapping) else None
    return lambda tool, parameter: types.get((tool, parameter))


# ── where a reply starts ────────────────────────────────────────────────────────────────────────────────────────────


class _Start(NamedTuple):
    """A possible start of a reply: first edge, offset of the first slot, and notes on deviations from the prompt."""

    edge: Edge
    at: int
    notes: tuple[str, ...] = ()


_RANKS = {"reasoning": 0, "content": 2, "end": 3}


def _starts(grammar: ReplyGrammar, whole: str, is_relaxed: bool) -> Iterator[_Start]:
    """Yields the possible starts of a reply: first those without notes, then a group for each kind of note.

    In each group, edges with longer literals come first.
    """
    prompt = grammar.prompt
    edges = sorted(
        grammar.edges.get("start", ()), key=lambda edge: (-len(edge.literal), edge.literal, _RANKS.get(edge.target, 1))
    )
    for edge in edges:
        if edge.target == "end":
            if len(whole) >= len(prompt) and edge.literal.startswith(whole) and whole != prompt:
                yield _Start(edge, len(whole))
        elif (match := edge.pattern(is_relaxed).match(whole)) and match.end() >= len(prompt):
            yield _Start(edge, match.end())
    opened = any(edge.target == "reasoning" and edge.literal.rstrip() == prompt.rstrip() for edge in edges)
    others = [edge for edge in edges if edge.target == "reasoning" or not opened]
    for edge in others:
        at = num_shared(prompt, edge.literal)
        for cut in range(at, -1, -1):
            rest = edge.literal[cut:]
            if cut < len(prompt) and whole.startswith(rest, len(prompt)) and rest:
                yield _Start(edge, len(prompt) + len(rest), (_NOT_RENDERED.format(prompt[cut:]),))
                break
            if cut < len(prompt) and prompt.endswith(rest) and len(prompt) > len(edge.literal):
                lost = prompt[cut : len(prompt) - len(rest)]
                yield _Start(edge, len(prompt), (_NOT_RENDERED.format(lost),))
                break
    for edge in others:
        if edge.literal.startswith(prompt) and edge.literal != prompt and edge.target == "content":
            yield _Start(edge, len(prompt), (_INSERTED.format(edge.literal[len(prompt) :]),))


# ── messages ────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Assembled(NamedTuple):
    reasoning: str | None
    content: str
    calls: list[dict[str, Any]]


def _assembled(reading: Reading) -> _Assembled | None:
    """Builds reasoning, content and calls from the slots of a reading; None if slots that must be equal differ."""
    texts: dict[str, str] = {}
    calls: list[dict[str, Any]] = []
    seen: set[str] = set()
    key = ""
    for part in reading:
        slot = part.edge.target
        name = slot.partition("#")[0]
        if name in ("reasoning", "content"):
            if texts.setdefault(name, part.raw) != part.raw:
                return None
        elif name in ("call", "calls"):
            calls += ({"arguments": {}, **call} for call in part.value)
            seen.clear()
        elif name == "key":
            if slot != name and part.value != key:
                return None
            key = part.value
        elif name.startswith("value"):
            if not calls or (slot == name and key in calls[-1]["arguments"]):
                return None
            if calls[-1]["arguments"].setdefault(key, part.value) != part.value:
                return None
        elif name != "end":
            if not seen or slot in seen:
                calls.append({"arguments": {}})
                seen.clear()
            seen.add(slot)
            if slot != name and calls[-1].get(name) != part.value:
                return None
            calls[-1][name] = part.value
    if any("name" not in call for call in calls):
        return None
    return _Assembled(texts.get("reasoning"), texts.get("content", ""), calls)


def _compared(grammar: ReplyGrammar, reading: Reading, rendering: str, is_relaxed: bool) -> list[str] | None:
    """Compares a rendering with a reading, slot by slot. Returns differences of form; None if the content differs."""
    notes = []
    at = 0
    for part in reading:
        match = part.edge.pattern(is_relaxed).match(rendering, at)
        if match is None:
            return None
        if is_relaxed and part.edge.pattern(False).match(rendering, at) is not None:
            notes.append(_SPACES)
        at = match.end()
        if part.edge.target == "end":
            continue
        if rendering.startswith(part.raw, at):
            at += len(part.raw)
        elif isinstance(part.value, str) and (match := _stripped(part.raw).match(rendering, at)):
            at = match.end()
            notes.append(_SPACES)
        elif isinstance(part.value, str):
            return None
        else:
            found = value_at(grammar, part.edge.target, rendering, at)
            if found is None or json.dumps(found[0], sort_keys=True) != json.dumps(part.value, sort_keys=True):
                return None
            at = found[1]
            notes.append(_JSON)
    return notes


def _stripped(text: str) -> re.Pattern[str]:
    """Returns a pattern that matches a text without regard to white space at its ends."""
    core = re.escape(text.strip())
    return re.compile(rf"\s*{core}\s*" if core else "")


def _left_over(grammar: ReplyGrammar, content: str, whole: str) -> str | None:
    """Returns a message if the content still has text by which the template begins reasoning or a call; else None."""
    for source, edges in grammar.edges.items():
        for edge in edges:
            if edge.target in ("content", "end") or source not in ("start", "content"):
                continue
            literal = edge.literal[len(grammar.prompt) :] if source == "start" else edge.literal
            mark = literal.strip().partition("\0")[0].strip()
            if len(mark) > 1 and mark in content:
                what = "reasoning" if edge.target == "reasoning" else "tool call"
                return f"the content has {mark!r}, but no {what} that the template writes"
    return None
