"""Runs one task: reads its pieces, encodes them, and writes one shard and its completion file.

The output of a task depends only on the plan and the task's number. A task can run any number of times, on any machine,
even twice at once: each run writes the same bytes under temporary names, and the last rename wins. One exception: the
bytes of Parquet and ``.csv.gz`` depend on the versions of pyarrow and zlib. If these differ between machines, a task
that runs twice at once can leave the shard of one run and the completion of the other; `verify` reports this.

Memory: a batch of about 1 MB of text and its ids, or a single larger document, of up to 256 MiB.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, TypeAlias

from ..corpus import Batch, RangeReader
from ..errors import FormatError, JetonError, ShardError
from ..tokenizer import Tokenizer
from .conversations import make_encoder
from .counting import count_task
from .folder import REJECTS, ShardFolder
from .layouts import COUNTS, LAYOUTS
from .plan import Plan, check_inputs
from .shuffling import run_bucket
from .skipping import Rejects
from .sources import SourceTally, group_files
from .tasks import Task
from .tokenizers import load_tokenizer
from .writers import task_writer

__all__ = ["attempt", "load_folder", "run_task", "run_task_in"]

Check: TypeAlias = Callable[[], None]
Facts: TypeAlias = dict[str, Any]


def run_task_in(folder: str, digest: str, stage: int, keeps_going: bool, number: int, check: Check) -> Facts:
    """Runs one task of a stage in a worker process; returns the result of `attempt`."""
    place, plan, tok = load_folder(folder, digest)
    return attempt(place, plan, tok, stage, keeps_going, plan.stages[stage].tasks[number], check)


def attempt(
    folder: ShardFolder,
    plan: Plan,
    tok: Tokenizer | None,
    stage: int,
    keeps_going: bool,
    task: Task,
    check: Check,
    report: Callable[[int], object] = lambda num_bytes: None,
) -> Facts:
    """Runs one task of a stage.

    Args:
        folder, plan, tok, task, check, report: as `run_task`.
        stage: number of the stage.
        keeps_going: if a record or an input has an error, return the error instead of raising it.

    Returns:
        Task number, bytes of input, and counts of documents and skipped records. If the task failed: its number, and
        the error message as ``"failed"``.
    """
    try:
        if stage:
            facts = run_bucket(folder, plan, task, check, report)
        else:
            facts = run_task(folder, plan, tok, task, check, report)
    except (JetonError, OSError) as error:
        if keeps_going and (isinstance(error, JetonError) or _is_of_input(error, plan, task)):
            return {"task": task.number, "failed": str(error)}
        raise
    skipped = {kind: [count, []] for kind, (count, _) in facts.get("skipped", {}).items()}
    return {
        "task": task.number,
        "input_bytes": facts["input_bytes"],
        "skipped": skipped,
        "documents": facts["documents"],
        "empty": facts.get("empty", 0),
        "left_out": facts.get("left_out", 0),
    }


def _is_of_input(error: OSError, plan: Plan, task: Task) -> bool:
    """True if the error is that an input cannot be opened. Other errors can be temporary, or concern the output."""
    return isinstance(error, FileNotFoundError | PermissionError | IsADirectoryError) and error.filename in {
        plan.inputs[piece.input].path for piece in task.pieces
    }


@cache
def load_folder(folder: str, digest: str) -> tuple[ShardFolder, Plan, Tokenizer | None]:
    """Loads a folder with its plan and tokenizer, once per process.

    Raises:
        ShardError: the digest of the plan is not `digest`, for example because the machines do not share the file
            system; or the tokenizer's file is missing or has another tokenizer (see `load_tokenizer`).
    """
    place = ShardFolder(folder)
    plan = place.load_plan()
    if plan.digest != digest:
        message = f"{folder} has another plan here ({plan.digest[:12]}) than for the caller ({digest[:12]})"
        raise ShardError(f"{message}; the folder must be on storage that all machines share", path=folder)
    return place, plan, load_tokenizer(place, plan)


def run_task(
    folder: ShardFolder,
    plan: Plan,
    tok: Tokenizer | None,
    task: Task,
    check: Check = lambda: None,
    report: Callable[[int], object] = lambda num_bytes: None,
) -> Facts:
    """Runs a task.

    Args:
        folder: the output.
        plan: plan of the folder.
        tok: as `load_tokenizer` returns it.
        task: the task.
        check: called often; can raise an exception to stop the task.
        report: called with the number of bytes of text that were processed since the last call.

    Returns:
        The content of the completion file.

    Raises:
        ShardError: an input has changed.
        JetonError: a bad record, under ``errors="strict"``; the files of the task are removed.
        OSError: reading or writing failed.
    """
    check_inputs(plan, task)
    clock = _Clock()
    with folder.outputs(REJECTS) as files:
        rejects = Rejects(folder, files, plan, task)
        reader = plan.reader(task, check, rejects.add)
        batches = clock.timed("parse", _reported(reader, rejects, report))
        if plan.format == COUNTS:
            facts = count_task(folder, plan, task, reader, batches)
        else:
            facts = _encode(folder, plan, tok, task, reader, batches, clock)
    check_inputs(plan, task)
    seconds = clock.seconds
    seconds["read"] = reader.read_s
    seconds["parse"] = max(0.0, seconds.get("parse", 0.0) - reader.read_s)
    facts = {
        "task": task.number,
        "identity": plan.identity(task.number, plan.stages[0].folder),
        "errors": plan.reading["errors"],
        **facts,
        "input_bytes": task.num_bytes,
        "skipped": {kind: [found.count, list(found.places)] for kind, found in reader.skipped.items()},
        "replaced": reader.replaced,
        **({"kept": reader.kept} if plan.keep is not None else {}),
        "lines": reader.lines,
        "records": rejects.records(reader.left_out),
        **({"left_out": sum(reader.left_out.values())} if plan.hash_range is not None else {}),
        **({"rejects": files.facts} if files.facts else {}),
        "seconds": {name: round(value, 4) for name, value in seconds.items()},
    }
    folder.write_done(task.number, facts, plan.stages[0].folder)
    return facts


def _reported(reader: RangeReader, rejects: Rejects, report: Callable[[int], object]) -> Iterator[Batch]:
    for batch in reader.batches():
        rejects.count(batch)
        yield batch
        report(batch.num_bytes)


def _encode(
    folder: ShardFolder,
    plan: Plan,
    tok: Tokenizer | None,
    task: Task,
    reader: RangeReader,
    batches: Iterator[Batch],
    clock: _Clock,
) -> Facts:
    """Writes a shard of ids, or the documents of a shuffle's first stage."""
    if tok is None or plan.tokenizer is None or plan.format not in LAYOUTS:
        raise FormatError(f"{folder}: the plan has no tokenizer, or an unknown format {plan.format!r}", format="plan")
    encoder = make_encoder(tok, plan, reader)
    tally = SourceTally(group_files([plan.inputs[piece.input].path for piece in task.pieces]))
    arguments = SourceTally(plan.argument_of)
    with folder.outputs(plan.stages[0].outputs) as files:
        writer = task_writer(files, plan, task)
        try:
            for batch in batches:
                with clock.stage("encode"):
                    found = encoder.encode(batch)
                    tally.add(batch, found)
                    if plan.arguments is not None:
                        arguments.add(batch, found)
                with clock.stage("write"):
                    writer.add(found.ids, found.lengths, found.places, found.mask)
            with clock.stage("write"):
                writer.finish()
        finally:
            writer.close()
    clock.seconds["sync"] = files.sync_s
    return {
        "documents": encoder.documents,
        "bytes": encoder.num_bytes,
        "tokens": encoder.tokens,
        "highest_id": encoder.highest,
        "empty": encoder.empty,
        "special": encoder.special,
        "largest": encoder.largest,
        "sources": tally.totals,
        **({"arguments": arguments.totals} if plan.arguments is not None else {}),
        **encoder.totals,
        **writer.totals,
        "outputs": files.facts,
    }


class _Clock:
    """Seconds spent in each stage of a task."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._stage, self._began = "", 0.0

    def stage(self, name: str) -> _Clock:
        """Starts a stage. Use the result in a ``with`` block: the stage ends with the block."""
        self._stage = name
        return self

    def __enter__(self) -> None:
        self._began = time.perf_counter()

    def __exit__(self, *error: object) -> None:
        self.seconds[self._stage] = self.seconds.get(self._stage, 0.0) + time.perf_counter() - self._began

    def timed(self, stage: str, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Yields the batches of an iterator; the time for producing them is added to `stage`."""
        while True:
            began = time.perf_counter()
            batch = next(batches, None)
            self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - began
            if batch is None:
                return
            yield batch
