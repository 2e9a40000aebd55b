"""Trains on decompression bombs: generated files of some kilobytes that contain gigabytes, each in a new process.

Each run must end with a Jeton error, a MemoryError or a tokenizer. It may take 10 seconds, 512 MB of additional memory,
and an address space of 4 GB. Seconds are CPU time (user and system), which other load does not affect. A run is killed
after two minutes of wall time. Violations and crashes are printed, and the exit code is 1.

    python tools/corpus_bombs.py --variants 200        # of each of the three families: about 20 minutes on two cores
    python tools/corpus_bombs.py --family nul --seed 7 --variants 1

There are three families: ``nul``, one document that repeats one byte; ``lines``, short lines that repeat; ``string``,
lines of JSON with one long string, or text without a line end. Each variant draws its codec, size, content,
`documents=` and `memory_limit=` at random.
"""

from __future__ import annotations

import argparse
import bz2
import collections
import gzip
import json
import lzma
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

FAMILIES = ("nul", "lines", "string")
MOST_SECONDS, MOST_MB, ADDRESS_SPACE = 10.0, 512, 4 << 30
UNIT = 1 << 20  # number of bytes to compress; a bomb repeats the compressed bytes many times


class Variant(NamedTuple):
    """One bomb: its file, reading options and description."""

    path: Path
    options: dict[str, object]
    described: str


def zstd_zeros(byte: bytes, num_bytes: int) -> bytes:
    """Returns a Zstandard frame of one repeated byte, from run-length blocks (RFC 8878, section 3.1.1.2)."""
    blocks = -(-num_bytes // (1 << 17))
    header = b"\x28\xb5\x2f\xfd\x00\x58"  # no checksum, no content size, a window of 2 MiB
    block = ((1 << 17) << 3 | 1 << 1).to_bytes(3, "little") + byte
    last = ((1 << 17) << 3 | 1 << 1 | 1).to_bytes(3, "little") + byte
    return header + block * (blocks - 1) + last


def packed(codec: str, head: bytes, unit: bytes, repeat: int, tail: bytes) -> bytes:
    """Compresses `head`, then `unit` (`repeat` times), then `tail`; concatenates the compressed members or frames.

    Each copy of `unit` is a separate member or frame. Exception: if the codec is Zstandard and `unit` repeats a single
    byte, all copies together form one frame.
    """
    if codec == "zst":
        import zstandard

        compress = zstandard.ZstdCompressor(19).compress
        if len(set(unit)) == 1:
            return (compress(head) if head else b"") + zstd_zeros(unit[:1], len(unit) * repeat) + compress(tail)
    else:
        compress = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}[codec]
    return (compress(head) if head else b"") + compress(unit) * repeat + (compress(tail) if tail else b"")


def make(family: str, seed: int, folder: Path) -> Variant:
    """Generates a bomb at random. The same family and seed give the same bomb."""
    rng = random.Random(f"{family}-{seed}")  # noqa: S311
    codec = rng.choice(["gz", "bz2", "xz", "zst"])
    num_mb = rng.choice([5, 15, 17, 64, 300, 800, 1000, 3000, 5000])
    head = tail = b""
    suffix = "txt"
    if family == "nul":
        unit = rng.choice([b"\0", b"\0", b"a", b" ", b"\n", b"7"]) * UNIT
    elif family == "lines":
        line = bytes(rng.choices(b"abcdefgh 0123456789.,", k=rng.choice([1, 7, 31, 31, 31, 100]))) + b"\n"
        unit = line * (UNIT // len(line))
    else:
        unit = bytes(rng.choices(b"abcdefgh 0123456789.,", k=rng.choice([1, 10, 100, 1000])))
        unit = unit * (UNIT // len(unit))
        if rng.random() < 0.5:
            head, tail, suffix = b'{"text": "', b'"}\n', "jsonl"
    path = folder / f"{family}-{seed}.{suffix}.{codec}"
    path.write_bytes(packed(codec, head, unit, num_mb, tail))
    reading: dict[str, object] = {"documents": rng.choice(["file", "line"])}
    limits = {"memory_limit": rng.choice([None, "100MB", "30MB", "1GB"])}
    reading["errors"] = rng.choice(["strict", "strict", "skip", "replace"])
    options: dict[str, object] = {
        "vocab_size": rng.choice([256, 300, 1000]),
        "pattern": rng.choice([None, "gpt2", "none"]),
        "reading": reading,
        "limits": limits,
    }
    if rng.random() < 0.2:
        reading["sample_bytes"] = 1000
    described = f"{path.name}: {path.stat().st_size:,} bytes for {num_mb:,} MB, {options}"
    return Variant(path, options, described)


WORKER = """
import json, re, resource, sys, time
path, options, most = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])
import numpy, zstandard, jeton
jeton.train(["some words"], 257, progress=False)
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) >> 10
resource.setrlimit(resource.RLIMIT_AS, (most, most))
open("/proc/self/clear_refs", "w").write("5")
before, began, said = peak(), time.process_time(), "a tokenizer"
try:
    corpus, limits = jeton.Corpus(path, **options.pop("reading")), jeton.Limits(**options.pop("limits"))
    jeton.train(corpus, limits=limits, progress=False, **options)
except (jeton.errors.JetonError, MemoryError) as error:
    said = f"{type(error).__name__}: {error}"
print(json.dumps([time.process_time() - began, peak() - before, said]))
"""


def run(variant: Variant) -> tuple[float, int, str, bool]:
    """Trains on a bomb; returns seconds, additional megabytes, the outcome, and whether the outcome is permitted."""
    command = [sys.executable, "-c", WORKER, str(variant.path), json.dumps(variant.options), str(ADDRESS_SPACE)]
    began = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=12 * MOST_SECONDS)
    except subprocess.TimeoutExpired:
        return time.monotonic() - began, 0, "did not end", False
    if done.returncode:
        return time.monotonic() - began, 0, f"exit code {done.returncode}: {done.stderr[-400:]}", False
    seconds, megabytes, said = json.loads(done.stdout)
    return seconds, megabytes, said, seconds <= MOST_SECONDS and megabytes <= MOST_MB


def main() -> int:
    """Runs the command; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--variants", type=int, default=20, help="number of variants of each family")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first variant")
    parser.add_argument("--family", choices=FAMILIES, action="append", help="only this family (repeatable)")
    parser.add_argument("--verbose", action="store_true", help="print each variant")
    asked = parser.parse_args()
    failed = 0
    for family in asked.family or FAMILIES:
        outcomes: collections.Counter[str] = collections.Counter()
        slowest, largest = 0.0, 0
        for seed in range(asked.seed, asked.seed + asked.variants):
            with tempfile.TemporaryDirectory() as folder:
                variant = make(family, seed, Path(folder))
                seconds, megabytes, said, is_allowed = run(variant)
            slowest, largest = max(slowest, seconds), max(largest, megabytes)
            outcomes[said.partition(":")[0] if is_allowed else "FAILED"] += 1
            failed += not is_allowed
            if asked.verbose or not is_allowed:
                print(
                    f"{'ok' if is_allowed else 'FAILED'} {seconds:.1f} s {megabytes} MB {said}\n    {variant.described}"
                )
        listed = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common())
        print(f"{family}: {asked.variants} variants: {listed}; at most {slowest:.1f} s, {largest} MB", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "2")
    sys.exit(main())
