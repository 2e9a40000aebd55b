"""Batches equal single calls for every kind of model: offsets equal `tokenize`, decoded rows equal `decode`."""

from __future__ import annotations

import json
import random
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jeton

from ..material import CORPUS, KINDS, TRICKY, byte_strings, texts, tokenizer
from ..selection import amount

PIECES = [
    ["<unk>", 0],
    ["▁", -3.0],
    ["a", -1.0],
    ["b", -1.5],
    ["ab", -2.0],
    ["▁ab", -2.5],
    ["天", -4.0],
    ["天天", -5.0],
]
PIECES += [["e", -2.0], ["\u0301", -3.0], ["é", -2.5], ["<unk>a", -3.5], ["▁the", -2.0]]
BYTES = [[f"<0x{byte:02X}>", -9.0] for byte in range(256)]
METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
WORDS = ["[UNK]", "un", "##aff", "##able", "##a", "u", "aff", "the", "old", "##e", "##r", "天", "##", "e", "a", "##b"]
BERT = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "lowercase": True}
CHARS = ["a", "b", "e", " ", "▁", "t", "h", "th", "the", "▁the", "ab", "<0x0A>", "<0xE5>", "<0xA4>", "<0xA9>", "天天"]
MERGES = ["t h", "th e", "▁ the", "a b"]


def vocab(words: list[str]) -> dict[str, int]:
    return {word: id for id, word in enumerate(words)}


def unigram(pieces: list[Any], *, byte_fallback: bool = False, **parts: Any) -> dict[str, Any]:
    return {"model": {"type": "Unigram", "unk_id": 0, "vocab": pieces, "byte_fallback": byte_fallback}, **parts}


FILES: dict[str, dict[str, Any]] = {
    "unigram": unigram(PIECES, pre_tokenizer=METASPACE),
    "unigram nfkc": unigram(PIECES, normalizer={"type": "NFKC"}, pre_tokenizer=METASPACE),
    "unigram bytes": unigram(PIECES + BYTES, byte_fallback=True, normalizer={"type": "NFD"}, pre_tokenizer=METASPACE),
    "word piece": {
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "vocab": vocab(WORDS), "max_input_chars_per_word": 9},
        "normalizer": BERT,
        "pre_tokenizer": {"type": "BertPreTokenizer"},
    },
    "word level": {
        "model": {"type": "WordLevel", "unk_token": "[UNK]", "vocab": vocab(WORDS)},
        "pre_tokenizer": {"type": "Whitespace"},
    },
    "characters": {
        "model": {"type": "BPE", "vocab": vocab(["<unk>", *CHARS]), "merges": MERGES, "unk_token": "<unk>"}
        | {"byte_fallback": True, "fuse_unk": True},
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}]},
    },
}
for file in FILES.values():
    file["added_tokens"] = [
        {"id": len(file["model"]["vocab"]) + at, "content": content, "special": False, "normalized": normalized}
        | {"lstrip": at == 1, "rstrip": at == 2, "single_word": False}
        for at, (content, normalized) in enumerate((("<x>", False), ("<l>", False), ("<r>", True), ("ﬁ", True)))
    ]
ADDED = [
    "a <x>",
    " <l>b",
    "<r>  the",
    "ﬁ fi",
    "<x><l> <r>",
    " <r> <l>",
    "e\u0301 天天 the old",
    "unaffable <unk>a <0x0A>",
]


@cache
def made(name: str) -> jeton.Tokenizer:
    """A small tokenizer of `FILES`, or one of the kinds of `material` after the normalizer of Qwen."""
    if name in FILES:
        return jeton.Tokenizer.from_bytes(json.dumps(FILES[name]).encode())
    file = json.loads(tokenizer(name.removeprefix("nfc ")).to_bytes())
    file["model"].pop("jeton")
    file["normalizer"] = {"type": "NFC"}
    return jeton.Tokenizer.from_bytes(json.dumps(file).encode())


def check(tok: jeton.Tokenizer, some: list[Any], **options: Any) -> None:
    """Compares a batch with single calls; the batch is refused if one of them is."""
    known = []
    for text in some:
        try:
            known.append((text, tok.tokenize(text, **options)))
        except jeton.InvalidTextError:
            with pytest.raises(jeton.InvalidTextError):
                tok.encode_batch([text], offsets=True, **options)
    batch = tok.encode_batch([text for text, _ in known], offsets=True, **options)
    assert batch.ids.tolist() == [id for _, encoding in known for id in encoding.ids]
    assert batch.hf_offsets is not None
    for at, (text, encoding) in enumerate(known):
        found = batch.hf_offsets[batch.offsets[at] : batch.offsets[at + 1]]
        assert list(map(tuple, found.tolist())) == encoding.hf_offsets, text
    rows = [encoding.ids for _, encoding in known]
    for errors in ("replace", "ignore"):
        assert tok.decode_batch(batch, invalid_utf8=errors) == [tok.decode(ids, invalid_utf8=errors) for ids in rows]  # type: ignore[arg-type]
    assert tok.decode_bytes_batch(batch, threads=1) == [tok.decode_bytes(ids) for ids in rows]
    assert tok.decode_batch(rows, skip_special_tokens=True) == [
        tok.decode(ids, skip_special_tokens=True) for ids in rows
    ]
    for ids in rows[:3]:
        assert tok.decode_tokens_bytes(ids) == [tok.id_to_bytes(id) for id in ids]
        text, starts = tok.decode_with_offsets(ids)
        assert text == tok.decode(ids)
        assert starts == sorted(starts)
        assert len(starts) == len(ids)
        assert all(0 <= start <= len(text) for start in starts)


SMALL = [*FILES, *(f"nfc {kind}" for kind in ("byte gpt2", "byte o200k", "byte none"))]


@pytest.mark.parametrize("name", SMALL)
def test_batches_of_small_models(name: str) -> None:
    tok = made(name)
    rng = random.Random(name)
    pieces = [*TRICKY, *ADDED, "the ", "ab", "天", "e\u0301", "é", " "]
    some = [*TRICKY, *ADDED]
    some += ["".join(rng.choices(pieces, k=rng.randrange(6))) for _ in range(amount(2_000, default=100))]
    check(tok, some)
    check(tok, some[:60], special="all", add_special_tokens=True)
    check(tok, [text.encode()[: rng.randrange(30)] for text in some[:100]])


@pytest.mark.parametrize("name", SMALL)
@given(data=st.data())
def test_batches_of_random_texts(name: str, data: st.DataObject) -> None:
    check(made(name), data.draw(st.lists(texts("byte gpt2"), max_size=3)))


@given(data=st.data())
def test_batches_of_random_bytes(kind: str, data: st.DataObject) -> None:
    if kind.startswith("byte"):
        check(tokenizer(kind), data.draw(st.lists(byte_strings(kind), max_size=3)))


def test_offsets_of_decoding_are_those_of_tokens() -> None:
    """At byte level, offsets of decoded tokens equal those of the encoding."""
    for kind in KINDS:
        if kind.startswith("byte") and not {"whitespace", "words"} & set(kind.split()):
            encoding = tokenizer(kind).tokenize(CORPUS)
            text, starts = tokenizer(kind).decode_with_offsets(np.array(encoding.ids))
            assert (text, starts) == (CORPUS, [start for start, _ in encoding.char_spans])


def samples(data: Path, rng: random.Random, number: int) -> list[str]:
    """Ranges of the declarations of human rights in all their scripts, and odd texts."""
    sources = [path.read_text(encoding="utf-8") for path in sorted((data / "udhr").glob("*.txt"))]
    sources = [source for source in sources if source]
    found = [*TRICKY, *ADDED]
    for _ in range(number):
        source = rng.choice(sources)
        start = rng.randrange(len(source))
        found.append(source[start : start + rng.randrange(400)] + rng.choice(["", "", rng.choice(TRICKY)]))
    return found


def test_batches_of_published_vocabularies(data: Path) -> None:
    names = [path for path in sorted((data / "vocabs").iterdir()) if not path.name.startswith(("gpt2.", "hostile"))]
    assert len(names) > 12
    for path in names:
        tok = jeton.load(path)
        some = samples(data, random.Random(path.name), amount(400, default=20))
        check(tok, some)
        check(tok, some[:100], special="all", add_special_tokens=True)
