"""`make`: `plan`, `run`, `merge` and `verify` in one call; `add` and `repair` do the same for an existing plan."""

from __future__ import annotations

import inspect
import os
from dataclasses import replace
from typing import Any

from ..corpus import Corpus, CorpusLike
from ..corpus.error_policy import ErrorPolicy
from ..corpus.listing import Lister
from ..errors import ShardError
from ..formats import load
from ..tokenizer import Tokenizer
from ..util.hints import refuse_keywords
from ..util.progress import Progress
from .folder import ShardFolder
from .layouts import COUNTS, LAYOUTS
from .merging import merge
from .overlap import check_apart
from .plan import list_arguments, named_runs, places_of, reading_of, renewed
from .planning import plan, updated
from .report import Report
from .running import Runner, run_plan
from .validity import remove_invalid
from .verification import verify as verify_folder

__all__ = ["add", "make", "repair"]


def make(
    corpus: CorpusLike | Corpus,
    output: str | os.PathLike[str],
    tok: Tokenizer | str | os.PathLike[str] | None = None,
    *,
    workers: int | None = None,
    runner: Runner = "threads",
    ray_address: str | None = None,
    keep_going: bool = False,
    max_skipped: int | str | None = None,
    join: bool = False,
    verify: bool = True,
    progress: Progress = None,
    **options: Any,
) -> Report:
    """Makes shards of a corpus: `plan`, `run`, `merge` and `verify`.

    After an interruption, a full disk or `kill -9`, the same call resumes: complete tasks are not repeated. If inputs
    were added or repaired, shards were lost or damaged, or the error policy has changed, the call runs only the
    affected tasks.

    Args:
        corpus, output, tok, options: as `plan`.
        workers, runner, ray_address, keep_going: as `run`.
        max_skipped: as `run` and `merge`.
        join: as `merge`.
        verify: read all shards again; a shard whose bytes have changed is made again.
        progress: None draws a bar in a terminal; True, False, or a function that is called with each event.

    Raises:
        ShardError: the shards differ from the bytes that were written, for example on a defective disk; or as `run` and
            `merge`.
        JetonError, OSError: as `plan`, `run` and `merge`.

    Examples:
        >>> import jeton, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> with open(f"{folder}/lines.txt", "w") as file:
        ...     _ = file.write("to be\\nor not to be\\n")
        >>> make(jeton.Corpus(f"{folder}/lines.txt", documents="line"), f"{folder}/out", jeton.default(), format="bin")
        Report(2 documents, 6 tokens, 1 shard of format bin)
    """
    if isinstance(tok, str | os.PathLike):
        tok = load(tok)  # loaded once for all steps
    if unknown := {name: value for name, value in options.items() if name not in inspect.signature(plan).parameters}:
        refuse_keywords(make, unknown, plan)
    plan(corpus, output, tok, **options)
    run = {"workers": workers, "runner": runner, "ray_address": ray_address, "keep_going": keep_going}
    return _complete(output, join, verify, max_skipped, progress, run)


def add(
    output: str | os.PathLike[str],
    corpus: CorpusLike | Corpus,
    *,
    errors: ErrorPolicy | None = None,
    workers: int | None = None,
    runner: Runner = "threads",
    ray_address: str | None = None,
    keep_going: bool = False,
    max_skipped: int | str | None = None,
    join: bool = False,
    verify: bool = True,
    progress: Progress = None,
) -> Report:
    """Adds inputs to a folder of shards, with the options and the tokenizer of its plan.

    The result equals one call of `make` with the earlier inputs followed by the new ones: all tasks are kept except the
    last one, which the new inputs fill up. In a shuffle, the new documents form a new `Generation`: they are shuffled
    among themselves, in separate shards, and ``generations`` in the manifest has the number of shards of each
    generation. Inputs that the folder already has are not added again; if one has changed, its tasks run again. After
    an interruption, the same call resumes.

    Args:
        output: the folder.
        corpus: the new inputs: a path, glob, folder or URL, a list of them, or a `Corpus` with the folder's options.
        errors: new error policy; None: the error policy of the folder.
        workers, runner, ray_address, keep_going, max_skipped, join, verify, progress: as `make`.

    Raises:
        ShardError: the folder has no plan; or as `make`.
        ConfigError: the options of the `Corpus` differ from those of the folder; or as `plan`.
        JetonError, OSError: as `make`.

    Examples:
        >>> import jeton, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> for name, text in (("a.txt", "to be"), ("b.txt", "or not")):
        ...     with open(f"{folder}/{name}", "w") as file:
        ...         _ = file.write(text)
        >>> out = f"{folder}/out"
        >>> _ = jeton.shards.make(f"{folder}/a.txt", out, jeton.default(), progress=False)
        >>> add(out, f"{folder}/b.txt", progress=False).documents
        2
    """
    folder = ShardFolder(output)
    stored = folder.load_plan()
    reading = corpus if isinstance(corpus, Corpus) else Corpus(corpus, **stored.reading)
    if errors is not None:
        reading = replace(reading, errors=errors)
    listed = replace(stored, reading=reading_of(reading))
    listed.check_options(stored, str(folder))
    lister = Lister()
    # Real path -> planned path, to recognize inputs whose symbolic links have changed since the folder was planned.
    planned = {lister.key(file.path): file.path for file in stored.inputs}
    arguments = [
        (name, [file._replace(path=planned.get(lister.key(file.path), file.path)) for file in files])
        for name, files in list_arguments(reading)
    ]
    now = {file.path: file for _, files in arguments for file in files}
    names = {file.path: name for name, files in arguments for file in files} | stored.argument_of
    inputs = [now.pop(file.path) if file.path in now else renewed(file) for file in stored.inputs]
    new = tuple(now.values())
    suffix = LAYOUTS[stored.format].suffix if stored.format != COUNTS else ".jtc"
    check_apart(places_of(reading), new, str(folder), suffix)
    every = (*inputs, *new)
    updated(folder, stored, replace(listed, inputs=every, arguments=named_runs(every, names)))
    run = {"workers": workers, "runner": runner, "ray_address": ray_address, "keep_going": keep_going}
    return _complete(output, join, verify, max_skipped, progress, run)


def repair(
    output: str | os.PathLike[str],
    *,
    workers: int | None = None,
    runner: Runner = "threads",
    ray_address: str | None = None,
    keep_going: bool = False,
    max_skipped: int | str | None = None,
    join: bool = False,
    verify: bool = True,
    progress: Progress = None,
) -> Report:
    """Completes a folder of shards, with the options of its plan, after any loss, damage or change.

    All files are hashed. The call runs the tasks whose shards, completions or rejects are missing or damaged, and those
    whose inputs have changed since they were planned. Only the inputs of these tasks are needed.

    Args:
        output: the folder.
        workers, runner, ray_address, keep_going, max_skipped, join, verify, progress: as `make`.

    Raises:
        ShardError: the folder has no plan; or as `make`.
        JetonError, OSError: as `make`.

    Examples:
        >>> import jeton, os, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> with open(f"{folder}/a.txt", "w") as file:
        ...     _ = file.write("to be")
        >>> out = f"{folder}/out"
        >>> made = jeton.shards.make(f"{folder}/a.txt", out, jeton.default(), progress=False)
        >>> os.unlink(f"{out}/shard-00000.bin")
        >>> repair(out, progress=False).documents
        1
    """
    folder = ShardFolder(output)
    stored = folder.load_plan()
    made = updated(folder, stored, replace(stored, inputs=tuple(map(renewed, stored.inputs))))
    remove_invalid(folder, made, files="hashes")
    run = {"workers": workers, "runner": runner, "ray_address": ray_address, "keep_going": keep_going}
    return _complete(output, join, verify, max_skipped, progress, run, inputs=None)


def _complete(
    output: str | os.PathLike[str],
    join: bool,
    verify: bool,
    max_skipped: int | str | None,
    progress: Progress,
    run: dict[str, Any],
    inputs: bool | None = True,
) -> Report:
    """Runs incomplete tasks, merges and verifies. Shards with wrong bytes are made again, but only once.

    `inputs`: as in `verify`.
    """
    for is_second in (False, True):
        # `run_plan` does not report skipped records, because `merge` does.
        run_plan(output, None, None, progress=progress, max_skipped=max_skipped, **run)
        report = merge(output, join=join, max_skipped=max_skipped)
        if not verify:
            break
        found = verify_folder(output, inputs=inputs, progress=progress)
        if found.is_valid:
            break
        folder = ShardFolder(output)
        if is_second or not remove_invalid(folder, folder.load_plan(), files="hashes")[1]:
            raise ShardError("; ".join(found.problems[:3]), path=os.fspath(output))
    return report
