"""Every vocabulary size from one training run: how short text becomes at each size, and what the size costs.

The tokens of a text under the first n merges need no encoder of their own: merges apply in their order, and each token
is made by one merge only, so the encoding under all merges can be taken apart again, last merge first. From the uses
of each token in the held-out text, one pass over the merges gives the number of tokens for every n at once.

Memory: as training; the held-out text is read again in batches, or held if the corpus can be read only once.
Left out: sizes of other models than BPE, whose vocabularies are no prefixes of each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast, overload

from ..arguments import flag, integer, items
from ..corpus import MAX_EXPANSION, Corpus, CorpusLike, Source, check_corpus, open_corpus
from ..editing import prefix
from ..errors import ConfigError, TrainingError
from ..progress import Progress, ProgressEvent, make_reporter
from ..threads import num_threads
from ..tokenizer import Tokenizer
from ..training import train
from .measure import encode_texts
from .sizes_plot import draw_sizes, plot_sizes

__all__ = ["Size", "Sizes", "sizes"]

DEFAULT_SIZES = tuple(1024 << step for step in range(8))  # to 131,072


class Size(NamedTuple):
    """One vocabulary size.

    Attributes:
        vocab_size: entries in all.
        num_merges: merges among them.
        tokens: of the held-out text.
        bytes_per_token: of the held-out text; higher is shorter.
        parameters: of the embedding and the output head together, or None without `hidden`.

    Examples:
        >>> Size(vocab_size=1000, num_merges=744, tokens=10, bytes_per_token=3.2, parameters=None).vocab_size
        1000
    """

    vocab_size: int
    num_merges: int
    tokens: int
    bytes_per_token: float
    parameters: int | None


class Sizes(Sequence[Size]):
    """What `sizes` found: the sizes in rising order; as text, a table with a drawing.

    Attributes:
        tok: the tokenizer of the largest size.
        held_out_bytes: how much text was measured on.
        hidden, tied: as asked.

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

    def at(self, vocab_size: int) -> Size:
        """Any size, also one that was not asked for.

        Raises:
            ConfigError: a size over the largest, or under the alphabet.

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
        return Size(vocab_size, num_merges, tokens, self.held_out_bytes / tokens, parameters)

    def tokenizer(self, vocab_size: int) -> Tokenizer:
        """The tokenizer of a size, with as many merges; see `jeton.prefix`.

        Examples:
            >>> import jeton
            >>> jeton.sizes(["low lower lowest " * 9], [262], test=["lower"], progress=False).tokenizer(259).vocab_size
            259
        """
        return prefix(self.tok, vocab_size)

    def plot(self, path: str | Path) -> None:
        """Draws the sizes into a file, ``.png``, ``.svg`` or ``.pdf``. Needs the extra ``plot``.

        Raises:
            ConfigError: another suffix.
            MissingDependencyError: matplotlib is not installed.
        """
        plot_sizes(self._rows, self._curve(), self.held_out_bytes, path)

    def _curve(self) -> tuple[list[int], list[float]]:
        """Sizes and bytes per token, for every size there is from the smallest row on; at most some thousand points."""
        start = self._rows[0].vocab_size
        step = max(1, (self.tok.vocab_size - start) // 2000)
        wanted = [*range(start, self.tok.vocab_size, step), self.tok.vocab_size]
        return wanted, [self.at(size).bytes_per_token for size in wanted]

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Size: ...
    @overload
    def __getitem__(self, index: slice) -> list[Size]: ...
    def __getitem__(self, index: int | slice) -> Size | list[Size]:
        return self._rows[index]

    def __str__(self) -> str:
        return "\n".join(draw_sizes(self._rows))

    def __repr__(self) -> str:
        return f"Sizes({', '.join(str(size.vocab_size) for size in self._rows)})"


def sizes(
    corpus: CorpusLike,
    sizes: Sequence[int] | None = None,
    *,
    hidden: int | None = None,
    tied: bool = False,
    test: CorpusLike | None = None,
    held_out: float = 0.05,
    documents: Literal["file", "line"] = "file",
    field: str = "text",
    errors: Literal["strict", "replace", "skip"] = "strict",
    encoding: str = "utf-8",
    max_expansion: int | None = MAX_EXPANSION,
    sample_bytes: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress = None,
    **options: Any,
) -> Sizes:
    """Trains once at the largest size, and measures every smaller one on text that was not trained on.

    Args:
        corpus: as in `jeton.train`. Weights of sources count in training, not in what is measured.
        sizes: vocabulary sizes; by default 1,024, doubled up to 131,072, as far as the corpus goes.
        hidden: the width of a model, for `Size.parameters`: size × hidden for the embedding, as much for the head.
        tied: the head shares its parameters with the embedding, which counts once.
        test: text to measure on; then all of `corpus` is trained on.
        held_out: without `test`, the share of `corpus` that is held out: documents from all over it, of those over
            64 KiB blocks of lines.
        documents, field, errors, encoding, max_expansion, sample_bytes, seed: how both are read, as in `jeton.train`;
            `seed` also decides what
            is held out.
        threads, progress: as in `jeton.train`.
        **options: more of `jeton.train`'s options, such as ``pattern`` or ``special_tokens``.

    Returns:
        The sizes. When training stops early, its last size stands in the place of those that it did not reach.

    Raises:
        ConfigError: sizes that cannot be, among them one under the alphabet.
        TrainingError: nothing to train on, or nothing to measure on.

    Examples:
        >>> import jeton
        >>> corpus = [f"the price of {i} apples is {i * 3} coins" for i in range(400)]
        >>> found = jeton.sizes(corpus, [256, 320], hidden=64, pattern="gpt2", progress=False)
        >>> [(size.vocab_size, round(size.bytes_per_token, 2), size.parameters) for size in found]
        [(256, 1.0, 32768), (320, 3.37, 40960)]
    """
    asked = _check_sizes(sizes, hidden)
    flag(tied, "tied")
    if test is not None and not isinstance(test, Source):
        check_corpus(test, "test")
    algorithm = options.get("algorithm", "bpe")
    if algorithm != "bpe":
        message = f"algorithm={algorithm!r}: sizes are prefixes of a list of merges, which only 'bpe' learns"
        raise ConfigError(message, option="algorithm")
    reading: dict[str, Any] = {
        "documents": documents, "field": field, "errors": errors, "encoding": encoding, "max_expansion": max_expansion
    }  # fmt: skip
    opened = open_corpus(corpus, **reading, sample_bytes=sample_bytes, seed=seed)
    if test is None:
        learned_from, measured_on = opened.split(held_out, seed)
    else:
        learned_from, measured_on = opened, open_corpus(test, **reading)
    with make_reporter(progress) as report:
        tok = train(cast(Any, learned_from), asked[-1], threads=threads, progress=report, **options)
        prefix(tok, min(asked[0], tok.vocab_size))  # whether it has prefixes, and room for the smallest
        uses, num_bytes = _uses(tok, measured_on, num_threads(threads), report)
    if not num_bytes or not any(uses):
        raise TrainingError("there is no text to measure on: pass test=, a larger held_out=, or a larger corpus")
    reached = [size for size in asked if size < tok.vocab_size] + [tok.vocab_size]
    return Sizes(tok, _tokens_by_merges(tok.merges, uses), num_bytes, reached, hidden, tied)


def _check_sizes(sizes: Sequence[int] | None, hidden: int | None) -> list[int]:
    """The sizes in rising order."""
    asked = list(DEFAULT_SIZES) if sizes is None else items(sizes, "sizes", "a list of positive integers")
    for index, size in enumerate(asked):
        integer(size, f"sizes[{index}]", 1)
    if not asked:
        raise ConfigError("sizes is empty; pass at least one size, or None for the defaults", option="sizes")
    if hidden is not None:
        integer(hidden, "hidden", 1)
    return sorted(set(asked))


def _uses(tok: Tokenizer, corpus: Corpus, threads: int, report: Any) -> tuple[list[int], int]:
    """How often each id stands in the encoded corpus, and the corpus's bytes. Special tokens cut, as in training."""
    import numpy as np

    uses = np.zeros(tok.vocab_size, np.int64)
    num_bytes = 0
    for batch in corpus.batches():
        ids = encode_texts(tok, batch.texts, special="all", threads=threads)
        uses += np.bincount(ids, minlength=tok.vocab_size)
        num_bytes += sum(map(len, batch.texts))
        report(ProgressEvent("encode", batch.bytes_read, corpus.total_bytes, "B"))
    return uses.tolist(), num_bytes


def _tokens_by_merges(merges: Sequence[tuple[int, int, int]], uses: list[int]) -> list[int]:
    """The number of tokens under the first n merges, for every n from 0.

    Invariant: when rank n is looked at, `uses` is what the encoding under the merges up to n has; taking its token
    apart gives the encoding under the merges before it.
    """
    tokens = [sum(uses)]
    for left, right, new in reversed(merges):
        uses[left] += uses[new]
        uses[right] += uses[new]
        tokens.append(tokens[-1] + uses[new])
    return tokens[::-1]
