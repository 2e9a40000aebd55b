"""Which tokenizers there are: named on the command line, in a folder, in this machine's caches, opened on the page,
and two that need no file at all.

Looking reads no more than the beginning of a file; a tokenizer is loaded when it is first asked for, and what is wrong
with it is said at its entry. Nothing here touches the network but a name that the user gave.

Left out: what a tokenizer does (`answers`).
"""

from __future__ import annotations

import os
import re
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import resources
from itertools import count
from pathlib import Path
from typing import Any

from ..errors import ConfigError, FormatError, JetonError
from ..formats import discovery, load
from ..formats.bpe_pair import NAMES as PAIRS
from ..formats.remote import on_this_machine
from ..tokenizer import Tokenizer
from ..training import train

__all__ = ["MAX_DROPPED", "Catalog", "unnumbered"]

# Dropped tokenizers are kept in memory, some tens of megabytes each; the oldest goes when there are more.
MAX_DROPPED = 8
# What most people mean by "a tokenizer" stands first.
FIRST = ("o200k_base", "cl100k_base", "llama3", "gpt2", "r50k_base")
TRAINED_SIZE = 4_000
SPECIAL_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")


@dataclass
class _Entry:
    """One tokenizer: how to load it, and what came of it."""

    key: str
    name: str
    load: Callable[[], Tokenizer]
    dropped: bool = False
    tok: Tokenizer | None = None
    error: JetonError | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self) -> Tokenizer:
        """The tokenizer, loaded once; a failure is remembered too."""
        with self.lock:
            if self.error is not None:
                raise self.error
            if self.tok is None:
                try:
                    self.tok = _with_entries(self.load(), self.name)
                except JetonError as error:
                    self.error = error
                    raise
                except OSError as error:
                    self.error = FormatError(f"{self.name} cannot be read: {error.strerror or error}")
                    raise self.error from error
            return self.tok

    def describe(self) -> dict[str, Any]:
        facts = {
            "key": self.key,
            "name": self.name,
            "loaded": self.tok is not None,
            "dropped": self.dropped,
            "error": None if self.error is None else str(self.error),
            "kind": None,
            "vocab_size": None,
            "has_merges": None,
            "special_tokens": None,
            "chat": None,
        }
        if self.tok is not None:
            model = self.tok.definition.model.type
            facts |= {
                "kind": model,
                "vocab_size": self.tok.vocab_size,
                "has_merges": model == "BPE",
                "special_tokens": len(self.tok.special_tokens),
                "chat": self.tok.definition.chat_template is not None,
            }
        return facts


class Catalog:
    """The tokenizers of a playground; safe to use from several threads.

    Args:
        names: files, folders or names, as `jeton.load` takes them; they stand first.
        folder: a folder with files and folders of tokenizers.
        cached: whether to look into this machine's caches.

    Examples:
        >>> catalog = Catalog(cached=False)
        >>> [entry["key"] for entry in catalog.describe()]
        ['lessons', 'bytes']
        >>> catalog.get("bytes").encode("hi")
        [104, 105]
    """

    def __init__(self, names: Iterable[str] = (), folder: Path | None = None, *, cached: bool = True) -> None:
        self._entries: dict[str, _Entry] = {}
        self._lock = threading.Lock()
        for name in names:
            tok = load(name)  # at once: what somebody has named must be there
            self._put(discovery.short_name(Path(name)) if Path(name).exists() else name, partial(_itself, tok)).get()
        found: dict[str, Callable[[], Tokenizer]] = {}
        for path in discovery.find_tokenizers(folder) if folder else ():
            found[_free(discovery.short_name(path), found)] = partial(load, path)
        for name, place in on_this_machine().items() if cached else ():
            found.setdefault(name, partial(load, place))
        for name in sorted(found, key=lambda name: (FIRST.index(name) if name in FIRST else len(FIRST), name.lower())):
            self._put(name, found[name])
        self._put("lessons", _trained, "lessons (trained here, on Jeton's teaching text)")
        self._put("bytes", _bytes, "bytes (no merges: every byte is a token)")

    def _put(self, key: str, load: Callable[[], Tokenizer], name: str | None = None) -> _Entry:
        key = _free(key, self._entries)
        self._entries[key] = entry = _Entry(key, name or key, load)
        return entry

    def get(self, key: str) -> Tokenizer:
        """The tokenizer of a key, loaded if it is not yet.

        Raises:
            ConfigError: there is no such key.
            JetonError: it cannot be loaded; says why.
        """
        with self._lock:
            entry = self._entries.get(key)
        if entry is None:
            raise ConfigError(f"there is no tokenizer {key!r:.100} here; drop its file on the page", option="tokenizer")
        return entry.get()

    def describe(self) -> list[dict[str, Any]]:
        """What there is to know of each entry without loading it."""
        with self._lock:
            entries = list(self._entries.values())
        return [entry.describe() for entry in entries]

    def open(self, files: Sequence[tuple[str, bytes]]) -> dict[str, Any]:
        """Tokenizers from files that were opened together.

        Files that belong together are one tokenizer, as in a folder: the pair of GPT-2, and a configuration beside a
        tokenizer's file.

        Args:
            files: name and content of each.

        Returns:
            `entries`: what there is to know of each tokenizer. `errors`: the files that are none, or broken ones, as
            the user knows them, and why.

        Examples:
            >>> tok = Tokenizer.from_merges({97: b"a"}, [])
            >>> opened = Catalog(cached=False).open([("mine.json", tok.to_bytes()), ("notes.txt", b"not a tokenizer")])
            >>> [entry["key"] for entry in opened["entries"]], [error["name"] for error in opened["errors"]]
            (['mine.json'], ['notes.txt'])
        """
        entries: list[dict[str, Any]] = []
        errors: list[dict[str, str]] = []
        for name, members in _together(files).items():
            try:
                entries.append(self.add(name, members))
            except JetonError as error:
                errors.append({"name": name, "error": str(error)})
        return {"entries": entries, "errors": errors}

    def add(self, name: str, data: bytes | Mapping[str, bytes]) -> dict[str, Any]:
        """A tokenizer from the content of a file, or of the files of a folder; kept in memory.

        Its key is the name of the file, which links show; if another tokenizer has that name, with a number behind it.

        Raises:
            JetonError: it is no tokenizer, or a broken one; names the file as the user knows it.
        """
        name = _printable(name) or "a file without name"
        tok = _loaded(name, {"file": data} if isinstance(data, bytes) else data)
        with self._lock:
            key = name
            for number in count(2):
                there = self._entries.get(key)
                if there is None or (there.dropped and there.tok == tok):
                    break
                key = f"{name} ({number})"
            self._entries.pop(key, None)
            dropped = [entry.key for entry in self._entries.values() if entry.dropped]
            for old in dropped[: max(len(dropped) - MAX_DROPPED + 1, 0)]:
                del self._entries[old]
            entry = self._entries[key] = _Entry(key, key, partial(_itself, tok), dropped=True, tok=tok)
        return entry.describe()


def _itself(tok: Tokenizer) -> Tokenizer:
    return tok


def _with_entries(tok: Tokenizer, name: str) -> Tokenizer:
    """The tokenizer, unless there is nothing in it to look at.

    Raises:
        FormatError: its vocabulary has no entry.
    """
    if not tok.vocab_size:
        raise FormatError(f"{name} has an empty vocabulary: no text has tokens with it")
    return tok


def _together(files: Sequence[tuple[str, bytes]]) -> dict[str, dict[str, bytes]]:
    """The files of each tokenizer, by the name of the first, each under the name that a folder has it under.

    Examples:
        >>> _together([("gpt2-vocab.json", b"{}"), ("gpt2-merges.txt", b""), ("other.json", b"[]")])
        {'gpt2-vocab.json': {'vocab.json': b'{}', 'merges.txt': b''}, 'other.json': {'file': b'[]'}}
    """
    left: dict[str, bytes] = {}
    for name, data in files:
        left[_free(_printable(name) or "a file without name", left)] = data
    groups: dict[str, dict[str, bytes]] = {}
    holder = next((name for name in discovery.GENERIC_NAMES if name in left), None)
    if holder is not None:
        groups[holder] = {name: left.pop(name) for name in _IN_A_FOLDER if name in left}
    for vocab, merges in PAIRS:
        for name in [name for name in left if name.endswith(vocab)]:
            other = name.removesuffix(vocab) + merges
            if other in left:
                groups[name] = {vocab: left.pop(name), merges: left.pop(other)}
    return groups | {name: {"file": data} for name, data in left.items()}


# What `load` reads of a folder, by the names that every folder has.
_IN_A_FOLDER = (
    *discovery.GENERIC_NAMES,
    *(merges for _, merges in PAIRS),
    *("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "chat_template.jinja"),
)


def _loaded(name: str, members: Mapping[str, bytes]) -> Tokenizer:
    """Through files, for the formats read files; messages name them as the user does."""
    with tempfile.TemporaryDirectory(prefix="jeton-") as folder:
        for member, data in members.items():
            (Path(folder) / member).write_bytes(data)
        path = Path(folder) / "file" if "file" in members else Path(folder)
        try:
            return _with_entries(load(path), name)
        except JetonError as error:
            if folder not in str(error):
                raise
            said = str(error).replace(f"{folder}{os.sep}file", name).replace(f"{folder}{os.sep}", "")
            raise FormatError(said.replace(folder, name)) from None
        except FileNotFoundError:
            raise FormatError(
                f"{name} is one of two files (vocab.json and merges.txt, or encoder.json and vocab.bpe): open both "
                "together"
            ) from None


def _printable(name: str) -> str:
    """A file's name as it can be shown: its last part, without what moves other letters, and not too long."""
    last = name.replace("\\", "/").rpartition("/")[2]
    return "".join(character if character.isprintable() else "\ufffd" for character in last)[:120].strip()


def unnumbered(key: str) -> str:
    """The name of a file without the number that a second one of its name gets.

    Examples:
        >>> unnumbered("mine.json (2)"), unnumbered("mine.json")
        ('mine.json', 'mine.json')
    """
    return re.sub(r" \(\d+\)$", "", key)


def _free(key: str, taken: Iterable[str]) -> str:
    """The key, or with the first number that makes it a new one."""
    taken, number, fresh = set(taken), 2, key
    while fresh in taken:
        fresh, number = f"{key} ({number})", number + 1
    return fresh


def _trained() -> Tokenizer:
    """Trained on the lessons that come with Jeton, English and Chinese: there is a tokenizer where there is no file."""
    lessons = [
        entry.read_bytes()
        for entry in sorted(resources.files("jeton.reference").iterdir(), key=lambda entry: entry.name)
        if entry.name.startswith("step")
    ]
    return train(lessons, TRAINED_SIZE, pattern="o200k", special_tokens=SPECIAL_TOKENS, progress=False)


def _bytes() -> Tokenizer:
    return Tokenizer.from_merges({byte: bytes([byte]) for byte in range(256)}, [])
