"""Finds the inputs of a plan on this machine: replaces the paths of moved inputs, and tests if any input exists.

A training cluster often has the shards without the inputs, or the inputs at other paths with new modification times.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ..corpus.paths import absolute, identity_of
from ..errors import ConfigError, ShardError, keyword
from .plan import Plan
from .tasks import Task

__all__ = ["has_no_input", "moved_plan", "touched_inputs"]


def moved_plan(plan: Plan, moved: Mapping[str, str]) -> Plan:
    """Returns the plan with new paths of inputs; `moved`: old prefix -> new prefix. The longest match is replaced.

    Raises:
        ConfigError: not a mapping of paths, or no input has one of the prefixes.

    Examples:
        >>> from jeton.shards.tasks import InputFile
        >>> inputs = (InputFile("/old/a.txt", 1, ""), InputFile("/older/b.txt", 1, ""))
        >>> plan = Plan(inputs, {}, "bin", "uint16", 9, "", 9)
        >>> [file.path for file in moved_plan(plan, {"/old": "s3://bucket/new/"}).inputs]
        ['s3://bucket/new/a.txt', '/older/b.txt']
    """
    if not isinstance(moved, Mapping) or not all(
        isinstance(path, str) and path for pair in moved.items() for path in pair
    ):
        raise ConfigError(f"{keyword('moved')} must be a mapping of paths: old prefix to new one", option="moved")
    prefixes = sorted(((_folder(old), _folder(new)) for old, new in moved.items()), key=lambda pair: -len(pair[0]))
    inputs, used = [], set()
    for file in plan.inputs:
        for old, new in prefixes:
            if file.path == old or file.path.startswith(f"{old}/"):
                file = file._replace(path=new + file.path[len(old) :])
                used.add(old)
                break
        inputs.append(file)
    if unused := [old for old, _ in prefixes if old not in used]:
        message = f"no input is in {unused[0]}; the plan has {plan.inputs[0].path} and others"
        raise ConfigError(f"{keyword('moved')}: {message}", option="moved")
    return replace(plan, inputs=tuple(inputs))


def _folder(path: str) -> str:
    return absolute(path).rstrip("/")


def has_no_input(plan: Plan, tasks: Iterable[Task]) -> bool:
    """True if none of the inputs of these tasks exists.

    Raises:
        OSError: an input cannot be looked up, for example without permission or network.
    """
    inputs = {plan.inputs[piece.input] for task in tasks for piece in task.pieces}
    names = sorted(file.path for file in inputs if file.is_readable)
    for name in names:
        try:
            identity_of(name)
        except FileNotFoundError:
            continue
        return False
    return len(names) > 0


def touched_inputs(plan: Plan, task: Task) -> int:
    """Returns the number of a task's inputs that have the planned size, but another modification time or ETag.

    Raises:
        ShardError: an input has another size.
        FileNotFoundError: an input is missing.
    """
    number = 0
    for piece in task.pieces:
        planned = plan.inputs[piece.input]
        if not planned.is_readable:  # it was unreadable when it was planned, so its task skips it
            continue
        size, version = identity_of(planned.path)
        if size != planned.size:
            found = "no size" if size is None else f"{size:,} bytes"
            message = f"{planned.path} has {found}, but had {planned.size:,} when it was planned"
            raise ShardError(f"{message}; verify without it, with {keyword('inputs', False)}", path=planned.path)
        number += version != planned.version
    return number
