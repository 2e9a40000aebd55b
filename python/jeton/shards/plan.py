"""`Plan`: all data that determines the bytes of the shards. It is the same on every host.

A plan lists its inputs with size and version, the fingerprint of its tokenizer, and its options. It is stored in
``plan.json``, with the tokenizer beside it, so a worker needs only the folder and the inputs. The number of workers,
the runner and the version of Jeton are not part of a plan, because they do not change the shards.

A task has an identity, the digest of everything that determines its bytes: its pieces with the versions of their files,
and the options. If inputs are added or repaired, or the error policy changes, tasks stay complete if their identity is
the same.

Planning lists files, but does not read them.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from itertools import groupby, islice, pairwise
from os import PathLike
from typing import Any

from ..corpus import Corpus, FileRange, RangeReader, Source
from ..corpus.error_policy import OnSkip
from ..corpus.kinds import kind_of
from ..corpus.listing import Lister, log_unread
from ..corpus.paths import absolute, identity_of, is_remote
from ..errors import ConfigError, FormatError, ShardError, keyword, named
from ..util.arguments import integer, wrong
from ..util.lazy import cached_property
from .checks import Check, check_fields, either, is_count, is_count_or_none, is_text, is_text_or_none, list_of, record
from .hashing import HASH_BITS, documents_in
from .layouts import COUNTS, FORMATS, LAYOUTS, ShardFacts, shard_facts
from .packing import check_packing
from .tasks import (
    DONE,
    SPOOL,
    UNREADABLE,
    Generation,
    InputFile,
    Stage,
    Task,
    bucket_tasks,
    cut_tasks,
    expected_bytes,
    is_divisible,
)

__all__ = [
    "TASK_BYTES",
    "Plan",
    "check_inputs",
    "list_arguments",
    "list_inputs",
    "named_runs",
    "places_of",
    "reading_of",
    "renewed",
]

VERSION = 2
# Bytes of input per task. Encoding this much input takes about two seconds. Compared with this time, the start of a
# task takes little time. If a task fails, little work is lost.
TASK_BYTES = 256_000_000
MIN_TASK_BYTES = 1
MAX_SEED = (1 << 64) - 1  # highest seed of a shuffle
# Maximum number of tasks, and of shards. It limits memory: `status` needs 0.4 KB per task, and `merge` 4 KB per shard.
MAX_TASKS = 1 << 18
MAX_VOCAB = 1 << 32
MAX_SHOWN = 100  # characters of a value in a message
_is_name: Check = lambda path: is_text(path) and path != "" and "\0" not in path  # noqa: E731
_is_file = list_of(_is_name, is_count, is_text)
_is_cut_file = list_of(_is_name, is_count, is_text, is_count)
_is_counting = record(stages=lambda value: isinstance(value, dict), special_tokens=list_of(is_text))
# Required entries of the JSON of a plan. `OPTIONAL` lists the other entries: each is left out if its option is not set.
FACTS: dict[str, Check] = {
    "version": either(VERSION),
    "inputs": lambda value: (
        isinstance(value, list) and len(value) > 0 and all(_is_file(file) or _is_cut_file(file) for file in value)
    ),
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


def is_names(value: Any) -> bool:
    """True for a valid list of field names to keep: not empty, without empty names and duplicates."""
    return list_of(is_text)(value) and len(value) > 0 and "" not in value and len(set(value)) == len(value)


def is_hash_range(value: Any) -> bool:
    """True for a range of the 64-bit hashes of documents."""
    return list_of(lambda bound: type(bound) is int, length=2)(value) and 0 <= value[0] < value[1] <= 1 << HASH_BITS


OPTIONAL: dict[str, Check] = {
    "shuffle": lambda value: type(value) is int and 0 <= value <= MAX_SEED,
    "packing": lambda value: isinstance(value, dict),
    "chat": is_text,
    "arguments": lambda value: list_of(list_of(is_text, is_count))(value) and len(value) > 0,
    "keep": is_names,
    "hash_range": is_hash_range,
    "conversations": lambda value: (
        isinstance(value, dict)
        and len(value) > 0
        and value.keys() <= {"too_long", "mask"}
        and value.get("too_long", TOO_LONG[0]) in TOO_LONG[:-1]
        and _is_mask(value.get("mask", {}))
    ),
    "grown": list_of(is_count),
}
# Fields that are left out of the JSON if they are None or empty, so that older plans keep their digest.
LEFT_OUT = ("shuffle", "packing", "chat", "conversations", "grown", "keep", "hash_range", "arguments")
MAX_ARGUMENTS = 1000  # if a corpus has more arguments than this, the manifest lists no totals per argument
MAX_HASH = 12  # characters of a fingerprint in a message
# Field of a plan -> the option that sets it, where the names differ.
OPTIONS = {"eos": "append_eos", "bos": "prepend_bos", "length": "pack", "method": "packing"}
# Policies for conversations that are longer than a row, the default first. "cut" is what older plans do.
TOO_LONG: tuple[str, ...] = ("truncate", "drop", "split", "cut")
# Names that the report uses for the counts of conversations that are longer than a row.
LONG = ("too_long", "truncated", "split", "dropped", "replies_dropped")
# Options of `Chat.reply_mask` -> their values, the default first.
MASK: dict[str, tuple[Any, ...]] = {
    "turns": ("all", "last"),
    "reasoning": (True, False),
    "stop": (True, False),
    "source": ("auto", "markers", "provenance"),
}
UNREADABLE_FILE = "file that cannot be read"  # kind under which `SourceReader` counts skipped files
# Options of `Corpus` that are stored in a plan. Shards do not support the options for samples and weights.
READING = ("documents", "field", "errors", "encoding", "max_expansion")
INPUT_TYPE = "input_type"  # its default is not stored, so that older plans keep their digest


@dataclass(frozen=True)
class Plan:
    """Plan of a folder of shards, made by `jeton.shards.plan`.

    Attributes:
        inputs: files, in order.
        reading: options of reading, as in `Corpus`.
        format: format of the shards.
        dtype: type of the ids in files: ``"uint16"``, …; None for counts.
        task_bytes: bytes of input per task.
        tokenizer: fingerprint of the tokenizer; None for counts.
        vocab_size: highest possible id plus one; 0 for counts.
        bos, eos: ids before and after each document; None: no id.
        counting: pattern and special tokens of counts; None for other formats.
        shuffle: seed of the global shuffle; None: documents stay in the order of the inputs.
        packing: length of rows, packing method, use of the ids left at the end, and padding id; None: documents
            are not packed.
        chat: chat template of documents that are conversations; None: documents are texts.
        conversations: policy for conversations that are longer than a row, and options of the loss mask that are not
            the defaults; None: conversations are cut like other documents.
        grown: for each later addition of inputs, the number of inputs that the plan had before this addition. In a
            shuffle, each addition is a `Generation`.
        keep: names of the record fields to keep as metadata; None: no fields.
        hash_range: only documents whose hash is in this range, see `hashing`; None: all documents.
        arguments: corpus arguments as given, each with its number of consecutive inputs; None if there are more than
            `MAX_ARGUMENTS` arguments. The arguments do not change the shards, and are not part of the digest.

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
    grown: tuple[int, ...] = ()
    keep: tuple[str, ...] | None = None
    hash_range: tuple[int, int] | None = None
    arguments: tuple[tuple[str, int], ...] | None = None

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """Tasks that read the inputs, in the order of their numbers.

        Raises:
            ConfigError: there are more than `MAX_TASKS` tasks.
        """
        documents, encoding = self.reading["documents"], self.reading["encoding"]
        names_lines = self.format == "olmo"  # the table of this format stores the line number of each document
        input_type = self.reading.get(INPUT_TYPE, "auto")
        divisible = [
            # Metadata of text files contain line numbers. So if metadata are kept, text files are not split.
            is_divisible(
                file.path,
                documents,
                encoding,
                names_lines or (self.keep is not None and kind_of(file.path, input_type) == "text"),
                input_type,
            )
            for file in self.inputs
        ]
        breaks = frozenset(self.grown if self.shuffle is not None else ())
        tasks = tuple(islice(cut_tasks(self.inputs, divisible, self.task_bytes, breaks), MAX_TASKS + 1))
        self._check_number(len(tasks))
        return tasks

    @property
    def num_tasks(self) -> int:
        """Number of tasks that read the inputs."""
        return len(self.tasks)

    @cached_property
    def num_shards(self) -> int:
        """Number of shards: one per task, or in a shuffle one per bucket."""
        if self.shuffle is None:
            return self.num_tasks
        number = sum(map(self._num_buckets, pairwise(self._bounds)))
        self._check_number(number)
        return number

    @property
    def _bounds(self) -> tuple[int, ...]:
        """Index of the first input of each generation, followed by the number of inputs."""
        return 0, *self.grown, len(self.inputs)

    def _num_buckets(self, bounds: tuple[int, int]) -> int:
        """Returns the number of buckets of a generation of inputs."""
        return max(1, -(-sum(map(expected_bytes, self.inputs[slice(*bounds)])) // self.task_bytes))

    @cached_property
    def generations(self) -> tuple[Generation, ...]:
        """Generations of a shuffle, in order; without a shuffle, one generation has all inputs."""
        if self.shuffle is None:
            return (Generation(range(self.num_tasks), range(self.num_tasks), self.num_bytes),)
        firsts = [task.pieces[0].input for task in self.tasks]
        found, bucket = [], 0
        for bounds in pairwise(self._bounds):
            tasks = range(*(bisect_left(firsts, bound) for bound in bounds))
            buckets = range(bucket, bucket := bucket + self._num_buckets(bounds))
            found.append(Generation(tasks, buckets, sum(file.size for file in self.inputs[slice(*bounds)])))
        return tuple(found)

    def generation_of(self, number: int, folder: str) -> Generation:
        """Returns the generation that a task belongs to.

        Args:
            number: number of the task.
            folder: `DONE` or `SPOOL`, the folder with the completion files of a stage. It tells the stage of the task.
        """
        return next(one for one in self.generations if number in (one.tasks if folder == SPOOL else one.buckets))

    def _check_number(self, number: int) -> None:
        """Checks that there are not too many tasks, or shards.

        Raises:
            ConfigError: there are more than `MAX_TASKS`.
        """
        if number > MAX_TASKS:
            message = f"{keyword('task_bytes', self.task_bytes)} makes more than {MAX_TASKS:,} tasks of these inputs"
            raise ConfigError(f"{message}; pass larger {keyword('task_bytes')}")

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """Stages of the work, in order; the last stage writes the shards."""
        if self.shuffle is None:
            return (Stage("shards", DONE, self.tasks),)
        self.num_shards  # noqa: B018 - checks the number before tasks are made
        buckets = tuple(task for one in self.generations for task in bucket_tasks(one.buckets, one.num_bytes))
        return Stage("spool", SPOOL, self.tasks), Stage("shuffle", DONE, buckets)

    @cached_property
    def shard_facts(self) -> ShardFacts:
        """Facts that the layout needs for writing and reading a shard."""
        layout = LAYOUTS[self.format]
        has_mask = self.chat is not None or (self.packing is not None and layout.masks_padding)
        row_length = self.packing["length"] if self.packing is not None else None
        return shard_facts(self.dtype, self.tokenizer, row_length, has_mask)

    @cached_property
    def source_numbers(self) -> dict[str, int] | None:
        """Path of an input -> its number; None if the format does not store the source of each document."""
        if not LAYOUTS[self.format].has_sources:
            return None
        return {file.path: number for number, file in enumerate(self.inputs)}

    @property
    def num_bytes(self) -> int:
        """Size of all inputs, before decompression."""
        return sum(file.size for file in self.inputs)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the plan.

        Fields that do not change the shards are left out: `arguments` always, and `grown` if there is no shuffle.
        """
        same = replace(self, arguments=None, grown=() if self.shuffle is None else self.grown)
        return _sha256(same.to_json())

    @cached_property
    def argument_of(self) -> dict[str, str]:
        """Path of an input -> corpus argument that includes it; empty if the plan does not list arguments."""
        names = (name for name, count in self.arguments or () for _ in range(count))
        return {file.path: name for file, name in zip(self.inputs, names, strict=False)}

    @cached_property
    def _options(self) -> dict[str, Any]:
        """Options that change the bytes of a task."""
        facts = self.to_json()
        for name in ("version", "inputs", "task_bytes", "grown", "arguments"):
            facts.pop(name, None)
        return {**facts, "reading": {name: value for name, value in self.reading.items() if name != "errors"}}

    @cached_property
    def _options_digest(self) -> str:
        return _sha256(self._options)

    def identity(self, number: int, folder: str = DONE) -> str:
        """Returns the SHA-256 of everything that determines the bytes of a task. Completion files store this digest.

        The error policy is excluded: if a task has nothing to skip and nothing to replace, all policies yield the
        same bytes.

        Args:
            number: number of the task.
            folder: `DONE` or `SPOOL`, the folder with the completion files of a stage. It tells the stage of the task.
        """
        if self.shuffle is not None and folder == DONE:
            return _sha256([self._options_digest, number, self._generation_digests[self.generation_of(number, DONE)]])
        return self._read_identity(number)

    def _read_identity(self, number: int) -> str:
        """Returns the identity of a task that reads inputs."""
        pieces = [[*self.inputs[piece.input][:3], piece.start, piece.end] for piece in self.tasks[number].pieces]
        facts = [self._options_digest, number, pieces]
        if self.shuffle is not None:
            facts.append(len(self.generation_of(number, SPOOL).buckets))
        return _sha256(facts)

    @cached_property
    def _generation_digests(self) -> dict[Generation, str]:
        """Generation of a shuffle -> SHA-256 over the identities of all tasks that read inputs of this generation."""
        return {one: _sha256([one.buckets.start, *map(self._read_identity, one.tasks)]) for one in self.generations}

    def corpus(self) -> Corpus:
        """Returns a `Corpus` with the reading options of the plan, but without sources."""
        return Corpus([], **self.reading)

    @cached_property
    def _unreadable(self) -> dict[int, int]:
        """Index of an unreadable input -> number of its first task. Only this task counts the input as skipped."""
        found: dict[int, int] = {}
        for task in self.tasks:
            for piece in task.pieces:
                if not self.inputs[piece.input].is_readable:
                    found.setdefault(piece.input, task.number)
        return found

    def reader(
        self, task: Task, check: Callable[[], None] = lambda: None, on_skip: OnSkip | None = None
    ) -> RangeReader:
        """Returns the reader of the documents of a task.

        Args:
            task: the task.
            check: called often; can raise an exception to stop.
            on_skip: called with each record that is skipped.

        Raises:
            FormatError: an input could not be read when it was planned, and the policy is not ``"skip"``.
        """
        files = [(self.inputs[piece.input], piece) for piece in task.pieces]
        ranges = [FileRange(file.path, piece.start, piece.end) for file, piece in files if file.is_readable]
        reader = RangeReader(
            ranges,
            self.corpus(),
            check,
            conversations=self.chat is not None,
            on_skip=on_skip,
            keep=self.keep or (),
            select=None if self.hash_range is None else partial(documents_in, hash_range=self.hash_range),
        )
        for file, piece in files:
            if not file.is_readable and self._unreadable[piece.input] == task.number:
                reason = file.version.removeprefix(UNREADABLE)
                error = FormatError(f"{file.path}: {reason}", format="file", place=file.path)
                reader.skip(UNREADABLE_FILE, file.path, error)
        return reader

    def to_json(self) -> dict[str, Any]:
        """Returns the plan as JSON."""
        facts = {field.name: getattr(self, field.name) for field in fields(self)}
        for name in LEFT_OUT:
            if facts[name] in (None, ()):
                del facts[name]
        files = [list(file if file.cut is not None else file[:3]) for file in self.inputs]
        return {"version": VERSION, **facts, "inputs": files}

    @classmethod
    def from_json(cls, facts: Mapping[str, Any], name: str = "plan.json") -> Plan:
        """Reads the output of `to_json`.

        Raises:
            FormatError: an entry is missing or wrong.
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
            given |= {name: tuple(given[name]) for name in ("keep", "hash_range", "grown") if name in given}
            if "arguments" in given:
                given["arguments"] = tuple((name, count) for name, count in given["arguments"])
            plan = cls(**{**given, "inputs": tuple(InputFile(*file) for file in facts["inputs"])})
            _check_options(plan)
            plan.stages  # noqa: B018 - checks the number of tasks before they are used
        except (KeyError, TypeError, ValueError) as error:
            raise FormatError(f"{name}: not a plan of shards ({error})", format="plan") from None
        return plan

    def check_options(self, stored: Plan, folder: str) -> None:
        """Checks that this plan and the one stored in the folder have equal options, except for the error policy.

        Raises:
            ConfigError: options differ. The message has both values of the first option that differs, and the names of
                the other options that differ.
        """
        now, then = asdict(self), asdict(replace(stored, reading={**stored.reading, "errors": self.reading["errors"]}))
        differing = [name for name in now if name not in ("inputs", "grown", "arguments") and now[name] != then[name]]
        differing.sort(key=lambda name: name != "tokenizer")  # tokenizer first: it determines the type of ids
        if differing:
            name, *others = differing
            if name == "tokenizer":
                before, after = (value and f"{value[:MAX_HASH]}…" for value in (then[name], now[name]))
            elif name == "conversations":
                before, after = ({"too_long": "cut", "mask": {}, **(one or {})} for one in (then[name], now[name]))
                name = next(key for key in before if before[key] != after[key])
                before, after = before[name], after[name]
            elif name in ("reading", "counting", "packing") and now[name] is not None and then[name] is not None:
                name, before, after = next(
                    (key, then[name].get(key), now[name].get(key))
                    for key in now[name] | then[name]
                    if then[name].get(key) != now[name].get(key)
                )
            else:
                before, after = then[name], now[name]
            what = OPTIONS.get(name, name)
            message = f"{folder} was planned with {named(what)} {_shown(before)}, but this call has {_shown(after)}"
            # The tokenizer and the format determine `vocab_size` and `dtype`, which are not arguments.
            others = [OPTIONS.get(other, other) for other in others if other not in ("vocab_size", "dtype")]
            more = f"; other differences: {', '.join(map(named, others))}" if others else ""
            raise ConfigError(f"{message}{more}; pass the same, or another folder", option=what)

    def grown_from(self, stored: Plan, folder: str) -> Plan:
        """Returns a copy of this plan in which all new inputs follow the inputs of the stored plan.

        The stored inputs keep the order of the stored plan. Before the call, this plan has the order of a new, sorted
        listing of files, in which a new file can be between two stored files.

        Args:
            stored: the plan in the folder.
            folder: name of the folder, for errors.

        Raises:
            ConfigError: this plan lacks a stored input, or lists the stored inputs in another order.
        """
        now = {key: (index, file) for index, (key, file) in enumerate(_by_occurrence(self.inputs))}
        then = dict(_by_occurrence(stored.inputs))
        difference = next((f"{key[0]} is no longer one" for key in then if key not in now), None)
        places = [now[key][0] if key in now else 0 for key in then]
        if difference is None and any(
            places[start:end] != sorted(places[start:end]) for start, end in pairwise(stored._bounds)
        ):
            difference = "their order differs"
        if difference is not None:
            message = f"{folder} was planned with other inputs: {difference}; pass another folder"
            raise ConfigError(message, option="corpus")
        inputs = [
            file if file[:3] == now[key][1][:3] else file.changed_to(now[key][1], self.task_bytes)
            for key, file in then.items()
        ]
        new = [file for key, (_, file) in now.items() if key not in then]
        grown = (*stored.grown, len(inputs)) if new else stored.grown
        every = (*inputs, *new)
        names = {**self.argument_of, **stored.argument_of}  # stored names take precedence
        arguments = None if stored.arguments is None else named_runs(every, names)
        return replace(self, inputs=every, grown=grown, arguments=arguments)


def _sha256(facts: Any) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def _by_occurrence(files: Sequence[InputFile]) -> Iterator[tuple[tuple[str, int], InputFile]]:
    """Yields pairs (key, input). A key is a pair: the path, and the number of earlier inputs with the same path."""
    seen = Counter[str]()
    for file in files:
        yield (file.path, seen[file.path]), file
        seen[file.path] += 1


def _check_options(plan: Plan) -> None:
    """Checks options that were read from a plan, and combinations of them.

    Raises:
        KeyError, TypeError, ValueError: an option is missing or invalid.
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
    if is_counts and plan.keep is not None:
        raise ValueError("metadata of counts")
    if plan.chat is not None and not LAYOUTS[plan.format].can_mask:
        raise ValueError(f"chat for format {plan.format!r}")
    if plan.packing is not None:
        check_packing(plan.packing)
    if plan.conversations is not None:
        if plan.chat is None:
            raise ValueError("options of conversations without a chat template")
        if "too_long" in plan.conversations and (plan.packing is None or plan.packing["method"] != "best_fit"):
            raise ValueError("a policy for conversations that are longer than a row, without rows of best_fit")
    if list(plan._bounds) != sorted(set(plan._bounds)):
        raise ValueError(f"grown {plan.grown!r} of {len(plan.inputs):,} inputs")
    if plan.arguments is not None and sum(count for _, count in plan.arguments) != len(plan.inputs):
        raise ValueError("arguments of other inputs")
    if set(plan.reading) - {INPUT_TYPE} != set(READING):
        raise ValueError("unknown options of reading")
    plan.corpus()
    if plan.counting is not None:
        from ..training import Stages

        Stages.from_json(plan.counting["stages"])


def _shown(value: Any) -> str:
    """Returns a shortened value for a message, because a chat template has thousands of characters."""
    text = "unset" if value is None else repr(value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"


def reading_of(corpus: Corpus) -> dict[str, Any]:
    """Returns the options of a corpus that concern reading, for a plan.

    Raises:
        ConfigError: the corpus is sampled, which is not supported.
    """
    if corpus.sample_bytes is not None:
        message = f"{keyword('sample_bytes')} is not supported: shards have the whole corpus"
        raise ConfigError(message)
    reading = {name: getattr(corpus, name) for name in READING}
    return reading if corpus.input_type == "auto" else {**reading, INPUT_TYPE: corpus.input_type}


def list_inputs(corpus: Corpus) -> tuple[InputFile, ...]:
    """Returns the files of a corpus; raises the errors of `list_arguments`."""
    return tuple(file for _, files in list_arguments(corpus) for file in files)


def list_arguments(corpus: Corpus) -> list[tuple[str, list[InputFile]]]:
    """Returns each argument of a corpus, as given, with the files that it includes, and their sizes and versions.

    Raises:
        ConfigError: the corpus has in-memory documents, streams, pipes, or sources with their own options.
        FileNotFoundError: no such file, or no match.
    """
    lister, rules = Lister(), corpus.rules(Source([]))
    listed = [(os.fspath(place), lister.add(place, rules)) for place in places_of(corpus)]
    log_unread(lister.unread)
    # Only local files are checked for read permission: listings of object stores do not show permissions.
    skips = corpus.errors == "skip"

    def found(file: str) -> InputFile:
        is_asked = skips and not is_remote(file)
        return _input(file, *(_readable_identity(file) if is_asked else lister.identity(file)))

    return [(name, list(map(found, files))) for name, files in listed]


def named_runs(inputs: Sequence[InputFile], names: Mapping[str, str]) -> tuple[tuple[str, int], ...] | None:
    """Returns `Plan.arguments`: pairs (corpus argument, number of consecutive inputs).

    None if the corpus has more than `MAX_ARGUMENTS` arguments, or an input is not in `names`.

    Args:
        inputs: the inputs, in order.
        names: path of an input -> corpus argument that includes it.

    Examples:
        >>> files = [InputFile(path, 3, "") for path in ("web/a", "web/b", "code/a")]
        >>> named_runs(files, {"web/a": "web", "web/b": "web", "code/a": "code"})
        (('web', 2), ('code', 1))
    """
    if len(set(names.values())) > MAX_ARGUMENTS or not all(file.path in names for file in inputs):
        return None
    return tuple((name, len(list(run))) for name, run in groupby(inputs, lambda file: names[file.path]))


def _readable_identity(file: str) -> tuple[int | None, str]:
    """Returns the size and version of a file. If the file cannot be read: 0, and `UNREADABLE` with the reason."""
    try:
        found = identity_of(file)
        if not is_remote(file) and not os.access(file, os.R_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), file)
    except OSError as error:
        is_of_file = isinstance(error, FileNotFoundError | PermissionError) or error.errno == errno.ELOOP
        if not is_of_file:  # a later attempt can succeed
            raise
        return 0, f"{UNREADABLE}{error.strerror}"
    return found


def renewed(file: InputFile) -> InputFile:
    """Returns an input with its current size and version; unchanged if the file can no longer be read."""
    size, version = _readable_identity(file.path)
    now = InputFile(file.path, size or 0, version)
    return file if size is None or not now.is_readable or now[:3] == file[:3] else now


def places_of(corpus: Corpus) -> list[str | PathLike[str]]:
    """Returns the paths, globs, folders and URLs of a corpus.

    Raises:
        ConfigError: the corpus has in-memory documents, streams, or sources with their own options.
    """
    return [_place(item) for item in (corpus.sources if isinstance(corpus.sources, list | tuple) else [corpus.sources])]


def _place(place: Any) -> str | PathLike[str]:
    """Checks that shards support an item of a corpus, and returns its path."""
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
        message = (
            f"{file} has no known size, like a pipe; pass a file, because a task must be able to read its input again"
        )
        raise ConfigError(message, option="corpus")
    return InputFile(absolute(file), size, version)


def check_inputs(plan: Plan, task: Task) -> None:
    """Checks that the inputs of a task have not changed since they were planned.

    Raises:
        ShardError: an input has changed.
        FileNotFoundError: an input is missing.
    """
    for piece in task.pieces:
        planned = plan.inputs[piece.input]
        if not planned.is_readable:
            continue
        size, version = identity_of(planned.path)
        if (size, version) != (planned.size, planned.version):
            was = f"{planned.size:,} bytes, {planned.version}"
            message = f"{planned.path} has changed since it was planned ({was}; now {size:,} bytes, {version})"
            hint = "plan again (or jeton.shards.repair, jeton shards repair), which keeps the tasks of the other inputs"
            raise ShardError(f"{message}; {hint}", path=planned.path)
