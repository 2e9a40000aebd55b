"""Prefilled replies: a rendering is cut off within its last message, and the model continues this message.

The origins of the characters show where the message's text ends. (``apply_chat_template(continue_final_message=…)`` in
transformers 5 inserts a mark to find this end.) The result equals that of transformers, or is an error. One difference:
if the template strips white space from the end of the text, and then writes a space after the text, the stripped white
space is not restored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import ChatTemplateError, ConfigError, keyword
from .template import REASONING, RenderedRun

__all__ = ["continued"]


def continued(
    text: str, pieces: list[RenderedRun], message: Mapping[str, Any], index: int, field: str
) -> tuple[str, list[RenderedRun]]:
    """Cuts a rendering off after the text of one field of its last message.

    Args:
        text, pieces: the rendering.
        message: the last message.
        index: its index.
        field: key of the text, for example ``"content"`` or ``"reasoning_content"``. If the value is a list of parts,
            the text of its last text part is continued.

    Raises:
        ConfigError: the message has no such text.
        ChatTemplateError: the template changes the text, omits it, or writes other text of the message after it.
    """
    names = {*REASONING} if field in REASONING else {field}
    value = message.get(field)
    if isinstance(value, list | tuple):
        texts = [(at, part["text"]) for at, part in enumerate(value) if isinstance(part, Mapping) and "text" in part]
        at, value = texts[-1] if texts else (0, None)
        names = {f"{field}[{at}]"}
    if not isinstance(value, str) or not value.strip():
        raise ConfigError(
            f"the last message has no {field!r} to continue; {keyword('add_generation_prompt', True)} begins a reply",
            option="continue_final_message",
        )
    own = [at for at, piece in enumerate(pieces) if piece.origin.source == "message" and piece.origin.message == index]
    last = own[-1] if own else 0
    end = sum(piece.length for piece in pieces[: last + 1])
    if not own or pieces[last].origin.field not in names or not text[:end].rstrip().endswith(value.strip()):
        raise ChatTemplateError(
            f"the chat template does not write the {field!r} of the last message unchanged at its end, so the "
            f"reply cannot be continued; render with {keyword('add_generation_prompt', True)} and append the "
            "text"
        )
    return text[:end], pieces[: last + 1]
