"""Catalog of the playground's tokenizers.

The tokenizers have four sources: names on the command line, files in a folder, files in this machine's caches, and
uploads on the page. Three more tokenizers are built in.

Discovery reads only the beginning of each file. A tokenizer that was found is loaded on first use; if this fails, its
entry stores the error. A tokenizer is downloaded only if the user passed its name or chose to download it.

Left out: operations on tokenizers (`api`).
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import resources
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..errors import ConfigError, FormatError, JetonError
from ..formats import default, discovery, load
from ..formats.detection import PAIR_NAMES as PAIRS
from ..formats.naming import HUB, models
from ..formats.registry import REGISTRY
from ..formats.remote import on_this_machine
from ..tokenizer import Tokenizer
from ..training import train
from ..util.language import in_language
from ..util.locks import ForkLock

__all__ = ["MAX_DROPPED", "Catalog", "unnumbered"]

# Maximum number of uploaded tokenizers, which take tens of megabytes each; the oldest is evicted.
MAX_DROPPED = 8
# Well-known tokenizers, which the catalog lists first.
FIRST = ("o200k_base", "cl100k_base", "llama3", "gpt2", "r50k_base")
TRAINED_SIZE = 4_000
SPECIAL_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")


@dataclass
class _Entry:
    """Entry of the catalog: a loader, and the tokenizer that it returned or the error that it raised."""

    key: str
    name: str
    load: Callable[[], Tokenizer]
    source: str | None = None  # argument with which `jeton.load` loads this tokenizer, if there is one
    dropped: bool = False
    tok: Tokenizer | None = None
    error: JetonError | None = None
    lock: ForkLock = field(default_factory=ForkLock)

    def get(self) -> Tokenizer:
        """Returns the tokenizer, loaded on first use; an error is cached, too."""
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
            "source": self.source,
            "error": None if self.error is None else in_language(str(self.error)),
            "models": () if self.dropped else models().get(self.key, ()),
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
    """The tokenizers of a playground. Thread-safe.

    Args:
        names: files, folders or names, as `jeton.load` takes them; they are listed first.
        folder: folder that contains tokenizers as files and folders.
        cached: whether to list tokenizers in this machine's download caches.

    Examples:
        >>> catalog = Catalog(cached=False)
        >>> [entry["key"] for entry in catalog.describe()]
        ['default', 'lessons', 'bytes']
        >>> catalog.get("bytes").encode("hi")
        [104, 105]
    """

    def __init__(self, names: Iterable[str] = (), folder: Path | None = None, *, cached: bool = True) -> None:
        self._entries: dict[str, _Entry] = {}
        self._lock = ForkLock()
        listed: set[str | Path] = set()  # names and files that are listed already
        for name in names:
            source = Path(name).resolve() if Path(name).exists() else name
            if source in listed:
                continue
            listed.add(source)
            tok = load(name)  # loaded now, so that a wrong name ends the command with an error
            key = discovery.short_name(source) if isinstance(source, Path) else source
            self._put(key, partial(_itself, tok), source=str(source)).get()
        found: dict[str, Path] = {}
        for path in discovery.find_tokenizers(folder) if folder else ():
            if path.resolve() not in listed:
                found[_free(discovery.short_name(path), found)] = path
        for name in sorted(found, key=_place):
            self._put(name, partial(load, found[name]), source=str(found[name].resolve()))
        if "default" not in listed:
            self._put("default", default, "default (ships with Jeton)", source="default")
        elsewhere = on_this_machine() if cached else {}
        for name in sorted(elsewhere.keys() - found.keys() - listed, key=_place):
            self._put(name, partial(load, elsewhere[name]), source=name)
        self._put("lessons", _trained, "lessons (trained here, on Jeton's teaching text)")
        self._put("bytes", _bytes, "bytes (no merges: every byte is a token)")

    def _put(
        self, key: str, load: Callable[[], Tokenizer], name: str | None = None, source: str | None = None
    ) -> _Entry:
        key = _free(key, self._entries)
        self._entries[key] = entry = _Entry(key, name or key, load, source)
        return entry

    def get(self, key: str) -> Tokenizer:
        """Returns the tokenizer of a key, loaded on first use.

        Raises:
            ConfigError: there is no such key.
            JetonError: the tokenizer cannot be loaded.
        """
        with self._lock:
            entry = self._entries.get(key)
        if entry is None:
            raise ConfigError(f"there is no tokenizer {key!r:.100} here; drop its file on the page", option="tokenizer")
        return entry.get()

    def describe(self) -> list[dict[str, Any]]:
        """Returns a description of each entry, without loading it."""
        with self._lock:
            entries = list(self._entries.values())
        return [entry.describe() for entry in entries]

    def downloads(self) -> list[dict[str, Any]]:
        """Returns name, size, host and models of each vocabulary that can be downloaded and is not in the catalog yet.

        A name of the registry is left out if its size is not recorded, or if an earlier name has the same file.
        Repositories of Hugging Face's hub are also returned; their size is None.

        Examples:
            >>> listed = Catalog(cached=False).downloads()
            >>> [entry["name"] for entry in listed if entry["bytes"]]
            ['r50k_base', 'cl100k_base', 'o200k_base', 'llama3']
            >>> [entry["name"] for entry in listed if "qwen3" in entry["models"]]
            ['hf:Qwen/Qwen3-8B']
        """
        with self._lock:
            return [entry for entry in _downloads() if entry["name"] not in self._entries]

    def download(self, name: str) -> dict[str, Any]:
        """Downloads a vocabulary that `downloads` returns, adds it, and returns its description.

        A vocabulary that is already listed is not downloaded again.

        Raises:
            ConfigError: `downloads` does not list the name.
            DownloadError: the file cannot be downloaded, or has another hash.
        """
        if all(entry["name"] != name for entry in _downloads()):
            raise ConfigError(f"{name!r:.100} is not one of the vocabularies to download", option="name")
        with self._lock:
            entry = self._entries.get(name)
        if entry is None:
            tok = load(name)
            with self._lock:
                entry = self._entries.setdefault(name, _Entry(name, name, partial(_itself, tok), name, tok=tok))
        return entry.describe()

    def open(self, files: Sequence[tuple[str, bytes]]) -> dict[str, Any]:
        """Adds the tokenizers of several files that were uploaded together.

        As in a folder, files can form one tokenizer together: ``vocab.json`` and ``merges.txt``, or a tokenizer and its
        configuration.

        Args:
            files: name and content of each file.

        Returns:
            `entries`: description of each tokenizer. `errors`: name and error of each file that could not be loaded.

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
                errors.append({"name": name, "error": in_language(str(error))})
        return {"entries": entries, "errors": errors}

    def add(self, name: str, data: bytes | Mapping[str, bytes]) -> dict[str, Any]:
        """Adds a tokenizer from the content of a file or of a folder's files. The tokenizer stays in memory.

        The key of the tokenizer, which shared links contain, is the name of the file; if another tokenizer has this
        key, a number is appended.

        Raises:
            JetonError: the data is not a tokenizer, or is damaged; the message contains the user's file name.
        """
        name = _printable(name) or "a file without name"
        tok = _loaded(name, {"file": data} if isinstance(data, bytes) else data)
        with self._lock:
            key = name
            for number in count(2):
                there = self._entries.get(key)
                if there is None or (there.dropped and there.tok == tok):
                    break
                if there.tok == tok:  # this tokenizer is listed already
                    return there.describe()
                key = f"{name} ({number})"
            self._entries.pop(key, None)
            dropped = [entry.key for entry in self._entries.values() if entry.dropped]
            for old in dropped[: max(len(dropped) - MAX_DROPPED + 1, 0)]:
                del self._entries[old]
            entry = self._entries[key] = _Entry(key, key, partial(_itself, tok), name, dropped=True, tok=tok)
        return entry.describe()


def _downloads() -> list[dict[str, Any]]:
    users = models()
    first = {known.sha256: known for known in reversed(REGISTRY.values())}
    ranks = [
        {"name": known.name, "bytes": known.num_bytes, "host": urlsplit(known.url).hostname}
        for known in REGISTRY.values()
        if known.num_bytes and known is first[known.sha256]
    ]
    hub = [{"name": name, "bytes": None, "host": "huggingface.co"} for name in users if name.startswith(HUB)]
    found: list[dict[str, Any]] = [*ranks, *hub]
    return [{**entry, "models": users.get(entry["name"], ())} for entry in found]


def _place(name: str) -> tuple[int, str]:
    """Returns a sort key that puts well-known names first."""
    return FIRST.index(name) if name in FIRST else len(FIRST), name.lower()


def _itself(tok: Tokenizer) -> Tokenizer:
    return tok


def _with_entries(tok: Tokenizer, name: str) -> Tokenizer:
    """Checks that a tokenizer's vocabulary is not empty, and returns the tokenizer.

    Raises:
        FormatError: the vocabulary is empty.
    """
    if not tok.vocab_size:
        raise FormatError(f"{name} has an empty vocabulary")
    return tok


def _together(files: Sequence[tuple[str, bytes]]) -> dict[str, dict[str, bytes]]:
    """Groups uploaded files by tokenizer.

    Returns:
        A dictionary for each tokenizer, under the name of the tokenizer's main file. It contains the tokenizer's files:
        name under which `_loaded` saves the file -> content of the file.

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


# File names that `load` reads in a folder.
_IN_A_FOLDER = (
    *discovery.GENERIC_NAMES,
    *(merges for _, merges in PAIRS),
    *("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "chat_template.jinja"),
)


def _loaded(name: str, members: Mapping[str, bytes]) -> Tokenizer:
    """Loads a tokenizer from temporary files. Error messages contain the user's file name, not the temporary name."""
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
    """Returns the last component of a path, up to 120 characters; unprintable and bidi characters become U+FFFD."""
    last = name.replace("\\", "/").rpartition("/")[2]
    return "".join(character if character.isprintable() else "\ufffd" for character in last)[:120].strip()


def unnumbered(key: str) -> str:
    """Removes the number that `Catalog.add` appends to a repeated name.

    Examples:
        >>> unnumbered("mine.json (2)"), unnumbered("mine.json")
        ('mine.json', 'mine.json')
    """
    return re.sub(r" \(\d+\)$", "", key)


def _free(key: str, taken: Iterable[str]) -> str:
    """Returns the key. If it is taken, appends the lowest number that makes it unique."""
    taken, number, fresh = set(taken), 2, key
    while fresh in taken:
        fresh, number = f"{key} ({number})", number + 1
    return fresh


def _trained() -> Tokenizer:
    """Trains a tokenizer on Jeton's English and Chinese lessons, so that a tokenizer is available without any file."""
    lessons = [
        entry.read_bytes()
        for entry in sorted(resources.files("jeton.reference").iterdir(), key=lambda entry: entry.name)
        if entry.name.startswith("step")
    ]
    return train(lessons, TRAINED_SIZE, pattern="o200k", special_tokens=SPECIAL_TOKENS, progress=False)


def _bytes() -> Tokenizer:
    return Tokenizer.from_merges({byte: bytes([byte]) for byte in range(256)}, [])
