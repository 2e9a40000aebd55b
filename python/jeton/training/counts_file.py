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
from dataclasses import asdict
from functools import reduce
from io import RawIOBase
from operator import add
from typing import Any, BinaryIO, cast

from .. import _core
from ..corpus import Corpus, Source
from ..errors import ConfigError, FormatError
from ..util.atomic import write_atomically
from .counts import Counts, DroppedPretokens
from .limits import make_memory
from .stages import Stages

__all__ = ["SUFFIX", "counts_of", "load", "save", "write"]

SUFFIX = ".jtc"
MAGIC = b"JTCOUNT1"
MOST_FACTS = 1 << 26  # bytes; a normalizer's rules and some thousand special tokens take about one MB


def counts_of(corpus: object) -> Counts | None:
    """Loads counts if the corpus is a file of counts, or a list of them, which are weighted and added; else None.

    The suffix decides, never the content.

    Raises:
        ConfigError: a mixture of files of counts and other files.

    Examples:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "words.jtc")
        >>> Counts.from_mapping({"low": 5}).save(path)
        >>> counts_of([path, path]).items(), counts_of("words.txt")
        ([(b'low', 10)], None)
    """
    if isinstance(corpus, Corpus):
        corpus = corpus.sources
    if isinstance(corpus, str | os.PathLike | Source):
        corpus = [corpus]
    elif not isinstance(corpus, list | tuple) or not all(isinstance(place, os.PathLike | Source) for place in corpus):
        return None
    sources = [place if isinstance(place, Source) else Source(place) for place in corpus]
    names = [os.fsdecode(s.place) if isinstance(s.place, str | os.PathLike) else "" for s in sources]
    files = [name for name in names if name.lower().endswith(SUFFIX)]
    if not files:
        return None
    if len(files) < len(names):
        other = next(name for name in names if name not in files)
        raise ConfigError(f"{files[0]} is a file of counts and {other} is not: count that one first", option="corpus")
    return reduce(add, (load(name).scaled(source.exact_weight) for name, source in zip(names, sources, strict=True)))


def save(counts: Counts, path: str | os.PathLike[str]) -> None:
    """Implements `Counts.save`."""
    with write_atomically(path, streams=True) as file:
        write(counts, file)


def write(counts: Counts, file: BinaryIO | RawIOBase) -> None:
    """Writes counts into a file that is open."""
    facts = {
        "version": 1,
        "stages": counts.stages.to_json() if counts.stages is not None else None,
        "special_tokens": list(counts.special_tokens),
        "special_tokens_found": counts.special_tokens_found,
        "documents": counts.documents,
        "corpus_bytes": counts.corpus_bytes,
        "end": counts._core.end,
        "skipped": counts.skipped,
        "dropped": asdict(counts.dropped) if counts.dropped is not None else None,
    }
    spelled = json.dumps(facts, sort_keys=True, separators=(",", ":")).encode()
    file.write(MAGIC + struct.pack("<I", len(spelled)) + spelled + struct.pack("<I", zlib.crc32(spelled)))
    counts._core.write_run(cast(BinaryIO, file), make_memory(*counts._memory_options))


def load(path: str | os.PathLike[str]) -> Counts:
    """Implements `Counts.load`."""
    name = os.fspath(path)
    with open(path, "rb") as file:
        head = file.read(len(MAGIC) + 4)
        if len(head) < 12 or not head.startswith(MAGIC):
            raise FormatError(f"{name}: not a file of counts, which begins with {MAGIC.decode()}", format="counts")
        (length,) = struct.unpack("<I", head[8:])
        if length > MOST_FACTS:
            raise FormatError(f"{name}: facts of {length} bytes, over {MOST_FACTS}", format="counts", place="byte 8")
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
    return type(number) is int and 0 <= number < 1 << 128  # bytes times counts: more than 64 bits


def _read(facts: dict[str, Any], name: str, at: int) -> Counts:
    """Counts of a file whose entries begin at byte `at`."""
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
    return Counts(
        core,
        stages=None if facts["stages"] is None else Stages.from_json(facts["stages"]),
        special_tokens=tokens,
        dropped=None if dropped is None else DroppedPretokens(**dropped),
        skipped=skipped,
        **numbers,
    )
