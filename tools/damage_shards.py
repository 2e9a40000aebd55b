"""Damages folders of shards and Arrow data many times; checks that each damage is detected and that no call crashes.

    python tools/damage_shards.py flips --number 2000    one byte of a file, for each layout: verify, open, merge, …
    python tools/damage_shards.py arrow --number 2000    one byte of an IPC stream: encode_arrow
    python tools/damage_shards.py parquet --number 2000  one byte of a Parquet file: make
    python tools/damage_shards.py json --number 2000     one value of plan, manifest, completion, report: every verb

Each trial runs in a process with limits of memory and time, so that a crash ends only this process. A trial fails if it
ends by a signal, if it raises an error that is neither Jeton's nor an `OSError`, if `verify` calls a damaged folder
valid, or if it exceeds the limits. Half of the trials of ``flips`` and ``json`` also rewrite hashes and digests, as an
attacker could. In these trials only the structure of the data is checked, and `verify` may find the folder valid if no
other file records the changed value. Prints the outcomes, and the highest memory and time of a trial. Needs `os.fork`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import os
import random
import resource
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import jeton
import jeton.training
from jeton.shards.sealed import sealed_json, unsealed_json
from jeton.shards.tokenizers import remember_tokenizer

LAYOUTS: dict[str, dict[str, Any]] = {
    "megatron": {"format": "megatron", "append_eos": True},
    "megatron-packed": {"format": "megatron", "pack": 32, "packing": "best_fit", "join": True},
    "bin": {"format": "bin", "append_eos": True, "join": True},
    "bin-packed": {"format": "bin", "pack": 32, "shuffle": 3},
    "llmc": {"format": "llmc", "append_eos": True},
    "datatrove": {"format": "datatrove", "append_eos": True},
    "datatrove-chat": {"format": "datatrove", "chat": True},
    "olmo": {"format": "olmo", "append_eos": True},
    "olmo-packed": {"format": "olmo", "pack": 32},
    "parquet": {"format": "parquet"},
    "parquet-packed": {"format": "parquet", "pack": 32},
    "arrow": {"format": "arrow"},
    "arrow-packed": {"format": "arrow", "pack": 32, "shuffle": 3},
    "counts": {"format": "counts"},
}
TEMPLATE = (
    "{%- for m in messages %}{%- generation %}{{- m.role + ': ' + m.content + '\n' }}{%- endgeneration %}{%- endfor %}"
)
FOUND, MISSED, RAW, SKIPPED = range(4)  # exit codes of a trial
OUTCOMES = {FOUND: "found", MISSED: "MISSED", RAW: "RAW ERROR", SKIPPED: "not damaged"}
SECONDS = 10
VALUES: list[Any] = [
    None, True, False, -1, 0, 1, 7, 2**31, 2**32 - 1, 2**62, 2**63, 2**64, -(2**63), 10**40, 0.5, -1e308, float("nan"),
    float("inf"), "", "x", "shard-00000.bin", "../../etc/passwd", "0" * 64, "\ud800", "\0", "uint32", "int32", "uint16",
    "bin", "counts", "zlib", "٣", "9" * 5000, [], {}, [[]], [None], {"": None}, [1, 2, 3],
    {"bytes": 1, "sha256": "0" * 64},
]  # fmt: skip


class Trials:
    """Numbers of outcomes, and the highest memory and time of a trial."""

    def __init__(self) -> None:
        self.outcomes = Counter[str]()
        self.seconds, self.megabytes = 0.0, 0.0

    def run(self, name: str, trial: Callable[[], int], memory: int) -> None:
        """Runs a trial in a process of its own; prints the trial's name if it fails."""
        began = time.perf_counter()
        process = os.fork()
        if not process:
            code = RAW
            try:
                resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
                # `memory` limits resident memory. RLIMIT_DATA is higher: allocators reserve more memory than they use.
                resource.setrlimit(resource.RLIMIT_DATA, (8 * memory, 8 * memory))
                code = trial()
            except BaseException:
                traceback.print_exc(limit=-5)
            finally:
                sys.stderr.flush()
                os._exit(code)
        _, status, usage = os.wait4(process, 0)
        self.seconds = max(self.seconds, time.perf_counter() - began)
        self.megabytes = max(self.megabytes, usage.ru_maxrss / 1024)
        code = os.waitstatus_to_exitcode(status)
        outcome = OUTCOMES.get(code, f"SIGNAL {-code}")
        if usage.ru_maxrss << 10 > memory:
            code, outcome = MISSED, "TOO MUCH MEMORY"
        self.outcomes[outcome] += 1
        if code not in (FOUND, SKIPPED):
            print(f"  {outcome}: {name}", flush=True)

    @property
    def has_failed(self) -> bool:
        """True if a trial has failed."""
        return any(name.isupper() or name.startswith("SIGNAL") for name in self.outcomes)

    def __str__(self) -> str:
        return f"{dict(self.outcomes)}; at most {self.megabytes:.0f} MB, {self.seconds:.1f} s"


def write_corpus(folder: Path) -> None:
    """Writes rows of texts and rows of conversations."""
    rng = random.Random(1)  # noqa: S311
    words = ["low", "lower", "newest", "wide", "日本", "ä", "the", "tokens"]
    with (folder / "rows.jsonl").open("w") as file:
        for _ in range(16):
            text = " ".join(rng.choices(words, k=rng.randrange(1, 30)))
            file.write(json.dumps({"text": text, "messages": [{"role": "user", "content": text}]}) + "\n")


def make(folder: Path, name: str, tok: jeton.Tokenizer | None) -> Path:
    """Makes the shards of a layout in a process of its own, so that this process has no threads."""
    options = dict(LAYOUTS[name])
    out = folder / name
    process = os.fork()
    if not process:
        logging.disable()
        if name == "counts":
            tok, options["pattern"] = None, "gpt2"
        jeton.shards.make(folder / "rows.jsonl", out, tok, task_bytes=2000, progress=False, workers=1, **options)
        os._exit(0)
    if os.waitpid(process, 0)[1]:
        raise SystemExit(f"making {name} failed")
    return out


def allowed(call: Callable[[], object]) -> bool:
    """Makes a call; returns true if it raised an error that is expected for damaged files."""
    try:
        call()
    except jeton.JetonError:
        return True
    except OSError as error:
        if error.errno is None:
            raise
        return True
    return False


def read_all(folder: Path) -> None:
    """Reads shards with every method of a dataset."""
    dataset = jeton.shards.open(folder)
    list(dataset.batches(7))
    if dataset.row_length is not None:
        for rows in dataset.rows(3):
            if rows.position_ids.shape != rows.ids.shape or rows.cu_seqlens[-1] != rows.ids.size:
                raise AssertionError("position ids of another shape")
    dataset.take(range(len(dataset)))
    for batch in jeton.shards.loader(dataset, dataset.row_length or 7, 5):
        if batch["position_ids"].shape != batch["labels"].shape or batch["cu_seqlens"][-1] != batch["labels"].size:
            raise AssertionError("a batch with arrays of other shapes")
    for item in dataset:
        columns = list(item.values()) if isinstance(item, dict) else [item]
        if not len(columns[0]) or {len(column) for column in columns} != {len(columns[0])}:
            raise AssertionError("an empty item, or columns of other lengths")


def is_found(folder: Path) -> bool:
    """Tests whether `verify` finds a difference."""
    valid = []
    if allowed(lambda: valid.append(jeton.shards.verify(folder, progress=False).is_valid)):
        return True
    return not valid[0]


def use(folder: Path) -> None:
    """Uses a folder in every way that does not call `verify`."""
    allowed(lambda: read_all(folder))
    allowed(lambda: jeton.shards.report(folder).to_markdown())
    allowed(lambda: jeton.shards.status(folder))
    allowed(lambda: jeton.shards.slurm_script(folder))
    allowed(lambda: jeton.shards.run(folder, workers=1, progress=False))
    allowed(lambda: jeton.shards.merge(folder))


def reseal(folder: Path, path: Path) -> bool:
    """Rewrites the hashes and digests that depend on a changed file. Returns False if the file is no longer JSON."""
    if path.suffix == ".json" and path.name != "tokenizer.json":
        try:
            facts = json.loads(path.read_bytes())
        except (ValueError, RecursionError):
            return False
        facts.pop("sha256", None)
        path.write_bytes(sealed_json(json.dumps(facts)))
        return True
    data = path.read_bytes()
    entry = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    for where in (*folder.glob("done/*.json"), folder / "manifest.json"):
        facts = unsealed_json(where.read_bytes())
        groups = [facts.get(name, {}) for name in ("outputs", "joined", "tokenizer_files")]
        groups += [shard["files"] for shard in facts.get("shards", ())]
        for files in groups:
            if path.name in files:
                files[path.name] = entry
        where.write_bytes(sealed_json(json.dumps(facts)))
    return True


def flip(data: bytes, rng: random.Random) -> bytes:
    """Changes one byte, or one bit of a byte."""
    changed = bytearray(data)
    changed[rng.randrange(len(data))] ^= rng.choice([1 << rng.randrange(8), rng.randrange(1, 256)])
    return bytes(changed)


def damage(
    number: int,
    seed: int,
    top: Path,
    tok: jeton.Tokenizer,
    memory: int,
    names: Sequence[str],
    files_of: Callable[[Path], list[list[Path]]],
    trial: Callable[[Path, Path, random.Random, bool], int],
) -> bool:
    """Damages copies of each layout, half of them with new hashes; returns True if all damage is detected.

    Args:
        number, seed, top, tok, memory: the arguments of every mode.
        names: layouts.
        files_of: folder of shards -> files to damage, in groups that are chosen with equal probability.
        trial: damages one file; its arguments are the copied folder, the path in it, random numbers, and whether to
            rewrite hashes.
    """
    failed = False
    for name in names:
        made, trials, forged = make(top, name, tok), Trials(), Trials()
        rng = random.Random(f"{seed} {name}")  # noqa: S311
        groups = [paths for paths in files_of(made) if paths]
        for index in range(number):
            path = rng.choice(rng.choice(groups)).relative_to(made)
            own, is_forged = random.Random(rng.random()), index % 2 == 1  # noqa: S311

            def in_copy(
                made: Path = made, path: Path = path, own: random.Random = own, is_forged: bool = is_forged
            ) -> int:
                logging.disable()
                with tempfile.TemporaryDirectory(dir=top) as place:
                    shutil.copytree(made, folder := Path(place, "out"))
                    return trial(folder, path, own, is_forged)

            (forged if is_forged else trials).run(f"{name}: {path}, trial {index}", in_copy, memory)
        print(f"{name}: {trials}; with new hashes: {forged}", flush=True)
        failed |= trials.has_failed or forged.has_failed
    return not failed


def flips(number: int, seed: int, top: Path, tok: jeton.Tokenizer, memory: int, only: str | None) -> bool:
    """Flips bytes in files of each layout; returns True if all are detected."""

    def files_of(made: Path) -> list[list[Path]]:
        return [sorted(path for path in made.rglob("*") if path.is_file() and path.stat().st_size)]

    return damage(number, seed, top, tok, memory, [only] if only else LAYOUTS, files_of, flip_file)


def flip_file(folder: Path, path: Path, rng: random.Random, is_forged: bool) -> int:
    """Flips a byte of a file; returns the outcome of the trial."""
    (folder / path).write_bytes(flip((folder / path).read_bytes(), rng))
    if is_forged and not reseal(folder, folder / path):
        return SKIPPED
    found = is_found(folder)
    use(folder)
    return FOUND if found or is_forged else MISSED


def paths_of(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Returns the paths of all values in a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in items for place in paths_of(item, (*path, key)))]


def mutate(facts: Any, rng: random.Random) -> Any:
    """Changes, removes or adds values in a JSON value."""
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        *above, last = rng.choice(paths_of(facts)[1:] or [(None,)])
        value, parent = deepcopy(rng.choice(VALUES)), facts
        for key in above:
            parent = parent[key]
        if last is None:
            return value
        kind = rng.randrange(8)
        if kind == 0:
            del parent[last]
        elif kind == 1 and isinstance(parent, list):
            parent.append(value)
        elif kind == 1:
            parent[rng.choice(["x", "pack", "version", "shuffle", "row_length", "joined"])] = value
        elif kind == 2 and type(parent[last]) is int:
            parent[last] = parent[last] * rng.choice([-1, 2, 1000, 10**9]) + rng.choice([0, 1, -1])
        elif kind == 3:
            for _ in range(rng.choice([2, 5, 500])):
                parent[last] = [parent[last]]
            return facts
        else:
            parent[last] = value
        if not isinstance(facts, dict | list):
            return facts
    return facts


def mutations(number: int, seed: int, top: Path, tok: jeton.Tokenizer, memory: int, only: str | None) -> bool:
    """Changes values in JSON files; returns True if only Jeton's errors are raised."""
    names = [only] if only else ("megatron", "bin", "bin-packed", "parquet-packed", "datatrove-chat", "counts")

    def files_of(made: Path) -> list[list[Path]]:
        return [sorted(made.glob(glob)) for glob in ("plan.json", "manifest.json", "report.json", "done/*", "spool/*")]

    return damage(number, seed, top, tok, memory, names, files_of, mutate_file)


def mutate_file(folder: Path, path: Path, rng: random.Random, is_forged: bool) -> int:
    """Changes values in a JSON file; returns the outcome of the trial."""
    before = unsealed_json((folder / path).read_bytes())
    facts = mutate(json.loads(json.dumps(before)), rng)
    text = json.dumps(facts)
    is_object = isinstance(facts, dict) and len(facts) > 0
    sealed = is_forged and is_object
    (folder / path).write_bytes(sealed_json(text) if sealed else text.encode())
    found = is_found(folder)
    use(folder)
    use(folder)  # again: the first calls may have written files, which the second calls read
    may_be_valid = json.dumps(before) == text or (sealed and path.name != "manifest.json")
    return FOUND if found or may_be_valid else MISSED


def arrow(number: int, seed: int, top: Path, tok: jeton.Tokenizer, memory: int, only: str | None) -> bool:
    """Flips bytes of IPC streams; returns True if there is no crash."""
    return tables(number, seed, top, tok, memory, only, "stream")


def parquet(number: int, seed: int, top: Path, tok: jeton.Tokenizer, memory: int, only: str | None) -> bool:
    """Flips bytes of Parquet files; returns True if there is no crash."""
    return tables(number, seed, top, tok, memory, only, "parquet")


def tables(number: int, seed: int, top: Path, tok: jeton.Tokenizer, memory: int, only: str | None, format: str) -> bool:
    """Flips bytes of tables in one file format, with text columns of several types; returns True if nothing crashes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = ["low lower", "", "newest 日本", None, "wide " * 30, "x"] * 20
    columns = {
        "string": pa.array(texts),
        "large_string": pa.array(texts, pa.large_string()),
        "binary": pa.array([(text or "").encode() for text in texts]),
        "dictionary": pa.array(texts).dictionary_encode(),
    }
    failed = False
    for name, column in columns.items():
        if only not in (None, name):
            continue
        lists = pa.array([[[index], ["a", None]][index % 2] and [index] for index in range(len(texts))])
        table = pa.table({"text": column, "title": pa.array(texts), "list": lists})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=50)
        stream = sink.getvalue().to_pybytes()
        pq.write_table(table, top / f"{name}.parquet", row_group_size=50, compression="none")
        packed = (top / f"{name}.parquet").read_bytes()
        for kind, data in {"stream": stream, "parquet": packed}.items():
            if kind != format:
                continue
            trials, rng = Trials(), random.Random(f"{seed} {name} {kind}")  # noqa: S311
            for index in range(number):
                changed = flip(data, rng)

                def read_stream(changed: bytes = changed) -> int:
                    keep = ["title", "list"]
                    try:
                        batches = list(pa.ipc.open_stream(changed))
                        whole = pa.Table.from_batches(batches) if batches else None
                    except (pa.ArrowException, OSError, ValueError):
                        return SKIPPED  # pyarrow itself rejects the file
                    for batch in [*batches, *([] if whole is None else [whole])]:
                        allowed(lambda batch=batch: jeton.encode_arrow(batch, tok, threads=1))
                        made: list[Any] = []
                        if not allowed(
                            lambda batch=batch, made=made: made.append(
                                jeton.encode_arrow(batch, tok, keep=keep, threads=1)
                            )
                        ):
                            made[0].column("input_ids").to_pylist()
                    return FOUND

                def read_parquet(changed: bytes = changed) -> int:
                    logging.disable()
                    with tempfile.TemporaryDirectory(dir=top) as place:
                        path = Path(place, "rows.parquet")
                        path.write_bytes(changed)
                        for field, chat in (("text", False), ("list", True)):
                            out = Path(place, field)
                            corpus = jeton.Corpus(path, field=field, errors="skip")
                            options: dict[str, Any] = {"chat": chat, "format": "bin"}
                            allowed(
                                lambda corpus=corpus, out=out, options=options: jeton.shards.make(
                                    corpus, out, tok, workers=1, progress=False, **options
                                )
                            )
                    return FOUND

                trials.run(f"{name} {kind}, trial {index}", read_stream if kind == "stream" else read_parquet, memory)
            print(f"{name} {kind}: {trials}", flush=True)
            failed |= trials.has_failed
    return not failed


def main() -> int:
    """Runs the selected trials; returns 1 if one failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    modes = {"flips": flips, "json": mutations, "arrow": arrow, "parquet": parquet}
    parser.add_argument("mode", choices=modes)
    parser.add_argument("--number", type=int, default=2000, help="trials of each layout")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="one layout, or kind of column")
    parser.add_argument("--memory", type=int, default=1000, help="limit of a trial, in MB")
    options = parser.parse_args()
    tok = jeton.train([f"low lower newest wider {TEMPLATE}"] * 3, 300, progress=False)
    tok = tok.add_tokens(["<|end|>"]).with_roles(eos="<|end|>").with_chat_template(TEMPLATE)
    remember_tokenizer(tok, tok.to_bytes())  # so that a trial does not read it again
    tok.encode_batch(["loads what is loaded on first use"], threads=1)
    import pyarrow.compute
    import pyarrow.parquet  # noqa: F401

    with tempfile.TemporaryDirectory() as name:
        write_corpus(Path(name))
        passed = modes[options.mode](options.number, options.seed, Path(name), tok, options.memory << 20, options.only)
    print("all found" if passed else "FAILED")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
