"""Selection of documents: a pseudorandom sample of a corpus, and its held-out part.

Sample: the index of a document and the seed are hashed to one of 2^20 bins. The sample consists of the documents in the
lowest bins, with as many bins as needed to reach the requested size. It exceeds that size by less than one bin, which
is about one document or, in a very large corpus, a millionth of it. The assignment of documents to files has no effect.
Different seeds give independent samples; a larger sample with the same seed contains the smaller one.

Held-out split: the index and the seed determine whether a document is held out, independently of a sample. A document
over 64 KiB is first split at line ends into blocks of about that size, so that the held-out share of a few large files
comes from all parts of them.

Cost: a corpus that can be read again is sampled in two passes, the first for the sizes, in 8 MB of memory. For a
generator or a stream, candidates for the sample are kept, in about as much memory as the sample has bytes.

Source: bottom-k sampling by hash (Cohen & Kaplan 2007); the mixing function is SplitMix64's (Steele, Lea & Flood 2014).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

from .._core import TextColumn
from ..errors import ConfigError, keyword
from ..util.arguments import integer
from .batches import DocumentChunk

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["HeldOutSplit", "Sample"]

BIN_BITS = 20
GOLDEN = 0x9E3779B97F4A7C15
MASK = (1 << 64) - 1


class Sample:
    """Pseudorandom sample of documents with about `num_bytes` bytes.

    Examples:
        >>> texts = TextColumn([b"%d" % i for i in range(1000)])
        >>> chunk = DocumentChunk(texts, "corpus", range(1000), 0, 0, 0)
        >>> sum(len(p.texts) for p in Sample(100, seed=0).of([chunk]))
        34
    """

    def __init__(self, num_bytes: int, seed: int) -> None:
        self._num_bytes = integer(num_bytes, "sample_bytes", 1)
        self._start = splitmix64(seed)
        self._last_bin: int | None = None  # the highest bin of the sample; None before `choose`

    @property
    def is_chosen(self) -> bool:
        """True after `choose` has determined the bins of the sample."""
        return self._last_bin is not None

    def choose(self, chunks: Iterable[DocumentChunk]) -> None:
        """Reads a corpus to sum the sizes of bins, and determines the last bin of the sample."""
        import numpy as np

        sizes = np.zeros(1 << BIN_BITS, np.int64)
        for bins, chunk in self._with_bins(chunks):
            np.add.at(sizes, bins, np.frombuffer(chunk.texts.lengths(), np.int64))
        self._last_bin = int(np.searchsorted(np.cumsum(sizes), self._num_bytes))

    def of(self, chunks: Iterable[DocumentChunk]) -> Iterator[DocumentChunk]:
        """Yields the sample of a corpus.

        If `choose` has determined the last bin, this bin decides which documents are selected; otherwise the sample is
        taken in a single pass.
        """
        if self._last_bin is None:
            yield from self._of_stream(chunks)
            return
        for bins, chunk in self._with_bins(chunks):
            chosen = (bins <= self._last_bin).nonzero()[0].tolist()
            if len(chosen) == len(chunk.texts):
                yield chunk
            elif chosen:
                yield chunk.select(chosen)

    def _of_stream(self, chunks: Iterable[DocumentChunk]) -> Iterator[DocumentChunk]:
        """Yields the sample in a single pass: keeps candidates in memory until all documents have been read."""
        import heapq

        kept: dict[int, list[tuple[int, DocumentChunk]]] = {}  # bin -> (order, documents)
        sizes: dict[int, int] = {}
        highest: list[int] = []  # max-heap of the kept bins, as negated numbers
        held, last, order = 0, 1 << BIN_BITS, 0
        for bins, chunk in self._with_bins(chunks):
            for index, bin in enumerate(bins.tolist()):
                if bin > last:
                    continue
                if bin not in kept:
                    kept[bin], sizes[bin] = [], 0
                    heapq.heappush(highest, -bin)
                one = chunk.select([index])
                kept[bin].append((order, one))
                order += 1
                sizes[bin] += one.texts.num_bytes
                held += one.texts.num_bytes
                while held - sizes[-highest[0]] >= self._num_bytes:
                    last = -heapq.heappop(highest) - 1
                    held -= sizes.pop(last + 1)
                    del kept[last + 1]
        for _, one in sorted(chain.from_iterable(kept.values()), key=lambda entry: entry[0]):
            yield one

    def _with_bins(self, chunks: Iterable[DocumentChunk]) -> Iterator[tuple[NDArray[np.uint64], DocumentChunk]]:
        """Yields each chunk with the bins of its documents."""
        import numpy as np

        index = 0
        for chunk in chunks:
            numbers = np.arange(index, index + len(chunk.texts), dtype=np.uint64)
            index += len(chunk.texts)
            yield bins_of(numbers, self._start), chunk


def bins_of(indices: NDArray[np.uint64], start: int) -> NDArray[np.uint64]:
    """Returns the bins of documents: the upper bits of SplitMix64 of their indices (NumPy's uint64 is modulo 2^64)."""
    import numpy as np

    x = (indices + np.uint64(1)) * np.uint64(GOLDEN) + np.uint64(start)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (x ^ (x >> np.uint64(31))) >> np.uint64(64 - BIN_BITS)


def splitmix64(seed: int) -> int:
    """Hashes a seed with SplitMix64, so that the results of adjacent seeds are unrelated."""
    x = (seed + GOLDEN) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


BLOCK_BYTES = 1 << 16
# Combined with the seed, so that the split is independent of a sample with the same seed.
SALT = 0x5EED


class HeldOutSplit:
    """Assigns documents and blocks to the two sides: the corpus to learn from, and the held-out part.

    Examples:
        >>> texts = TextColumn([b"%d" % i for i in range(1000)])
        >>> chunk = DocumentChunk(texts, "corpus", range(1000), 0, 0, 0)
        >>> split = HeldOutSplit(0.1, seed=0)
        >>> [len(p.texts) for held_out in (True, False) for p in split.side([chunk], held_out)]
        [103, 897]
    """

    def __init__(self, share: float, seed: int) -> None:
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share < 1:
            raise ConfigError(f"{keyword('held_out', share)} is not a share between 0 and 1")
        self._end = max(1, round(share * (1 << BIN_BITS)))
        self._start = splitmix64(seed ^ SALT)

    def side(
        self, chunks: Iterable[DocumentChunk], held_out: bool, aside: list[DocumentChunk] | None = None
    ) -> Iterator[DocumentChunk]:
        """Yields the chunks of one side of the split. If `aside` is given, appends the other side's chunks to it."""
        import numpy as np

        index = 0
        for chunk in map(_in_blocks, chunks):
            numbers = np.arange(index, index + len(chunk.texts), dtype=np.uint64)
            index += len(chunk.texts)
            mine = (bins_of(numbers, self._start) < self._end) == held_out
            if aside is not None and not mine.all():
                aside.append(chunk.select((~mine).nonzero()[0].tolist()))
            if mine.any():
                yield chunk.select(mine.nonzero()[0].tolist())


def _in_blocks(chunk: DocumentChunk) -> DocumentChunk:
    """Returns the chunk with its long documents split into blocks."""
    import numpy as np

    if (np.frombuffer(chunk.texts.lengths(), np.int64) <= BLOCK_BYTES).all():
        return chunk
    blocks = [list(_blocks(text)) for text in chunk.texts.to_list()]
    numbers, files = chunk.numbers, chunk.files
    if numbers is not None:
        numbers = [number for number, cut in zip(numbers, blocks, strict=True) for _ in cut]
    if files is not None:
        files = [file for file, cut in zip(files, blocks, strict=True) for _ in cut]
    texts = TextColumn([block for cut in blocks for block in cut])
    return chunk._replace(texts=texts, numbers=numbers, files=files)


def _blocks(text: bytes) -> Iterator[bytes]:
    start = 0
    while len(text) - start > BLOCK_BYTES:
        end = text.find(b"\n", start + BLOCK_BYTES) + 1
        if not end:
            break
        yield text[start:end]
        start = end
    if start < len(text) or not text:
        yield text[start:]
