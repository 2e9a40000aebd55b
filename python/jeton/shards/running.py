"""`run`: runs the incomplete tasks of a plan, or those of one job of an array."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Generator
from contextlib import closing
from fractions import Fraction
from functools import partial
from threading import Lock
from typing import Any, Literal

from ..errors import ConfigError, ShardError, call, keyword
from ..runners import RUNNERS, run_processes, run_ray, run_threads
from ..util.arguments import choice, flag, integer, wrong
from ..util.progress import Progress, ProgressEvent, make_reporter
from ..util.threads import num_threads
from .execution import Check, Facts, attempt, load_folder, run_task_in
from .folder import MANIFEST, ShardFolder
from .plan import Plan
from .planning import Status, missing_tasks, stage_done, status
from .skipping import SkipLimit, Tally
from .tasks import Task
from .tokenizers import load_tokenizer
from .validity import remove_invalid

__all__ = ["run", "run_plan"]

MAX_SHOWN = 3  # maximum number of failed tasks that an error message shows

_log = logging.getLogger("jeton")

Runner = Literal["threads", "processes", "ray"]


def run(
    output: str | os.PathLike[str],
    *,
    job: tuple[int, int] | None = None,
    stage: str | None = None,
    workers: int | None = None,
    runner: Runner = "threads",
    ray_address: str | None = None,
    keep_going: bool = False,
    max_skipped: int | str | None = None,
    progress: Progress = None,
) -> Status:
    """Runs the incomplete tasks of a plan. Many machines can call it at the same time, each with its own job.

    If a completion is damaged, or belongs to another plan, it is removed, and its task runs again. Without `job`, tasks
    whose files are missing or have another size also run again.

    Args:
        output: the folder with the plan, on a file system that all machines share.
        job: ``(k, n)``: only the tasks k, k + n, k + 2n, … of each stage, with k from 0 to n - 1; None: all tasks.
        stage: only this stage of a shuffle, ``"spool"`` or ``"shuffle"``; None: both, one after the other.
        workers: number of tasks at a time; None: RAYON_NUM_THREADS, or all cores; for Ray, the cores of the cluster. A
            task uses one thread.
        runner: ``"threads"`` of this process, ``"processes"`` on this machine, or ``"ray"``: tasks of a Ray cluster.
        ray_address: address of the cluster; None: the value of ``RAY_ADDRESS``; without it, Ray is started on this
            machine.
        keep_going: if a record or an input is bad, run the other tasks, and raise an error at the end.
        max_skipped: stop with an error if more records are skipped: a number, or a percentage of the job's records, as
            ``"0.1%"``.
        progress: None draws a bar in a terminal; True, False, or a function that is called with each event.

    Returns:
        The status of the folder afterwards.

    Raises:
        ShardError: no plan; an input or the tokenizer has changed; more than `max_skipped` records are skipped; the
            stage ``"shuffle"`` begins before all tasks of ``"spool"`` are complete, including those of other jobs; or,
            with `keep_going`, tasks have failed: the attribute `failed` has the number and the error of each.
        JetonError: a bad record, under ``errors="strict"``; the message names file and line. Completed tasks stay
            complete.
        OSError: an input cannot be read, or the disk is full. Completed tasks stay complete.

    Examples:
        >>> import jeton, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> with open(f"{folder}/a.txt", "w") as file:
        ...     _ = file.write("to be")
        >>> _ = jeton.shards.plan(f"{folder}/a.txt", f"{folder}/out", jeton.default())
        >>> run(f"{folder}/out").is_complete
        True
    """
    num_skipped = run_plan(
        output, job, stage, workers, runner, progress, ray_address, keep_going=keep_going, max_skipped=max_skipped
    )
    if num_skipped:
        _log.warning("skipped %d records; the report will name them", num_skipped, extra={"skipped": num_skipped})
    return status(output)


def run_plan(
    output: str | os.PathLike[str],
    job: tuple[int, int] | None,
    stage: str | None,
    workers: int | None,
    runner: Runner,
    progress: Progress,
    ray_address: str | None = None,
    *,
    keep_going: bool = False,
    max_skipped: int | str | None = None,
) -> int:
    """Implements `run`; returns the number of records that the tasks of this call skipped."""
    num_skipped = 0
    keeps_going, limit = flag(keep_going, "keep_going"), SkipLimit.of(max_skipped)
    folder = ShardFolder(output)
    choice(runner, "runner", tuple(RUNNERS))
    if ray_address is not None and runner != "ray":
        raise ConfigError(f"{keyword('ray_address')} applies only to {keyword('runner', 'ray')}")
    share = _share(job)
    num_workers = num_threads(workers, "workers")
    plan = folder.load_plan()
    if stage is not None:
        choice(stage, "stage", [known.name for known in plan.stages])
    folder.remove_stale()  # otherwise each killed run would leave temporary files on the disk
    tally, _ = remove_invalid(folder, plan, share, "sizes" if job is None else "none")
    limit.check(tally, str(folder), Fraction(0))
    for number, one in enumerate(plan.stages):
        done = stage_done(folder, plan, number)
        todo = [task for task in one.tasks[share] if task.number not in done]
        if not todo or stage not in (None, one.name):
            continue
        if folder.has(MANIFEST):
            # List complete tasks again: another process can have completed and merged the folder in the meantime.
            done = stage_done(folder, plan, number)
            todo = [task for task in todo if task.number not in done]
            if not todo:
                continue
            folder.storage.remove([MANIFEST])  # its hashes are those of the shards before this run
        if number:
            _check_stage(folder, plan, number - 1)
        folder.create(one.folder)
        # The workers may load the tokenizer as well. Loading it here makes a broken file an error before any task runs.
        tok = load_tokenizer(folder, plan)
        own = sum(task.num_bytes for task in one.tasks[share])
        failed: list[tuple[int, str]] = []
        with make_reporter(progress) as report:
            before = own - sum(task.num_bytes for task in todo)
            watch = _Watch(one.name, before, own, report)
            watch.show()
            some = min(num_workers, len(todo))
            where, numbers = (folder.storage.absolute(), plan.digest), (task.number for task in todo)
            in_process = partial(run_task_in, *where, number, keeps_going)
            if runner == "threads":
                work = partial(_run_here, folder, plan, tok, number, keeps_going, watch)
                results: Generator[Facts] = run_threads(work, todo, some, watch.show)
            elif runner == "processes":
                results = run_processes(in_process, numbers, some, watch.show)
            else:
                results = run_ray(
                    in_process,
                    numbers,
                    workers,
                    watch.show,
                    prepare=partial(load_folder, *where),
                    address=ray_address,
                )
            with closing(results):  # stops the workers immediately if `show` raises an error
                for facts in results:
                    if "failed" in facts:
                        failed.append((facts["task"], facts["failed"]))
                        continue
                    watch.complete(facts)
                    watch.show()
                    if facts["skipped"] or not number:
                        tally = tally.plus(facts)
                        num_skipped += Tally().plus(facts).skipped
                        limit.check(tally, str(folder), watch.part)
        if failed:
            raise _failed(folder, sorted(failed), len(one.tasks))
    limit.check(tally, str(folder))
    if folder.has(MANIFEST):
        folder.remove_spools()  # tasks can have written spools again while another process merged the folder
    return num_skipped


def _check_stage(folder: ShardFolder, plan: Plan, number: int) -> None:
    """Checks that all tasks of a stage are complete."""
    stage = plan.stages[number]
    missing = missing_tasks(folder, plan, number)
    if missing:
        message = f"{folder}: {len(missing):,} of {len(stage.tasks):,} tasks of the stage {stage.name} are not complete"
        again = call(f"jeton.shards.run(…, stage={stage.name!r})", f"jeton shards run --stage {stage.name}")
        raise ShardError(
            f"{message}, and the stage {plan.stages[number + 1].name} needs all; {again} completes them",
            path=str(folder),
        )


def _share(job: tuple[int, int] | None) -> slice:
    """Returns the slice that selects the tasks of a job."""
    if job is None:
        return slice(None)
    if not isinstance(job, tuple) or len(job) != 2:
        raise wrong("job", job, "a pair (k, n) of integers")
    count = integer(job[1], "job[1]", 1)
    return slice(integer(job[0], "job[0]", 0, count - 1), None, count)


def _failed(folder: ShardFolder, failed: list[tuple[int, str]], total: int) -> ShardError:
    """Returns the error for failed tasks; the message shows the first of them."""
    some = "; ".join(f"task {number}: {reason}" for number, reason in failed[:MAX_SHOWN])
    more = f"; and {len(failed) - MAX_SHOWN:,} more" if len(failed) > MAX_SHOWN else ""
    message = f"{folder}: {len(failed):,} of {total:,} tasks failed: {some}{more}"
    hint = "repair the inputs, or skip bad records, and run again"
    return ShardError(f"{message}; {hint}", path=str(folder), failed=tuple(failed))


def _run_here(
    folder: ShardFolder, plan: Plan, tok: Any, stage: int, keeps_going: bool, watch: _Watch, task: Task, check: Check
) -> Facts:
    return attempt(folder, plan, tok, stage, keeps_going, task, check, partial(watch.add, task))


class _Watch:
    """Progress of tasks on several threads, in bytes of input.

    Running tasks report bytes of text. Of these, at most the size of the task's input is counted, because compressed
    inputs expand to more text.
    """

    def __init__(self, stage: str, done: int, total: int, report: Callable[[ProgressEvent], object]) -> None:
        self._stage, self._done, self._total, self._report = stage, done, total, report
        self._running: dict[int, int] = {}  # number of a running task -> bytes of text that it has processed
        self._lock = Lock()

    def add(self, task: Task, num_bytes: int) -> None:
        """Adds to the number of bytes that a running task has processed; called by the thread of the task."""
        with self._lock:
            self._running[task.number] = min(self._running.get(task.number, 0) + num_bytes, task.num_bytes)

    def complete(self, facts: Facts) -> None:
        """Records that a task is complete."""
        with self._lock:
            self._running.pop(facts["task"], None)
            self._done += facts["input_bytes"]

    @property
    def part(self) -> Fraction:
        """Share of the input bytes that is complete."""
        with self._lock:
            return Fraction(self._done, self._total) if self._total else Fraction(1)

    def show(self) -> None:
        """Reports the progress; called by the thread that waits for the tasks."""
        with self._lock:
            done = self._done + sum(self._running.values())
        self._report(ProgressEvent(self._stage, min(done, self._total), self._total, "B"))
