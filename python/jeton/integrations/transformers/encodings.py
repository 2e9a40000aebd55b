"""`LazyEncodings`: the list of `tokenizers.Encoding` of a result, built when it is first used.

The encodings are built by a private copy of the `tokenizers.Tokenizer`, in the state that the original had when it was
called, and with the arguments of that call. So later changes of the original do not affect the encodings. If no code
reads the encodings of a result, they are never built.

For more than a few texts, `BatchEncoding.word_ids` reads a column of Jeton's core instead.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from transformers.tokenization_utils_base import BatchEncoding

from ...compat.hf_backend import Rows, Unproven
from ...util.lazy import cached_property
from .state import SharedEngine, Use

__all__ = ["EncodeArguments", "LazyEncodings", "character_indexes", "wants_characters"]

_WORD_IDS = BatchEncoding.word_ids.__code__
FEW_CHARACTERS = 500  # for a single text with fewer characters, HF's library is faster than Jeton


class EncodeArguments(NamedTuple):
    """Arguments of a call of `tokenizers.Tokenizer.encode_batch`, and settings of the tokenizer, such as truncation."""

    inputs: list[Any]
    settings: dict[str, Any]  # add_special_tokens, splits_special, truncation, padding: as in `Engine.row`
    is_pretokenized: bool
    overflow: bool

    def rows(self, engine: SharedEngine, texts: Sequence[Any], pairs: Sequence[Any] | None, **columns: Any) -> Rows:
        """Encodes texts or pairs with Jeton, under these settings; `columns`: as for `Engine.encode`."""
        return engine.encode(
            texts, pairs, is_pretokenized=self.is_pretokenized, overflow=self.overflow, **self.settings, **columns
        )

    def encodings(self, backend: Any) -> list[Any]:
        """Encodes with a tokenizer that no other code uses."""
        settings = self.settings
        if settings["truncation"] is None:
            backend.no_truncation()
        else:
            backend.enable_truncation(**settings["truncation"])
        if settings["padding"] is None:
            backend.no_padding()
        else:
            backend.enable_padding(**settings["padding"])
        backend.encode_special_tokens = settings["splits_special"]
        found = backend.encode_batch(
            self.inputs, add_special_tokens=settings["add_special_tokens"], is_pretokenized=self.is_pretokenized
        )
        return [each for one in found for each in (one, *one.overflowing)] if self.overflow else found

    def words(self, engine: SharedEngine) -> Rows | None:
        """Returns the rows of the result with word indices.

        Returns None if Hugging Face's library is faster or may give other indices.
        """
        inputs = self.inputs
        if len(inputs) == 1 and len(inputs[0]) < FEW_CHARACTERS:
            return None
        first, second = zip(*inputs, strict=True) if type(inputs[0]) is tuple else (inputs, None)
        try:
            return self.rows(engine, first, second, words=True)
        except Unproven:
            return None


class WordIndex(NamedTuple):
    """Substitute for the `tokenizers.Encoding` of one row. It supports only `word_ids`."""

    rows: Rows
    row: int

    @property
    def word_ids(self) -> list[int | None]:
        """Returns the index of the word of each token."""
        return self.rows.word_ids(self.row)


class CharacterIndex(NamedTuple):
    """Substitute for the `tokenizers.Encoding` of one row. It supports only `char_to_token` and `offsets`."""

    rows: Rows
    row: int

    def char_to_token(self, char: int, sequence_index: int = 0) -> int | None:
        """Returns the index of the first token that contains a character."""
        return self.rows.token_at(self.row, char) if sequence_index == 0 else None

    @property
    def offsets(self) -> list[tuple[int, int]]:
        """Character range of each token, which transformers 5.24 reads."""
        return self.rows.hf_offsets(self.row)


class _Wanted(threading.local):
    made: list[LazyEncodings] | None = None


_WANTED = _Wanted()


def wants_characters() -> bool:
    """Tests whether a `character_indexes` block is active. In it, callers use only `char_to_token` and `offsets`."""
    return _WANTED.made is not None


@contextmanager
def character_indexes() -> Iterator[None]:
    """Context manager: until its block ends, results of the block answer `char_to_token` without building encodings."""
    outer, made = _WANTED.made, list[LazyEncodings]()
    _WANTED.made = made
    try:
        yield
    finally:
        _WANTED.made = outer
        for one in made:
            one.rows = None


class LazyEncodings(list[Any]):
    """List that is filled on first use. Pickles as a plain list.

    Args:
        engine: the engine of the call.
        arguments: the arguments of the call.
        use: object that is notified when the list is first used.
        rows: the rows of the result, which `character_indexes` needs.
    """

    def __init__(self, engine: SharedEngine, arguments: EncodeArguments, use: Use, rows: Rows | None = None) -> None:
        super().__init__()
        self._use = use
        self._source: tuple[SharedEngine, EncodeArguments] | None = (engine, arguments)
        self.rows = rows  # read by `CharacterIndex`
        if rows is not None and _WANTED.made is not None:
            _WANTED.made.append(self)

    def __getitem__(self, index: Any) -> Any:
        rows = self.rows
        if rows is not None and isinstance(index, int):
            return CharacterIndex(rows, range(len(rows.batch))[index])
        if self._source is not None and isinstance(index, int) and sys._getframe(1).f_code is _WORD_IDS:
            words = self._words
            if words is not None and -len(words.batch) <= index < len(words.batch):
                return WordIndex(words, index % len(words.batch))
        self._fill()
        return list.__getitem__(self, index)

    @cached_property
    def _words(self) -> Rows | None:
        source = self._source
        return None if source is None else source[1].words(source[0])

    def _fill(self) -> None:
        source = self._source
        if source is None:
            return
        engine, arguments = source
        self._use.is_read = True

        def fill(backend: Any) -> None:
            if self._source is not None:  # None if another thread has filled the list in the meantime
                list.extend(self, arguments.encodings(backend))
                self._source = None

        engine.on_replica(fill)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        self._fill()
        return list, (list(iter(self)),)

    def __bool__(self) -> bool:
        # A list that is not filled yet is true, because it will not be empty: a call has at least one text.
        return self._source is not None or list.__len__(self) > 0

    def __iter__(self) -> Iterator[Any]:
        self._fill()
        return list.__iter__(self)


def _filled(name: str) -> Any:
    method = getattr(list, name)

    def call(self: LazyEncodings, *args: Any, **options: Any) -> Any:
        self._fill()
        return method(self, *args, **options)

    call.__name__ = name
    return call


for _name in (
    "__len__", "__setitem__", "__delitem__", "__contains__", "__reversed__", "__add__", "__iadd__",
    "__mul__", "__imul__", "__rmul__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__repr__", "append",
    "clear", "copy", "count", "extend", "index", "insert", "pop", "remove", "reverse", "sort",
):  # fmt: skip
    setattr(LazyEncodings, _name, _filled(_name))
