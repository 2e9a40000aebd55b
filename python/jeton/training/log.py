"""Training log: every merge, with the state of the corpus after it."""

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
    """Merges in the order of learning, stored in columns. Only available in the process that trained."""

    def __init__(
        self,
        tok: Tokenizer,
        columns: tuple[list[int], list[int], list[int]],
        corpus_bytes: int,
        merges: Sequence[tuple[int, int, int]] | None = None,
    ) -> None:
        """Builds the log from the core's columns: pair counts, corpus tokens, tokens in use.

        `merges` is needed if the tokenizer's model stores none.
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
    """Writes the log atomically as tab-separated text, with a header and one merge per line."""
    if not isinstance(facts.log, TrainingLog):
        raise TrainingError("the training log is only available in the process that trained")
    spelling = Spelling(facts.log._tok)
    with write_atomically(path) as file:
        file.write(("\t".join([*TrainingStep._fields[:4], "pair", *TrainingStep._fields[4:]]) + "\n").encode())
        for step in facts.log:
            pair = "+".join(quoted(spelling(id)) for id in (step.left, step.right))
            row = [*step[:4], pair, quoted(step.token), *step[5:8], f"{step.bytes_per_token:.4f}"]
            file.write(("\t".join(map(str, row)) + "\n").encode())
