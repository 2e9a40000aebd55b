"""`chat_diff`: finds the first id in which two chats differ, the author of its text, and the cause.

A prompt cache can reuse the ids before the first one that differs. The rendering records the author of each character
(`provenance`). The cause is a change of the request, which is found by substitution: the first request is rendered
again, each time with one of the changes that lead to the second request. If the new rendering first differs from the
original one at the character where the two chats differ, the change is the cause. The search does not depend on the
spellings of any particular template.

Left out: differences after the first one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ..errors import JetonError
from ..util.arguments import wrong
from ..util.messages import translate
from .authors import author, message_name, run_at
from .clock import now
from .prompts import Prompts, PromptTokenizer, Side
from .provenance import Origin
from .requests import read_request
from .template import RenderedRun
from .values import difference_of_tools, difference_of_values, dumped, first_difference, skipped

if TYPE_CHECKING:
    from ..tokens.special import Special
    from . import Chat

__all__ = ["ChatDifference", "chat_diff"]


@dataclass(frozen=True, slots=True)
class ChatDifference:
    """The first difference of two chats, A and B. `str` returns a report.

    Attributes:
        kind: ``"same"``; ``"continues"`` if one begins with all ids of the other; else the kind of change: ``"tool"``,
            ``"tools"``, ``"system"``, ``"message"``, ``"inserted"``, ``"removed"``, ``"history"`` (the template writes
            earlier messages differently because of later ones), ``"generation prompt"``, ``"variable"``, ``"date"``,
            ``"special token"``, or ``"unknown"``.
        cause: a sentence that describes the cause.
        position: index of the first id that differs, which is also the number of equal ids before it; None if no id
            differs, that is for ``"same"`` and ``"continues"``.
        lengths: number of ids of A and of B.
        char: index of the first character that differs, in the rendered texts; None if the texts are the same.
        authors: phrases for the author of this character in A and in B.
        origins: the origin of this character in A and in B, from the renderings; None at the end of a text.
        excerpts: the text of A and of B from this character on, at most 24 characters.

    Examples:
        >>> import jeton
        >>> tok = jeton.train(["hi there"], 260, special_tokens=["<|im_start|>", "<|im_end|>"], progress=False)
        >>> one = {"system": "Today is 2026-11-26.", "messages": [{"role": "user", "content": "hi"}]}
        >>> two = {**one, "system": "Today is 2026-11-27."}
        >>> found = jeton.chat_diff(tok.with_chat_template("chatml"), one, two)
        >>> found.kind, found.cause
        ('system', "system message: differs at character 18: '2026-11-26.' / '2026-11-27.' (a date)")
    """

    kind: str
    cause: str
    position: int | None
    lengths: tuple[int, int]
    char: int | None
    authors: tuple[str, str]
    origins: tuple[Origin | None, Origin | None]
    excerpts: tuple[str, str]

    @property
    def shared(self) -> int:
        """Length of the common prefix of the two chats, in ids."""
        return min(self.lengths) if self.position is None else self.position

    def to_json(self) -> dict[str, Any]:
        """Returns the difference as a JSON object."""
        sides = zip(self.lengths, self.authors, self.origins, self.excerpts, strict=True)
        return {
            "kind": self.kind,
            "cause": self.cause,
            "position": self.position,
            "shared": self.shared,
            "char": self.char,
            **{
                name: {
                    "ids": length,
                    "shared_percent": _percent(self.shared, length),
                    "author": words,
                    "origin": None if origin is None else origin._asdict(),
                    "text": text,
                }
                for name, (length, words, origin, text) in zip("ab", sides, strict=True)
            },
        }

    def __str__(self) -> str:
        first, second = self.lengths
        lines = [
            translate(
                "shared   {shared} ids: {first}% of the {length} of A, {second}% of the {other} of B",
                shared=f"{self.shared:,}",
                first=_percent(self.shared, first),
                length=f"{first:,}",
                second=_percent(self.shared, second),
                other=f"{second:,}",
            )
        ]
        if self.position is not None:
            place = translate("differs  at id {position}", position=f"{self.position:,}")
            if self.char is not None:
                place = translate(
                    "differs  at id {position}, character {char}", position=f"{self.position:,}", char=f"{self.char:,}"
                )
            words = " / ".join(map(repr, self.excerpts))
            lines.append(translate("{place}: {words}", place=place, words=words))
            one, two = self.authors
            words = one if one == two else translate("A: {one}; B: {two}", one=one, two=two)
            lines.append(translate("written  by {author}", author=words))
        return "\n".join([*lines, translate("cause    {cause}", cause=self.cause)])


def _percent(number: int, whole: int) -> float:
    return round(100 * number / whole, 1) if whole else 100.0


def chat_diff(
    tok: PromptTokenizer,
    a: Any,
    b: Any,
    *,
    template: str | None = None,
    special: Special | None = None,
    variables: Mapping[str, Any] | None = None,
    dates: tuple[datetime, datetime] | None = None,
) -> ChatDifference:
    """Compares the prompts of two requests: finds where a cached prefix ends, and why.

    Args:
        tok: the tokenizer of the model.
        a, b: lists of messages, or requests: of OpenAI's chat completions or responses, or of Anthropic's messages.
            As in servers, text blocks of a content are joined by line feeds, and arguments of tool calls are passed to
            the template as objects. `ChatRequest` has the details.
        template, special: as in `Tokenizer.chat`.
        variables: variables of the template for both requests; a request's own variables override them.
        dates: the times of the two requests, for templates that write the date; None is the current time.

    Raises:
        ConfigError: `a` or `b` is neither a list of messages nor a request.
        UnsupportedFeatureError: a content or a tool cannot be expressed in a chat template. The error names its place.
        ChatTemplateError: as `Tokenizer.chat`. The error names the request.

    Examples:
        >>> import jeton
        >>> tok = jeton.train(["hi there"], 260, special_tokens=["<|im_start|>", "<|im_end|>"], progress=False)
        >>> messages = [{"role": "user", "content": "hi"}]
        >>> print(jeton.chat_diff(tok, messages, [*messages, {"role": "user", "content": "there"}], template="chatml"))
        shared   10 ids: 50.0% of the 20 of A, 32.3% of the 31 of B
        differs  at id 10, character 42: 'assistant\\n' / 'user\\nthere<|im_end|>\\n<|i'
        written  by A: the generation prompt; B: the template, around message 1 (user)
        cause    message 1 (user) was added
    """
    if not callable(getattr(tok, "chat", None)):
        raise wrong("tok", tok, "a Tokenizer")
    if variables is not None and not isinstance(variables, Mapping):
        raise wrong("variables", variables, "a mapping of names")
    if dates is None:
        dates = (now(),) * 2
    elif not isinstance(dates, tuple | list) or [isinstance(date, datetime) for date in dates] != [True, True]:
        raise wrong("dates", dates, "two datetimes")
    prompts = Prompts(tok, {"template": template, "special": special}, variables or {})
    sides = []
    for name, given, date in zip("AB", (a, b), dates, strict=True):
        try:
            sides.append(Side(read_request(given), date))
        except JetonError as error:
            error.prefix(f"{name}: ")
            raise
    chats = prompts.both(sides)
    return _Comparison(prompts, sides, chats).result()


def _tool_index(runs: Sequence[RenderedRun | None]) -> int | None:
    """Returns the index of the tool that the text of a run comes from; None if no run comes from a tool."""
    fields = [run.origin.field or "" for run in runs if run is not None and run.origin.message is None]
    return next((int(field[6:-1]) for field in fields if field.startswith("tools[")), None)


# ── the comparison ──────────────────────────────────────────────────────────────────────────────────────────────────


class _Comparison:
    """Two rendered requests, and the search for the cause of their difference."""

    def __init__(self, prompts: Prompts, sides: Sequence[Side], chats: Sequence[Chat]) -> None:
        self.prompts = prompts
        self.a, self.b = sides
        self.chats = chats
        self.texts = [chat.text for chat in chats]
        self.first = first_difference(*(chat.ids for chat in chats))
        self.char = first_difference(*self.texts)
        self.in_prompt = [False, False]
        self.roles = [[message["role"] for message in side.request.messages] for side in sides]

    def result(self) -> ChatDifference:
        lengths = (len(self.chats[0].ids), len(self.chats[1].ids))
        if self.first is None:
            same = translate("the ids are the same")
            return ChatDifference("same", same, None, lengths, self.char, ("", ""), (None, None), ("", ""))
        if self.first == min(lengths):
            words = [translate("B continues A"), translate("A continues B")][lengths[0] > lengths[1]]
            cause = translate("{words}: all ids of the shorter prompt are shared", words=words)
            return ChatDifference("continues", cause, None, lengths, self.char, ("", ""), (None, None), ("", ""))
        char, is_same_text = self._place()
        runs = [run_at(chat.pieces, char) for chat in self.chats]
        origins = [None if run is None else run.origin for run in runs]
        authors = [author(run, roles) for run, roles in zip(runs, self.roles, strict=True)]
        self.in_prompt = [
            run is not None and self._is_prompt(side, text, char)
            for run, side, text in zip(runs, (self.a, self.b), self.texts, strict=True)
        ]
        words = translate("the generation prompt")
        authors = [words if is_prompt else each for is_prompt, each in zip(self.in_prompt, authors, strict=True)]
        kind, cause = self._special(char) if is_same_text else self._cause(runs, authors, char)
        if kind == "date":
            authors = [translate("the template, by the date")] * 2
        excerpts = tuple(text[char : char + 24] for text in self.texts)
        return ChatDifference(
            kind,
            cause,
            self.first,
            lengths,
            None if is_same_text else char,
            (authors[0], authors[1]),
            (origins[0], origins[1]),
            (excerpts[0], excerpts[1]),
        )

    def _place(self) -> tuple[int, bool]:
        """Returns the first character that differs, and False.

        If only the ids differ, returns the first character of the first id that differs, and True.
        """
        first = self.first or 0
        spans = [tuple(chat._char_spans()[first]) for chat in self.chats]
        char = self.char
        is_same = spans[0] == spans[1] and (char is None or char >= max(end for _, end in spans))
        if is_same and {int(chat.ids[first]) for chat in self.chats} & {*self.prompts.tok.special_tokens.values()}:
            return int(spans[0][0]), True
        return (int(spans[0][0]), True) if char is None else (char, False)

    def _is_prompt(self, side: Side, text: str, char: int) -> bool:
        """Tests whether a character is in the generation prompt, at the end of the text."""
        if not side.request.add_generation_prompt:
            return False
        without = self.prompts.text(side, add_generation_prompt=False)
        return without is not None and char >= len(without) and text.startswith(without)

    def _special(self, char: int) -> tuple[str, str]:
        """Returns the kind and the cause of a difference between a special token and text with the same spelling."""
        first = self.first or 0
        spelling = {id: token for token, id in self.prompts.tok.special_tokens.items()}
        tokens = [spelling.get(chat.ids[first]) for chat in self.chats]
        token = tokens[0] or tokens[1] or self.texts[0][char : char + 24]
        written = []
        for name, each, chat, roles in zip("AB", tokens, self.chats, self.roles, strict=True):
            words = author(run_at(chat.pieces, char), roles)
            kind = translate("special token") if each else translate("text")
            written.append(translate("{side}: {kind}, by {author}", side=name, kind=kind, author=words))
        cause = translate(
            "same text, other ids: {token} at character {char} ({one}; {two})",
            token=repr(token),
            char=char,
            one=written[0],
            two=written[1],
        )
        return "special token", cause

    # ── causes ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _cause(self, runs: Sequence[RenderedRun | None], authors: Sequence[str], char: int) -> tuple[str, str]:
        """Tries the changes in turn; returns the kind and the cause of the first one that explains the difference.

        A change explains the difference if A's text with this change first differs from A's text at the same character
        as B's text does.
        """
        for side, words in self._changes(runs):
            text = self.prompts.text(side)
            if text is not None and first_difference(self.texts[0], text) == self.char:
                return words()
        cause = translate(
            "no single change of the request explains it: {one} in A, {two} in B", one=authors[0], two=authors[1]
        )
        return "unknown", cause

    def _changes(self, runs: Sequence[RenderedRun | None]) -> Iterator[tuple[Side, Callable[[], tuple[str, str]]]]:
        """Yields variants of A's request, each with one of the changes that lead to B's request.

        Each variant comes with a function that returns the kind and the cause of its change. Likely changes come first.
        """
        a, b = self.a, self.b
        if a.date != b.date:
            words = translate(
                "the template writes the date: {one} / {two}",
                one=f"{a.date:%Y-%m-%d %H:%M:%S}",
                two=f"{b.date:%Y-%m-%d %H:%M:%S}",
            )
            yield a._replace(date=b.date), lambda: ("date", words)
        yield from self._changed_variables()
        if (tools := b.request.tools) != a.request.tools or dumped(tools) != dumped(a.request.tools):
            changed = a._replace(request=a.request._replace(tools=tools))
            yield changed, lambda: difference_of_tools(a.request.tools or [], tools or [], _tool_index(runs))
        if a.request.add_generation_prompt != b.request.add_generation_prompt:
            request = a.request._replace(add_generation_prompt=b.request.add_generation_prompt)
            yield a._replace(request=request), lambda: ("generation prompt", translate("only one has it"))
        yield from self._changed_messages(runs)

    def _changed_variables(self) -> Iterator[tuple[Side, Callable[[], tuple[str, str]]]]:
        one, two = self.a.request.variables, self.b.request.variables
        for name in dict.fromkeys((*one, *two)):
            if dumped(one.get(name)) == dumped(two.get(name)) and (name in one) == (name in two):
                continue
            rest = {other: value for other, value in one.items() if other != name}
            changed = {**rest, name: two[name]} if name in two else rest
            words = difference_of_values(one.get(name), two.get(name))
            cause = translate("variable {name}: {words}", name=name, words=words)
            side = self.a._replace(request=self.a.request._replace(variables=changed))
            yield side, lambda cause=cause: ("variable", cause)  # type: ignore[misc]

    def _changed_messages(
        self, runs: Sequence[RenderedRun | None]
    ) -> Iterator[tuple[Side, Callable[[], tuple[str, str]]]]:
        one, two = self.a.request.messages, self.b.request.messages
        names = [[*map(dumped, messages)] for messages in (one, two)]
        start = first_difference(*names)
        if start is None:
            return
        end = 0  # number of equal messages at the end of both requests
        while end < min(len(one), len(two)) - start and names[0][-1 - end] == names[1][-1 - end]:
            end += 1
        middles = [names[0][start : len(one) - end], names[1][start : len(two) - end]]
        added = skipped(middles[0], middles[1])
        removed = skipped(middles[1], middles[0])
        if added:
            made = [*one[:start], *two[start : start + added], *one[start:]]
            yield self.a.with_messages(made), lambda: self._moved(made, start, added, runs)
        if removed:
            left = [*one[:start], *one[start + removed :]]
            yield self.a.with_messages(left), lambda: self._moved(left, start, -removed, runs)
        for index in range(start, start + min(map(len, middles))):
            if names[0][index] != names[1][index]:
                changed = [*one[:index], two[index], *one[index + 1 :]]
                yield self.a.with_messages(changed), lambda index=index: self._changed(index, runs)  # type: ignore[misc]
        # Try all remaining changes at once, because the template may refuse each of them alone.
        yield self.a.with_messages(two), lambda: self._replaced(start, added, removed, runs)

    def _replaced(self, start: int, added: int, removed: int, runs: Sequence[RenderedRun | None]) -> tuple[str, str]:
        if added or removed:
            return self._moved(self.b.request.messages, start, added or -removed, runs)
        return self._changed(start, runs)

    def _changed(self, index: int, runs: Sequence[RenderedRun | None]) -> tuple[str, str]:
        """Returns the kind and the cause of the difference if the requests' messages at `index` differ."""
        if (rewritten := self._rewritten(index, runs)) is not None:
            cause = translate("{what}, because message {number} differs", what=rewritten, number=index)
            return "history", cause
        one, two = self.a.request.messages[index], self.b.request.messages[index]
        role = one["role"]
        if role != two["role"]:
            words = translate("role {one} / {two}", one=role, two=two["role"])
            return "message", translate("{place}: {words}", place=self._name(0, index), words=words)
        fields = [name for name in dict.fromkeys((*one, *two)) if dumped(one.get(name)) != dumped(two.get(name))]
        written = [run.origin.field or "" for run in runs if run is not None and run.origin.message == index]
        field = next((name for name in fields if any(each.partition("[")[0] == name for each in written)), fields[0])
        words = difference_of_values(one.get(field), two.get(field), "" if field == "content" else field)
        if role in ("system", "developer") and field == "content":
            return "system", translate("system message: {words}", words=words)
        return "message", translate("{place}: {words}", place=self._name(0, index), words=words)

    def _moved(
        self, messages: Sequence[Mapping[str, Any]], start: int, number: int, runs: Sequence[RenderedRun | None]
    ) -> tuple[str, str]:
        """Returns the kind and the cause of the difference if messages were inserted or removed at `start`.

        Args:
            messages: the messages that contain the inserted or removed ones.
            start: index of the first inserted or removed message.
            number: number of inserted messages; for removed messages, minus their number.
            runs: the runs at which the renderings differ.
        """
        side, index = (1, start) if number > 0 else (0, start)
        if (rewritten := self._rewritten(start, runs)) is not None:
            last = self._first_cause(start) if number > 0 else start
            what = "{what}, because {message} is added" if number > 0 else "{what}, because {message} is removed"
            return "history", translate(what, what=rewritten, message=self._name(side, last))
        name = self._name(side, index)
        if number > 0 and self.in_prompt[0] and messages[start]["role"] == "assistant":
            return "generation prompt", translate(
                "{message} of B, the reply, does not begin with the generation prompt of A", message=name
            )
        is_end = start in (len(self.a.request.messages), len(self.b.request.messages))
        kind = "inserted" if number > 0 else "removed"
        if number < 0:
            words = "{message} was removed" if number == -1 else "{number} messages were removed: {message} and later"
        elif is_end:
            words = "{message} was added" if number == 1 else "{number} messages were added: {message} and later"
        else:
            words = "{message} was inserted" if number == 1 else "{number} messages were inserted: {message} and later"
        return kind, translate(words, number=abs(number), message=name)

    def _first_cause(self, start: int) -> int:
        """Finds, by bisection, the first added message that makes the template write the history differently."""
        messages = self.b.request.messages
        low, high = start, len(messages) - 1
        while low < high:
            middle = (low + high) // 2
            text = self.prompts.text(self.a.with_messages(messages[: middle + 1]))
            if text is not None and first_difference(self.texts[0], text) == self.char:
                high = middle
            else:
                low = middle + 1
        return low

    def _rewritten(self, start: int, runs: Sequence[RenderedRun | None]) -> str | None:
        """Describes the first message before `start` that both requests have, but that the template writes differently.

        Returns None if the renderings do not differ in such a message.
        """
        turns = [
            run.turn
            for run, in_prompt in zip(runs, self.in_prompt, strict=True)
            if run is not None and run.turn is not None and run.turn < start and not in_prompt
        ]
        if not turns:
            return None
        message = min(turns)
        fields = [
            {run.origin.field for run in chat.pieces if run.origin.message == message and run.origin.field is not None}
            for chat in self.chats
        ]
        name = self._name(0, message)
        for less, more in ((1, 0), (0, 1)):
            if missing := sorted(fields[more] - fields[less]):
                what = "the template adds {field} of {message}" if more else "the template drops {field} of {message}"
                return translate(what, field=", ".join(missing), message=name)
        return translate("the template writes {message} differently", message=name)

    def _name(self, side: int, index: int) -> str:
        request = (self.a, self.b)[side].request
        return message_name(index, request.messages[index]["role"], request.paths[index])
