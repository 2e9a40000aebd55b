"""`Counts`: the distinct pretokens of a corpus with their counts, from which merges are learned.

Counts can be saved and loaded (`counts_file`), added, subtracted, weighted, and described (`counts_report`). They store
the stages and special tokens with which they were made.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from fractions import Fraction
from io import RawIOBase
from typing import Any, BinaryIO

from .. import _core
from ..corpus.paths import copy_file, file_name, is_remote
from ..definition import Pattern
from ..errors import ConfigError, InvalidTextError, JetonError, keyword
from ..util.arguments import file_path, instance, integer
from ..util.atomic import write_atomically
from . import counts_file
from .counts_report import CountsReport, counts_report
from .dropped import DroppedPretokens
from .limits import MemoryOptions, make_memory
from .stages import Stages

__all__ = ["MAX_COUNT", "Counts"]

MAX_COUNT = (1 << 64) - 1


class Counts:
    """Distinct pretokens of a corpus with their counts, in order of first appearance.

    Attributes:
        stages: stages that each document passed through; None for counts from a mapping.
        documents: number of documents.
        corpus_bytes: total bytes of the documents.
        special_tokens: special tokens that split the documents.
        special_tokens_found: number of occurrences of special tokens.
        dropped: facts about dropped rare pretokens; None without `min_count`.
        skipped: kind of error -> number of skipped records (``errors="skip"``).

    Examples:
        >>> import jeton
        >>> counts = jeton.count_pretokens(["low low lower"], pattern="gpt2")
        >>> counts.items()
        [(b'low', 1), (b' low', 1), (b' lower', 1)]
        >>> (counts + counts).total
        6
    """

    def __init__(
        self,
        core: _core.Counts,
        *,
        stages: Stages | None,
        documents: int,
        corpus_bytes: int,
        special_tokens: Sequence[str] = (),
        special_tokens_found: int = 0,
        dropped: DroppedPretokens | None = None,
        skipped: Mapping[str, int] | None = None,
        memory_options: MemoryOptions = (None, None),
    ) -> None:
        self._core = core
        self.stages = stages
        self.documents = documents
        self.corpus_bytes = corpus_bytes
        self.special_tokens = tuple(special_tokens)
        self.special_tokens_found = special_tokens_found
        self.dropped = dropped
        self.skipped = dict(skipped or {})
        self._memory_options = memory_options

    @classmethod
    def from_mapping(cls, counts: Mapping[str, int] | Mapping[bytes, int]) -> Counts:
        """Makes counts from a mapping pretoken -> count. The empty pretoken is ignored.

        Raises:
            ConfigError: a count is not an integer from 0 to 2⁶⁴ - 1.

        Examples:
            >>> Counts.from_mapping({"low": 5, "lower": 2}).total
            7
        """
        items = []
        for pretoken, count in instance(counts, "counts", Mapping, "a mapping from pretoken to count").items():
            if not isinstance(pretoken, str | bytes):
                raise ConfigError(f"counts: the pretoken {pretoken!r} is not str or bytes", option="counts")
            if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count < 1 << 64:
                message = f"counts: the count of {pretoken!r} is {count!r}, not an integer from 0 to 2^64 - 1"
                raise ConfigError(message, option="counts")
            if pretoken:
                items.append((_bytes(pretoken), count))
        corpus_bytes = sum(len(pretoken) * count for pretoken, count in items)
        return cls(_core.Counts.from_items(items), stages=None, documents=0, corpus_bytes=corpus_bytes)

    @property
    def pattern(self) -> Pattern | None:
        """Pattern of the stages, if they consist of a single pattern; else None.

        Examples:
            >>> import jeton
            >>> jeton.count_pretokens(["low lower"], pattern="gpt2").pattern.text
            'gpt2'
        """
        return self.stages.pattern if self.stages is not None else None

    def __len__(self) -> int:
        """Returns the number of distinct pretokens."""
        return len(self._core)

    @property
    def total(self) -> int:
        """Number of all pretokens: the sum of the counts."""
        return self._core.total

    def items(self) -> list[tuple[bytes, int]]:
        """Returns pairs (pretoken, count) in order of first appearance.

        Examples:
            >>> Counts.from_mapping({"low": 5, "lower": 2}).items()
            [(b'low', 5), (b'lower', 2)]
        """
        return self._core.items()

    def most_common(self, n: int | None = None) -> list[tuple[bytes, int]]:
        """Returns the n pretokens with the highest counts, in descending order. Ties are in order of first appearance.

        Examples:
            >>> Counts.from_mapping({"low": 2, "new": 6, "wide": 2}).most_common(2)
            [(b'new', 6), (b'low', 2)]
        """
        return self._core.most_common(len(self) if n is None else min(integer(n, "n", 0), len(self)))

    def __add__(self, other: Counts) -> Counts:
        """Returns the counts of both corpora together, as if the documents of `other` followed those of this corpus.

        Raises:
            ConfigError: the counts have different stages or special tokens.
        """
        if not isinstance(other, Counts):
            return NotImplemented
        self._check_kin(other, "added")
        dropped = self.dropped or other.dropped
        if self.dropped and other.dropped:
            dropped = self.dropped + other.dropped
        return self._with(
            self._core.merged(other._core, make_memory(*self._memory_options)),
            documents=self.documents + other.documents,
            corpus_bytes=self.corpus_bytes + other.corpus_bytes,
            special_tokens_found=self.special_tokens_found + other.special_tokens_found,
            dropped=dropped,
            skipped={
                kind: self.skipped.get(kind, 0) + other.skipped.get(kind, 0) for kind in self.skipped | other.skipped
            },
        )

    def __sub__(self, other: Counts) -> Counts:
        """Returns the counts of this corpus without the documents of `other`, which must be part of this corpus.

        Raises:
            ConfigError: a pretoken occurs more often in `other`, or the stages or special tokens differ.

        Examples:
            >>> import jeton
            >>> one, two = (jeton.count_pretokens([text], pattern="gpt2") for text in ("to be", "not to be"))
            >>> (one + two - one).items() == two.items()
            False
            >>> sorted((one + two - one).items()) == sorted(two.items())
            True
        """
        if not isinstance(other, Counts):
            return NotImplemented
        self._check_kin(other, "subtracted")
        return self._with(
            self._core.less(other._core, make_memory(*self._memory_options)),
            documents=max(self.documents - other.documents, 0),
            corpus_bytes=max(self.corpus_bytes - other.corpus_bytes, 0),
            special_tokens_found=max(self.special_tokens_found - other.special_tokens_found, 0),
        )

    def scaled(self, weight: int | float | Fraction) -> Counts:
        """Multiplies every count by a weight, exactly, and rounds to the nearest integer, halves to even.

        Pretokens whose count becomes 0 are removed. `corpus_bytes` is weighted, too; `documents` is not.

        Args:
            weight: a number ≥ 0. A float stands for its exact binary value, `Fraction(1, 3)` for exactly one third.

        Raises:
            ConfigError: the weight is not a number of at least 0, or the numerator or denominator exceeds 64 bits.
            TrainingError: a weighted count is 2⁶⁴ or more.

        Examples:
            >>> from fractions import Fraction
            >>> Counts.from_mapping({"a": 1, "b": 3, "c": 9}).scaled(Fraction(1, 2)).items()
            [(b'b', 2), (b'c', 4)]
        """
        try:
            exact = Fraction(weight)
        except (TypeError, ValueError, OverflowError):
            exact = Fraction(-1)
        if exact < 0 or max(exact.numerator, exact.denominator) >= 1 << 64:
            message = (
                f"{keyword('weight', weight)} is not a number of at least 0 whose numerator and denominator "
                "fit into 64 bits; pass a Fraction"
            )
            raise ConfigError(message)
        core = self._core.scaled(exact.numerator, exact.denominator, make_memory(*self._memory_options))
        return self._with(core, corpus_bytes=round(self.corpus_bytes * exact))

    def without_rare(self, min_count: int) -> Counts:
        """Returns counts without the pretokens whose count is below `min_count`; `dropped` describes what was dropped.

        Examples:
            >>> counts = Counts.from_mapping({"low": 5, "newer": 1}).without_rare(2)
            >>> counts.items(), counts.dropped.bytes
            ([(b'low', 5)], 5)
        """
        integer(min_count, "min_count", 0, MAX_COUNT)
        core, dropped = self._core.without_rare(min_count, make_memory(*self._memory_options))
        before = self.dropped or DroppedPretokens(0, 0, 0, 0)
        return self._with(core, dropped=before + DroppedPretokens(min_count, *dropped))

    def report(self, top: int = 20) -> CountsReport:
        """Reports on the pretokens: totals, most frequent ones, scripts, and growth of the vocabulary (Heaps' law).

        Args:
            top: number of most frequent pretokens to list.

        Examples:
            >>> import jeton
            >>> report = jeton.count_pretokens(["to be or not to be"], pattern="gpt2").report()
            >>> report.distinct, report.total, report.top[0]
            (5, 6, (b' be', 2))
        """
        top_counts = self.most_common(integer(top, "top", 0))
        made_from_text = self.stages is not None
        return counts_report(
            self._core, self.documents, self.corpus_bytes, self.dropped, top_counts, made_from_text=made_from_text
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the counts to a file, atomically; ``.jtc`` is the usual suffix.

        Raises:
            OSError: the file cannot be written; an existing file is unchanged.

        Examples:
            >>> import os, tempfile
            >>> path = os.path.join(tempfile.mkdtemp(), "words.jtc")
            >>> Counts.from_mapping({"low": 5, "lower": 2}).save(path)
            >>> Counts.load(path).items()
            [(b'low', 5), (b'lower', 2)]
        """
        with write_atomically(file_path(path, "path"), streams=True) as file:
            self._write(file)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Counts:
        """Reads a file that `save` has written, from a path or URL.

        Raises:
            FormatError: the file is not a file of counts, or is corrupt.
            MissingDependencyError: for a URL, fsspec or the package for its protocol is not installed.

        Examples:
            >>> import pathlib, tempfile
            >>> path = pathlib.Path(tempfile.mkdtemp(), "words.jtc")
            >>> Counts.from_mapping({"low": 5}).save(path)
            >>> Counts.load(path).total
            5
        """
        name = file_path(path, "path")
        if not is_remote(name):
            core, facts = counts_file.read(name)
            return cls(core, **facts)
        with tempfile.TemporaryDirectory(prefix="jeton-") as folder:
            copy = os.path.join(folder, os.path.basename(file_name(name)))
            copy_file(name, copy)
            try:
                core, facts = counts_file.read(copy)
            except JetonError as error:
                error.rename(copy, name)
                raise
            return cls(core, **facts)

    def __eq__(self, other: object) -> bool:
        """Returns True if pretokens, counts, order and all other fields are equal."""
        if not isinstance(other, Counts):
            return NotImplemented
        mine, others = ({**counts._facts(), "items": counts.items()} for counts in (self, other))
        return mine == others

    __hash__ = None  # type: ignore[assignment]

    def _write(self, file: BinaryIO | RawIOBase) -> None:
        """Writes the counts into an open file."""
        counts_file.write(self._core, self._facts(), make_memory(*self._memory_options), file)

    def _with(self, core: _core.Counts, **facts: Any) -> Counts:
        """Returns a copy that has the pretokens of `core` and, for each field in `facts`, the value given there."""
        return Counts(core, memory_options=self._memory_options, **{**self._facts(), **facts})

    def _facts(self) -> dict[str, Any]:
        """Returns all fields except the pretokens and the memory options."""
        return {name: value for name, value in vars(self).items() if name not in ("_core", "_memory_options")}

    def _check_kin(self, other: Counts, done: str) -> None:
        """Refuses to combine counts that were made with different stages or special tokens.

        Raises:
            ConfigError: the stages or special tokens differ.
        """
        mine, others = self.stages, other.stages
        if (mine is None) != (others is None) or (mine and others and not mine.is_same(others)):
            names = [stages.describe() if stages else "a mapping" for stages in (mine, others)]
            raise ConfigError(f"counts made with {names[0]} and with {names[1]} cannot be {done}")
        if set(self.special_tokens) != set(other.special_tokens):
            tokens = [list(counts.special_tokens) for counts in (self, other)]
            raise ConfigError(f"counts split at the special tokens {tokens[0]} and at {tokens[1]} cannot be {done}")

    def __repr__(self) -> str:
        return f"Counts({len(self)} distinct pretokens, {self.total} in all)"


def _bytes(pretoken: str | bytes) -> bytes:
    try:
        return pretoken.encode() if isinstance(pretoken, str) else pretoken
    except UnicodeEncodeError as error:
        raise InvalidTextError(f"the pretoken {pretoken!r} contains a lone surrogate", position=error.start) from None
