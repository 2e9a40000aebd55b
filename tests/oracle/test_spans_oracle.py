"""Columns of spans and pretokens equal those of the slow path, which encodes a text again with alignments."""

from __future__ import annotations

import base64
import json
import os
import random
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import jeton
from jeton.training.character_maps import character_map

from ..material import TRICKY
from ..selection import amount
from .test_batch_oracle import ADDED, BERT, FILES, METASPACE, PIECES, WORDS, made, unigram, vocab

SPACES = {"type": "WhitespaceSplit"}
WORD_PIECE = {"type": "WordPiece", "unk_token": "[UNK]", "vocab": vocab([*WORDS, "1", "⁄", "2", "i", "##i"])}
EXPANSIONS = [["1", -2.0], ["⁄", -2.0], ["2", -2.0], ["...", -4.0], [".", -2.0], ["株式", -4.0], ["中国", -5.0]]


@cache
def file(name: str) -> dict[str, Any]:
    """The `tokenizer.json` of a pipeline whose spans follow from widths in most texts."""
    charsmap = base64.b64encode(character_map("nmt_nfkc")).decode()
    precompiled = {"type": "Precompiled", "precompiled_charsmap": charsmap}
    steps = [{"type": "Lowercase"}, {"type": "StripAccents"}, precompiled]
    words = {"type": "Sequence", "pretokenizers": [SPACES, METASPACE]}
    pieces = unigram(PIECES + EXPANSIONS, pre_tokenizer=words)
    return {
        "t5": pieces | {"normalizer": precompiled},
        "steps": pieces | {"normalizer": {"type": "Sequence", "normalizers": steps}},
        "nmt": pieces | {"normalizer": {"type": "Nmt"}},
        "bert": {"model": WORD_PIECE, "normalizer": BERT, "pre_tokenizer": {"type": "BertPreTokenizer"}},
        "bert cased": {
            "model": WORD_PIECE,
            "normalizer": BERT | {"lowercase": False, "strip_accents": False},
            "pre_tokenizer": {"type": "BertPreTokenizer"},
        },
        "bert spaces": {"model": WORD_PIECE, "normalizer": BERT, "pre_tokenizer": SPACES},
    }[name]


KINDS = ("t5", "steps", "nmt", "bert", "bert cased", "bert spaces")
ADDITIONS = ("", " added")  # without and with added tokens


@cache
def pipeline(name: str) -> jeton.Tokenizer:
    """A tokenizer of `file`, of `test_batch_oracle`, or of the data folder."""
    if name in FILES or name.startswith("nfc "):
        return made(name)
    whole = file(name.removesuffix(" added"))
    if name.endswith(" added"):
        size = len(whole["model"]["vocab"])
        options = {"special": False, "single_word": False, "lstrip": False, "rstrip": False}
        added = [("<x>", False), ("ﬁ", True), ("国", True)]
        whole = whole | {
            "added_tokens": [
                {"id": size + at, "content": content, "normalized": normalized, **options, "single_word": at == 2}
                for at, (content, normalized) in enumerate(added)
            ]
        }
    return jeton.Tokenizer.from_bytes(json.dumps(whole).encode())


# Characters that normalizers compose, decompose, reorder, expand, replace or remove.
PARTS = [
    *(
        "a",
        "b",
        "ab",
        "e",
        "the ",
        "the",
        "old",
        "天",
        "天天",
        "中",
        "中国",
        "国",
        "、",
        "unaffable",
        "q",
        "1",
        ".",
        ",",
        "-",
    ),
    *(
        "e\u0301",
        "a\u0327\u0302",
        "\u0301",
        " \u0301",
        "中\u0301",
        "\u0301中",
        "\u0344",
        "\u0f73",
        "\U0001d165\U0001d16f",
    ),
    *(
        "é",
        "É",
        "İ",
        "ß",
        "ǅ",
        "½",
        "…",
        "ﬁ",
        "ﷺ",
        "㍿",
        "①",
        "Ａ",
        "ｶﾞ",
        "が",
        "か\u3099",
        "각",
        "\u1100\u1161\u11a8",
        "ก็",
    ),
    *("😀", "👩\u200d👩\u200d👧", "🇫🇷", "❤\ufe0f", "\u200b", "\ufeff", "\xad", "\x00", "\x01", "\x7f", "\ufffd"),
    *(" ", "  ", "\t", "\n", "\r", "\r\n", "\u3000", "\xa0", "\u2028", "▁", "##a", "<unk>", "[UNK]", "<x>", "＜unk＞"),
]


def check(tok: jeton.Tokenizer, text: str | bytes, special: Any = "none") -> None:
    """Compares every column of a text, alone and in a batch, with the slow path."""
    try:
        columns, pretokens, _ = tok._core.tokenize(text, tok._permission(special))
    except jeton.InvalidTextError:
        with pytest.raises(jeton.InvalidTextError):
            tok.tokenize(text, special=special)
        return
    encoding = tok.tokenize(text, special=special)
    assert encoding.ids == columns[0]
    for column, expected in zip(("byte_spans", "char_spans", "hf_offsets"), columns[2:5], strict=True):
        assert encoding.array(column).tolist() == list(map(list, expected)), (column, text)  # type: ignore[arg-type]
    firsts = [first for *_, first in pretokens] + [len(columns[0])]
    words = [at for at, (first, end) in enumerate(pairwise(firsts)) for _ in range(first, end)]
    assert encoding.array("word_ids").tolist() == words, text
    batch = tok.encode_batch([text, text], offsets=True, special=special)
    assert batch.hf_offsets is not None
    assert batch.hf_offsets.tolist() == 2 * list(map(list, columns[4])), text
    found = tok._core.encode_batch_with_words([text, text], tok._permission(special), 1)[2]
    assert found.cast("q").tolist() == 2 * words, text


NAMES = [kind + added for kind in KINDS for added in ADDITIONS] + [*FILES, "nfc byte gpt2"]


@pytest.mark.parametrize("name", NAMES)
def test_columns_are_those_of_the_slow_path(name: str) -> None:
    tok, rng = pipeline(name), random.Random(name)
    for text in (*TRICKY, *ADDED, *PARTS):
        check(tok, text)
    for number in range(amount(3_000, default=250)):
        text = "".join(rng.choices(PARTS, k=rng.randrange(1, 14)))
        check(tok, text, rng.choice(["none", "all"]))
        if number % 10 == 0:
            check(tok, text.encode()[: rng.randrange(20)])


@pytest.mark.parametrize("name", NAMES)
@given(text=st.lists(st.one_of(st.sampled_from(PARTS), st.characters(exclude_categories=["Cs"])), max_size=20))
def test_columns_of_random_characters(name: str, text: list[str]) -> None:
    check(pipeline(name), "".join(text))


@pytest.mark.parametrize("name", KINDS)
def test_columns_of_every_character(name: str) -> None:
    tok, rng = pipeline(name), random.Random(name)
    chars = [chr(code) for code in range(0x20000) if not 0xD800 <= code < 0xE000]
    blocks = range(0, len(chars), 64)
    for start in rng.sample(blocks, amount(len(blocks), default=60)):
        own = chars[start : start + 64]
        check(tok, "a".join(own))
        check(tok, "".join(f"{c}{rng.choice(PARTS)}" for c in own))


@pytest.mark.skipif("JETON_TEST_DATA" not in os.environ, reason="JETON_TEST_DATA names no folder of vocabularies")
@pytest.mark.parametrize(
    "name",
    [
        "bert-uncased.vocab.txt",
        "t5-small.tokenizer.json",
        "mbart-en-fairseq.tokenizer.json",
        "mistral-v1.model",
        "cl100k_base.tiktoken",
        "roberta-base.tokenizer.json",
        "whisper-tiny.tokenizer.json",
    ],
)
def test_columns_of_real_vocabularies(name: str) -> None:
    tok, rng = jeton.load(Path(os.environ["JETON_TEST_DATA"], "vocabs", name)), random.Random(name)
    words = [
        "the",
        "quick",
        "Brown",
        "fox,",
        "unbelievable",
        "naïve",
        "中文分词。",
        "Straße",
        "déjà-vu",
        "123.45",
        "привет",
    ]
    for text in TRICKY:
        check(tok, text)
    for _ in range(amount(1_000, default=60)):
        check(tok, "".join(rng.choice(rng.choice((PARTS, words, [" "]))) for _ in range(rng.randrange(1, 20))))
