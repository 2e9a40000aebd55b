"""Added tokens that HF's decoder ByteLevel reads in the byte alphabet: ``naïve`` becomes ``na``, the byte EF, ``ve``.

HF joins the bytes of all tokens, and then replaces what is not UTF-8. A token with a character outside of the alphabet
is decoded to its content.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, normalizers

import jeton
from jeton import _core
from jeton.compat import tokenizers as drop_in
from tests.selection import amount

SMALL = Path("testdata/transformers/4.57.6/fast/tokenizer.json")
LETTERS = [*"éïÃ¯łÿĠĊ", "ï", "é", *"nave<|>", " ", "中", "\u0301", "Â", "\u00ad"]
NORMALIZERS: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "NFC": normalizers.NFC,
    "Lowercase": normalizers.Lowercase,
    "ByteLevel": normalizers.ByteLevel,
}


def _contents(rng: random.Random, number: int) -> list[str]:
    return ["".join(rng.choice(LETTERS) for _ in range(rng.randint(1, 5))) for _ in range(number)]


def _with_added(hf: Tokenizer, rng: random.Random, *, normalized: bool) -> list[AddedToken]:
    """Adds tokens, of which some are special."""
    known = hf.get_vocab()
    contents = [content for content in dict.fromkeys(_contents(rng, 12)) if content not in (*known, " ")]
    tokens = [AddedToken(text, special=rng.random() < 0.4, normalized=normalized) for text in contents]
    hf.add_tokens(tokens)
    return tokens


def _rows(hf: Tokenizer, rng: random.Random, number: int) -> list[list[int]]:
    """Random ids: added tokens, single bytes, any."""
    ids = sorted(hf.get_vocab(with_added_tokens=True).values())
    groups = [sorted(hf.get_added_tokens_decoder()), ids[:300], ids]
    return [[rng.choice(rng.choice(groups)) for _ in range(rng.randrange(12))] for _ in range(number)]


def _never_skipped(hf: Tokenizer) -> set[int]:
    """Special tokens that normalization changes: HF compares their normalized content, and never skips them."""
    normalizer = hf.normalizer
    if normalizer is None:
        return set()
    added = hf.get_added_tokens_decoder().items()
    return {id for id, one in added if one.normalized and normalizer.normalize_str(one.content) != one.content}


def _check(hf: Tokenizer, tok: jeton.Tokenizer, all_rows: list[list[int]]) -> None:
    """Every call decodes to the text of HF, or to bytes whose text it is."""
    kept = _never_skipped(hf)
    for skips in (False, True):
        rows = [ids for ids in all_rows if not (skips and kept.intersection(ids))]
        expected = [hf.decode(ids, skip_special_tokens=skips) for ids in rows]
        assert tok.decode_batch(rows, skip_special_tokens=skips) == expected
        for ids, text in zip(rows, expected, strict=True):
            assert tok.decode(ids, skip_special_tokens=skips) == text
            data = tok.decode_bytes(ids, skip_special_tokens=skips)
            assert data.decode("utf-8", "replace") == text
            assert tok.decode_with_offsets(ids, skip_special_tokens=skips)[0] == text
            assert tok.decode(ids, skip_special_tokens=skips, invalid_utf8="ignore") == data.decode("utf-8", "ignore")
            stream = tok.stream(skip_special_tokens=skips)
            assert "".join([*map(stream.push, ids), stream.finish()]) == text
        assert tok.decode_bytes_batch(rows, skip_special_tokens=skips) == [
            tok.decode_bytes(ids, skip_special_tokens=skips) for ids in rows
        ]
    for ids in all_rows:
        assert b"".join(tok.decode_tokens_bytes(ids)) == tok.decode_bytes(ids)


def _step(stream: Any, tok: Any, id: int) -> str | None:
    try:
        found: str | None = stream.step(tok, id)
    except Exception:  # "Invalid prefix encountered", of both
        return "error"
    return found


@pytest.mark.parametrize("normalizer", NORMALIZERS)
def test_generated_added_tokens(normalizer: str) -> None:
    rng = random.Random(normalizer)
    num_read = 0
    for _ in range(amount(100, default=10)):
        hf = Tokenizer.from_file(str(SMALL))
        if (part := NORMALIZERS[normalizer]()) is not None:
            hf.normalizer = part
        without = jeton.Tokenizer.from_bytes(hf.to_str().encode())
        tokens = _with_added(hf, rng, normalized=part is not None)
        data = hf.to_str()
        tok, rows = jeton.Tokenizer.from_bytes(data.encode()), _rows(hf, rng, 30)
        num_read += tok.definition.decoder is not None
        _check(hf, tok, rows)
        own = [jeton.AddedToken(one.content, one.special, normalized=one.normalized) for one in tokens]
        assert without.add_tokens(own).fingerprint == tok.fingerprint, "as if the file had them"
        again = jeton.Tokenizer.from_bytes(tok.to_bytes())
        assert (again.fingerprint, again.to_bytes()) == (tok.fingerprint, tok.to_bytes())
        theirs = Tokenizer.from_str(tok.to_bytes().decode())
        ours = drop_in.Tokenizer.from_str(data)
        for ids in rows:
            assert theirs.decode(ids, skip_special_tokens=False) == hf.decode(ids, skip_special_tokens=False)
            for skips in (False, True):
                assert ours.decode(ids, skip_special_tokens=skips) == hf.decode(ids, skip_special_tokens=skips)
                streams = decoders.DecodeStream(skip_special_tokens=skips), drop_in.decoders.DecodeStream([], skips)
                for id in ids:
                    assert _step(streams[1], ours, id) == _step(streams[0], hf, id)
    assert num_read


def test_tokens_that_are_added_to_a_drop_in() -> None:
    rng = random.Random(5)
    hf, ours = Tokenizer.from_file(str(SMALL)), drop_in.Tokenizer.from_file(str(SMALL))
    for _ in range(6):
        for add in ("add_tokens", "add_special_tokens"):
            contents = [content for content in _contents(rng, 3) if hf.token_to_id(content) is None]
            assert getattr(ours, add)(contents) == getattr(hf, add)(contents)
            for ids in _rows(hf, rng, 20):
                assert ours.decode(ids, skip_special_tokens=False) == hf.decode(ids, skip_special_tokens=False)
                assert ours.decode(ids) == hf.decode(ids)
    decoder = hf.decoder
    for part in ("Fuse", "ByteLevel"):  # a component that is assigned
        hf.decoder, ours.decoder = getattr(decoders, part)(), getattr(drop_in.decoders, part)()
        for ids in _rows(hf, rng, 20):
            assert ours.decode(ids, skip_special_tokens=False) == hf.decode(ids, skip_special_tokens=False)
    assert decoder is not None


def test_accelerated_tokenizers() -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is a test dependency")
    from jeton.integrations.transformers import accelerate, stats

    rng = random.Random(6)
    original = transformers.PreTrainedTokenizerFast(tokenizer_file=str(SMALL))
    fast = accelerate(copy.deepcopy(original))
    for _ in range(3):
        contents = _contents(rng, 4)
        for tok in (original, fast):
            tok.add_tokens(contents)
            tok.add_special_tokens({"additional_special_tokens": [f"<{contents[0]}>"]})
        rows = _rows(original.backend_tokenizer, rng, 20)
        for skips in (False, True):
            expected = [original.decode(ids, skip_special_tokens=skips) for ids in rows]
            assert [fast.decode(ids, skip_special_tokens=skips) for ids in rows] == expected
            assert fast.batch_decode(rows, skip_special_tokens=skips) == expected
    assert stats(fast).on_jeton
    assert not stats(fast).fallbacks


def test_whisper(data: Path) -> None:
    path = data / "vocabs" / "whisper-tiny.tokenizer.json"
    if not path.exists():
        pytest.skip(f"there is no {path}")
    rng = random.Random(7)
    hf = Tokenizer.from_file(str(path))
    plain = jeton.load(path)
    _with_added(hf, rng, normalized=False)
    tok = jeton.Tokenizer.from_bytes(hf.to_str().encode())
    assert (plain.definition.decoder, len(tok.definition.decoder or ())) == (None, 1)
    _check(hf, tok, _rows(hf, rng, 200))


def _trained() -> jeton.Tokenizer:
    return jeton.train(["na\u00efve \u00e9t\u00e9"] * 3, 262, special_tokens=["<\u00e9>", "<|a.b|>"], progress=False)


def test_without_a_file_of_hf_added_tokens_are_their_contents(tmp_path: Path) -> None:
    """A tokenizer.json keeps that in HF as well."""
    tok = _trained().add_tokens(["na\u00efve", "\u4e2d\u00ef", "<(\u00ef)*[&#~-^$]>"], special=False)
    ids = [*tok.encode("\u00e9 x"), *sorted(tok.added_tokens)]
    assert tok.decode(ids) == "\u00e9 x<\u00e9><|a.b|>na\u00efve\u4e2d\u00ef<(\u00ef)*[&#~-^$]>"
    path = tmp_path / "tokenizer.json"
    tok.save(path)
    hf = Tokenizer.from_file(str(path))
    assert len(json.loads(path.read_text())["decoder"]["decoders"]) == 4
    rng = random.Random(8)
    for row in _rows(hf, rng, 50):
        assert hf.decode(row, skip_special_tokens=False) == tok.decode(row)
        assert hf.decode(row) == tok.decode(row, skip_special_tokens=True)
    assert jeton.load(path).fingerprint == tok.fingerprint
    theirs = jeton.Tokenizer.from_bytes(hf.to_str().encode())  # without Jeton's own facts
    assert theirs.decode(ids) == tok.decode(ids)


def test_many_such_tokens_are_a_named_loss(tmp_path: Path) -> None:
    tok = _trained().add_tokens([f"\u00e9{number}" for number in range(100)])
    with pytest.raises(jeton.UnsupportedFeatureError, match="decoder"):
        tok.save(tmp_path / "tokenizer.json")
    with pytest.warns(jeton.errors.LossyConversionWarning):
        tok.save(tmp_path / "tokenizer.json", accept_loss=["decoder"])
    assert jeton.load(tmp_path / "tokenizer.json").fingerprint == tok.fingerprint


def test_a_policy_sees_the_bytes() -> None:
    tok = jeton.load(SMALL).add_tokens(["na\u00efve", "\u00c3", "\u00af"], special=False)
    ids = {token.content: id for id, token in tok.added_tokens.items()}
    assert tok.decode_bytes([ids["na\u00efve"]]) == tok.id_to_bytes(ids["na\u00efve"]) == b"na\xefve"
    assert tok.decode([ids["na\u00efve"]], invalid_utf8="ignore") == "nave"
    with pytest.raises(jeton.errors.DecodeError):
        tok.decode([ids["na\u00efve"]], invalid_utf8="strict")
    assert tok.decode([ids["\u00c3"], ids["\u00af"]], invalid_utf8="strict") == "\u00ef", "two bytes of one character"
    assert tok.encode("na\u00efve") == [ids["na\u00efve"]]
    assert tok.id_to_token(ids["na\u00efve"]) == "na\u00efve"
    assert _core.read_bytes("na\u00efve") == b"na\xefve"
