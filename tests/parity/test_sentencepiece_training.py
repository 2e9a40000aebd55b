"""Equal pieces, scores and ids, all of them: `preset="sentencepiece"` and SentencePiece's own BPE trainer."""

from __future__ import annotations

import base64
import io
import random
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
from sentencepiece import sentencepiece_model_pb2 as messages

import jeton
from jeton.training.presets import SentencePiece
from jeton.training.presets.sentencepiece import character_map
from tests.material import CORPUS
from tests.parity.test_training_parity import read, synthetic
from tests.selection import amount

RARE = "\u2585"


def train_theirs(lines: list[str], vocab_size: int, **options: Any) -> bytes:
    """The bytes of the model that SentencePiece trains."""
    model = io.BytesIO()
    options = {"hard_vocab_limit": False, **options}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=model,
        model_type="bpe",
        vocab_size=vocab_size,
        minloglevel=2,
        num_threads=2,
        **options,
    )
    return model.getvalue()


def pieces(model: bytes) -> list[tuple[str, float, int]]:
    """(piece, score, kind) by id."""
    parsed = messages.ModelProto()
    parsed.ParseFromString(model)
    return [(piece.piece, piece.score, piece.type) for piece in parsed.pieces]


def check(lines: list[str], vocab_size: int, **options: Any) -> jeton.Tokenizer:
    """Trains both, and compares the models and the ids of texts that sentencepiece gives with either."""
    theirs = train_theirs(lines, vocab_size, **options)
    preset = SentencePiece(**{"hard_vocab_limit": False, **options})
    tok = jeton.train(lines, vocab_size, preset=preset, progress=False)
    ours = jeton.formats.sentencepiece.render(tok, ())
    assert pieces(ours) == pieces(theirs)
    one = sentencepiece.SentencePieceProcessor(model_proto=theirs)
    other = sentencepiece.SentencePieceProcessor(model_proto=ours)
    for text in [*lines[:200], "a<sep>b  c", "\u0301x ｱﾞ", "\t\u200b tab", "😀 emoji", ""]:
        ids = one.encode(text)
        assert other.encode(text) == ids, text
        assert tok.encode(text) == ids, text
        assert tok.decode(ids) == one.decode(ids), text
    return tok


OPTIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "all characters": {"character_coverage": 1.0},
    "fewer characters": {"character_coverage": 0.98},
    "bytes and digits": {"byte_fallback": True, "split_digits": True},
    "user-defined": {"user_defined_symbols": ["<sep>", "the", "ab"], "control_symbols": ["<c>"]},
    "short and loose": {
        "max_sentencepiece_length": 6,
        "split_by_number": False,
        "split_by_unicode_script": False,
        "character_coverage": 1.0,
    },
    "across spaces": {"split_by_whitespace": False, "max_sentencepiece_length": 12},
    "suffix": {"treat_whitespace_as_suffix": True},
    "suffix across spaces": {"treat_whitespace_as_suffix": True, "split_by_whitespace": False},
    "spaces": {"allow_whitespace_only_pieces": True, "remove_extra_whitespaces": False},
    "spaces as suffix": {
        "allow_whitespace_only_pieces": True,
        "remove_extra_whitespaces": False,
        "treat_whitespace_as_suffix": True,
    },
    "spaces across": {
        "allow_whitespace_only_pieces": True,
        "remove_extra_whitespaces": False,
        "split_by_whitespace": False,
    },
    "identity": {"normalization_rule_name": "identity", "add_dummy_prefix": False},
    "nfkc": {"normalization_rule_name": "nfkc"},
    "ids": {"unk_id": 3, "bos_id": -1, "eos_id": 0, "pad_id": 5, "pad_piece": "[PAD]", "unk_piece": "[UNK]"},
    "short lines": {"max_sentence_length": 60},
    "required": {"required_chars": "今天zé"},
    "bos is user-defined": {"user_defined_symbols": ["<s>", "</s>"]},
}


def lines_of(seed: int, words: int = 3_000) -> list[str]:
    """Lines with many ties, many scripts, numbers, and text that the trainer leaves out."""
    rng = random.Random(seed)
    text = synthetic(seed, words).replace("12 ", f"{rng.randint(0, 99_999)} ")
    lines = [line for line in text.replace("\r", "").split("\n") if line]
    odd = [
        "ｆｕｌｌ ｗｉｄｔｈ １２３",
        "カタカナとひらがな、漢字ー",
        "abc<sep>the there",
        f"left {RARE} out",
        "naïve e\u0301\u0323x",
        "  spaces   ",
    ]
    return [*lines, *CORPUS.replace("\r", "").split("\n"), *odd * 3, "a<s>b</s> <unk>"]


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
def test_generated_texts_give_equal_models(options: dict[str, Any]) -> None:
    check(lines_of(1), 900, **options)


@pytest.mark.parametrize("seed", range(2, 8))
def test_other_texts_give_equal_models(seed: int) -> None:
    check(lines_of(seed, 800), 500 + 100 * seed)


@pytest.mark.parametrize("lines", [["aab aaab ab"], ["low low lower newest newest", "widest"], ["aaaaaaaaaaaa"]])
def test_models_are_equal_after_the_last_pair(lines: list[str]) -> None:
    """When no pair is left, SentencePiece continues with pairs that no longer occur."""
    for size in range(8, 40):
        options: dict[str, Any] = {"character_coverage": 1.0}
        if size >= 3 + len(set("".join(lines).replace(" ", "_"))) + 1:
            check(lines, size, **options)


def test_too_few_pieces_is_an_error_in_both() -> None:
    with pytest.raises(RuntimeError, match="too high"):
        train_theirs(["ab"], 100, hard_vocab_limit=True)
    with pytest.raises(jeton.TrainingError, match="fewer than vocab_size=100"):
        jeton.train(["ab"], 100, preset="sentencepiece", progress=False)


@pytest.mark.parametrize("name", ["english", "chinese", "code"])
@pytest.mark.parametrize(
    "options",
    [{}, {"character_coverage": 1.0}, OPTIONS["bytes and digits"], OPTIONS["short and loose"], OPTIONS["spaces"]],
    ids=["default", "all characters", "bytes and digits", "short and loose", "spaces"],
)
@pytest.mark.timeout(900)
def test_corpora_give_equal_models(data: Path, name: str, options: dict[str, Any]) -> None:
    lines = read(data, name, amount(2_000_000, default=100_000)).split("\n")
    check([line.removesuffix("\r") for line in lines if line], amount(8_000, default=4_000), **options)


# ── the rules of normalization ────────────────────────────────────────────────────────────────────────────────────


def rules(blob: bytes) -> dict[str, str]:
    """Every rule of a character map: a walk through its double array."""
    (size,) = struct.unpack_from("<I", blob)
    units = np.frombuffer(blob, "<u4", size // 4, 4).astype(np.int64)
    texts = blob[4 + size :]
    offsets = (units >> 10) << ((units & 0x200) >> 6)
    labels = np.arange(1, 256)
    found: dict[str, str] = {}
    bases, keys = offsets[:1], [b""]
    while keys:  # one level of the trie at a time
        places = bases[:, None] ^ labels
        inside = np.minimum(places, len(units) - 1)
        rows, columns = np.nonzero((places < len(units)) & (units[inside] & 0x8000_00FF == labels))
        places = places[rows, columns]
        keys = [keys[row] + bytes([byte]) for row, byte in zip(rows, labels[columns], strict=True)]
        bases = places ^ offsets[places]
        for i in np.flatnonzero(units[places] & 0x100):
            start = int(units[bases[i]] & 0x7FFF_FFFF)
            found[keys[i].decode()] = texts[start : texts.index(b"\0", start)].decode()
    return found


@pytest.mark.slow(reason="test_generated_texts_give_equal_models normalizes by both")
@pytest.mark.parametrize("name", ["nmt_nfkc", "nfkc"])
def test_normalization_rules_equal_sentencepiece(name: str) -> None:
    """All 225,000 rules for characters and sequences equal those in SentencePiece's models."""
    model = messages.ModelProto()
    model.ParseFromString(train_theirs(["abc abd"] * 3, 10, normalization_rule_name=name))
    theirs = rules(model.normalizer_spec.precompiled_charsmap)
    assert len(theirs) > 225_000
    ours = character_map(name, ())
    assert ours is not None
    assert rules(base64.b64decode(ours)) == theirs


# ── scripts ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_scripts_that_merge_equal_sentencepiece() -> None:
    """Characters that may merge: code points next to a letter of each of six scripts, in one training."""
    anchors = "aжαあ한ا"
    dull = [
        (0x3500, 0x4D00),
        (0x5000, 0x9F00),
        (0xAC01, 0xD700),
        (0xD800, 0xF900),
        (0x12400, 0x18A00),
        (0x20100, 0x2A600),
    ]
    codes = [c for c in [*range(0x21, 0x32000), *range(0xE0000, 0xE0200)] if not any(a <= c < z for a, z in dull)]
    chars = [chr(code) for code in codes[:: amount(1, default=8)] if chr(code) not in anchors + RARE + "\u2581\x1f"]
    lines = [char + anchor for char in chars for anchor in anchors]
    options: dict[str, Any] = {
        "normalization_rule_name": "identity",
        "character_coverage": 1.0,
        "max_sentencepiece_length": 2,
        "add_dummy_prefix": False,
        "remove_extra_whitespaces": False,
        "hard_vocab_limit": False,
    }
    theirs = train_theirs(lines, 900_000, **options)
    ours = jeton.train(lines, 900_000, preset=SentencePiece(**options), progress=False)
    expected = {piece for piece, _, kind in pieces(theirs) if kind == 1 and len(piece) == 2}
    assert len(expected) > amount(20_000, default=2_000)
    assert {piece for piece in map(ours.id_to_token, ours.vocab) if len(piece) == 2} == expected
