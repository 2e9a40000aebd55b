"""`verify`: reads all shards again, and checks them against the tasks' completion files and samples of the inputs.

The manifest and the report must equal those that `merge` would write from the completion files. Every file is hashed; a
file whose hash differs is not checked further. Ids and documents are counted, and the highest id, bos and eos are
checked. For some tasks, the first batch is read from the inputs and encoded again, and must give the ids of the shard.
If an input of such a task has the planned size but another modification time, the whole task is encoded again, unless
shards are shuffled or packed. If the inputs are no longer available, documents of some shards are decoded instead.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..corpus.kept_fields import place_json
from ..errors import ConfigError, InvalidTextError, JetonError, keyword
from ..tokenizer import Tokenizer
from ..util.arguments import flag
from ..util.progress import Progress, ProgressEvent, make_reporter
from .collecting import gather, read_origins
from .conversations import make_encoder
from .encoding import EncodedDocuments
from .folder import AGAIN, MANIFEST, REPORT, ShardFolder
from .layouts import COUNTS, LAYOUTS, Documents
from .layouts.base import mapped
from .merging import JOINED, MADE, Totals, add_up, manifest_of
from .metadata import METADATA, line_ends, metadata_of
from .outputs import sha256_of
from .plan import Plan
from .relocation import has_no_input, moved_plan, touched_inputs
from .report import report as read_report
from .sealed import has_digest
from .tasks import DONE
from .tokenizers import load_tokenizer

__all__ = ["Verification", "verify"]

BLOCK = 1 << 20
NUM_SOURCES = 4  # number of tasks whose first batch is encoded again
NUM_DECODED = 16  # number of documents of each task that are decoded


@dataclass(frozen=True)
class Verification:
    """Result of `verify`.

    Attributes:
        folder: the folder.
        shards, documents, tokens: totals of the shards.
        compared: number of documents that were read from the inputs and encoded again, with equal ids.
        decoded: number of compared documents that were also decoded. Without inputs: number of decoded documents.
        decoded_equal: number of decoded documents whose bytes equal the source. (They differ if the tokenizer
            normalizes text or drops white space.) Without inputs: number of decoded documents for which encoding the
            decoded text gives the same ids.
        problems: descriptions of all differences; empty if there are none.
        inputs: ``"read"``: samples were compared with the inputs; ``"missing"``: no input of the samples is on this
            machine; ``"ignored"``: with ``inputs=False``.
        touched: number of changed inputs among the inputs of the samples. Such an input has the planned size, but not
            the planned modification time or ETag.

    Examples:
        >>> Verification("out", 1, 2, 9, 2, 2, 2, ()).is_valid
        True
    """

    folder: str
    shards: int
    documents: int
    tokens: int
    compared: int
    decoded: int
    decoded_equal: int
    problems: tuple[str, ...]
    inputs: str = "read"
    touched: int = 0

    @property
    def is_valid(self) -> bool:
        """True if there are no differences."""
        return not self.problems

    def to_json(self) -> dict[str, Any]:
        """Returns the result as JSON."""
        return {**vars(self), "problems": list(self.problems)}


def verify(
    output: str | os.PathLike[str],
    *,
    inputs: bool | None = None,
    moved: Mapping[str, str] | None = None,
    progress: Progress = None,
) -> Verification:
    """Reads all shards of a merged folder again, and compares samples with the inputs.

    Args:
        output: the folder.
        inputs: True: compare samples with the inputs; a missing input is a difference. False: do not look for the
            inputs, and decode documents of some shards instead. None: like True if `moved` is passed or any
            input of the samples exists, otherwise like False.
        moved: for inputs that were moved: prefix of paths in the plan -> new prefix, as in ``{"/data/corpus":
            "/mnt/corpus"}``.
        progress: None draws a bar in a terminal; True, False, or a function that is called with each event.

    Returns:
        Totals, and every difference. A difference is not raised as an error.

    Raises:
        ShardError: the folder has no plan, or is not merged.
        FormatError: the plan or the manifest is damaged, or of another version.
        ConfigError: a prefix in `moved` matches no input, or `moved` is passed with ``inputs=False``.

    Examples:
        >>> import jeton, os, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> with open(f"{folder}/a.txt", "w") as file:
        ...     _ = file.write("to be or not to be")
        >>> _ = jeton.shards.make(f"{folder}/a.txt", f"{folder}/out", jeton.default(), progress=False)
        >>> os.rename(f"{folder}/a.txt", f"{folder}/b.txt")
        >>> found = verify(f"{folder}/out")
        >>> found.inputs, found.compared, found.decoded
        ('missing', 0, 1)
        >>> verify(f"{folder}/out", moved={f"{folder}/a.txt": f"{folder}/b.txt"}).compared
        1
        >>> with open(f"{folder}/out/shard-00000.bin", "r+b") as file:
        ...     _ = file.write(b"?")
        >>> print(verify(f"{folder}/out").problems[0].removeprefix(f"{folder}/out/").partition(";")[0])
        shard-00000.bin: its bytes have changed: the hash differs
    """
    folder = ShardFolder(output)
    plan = folder.load_plan()
    manifest = folder.load_manifest()
    if inputs is not None:
        flag(inputs, "inputs")
    if inputs is False and moved:
        raise ConfigError(f"{keyword('moved')} has no effect with {keyword('inputs', False)}", option="moved")
    reading = moved_plan(plan, moved) if moved else plan
    sampled = _spread_numbers(plan.num_tasks, NUM_SOURCES)
    is_missing = inputs is None and not moved and has_no_input(plan, (plan.tasks[number] for number in sampled))
    state = "ignored" if inputs is False else "missing" if is_missing else "read"
    with make_reporter(progress) as report:
        return _Verifier(folder, plan, manifest, reading, state).run(report, sampled)


class _Verifier:
    """One run of `verify`; collects the problems that its checks find."""

    def __init__(self, folder: ShardFolder, plan: Plan, manifest: dict[str, Any], reading: Plan, inputs: str) -> None:
        """`reading`: the plan with the current paths of inputs; `inputs`: as in `Verification`."""
        self._folder, self._plan, self._manifest, self._reading = folder, plan, manifest, reading
        self._inputs, self._touched = inputs, 0
        self._problems: list[str] = []
        self._documents = self._tokens = self._compared = self._decoded = self._decoded_equal = 0
        self._highest = -1
        self._totals: Totals | None = None  # totals of the completion files
        self._is_reordered = plan.shuffle is not None or plan.packing is not None
        # task -> (expected result of the task's first batch, number of documents and number of ids of this batch that
        # were found in the shards)
        self._samples: dict[int, tuple[EncodedDocuments, int, int]] = {}

    def run(self, report: Any, sampled: Sequence[int]) -> Verification:
        """Runs all checks; `sampled`: tasks whose documents are compared with the inputs."""
        plan, manifest = self._plan, self._manifest
        row_length = None if plan.packing is None else plan.packing["length"]
        given = manifest["plan"], len(manifest["shards"]), manifest.get("row_length")
        if given != (plan.digest, plan.num_shards, row_length):
            self._problems.append(f"{self._folder.storage.location(MANIFEST)}: it belongs to another plan; merge again")
            return self._result(0)
        sizes = self._folder.storage.sizes()
        for check in (self._check_completions, self._check_report, self._check_page):
            self._collect(str(self._folder), check, Path())
        before = len(self._problems)
        self._check_files(manifest.get("tokenizer_files", {}), sizes, "; remove it, and plan again")
        tok = self._tokenizer() if len(self._problems) == before else None
        if tok is not None and plan.packing is None and manifest.get("pad") not in (None, tok.pad_id):
            where = self._folder.storage.location(MANIFEST)
            self._problems.append(
                f"{where}: its 'pad' is {manifest['pad']}, but that of the tokenizer is {tok.pad_id}; merge again"
            )
        if self._inputs != "read":
            sampled = _spread_numbers(plan.num_shards, NUM_SOURCES)
        elif self._is_reordered and tok is not None:
            for number in sampled:
                self._collect(self._folder.stem(number), partial(self._sample, number, tok), Path())
            sampled = ()
        total = sum(file["bytes"] for shard in manifest["shards"] for file in shard["files"].values())
        done = 0
        for number, shard in enumerate(manifest["shards"]):
            report(ProgressEvent("verify", done, total, "B"))
            hint = f"; {AGAIN}"
            check = partial(self._check_shard, number, shard, tok, number in sampled)
            self._check_files(shard["files"], sizes, hint, partial(self._collect, self._folder.stem(number), check))
            done += sum(file["bytes"] for file in shard["files"].values())
        self._check_files(manifest.get("index_files", {}), sizes, "; merge again")
        self._check_files(manifest.get("joined", {}), sizes, "; merge with join again", self._check_joined)
        self._check_files(manifest.get("rejects", {}), sizes, "; merge again")
        self._check_samples()
        self._check_sums()
        report(ProgressEvent("verify", total, total, "B"))
        return self._result(plan.num_shards)

    def _result(self, shards: int) -> Verification:
        return Verification(
            str(self._folder), shards, self._documents, self._tokens, self._compared, self._decoded,
            self._decoded_equal, tuple(self._problems), self._inputs, self._touched,
        )  # fmt: skip

    def _check_completions(self, _: Path) -> None:
        """Compares the manifest with the plan and the totals of the completion files."""
        manifest = self._manifest
        joined, files, rejects = (manifest.get(name) for name in ("joined", "tokenizer_files", "rejects"))
        self._totals, shards = add_up(self._folder, self._plan)
        expected = manifest_of(self._plan, self._totals, shards, files, joined, rejects, manifest.get("pad"))
        if (rejects is None) != (not self._totals.rejects):
            expected["rejects"] = object()  # a new object equals no value, so a difference is reported
        if (files is None) != (self._plan.tokenizer is None):
            expected["tokenizer_files"] = object()  # a new object equals no value, so a difference is reported
        if "input_root" not in manifest:  # manifest of an earlier version
            del expected["input_root"]
            expected["shards"] = [{name: shard[name] for name in shard if name != "inputs"} for shard in shards]
        for name in sorted({*expected, *manifest} - MADE):
            if manifest.get(name, ...) != expected.get(name, ...):
                where = self._folder.storage.location(MANIFEST)
                self._problems.append(f"{where}: {name!r} differs from that of the plan and of {DONE}/; merge again")

    def _check_report(self, _: Path) -> None:
        """Compares the report with the completion files, but not the times: they change if a task runs again."""
        found = read_report(str(self._folder))
        if self._totals is not None:
            expected = self._totals.report(self._manifest.get("joined"))
            if replace(found, seconds={}) != replace(expected, seconds={}):
                where = self._folder.storage.location(f"{REPORT}.json")
                self._problems.append(f"{where}: it differs from that of {DONE}/; merge again")

    def _check_page(self, _: Path) -> None:
        """Checks the digest of the Markdown page of the report."""
        name = f"{REPORT}.md"
        if not has_digest(self._folder.read_bytes(name)):
            where = self._folder.storage.location(name)
            self._problems.append(f"{where}: its bytes have changed: the digest differs; merge again")

    def _tokenizer(self) -> Tokenizer | None:
        try:
            return load_tokenizer(self._folder, self._plan)
        except JetonError as error:
            self._problems.append(str(error))
            return None

    def _collect(self, name: str, check: Callable[[Path], None], folder: Path) -> None:
        """Runs a check on the files in a folder; records its errors as problems."""
        try:
            check(folder)
        except (JetonError, OSError) as error:
            text = str(error)
            self._problems.append(text if name in text else f"{name}: {text}")

    def _check_files(
        self,
        files: dict[str, dict[str, Any]],
        sizes: dict[str, int],
        hint: str,
        check: Callable[[Path], None] = lambda folder: None,
    ) -> None:
        """Checks the sizes and hashes of files; if all of them match, runs `check` on their content.

        `hint`: the end of each message, which says how to make the files again.
        """
        where = self._folder.storage.location
        before = len(self._problems)
        # If the listing lacks a file, its size is read from the file itself, because a listing can omit a file that
        # another process is replacing.
        found = {name: sizes[name] if name in sizes else self._folder.storage.size(name) for name in files}
        existing = [name for name in files if found[name] is not None]
        self._problems += [f"{where(name)}: it is missing{hint}" for name in files if name not in existing]
        with self._folder.storage.fetch(existing) as folder:
            for name in existing:
                file = files[name]
                if found[name] != file["bytes"]:
                    was = f"it has {found[name]:,} bytes, expected {file['bytes']:,}"
                    self._problems.append(f"{where(name)}: {was}{hint}")
                elif sha256_of(folder / name) != file["sha256"]:
                    self._problems.append(f"{where(name)}: its bytes have changed: the hash differs{hint}")
            if len(self._problems) == before:
                check(folder)

    def _check_shard(
        self, number: int, shard: dict[str, Any], tok: Tokenizer | None, is_sampled: bool, folder: Path
    ) -> None:
        """Checks the content of a shard, whose files are in `folder`."""
        plan, stem = self._plan, self._folder.stem(number)
        if plan.format == COUNTS:
            from ..training import Counts

            counts = Counts.load(folder / f"{stem}.jtc")
            self._equal(stem, "documents", counts.documents, shard["documents"])
            self._equal(stem, "pretokens", counts.total, shard["tokens"])
            self._documents, self._tokens = self._documents + counts.documents, self._tokens + counts.total
            return
        layout = LAYOUTS[plan.format]
        found = layout.read(folder, stem, plan.shard_facts)
        found.check(stem)
        before = len(self._problems)
        if plan.packing is None:
            self._equal(stem, "documents", len(found), shard["documents"])
            self._equal(stem, "tokens", len(found.tokens), shard["tokens"])
        else:
            self._equal(stem, "pieces", len(found), shard["pieces"])
            self._equal(stem, "ids", len(found.tokens), shard["rows"] * plan.packing["length"])
        self._documents, self._tokens = self._documents + shard["documents"], self._tokens + shard["tokens"]
        highest = max(
            (int(found.tokens[at : at + BLOCK].max()) for at in range(0, len(found.tokens), BLOCK)), default=-1
        )
        if highest >= plan.vocab_size:
            self._problems.append(
                f"{stem}: its highest id is {highest:,}, but the tokenizer has {plan.vocab_size:,} ids"
            )
        self._highest = max(self._highest, highest)
        if plan.keep is not None:
            lines = line_ends(mapped(folder / (stem + METADATA), "u1"))
            self._equal(
                f"{stem}{METADATA}", "lines", len(lines), shard["documents" if plan.packing is None else "rows"]
            )
        if len(self._problems) > before:
            return  # the checks below need a shard whose numbers match the manifest
        if plan.packing is None:
            self._check_frames(stem, found)
        if self._is_reordered:
            self._find_samples(stem, found, folder)
        if is_sampled and tok is not None:
            if self._inputs == "read":
                self._compare(number, found, tok, folder)
            else:
                self._decode(number, found, tok)

    def _check_joined(self, folder: Path) -> None:
        """Checks that the joined file has as many documents and ids as all shards together."""
        if self._plan.format == COUNTS or "joined" not in self._manifest:
            return

        def check(folder: Path) -> None:
            stem = min(self._manifest["joined"]).partition(".")[0]
            found = LAYOUTS[self._plan.format].read(folder, stem, self._plan.shard_facts)
            found.check(JOINED)
            shards, packing = self._manifest["shards"], self._plan.packing
            unit, ids = ("documents", "tokens") if packing is None else ("pieces", "rows")
            self._equal(JOINED, unit, len(found), sum(shard[unit] for shard in shards))
            num_ids = sum(shard[ids] for shard in shards) * (1 if packing is None else packing["length"])
            self._equal(JOINED, "ids", len(found.tokens), num_ids)

        self._collect(JOINED, check, folder)

    def _check_frames(self, stem: str, found: Documents) -> None:
        """Checks that each document begins with bos and ends with eos, if the plan has them."""
        for name, id, edges in (("bos", self._plan.bos, found.firsts), ("eos", self._plan.eos, found.lasts)):
            if id is not None:
                missing = sum(int(np.count_nonzero(found.tokens[block] != id)) for block in edges())
                if missing:
                    lack = "document lacks" if missing == 1 else "documents lack"
                    self._problems.append(f"{stem}: {missing:,} {lack} the {name} id {id}")

    def _compare(self, number: int, found: Documents, tok: Tokenizer, folder: Path) -> None:
        """Encodes the inputs of a shard again, and compares the results with the shard.

        Only the first batch is compared, or all batches if an input has another modification time or ETag than planned.
        """
        plan, task = self._reading, self._reading.tasks[number]
        touched = touched_inputs(plan, task)
        self._touched += touched
        stem, reader = self._folder.stem(number), plan.reader(task)
        encoder = make_encoder(tok, plan, reader)
        documents = tokens = metadata_read = 0  # numbers of compared documents, ids and bytes of metadata
        paths = ((plan.inputs[at].path, self._plan.inputs[at].path) for at in (piece.input for piece in task.pieces))
        planned = {now: then for now, then in paths if now != then}
        for batch in reader.batches():
            expected = encoder.encode(batch)
            ends = np.cumsum(expected.lengths).tolist()
            if difference := self._difference(found, documents, tokens, expected, ends):
                self._problems.append(f"{stem}: {difference}")
                return
            if plan.keep is not None:
                lines = [line for place in expected.places for line in metadata_of(place)]
                written = b"".join(_with_planned_file(line, planned) + b"\n" for line in lines)
                with (folder / (stem + METADATA)).open("rb") as file:
                    file.seek(metadata_read)
                    if file.read(len(written)) != written:
                        self._problems.append(f"{stem}{METADATA}: it differs from that of its source")
                        return
                metadata_read += len(written)
            self._compared += len(ends)
            # Decodes documents of the first batch, if they can be compared with its texts: document i comes from
            # text i, and no template has rewritten the text.
            if documents == 0 and len(ends) == len(batch) and plan.chat is None:
                for index, _, _ in self._spread(ends):
                    self._decoded += 1
                    self._decoded_equal += tok.decode_bytes(self._content(found[index])) == batch.texts[index]
            documents, tokens = documents + len(ends), tokens + len(expected.ids)
            if not touched:
                return
        self._equal(stem, "documents", len(found), documents)

    def _difference(
        self, found: Documents, first: int, start: int, expected: EncodedDocuments, ends: list[int]
    ) -> str | None:
        """Compares a part of a shard with the expected documents; describes the first difference, or returns None.

        `first`: index of the first document of the part. `start`: index of the part's first id in `found.tokens`.
        """
        if not np.array_equal(found.tokens[start : start + len(expected.ids)], expected.ids):
            return "its ids differ from those of its source"
        if len(found) < first + len(ends):
            return f"it has {len(found):,} documents, but its source has at least {first + len(ends):,}"
        for index, one, end in self._spread(ends):
            if not np.array_equal(found[first + index], expected.ids[one:end]):
                return f"document {first + index} differs from that of its source"
        if expected.mask is not None and (
            found.mask is None or not np.array_equal(found.mask[start : start + len(expected.ids)], expected.mask)
        ):
            return "its loss mask differs from that of its source"
        return None

    def _decode(self, number: int, found: Documents, tok: Tokenizer) -> None:
        """Decodes documents of a shard; no inputs are needed. Raises an error for ids that the tokenizer lacks."""
        is_whole = self._plan.packing is None and self._plan.chat is None
        for index in _spread_numbers(len(found), NUM_DECODED):
            ids = found[index].tolist()
            text = tok.decode_bytes(self._content(found[index]) if is_whole else ids)
            # Only whole documents are encoded again. For a chat, or for a part of a document (in packed rows), the new
            # ids can differ from the ids in the shard.
            if is_whole:
                self._decoded += 1
                with suppress(InvalidTextError):  # the tokenizer cannot encode some characters
                    again = tok.encode(text, add_special_tokens=False)
                    self._decoded_equal += list(again) == self._content(found[index])

    def _content(self, ids: NDArray[Any]) -> list[int]:
        """Returns the ids of a document without bos and eos."""
        content = ids[self._plan.bos is not None :]
        kept: list[int] = (content[:-1] if self._plan.eos is not None else content).tolist()
        return kept

    def _sample(self, number: int, tok: Tokenizer, folder: Path) -> None:
        """Encodes the first batch of a task again. `_find_samples` later finds these documents in reordered shards."""
        plan, task = self._reading, self._reading.tasks[number]
        self._touched += touched_inputs(plan, task)
        reader = plan.reader(task)
        batch = next(reader.batches(), None)
        if batch is not None:
            self._samples[number] = make_encoder(tok, plan, reader).encode(batch), 0, 0

    def _find_samples(self, stem: str, found: Documents, folder: Path) -> None:
        """Finds the documents of a shard that belong to a sample, and compares their ids with the expected ids."""
        origins = read_origins(folder, stem)
        if len(origins) != len(found):
            self._problems.append(f"{stem}: {len(origins):,} origins of {len(found):,} documents or pieces")
            return
        ends = (
            found.ends
            if self._plan.packing is not None
            else np.cumsum(np.concatenate([np.empty(0, np.int64), *found.lengths()]))
        )
        for number, (expected, documents, tokens) in self._samples.items():
            own = np.flatnonzero((origins[:, 0] == number) & (origins[:, 1] < len(expected.lengths)))
            stops = ends[own].astype(np.int64)
            starts = np.where(own > 0, ends[own - 1], 0).astype(np.int64)
            indices, firsts = origins[own, 1].astype(np.int64), origins[own, 2].astype(np.int64)
            sources = (np.cumsum(expected.lengths) - expected.lengths)[indices] + firsts
            lengths = stops - starts
            if (firsts + lengths > expected.lengths[indices]).any() or any(
                ours is not None and not np.array_equal(gather(ours, starts, lengths), gather(theirs, sources, lengths))
                for ours, theirs in ((found.tokens, expected.ids), (found.mask, expected.mask))
                if theirs is not None
            ):
                self._problems.append(f"{stem}: its documents of task {number} differ from those of their source")
            known = self._samples[number]
            self._samples[number] = known[0], documents + int((firsts == 0).sum()), tokens + int(lengths.sum())

    def _check_samples(self) -> None:
        """Checks that all documents of the samples were found in the shards, unless packing drops ids."""
        dropped = self._plan.packing is not None and self._plan.packing["rest"] == "drop"
        for number, (expected, documents, tokens) in self._samples.items():
            if not dropped and not self._problems:  # after a problem, some shards were not read
                self._equal(f"task {number}", "documents in shards", documents, len(expected.lengths))
                self._equal(f"task {number}", "ids in shards", tokens, len(expected.ids))
            self._compared += documents

    @staticmethod
    def _spread(ends: list[int]) -> Iterator[tuple[int, int, int]]:
        """Yields index, start and end of up to `NUM_DECODED` documents."""
        for index in _spread_numbers(len(ends), NUM_DECODED):
            yield index, ends[index - 1] if index else 0, ends[index]

    def _check_sums(self) -> None:
        """Compares the totals of the shards with the manifest."""
        if self._problems:
            return  # wrong totals would only be consequences of these problems
        for name, value in (("documents", self._documents), ("tokens", self._tokens)):
            self._equal(MANIFEST, name, value, self._manifest[name])
        if self._plan.packing is None:  # packing can change the highest id: it adds padding ids, and can drop ids
            self._equal(MANIFEST, "highest_id", self._highest, self._manifest["highest_id"])

    def _equal(self, name: str, what: str, value: int, expected: int) -> None:
        if value != expected:
            self._problems.append(f"{name}: {what} {value:,}, expected {expected:,}")


def _spread_numbers(number: int, most: int) -> list[int]:
    """Returns up to `most` numbers below `number`, evenly spread.

    Examples:
        >>> _spread_numbers(9, 3), _spread_numbers(2, 3), _spread_numbers(0, 3)
        ([0, 4, 8], [0, 1], [])
    """
    return sorted(set(np.linspace(0, number - 1, most).astype(int).tolist())) if number else []


def _with_planned_file(line: bytes, planned: Mapping[str, str]) -> bytes:
    """Returns the metadata of a document; replaces the path of a moved input by the planned path."""
    if planned and line.startswith(b'{"file": '):
        facts = json.loads(line)
        if facts.keys() <= {"file", "number"} and isinstance(facts["file"], str) and facts["file"] in planned:
            return place_json(planned[facts["file"]], facts.get("number"))
    return line
