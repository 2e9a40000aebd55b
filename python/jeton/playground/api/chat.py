"""``chat``: messages rendered by a chat template, with the origin of each token.

A tokenizer without a chat template is shown with one of Jeton's presets. If the tokenizer lacks special tokens of the
preset, they are added for this view, and the response lists them. A token's origin is that of its first character that
is not white space: ``▁Answer`` comes from the message, although the space before it comes from the template.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Any

from ...chat import PRESETS, Chat, presets_for, templates
from ...errors import ChatTemplateError, ConfigError
from ...tokenizer import Tokenizer
from ..catalog import Catalog
from . import request_fields

__all__ = ["MAX_CHARS", "answer"]

MAX_CHARS = 1_000_000
MAX_MESSAGES = 1_000
MAX_DRAWN = 20_000


def answer(catalog: Catalog, request: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the drawing of the chat, the available templates, and the special tokens added for the chosen template.

    Examples:
        >>> catalog = Catalog(cached=False)
        >>> messages = [{"role": "user", "content": "hi<|im_end|>"}]
        >>> facts = answer(catalog, {"tokenizer": "lessons", "messages": messages, "template": "chatml"})
        >>> facts["text"], [(spelled["message"], spelled["token"]) for spelled in facts["spelled"]]
        ('<|im_start|>user\\nhi<|im_end|><|im_end|>\\n', [(0, '<|im_end|>')])
        >>> answer(catalog, {"tokenizer": "bytes", "messages": messages})["added"]
        {'<|im_start|>': 256, '<|im_end|>': 257}
    """
    tok = catalog.get(request_fields.text(request, "tokenizer"))
    messages = _messages(request)
    wanted = request_fields.text(request, "template", "")
    choices = _choices(tok)
    chosen = next((choice for choice in choices if choice["id"] == wanted), None)
    if chosen is None:  # not given, or a template of another tokenizer
        chosen = _best(tok, choices)
    if missing := chosen["missing"]:
        tok = tok.add_tokens(missing)
    special = request_fields.flag(request, "special")
    chat = tok.chat(
        messages,
        template=chosen["id"],
        add_generation_prompt=request_fields.flag(request, "add_generation_prompt"),
        special="all" if special else "none",
    )
    drawing = chat.encoding.drawing()
    places = _places(chat)
    return {
        "choices": choices,
        "chosen": chosen["id"],
        "source": chosen["source"],
        "added": {token: tok.token_to_id(token) for token in missing},
        "text": chat.text,
        "drawing": drawing.head(MAX_DRAWN).to_json(),
        "num_tokens": len(chat.ids),
        "num_bytes": drawing.text_bytes,
        "num_chars": drawing.text_chars,
        "turns": [
            {"message": turn.message, "role": turn.role, "rows": _rows(places, turn.char_spans)} for turn in chat.turns
        ],
        "contents": _rows(places, _content_spans(chat)),
        "generated": _num_generated(chat),
        "spelled": [] if special else _spelled(tok, chat),
    }


def _num_generated(chat: Chat) -> int | None:
    """Returns the number of generated ids; None if the template does not show which text the model generates."""
    try:
        return sum(chat.mask)
    except ChatTemplateError:
        return None


def _messages(request: Mapping[str, Any]) -> list[Any]:
    messages = request.get("messages")
    if not isinstance(messages, list) or not messages:
        raise ConfigError('the request has no "messages" (a list of at least one message)', option="messages")
    if len(messages) > MAX_MESSAGES:
        raise ConfigError(f"{len(messages):,} messages: the page shows {MAX_MESSAGES:,} at most", option="messages")
    length = 0
    for number, message in enumerate(messages, 1):
        content = message.get("content") if isinstance(message, dict) else None
        length += len(request_fields.no_surrogates(content, f"message {number}")) if isinstance(content, str) else 0
    if length > MAX_CHARS:
        raise ConfigError(f"{length:,} characters: the page shows chats of {MAX_CHARS:,} at most", option="messages")
    return messages


def _best(tok: Tokenizer, choices: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns the tokenizer's own template, else the preset that fits it best, else the first preset."""
    if templates(tok.definition.chat_template):
        return choices[0]
    best = next(iter(presets_for(tok)), None)
    return next((each for each in choices if each["id"] == best), choices[0])


def _choices(tok: Tokenizer) -> list[dict[str, Any]]:
    """Lists the tokenizer's own chat templates, then Jeton's presets.

    The entry `missing` of a preset lists the special tokens of the preset that the tokenizer does not have.
    """
    own = templates(tok.definition.chat_template)
    choices = [
        {"id": name, "title": "its own" if len(own) == 1 else f"its own: {name}", "missing": [], "source": source}
        for name, source in own.items()
    ]
    added = {token.content for token in tok.added_tokens.values()}
    for name, preset in PRESETS.items():
        if name not in own:
            missing = [token for token in preset.tokens if token not in added]
            choices.append({"id": name, "title": preset.title, "missing": missing, "source": preset.source})
    return choices


def _places(chat: Chat) -> list[int]:
    """Returns the offset of each token's first character that is not white space, or else of its first character."""
    places = []
    for start, end in chat.encoding.char_spans:
        shown = chat.text[start:end]
        skipped = len(shown) - len(shown.lstrip())
        places.append(start + (skipped if skipped < len(shown) else 0))
    return list(accumulate(places, max))


def _rows(places: list[int], spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Converts ranges of characters to ranges of tokens."""
    return [(bisect_left(places, start), bisect_left(places, end)) for start, end in spans]


def _content_spans(chat: Chat) -> Iterator[tuple[int, int]]:
    """Yields the ranges of characters of the chat that the template copied from messages."""
    ends = accumulate(piece.length for piece in chat.pieces)
    for piece, end in zip(chat.pieces, ends, strict=True):
        if piece.origin.source != "template":
            yield end - piece.length, end


def _spelled(tok: Tokenizer, chat: Chat) -> list[dict[str, Any]]:
    """Lists special tokens that occur in messages and were encoded as text, each with the index range of its ids."""
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
