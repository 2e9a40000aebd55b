"""Batches: equality of offsets with Hugging Face's, time of ids, of offsets and of decoding, and comparison.

``JETON_TEST_DATA=… python benchmarks/batches.py`` encodes English texts of about 1,000 characters, in batches of 1 MB.
Each batch is new to all: ids alone, ids with offsets, and ``encode_batch`` of `tokenizers`, which always computes
offsets, take turns on different megabytes of the corpus, so that no cache has seen the text. Times are CPU time of one
thread for the call and for freeing its result; offsets of `tokenizers` stay in its own objects, ours are an array.
Decoding takes turns likewise, with ``decode_batch`` of `tokenizers` and with one `decode` for each text.

First, ids and offsets are compared on texts of all corpora. A vocabulary with differences has their number instead of
times, and the exit code is 4. Offsets of a `.model` may differ: SentencePiece's dummy prefix comes from no character,
(0, 0), and the ``Prepend`` of the ``tokenizer.json`` that `tokenizers` reads is aligned to the first one, (0, 1).
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["TOKENIZERS_PARALLELISM"] = "false"

import tokenizers
from corpora import CORPORA, corpus
from harness import record
from streaming import as_peer

import jeton

VOCABULARIES = (
    "cl100k_base.tiktoken",
    "o200k_base.tiktoken",
    "llama3.tiktoken",
    "roberta-base.tokenizer.json",
    "gpt-neox-20b.tokenizer.json",
    "mistral-v1.model",
    "phi-3-mini.tokenizer.json",
    "t5-small.tokenizer.json",
    "bert-uncased.vocab.txt",
    "mbart-en-fairseq.tokenizer.json",
)
TEXT = 1_000  # characters
BATCH = 1 << 20
COLUMNS = (
    "vocabulary",
    "compared",
    "ids_differ",
    "offsets_differ",
    "ids_ns_per_id",
    "offsets_ns_per_id",
    "offsets_by_ids",
    "peer",
    "peer_ns_per_id",
    "times_peer",
    "decode_ns_per_id",
    "one_by_one_ns_per_id",
    "peer_decode_ns_per_id",
)


def texts_of(part: str) -> list[str]:
    """Cuts a part of a corpus into texts."""
    return [part[start : start + TEXT] for start in range(0, len(part), TEXT)]


def samples(number: int) -> list[str]:
    """Texts of all corpora."""
    found = []
    for name in CORPORA:
        source = corpus(name, 0)[: 8 << 20].decode("utf-8", "ignore")
        step = len(source) // (number // len(CORPORA))
        found += [source[start : start + 300] for start in range(0, len(source), step)]
    return found[:number]


def differences(tok: jeton.Tokenizer, peer: tokenizers.Tokenizer, texts: list[str]) -> tuple[int, int]:
    """Number of texts with other ids, and of those with other offsets."""
    batch = tok.encode_batch(texts, special="all", offsets=True)
    spans = batch.hf_offsets
    if spans is None:
        raise AssertionError("a batch without offsets")
    ids = offsets = 0
    for at, encoding in enumerate(peer.encode_batch(texts, add_special_tokens=False)):
        own = spans[batch.offsets[at] : batch.offsets[at + 1]].tolist()
        ids += batch[at].tolist() != encoding.ids
        offsets += own != [list(span) for span in encoding.offsets]
    return ids, offsets


def seconds(call: Callable[[], object]) -> float:
    """CPU time of a call and of freeing its result."""
    began = time.process_time()
    result = call()
    del result
    return time.process_time() - began


def is_wrong(row: dict[str, Any]) -> bool:
    """True for differences other than in offsets of a `.model`."""
    return bool(row.get("ids_differ") or (row.get("offsets_differ") and not row["vocabulary"].endswith(".model")))


def measure(name: str, english: str, compared: list[str], rounds: int) -> dict[str, Any]:
    """Measures a row of the record."""
    path = Path(os.environ["JETON_TEST_DATA"], "vocabs", name)
    tok = jeton.load(path)
    peer = as_peer(path, tok)
    row: dict[str, Any] = {"vocabulary": name}
    calls: list[tuple[str, Callable[[list[str]], object]]] = [
        ("ids", lambda texts: tok.encode_batch(texts, threads=1)),
        ("offsets", lambda texts: tok.encode_batch(texts, threads=1, offsets=True)),
    ]
    decoders: list[tuple[str, Callable[[list[list[int]]], object]]] = [
        ("decode", lambda rows: tok.decode_batch(rows, threads=1)),
        ("one_by_one", lambda rows: [tok.decode(ids) for ids in rows]),
    ]
    if peer is not None:
        row["compared"] = len(compared)
        row["ids_differ"], row["offsets_differ"] = differences(tok, peer, compared)
        row["peer"] = f"tokenizers {tokenizers.__version__}"
        if is_wrong(row):
            return row
        calls.append(("peer", lambda texts: peer.encode_batch(texts, add_special_tokens=False)))
        decoders.append(("peer_decode", lambda rows: peer.decode_batch(rows, skip_special_tokens=False)))
    parts = iter(range(0, len(english) - BATCH, BATCH))
    times: dict[str, list[float]] = {kind: [] for kind, _ in (*calls, *decoders)}
    for _, call in calls:  # tables and caches of the vocabulary
        call(texts_of(english[next(parts) :][:BATCH]))
    for _ in range(rounds):
        for kind, call in calls:
            texts = texts_of(english[next(parts) :][:BATCH])
            took = seconds(lambda call=call, texts=texts: call(texts))  # type: ignore[misc]
            times[kind].append(took / len(tok.encode_batch(texts).ids))
        rows = [ids.tolist() for ids in tok.encode_batch(texts)]
        for kind, decode in decoders:
            took = seconds(lambda decode=decode, rows=rows: decode(rows))  # type: ignore[misc]
            times[kind].append(took / sum(map(len, rows)))
    ns = {kind: statistics.median(found) * 1e9 for kind, found in times.items()}
    row |= {f"{kind}_ns_per_id": f"{each:.1f}" for kind, each in ns.items()}
    row["offsets_by_ids"] = f"{ns['offsets'] / ns['ids']:.2f}"
    if peer is not None:
        row["times_peer"] = f"{ns['peer'] / ns['offsets']:.1f}"
    return row


def main() -> int:
    """Runs the command; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--compared", type=int, default=4_000, help="number of texts whose offsets are compared")
    parser.add_argument("--only", nargs="+", default=VOCABULARIES, help="vocabularies")
    parser.add_argument("--output", type=Path, help="output file (default: replace the record)")
    asked = parser.parse_args()
    if "JETON_TEST_DATA" not in os.environ:
        raise SystemExit("set JETON_TEST_DATA to the folder of corpora and vocabularies")
    english = corpus("english", 0).decode("utf-8", "ignore")
    compared = samples(asked.compared)
    rows = []
    for name in asked.only:
        rows.append(row := measure(name, english, compared, asked.rounds))
        print(", ".join(f"{key} {row[key]}" for key in COLUMNS if key in row), flush=True)
    is_complete = tuple(asked.only) == VOCABULARIES and asked.rounds >= 5 and asked.compared >= 4_000
    record.write(asked.output or record.destination("batches", complete=is_complete), COLUMNS, rows)
    return 4 if any(map(is_wrong, rows)) else 0


if __name__ == "__main__":
    sys.exit(main())
