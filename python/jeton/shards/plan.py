"""`Plan`: everything that determines the bytes of the shards, as plain data that is the same on every host.

A plan names its inputs by size and version, its tokenizer by fingerprint, and its options. It is stored in
``plan.json``, with the tokenizer beside it, so that a worker needs the folder and the inputs only. The number of
workers, the runner and the version of Jeton are not part of it: they do not change the shards.

Planning lists files and reads none.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import islice
from os import PathLike
from typing import Any

from ..corpus import Corpus, FileRange, RangeReader, Source
from ..corpus.paths import absolute, identities_of, identity_of
from ..errors import ConfigError, FormatError, ShardError, keyword, named
from ..util.arguments import integer, wrong
from ..util.lazy import cached_property
from .checks import Check, check_fields, either, is_count, is_count_or_none, is_text, is_text_or_none, list_of, record
from .layouts import COUNTS, FORMATS, LAYOUTS, ShardFacts, shard_facts
from .packing import check_packing
from .tasks import DONE, SPOOL, InputFile, Stage, Task, bucket_tasks, cut_tasks, expected_bytes, is_divisible

__all__ = ["TASK_BYTES", "Plan", "check_inputs", "list_inputs", "places_of", "reading_of"]

VERSION = 2
# Two seconds of encoding: little is lost with a task, and starting one costs nothing beside it.
TASK_BYTES = 256_000_000
MIN_TASK_BYTES = 1
MAX_SEED = (1 << 64) - 1  # of a shuffle
# Tasks, and shards, of a plan: status and merge hold all of them in memory, 0.4 KB and 4 KB each.
MAX_TASKS = 1 << 18
MAX_VOCAB = 1 << 32
MAX_SHOWN = 100  # characters of a value in a message
_is_input = list_of(lambda path: is_text(path) and path != "" and "\0" not in path, is_count, is_text)
_is_counting = record(stages=lambda value: isinstance(value, dict), special_tokens=list_of(is_text))
# Entries of the JSON of a plan; `OPTIONAL`: those that a plan without the option does not have.
FACTS: dict[str, Check] = {
    "version": either(VERSION),
    "inputs": lambda value: isinstance(value, list) and len(value) > 0 and all(map(_is_input, value)),
    "reading": lambda value: isinstance(value, dict),
    "format": either(*FORMATS),
    "dtype": is_text_or_none,
    "task_bytes": lambda value: is_count(value) and value >= MIN_TASK_BYTES,
    "tokenizer": is_text_or_none,
    "vocab_size": lambda value: is_count(value) and value <= MAX_VOCAB,
    "bos": is_count_or_none,
    "eos": is_count_or_none,
    "counting": lambda value: value is None or _is_counting(value),
}


def _is_mask(value: Any) -> bool:
    return isinstance(value, dict) and all(one in MASK.get(name, ()) for name, one in value.items())


OPTIONAL: dict[str, Check] = {
    "shuffle": lambda value: type(value) is int and 0 <= value <= MAX_SEED,
    "packing": lambda value: isinstance(value, dict),
    "chat": is_text,
    "conversations": lambda value: (
        isinstance(value, dict)
        and len(value) > 0
        and value.keys() <= {"too_long", "mask"}
        and value.get("too_long", TOO_LONG[0]) in TOO_LONG[:-1]
        and _is_mask(value.get("mask", {}))
    ),
}
# Field of a plan -> the option that sets it, where the names differ.
OPTIONS = {"eos": "append_eos", "bos": "prepend_bos", "length": "pack", "method": "packing"}
# Policies for conversations that are longer than a row, the default first; "cut" is that of older plans.
TOO_LONG: tuple[str, ...] = ("truncate", "drop", "split", "cut")
# Counts of these conversations.
LONG = ("too_long", "truncated", "split", "dropped", "replies_dropped")
# Options of `Chat.reply_mask`, with their values, the default first.
MASK: dict[str, tuple[Any, ...]] = {
    "turns": ("all", "last"),
    "reasoning": (True, False),
    "stop": (True, False),
    "source": ("auto", "markers", "provenance"),
}
# Options of `Corpus` that a plan has. Samples and weights are not supported.
READING = ("documents", "field", "errors", "encoding", "max_expansion")


@dataclass(frozen=True)
class Plan:
    """Plan of a folder of shards. `jeton.shards.plan` makes one.

    Attributes:
        inputs: files, in order.
        reading: options of reading, as in `Corpus`.
        format: format of the shards.
        dtype: type of the ids in files: ``"uint16"``, …; None for counts.
        task_bytes: bytes of input of a task.
        tokenizer: its fingerprint; None for counts.
        vocab_size: highest possible id plus one; 0 for counts.
        bos, eos: ids before and after each document; None: no id.
        counting: pattern and special tokens of counts; None for other formats.
        shuffle: seed of the global shuffle; None: documents stay in the order of the inputs.
        packing: length, method, rest and padding id of rows; None: documents are not packed.
        chat: chat template of documents that are conversations; None: documents are texts.
        conversations: policy for conversations that are longer than a row, and options of the loss mask that are not
            the defaults; None: conversations are cut as other documents.

    Examples:
        >>> import jeton, tempfile, pathlib
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "rows.jsonl").write_text('{"text": "to be"}\\n' * 10)
        >>> plan = jeton.shards.plan(folder / "rows.jsonl", folder / "shards", jeton.default(), task_bytes=100)
        >>> plan.num_tasks, plan.dtype, plan == jeton.shards.Plan.from_json(plan.to_json())
        (2, 'int32', True)
    """

    inputs: tuple[InputFile, ...]
    reading: Mapping[str, Any]
    format: str
    dtype: str | None
    task_bytes: int
    tokenizer: str | None
    vocab_size: int
    bos: int | None = None
    eos: int | None = None
    counting: Mapping[str, Any] | None = None
    shuffle: int | None = None
    packing: Mapping[str, Any] | None = None
    chat: str | None = None
    conversations: Mapping[str, Any] | None = None

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks that read the inputs, by number.

        Raises:
            ConfigError: they are more than `MAX_TASKS`.
        """
        documents, encoding = self.reading["documents"], self.reading["encoding"]
        names_lines = self.format == "olmo"  # whose table has the line of each document in its file
        divisible = [is_divisible(file.path, documents, encoding, names_lines) for file in self.inputs]
        tasks = tuple(islice(cut_tasks(self.inputs, divisible, self.task_bytes), MAX_TASKS + 1))
        self._check_number(len(tasks))
        return tasks

    @property
    def num_tasks(self) -> int:
        """Number of tasks that read the inputs."""
        return len(self.tasks)

    @cached_property
    def num_shards(self) -> int:
        """Number of shards: of tasks, or of the buckets of a shuffle."""
        if self.shuffle is None:
            return self.num_tasks
        number = max(1, -(-sum(map(expected_bytes, self.inputs)) // self.task_bytes))
        self._check_number(number)
        return number

    def _check_number(self, number: int) -> None:
        """Checks the number of tasks, or shards.

        Raises:
            ConfigError: they are too many.
        """
        if number > MAX_TASKS:
            message = f"{keyword('task_bytes', self.task_bytes)} makes more than {MAX_TASKS:,} tasks of these inputs"
            raise ConfigError(f"{message}; pass larger {keyword('task_bytes')}")

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """The stages of the work, in order; the last one writes the shards."""
        if self.shuffle is None:
            return (Stage("shards", DONE, self.tasks),)
        buckets = tuple(bucket_tasks(self.num_bytes, self.num_shards))
        return Stage("spool", SPOOL, self.tasks), Stage("shuffle", DONE, buckets)

    @cached_property
    def shard_facts(self) -> ShardFacts:
        """Facts for writing and reading a shard."""
        layout = LAYOUTS[self.format]
        has_mask = self.chat is not None or (self.packing is not None and layout.masks_padding)
        row_length = self.packing["length"] if self.packing is not None else None
        return shard_facts(self.dtype, self.tokenizer, row_length, has_mask)

    @cached_property
    def source_numbers(self) -> dict[str, int] | None:
        """Input file -> its number, if the format names the source of each document."""
        if not LAYOUTS[self.format].has_sources:
            return None
        return {file.path: number for number, file in enumerate(self.inputs)}

    @property
    def num_bytes(self) -> int:
        """Size of all inputs, before decompression."""
        return sum(file.size for file in self.inputs)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the plan: completion files have it."""
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()

    def corpus(self) -> Corpus:
        """The options of reading, as a `Corpus`."""
        return Corpus([], **self.reading)

    def reader(self, task: Task, check: Callable[[], None] = lambda: None) -> RangeReader:
        """Reader of the documents of a task; `check`: called often, may raise to stop."""
        ranges = [FileRange(self.inputs[piece.input].path, piece.start, piece.end) for piece in task.pieces]
        return RangeReader(ranges, self.corpus(), check, conversations=self.chat is not None)

    def to_json(self) -> dict[str, Any]:
        """The plan as JSON."""
        facts = {field.name: getattr(self, field.name) for field in fields(self)}
        for name in ("shuffle", "packing", "chat", "conversations"):  # left out, so that older plans keep their digest
            if facts[name] is None:
                del facts[name]
        return {"version": VERSION, **facts, "inputs": [list(file) for file in self.inputs]}

    @classmethod
    def from_json(cls, facts: Mapping[str, Any], name: str = "plan.json") -> Plan:
        """Reads the output of `to_json`.

        Raises:
            FormatError: it is not.
        """
        version = facts.get("version") if isinstance(facts, Mapping) else None
        if version is not None and version != VERSION:
            message = f"{name}: version {version!r}; this Jeton reads version {VERSION}"
            raise FormatError(f"{message}: use the Jeton that wrote it, or make the shards again", format="plan")
        try:
            check_fields(facts, FACTS, OPTIONAL)
            if unknown := facts.keys() - FACTS.keys() - OPTIONAL.keys() - {"sha256"}:
                raise ValueError(f"unknown option {min(unknown)!r}")
            given = {field.name: facts[field.name] for field in fields(cls) if field.name in facts}
            plan = cls(**{**given, "inputs": tuple(InputFile(*file) for file in facts["inputs"])})
            _check_options(plan)
            plan.stages  # noqa: B018 - checks the number of tasks before they are used
        except (KeyError, TypeError, ValueError) as error:
            raise FormatError(f"{name}: not a plan of shards ({error})", format="plan") from None
        return plan

    def check_same(self, stored: Plan, folder: str) -> None:
        """Checks that a plan is the one stored in its folder.

        Raises:
            ConfigError: it differs; names the first difference.
        """
        now, then = asdict(self), asdict(stored)
        for name in now:
            if name == "inputs" or now[name] == then[name]:
                continue
            if name == "conversations":
                before, after = ({"too_long": "cut", "mask": {}, **(one or {})} for one in (then[name], now[name]))
                name = next(key for key in before if before[key] != after[key])
                before, after = before[name], after[name]
            elif name in ("reading", "counting", "packing") and now[name] is not None and then[name] is not None:
                name, before, after = next(
                    (key, then[name].get(key), now[name][key])
                    for key in now[name]
                    if then[name].get(key) != now[name][key]
                )
            else:
                before, after = then[name], now[name]
            what = OPTIONS.get(name, name)
            message = f"{folder} was planned with {named(what)} {_shown(before)}, and this call has {_shown(after)}"
            raise ConfigError(f"{message}; pass the same, or another folder", option=what)
        if self.inputs != stored.inputs:
            difference = _input_difference(stored.inputs, self.inputs)
            raise ConfigError(
                f"{folder} was planned with other inputs: {difference}; pass another folder", option="corpus"
            )


def _check_options(plan: Plan) -> None:
    """Checks options that were read from a plan, and combinations of them.

    Raises:
        KeyError, TypeError, ValueError: they are not those of a plan.
    """
    is_counts = plan.format == COUNTS
    if plan.dtype not in ((None,) if is_counts else LAYOUTS[plan.format].dtypes):
        raise ValueError(f"dtype {plan.dtype!r} for format {plan.format!r}")
    if (plan.tokenizer is None) != is_counts or (plan.counting is None) == is_counts:
        raise ValueError(f"tokenizer {plan.tokenizer!r} for format {plan.format!r}")
    if plan.dtype is not None:
        LAYOUTS[plan.format].dtype(plan.dtype, plan.vocab_size)
    pad = None if plan.packing is None else plan.packing.get("pad")
    for option, id in (("bos", plan.bos), ("eos", plan.eos), ("pad", pad)):
        if id is not None:
            integer(id, option, 0, max(plan.vocab_size - 1, 0))
    if is_counts and any(option is not None for option in (plan.shuffle, plan.packing, plan.chat)):
        raise ValueError("counts that are shuffled or packed")
    if plan.chat is not None and not LAYOUTS[plan.format].can_mask:
        raise ValueError(f"chat for format {plan.format!r}")
    if plan.packing is not None:
        check_packing(plan.packing)
    if plan.conversations is not None:
        if plan.chat is None:
            raise ValueError("options of conversations without a chat template")
        if "too_long" in plan.conversations and (plan.packing is None or plan.packing["method"] != "best_fit"):
            raise ValueError("a policy for conversations that are longer than a row, without rows of best_fit")
    if set(plan.reading) != set(READING):
        raise ValueError("unknown options of reading")
    plan.corpus()
    if plan.counting is not None:
        from ..training import Stages

        Stages.from_json(plan.counting["stages"])


def _shown(value: Any) -> str:
    """A value in a message; a chat template has thousands of characters."""
    text = repr(value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"


def _input_difference(then: Sequence[InputFile], now: Sequence[InputFile]) -> str:
    """Words for the first difference between two lists of inputs."""
    before, after = ({file.path: file for file in files} for files in (then, now))
    for path, file in before.items():
        if path not in after:
            return f"{path} is no longer one"
        if after[path] != file:
            return f"{path} has changed since"
    added = next((path for path in after if path not in before), None)
    return f"{added} is new" if added is not None else "their order differs"


def reading_of(corpus: Corpus) -> dict[str, Any]:
    """The options of reading of a corpus.

    Raises:
        ConfigError: a sample, which is not supported.
    """
    if corpus.sample_bytes is not None:
        message = f"{keyword('sample_bytes')} is not supported: shards have the whole corpus"
        raise ConfigError(message)
    return {name: getattr(corpus, name) for name in READING}


def list_inputs(corpus: Corpus) -> tuple[InputFile, ...]:
    """The files of a corpus, in order, with size and version.

    Raises:
        ConfigError: the corpus has documents in memory, streams, pipes, or sources with their own options.
        FileNotFoundError: no such file, or no match.
    """
    return tuple(_input(*found) for place in places_of(corpus) for found in identities_of(place))


def places_of(corpus: Corpus) -> list[str | PathLike[str]]:
    """The paths, globs, folders and URLs of a corpus.

    Raises:
        ConfigError: the corpus has documents in memory, streams, or sources with their own options.
    """
    return [_place(item) for item in (corpus.sources if isinstance(corpus.sources, list | tuple) else [corpus.sources])]


def _place(place: Any) -> str | PathLike[str]:
    """The path of an item of a corpus."""
    if isinstance(place, Source):
        for option in ("field", "documents", "encoding"):
            if getattr(place, option) is not None:
                message = f"{keyword(option)} of a Source is not supported for shards: all inputs have the same options"
                raise ConfigError(message)
        if place.exact_weight != 1:
            raise ConfigError(f"{keyword('weight')} of a Source is not supported for shards")
        place = place.place
    if not isinstance(place, str | PathLike):
        raise wrong("corpus", place, "a path, glob, folder or URL, or a list of them: tasks read files")
    return place


def _input(file: str, size: int | None, version: str) -> InputFile:
    if size is None:
        message = f"{file} has no known size, as a pipe: a task must be able to read its input again; pass a file"
        raise ConfigError(message, option="corpus")
    return InputFile(absolute(file), size, version)


def check_inputs(plan: Plan, task: Task) -> None:
    """Checks that the inputs of a task are those that were planned.

    Raises:
        ShardError: one has changed.
        FileNotFoundError: one is missing.
    """
    for piece in task.pieces:
        planned = plan.inputs[piece.input]
        size, version = identity_of(planned.path)
        if (size, version) != (planned.size, planned.version):
            was = f"{planned.size:,} bytes, {planned.version}"
            message = f"{planned.path} has changed since it was planned ({was}; now {size:,} bytes, {version})"
            raise ShardError(f"{message}; plan into another folder", path=planned.path)
