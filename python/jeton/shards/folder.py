"""Layout of a folder of shards, and its files of JSON.

    plan.json        the plan
    tokenizer.json   the tokenizer
    shard-00000.*    the shards, named by task
    done/00000.json  completion of a task, written after its shard: counts, sums, hashes
    rejects/         records that a task skipped, 00000.jsonl
    spool/           first stage of a shuffle: files of documents, 00000.bin, and completions, 00000.json
    manifest.json    list of all shards, written by `merge`
    report.*         totals, as .json and .md, written by `merge`
    rejects.jsonl    skipped records of all tasks, written by `merge`
    joined/          all shards as one file, joined.*, on demand
    index.json       list of the files, for formats whose libraries read it, written by `merge`

Each file is published whole (`storage`). Before a file is published, the files on which it relies are made durable, so
that a completed task has its shard even after a crash of the machine. If a process ends between two steps, the folder
can be in one of these states (left), with these consequences (right):

    files of a shard, some or all, without completion   the task runs again and replaces them by the same bytes
    a shard and its completion, not yet durable         a crash of the machine can remove the completion, or both
    plan.json without tokenizer.json                    planning again writes tokenizer.json
    manifest.json without report.json                   merging again writes the same manifest, and the report
    the old or the new plan, while inputs are added     tasks that differ in the plans have no completion, and run again

A completion stores the identity of its task (`Plan.identity`), so tasks stay complete when a change of the plan does
not affect them. In folders of earlier versions of Jeton, completions store the digest of the plan instead; they are
valid while the plan is unchanged.

Two machines that run the same task publish the same bytes, so it does not matter which of the two files a reader sees.
Their completions differ only in the measured times.

Plan, completions, manifest and report end in a digest of their own bytes (`sealed`). Their entries are checked when
they are read (`checks`), because a folder can be damaged, edited, or from an untrusted user.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import ConfigError, FormatError, ShardError, UnsupportedFeatureError, call, named
from .checks import (
    READ_FACTS,
    Check,
    check_fields,
    either,
    files_of,
    is_count,
    is_count_or_none,
    is_id,
    is_number,
    is_text,
    is_text_or_none,
    list_of,
    map_of,
    record,
)
from .layouts import FORMATS
from .outputs import OutputFiles
from .packing import MAX_LENGTH
from .plan import LONG, VERSION, Plan, is_hash_range, is_names
from .sealed import sealed, sealed_json, unsealed_json, version_of
from .storage import LocalStorage, storage_of
from .tasks import DONE, SPOOL

__all__ = ["REJECTS", "SPOOL", "ShardFolder"]

PLAN, TOKENIZER, MANIFEST, REPORT, REJECTS = "plan.json", "tokenizer.json", "manifest.json", "report", "rejects"
AGAIN = f"{call('jeton.shards.repair', 'jeton shards repair')} makes it again"
READ_AHEAD = 256  # completions that are read in one request
MIX, TRAIN = "mix.json", "train"  # the folder of a mix has the file `MIX`; the folder of a split has the folder `TRAIN`
MANIFEST_VERSION = 2
# Entries that every manifest has. `OPTIONAL` lists the entries that only some plans have.
MANIFEST_FACTS: dict[str, Check] = {
    "version": either(MANIFEST_VERSION),
    "format": either(*FORMATS),
    "dtype": either(None, "uint16", "int32", "uint32"),
    "tokenizer": is_text_or_none,
    "vocab_size": is_count,
    "bos": is_count_or_none,
    "eos": is_count_or_none,
    "plan": is_text,
    "documents": is_count,
    "bytes": is_count,
    "tokens": is_count,
    "highest_id": is_id,
    "empty": is_count,
    "shards": lambda value: isinstance(value, list) and all(isinstance(shard, dict) for shard in value),
}
OPTIONAL: dict[str, Check] = {
    "jeton": is_text,  # older manifests lack this entry and the next two
    "date": is_text,
    "input_root": is_text,
    "shuffle": is_count,
    "row_length": lambda value: is_count(value) and 0 < value <= MAX_LENGTH,
    "pad": is_count_or_none,
    "loss_mask": either(True),
    "keep": is_names,
    "arguments": map_of(record(documents=is_count, bytes=is_count, tokens=is_count)),
    "hash_range": is_hash_range,
    "tokenizer_files": files_of("tokenizer"),
    "index_files": files_of("index"),
    "joined": lambda value: files_of("joined/joined")(value) or files_of("joined")(value),  # older manifests: `joined`
    "rejects": files_of(REJECTS),
    "generations": list_of(is_count),
}


_is_range = record(path=is_text, start=is_count, end=is_count)
_is_file = record(path=is_text)
_are_pieces = list_of(lambda piece: _is_range(piece) or _is_file(piece))


class ShardFolder:
    """A folder of shards.

    Attributes:
        storage: the files of the folder.

    Examples:
        >>> ShardFolder("out").stem(7)
        'shard-00007'
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.storage = storage_of(path)

    def __str__(self) -> str:
        return self.storage.name

    @property
    def path(self) -> Path:
        """Path of the folder on this machine, for memory-mapping.

        Raises:
            UnsupportedFeatureError: the folder is at a URL.
        """
        if not isinstance(self.storage, LocalStorage):
            message = f"{self}: memory-mapping shards at a URL is not supported; copy the folder to this machine"
            raise UnsupportedFeatureError(message, format="shards", feature="URL")
        return self.storage.path

    @staticmethod
    def stem(task: int) -> str:
        """Returns the name of a task's shard, without suffix. The names of up to 100,000 tasks sort in task order."""
        return f"shard-{task:05}"

    def create(self, *folders: str) -> None:
        """Creates the folder, and the given folders in it."""
        self.storage.create([DONE, *folders])

    def has(self, name: str) -> bool:
        """True if the folder has this file, such as `PLAN` or `MANIFEST`."""
        return self.storage.size(name) is not None

    def check_free_of(self, *names: str) -> None:
        """Checks that the folder has none of the files `names`. Such a file shows that the folder is of another kind.

        Raises:
            ConfigError: the folder has one of the files.
        """
        for name in filter(self.has, names):
            message = f"{self} has {name}, of a call with {named('validation')} or with a mix"
            raise ConfigError(f"{message}; repeat that call, or pass another folder", option="output")

    def load_plan(self) -> Plan:
        """Reads the plan.

        Raises:
            ShardError: there is no such file.
            FormatError: the file is damaged, was edited, or is of another version.
        """
        if not self.has(PLAN):
            self._check_exists()
            hint = self._parts() or f"{call('jeton.shards.plan', 'jeton shards plan')} writes it"
            raise ShardError(f"{self} is not a folder of shards (no plan.json); {hint}", path=str(self))
        return Plan.from_json(self.read(PLAN, "plan", VERSION), self.storage.location(PLAN))

    def _check_exists(self) -> None:
        if isinstance(self.storage, LocalStorage) and not self.storage.path.is_dir():
            raise ShardError(f"there is no folder {self}", path=str(self))

    def missing(self, name: str) -> ShardError:
        """Builds the error for a missing file that `merge` writes: the manifest or the report."""
        self._check_exists()
        merge = f"{call('jeton.shards.merge', 'jeton shards merge')} writes it when all tasks are done"
        hint = self._parts() or (merge if self.has(PLAN) else "this is not a folder of shards")
        return ShardError(f"{self}: no {name}; {hint}", path=str(self))

    def _parts(self) -> str | None:
        """Returns a hint where to find the shards, if the folder has a mix or a split; None for other folders."""
        if self.has(MIX):
            what = "it has a mix of folders of shards, which jeton.shards.loader and jeton.shards.mix read"
            return f"{what}; otherwise pass the folder of a source"
        if any(self.has(f"{TRAIN}/{name}") for name in (PLAN, MIX)):
            return f"it has parts, each a folder of shards: pass {self.storage.location(TRAIN)}"
        return None

    def load_manifest(self) -> dict[str, Any]:
        """Reads the manifest.

        Raises:
            ShardError: there is no such file.
            FormatError: the file is damaged, was edited, or is of another version.
        """
        if not self.has(MANIFEST):
            raise self.missing(MANIFEST)
        manifest = self.read(MANIFEST, "manifest", MANIFEST_VERSION)
        try:
            _check_manifest(manifest)
        except ValueError as error:
            where = self.storage.location(MANIFEST)
            raise FormatError(f"{where}: not a manifest of shards: {error}; merge again", format="manifest") from None
        return manifest

    def read(self, name: str, noun: str, version: int | None = None) -> dict[str, Any]:
        """Reads a file of JSON, and checks its digest and version. `noun`: what the file contains, for errors.

        Raises:
            FormatError: the file was changed, or is of another version.
        """
        data, where = self.read_bytes(name), self.storage.location(name)
        try:
            facts = unsealed_json(data)
            found = facts.get("version")
        except ValueError as error:
            found = version_of(data)
            if found in (None, version):
                raise FormatError(f"{where}: not a {noun} of shards: {error}", format=noun) from None
        if found != version:
            message = f"{where}: version {found!r}; this Jeton reads version {version}"
            raise FormatError(f"{message}: use the Jeton that wrote it, or make the shards again", format=noun)
        return facts

    def done(self, folder: str = DONE) -> set[int]:
        """Returns the numbers of the completed tasks of one stage.

        `folder`: the folder with the files that mark tasks of this stage as completed. Each stage has its own folder.
        """
        return self._numbers(folder, ".json")

    def spools(self) -> set[int]:
        """Returns the numbers of shuffle tasks that still have spooled documents. `merge` removes the documents."""
        return self._numbers(SPOOL, ".bin")

    def _numbers(self, folder: str, suffix: str) -> set[int]:
        names = self.storage.names(folder)
        stems = (name.removesuffix(suffix) for name in names if name.endswith(suffix))
        return {int(stem) for stem in stems if stem.isdecimal() and stem == _number(int(stem))}

    def is_done(self, task: int, folder: str = DONE) -> bool:
        """True if a task is complete. Looks up the file, because a listing can omit a file that is being replaced."""
        return self.has(_done(task, folder))

    def has_spool(self, task: int) -> bool:
        """True if the spooled documents of a shuffle's task exist."""
        return self.has(f"{SPOOL}/{_number(task)}.bin")

    def remove_spools(self) -> None:
        """Removes the spooled documents of a shuffle."""
        self.storage.remove(f"{SPOOL}/{_number(number)}.bin" for number in sorted(self.spools()))

    def remove_done(self, tasks: Iterable[int], folder: str = DONE) -> None:
        """Removes completions, so that the tasks run again."""
        self.storage.remove(_done(task, folder) for task in sorted(tasks))

    def write_done(self, task: int, facts: dict[str, Any], folder: str = DONE) -> None:
        """Makes the output of a task durable, then writes its completion."""
        self.storage.flush(SPOOL if folder == SPOOL else "")
        if facts.get("rejects"):
            self.storage.flush(REJECTS)
        self.storage.put(_done(task, folder), sealed_json(json.dumps(facts, ensure_ascii=False)))

    def read_done(self, tasks: Iterable[int], plan: Plan, folder: str = DONE) -> Iterator[dict[str, Any]]:
        """Yields the completions of tasks.

        Raises:
            ShardError: a completion is of another plan, or damaged.
        """
        numbers = list(tasks)
        names = [_done(task, folder) for task in numbers]
        for task, data in zip(numbers, self.storage.read(names), strict=True):
            yield self._completion(data, task, plan, folder)

    def check_done(
        self, tasks: Iterable[int], plan: Plan, folder: str = DONE
    ) -> Iterator[tuple[int, dict[str, Any] | None]]:
        """Yields each task with its completion, or with None if the completion is damaged or of another plan.

        If another process removes a completion during the call, the task is skipped.
        """
        numbers = list(tasks)
        for start in range(0, len(numbers), READ_AHEAD):
            some = numbers[start : start + READ_AHEAD]
            for task, data in zip(some, self._read_each([_done(task, folder) for task in some]), strict=True):
                if data is None:
                    continue
                try:
                    yield task, self._completion(data, task, plan, folder)
                except ShardError:
                    yield task, None

    def _read_each(self, names: list[str]) -> list[bytes | None]:
        """Returns the content of each file, or None for a missing file."""
        try:
            return list(self.storage.read(names))
        except FileNotFoundError:
            found: list[bytes | None] = []
            for name in names:
                try:
                    found += self.storage.read([name])
                except FileNotFoundError:
                    found.append(None)
            return found

    def _completion(self, data: bytes, task: int, plan: Plan, folder: str) -> dict[str, Any]:
        """Returns the content of a completion.

        Raises:
            ShardError: the completion is of another plan, or damaged.
        """
        where = self.storage.location(_done(task, folder))
        try:
            facts = unsealed_json(data)
            if facts.get("task") != task or not _is_of(facts, plan, task, folder):
                message = f"{where} belongs to another plan"
                raise ShardError(f"{message}; {AGAIN}", path=where)
            _check_completion(facts, plan, task, folder == SPOOL)
        except ValueError as error:
            message = f"{where} is damaged: {error}"
            raise ShardError(f"{message}; {AGAIN}", path=where) from None
        return facts

    def upgrade_done(self, plan: Plan, folder: str) -> None:
        """Adds identities of tasks to completions of an earlier version of Jeton, before the plan changes."""
        for task, facts in self.check_done(sorted(self.done(folder)), plan, folder):
            if facts is not None and "identity" not in facts:
                del facts["plan"]
                errors = {"errors": plan.reading["errors"]} if "skipped" in facts else {}
                self.write_done(task, {**facts, "identity": plan.identity(task, folder), **errors}, folder)

    def read_bytes(self, name: str) -> bytes:
        """Reads a file.

        Raises:
            FileNotFoundError: the file is missing.
        """
        return next(self.storage.read([name]))

    def write(self, name: str, content: Any) -> None:
        """Writes a file with its digest: a `str` as it is, other content as JSON."""
        is_page = isinstance(content, str)
        data = sealed(content) if is_page else sealed_json(json.dumps(content, ensure_ascii=False, indent=1))
        self.write_bytes(name, data)

    def write_manifest(self, facts: Mapping[str, Any]) -> None:
        """Writes the manifest, with one line for each shard."""
        self.write_bytes(MANIFEST, sealed_json(_in_lines(facts, "shards")))

    def write_plan(self, plan: Plan, *, replace: bool = False) -> bool:
        """Writes the plan, with one line for each input. Without `replace`, returns False if a plan already exists."""
        data = sealed_json(_in_lines(plan.to_json(), "inputs"))
        if replace:
            self.storage.put(PLAN, data, sweep=True)
            return True
        return self.storage.put_new(PLAN, data)

    def write_bytes(self, name: str, data: bytes) -> None:
        """Writes a file."""
        self.storage.put(name, data, sweep=True)

    def outputs(self, folder: str = "") -> OutputFiles:
        """Returns a context manager that writes the output files of a task."""
        return OutputFiles(self.storage, folder)

    def remove_stale(self) -> None:
        """Removes temporary files of killed processes."""
        for folder in ("", DONE, SPOOL, REJECTS, "joined"):
            self.storage.remove_stale(folder)


def _in_lines(facts: Mapping[str, Any], name: str) -> str:
    """Formats an object as JSON. Its list `name` becomes the last entry, with each item on one line.

    `json.dumps` with an indent would run in pure Python, and allocate millions of small strings for 100,000 shards.
    """
    head = json.dumps({key: value for key, value in facts.items() if key != name}, ensure_ascii=False, indent=1)
    items = ",\n  ".join(json.dumps(item, ensure_ascii=False) for item in facts[name])
    head = head.removesuffix("\n}")
    return f'{head},\n "{name}": [\n  {items}\n ]\n}}'


def _number(task: int) -> str:
    """Returns the number of a task as five digits, as in the names of its files."""
    return f"{task:05}"


def _done(task: int, folder: str) -> str:
    """Returns the name of the completion file of a task."""
    return f"{folder}/{_number(task)}.json"


def _is_of(facts: dict[str, Any], plan: Plan, task: int, folder: str) -> bool:
    """True if a completion belongs to the task and the plan, that is, stores the identity that the plan gives the task.

    If the task skipped or replaced records, the completion must also have the same error policy as the plan.
    """
    if "identity" not in facts:  # completion of an earlier version of Jeton
        return bool(facts.get("plan") == plan.digest)
    is_policy = facts.get("errors") == plan.reading["errors"] or not (facts.get("skipped") or facts.get("replaced"))
    return is_policy and bool(facts["identity"] == plan.identity(task, folder))


def _check_completion(facts: dict[str, Any], plan: Plan, task: int, is_spool: bool) -> None:
    """Checks the entries of a completion.

    Raises:
        ValueError: an entry is missing or wrong.
    """
    checks: dict[str, Check] = {
        "documents": is_count,
        "tokens": is_count,
        "outputs": files_of(_number(task) if is_spool else ShardFolder.stem(task)),
        "seconds": map_of(is_number),
        "input_bytes": is_count,
    }
    if is_spool or plan.shuffle is None:
        checks |= READ_FACTS
        if plan.conversations is not None and "too_long" in plan.conversations:
            checks["conversations"] = record(**dict.fromkeys(LONG, is_count))
        if plan.hash_range is not None:
            checks["left_out"] = is_count
        if plan.keep is not None:
            checks["kept"] = record(**dict.fromkeys(plan.keep, is_count))
    if plan.packing is not None and not is_spool:
        checks["packing"] = record(**dict.fromkeys(("rows", "pieces", "cut", "padding", "dropped"), is_count))
    totals = map_of(list_of(is_count, length=3))
    check_fields(
        facts,
        checks,
        {
            "sources": totals,
            "arguments": totals,
            "records": map_of(list_of(lambda value: type(value) is int, length=2)),
            "rejects": files_of(_number(task)),
        },
    )


def _check_manifest(manifest: dict[str, Any]) -> None:
    """Checks the entries of a manifest.

    Raises:
        ValueError: an entry is missing or wrong.
    """
    check_fields(manifest, MANIFEST_FACTS, OPTIONAL)
    units = ("documents", "tokens") if "row_length" not in manifest else ("documents", "tokens", "rows", "pieces")
    counts = dict.fromkeys(units, is_count)
    for number, shard in enumerate(manifest["shards"]):
        try:
            check_fields(shard, {"files": files_of(ShardFolder.stem(number)), **counts}, {"inputs": _are_pieces})
        except ValueError as error:
            raise ValueError(f"in shard {number}, {error}") from None
