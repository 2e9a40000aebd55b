"""Compression and cost of every vocabulary size, from one training run.

The number of tokens under the first n merges follows from the encoding under all merges: merges apply in order and only
one merge produces each token, so the encoding can be undone merge by merge, the last merge first. Given the count of
each token in the held-out text, one pass over the merges yields the number of tokens for every n.

Memory: as training. The held-out text is reread in batches, or stays in memory if the corpus can be read only once.

Left out: models other than BPE. The smaller vocabularies of such a model are not prefixes of its larger ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from ..corpus import Corpus, CorpusLike, DocumentReader, Source, check_corpus, open_corpus
from ..errors import MARK, ConfigError, TrainingError, keyword
from ..tokenizer import Tokenizer
from ..training import Limits, train
from ..training.presets import resolve
from ..util.arguments import flag, integer, items
from ..util.progress import Progress, ProgressEvent, make_reporter
from ..vocabulary.first_merges import first_merges
from .measure import encode_texts
from .sizes_table import Sizes

__all__ = ["sizes"]

DEFAULT_SIZES = tuple(1024 << step for step in range(8))  # to 131,072


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
        sizes: vocabulary sizes. None: the powers of two from 1,024 to 131,072 that training on the corpus can reach.
        hidden: width of a model, for `VocabSize.parameters`: size × hidden for the embedding, and the same number for
            the head.
        tied: whether the head shares the parameters of the embedding.
        test: text to measure on; with it, the whole `corpus` is used for training.
        held_out: without `test`, the share of `corpus` that is held out: whole documents, or blocks of lines of
            documents over 64 KiB. The seed of the `Corpus` selects them.
        threads, progress, limits: as in `jeton.train`.
        **options: other options of `jeton.train`, such as ``pattern`` or ``special_tokens``.

    Returns:
        The sizes. If training stops early, the last size that it reached replaces all larger ones.

    Raises:
        ConfigError: a size is invalid or smaller than the alphabet.
        TrainingError: there is no text to train on, or no text to measure on.

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
    if (preset := resolve(given := options.get("preset"))).algorithm != "bpe":
        learns = f"sizes are prefixes of a list of merges, but a tokenizer trained with {preset.algorithm} keeps none"
        message = f"{keyword('preset', given)}: {learns}"
        raise ConfigError(message)
    corpus = Corpus.of(corpus)
    opened = open_corpus(corpus)
    if test is None:
        learned_from, measured_on = opened.split(held_out, corpus.seed)
    else:
        learned_from, measured_on = opened, open_corpus(test)
    with make_reporter(progress) as report:
        try:
            tok = train(cast(Any, learned_from), asked[-1], limits=limits, progress=report, **options)
            first_merges(tok, min(asked[0], tok.vocab_size))  # checks that `tok` can be pruned to the smallest size
        except ConfigError as error:
            if error.option == "vocab_size":  # the caller passed it as an item of `sizes`
                error.rename(f"{MARK}vocab_size", f"{MARK}sizes")
                error.option = "sizes"
            raise
        uses, num_bytes = _uses(tok, measured_on, limits, report)
    if not num_bytes or not any(uses):
        raise TrainingError(
            f"there is no text to measure on: pass {keyword('test')}, a larger {keyword('held_out')}, or a "
            "larger corpus"
        )
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
    """Returns the count of each id in the encoded corpus, and the number of bytes of the corpus.

    Special tokens are matched, as in training.
    """
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
    """Returns the number of tokens under the first n merges, for every n from 0.

    Invariant: at rank n, `uses` holds the counts of ids in the encoding under the merges up to n. Replacing the token
    of rank n by its pair yields the counts under the merges before n.
    """
    tokens = [sum(uses)]
    for left, right, new in reversed(merges):
        uses[left] += uses[new]
        uses[right] += uses[new]
        tokens.append(tokens[-1] + uses[new])
    return tokens[::-1]
