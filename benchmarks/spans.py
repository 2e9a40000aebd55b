"""Time of spans, relative to ids alone, for each call that yields them.

``JETON_TEST_DATA=… python benchmarks/spans.py`` encodes four corpora, as texts of 1,500 characters and as one text of
5 MB, with one thread. The calls take turns on successive parts of the corpus, so no call repeats the text of the one
before; with texts of 5 MB a corpus is read more than once. Times are CPU time for the call and for freeing its result.
A call on a list is divided by ``encode_batch`` of the list, a call on one text by ``encode_array`` of it, one on pairs
by ``encode_batch`` of them, ``decode_with_offsets`` by ``decode``, and a call of an accelerated tokenizer of
transformers with ``return_offsets_mapping`` by the same call without it: lists, or padded arrays.

First, spans are compared with those of the slow path, which encodes the text again with alignments. A vocabulary with
differences has their number instead of times, and the exit code is 4.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from corpora import CORPORA, corpus
from harness import record

import jeton

VOCABULARIES = (
    "cl100k_base.tiktoken",
    "o200k_base.tiktoken",
    "llama3.tiktoken",
    "mistral-v1.model",
    "t5-small.tokenizer.json",
    "bert-uncased.vocab.txt",
)
TEXT = 1_500  # characters
PART = 300_000
LONG = 5_000_000
SPANS = ("byte_spans", "char_spans", "hf_offsets")
Texts = list[str]
Call = Callable[[jeton.Tokenizer, Texts], object]


def pairs_of(texts: Texts) -> tuple[Texts, Texts]:
    return texts[: len(texts) // 2], texts[len(texts) // 2 :][: len(texts) // 2]


@cache
def accelerated(tok: jeton.Tokenizer) -> Any:
    """The tokenizer of transformers with the same vocabulary, accelerated."""
    from transformers import PreTrainedTokenizerFast

    from jeton.integrations.transformers import accelerate

    padding = next(token for token in ("[PAD]", "<pad>") if token in tok.special_tokens)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "tokenizer.json")
        tok.save(path)
        options = {"tokenizer_file": str(path), "pad_token": padding, "model_max_length": 1 << 30}
        return accelerate(PreTrainedTokenizerFast(**options))


def offsets_of_rows(tok: jeton.Tokenizer, texts: Texts, **options: Any) -> object:
    return accelerated(tok)(texts, **options)


# name -> (the call for ids that it is divided by, the call)
CALLS: dict[str, tuple[str, Call]] = {
    "batch_ids": ("batch_ids", lambda tok, texts: tok.encode_batch(texts, threads=1)),
    "batch_offsets": ("batch_ids", lambda tok, texts: tok.encode_batch(texts, threads=1, offsets=True)),
    "pair_ids": ("pair_ids", lambda tok, texts: tok.encode_batch(*pairs_of(texts), threads=1)),
    "pair_offsets": ("pair_ids", lambda tok, texts: tok.encode_batch(*pairs_of(texts), threads=1, offsets=True)),
    "ids": ("ids", lambda tok, texts: [tok.encode_array(text, threads=1) for text in texts]),
    "tokenize": ("ids", lambda tok, texts: [tok.tokenize(text) for text in texts]),
    **{
        f"tokenize_{name}": (
            "ids",
            lambda tok, texts, name=name: [tok.tokenize(text).array(name) for text in texts],  # type: ignore[misc]
        )
        for name in (*SPANS, "word_ids")
    },
    "tokenize_objects": ("ids", lambda tok, texts: [list(tok.tokenize(text)) for text in texts]),
    "decode": ("decode", lambda tok, rows: [tok.decode(ids) for ids in rows]),
    "decode_with_offsets": ("decode", lambda tok, rows: [tok.decode_with_offsets(ids) for ids in rows]),
}
LISTS = {"return_attention_mask": False, "return_token_type_ids": False}
ARRAYS = {**LISTS, "padding": True, "return_tensors": "np"}
TRANSFORMERS: dict[str, tuple[str, Call]] = {
    f"transformers_{form}{suffix}": (
        f"transformers_{form}",
        lambda tok, texts, options=options, offsets=offsets: offsets_of_rows(  # type: ignore[misc]
            tok, texts, return_offsets_mapping=offsets, **options
        ),
    )
    for form, options in (("lists", LISTS), ("arrays", ARRAYS))
    for suffix, offsets in (("", False), ("_offsets", True))
}
ALL_CALLS = CALLS | TRANSFORMERS
LONG_CALLS = ("ids", *(f"tokenize_{name}" for name in (*SPANS, "word_ids")))
IN_TRANSFORMERS = ("t5-small.tokenizer.json", "bert-uncased.vocab.txt")
DECODED = ("decode", "decode_with_offsets")  # take lists of ids
COLUMNS = (
    "vocabulary",
    "corpus",
    "texts",
    "compared",
    "differ",
    "batch_ids_ms_per_mb",
    "ids_ms_per_mb",
    *(f"{name}_by_ids" for name in ALL_CALLS if ALL_CALLS[name][0] != name),
)


def differences(tok: jeton.Tokenizer, texts: Texts) -> int:
    """Number of texts with a column of spans other than the slow path's."""
    count = 0
    for text in texts:
        columns, *_ = tok._core.tokenize(text, None)
        encoding = tok.tokenize(text)
        count += any(encoding.array(name).tolist() != list(map(list, columns[2 + i])) for i, name in enumerate(SPANS))  # type: ignore[arg-type]
    return count


def times(
    tok: jeton.Tokenizer, names: tuple[str, ...], text: str, size: int, step: int, rounds: int
) -> dict[str, float]:
    """Median milliseconds per MB of each call."""
    found: dict[str, list[float]] = {name: [] for name in names}
    at = 0
    for number in range(rounds + 1):
        for name in names:
            part = text[at : at + size]
            at = (at + size) % max(len(text) - size, 1)
            texts = [part[start : start + step] for start in range(0, len(part), step)]
            num_bytes = len(part.encode())
            given: Any = [tok.encode(part) for part in texts] if name in DECODED else texts
            began = time.process_time()
            result = ALL_CALLS[name][1](tok, given)
            del result
            took = time.process_time() - began
            if number:  # the first round fills tables and caches
                found[name].append(took / num_bytes * 1e9)
    return {name: statistics.median(values) for name, values in found.items()}


def measure(
    tok: jeton.Tokenizer, text: str, names: tuple[str, ...], size: int, step: int, rounds: int
) -> dict[str, Any]:
    """Figures of a row of the record."""
    ms = times(tok, names, text, size, step, rounds)
    row: dict[str, Any] = {f"{name}_ms_per_mb": f"{ms[name]:.2f}" for name in ("batch_ids", "ids") if name in ms}
    for name, value in ms.items():
        if ALL_CALLS[name][0] != name:
            row[f"{name}_by_ids"] = f"{value / ms[ALL_CALLS[name][0]]:.2f}"
    return row


def main() -> int:
    """Runs the command; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--compared", type=int, default=200, help="number of texts of a corpus that are compared")
    parser.add_argument("--only", nargs="+", default=VOCABULARIES, help="vocabularies")
    parser.add_argument("--update", action="store_true", help="replace the rows of these vocabularies in the record")
    parser.add_argument("--output", type=Path, help="output file (default: replace the record)")
    asked = parser.parse_args()
    if "JETON_TEST_DATA" not in os.environ:
        raise SystemExit("set JETON_TEST_DATA to the folder of corpora and vocabularies")
    warnings.simplefilter("ignore")
    texts = {name: corpus(name, 0).decode("utf-8", "ignore") for name in CORPORA}
    rows, num_differ = [], 0
    for vocabulary in asked.only:
        tok = jeton.load(Path(os.environ["JETON_TEST_DATA"], "vocabs", vocabulary))
        for name, text in texts.items():
            starts = range(0, len(text), len(text) // asked.compared)
            differ = differences(tok, [text[start : start + 300] for start in starts])
            num_differ += differ
            sizes = {"1,500 characters": (PART, TEXT), "5 MB": (LONG // 3,) * 2 if name == "chinese" else (LONG,) * 2}
            for label, (size, step) in sizes.items():
                row: dict[str, Any] = {"vocabulary": vocabulary, "corpus": name, "texts": label}
                row |= {"compared": len(starts), "differ": differ}
                if not differ:
                    names = tuple(ALL_CALLS if vocabulary in IN_TRANSFORMERS else CALLS)
                    row |= measure(tok, text, LONG_CALLS if step == size else names, size, step, asked.rounds)
                rows.append(row)
                print(", ".join(f"{key} {row[key]}" for key in COLUMNS if key in row), flush=True)
    is_complete = tuple(asked.only) == VOCABULARIES and asked.rounds >= 2
    if asked.update:
        record.update(record.destination("spans", complete=True), COLUMNS, rows, order=VOCABULARIES)
        return 4 if num_differ else 0
    record.write(asked.output or record.destination("spans", complete=is_complete), COLUMNS, rows)
    return 4 if num_differ else 0


if __name__ == "__main__":
    sys.exit(main())
