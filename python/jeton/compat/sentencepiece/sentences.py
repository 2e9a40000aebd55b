"""Reads the sentences of a training run, and applies a caller's pre-tokenizer.

The loops are in Python, because they call the user's functions for each sentence.

Source: google/sentencepiece 0.2.3, src/trainer_interface.cc, sentencepiece_pybind.cc (behavior).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

from ... import _core
from .trainer_presets import BOUNDARY

__all__ = ["lines_of", "of_iterator", "pretokenized"]

_BATCH = 1024
_RARE = "\u2585"


def lines_of(paths: Sequence[str], count: int) -> Iterator[bytes]:
    """Yields the first `count` nonempty lines of all files together, without line ends; all lines if `count` is 0.

    Raises:
        RuntimeError: a file cannot be read.
    """

    def lines(path: str) -> Iterator[bytes]:
        try:
            with open(path, "rb") as file:
                yield from (line.rstrip(b"\r\n") for line in file)
        except OSError as error:
            raise RuntimeError(f"{path}: {error.strerror}") from None

    sentences = (line for line in chain.from_iterable(map(lines, paths)) if line)
    return islice(sentences, count or None)


def of_iterator(iterator: Any) -> Iterator[str | bytes]:
    """Yields the sentences of a caller's iterator, without their line ends.

    Raises:
        TypeError: the argument is not an iterator.
        ValueError: an item is neither `str` nor `bytes`.
        RuntimeError: the iterator raised an exception, after its first item.
    """
    if not isinstance(iterator, Iterator):
        raise TypeError(f"sentence_iterator must be an iterator, not {type(iterator).__name__}")
    first = next(iterator, None)

    def sentences() -> Iterator[str | bytes]:
        items: Iterable[Any] = () if first is None else chain([first], iterator)
        try:
            for item in items:
                if not isinstance(item, str | bytes):
                    raise _WrongItemError
                yield item.rstrip("\r\n") if isinstance(item, str) else item.rstrip(b"\r\n")
        except _WrongItemError:
            raise ValueError("the items of sentence_iterator must be str or bytes") from None
        except Exception as error:
            raise RuntimeError(f"sentence_iterator: {type(error).__name__}: {error}") from error

    return sentences()


class _WrongItemError(Exception):
    pass


def pretokenized(
    sentences: Iterable[str | bytes],
    normalizer: _core.PieceNormalizer,
    pretokenizer: Callable[[str], Sequence[str]],
    *,
    symbols: Iterable[str],
    max_bytes: int,
    may_differ: bool,
) -> Iterator[str]:
    """Yields normalized sentences, with boundary characters where the caller's function splits them.

    Args:
        sentences: the sentences.
        normalizer: normalizer of the sentences.
        pretokenizer: function from a normalized sentence to its chunks.
        symbols: texts that are replaced by boundaries before the sentence is split.
        max_bytes: maximum number of bytes of a sentence; longer sentences are skipped.
        may_differ: whether the concatenated chunks are allowed to differ from the sentence.

    Raises:
        RuntimeError: the function raised an exception.
        ValueError: the chunks differ from the sentence.
    """
    spelled = sorted(filter(None, symbols), key=len, reverse=True)
    reserved = re.compile("|".join(map(re.escape, spelled)) or r"(?!)")
    source = iter(sentences)
    while batch := list(islice(source, _BATCH)):
        texts = [text.decode("utf-8", "replace") if isinstance(text, bytes) else text for text in batch]
        kept = [text for text in texts if text and len(text.encode()) <= max_bytes and _RARE not in text]
        for normal in normalizer.normalize(kept, False):
            sentence = reserved.sub(BOUNDARY, normal)
            try:
                chunks = [str(chunk) for chunk in pretokenizer(sentence)]
            except Exception as error:
                raise RuntimeError(f"Pretokenizer failed: {type(error).__name__}: {error}") from error
            if not may_differ and "".join(chunks) != sentence:
                raise ValueError(
                    f"the pretokenizer changed {sentence!r} to {''.join(chunks)!r}; "
                    "pass allow_inconsistent_pretokenization=True to accept that"
                )
            joined = BOUNDARY.join(chunks)
            if joined:
                yield joined
