"""Cost of the drop-in for SentencePiece compared with sentencepiece; `benchmarks/record/drop-ins-sentencepiece.csv`.

    JETON_TEST_DATA=… python benchmarks/drop_ins_sentencepiece.py [--only MODEL] [--output FILE | --update]

As `harness.calls` says. Needs sentencepiece.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.calls import Case, Comparison, Timed, load_times, measured

MODELS = ("mistral-v1.model", "spm-unigram-en.model", "mbart-en-fairseq.sentencepiece.bpe.model")
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
    Case("encode of a list, 500 of 2 KB", 2000, 500, lambda sp, texts: sp.encode(texts), calls=1),
    Case(
        "encode(out_type=str) of a list, 500 of 2 KB",
        2000,
        500,
        lambda sp, texts: sp.encode(texts, out_type=str),
        calls=1,
    ),
    Case("encode of a list, 2 of 13 bytes", 13, 2, lambda sp, texts: sp.encode(texts)),
    Case("normalize, 1 KB", 1000, 100, lambda sp, texts: [sp.normalize(text) for text in texts]),
    Case("decode, 13 bytes", 13, 2000, lambda sp, ids: [sp.decode(row) for row in ids], ids_of),
    Case("decode, 1 KB", 1000, 100, lambda sp, ids: [sp.decode(row) for row in ids], ids_of),
    Case("decode of pieces, 1 KB", 1000, 100, lambda sp, pieces: [sp.decode(row) for row in pieces], pieces_of),
    Case("decode, 1 MB", 1_000_000, 1, lambda sp, ids: [sp.decode(row) for row in ids], ids_of),
    Case("decode of a list, 500 of 2 KB", 2000, 500, lambda sp, ids: sp.decode(ids), ids_of, 1),
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


def rows(name: str, text: str, rounds: int) -> Iterator[Timed]:
    """Case, unit, sentencepiece, drop-in."""
    import sentencepiece

    import jeton.compat.sentencepiece as drop_in

    path = str(Path(os.environ["JETON_TEST_DATA"], "vocabs", name))
    programs = (LOAD.format(module=module, path=path) for module in ("sentencepiece", "jeton.compat.sentencepiece"))
    yield from load_times(*programs, ("import", "import, load and a first text"), rounds)
    theirs, ours = (library.SentencePieceProcessor(model_file=path) for library in (sentencepiece, drop_in))
    yield from measured(CASES, theirs, ours, text, rounds)


def main() -> int:
    """Runs the command; returns the exit code."""
    from sentencepiece import __version__

    facts = {name: {"model": name} for name in MODELS}
    return Comparison("drop-ins-sentencepiece", f"sentencepiece {__version__}", facts, 15, rows).main(__doc__ or "")


if __name__ == "__main__":
    sys.exit(main())
