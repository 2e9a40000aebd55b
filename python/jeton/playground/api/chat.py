"""``chat``: messages rendered by a chat template, with the origin of each token.

A tokenizer without a chat template can use one of Jeton's if it has the special tokens for it. The response lists the
missing ones for each template.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from itertools import accumulate
from typing import Any

from ...chat import PRESETS, Chat, templates
from ...errors import ChatTemplateError, ConfigError
from ...tokenizer import Tokenizer
from ..catalog import Catalog
from . import request_fields

__all__ = ["MAX_CHARS", "answer"]

MAX_CHARS = 1_000_000
MAX_MESSAGES = 1_000
MAX_DRAWN = 20_000


def answer(catalog: Catalog, request: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the drawing of the chat, or only the templates to choose from if none is usable.

    Examples:
        >>> catalog = Catalog(cached=False)
        >>> messages = [{"role": "user", "content": "hi<|im_end|>"}]
        >>> facts = answer(catalog, {"tokenizer": "lessons", "messages": messages, "template": "chatml"})
        >>> facts["text"], [(spelled["message"], spelled["token"]) for spelled in facts["spelled"]]
        ('<|im_start|>user\\nhi<|im_end|><|im_end|>\\n', [(0, '<|im_end|>')])
        >>> [choice["id"] for choice in answer(catalog, {"tokenizer": "bytes", "messages": messages})["choices"]][:2]
        ['chatml', 'llama3']
    """
    tok = catalog.get(request_fields.text(request, "tokenizer"))
    messages = _messages(request)
    wanted = request_fields.text(request, "template", "")
    choices = _choices(tok)
    chosen = next((choice for choice in choices if choice["id"] == wanted), None)
    if chosen is None:  # not given, or a template of another tokenizer
        chosen = next((choice for choice in choices if not choice["missing"]), None)
    facts: dict[str, Any] = {
        "choices": choices,
        "chosen": chosen and chosen["id"],
        "source": chosen and chosen["source"],
    }
    if chosen is None or chosen["missing"]:
        return facts
    special = request_fields.flag(request, "special")
    chat = tok.chat(
        messages,
        template=chosen["id"],
        add_generation_prompt=request_fields.flag(request, "add_generation_prompt"),
        special="all" if special else "none",
    )
    drawing = chat.encoding.drawing()
    return {
        **facts,
        "text": chat.text,
        "drawing": drawing.head(MAX_DRAWN).to_json(),
        "num_tokens": len(chat.ids),
        "num_bytes": drawing.text_bytes,
        "num_chars": drawing.text_chars,
        "turns": [{"message": turn.message, "role": turn.role, "rows": turn.token_spans} for turn in chat.turns],
        "contents": _contents(chat),
        "generated": _num_generated(chat),
        "spelled": [] if special else _spelled(tok, chat),
    }


def _num_generated(chat: Chat) -> int | None:
    """Number of ids that the model generates; None if the template does not show it."""
    try:
        return sum(chat.mask)
    except ChatTemplateError:
        return None


def _messages(request: Mapping[str, Any]) -> list[Any]:
    messages = request.get("messages")
    if not isinstance(messages, list) or not messages:
        raise ConfigError('the request lacks "messages", a list of at least one', option="messages")
    if len(messages) > MAX_MESSAGES:
        raise ConfigError(f"{len(messages):,} messages: the page shows {MAX_MESSAGES:,} at most", option="messages")
    length = 0
    for number, message in enumerate(messages, 1):
        content = message.get("content") if isinstance(message, dict) else None
        length += len(request_fields.no_surrogates(content, f"message {number}")) if isinstance(content, str) else 0
    if length > MAX_CHARS:
        raise ConfigError(f"{length:,} characters: the page shows chats of {MAX_CHARS:,} at most", option="messages")
    return messages


def _choices(tok: Tokenizer) -> list[dict[str, Any]]:
    """Lists the templates for a tokenizer: its own, and Jeton's with the missing special tokens."""
    own = templates(tok.definition.chat_template)
    choices = [
        {"id": name, "title": "its own" if len(own) == 1 else f"its own: {name}", "missing": [], "source": source}
        for name, source in own.items()
    ]
    for name, preset in PRESETS.items():
        if name not in own:
            missing = [token for token in preset.tokens if token not in tok.special_tokens]
            choices.append({"id": name, "title": preset.title, "missing": missing, "source": preset.source})
    return choices


def _contents(chat: Chat) -> list[tuple[int, int]]:
    """Returns the ranges of tokens that begin in message content."""
    starts = [start for start, _ in chat.encoding.char_spans]
    ends = accumulate(piece.length for piece in chat.pieces)
    return [
        (bisect_left(starts, end - piece.length), bisect_left(starts, end))
        for piece, end in zip(chat.pieces, ends, strict=True)
        if piece.origin.source != "template"
    ]


def _spelled(tok: Tokenizer, chat: Chat) -> list[dict[str, Any]]:
    """Lists special tokens spelled in messages, where they are text, with their tokens in the drawing."""
    if chat.ids == tok.encode(chat.text, special="all", add_special_tokens=False):
        return []
    permitted = tok.tokenize(chat.text, special="all", add_special_tokens=False)
    spelling = {id: token for token, id in tok.special_tokens.items()}
    starts = [start for start, _ in chat.encoding.char_spans]
    ends = list(accumulate(piece.length for piece in chat.pieces))
    found = []
    for id, (start, end) in zip(permitted.ids, permitted.char_spans, strict=True):
        first, last = bisect_left(starts, start), bisect_left(starts, end)
        if first >= MAX_DRAWN:
            break
        if id in spelling and start < end and chat.ids[first:last] != [id]:
            piece = chat.pieces[bisect_left(ends, start + 1)]
            found.append({"message": piece.origin.message, "token": spelling[id], "rows": [first, last]})
    return found
