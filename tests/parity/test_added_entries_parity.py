"""Added tokens that are also entries of the model: in HF, text outside of matches may become them, too.

Special ones only by permission, and in Unigram models, whose list of pieces has all of them.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from tokenizers import Tokenizer

import jeton

LOWER: Any = {"type": "Lowercase"}
TEXTS = ["HELLO hello Hello", "B b ab AB aB", "hello", "B", "xB Bx", "bB hellob HELLOB", "bHELLO Ahello", ""]


def _added(*tokens: tuple[int, str]) -> list[dict[str, Any]]:
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
    return [{"id": id, "content": content, **flags} for id, content in tokens]


BPE: Any = {
    "type": "BPE",
    "unk_token": "[UNK]",
    "vocab": {"[UNK]": 0, "hello": 1, "b": 2, "a": 3, "h": 4, "e": 5, "l": 6, "o": 7, "##b": 8},
    "merges": [],
}
WORDS: Any = {"unk_token": "[UNK]", "vocab": {"[UNK]": 0, "hello": 1, "b": 2, "a": 3}}
BYTES: Any = {"[UNK]": 0, "hello": 1, "b": 2, "a": 3, "h": 4, "e": 5, "l": 6, "o": 7, "x": 8, "Ġ": 9}
BYTE_LEVEL: Any = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
SPLIT: Any = {"type": "WhitespaceSplit"}
UNIGRAM: Any = {"type": "Unigram", "unk_id": 0, "vocab": [["u", 0.0], ["hello", -3.0], ["b", -1.0], ["a", -2.0]]}
FILES: Any = {
    "word level": {"pre_tokenizer": SPLIT, "model": {"type": "WordLevel", **WORDS}},
    "word piece": {
        "pre_tokenizer": SPLIT,
        "model": {
            "type": "WordPiece",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            **WORDS,
            "vocab": {**WORDS["vocab"], "##b": 4, "##hello": 5},
        },
    },
    "whole first": {"pre_tokenizer": SPLIT, "model": {**BPE, "ignore_merges": True}},
    "units": {"pre_tokenizer": SPLIT, "model": BPE},
    "units inside": {"pre_tokenizer": SPLIT, "model": {**BPE, "continuing_subword_prefix": "##"}},
    "bytes": {
        "pre_tokenizer": BYTE_LEVEL,
        "decoder": BYTE_LEVEL,
        "model": {**BPE, "vocab": BYTES, "ignore_merges": True},
    },
    "merged": {
        "pre_tokenizer": SPLIT,
        "model": {**BPE, "vocab": {**BPE["vocab"], "ab": 9}, "merges": [["a", "b"]]},
    },
    "scores": {"model": UNIGRAM},
}
INSIDE: Any = {
    name: sorted(id for token, id in file["model"]["vocab"].items() if token in ("hello", "b", "##b", "##hello", "ab"))
    for name, file in FILES.items()
    if name != "scores"
} | {"scores": [1, 2]}


def _spelled(name: str, id: int) -> str:
    vocab = FILES[name]["model"]["vocab"]
    return vocab[id][0] if isinstance(vocab, list) else next(token for token, other in vocab.items() if other == id)


def _file(name: str, *, inside: bool) -> str:
    """A file whose tokens are entries and added tokens, or added tokens after the entries."""
    model = FILES[name]["model"]
    if inside:
        added = _added(*((id, _spelled(name, id)) for id in INSIDE[name]))
    else:
        added = _added((len(model["vocab"]), "z"), (len(model["vocab"]) + 1, "HELLOz"))
        added += _added((len(model["vocab"]) + 2, "zz"))
    return json.dumps({"version": "1.0", "normalizer": LOWER, "added_tokens": added, **FILES[name]})


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("name", FILES)
def test_ids_like_hf_before_and_after_a_round_trip(name: str, inside: bool) -> None:
    data = _file(name, inside=inside)
    tok, hf = jeton.Tokenizer.from_bytes(data.encode()), Tokenizer.from_str(data)
    again = jeton.Tokenizer.from_bytes(tok.to_bytes())
    theirs = Tokenizer.from_str(tok.to_bytes().decode())
    assert again.fingerprint == tok.fingerprint
    for text in [*TEXTS, "Z z HELLOZ HELLOz ZZ zZ"]:
        expected = hf.encode(text).ids
        assert (text, theirs.encode(text).ids) == (text, expected)
        try:
            assert (text, tok.encode(text), again.encode(text)) == (text, expected, expected)
        except jeton.InvalidTextError:  # HF leaves out bytes without an entry
            assert name == "bytes"


def test_permitted_special_pieces_equal_hf() -> None:
    pieces = [["u", 0.0], ["<s>", -1.0], ["<b>", -9.0], *([piece, -3.0] for piece in "<sb>x"), ["xx", -2.0]]
    file = {
        "version": "1.0",
        "normalizer": LOWER,
        "added_tokens": [{**token, "special": True} for token in _added((0, "u"), (1, "<s>"), (2, "<b>"))],
        "model": {"type": "Unigram", "unk_id": 0, "vocab": pieces},
    }
    tok, hf = jeton.Tokenizer.from_bytes(json.dumps(file).encode()), Tokenizer.from_str(json.dumps(file))
    texts = [
        "<s>",
        "x<S>xx",
        "<S>",
        "<B>",
        "<<S>S>",
        "<B><S>U<b>",
        "é<S>é",
        "U",
        "xU<S>",
    ] * 2  # twice, because the second call uses the pretoken cache
    plain = [tok.encode(text) for text in texts]
    assert not {1, 2} & {id for ids in plain for id in ids}
    for text, without in zip(texts, plain, strict=True):
        expected = hf.encode(text)
        got = tok.tokenize(text, special="all")
        assert (text, got.ids, got.hf_offsets) == (text, expected.ids, expected.offsets)
        assert (text, tok.encode(text, special="all")) == (text, expected.ids)
        assert (text, tok.encode(text)) == (text, without)
        only = tok.encode(text, special=["<s>"])
        assert (text, only) == (text, expected.ids if 2 not in expected.ids else only)
        assert 2 not in only
        assert (text, tok.nbest(text, 1, special="all")[0][0]) == (text, expected.ids)
    assert list(tok.encode_batch(texts, special="all").ids) == [id for text in texts for id in hf.encode(text).ids]


def test_a_column_says_which_added_tokens_are_entries() -> None:
    inside, outside = (
        jeton.Tokenizer.from_bytes(json.dumps({"added_tokens": _added((1, "hello")), "model": model}).encode())
        for model in (
            {"type": "WordLevel", "unk_token": "[UNK]", "vocab": {"[UNK]": 0, "hello": 1}},
            {"type": "WordLevel", "unk_token": "[UNK]", "vocab": {"[UNK]": 0}},
        )
    )
    assert inside.fingerprint != outside.fingerprint
    assert json.loads(inside.to_bytes())["model"]["jeton"]["entries"] == [1]
    assert "entries" not in json.loads(outside.to_bytes())["model"]["jeton"]
    assert "hello" not in json.loads(outside.to_bytes())["model"]["vocab"]


@pytest.mark.parametrize("column", [1, "1", [True, "x"], {"1": 1}])
def test_a_damaged_column_is_an_error(column: Any) -> None:
    tok = jeton.Tokenizer.from_bytes(_file("word level", inside=True).encode())
    file = json.loads(tok.to_bytes())
    file["model"]["jeton"]["entries"] = column
    with pytest.raises(jeton.FormatError):
        jeton.Tokenizer.from_bytes(json.dumps(file).encode())


def test_entries_that_spell_other_bytes_or_end_a_word_are_refused() -> None:
    model = {"type": "BPE", "vocab": {"a": 0, "é": 1, "a</w>": 2}, "merges": []}
    byte_level = {"pre_tokenizer": BYTE_LEVEL, "added_tokens": _added((1, "é")), "model": model}
    with pytest.raises(jeton.UnsupportedFeatureError, match="é"):
        jeton.Tokenizer.from_bytes(json.dumps(byte_level).encode())
    marked = {"added_tokens": _added((2, "a</w>")), "model": {**model, "end_of_word_suffix": "</w>"}}
    with pytest.raises(jeton.UnsupportedFeatureError, match="a</w>"):
        jeton.Tokenizer.from_bytes(json.dumps(marked).encode())


def test_an_added_token_that_must_be_an_entry_is_a_named_loss(tmp_path: Any) -> None:
    tok = jeton.Tokenizer.from_bytes(_file("word level", inside=False).encode())
    parts = tok._core.vocabulary().with_added([40], [b"[END]"], [True], [0])  # ids with holes before it
    holes = jeton.Tokenizer(tok.definition, parts)
    with pytest.raises(jeton.UnsupportedFeatureError, match="added_tokens"):
        holes.save(tmp_path / "tokenizer.json")
