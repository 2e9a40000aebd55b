"""Cost of the drop-in for SentencePiece compared with sentencepiece; `benchmarks/record/drop-ins-sentencepiece.csv`.

    JETON_TEST_DATA=… python benchmarks/drop_ins_sentencepiece.py [--only MODEL] [--rounds 15] [--output FILE]

As `drop_ins`: both libraries run in this process, in alternating rounds, on texts that no round before had; CPU time of
all threads, medians. If a result differs, the run ends. Importing and loading run in new processes.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from corpora import corpus
from drop_ins import Case, measure
from harness import record

MODELS = ("mistral-v1.model", "spm-unigram-en.model", "mbart-en-fairseq.sentencepiece.bpe.model")
COLUMNS = ("model", "case", "unit", "peer", "peer_median", "jeton_median", "ratio")
LOAD = """
import time
start = time.process_time()
import {module} as sentencepiece
loaded = time.process_time()
sp = sentencepiece.SentencePieceProcessor(model_file={path!r})
sp.encode("hello world")
print(loaded - start, time.process_time() - start)
"""


def ids_of(sp: Any, texts: list[str]) -> list[list[int]]:
    return [sp.encode(text) for text in texts]


def pieces_of(sp: Any, texts: list[str]) -> list[list[str]]:
    return [sp.encode(text, out_type=str) for text in texts]


CASES = [
    Case("encode, 13 bytes", 13, 2000, ids_of),
    Case("encode(out_type=str), 13 bytes", 13, 2000, pieces_of),
    Case("encode, 1 KB", 1000, 100, ids_of),
    Case("encode(out_type=str), 1 KB", 1000, 100, pieces_of),
    Case(
        'encode(return_type="offset_mapping"), 1 KB',
        1000,
        100,
        lambda sp, texts: [sp.encode(text, return_type="offset_mapping") for text in texts],
    ),
    Case(
        'encode(return_type="serialized_proto"), 1 KB',
        1000,
        100,
        lambda sp, texts: [sp.encode(text, return_type="serialized_proto") for text in texts],
    ),
    Case("encode, 1 MB", 1_000_000, 1, ids_of),
    Case("encode(out_type=str), 1 MB", 1_000_000, 1, pieces_of),
    Case("encode of a list, 500 of 2 KB", 2000, 500, lambda sp, texts: sp.encode(texts)),
    Case("encode(out_type=str) of a list, 500 of 2 KB", 2000, 500, lambda sp, texts: sp.encode(texts, out_type=str)),
    Case("encode of a list, 2 of 13 bytes", 13, 2, lambda sp, texts: sp.encode(texts)),
    Case("normalize, 1 KB", 1000, 100, lambda sp, texts: [sp.normalize(text) for text in texts]),
    Case("decode, 13 bytes", 13, 2000, lambda sp, ids: [sp.decode(row) for row in ids], ids_of),
    Case("decode, 1 KB", 1000, 100, lambda sp, ids: [sp.decode(row) for row in ids], ids_of),
    Case("decode of pieces, 1 KB", 1000, 100, lambda sp, pieces: [sp.decode(row) for row in pieces], pieces_of),
    Case("decode, 1 MB", 1_000_000, 1, lambda sp, ids: [sp.decode(row) for row in ids], ids_of),
    Case("decode of a list, 500 of 2 KB", 2000, 500, lambda sp, ids: sp.decode(ids), ids_of),
    Case(
        "id_to_piece of each id, 1 KB",
        1000,
        20,
        lambda sp, ids: [sp.id_to_piece(id) for row in ids for id in row],
        ids_of,
    ),
    Case(
        "piece_to_id of a list, 1 KB", 1000, 100, lambda sp, pieces: [sp.piece_to_id(row) for row in pieces], pieces_of
    ),
]


def load_times(path: Path, rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Seconds of importing, and of importing and loading with a first text, in new processes."""
    found: dict[str, list[tuple[float, float]]] = {"sentencepiece": [], "jeton.compat.sentencepiece": []}
    for turn in range(rounds + 1):
        for module in sorted(found, reverse=bool(turn % 2)):
            code = LOAD.format(module=module, path=str(path))
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
            imported, loaded = map(float, done.stdout.split())
            if turn:
                found[module].append((imported, loaded))
    return found


def rows(path: Path, text: str, rounds: int) -> Iterator[tuple[str, str, float, float]]:
    """Case, unit, sentencepiece, drop-in."""
    import sentencepiece

    import jeton.compat.sentencepiece as drop_in

    loads = load_times(path, rounds)
    for at, what in enumerate(("import", "import, load and a first text")):
        peer, ours = (statistics.median(row[at] for row in found) for found in loads.values())
        yield what, "ms", peer * 1e3, ours * 1e3
    theirs, mine = (library.SentencePieceProcessor(model_file=str(path)) for library in (sentencepiece, drop_in))
    for case in CASES:
        peer, ours = measure(case, theirs, mine, text, rounds)
        calls = 1 if "of a list, " in case.name and "KB" in case.name and case.count == 500 else case.count
        yield case.name, "µs a call", peer / calls * 1e6, ours / calls * 1e6


def main() -> int:
    """Runs the command; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", default=MODELS, help="models")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--output", type=Path, help="output file (default: replace the record)")
    asked = parser.parse_args()
    if "JETON_TEST_DATA" not in os.environ:
        raise SystemExit("set JETON_TEST_DATA to the folder of corpora and vocabularies")
    from sentencepiece import __version__

    text = corpus("english", 40_000_000).decode("utf-8", "ignore")
    found = []
    for name in asked.only:
        path = Path(os.environ["JETON_TEST_DATA"], "vocabs", name)
        for case, unit, peer, ours in rows(path, text, asked.rounds):
            print(f"{name:12.12} {case:45} {peer:12.2f} {ours:12.2f} {unit:10} {peer / ours:8.1f}", flush=True)
            medians = {"peer_median": f"{peer:.3f}", "jeton_median": f"{ours:.3f}", "ratio": f"{peer / ours:.1f}"}
            found.append({"model": name, "case": case, "unit": unit, "peer": f"sentencepiece {__version__}"} | medians)
    is_complete = tuple(asked.only) == MODELS and asked.rounds >= 15
    record.write(asked.output or record.destination("drop-ins-sentencepiece", complete=is_complete), COLUMNS, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
