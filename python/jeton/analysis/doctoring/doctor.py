"""`doctor`: loads a tokenizer with every library that can load it, and compares the results.

Each installed library reads those files of the folder whose format it supports (`readers`). All readers encode the same
texts (`telling_texts`); readers with equal ids form a group. The first reader is the reference. For each group without
the reference, experiments find out why the ids differ from those of the reference (`causes`).

Cost: a few seconds, most of them for importing transformers.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...errors import ConfigError
from ...util.arguments import file_path, strings
from ...util.messages import translate
from .causes import Cause, Results, causes_of, causes_of_decoding, results
from .diagnosis import Diagnosis, Disagreement, ReaderRow
from .lock import check_lock, read_lock, write_lock
from .marks import MARK
from .readers import Reader, Refused, find_readers, quiet
from .telling_texts import FRAMED, spells_added, telling_texts

__all__ = ["doctor"]


def doctor(
    place: str | os.PathLike[str],
    texts: Iterable[str] | None = None,
    *,
    beside: str | os.PathLike[str] | None = None,
    lock: str | os.PathLike[str] | None = None,
) -> Diagnosis:
    """Compares all ways of loading a tokenizer, and finds the cause of each difference.

    A folder's `tokenizer.json` is loaded by Jeton and `tokenizers`, its ``.model`` by Jeton and `sentencepiece`, its
    rank file by Jeton and `tiktoken`, and its class by `transformers`. Jeton also loads a GGUF file, with the ids of
    llama.cpp. Libraries that are not installed are listed as not checked. Remote code is never run.

    A cause is proved by experiment: Jeton applies the difference to its definition of the reference, and the ids become
    equal on all texts. `sentencepiece` never matches added tokens, so it is compared only on texts without them.

    Args:
        place: a folder, a file, or a name as for `load`.
        texts: texts to compare in addition to the built-in ones.
        beside: another place that should give the same ids, such as a GGUF file in another folder.
        lock: path of a lock file. If the file does not exist, it is written; else the readers are compared with it.

    Raises:
        FileNotFoundError: the place does not exist, or the folder has no tokenizer.
        DownloadError: the tokenizer of this name cannot be downloaded.
        FormatError: the lock file is damaged.

    Examples:
        >>> import jeton, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> jeton.train(["low lower lowest"], 260, pattern="gpt2", progress=False).save(folder + "/tokenizer.json")
        >>> jeton.doctor(folder, ["lower"]).agrees
        True
    """
    path = file_path(place, "place")
    own = [] if texts is None else strings(texts, "texts")
    readers = find_readers(path)
    if beside is not None:
        readers += _named(find_readers(file_path(beside, "beside")), readers, os.fspath(beside))
    locked = None
    if lock is not None and os.path.exists(lock_path := file_path(lock, "lock")):
        locked = read_lock(lock_path)
    with quiet():
        compared = _Comparison(readers, list(own))
        differences = compared.differences()
    found = Diagnosis(os.fspath(place), compared.rows(), differences, len(compared.texts))
    if lock is None:
        return found
    if locked is None:
        write_lock(file_path(lock, "lock"), compared.texts, list(zip(compared.checked, compared.results, strict=True)))
        return replace(found, lock="written")
    changes = check_lock(locked, readers)
    new = {name for one in found.differences if one.call != "decode" for name in one.readers} - locked["readers"].keys()
    changes += [
        translate("{reader} is not in the lock file, but differs from the reference", reader=name)
        for name in sorted(new)
    ]
    return replace(found, lock="checked", lock_differences=tuple(changes))


def _named(more: Sequence[Reader], readers: Sequence[Reader], place: str) -> list[Reader]:
    """Returns `more`, the readers of the files at `place`. A reader whose name is also in `readers` is renamed."""
    taken = {reader.name for reader in readers}
    path = os.path.abspath(place)
    folder = os.path.basename(os.path.dirname(path) if os.path.isfile(path) else path)
    return [
        replace(reader, file=os.path.join(folder, reader.file)) if reader.name in taken else reader for reader in more
    ]


@dataclass
class _Group:
    """Readers with equal results."""

    readers: list[Reader]
    results: Results

    def add(self, reader: Reader, found: Results) -> None:
        """Adds a reader. Its results can include texts on which no reader of the group was compared yet."""
        self.readers.append(reader)
        ids = [a if a is not None else b for a, b in zip(self.results.ids, found.ids, strict=True)]
        framed = found.framed if self.results.framed is None else self.results.framed
        self.results = Results(ids, framed)


class _Comparison:
    """Results of all readers on all texts."""

    def __init__(self, readers: Sequence[Reader], own: Sequence[str]) -> None:
        self._readers = readers
        self.checked = [reader for reader in readers if reader.reason is None]
        if not self.checked:
            reasons = "; ".join(f"{reader.name}: {reader.reason}" for reader in readers)
            raise ConfigError(f"no library loads it: {reasons}", option="place")
        twins = [reader.twin for reader in self.checked if reader.twin is not None]
        self.texts = telling_texts(twins, own)
        spelled = spells_added(twins, self.texts)
        self.results = [results(reader, self.texts, spelled) for reader in self.checked]
        self.groups: list[_Group] = []
        for reader, found in zip(self.checked, self.results, strict=True):
            same = next((group for group in self.groups if not group.results.differing(found)), None)
            if same is None:
                self.groups.append(_Group([reader], found))
            else:
                same.add(reader, found)

    def rows(self) -> tuple[ReaderRow, ...]:
        letters = {
            id(reader): (_letters(index), group) for index, group in enumerate(self.groups) for reader in group.readers
        }
        rows = []
        by_reader = {id(reader): found for reader, found in zip(self.checked, self.results, strict=True)}
        for reader in self._readers:
            letter, number = None, 0
            if reader.reason is None:
                letter = letters[id(reader)][0]
                if letter != "A":
                    number = self._number(self.groups[0].results.differing(by_reader[id(reader)]))
            rows.append(ReaderRow(reader.name, reader.version, reader.detail, letter, reader.reason, number))
        return tuple(rows)

    def _number(self, differing: Sequence[int]) -> int:
        """Returns the number of differing texts. Texts of `FRAMED` are counted only if no other text differs."""
        return sum(index < len(self.texts) for index in differing) or len(differing)

    def differences(self) -> tuple[Disagreement, ...]:
        return (*map(self._of_group, self.groups[1:]), *self._of_decoding())

    def _of_group(self, group: _Group) -> Disagreement:
        reference = self.groups[0]
        differing = reference.results.differing(group.results)
        # The group equals the reference on all texts that both have encoded. So compare the group with the first group
        # that gives other ids.
        if not differing:
            reference = next(one for one in self.groups if one.results.differing(group.results))
            differing = reference.results.differing(group.results)
        first = differing[0]
        theirs = [(reader, self.results[self.checked.index(reader)]) for reader in group.readers]
        causes = causes_of(reference.readers, reference.results, theirs, group.results, self.texts)
        left, right = (_facts(one.readers, one.results.at(first)) for one in (reference, group))
        return Disagreement(
            tuple(reader.name for reader in group.readers),
            "encode" if first < len(self.texts) else "template",
            [*self.texts, *FRAMED][first],
            *(left[0], right[0], left[1], right[1]),
            self._number(differing),
            tuple(causes),
        )

    def _of_decoding(self) -> list[Disagreement]:
        """Returns the disagreements in decoding: a reader decodes the ids of the reference to a different text.

        Left out: texts with added or unknown tokens, and texts with ▁, which most decoders turn into a space.
        """
        reference = next((reader for reader in self.groups[0].readers if reader.decode is not None), None)
        if reference is None:
            return []
        added = {id for reader in self.checked if reader.twin is not None for id in reader.twin.added_tokens}
        found: list[tuple[list[Any], Reader, list[int]]] = []
        ours = [
            (index, ids)
            for index, ids in enumerate(self.groups[0].results.ids)
            if ids and not isinstance(ids, Refused) and added.isdisjoint(ids) and MARK not in self.texts[index]
        ]
        expected = {index: reference.text(ids) for index, ids in ours}
        for reader, theirs in zip(self.checked, self.results, strict=True):
            if reader.decode is None or reader is reference:
                continue
            texts = [(i, reader.text(ids)) for i, ids in ours if theirs.ids[i] == ids]
            differing = [(i, text) for i, text in texts if text != expected[i]]
            if differing:
                found.append((differing, reader, [i for i, _ in texts]))
        disagreements: list[Disagreement] = []
        ids_of = dict(ours)
        while found:
            differing, reader, compared = found[0]
            same = [one for one in found if one[0] == differing]
            found = [one for one in found if one[0] != differing]
            causes: list[Cause] = causes_of_decoding(reference, reader, [ids_of[index] for index in compared])
            first, text = differing[0]
            names = tuple(one[1].name for one in same)
            disagreements.append(
                Disagreement(
                    names,
                    "decode",
                    self.texts[first],
                    *(_plain(expected[first]), _plain(text), (), ()),
                    len(differing),
                    tuple(causes),
                )
            )
        return disagreements


def _letters(index: int) -> str:
    """Returns the name of a group: A, B, … Z, AA."""
    first, last = divmod(index, 26)
    return (chr(64 + first) if first else "") + chr(65 + last)


def _facts(readers: Sequence[Reader], ids: Any) -> tuple[list[int] | str | None, tuple[str, ...]]:
    """Returns the ids and the spelling of each; for a refused text, the error message and no spellings."""
    if not isinstance(ids, list):
        return (None if ids is None else ids.message), ()
    spell = next((reader.spell for reader in readers if reader.spell is not None), None)
    return ids, () if spell is None else tuple(_spelled(spell, id) for id in ids)


def _spelled(spell: Any, id: int) -> str:
    try:
        return str(spell(id))
    except Exception:
        return str(id)


def _plain(text: Any) -> str:
    return text.message if isinstance(text, Refused) else text
