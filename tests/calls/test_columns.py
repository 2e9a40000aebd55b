"""`Encoding` from columns: attributes equal those that the slow path computes, for all kinds of tokenizers."""

from __future__ import annotations

import copy
import pickle
import random
from typing import Any

import numpy as np
import pytest

import jeton
from jeton.calls.columns import COLUMNS

from ..selection import amount

NAMES = (
    "ids",
    "tokens",
    "byte_spans",
    "char_spans",
    "hf_offsets",
    "type_ids",
    "special_tokens_mask",
    "sequence_ids",
)
TEMPLATE = {
    "single": [{"ids": [300], "type_id": 0}, {"sequence": "A", "type_id": 0}],
    "pair": [{"sequence": "B", "type_id": 1}, {"ids": [300], "type_id": 2}, {"sequence": "A", "type_id": 0}],
}
BYTES = [[f"<0x{byte:02X}>", -9.0] for byte in range(256)]


def _pieces(normalizer: str, *, pretokenizer: str = "null", byte_fallback: bool = False) -> jeton.Tokenizer:
    import json

    vocab: list[Any] = [["<unk>", 0.0], ["▁", -3.0], ["a", -2.0], ["▁a", -2.5], ["é", -3.0], ["ab", -2.5], ["中", -4.0]]
    vocab += BYTES if byte_fallback else []
    model = {"type": "Unigram", "unk_id": 0, "vocab": vocab, "byte_fallback": byte_fallback}
    stages = {"normalizer": json.loads(normalizer), "pre_tokenizer": json.loads(pretokenizer)}
    return jeton.Tokenizer.from_bytes(json.dumps({"model": model, **stages}).encode())


def _tokenizers() -> dict[str, jeton.Tokenizer]:
    replace = '{"type": "Replace", "pattern": {"String": " "}, "content": "▁"}'
    prepend = '{"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, ' + replace + "]}"
    metaspace = '{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true}'
    bytes_only = {i: bytes([i]) for i in range(256)}
    return {
        "bytes": jeton.train(["a ab é 中文 中"], vocab_size=262, pattern="gpt2", progress=False),
        "no merges": jeton.Tokenizer.from_merges(bytes_only, [], special_tokens={"<s>": 300}),
        "one pretoken": _pieces(prepend),
        "byte fallback": _pieces(prepend, byte_fallback=True),
        "spaces replaced": _pieces(replace, byte_fallback=True),
        "words": _pieces("null", pretokenizer=metaspace),
        "lower case": _pieces('{"type": "Lowercase"}', byte_fallback=True),
    }


def _text(rng: random.Random) -> str:
    parts = ["a", "b", "é", "中", "文", "😀", "▁", " ", "  ", "\n", "<s>", "A", "e\u0301", "İ", "<0x0A>"]
    return "".join(rng.choice(parts) for _ in range(rng.randrange(12)))


@pytest.mark.parametrize("kind", list(_tokenizers()))
def test_attributes_are_those_of_the_slow_path(kind: str) -> None:
    tok, rng = _tokenizers()[kind], random.Random(kind)
    for _ in range(amount(40, default=40)):
        text, special = _text(rng), rng.choice(["none", "all"])
        permitted = tok._permission(special)
        columns, pretokens, dropped = tok._core.tokenize(text, permitted)
        encoding = tok.tokenize(text, special=special)
        assert {name: getattr(encoding, name) for name in NAMES} == dict(
            zip(("ids", "tokens", "byte_spans", "char_spans", "hf_offsets", *NAMES[5:]), columns, strict=True)
        )
        assert encoding.pretokens == [(start, end) for start, end, _ in pretokens]
        assert encoding.dropped == dropped
        assert encoding == tok.tokenize_batch([text], special=special)[0]


def test_templates_are_joined_as_in_the_core() -> None:
    tok = _tokenizers()["no merges"]
    tok = jeton.Tokenizer(
        jeton.definition.Definition(template=TEMPLATE),
        tok._core.vocabulary(),  # type: ignore[attr-defined]
    )
    for pair in (None, "é"):
        columns, *_ = tok._core.tokenize("né", None, pair=pair, template=True)
        encoding = tok.tokenize("né", pair, add_special_tokens=True)
        assert [getattr(encoding, name) for name in NAMES] == list(columns)


@pytest.mark.parametrize("kind", ["bytes", "words"])
def test_arrays_are_the_attributes(kind: str) -> None:
    encoding = _tokenizers()[kind].tokenize("ab é ab")
    stored = pickle.loads(pickle.dumps(encoding))
    assert stored == encoding == copy.copy(encoding)
    for name in COLUMNS:
        array = encoding.array(name)  # type: ignore[arg-type]
        assert np.array_equal(array, stored.array(name))
        assert array.dtype == stored.array(name).dtype
        listed = getattr(encoding, name)
        assert array.tolist() == [list(value) if isinstance(value, tuple) else value for value in listed]


def test_an_unknown_column_is_refused() -> None:
    encoding = _tokenizers()["bytes"].tokenize("ab")
    for each in (encoding, copy.copy(encoding)):
        with pytest.raises(jeton.ConfigError, match="byte_spans"):
            each.array("spans")  # type: ignore[arg-type]
    assert not hasattr(encoding, "spans")


def test_errors_of_a_batch_name_the_text() -> None:
    tok = _tokenizers()["no merges"]
    with pytest.raises(jeton.SpecialTokenError, match="text 1 of the batch") as caught:
        tok.tokenize_batch(["a", "<s>"], special="raise")
    assert caught.value.index == 1
