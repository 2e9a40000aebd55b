"""`DecodeStream`: decodes ids that arrive one by one, and splits the text at the same places as Hugging Face's class.

For an id whose text ends in an incomplete character, or that adds no text, `step` returns None. New ids are decoded
together with the ids of the text that `step` returned last, so that decoders see the neighbors that they need.

Source: huggingface/tokenizers, tokenizer/mod.rs (`step_decode_stream`).
"""

from __future__ import annotations

import operator
from typing import Any

from .inputs import flag, id_list, u32

__all__ = ["DecodeStream"]

_INCOMPLETE = "\ufffd"


class DecodeStream:
    """Decodes ids step by step.

    Args:
        ids: ids before the first step, such as those of a prompt; their text is not returned.
        skip_special_tokens: whether special tokens are left out.

    Examples:
        >>> from jeton.compat.tokenizers import Tokenizer, models
        >>> tok = Tokenizer(models.WordLevel({"low": 0, "lower": 1}, unk_token="low"))
        >>> stream = DecodeStream()
        >>> stream.step(tok, 0), stream.step(tok, [1, 1])
        ('low', ' lower lower')
    """

    __slots__ = ("_ids", "_prefix", "_prefix_index", "_skips")
    __module__ = "jeton.compat.tokenizers.decoders"

    def __init__(self, ids: Any = None, skip_special_tokens: Any = False) -> None:
        self._ids = [] if ids is None else id_list(ids)
        self._skips = skip_special_tokens is not None and flag(skip_special_tokens, "skip_special_tokens")
        self._prefix = ""
        self._prefix_index = 0

    def step(self, tokenizer: Any, id: Any) -> str | None:
        """Adds ids; returns the new text, or None if it is empty or ends in an incomplete character.

        Args:
            tokenizer: the `Tokenizer`.
            id: an id, or a list of ids.

        Raises:
            Exception: the text of all ids does not begin with the text of the earlier ids.
        """
        if not hasattr(tokenizer, "_splits_special"):  # `Tokenizer` cannot be imported here: it imports this module
            raise TypeError(
                f"argument 'tokenizer': '{type(tokenizer).__name__}' object is not an instance of 'Tokenizer'"
            )
        given = _step_ids(id)
        if not self._prefix and self._ids:
            prefix = tokenizer.decode(self._ids, self._skips)
            if not prefix.endswith(_INCOMPLETE):
                self._prefix, self._prefix_index = prefix, len(self._ids)
        self._ids = [*self._ids, *given]
        prefix = self._prefix
        text: str = tokenizer.decode(self._ids, self._skips)
        if len(text.encode()) <= len(prefix.encode()) or text.endswith(_INCOMPLETE):
            return None
        if not text.startswith(prefix):
            raise Exception(
                f"Invalid prefix encountered while decoding stream. Token ID: {self._ids[-1]}, Expected prefix: "
                f"'{prefix}', Actual string: '{text}'"
            )
        index = len(self._ids) - self._prefix_index
        self._ids = self._ids[self._prefix_index :]
        self._prefix, self._prefix_index = tokenizer.decode(self._ids, self._skips), index
        return text[len(prefix) :]

    def __copy__(self) -> DecodeStream:
        made = DecodeStream(self._ids, self._skips)
        made._prefix, made._prefix_index = self._prefix, self._prefix_index
        return made

    def __deepcopy__(self, memo: Any) -> DecodeStream:
        return self.__copy__()


def _step_ids(id: Any) -> list[int]:
    try:
        return [u32(operator.index(id))]
    except (TypeError, OverflowError):
        pass
    try:
        return id_list(id)
    except (TypeError, OverflowError):
        raise TypeError("StreamInput must be either an integer or a list of integers") from None
