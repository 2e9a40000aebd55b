"""Measurement of tokenizers on opened corpora.

Each batch of documents is read once and encoded by every tokenizer. The core finds the words of the batch
(`util/words.rs`), and the tokens are compared with them. If the lengths of a byte-level tokenizer's tokens add up to
the length of the text, the spans of the tokens follow from these lengths. Otherwise the core encodes the documents
once more, with spans, which is slower.

Memory: a few batches of documents; if a text file is one document, the whole file.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from .. import _core
from ..corpus import DocumentReader
from ..errors import JetonError, UnknownTokenError
from ..tokenizer import Tokenizer
from ..training import Limits
from ..util.progress import ProgressEvent, Reporter
from .measure_table import Measure

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["MeasureRun", "only_splits"]

# Documents are encoded in batches of this size. The arrays of a batch take about ten times its bytes.
BATCH_BYTES = 4 << 20

# Pre-tokenizers that split a text without changing it.
SPLITS = ("Pattern", "Split", "ByteLevel", "Digits", "Punctuation")

# If words are not counted, this is added to a measure to set the counts of words to None.
NO_WORDS = Measure(
    words=None, word_tokens=None, whole_words=None, unspaced_chars=None, unspaced_tokens=None, seconds=0.0
)


class MeasureRun:
    """Tokenizers and options of a call of `measure`.

    Args:
        toks: name -> tokenizer.
        limits: number of threads, and memory that bounds the size of a batch.
        words: whether to count words.
        repeat: number of times that each batch is encoded; the shortest time is used. 0: time is not measured.
        max_bytes: maximum number of bytes to measure of each source; None: no limit.
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
                words = _core.Words(texts) if self._words else None
                common = Measure(
                    bytes=sum(map(len, texts)), chars=_num_chars(texts), documents=len(texts), seconds=self._seconds
                )
                for index, (tok_name, encoder) in enumerate(self._encoders.items()):
                    try:
                        row[index] += common + encoder.measure(texts, words)
                    except JetonError as error:
                        if len(self._encoders) > 1 or len(sources) > 1:
                            error.prefix(f"{name}, tokenizer {tok_name}: ")
                        raise
                    done = read + (bytes_read - read) * (index + 1) // len(row)
                    report(ProgressEvent("encode", before + min(done, size or done), total, "B"))
                read = bytes_read
            reader.log_complaints(f"{name}: " if len(sources) > 1 else "")
            before += size or read
            yield row

    def _size(self, reader: DocumentReader) -> int | None:
        """Returns the number of bytes that will be read, for the progress display."""
        known = reader.total_bytes
        return known if known is None or self._max_bytes is None else min(known, self._max_bytes)

    def _batches(self, reader: DocumentReader) -> Iterator[tuple[list[bytes], int]]:
        """Yields the texts of each batch and the number of bytes read so far; stops after `max_bytes` bytes of text."""
        room = self._max_bytes
        for batch in reader.batches(self._batch_bytes):
            texts = batch.texts
            if room is not None:
                texts, room = _up_to(texts, room), max(room - sum(map(len, texts)), 0)
            if texts:
                yield texts, batch.bytes_read
            if room == 0:
                return


class _Encoder:
    """A tokenizer to measure, the id of its unknown token, and whether it splits texts without changing them."""

    def __init__(self, tok: Tokenizer, threads: int, repeat: int) -> None:
        self._tok, self._threads, self._repeat = tok, threads, repeat
        if repeat:
            tok._core.make_tables()  # otherwise the time of the first long text would include building the tables
        self._unk = _unk_id(tok)
        self._only_splits = only_splits(tok)

    def measure(self, texts: list[bytes], words: _core.Words | None) -> Measure:
        """Encodes a batch, and returns its numbers of tokens and the time."""
        import numpy as np

        seconds = None
        for _ in range(max(self._repeat, 1)):
            start = time.perf_counter()
            ids, offsets = self._encode(texts)
            took = time.perf_counter() - start
            seconds = took if seconds is None else min(seconds, took)
        unknown = 0 if self._unk is None else int(np.count_nonzero(ids == self._unk))
        found = Measure(tokens=len(ids), unknown=unknown, seconds=seconds if self._repeat else None)
        return found + (NO_WORDS if words is None else self._in_words(texts, words, ids, offsets))

    def _encode(self, texts: list[bytes]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Returns the ids of all texts, and offsets: the ids of text `i` are ``ids[offsets[i] : offsets[i + 1]]``."""
        import numpy as np

        if len(texts) == 1:  # even a single text is encoded on all threads
            ids = self._tok.encode_array(texts[0], threads=self._threads)
            return ids, np.array([0, len(ids)])
        batch = self._tok.encode_batch(texts, threads=self._threads)
        return batch.ids, batch.offsets

    def _in_words(
        self, texts: list[bytes], words: _core.Words, ids: NDArray[np.uint32], offsets: NDArray[np.int64]
    ) -> Measure:
        """Returns the counts that relate tokens to words. A template's tokens belong to no word."""
        core, found = self._tok._core, None
        if self._only_splits:
            # `count_ids` returns None if pre-tokenization dropped white space.
            found = words.count_ids(core, ids.view("u1"), offsets[1:].tolist())
        if found is None:
            found = words.count(core, texts, self._tok._permission(None), self._threads)
        in_words, whole_words, in_runs = found
        return Measure(
            words=words.num_words,
            word_tokens=in_words,
            whole_words=whole_words,
            unspaced_chars=words.num_run_chars,
            unspaced_tokens=in_runs,
            seconds=0.0,
        )


def only_splits(tok: Tokenizer) -> bool:
    """Tests whether the joined tokens of a text equal the text, except for bytes dropped by pre-tokenization."""
    definition = tok.definition
    return (
        definition.is_byte_level
        and not definition.normalizer
        and all(part["type"] in SPLITS and not part.get("add_prefix_space") for part in definition.pretokenizer)
    )


def _unk_id(tok: Tokenizer) -> int | None:
    """Returns the id of the model's unknown token; None if the model has no such token or the vocabulary lacks it."""
    unk = getattr(tok.definition.model, "unk_token", None)
    try:
        return None if unk is None else tok.token_to_id(unk)
    except UnknownTokenError:
        return None


def _num_chars(texts: list[bytes]) -> int:
    return sum(len(text) if text.isascii() else len(text.decode()) for text in texts)


def _up_to(texts: list[bytes], size: int) -> list[bytes]:
    """Returns the first `size` bytes of texts; the last text is cut at a line end if possible, else at a character."""
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
