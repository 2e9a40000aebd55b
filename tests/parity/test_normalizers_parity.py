"""Equal texts and offsets of Jeton's normalizers and those of HF and SentencePiece, on every kind of text.

The libraries themselves are the oracle. ``JETON_TESTS=exhaustive`` tests every code point in every context.
"""

from __future__ import annotations

import base64
import io
import json
import os
import random
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import sentencepiece as spm
from tokenizers import Regex, Tokenizer, models, pre_tokenizers

from jeton import ConfigError, FormatError, _core
from jeton._core import read_message
from tests.selection import amount

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
JSON = dict[str, Any]


def bert(clean: bool = True, chinese: bool = True, accents: bool | None = None, lower: bool = True) -> JSON:
    names = {"clean_text": clean, "handle_chinese_chars": chinese, "strip_accents": accents, "lowercase": lower}
    return {"type": "BertNormalizer", **names}


def replace(content: str, **pattern: str) -> JSON:
    return {"type": "Replace", "pattern": pattern, "content": content}


SINGLE: dict[str, list[JSON]] = {
    **{
        name: [{"type": name}]
        for name in ["NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt", "ByteLevel"]
    },
    "strip": [{"type": "Strip", "strip_left": True, "strip_right": True}],
    "strip left": [{"type": "Strip", "strip_left": True, "strip_right": False}],
    "strip right": [{"type": "Strip", "strip_left": False, "strip_right": True}],
    "bert": [bert()],
    "bert cased": [bert(lower=False)],
    "bert without cleaning": [bert(clean=False)],
    "bert without Chinese": [bert(chinese=False, accents=False)],
    "bert accents": [bert(clean=False, chinese=False, accents=True, lower=False)],
    "prepend": [{"type": "Prepend", "prepend": "\u2581x"}],
    "replace": [replace("\u2581", String=" ")],
    "replace longer": [replace("<e>", String="e")],
    "replace by nothing": [replace("", String="a")],
    "replace special": [replace("!", String="(.|")],
    "replace spaces": [replace(" ", Regex=r" {2,}")],
    "replace white space": [replace(" ", Regex=r"\s+")],
    "replace class": [replace("-", Regex=r"[^a-z\s]{1,2}")],
}
CHAINS: dict[str, list[JSON]] = {
    "albert": [replace('"', String="``"), {"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"}],
    "clip": [{"type": "NFC"}, replace(" ", Regex=r"\s+"), {"type": "Lowercase"}],
    "llama": [{"type": "Prepend", "prepend": "\u2581"}, replace("\u2581", String=" ")],
    "bytes": [{"type": "NFC"}, {"type": "ByteLevel"}],
    "all": [
        {"type": "Nmt"},
        {"type": "NFKC"},
        {"type": "StripAccents"},
        bert(),
        *SINGLE["strip"],
        {"type": "ByteLevel"},
    ],
    "forms": [{"type": "NFD"}, {"type": "NFC"}, {"type": "NFKD"}, {"type": "NFKC"}],
}

ALPHABETS = [
    "aeioucnyAEIN \u0301\u0300\u0302\u0323\u0327\u0308\u0315\u031b\u0345\u1ea4\u1ed9\u00e9\u00c5\u0344\u0340",
    "\u1100\u1102\u1161\u1162\u11a8\u11c2\uac00\uac01\ud7a3\u1175\u11a7 a\u0301",
    "\U0001f468\u200d\U0001f469\U0001f3fd\ufe0f\u2764\U0001f1e9\U0001f1ea x\u0301",
    "\ufdfa\ufefb\ufe8e\u0644\u0627\u064b\u0651\u0670\u06dd \u0621",
    "\uff21\uff41\uff10\uff76\uff9e\u3000\u304b\u3099\u30ab\u309a\uff9f\u2460\u3392\u33a5 A1",
    "\0\x01\x07\x08\t\n\x0b\x0c\r\x1f\x7f\x80\x85\x8f\x9f\xa0\xad\u200b\u200e\u2028\u2029\ufeff\ufffd a\r\n",
    "\u0e01\u0e33\u0e49\u0e40\u0e31\u0ead\u0eb3\u0f73\u0f71\u0f72\u0f81\u0dca\u0ddc\u0ddd\u09c7\u09be 3",
    "  \t\u00a0\u2000\u2581\u2581ab.,\u3000",
    "\u4e00\u4e2d\uf900\u2f00\u3402\U00020000\U0002f800 ab\u0301\u2126\u212b\u1e9b\u0323\ufb01\ufb03\u2122\u00bd",
    "\u0130\u0131\u00df\u03a3\u03c2A\u1e9e\U00010400\u01c5\u0958\u093c\u0915\u094d\u200d\u0937\u0d4d",
    "\u0898\u1734\u1885\u1cf2\u1cf7\ua9bd\U000105d2\u0307\U000111c9\U00011935\U00011930\u1ac8 e",
]


@cache
def strings(seed: int = 3, count: int = amount(1_500, default=250)) -> list[str]:
    """Short texts of one or two alphabets, and every string of one or two characters of each alphabet."""
    rng = random.Random(seed)
    found = ["", " ", "plain text", "\u0301", "\u2122\x1eg"]
    for alphabet in ALPHABETS:
        found += ["".join(pair) for size in (1, 2) for pair in product(sorted(set(alphabet)), repeat=size)]
    for _ in range(count):
        letters = "".join(rng.sample(ALPHABETS, rng.choice([1, 1, 2, 4])))
        found.append("".join(rng.choices(letters, k=rng.randint(3, 24))))
    return found


def in_hf(parts: list[JSON]) -> Tokenizer:
    """A pipeline in HF with one token per character, so that offsets show the alignment."""
    tok = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    tok.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    top = json.loads(tok.to_str()) | {"normalizer": {"type": "Sequence", "normalizers": parts}}
    return Tokenizer.from_str(json.dumps(top))


def ours(parts: list[JSON], text: str, user_defined: list[bytes] | None = None) -> str:
    return _core.normalize_texts(json.dumps(parts), [text], user_defined or [])[0][0]


def spans(text: str, normalized: str, origins: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """For each character of the normalized text the characters of the text that it stands for."""
    at = [index for index, c in enumerate(text) for _ in c.encode()] + [len(text)]
    found, byte = [], 0
    for c in normalized:
        last = byte + len(c.encode())
        found.append((at[origins[byte][0]], at[origins[last - 1][1]]))
        byte = last
    return found


def check(parts: list[JSON], texts: list[str]) -> None:
    hf = in_hf(parts)
    for text, (normalized, origins) in zip(texts, _core.normalize_texts(json.dumps(parts), texts, []), strict=True):
        assert normalized == hf.normalizer.normalize_str(text), (parts, text)
        assert spans(text, normalized, origins) == hf.encode(text).offsets, (parts, text)


@pytest.mark.parametrize("name", [*SINGLE, *CHAINS])
def test_texts_and_offsets_equal_hf(name: str) -> None:
    check((SINGLE | CHAINS)[name], strings() if name in SINGLE else strings()[::3])


# ── Every code point ──────────────────────────────────────────────────────────────────────────────────────────────

CONTEXTS = ["{}", "a{}b", "{}\u0301", "e\u0323{}\u0302", "\u1100{}\u11a8", "\u0301{}", "q\u0345{}\u0327k"]
LATER = [*range(0x300), *range(0x1E00, 0x2100), *range(0x898, 0x900), 0x1734, 0x1885, 0xA9BD, 0x111C9, 0x105C9, 0xA7CE]


def check_every(parts: list[JSON], codes: list[int], contexts: list[str]) -> None:
    hf = in_hf(parts).normalizer
    for context in contexts:
        text = "|".join(context.format(chr(code)) for code in codes if not 0xD800 <= code < 0xE000)
        assert ours(parts, text) == hf.normalize_str(text), (parts, context)


@pytest.mark.parametrize("name", SINGLE)
def test_sampled_code_points_equal_hf(name: str) -> None:
    check_every(SINGLE[name], [*LATER, *range(0x340, 0x110000, amount(997, default=9_973))], CONTEXTS)
    check_every(
        SINGLE[name],
        [*range(0, 0x20000, amount(1, default=7)), *range(0x2F800, 0x2FA20), *range(0xE0000, 0xE0200)],
        ["{}"],
    )


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", SINGLE)
def test_every_code_point_equals_hf(name: str) -> None:
    check_every(SINGLE[name], [*range(0x110000)], CONTEXTS)


# ── Precompiled ───────────────────────────────────────────────────────────────────────────────────────────────────


def charsmap(model: bytes) -> JSON:
    """The normalization of a model file, as a component of Jeton."""
    spec, trainer = fields(fields(model)[3][0]), fields(fields(model).get(2, [b""])[0])
    return {
        "type": "SentencePiece",
        "precompiled_charsmap": base64.b64encode(spec.get(2, [b""])[0]).decode() or None,
        "add_dummy_prefix": bool(spec.get(3, [1])[0]),
        "remove_extra_whitespaces": bool(spec.get(4, [1])[0]),
        "escape_whitespaces": bool(spec.get(5, [1])[0]),
        "treat_whitespace_as_suffix": bool(trainer.get(24, [0])[0]),
    }


def fields(message: Any) -> dict[int, list[Any]]:
    """A protobuf message: number -> its values."""
    found: dict[int, list[Any]] = {}
    for number, value in read_message(message):
        found.setdefault(number, []).append(value)
    return found


@pytest.mark.parametrize("rule", ["nmt_nfkc", "nfkc", "nfkc_cf", "nmt_nfkc_cf"])
def test_precompiled_rules_equal_hf(rule: str) -> None:
    part = {
        "type": "Precompiled",
        "precompiled_charsmap": charsmap(trained(normalization_rule_name=rule))["precompiled_charsmap"],
    }
    check([part], strings())
    check([part, replace("\u2581", Regex=r" {2,}")], strings()[::3])
    check_every([part], [*LATER, *range(0x340, 0x110000, 997)], CONTEXTS)


@pytest.mark.parametrize("name", ["t5-small", "mbart-en-fairseq"])
def test_published_precompiled_rules_equal_hf(data: Path, name: str) -> None:
    top = json.loads((data / "vocabs" / f"{name}.tokenizer.json").read_text(encoding="utf-8"))
    normalizer = top["normalizer"]
    check(normalizer.get("normalizers", [normalizer]), strings())


# ── SentencePiece ─────────────────────────────────────────────────────────────────────────────────────────────────


@cache
def trained(**options: Any) -> bytes:
    """A tiny model."""
    model = io.BytesIO()
    lines = iter(["hello world this is a text", "another line of text", "abc abd abe xyz 12 345"] * 20)
    spm.SentencePieceTrainer.train(
        sentence_iterator=lines, model_writer=model, vocab_size=40, hard_vocab_limit=False, minloglevel=3, **options
    )
    return model.getvalue()


def user_defined(model: bytes) -> list[bytes]:
    return [piece[1][0] for piece in map(fields, fields(model)[1]) if piece.get(3) == [4]]


def check_sentencepiece(model: bytes, texts: list[str]) -> None:
    peer, parts, own = spm.SentencePieceProcessor(model_proto=model), json.dumps([charsmap(model)]), user_defined(model)
    for text, (normalized, origins) in zip(texts, _core.normalize_texts(parts, texts, own), strict=True):
        assert normalized == peer.normalize(text), text
        ends = [0, *(end for _, end in origins)]
        assert all(start <= end for start, end in origins), text
        assert ends == sorted(ends), text


SPECS: dict[str, JSON] = {
    **{rule: {"normalization_rule_name": rule} for rule in ("nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity")},
    "suffix": {"treat_whitespace_as_suffix": True},
    "suffix identity": {"treat_whitespace_as_suffix": True, "normalization_rule_name": "identity"},
    "every space": {"remove_extra_whitespaces": False},
    "every space identity": {"remove_extra_whitespaces": False, "normalization_rule_name": "identity"},
    "no prefix": {"add_dummy_prefix": False},
    "no prefix suffix": {"add_dummy_prefix": False, "treat_whitespace_as_suffix": True},
    "user-defined": {"user_defined_symbols": ("ab", "abc", "e\u0301", "\u2581\u2581", "\uff21", "a b", "\u2122")},
    "user-defined every space": {"user_defined_symbols": ("\u2581", "b "), "remove_extra_whitespaces": False},
}


@pytest.mark.parametrize("name", SPECS)
def test_normalizers_equal_sentencepiece(name: str) -> None:
    texts = [
        *strings(),
        " a  b ",
        "   ",
        "a\u2581 ",
        "abc ab e\u0301e \u2581\u2581x\uff21 a b  c\u2122",
        "b  b \u2581 ",
    ]
    check_sentencepiece(trained(**SPECS[name]), texts)


def test_sampled_code_points_equal_sentencepiece() -> None:
    codes = [code for code in [*LATER, *range(0x340, 0x110000, 997)] if not 0xD800 <= code < 0xE000]
    texts = ["|".join(context.format(chr(code)) for code in codes) for context in CONTEXTS]
    for rule in ("nmt_nfkc", "nfkc_cf"):
        check_sentencepiece(trained(normalization_rule_name=rule), texts)


@pytest.mark.parametrize(
    "name", ["mbart-en-fairseq.sentencepiece.bpe", "mistral-v1", "mistral-v3", "spm-ja", "spm-unigram-en"]
)
def test_published_models_normalize_as_in_sentencepiece(data: Path, name: str) -> None:
    check_sentencepiece((data / "vocabs" / f"{name}.model").read_bytes(), strings())


# ── What is refused ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "part",
    [
        {"type": "Unknown"},
        {"type": "Prepend", "prepend": ""},
        replace("x", String=""),
        replace("x", Regex="a*"),
        replace("x", Regex=r"^a"),
        replace("x", Regex=r"(a)\1"),
    ],
)
def test_unsupported_normalizers_are_refused(part: JSON) -> None:
    with pytest.raises(ConfigError):
        ours([part], "text")


@pytest.mark.parametrize("seed", range(4))
def test_broken_rules_end_in_an_error_or_a_text(seed: int) -> None:
    part = charsmap(trained(normalization_rule_name="nmt_nfkc"))
    whole, rng = base64.b64decode(part["precompiled_charsmap"]), random.Random(seed)
    refused = 0
    for _ in range(60):
        bad = bytearray(whole[: rng.choice([len(whole), rng.randrange(len(whole))])])
        for _ in range(rng.choice([0, 1, 30, 300])):
            if bad:
                bad[rng.randrange(len(bad)) if rng.random() < 0.8 else rng.randrange(min(4, len(bad)))] = rng.randrange(
                    256
                )
        for kind in ("SentencePiece", "Precompiled"):
            try:
                ours(
                    [part | {"type": kind, "precompiled_charsmap": base64.b64encode(bad).decode() or "AA=="}],
                    "\ufdfa e\u0301\uff21\u2122 a" * 9,
                )
            except FormatError:
                refused += 1
    assert refused > 20
