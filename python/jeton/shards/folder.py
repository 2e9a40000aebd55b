"""Layout of a folder of shards, and its files of JSON.

    plan.json        the plan; tokenizer.json: the tokenizer
    shard-00000.*    the shards, named by task
    done/00000.json  completion of a task, written after its shard: counts, sums, hashes
    spool/           first stage of a shuffle: files of documents, 00000.bin, and completions, 00000.json
    manifest.json    all shards, written by `merge`; report.json, report.md: totals, skipped records

Each file is published whole (`storage`). Names are made durable before a file that relies on them is published, so that
a completed task has its shard after a crash of the machine, too. A process that ends between two steps leaves:

    files of a shard, some or all, without completion   the task runs again and replaces them by the same bytes
    a shard and its completion, not yet durable         after a crash both, or the shard alone, or neither are there
    plan.json without tokenizer.json                    planning again writes it
    manifest.json without report.json                   merging again writes the same manifest, and the report

Two machines that run one task publish the same bytes in any order: a reader sees one or the other. Completions differ
in their times alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ..errors import FormatError, ShardError, UnsupportedFeatureError
from .outputs import OutputFiles
from .plan import Plan
from .storage import LocalStorage, storage_of
from .tasks import DONE, SPOOL

__all__ = ["SPOOL", "ShardFolder"]

PLAN, TOKENIZER, MANIFEST, REPORT = "plan.json", "tokenizer.json", "manifest.json", "report"
MANIFEST_VERSION = 1
# Entries of a completion; of one whose task read documents.
FACTS = {"documents", "tokens", "outputs", "seconds"}
READ_FACTS = {"bytes", "highest_id", "empty", "skipped", "replaced", "special", "largest", "lines"}


class ShardFolder:
    """A folder of shards.

    Attributes:
        storage: its files.

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
        """The local folder, for memory-mapping.

        Raises:
            UnsupportedFeatureError: it is a URL.
        """
        if not isinstance(self.storage, LocalStorage):
            message = f"{self}: memory-mapping shards at a URL is not supported; copy the folder to this machine"
            raise UnsupportedFeatureError(message, format="shards", feature="URL")
        return self.storage.path

    @staticmethod
    def stem(task: int) -> str:
        """Name of the shard of a task, without suffix. Names sort as the tasks do up to 100,000 tasks."""
        return f"shard-{task:05}"

    def create(self, *folders: str) -> None:
        """Creates the folder, and those in it."""
        self.storage.create([DONE, *folders])

    def has(self, name: str) -> bool:
        """True if there is a file: `PLAN`, `MANIFEST`."""
        return self.storage.size(name) is not None

    def load_plan(self) -> Plan:
        """Reads the plan.

        Raises:
            ShardError: there is none.
            FormatError: it is not one.
        """
        if not self.has(PLAN):
            message = f"{self}: no plan.json; jeton.shards.plan (jeton shards plan) writes it"
            raise ShardError(message, path=str(self))
        return Plan.from_json(self.read(PLAN), self.storage.location(PLAN))

    def load_manifest(self) -> dict[str, Any]:
        """Reads the manifest.

        Raises:
            ShardError: there is none.
            FormatError: it is not one, or of another version.
        """
        if not self.has(MANIFEST):
            message = (
                f"{self}: no {MANIFEST}; jeton.shards.merge (jeton shards merge) writes it when all tasks are done"
            )
            raise ShardError(message, path=str(self))
        manifest, where = self.read(MANIFEST), self.storage.location(MANIFEST)
        if not isinstance(manifest, dict) or "version" not in manifest:
            raise FormatError(f"{where}: not a manifest of shards", format="manifest")
        if manifest["version"] != MANIFEST_VERSION:
            message = f"{where}: version {manifest['version']!r}; this Jeton reads version {MANIFEST_VERSION}"
            raise FormatError(f"{message}: use a newer Jeton", format="manifest")
        return manifest

    def done(self, folder: str = DONE) -> set[int]:
        """Numbers of the completed tasks; `folder`: that of their completions, which a stage has."""
        return self._numbers(folder, ".json")

    def spools(self) -> set[int]:
        """Numbers of the tasks of a shuffle whose documents are spooled; `merge` removes these files."""
        return self._numbers(SPOOL, ".bin")

    def _numbers(self, folder: str, suffix: str) -> set[int]:
        names = (name.removesuffix(suffix) for name in self.storage.names(folder) if name.endswith(suffix))
        return {int(name) for name in names if name.isdecimal()}

    def remove_spools(self) -> None:
        """Removes the spooled documents of a shuffle."""
        self.storage.remove(f"{SPOOL}/{number:05}.bin" for number in sorted(self.spools()))

    def write_done(self, task: int, facts: dict[str, Any], folder: str = DONE) -> None:
        """Completes a task, whose output has been written."""
        self.storage.flush(SPOOL if folder == SPOOL else "")
        self.storage.put(_done(task, folder), json.dumps(facts, ensure_ascii=False).encode())

    def read_done(self, tasks: Iterable[int], plan: Plan, folder: str = DONE) -> Iterator[dict[str, Any]]:
        """Yields the completions of tasks.

        Raises:
            ShardError: one is of another plan, or damaged.
        """
        numbers = list(tasks)
        names = [_done(task, folder) for task in numbers]
        for task, name, data in zip(numbers, names, self.storage.read(names), strict=True):
            where = self.storage.location(name)
            facts = _from_json(data, where)
            if not isinstance(facts, dict) or facts.get("plan") != plan.digest or facts.get("task") != task:
                message = f"{where} is of another plan; remove it to run the task again"
                raise ShardError(message, path=where)
            reads = folder == SPOOL or plan.shuffle is None
            if missing := sorted((FACTS | READ_FACTS if reads else FACTS) - facts.keys()):
                message = f"{where} is damaged: it has no {missing[0]!r}; remove it to run the task again"
                raise ShardError(message, path=where)
            yield facts

    def read(self, name: str) -> Any:
        """Reads a file of JSON.

        Raises:
            FormatError: it is not JSON.
        """
        return _from_json(self.read_bytes(name), self.storage.location(name))

    def read_bytes(self, name: str) -> bytes:
        """Reads a file.

        Raises:
            FileNotFoundError: it is missing.
        """
        return next(self.storage.read([name]))

    def write(self, name: str, content: Any) -> None:
        """Writes a file of JSON, or of text."""
        text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, indent=1) + "\n"
        self.write_bytes(name, text.encode())

    def write_plan(self, plan: Plan) -> bool:
        """Writes the plan, with one line for each input; False if there is one, which stays."""
        facts = plan.to_json()
        inputs = ",\n  ".join(json.dumps(file, ensure_ascii=False) for file in facts.pop("inputs"))
        head = json.dumps(facts, ensure_ascii=False, indent=1).removesuffix("\n}")
        text = f'{head},\n "inputs": [\n  {inputs}\n ]\n}}\n'
        return self.storage.put_new(PLAN, text.encode())

    def write_bytes(self, name: str, data: bytes) -> None:
        """Writes a file."""
        self.storage.put(name, data, sweep=True)

    def outputs(self, folder: str = "") -> OutputFiles:
        """A context that writes files of a task."""
        return OutputFiles(self.storage, folder)

    def remove_stale(self) -> None:
        """Removes temporary files of killed processes."""
        for folder in ("", DONE, SPOOL):
            self.storage.remove_stale(folder)


def _done(task: int, folder: str) -> str:
    """Name of the completion file of a task."""
    return f"{folder}/{task:05}.json"


def _from_json(data: bytes, where: str) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{where}: not JSON ({error})", format="json") from None
