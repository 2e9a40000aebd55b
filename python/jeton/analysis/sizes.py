"""Compression and cost of every vocabulary size, from one training run.

The number of tokens under the first n merges follows from the encoding under all merges: merges apply in order and each
token is produced by one merge only, so the encoding can be undone, last merge first. Given the count of each token in
the held-out text, one pass over the merges yields the number of tokens for every n.

Memory: as training. The held-out text is reread in batches, or kept if the corpus can be read only once.

Left out: models other than BPE, whose smaller vocabularies are not prefixes of larger ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast, overload

from ..corpus import Corpus, CorpusLike, DocumentReader, Source, check_corpus, open_corpus
from ..errors import ConfigError, TrainingError
from ..tokenizer import Tokenizer
from ..training import Limits, train
from ..training.presets import resolve
from ..util.arguments import flag, integer, items
from ..util.progress import Progress, ProgressEvent, make_reporter
from ..vocabulary import first_merges
from .measure import encode_texts
from .sizes_plot import draw_sizes, plot_sizes

__all__ = ["Sizes", "VocabSize", "sizes"]

DEFAULT_SIZES = tuple(1024 << step for step in range(8))  # to 131,072


class VocabSize(NamedTuple):
    """One vocabulary size.

    Attributes:
        vocab_size: total number of entries.
        num_merges: number of merges.
        tokens: number of tokens of the held-out text.
        bytes_per_token: UTF-8 bytes per token of the held-out text; higher means fewer tokens.
        parameters: parameters of the embedding and the output head together; None without `hidden`.

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
        """The size as JSON."""
        return self._asdict()


class Sizes(Sequence[VocabSize]):
    """Result of `sizes`: a sequence of sizes in ascending order; its string is a table with bars.

    Attributes:
        tok: the tokenizer of the largest size.
        held_out_bytes: bytes of the text measured on.
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
        """Measurement of any size, not only the requested ones.

        Raises:
            ConfigError: a size above the largest, or below the alphabet.

        Examples:
            >>> import jeton
            >>> jeton.sizes(["low lower lowest " * 9], [262], test=["low lower"], progress=False).at(259).tokens
            4
        """
        integer(vocab_size, "vocab_size", 1)
        num_merges = len(self._by_merges) - 1 - (self.tok.vocab_size - vocab_size)
        if not 0 <= num_merges < len(self._by_merges):
            least = self.tok.vocab_size - len(self._by_merges) + 1
            message = f"vocab_size={vocab_size} is not between {least} (the alphabet) and {self.tok.vocab_size}"
            raise ConfigError(message, option="sizes")
        tokens = self._by_merges[num_merges]
        parameters = None if self.hidden is None else vocab_size * self.hidden * (1 if self.tied else 2)
        return VocabSize(vocab_size, num_merges, tokens, self.held_out_bytes / tokens, parameters)

    def tokenizer(self, vocab_size: int) -> Tokenizer:
        """The tokenizer of a size, with the first merges only; see `jeton.prune`.

        Examples:
            >>> import jeton
            >>> jeton.sizes(["low lower lowest " * 9], [262], test=["lower"], progress=False).tokenizer(259).vocab_size
            259
        """
        return first_merges(self.tok, self.at(vocab_size).vocab_size)

    def to_json(self) -> dict[str, Any]:
        """The sizes as JSON, with the options that they were measured with."""
        rows = [size.to_json() for size in self]
        return {"held_out_bytes": self.held_out_bytes, "hidden": self.hidden, "tied": self.tied, "sizes": rows}

    def plot(self, path: str | Path) -> None:
        """Plots the sizes into a file, ``.png``, ``.svg`` or ``.pdf``. Needs the extra ``plot``.

        Raises:
            ConfigError: another suffix.
            MissingDependencyError: matplotlib is not installed.
        """
        plot_sizes(self._rows, self._curve(), self.held_out_bytes, path)

    def _curve(self) -> tuple[list[int], list[float]]:
        """(sizes, bytes per token) from the smallest row on, thinned to about two thousand points."""
        start = self._rows[0].vocab_size
        step = max(1, (self.tok.vocab_size - start) // 2000)
        wanted = [*range(start, self.tok.vocab_size, step), self.tok.vocab_size]
        return wanted, [self.at(size).bytes_per_token for size in wanted]

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> VocabSize: ...
    @overload
    def __getitem__(self, index: slice) -> list[VocabSize]: ...
    def __getitem__(self, index: int | slice) -> VocabSize | list[VocabSize]:
        return self._rows[index]

    def __str__(self) -> str:
        return "\n".join(draw_sizes(self._rows))

    def __repr__(self) -> str:
        return f"Sizes({', '.join(str(size.vocab_size) for size in self._rows)})"


def sizes(
    corpus: CorpusLike | Corpus,
    sizes: Sequence[int] | None = None,
    *,
    hidden: int | None = None,
    tied: bool = False,
    test: CorpusLike | Corpus | None = None,
    held_out: float = 0.05,
    threads: int | None = None,
    progress: Progress = None,
    limits: Limits | None = None,
    **options: Any,
) -> Sizes:
    """Trains once at the largest size and measures all sizes on held-out text.

    Args:
        corpus: as in `jeton.train`. Weights of sources apply to training, not to the measurement.
        sizes: vocabulary sizes; None: 1,024, doubled up to 131,072, as far as the corpus suffices.
        hidden: width of a model, for `VocabSize.parameters`: size × hidden for the embedding, and as much for the head.
        tied: the head shares the parameters of the embedding.
        test: text to measure on; then all of `corpus` is used for training.
        held_out: without `test`, the share of `corpus` that is held out: whole documents, or blocks of lines of
            documents over 64 KiB. The seed of the `Corpus` selects them.
        threads, progress, limits: as in `jeton.train`.
        **options: other options of `jeton.train`, such as ``pattern`` or ``special_tokens``.

    Returns:
        The sizes. If training stops early, its last size replaces those that it did not reach.

    Raises:
        ConfigError: invalid sizes, including one below the alphabet.
        TrainingError: no text to train on, or none to measure on.

    Examples:
        >>> import jeton
        >>> corpus = [f"the price of {i} apples is {i * 3} coins" for i in range(400)]
        >>> found = jeton.sizes(corpus, [256, 320], hidden=64, pattern="gpt2", progress=False)
        >>> [(size.vocab_size, round(size.bytes_per_token, 2), size.parameters) for size in found]
        [(256, 1.0, 32768), (320, 3.37, 40960)]
    """
    asked = _check_sizes(sizes, hidden)
    flag(tied, "tied")
    if test is not None and not isinstance(test, Source | Corpus):
        check_corpus(test, "test")
    limits = Limits.of(limits, threads)
    if (preset := resolve(options.get("preset"))).algorithm == "unigram":
        message = f"preset={preset.name!r}: sizes are prefixes of a list of merges, and Unigram learns none"
        raise ConfigError(message, option="preset")
    corpus = Corpus.of(corpus)
    opened = open_corpus(corpus)
    if test is None:
        learned_from, measured_on = opened.split(held_out, corpus.seed)
    else:
        learned_from, measured_on = opened, open_corpus(test)
    with make_reporter(progress) as report:
        tok = train(cast(Any, learned_from), asked[-1], limits=limits, progress=report, **options)
        first_merges(tok, min(asked[0], tok.vocab_size))  # raises if `tok` cannot be pruned, or a size is too small
        uses, num_bytes = _uses(tok, measured_on, limits, report)
    if not num_bytes or not any(uses):
        raise TrainingError("there is no text to measure on: pass test=, a larger held_out=, or a larger corpus")
    reached = [size for size in asked if size < tok.vocab_size] + [tok.vocab_size]
    return Sizes(tok, _tokens_by_merges(tok.merges, uses), num_bytes, reached, hidden, tied)


def _check_sizes(sizes: Sequence[int] | None, hidden: int | None) -> list[int]:
    """Checks the sizes and returns them in ascending order."""
    asked = list(DEFAULT_SIZES) if sizes is None else items(sizes, "sizes", "a list of positive integers")
    for index, size in enumerate(asked):
        integer(size, f"sizes[{index}]", 1)
    if not asked:
        raise ConfigError("sizes is empty; pass at least one size, or None for the defaults", option="sizes")
    if hidden is not None:
        integer(hidden, "hidden", 1)
    return sorted(set(asked))


def _uses(tok: Tokenizer, corpus: DocumentReader, limits: Limits, report: Any) -> tuple[list[int], int]:
    """Count of each id in the encoded corpus, and the corpus's bytes. Special tokens are matched, as in training."""
    import numpy as np

    uses = np.zeros(tok.vocab_size, np.int64)
    num_bytes = 0
    for batch in corpus.batches(limits.batch_bytes):
        ids = encode_texts(tok, batch.texts, special="all", threads=limits.num_threads)
        uses += np.bincount(ids, minlength=tok.vocab_size)
        num_bytes += batch.num_bytes
        report(ProgressEvent("encode", batch.bytes_read, corpus.total_bytes, "B"))
    return uses.tolist(), num_bytes


def _tokens_by_merges(merges: Sequence[tuple[int, int, int]], uses: list[int]) -> list[int]:
    """Number of tokens under the first n merges, for every n from 0.

    Invariant: at rank n, `uses` holds the counts of ids in the encoding under the merges up to n. Replacing the token
    of rank n by its pair yields the counts under the merges before n.
    """
    tokens = [sum(uses)]
    for left, right, new in reversed(merges):
        uses[left] += uses[new]
        uses[right] += uses[new]
        tokens.append(tokens[-1] + uses[new])
    return tokens[::-1]
