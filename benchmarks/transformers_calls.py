"""Cost of accelerated tokenizers of transformers beside the original ones; `benchmarks/record/transformers.csv`.

    JETON_TEST_DATA=… python benchmarks/transformers_calls.py [--only roberta-base …] [--output FILE | --update]

As `harness.calls` says. Needs transformers.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.calls import Case, Comparison, Timed, load_times, measured

# file -> padding token, model
VOCABULARIES = {
    "roberta-base": ("<pad>", "byte-level BPE"),
    "gpt-neox-20b": ("<|padding|>", "byte-level BPE"),
    "phi-3-mini": ("<|endoftext|>", "BPE with byte fallback"),
    "bert-uncased": ("[PAD]", "WordPiece"),
    "t5-small": ("<pad>", "Unigram"),
}
TEMPLATE = "{% for m in messages %}<|{{ m.role }}|>{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}"
LOAD = """
import json, sys, time
from transformers import PreTrainedTokenizerFast
import tokenizers
{prepare}
start = time.process_time()
tok = {make}
loaded = time.process_time()
tok("hello world")
print(loaded - start, time.process_time() - start)
"""


def ids_of(tok: Any, texts: list[str]) -> list[list[int]]:
    found: list[list[int]] = tok(texts, verbose=False)["input_ids"]
    return found


def pairs_of(tok: Any, texts: list[str]) -> list[tuple[str, str]]:
    return [(text[: len(text) // 2], text[len(text) // 2 :]) for text in texts]


def chats_of(tok: Any, texts: list[str]) -> list[list[dict[str, str]]]:
    return [
        [
            {"role": role, "content": text[at : at + 500]}
            for at, role in zip((0, 500, 1000, 1500), ("user", "assistant") * 2, strict=True)
        ]
        for text in texts
    ]


def split(tok: Any, texts: list[str]) -> list[list[str]]:
    return [text.split() for text in texts]


def words_of(tok: Any, texts: list[Any]) -> list[Any]:
    result = tok(texts, is_split_into_words=type(texts[0]) is list)
    return [result.word_ids(at) for at in range(len(texts))]


def masks(tok: Any, chats: Any) -> Any:
    return tok.apply_chat_template(chats, chat_template=TEMPLATE, return_dict=True, return_assistant_tokens_mask=True)


CASES = [
    Case(
        "one text, 13 characters",
        13,
        500,
        lambda tok, texts: [tok(text) for text in texts],
    ),
    Case("one text, 1,000 characters", 1000, 100, lambda tok, texts: [tok(text) for text in texts]),
    Case(
        'one text, 1,000 characters, padding="max_length", truncation=True',
        1000,
        100,
        lambda tok, texts: [tok(text, padding="max_length", truncation=True) for text in texts],
    ),
    Case("one pair, 200 characters", 200, 200, lambda tok, pairs: [tok(*pair) for pair in pairs], pairs_of),
    Case(
        "one text, 1,000,000 characters", 1_000_000, 1, lambda tok, texts: [tok(text, verbose=False) for text in texts]
    ),
    Case("batch of 500, 2,000 characters", 2000, 500, lambda tok, texts: tok(texts, verbose=False), calls=1),
    Case(
        "batch of 500, padding=True, truncation=True",
        2000,
        500,
        lambda tok, texts: tok(texts, padding=True, truncation=True),
        calls=1,
    ),
    Case(
        'batch of 500, padding=True, truncation=True, return_tensors="np"',
        2000,
        500,
        lambda tok, texts: tok(texts, padding=True, truncation=True, return_tensors="np"),
        calls=1,
    ),
    Case(
        "batch of 500, return_offsets_mapping=True",
        2000,
        500,
        lambda tok, texts: tok(texts, return_offsets_mapping=True, verbose=False),
        calls=1,
    ),
    Case(
        'batch of 500 pairs, truncation="only_first", overflow, stride, offsets',
        2000,
        500,
        lambda tok, pairs: tok(
            pairs,
            truncation="only_first",
            max_length=384,
            stride=64,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
        ),
        lambda tok, texts: [(text, text[:40]) for text in texts],
        calls=1,
    ),
    Case("batch of 8, 100 characters, padding=True", 100, 8, lambda tok, texts: tok(texts, padding=True), calls=1),
    Case("batch of 100, word_ids of each", 1000, 100, words_of, calls=1),
    Case("batch of 100 lists of words, word_ids of each", 1000, 100, words_of, split, 1),
    Case("batch of 50 chats with assistant masks", 2000, 50, masks, chats_of, 1),
    Case("decode, 13 characters", 13, 500, lambda tok, ids: [tok.decode(row) for row in ids], ids_of),
    Case("decode, 1,000 characters", 1000, 100, lambda tok, ids: [tok.decode(row) for row in ids], ids_of),
    Case(
        "batch_decode of 500, skip_special_tokens=True",
        2000,
        500,
        lambda tok, ids: tok.batch_decode(ids, skip_special_tokens=True),
        ids_of,
        1,
    ),
]


def file_of(name: str, folder: Path) -> Path:
    """A `tokenizer.json`, written if the data has another format."""
    vocabs = Path(os.environ["JETON_TEST_DATA"], "vocabs")
    if (path := vocabs / f"{name}.tokenizer.json").exists():
        return path
    import jeton

    path = folder / f"{name}.tokenizer.json"
    if not path.exists():
        jeton.load(vocabs / f"{name}.vocab.txt").save(path)
    return path


def rows(name: str, text: str, rounds: int) -> Iterator[Timed]:
    """Case, unit, original, accelerated."""
    from transformers import PreTrainedTokenizerFast

    from jeton.integrations.transformers import accelerate

    with tempfile.TemporaryDirectory() as folder:
        path = str(file_of(name, Path(folder)))
        peer = LOAD.format(prepare="", make=f"PreTrainedTokenizerFast(tokenizer_file={path!r})")
        prepare = "from jeton.integrations.transformers import JetonTokenizer"
        ours = LOAD.format(prepare=prepare, make=f"JetonTokenizer(tokenizer_file={path!r})")
        yield from load_times(peer, ours, ("load", "load and a first text"), rounds)
        options = {"tokenizer_file": path, "pad_token": VOCABULARIES[name][0], "model_max_length": 512}
        original, fast = PreTrainedTokenizerFast(**options), accelerate(PreTrainedTokenizerFast(**options))
    yield from measured(CASES, original, fast, text, rounds)


def main() -> int:
    """Runs the command; returns the exit code."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    from transformers import __version__

    facts = {name: {"vocabulary": name, "model": model} for name, (_, model) in VOCABULARIES.items()}
    return Comparison("transformers", f"transformers {__version__}", facts, 7, rows).main(__doc__ or "")


if __name__ == "__main__":
    sys.exit(main())
