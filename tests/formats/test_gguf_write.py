"""Writing GGUF: copies with another tokenizer, files without tensors, and unsupported features."""

from __future__ import annotations

import os
import random
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.formats.gguf_file import read_header
from jeton.formats.gguf_pre import PRE
from jeton.tokens.added import AddedToken
from tests.formats.gguf_writer import gguf, metadata, string, value
from tests.formats.test_gguf import BPE, MERGES, bert, bpe, gemma, load, spm, unigram
from tests.selection import amount

MODELS = [bpe, spm, bert, unigram, gemma]
OTHERS = {"general.name": "test", "test.context_length": 512, "test.factors": [1.5, 2.0], "general.quantized": True}


def old_file(folder: Path, values: dict[str, Any], rows: int | None = None, **options: Any) -> Path:
    path = folder / "old.gguf"
    tensors = {"token_embd.weight": (5, rows), "output_norm.weight": (5,)} if rows else None
    path.write_bytes(gguf(values, tensors=tensors, **options))
    return path


def tokenizer(**options: Any) -> jeton.Tokenizer:
    return jeton.train(["low lower lowest newer newest"] * 3, 300, pattern="gpt2", progress=False, **options)


@pytest.mark.parametrize("values", MODELS)
def test_every_model_is_written_with_equal_ids(values: Any, tmp_path: Path) -> None:
    tok = load(tmp_path, values() | {"tokenizer.chat_template": "{{ x }}"})
    tok.save(tmp_path / "new.gguf")
    again = jeton.load(tmp_path / "new.gguf")
    assert again == tok
    assert again.roles.items() >= tok.roles.items()  # roles at llama.cpp's default ids get a key
    assert again.definition.chat_template == "{{ x }}"


@pytest.mark.parametrize("values", MODELS)
@pytest.mark.parametrize("alignment", [32, 64])
def test_a_copy_keeps_tensors_and_other_keys_byte_for_byte(values: Any, alignment: int, tmp_path: Path) -> None:
    given = OTHERS | {"general.alignment": alignment} | values()
    rows = len(given["tokenizer.ggml.tokens"])
    old = old_file(tmp_path, given, rows, alignment=alignment)
    before = old.read_bytes()
    load(tmp_path, values()).save(tmp_path / "new.gguf", like=old)
    assert old.read_bytes() == before
    new = (tmp_path / "new.gguf").read_bytes()
    for key in (*OTHERS, "general.alignment"):
        assert string(key) + value(given[key]) in new
    headers = [read_header(path, lambda _: True, tensors=True) for path in (old, tmp_path / "new.gguf")]
    assert headers[0].tensors == headers[1].tensors
    starts = [header.end + -header.end % alignment for header in headers]
    assert new[starts[1] :] == before[starts[0] :]
    assert jeton.load(tmp_path / "new.gguf") == jeton.load(old)


def test_tokens_of_the_template_are_written_without_roles(tmp_path: Path) -> None:
    tok = tokenizer(special_tokens=["<s>", "</s>"])
    for template in ("<s> $A", "$A </s>", "<s> $A </s>"):
        templated = tok.with_template(template)
        assert not templated.roles
        templated.save(tmp_path / "new.gguf")
        again = jeton.load(tmp_path / "new.gguf")
        assert again.encode("low", add_special_tokens=True) == templated.encode("low", add_special_tokens=True)
        assert len(again.encode("low", add_special_tokens=True)) > len(again.encode("low"))


def test_the_token_after_a_text_is_the_separator_of_wordpiece_without_roles(tmp_path: Path) -> None:
    load(tmp_path, bert()).with_roles(bos=None, sep=None).save(tmp_path / "new.gguf")
    keys = read_header(tmp_path / "new.gguf", lambda _: True).values
    assert keys["tokenizer.ggml.seperator_token_id"] == bert()["tokenizer.ggml.seperator_token_id"]
    assert "tokenizer.ggml.eos_token_id" not in keys


def test_the_character_map_of_a_unigram_model_is_written(tmp_path: Path) -> None:
    tok = jeton.train(["low lower lowest"] * 5, 40, preset="unigram", progress=False)
    assert tok.definition.normalizer[0]["precompiled_charsmap"]
    tok.save(tmp_path / "new.gguf", accept_loss=["decoder"])
    again = jeton.load(tmp_path / "new.gguf")
    assert again.definition.normalizer == tok.definition.normalizer
    assert again.encode("ｌｏｗ①") == tok.encode("ｌｏｗ①")


def test_another_tokenizer_replaces_the_keys(tmp_path: Path) -> None:
    tok = tokenizer(special_tokens=["<s>", "<|eot|>"])
    values = bpe(tokens=[*BPE, "<|eot|>"], token_type=[1] * 17, eot_token_id=16, bos_token_id=2, scores=[0.5] * 17)
    values |= {"tokenizer.huggingface.json": "{}", "tokenizer.chat_template": "{{ y }}", "test.vocab_size": 17}
    tok.save(tmp_path / "new.gguf", like=old_file(tmp_path, values))
    again = jeton.load(tmp_path / "new.gguf")
    assert again.encode("lower newest") == tok.encode("lower newest")
    header = read_header(tmp_path / "new.gguf", lambda _: True)
    assert header.values["tokenizer.ggml.eot_token_id"] == tok.special_tokens["<|eot|>"]
    assert header.values["test.vocab_size"] == tok.vocab_size
    assert header.values["tokenizer.chat_template"] == b"{{ y }}"  # the tokenizer itself has none
    assert header.values["tokenizer.ggml.bos_token_id"] == tok.token_to_id("w")  # the spelling of the old id
    assert not {"tokenizer.ggml.scores", "tokenizer.huggingface.json"} & {*header.values}


def test_named_chat_templates_are_written(tmp_path: Path) -> None:
    tok = tokenizer().with_chat_template("{{ a }}")
    templates = [{"name": "default", "template": "{{ a }}"}, {"name": "rag", "template": "{{ b }}"}]
    tok._with_facts(chat_template=templates).save(tmp_path / "new.gguf")
    again = jeton.load(tmp_path / "new.gguf").definition.chat_template
    assert [dict(template) for template in again] == templates


def test_gaps_between_ids_are_unused_tokens(tmp_path: Path) -> None:
    tok = jeton.Tokenizer.from_merges({0: b"a", 5: b"b", 9: b"ab"}, [(0, 5, 9)], pattern="gpt2")
    tok.save(tmp_path / "new.gguf")
    assert jeton.load(tmp_path / "new.gguf").encode("abb") == [9, 5]


def test_the_file_to_copy_is_never_changed(tmp_path: Path) -> None:
    old = old_file(tmp_path, bpe())
    os.link(old, tmp_path / "link.gguf")
    for path in (old, tmp_path / "link.gguf"):
        with pytest.raises(jeton.ConfigError, match="is the file to copy from, which is never changed"):
            tokenizer().save(path, like=old)


@pytest.mark.parametrize("pad", ["[PAD11]", "unused"])
def test_a_smaller_vocabulary_fills_up_unused_rows(pad: str, tmp_path: Path) -> None:
    tokens = [*BPE[:11], pad, "[PAD12]"]
    values = metadata("gpt2", tokens, merges=MERGES[:2], pre="gpt-2", token_type=[1] * 11 + [5, 5])
    tok = load(tmp_path, metadata("gpt2", BPE[:11], merges=MERGES[:2], pre="gpt-2"))
    tok.save(tmp_path / "new.gguf", like=old_file(tmp_path, values, rows=14))
    header = read_header(tmp_path / "new.gguf", lambda _: True)
    assert header.values["tokenizer.ggml.tokens"][11:] == [b"[PAD11]", b"[PAD12]", b"[PAD13]"]


@pytest.mark.parametrize(
    ("rows", "message"), [(16, r"has 269 ids, .* embeddings for 16"), (310, "of the token 'b269'")]
)
def test_a_vocabulary_that_does_not_fit_the_embeddings(rows: int, message: str, tmp_path: Path) -> None:
    tokens = [f"b{i}" for i in range(rows)]
    old = old_file(tmp_path, metadata("gpt2", tokens, merges=[], pre="gpt-2"), rows)
    with pytest.raises(jeton.ConfigError, match=message):
        tokenizer().save(tmp_path / "new.gguf", like=old)
    assert not (tmp_path / "new.gguf").exists()


def test_parts_of_a_model_have_embeddings_too(tmp_path: Path) -> None:
    old = old_file(tmp_path, bpe() | {"split.count": 3})
    with pytest.raises(jeton.ConfigError, match="embeddings for 16"):
        tokenizer().save(tmp_path / "new.gguf", like=old)


@pytest.mark.parametrize("name", ["qwen2", "llama-bpe", "deepseek-v3", "tekken", "kimi-k2", "falcon"])
def test_the_pre_tokenizer_is_found_by_its_splits(name: str, tmp_path: Path) -> None:
    tok = load(tmp_path, bpe(pre=name, bos_token_id=13))
    tok.save(tmp_path / "new.gguf")
    pre = read_header(tmp_path / "new.gguf", lambda _: True).values["tokenizer.ggml.pre"].decode()
    assert PRE[pre] == PRE[name]


def test_the_name_of_the_old_file_is_preferred(tmp_path: Path) -> None:
    tok = load(tmp_path, bpe(pre="qwen2"))
    tok.save(tmp_path / "new.gguf", like=old_file(tmp_path, bpe(pre="megrez")))
    assert read_header(tmp_path / "new.gguf", lambda _: True).values["tokenizer.ggml.pre"] == b"megrez"


def refused(name: str) -> jeton.Tokenizer:
    """A tokenizer with one feature that llama.cpp lacks."""
    tok = tokenizer()
    match name:
        case "pattern":
            return jeton.train(["low"], 257, pattern=r"\w|\W", progress=False)
        case "normalizer":
            return jeton.Tokenizer(replace(tok.definition, normalizer=({"type": "NFC"},)), tok._core.vocabulary())
        case "added_tokens":
            return tok.add_tokens([AddedToken("<m>", lstrip=True)])
        case "special_tokens":
            return tok.add_tokens([AddedToken("<|im_end|>", special=False)])
        case _:
            facts = b'{"type": "WordLevel", "vocab": {"a": 0, "<unk>": 1}, "unk_token": "<unk>"}'
            return jeton.Tokenizer.from_bytes(b'{"model": %s}' % facts)


@pytest.mark.parametrize("name", ["pattern", "normalizer", "added_tokens", "special_tokens", "model"])
def test_unsupported_features_are_refused_by_name(name: str, tmp_path: Path) -> None:
    tok = refused(name)
    with pytest.raises(jeton.UnsupportedFeatureError, match=r"llama\.cpp does not support") as caught:
        tok.save(tmp_path / "new.gguf")
    assert caught.value.feature == name
    if name != "model":
        tok.save(tmp_path / "new.gguf", accept_loss=[name])
        assert jeton.load(tmp_path / "new.gguf").encode("low")


def test_a_pretokenizer_of_two_parts_is_not_the_one_of_gemma(tmp_path: Path) -> None:
    tok = load(tmp_path, gemma())
    first = {"type": "Split", "pattern": {"Regex": "^."}, "behavior": "Isolated", "invert": False}
    other = jeton.Tokenizer(replace(tok.definition, pretokenizer=(first,)), tok._core.vocabulary())
    with pytest.raises(jeton.UnsupportedFeatureError, match="the pre-tokenizer Split") as caught:
        other.save(tmp_path / "new.gguf")
    assert caught.value.feature == "pretokenizer"


def test_entries_that_merging_does_not_form(tmp_path: Path) -> None:
    tok = load(tmp_path, bpe(pre="llama-bpe", merges=["l o", "e r"], bos_token_id=13))  # "low" is taken whole
    tok.save(tmp_path / "new.gguf")
    assert jeton.load(tmp_path / "new.gguf").encode("low") == [10]
    qwen2 = load(tmp_path, bpe(pre="qwen2")).definition  # the same expression, and no tokens that are taken whole
    other = jeton.Tokenizer(replace(tok.definition, pretokenizer=qwen2.pretokenizer), tok._core.vocabulary())
    with pytest.raises(jeton.UnsupportedFeatureError, match="matched before merging") as caught:
        other.save(tmp_path / "new.gguf")
    assert caught.value.feature == "whole_first"


def test_like_is_for_this_format(tmp_path: Path) -> None:
    with pytest.raises(jeton.ConfigError, match=r"like.* is for the format gguf"):
        tokenizer().save(tmp_path / "new.json", like=old_file(tmp_path, bpe()))
    (tmp_path / "x").write_bytes(b"{}" * 20)
    with pytest.raises(jeton.FormatError, match="not a GGUF file"):
        tokenizer().save(tmp_path / "new.gguf", like=tmp_path / "x")
    with pytest.raises(FileNotFoundError):
        tokenizer().save(tmp_path / "new.gguf", like=tmp_path / "missing")


def test_damaged_files_to_copy_are_jeton_errors(tmp_path: Path) -> None:
    old, rand, tok = tmp_path / "old.gguf", random.Random(1), load(tmp_path, bpe())
    values = OTHERS | bpe(eot_token_id=3)
    whole = gguf(values, tensors={"token_embd.weight": (5, 16), "output_norm.weight": (5,)})
    outcomes = set()
    for _ in range(amount(2000, default=50)):
        data = bytearray(whole)
        at = rand.randrange(4, len(data) - 200)
        data[at] = rand.randrange(256)
        if rand.random() < 0.3:
            data[at : at + 8] = rand.choice([b"\xff" * 8, bytes(8), (1 << 40).to_bytes(8, "little"), b""])
        old.write_bytes(data)
        try:
            tok.save(tmp_path / "new.gguf", like=old)
            outcomes.add("copied")
        except jeton.JetonError as error:
            outcomes.add(type(error).__name__)
    assert outcomes >= {"copied", "FormatError"}


@pytest.mark.parametrize("name", ["chat_template", "chat_template.x", "ggml.token_type_count"])
@pytest.mark.parametrize(
    "number", [struct.pack("<If", 6, 1.5), struct.pack("<Ii", 5, -1), struct.pack("<IQ", 10, 1 << 40)]
)
def test_keys_that_stay_are_copied_whatever_their_type(name: str, number: bytes, tmp_path: Path) -> None:
    key = f"tokenizer.{name}"
    old = old_file(tmp_path, bpe() | {key: "x"}, 16)
    old.write_bytes(old.read_bytes().replace(string(key) + value("x"), string(key) + number))
    load(tmp_path, bpe()).save(tmp_path / "new.gguf", like=old)
    assert string(key) + number in (tmp_path / "new.gguf").read_bytes()


def test_more_rows_than_bytes_are_refused(tmp_path: Path) -> None:
    old = old_file(tmp_path, bpe(), 16)
    old.write_bytes(old.read_bytes().replace(struct.pack("<2Q", 5, 16), struct.pack("<2Q", 5, 1 << 40)))
    with pytest.raises(jeton.FormatError, match="1099511627776 rows do not fit into the file"):
        load(tmp_path, bpe()).save(tmp_path / "new.gguf", like=old)


def test_token_types_that_are_not_an_array_are_refused(tmp_path: Path) -> None:
    tok, values = load(tmp_path, bpe()), bpe()
    values["tokenizer.ggml.tokens"] = [*values["tokenizer.ggml.tokens"], "extra"]
    old = old_file(tmp_path, values | {"tokenizer.ggml.token_type": 7}, 17)
    with pytest.raises(jeton.ConfigError, match="of the token 'extra'"):
        tok.save(tmp_path / "new.gguf", like=old)


def test_an_invalid_alignment_is_an_error(tmp_path: Path) -> None:
    old = old_file(tmp_path, bpe() | {"general.alignment": 24}, 16)
    with pytest.raises(jeton.FormatError, match="not a power of two"):
        load(tmp_path, bpe()).save(tmp_path / "new.gguf", like=old)
    assert not (tmp_path / "new.gguf").exists()


def test_a_file_without_metadata_can_be_copied(tmp_path: Path) -> None:
    old = tmp_path / "old.gguf"
    tok = tokenizer()
    old.write_bytes(gguf({}, tensors={"token_embd.weight": (5, tok.vocab_size), "output_norm.weight": (5,)}))
    tok.save(tmp_path / "new.gguf", like=old)
    assert jeton.load(tmp_path / "new.gguf").encode("lower newest") == tok.encode("lower newest")
    assert (tmp_path / "new.gguf").read_bytes()[-20:] == old.read_bytes()[-20:]
