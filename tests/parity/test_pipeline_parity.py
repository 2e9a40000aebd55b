"""Pipelines equal HF: the output of each stage decides the result and the alignment of the next."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

import jeton

SPACED = "0\u2028 \u2028x \u3000é"
UNIGRAM: Any = {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.0], ["b", -1.5], ["▁", -2.0]]}
BYTES: Any = [[f"<0x{byte:02X}>", -9.0] for byte in range(256)]
WORDS: Any = {"type": "WordLevel", "unk_token": "<unk>", "vocab": {"<unk>": 0, "\u2028": 1, "Ġ": 2, "x": 3, "é": 4}}
TRIMS: Any = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
FIRST: Any = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True}
CHARACTERS: Any = {"type": "Split", "pattern": {"Regex": r"[\s\S]"}, "behavior": "Isolated", "invert": False}


@pytest.mark.parametrize(
    ("file", "texts"),
    [
        # Stripped text is not part of the piece, so the piece does not begin at 0.
        (
            {
                "normalizer": {"type": "Strip", "strip_left": True, "strip_right": True},
                "pre_tokenizer": FIRST,
                "model": UNIGRAM,
            },
            ["a", " a", "  a b ", "\u3000ab", ""],
        ),
        # The unknown token's piece, spelled in the text, is fused with adjacent unknown text.
        ({"model": UNIGRAM}, ["<unk>", "x<unk>", "<unk>y", "a<unk>b", "x<unk><unk>ya"]),
        (
            {"model": {**UNIGRAM, "vocab": [*UNIGRAM["vocab"], *BYTES], "byte_fallback": True}},
            ["x<unk>", "<unk>", "éé a 中文b", "<0x41>中", "中<0x41>", "é"],  # bytes have the offsets of their whole run
        ),
        # If symbols are not bytes, all white space is trimmed, including that of unknown text.
        ({"post_processor": TRIMS, "pre_tokenizer": CHARACTERS, "model": WORDS}, [SPACED, "ĠxĠ"]),
        ({"post_processor": TRIMS, "model": UNIGRAM}, ["\u2028a", "a \u3000b", " a "]),
    ],
)
def test_ids_and_offsets_like_hf(file: dict[str, Any], texts: list[str]) -> None:
    data = json.dumps({"version": "1.0", "added_tokens": [], **file})
    tok, hf = jeton.Tokenizer.from_bytes(data.encode()), Tokenizer.from_str(data)
    for text in texts:
        ours, theirs = tok.tokenize(text), hf.encode(text)
        assert (text, ours.ids, list(ours.hf_offsets)) == (text, theirs.ids, theirs.offsets)


def _replace(pattern: str, content: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {"String": pattern}, "content": content}


BERT: Any = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None}
NORMALIZERS: dict[str, list[Any]] = {
    **{name: [{"type": name}] for name in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt")},
    "Replace": [_replace(" ", "▁")],
    "Replace of two": [_replace("ab", "ab")],
    "Prepend": [{"type": "Prepend", "prepend": "▁"}, _replace(" ", "▁")],
    "Strip": [{"type": "Strip", "strip_left": True, "strip_right": True}],
    "BertNormalizer": [{**BERT, "lowercase": True}],
    "BertNormalizer, cased": [{**BERT, "lowercase": False}],
    "sequence": [{"type": "NFD"}, {"type": "StripAccents"}, {"type": "Lowercase"}, {"type": "NFC"}],
}
UNCHANGED = ["plain text", "текст", "中文，字", "가각", "ひらがな", "e", "हिन्दी"]
CHANGED = [
    "é",
    "e\u0301",
    "\u0323\u0302",
    "\u1100\u1161\u11a8",
    "A",
    "İ",
    "ﬁ",
    "①",
    "か\u3099",
    "ab",
    "漢",
    " ",
    "\n",
    "\u200b",
]
GPT2: Any = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True}


@pytest.mark.parametrize("name", NORMALIZERS)
@pytest.mark.parametrize("splits", [GPT2, CHARACTERS, None], ids=["byte level", "characters", "nothing"])
def test_text_of_which_some_changes_like_hf(name: str, splits: Any) -> None:
    letters = "".join([*UNCHANGED, *CHANGED, "▁x"])
    units = (
        sorted(set(letters))
        if splits is not GPT2
        else [chr(c) for c in (*range(33, 127), *range(161, 173), *range(174, 324))]
    )
    vocab = {"<unk>": 0} | {unit: id for id, unit in enumerate(units, 1)}
    file = {
        "version": "1.0",
        "added_tokens": [_added(len(vocab), "<é>", normalized=True), _added(len(vocab) + 1, "<t>", normalized=False)],
        "normalizer": {"type": "Sequence", "normalizers": NORMALIZERS[name]},
        "pre_tokenizer": splits,
        "model": {"type": "BPE", "unk_token": "<unk>", "vocab": vocab, "merges": []},
    }
    tok, hf = jeton.Tokenizer.from_bytes(json.dumps(file).encode()), Tokenizer.from_str(json.dumps(file))
    rng = random.Random(name)
    texts = ["", *UNCHANGED, *CHANGED]
    for share in (0.0, 0.01, 0.1, 1.0):
        for _ in range(12):
            pieces = [rng.choice(CHANGED if rng.random() < share else UNCHANGED) for _ in range(rng.randint(1, 40))]
            texts += ["".join(pieces), "<é>".join(pieces[:3]) + "<t>" + pieces[0]]
    theirs = hf.encode_batch(texts, add_special_tokens=False)
    batch = tok.encode_batch(texts, special="all")
    for text, expected, ids in zip(texts, theirs, batch, strict=True):
        ours = tok.tokenize(text, special="all")
        assert (text, ours.ids, list(ours.hf_offsets)) == (text, expected.ids, expected.offsets)
        assert list(ids) == expected.ids == tok.encode(text, special="all")
        assert tok.count(text, special="all") == len(expected.ids)


def _split(regex: str, behavior: str, invert: bool = False) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": regex}, "behavior": behavior, "invert": invert}


@pytest.mark.parametrize("behavior", ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"])
def test_thousands_of_pieces_go_through_many_stages(behavior: str) -> None:
    chance = random.Random(behavior)
    parts = ["the ", "a", "B12", "--", "!?", " ", "  ", "é", "中文", "\n", "²", "Ⅷ", "<x>", "'s", "\u2028", "9"]
    text = "".join(chance.choices(parts, k=9_000))
    stages = [
        {"type": "Punctuation", "behavior": behavior},
        {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True},
        {"type": "Digits", "individual_digits": False},
        _split("[0-9][0-9]", behavior),
        _split("a|Ġ", behavior, invert=True),
    ]
    letters = [*range(33, 127), *range(161, 173), *range(174, 324)]  # of the byte alphabet
    vocab = {"<unk>": 0} | {chr(code): id for id, code in enumerate(letters, 1)} | {"Ġt": 257, "he": 258}
    model = {"type": "BPE", "unk_token": "<unk>", "vocab": vocab, "merges": [["Ġ", "t"], ["h", "e"]]}
    file = {"added_tokens": [_added(259, "<x>", normalized=True)], "normalizer": {"type": "Lowercase"}, "model": model}
    data = json.dumps({"version": "1.0", **file, "pre_tokenizer": {"type": "Sequence", "pretokenizers": stages}})
    tok, hf = jeton.Tokenizer.from_bytes(data.encode()), Tokenizer.from_str(data)
    theirs, ours = hf.encode(text), tok.tokenize(text, special="all")
    assert len(theirs.ids) > 4_000
    assert (ours.ids, list(ours.hf_offsets)) == (theirs.ids, theirs.offsets)
    assert tok.encode(text, special="all") == theirs.ids


SUFFIXED: Any = {
    "type": "BPE",
    "end_of_word_suffix": "</w>",
    "unk_token": "<unk>",
    "vocab": {"<unk>": 0, "a": 1, "b": 2, "a</w>": 3, "b</w>": 4, "ab</w>": 5, "<x></w>": 6, "a</w>b": 7},
    "merges": [["a", "b</w>"]],
}
REPLACE: Any = {"type": "Replace", "pattern": {"String": "</w>"}, "content": "_"}
BYTE_LEVEL: Any = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}


def _added(id: int, content: str, *, normalized: bool = False) -> dict[str, Any]:
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": normalized, "special": True}
    return {"id": id, "content": content, **flags}


@pytest.mark.parametrize("suffix", ["</w>", "▁", " w", "é"])
@pytest.mark.parametrize("is_byte_level", [False, True])
@pytest.mark.parametrize(
    "decoder",
    [
        None,
        BYTE_LEVEL,
        {"type": "Fuse"},
        REPLACE,
        {"type": "BPEDecoder", "suffix": "</w>"},
        {"type": "BPEDecoder", "suffix": "w"},
        {"type": "Sequence", "decoders": [REPLACE, BYTE_LEVEL]},
        {"type": "Sequence", "decoders": [BYTE_LEVEL, REPLACE]},
    ],
)
def test_decoders_see_the_end_of_word_suffix(decoder: Any, is_byte_level: bool, suffix: str) -> None:
    vocab = {token.replace("</w>", suffix): id for token, id in SUFFIXED["vocab"].items()}
    model = {**SUFFIXED, "end_of_word_suffix": suffix, "vocab": vocab, "merges": [["a", f"b{suffix}"]]}
    pre = {"type": "WhitespaceSplit"}
    if is_byte_level:
        pre = {"type": "Sequence", "pretokenizers": [pre, BYTE_LEVEL]}
        if suffix in ("▁", " w"):  # inside of an entry they would not be bytes
            del vocab[f"a{suffix}b"]
    added = [_added(0, "<unk>"), _added(6, f"<x>{suffix}")]
    file = {"version": "1.0", "added_tokens": added, "pre_tokenizer": pre, "decoder": decoder, "model": model}
    data = json.dumps(file)
    tok, hf = jeton.Tokenizer.from_bytes(data.encode()), Tokenizer.from_str(data)
    again, written = jeton.Tokenizer.from_bytes(tok.to_bytes()), Tokenizer.from_str(tok.to_bytes().decode())
    assert again.fingerprint == tok.fingerprint
    for ids in ([1, 3], [3], [5, 1, 4], [4, 0, 5], [1, 6, 2, 3], [7 if 7 in vocab.values() else 3, 3], []):
        expected = hf.decode(ids, skip_special_tokens=False)
        assert (ids, tok.decode(ids), again.decode(ids)) == (ids, expected, expected)
        assert (ids, written.decode(ids, skip_special_tokens=False)) == (ids, expected)
    assert tok.encode("ab a b") == hf.encode("ab a b").ids


@pytest.mark.parametrize("is_byte_level", [False, True])
def test_the_last_word_of_a_normalized_vocabulary_ends_without_a_space(is_byte_level: bool) -> None:
    pre: Any = {"type": "WhitespaceSplit"}
    decoder: Any = {"type": "BPEDecoder", "suffix": "</w>"}
    if is_byte_level:
        pre = {"type": "Sequence", "pretokenizers": [pre, BYTE_LEVEL]}
    added = [_added(0, "<unk>"), _added(8, "<A>", normalized=True)]
    file = {"version": "1.0", "added_tokens": added, "normalizer": {"type": "Lowercase"}, "pre_tokenizer": pre}
    data = json.dumps({**file, "decoder": decoder, "model": SUFFIXED})
    tok, hf = jeton.Tokenizer.from_bytes(data.encode()), Tokenizer.from_str(data)
    for ids in ([1, 3], [5, 8], [5, 8, 4], [7, 3]):
        assert (ids, tok.decode(ids)) == (ids, hf.decode(ids, skip_special_tokens=False))


SPELLED_TWICE: Any = {
    "type": "BPE",
    "vocab": {token: id for id, token in enumerate(["a", "é", "Ã", "©", "Ä", "ł", "Â", "Ġ", "Ģ", "Ń", "Å", "Ĥ"])},
    "merges": [],
    "unk_token": "a",
}


@pytest.mark.parametrize(
    "stages",
    [
        {"normalizer": BYTE_LEVEL, "pre_tokenizer": BYTE_LEVEL},
        {"normalizer": BYTE_LEVEL, "pre_tokenizer": {**BYTE_LEVEL, "use_regex": True}},
        {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [BYTE_LEVEL, BYTE_LEVEL]}},
        {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [BYTE_LEVEL, {**BYTE_LEVEL, "use_regex": True}]}},
        {"normalizer": {"type": "Sequence", "normalizers": [BYTE_LEVEL, BYTE_LEVEL]}},
        {"pre_tokenizer": BYTE_LEVEL},
        {"normalizer": BYTE_LEVEL},
    ],
)
def test_text_is_spelled_as_often_as_in_hf(stages: dict[str, Any]) -> None:
    data = json.dumps({"version": "1.0", "added_tokens": [], "model": SPELLED_TWICE, "decoder": BYTE_LEVEL, **stages})
    tok, hf = jeton.Tokenizer.from_bytes(data.encode()), Tokenizer.from_str(data)
    again, written = jeton.Tokenizer.from_bytes(tok.to_bytes()), Tokenizer.from_str(tok.to_bytes().decode())
    for text in ["é", "aé a", "Ã©", " é", "a"]:
        expected = hf.encode(text).ids
        assert (text, tok.encode(text), again.encode(text)) == (text, expected, expected)
        assert (text, written.encode(text).ids) == (text, expected)
        assert tok.decode(expected) == hf.decode(expected)


@pytest.mark.parametrize("score", [2**70, -(2**70), 5.24560164915884e-21, 1.7e308, -5e-324, 0.1 + 0.2])
def test_scores_survive_a_file(score: float) -> None:
    model = {"type": "Unigram", "unk_id": 0, "vocab": [["u", 0.0], ["a", score], ["b", -1.0]]}
    tok = jeton.Tokenizer.from_bytes(json.dumps({"added_tokens": [], "model": model}).encode())
    again = jeton.Tokenizer.from_bytes(tok.to_bytes())
    assert (again.fingerprint, again._core.scores()) == (tok.fingerprint, tok._core.scores())


def test_scores_that_hf_cannot_read_are_a_named_loss(tmp_path: Path) -> None:
    model = {"type": "Unigram", "unk_id": 0, "vocab": [["u", 0.0], ["a", 2**70], ["b", -1.0]]}
    tok = jeton.Tokenizer.from_bytes(json.dumps({"added_tokens": [], "model": model}).encode())
    with pytest.raises(jeton.UnsupportedFeatureError, match="scores"):
        tok.save(tmp_path / "tokenizer.json")
