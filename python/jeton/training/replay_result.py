"""`Replay`: result of `replay`, a training run step by step.

A merge removes boundaries between symbols, and each boundary is removed at most once. So it suffices to store, for each
boundary, the rank of the merge that removed it. This describes the text at every step, in memory linear in the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..drawing import quoted
from ..util.arguments import instance
from ..util.lazy import cached_property

__all__ = ["PairCount", "Replay", "ReplayedSequence", "ReplayedStep"]


class PairCount(NamedTuple):
    """Count of a pair of adjacent ids."""

    left: int
    right: int
    pair_count: int


class ReplayedStep(NamedTuple):
    """One merge, with the pair counts before it.

    Attributes:
        rank: rank of the merge, from 0.
        left, right: the pair.
        id, token: id and bytes of the new token.
        pair_count: occurrences of the pair, with overlaps (``aaa`` contains ``aa`` twice).
        pairs: most frequent pairs before the merge; ties are in the order of the tie rule.
        num_pairs: number of distinct pairs.
        corpus_tokens: number of tokens of the text after the merge.
        bytes_per_token: bytes of the text divided by `corpus_tokens`.
    """

    rank: int
    left: int
    right: int
    id: int
    token: bytes
    pair_count: int
    pairs: tuple[PairCount, ...]
    num_pairs: int
    corpus_tokens: int
    bytes_per_token: float


@dataclass(frozen=True, slots=True)
class ReplayedSequence:
    """Document or pretoken, at every step of the run.

    Attributes:
        ids: ids of its n symbols before the first merge.
        joined: for each of the n - 1 boundaries between symbols, the rank of the merge that removed it; None: not
            removed.
        count: number of occurrences; 1, unless `Counts` or a mapping were replayed.

    Examples:
        >>> ReplayedSequence((97, 98, 97, 98), (0, 1, 0)).at(1, [256, 257])
        [256, 256]
    """

    ids: tuple[int, ...]
    joined: tuple[int | None, ...]
    count: int = 1

    def at(self, num_merges: int, made: Sequence[int]) -> list[int]:
        """Returns the ids after `num_merges` merges; `made`: rank of a merge -> its new id.

        A token is a run of symbols between remaining boundaries. Its id is the new id of the last merge inside the run.
        """
        result: list[int] = []
        last = -1  # highest rank inside the run so far
        for index, id in enumerate(self.ids):
            rank = self.joined[index] if index < len(self.joined) else None
            if rank is not None and rank < num_merges:
                last = max(last, rank)
            else:
                result.append(id if last < 0 else made[last])
                last = -1
        return result


@dataclass(frozen=True, repr=False)
class Replay:
    """Training run, step by step.

    Attributes:
        sequences: the documents, or the pretokens if there is a pattern, in the order of the text.
        steps: the merges.
        corpus_bytes: size of the text.
        tie_break: rule for pairs of equal count; None if unknown.
        stopped: reason for an early stop, or None.
        spell: id -> bytes of the token.

    Examples:
        >>> import jeton
        >>> tok = jeton.train(["abababc"], 258, pattern="none", progress=False)
        >>> run = jeton.replay(tok, ["abababc"])
        >>> [(step.token, step.pair_count, step.corpus_tokens) for step in run.steps]
        [(b'ab', 3, 4), (b'abab', 2, 3)]
        >>> run.at(0), run.at(1)
        ([[97, 98, 97, 98, 97, 98, 99]], [[256, 256, 256, 99]])
    """

    sequences: Sequence[ReplayedSequence]
    steps: Sequence[ReplayedStep]
    corpus_bytes: int
    tie_break: str | None
    stopped: str | None
    spell: Callable[[int], bytes]

    @cached_property
    def _made(self) -> list[int]:
        return [step.id for step in self.steps]

    @property
    def corpus_tokens(self) -> int:
        """Number of symbols before the first merge."""
        return sum(len(sequence.ids) * sequence.count for sequence in self.sequences)

    def at(self, num_merges: int) -> list[list[int]]:
        """Returns the sequences after `num_merges` merges.

        Raises:
            IndexError: the run has fewer merges.
        """
        instance(num_merges, "num_merges", int, "an integer")
        if not 0 <= num_merges <= len(self.steps):
            raise IndexError(f"num_merges={num_merges} is not in 0 to {len(self.steps)}, the number of merges")
        return [sequence.at(num_merges, self._made) for sequence in self.sequences]

    def line(self, num_merges: int) -> str:
        """Returns a line with the spelling of all tokens after `num_merges` merges."""
        return " | ".join(
            "[" + ", ".join(quoted(self.spell(id)) for id in sequence) + "]" for sequence in self.at(num_merges)
        )

    def lines(self) -> Iterator[str]:
        """Yields the run as lines: the text before the first merge, then a line per merge with the text after it."""
        yield self.line(0)
        for step in self.steps:
            made = f"({step.left}, {step.right}) -> {step.id} {quoted(step.token)} ×{step.pair_count}"
            yield f"{made}  {self.line(step.rank + 1)}"

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        return f"Replay({len(self.steps)} merges of {self.corpus_bytes} bytes)"

    def to_json(self) -> dict[str, Any]:
        """Returns the replay as JSON. Entry `tokens`: each id of the run -> bytes of the token, in hexadecimal."""
        ids = {id for sequence in self.sequences for id in sequence.ids} | set(self._made)
        ids |= {id for step in self.steps for pair in step.pairs for id in pair[:2]}
        return {
            "tie_break": self.tie_break,
            "stopped": self.stopped,
            "corpus_bytes": self.corpus_bytes,
            "corpus_tokens": self.corpus_tokens,
            "sequences": [
                {"ids": list(sequence.ids), "joined": list(sequence.joined), "count": sequence.count}
                for sequence in self.sequences
            ],
            "steps": [
                {**step._asdict(), "token": step.token.hex(), "pairs": [list(pair) for pair in step.pairs]}
                for step in self.steps
            ],
            "tokens": {id: self.spell(id).hex() for id in sorted(ids)},
        }
