"""Constrained decoding: masks from Jeton's vocabularies equal those from the libraries' own readers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jeton
from jeton.integrations.llguidance import ll_tokenizer
from jeton.integrations.outlines import vocabulary
from jeton.integrations.xgrammar import tokenizer_info

from ..selection import rest_is_slow

NAMES = ["whisper-tiny", "phi-3-mini", "gpt-neox-20b", "falcon", "roberta-base"]
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "n": {"type": "integer"}},
    "required": ["name", "n"],
}
REGEX = r"[a-z]+ (the|weather)? *\d{2,4}é?今?"
LARK = 'start: "a" x* "b"\nx: /[0-9]+/ | "(" x ")"'
STEPS = 30


def loaded(data: Path, name: str) -> tuple[str, jeton.Tokenizer, int]:
    """Path, tokenizer, and id of its end token."""
    path = data / "vocabs" / f"{name}.tokenizer.json"
    tok = jeton.load(path)
    return str(path), tok, next(id for text, id in tok.special_tokens.items() if text in ("</s>", "<|endoftext|>"))


class TestVocabBytes:
    def test_missing_ids_and_rows_are_empty(self) -> None:
        tok = jeton.Tokenizer.from_merges({0: b"a", 2: b"\xc3"}, [], special_tokens={"<|end|>": 3})
        found = tok.vocab_bytes(6)
        assert found.tokens == [b"a", b"", b"\xc3", b"<|end|>", b"", b""]
        assert found.text_tokens == [b"a", b"", b"\xc3", b"", b"", b""]
        assert (found.special_ids, found.eos_id) == ([3], None)
        assert tok.with_roles(eos="<|end|>").vocab_bytes().eos_id == 3
        assert repr(found) == "VocabBytes(6 tokens, 1 special, eos_id=None)"

    @pytest.mark.parametrize("size", [3, -1, 2.5, "4", True, 2**24 + 1, 2**62])
    def test_a_size_below_the_vocabulary_or_over_the_limit_is_an_error(self, size: Any) -> None:
        tok = jeton.Tokenizer.from_merges({0: b"a", 3: b"b"}, [])
        with pytest.raises(jeton.ConfigError, match="size"):
            tok.vocab_bytes(size)

    def test_every_id_of_the_default_tokenizer(self) -> None:
        tok = jeton.default()
        assert dict(enumerate(tok.vocab_bytes().tokens)) == dict(tok.vocab)


class TestLlguidance:
    @pytest.mark.parametrize("name", rest_is_slow(NAMES, lambda name: name == "phi-3-mini", "other vocabularies"))
    def test_masks_are_those_of_the_librarys_reader(self, data: Path, name: str) -> None:
        llguidance = pytest.importorskip("llguidance", reason="needs llguidance")
        hf = pytest.importorskip("llguidance.hf", reason="needs transformers")
        from transformers import PreTrainedTokenizerFast

        path, tok, eos = loaded(data, name)
        theirs = hf.from_tokenizer(PreTrainedTokenizerFast(tokenizer_file=path), eos_token=eos)
        ours = ll_tokenizer(tok, eos=eos)
        assert ours.vocab_size == theirs.vocab_size
        matcher = llguidance.LLMatcher
        grammars = (
            matcher.grammar_from_json_schema(json.dumps(SCHEMA)),
            matcher.grammar_from_regex(REGEX),
            matcher.grammar_from_lark(LARK),
        )
        for grammar in grammars:
            one, other = matcher(theirs, grammar), matcher(ours, grammar)
            for step in range(STEPS):
                mask = one.compute_bitmask()
                assert other.compute_bitmask() == mask
                permitted = [id for id in range(tok.vocab_size) if mask[id // 8] >> id % 8 & 1 and id != eos]
                if not permitted:
                    break
                chosen = permitted[step * 7919 % len(permitted)]
                assert one.consume_token(chosen)
                assert other.consume_token(chosen)

    def test_a_tokenizer_without_an_end_names_the_argument(self) -> None:
        pytest.importorskip("llguidance", reason="needs llguidance")
        with pytest.raises(jeton.ConfigError, match="no role eos; pass eos="):
            ll_tokenizer(jeton.Tokenizer.from_merges({0: b"a"}, []))

    def test_ids_of_the_end_are_checked(self) -> None:
        pytest.importorskip("llguidance", reason="needs llguidance")
        tok = jeton.Tokenizer.from_merges({i: bytes([i]) for i in range(256)}, [])
        assert ll_tokenizer(tok, eos=np.int64(5)).eos_token == ll_tokenizer(tok, eos=[5]).eos_token == 5  # type: ignore[arg-type]
        for eos in (True, -1, 256, "x", [5.5], 1 << 40):
            with pytest.raises(jeton.ConfigError, match=r"^eos=.* is not an integer from 0 to 255"):
                ll_tokenizer(tok, eos=eos)  # type: ignore[arg-type]

    def test_rows_beyond_the_vocabulary_are_never_permitted(self) -> None:
        llguidance = pytest.importorskip("llguidance", reason="needs llguidance")
        tok = jeton.Tokenizer.from_merges({i: bytes([i]) for i in range(256)}, [], special_tokens={"<|end|>": 256})
        ours = ll_tokenizer(tok, size=320, eos=256)
        mask = llguidance.LLMatcher(ours, llguidance.LLMatcher.grammar_from_regex("[ab]")).compute_bitmask()
        assert ours.vocab_size == 320
        assert [id for id in range(8 * len(mask)) if mask[id // 8] >> id % 8 & 1] == [97, 98]


class TestOutlines:
    @pytest.mark.parametrize("name", rest_is_slow(NAMES[:3], lambda name: name == "phi-3-mini", "other vocabularies"))
    def test_indices_equal_those_of_the_saved_file(self, data: Path, name: str) -> None:
        core = pytest.importorskip("outlines_core", reason="needs outlines-core")
        path, tok, eos = loaded(data, name)
        theirs = core.Vocabulary(eos, by_bytes(path, eos))
        ours = vocabulary(tok, eos=eos)
        assert ours == theirs
        for regex in (REGEX, r'\{"n": -?\d+(\.\d+)?\}', "(yes|no|今天)[!?]*"):
            assert core.Index(regex, ours).get_transitions() == core.Index(regex, theirs).get_transitions()

    def test_several_end_tokens_are_refused(self) -> None:
        pytest.importorskip("outlines_core", reason="needs outlines-core")
        tok = jeton.Tokenizer.from_merges({i: bytes([i]) for i in range(256)}, [])
        with pytest.raises(jeton.ConfigError, match="eos= must be one id"):
            vocabulary(tok, eos=[5, 6])  # type: ignore[arg-type]
        with pytest.raises(jeton.ConfigError, match="eos=256 is not"):
            vocabulary(tok, eos=256)


def by_bytes(path: str, eos: int) -> dict[bytes, list[int]]:
    """Bytes -> ids, read from the JSON of a tokenizer without Jeton."""
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    special = {token["id"] for token in data["added_tokens"] if token["special"]}
    added = {token["id"]: token["content"] for token in data["added_tokens"]}
    printed = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printed]
    alphabet = {chr(byte): byte for byte in printed} | {chr(256 + at): byte for at, byte in enumerate(others)}
    is_byte_level = data["model"].get("byte_fallback") is not True
    found: dict[bytes, list[int]] = {}
    entries = {id: text for text, id in data["model"]["vocab"].items()} | added
    for id, text in sorted(entries.items()):
        if id in special or id == eos:
            continue
        if id in added:
            content = text.encode()
        elif is_byte_level:
            content = bytes(alphabet[character] for character in text)
        elif text.startswith("<0x") and len(text) == 6:
            content = bytes([int(text[3:5], 16)])
        else:
            content = text.replace("▁", " ").encode()
        if content:
            found.setdefault(content, []).append(id)
    return found


def test_xgrammar_masks_follow_the_grammar() -> None:
    xgrammar = pytest.importorskip("xgrammar", reason="needs xgrammar, which needs PyTorch")
    tok = jeton.Tokenizer.from_merges({i: bytes([i]) for i in range(256)}, [], special_tokens={"<|end|>": 256})
    info = tokenizer_info(tok, size=320, eos=256)
    assert (info.vocab_size, info.stop_token_ids) == (320, [256])
    assert info.decoded_vocab[97] == b"a"
    compiled = xgrammar.GrammarCompiler(info).compile_grammar('root ::= "a" | "b"')
    matcher = xgrammar.GrammarMatcher(compiled)
    mask = xgrammar.allocate_token_bitmask(1, 320)
    matcher.fill_next_token_bitmask(mask)
    assert [id for id in range(320) if int(mask[0, id // 32]) >> id % 32 & 1] == [97, 98]
