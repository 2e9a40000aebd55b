"""`merge`: checks that all tasks are complete, and writes the manifest and the report; joins shards on demand.

The manifest has everything that programs need to read the shards. Except for the version of Jeton and the date, it
depends only on the plan. If nothing has changed, merging again keeps the version and the date. The report also has
times and warnings.

Memory: about 4 KB per task; 100,000 tasks take 0.4 GB.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from ..errors import ConfigError, JetonError, ShardError, call, keyword
from ..util.arguments import flag
from .counting import joined_counts
from .folder import AGAIN, MANIFEST_VERSION, REJECTS, REPORT, TOKENIZER, ShardFolder
from .layouts import COUNTS, LAYOUTS, Documents
from .metadata import METADATA
from .plan import Plan
from .planning import missing_tasks
from .report import Report
from .skipping import SkipLimit, Tally, check_any_left, read_rejects, split_place
from .sources import SourceTotals, group_files, regroup
from .tasks import SPOOL
from .tokenizers import load_tokenizer, read_tokenizer

__all__ = ["JOINED", "MADE", "Totals", "add_up", "manifest_of", "merge"]

JOINED = "joined"  # folder of the file that joins the ids of all shards; also the name of this file, without its suffix
REJECTED = f"{REJECTS}.jsonl"
MADE = {"jeton", "date"}  # entries of a manifest that do not depend on the plan
MAX_PLACES = 3

_log = logging.getLogger("jeton")


def merge(output: str | os.PathLike[str], *, join: bool = False, max_skipped: int | str | None = None) -> Report:
    """Writes ``manifest.json``, ``report.json`` and ``report.md``, when all tasks are complete.

    If records were skipped, ``rejects.jsonl`` has the file, line, kind and reason of each.

    Args:
        output: the folder.
        join: also write all shards as one file, ``joined/joined.*``; for the formats megatron, bin, llmc and counts.
            False removes the joined files of an earlier call.
        max_skipped: largest permitted number of skipped records, or a percentage of all records, as ``"0.1%"``. Unless
            the limit is ``"100%"``, skipping all records of an input or of the corpus is also an error.

    Returns:
        The report.

    Raises:
        ShardError: a task is not complete; a shard is missing or damaged; too many records were skipped.
        ConfigError: the format does not support `join`.

    Examples:
        >>> import jeton, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> with open(f"{folder}/a.txt", "w") as file:
        ...     _ = file.write("to be")
        >>> _ = jeton.shards.plan(f"{folder}/a.txt", f"{folder}/out", jeton.default())
        >>> _ = jeton.shards.run(f"{folder}/out")
        >>> merge(f"{folder}/out").documents
        1
    """
    folder = ShardFolder(output)
    plan = folder.load_plan()
    if flag(join, "join") and plan.format != COUNTS and not LAYOUTS[plan.format].can_join:
        message = f"{keyword('join')} is not supported for format {plan.format!r}, whose readers take many files"
        raise ConfigError(message)
    limit = SkipLimit.of(max_skipped)
    for number, stage in enumerate(plan.stages):
        missing = missing_tasks(folder, plan, number)
        if missing:
            some = ", ".join(map(str, missing[:8])) + (", …" if len(missing) > 8 else "")
            some = f"{'task' if len(missing) == 1 else 'tasks'} {some}"
            of = f" of the stage {stage.name}" if len(plan.stages) > 1 else ""
            message = f"{folder}: {len(missing):,} of {len(stage.tasks):,} tasks{of} are not complete ({some})"
            raise ShardError(
                f"{message}; {call('jeton.shards.run', 'jeton shards run')} completes them", path=str(folder)
            )
    sizes = folder.storage.sizes()
    totals, shards = add_up(folder, plan, lambda facts: _check_sizes(folder, facts, sizes))
    totals.check_skipped(limit, str(folder))
    files = _tokenizer_files(folder, plan)
    folder.remove_stale()
    joined = _join(folder, plan, [shard["files"] for shard in shards]) if join else None
    for name, data in _index(plan, shards).items():
        folder.write_bytes(name, data)
    tok = load_tokenizer(folder, plan)
    pad = None if tok is None else tok.pad_id
    rejects = _write_rejects(folder, totals)
    folder.write_manifest(_dated(folder, manifest_of(plan, totals, shards, files, joined, rejects, pad)))
    report = totals.report(joined)
    folder.write(f"{REPORT}.json", report.to_json())
    folder.write(f"{REPORT}.md", report.to_markdown())
    folder.remove_spools()
    known = {*report.joined, *(rejects or ())}
    names = {name for name in folder.storage.names() if _is_left(name, plan.num_shards)}
    names |= {f"{JOINED}/{name}" for name in folder.storage.names(JOINED) if name.startswith(f"{JOINED}.")}
    folder.storage.remove(sorted(names - known))
    of_tasks = {name for facts, _ in totals.rejects for name in facts["rejects"]}
    folder.storage.remove(sorted(f"{REJECTS}/{name}" for name in folder.storage.sizes(REJECTS) if name not in of_tasks))
    for complaint in report.complaints():
        _log.warning(complaint, extra={"skipped": report.num_skipped})
    return report


def _is_left(name: str, num_shards: int) -> bool:
    """True if a file can be stale: a joined file, ``rejects.jsonl``, or a file of a shard that is no longer planned."""
    shard = re.fullmatch(r"shard-(\d{5,18})\..+", name, re.ASCII)
    return name.startswith(f"{JOINED}.") or name == REJECTED or (shard is not None and int(shard[1]) >= num_shards)


def _write_rejects(folder: ShardFolder, totals: Totals) -> dict[str, Any] | None:
    """Writes the skipped records of all tasks to one file; returns name -> size and hash.

    If no records were skipped, it writes nothing and returns None.
    """
    if not totals.rejects:
        return None
    with folder.outputs() as files:
        file = files.open(REJECTED)
        for facts, before in totals.rejects:
            for line in read_rejects(folder, facts, before):
                file.write(line)
    return files.facts


def add_up(
    folder: ShardFolder, plan: Plan, check: Callable[[dict[str, Any]], None] = lambda facts: None
) -> tuple[Totals, list[dict[str, Any]]]:
    """Reads all completions; returns their totals, and the entries of the shards for the manifest.

    Args:
        folder: a folder whose tasks are all complete.
        plan: plan of the folder.
        check: called with the completion of each shard; can raise an exception.

    Raises:
        ShardError: a completion is damaged, or of another plan.
        FileNotFoundError: a completion is missing.
    """
    totals = Totals(plan)
    if plan.shuffle is not None:
        for facts in folder.read_done(range(plan.num_tasks), plan, SPOOL):
            totals.add(facts)
    shards = []
    for facts in folder.read_done(range(plan.num_shards), plan):
        check(facts)
        shards.append(totals.add(facts))
    totals.check(str(folder))
    return totals, shards


def _check_sizes(folder: ShardFolder, facts: dict[str, Any], sizes: dict[str, int]) -> None:
    """Checks the sizes of the files of a shard.

    Raises:
        ShardError: a file is missing, or has another size.
    """
    for name, file in facts["outputs"].items():
        size = sizes.get(name)
        if size != file["bytes"]:
            size = folder.storage.size(name)  # a listing can omit a file that another process is replacing
        if size != file["bytes"]:
            late = " (a network file system may show it within a minute: then merge again)"
            was = f"is missing{late}" if size is None else f"has {size:,} bytes"
            where = folder.storage.location(name)
            message = f"{where} {was}, but its task wrote {file['bytes']:,}"
            raise ShardError(f"{message}; run again, or {AGAIN}", path=where)


def _tokenizer_files(folder: ShardFolder, plan: Plan) -> dict[str, Any] | None:
    """Returns the size and hash of the tokenizer's file; None for the format counts, which needs no tokenizer.

    Raises:
        ShardError: the file is missing.
    """
    if plan.tokenizer is None:
        return None
    return {TOKENIZER: _facts(read_tokenizer(folder))}


def _facts(data: bytes) -> dict[str, Any]:
    """Returns the size and hash of a file."""
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def _index(plan: Plan, shards: list[dict[str, Any]]) -> dict[str, bytes]:
    """Returns the index files, from which libraries read the list of all shards: name -> content."""
    return {} if plan.format == COUNTS else LAYOUTS[plan.format].index(shards, plan.shard_facts)


def manifest_of(
    plan: Plan,
    totals: Totals,
    shards: list[dict[str, Any]],
    tokenizer_files: dict[str, Any] | None,
    joined: dict[str, Any] | None,
    rejects: dict[str, Any] | None,
    pad: int | None,
) -> dict[str, Any]:
    """Returns the manifest, without `MADE` entries. `pad`: padding id of the tokenizer, used if the plan has none."""
    index = _index(plan, shards)
    return {
        "version": MANIFEST_VERSION,
        "format": plan.format,
        "dtype": plan.dtype,
        "tokenizer": plan.tokenizer,
        "vocab_size": plan.vocab_size,
        "bos": plan.bos,
        "eos": plan.eos,
        "plan": plan.digest,
        **totals.sums,
        **_extras(plan, pad),
        **totals.arguments(),
        **({"tokenizer_files": tokenizer_files} if tokenizer_files is not None else {}),
        **({"index_files": {name: _facts(data) for name, data in index.items()}} if index else {}),
        "input_root": input_root([file.path for file in plan.inputs]),
        "shards": shards,
        **({"joined": joined} if joined is not None else {}),
        **({"rejects": rejects} if rejects is not None else {}),
    }


def _dated(folder: ShardFolder, manifest: dict[str, Any]) -> dict[str, Any]:
    """Adds the version of Jeton and the date to a manifest; keeps the stored values if nothing else differs.

    The environment variable SOURCE_DATE_EPOCH, in seconds, replaces the date, for reproducible builds.
    """
    from .. import __version__

    with suppress(JetonError, OSError):  # raised if the stored manifest is missing or damaged
        known = folder.load_manifest()
        if {name: value for name, value in known.items() if name not in MADE} == manifest and known.keys() >= MADE:
            return known
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = datetime.fromtimestamp(int(epoch) if epoch.isdecimal() else time.time(), UTC)
    return {"version": manifest["version"], "jeton": __version__, "date": f"{now:%Y-%m-%dT%H:%M:%SZ}", **manifest}


def input_root(paths: Sequence[str]) -> str:
    """Returns the deepest folder that contains all of the files, with a slash at its end.

    Examples:
        >>> input_root(["/data/web/a.jsonl", "/data/web2/b.jsonl"]), input_root(["s3://bucket/a.jsonl"])
        ('/data/', 's3://bucket/')
    """
    folders = [path[: path.rfind("/") + 1] for path in paths]
    prefix = os.path.commonprefix(folders)  # noqa: RUF071 - cut at a slash below; commonpath does not support URLs
    return prefix[: prefix.rfind("/") + 1]


def _extras(plan: Plan, pad: int | None) -> dict[str, Any]:
    """Returns the entries of the manifest for optional features, such as a shuffle, packing and a loss mask."""
    extras: dict[str, Any] = {} if plan.shuffle is None else {"shuffle": plan.shuffle}
    if plan.packing is not None:
        extras |= {"row_length": plan.packing["length"], "pad": plan.packing["pad"]}
    elif pad is not None:
        extras["pad"] = pad
    if plan.format != COUNTS and plan.shard_facts.has_mask:
        extras["loss_mask"] = True
    if generations := _generations(plan):
        extras["generations"] = list(generations)
    extras |= {name: list(value) for name in ("keep", "hash_range") if (value := getattr(plan, name)) is not None}
    return extras


def _generations(plan: Plan) -> tuple[int, ...]:
    """Returns the number of shards of each generation of a shuffle; empty if there is only one generation."""
    return tuple(len(one.buckets) for one in plan.generations) if plan.shuffle is not None and plan.grown else ()


def _join(folder: ShardFolder, plan: Plan, shards: list[Iterable[str]]) -> dict[str, Any]:
    """Joins all shards into one shard; returns name -> size and hash of its files. `shards`: files of each shard.

    The joined files are in a separate folder, so that a program that reads all files of a folder does not read each
    document twice.
    """
    folder.create(JOINED)
    with folder.outputs(JOINED) as files:
        if plan.format == COUNTS:
            joined_counts(folder, plan)._write(files.open(f"{JOINED}.jtc"))
        else:
            LAYOUTS[plan.format].join(files, JOINED, _documents(folder, plan, shards), plan.shard_facts)
        if plan.keep is not None:
            joined = files.open(JOINED + METADATA)
            for number in range(len(shards)):
                with folder.storage.open(folder.stem(number) + METADATA) as file:
                    shutil.copyfileobj(file, joined)
    folder.storage.flush(JOINED)
    return {f"{JOINED}/{name}": file for name, file in files.facts.items()}


def _documents(folder: ShardFolder, plan: Plan, shards: list[Iterable[str]]) -> Iterator[Documents]:
    """Yields the documents of each shard, one shard open at a time."""
    for number, names in enumerate(shards):
        with folder.storage.fetch(names) as place:
            documents = LAYOUTS[plan.format].read(place, folder.stem(number), plan.shard_facts)
            documents.check(folder.storage.location(folder.stem(number)))
            yield documents


class Totals:
    """Totals over all tasks. The completions of the tasks must be added in the order of the tasks."""

    def __init__(self, plan: Plan) -> None:
        self._plan, self._root = plan, input_root([file.path for file in plan.inputs])
        self.sums = {"documents": 0, "bytes": 0, "tokens": 0, "highest_id": -1, "empty": 0}
        self._skipped: dict[str, tuple[int, list[str]]] = {}
        self._replaced: Counter[str] = Counter()
        self._special: Counter[str] = Counter()
        self._kept: Counter[str] = Counter()
        self._seconds: Counter[str] = Counter()
        self._lines: Counter[str] = Counter()  # file -> number of lines in the ranges of earlier tasks
        self._largest: list[tuple[int, str]] = []
        self._sources: dict[str, SourceTotals] = {}
        self._arguments = {name: SourceTotals() for name, _ in plan.arguments or ()}
        self._packing: Counter[str] = Counter()
        self._conversations: Counter[str] = Counter()
        self._shuffled: Counter[str] = Counter()
        self._tally = Tally()
        self._records: dict[str, list[int]] = {}
        # For each task that skipped records: its completion (the stored facts of the finished task), and a dictionary
        # from each file to the number of lines before the task's range.
        self.rejects: list[tuple[dict[str, Any], dict[str, int]]] = []
        self._all_sources = group_files([file.path for file in plan.inputs])

    def add(self, facts: dict[str, Any]) -> dict[str, Any]:
        """Adds the stored facts of a completed task; returns the manifest entry of the task's shard."""
        self._seconds.update(facts["seconds"])
        packing = facts.get("packing", {})
        self._packing.update(packing)
        if "skipped" in facts:
            self._add_documents(facts)
        else:  # a task of a shuffle's second stage; its documents were already added with the first stage
            self._shuffled.update({name: facts[name] for name in ("documents", "tokens")})
        return {
            "files": facts["outputs"],
            "documents": facts["documents"],
            "tokens": facts["tokens"],
            **{name: packing[name] for name in ("rows", "pieces") if packing},
            **({"inputs": self._pieces(facts["task"])} if self._plan.shuffle is None else {}),
        }

    def _pieces(self, task: int) -> list[dict[str, Any]]:
        """Returns the files that a task reads, and the range of each; paths are relative to the root of the inputs."""
        pieces = []
        for piece in self._plan.tasks[task].pieces:
            path = self._plan.inputs[piece.input].path[len(self._root) :]
            pieces.append(
                {"path": path} if piece.end is None else {"path": path, "start": piece.start, "end": piece.end}
            )
        return pieces

    def check(self, folder: str) -> None:
        """Checks that both stages of a shuffle have the same number of documents and of tokens.

        Raises:
            ShardError: the numbers differ.
        """
        for name in ("documents", "tokens") if self._plan.shuffle is not None else ():
            if self._shuffled[name] != self.sums[name]:
                message = (
                    f"{folder}: {self.sums[name]:,} {name} were spooled, but {self._shuffled[name]:,} are in shards"
                )
                raise ShardError(f"{message}; remove done/ and spool/, and run again", path=folder)

    def check_skipped(self, limit: SkipLimit, folder: str) -> None:
        """Checks the number of skipped records, and that each input has a record that was not skipped.

        Raises:
            ShardError: too many records were skipped.
        """
        limit.check(self._tally, folder)
        if not limit.allows_all:
            check_any_left(self._records, self._tally, list(self._skipped), folder)

    def _add_documents(self, facts: dict[str, Any]) -> None:
        """Adds the totals of a task that read documents."""
        for piece in self._plan.tasks[facts["task"]].pieces:
            if piece.start == 0:  # the file is read from its start: remove the line count of a previous pass, if any
                self._lines.pop(self._plan.inputs[piece.input].path, None)
        for name in ("documents", "bytes", "tokens", "empty"):
            self.sums[name] += facts[name]
        self.sums["highest_id"] = max(self.sums["highest_id"], facts["highest_id"])
        for kind, (count, places) in facts["skipped"].items():
            before, known = self._skipped.get(kind, (0, []))
            known += [self._place(*split_place(place)) for place in places][: MAX_PLACES - len(known)]
            self._skipped[kind] = before + count, known
        largest = [(tokens, self._place(file, number)) for tokens, file, number in facts["largest"]]
        # `sorted` is stable: if documents have equally many ids, the documents that were read first are kept
        self._largest = sorted([*self._largest, *largest], key=lambda found: -found[0])[:MAX_PLACES]
        self._replaced.update(facts["replaced"])
        self._special.update(facts["special"])
        self._kept.update(facts.get("kept", {}))
        self._conversations.update(facts.get("conversations", {}))
        self._tally = self._tally.plus(facts)
        for file, (documents, skipped) in facts.get("records", {}).items():
            before_it = self._records.get(file, [0, 0])
            self._records[file] = [before_it[0] + documents, before_it[1] + skipped]
        files = [self._plan.inputs[piece.input].path for piece in self._plan.tasks[facts["task"]].pieces]
        if facts.get("rejects"):
            self.rejects.append((facts, {file: self._lines[file] for file in files}))
        rows = facts.get("sources", {})  # tasks of the format counts have no sources
        # Each task groups its own inputs into sources; `regroup` maps these sources to the sources of all inputs.
        # Facts without the key "identity" were written by an earlier version of Jeton. The earlier version grouped all
        # inputs, so the sources in these facts need no mapping.
        names = regroup(files, self._all_sources) if rows and "identity" in facts else {}
        for source, row in rows.items():
            name = names.get(source, source)
            self._sources[name] = self._sources.get(name, SourceTotals()).plus(row)
        for argument, row in facts.get("arguments", {}).items():
            self._arguments[argument] = self._arguments.get(argument, SourceTotals()).plus(row)
        self._lines.update(facts["lines"])

    def _place(self, file: str, number: int | None) -> str:
        """Returns the file and line of a document. `number`: line in the task's range, None for a whole file."""
        return file if number is None else f"{file}:{number + self._lines[file]}"

    def report(self, joined: dict[str, Any] | None) -> Report:
        """Returns the report."""
        return Report(
            format=self._plan.format,
            dtype=self._plan.dtype,
            tokenizer=self._plan.tokenizer,
            inputs=len(self._plan.inputs),
            input_bytes=self._plan.num_bytes,
            shards=self._plan.num_shards,
            **self.sums,
            skipped={kind: (count, tuple(places)) for kind, (count, places) in self._skipped.items()},
            replaced=dict(self._replaced),
            special=dict(self._special),
            largest=tuple(self._largest),
            sources=self._sources,
            arguments=self._known_arguments(),
            seconds={name: round(value, 3) for name, value in self._seconds.items()},
            joined=tuple(joined or ()),
            packing=self._packing_facts(),
            conversations=self._conversation_facts(),
            generations=_generations(self._plan),
            kept=dict(self._kept) if self._plan.keep is not None else None,
        )

    def arguments(self) -> dict[str, Any]:
        """Returns the manifest entry with the totals of each corpus argument; {} if there is only one argument."""
        totals = {name: row._asdict() for name, row in self._known_arguments().items()}
        return {"arguments": totals} if totals else {}

    def _known_arguments(self) -> dict[str, SourceTotals]:
        """Returns the totals of each corpus argument.

        Empty if there is only one argument, if the format is counts, or if some tasks were run by an earlier version of
        Jeton, which did not count by argument.
        """
        is_known = sum(row.tokens for row in self._arguments.values()) == self.sums["tokens"]
        return self._arguments if len(self._arguments) > 1 and is_known and self._plan.format != COUNTS else {}

    def _conversation_facts(self) -> dict[str, Any] | None:
        """Returns the policy for conversations longer than a row, and the numbers of conversations that it affected."""
        policy = (self._plan.conversations or {}).get("too_long")
        return None if policy is None else {"policy": policy, **self._conversations}

    def _packing_facts(self) -> dict[str, Any] | None:
        """Returns the totals of packing, with the share of ids that are not padding."""
        options = self._plan.packing
        if options is None:
            return None
        size = self._packing["rows"] * options["length"]
        fill = (size - self._packing["padding"]) / size if size else None
        return {"length": options["length"], "method": options["method"], **self._packing, "fill": fill}
