"""Equal merges, all of them: `preset="hf"` and HF's BpeTrainer, `preset="minbpe"` and minbpe's algorithm."""

from __future__ import annotations

import json
import lzma
import os
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import regex
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

import jeton
from jeton.reference.step08_split import PATTERNS
from tests.material import CORPUS
from tests.selection import amount

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


def synthetic(seed: int, words: int = 6_000) -> str:
    """Text with many ties: words of few letters, in many scripts, with marks and numbers between them."""
    rng = random.Random(seed)
    vocabulary = [*CORPUS.split(), *("".join(rng.choices("abcdé今天", k=rng.randint(1, 7))) for _ in range(400))]
    ends = [" ", " ", " ", "\n", ", ", "  ", "12 ", "'s "]
    return "".join(rng.choice(vocabulary) + rng.choice(ends) for _ in range(words))


def read(data: Path, name: str, chars: int) -> str:
    with lzma.open(data / "corpora" / f"{name}.txt.xz", "rt", encoding="utf-8") as file:
        return file.read(chars)


# ── HF ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def by_hf(
    texts: list[str], vocab_size: int, special_tokens: list[str], min_frequency: int = 0
) -> tuple[dict[str, int], list[tuple[str, str]]]:
    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tok.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=special_tokens,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        min_frequency=min_frequency,
        show_progress=False,
    )
    tok.train_from_iterator(texts, trainer)
    model = json.loads(tok.to_str())["model"]
    return model["vocab"], [tuple(merge) for merge in model["merges"]]


def check_hf(texts: list[str], vocab_size: int, special_tokens: list[str], min_frequency: int = 0) -> None:
    vocab, merges = by_hf(texts, vocab_size, special_tokens, min_frequency)
    tok = jeton.train(
        texts,
        vocab_size,
        preset="hf",
        special_tokens=special_tokens,
        min_frequency=max(min_frequency, 1),
        progress=False,
    )
    assert [(tok.id_to_token(left), tok.id_to_token(right)) for left, right, _ in tok.merges] == merges
    assert {tok.id_to_token(id): id for id in tok.vocab} == vocab


@pytest.mark.parametrize("special_tokens", [[], ["<s>", "<pad>", "</s>"]], ids=["plain", "special tokens"])
@pytest.mark.parametrize("seed", range(4))
def test_small_corpora_give_equal_merges_in_hf(seed: int, special_tokens: list[str]) -> None:
    check_hf([synthetic(seed), CORPUS], 1_500, special_tokens)


def test_hf_stops_at_the_same_frequency() -> None:
    check_hf([synthetic(9, 800)], 3_000, ["<s>"], min_frequency=3)
    check_hf([synthetic(9, 800)], 3_000, [], min_frequency=2)


@pytest.mark.slow(
    reason="equal merges on smaller texts: test_small_corpora_give_equal_merges_in_hf, test_hf_training.py"
)
def test_20_mb_give_equal_merges_in_hf(data: Path) -> None:
    parts = [read(data, name, 7_000_000) for name in ("english", "chinese", "code")]
    texts: list[str] = []
    room = 20_000_000
    for text in parts:
        for line in text.splitlines(keepends=True):
            room -= len(line.encode())
            if room < 0:
                break
            texts.append(line)
    check_hf(texts, 8_000, ["<|s|>", "<|pad|>"])  # not in the corpus, where only Jeton splits at them


# ── minbpe ────────────────────────────────────────────────────────────────────────────────────────────────────────


def by_minbpe(chunks: list[bytes], num_merges: int) -> list[tuple[int, int, int]]:
    """karpathy/minbpe's training: count all pairs anew, take the first of the most frequent, replace it everywhere."""
    ids = [list(chunk) for chunk in chunks]
    merges = []
    for new in range(256, 256 + num_merges):
        counts: dict[tuple[int, int], int] = {}
        for chunk in ids:
            for pair in pairwise(chunk):
                counts[pair] = counts.get(pair, 0) + 1
        if not counts:
            break
        best = max(counts, key=counts.__getitem__)
        ids = [_replace(chunk, best, new) if len(chunk) > 1 else chunk for chunk in ids]
        merges.append((*best, new))
    return merges


def _replace(ids: list[int], pair: tuple[int, int], new: int) -> list[int]:
    left, right = pair
    out = []
    at, last = 0, len(ids) - 1
    while at <= last:
        if ids[at] == left and at < last and ids[at + 1] == right:
            out.append(new)
            at += 2
        else:
            out.append(ids[at])
            at += 1
    return out


def check_minbpe(text: str, num_merges: int, pattern: str | None) -> None:
    chunks = [text] if pattern is None else regex.findall(PATTERNS[pattern], text)
    assert pattern is None or "".join(chunks) == text
    expected = by_minbpe([chunk.encode() for chunk in chunks], num_merges)
    options: dict[str, Any] = {} if pattern is None else {"pattern": pattern}
    tok = jeton.train([text], 256 + num_merges, preset="minbpe", progress=False, **options)
    assert list(tok.merges) == expected


@pytest.mark.parametrize("pattern", [None, "gpt4"])
@pytest.mark.parametrize("seed", range(amount(3, default=1)))
def test_small_corpora_give_equal_merges_in_minbpe(seed: int, pattern: str | None) -> None:
    check_minbpe(synthetic(seed, 1_200), 200, pattern)


def test_minbpe_until_nothing_is_left() -> None:
    check_minbpe("the old man told the old tale", 40, None)


@pytest.mark.exhaustive
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("pattern", [None, "gpt4"])
def test_1_mb_gives_equal_merges_in_minbpe(data: Path, pattern: str | None) -> None:
    check_minbpe(read(data, "english", 1_000_000), 1_000, pattern)
