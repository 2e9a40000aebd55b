"""SentencePiece's BPE in a `tokenizer.json`, with each way to write `▁` for spaces: ids and offsets like HF."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

import jeton

from ..selection import amount

REPLACE: Any = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
PREPEND: Any = {"type": "Prepend", "prepend": "▁"}
SPLIT: Any = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}
WORDS = ["the", "then", "a", "old", "man", "</b>", "> </b>", "中文", "文字", "(x)", "x.y", "é", "▁", "ab", "\n", "1"]
PIECES = [
    *WORDS,
    " ",
    "  ",
    " ",
    "\t",
    "\0",
    "😀",
    "龘",
    "<x>",
    "<y>",
    "<z>",
    "[W]",
    "<s>",
    "the old",
    ">",
    "<0x0A>",
    "▁a",
]


def _metaspace(scheme: str, *, split: bool) -> dict[str, Any]:
    return {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": split}


def _model(*, byte_fallback: bool, fuse_unk: bool) -> dict[str, Any]:
    """A trained vocabulary with bytes, and tokens with a `▁` after another character."""
    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.Metaspace(split=True)
    chance = random.Random(3)
    corpus = [" ".join(chance.choices(WORDS, k=20)) for _ in range(100)]
    tok.train_from_iterator(corpus, trainers.BpeTrainer(vocab_size=120, show_progress=False))
    model = json.loads(tok.to_str())["model"]
    merges = [tuple(merge) for merge in model["merges"]]
    merges += [
        ("▁", "▁"),
        ("▁▁", "▁▁"),
        ("▁", "</b>"),
        (">", "▁</b>"),
        ("文", "▁"),
        ("y", "▁▁"),
        ("a", "▁"),
        ("a▁", "b"),
    ]
    made = {left + right for left, right in merges}
    tokens = ["<unk>", "<s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁</b>", *model["vocab"]]
    tokens += sorted({part for merge in merges for part in merge} | made)
    merges = list({left + right: (left, right) for left, right in reversed(merges)}.values())[::-1]
    vocab = {token: id for id, token in enumerate(dict.fromkeys(tokens))}
    options = {"byte_fallback": byte_fallback, "fuse_unk": fuse_unk, "unk_token": "<unk>"}
    return {"type": "BPE", "vocab": vocab, "merges": merges, **options}


def _added(vocab: dict[str, int], *, normalized: bool) -> list[dict[str, Any]]:
    """Added tokens with each flag."""
    flags: dict[str, dict[str, bool]] = {
        "<s>": {"special": True},
        "<x>": {},
        "<y>": {"lstrip": True},
        "<z>": {"rstrip": True},
        "[W]": {"single_word": True},
        "the old": {"normalized": normalized},
        "▁a": {"normalized": normalized},
    }
    none = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    new = (id for id in range(len(vocab), 2 * len(vocab)))
    return [
        {"id": vocab[content] if content in vocab else next(new), "content": content, **none, **own}
        for content, own in flags.items()
    ]


@pytest.mark.parametrize("kind", ["bytes", "unknown", "fused"])
@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize(
    ("normalizer", "pre_tokenizer"),
    [
        ({"type": "Sequence", "normalizers": [PREPEND, REPLACE]}, None),
        ({"type": "Sequence", "normalizers": [REPLACE, PREPEND]}, SPLIT),
        (REPLACE, SPLIT),
        (REPLACE, {**SPLIT, "behavior": "Isolated"}),
        ({"type": "Sequence", "normalizers": [PREPEND, REPLACE]}, {**SPLIT, "behavior": "Isolated"}),
        (REPLACE, _metaspace("first", split=False)),
        (PREPEND, _metaspace("always", split=False)),
        ({"type": "Sequence", "normalizers": [PREPEND, REPLACE]}, _metaspace("always", split=True)),  # not recognized
        *(
            (None, _metaspace(scheme, split=split))
            for scheme in ("first", "always", "never")
            for split in (True, False)
        ),
    ],
)
def test_ids_and_offsets_like_hf(normalizer: Any, pre_tokenizer: Any, normalized: bool, kind: str) -> None:
    model = _model(byte_fallback=kind == "bytes", fuse_unk=kind == "fused")
    added = _added(model["vocab"], normalized=normalized)
    stages = {"normalizer": normalizer, "pre_tokenizer": pre_tokenizer, "added_tokens": added, "model": model}
    data = json.dumps({"version": "1.0", **stages})
    tok, hf = jeton.Tokenizer.from_bytes(data.encode()), Tokenizer.from_str(data)
    chance = random.Random(str((normalizer, pre_tokenizer, kind)))
    texts = ["", " ", "  ", "▁", "> </b>", "<x>", " <x> a", "a<s> a", "x" * 500 + " </b>", "> " * 300, " a" * 129]
    for _ in range(amount(700, default=12)):
        parts = [chance.choice(PIECES) * chance.choice([1] * 9 + [40]) for _ in range(chance.randrange(12))]
        texts.append("".join(parts) if chance.random() < 0.5 else " ".join(parts))
    theirs = hf.encode_batch(texts)
    assert [encoding.ids for encoding in theirs] == tok.encode_batch(texts, special="all").tolist()
    tok.encode_batch(texts * 20, special="all")  # with tables
    assert [encoding.ids for encoding in theirs] == tok.encode_batch(texts, special="all").tolist()
    spans = tok.encode_batch(texts, special="all", offsets=True).hf_offsets
    assert spans is not None
    assert [list(offset) for encoding in theirs for offset in encoding.offsets] == spans.reshape(-1, 2).tolist()
    for text, encoding in zip(texts, theirs, strict=True):
        ours = tok.tokenize(text, special="all")
        assert (text, ours.ids, list(ours.hf_offsets)) == (text, encoding.ids, encoding.offsets)
        assert tok.encode(text, special="all") == encoding.ids
