"""File format of counts (``.jtc``).

    magic       8 bytes: ``JTCOUNT1``
    length      of the facts in bytes, u32, little-endian
    facts       JSON: stages, special tokens and totals
    checksum    of the facts: CRC-32, u32, little-endian
    entries     to the end of the file: pretokens sorted by bytes, front-coded, with counts, first positions, a checksum

docs/training.md specifies the entries. The core reads and writes them and validates everything that it reads. Equal
counts give equal bytes on every machine.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Mapping
from dataclasses import asdict
from io import RawIOBase
from typing import Any, BinaryIO, cast

from .. import _core
from ..errors import FormatError
from .dropped import DroppedPretokens
from .limits import make_memory
from .stages import Stages

__all__ = ["read", "write"]

MAGIC = b"JTCOUNT1"
# Maximum length of the facts in bytes. A normalizer's rules and a few thousand special tokens take about 1 MB.
MOST_FACTS = 1 << 26


def write(core: _core.Counts, facts: Mapping[str, Any], memory: _core.Memory, file: BinaryIO | RawIOBase) -> None:
    """Writes pretokens with their counts (`core`) and the other fields of a `Counts` (`facts`) into an open file."""
    stages, dropped = facts["stages"], facts["dropped"]
    stored = {
        **facts,
        "version": 1,
        "stages": stages.to_json() if stages is not None else None,
        "end": core.end,
        "dropped": asdict(dropped) if dropped is not None else None,
    }
    spelled = json.dumps(stored, sort_keys=True, separators=(",", ":")).encode()
    file.write(MAGIC + struct.pack("<I", len(spelled)) + spelled + struct.pack("<I", zlib.crc32(spelled)))
    core.write_run(cast(BinaryIO, file), memory)


def read(path: str | os.PathLike[str]) -> tuple[_core.Counts, dict[str, Any]]:
    """Returns pretokens with their counts, and the other fields of the saved `Counts`; see `Counts.load`."""
    name = os.fspath(path)
    with open(path, "rb") as file:
        head = file.read(len(MAGIC) + 4)
        if len(head) < 12 or not head.startswith(MAGIC):
            raise FormatError(f"{name}: not a file of counts: it does not begin with {MAGIC.decode()}", format="counts")
        (length,) = struct.unpack("<I", head[8:])
        if length > MOST_FACTS:
            raise FormatError(
                f"{name}: facts of {length} bytes; the limit is {MOST_FACTS}", format="counts", place="byte 8"
            )
        spelled, checksum = file.read(length), file.read(4)
    if len(spelled) < length or checksum != struct.pack("<I", zlib.crc32(spelled)):
        raise FormatError(f"{name}: corrupt: wrong checksum of its facts", format="counts", place="byte 12")
    try:
        return _read(json.loads(spelled), name, len(MAGIC) + 4 + length + 4)
    except FormatError as error:
        raise FormatError(f"{name}: {error}", format="counts", place=error.place) from None
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise FormatError(f"{name}: invalid facts ({error})", format="counts") from None


def _is_count(number: object) -> bool:
    return type(number) is int and 0 <= number < 1 << 128  # corpus_bytes sums length * count, which can exceed 64 bits


def _read(facts: dict[str, Any], name: str, at: int) -> tuple[_core.Counts, dict[str, Any]]:
    """Reads the entries of a file, from byte `at` on. Also validates the fields in `facts`, and returns them."""
    if facts["version"] != 1:
        version = facts["version"]
        raise FormatError(f"version {version!r}; this Jeton reads version 1: use a newer Jeton", format="counts")
    numbers = {name: facts[name] for name in ("documents", "corpus_bytes", "special_tokens_found", "end")}
    for key, number in numbers.items():
        if not _is_count(number):
            raise ValueError(f"{key} is {str(number)[:40]}")
    tokens = facts["special_tokens"]
    if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
        raise ValueError("special_tokens is not a list of strings")
    dropped = facts["dropped"]
    if dropped is not None and not (isinstance(dropped, dict) and all(map(_is_count, dropped.values()))):
        raise ValueError("dropped is not an object of integers")
    skipped = facts.get("skipped", {})
    if not isinstance(skipped, dict) or not all(map(_is_count, skipped.values())):
        raise ValueError("skipped is not an object of integers")
    core = _core.Counts.from_run(name, at, numbers.pop("end"), make_memory())
    return core, {
        "stages": None if facts["stages"] is None else Stages.from_json(facts["stages"]),
        "special_tokens": tokens,
        "dropped": None if dropped is None else DroppedPretokens(**dropped),
        "skipped": skipped,
        **numbers,
    }
