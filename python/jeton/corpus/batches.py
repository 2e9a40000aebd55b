"""Chunks: documents as they are read, prefetched by a thread. Batches: documents as they are processed.

The documents of a chunk are a `TextColumn` of the core, without a Python object for each document. Sources of documents
are computed on demand, because a corpus can have a hundred million rows. Invariant: all documents of a batch have the
same weight group.

`prefetch` reads documents in a background thread while the caller processes earlier ones. Decompression and parsing
release the GIL, and network reads wait, so reading and counting overlap. A bounded queue limits the bytes that have
been read and not yet processed; before reading a whole file, the thread waits for space. When the consuming loop ends
for any reason, the thread ends, too: immediately, or, if it is blocked on a pipe or a network, when the next bytes
arrive.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from threading import Condition, Thread
from typing import NamedTuple

from .._core import TextColumn
from ..errors import ConfigError
from ..util.lazy import cached_property

__all__ = ["Batch", "Document", "DocumentChunk", "PrefetchQueue", "batched", "prefetch"]


class Document(NamedTuple):
    """One document: its UTF-8 bytes and its source (``"a.txt"``, ``"rows.jsonl:12"``, ``"corpus[3]"``)."""

    data: bytes
    source: str


class DocumentChunk(NamedTuple):
    """Consecutive documents of one source that were read together.

    Attributes:
        texts: the documents.
        name: the file of the documents, or ``"corpus"``; the first file if the documents come from several files.
        numbers: line, row or index of each document; None for a file that is one document.
        weight_group: index of their weight group; see `ResolvedSource`.
        position: number of bytes of the corpus that have been read up to the end of these documents.
        size: approximate memory, in bytes.
        lines_before: function that returns how many lines of the file precede the line with number 1; see `ranges`.
        files: the file of each document, if the documents are whole files.
        fields: kept fields of each document's record, as JSON; None if no fields are kept.
    """

    texts: TextColumn
    name: str
    numbers: Sequence[int] | None
    weight_group: int
    position: int
    size: int
    lines_before: Callable[[], int] = int
    files: Sequence[str] | None = None
    fields: Sequence[bytes] | None = None

    def file(self, index: int) -> str:
        """Returns the file of a document, or ``"corpus"``."""
        return self.name if self.files is None else self.files[index]

    def source(self, index: int) -> str:
        """Returns the source of a document, as in `Document`."""
        if self.numbers is None:
            return self.file(index)
        number = self.numbers[index] + self.lines_before()
        return f"corpus[{number}]" if self.name == "corpus" else f"{self.name}:{number}"

    def select(self, chosen: Sequence[int]) -> DocumentChunk:
        """Returns a chunk with the documents at the given indices."""
        numbers, files, fields = self.numbers, self.files, self.fields
        texts = self.texts.take(chosen)
        return self._replace(
            texts=texts,
            numbers=numbers if numbers is None else [numbers[index] for index in chosen],
            size=self.size * len(texts) // max(len(self.texts), 1),
            files=files if files is None else [files[index] for index in chosen],
            fields=fields if fields is None else [fields[index] for index in chosen],
        )


class Batch:
    """Documents to process together, all of one weight group.

    Attributes:
        columns: the documents, as one column for each chunk.
        weight_group: index of their weight group, from 0.
        weight: factor for the counts of these documents.
        bytes_read: number of bytes of the corpus that have been read up to the end of these documents, out of
            `DocumentReader.total_bytes`.
        chunks: the chunks as they were read.
    """

    def __init__(self, chunks: list[DocumentChunk], weight: Fraction) -> None:
        self.columns = [chunk.texts for chunk in chunks]
        self.weight_group, self.weight = chunks[0].weight_group, weight
        self.bytes_read = chunks[-1].position
        self.chunks = chunks
        self._starts: list[int] = []

    def __len__(self) -> int:
        return sum(map(len, self.columns))

    @cached_property
    def texts(self) -> list[bytes]:
        """The documents as `bytes` (valid UTF-8), for callers that need Python objects."""
        return [text for column in self.columns for text in column.to_list()]

    @property
    def num_bytes(self) -> int:
        """Total number of bytes of the documents."""
        return sum(column.num_bytes for column in self.columns)

    def source(self, index: int) -> str:
        """Returns the source of a document, as in `Document`.

        Examples:
            >>> from jeton.corpus import open_corpus
            >>> next(open_corpus(["one", "two"]).batches()).source(1)
            'corpus[1]'
        """
        chunk, index = self._find(index)
        return chunk.source(index)

    def place(self, index: int) -> tuple[str, int | None]:
        """Returns the file of a document, and the number of its row or line.

        If only a range of the file is read, the number counts from the start of the range (see `ranges`). The number is
        None if the document is the whole file.
        """
        chunk, index = self._find(index)
        return chunk.file(index), None if chunk.numbers is None else chunk.numbers[index]

    def _find(self, index: int) -> tuple[DocumentChunk, int]:
        """Returns the chunk of a document, and the document's index in the chunk."""
        if not self._starts:
            start = 0
            for chunk in self.chunks:
                self._starts.append(start)
                start += len(chunk.texts)
        at = bisect_right(self._starts, index) - 1
        return self.chunks[at], index - self._starts[at]


def batched(chunks: Iterable[DocumentChunk], weights: Mapping[int, Fraction], size: int) -> Iterator[Batch]:
    """Joins chunks into batches of about `size` bytes. All chunks of a batch are of the same weight group."""
    group: list[DocumentChunk] = []
    held = 0
    for chunk in chunks:
        if group and group[0].weight_group != chunk.weight_group:
            yield Batch(group, weights[group[0].weight_group])
            group, held = [], 0
        group.append(chunk)
        held += chunk.size
        if held >= size:
            yield Batch(group, weights[chunk.weight_group])
            group, held = [], 0
    if group:
        yield Batch(group, weights[group[0].weight_group])


# Timeout in seconds for joining the thread. It is longer than any step of the thread, and well below one second,
# because Ctrl-C must stop a program within a second.
JOIN_S = 0.3


class PrefetchQueue:
    """Queue of chunks between one producer and one consumer, bounded in bytes.

    A forked process has no producer thread, but it has a copy of the lock, which that thread may have held at the fork.
    """

    def __init__(self, num_bytes: int) -> None:
        self.num_bytes = num_bytes
        self._process = os.getpid()
        self._held = 0
        self._changed = Condition()
        self._closed = False
        self._chunks: deque[DocumentChunk | BaseException | None] = deque()

    def wait_for_space(self, size: int) -> None:
        """Blocks until `size` bytes fit into the queue, or until it is empty: one file can exceed the capacity."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or not self._held or self._held + size <= self.num_bytes)
        self.raise_if_closed()

    def raise_if_closed(self) -> None:
        """Raises an error if the consumer has closed the queue."""
        if self._closed:
            raise _ClosedError

    def put(self, chunk: DocumentChunk | BaseException | None) -> None:
        """Appends a chunk, an exception, or None, which marks the end."""
        with self._changed:
            self._held += chunk.size if isinstance(chunk, DocumentChunk) else 0
            self._chunks.append(chunk)
            self._changed.notify_all()

    def get(self) -> DocumentChunk | BaseException | None:
        """Removes and returns the next item; blocks until there is one.

        Raises:
            ConfigError: this process was forked during the iteration.
        """
        if self._is_forked():
            raise ConfigError("a corpus is being read by a thread of the parent process; begin a new iteration here")
        with self._changed:
            self._changed.wait_for(lambda: self._chunks)
            return self._chunks.popleft()

    def release(self, size: int) -> None:
        """Releases `size` bytes of the queue's capacity."""
        if self._is_forked():
            return
        with self._changed:
            self._held -= size
            self._changed.notify_all()

    def close(self) -> None:
        """Closes the queue, which stops the producer."""
        if self._is_forked():
            return
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _is_forked(self) -> bool:
        return os.getpid() != self._process


class _ClosedError(Exception):
    """Raised in the producer when the consumer has closed the queue."""


def prefetch(read: Callable[[PrefetchQueue], Iterable[DocumentChunk]], num_bytes: int) -> Iterator[DocumentChunk]:
    """Yields the chunks of `read`, which runs in a background thread.

    Args:
        read: function that reads the chunks; before it reads a whole file, it waits until the queue has space for it.
        num_bytes: capacity of the queue.
    """
    queue = PrefetchQueue(num_bytes)

    def work() -> None:
        try:
            for chunk in read(queue):
                queue.wait_for_space(chunk.size)
                queue.put(chunk)
            queue.put(None)
        except _ClosedError:
            pass
        except BaseException as error:
            queue.put(error)

    thread = Thread(target=work, name="jeton-reading", daemon=True)
    thread.start()
    try:
        while (chunk := queue.get()) is not None:
            if isinstance(chunk, BaseException):
                raise chunk
            size = chunk.size
            yield chunk
            del chunk
            queue.release(size)
    finally:
        queue.close()
        thread.join(JOIN_S)
