"""Conversations → ids and loss mask, by the chat template of the plan.

A document of the corpus is a list of messages, as JSON. Text in the template's ``{% generation %}`` blocks has the mask
1, all else 0. A conversation that the template refuses is a bad record.
"""

from __future__ import annotations

import json
from collections.abc import Callable
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
from .encoding import EncodedDocuments, Encoder, places_of
from .plan import Plan

__all__ = ["ConversationEncoder", "chat_template", "make_encoder"]

REFUSED = "conversation that the template refuses"

Skip = Callable[[str, str, JetonError], None]


def chat_template(tok: Tokenizer) -> str:
    """The chat template of a tokenizer, for a plan.

    Raises:
        ConfigError: it has none, several, or one without a loss mask.
        ChatTemplateError: it is broken.
        MissingDependencyError: Jinja is not installed.
    """
    from ..chat import has_generation  # here, because plans without conversations do not need it

    source = tok.definition.chat_template
    if not isinstance(source, str):
        many = "several" if source else "no"
        message = (
            f"{keyword('chat', True)} needs a chat template, and the tokenizer has {many}; "
            "tok.with_chat_template(…) sets one"
        )
        raise ConfigError(message)
    if not has_generation(source):
        message = (
            f"{keyword('chat', True)} needs a template that marks what the model generates by {{% generation %}} … "
            "{% endgeneration %}, and that of the tokenizer does not; add the marks, and set it by "
            "tok.with_chat_template(…)"
        )
        raise ConfigError(message)
    tok.with_chat_template(source)  # checks that it renders
    return source


class ConversationEncoder(Encoder):
    """Encoder of one task, whose documents are conversations."""

    def __init__(self, tok: Tokenizer, plan: Plan, skip: Skip) -> None:
        """`skip`: called with kind, place and error of a bad record; may raise."""
        super().__init__(tok, plan)
        self._template, self._policy, self._skip = plan.chat, plan.reading["errors"], skip

    def encode(self, batch: Batch) -> EncodedDocuments:
        """Encodes a batch.

        Raises:
            FormatError: a conversation that the template refuses, under ``errors="strict"``.
        """
        ids: list[NDArray[Any]] = [np.empty(0, self._dtype)]
        masks: list[NDArray[np.uint8]] = [np.empty(0, np.uint8)]
        kept = np.zeros(len(batch), np.bool_)
        sizes = np.zeros(len(batch), np.int64)
        num_empty = 0
        for index, data in enumerate(batch.texts):
            try:
                chat = self._tok.chat(json.loads(data), template=self._template, special="none")
                mask = chat.mask
            except (ChatTemplateError, ConfigError, InvalidTextError, SpecialTokenError) as error:
                self._refuse(batch, index, error)
                continue
            if not chat.ids:
                num_empty += 1
                continue
            kept[index] = True
            ids.append(np.array(chat.ids, self._dtype))
            masks.append(np.array(mask, np.uint8))
            sizes[index] = len(chat.text.encode())
        self._count_special([TextColumn(list(compress(batch.texts, kept)))])
        lengths = np.fromiter(map(len, ids[1:]), np.int64, len(ids) - 1)
        before = self.num_bytes, self.empty
        joined = np.concatenate(ids)
        self.highest = max(self.highest, int(joined.max()) if len(joined) else -1)
        self._count(batch, lengths, kept)
        self.num_bytes, self.empty = before[0] + int(sizes.sum()), before[1] + num_empty
        ends = np.cumsum([0, *(len(chunk.texts) for chunk in batch.chunks)])
        num_bytes = np.diff(np.cumsum(np.append(0, sizes))[ends]).tolist()
        return EncodedDocuments(joined, lengths, places_of(batch, kept), np.concatenate(masks), num_bytes)

    def _refuse(self, batch: Batch, index: int, error: JetonError) -> None:
        """Skips a conversation, or raises."""
        if self._policy != "skip":
            source = batch.source(index)
            raise FormatError(f"{source}: {error}", format="messages", place=source) from None
        file, number = batch.place(index)  # as skipped lines are named: relative to the range
        self._skip(REFUSED, file if number is None else f"{file}:{number}", error)


def make_encoder(tok: Tokenizer, plan: Plan, reader: RangeReader) -> Encoder:
    """The encoder of a task whose documents `reader` reads."""
    return Encoder(tok, plan) if plan.chat is None else ConversationEncoder(tok, plan, reader.skip)
