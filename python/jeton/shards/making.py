"""`make`: `plan`, `run`, `merge` and `verify` in one call."""

from __future__ import annotations

import os
from typing import Any

from ..corpus import Corpus, CorpusLike
from ..errors import ShardError
from ..formats import load
from ..tokenizer import Tokenizer
from ..util.progress import Progress
from .merging import merge
from .planning import plan
from .report import Report
from .running import Runner, run_plan
from .verification import verify as verify_folder

__all__ = ["make"]


def make(
    corpus: CorpusLike | Corpus,
    output: str | os.PathLike[str],
    tok: Tokenizer | str | os.PathLike[str] | None = None,
    *,
    workers: int | None = None,
    runner: Runner = "threads",
    ray_address: str | None = None,
    join: bool = False,
    verify: bool = True,
    progress: Progress = None,
    **options: Any,
) -> Report:
    """Makes shards of a corpus: `plan`, `run`, `merge` and `verify`.

    After an interruption, a full disk or `kill -9`, the same call resumes: complete tasks are not repeated.

    Args:
        corpus, output, tok, options: as `plan`.
        workers, runner, ray_address: as `run`.
        join: as `merge`.
        verify: read everything again.
        progress: None draws a bar in a terminal; True, False, or a function that is called with each event.

    Raises:
        ShardError: the shards differ from what was written, as with a defective disk; or as `run`.
        JetonError, OSError: as `plan`, `run` and `merge`.

    Examples:
        >>> import jeton, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> with open(f"{folder}/lines.txt", "w") as file:
        ...     _ = file.write("to be\\nor not to be\\n")
        >>> make(jeton.Corpus(f"{folder}/lines.txt", documents="line"), f"{folder}/out", jeton.default(), format="bin")
        Report(2 documents, 6 tokens, 1 shards of format bin)
    """
    if isinstance(tok, str | os.PathLike):
        tok = load(tok)  # once for all steps
    plan(corpus, output, tok, **options)
    run_plan(output, None, None, workers, runner, progress, ray_address)  # `merge` reports skipped records
    report = merge(output, join=join)
    if verify:
        found = verify_folder(output, progress=progress)
        if not found.is_valid:
            raise ShardError("; ".join(found.problems[:3]), path=os.fspath(output))
    return report
