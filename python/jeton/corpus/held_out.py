"""Held-out split of a corpus: documents to learn from, and unseen documents to measure on.

The index of a document and the seed decide its side. A document over 64 KiB is first split into blocks of about that
size at line ends, so that the held-out share of a few large files comes from all over them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..errors import ConfigError
from .batches import DocumentChunk
from .sample import BIN_BITS, bins_of, splitmix64

__all__ = ["HeldOutSplit"]

BLOCK_BYTES = 1 << 16
# Makes the split independent of a sample with the same seed.
SALT = 0x5EED


class HeldOutSplit:
    """Assignment of documents and blocks to the two sides.

    Examples:
        >>> chunk = DocumentChunk([b"%d" % i for i in range(1000)], "corpus", range(1000), 0, 0, 0)
        >>> split = HeldOutSplit(0.1, seed=0)
        >>> [len(p.texts) for held_out in (True, False) for p in split.side([chunk], held_out)]
        [103, 897]
    """

    def __init__(self, share: float, seed: int) -> None:
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share < 1:
            raise ConfigError(f"held_out={share!r} is not a share between 0 and 1", option="held_out")
        self._end = max(1, round(share * (1 << BIN_BITS)))
        self._start = splitmix64(seed ^ SALT)

    def side(
        self, chunks: Iterable[DocumentChunk], held_out: bool, aside: list[DocumentChunk] | None = None
    ) -> Iterator[DocumentChunk]:
        """Yields one of the two sides; appends the other side to `aside`, if given."""
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
    """The chunk with its long documents split into blocks."""
    if all(len(text) <= BLOCK_BYTES for text in chunk.texts):
        return chunk
    blocks = [list(_blocks(text)) for text in chunk.texts]
    numbers = chunk.numbers
    if numbers is not None:
        numbers = [number for number, cut in zip(numbers, blocks, strict=True) for _ in cut]
    return chunk._replace(texts=[block for cut in blocks for block in cut], numbers=numbers)


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
