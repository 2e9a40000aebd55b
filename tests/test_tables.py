"""Tables of the fast path are built for long enough texts, and caches are bounded: neither changes ids."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import jeton

from .selection import rest_is_slow

# So many short texts that tables are built in between; then the same texts again, from the cache.
PROGRAM = """
import hashlib, random, jeton
words = random.Random(5)
parts = ["the", " old", " man", " told", "今天", "é", " ", "\\n", "x9"]
texts = ["".join(words.choices(parts, k=400)) for _ in range(5000)]
tok = jeton.train(texts[:200], 320, pattern="gpt2", progress=False)
digest = hashlib.sha256()
for text in texts + texts:
    digest.update(tok.encode_array(text).tobytes())
batch = tok.encode_batch(texts, threads=2)
digest.update(batch.ids.tobytes())
# So many entries that tables come in the middle of one text, which has to be merged; entries come before merges.
letters = ["".join(words.choices("abcdefgh", k=words.randrange(3, 12))) for _ in range(60_000)]
jeton.train([" ".join(letters)], 8_000, pattern="gpt2", progress=False).save("ranks.tiktoken", accept_loss=["pattern"])
tok = jeton.load("ranks.tiktoken", pattern="gpt2", special_tokens={})
unseen = " ".join("".join(words.choices("abcdefgh", k=words.randrange(3, 30))) for _ in range(7_000))
for text in [unseen[:3_000], unseen, unseen]:
    digest.update(tok.encode_array(text).tobytes())
print(sum(len(text.encode()) for text in texts) > 4 << 20, digest.hexdigest())
"""


@pytest.fixture(scope="module")
def digest(tmp_path_factory: pytest.TempPathFactory) -> str:
    return _run(tmp_path_factory.mktemp("plain"), {"JETON_TABLES": "lazy"})


def _run(folder: Path, settings: dict[str, str]) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "JETON_TABLES"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment | settings,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    is_enough, digest = done.stdout.split()
    assert is_enough == "True", "the texts must be long enough for tables"
    return digest


@pytest.mark.parametrize(
    "settings",
    rest_is_slow(
        [
            {},
            {"JETON_TABLES": "always"},
            {"JETON_CACHE_MB": "0"},
            {"JETON_CACHE_MB": "1000"},
            {"JETON_CACHE_MB": "much"},
            {"JETON_TABLES": "always", "JETON_SIMD": "avx2"},
            {"JETON_TABLES": "always", "JETON_SIMD": "portable"},
        ],
        lambda settings: not settings or "0" in settings.values() or "portable" in settings.values(),
        "the defaults, no cache, no vector instructions",
    ),
)
def test_ids_are_the_same_with_and_without_tables(tmp_path: Path, settings: dict[str, str], digest: str) -> None:
    assert _run(tmp_path, settings) == digest


def test_arrays_are_the_callers_own() -> None:
    tok = jeton.train(["the old man told"], 260, progress=False)
    first, second = tok.encode_array("the old man"), tok.encode_array("the old man")
    assert first.dtype == np.uint32
    assert first.flags.writeable
    first[:] = 0
    assert second.tolist() == tok.encode("the old man")
    view = second[2:]
    del second
    assert view.tolist() == tok.encode("the old man")[2:]  # the array keeps its memory alive


def test_no_ids_are_an_empty_array() -> None:
    tok = jeton.train(["the old man told"], 260, progress=False)
    assert tok.encode_array("").shape == (0,)
    assert tok.encode_batch([]).ids.shape == (0,)
    assert tok.encode_batch([]).offsets.tolist() == [0]


@pytest.mark.parametrize("special", ["all", "raise", {"</s>"}])
def test_cached_ids_without_permission_are_not_those_with_it(special: str | set[str]) -> None:
    """Only a model with a special token among its pieces makes ids depend on the permission."""
    pieces = [["<unk>", 0.0], ["</s>", -1.0], ["▁", -2.0], *([piece, -3.0] for piece in "abcs</>x0123456789")]
    definition = {
        "normalizer": {"type": "NFKC"},
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [{"type": "WhitespaceSplit"}, {"type": "Metaspace", "replacement": "▁"}],
        },
        "decoder": {"type": "Metaspace", "replacement": "▁"},
        "model": {"type": "Unigram", "unk_id": 0, "vocab": pieces},
        "added_tokens": [{"id": id, "content": piece, "special": True} for id, (piece, _) in enumerate(pieces[:2])],
    }
    tok = jeton.Tokenizer.from_bytes(json.dumps(definition).encode())
    text = "a＜/s＞b"  # NFKC makes the token of it

    def encoded() -> list[int] | type[Exception]:
        try:
            return tok.encode(text, special=special)
        except jeton.JetonError as error:
            return type(error)

    first = encoded()
    assert first == (jeton.SpecialTokenError if special == "raise" else [2, 3, 1, 4])
    others = " ".join("ab"[at % 2] * (at % 14 + 1) + f"{at}x" for at in range(3000))
    for _ in range(2):  # so many misses that the caches are allocated
        plain = tok.encode(f"{others} {text}", special="none")
    assert 1 not in plain
    assert encoded() == first
