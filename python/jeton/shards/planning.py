"""`plan`: makes the plan of a folder, or compares it with the plan of an earlier call; `status`: shows progress."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

from ..corpus import Corpus, CorpusLike
from ..corpus.kinds import InputType, kind_of
from ..corpus.rows import arrow_modules
from ..errors import ConfigError, keyword, named
from ..formats import load
from ..tokenizer import Tokenizer
from ..util.arguments import choice, flag, instance, integer, strings
from .conversations import chat_template, conversation_options
from .counting import SUFFIX, counting_of
from .folder import MANIFEST, MIX, PLAN, TOKENIZER, TRAIN, ShardFolder
from .hashing import Share, bounds_of
from .layouts import COUNTS, FORMATS, LAYOUTS
from .overlap import check_apart
from .pace import count_skipped, pace_of
from .packing import packing_of
from .plan import (
    MAX_SEED,
    MIN_TASK_BYTES,
    TASK_BYTES,
    Plan,
    is_names,
    list_arguments,
    named_runs,
    places_of,
    reading_of,
)
from .tasks import SPOOL, InputFile
from .tokenizers import remember_tokenizer
from .validity import change_plan

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["Status", "added_id", "difference_of", "missing_tasks", "plan", "stage_done", "status", "updated"]

_log = logging.getLogger("jeton")

TEXT_FIELD, MESSAGES = "text", "messages"  # default field of texts, and default field of conversations

StrPath = str | os.PathLike[str]


def plan(
    corpus: CorpusLike | Corpus,
    output: StrPath,
    tok: Tokenizer | StrPath | None = None,
    *,
    format: str = "megatron",
    dtype: str = "auto",
    append_eos: bool | str = False,
    prepend_bos: bool | str = False,
    task_bytes: int = TASK_BYTES,
    pattern: str | None = "o200k",
    special_tokens: Sequence[str] = (),
    shuffle: int | None = None,
    pack: int | None = None,
    packing: Literal["concatenate", "best_fit"] = "concatenate",
    rest: Literal["pad", "drop"] = "pad",
    pad: str | None = None,
    chat: bool = False,
    too_long: Literal["truncate", "drop", "split", "cut"] | None = None,
    mask: Mapping[str, Any] | None = None,
    keep: Sequence[str] = (),
    hash_range: tuple[Share, Share] | None = None,
) -> Plan:
    """Plans shards: lists the inputs, checks the options, and writes ``plan.json`` and the tokenizer into a folder.

    Inputs are listed, but not read. If the folder has an equal plan, the call changes nothing, and complete tasks stay
    complete.

    If the folder was planned with the same options and fewer inputs, the new inputs are added at the end, and only the
    last earlier task and the tasks of the new inputs run. If an input has changed, the tasks that read it run again. If
    the error policy changes, tasks stay complete if they skipped or replaced nothing.

    Args:
        corpus: a path, glob, folder or URL, a list of them, or a `Corpus` of them with options for reading. Under
            every error policy, a text that the tokenizer cannot encode is an error. (Example: the text has an unknown
            word, and the tokenizer has no unknown token.)
        output: the folder of the shards; it is created.
        tok: the tokenizer, or its path or name. None for ``format="counts"``.
        format: ``"megatron"``, ``"bin"`` (nanoGPT), ``"llmc"``, ``"datatrove"``, ``"olmo"``, ``"mds"``
            (mosaicml-streaming), ``"litdata"``, ``"parquet"`` or ``"arrow"``; or ``"counts"``, for training.
        dtype: type of the ids in files: ``"uint16"``, ``"int32"`` or ``"uint32"``, if the format supports it;
            ``"auto"``: the type that the format's own tools choose. The highest possible id must fit.
        append_eos: True: add the id of the role `eos` after each document; a name: the id of this special token.
        prepend_bos: the same for the role `bos`, before each document.
        task_bytes: bytes of input per task; without a shuffle, also per shard.
        pattern, special_tokens: for counts, as in `count_pretokens`.
        shuffle: seed of a global shuffle of the documents, below 2⁶⁴; None: the order of the inputs.
        pack: length of rows, into which the documents of a shard are packed; None: documents are not packed.
        packing: ``"concatenate"`` cuts the ids of all documents at multiples of the length; ``"best_fit"`` cuts only
            documents that are longer than a row.
        rest: for the incomplete last row of ``"concatenate"``: ``"pad"`` it, or ``"drop"`` it. The ids of padding, and
            those dropped, are counted.
        pad: special token for padding; None: the token with the role `pad`, else `eos`.
        chat: the documents are conversations: lists of messages in the field of the `Corpus` (default ``"messages"``)
            of JSON Lines or Parquet, encoded by the tokenizer's chat template, with a loss mask.
        too_long: conversations that are longer than a row of ``"best_fit"``: ``"truncate"`` (default) ends them with
            the last reply that fits; ``"drop"`` leaves them out; ``"split"`` makes several conversations, each with the
            system messages; ``"cut"`` cuts the ids into pieces, and later pieces lack the earlier context.
        mask: options of the loss mask, as for `Chat.reply_mask`: ``{"turns": "last", "reasoning": False}``.
        keep: fields of records to keep as metadata, ``["id", "meta.url"]``; `metadata` finds them by the number of the
            document. A document of a text file has the file and, with ``documents="line"``, the number of its line.
        hash_range: use only documents whose hash is in this range: ``(0, 0.01)`` for one hundredth of the documents,
            ``(0.01, 1)`` for the rest. `make_split` makes a folder for each part.

    Raises:
        ConfigError: an invalid option; a dtype that is too small; a folder that was planned with other options, or with
            inputs that are missing now (the message names the difference); a folder that is part of the corpus.
        MissingDependencyError: the format, or an input of Parquet, needs a package that is not installed.
        FileNotFoundError: no such file, or no match.

    Examples:
        >>> import jeton, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> with open(f"{folder}/lines.txt", "w") as file:
        ...     _ = file.write("to be\\nor not to be\\n")
        >>> lines = jeton.Corpus(f"{folder}/lines.txt", documents="line")
        >>> made = plan(lines, f"{folder}/out", jeton.default(), append_eos=True)
        >>> made.format, made.dtype, made.num_tasks
        ('megatron', 'int32', 1)
    """
    reading = Corpus.of(corpus)
    if flag(chat, "chat") and reading.field == TEXT_FIELD:
        reading = replace(reading, field=MESSAGES)
    if shuffle is not None:
        integer(shuffle, "shuffle", 0, MAX_SEED)
    choice(format, "format", FORMATS)
    integer(task_bytes, "task_bytes", MIN_TASK_BYTES)
    options: dict[str, Any] = {"reading": reading_of(reading), "format": format, "task_bytes": task_bytes}
    if hash_range is not None:
        options["hash_range"] = bounds_of(hash_range)
    data = None
    if format == COUNTS:
        if tok is not None or append_eos or prepend_bos or dtype != "auto":
            message = (
                f"{keyword('format', 'counts')} writes counts, not ids: omit the tokenizer, {named('dtype')}, "
                f"{named('append_eos')} and {named('prepend_bos')}"
            )
            raise ConfigError(message)
        for option, value in (
            ("shuffle", shuffle),
            ("pack", pack),
            ("pad", pad),
            ("chat", chat or None),
            ("too_long", too_long),
            ("mask", mask),
            ("keep", keep or None),
        ):
            if value is not None:
                raise ConfigError(f"{keyword(option)} applies to formats of ids, not to {keyword('format', 'counts')}")
        counting = counting_of(pattern, special_tokens)
        options |= {"dtype": None, "tokenizer": None, "vocab_size": 0, "counting": counting}
    else:
        LAYOUTS[format].check_installed()
        tok = _tokenizer(tok, format)
        if chat:
            _check_chat(format, append_eos, prepend_bos)
            options["chat"] = chat_template(tok)
        if special_tokens or pattern != "o200k":
            raise ConfigError(
                f"{keyword('pattern')} and {keyword('special_tokens')} are for {keyword('format', 'counts')}"
            )
        options |= {
            "dtype": LAYOUTS[format].dtype(dtype, tok.vocab_size),
            "tokenizer": tok.fingerprint,
            "vocab_size": tok.vocab_size,
            "bos": added_id(tok, "bos", prepend_bos, "prepend_bos"),
            "eos": added_id(tok, "eos", append_eos, "append_eos"),
        }
        options["shuffle"] = shuffle
        options["keep"] = _names(keep)
        options["packing"] = packing_of(tok, pack, packing, rest, pad, options["eos"])
        if chat:
            options["conversations"] = conversation_options(options["chat"], options["packing"], too_long, mask)
        else:
            for option, given in (("too_long", too_long), ("mask", mask)):
                if given is not None:
                    raise ConfigError(f"{keyword(option)} is for conversations: pass {keyword('chat', True)}")
        data = tok.to_bytes()
        remember_tokenizer(tok, data)
    listed = list_arguments(reading)
    inputs = tuple(file for _, files in listed for file in files)
    arguments = named_runs(inputs, {file.path: name for name, files in listed for file in files})
    made = Plan(inputs=inputs, arguments=arguments, **options)
    made.stages  # noqa: B018 - checks the number of tasks
    if any(_kind(made, file) in ("parquet", "arrow") for file in made.inputs):
        arrow_modules()  # if pyarrow is missing, raises the error here, instead of in each task
    if chat:
        _check_rows(made)
    folder = ShardFolder(output)
    suffix = LAYOUTS[format].suffix if format in LAYOUTS else SUFFIX
    check_apart(places_of(reading), made.inputs, str(folder), suffix)
    is_first = not folder.has(PLAN)
    if is_first:
        folder.check_free_of(MIX, f"{TRAIN}/{MIX}", f"{TRAIN}/{PLAN}")
    folder.create()
    is_first = is_first and folder.write_plan(made)
    if not is_first:
        stored = folder.load_plan()
        made.check_options(stored, str(folder))
        made = updated(folder, stored, made)
    # The tokenizer is written after the plan. If two concurrent calls have different tokenizers, the call that did not
    # write the plan has failed in `check_options`.
    if data is not None and (is_first or not folder.has(TOKENIZER)):
        folder.write_bytes(TOKENIZER, data)
    return made


def updated(folder: ShardFolder, stored: Plan, listed: Plan) -> Plan:
    """Returns the plan of a folder after its inputs were listed again, and stores the plan if it has changed.

    Args:
        folder: the folder.
        stored: plan in the folder.
        listed: plan with the same options, from the new listing; inputs and error policy can differ.

    Raises:
        ConfigError: inputs are missing, or in another order.
    """
    made = listed.grown_from(stored, str(folder))
    if made.grown != stored.grown and not any(folder.done(stage.folder) for stage in stored.stages):
        made = replace(listed, grown=())  # no task is complete, so plan as if for the first time
    made.stages  # noqa: B018 - checks the number of tasks
    if made != stored:
        change_plan(folder, stored, made)
        # A change that replaces shards is logged as a warning.
        is_replaced = any(now != then for now, then in _pairs(made, stored))
        level = logging.WARNING if is_replaced else logging.INFO
        _log.log(level, "%s: %s", folder, difference_of(stored, made))
    return made


def _pairs(made: Plan, stored: Plan) -> Iterator[tuple[InputFile, InputFile]]:
    """Yields a pair (new entry, stored entry) for each input whose path is in both plans."""
    then = {file.path: file for file in stored.inputs}
    return ((now, then[now.path]) for now in made.inputs if now.path in then)


def difference_of(stored: Plan, made: Plan) -> str:
    """Describes the changes between two plans of a folder.

    Examples:
        >>> from jeton.shards.tasks import InputFile
        >>> then = Plan((InputFile("a", 1, ""),), {"errors": "strict"}, "bin", "uint16", 1, "j1:0", 300)
        >>> difference_of(then, replace(then, inputs=(InputFile("a", 2, ""), InputFile("b", 2, ""))))
        '1 input has changed; 1 input is new'
    """
    changed = sum(now[:3] != then[:3] for now, then in _pairs(made, stored))
    new = len(made.inputs) - len(stored.inputs)
    parts = []
    if changed:
        parts.append(f"{changed:,} input has changed" if changed == 1 else f"{changed:,} inputs have changed")
    if new:
        parts.append(f"{new:,} input is new" if new == 1 else f"{new:,} inputs are new")
    before, after = stored.reading["errors"], made.reading["errors"]
    if before != after:
        parts.append(f"{keyword('errors', after)} instead of {before!r}")
    return str(ConfigError("; ".join(parts)))


def _names(keep: Sequence[str]) -> tuple[str, ...] | None:
    """Checks the names of fields to keep and returns them; None if there are none."""
    names = tuple(strings(keep, "keep"))
    if names and not is_names(names):
        wrong_one = next(name for name in names if not name or names.count(name) > 1)
        message = f"{keyword('keep')} has {wrong_one!r}, {'which is given twice' if wrong_one else 'an empty name'}"
        raise ConfigError(message, option="keep")
    return names or None


def _check_chat(format: str, append_eos: bool | str, prepend_bos: bool | str) -> None:
    if not LAYOUTS[format].can_mask:
        masked = ", ".join(name for name, layout in LAYOUTS.items() if layout.can_mask)
        message = (
            f"{keyword('chat', True)} is not supported for format {format!r}, which has no loss mask; {masked} have one"
        )
        raise ConfigError(message)
    if append_eos or prepend_bos:
        option = "append_eos" if append_eos else "prepend_bos"
        message = f"{named(option)} is not supported with {keyword('chat', True)}: the chat template writes bos and eos"
        raise ConfigError(message, option=option)


def _check_rows(plan: Plan) -> None:
    """Checks that all inputs have records with fields, which conversations need."""
    for file in plan.inputs:
        if _kind(plan, file) in ("text", "csv", "tsv"):
            message = (
                f"{keyword('chat', True)} reads conversations from .jsonl, .ndjson, .json, .parquet, .arrow and .tar, "
                f"not from {file.path}"
            )
            raise ConfigError(message, option="corpus")


def _kind(plan: Plan, file: InputFile) -> InputType:
    return kind_of(file.path, plan.reading.get("input_type", "auto"))


def _tokenizer(tok: Tokenizer | StrPath | None, format: str) -> Tokenizer:
    if tok is None:
        raise ConfigError(f"{keyword('format', format)} needs a tokenizer: pass {keyword('tok')}", option="tok")
    if isinstance(tok, str | os.PathLike):
        return load(tok)
    return instance(tok, "tok", Tokenizer, "a Tokenizer, a path or a name")


def added_id(tok: Tokenizer, role: str, asked: bool | str, option: str) -> int | None:
    """Returns the id that `append_eos=` or `prepend_bos=` adds; None if it adds none.

    Raises:
        ConfigError: the tokenizer has no such role or special token.

    Examples:
        >>> tok = Tokenizer.from_merges({104: b"h"}, [], special_tokens={"<|end|>": 300})
        >>> added_id(tok, "eos", "<|end|>", "append_eos"), added_id(tok, "eos", False, "append_eos")
        (300, None)
    """
    if isinstance(asked, str):
        if asked not in tok.special_tokens:
            some = ", ".join(map(repr, list(tok.special_tokens)[:8])) or "none"
            raise ConfigError(f"{keyword(option, asked)} is not a special token of the tokenizer (it has {some})")
        return tok.special_tokens[asked]
    if not instance(asked, option, bool, "True, False or a special token"):
        return None
    id = tok.bos_id if role == "bos" else tok.eos_id
    if id is None:
        message = f"the tokenizer has no role {role}: name the special token, as in {keyword(option, '<|endoftext|>')}"
        raise ConfigError(message, option=option)
    return id


@dataclass(frozen=True)
class Status:
    """Progress of a folder of shards.

    Attributes:
        folder: path of the folder.
        done, total: number of completed tasks, and number of all tasks, in the first incomplete stage, or in the last
            stage if all stages are complete.
        bytes_done, bytes_total: size of the inputs of these tasks, before decompression.
        merged: True if there is a manifest.
        missing: numbers of the incomplete tasks; if there are more than ten, the ten lowest numbers.
        stage: name of the stage: ``"shards"``; in a shuffle, ``"spool"`` or ``"shuffle"``.
        skipped: number of records that complete tasks have skipped. This and the following attributes need
            ``details=True``.
        bytes_per_s: bytes of input per second, of the tasks that completed in the last ten minutes, on all machines.
        seconds_left: seconds until the stage is complete at this rate; None: unknown.
        idle_s: seconds since the last task completed; None if none has.

    Examples:
        >>> Status("out", 1, 4, 100, 350, False, (0, 2, 3)).is_complete
        False
    """

    folder: str
    done: int
    total: int
    bytes_done: int
    bytes_total: int
    merged: bool
    missing: tuple[int, ...]
    stage: str = "shards"
    skipped: int | None = None
    bytes_per_s: float | None = None
    seconds_left: float | None = None
    idle_s: float | None = None

    @property
    def is_complete(self) -> bool:
        """True if all tasks of all stages are complete."""
        return self.done == self.total

    def to_json(self) -> dict[str, Any]:
        """Returns the status as JSON."""
        return {**vars(self), "missing": list(self.missing)}


MOST_MISSING = 10


def status(output: StrPath, *, details: bool = False) -> Status:
    """Returns the progress of a folder, even while another process works on it.

    By default, the call reads only the plan and the names of files.

    Args:
        output: the folder.
        details: also read the file that each complete task has written, to report the skipped records, the rate, and
            the time left.

    Raises:
        ShardError: the folder has no plan.

    Examples:
        >>> import jeton, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> with open(f"{folder}/a.txt", "w") as file:
        ...     _ = file.write("to be")
        >>> _ = plan(f"{folder}/a.txt", f"{folder}/out", jeton.default())
        >>> status(f"{folder}/out").done
        0
    """
    folder = ShardFolder(output)
    made = folder.load_plan()
    for number, stage in enumerate(made.stages):
        missing = missing_tasks(folder, made, number)
        left = set(missing)
        done = [task for task in stage.tasks if task.number not in left]
        if missing:
            break
    more: dict[str, Any] = {}
    if flag(details, "details"):
        rate, idle_s = pace_of(folder, stage)
        left_bytes = sum(task.num_bytes for task in stage.tasks if task.number in left)
        more = {
            "skipped": count_skipped(folder, made, sorted(folder.done(made.stages[0].folder))),
            "bytes_per_s": rate if left else None,
            "seconds_left": left_bytes / rate if rate and left else 0.0 if not left else None,
            "idle_s": idle_s,
        }
    return Status(
        str(folder),
        len(done),
        len(stage.tasks),
        sum(task.num_bytes for task in done),
        made.num_bytes,
        folder.has(MANIFEST),
        tuple(missing[:MOST_MISSING]),
        stage.name,
        **more,
    )


def stage_done(folder: ShardFolder, plan: Plan, number: int) -> set[int]:
    """Returns the numbers of the completed tasks of a stage.

    The first stage of a shuffle writes spooled documents, which the second stage reads. While a shard is missing, a
    task of the first stage counts as complete only if its spooled documents exist, or if no missing shard needs them.
    `merge` removes spooled documents. So if a shard is lost after `merge`, all first-stage tasks of its generation (the
    inputs that were planned together) run again. Then the second stage makes the shard again.
    """
    stage = plan.stages[number]
    # Spools are listed before the shards: `merge` in another process can remove spools in between, but only when all
    # shards are complete, and complete shards need no spools.
    spools = folder.spools() if stage.folder == SPOOL else set()
    done = folder.done(stage.folder) & set(range(len(stage.tasks)))
    if stage.folder == SPOOL and (missing := missing_tasks(folder, plan, number + 1)):
        left = set(missing)
        needed = (one.tasks for one in plan.generations if not left.isdisjoint(one.buckets))
        done -= set(chain.from_iterable(needed)) - spools
    return done


def missing_tasks(folder: ShardFolder, plan: Plan, number: int) -> list[int]:
    """Returns the numbers of the tasks of a stage that are not complete.

    Each complete task has a file in the folder. The listing of the folder can omit a file that another process is
    replacing. So if a task is not in the listing, the task's file is looked up by name.
    """
    stage = plan.stages[number]
    missing = sorted(set(range(len(stage.tasks))) - stage_done(folder, plan, number))
    is_done = partial(_is_spooled, folder, plan) if stage.folder == SPOOL else partial(folder.is_done)
    return [] if all(map(is_done, missing)) else missing  # `all` stops at the first task that is really missing


def _is_spooled(folder: ShardFolder, plan: Plan, task: int) -> bool:
    if not folder.is_done(task, SPOOL):
        return False
    buckets = plan.generation_of(task, SPOOL).buckets
    return folder.has_spool(task) or not any(bucket in buckets for bucket in missing_tasks(folder, plan, 1))
