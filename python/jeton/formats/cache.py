"""Cache of loaded tokenizers, by the identity of their files.

A tokenizer is immutable, so callers share it, together with its lookup tables and with the caches that it has for each
thread. An entry stores the request and the identity of all files that were read for it: device, inode, size, and the
times of the last modification and of the last status change (which no program can set back). If a file is written in
place, replaced, added or removed, the identity changes, and the tokenizer is read again.

Limits on the number of tokenizers and on their total number of ids bound the memory; the least recently used tokenizer
is evicted. The cache is a tuple that is replaced and never changed, so threads and forked processes need no lock.
If several threads load a file at the same time, each thread reads the file, and the tokenizer of the last thread is
cached.

Left out: objects in memory, URLs, arguments without a hash, and files that changed within the last two seconds. (The
clock of a file system can be so coarse that a second change within two seconds leaves the times of a file the same.)
"""

from __future__ import annotations

import os
import time

from .detection import CONFIG_FILES, MORE_TEMPLATES, PAIR_NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator
    from typing import TypeAlias

    from ..tokenizer import Tokenizer

    # absolute path, the name of the tokenizer (None if the path was not fetched by name), and the other arguments of
    # `load`; together with the content of the files, these values determine the tokenizer
    Request: TypeAlias = tuple[str, str | None, Hashable]
    # for each file: name, device, inode, size, times of modification and of status change in ns
    Identity: TypeAlias = tuple[tuple[str, int, int, int, int, int], ...]

__all__ = ["clear", "find", "identity", "keep", "path_of"]

# o200k (200,000 ids) takes 37 MiB with its tables, and 20 MiB more after 10 MB of text on one thread; so five such
# tokenizers, as many as `MAX_IDS` permits, take 190 to 290 MiB.
MAX_TOKENIZERS = 8
MAX_IDS = 1_000_000
SETTLED_NS = 2_000_000_000


# (request, identity of its files, tokenizer), the most recently used one first
_entries: tuple[tuple[Request, Identity, Tokenizer], ...] = ()


def find(request: Request, files: Identity) -> Tokenizer | None:
    """Returns the tokenizer of a request, if the identity of its files has not changed since they were read."""
    global _entries
    entries = _entries
    for entry in entries:
        if entry[:2] == (request, files):
            if entry is not entries[0]:
                _entries = (entry, *(other for other in entries if other is not entry))
            return entry[2]
    return None


def keep(request: Request, files: Identity, tok: Tokenizer) -> None:
    """Stores a tokenizer, with the identity that its files had before they were read."""
    global _entries
    newest = max((moment for *_, modified, changed in files for moment in (modified, changed)), default=None)
    if newest is None or time.time_ns() - newest < SETTLED_NS or len(tok) > MAX_IDS:
        return
    kept, num_ids = [(request, files, tok)], len(tok)
    for entry in _entries:
        if entry[0] != request:
            num_ids += len(entry[2])
            if len(kept) == MAX_TOKENIZERS or num_ids > MAX_IDS:
                break
            kept.append(entry)
    _entries = tuple(kept)


def path_of(name: str) -> str | None:
    """Returns the path to which the tokenizer `name` was fetched, if its files are unchanged since they were read."""
    for (path, fetched_by, _), files, _ in _entries:
        if fetched_by == name and identity(path) == files:
            return path
    return None


def clear() -> None:
    """Evicts all tokenizers, for tests and benchmarks of loading."""
    global _entries
    _entries = ()


def identity(path: str) -> Identity:
    """Returns the identity of the files that loading a path can read; empty if the path is neither file nor folder."""
    return tuple(_identities(path))


def _identities(path: str) -> Iterator[tuple[str, int, int, int, int, int]]:
    if os.path.isdir(path):
        folder, names = path, [entry.name for entry in os.scandir(path) if entry.is_file()]
    elif os.path.isfile(path):
        folder, name = os.path.split(path)
        names = [name, *CONFIG_FILES]
        for pair in PAIR_NAMES:
            names += [name.removesuffix(own) + other for own in pair if name.endswith(own) for other in pair]
    else:
        return
    templates = os.path.join(folder, MORE_TEMPLATES)
    if os.path.isdir(templates):
        names += [os.path.join(MORE_TEMPLATES, entry.name) for entry in os.scandir(templates)]
    for name in sorted(names):
        try:
            facts = os.stat(os.path.join(folder, name))
        except OSError:  # the file is missing; if it is needed, reading it raises an error
            continue
        yield name, facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns
