"""`Engine`: the calls of one state of a `tokenizers.Tokenizer`, on Jeton's core.

Options are those of Hugging Face in their own form: `truncation` and `padding` are the dictionaries of the properties of
that name. Nothing is proven by default: what Jeton refuses, or is known to do otherwise, raises `Unproven`.

Source: huggingface/tokenizers, tokenizer/mod.rs (`encode_batch`, `post_process`) and utils/padding.rs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..._core import decode_lists
from ...batch_encoding import BatchEncoder
from ...errors import JetonError
from ...threads import num_threads
from ...tokenizer import Tokenizer
from ...truncation import Truncation
from .rows import Rows

__all__ = ["Engine", "Unproven"]

WHOLE = Truncation()
KEEPS_OVERFLOW = Truncation(overflow=True)
_NO = ("", "off", "false", "f", "no", "n", "0")  # values of TOKENIZERS_PARALLELISM


class Unproven(Exception):  # noqa: N818 - no error: the caller calls the library
    """Call whose result is not known to equal that of Hugging Face's library; the message says why."""


class Engine:
    """Encodes and decodes with the meaning of `tokenizers.Tokenizer`.

    Args:
        tok: the tokenizer of that state. Its truncation and padding are not used.

    Examples:
        >>> import jeton
        >>> tok = jeton.Tokenizer.from_merges({104: b"h", 105: b"i"}, [])
        >>> engine = Engine(tok)
        >>> rows = engine.encode(["hi", "h"], padding={"length": None, "pad_id": 0, "direction": "left"})
        >>> rows.lists("input_ids")
        [[104, 105], [0, 104]]
        >>> engine.decode([104, 105], skip_special_tokens=True)
        'hi'
    """

    def __init__(self, tok: Tokenizer) -> None:
        self.tok = tok
        self._core = tok._core
        self._template = tok.definition.template
        items = [*(self._template or {}).get("single", ()), *((self._template or {}).get("pair") or ())]
        # Whether a single text has segment numbers other than 0.
        self.has_segments = any(item["type_id"] for item in (self._template or {}).get("single", ()))
        self.has_template = bool(items)

    @cached_property
    def _shares_spaces(self) -> bool:
        """Whether two added tokens may claim one white space: Hugging Face gives it to both, Jeton to one."""
        tokens = self.tok.added_tokens.values()
        return any(token.lstrip for token in tokens) and any(token.rstrip for token in tokens)

    def encode_one(
        self, text: str, pair: str | None = None, *, add_special_tokens: bool = True, splits_special: bool = False
    ) -> list[int]:
        """The ids of one text or pair, neither truncated nor padded.

        Args:
            text: the text.
            pair: a second text.
            add_special_tokens: whether the template is applied.
            splits_special: whether special tokens in the text are text (``encode_special_tokens``).

        Raises:
            Unproven: the result may differ.
        """
        try:
            special = None if splits_special else "all"
            return self._core.encode(text, special, pair=pair, template=add_special_tokens)
        except (JetonError, UnicodeError) as error:
            raise Unproven(type(error).__name__) from None

    def encode(
        self,
        texts: Sequence[Any],
        pairs: Sequence[Any] | None = None,
        *,
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
        splits_special: bool = False,
        truncation: Mapping[str, Any] | None = None,
        padding: Mapping[str, Any] | None = None,
        overflow: bool = False,
        offsets: bool = False,
    ) -> Rows:
        """The rows of many texts or pairs.

        Args:
            texts: strings, or with `is_pretokenized` sequences of strings.
            pairs: the second text of each.
            is_pretokenized: whether texts are sequences of words.
            add_special_tokens: whether the template is applied.
            splits_special: as `encode_one`.
            truncation: ``max_length``, ``stride``, ``strategy`` and ``direction``; None: no truncation.
            padding: ``length`` (None: of the longest row), ``direction``, ``pad_id``, ``pad_type_id`` and
                ``pad_to_multiple_of``; None: no padding.
            overflow: whether removed ids are rows, too.
            offsets: whether rows have ``offset_mapping``.

        Raises:
            Unproven: the result may differ, or Hugging Face raises an exception, too.
        """
        if offsets and self._shares_spaces:
            raise Unproven("offsets of added tokens that may share a white space")
        encoder = BatchEncoder(
            self._core,
            self._template,
            None if splits_special else "all",
            threads(),
            add_special_tokens,
            None,
            offsets,
        )
        cut = KEEPS_OVERFLOW if overflow else WHOLE
        try:
            if truncation is not None:
                cut = Truncation(
                    truncation["max_length"],
                    truncation["strategy"],
                    truncation["stride"],
                    truncation["direction"],
                    overflow,
                )
            encode = encoder.encode_words if is_pretokenized else encoder.encode
            batch = encode(list(texts), None if pairs is None else list(pairs), cut)
        except (JetonError, UnicodeError) as error:
            raise Unproven(f"{type(error).__name__} of Jeton") from None
        rows = Rows(batch)
        if padding is None:
            return rows
        width = padding["length"]
        if width is None:
            lengths, mapping = rows.lengths, batch.overflow_to_sample_mapping
            if overflow and mapping is not None:  # only the first row of each text counts
                lengths = lengths[np.diff(mapping, prepend=-1) != 0]
            width = int(lengths.max(initial=0))
        multiple = padding.get("pad_to_multiple_of") or 0
        width += -width % multiple if multiple > 0 else 0
        return Rows(batch, width, padding["direction"] == "left", padding["pad_id"], padding.get("pad_type_id", 0))

    def decode(self, ids: list[int], *, skip_special_tokens: bool) -> str:
        """The text of ids.

        Raises:
            Unproven: an id is unknown or no integer.
        """
        try:
            return self._core.decode_text(ids, skip_special=skip_special_tokens)
        except (JetonError, TypeError, OverflowError) as error:
            raise Unproven(f"{type(error).__name__} of Jeton") from None

    def decode_batch(self, rows: list[list[int]], *, skip_special_tokens: bool) -> list[str]:
        """The text of each row.

        Raises:
            Unproven: an id is unknown or no integer.
        """
        try:
            return decode_lists(self._core, rows, threads(), as_text=True, skip_special=skip_special_tokens)
        except (JetonError, TypeError, OverflowError) as error:
            raise Unproven(f"{type(error).__name__} of Jeton") from None


def threads() -> int:
    """Maximum number of threads: one if the environment variable TOKENIZERS_PARALLELISM says so."""
    chosen = os.environ.get("TOKENIZERS_PARALLELISM")
    return 1 if chosen is not None and chosen.lower() in _NO else num_threads(None)
