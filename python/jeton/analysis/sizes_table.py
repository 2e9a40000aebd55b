"""Results of `sizes`: `VocabSize` (one size) and `Sizes` (all sizes, with the tokenizer of each)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, overload

from ..errors import ConfigError, keyword
from ..tokenizer import Tokenizer
from ..util.arguments import integer
from ..vocabulary.first_merges import first_merges
from .sizes_plot import plot_sizes

__all__ = ["Sizes", "VocabSize"]

BAR_CELLS = 24
EIGHTHS = " ▏▎▍▌▋▊▉"


class VocabSize(NamedTuple):
    """Measurement of one vocabulary size.

    Attributes:
        vocab_size: total number of entries.
        num_merges: number of merges.
        tokens: number of tokens of the held-out text.
        bytes_per_token: UTF-8 bytes per token of the held-out text; higher means fewer tokens.
        parameters: parameters of the embedding and the output head together; None if `hidden` was not passed.

    Examples:
        >>> VocabSize(vocab_size=1000, num_merges=744, tokens=10, bytes_per_token=3.2, parameters=None).vocab_size
        1000
    """

    vocab_size: int
    num_merges: int
    tokens: int
    bytes_per_token: float
    parameters: int | None

    def to_json(self) -> dict[str, Any]:
        """Returns the measurement as JSON."""
        return self._asdict()


class Sizes(Sequence[VocabSize]):
    """Result of `sizes`: a sequence of `VocabSize` in ascending order; `str` returns a table with bars.

    Attributes:
        tok: the tokenizer of the largest size.
        held_out_bytes: number of bytes of the text that was measured.
        hidden, tied: as passed to `sizes`.

    Examples:
        >>> import jeton
        >>> found = jeton.sizes(["low lower lowest " * 9], [258, 262], test=["low lower"], progress=False)
        >>> [(size.vocab_size, size.tokens) for size in found]
        [(258, 5), (262, 2)]
    """

    def __init__(
        self,
        tok: Tokenizer,
        by_merges: list[int],
        held_out_bytes: int,
        asked: Sequence[int],
        hidden: int | None,
        tied: bool,
    ) -> None:
        self.tok, self.held_out_bytes, self.hidden, self.tied = tok, held_out_bytes, hidden, tied
        self._by_merges = by_merges  # number of merges -> tokens
        self._rows = [self.at(vocab_size) for vocab_size in asked]

    def at(self, vocab_size: int) -> VocabSize:
        """Returns the measurement of any size, not only of a requested one.

        Raises:
            ConfigError: the size is larger than the largest size, or smaller than the alphabet.

        Examples:
            >>> import jeton
            >>> jeton.sizes(["low lower lowest " * 9], [262], test=["low lower"], progress=False).at(259).tokens
            4
        """
        integer(vocab_size, "vocab_size", 1)
        num_merges = len(self._by_merges) - 1 - (self.tok.vocab_size - vocab_size)
        if not 0 <= num_merges < len(self._by_merges):
            least = self.tok.vocab_size - len(self._by_merges) + 1
            message = (
                f"{keyword('vocab_size', vocab_size)} is not between {least} (the alphabet) and {self.tok.vocab_size}"
            )
            raise ConfigError(message, option="sizes")
        tokens = self._by_merges[num_merges]
        parameters = None if self.hidden is None else vocab_size * self.hidden * (1 if self.tied else 2)
        return VocabSize(vocab_size, num_merges, tokens, self.held_out_bytes / tokens, parameters)

    def tokenizer(self, vocab_size: int) -> Tokenizer:
        """Returns the tokenizer of a size: `tok` with only its first merges; see `jeton.prune`.

        Examples:
            >>> import jeton
            >>> jeton.sizes(["low lower lowest " * 9], [262], test=["lower"], progress=False).tokenizer(259).vocab_size
            259
        """
        return first_merges(self.tok, self.at(vocab_size).vocab_size)

    def to_json(self) -> dict[str, Any]:
        """Returns the sizes as JSON, with the options of the measurement."""
        rows = [size.to_json() for size in self]
        return {"held_out_bytes": self.held_out_bytes, "hidden": self.hidden, "tied": self.tied, "sizes": rows}

    def plot(self, path: str | Path) -> None:
        """Plots the sizes into a file, ``.png``, ``.svg`` or ``.pdf``. Needs the extra ``plot``.

        Raises:
            ConfigError: the suffix is none of these.
            MissingDependencyError: matplotlib is not installed.
        """
        ratios = {size.vocab_size: size.bytes_per_token for size in self}
        parameters = [size.parameters for size in self if size.parameters is not None]
        plot_sizes(ratios, self._curve(), parameters, self.held_out_bytes, path)

    def _curve(self) -> dict[int, float]:
        """Returns size -> bytes per token, from the smallest row on, thinned to about two thousand points."""
        start = self._rows[0].vocab_size
        step = max(1, (self.tok.vocab_size - start) // 2000)
        wanted = [*range(start, self.tok.vocab_size, step), self.tok.vocab_size]
        return {size: self.at(size).bytes_per_token for size in wanted}

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> VocabSize: ...
    @overload
    def __getitem__(self, index: slice) -> list[VocabSize]: ...
    def __getitem__(self, index: int | slice) -> VocabSize | list[VocabSize]:
        return self._rows[index]

    def __str__(self) -> str:
        return "\n".join(_lines(self._rows))

    def __repr__(self) -> str:
        return f"Sizes({', '.join(str(size.vocab_size) for size in self._rows)})"


def _lines(rows: Sequence[VocabSize]) -> Iterator[str]:
    """Yields a header, and a line for each size with a bar of length proportional to its bytes per token."""
    with_cost = rows[0].parameters is not None
    yield f"{'vocabulary':>10} {'bytes/token':>12}  {'':<{BAR_CELLS}} {'tokens':>9}" + (" parameters" * with_cost)
    most = max(row.bytes_per_token for row in rows)
    before: int | None = None
    for row in rows:
        change = "" if before is None else f"{row.tokens / before - 1:+.1%}"
        line = f"{row.vocab_size:>10,} {row.bytes_per_token:>12.3f}  {_bar(row.bytes_per_token / most)} {change:>9}"
        yield line + (f" {_short(row.parameters):>10}" if row.parameters is not None else "")
        before = row.tokens


def _bar(share: float) -> str:
    cells, eighth = divmod(round(share * BAR_CELLS * 8), 8)
    return ("█" * cells + (EIGHTHS[eighth] if eighth else "")).ljust(BAR_CELLS)


def _short(parameters: int) -> str:
    """Formats a number of parameters in thousands, millions or billions."""
    unit, divisor = next(
        (unit, size) for unit, size in (("B", 1e9), ("M", 1e6), ("k", 1e3)) if parameters >= size or unit == "k"
    )
    return f"{parameters / divisor:,.1f} {unit}"
