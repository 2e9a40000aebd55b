"""Counts of pretokens as shards: the sum of the files ``shard-00000.jtc`` … is the counts of the whole corpus.

``jeton train shards/*.jtc`` gives the same tokenizer as training on the corpus, byte for byte: counts store the
first position of each pretoken, and when counts are added in the order of the tasks, these positions are shifted as if
the documents of each task followed those of the previous tasks.

`jeton.training` is imported when it is used, because shards of ids do not need it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

from ..corpus import Batch, RangeReader
from ..tokens.special import spell
from ..util.arguments import strings
from .folder import ShardFolder
from .plan import Plan
from .tasks import Task

if TYPE_CHECKING:
    from ..training import Counts

__all__ = ["count_task", "counting_of", "joined_counts", "save_counts"]

SUFFIX = ".jtc"
MEMORY = 512 << 20  # bytes of memory for the counts of one task; more are spilled to disk


def counting_of(pattern: str | None, special_tokens: object) -> dict[str, Any]:
    """Returns the options for counting pretokens, in the form in which a plan stores them.

    Raises:
        ConfigError: an invalid pattern or special token.
    """
    from ..training import Stages

    tokens = strings(special_tokens, "special_tokens")
    for index, token in enumerate(tokens):
        spell(token, f"special_tokens[{index}]")
    return {"stages": Stages.of(pattern).to_json(), "special_tokens": tokens}


def count_task(
    folder: ShardFolder, plan: Plan, task: Task, reader: RangeReader, batches: Iterator[Batch]
) -> dict[str, Any]:
    """Counts the pretokens of a task's documents and writes them to a file."""
    from ..training import Limits, Stages
    from ..training.count import count_batches

    counting = plan.counting or {}
    stages, tokens = Stages.from_json(counting["stages"]), list(counting["special_tokens"])
    counts = count_batches(batches, stages, tokens, Limits(memory_limit=MEMORY, threads=1))
    counts.skipped = {kind: skipped.count for kind, skipped in reader.skipped.items()}
    name = folder.stem(task.number) + SUFFIX
    outputs = save_counts(folder, name, counts)
    return {
        "documents": counts.documents,
        "bytes": counts.corpus_bytes,
        "tokens": counts.total,
        "highest_id": -1,
        "empty": 0,
        "special": {},
        "largest": [],
        "outputs": outputs,
    }


def save_counts(folder: ShardFolder, name: str, counts: Counts) -> dict[str, Any]:
    """Writes a file of counts; returns name -> size and hash."""
    with folder.outputs() as files:
        counts._write(files.open(name))
    return files.facts


def joined_counts(folder: ShardFolder, plan: Plan) -> Counts:
    """Returns the sum of all files of counts."""
    return reduce(add, (_load(folder, folder.stem(number) + SUFFIX) for number in range(plan.num_tasks)))


def _load(folder: ShardFolder, name: str) -> Counts:
    from ..training import Counts

    with folder.storage.fetch([name]) as place:
        return Counts.load(place / name)
