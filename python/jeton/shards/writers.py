"""Selects the writer of a task's documents.

A shuffle uses `SpoolWriter`. Packed rows use `PackedWriter`. All other tasks use the writer of the shard format.
"""

from __future__ import annotations

from .collecting import PackedWriter
from .folder import ShardFolder
from .layouts import ShardWriter
from .metadata import shard_writer
from .outputs import OutputFiles
from .plan import Plan
from .shuffling import SpoolWriter
from .tasks import Task

__all__ = ["task_writer"]


def task_writer(files: OutputFiles, plan: Plan, task: Task) -> ShardWriter:
    """Opens the output of a task, and returns its writer."""
    if plan.shuffle is not None:
        return SpoolWriter(files, plan, task)
    stem = ShardFolder.stem(task.number)
    writer = shard_writer(files, stem, plan)
    return writer if plan.packing is None else PackedWriter(writer, files, stem, plan, task)
