"""Finds tasks whose results no longer match the plan, and removes their completions, so that they run again.

A completion is invalid if it is damaged, or if its identity differs from that of the task (`Plan.identity`), for
example after an input was repaired. Optionally, the sizes, or sizes and hashes, of the task's files are compared with
the completion.

Every change begins by removing completions. So a process can end at any moment: the next call runs the tasks that have
no completion.
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
    """Removes the invalid completions of a plan's tasks.

    Args:
        folder: the folder.
        plan: plan of the folder, or the plan that will replace it.
        share: slice that selects which tasks of each stage are checked.
        files: which facts about a task's files are compared with its completion: none, the sizes, or sizes and hashes.

    Returns:
        Tally of the records of the valid tasks; number of invalid tasks.
    """
    tally = Tally()
    found: list[tuple[str, set[int]]] = []  # for each stage: the folder of its completions, and the invalid tasks
    again: set[int] = set()  # tasks of a shuffle's second stage whose documents must be spooled again
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
    # A shuffle has two stages. Completions of the second stage are removed first. If the process is killed before
    # completions of the first stage are removed, the next call still finds the spools invalid, and removes the rest.
    for name, invalid in reversed(found):
        folder.remove_done(invalid, name)
    return tally, number


def _has_files(folder: ShardFolder, stage: Stage, facts: dict[str, Any], sizes: dict[str, int], files: Files) -> bool:
    """True if the files of a task match its completion. Spools can be missing, because `merge` removes them."""
    prefix = f"{stage.outputs}/" if stage.outputs else ""
    expected = {f"{prefix}{name}": file for name, file in facts["outputs"].items()}
    found = {f"{prefix}{name}": size for name, size in sizes.items()}
    if files == "hashes":
        expected |= {f"{REJECTS}/{name}": file for name, file in facts.get("rejects", {}).items()}
    for name, file in expected.items():
        # If the listing does not show the expected size of the file, the size is read from the file itself. Reason: a
        # listing can omit a file while another process is replacing the file.
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
    """Replaces the plan of a folder. Tasks that are the same in both plans stay complete.

    The plan is written last: until then, the earlier plan is valid, with fewer complete tasks.
    """
    if folder.has(MANIFEST):
        folder.storage.remove([MANIFEST])  # it lists earlier shards
    for before, after in zip(stored.stages, plan.stages, strict=True):
        folder.upgrade_done(stored, before.folder)
        left = folder.done(before.folder) - set(range(len(after.tasks)))
        folder.remove_done(left, before.folder)
    remove_invalid(folder, plan)
    folder.write_plan(plan, replace=True)
