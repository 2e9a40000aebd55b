"""Reads model files, and defines the model of a processor that has not loaded one."""

from __future__ import annotations

import os
from typing import Any

__all__ = ["UNLOADED", "read_file"]


def read_file(filename: str | bytes) -> bytes:
    """Returns the content of a model file.

    Raises:
        TypeError: the argument is not a path as `str` or `bytes`.
        RuntimeError: the file cannot be read.
    """
    if not isinstance(filename, str | bytes):
        raise TypeError(f"a file name must be a str, not {type(filename).__name__}")
    try:
        with open(filename, "rb") as file:
            return file.read()
    except (OSError, ValueError) as error:
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
        raise RuntimeError(f"{os.fsdecode(filename)!r}: {reason}") from None


class _Unloaded:
    """Model of a processor that has not loaded one: most methods raise an error."""

    def _raise(self, *arguments: object) -> Any:
        raise RuntimeError("Model is not initialized.")

    nbest = decode_pieces = decode_pieces_batch = _raise

    def encode(self, input: Any, is_batch: bool, *options: object) -> Any:
        return [] if is_batch and not input else self._raise()

    def decode_ids(self, ids: Any, output: int) -> Any:
        self._no_id(ids)
        self._raise()

    def decode_ids_batch(self, batch: Any, output: int, threads: int) -> Any:
        for ids in batch:
            self._no_id(ids)
        self._raise()

    def piece_size(self) -> int:
        return 0

    def roles(self) -> tuple[int, int, int, int]:
        return -1, -1, -1, -1

    def piece_to_id(self, piece: Any) -> Any:
        if isinstance(piece, str | bytes):
            return 0
        if any(not isinstance(item, str | bytes) for item in piece):
            raise TypeError("pieces must be str or bytes")
        return [0] * len(piece)

    def _no_id(self, id: Any) -> Any:
        if isinstance(id, int):
            raise IndexError("piece id is out of range.")
        if len(id):
            raise IndexError("piece id is out of range.")
        return []

    id_to_piece = score = is_unknown = is_control = is_unused = is_byte = _no_id

    def normalize(self, text: Any, with_offsets: bool) -> Any:
        if with_offsets:
            self._raise()
        if isinstance(text, list):
            return [self.normalize(item, False) for item in text]
        if not isinstance(text, str | bytes):
            raise TypeError("a text must be str or bytes")
        return type(text)()


UNLOADED: Any = _Unloaded()
