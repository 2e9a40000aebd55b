"""Measurement of tokenizers on opened corpora.

Each batch of documents is read once, encoded by every tokenizer, and compared with the words of the batch (`words`).
The spans of a byte-level tokenizer's tokens follow from their lengths, if these add up to the text. Other tokenizers
report the spans, one document after the other, which is slower than encoding.

Memory: some batches; a whole file if a text file is one document.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import TYPE_CHECKING

from ..corpus import DocumentReader
from ..errors import JetonError, UnknownTokenError
from ..progress import ProgressEvent, Reporter
from ..tokenizer import Tokenizer
from ..training import Limits
from .measure_table import Measure

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["MeasureRun"]

_log = logging.getLogger("jeton")

# Documents are encoded in batches of this size. The arrays of a batch take about ten times its bytes.
BATCH_BYTES = 4 << 20

# Pre-tokenizers that split a text, and change no byte of it.
SPLITS = ("Pattern", "Split", "ByteLevel", "Digits", "Punctuation")

# Added to a measure without words.
NO_WORDS = Measure(
    words=None, word_tokens=None, whole_words=None, unspaced_chars=None, unspaced_tokens=None, seconds=0.0
)


class MeasureRun:
    """Tokenizers and options of a call of `measure`.

    Args:
        toks: name -> tokenizer.
        limits: number of threads, and memory that bounds the size of a batch.
        words: whether to count words.
        repeat: number of encodings of each batch, of which the shortest counts; 0: no time.
        max_bytes: bytes of each source to measure; None: all.
    """

    def __init__(
        self, toks: Mapping[str, Tokenizer], limits: Limits, words: bool, repeat: int, max_bytes: int | None
    ) -> None:
        self._encoders = {name: _Encoder(tok, limits.num_threads, repeat) for name, tok in toks.items()}
        self._words, self._max_bytes = words, max_bytes
        self._batch_bytes = min(BATCH_BYTES, limits.batch_bytes, max_bytes or BATCH_BYTES)
        self._seconds = 0.0 if repeat else None

    def measure(self, sources: list[tuple[str, DocumentReader]], report: Reporter) -> Iterator[list[Measure]]:
        """Yields a row of measures for each source."""
        sizes = [self._size(reader) for _, reader in sources]
        total = None if None in sizes else sum(size or 0 for size in sizes)
        before = 0
        for (name, reader), size in zip(sources, sizes, strict=True):
            row = [Measure(seconds=self._seconds) for _ in self._encoders]
            read = 0
            for texts, bytes_read in self._batches(reader):
                words = _Words(texts) if self._words else None
                common = Measure(
                    bytes=sum(map(len, texts)), chars=_num_chars(texts), documents=len(texts), seconds=self._seconds
                )
                for index, (tok_name, encoder) in enumerate(self._encoders.items()):
                    try:
                        row[index] += common + encoder.measure(texts, words)
                    except JetonError as error:
                        if len(self._encoders) > 1 or len(sources) > 1:
                            error.args = (f"{name}, tokenizer {tok_name}: {error}", *error.args[1:])
                        raise
                    done = read + (bytes_read - read) * (index + 1) // len(row)
                    report(ProgressEvent("encode", before + min(done, size or done), total, "B"))
                read = bytes_read
            for complaint in reader.complaints():
                prefix = f"{name}: " if len(sources) > 1 else ""
                _log.warning(prefix + complaint, extra={"skipped": reader.num_skipped})
            before += size or read
            yield row

    def _size(self, reader: DocumentReader) -> int | None:
        """Bytes that will be read, for the progress."""
        known = reader.total_bytes
        return known if known is None or self._max_bytes is None else min(known, self._max_bytes)

    def _batches(self, reader: DocumentReader) -> Iterator[tuple[list[bytes], int]]:
        """Yields the texts of each batch, up to the limit, and the bytes read after it."""
        room = self._max_bytes
        for batch in reader.batches(self._batch_bytes):
            texts = batch.texts
            if room is not None:
                texts, room = _up_to(texts, room), max(room - sum(map(len, texts)), 0)
            if texts:
                yield texts, batch.bytes_read
            if room == 0:
                return


class _Words:
    """Words and runs of a batch, as ranges of its texts joined by newlines."""

    def __init__(self, texts: list[bytes]) -> None:
        from .words import segments

        joined = texts[0] if len(texts) == 1 else b"\n".join(texts)
        self.num_bytes = len(joined)
        self._blocks = list(segments(joined))

    def measure(self, spans: NDArray[np.int64]) -> Measure:
        """Counts words, and the tokens in words and runs, for the spans of all tokens: int64[tokens, 2]."""
        marks = _Marks(spans, self.num_bytes)
        found = Measure(seconds=0.0)
        for words, runs, run_chars in self._blocks:
            more = marks.num_inside(words)
            found += Measure(
                words=len(words),
                word_tokens=len(words) + int(more.sum()),
                whole_words=len(words) - int(more.astype(bool).sum()),
                unspaced_chars=run_chars,
                unspaced_tokens=len(runs) + int(marks.num_inside(runs).sum()),
                seconds=0.0,
            )
        return found


class _Marks:
    """Positions of tokens in a text, to count the tokens of a range.

    A range overlaps one token, and those that begin after its first byte. A token without bytes of its own belongs to
    the character before it, of which it is a part (`Encoding`), or to no range, at the start of the text.
    """

    def __init__(self, spans: NDArray[np.int64], num_bytes: int) -> None:
        import numpy as np

        is_empty = spans[:, 0] == spans[:, 1]
        self._starts = np.zeros(num_bytes + 1, np.bool_)
        self._starts[spans[~is_empty, 0]] = True
        self._empty: NDArray[np.int64] | None = None
        at = spans[is_empty, 0]
        if len(at := at[at > 0]):
            self._empty = np.bincount(at - 1, minlength=num_bytes)

    def num_inside(self, ranges: NDArray[np.int64]) -> NDArray[np.int64]:
        """Number of tokens of each range beyond one."""
        import numpy as np

        if not len(ranges):
            return np.empty(0, np.int64)
        first, end = ranges[0, 0], ranges[-1, 1]
        starts, ends = ranges[:, 0] - first, ranges[:, 1] - first
        sums = np.cumsum(self._starts[first:end], dtype=np.int64)
        inside: NDArray[np.int64] = sums[ends - 1] - sums[starts]
        if self._empty is not None:
            sums = np.concatenate(([0], np.cumsum(self._empty[first:end])))
            inside += sums[ends] - sums[starts]
        return inside


class _Encoder:
    """A tokenizer, with what its measurement needs to know of it."""

    def __init__(self, tok: Tokenizer, threads: int, repeat: int) -> None:
        import numpy as np

        self._tok, self._threads, self._repeat = tok, threads, repeat
        if repeat:
            tok._core.make_tables()  # else the first long text would, while it is timed
        self._unk = _unk_id(tok)
        self._only_splits = _only_splits(tok)
        self._lengths = np.full(tok.vocab_size, -1, np.int64)  # id -> bytes, of the ids seen so far

    def measure(self, texts: list[bytes], words: _Words | None) -> Measure:
        """Counts of the tokens of a batch."""
        import numpy as np

        seconds = None
        for _ in range(max(self._repeat, 1)):
            start = time.perf_counter()
            ids, offsets = self._encode(texts)
            took = time.perf_counter() - start
            seconds = took if seconds is None else min(seconds, took)
        unknown = 0 if self._unk is None else int(np.count_nonzero(ids == self._unk))
        found = Measure(tokens=len(ids), unknown=unknown, seconds=seconds if self._repeat else None)
        return found + (NO_WORDS if words is None else words.measure(self._spans(texts, ids, offsets)))

    def _encode(self, texts: list[bytes]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Ids of all texts, and where each text begins and ends in them."""
        import numpy as np

        if len(texts) == 1:  # on all threads, too
            ids = self._tok.encode_array(texts[0], threads=self._threads)
            return ids, np.array([0, len(ids)])
        batch = self._tok.encode_batch(texts, threads=self._threads)
        return batch.ids, batch.offsets

    def _spans(self, texts: list[bytes], ids: NDArray[np.uint32], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """int64[tokens, 2]: spans in the texts joined by newlines. Tokens of a template may be missing."""
        import numpy as np

        if self._only_splits:
            bounds = np.concatenate(([0], np.cumsum(self._lengths_of(ids))))
            sizes = np.fromiter(map(len, texts), np.int64, len(texts))
            if np.array_equal(bounds[offsets[1:]], np.cumsum(sizes)):  # else white space was dropped
                newlines = np.repeat(np.arange(len(texts)), np.diff(offsets))
                return np.stack([bounds[:-1] + newlines, bounds[1:] + newlines], axis=1)
        core, permission = self._tok._core, self._tok._permission(None)
        found = [np.empty((0, 2), np.int64)]
        starts = accumulate((len(text) + 1 for text in texts), initial=0)
        for text, start in zip(texts, starts, strict=False):
            spans = np.frombuffer(core.byte_spans(text, permission, template=False), "<i8")
            found.append(spans.reshape(-1, 2) + start)
        return np.concatenate(found)

    def _lengths_of(self, ids: NDArray[np.uint32]) -> NDArray[np.int64]:
        import numpy as np

        lengths = self._lengths[ids]
        if (lengths < 0).any():
            for id in np.unique(ids[lengths < 0]).tolist():
                self._lengths[id] = len(self._tok.id_to_bytes(id))
            lengths = self._lengths[ids]
        return lengths


def _only_splits(tok: Tokenizer) -> bool:
    """True if the tokens of a text are its bytes in order, except for those that pre-tokenization drops."""
    definition = tok.definition
    return (
        definition.is_byte_level
        and not definition.normalizer
        and all(part["type"] in SPLITS and not part.get("add_prefix_space") for part in definition.pretokenizer)
    )


def _unk_id(tok: Tokenizer) -> int | None:
    """Id of the model's unknown token; None if it has none, or if a file names one that is not in the vocabulary."""
    unk = getattr(tok.definition.model, "unk_token", None)
    try:
        return None if unk is None else tok.token_to_id(unk)
    except UnknownTokenError:
        return None


def _num_chars(texts: list[bytes]) -> int:
    return sum(len(text) if text.isascii() else len(text.decode()) for text in texts)


def _up_to(texts: list[bytes], size: int) -> list[bytes]:
    """The first `size` bytes of texts; the last text ends after a line, or else between two characters."""
    kept = []
    for text in texts:
        if len(text) > size:
            end = text.rfind(b"\n", 0, size) + 1 or size
            while text[end] & 0xC0 == 0x80:
                end -= 1
            text = text[:end]
            size = 0
        else:
            size -= len(text)
        if text:
            kept.append(text)
        if not size:
            break
    return kept
