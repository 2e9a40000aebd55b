"""Reading ahead: a thread takes documents out of files while the caller works on those before.

Decompressing and parsing leave the interpreter to others, and a network only makes one wait, so reading and counting
overlap. What has been read and is not yet worked on is bounded in bytes; a file that is read in one chunk waits until
there is space for it. The thread ends with the loop that reads, whatever ends that: at once, or, when it waits for a
pipe or a network that gives nothing, with the next bytes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from threading import Condition, Thread

from .batches import DocumentChunk

__all__ = ["PrefetchQueue", "prefetch"]

# How long the end waits for the thread: longer than any step of its own, and well within the second of Ctrl-C.
JOIN_S = 0.3


class PrefetchQueue:
    """How much may be read before somebody takes it."""

    def __init__(self, num_bytes: int) -> None:
        self._num_bytes = num_bytes
        self._held = 0
        self._changed = Condition()
        self._closed = False
        self._chunks: deque[DocumentChunk | BaseException | None] = deque()

    def wait_for_space(self, size: int) -> None:
        """Waits until `size` bytes fit, or nothing is held: one file may be larger than the queue."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or not self._held or self._held + size <= self._num_bytes)
        self.raise_if_closed()

    def raise_if_closed(self) -> None:
        """Ends the reading, by an exception, if nobody wants more."""
        if self._closed:
            raise _ClosedError

    def put(self, chunk: DocumentChunk | BaseException | None) -> None:
        """Hands on a chunk, an error, or the end."""
        with self._changed:
            self._held += chunk.size if isinstance(chunk, DocumentChunk) else 0
            self._chunks.append(chunk)
            self._changed.notify_all()

    def get(self) -> DocumentChunk | BaseException | None:
        """The next chunk."""
        with self._changed:
            self._changed.wait_for(lambda: self._chunks)
            return self._chunks.popleft()

    def release(self, size: int) -> None:
        """Says that `size` bytes are no longer needed."""
        with self._changed:
            self._held -= size
            self._changed.notify_all()

    def close(self) -> None:
        """Ends the reading."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()


class _ClosedError(Exception):
    """Nobody wants more."""


def prefetch(read: Callable[[PrefetchQueue], Iterable[DocumentChunk]], num_bytes: int) -> Iterator[DocumentChunk]:
    """The chunks that `read` gives, read in a thread of its own.

    Args:
        read: begins to read; asks the queue it gets before it reads much at once.
        num_bytes: how much may be held.
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
