"""Batches for models: for generated calls, `encode_batch` and `padded` equal `transformers`."""

from __future__ import annotations

import dataclasses
import json
import os
import random
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tools.compat_calls_transformers import VOCABULARIES as PADDED

import jeton
from tests.material import CORPUS, TRICKY, tokenizer
from tests.selection import amount

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
pytestmark = pytest.mark.filterwarnings("ignore")  # ignore warnings of transformers at import

CLS, SEP = ["<|im_start|>", 1], ["<|im_end|>", 2]  # the ids are filled in later

# Post-processors of tokenizer.json. Type ids of TemplateProcessing tell every segment from the others.
POST_PROCESSORS: dict[str, dict[str, Any] | None] = {
    "none": None,
    "bert": {"type": "BertProcessing", "cls": CLS, "sep": SEP},
    "roberta": {"type": "RobertaProcessing", "cls": CLS, "sep": SEP, "trim_offsets": True, "add_prefix_space": True},
    "clip": {"type": "RobertaProcessing", "cls": CLS, "sep": SEP, "trim_offsets": False, "add_prefix_space": False},
    "like roberta": {
        "type": "TemplateProcessing",
        "single": ["<|im_start|>:0", "A:0", "<|im_end|>:0"],
        "pair": ["<|im_start|>:0", "A:0", "<|im_end|>:0", "<|im_end|>:0", "B:0", "<|im_end|>:0"],
    },
    "types": {
        "type": "TemplateProcessing",
        "single": ["<|im_start|>:3", "A:4", "<|im_end|>:5"],
        "pair": ["<|im_start|>:6", "A:7", "<|im_end|>:8", "B:9", "<|im_end|>:10"],
    },
    "repeated": {
        "type": "TemplateProcessing",
        "single": ["A:0", "<|im_start|>:1"],
        "pair": ["B:3", "<|im_end|>:2", "A:4", "B:5"],
    },
}

# file -> padding token; GPT-2's is a pair of files
VOCABULARIES = {name: token for name, token in PADDED.items() if name != "gpt2.encoder.json"}

COLUMNS = ("input_ids", "attention_mask", "token_type_ids", "special_tokens_mask")


def in_transformers(data: bytes, pad_token: str) -> Any:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_buffer(data), pad_token=pad_token)


@cache
def with_post_processor(name: str) -> tuple[jeton.Tokenizer, Any]:
    file = json.loads(tokenizer("byte gpt2").to_bytes())
    file["model"].pop("jeton")  # Jeton's facts, which say that there is no post-processor
    ids = tokenizer("byte gpt2").special_tokens

    def piece(spelled: str) -> dict[str, Any]:
        id, _, type_id = spelled.rpartition(":")
        kind = "Sequence" if id in "AB" else "SpecialToken"
        return {kind: {"id": id, "type_id": int(type_id)}}

    post = POST_PROCESSORS[name]
    if post is not None:
        post = {key: [value[0], ids[value[0]]] if key in ("cls", "sep") else value for key, value in post.items()}
        for key in {"single", "pair"} & post.keys():
            post[key] = [piece(spelled) for spelled in post[key]]
            post["special_tokens"] = {token: {"id": token, "ids": [ids[token]], "tokens": [token]} for token in ids}
    data = json.dumps({**file, "post_processor": post}).encode()
    return jeton.Tokenizer.from_bytes(data), in_transformers(data, "<|endoftext|>")


@cache
def loaded(path: Path) -> tuple[jeton.Tokenizer, Any]:
    tok = jeton.load(path)
    data = path.read_bytes() if path.suffix == ".json" else tok.to_bytes()
    return tok, in_transformers(data, VOCABULARIES[path.name])


def some_text(rng: random.Random) -> str:
    """A few words of a corpus, a text of odd characters, or nothing."""
    kind = rng.random()
    if kind < 0.1:
        return ""
    if kind < 0.3:
        return rng.choice(TRICKY)[:60]
    start = rng.randrange(len(CORPUS) - 100)
    return CORPUS[start : start + rng.choice([3, 10, 30, 100])]


@dataclasses.dataclass
class Call:
    """A call, with its arguments for both libraries."""

    texts: list[str]
    pairs: list[str] | None
    add_special_tokens: bool
    max_length: int | None  # of truncation
    truncation: str
    stride: int
    side: str
    overflow: bool
    padding: bool | int  # True: to the longest row
    multiple_of: int | None
    padding_side: str

    @classmethod
    def generate(cls, rng: random.Random) -> Call:
        texts = [some_text(rng) for _ in range(rng.randint(1, 4))]
        pairs = [some_text(rng) for _ in texts] if rng.random() < 0.5 else None
        max_length = rng.choice([None, *range(24)])
        multiple_of = rng.choice([None, None, 1, 4, 8])
        padding = rng.choice([False, True, rng.randint(1, 24)])
        if max_length is not None and padding is not False:
            padding = rng.choice([True, max_length])  # transformers has one argument for both
            multiple_of = rng.choice([None, *(n for n in (1, 2, 3, 4) if max_length % n == 0)])
        return cls(
            texts,
            pairs,
            rng.random() < 0.7,
            max_length,
            rng.choice(["longest_first", "longest_first", "only_first", "only_second"]),
            rng.choice([0, 0, 1, 2, 3] if max_length is None or max_length > 9 else [0, 0, 0, 0, 1]),
            rng.choice(["right", "left"]),
            rng.random() < 0.5,
            padding,
            multiple_of,
            rng.choice(["right", "left"]),
        )

    def of_transformers(self, tok: Any) -> Mapping[str, Any]:
        tok.truncation_side = self.side
        fixed = self.padding is not True and self.padding is not False
        found: Mapping[str, Any] = tok(
            self.texts,
            self.pairs,
            add_special_tokens=self.add_special_tokens,
            max_length=self.padding if self.max_length is None and fixed else self.max_length,
            truncation=False if self.max_length is None else self.truncation,
            stride=self.stride,
            return_overflowing_tokens=self.overflow,
            padding="max_length" if fixed else self.padding,
            pad_to_multiple_of=self.multiple_of,
            padding_side=self.padding_side,
            return_token_type_ids=True,
            return_special_tokens_mask=True,
            return_offsets_mapping=True,
            verbose=False,
        )
        return found

    def of_jeton(self, tok: jeton.Tokenizer) -> jeton.TokenBatch:
        return tok.encode_batch(
            self.texts,
            self.pairs,
            special="all",
            add_special_tokens=self.add_special_tokens,
            max_length=self.max_length,
            truncation=self.truncation,  # type: ignore[arg-type]
            stride=self.stride,
            side=self.side,  # type: ignore[arg-type]
            overflow=self.overflow,
            offsets=True,
        )

    def pad(self, batch: jeton.TokenBatch, pad_id: int) -> jeton.PaddedBatch:
        length = None if self.padding is True else self.padding
        return batch.padded(length, self.multiple_of, self.padding_side, pad_id)  # type: ignore[arg-type]


def check(tok: jeton.Tokenizer, peer: Any, call: Call) -> str:
    """Compares one call. Returns the option that Jeton refused, or the kind of result."""
    try:
        batch = call.of_jeton(tok)
    except jeton.ConfigError as error:
        assert error.option in ("max_length", "truncation", "stride")
        if error.option == "max_length":  # transformers returns the texts as they are
            assert call.max_length is not None
            assert call.max_length < peer.num_special_tokens_to_add(pair=call.pairs is not None)
            return "max_length"
        with pytest.raises(BaseException, match=r"Truncation error|stride"):  # PanicException is a BaseException
            call.of_transformers(peer)
        return str(error.option)
    except jeton.InvalidTextError:  # a byte that Falcon's vocabulary lacks, which transformers drops
        return "invalid"
    try:
        theirs = call.of_transformers(peer)
    except ValueError as error:
        # transformers compares the stride with `max_length` even if nothing is truncated or the template adds nothing.
        assert "stride" in str(error)
        return "stride of transformers"
    assert [row.tolist() for row in batch] == [without_padding(*row) for row in rows(theirs)]
    spans = np.array([span for found in offsets_of(theirs) for span in found], np.int64).reshape(-1, 2)
    assert np.array_equal(batch.hf_offsets, spans), (batch.hf_offsets, spans)
    mapping = batch.overflow_to_sample_mapping
    assert theirs.get("overflow_to_sample_mapping") == (None if mapping is None else mapping.tolist())
    if call.padding is False:
        columns = {name: column for name, column in batch.to_dict().items() if name in COLUMNS}
        for name, column in columns.items():
            assert [row.tolist() for row in column] == theirs[name], name
        return "truncated" if call.max_length is not None else "whole"
    width = 0 if call.padding is True else call.padding + -call.padding % (call.multiple_of or 1)
    if call.padding is not True and max(map(len, batch)) > width:  # transformers returns rows longer than `padding`
        with pytest.raises(jeton.ConfigError, match="length="):
            call.pad(batch, peer.pad_token_id)
        return "length"
    if len({len(row) for row in theirs["input_ids"]}) > 1:  # it pads to the longest row without overflow
        assert call.overflow
        return "ragged"
    padded = call.pad(batch, peer.pad_token_id)
    for name in COLUMNS:
        assert padded[name].tolist() == theirs[name], name
        assert padded[name].dtype == np.int64
    assert padded.offset_mapping is not None
    assert np.array_equal(padded.offset_mapping.ravel(), np.array(theirs["offset_mapping"], np.int64).ravel())
    return "padded"


def rows(found: Mapping[str, Any]) -> list[tuple[list[int], list[int]]]:
    return list(zip(found["input_ids"], found["attention_mask"], strict=True))


def offsets_of(found: Mapping[str, Any]) -> list[list[tuple[int, int]]]:
    """Offsets of each row, without padding."""
    kept = zip(found["offset_mapping"], found["attention_mask"], strict=True)
    return [[span for span, is_kept in zip(*row, strict=True) if is_kept] for row in kept]


def without_padding(ids: list[int], mask: list[int]) -> list[int]:
    return [id for id, kept in zip(ids, mask, strict=True) if kept]


def check_calls(tok: jeton.Tokenizer, peer: Any, seed: str, number: int) -> None:
    rng = random.Random(seed)
    seen: Counter[str] = Counter()
    for _ in range(number):
        call = Call.generate(rng)
        try:
            seen[check(tok, peer, call)] += 1
        except AssertionError as error:
            raise AssertionError(f"{call}: {error}") from error
    assert seen["padded"] + seen["truncated"] > number / 4, seen


@pytest.mark.parametrize("name", POST_PROCESSORS)
def test_generated_calls_with_every_post_processor(name: str) -> None:
    calls = 300 if name == "repeated" else 3_000  # a call of this processor takes 80 ms: overflow of both occurrences
    check_calls(*with_post_processor(name), name, amount(calls, default=30))


@pytest.mark.slow(reason="the same with small tokenizers")
@pytest.mark.parametrize("name", VOCABULARIES)
def test_generated_calls_with_vocabularies(data: Path, name: str) -> None:
    tok, peer = loaded(data / "vocabs" / name)
    check_calls(tok, peer, name, 3_000)


@pytest.mark.slow(reason="the same with small tokenizers, in test_encoding_parity")
@pytest.mark.parametrize("name", VOCABULARIES)
def test_words_and_characters_equal_hf(data: Path, name: str) -> None:
    tok, peer = loaded(data / "vocabs" / name)
    peer._tokenizer.no_truncation()
    peer._tokenizer.no_padding()
    rng = random.Random(name)
    for _ in range(300):
        text, pair = some_text(rng), some_text(rng)
        try:
            ours = tok.tokenize(text, pair, special="all", add_special_tokens=True)
        except jeton.InvalidTextError:
            assert name.startswith("falcon")  # its vocabulary lacks bytes, and transformers drops them
            continue
        theirs = peer._tokenizer.encode(text, pair)
        assert ours.ids == theirs.ids
        assert ours.word_ids == theirs.word_ids, (text, pair)
        for i in range(len(ours)):
            assert ours.token_to_chars(i) == theirs.token_to_chars(i)
        for i in range(len(text) + 1):
            assert ours.char_to_token(i) == theirs.char_to_token(i), (text, i)
