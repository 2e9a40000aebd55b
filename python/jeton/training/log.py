"""The training log: every merge, and what the corpus was after it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import overload

from ..atomic import write_atomically
from ..definition import TrainingFacts, TrainingStep
from ..drawing import quoted
from ..errors import TrainingError
from ..spelling import Spelling
from ..tokenizer import Tokenizer

__all__ = ["TrainingLog", "write_log"]


class TrainingLog(Sequence[TrainingStep]):
    """Every merge in order, as it was learned; held in columns, and known only in the process that trained."""

    def __init__(
        self,
        tok: Tokenizer,
        columns: tuple[list[int], list[int], list[int]],
        corpus_bytes: int,
        merges: Sequence[tuple[int, int, int]] | None = None,
    ) -> None:
        """For a tokenizer, from the columns that the core returned: count, corpus tokens, tokens in use.

        `merges` are given where the tokenizer's model keeps none.
        """
        self._tok = tok
        self._merges = merges
        self._columns = columns
        self._corpus_bytes = corpus_bytes

    def __len__(self) -> int:
        return len(self._columns[0])

    @overload
    def __getitem__(self, index: int) -> TrainingStep: ...
    @overload
    def __getitem__(self, index: slice) -> list[TrainingStep]: ...
    def __getitem__(self, index: int | slice) -> TrainingStep | list[TrainingStep]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        rank = range(len(self))[index]
        pair_count, corpus_tokens, tokens_in_use = (column[rank] for column in self._columns)
        merges = self._tok.merges if self._merges is None else self._merges
        left, right, id = merges[rank]
        token = Spelling(self._tok)(id)
        bytes_per_token = self._corpus_bytes / corpus_tokens
        return TrainingStep(rank, id, left, right, token, pair_count, corpus_tokens, tokens_in_use, bytes_per_token)


def write_log(facts: TrainingFacts, path: str | os.PathLike[str]) -> None:
    """Writes the log as tab-separated text, one merge a line under a line of names, atomically."""
    if not isinstance(facts.log, TrainingLog):
        raise TrainingError("the training log is known only in the process that trained")
    spelling = Spelling(facts.log._tok)
    with write_atomically(path) as file:
        file.write(("\t".join([*TrainingStep._fields[:4], "pair", *TrainingStep._fields[4:]]) + "\n").encode())
        for step in facts.log:
            pair = "+".join(quoted(spelling(id)) for id in (step.left, step.right))
            row = [*step[:4], pair, quoted(step.token), *step[5:8], f"{step.bytes_per_token:.4f}"]
            file.write(("\t".join(map(str, row)) + "\n").encode())
