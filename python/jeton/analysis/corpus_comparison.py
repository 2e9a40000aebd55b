"""`compare_corpus`: compares how tokenizers split a corpus, and compares their vocabularies.

The core encodes each batch and compares the tokens (`tokenizer/agreement`). If the bytes of the tokens of a byte-level
tokenizer concatenate to the text, their lengths give the spans. Otherwise the text is encoded with spans, which is
slower.

Memory: a few batches of documents, a count for each id, and a table of at most 65,536 passages.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import _core
from ..corpus import Corpus, CorpusLike, open_corpus
from ..drawing import draw, to_terminal
from ..drawing.display_width import display_width, padded
from ..errors import ConfigError, JetonError, keyword
from ..tokenizer import Tokenizer
from ..util.arguments import MAX_INT64, integer
from ..util.progress import Progress, ProgressEvent, make_reporter
from ..util.threads import num_threads
from .corpus_comparison_plot import plot_comparison
from .measure_run import only_splits
from .named import named_tokenizers

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["CorpusComparison", "Difference", "compare_corpus"]

BATCH_BYTES = 4 << 20
RENYI_ORDER = 2.5


class Difference(NamedTuple):
    """A passage that the tokenizers split differently.

    Attributes:
        text: the passage; all tokenizers have a boundary at its start and at its end.
        occurrences: number of times that the passage occurs in the corpus.
        pieces: for each tokenizer, the tokens of the first occurrence, as bytes of the text.
    """

    text: bytes
    occurrences: int
    pieces: tuple[tuple[bytes, ...], ...]


@dataclass(frozen=True, eq=False, repr=False)
class CorpusComparison:
    """Comparison of tokenizers on a corpus. `str` returns a report in text.

    Attributes:
        names, toks: the tokenizers.
        documents, bytes: size of the corpus.
        tokens: int64[tokenizers]: number of tokens.
        boundaries: int64[tokenizers, tokenizers]: number of token boundaries inside documents that two tokenizers have
            in common; on the diagonal, the number of each tokenizer's boundaries.
        equal_tokens: int64[tokenizers, tokenizers]: number of tokens that cover the same bytes of the text.
        frequencies: for each tokenizer int64[ids]: occurrences of each id, up to the highest id that occurs.
        shared_entries: int64[tokenizers, tokenizers]: distinct byte strings that are entries of both vocabularies.
        passages, passage_bytes: number of passages that the tokenizers do not all split in the same way, and their
            bytes.
        differences: the most frequent passages of at most 64 bytes. Only the first 65,536 distinct passages of the
            corpus are counted.

    Examples:
        >>> import jeton
        >>> words = ["low lower lowest"]
        >>> sizes = {"small": 257, "large": 259}
        >>> toks = {name: jeton.train(words, n, pattern="gpt2", progress=False) for name, n in sizes.items()}
        >>> found = jeton.compare_corpus(toks, ["low lower", "slow"], progress=False)
        >>> found.tokens.tolist(), f"{found.agreement('small', 'large'):.1%}"
        ([10, 6], '66.7%')
        >>> found.differences[0]
        Difference(text=b'low', occurrences=2, pieces=((b'lo', b'w'), (b'low',)))
    """

    names: tuple[str, ...]
    toks: tuple[Tokenizer, ...]
    documents: int
    bytes: int
    tokens: NDArray[np.int64]
    boundaries: NDArray[np.int64]
    equal_tokens: NDArray[np.int64]
    frequencies: tuple[NDArray[np.int64], ...]
    shared_entries: NDArray[np.int64]
    passages: int
    passage_bytes: int
    differences: list[Difference]

    def agreement(self, a: str, b: str) -> float:
        """Returns the F1 of two tokenizers' boundaries: 1.0 if they split every document in the same way.

        F1 is the number of shared boundaries, divided by the mean of the two numbers of boundaries; 1.0 if neither has
        any.
        """
        return self._f1(self.boundaries, a, b)

    def token_agreement(self, a: str, b: str) -> float:
        """Returns the F1 of two tokenizers' tokens: number of equal tokens, divided by the mean number of tokens."""
        return self._f1(self.equal_tokens, a, b)

    def vocab_overlap(self, a: str, b: str) -> float:
        """Returns the share of the entries of `a` (distinct byte strings) that are also entries of `b`."""
        row, column = self._index(a), self._index(b)
        return float(self.shared_entries[row, column] / max(self.shared_entries[row, row], 1))

    def renyi_efficiency(self, name: str, order: float = RENYI_ORDER) -> float:
        """Returns the Rényi entropy of the distribution of ids, divided by the logarithm of the vocabulary size: 1.0 if
        all ids are equally frequent.

        Args:
            name: the tokenizer.
            order: positive; 1 is Shannon's entropy. The source found that 2.5 predicts the quality of translations
                best. Useless changes can raise this efficiency (arXiv 2402.14614): do not judge a tokenizer by it
                alone.

        Source: Zouhar et al. 2023, "Tokenization and the Noiseless Channel", arXiv 2306.16842.
        """
        import numpy as np

        if isinstance(order, bool) or not isinstance(order, int | float) or not order > 0:
            raise ConfigError(f"{keyword('order', order)} is not a positive number")
        index = self._index(name)
        counts = self.frequencies[index]
        size = len(self.toks[index])
        if size < 2 or not self.tokens[index]:
            return 0.0
        shares = counts[counts > 0] / counts.sum()
        if order == 1:
            entropy = -float((shares * np.log(shares)).sum())
        else:
            entropy = float(np.log((shares**order).sum())) / (1 - order)
        return entropy / float(np.log(size))

    def used_entries(self, name: str) -> int:
        """Returns the number of entries that occur in the corpus."""
        import numpy as np

        return int(np.count_nonzero(self.frequencies[self._index(name)]))

    def to_json(self) -> dict[str, Any]:
        """Returns the figures as JSON, without the frequencies of ids. Matrices are lists of rows."""
        pairs = [[self.agreement(a, b) for b in self.names] for a in self.names]
        return {
            "documents": self.documents,
            "bytes": self.bytes,
            "tokenizers": [
                {
                    "name": name,
                    "tokens": int(tokens),
                    "bytes_per_token": self.bytes / int(tokens) if tokens else 0.0,
                    "entries": len(tok),
                    "used_entries": self.used_entries(name),
                    "renyi_efficiency": self.renyi_efficiency(name),
                }
                for name, tok, tokens in zip(self.names, self.toks, self.tokens, strict=True)
            ],
            "agreement": pairs,
            "boundaries": self.boundaries.tolist(),
            "equal_tokens": self.equal_tokens.tolist(),
            "shared_entries": self.shared_entries.tolist(),
            "passages": self.passages,
            "passage_bytes": self.passage_bytes,
            "differences": [
                {
                    "text": _spelled(each.text),
                    "occurrences": each.occurrences,
                    "pieces": [list(map(_spelled, pieces)) for pieces in each.pieces],
                }
                for each in self.differences
            ],
        }

    def to_terminal(self, *, color: bool = False, most: int = 10) -> str:
        """Returns the report as text, with at most `most` of the differences."""
        return "\n".join([*_figures(self), "", *_matrix(self), "", *_passages(self, color, most)])

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Plots the agreement of each pair, and the frequency of ids by rank, into a file, ``.png``, ``.svg`` or
        ``.pdf``. Needs the extra ``plot``.

        Raises:
            ConfigError: the suffix is none of these.
            MissingDependencyError: matplotlib is not installed.
        """
        pairs = [[self.agreement(a, b) for b in self.names] for a in self.names]
        plot_comparison(self.names, pairs, self.frequencies, path)

    def __str__(self) -> str:
        return self.to_terminal()

    def __repr__(self) -> str:
        tokens = ", ".join(f"{name}: {count:,}" for name, count in zip(self.names, self.tokens.tolist(), strict=True))
        return f"CorpusComparison({tokens} tokens of {self.bytes:,} bytes)"

    def _f1(self, matrix: NDArray[np.int64], a: str, b: str) -> float:
        row, column = self._index(a), self._index(b)
        total = int(matrix[row, row] + matrix[column, column])
        return 2 * int(matrix[row, column]) / total if total else 1.0

    def _index(self, name: str) -> int:
        if name not in self.names:
            raise ConfigError(f"{name!r} is not one of the tokenizers: {', '.join(self.names)}", option="name")
        return self.names.index(name)


def compare_corpus(
    toks: Mapping[str, Tokenizer] | Sequence[Tokenizer],
    corpus: CorpusLike | Corpus,
    *,
    max_differences: int = 1000,
    threads: int | None = None,
    progress: Progress = None,
) -> CorpusComparison:
    """Compares tokenizers on a corpus: boundaries and tokens in common, vocabularies, frequencies, differences.

    See also `compare`, which shows one text in detail, and `measure`, which measures compression and fertility.

    Args:
        toks: several tokenizers: a mapping name -> tokenizer, or a list, in which they are named 1, 2, …
        corpus: as in `jeton.train`; weights of sources have no effect.
        max_differences: maximum number of differences in the result; the most frequent are returned.
        threads, progress: as in `jeton.train`.

    Raises:
        ConfigError: there are no tokenizers, or an option is invalid.
        InvalidTextError: one of the tokenizers cannot encode a text; the error names the tokenizer.
        FileNotFoundError, FormatError: as `jeton.train`.

    Examples:
        >>> import jeton
        >>> coarse = jeton.train(["low lower lowest"], 259, pattern="gpt2", progress=False)
        >>> fine = jeton.Tokenizer.from_merges({i: bytes([i]) for i in range(256)}, [])
        >>> found = jeton.compare_corpus([coarse, fine], ["low lowest"], progress=False)
        >>> found.boundaries.tolist(), found.vocab_overlap("2", "1")
        ([[4, 4], [4, 9]], 1.0)
    """
    named = named_tokenizers(toks, "toks", "compare")
    integer(max_differences, "max_differences", 0, MAX_INT64)
    count = num_threads(threads)
    reader = open_corpus(corpus)
    run = _Run(named, count)
    with make_reporter(progress) as report:
        for batch in reader.batches(BATCH_BYTES):
            run.add(batch.texts)
            report(ProgressEvent("encode", batch.bytes_read, reader.total_bytes, "B"))
    reader.log_complaints()
    return run.result(max_differences)


class _Run:
    """Running totals of one call of `compare_corpus`."""

    def __init__(self, named: Mapping[str, Tokenizer], threads: int) -> None:
        self._named, self._threads = named, threads
        self._agreement = _core.Agreement([tok._core for tok in named.values()])
        self._only_splits = [only_splits(tok) for tok in named.values()]
        self._documents = self._bytes = 0

    def add(self, texts: list[bytes]) -> None:
        """Adds a batch of documents to the totals."""
        columns: list[Any] = []
        for (name, tok), from_ids in zip(self._named.items(), self._only_splits, strict=True):
            if not from_ids:
                columns.append(None)
                continue
            try:
                batch = tok.encode_batch(texts, threads=self._threads)
            except JetonError as error:
                error.prefix(f"tokenizer {name}: ")
                raise
            columns.append((batch.ids.view("u1"), batch.offsets[1:].tolist()))
        failed = self._agreement.add(texts, columns, self._threads)
        if failed is not None:
            index, raised = failed
            raised.args = (f"tokenizer {list(self._named)[index]}: {raised}", *raised.args[1:])
            raise raised
        self._documents += len(texts)
        self._bytes += sum(map(len, texts))

    def result(self, most: int) -> CorpusComparison:
        """Returns the comparison from the totals."""
        import numpy as np

        size = len(self._named)
        boundaries, tokens = (np.array(each, np.int64).reshape(size, size) for each in self._agreement.matrices())
        frequencies = tuple(
            np.frombuffer(self._agreement.frequencies(index), "<u8").astype(np.int64) for index in range(size)
        )
        toks = tuple(self._named.values())
        overlap = np.zeros((size, size), np.int64)
        for row in range(size):
            for column in range(row, size):
                shared, mine, its = toks[row]._core.shared_entries(toks[column]._core)
                overlap[row, column] = overlap[column, row] = shared
                overlap[row, row], overlap[column, column] = mine, its
        passages, passage_bytes = self._agreement.passages()
        return CorpusComparison(
            names=tuple(self._named),
            toks=toks,
            documents=self._documents,
            bytes=self._bytes,
            tokens=np.array([int(counts.sum()) for counts in frequencies], np.int64),
            boundaries=boundaries,
            equal_tokens=tokens,
            frequencies=frequencies,
            shared_entries=overlap,
            passages=passages,
            passage_bytes=passage_bytes,
            differences=[
                Difference(text, occurrences, tuple(map(tuple, pieces)))
                for text, occurrences, pieces in self._agreement.frequent_passages(most)
            ],
        )


def _spelled(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")


def _figures(found: CorpusComparison) -> list[str]:
    """Returns the lines of a table: a row for each figure, a column for each tokenizer."""
    width = max(map(display_width, ["tokenizer", *found.names]))
    lines = [f"{'tokenizer':<{width}}  {'tokens':>12}  bytes/tok  entries used  Rényi efficiency"]
    for name, tokens in zip(found.names, found.tokens.tolist(), strict=True):
        size = found.bytes / tokens if tokens else 0.0
        used = found.used_entries(name) / max(len(found.toks[found.names.index(name)]), 1)
        lines.append(
            f"{padded(name, width)}  {tokens:>12,}  {size:>9.3f}  {used:>12.1%}  {found.renyi_efficiency(name):>16.3f}"
        )
    return lines


def _matrix(found: CorpusComparison) -> list[str]:
    """Returns the lines with the agreement of each pair and the overlap of the vocabularies."""
    lines = ["pair: boundaries in common (F1), tokens in common (F1), entries of the first that the second has"]
    width = max(display_width(f"{a} – {b}") for a in found.names for b in found.names)
    for row, a in enumerate(found.names):
        for b in found.names[row + 1 :]:
            pair = f"{a} – {b}"
            shares = found.agreement(a, b), found.token_agreement(a, b), found.vocab_overlap(a, b)
            figures = "  ".join(f"{share:>6.1%}" for share in shares)
            lines.append(f"{padded(pair, width)}  {figures}")
    return lines


def _passages(found: CorpusComparison, color: bool, most: int) -> list[str]:
    """Returns lines with the most frequent differences, and with the tokens of each tokenizer."""
    share = found.passage_bytes / found.bytes if found.bytes else 0.0
    lines = [f"{found.passages:,} passages ({share:.1%} of the bytes) are split differently; the most frequent:"]
    width = max(map(display_width, found.names))
    for each in found.differences[:most]:
        lines.append(f"{each.occurrences:,} ×")
        for name, pieces in zip(found.names, each.pieces, strict=True):
            drawn = to_terminal(draw(enumerate(pieces)), color=color, width=None)
            lines.append(f"  {padded(name, width)}  {drawn}")
    return lines
