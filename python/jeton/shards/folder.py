"""Layout of a folder of shards, and its files of JSON.

    plan.json        the plan; tokenizer.json: the tokenizer
    shard-00000.*    the shards, named by task
    done/00000.json  completion of a task, written after its shard: counts, sums, hashes
    spool/           first stage of a shuffle: files of documents, 00000.bin, and completions, 00000.json
    manifest.json    all shards, written by `merge`; report.json, report.md: totals, skipped records

A file is written under a temporary name, flushed to disk and renamed. The folder is flushed before the completion file
is written, so that a completed task has its shard after a crash of the machine, too.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..arguments import file_path
from ..atomic import remove_stale, write_atomically
from ..errors import FormatError, ShardError
from .plan import Plan
from .tasks import DONE, SPOOL

__all__ = ["SPOOL", "ShardFolder"]

PLAN, TOKENIZER, MANIFEST, REPORT = "plan.json", "tokenizer.json", "manifest.json", "report"


class ShardFolder:
    """A folder of shards.

    Examples:
        >>> ShardFolder("out").stem(7)
        'shard-00007'
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(file_path(path, "output"))

    def __str__(self) -> str:
        return str(self.path)

    @staticmethod
    def stem(task: int) -> str:
        """Name of the shard of a task, without suffix. Names sort as the tasks do up to 100,000 tasks."""
        return f"shard-{task:05}"

    def create(self, *folders: str) -> None:
        """Creates the folder, and those in it."""
        for folder in (DONE, *folders):
            (self.path / folder).mkdir(parents=True, exist_ok=True)

    def has_plan(self) -> bool:
        """True if there is a plan."""
        return (self.path / PLAN).exists()

    def load_plan(self) -> Plan:
        """Reads the plan.

        Raises:
            ShardError: there is none.
            FormatError: it is not one.
        """
        if not self.has_plan():
            message = f"{self.path}: no plan.json; jeton.shards.plan (jeton shards plan) writes it"
            raise ShardError(message, path=str(self.path))
        return Plan.from_json(self.read(PLAN), str(self.path / PLAN))

    def done(self, folder: str = DONE) -> set[int]:
        """Numbers of the completed tasks; `folder`: that of their completions, which a stage has."""
        return self._numbers(folder, ".json")

    def spools(self) -> set[int]:
        """Numbers of the tasks of a shuffle whose documents are spooled; `merge` removes these files."""
        return self._numbers(SPOOL, ".bin")

    def _numbers(self, folder: str, suffix: str) -> set[int]:
        with suppress(FileNotFoundError):
            names = (name.removesuffix(suffix) for name in os.listdir(self.path / folder) if name.endswith(suffix))
            return {int(name) for name in names if name.isdecimal()}
        return set()

    def remove_spools(self) -> None:
        """Removes the spooled documents of a shuffle."""
        for number in self.spools():
            (self.path / SPOOL / f"{number:05}.bin").unlink(missing_ok=True)

    def write_done(self, task: int, facts: dict[str, Any], folder: str = DONE) -> None:
        """Completes a task, whose output has been written."""
        self.flush(SPOOL if folder == SPOOL else "")
        with write_atomically(self.path / folder / f"{task:05}.json", sweep=False) as file:
            file.write(json.dumps(facts, ensure_ascii=False).encode())

    def read_done(self, task: int, plan: Plan, folder: str = DONE) -> dict[str, Any]:
        """Reads the completion of a task.

        Raises:
            ShardError: it is of another plan, or damaged.
        """
        name = f"{folder}/{task:05}.json"
        facts = self.read(name)
        if not isinstance(facts, dict) or facts.get("plan") != plan.digest or facts.get("task") != task:
            message = f"{self.path / name} is of another plan; remove it to run the task again"
            raise ShardError(message, path=str(self.path / name))
        return facts

    def read(self, name: str) -> Any:
        """Reads a file of JSON.

        Raises:
            FormatError: it is not JSON.
        """
        path = self.path / name
        try:
            return json.loads(path.read_bytes())
        except (ValueError, RecursionError) as error:
            raise FormatError(f"{path}: not JSON ({error})", format="json") from None

    def write(self, name: str, content: Any) -> None:
        """Writes a file of JSON, or of text."""
        text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, indent=1) + "\n"
        self.write_bytes(name, text.encode())

    def write_plan(self, plan: Plan) -> None:
        """Writes the plan, with one line for each input."""
        facts = plan.to_json()
        inputs = ",\n  ".join(json.dumps(file, ensure_ascii=False) for file in facts.pop("inputs"))
        head = json.dumps(facts, ensure_ascii=False, indent=1).removesuffix("\n}")
        self.write(PLAN, f'{head},\n "inputs": [\n  {inputs}\n ]\n}}\n')

    def write_bytes(self, name: str, data: bytes) -> None:
        """Writes a file."""
        with write_atomically(self.path / name) as file:
            file.write(data)

    def remove_stale(self) -> None:
        """Removes temporary files of killed processes."""
        for folder in (self.path, self.path / DONE, self.path / SPOOL):
            remove_stale(folder)

    def flush(self, folder: str = "") -> None:
        """Flushes the entries of the folder, or of one in it, to disk, where the system can."""
        with suppress(OSError):
            descriptor = os.open(self.path / folder, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
