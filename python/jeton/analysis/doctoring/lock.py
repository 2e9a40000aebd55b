"""Lock file of `doctor`: the texts, the ids of each reader, and the fingerprints of Jeton's tokenizers.

A comparison with this file in CI fails if a new version of a library, or a changed file, gives other ids. The file is
JSON:

- ``format``: ``"jeton doctor"``; ``version``: 1;
- ``texts``: the texts; ``framed``: those that are also encoded with the tokens of a template;
- ``readers``: name of a reader → an object with these entries:
  - ``ids``: a list for each text (null: not compared or refused). Only the first reader has this entry;
  - ``like`` and ``other``: replace ``ids`` in all other readers. ``like`` is the name of the first reader. ``other``
    maps the index of a text to ids, for the texts on which the two readers differ;
  - ``framed``: a list for each text of ``framed`` above, or null;
  - ``fingerprint``: only if the library is Jeton. The fingerprint covers the whole vocabulary.

The versions of libraries are recorded in ``versions``. Fingerprints are compared only within a minor version of Jeton.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import FormatError
from ...util.atomic import write_atomically
from ...util.messages import counted, translate
from .causes import Ids, Results
from .readers import Reader, Refused
from .telling_texts import FRAMED
from .wording import quoted

__all__ = ["check_lock", "read_lock", "write_lock"]

FORMAT = "jeton doctor"
VERSION = 1
MAX_BYTES = 1 << 28
MAX_SHOWN = 3


def write_lock(path: str | os.PathLike[str], texts: Sequence[str], found: Sequence[tuple[Reader, Results]]) -> None:
    """Writes the lock file."""
    readers: dict[str, Any] = {}
    first: tuple[str, list[Any]] | None = None
    for reader, results in found:
        ids = [_plain(one) for one in results.ids]
        entry: dict[str, Any] = {}
        if first is None:
            first = reader.name, ids
            entry["ids"] = ids
        else:
            entry["like"] = first[0]
            pairs = enumerate(zip(first[1], ids, strict=True))
            entry["other"] = {str(index): one for index, (same, one) in pairs if same != one}
        entry["framed"] = None if results.framed is None else [_plain(one) for one in results.framed]
        if reader.library == "jeton" and reader.twin is not None:
            entry["fingerprint"] = reader.twin.fingerprint
        readers[reader.name] = entry
    versions = {reader.library: reader.version for reader, _ in found}
    content = {
        "format": FORMAT,
        "version": VERSION,
        "versions": versions,
        "texts": list(texts),
        "framed": list(FRAMED),
        "readers": readers,
    }
    with write_atomically(path) as file:
        # surrogatepass: a user's text can contain a lone surrogate, which `read_lock` restores
        file.write(
            (json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n").encode(errors="surrogatepass")
        )


def _plain(ids: Ids | None) -> list[int] | None:
    return None if ids is None or isinstance(ids, Refused) else ids


def read_lock(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Reads the lock file, and restores the full ``ids`` of each reader.

    For most readers, the file stores only the differences from the ids of another reader (``like``).

    Raises:
        FormatError: the file is not a lock file, or has another version.
    """
    name = os.fspath(path)
    if os.stat(path).st_size > MAX_BYTES:
        raise FormatError(f"{name}: more than {MAX_BYTES} bytes", format="lock file", place="the size")
    try:
        with open(path, "rb") as file:
            content = json.loads(file.read())
        if content["format"] != FORMAT:
            raise ValueError
        if content["version"] != VERSION:
            version = repr(content["version"])[:20]
            raise FormatError(
                f"{name}: version {version} of the lock file is not supported; remove it to write a new one",
                format="lock file",
                place="version",
            )
        texts, readers = content["texts"], content["readers"]
        if not all(isinstance(text, str) for text in (*texts, *content["framed"])):
            raise TypeError
        if not isinstance(content.get("versions", {}), dict):
            raise TypeError
        for reader, entry in readers.items():
            if "like" in entry:
                entry["ids"] = list(readers[entry["like"]]["ids"])
                for index, ids in entry["other"].items():
                    entry["ids"][int(index)] = ids
            if len(entry["ids"]) != len(texts) or not isinstance(reader, str):
                raise ValueError
            framed = entry["framed"]
            if framed is not None and len(framed) != len(content["framed"]):
                raise ValueError
            if not all(ids is None or isinstance(ids, list) for ids in (*entry["ids"], *(framed or ()))):
                raise TypeError
    except FormatError:
        raise
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, RecursionError):
        raise FormatError(
            f"{name}: not a lock file of jeton doctor, or a damaged one; remove it to write a new one",
            format="lock file",
            place="$",
        ) from None
    found: dict[str, Any] = content
    return found


def check_lock(lock: Mapping[str, Any], readers: Sequence[Reader]) -> list[str]:
    """Compares readers with the lock file; returns a sentence for each difference.

    A reader in the lock file is not compared if its library is not installed; `Diagnosis.readers` lists such readers.
    """
    differences: list[str] = []
    by_name = {reader.name: reader for reader in readers}
    for name, entry in lock["readers"].items():
        reader = by_name.get(name)
        if reader is None:
            differences.append(translate("{reader} is in the lock file, but was not found", reader=name))
            continue
        if reader.reason is not None:
            if reader.is_installed:
                differences.append(translate("{reader} does not load: {reason}", reader=name, reason=reader.reason))
            continue
        differences += _of_reader(lock, entry, reader)
    return differences


def _of_reader(lock: Mapping[str, Any], entry: Mapping[str, Any], reader: Reader) -> list[str]:
    found: list[str] = []
    changed = [
        (text, ids, now)
        for text, ids in zip(lock["texts"], entry["ids"], strict=True)
        if ids is not None and (now := _plain(reader.ids(text))) != ids
    ]
    for text, before, now in changed[:1]:
        message = "{reader} gives other ids for {texts}, first {text}: {ids} instead of {before}"
        facts = {"texts": counted(len(changed), "text"), "text": quoted(text)}
        found.append(translate(message, reader=reader.name, ids=_short(now), before=_short(before), **facts))
    if entry["framed"] is not None:
        for text, before in zip(lock["framed"], entry["framed"], strict=True):
            now = None if reader.frame is None else _plain(reader.ids(text, framed=True))
            if now != before:
                message = "{reader} adds other tokens to {text}: {ids} instead of {before}"
                shown = quoted(text)
                facts = {"ids": _short(now), "before": _short(before)}
                found.append(translate(message, reader=reader.name, text=shown, **facts))
                break
    before = entry.get("fingerprint")
    if _minor(lock.get("versions", {}).get(reader.library)) != _minor(reader.version):
        return found  # another minor version of Jeton can have other fingerprints, so they are not compared
    if not found and before is not None and reader.twin is not None and reader.twin.fingerprint != before:
        message = "{reader} has another fingerprint, with equal ids on the texts: {fingerprint} instead of {before}"
        fingerprint = reader.twin.fingerprint
        found.append(translate(message, reader=reader.name, fingerprint=fingerprint, before=before))
    return found


def _minor(version: Any) -> str:
    return ".".join(str(version).split(".")[:2])


def _short(ids: list[int] | None, most: int = 12) -> str:
    if ids is None:
        return translate("refused")
    return " ".join(map(str, ids[:most])) + (" …" if len(ids) > most else "") or "–"
