"""Conversations → ids and loss mask, by the chat template of the plan.

A document of the corpus is a list of messages, as JSON. `Chat.reply_mask`, with the options of the plan, computes the
mask: 1 for each id that the model generates, unless an option leaves it out, and 0 for all other ids. A conversation is
a bad record if the template refuses it, or does not show which text is generated.

With ``packing="best_fit"``, conversations that are longer than a row are handled by one of these policies:

- ``"truncate"``: they end with the last reply that fits. This is the default, because the model sees each remaining
  reply with all of its context. A conversation whose first reply does not fit is dropped.
- ``"drop"``: they are left out.
- ``"split"``: they are split before messages of the user into parts that fit, each with the system messages. More
  replies remain for training, but replies in later parts lack the earlier context.
- ``"cut"``: their ids are cut into pieces; later pieces lack the earlier context.

Shortened conversations are rendered again, because a template can write the last turn differently from earlier ones.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core import TextColumn
from ..corpus import Batch, RangeReader
from ..errors import (
    ChatTemplateError,
    ConfigError,
    FormatError,
    InvalidTextError,
    JetonError,
    SpecialTokenError,
    keyword,
)
from ..tokenizer import Tokenizer
from ..util.arguments import choice
from .encoding import EncodedDocuments, Encoder, places_of
from .plan import LONG, MASK, TOO_LONG, Plan

__all__ = [
    "ConversationEncoder",
    "ConversationFitter",
    "chat_template",
    "conversation_options",
    "make_encoder",
    "mask_options",
]

REFUSED = "conversation that the template refuses"

Skip = Callable[[str, str, JetonError], None]


def chat_template(tok: Tokenizer) -> str:
    """Returns the chat template of a tokenizer, for a plan.

    Raises:
        ConfigError: the tokenizer has no chat template, or several.
        ChatTemplateError: the template is broken.
        MissingDependencyError: Jinja is not installed.
    """
    source = tok.definition.chat_template
    if not isinstance(source, str):
        many = "several" if source else "no"
        message = (
            f"{keyword('chat', True)} needs a chat template, and the tokenizer has {many}; "
            "tok.with_chat_template(…) sets one"
        )
        raise ConfigError(message)
    tok.with_chat_template(source)  # checks that the template renders
    return source


def conversation_options(
    source: str, packing: Mapping[str, Any] | None, too_long: str | None, mask: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """Returns a plan's entry ``conversations``; None if all options act as in older plans, which do not have it.

    Raises:
        ConfigError: an invalid option.
    """
    made: dict[str, Any] = {}
    is_fitted = packing is not None and packing["method"] == "best_fit"
    if too_long is not None:
        choice(too_long, "too_long", TOO_LONG)
        if not is_fitted and too_long != "cut":
            fitting = f"{keyword('pack')} and {keyword('packing', 'best_fit')}"
            raise ConfigError(
                f"{keyword('too_long', too_long)} applies to rows with whole conversations: pass {fitting}"
            )
    if is_fitted and too_long != "cut":
        made["too_long"] = too_long or TOO_LONG[0]
    changed = mask_options(source, mask or {})
    return {**made, "mask": changed} if changed else made or None


def mask_options(source: str, mask: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options of `Chat.reply_mask` that are not the defaults.

    Raises:
        ConfigError: an unknown option or value.
    """
    from ..chat import has_generation  # imported here because only plans with conversations need it

    if not isinstance(mask, Mapping):
        raise ConfigError(f"{keyword('mask')} must be a mapping with {', '.join(MASK)}", option="mask")
    for name, value in mask.items():
        if name not in MASK:
            raise ConfigError(f"{keyword('mask')} has no option {name!r}; options: {', '.join(MASK)}", option="mask")
        if not any(value is one or (isinstance(value, str) and value == one) for one in MASK[name]):
            some = ", ".join(map(repr, MASK[name]))
            raise ConfigError(f"{name} of {keyword('mask')} is {value!r:.60}, expected one of {some}", option="mask")
    if mask.get("source") == "markers" and not has_generation(source):
        raise ConfigError(
            "the mask needs a template with markers, but the tokenizer's has no {% generation %} … {% endgeneration %}",
            option="mask",
        )
    return {name: value for name, value in mask.items() if value != MASK[name][0]}


class ConversationFitter:
    """Renders conversations; shortens or splits a conversation that is longer than a row.

    Attributes:
        long: counts of conversations that are longer than a row: ``too_long`` (all), ``truncated``, ``split``,
            ``dropped``; and ``replies_dropped``, the number of assistant messages that these conversations lost.
    """

    def __init__(self, tok: Tokenizer, template: str | None, length: int | None, policy: str | None) -> None:
        """`length`: number of ids in a row, None for no limit. `policy`: one of `TOO_LONG` except ``"cut"``."""
        self._tok, self._template, self._length, self._policy = tok, template, length, policy
        self.long: Counter[str] = Counter(dict.fromkeys(LONG, 0))

    def chats(self, messages: Any) -> list[Any]:
        """Renders a conversation: one chat or, if it is longer than a row, the chats that the policy makes of it."""
        if not isinstance(messages, list) or (messages and isinstance(messages[0], list)):
            raise ConfigError("a conversation is a list of messages", option="messages")
        chat = self._chat(messages)
        if self._length is None or len(chat.ids) <= self._length:
            return [chat]
        self.long["too_long"] += 1
        made: list[Any] = []
        kept = 0  # number of replies that are kept
        if self._policy == "truncate":
            end = self._fitting(messages, _reply_ends(messages, 0))
            made = [messages[:end]] if end else []
        elif self._policy == "split":
            made = self._split(messages)
        chats = [self._chat(one) for one in made]
        kept = sum(_num_replies(one) for one in made)
        self.long["replies_dropped"] += _num_replies(messages) - kept
        self.long["dropped" if not made else "truncated" if len(made) == 1 else "split"] += 1
        return chats

    def _chat(self, messages: Sequence[Any]) -> Any:
        return self._tok.chat(messages, template=self._template, special="none")

    def _fits(self, messages: Sequence[Any]) -> bool:
        try:
            return len(self._chat(messages).ids) <= (self._length or 0)
        except ChatTemplateError:
            return False  # the template refuses a conversation that ends with the last of `messages`

    def _fitting(self, messages: Sequence[Any], ends: Sequence[int], lead: Sequence[Any] = (), start: int = 0) -> int:
        """Finds by bisection the last end in `ends` up to which the messages fit in a row; returns 0 if none fits."""
        low, high, found = 0, len(ends) - 1, 0
        while low <= high:
            middle = (low + high) // 2
            if self._fits([*lead, *messages[start : ends[middle]]]):
                found, low = ends[middle], middle + 1
            else:
                high = middle - 1
        return found

    def _split(self, messages: Sequence[Any]) -> list[list[Any]]:
        """Splits a conversation into parts that fit into a row; each starts with the system messages."""
        first = next((at for at, one in enumerate(messages) if _role(one) in ("user", "assistant")), len(messages))
        lead = list(messages[:first])
        starts = [at for at in range(first, len(messages)) if at == first or _role(messages[at]) == "user"]
        stops = [*starts[1:], len(messages)]
        made, number = [], 0
        while number < len(starts):
            start = starts[number]
            end = self._fitting(messages, stops[number:], lead, start)
            if not end:  # a single exchange is too long: keep it up to the last reply that fits
                end = self._fitting(messages, _reply_ends(messages[: stops[number]], start), lead, start)
                number += 1
            else:
                number = stops.index(end) + 1
            if end and _num_replies(messages[start:end]):
                made.append([*lead, *messages[start:end]])
        return made


class ConversationEncoder(Encoder):
    """Encoder of one task, whose documents are conversations."""

    def __init__(self, tok: Tokenizer, plan: Plan, skip: Skip) -> None:
        """`skip`: called with the kind, place and error of a bad record; it can raise an exception to stop."""
        super().__init__(tok, plan)
        self._policy, self._skip = plan.reading["errors"], skip
        options = plan.conversations or {}
        self._mask = dict(options.get("mask", {}))
        policy = options.get("too_long")
        length = plan.packing["length"] if plan.packing is not None and policy else None
        self._fitter, self._is_fitted = ConversationFitter(tok, plan.chat, length, policy), length is not None

    def encode(self, batch: Batch) -> EncodedDocuments:
        """Encodes a batch.

        Raises:
            FormatError: the template refuses a conversation, under ``errors="strict"``.
        """
        ids: list[NDArray[Any]] = [np.empty(0, self._dtype)]
        masks: list[NDArray[np.uint8]] = [np.empty(0, np.uint8)]
        numbers = np.zeros(len(batch), np.int64)  # number of documents made from each conversation
        sizes = np.zeros(len(batch), np.int64)
        num_empty = 0
        for index, data in enumerate(batch.texts):
            try:
                found = self._fitter.chats(json.loads(data))
                marked = [chat.reply_mask(**self._mask) for chat in found]
            except (ChatTemplateError, ConfigError, InvalidTextError, SpecialTokenError) as error:
                self._refuse(batch, index, error)
                continue
            for chat, mask in zip(found, marked, strict=True):
                if not chat.ids:
                    num_empty += 1
                    continue
                numbers[index] += 1
                ids.append(np.array(chat.ids, self._dtype))
                masks.append(np.array(mask, np.uint8))
                sizes[index] += len(chat.text.encode())
        self._count_special([TextColumn(list(compress(batch.texts, numbers > 0)))])
        lengths = np.fromiter(map(len, ids[1:]), np.int64, len(ids) - 1)
        joined = np.concatenate(ids)
        self.highest = max(self.highest, int(joined.max()) if len(joined) else -1)
        self._count(batch, lengths, numbers, int(sizes.sum()))
        self.empty += num_empty
        ends = np.cumsum([0, *(len(chunk.texts) for chunk in batch.chunks)])
        num_bytes = np.diff(np.cumsum(np.append(0, sizes))[ends]).tolist()
        return EncodedDocuments(joined, lengths, places_of(batch, numbers), np.concatenate(masks), num_bytes)

    @property
    def totals(self) -> dict[str, Any]:
        """Entries for the completion file: counts of conversations that were too long."""
        return {"conversations": dict(self._fitter.long)} if self._is_fitted else {}

    def _refuse(self, batch: Batch, index: int, error: JetonError) -> None:
        """Skips a conversation, or raises an error under ``errors="strict"``."""
        if self._policy != "skip":
            source = batch.source(index)
            raise FormatError(f"{source}: {error}", format="messages", place=source) from None
        file, number = batch.place(index)  # `number` counts from the start of the task's range
        self._skip(REFUSED, file if number is None else f"{file}:{number}", error)


def _role(message: Any) -> Any:
    return message.get("role") if isinstance(message, Mapping) else None


def _reply_ends(messages: Sequence[Any], start: int) -> list[int]:
    """Returns the index after each of the assistant's messages."""
    return [at + 1 for at in range(start, len(messages)) if _role(messages[at]) == "assistant"]


def _num_replies(messages: Sequence[Any]) -> int:
    return len(_reply_ends(messages, 0))


def make_encoder(tok: Tokenizer, plan: Plan, reader: RangeReader) -> Encoder:
    """Returns the encoder of a task. `reader` reads the documents of this task."""
    return Encoder(tok, plan) if plan.chat is None else ConversationEncoder(tok, plan, reader.skip)
