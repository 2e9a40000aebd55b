"""Generates hostile files, each in two sizes, and loads and saves them in processes with little memory.

    python tools/hostile_files.py [--variants 200] [--seed 1] [--kinds model safetensors] [--bytes 60000] [--limit 2]

A variant is a `.model` or a safetensors file, generated at one size and at four times this size. A process with a limit
on its memory (RLIMIT_AS) loads the file, encodes a text, saves the tokenizer in every format, and loads the saved
files. The tool counts processes that end by a signal or by MemoryError, and errors that are not Jeton's own. It also
counts variants whose CPU time or saved bytes grow too fast: from the small to the large file, by more than twice the
factor by which the file grows. The exit code is 1 if any of these counts is not 0.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from jeton._core import write_message as message

KINDS = ("model", "safetensors")
GROWTH = 4  # factor between the two sizes
FLOOR_S = 0.4  # seconds; up to this CPU time of a step, growth of the CPU time is ignored
TIMEOUT_S = 300

# ── texts ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def numbered(size: int, rng: random.Random) -> list[str]:
    """Returns texts such as x0, x1, …, some of which are prefixes of others."""
    head = rng.choice(["x", "<", "▁", "", "x" * 20])
    return [f"{head}{number}" for number in range(size // (8 + len(head)))]


def runs(size: int, rng: random.Random) -> list[str]:
    """Returns runs of one character: `a`, `aa`, `aaa` and so on. Together they have about `size` bytes."""
    char = rng.choice(["a", "é", "今", "▁"])
    return [char * count for count in range(1, int((2 * size / len(char.encode())) ** 0.5))]


def prefixes(size: int, rng: random.Random) -> list[str]:
    """Returns all prefixes of a random text, or all of its suffixes."""
    length = int((2 * size) ** 0.5)
    text = "".join(rng.choices("ab", k=length))
    return [text[:at] for at in range(1, length)] if rng.random() < 0.5 else [text[at:] for at in range(length)]


def one_long(size: int, rng: random.Random) -> list[str]:
    """Returns runs of one character: short ones, and one of `size // 2` characters."""
    return ["a", "b", *("a" * count for count in range(2, int(size**0.5) // 2)), rng.choice("ab") * (size // 2)]


def doubled(size: int, _: random.Random) -> list[str]:
    """Returns texts, each twice as long as the one before."""
    return ["a" * (1 << power) for power in range(size.bit_length() - 1)]


def binary(size: int, rng: random.Random) -> list[str]:
    """Returns strings over an alphabet of two characters. In a trie of them, nodes have two children."""
    one, other = rng.choice([("a", "c"), ("a", "b"), ("é", "è")])
    return [
        "".join(other if number >> bit & 1 else one for bit in range(14)) for number in range(min(size // 20, 1 << 14))
    ]


def characters(size: int, _: random.Random) -> list[str]:
    """Returns single characters and pairs of characters."""
    return [
        chr(0x4E00 + number % 20_000) + chr(0x3400 + number // 20_000) * (number % 2) for number in range(size // 10)
    ]


def randomly(size: int, rng: random.Random) -> list[str]:
    """Returns random texts."""
    return ["".join(rng.choices("abcdexyz<>▁é", k=rng.randint(1, 12))) for _ in range(size // 12)]


TEXTS: tuple[Callable[[int, random.Random], list[str]], ...] = (
    numbered, runs, prefixes, one_long, doubled, binary, characters, randomly,
)  # fmt: skip

# ── .model ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def piece(text: str, score: float, kind: int) -> bytes:
    """Returns a serialized piece of a model."""
    return message([(1, message([(1, text.encode()), (2, float(score)), (3, kind)]))])


def make_model(size: int, rng: random.Random) -> bytes:
    """Returns a model whose pieces are of one or several kinds."""
    model_type = rng.choice([1, 1, 2, 2, 2, 3, 4])
    kinds = rng.choice([[1], [1], [4], [4], [3], [5], [1, 4], [1, 3, 4, 5], [2], [6], [9]])
    scores = rng.choice(["falling", "falling", "tied", "rising", "random"])
    make, is_twice, is_shuffled, has_chars = (
        rng.choice(TEXTS),
        rng.random() < 0.1,
        rng.random() < 0.5,
        rng.random() < 0.8,
    )
    options = [(number, rng.randint(0, 1)) for number in (3, 4, 5)]
    byte_fallback = rng.random() < 0.2
    texts = list(dict.fromkeys(make(size, rng)))  # the random choices above are the same for all sizes
    if is_twice:
        texts += texts[:1]
    if is_shuffled:
        rng.shuffle(texts)
    chars = sorted({char for text in texts for char in text}) if has_chars else []
    first = [piece("<unk>", 0, 2), piece("<s>", 0, 3), piece("</s>", 0, 3)]
    if byte_fallback:
        first += [piece(f"<0x{byte:02X}>", 0, 6) for byte in range(256)]
    for number, char in enumerate(chars):
        first.append(piece(char, -1e6 - number, 1))
    values = {
        "falling": lambda at: -at,
        "tied": lambda _: -1.0,
        "rising": float,
        "random": lambda _: rng.uniform(-9, 0),
    }
    known = set(chars)
    others = [
        piece(text, values[scores](at), rng.choice(kinds))
        for at, text in enumerate(text for text in texts if text not in known)
    ]
    trainer = message([(3, model_type), *([(35, 1)] if byte_fallback else [])])
    return b"".join([*first, *others, message([(2, trainer), (3, message([(1, b"identity"), *options]))])])


def use_model(path: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yields the steps that are run on a model, each as (name, function)."""
    import pickle

    import jeton
    from jeton.formats.error_context import LOSSES
    from jeton.formats.saving import FORMATS

    tok = jeton.load(path)
    yield "encode", lambda: tok.encode("x1 aab 今 <s> abba", special="all") and None
    yield "to_bytes", tok.to_bytes
    yield "from_bytes", lambda: jeton.Tokenizer.from_bytes(tok.to_bytes()) == tok and None
    yield "pickle", lambda: pickle.dumps(tok)
    yield "unpickle", lambda: pickle.loads(pickle.dumps(tok)) == tok and None  # noqa: S301
    yield "audit", lambda: jeton.audit(tok, max_texts=1000) and None
    yield "align", lambda: jeton.align(tok, tok) and None
    yield "prune", lambda: jeton.prune(tok, keep=range(tok.vocab_size // 2)) and None
    for format in FORMATS:

        def save(format: str = format) -> bytes:
            with tempfile.TemporaryDirectory() as folder:
                name = {"folder": "out", "merges.txt": "out", "tekken": "tekken.json", "vocab.txt": "vocab.txt"}
                out = Path(folder, name.get(format, "out.json"))
                tok.save(out, format=format, accept_loss=LOSSES)
                files = [out] if out.is_file() else sorted(out.rglob("*.*"))
                return b"".join(file.read_bytes() for file in files if file.is_file())

        yield f"save {format}", save


# ── safetensors ─────────────────────────────────────────────────────────────────────────────────────────────────────


def make_safetensors(size: int, rng: random.Random) -> bytes:
    """Returns a safetensors file that is large in one respect."""
    embedding = {"wte.weight": {"dtype": "F32", "shape": [8, 2], "data_offsets": [0, 64]}}

    def tensor(shape: list[int], start: int, end: int, dtype: str = "U8") -> dict[str, Any]:
        return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}

    ways: dict[str, Callable[[], tuple[Any, int]]] = {
        "tensors": lambda: (
            {**embedding, **{f"t{at}": tensor([1], 64 + at, 65 + at) for at in range(size // 60)}},
            64 + size // 60,
        ),
        "empty tensors": lambda: (
            {**embedding, **{f"t{at}": tensor([1 << 28, 0], 64, 64) for at in range(size // 60)}},
            64,
        ),
        "overlap": lambda: ({f"t{at}": tensor([size], 0, size) for at in range(size // 60)}, size),
        "ones": lambda: ({"wte.weight": tensor([2, *[1] * (size // 2)], 0, 8, "F32")}, 8),
        "twos": lambda: ({"wte.weight": tensor([2] * (size // 2), 0, 8, "F32")}, 8),
        "zeros": lambda: ({"wte.weight": tensor([0] * (size // 2), 0, 0, "F32")}, 0),
        "huge": lambda: ({"wte.weight": tensor([1 << 63, 0], 0, 0, "F32"), "x" * size: tensor([0], 0, 0)}, 0),
        "rows": lambda: (
            {"wte.weight": tensor([1 << rng.randint(20, 62), 0], 0, 0, "F32"), "x" * size: tensor([], 0, 1)},
            1,
        ),
        "name": lambda: ({"é\n" * (size // 4) + "wte.weight": tensor([8, 2], 0, 64, "F32")}, 64),
        "metadata": lambda: ({**embedding, "__metadata__": {f"m{at}": "x" for at in range(size // 14)}}, 64),
        "long metadata": lambda: ({**embedding, "__metadata__": {"m": "\x00" * (size // 6)}}, 64),
        "bad metadata": lambda: (
            {**embedding, "__metadata__": rng.choice([1, [1] * (size // 3), {"a": 1}, {"a": {}}, "x" * size])},
            64,
        ),
        "more fields": lambda: (
            {"wte.weight": {**embedding["wte.weight"], **{f"f{at}": [at] for at in range(size // 14)}}},
            64,
        ),
        "data": lambda: ({"wte.weight": tensor([size // 8, 2], 0, size // 8 * 8, "F32")}, size // 8 * 8),
        "wide": lambda: ({"wte.weight": tensor([2, size // 8], 0, size // 8 * 8, "F32")}, size // 8 * 8),
        "types": lambda: (
            {"wte.weight": tensor([size // 2, 4], 0, size, rng.choice(["F4", "F8_E4M3", "C64", "F99"]))},
            size,
        ),
    }
    header, length = ways[rng.choice(list(ways))]()
    spelled = json.dumps(header, ensure_ascii=rng.random() < 0.5).encode()
    if rng.random() < 0.1:
        spelled = rng.choice([b"[" * size, spelled + b" " * size, spelled[: len(spelled) // 2], b'{"a":' * (size // 5)])
    return struct.pack("<Q", len(spelled)) + spelled + bytes(length)


def use_safetensors(path: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yields the steps that are run on a safetensors file."""
    import jeton
    from jeton.vocabulary import read_embeddings
    from jeton.vocabulary.safetensors_file import SafetensorsFile, write_file

    def copy() -> bytes:
        out = path.with_suffix(".copy")
        with SafetensorsFile(path) as file:
            rows = [
                (each.name, each.dtype, each.shape, each.end - each.start, file.blocks(each))
                for each in file.tensors.values()
            ]
            write_file(out, rows, file.metadata)
        return out.read_bytes()

    def apply() -> bytes:
        tok = jeton.Tokenizer.from_bytes(WORDS)
        jeton.add_words(tok, ["ab"]).plan.apply(path, path.with_suffix(".new"))
        return path.with_suffix(".new").read_bytes()

    with SafetensorsFile(path):
        pass
    yield "copy", copy
    yield "read_embeddings", lambda: read_embeddings(path) is None
    yield "apply", apply


WORDS = json.dumps(
    {
        "model": {"type": "WordPiece", "unk_token": "u", "vocab": {char: id for id, char in enumerate("uabcd")}},
        "pre_tokenizer": {"type": "Whitespace"},
    }
).encode()

# ── child and parent ────────────────────────────────────────────────────────────────────────────────────────────────

MAKE = {"model": make_model, "safetensors": make_safetensors}
USE = {"model": use_model, "safetensors": use_safetensors}


def measured(path: Path, kind: str) -> tuple[dict[str, tuple[float, int]], list[str]]:
    """Returns the CPU seconds and result bytes of each step, and the errors.

    Errors other than `JetonError`, and messages of more than 4,000 characters, are marked as raw.
    """
    import jeton

    steps: dict[str, tuple[float, int]] = {}
    errors = []
    name, began = "load", time.process_time()
    used = USE[kind](path)
    while True:
        result: Any = None
        try:
            name, step = "load", None
            name, step = next(used)
            if "load" not in steps:
                steps["load"] = (time.process_time() - began, 0)
            began = time.process_time()
            result = step()
        except StopIteration:
            return steps, errors
        except jeton.JetonError as error:
            errors.append(f"{name}: {type(error).__name__}")
            if len(str(error)) > 4000:
                errors.append(f"{name}: raw: a message of {len(str(error))} characters")
        except Exception as error:
            errors.append(f"{name}: raw: {type(error).__name__}: {str(error)[:200]}")
        steps[name] = (time.process_time() - began, len(result) if isinstance(result, bytes) else 0)
        began = time.process_time()
        if name == "load":
            return steps, errors


def child(kind: str, seed: int, size: int, limit: float) -> None:
    """Measures a variant at two sizes, and prints the results."""
    import jeton  # noqa: F401  (the measured memory includes the package; the measured time excludes this import)

    resource.setrlimit(resource.RLIMIT_AS, (int(limit * (1 << 30)),) * 2)
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"a.{kind}"
        for length in (1000, size, size * GROWTH):  # the first run is small, so that imports are not measured
            path.write_bytes(MAKE[kind](length, random.Random(seed)))  # noqa: S311
            found.append((path.stat().st_size, *measured(path, kind)))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(json.dumps({"found": found[1:], "peak": peak}))


def failures(line: dict[str, Any]) -> list[str]:
    """Returns a description of each failure of a variant."""
    (small_size, small, _), (large_size, large, _) = line["found"]
    wrong = [error for _, _, errors in line["found"] for error in errors if "raw" in error]
    most = 2 * max(large_size / max(small_size, 1), 1)
    for name, (seconds, num_bytes) in large.items():
        before = small.get(name, (0, 0))
        if seconds > FLOOR_S and seconds > most * max(before[0], FLOOR_S / 10):
            wrong.append(
                f"{name}: {before[0]:.2f} s, then {seconds:.2f} s for {large_size / small_size:.1f} times the bytes"
            )
        if num_bytes > 1 << 20 and num_bytes > most * max(before[1], 1):
            wrong.append(f"{name}: {before[1]} bytes, then {num_bytes}")
    return wrong


def run(kind: str, seed: int, size: int, limit: float) -> tuple[str, dict[str, Any] | None, list[str]]:
    """Runs a variant in a process of its own; returns its label, result and failures."""
    label = f"{kind} {seed}"
    command = [sys.executable, __file__, "--child", kind, str(seed), str(size), str(limit)]
    threads = {"RAYON_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False, env=os.environ | threads
        )
    except subprocess.TimeoutExpired:
        return label, None, [f"no end after {TIMEOUT_S} s"]
    if done.returncode != 0:
        return label, None, [f"exit code {done.returncode}: {done.stderr.strip()[-300:]}"]
    line = json.loads(done.stdout)
    return label, line, failures(line)


def main() -> int:
    """Runs the variants, and prints failures and counts."""
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5]))
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variants", type=int, default=200, help="of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--bytes", type=int, default=60_000, help="of the smaller file of a variant, about")
    parser.add_argument("--limit", type=float, default=2, help="memory of a process in GiB")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args()
    failed = False
    for kind in asked.kinds:
        counts: Counter[str] = Counter()
        slowest, largest = 0.0, 0
        with ThreadPoolExecutor(asked.processes) as pool:
            seeds = range(asked.seed, asked.seed + asked.variants)
            for label, line, wrong in pool.map(partial(run, kind, size=asked.bytes, limit=asked.limit), seeds):
                for text in wrong:
                    print(f"{label}: {text}", flush=True)
                counts["failed"] += bool(wrong)
                if line is not None:
                    _, steps, errors = line["found"][1]
                    refused = any(error.startswith("load") for error in errors)
                    counts["refused" if refused else "loaded"] += 1
                    slowest = max(slowest, sum(seconds for seconds, _ in steps.values()))
                    largest = max(largest, line["peak"])
        failed |= counts["failed"] > 0
        print(
            f"{kind}: {asked.variants} variants, {counts['loaded']} loaded, {counts['refused']} refused, "
            f"{counts['failed']} failed; most CPU time {slowest:.1f} s, most memory {largest} MiB",
            flush=True,
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
