"""`Source`: one source of a corpus, with its own weight and reading options."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, BinaryIO, Literal, TypeAlias

from ..errors import ConfigError, keyword
from ..util.arguments import is_finite, string
from .streams import check_encoding

__all__ = ["CorpusLike", "Source", "StrPath", "check_corpus", "check_documents", "sources_of"]

StrPath: TypeAlias = str | os.PathLike[str]
CorpusLike: TypeAlias = (
    "StrPath | BinaryIO | Source | Iterable[str | bytes | os.PathLike[str] | Mapping[str, Any]] | Iterable[Source]"
)


@dataclass(frozen=True, slots=True)
class Source:
    """One source of a corpus, with its weight.

    After counting, the counts of the source's pretokens are multiplied by the weight. The weight is exact: a `float`
    has the value of its decimal representation (0.1 is one tenth). Products are rounded to the nearest integer, halves
    to even. A pretoken whose count becomes 0 is dropped.

    Attributes:
        place: a path, glob, folder or URL; an iterable of documents, rows or `Path`s; or a stream.
        weight: a positive number; 1 by default.
        field: field of a row that contains the text; None means the `field` of the whole corpus.
        documents: ``"file"``: a text file is one document; ``"line"``: each line is a document; None means the
            `documents` of the whole corpus.
        encoding: encoding of a text file, a stream or `bytes` (``"gb18030"``); None means the `encoding` of the whole
            corpus.

    Raises:
        ConfigError: the type of `place` is not supported, or `weight` is not a positive number.

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
        if not number or not is_finite(self.weight) or self.weight <= 0:
            raise ConfigError(f"{keyword('weight', self.weight)} is not a positive number")
        if self.field is not None:
            string(self.field, "field")
        if self.encoding is not None:
            check_encoding(self.encoding)
        if self.documents is not None:
            check_documents(self.documents)

    @property
    def exact_weight(self) -> Fraction:
        """Returns the weight as an exact fraction.

        Examples:
            >>> Source("texts/", weight=0.1).exact_weight
            Fraction(1, 10)
        """
        return Fraction(str(self.weight)) if isinstance(self.weight, float) else Fraction(self.weight)


def check_documents(documents: object) -> None:
    """Checks the value of `documents=`.

    Raises:
        ConfigError: the value is neither ``"file"`` nor ``"line"``.
    """
    if documents not in ("file", "line"):
        raise ConfigError(f'{keyword("documents", documents)}: expected "file" or "line"')


def check_corpus(value: object, option: str) -> None:
    """Checks the type of a value: a path, an iterable of documents, or a stream.

    Raises:
        ConfigError: the value has another type.

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
    """Converts a corpus argument to sources: the given sources, or a single source for all documents.

    Raises:
        ConfigError: the argument mixes sources and documents, so the documents' weight would be undefined.

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
            message = (
                f"corpus[{index}] is of type {type(item).__name__}, but other items are sources; put documents "
                "into a Source"
            )
            raise ConfigError(message, option="corpus")
    return [item if isinstance(item, Source) else Source(item) for item in corpus]
