"""`Engine` runs the calls of a `tokenizers.Tokenizer` on Jeton's core.

A `tokenizers.Tokenizer` can be changed, but an `Engine` always gives the results of one state of the
`tokenizers.Tokenizer`. Options have Hugging Face's form: `truncation` and `padding` are dictionaries like the values of
`tokenizers.Tokenizer.truncation` and `tokenizers.Tokenizer.padding`. A call raises `Unproven` if Jeton rejects the
call, or if the result may differ from Hugging Face's result.

Source: huggingface/tokenizers, tokenizer/mod.rs (`encode_batch`, `post_process`) and utils/padding.rs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from ...calls.batch import TokenBatch
from ...calls.batch_encoding import BatchEncoder, Item
from ...calls.truncation import Truncation
from ...errors import JetonError
from ...tokenizer import Tokenizer
from ...util.lazy import cached_property
from ...util.threads import num_threads
from .rows import Rows

__all__ = ["Engine", "Unproven", "width_of"]

WHOLE = Truncation()
KEEPS_OVERFLOW = Truncation(overflow=True)
CHARACTERS_PER_ID = 3  # low estimate; most texts have more characters per id
_NO = ("", "off", "false", "f", "no", "n", "0")  # values of TOKENIZERS_PARALLELISM that disable threads


class Unproven(Exception):  # noqa: N818 - not an error: the caller then calls the library
    """Raised if the result of a call may differ from that of Hugging Face's library; the message has the reason."""


class Engine:
    """Encodes and decodes with the same results as one state of a `tokenizers.Tokenizer`.

    Args:
        tok: a Jeton tokenizer that was made from this state. The truncation and the padding of `tok` are not used.

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

    @cached_property
    def _shares_spaces(self) -> bool:
        """True if two added tokens can strip the same white space.

        Hugging Face assigns this white space to both tokens, Jeton to one of them.
        """
        tokens = self.tok.added_tokens.values()
        takes_left = any(token.lstrip or token.content[0].isspace() for token in tokens)
        return takes_left and any(token.rstrip for token in tokens)

    def encode_one(
        self, text: str, pair: str | None = None, *, add_special_tokens: bool = True, splits_special: bool = False
    ) -> list[int]:
        """Returns the ids of one text or pair, without truncation and padding.

        Args:
            text: the text.
            pair: a second text.
            add_special_tokens: whether the template is applied.
            splits_special: whether special tokens in the text are encoded as plain text (``encode_special_tokens``).

        Raises:
            Unproven: the result may differ from that of Hugging Face.
        """
        try:
            return self._core.encode(text, _permission(splits_special), pair=pair, template=add_special_tokens)
        except (JetonError, UnicodeError) as error:
            raise Unproven(type(error).__name__) from None

    @cached_property
    def _items(self) -> dict[tuple[bool, bool], list[Item]]:
        """(is_pair, add_special_tokens) → items of the template."""
        cases = [(is_pair, adds) for is_pair in (False, True) for adds in (False, True)]
        return {case: self._encoder(case[1]).items(is_pair=case[0]) for case in cases}

    def _encoder(
        self, add_special_tokens: bool, splits_special: bool = False, offsets: bool = False, words: bool = False
    ) -> BatchEncoder:
        special = _permission(splits_special)
        return BatchEncoder(self._core, self._template, special, threads(), add_special_tokens, None, offsets, words)

    def row(
        self,
        text: str,
        pair: str | None,
        names: Sequence[str],
        *,
        add_special_tokens: bool,
        splits_special: bool,
        truncation: Mapping[str, Any] | None,
        padding: Mapping[str, Any] | None,
    ) -> dict[str, list[Any]] | None:
        """Returns the columns of one text or pair as lists, faster than `encode`; None for calls that need `encode`.

        Args:
            text, pair: as for `encode_one`.
            names: names of columns, as for `Rows.lists`, without ``"offset_mapping"``.
            add_special_tokens, splits_special, truncation, padding: as for `encode`.

        Raises:
            Unproven: the result may differ.
        """
        try:
            special = _permission(splits_special)
            own = self._core.encode(text, special)
            other = [] if pair is None else self._core.encode(pair, special)
        except (JetonError, UnicodeError) as error:
            raise Unproven(type(error).__name__) from None
        items = self._items[pair is not None, add_special_tokens]
        columns: dict[str, list[Any]] = {name: [] for name in names}
        ids = columns["input_ids"]
        for item in items:  # a template has few items: one or two texts, and added ids
            part = item.ids if item.text is None else (own, other)[item.text]
            ids += part
            if "token_type_ids" in columns:
                columns["token_type_ids"] += [item.type_id] * len(part)
            if "special_tokens_mask" in columns:
                columns["special_tokens_mask"] += [int(item.text is None)] * len(part)
        if truncation is not None and len(ids) > truncation["max_length"]:
            return None
        size = len(ids)
        width = 0
        if padding is not None:
            width = width_of(size if padding["length"] is None else padding["length"], padding)
            missing = max(width - size, 0)
            fills = {"input_ids": padding["pad_id"], "token_type_ids": padding["pad_type_id"], "special_tokens_mask": 1}
            for name, fill in fills.items():
                if missing and name in columns:
                    column = columns[name]
                    at = 0 if padding["direction"] == "left" else size
                    column[at:at] = [fill] * missing
        if "attention_mask" in columns:
            mask, rest = [1] * size, [0] * max(width - size, 0)
            columns["attention_mask"] = rest + mask if padding and padding["direction"] == "left" else mask + rest
        if "length" in columns:
            columns["length"] = [max(size, width)]
        return columns

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
        words: bool = False,
    ) -> Rows:
        """Returns the rows of many texts or pairs.

        Args:
            texts: strings, or with `is_pretokenized` sequences of strings.
            pairs: for each text, the second text of the pair; None if the texts are not pairs.
            is_pretokenized: whether texts are sequences of words.
            add_special_tokens: whether the template is applied.
            splits_special: as for `encode_one`.
            truncation: ``max_length``, ``stride``, ``strategy`` and ``direction``; None means no truncation.
            padding: ``length`` (None means that of the longest row), ``direction``, ``pad_id``, ``pad_type_id`` and
                ``pad_to_multiple_of``; None means no padding.
            overflow: whether removed ids form further rows.
            offsets: whether the result has ``offset_mapping``.
            words: whether the result has `Rows.word_ids`; not together with `offsets`.

        Raises:
            Unproven: Jeton rejects the call (Hugging Face may reject it as well), or the results of the two may differ.
        """
        if (offsets or words) and self._shares_spaces:
            raise Unproven("offsets of added tokens that may share a white space")
        encoder = self._encoder(add_special_tokens, splits_special, offsets, words)
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
            batch = self._batch(encoder, texts, pairs, is_pretokenized, cut)
        except (JetonError, UnicodeError) as error:
            raise Unproven(f"{type(error).__name__} of Jeton") from None
        rows = Rows(batch)
        if padding is None:
            return rows
        width = padding["length"]
        if width is None:
            lengths, mapping = rows.lengths, batch.overflow_to_sample_mapping
            if overflow and mapping is not None:  # `width` depends only on the first row of each text
                lengths = lengths[np.diff(mapping, prepend=-1) != 0]
            width = int(lengths.max(initial=0))
        width = width_of(width, padding)
        return Rows(batch, width, padding["direction"] == "left", padding["pad_id"], padding.get("pad_type_id", 0))

    def _batch(
        self, encoder: BatchEncoder, texts: Sequence[Any], pairs: Sequence[Any] | None, is_words: bool, cut: Truncation
    ) -> TokenBatch:
        if is_words:
            return encoder.encode_words(texts, pairs, cut)
        first, second = list(texts), None if pairs is None else list(pairs)
        limit = cut.max_length
        if limit is not None and second is None and max(map(len, first)) <= CHARACTERS_PER_ID * limit:
            # Each text has at most CHARACTERS_PER_ID characters for each permitted id, so truncation is rarely needed.
            # The texts are first encoded without truncation, because the core itself then adds the template.
            cut.room(sum(len(item.ids) for item in self._items[False, encoder.add_special_tokens]))
            batch = encoder.encode(first, None, KEEPS_OVERFLOW if cut.overflow else WHOLE)
            if int(np.diff(batch.offsets).max(initial=0)) <= limit:
                return batch
        return encoder.encode(first, second, cut)

    def decode(self, ids: list[int], *, skip_special_tokens: bool) -> str:
        """Returns the text of ids.

        Raises:
            Unproven: an id is unknown or not an integer.
        """
        try:
            return self._core.decode_text(ids, skip_special=skip_special_tokens)
        except (JetonError, TypeError, OverflowError) as error:
            raise Unproven(f"{type(error).__name__} of Jeton") from None

    def decode_batch(self, rows: list[list[int]], *, skip_special_tokens: bool) -> list[str]:
        """Returns the text of each row.

        Raises:
            Unproven: an id is unknown or not an integer.
        """
        try:
            return self._core.decode_lists(rows, threads(), as_text=True, skip_special=skip_special_tokens)
        except (JetonError, TypeError, OverflowError) as error:
            raise Unproven(f"{type(error).__name__} of Jeton") from None


def _permission(splits_special: bool) -> Literal["all", "raise"]:
    """Returns the permitted special tokens, in the core's form.

    If `splits_special` is true, a special token in a text is encoded as plain text. In Hugging Face's library, the
    result can still be the id of the special token; in Jeton, it cannot. Therefore, the core is told to raise an error
    for a text that contains a special token, and Hugging Face's library encodes the text instead.
    """
    return "raise" if splits_special else "all"


def width_of(width: int, padding: Mapping[str, Any]) -> int:
    """Returns the length of padded rows, rounded up to ``pad_to_multiple_of``."""
    multiple = padding.get("pad_to_multiple_of") or 0
    return width + (-width % multiple if multiple > 0 else 0)


def threads() -> int:
    """Returns the maximum number of threads; 1 if the environment variable TOKENIZERS_PARALLELISM disables threads."""
    chosen = os.environ.get("TOKENIZERS_PARALLELISM")
    return 1 if chosen is not None and chosen.lower() in _NO else num_threads(None)
