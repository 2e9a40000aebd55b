"""Checks that a rendering continues a previous one.

Finds the end of a sampled reply in the new rendering, or the reason why that rendering is no continuation. The end of a
reply is found by the origins of characters, without knowledge of any template's markers. If a stop token was sampled,
the reply ends where the template writes this token after the last character that comes from the reply's message. If no
stop token was sampled, the reply ends after this last character. If the model also sampled the beginning of the text
that the template writes next, the reply includes this beginning.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from itertools import accumulate
from typing import Any, NamedTuple

from .provenance import Origin
from .template import REASONING, RenderedRun
from .values import num_shared

__all__ = [
    "Located",
    "Rendering",
    "SampledReply",
    "describe_change",
    "describe_difference",
    "locate",
    "message_range",
    "quoted",
]

# Maximum number of characters that `_overlap` returns. The text that a template writes at the end of a reply is much
# shorter.
_OVERLAP = 500
_QUOTED = 40  # longer texts are cut to this number of characters when an error message quotes them


class Rendering(NamedTuple):
    """A rendered text and the runs of characters that it consists of."""

    text: str
    runs: list[RenderedRun]

    def after(self, start: int) -> Rendering:
        """Returns the part of the rendering from the character index `start` on."""
        runs, at = [], 0
        for run in self.runs:
            at += run.length
            if at > start:
                runs.append(run._replace(length=min(run.length, at - start)))
        return Rendering(self.text[start:], runs)

    def before(self, end: int) -> Rendering:
        """Returns the part of the rendering before the character index `end`."""
        runs, at = [], 0
        for run in self.runs:
            if at < end:
                runs.append(run._replace(length=min(run.length, end - at)))
            at += run.length
        return Rendering(self.text[:end], runs)

    def at(self, char: int) -> RenderedRun | None:
        """Returns the run that contains the character at an index; None beyond the end."""
        ends = list(accumulate(run.length for run in self.runs))
        number = bisect_right(ends, char)
        return self.runs[number] if number < len(ends) else None

    def is_template(self, start: int, end: int) -> bool:
        """Tests whether the template itself wrote a range of characters."""
        at = 0
        for run in self.runs:
            if at < end and start < at + run.length and run.origin.source != "template":
                return False
            at += run.length
        return True

    def template_end(self) -> int:
        """Returns the length of the template's own text with which the rendering begins."""
        at = 0
        for run in self.runs:
            if run.origin.source != "template":
                break
            at += run.length
        return at

    def find(self, text: str, start: int, end: int) -> int:
        """Returns the first index from `start` to `end` at which the template itself wrote `text`; else -1."""
        at = self.text.find(text, start, end)
        while at >= 0 and not self.is_template(at, at + len(text)):
            at = self.text.find(text, at + 1, end)
        return at


class SampledReply(NamedTuple):
    """The sampled text of a turn.

    Attributes:
        text: the text without the stop token.
        stop: spelling of the last id if it is an added token, such as ``<|im_end|>``; else empty.
        message: the message that is passed to the template.
        is_parsed: whether the caller gave the message; if not, its content is `text`.
        closing: the template's text that was appended after the reply.
    """

    text: str
    stop: str
    message: Mapping[str, Any]
    is_parsed: bool
    closing: str = ""


class Located(NamedTuple):
    """The end of a reply in a rendering.

    Attributes:
        end: end of the reply's text.
        tail: start of the text that follows the reply. If a stop token was sampled, this text starts after the stop
            token.
    """

    end: int
    tail: int


def locate(rendering: Rendering, message: int, start: int, reply: SampledReply) -> Located | str:
    """Finds the end of a reply in a rendering, or returns the reason why it cannot be found.

    Args:
        rendering: the rendering.
        message: index of the reply's message.
        start: first character of the reply.
        reply: the sampled text.
    """
    text = rendering.text
    last, following = message_range(rendering, message, start)
    end = start + len(reply.text)
    if end >= last and text.startswith(reply.text, start):  # the rendered reply is the sampled text
        if not reply.stop:
            return Located(end, end)
        if text.startswith(reply.stop, end) and rendering.is_template(end, end + len(reply.stop)):
            return Located(end, end + len(reply.stop))
    if reply.stop:
        end = rendering.find(reply.stop, last, following)
        if end < 0:
            return f"the reply ends with {reply.stop!r}, but the template writes {quoted(text[last:following])}"
        return Located(end, end + len(reply.stop))
    end = last + _overlap(reply.text, text[last:following])
    return Located(end, end)


def message_range(rendering: Rendering, message: int, start: int) -> tuple[int, int]:
    """Returns the end of a message's text in a rendering, and the start of the next message's text.

    Args:
        rendering: the rendering.
        message: index of the message.
        start: index of the first character of the message's turn. It is returned as the end of the message's text if
            the rendering has no text of the message.
    """
    last, following = start, len(rendering.text)
    at = 0
    # `is_over` becomes true when a later turn begins. Later turns can repeat a field of the message, such as the name
    # of the called function; these repetitions are ignored.
    is_over = False
    for run in rendering.runs:
        if at >= start:
            is_over = is_over or (run.turn is not None and run.turn > message)
            if run.origin.message is not None and run.origin.message > message:
                following = at
                break
        at += run.length
        if run.origin.message == message and not is_over:
            last = max(last, at)
    return last, following


def _overlap(text: str, following: str) -> int:
    """Returns the length of the longest suffix of `text` that is a prefix of `following`, at most `_OVERLAP`."""
    longest = min(len(text), len(following), _OVERLAP)
    return next((n for n in range(longest, 0, -1) if text.endswith(following[:n])), 0)


# ── what a template changes ─────────────────────────────────────────────────────────────────────────────────────────


def describe_change(
    rendering: Rendering, message: int, start: int, located: Located, reply: SampledReply, number: int
) -> str | None:
    """Returns a reason if the template omits or changes text of a reply, else None.

    The rendered reply must be the sampled text, apart from white space. If the caller gives the reply as a message, the
    caller guarantees that the message matches the ids. In this case, the template must write all fields of the message,
    and the rendered reply must begin and end like the sampled text. White space and the form of tool calls are allowed
    to differ.

    Args:
        rendering: the rendering.
        message: index of the reply's message in the rendering.
        start: first character of the reply.
        located: the end of the reply.
        reply: the sampled text and its message.
        number: index of the message in the conversation; the returned reason contains this number.
    """
    text = rendering.text
    written, sampled = text[start : located.end], reply.text
    if written == sampled or _dense(written) == _dense(sampled):
        return None
    if not reply.is_parsed:
        return _rewritten(number, sampled, written)
    fields: dict[str | None, str] = {}
    first = last = at = 0  # ends of the first and of the last run that come from the message
    for run in rendering.runs:
        if run.origin.message == message and start <= at < located.end:
            field = _field(run.origin)
            last = at + run.length
            first = first or last
            fields[field] = fields.get(field, "") + text[at:last]
        at += run.length
    for key, value in reply.message.items():
        field = "reasoning" if key in REASONING else key
        if field == "tool_calls":
            is_missing = any(f"tool_calls[{call}]" not in fields for call in range(len(value or ())))
        elif field in ("content", "reasoning"):
            is_missing = any(_dense(part) not in _dense(fields.get(field, "")) for part in _parts(value))
        else:
            continue
        if is_missing:
            return f"the template drops the {_name(field)} of message {number}, or writes it differently"
    if first and not _dense(sampled).startswith(_dense(text[start:first])):
        return _rewritten(number, sampled, written)
    if last and not _dense(sampled).endswith(_dense(text[last : located.end])):
        return _rewritten(number, sampled, written)
    return None


def _parts(value: Any) -> list[str]:
    """Returns the texts of a message's field, which is a text or a list of parts."""
    if isinstance(value, str):
        return [value]
    parts = value if isinstance(value, list | tuple) else []
    texts = (part.get("text") if isinstance(part, Mapping) else part for part in parts)
    return [text for text in texts if isinstance(text, str)]


def _rewritten(number: int, sampled: str, written: str) -> str:
    at = num_shared(sampled, written)
    sampled, written = quoted(sampled[at:]), quoted(written[at:])
    return f"the template rewrites the sampled text of message {number}: {sampled} becomes {written}"


def _dense(text: str) -> str:
    """Returns a text without its white space."""
    return "".join(text.split())


def describe_difference(old: Rendering, new: Rendering, at: int) -> str:
    """Describes the first difference between a rendering and the earlier rendering that it should continue.

    Args:
        old: the earlier rendering; its messages are numbered as in the conversation.
        new: the rendering, with its messages numbered in the same way.
        at: the first character that differs.
    """
    was, is_now = _origins(old, at), _origins(new, at)
    run = old.at(at)
    verb = "rewrites"
    what = "the end of the text" if run is None else _writer(run)
    if was and was[0] not in is_now[:1]:
        verb = "moves" if was[0] in is_now else "drops"
        what = _owner(was[0])
    return f"the template {verb} {what}, at character {at}: {quoted(old.text[at:])} becomes {quoted(new.text[at:])}"


def _origins(rendering: Rendering, start: int) -> list[Origin]:
    """Returns, in order, the origins of the messages' text and of the caller's text from the index `start` on.

    In each origin, `field` is the name returned by `_field`, and `generated` is false.
    """
    origins = []
    at = 0
    for run in rendering.runs:
        at += run.length
        if at > start and run.origin.source in ("message", "caller"):
            origins.append(run.origin._replace(generated=False, field=_field(run.origin)))
    return origins


def _writer(run: RenderedRun) -> str:
    """Returns a phrase for the author of a run of text."""
    if run.origin.source in ("message", "caller"):
        return _owner(run.origin)
    return "its own text" if run.turn is None else f"its own text in message {run.turn}"


def _owner(origin: Origin) -> str:
    """Returns a phrase that says where a text comes from: a field of a message, or a variable of the caller."""
    field = (_field(origin) or "").partition("[")[0]
    if origin.message is None:
        return f"the {_name(field)}" if field else "text of the caller"
    return f"the {_name(field)} of message {origin.message}" if field else f"message {origin.message}"


def _field(origin: Origin) -> str | None:
    """Returns the name of an origin's field, without a list index, except for tool calls.

    For each field with the reasoning of a message, such as ``thinking``, the returned name is ``reasoning``.
    """
    field = origin.field
    if field is None or field.startswith("tool_calls["):
        return field
    base = field.partition("[")[0]
    return "reasoning" if base in REASONING else base


def _name(field: str) -> str:
    return field.replace("_", " ")


def quoted(text: str) -> str:
    """Returns the beginning of a text, quoted for a message.

    Examples:
        >>> quoted("a" * 50)
        "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…'"
    """
    return repr(text if len(text) <= _QUOTED else text[:_QUOTED] + "…")
