"""Replies: the text of a chat that the model generates, derived from renderings of its template.

The origin of each character is known. In assistant message i the model generates the text

- from the end of the generation prompt, which ends the rendering of the messages before i;
- to the end of the stop token that ends the turn, wherever the template writes this token.

**Start.** The template's text before the first character of message i is compared with the end of the generation
prompt. The reply begins after the prompt. If the header of earlier turns differs from the prompt, the reply begins
after the text that header and prompt have in common. If the header equals the prompt of another mode of the template
(``enable_thinking``), the prompt of this mode is used.

**End.** The messages up to i are rendered with and without generation prompt. The text that the template writes after
message i in both renderings closes the turn. The last special token of this closing text is the stop token. (Special
tokens that also occur between two tool calls do not count.) If the template writes no closing text, the first special
token of the next turn is the stop token. Exception: the first special token of the generation prompt does not count.

The derivation depends on no marker or name of a particular template. If the renderings do not show which text of a turn
is generated, an error states the reason. Results are cached by the template's text around a message, so the number of
renderings grows with the variety of turns, not with the length of the conversation.

Left out: reasoning inside a message's content (``<think>…</think>``) is not told apart from the content.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from ..errors import ChatTemplateError
from ..util.lazy import cached_property
from .template import REASONING, RenderedRun, render, variables_of
from .values import num_shared

__all__ = ["RenderedMessages", "ReplySpans", "Span", "find_replies", "traced"]

Span = tuple[int, int]  # half-open range of characters
# JSON values in the template's text. Cache keys ignore them, so turns that differ only in such values share a key.
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?|true|false|null")


@dataclass(frozen=True)
class RenderedMessages:
    """The arguments of a rendering, which are used to render the first messages of the conversation again.

    Attributes:
        source: source of the template.
        messages: the messages, as `template.given_messages` returns them.
        variables: the caller's variables, tools included.
        own: the tokenizer's variables, and ``add_generation_prompt``.
        controls: spellings of the special tokens.
    """

    source: str
    messages: Sequence[Mapping[str, Any]]
    variables: Mapping[str, Any]
    own: Mapping[str, Any]
    controls: tuple[str, ...]


class ReplySpans(NamedTuple):
    """Text that the model generates in one assistant message. Spans are half-open ranges of characters, in order.

    Attributes:
        message: index of the message.
        spans: the text that the model generates, stop tokens included; one range, or several if the template prints
            results of tools between the message's calls.
        reasoning: the ranges of reasoning in `spans`, with the template's text that begins and ends it.
        stops: the ranges of stop tokens in `spans`; empty if the text ends before a stop token.
    """

    message: int
    spans: tuple[Span, ...]
    reasoning: tuple[Span, ...]
    stops: tuple[Span, ...]


class _Mark(NamedTuple):
    """A *mark*: a run of text that comes from a message or a variable, not from the template."""

    start: int
    end: int
    message: int | None
    field: str | None

    @property
    def base(self) -> str:
        """The name of the field, without the index of a list."""
        return (self.field or "").partition("[")[0]


class _Text(NamedTuple):
    """A rendered text, with its runs that come from messages or variables.

    Attributes:
        text: the text.
        marks: the runs that the template itself did not write, in order.
        edges: for each expression or literal of the template, the end of the text that it printed.
    """

    text: str
    marks: list[_Mark]
    edges: list[int]

    def of(self, mark: _Mark) -> str:
        return self.text[mark.start : mark.end]

    def gap(self, index: int) -> Span:
        """Returns the range of the template's text before a mark; for index ``len(marks)``, after the last mark."""
        start = self.marks[index - 1].end if index else 0
        return start, self.marks[index].start if index < len(self.marks) else len(self.text)

    def own(self, message: int) -> list[int]:
        """Returns the indices of the marks that come from a message."""
        return [index for index, mark in enumerate(self.marks) if mark.message == message]


def traced(text: str, pieces: Iterable[RenderedRun]) -> _Text:
    """Collects the runs of a rendering that the template did not write. Roles are treated as text of the template."""
    marks: list[_Mark] = []
    edges: list[int] = []
    at = 0
    for piece in pieces:
        start, at = at, at + piece.length
        edges.append(at)
        origin = piece.origin
        if origin.source == "template" or origin.field == "role":
            continue
        last = marks[-1] if marks else None
        if last and last.end == start and (last.message, last.field) == (origin.message, origin.field):
            marks[-1] = last._replace(end=at)
        else:
            marks.append(_Mark(start, at, origin.message, origin.field))
    return _Text(text, marks, edges)


def find_replies(chat: RenderedMessages, text: str, pieces: Sequence[RenderedRun]) -> list[ReplySpans]:
    """Derives the text that the model generates in each assistant message.

    Args:
        chat: arguments of the rendering.
        text, pieces: result of the rendering.

    Returns:
        A `ReplySpans` for each assistant message in the text, in order.

    Raises:
        ChatTemplateError: the renderings do not prove which text is generated; the error names the message and reason.
    """
    return list(_Derivation(chat, traced(text, pieces)).replies())


class _Closing(NamedTuple):
    """The template's text that closes the turn of a message, found in renderings that end with this message.

    Attributes:
        text: the text that is common to the renderings with and without generation prompt.
        tokens: the special tokens of `text`, without those that also occur inside of a turn.
        inner: the special tokens that occur inside of a turn, between tool calls.
        is_plain: True if `text` only ends the turn. False if `text` follows a tool call: `text` can then also end the
            tool call.
        lead: the text that the template would write before the content of the message. Empty unless the message has
            no text.
    """

    text: str = ""
    tokens: tuple[str, ...] = ()
    inner: frozenset[str] = frozenset()
    is_plain: bool = True
    lead: str = ""


class _End(NamedTuple):
    """A run of consecutive marks of one message, and the template's text that closes the turn.

    Attributes:
        row: the position of each of these marks in the list of the message's marks.
        closing: the text that closes the turn.
    """

    row: tuple[int, ...]
    closing: _Closing


class _Derivation:
    def __init__(self, chat: RenderedMessages, whole: _Text) -> None:
        self._chat, self._whole = chat, whole
        spellings = sorted(filter(None, chat.controls), key=len, reverse=True)
        self._special = re.compile("|".join(map(re.escape, spellings)) or "(?!)")
        self._tails: dict[Any, str] = {}  # context of a reply -> text after the last mark of the reply's prompt
        self._modes: dict[str, str] = {}
        self._ends: dict[Any, list[_End]] = {}
        self._own: dict[int, list[int]] = {}
        for index, mark in enumerate(whole.marks):
            if mark.message is not None:
                self._own.setdefault(mark.message, []).append(index)

    # ── renderings ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _render(
        self,
        messages: Sequence[Mapping[str, Any]],
        prompt: bool,
        variables: Mapping[str, Any] | None = None,
    ) -> _Text | ChatTemplateError:
        chat = self._chat
        own = {**chat.own, "add_generation_prompt": prompt}
        try:
            return traced(*render(chat.source, messages, {**chat.variables, **(variables or {})}, own, chat.controls))
        except ChatTemplateError as error:
            return error

    def _specials(self, text: str) -> list[re.Match[str]]:
        return list(self._special.finditer(text))

    # ── replies ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def replies(self) -> Iterator[ReplySpans]:
        messages = self._chat.messages
        said = [index for index, facts in enumerate(messages) if facts["role"] == "assistant" and _has_text(facts)]
        if said and not any(index in self._own for index in said):
            for index in said:
                self._check_omitted(index)
            raise ChatTemplateError("the chat template does not render the assistant's messages, so there is no mask")
        roles = [facts["role"] for facts in messages]
        if "assistant" not in roles and any(_has_reply_fields(facts) for facts in messages):
            raise ChatTemplateError(
                f"no message has the role 'assistant', so there is no reply to mark (roles: {roles})"
            )
        end = 0
        for message, facts in enumerate(messages):
            if facts["role"] != "assistant":
                continue
            own = self._own.get(message, [])
            if not own and _has_text(facts):
                self._check_omitted(message)
            reply = self._reply(message, own)
            if reply is None:
                continue
            if reply.spans[0][0] < end:
                raise self._unproven(message, "it would begin before the end of the message before")
            end = reply.spans[-1][1]
            yield reply

    def _check_omitted(self, message: int) -> None:
        """Raises an error if the template computes a text from several messages.

        This method is called for a message without marks: the content of the message could be in the computed text.
        """
        if any(mark.message is None and mark.field is None for mark in self._whole.marks):
            raise ChatTemplateError(
                f"the chat template computes text from several messages, so message {message} cannot be "
                "located in it and there is no mask"
            )

    def _reply(self, message: int, own: list[int]) -> ReplySpans | None:
        whole = self._whole
        first = own[0] if own else self._following(message)
        if not own and first < len(whole.marks) and whole.marks[first].message is None:
            return None
        start = self._start(message, first, bool(own))
        if start is None:
            return None
        ends = self._ends_of(message, own, start)
        spans: list[Span] = []
        stops: list[Span] = []
        kept: list[_Mark] = []
        for numbers, closing in ends:
            row = [own[number] for number in numbers]
            begin = start if not spans else whole.marks[row[0]].start
            last = max(begin, whole.marks[row[-1]].end) if row else begin
            index = row[-1] + 1 if row else bisect_left(whole.marks, (begin,))
            if not row and whole.text.startswith(closing.lead, at := whole.gap(index)[0]):
                last = max(begin, at + len(closing.lead))
            elif not row and not closing.tokens:
                return None  # the message has no text, and the template's text has no stop token
            stop = self._stop(last, whole.text[last : max(last, whole.gap(index)[1])], closing)
            for low, high in self._stops_between(row, whole.text[last + stop[0] : last + stop[1]]):
                spans.append((begin, low[1]))
                stops.append(low)
                begin = high
            spans.append((begin, last + stop[1]))
            if stop[0] < stop[1]:
                stops.append((last + stop[0], last + stop[1]))
            kept += [whole.marks[mark] for mark in row]
        if not spans or all(begin == end for begin, end in spans):
            return None
        return ReplySpans(message, tuple(spans), self._reasoning(message, kept, spans, stops), tuple(stops))

    def _stops_between(self, row: Sequence[int], token: str) -> Iterator[tuple[Span, int]]:
        """Yields the range of each stop token between two marks of `row`, and the end of the header after the token.

        A header is text that the template writes before a reply. A stop token without a header after it is left out.
        """
        for index in row[1:] if token else ():
            begin, end = self._whole.gap(index)
            between = self._whole.text[begin:end]
            at = between.find(token)
            header = self._late_header(begin, between, at + len(token)) if at >= 0 else None
            if header:
                yield (begin + at, begin + at + len(token)), begin + header

    def _following(self, message: int) -> int:
        """For a message without marks, returns the index of the first mark of the later messages."""
        marks = self._whole.marks
        before = max((own[-1] for index, own in self._own.items() if index < message), default=-1)
        later = (at for at in range(before + 1, len(marks)) if marks[at].message is not None)
        return next(later, len(marks))

    # ── start ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _start(self, message: int, first: int, has_text: bool) -> int | None:
        """Returns the index of the first character that the model generates.

        Args:
            message: index of the message.
            first: index of the message's first mark. If the message has no mark, this is the index of the first mark
                after the message.
            has_text: whether the message has a mark.
        """
        whole = self._whole
        begin, end = whole.gap(first)
        between = whole.text[begin:end]
        anchor = whole.marks[first - 1] if first else None
        own = whole.marks[first].base if has_text else None
        key = between, self._place(anchor), own
        tail = self._tails.get(key)
        if tail is None:
            prompt = self._render(self._chat.messages[:message], True)
            if isinstance(prompt, ChatTemplateError):
                return self._after_header(message, between, begin, prompt)
            last = prompt.marks[-1] if prompt.marks else None
            if self._place(last) != self._place(anchor) or (
                anchor and last and (whole.of(anchor) != prompt.of(last) or last.message != anchor.message)
            ):
                if whole.text.startswith(prompt.text):
                    return len(prompt.text)
                if not has_text:
                    return None
                raise self._unproven(message, "the text before it differs from the prompt of the preceding messages")
            tail = self._tails[key] = prompt.text[prompt.gap(len(prompt.marks))[0] :]
        if len(tail) > len(between) and whole.text.startswith(tail, begin):
            return begin + len(tail)  # the last part of the prompt is also the start of the message's own text
        length = self._header(message, first, tail, has_text)
        if length is None and not has_text:
            return None
        if length is None:
            raise self._unproven(
                message, f"the text before it, {between!r:.80}, does not begin with the end of the prompt, {tail!r:.80}"
            )
        return begin + length

    def _place(self, mark: _Mark | None) -> tuple[str, str] | None:
        """Returns the role and the field of a mark."""
        if mark is None:
            return None
        role = "" if mark.message is None else str(self._chat.messages[mark.message]["role"])
        return role, mark.base

    def _header(self, message: int, first: int, tail: str, has_text: bool) -> int | None:
        """Returns the length of the header before a reply, or None if the length is unknown.

        A header is text that the template writes both before a reply and at the end of the generation prompt.

        Args:
            message: index of the message.
            first: index of the message's first mark. If the message has no mark, this is the index of the first mark
                after the message.
            tail: the end of the generation prompt: the template's text after the last mark of the prompt.
            has_text: whether the message has a mark.
        """
        begin, end = self._whole.gap(first)
        between = self._whole.text[begin:end]
        if between.startswith(tail):
            # Some templates write a generation prompt only after messages of other roles.
            late = self._late_header(begin, between, len(tail)) if has_text else None
            follows_reply = message > 0 and self._chat.messages[message - 1]["role"] == "assistant"
            if late is None and follows_reply and not self._added and between[len(tail) :].strip():
                raise self._unproven(
                    message, f"it follows a reply, and no prompt contains {between[len(tail) :]!r:.80}"
                )
            return late or len(tail)
        if not has_text and not self._specials(between):
            return None
        if has_text and self._whole.marks[first].base == "name":
            raise self._unproven(message, "its header has the name of the message, which the prompt cannot have")
        shared = num_shared(between, tail)
        if has_text and shared == len(between):
            return shared  # the prompt continues with text that the template leaves out of earlier turns
        overlap = self._overlap(between, tail)
        if self._specials(between[:overlap]):
            return overlap  # `between` lacks some text that the prompt has before the header, such as an instruction
        shared = self._edge(begin, shared)
        overlap = self._overlap(between[shared:], tail[shared:])
        if shared and between[shared : shared + overlap].strip():
            return shared + overlap  # `between` lacks some text that the prompt has inside the header, such as a tag
        mode = self._modes.get(between)
        if mode is None:
            mode = self._modes[between] = self._mode(message, between)
        if len(mode) > shared:
            return len(mode)
        if has_text and (late := self._late_header(begin, between, 0)):
            return late
        if self._added and shared <= num_shared(tail[: len(tail) - len(self._added)], between):
            return None
        return shared

    @staticmethod
    def _overlap(text: str, tail: str) -> int:
        """Returns the length of the longest prefix of `text` that is a suffix of `tail`."""
        most = min(len(text), len(tail))
        return next((length for length in range(most, 0, -1) if tail.endswith(text[:length])), 0)

    def _late_header(self, begin: int, between: str, after: int) -> int | None:
        """Returns the end of the last header before a reply; None if there is none.

        A header is text of the template that begins like the generation prompt; it ends at the first difference from
        that prompt.
        """
        opening = next(iter(self._specials(self._added)), None)
        needed = self._added[: opening.end()] if opening else self._added
        at = between.rfind(needed, after) if needed.strip() else -1
        if at < 0:
            return None
        length = self._edge(begin + at, num_shared(between[at:], self._added))
        # It is not enough if only the opening token matches, because this token can begin a turn of any role.
        is_header = length > len(needed) or length == len(self._added) or (opening and opening[0] not in self._preamble)
        return at + length if is_header else None

    @cached_property
    def _preamble(self) -> str:
        """The template's text before the first user message."""
        users = (mark.start for mark in self._whole.marks if self._place(mark) == ("user", mark.base))
        return self._whole.text[: next(users, 0)]

    def _edge(self, begin: int, length: int) -> int:
        """Shortens the range of `length` characters from `begin` until it ends at a possible cut; returns the length.

        A cut is possible at the end of an expression of the template, a special token, a word or a space.
        """
        text, cut = self._whole.text, begin + length
        for match in self._special.finditer(text, begin):
            if match.start() >= cut:
                break
            if match.end() > cut:
                cut = match.start()
        ends = [match.end() for match in self._special.finditer(text, begin, cut)]
        ends += self._whole.edges[bisect_left(self._whole.edges, begin) : bisect_right(self._whole.edges, cut)]
        if cut < len(text) and text[cut - 1].isalnum() and not text[cut].isalnum():
            ends.append(cut)
        ends.append(begin + next((at for at in range(cut - begin, 0, -1) if text[begin + at - 1].isspace()), 0))
        return max((end - begin for end in ends if begin <= end <= cut), default=0)

    def _mode(self, message: int, between: str) -> str:
        """Finds another prompt of the template that fits `between`, the template's text before a message.

        The prompts are rendered with other values of the template's boolean variables.

        Returns:
            The end of a prompt: the template's text after the last mark of the prompt. `between` begins with this
            text. If several prompts qualify, the longest text is returned; if no prompt qualifies, an empty text.
        """
        chat = self._chat
        found = ""
        for name in sorted(variables_of(chat.source) - {"messages", "tools", "documents", *chat.own}):
            for value in (False, True):
                if chat.variables.get(name) is value:
                    continue
                prompt = self._render(chat.messages[:message], True, {name: value})
                if isinstance(prompt, _Text):
                    tail = prompt.text[prompt.gap(len(prompt.marks))[0] :]
                    if between.startswith(tail) and len(tail) > len(found):
                        found = tail
        return found

    def _after_header(self, message: int, between: str, begin: int, error: ChatTemplateError) -> int:
        """Returns the start of a reply if the messages before the reply cannot be rendered with a prompt.

        The start is the end of the header in `between`, the template's text before the reply. The header is the text
        of a generation prompt after a user's message. An error is raised if `between` does not have exactly one header.
        """
        header = self._added
        if header and between.count(header) == 1:
            return begin + between.index(header) + len(header)
        raise self._unproven(message, f"the preceding messages do not render to a prompt: {error}")

    @cached_property
    def _added(self) -> str:
        """Text that ``add_generation_prompt`` appends after a user's message; empty if it also changes other text."""
        messages = self._chat.messages
        users = (index for index, facts in enumerate(messages) if facts["role"] == "user")
        num = next((index + 1 for index in users if messages[index + 1 : index + 2]), len(messages))
        with_prompt, without = (self._render(messages[:num], prompt) for prompt in (True, False))
        if isinstance(with_prompt, _Text) and isinstance(without, _Text) and with_prompt.text.startswith(without.text):
            return with_prompt.text[len(without.text) :]
        return ""

    @cached_property
    def _openings(self) -> frozenset[str]:
        """Special tokens that begin a turn: the first one of the generation prompt, and one that begins the chat."""
        bos = self._chat.own.get("bos_token")
        match = self._special.match(self._whole.text[: self._whole.gap(0)[1]].removeprefix(bos or "").lstrip())
        return frozenset(token for token in (match and match[0], self._opening) if token is not None)

    @cached_property
    def _opening(self) -> str | None:
        """The first special token of the generation prompt."""
        return next((match[0] for match in self._specials(self._added)), None)

    def _unproven(self, message: int, reason: str) -> ChatTemplateError:
        return ChatTemplateError(
            f"the chat template does not show where the model's text begins in message {message}: {reason}; "
            "mark it with {% generation %} … {% endgeneration %}"
        )

    # ── end ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _ends_of(self, message: int, own: list[int], start: int) -> list[_End]:
        """Groups a message's marks into runs of consecutive marks; leaves out marks that only repeat generated text."""
        whole = self._whole
        shape: list[Any] = []
        for at, index in enumerate(own):
            begin, end = whole.gap(index)
            is_next = at > 0 and own[at - 1] == index - 1
            shape.append((_NUMBER.sub("0", whole.text[begin:end]) if is_next else None, whole.marks[index].field))
        last = own[-1] + 1 if own else bisect_left(whole.marks, (start,))
        begin, end = whole.gap(last)
        key = *shape, whole.text[max(begin, start) : end], last < len(whole.marks)
        ends = self._ends.get(key)
        if ends is None:
            ends = self._ends[key] = self._match(message, own)
        return ends

    def _match(self, message: int, own: list[int]) -> list[_End]:
        whole = self._whole
        before, facts = self._chat.messages[:message], self._chat.messages[message]
        if not own:
            return [_End((), self._closing_of(before, {"role": facts["role"], "content": "x"}))]
        number_of = {index: number for number, index in enumerate(own)}
        both = self._both([*before, facts])
        plain = both[0]
        if isinstance(plain, ChatTemplateError):
            # The template refuses a chat that ends here. The first special token after the text is the stop token.
            return [_End(tuple(map(number_of.__getitem__, row)), _Closing()) for row in _rows(own)]
        mine = plain.own(message)
        pairs = dict(
            _pairs([whole.marks[index] for index in own], whole, [plain.marks[index] for index in mine], plain)
        )
        if not pairs:
            raise ChatTemplateError(
                f"the chat template renders message {message} differently if it is the last one, so there is no mask"
            )
        kept: list[int] = []
        said: set[tuple[str | None, str]] = set()
        closings: dict[int, _Closing] = {}
        closing = None
        for at, index in enumerate(own):
            fact = whole.marks[index].field, whole.of(whole.marks[index])
            if kept and kept[-1] != index - 1 and fact in said:
                continue  # a copy: after other messages, the template repeats a text of this message
            said.add(fact)
            if at in pairs:
                is_last = at + 1 not in pairs or own[at + 1] != index + 1
                closing = self._shared([*before, facts], message, mine[pairs[at]], both) if is_last else None
            elif closing is None or kept[-1] != index - 1:
                continue
            else:
                begin, end = whole.gap(index)
                if whole.text.startswith(closing.text, begin, end):
                    continue  # the turn has ended: this mark is only a copy, such as a tool's name before the result
            kept.append(index)
            closings[index] = closing or _Closing()
        return [_End(tuple(map(number_of.__getitem__, row)), closings[row[-1]]) for row in _rows(kept)]

    def _both(self, messages: Sequence[Any]) -> list[Any]:
        """Returns the renderings without and with generation prompt; if one is an error, it is last."""
        both = [self._render(messages, prompt) for prompt in (False, True)]
        return sorted(both, key=lambda one: isinstance(one, ChatTemplateError))

    def _closing_of(self, before: Sequence[Any], facts: Mapping[str, Any]) -> _Closing:
        both = self._both([*before, facts])
        plain = both[0]
        own = [] if isinstance(plain, ChatTemplateError) else plain.own(len(before))
        if not own:
            return _Closing()
        begin, end = plain.gap(own[0])
        return self._shared([*before, facts], len(before), own[-1], both)._replace(lead=plain.text[begin:end])

    def _shared(self, messages: Sequence[Any], message: int, mark: int, both: Sequence[Any]) -> _Closing:
        """Returns the template's text that closes the turn after a mark of the last message.

        Args:
            messages: the messages.
            message: index of the last message.
            mark: index of the mark among the marks of ``both[0]``.
            both: the renderings with and without generation prompt. Only the second rendering can be an error.
        """
        plain = both[0]
        behind = sum(one.message == message for one in plain.marks[mark + 1 :])
        texts = [
            one
            for one in (self._behind(one, message, behind, plain.of(plain.marks[mark])) for one in both)
            if one is not None
        ]
        if len(set(texts)) == 1 and len(self._specials(texts[0])) > 1:
            # Perhaps the template writes a generation prompt at the end even if none is requested. So the text is also
            # rendered before another message, where no generation prompt is written.
            other = self._render([*messages, {"role": "user", "content": "x"}], False)
            after = self._behind(other, message, behind, plain.of(plain.marks[mark]))
            texts += [] if after is None else [after]
        closing = _shared_prefix(texts) if texts else ""
        specials = self._specials(texts[0]) if texts else []
        tokens = [match for match in specials if match.end() <= len(closing)]
        while tokens and tokens[-1][0] in self._openings:
            closing = closing[: tokens.pop().start()]
        cut = next((match.start() for match in specials if match.start() < len(closing) < match.end()), None)
        closing = closing if cut is None else closing[:cut]
        inner: frozenset[str] = frozenset()
        if tokens and plain.marks[mark].base == "tool_calls":
            inner = self._inner(messages, message)
        kept = tuple(match[0] for match in tokens if match[0] not in inner)
        return _Closing(closing, kept, inner, plain.marks[mark].base != "tool_calls")

    @staticmethod
    def _behind(one: _Text | ChatTemplateError, message: int, behind: int, text: str) -> str | None:
        """Returns the text that the template writes after one mark of a message.

        `behind` identifies the mark: it is the number of later marks of the same message. The result is None if the
        message has too few marks or if the text of the mark is not `text`.
        """
        if isinstance(one, ChatTemplateError):
            return None
        own = one.own(message)
        if len(own) <= behind or one.of(one.marks[own[-1 - behind]]).strip() != text.strip():
            return None
        begin, end = one.gap(own[-1 - behind] + 1)
        return one.text[begin:end]

    def _inner(self, messages: Sequence[Any], message: int) -> frozenset[str]:
        """Returns the special tokens between two tool calls, from a rendering that repeats the message's last call."""
        facts = messages[message]
        calls = facts.get("tool_calls")
        if not isinstance(calls, list) or not calls:
            return frozenset()
        more = {**facts, "tool_calls": [*calls, calls[-1]]}
        twice = self._render([*messages[:message], more], False)
        if isinstance(twice, ChatTemplateError):
            return frozenset()
        fields = [mark.field for mark in twice.marks if mark.message == message]
        marks = [mark for mark in twice.marks if mark.message == message]
        last = f"tool_calls[{len(calls)}]"
        at = next((index for index, field in enumerate(fields) if field == last), 0)
        if not at:
            return frozenset()
        between = twice.text[marks[at - 1].end : marks[at].start]
        return frozenset(match[0] for match in self._specials(between))

    def _stop(self, last: int, after: str, closing: _Closing) -> Span:
        """Returns the range of the stop token after a reply; an empty range at the reply's end if there is none.

        Args:
            last: index of the end of the reply's text.
            after: the template's text from `last` on.
            closing: the template's text after the reply at the end of a conversation.
        """
        found = self._specials(after)
        shared = num_shared(closing.text, after)
        if closing.tokens:
            match = next((one for one in found if one[0] == closing.tokens[-1]), None)
            if match is not None:
                return match.span()
        if closing.text.strip() and closing.text in after:
            shared = after.index(closing.text) + len(closing.text)
        cut = next((match.start() for match in found if match.start() < shared < match.end()), shared)
        match = next((one for one in found if one.start() >= cut and one[0] not in closing.inner), None)
        if match is not None and not after[cut : match.start()].strip() and match[0] != self._opening:
            return match.span()
        cut = self._edge(last, cut)
        return (0 if closing.is_plain else cut, cut)

    # ── reasoning ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _reasoning(
        self, message: int, marks: list[_Mark], spans: Sequence[Span], stops: Sequence[Span]
    ) -> tuple[Span, ...]:
        found: list[Span] = []
        for index, mark in enumerate(marks):
            if mark.base not in REASONING:
                continue
            begin = spans[0][0] if not index else mark.start
            following = marks[index + 1] if index + 1 < len(marks) else None
            if following is not None and following.base in ("content", *REASONING):
                end = following.start
            else:
                limit = following.start if following else next((at for at, _ in stops if at >= mark.end), spans[-1][1])
                end = mark.end + self._ended(message, self._whole.text[mark.end : limit])
            if found and found[-1][1] >= begin:
                found[-1] = (found[-1][0], end)
            else:
                found.append((begin, end))
        return tuple(found)

    def _ended(self, message: int, after: str) -> int:
        """Returns the length of the prefix of `after` that closes the reasoning.

        The message is also rendered with a short content after the reasoning. The prefix is the text that `after` has
        in common with the template's text between this reasoning and content.
        """
        facts = {key: value for key, value in self._chat.messages[message].items() if key != "tool_calls"}
        made = self._render([*self._chat.messages[:message], {**facts, "content": "x"}], False)
        if isinstance(made, ChatTemplateError):
            return 0
        own = made.own(message)
        for before, index in pairwise(own):
            if made.marks[before].base in REASONING and made.marks[index].base == "content":
                return num_shared(after, made.text[made.marks[before].end : made.marks[index].start])
        return 0


def _shared_prefix(texts: Sequence[str]) -> str:
    """Returns the longest common prefix of texts."""
    low, high = min(texts), max(texts)
    return low[: num_shared(low, high)]


def _rows(indices: Sequence[int]) -> Iterator[list[int]]:
    """Splits ascending indices into lists of consecutive ones: 1, 2, 5 → [1, 2], [5]."""
    row: list[int] = []
    for index in indices:
        if row and index != row[-1] + 1:
            yield row
            row = []
        row.append(index)
    if row:
        yield row


def _pairs(ours: Sequence[_Mark], whole: _Text, theirs: Sequence[_Mark], plain: _Text) -> Iterator[tuple[int, int]]:
    """Pairs a message's marks in two renderings: one of the whole conversation, and one that ends with this message.

    The pairs are in order. If a mark occurs in only one of the two renderings, it is not paired. For example, reasoning
    can be missing from the whole conversation. The copy of a tool's name before the tool's result is missing from the
    rendering that ends with this message.
    """
    by_field: dict[str | None, list[int]] = {}
    for index, mark in enumerate(theirs):
        by_field.setdefault(mark.field, []).append(index)
    at = 0
    for index, mark in enumerate(ours):
        text = whole.of(mark)
        later = by_field.get(mark.field, [])
        later = later[bisect_left(later, at) :]
        found = next((one for one in later if plain.of(theirs[one]) == text), None)
        if found is None:  # one of the two renderings may have stripped the text
            found = next((one for one in later if plain.of(theirs[one]).strip() == text.strip()), None)
        if found is not None:
            yield index, found
            at = found + 1


def _has_text(facts: Mapping[str, Any]) -> bool:
    """Tests whether an assistant's message has content, calls or reasoning."""
    return any(facts.get(name) for name in ("content", "tool_calls", *REASONING))


def _has_reply_fields(facts: Mapping[str, Any]) -> bool:
    return any(name in facts for name in ("tool_calls", *REASONING))
