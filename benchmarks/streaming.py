"""Decoding ids that arrive one by one: equality with `decode`, time per id, and comparison with Hugging Face.

``JETON_TEST_DATA=… python benchmarks/streaming.py`` checks, for ten vocabularies, that 2,000 texts decoded in random
pushes equal `decode`; times one push per id at positions up to a million of one stream; and times ``DecodeStream`` of
`tokenizers` on the same ids in the same process, in alternating rounds. Times are CPU time and include the loop, which
is the same for both. If a text differs, the differences are printed instead of times, and the exit code is 4.

``tokenizers`` reads the same file, or a ``tokenizer.json`` that Jeton writes; where Jeton refuses to write one, there
is no comparison.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import tokenizers
from corpora import CORPORA, corpus
from harness import record
from tokenizers.decoders import DecodeStream

import jeton

VOCABULARIES = (
    "cl100k_base.tiktoken",
    "o200k_base.tiktoken",
    "llama3.tiktoken",
    "roberta-base.tokenizer.json",
    "mistral-v1.model",
    "phi-3-mini.tokenizer.json",
    "t5-small.tokenizer.json",
    "bert-uncased.vocab.txt",
    "spm-ja.model",
    "mbart-en-fairseq.tokenizer.json",
)
POSITIONS = (1, 100, 10_000, 1_000_000)  # ranges of positions in one stream
ENOUGH_IDS = 20_000  # timed at least, for short ranges in many streams
COLUMNS = (
    "vocabulary",
    "texts",
    "differ",
    "id_by_id_differ",
    "peer",
    "peer_differ",
    *(f"ns_per_id_to_{end}" for end in POSITIONS),
    "jeton_ns_per_id",
    "peer_ns_per_id",
    "ratio",
)


def texts(number: int, rng: random.Random) -> list[str]:
    """Ranges of the corpora and of the declarations of human rights, in all their scripts."""
    folder = Path(os.environ["JETON_TEST_DATA"])
    sources = [corpus(name, 0)[: 8 << 20].decode("utf-8", "ignore") for name in CORPORA]
    sources += [path.read_text(encoding="utf-8") for path in sorted((folder / "udhr").glob("*.txt"))]
    sources = [source for source in sources if source]
    found = []
    for i in range(number):
        source = sources[i % len(CORPORA)] if i % 2 else rng.choice(sources)
        start = rng.randrange(len(source))
        found.append(source[start : start + rng.randrange(1, 400)])
    return found


def in_pushes(tok: jeton.Tokenizer, ids: list[int], rng: random.Random) -> str:
    """Decodes ids in random pushes."""
    stream, text, at = tok.stream(), "", 0
    while at < len(ids):
        size = rng.choice((1, 1, 1, 2, 5, 20))
        text += stream.push(ids[at : at + size])
        at += size
    return text + stream.finish()


def by_peer(peer: tokenizers.Tokenizer, ids: list[int]) -> str:
    """Decodes ids with the peer's stream, which has no end: an incomplete character is lost."""
    stream = DecodeStream(skip_special_tokens=False)
    return "".join(stream.step(peer, id) or "" for id in ids)


def as_peer(path: Path, tok: jeton.Tokenizer) -> tokenizers.Tokenizer | None:
    """Loads a vocabulary in `tokenizers`."""
    if path.name.endswith(".json"):
        return tokenizers.Tokenizer.from_file(str(path))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "tokenizer.json")
        try:
            tok.save(file)
        except jeton.JetonError:
            return None
        return tokenizers.Tokenizer.from_file(str(file))


def seconds(push: Callable[[int], object], ids: Sequence[int]) -> float:
    """CPU time of one call per id."""
    began = time.process_time()
    for id in ids:
        push(id)
    return time.process_time() - began


def by_position(tok: jeton.Tokenizer, ids: list[int]) -> list[float]:
    """Nanoseconds per id in each range of positions of one stream."""
    found = []
    start = 0
    for end in POSITIONS:
        size = end - start
        rounds = max(1, ENOUGH_IDS // size)
        before = list(islice(cycle(ids), start))
        some = list(islice(cycle(ids), start, end))
        base = tok.stream()
        base.push(before)
        copies = [base.copy() for _ in range(rounds)]
        began = time.process_time()  # for all copies: a reading of the clock takes longer than an id
        for copy in copies:
            push = copy.push
            for id in some:
                push(id)
        found.append((time.process_time() - began) / rounds / size * 1e9)
        start = end
    return found


def compared(tok: jeton.Tokenizer, peer: tokenizers.Tokenizer, ids: list[int], rounds: int) -> tuple[float, float]:
    """Median nanoseconds per id of both, in alternating rounds."""
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(seconds(tok.stream().push, ids))
        theirs.append(seconds(partial(DecodeStream(skip_special_tokens=False).step, peer), ids))
    return statistics.median(ours) / len(ids) * 1e9, statistics.median(theirs) / len(ids) * 1e9


def measure(name: str, samples: list[str], num_ids: int, rounds: int) -> dict[str, Any]:
    """Measures a row of the record."""
    path = Path(os.environ["JETON_TEST_DATA"], "vocabs", name)
    tok, rng = jeton.load(path), random.Random(7)
    all_ids = [tok.encode(text) for text in samples]
    wanted = [tok.decode(ids) for ids in all_ids]
    naive = sum("".join(tok.decode([id]) for id in ids) != text for ids, text in zip(all_ids, wanted, strict=True))
    differ = sum(in_pushes(tok, ids, rng) != text for ids, text in zip(all_ids, wanted, strict=True))
    row: dict[str, Any] = {"vocabulary": name, "texts": len(samples), "differ": differ, "id_by_id_differ": naive}
    if differ:
        return row
    ids = [id for some in all_ids for id in some][:num_ids]
    row |= dict(zip(COLUMNS[6 : 6 + len(POSITIONS)], (f"{ns:.0f}" for ns in by_position(tok, ids)), strict=True))
    if (peer := as_peer(path, tok)) is not None:
        lost = sum(by_peer(peer, ids) != peer.decode(ids, skip_special_tokens=False) for ids in all_ids)
        ours, theirs = compared(tok, peer, ids, rounds)
        row |= {"peer": f"tokenizers {tokenizers.__version__}", "peer_differ": lost}
        row |= {"jeton_ns_per_id": f"{ours:.0f}", "peer_ns_per_id": f"{theirs:.0f}", "ratio": f"{theirs / ours:.1f}"}
    return row


def main() -> int:
    """Runs the command; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--texts", type=int, default=2_000)
    parser.add_argument("--ids", type=int, default=50_000, help="number of ids of the comparison (default: 50,000)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", default=VOCABULARIES, help="vocabularies")
    parser.add_argument("--output", type=Path, help="output file (default: replace the record)")
    asked = parser.parse_args()
    if "JETON_TEST_DATA" not in os.environ:
        raise SystemExit("set JETON_TEST_DATA to the folder of corpora and vocabularies")
    samples = texts(asked.texts, random.Random(1))
    rows = []
    for name in asked.only:
        rows.append(row := measure(name, samples, asked.ids, asked.rounds))
        print(", ".join(f"{key} {row[key]}" for key in COLUMNS if key in row), flush=True)
    is_complete = tuple(asked.only) == VOCABULARIES and asked.texts >= 2_000 and asked.rounds >= 3
    record.write(asked.output or record.destination("streaming", complete=is_complete), COLUMNS, rows)
    return 4 if any(row["differ"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
