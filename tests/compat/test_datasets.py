"""`datasets.map` of functions that use a drop-in: stable fingerprints, with and without processes."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest

from jeton.compat import sentencepiece, tiktoken

datasets = pytest.importorskip("datasets", reason="datasets is a test dependency")

TEXTS = ["low lower", "slow lowest", ""] * 5


def tiktoken_ids() -> Callable[[Any], Any]:
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"lo": 256, b"low": 257}
    enc = tiktoken.Encoding("small", pat_str=r"\w+|\W+", mergeable_ranks=ranks, special_tokens={"<s>": 258})
    return lambda batch: {"ids": enc.encode_batch(batch["text"])}


def sentencepiece_ids() -> Callable[[Any], Any]:
    model = io.BytesIO()
    lines = iter(["low lower lowest", "slow slower"])
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=lines, model_writer=model, vocab_size=18, model_type="bpe"
    )
    sp = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    return lambda batch: {"ids": sp.encode(batch["text"])}


def check(make: Callable[[], Callable[[Any], Any]], processes: int | None) -> None:
    from datasets.fingerprint import Hasher

    datasets.disable_progress_bars()
    encode = make()
    before = Hasher.hash(encode)
    expected = encode({"text": TEXTS})["ids"]
    assert Hasher.hash(encode) == before
    assert Hasher.hash(make()) == before
    rows = datasets.Dataset.from_dict({"text": TEXTS})
    prints = set()
    for num_proc in (None, None, processes):
        mapped = rows.map(encode, batched=True, batch_size=4, num_proc=num_proc)
        assert mapped["ids"][:] == expected
        prints.add(mapped._fingerprint)
    assert len(prints) == 1


@pytest.mark.parametrize("make", [tiktoken_ids, sentencepiece_ids])
def test_map_gives_equal_ids(make: Callable[[], Callable[[Any], Any]]) -> None:
    check(make, None)


@pytest.mark.slow(reason="starts processes; test_map_gives_equal_ids has one process")
@pytest.mark.parametrize("make", [tiktoken_ids, sentencepiece_ids])
def test_map_in_processes_gives_equal_ids(make: Callable[[], Callable[[Any], Any]]) -> None:
    check(make, 2)
