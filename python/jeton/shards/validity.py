"""Tasks whose results no longer match the plan: their completions are removed, so that they run again.

A completion is invalid if it is damaged, or if its identity differs from its task's (`Plan.identity`), as after an
input has been repaired. On demand, the files of a task are compared with it: their sizes, or their hashes, too.

Every change begins by removing completions. So a process may end at any moment: the next call runs the tasks without
one.
"""

from __future__ import annotations

from typing import Any, Literal

from .folder import MANIFEST, REJECTS, ShardFolder
from .outputs import sha256_of
from .plan import Plan
from .skipping import Tally
from .tasks import DONE, SPOOL, Stage

__all__ = ["change_plan", "remove_invalid"]

Files = Literal["none", "sizes", "hashes"]


def remove_invalid(
    folder: ShardFolder, plan: Plan, share: slice = slice(None), files: Files = "none"
) -> tuple[Tally, int]:
    """Removes the completions of a plan's tasks that are not valid.

    Args:
        folder: the folder.
        plan: its plan, or its future one.
        share: the tasks of each stage to look at.
        files: facts of a task's files to compare with its completion: none, sizes or hashes.

    Returns:
        Records of the tasks that are valid; number of tasks that are not.
    """
    tally = Tally()
    found: list[tuple[str, set[int]]] = []  # folder of completions, tasks that are not valid
    again: set[int] = set()  # tasks of a shuffle's second stage whose documents are spooled again
    for stage in plan.stages:
        done = folder.done(stage.folder)
        sizes = folder.storage.sizes(stage.outputs) if files != "none" else {}
        own = [task.number for task in stage.tasks[share] if task.number in done and task.number not in again]
        invalid = again & done if stage.folder == DONE else set()
        for task, facts in folder.check_done(own, plan, stage.folder):
            if facts is None or (files != "none" and not _has_files(folder, stage, facts, sizes, files)):
                invalid.add(task)
            elif "skipped" in facts:
                tally = tally.plus(facts)
        if stage.folder == SPOOL:
            for one in plan.generations:
                if not invalid.isdisjoint(one.tasks):
                    again.update(one.buckets)
        found.append((stage.folder, invalid))
    number = sum(len(invalid) for _, invalid in found)
    if number and folder.has(MANIFEST):
        folder.storage.remove([MANIFEST])
    # The shards of a shuffle first: if the process ends between the stages, the spools are still found invalid.
    for name, invalid in reversed(found):
        folder.remove_done(invalid, name)
    return tally, number


def _has_files(folder: ShardFolder, stage: Stage, facts: dict[str, Any], sizes: dict[str, int], files: Files) -> bool:
    """True if the files of a task are those of its completion; spooled documents may have been removed."""
    prefix = f"{stage.outputs}/" if stage.outputs else ""
    expected = {f"{prefix}{name}": file for name, file in facts["outputs"].items()}
    found = {f"{prefix}{name}": size for name, size in sizes.items()}
    if files == "hashes":
        expected |= {f"{REJECTS}/{name}": file for name, file in facts.get("rejects", {}).items()}
    for name, file in expected.items():
        # A listing may leave out a file that another process is replacing.
        size = found[name] if found.get(name) == file["bytes"] else folder.storage.size(name)
        if size is None and stage.folder == SPOOL and not name.startswith(REJECTS):
            continue
        if size != file["bytes"] or (files == "hashes" and _sha256(folder, name) != file["sha256"]):
            return False
    return True


def _sha256(folder: ShardFolder, name: str) -> str:
    with folder.storage.fetch([name]) as place:
        return sha256_of(place / name)


def change_plan(folder: ShardFolder, stored: Plan, plan: Plan) -> None:
    """Gives a folder another plan; tasks that both have stay complete.

    The plan is written last: until then, the earlier one is valid, with fewer complete tasks.
    """
    if folder.has(MANIFEST):
        folder.storage.remove([MANIFEST])  # its shards change, or become more
    for before, after in zip(stored.stages, plan.stages, strict=True):
        folder.upgrade_done(stored, before.folder)
        left = folder.done(before.folder) - set(range(len(after.tasks)))
        folder.remove_done(left, before.folder)
    remove_invalid(folder, plan)
    folder.write_plan(plan, replace=True)
