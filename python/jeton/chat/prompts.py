"""Renders the prompts of two requests, for their comparison by `chat_diff`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ..errors import ChatTemplateError, ConfigError, JetonError
from .clock import clock
from .requests import ChatRequest, with_text_arguments
from .template import is_refusal

if TYPE_CHECKING:
    from . import Chat

__all__ = ["PromptTokenizer", "Prompts", "Side"]


class PromptTokenizer(Protocol):
    """The part of a tokenizer's interface that comparing prompts needs."""

    @property
    def special_tokens(self) -> Mapping[str, int]: ...  # noqa: D102
    @property
    def chat(self) -> Callable[..., Any]: ...  # noqa: D102


class Side(NamedTuple):
    """One of the two requests that are compared, and the time that its rendering uses as the current time."""

    request: ChatRequest
    date: datetime

    def with_messages(self, messages: Sequence[dict[str, Any]]) -> Side:
        """Returns this side with other messages in its request."""
        return self._replace(request=self.request._replace(messages=list(messages)))


class Prompts:
    """Renders requests. It passes arguments of tool calls as objects, or as text if the template fails on objects."""

    def __init__(self, tok: PromptTokenizer, options: dict[str, Any], variables: Mapping[str, Any]) -> None:
        self.tok, self.options, self.variables = tok, options, variables
        self.has_text_arguments = False

    def both(self, sides: Sequence[Side]) -> list[Chat]:
        """Renders both requests.

        Raises:
            ChatTemplateError: the template fails or refuses a request; the message begins with "A: " or "B: ".
        """
        failed: ChatTemplateError | None = None
        for self.has_text_arguments in (False, True):
            try:
                return [self._named(name, side) for name, side in zip("AB", sides, strict=True)]
            except ChatTemplateError as error:
                failed = failed or error
                if is_refusal(error):
                    break
        raise failed or RuntimeError("two prompts neither rendered nor failed")

    def _named(self, name: str, side: Side) -> Chat:
        try:
            return self(side)
        except JetonError as error:
            error.prefix(f"{name}: ")
            raise

    def __call__(self, side: Side, **options: Any) -> Chat:
        """Renders a request; `options` override the options of the comparison."""
        request = side.request
        messages = with_text_arguments(request.messages) if self.has_text_arguments else request.messages
        given = {
            "tools": request.tools,
            "variables": {**self.variables, **request.variables},
            "add_generation_prompt": request.add_generation_prompt,
            **self.options,
            **options,
        }
        with clock(side.date):
            chat: Chat = self.tok.chat(messages, **given)
        return chat

    def text(self, side: Side, **options: Any) -> str | None:
        """Returns the text of a rendered request; None if the template refuses it."""
        with suppress(ChatTemplateError, ConfigError):
            return str(self(side, tokenize=False, **options))
        return None
