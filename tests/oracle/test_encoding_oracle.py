"""Encoding: the engine equals the lessons on random strings, for tokenizers of every level.

Tokenizers are trained on the corpora of the training oracle; strings are made of their letters and tokens. With
`JETON_ORACLE_STRINGS` (or ``python -m tests.oracle.test_encoding_oracle 100000``) as many strings as wanted.
"""

from __future__ import annotations

import base64
import logging
import os
import random
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import groupby
from multiprocessing import get_context
from typing import Any

import pytest

import jeton
from jeton.formats import tiktoken
from jeton.reference.step03_merge import Merge
from jeton.reference.step04_train import TIE_BREAKS
from jeton.reference.step05_encode import encode, encode_by_rank, ranks, steps
from jeton.reference.step06_decode import decode_bytes
from jeton.reference.step08_split import split
from jeton.reference.step09_characters import to_ids
from jeton.reference.step10_words import letters_of
from jeton.tokens.spelling import Spelling
from tests.material import CORPUS, TRICKY
from tests.oracle.test_training_oracle import LEVELS, make_corpus
from tests.selection import amount

NUM_STRINGS = int(os.environ.get("JETON_ORACLE_STRINGS") or amount(20_000, default=3_000))
STRINGS_PER_TOKENIZER = 50


def make_tokenizer(rng: random.Random, level: str, seed: int) -> tuple[jeton.Tokenizer, list[Any]]:
    """A tokenizer trained on a corpus of the training oracle, and the tokens that strings are made of."""
    corpus = make_corpus(seed, level)
    options: dict[str, Any] = {"level": "byte" if level == "byte" else "char", "pattern": "none"}
    if level in ("symbol", "suffix"):
        options = {"end_of_word": "</w>", "end_of_word_style": level}
    rule: Any = rng.choice(TIE_BREAKS)
    tok = jeton.train(corpus.counts, 400, tie_break=rule, progress=False, **options)
    tokens: list[Any] = [content for id, content in tok.vocab.items() if level != "byte" or id > 255]
    letters = [pretoken[i : i + 1] for pretoken in corpus.counts for i in range(len(pretoken))]
    if level != "byte":
        tokens = [token.decode() for token in tokens]
    if level == "suffix":  # some letters have an entry only at the end of a word, or never there
        tokens, letters = list(corpus.counts), list(corpus.counts)
    return tok, [*tokens, *letters]


def by_reference(tok: jeton.Tokenizer, level: str, text: Any) -> list[int]:
    """The ids, by the plain version, from the tokenizer's merges."""
    rank_of = ranks(Merge(*merge, 0) for merge in tok.merges)
    if level == "byte":
        return [id for part in cut_at_broken(text) for id in encode(list(part), rank_of)]
    spelling = Spelling(tok)
    spelled = {id: spelling(id) for id in tok.vocab}
    alphabet = {id: token for id, token in spelled.items() if id not in {new for _, _, new in tok.merges}}
    if level == "char":
        return encode(to_ids(text, alphabet), rank_of)
    words = [encode(to_ids(letters_of(word, level), alphabet), rank_of) for word in text.split()]
    return [id for word in words for id in word]


def cut_at_broken(data: bytes) -> list[bytes]:
    """Runs of UTF-8 and runs of invalid bytes, which are separate pretokens."""
    parts: list[tuple[bool, bytes]] = []

    def add(valid: bool, part: bytes) -> None:
        if part and parts and parts[-1][0] == valid:
            parts[-1] = (valid, parts[-1][1] + part)
        elif part:
            parts.append((valid, part))

    while data:
        try:
            data.decode()
            add(True, data)
            break
        except UnicodeDecodeError as error:
            add(True, data[: error.start])
            add(False, data[error.start : error.end])
            data = data[error.end :]
    return [part for _, part in parts]


def check(job: tuple[str, int]) -> str | None:
    """A description of the first string on which the two differ."""
    level, seed = job
    logging.getLogger("jeton").setLevel(logging.ERROR)
    rng = random.Random(f"strings {level} {seed}")
    tok, pieces = make_tokenizer(rng, level, seed)
    empty: Any = b"" if level == "byte" else ""
    for _ in range(STRINGS_PER_TOKENIZER):
        text = empty.join(rng.choices(pieces, k=rng.choice([1, 3, 10, 30])))[:200]
        if level == "suffix":
            text = " ".join(rng.choices(pieces, k=3))
        expected = by_reference(tok, level, text)
        encoding = tok.tokenize(text)
        if not tok.encode(text) == encoding.ids == expected == tok.encode_array(text).tolist():
            return f"{level}, tokenizer {seed}, {text!r}: {tok.encode(text)} != {expected}"
        if tok.count(text) != len(expected):
            return f"{level}, tokenizer {seed}, {text!r}: count {tok.count(text)} != {len(expected)}"
        if level in ("byte", "char") and tok.decode_bytes(expected) != decode_bytes(expected, dict(tok.vocab)):
            return f"{level}, tokenizer {seed}, {text!r}: decoding differs"
    return None


def run(num_strings: int) -> list[str]:
    """Checks that many strings, a quarter for each level, on all cores."""
    num_tokenizers = -(-num_strings // (STRINGS_PER_TOKENIZER * len(LEVELS)))
    todo = [(level, seed) for seed in range(num_tokenizers) for level in LEVELS]
    with get_context("spawn").Pool() as pool:
        return [failure for failure in pool.imap_unordered(check, todo, chunksize=4) if failure]


@pytest.mark.timeout(0 if NUM_STRINGS > 10_000 else 300)
def test_engine_and_reference_give_the_same_ids() -> None:
    assert not run(NUM_STRINGS)


def test_explained_steps_are_those_of_the_reference() -> None:
    rng = random.Random(5)
    for seed in range(30):
        tok, pieces = make_tokenizer(rng, "byte", seed)
        text = b"".join(rng.choices(pieces, k=12))
        rank_of = ranks(Merge(*merge, 0) for merge in tok.merges)
        taken = [(step.rank, step.new) for part in cut_at_broken(text) for step in steps(list(part), rank_of)]
        merges = [merge for pretoken in tok.explain(text).pretokens for merge in pretoken.merges]
        done = [(merge.rank, merge.result) for merge in merges]
        assert [step for step, _ in groupby(done)] == [step for step, _ in groupby(taken)]


PATTERNS = ("gpt2", "gpt4", "cl100k", "o200k")


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_cut_before_merging(pattern: str) -> None:
    tok = jeton.train([CORPUS], 400, pattern=pattern, progress=False)
    rank_of = ranks(Merge(*merge, 0) for merge in tok.merges)
    by_hand: Callable[[str], list[str]] = partial(split, pattern=pattern)
    for text in (*TRICKY, CORPUS):
        expected = [id for pretoken in by_hand(text) for id in encode(list(pretoken.encode()), rank_of)]
        assert tok.encode(text) == expected


def test_merging_by_rank_files_uses_the_joined_bytes() -> None:
    """Merging by the rank of the joined bytes, as for rank files; some ranks could not come from training."""
    rng = random.Random(11)
    for _ in range(60):
        tokens = [bytes([byte]) for byte in range(256)]
        while len(tokens) < 300:
            token = b"".join(rng.choices([*tokens[256:], b"a", b"b", b"c"], k=2))
            if token not in tokens:
                tokens.append(token)
        rng.shuffle(tokens)
        rank_of = {token: rank for rank, token in enumerate(tokens)}
        tok = _from_ranks(rank_of)
        for _ in range(20):
            text = b"".join(rng.choices([b"a", b"b", b"c", *tokens[250:]], k=20))
            parts = cut_at_broken(text)
            expected = [[rank_of[part]] if part in rank_of else encode_by_rank(part, rank_of) for part in parts]
            assert tok.encode(text) == [id for ids in expected for id in ids]


def _from_ranks(rank_of: dict[bytes, int]) -> jeton.Tokenizer:
    lines = b"".join(base64.b64encode(token) + b" %d\n" % rank for token, rank in rank_of.items())
    return tiktoken.read(lines, source="ranks", pattern="none", special_tokens=None)


def main() -> int:
    """Checks as many strings as the command line says."""
    num_strings = int(sys.argv[1]) if len(sys.argv) > 1 else NUM_STRINGS
    began = time.perf_counter()
    failures = run(num_strings)
    print(f"{num_strings} strings: {failures[0] if failures else 'equal'}  {time.perf_counter() - began:.0f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
