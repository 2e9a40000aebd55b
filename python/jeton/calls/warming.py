"""`Tokenizer.warm_up`: builds the tables and imports the modules that the first calls would otherwise build and import.

Left out: buffers and caches of other threads; each thread fills its own while it encodes.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..errors import JetonError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["warm_up"]

_TEXT = "Hello, world! 12 words, and a few more.\n"
_MESSAGES = [{"role": "user", "content": _TEXT}]


def warm_up(tok: Any) -> None:
    """Builds the tables of the fast path, and calls each kind of method once; see `Tokenizer.warm_up`.

    Args:
        tok: a `Tokenizer`; this module cannot import the class, which is in a higher layer.
    """
    tok._core.make_tables()
    ids: list[int] = []
    with suppress(JetonError):
        ids = tok.encode(_TEXT)
    calls: list[Callable[[], object]] = [
        lambda: tok.encode(_TEXT, special="all", add_special_tokens=True, threads=2),
        lambda: tok.encode_array(_TEXT),
        lambda: tok.encode_batch([_TEXT]).padded(pad_id=0),
        lambda: tok.encode_batch([_TEXT], max_length=8, offsets=True),
        lambda: tok.tokenize(_TEXT).byte_spans,
        lambda: tok.count_batch([_TEXT]),
        lambda: tok.count_up_to(_TEXT, 4),
        lambda: tok.split(_TEXT * 4, 8, at="sentence"),  # also builds the core's tables of safe positions for cuts
        lambda: tok.truncate(_TEXT * 4, 8),
        lambda: tok.growing().append(_TEXT),
        lambda: tok.stream(stop=["\n\n"]).push(ids[0]) if ids else None,
        lambda: tok.decode(ids),
        lambda: tok.decode_batch([ids]),
        # If the tokenizer has no template, this raises an error, but first it imports the modules of chats, which
        # `jeton.chat_count` also needs.
        lambda: tok.chat(_MESSAGES, add_generation_prompt=True).ids,
    ]
    for call in calls:
        # A call can fail: the vocabulary lacks the characters, the template refuses the message, a package is missing.
        # The user's own call will raise the error; warming up does not.
        with suppress(JetonError):
            call()
