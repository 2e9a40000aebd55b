"""Prefetching: a background thread reads documents while the caller processes earlier ones.

Decompression and parsing release the GIL, and network reads wait, so reading and counting overlap. A bounded queue
limits the bytes that have been read and not yet processed; before reading a whole file, the thread waits for space. The
thread ends when the consuming loop ends, for whatever reason: immediately, or, while it is blocked on a pipe or a
network, with the next bytes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from threading import Condition, Thread

from .batches import DocumentChunk

__all__ = ["PrefetchQueue", "prefetch"]

# Timeout for joining the thread: longer than any of its steps, and well within one second after Ctrl-C.
JOIN_S = 0.3


class PrefetchQueue:
    """Queue of chunks between one producer and one consumer, bounded in bytes."""

    def __init__(self, num_bytes: int) -> None:
        self._num_bytes = num_bytes
        self._held = 0
        self._changed = Condition()
        self._closed = False
        self._chunks: deque[DocumentChunk | BaseException | None] = deque()

    def wait_for_space(self, size: int) -> None:
        """Blocks until `size` bytes fit or the queue is empty: a single file may exceed the limit."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or not self._held or self._held + size <= self._num_bytes)
        self.raise_if_closed()

    def raise_if_closed(self) -> None:
        """Raises if the consumer has closed the queue."""
        if self._closed:
            raise _ClosedError

    def put(self, chunk: DocumentChunk | BaseException | None) -> None:
        """Appends a chunk, an exception, or None for the end."""
        with self._changed:
            self._held += chunk.size if isinstance(chunk, DocumentChunk) else 0
            self._chunks.append(chunk)
            self._changed.notify_all()

    def get(self) -> DocumentChunk | BaseException | None:
        """Removes and returns the next item; blocks until there is one."""
        with self._changed:
            self._changed.wait_for(lambda: self._chunks)
            return self._chunks.popleft()

    def release(self, size: int) -> None:
        """Frees `size` bytes of space."""
        with self._changed:
            self._held -= size
            self._changed.notify_all()

    def close(self) -> None:
        """Stops the producer."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()


class _ClosedError(Exception):
    """The consumer has closed the queue."""


def prefetch(read: Callable[[PrefetchQueue], Iterable[DocumentChunk]], num_bytes: int) -> Iterator[DocumentChunk]:
    """Yields the chunks of `read`, which runs in a background thread.

    Args:
        read: starts reading; waits on the queue for space before it reads a large file at once.
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
