"""`Source`: a part of a corpus with options of its own, among them how much its counts weigh."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, BinaryIO, Literal, TypeAlias

from ..arguments import string
from ..errors import ConfigError
from .streams import check_encoding

__all__ = ["CorpusLike", "Source", "StrPath", "check_corpus", "sources_of"]

StrPath: TypeAlias = str | os.PathLike[str]
CorpusLike: TypeAlias = (
    "StrPath | BinaryIO | Source | Iterable[str | bytes | os.PathLike[str] | Mapping[str, Any]] | Iterable[Source]"
)


@dataclass(frozen=True, slots=True)
class Source:
    """One source of a corpus, with its weight.

    A weight multiplies the counts of the source's pretokens when all of it has been counted. It is exact: a `float`
    means what it is written as (0.1 is one tenth), and a product that is no integer is rounded to the nearest, halves
    to even. A pretoken whose count becomes 0 is left out.

    Attributes:
        place: what a corpus may be: a path, glob, folder or URL; an iterable of documents, rows or `Path`s; a stream.
        weight: a positive number; 1 by default.
        field: the field of rows that holds the text; None: as for the whole corpus.
        documents: whether a text file is one document (``"file"``) or one a line (``"line"``); None: as for the whole
            corpus.
        encoding: how a text file, a stream or `bytes` are encoded (``"gb18030"``); None: as for the whole corpus.

    Raises:
        ConfigError: a place that is none of these, or a weight that is not a positive number.

    Examples:
        >>> import jeton
        >>> sources = [jeton.Source(["to be"], weight=2), jeton.Source(["or not to be"], weight=0.5)]
        >>> jeton.count_pretokens(sources, pattern="gpt2").items()
        [(b'to', 2), (b' be', 2)]
    """

    place: CorpusLike
    weight: int | float | Fraction = 1
    field: str | None = None
    documents: Literal["file", "line"] | None = None
    encoding: str | None = None

    def __post_init__(self) -> None:
        check_corpus(self.place, "place")
        number = not isinstance(self.weight, bool) and isinstance(self.weight, int | float | Fraction)
        if not number or not math.isfinite(self.weight) or self.weight <= 0:
            raise ConfigError(f"weight={self.weight!r} is not a positive number", option="weight")
        if self.field is not None:
            string(self.field, "field")
        if self.encoding is not None:
            check_encoding(self.encoding)
        if self.documents not in (None, "file", "line"):
            raise ConfigError(f'documents={self.documents!r}: expected "file" or "line"', option="documents")

    @property
    def exact_weight(self) -> Fraction:
        """The weight as it is written.

        Examples:
            >>> Source("texts/", weight=0.1).exact_weight
            Fraction(1, 10)
        """
        return Fraction(str(self.weight)) if isinstance(self.weight, float) else Fraction(self.weight)


def check_corpus(value: object, option: str) -> None:
    """Refuses what is neither a place, nor documents, nor a stream, by its type.

    Raises:
        ConfigError: says what is expected.

    Examples:
        >>> check_corpus(b"text", "corpus")
        Traceback (most recent call last):
            ...
        jeton.errors.ConfigError: corpus is one bytes object; to pass a text itself, give it in a list: [text]
    """
    if isinstance(value, bytes | bytearray | memoryview):
        message = f"{option} is one bytes object; to pass a text itself, give it in a list: [text]"
        raise ConfigError(message, option=option)
    is_iterable = isinstance(value, Iterable) and not isinstance(value, Mapping | Source)
    if not (is_iterable or isinstance(value, os.PathLike) or hasattr(value, "read")):
        expected = "a path, an iterable of str, bytes, rows or Path, or a binary stream"
        raise ConfigError(f"{option} is of type {type(value).__name__}: expected {expected}", option=option)


def sources_of(corpus: CorpusLike) -> list[Source]:
    """What the caller gave, as sources: the ones that were given, or one for all of it.

    Raises:
        ConfigError: sources beside documents, where nobody can say what the documents weigh.

    Examples:
        >>> [source.weight for source in sources_of(["a text"])]
        [1]
    """
    if isinstance(corpus, Source):
        return [corpus]
    check_corpus(corpus, "corpus")
    if not isinstance(corpus, list | tuple) or not any(isinstance(item, Source) for item in corpus):
        return [Source(corpus)]
    for index, item in enumerate(corpus):
        if not isinstance(item, Source | os.PathLike):
            message = f"corpus[{index}] is of type {type(item).__name__}, among sources: put documents into a Source"
            raise ConfigError(message, option="corpus")
    return [item if isinstance(item, Source) else Source(item) for item in corpus]
