"""Parts of GGUF: metadata, its differences from the model's tokenizer, the container, and the keys of a copy."""

from __future__ import annotations

import array
import io
import struct
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import jeton
from jeton.definition import Bpe, Definition, Pieces, Unigram, WordPiece, template_of
from jeton.errors import ConfigError, FormatError, UnsupportedFeatureError
from jeton.formats import gguf, gguf_file, gguf_write
from jeton.formats.gguf import KEYS, Metadata
from jeton.formats.gguf_differences import _differences
from jeton.formats.gguf_file import Header, read_header, write_file
from jeton.formats.gguf_pre import PRE, Pre, has_case
from jeton.tokens.added import AddedToken
from jeton.tokens.kinds import BYTE
from tests.formats import test_gguf as samples
from tests.formats.gguf_writer import gguf as file_of
from tests.formats.gguf_writer import string


def metadata(model: str = "gpt2", tokens: list[str] | None = None, **others: Any) -> Metadata:
    """Metadata with keys of ``tokenizer.ggml``; names with a point are whole keys."""
    tokens = ["a", "b", "c"] if tokens is None else tokens
    given = {key.replace("__", "."): value for key, value in others.items()}
    values = {f"{KEYS}model": model.encode(), f"{KEYS}tokens": [token.encode() for token in tokens]}
    return Metadata(values | {key if "." in key else KEYS + key: value for key, value in given.items()})


def types(*numbers: int) -> array.array[int]:
    return array.array("i", numbers)


@pytest.mark.parametrize(
    ("tokens", "kinds", "others", "special", "always"),
    [
        (["a", "b", "c", "d", "e", "f"], [1, 2, 3, 4, 5, 6], {}, ["b", "c"], ["d"]),
        (["a", "</s>", "<|im_end|>"], [1, 1, 4], {}, ["</s>", "<|im_end|>"], []),
        (["<fim_prefix>", "<PRE>", "<fim_suffix>"], [1, 1, 4], {}, ["<fim_prefix>", "<fim_suffix>"], []),
        (["<PRE>", "<fim_prefix>"], [1, 1], {}, ["<fim_prefix>"], []),
        (["<fim_prefix>", "<SUF>"], [1, 1], {"prefix_token_id": 0}, ["<SUF>"], []),
        (["<fim_prefix>", "<SUF>"], [1, 1], {"fim_pre_token_id": 0}, ["<SUF>"], []),
        (["<|file_sep|>", "<REPO>", "<MID>", "[PAD]"], [1] * 4, {}, ["<|file_sep|>", "<REPO>", "<MID>", "[PAD]"], []),
        (["<|channel|>", "<|end|>", "<|start|>"], [3, 3, 3], {}, ["<|end|>"], ["<|channel|>", "<|start|>"]),
        (["<|call|>", "<|return|>", "<|end|>"], [3] * 3, {}, ["<|call|>", "<|return|>"], ["<|end|>"]),
        (["<|call|>", "<|flush|>", "<|end|>"], [3] * 3, {}, ["<|call|>", "<|flush|>"], ["<|end|>"]),
        (["<|calls|>", "<|flush|>", "<|end|>"], [3] * 3, {}, ["<|calls|>", "<|flush|>"], ["<|end|>"]),
        (["<|flush|>", "<|end|>"], [3] * 2, {}, ["<|flush|>", "<|end|>"], []),
        (["<|call|>", "<|end|>"], [3] * 2, {}, ["<|call|>", "<|end|>"], []),
        (["<|call|>", "<|flush|>"], [3] * 2, {}, ["<|call|>", "<|flush|>"], []),
        (["</s>", "<|tool_response>"], [3, 3], {}, ["<|tool_response>"], []),
        (["</s>", "<|tool_response>"], [4, 1], {}, ["<|tool_response>"], []),
        (["</s>", "x"], [4, 1], {}, ["</s>"], []),
    ],
)
def test_tokens_that_are_matched_as_a_whole(
    tokens: list[str], kinds: list[int], others: dict[str, Any], special: list[str], always: list[str]
) -> None:
    added = metadata("gpt2", tokens, token_type=types(*kinds), **others).added()
    assert [*added] == sorted(added)
    assert {token.content for token in added.values() if token.special} == {*special}
    assert {token.content for token in added.values() if not token.special} == {*always}
    assert all(tokens[id] == token.content for id, token in added.items())


@pytest.mark.parametrize(
    ("others", "left", "right"),
    [
        ({}, [], []),
        ({"general__name": b"Phi-3 mini"}, [], [0, 3, 4, 6]),
        ({"general__name": b"my PHI3"}, [], [0, 3, 4, 6]),
        ({"general__name": b"phi-2"}, [], []),
        ({"general__name": b"Modern-BERT"}, [3], []),
        ({"pre": b"jina-v2-es"}, [0], []),
        ({"pre": b"jina-v2-en"}, [], []),
        ({"general__architecture": b"jina-bert-v3"}, [0], []),
        ({"general__architecture": b"nomic-bert-moe", "general__name": b"phi-3"}, [0], []),
    ],
)
def test_tokens_that_take_white_space(others: dict[str, Any], left: list[int], right: list[int]) -> None:
    tokens = ["<mask>", "<s>", "<|endoftext|>", "[MASK]", "<|user|>", "x", "<x>", "<unk>"]
    added = metadata("gpt2", tokens, token_type=types(3, 3, 3, 3, 4, 1, 3, 2), **others).added()
    assert [id for id, token in added.items() if token.lstrip] == left
    assert [id for id, token in added.items() if token.rstrip] == right
    assert [id for id, token in added.items() if token.ascii_space] == sorted(left + right)


@pytest.mark.parametrize(
    ("others", "defaults", "single"),
    [
        ({}, (False, False), None),
        ({}, (True, False), [1, "A"]),
        ({}, (False, True), ["A", 2]),
        ({"add_bos_token": False}, (True, True), ["A", 2]),
        ({"add_eos_token": False}, (True, True), [1, "A"]),
        ({"add_bos_token": True, "add_eos_token": True}, (False, False), [1, "A", 2]),
    ],
)
def test_tokens_around_a_text(others: dict[str, Any], defaults: tuple[bool, bool], single: list[Any] | None) -> None:
    given = metadata(bos_token_id=1, eos_token_id=2, **others)
    found = given.template(bos=defaults[0], eos=defaults[1])
    expected = None
    if single is not None:
        expected = template_of(single, [*single, *("B" if item == "A" else item for item in single)])
    assert found == expected
    always = given.template(bos=False, eos=False, always=True)
    assert always is not None
    assert always["single"][0] == {"ids": [1], "type_id": 0}


def test_roles_by_default_and_by_key() -> None:
    many = [f"t{id}" for id in range(12)]
    assert metadata("gpt2", many).special_ids == {"bos": 11, "eos": 11}
    assert metadata("gpt2", many[:11]).special_ids == {}
    assert metadata("llama").special_ids == {"bos": 1, "eos": 2, "unk": 0}
    assert metadata("t5").special_ids == {"eos": 1, "unk": 2, "pad": 0}
    assert metadata("bert").special_ids == {"pad": 0}
    assert metadata("gemma4").special_ids == {}
    given = metadata("llama", bos_token_id=0, eos_token_id=3, mask_token_id=2, seperator_token_id=-1, cls_token_id=0)
    assert given.special_ids == {"bos": 0, "eos": 2, "unk": 0, "mask": 2, "cls": 0}
    assert (given.id("mask"), given.name("mask"), given.name("pad")) == (2, "c", None)
    with pytest.raises(FormatError, match="texts get a pad token") as caught:
        given.id("pad")
    assert caught.value.place == f"{KEYS}padding_token_id"


@pytest.mark.parametrize(
    ("values", "message", "place"),
    [
        ({}, "the file has no tokenizer$", "model"),
        ({"split.no": 0}, "the file has no tokenizer$", "model"),
        ({"split.no": 2}, "it is part 3 of several: load the first", "model"),
        ({"split.no": b"2"}, "the file has no tokenizer$", "model"),
    ],
)
def test_files_without_a_tokenizer(values: dict[str, Any], message: str, place: str) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        Metadata(values)
    assert caught.value.place == KEYS + place


@pytest.mark.parametrize(
    ("others", "place"),
    [
        ({"model": 1}, "model"),
        ({"pre": b"\xff"}, "pre"),
        ({"tokens": b"x"}, "tokens"),
        ({"tokens": [b"a", b"\xff"]}, "tokens[1]"),
        ({"tokens": [b"a", b"b", b"a"]}, "tokens"),
        ({"bos_token_id": True}, "bos_token_id"),
        ({"bos_token_id": 1.0}, "bos_token_id"),
        ({"token_type": types(1, 1)}, "token_type"),
        ({"token_type": array.array("f", [1, 1, 1])}, "token_type"),
        ({"token_type": [b"a", b"b", b"c"]}, "token_type"),
        ({"scores": types(1, 1, 1)}, "scores"),
        ({"scores": array.array("f", [1, 1])}, "scores"),
    ],
)
def test_metadata_that_is_damaged(others: dict[str, Any], place: str) -> None:
    values = {"model": b"gpt2", "tokens": [b"a", b"b", b"c"], **others}
    with pytest.raises(FormatError) as caught:
        Metadata({KEYS + key: value for key, value in values.items()})
    assert caught.value.place == KEYS + place


def test_values_of_the_metadata() -> None:
    given = metadata("t5", ["a", "", "c"], scores=array.array("d", [1, 2, 3]), a=True, n=7, b=array.array("B", b"xy"))
    assert given.tokens == ["a", "[EMPTY_1]", "c"]
    assert (given.scores, given.types) == ([1.0, 2.0, 3.0], [1, 1, 1])
    assert metadata().scores == [0.0, 0.0, 0.0]
    assert [given.flag("a", False), given.flag("z", True), given.flag("z", False)] == [True, True, False]
    assert (given.number("n"), given.number("z"), given.bytes("b"), given.bytes("z")) == (7, None, b"xy", b"")
    for call, name in ((given.flag, "n"), (given.bytes, "n"), (given.bytes, "scores"), (given.number, "a")):
        with pytest.raises(FormatError) as caught:
            call(name, True) if call == given.flag else call(name)  # type: ignore[arg-type, call-arg]
        assert caught.value.place == KEYS + name


@pytest.mark.parametrize(
    ("templates", "expected"),
    [
        ({}, None),
        ({"": b"x"}, "x"),
        ({".rag": b"r"}, [{"name": "rag", "template": "r"}]),
        ({".rag": b"r", "": b"x"}, [{"name": "default", "template": "x"}, {"name": "rag", "template": "r"}]),
        ({"s": [b"rag"], "": b"x"}, "x"),
    ],
)
def test_chat_templates_of_the_metadata(templates: dict[str, Any], expected: Any) -> None:
    given = metadata(**{f"tokenizer.chat_template{name}": text for name, text in templates.items()})
    assert given._chat_template() == expected


@pytest.mark.parametrize(
    ("model", "others", "expected"),
    [
        ("gpt2", {}, ["pre"]),
        ("gpt2", {"pre": b"default"}, ["pre"]),
        ("gpt2", {"pre": b"gpt-2"}, []),
        ("gpt2", {"pre": b"gpt-4o"}, ["pattern"]),
        ("gpt2", {"pre": b"qwen2"}, ["normalizer"]),
        ("gpt2", {"pre": b"unknown"}, []),
        ("gpt2", {"pre": b"llama3"}, ["template"]),
        ("gpt2", {"pre": b"llama3", "add_bos_token": True}, []),
        ("gpt2", {"pre": b"tekken"}, ["pattern", "template"]),
        ("llama", {}, ["prefix", "template"]),
        ("llama", {"add_space_prefix": False, "add_bos_token": False}, []),
        ("llama", {"add_space_prefix": True, "add_eos_token": False}, ["prefix", "template"]),
        ("llama", {"pre": b"qwen2", "add_space_prefix": False}, ["template"]),
        ("bert", {}, ["normalizer"]),
        ("bert", {"pre": b"llama3"}, ["normalizer"]),
        ("t5", {}, ["normalizer", "template"]),
        ("t5", {"precompiled_charsmap": array.array("B", b"x"), "add_eos_token": True}, []),
        ("t5", {"precompiled_charsmap": array.array("B", b"x"), "add_bos_token": True}, ["template"]),
        ("gemma4", {}, []),
        ("gpt2", {"pre": b"gpt-2", "token_type": types(3, 2, 4)}, []),
    ],
)
def test_differences_of_the_models_tokenizer(model: str, others: dict[str, Any], expected: list[str]) -> None:
    given = metadata(model, **others)
    assert [cause for cause, _ in _differences(given, given._values)] == expected


@pytest.mark.parametrize(
    ("tokens", "kinds", "words"),
    [
        (["a", "</s>", "<fim_prefix>"], [1, 1, 1], "the token '</s>' is special in llama.cpp because of its spelling"),
        (["a", "<|start|>", "</s>"], [1, 3, 1], "the token '<|start|>' is not special in llama.cpp"),
        (["a", "<|start|>", "</s>"], [1, 4, 3], None),
        (["a", "b", "c"], [6, 5, 2], None),
    ],
)
def test_tokens_whose_spelling_decides(tokens: list[str], kinds: list[int], words: str | None) -> None:
    given = metadata("gpt2", tokens, pre=b"gpt-2", token_type=types(*kinds))
    found = dict(_differences(given, given._values))
    assert found.get("special_tokens", "").startswith(words or "")
    assert (words is None) == (found == {})


def test_pre_tokenizers_by_case() -> None:
    assert has_case(Pre(("x", "[a&&[^A-Z]]")))
    assert not has_case(Pre(("x", "[^a-z]")))
    flags = {name: (pre.whole_first, pre.add_bos, pre.escapes_spaces) for name, pre in PRE.items()}
    assert flags["llama3"] == flags["tekken"] == (True, True, False)
    assert flags["glm4"] == flags["youtu"] == flags["minicpm5"] == (True, False, False)
    assert flags["chameleon"] == (False, True, False)
    assert flags["gemma4"] == (False, True, True)
    assert flags["sarvam-moe"] == (False, False, True)
    assert flags["qwen2"] == flags["default"] == flags["gpt-2"] == (False, False, False)
    assert sum(any(each) for each in flags.values()) == 19
    with pytest.raises(UnsupportedFeatureError, match=r"the tokenizer 'rwkv' of llama\.cpp is not supported"):
        gguf.tokenizer_of({f"{KEYS}model": b"rwkv", f"{KEYS}tokens": [b"a"]})


# ── the container ───────────────────────────────────────────────────────────────────────────────────────────────────


def pairs(*given: tuple[str, bytes], count: int | None = None, version: int = 3, tensors: int = 0) -> bytes:
    head = b"GGUF" + struct.pack("<IQQ", version, tensors, len(given) if count is None else count)
    return head + b"".join(string(key) + value for key, value in given)


@pytest.mark.parametrize(
    ("data", "error", "message", "place"),
    [
        (b"GGUX" + bytes(20), FormatError, "not a GGUF file", "byte 4"),
        (b"GGU", FormatError, "ends in the middle", "byte 0"),
        (pairs(version=0x0300_0000), UnsupportedFeatureError, "big-endian", "byte 4"),
        (pairs(version=1), UnsupportedFeatureError, "version 1 of GGUF is not supported; versions: 2, 3", "byte 4"),
        (pairs(version=4), UnsupportedFeatureError, "version 4 of GGUF", "byte 4"),
        (pairs(count=1), FormatError, "a list of 1 items exceeds", "byte 24"),
        (pairs(("", struct.pack("<IB", 7, 1))), FormatError, "a name of 0 bytes", "byte 32"),
        (pairs(("a" * 65536, struct.pack("<IB", 7, 1))), FormatError, "a name of 65536 bytes", "byte 32"),
        (pairs(("a", struct.pack("<I", 13) + bytes(9))), FormatError, "the unknown type 13", "byte 37"),
        (pairs(("a", struct.pack("<IIQ", 9, 9, 0))), UnsupportedFeatureError, "arrays of arrays", "byte 49"),
        (pairs(("a", struct.pack("<IIQ", 9, 13, 0))), FormatError, "the unknown type 13", "byte 49"),
        (pairs(("a", struct.pack("<IIQ", 9, 4, 1))), FormatError, "a list of 1 items exceeds", "byte 49"),
        (pairs(("a", struct.pack("<IIQ", 9, 8, 1))), FormatError, "a list of 1 items exceeds", "byte 49"),
        (pairs(("a", struct.pack("<IIQQ", 9, 8, 1, 1))), FormatError, "ends in the middle", "byte 49"),
        (pairs(("a", struct.pack("<IQ", 8, 1))), FormatError, "ends in the middle", "byte 45"),
        (pairs(("a", b"\7\0\0\0\1"), ("a", b"\7\0\0\0\1")), FormatError, "the key b'a' is given twice", "byte 47"),
    ],
)
def test_containers_that_are_damaged(data: bytes, error: Any, message: str, place: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(error, match=message) as caught:
        read_header(tmp_path / "x", lambda _: True)
    assert caught.value.place == place


def test_values_of_every_type(tmp_path: Path) -> None:
    letters = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 10: "Q", 11: "q", 12: "d"}
    numbers = [(f"n{kind}", struct.pack(f"<I{letter}", kind, 7)) for kind, letter in letters.items()]
    arrays = [(f"a{kind}", struct.pack(f"<IIQ3{letter}", 9, kind, 3, 1, 2, 3)) for kind, letter in letters.items()]
    strings = [("s", struct.pack("<IQ", 8, 2) + b"\xff\0"), ("e", struct.pack("<IIQQQ", 9, 8, 2, 0, 1) + b"x")]
    flags = [
        ("t", struct.pack("<IB", 7, 1)),
        ("f", struct.pack("<IB", 7, 0)),
        ("b", struct.pack("<IIQ2B", 9, 7, 2, 1, 0)),
    ]
    given = [*numbers, *arrays, *strings, *flags]
    for version in (2, 3):
        data = pairs(*given, version=version)
        (tmp_path / "x").write_bytes(data)
        header = read_header(tmp_path / "x", lambda key: key != "n4")
        assert (header.version, header.num_tensors, header.end, header.tensors) == (version, 0, len(data), {})
        values = header.values
        assert {values[f"n{kind}"] for kind in letters if kind != 4} == {7}
        assert all(values[f"a{kind}"] == array.array(letter, [1, 2, 3]) for kind, letter in letters.items())
        assert (values["s"], values["e"]) == (b"\xff\0", [b"", b"x"])
        assert (values["t"], values["f"], values["b"]) == (True, False, array.array("B", [1, 0]))
        assert "n4" not in values
        at = 24
        for key, value in given:
            size = len(string(key) + value)
            assert header.spans[key.encode()] == (at, at + size)
            at += size


def test_the_metadata_has_a_maximum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = pairs(("s", struct.pack("<IQ", 8, 40) + b"x" * 40))
    (tmp_path / "x").write_bytes(data)
    for chunk in (1, 7):
        monkeypatch.setattr(gguf_file, "_CHUNK", chunk)
        monkeypatch.setattr(gguf_file, "MAX_BYTES", len(data))
        assert read_header(tmp_path / "x", lambda _: True).values == {"s": b"x" * 40}
        monkeypatch.setattr(gguf_file, "MAX_BYTES", len(data) - 1)
        with pytest.raises(FormatError, match=f"metadata of more than {len(data) - 1} bytes"):
            read_header(tmp_path / "x", lambda _: True)


def test_strings_over_the_boundaries_of_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    strings = [b"x" * size for size in (0, 1, 5, 0, 9, 30, 2, 100, 0)]
    body = b"".join(struct.pack("<Q", len(one)) + one for one in strings)
    (tmp_path / "x").write_bytes(pairs(("s", struct.pack("<IIQ", 9, 8, len(strings)) + body), ("t", b"\7\0\0\0\1")))
    for chunk in range(1, 40):
        monkeypatch.setattr(gguf_file, "_CHUNK", chunk)
        assert read_header(tmp_path / "x", lambda _: True).values == {"s": strings, "t": True}


def test_tensors_are_listed(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(file_of({"a": 1}, tensors={"t": (1, 2, 3, 4), "u": (5,)}))
    header = read_header(tmp_path / "x", lambda _: True, tensors=True)
    assert header.tensors == {b"t": (1, 2, 3, 4), b"u": (5,)}
    assert (header.num_tensors, header.end) == (2, 24 + 8 + 1 + 8 + (8 + 1 + 4 + 32 + 12) + (8 + 1 + 4 + 8 + 12))
    assert read_header(tmp_path / "x", lambda _: True).tensors == {}
    for dimensions in ((), (1, 1, 1, 1, 1)):
        (tmp_path / "x").write_bytes(file_of({"a": 1}, tensors={"t": dimensions}))
        with pytest.raises(FormatError, match=f"a tensor of {len(dimensions)} dimensions"):
            read_header(tmp_path / "x", lambda _: True, tensors=True)
    (tmp_path / "x").write_bytes(pairs(tensors=1) + bytes(23))
    with pytest.raises(FormatError, match="a list of 1 items exceeds"):
        read_header(tmp_path / "x", lambda _: True, tensors=True)


VALUES = {"a": 1, "b": True, "c": b"xy", "d": [b"", b"z"], "e": array.array("f", [1.5]), "f": array.array("i", [-1])}


def test_values_are_written_as_they_are_read(tmp_path: Path) -> None:
    with (tmp_path / "x").open("wb") as file:
        write_file(file, {**VALUES, "none": None})
    header = read_header(tmp_path / "x", lambda _: True, tensors=True)
    assert (header.version, header.num_tensors, header.values) == (3, 0, VALUES)
    assert header.end == (tmp_path / "x").stat().st_size


@pytest.mark.parametrize("alignment", [1, 8, 32, 64])
def test_a_copy_with_other_values(tmp_path: Path, alignment: int) -> None:
    source = tmp_path / "x"
    given = {"general.alignment": alignment, "keep": "x", "change": "old", "drop": 1}
    source.write_bytes(file_of(given, tensors={"t": (5, 3), "u": (2,)}, alignment=alignment))
    header = read_header(source, lambda _: True, tensors=True)
    for new in (b"", b"n" * 100):
        out = io.BytesIO()
        write_file(out, {"change": new, "drop": None, "more": 3}, (source, header))
        (tmp_path / "y").write_bytes(out.getvalue())
        copy = read_header(tmp_path / "y", lambda _: True, tensors=True)
        assert copy.values == {"general.alignment": alignment, "keep": b"x", "change": new, "more": 3}
        assert [*copy.values] == ["general.alignment", "keep", "change", "more"]
        assert copy.tensors == header.tensors
        data = [
            path.read_bytes()[one.end + -one.end % alignment :]
            for path, one in ((source, header), (tmp_path / "y", copy))
        ]
        assert data[0] == data[1] != b""


@pytest.mark.parametrize(
    ("alignment", "valid"), [(0, False), (3, False), (1 << 20, True), (1 << 21, False), ("8", False)]
)
def test_the_alignment_is_a_power_of_two(tmp_path: Path, alignment: Any, valid: bool) -> None:
    source = tmp_path / "x"
    source.write_bytes(file_of({"general.alignment": alignment}))
    header = read_header(source, lambda _: True, tensors=True)
    if not valid:
        with pytest.raises(FormatError, match="not a power of two"):
            write_file(io.BytesIO(), {}, (source, header))
        return
    out = io.BytesIO()
    write_file(out, {}, (source, header))
    assert out.getvalue() == source.read_bytes()


# ── keys of a copy ──────────────────────────────────────────────────────────────────────────────────────────────────

OLD = [b"a", b"b", b"c"]
IDS = {b"b": 7, b"c": 0}


@pytest.mark.parametrize(
    ("key", "value", "has_template", "expected"),
    [
        ("tokenizer.chat_template", b"x", False, b"x"),
        ("tokenizer.chat_template", b"x", True, None),
        ("tokenizer.chat_template.rag", b"x", True, None),
        (f"{KEYS}token_type_count", 2, True, 2),
        (f"{KEYS}eot_token_id", 1, True, 7),
        (f"{KEYS}eot_token_id", 2, False, 0),
        (f"{KEYS}eot_token_id", 0, False, None),
        (f"{KEYS}eot_token_id", 3, False, None),
        (f"{KEYS}eot_token_id", -1, False, None),
        (f"{KEYS}eot_token_id", b"b", False, None),
        (f"{KEYS}suppress_tokens", array.array("i", [1, 0, 2, 3, -1]), False, array.array("i", [7, 0])),
        (f"{KEYS}suppress_tokens", [b"b"], False, None),
        (f"{KEYS}other", array.array("i", [1]), False, None),
        ("tokenizer.huggingface.json", b"{}", False, None),
    ],
)
def test_keys_that_a_tokenizer_does_not_set(key: str, value: Any, has_template: bool, expected: Any) -> None:
    assert gguf_write._kept(key, value, OLD, IDS, has_template=has_template) == expected


def header(tensors: dict[bytes, tuple[int, ...]], num_tensors: int, **values: Any) -> Header:
    return Header(3, {key.replace("__", "."): value for key, value in values.items()}, {}, num_tensors, tensors, 0)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (header({b"token_embd.weight": (5, 9)}, 1), 9),
        (header({b"token_embd.weight": (5, 100)}, 1), 100),
        (header({b"token_embd.weight": (5, 101)}, 1), FormatError),
        (header({b"other": (5, 9)}, 1), 3),
        (header({}, 0, split__count=2), 3),
        (header({}, 0, split__count=0), None),
        (header({}, 0), None),
    ],
)
def test_rows_of_the_embeddings(given: Header, expected: Any) -> None:
    if expected is FormatError:
        with pytest.raises(FormatError, match="101 rows do not fit"):
            gguf_write._num_rows(given, OLD, 100)
        return
    assert gguf_write._num_rows(given, OLD, 100) == expected


@pytest.mark.parametrize(
    ("num_rows", "old", "old_types", "expected"),
    [
        (None, [], None, [b"x"]),
        (1, [b"a", b"b"], None, [b"x"]),
        (0, [], None, "has 1 ids, but the file to copy from has embeddings for 0"),
        (3, [], None, [b"x", b"[PAD1]", b"[PAD2]"]),
        (3, [b"a", b"[PAD1]"], None, [b"x", b"[PAD1]", b"[PAD2]"]),
        (3, [b"a", b"b", b"c"], types(1, 5, 5), [b"x", b"[PAD1]", b"[PAD2]"]),
        (3, [b"a", b"b", b"c"], types(1, 5, 1), "of the token 'c' with the id 2"),
        (3, [b"a", b"b", b"c"], types(1, 5), "of the token 'c' with the id 2"),
        (2, [b"a", b"\xff"], 5, "of the token '\ufffd' with the id 1"),
    ],
)
def test_unused_tokens_fill_the_rows(num_rows: int | None, old: list[bytes], old_types: Any, expected: Any) -> None:
    for scores in ({}, {f"{KEYS}scores": array.array("f", [1.0])}):
        changes: dict[str, Any] = {f"{KEYS}tokens": [b"x"], f"{KEYS}token_type": types(3), **scores}
        if isinstance(expected, str):
            with pytest.raises(ConfigError, match=expected):
                gguf_write._pad(changes, num_rows, {f"{KEYS}token_type": old_types}, old)
            continue
        gguf_write._pad(changes, num_rows, {f"{KEYS}token_type": old_types}, old)
        more = len(expected) - 1
        assert changes[f"{KEYS}tokens"] == expected
        assert changes[f"{KEYS}token_type"] == types(3, *[5] * more)
        if scores:
            assert changes[f"{KEYS}scores"].tolist() == [1.0, *[-10000.0] * more]


def with_template(single: list[Any] | None) -> Any:
    template = None if single is None else template_of(single)
    return SimpleNamespace(definition=SimpleNamespace(template=template))


@pytest.mark.parametrize(
    ("single", "kind", "expected", "lost"),
    [
        (None, "gpt2", {"add_bos_token": False, "add_eos_token": False}, False),
        ([1, "A"], "gpt2", {"bos_token_id": 1, "add_bos_token": True, "add_eos_token": False}, False),
        (["A", 2], "t5", {"eos_token_id": 2, "add_bos_token": False, "add_eos_token": True}, False),
        (
            [1, "A", 2],
            "llama",
            {"bos_token_id": 1, "eos_token_id": 2, "add_bos_token": True, "add_eos_token": True},
            False,
        ),
        ([1, 3, "A"], "gpt2", {"bos_token_id": 1, "add_bos_token": True, "add_eos_token": False}, True),
        (["A", 2, 3], "gpt2", {"eos_token_id": 2, "add_bos_token": False, "add_eos_token": True}, True),
        ([1, "A", 2], "bert", {"bos_token_id": 1, "seperator_token_id": 2}, False),
        ([1, "A"], "bert", {"bos_token_id": 1}, True),
        (["A", 2], "bert", {"seperator_token_id": 2}, True),
        (None, "bert", {}, True),
        (None, "gemma4", {"add_bos_token": False, "add_eos_token": False}, True),
        ([1, "A"], "gemma4", {"bos_token_id": 1, "add_bos_token": True, "add_eos_token": False}, False),
    ],
)
def test_tokens_around_a_text_are_written(single: Any, kind: str, expected: dict[str, Any], lost: bool) -> None:
    losses: dict[str, str] = {}
    assert gguf_write._template(with_template(single), kind, losses) == expected
    assert [*losses] == (["template"] if lost else [])


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        (None, {}),
        ("x", {"": b"x"}),
        ([{"name": "default", "template": "x"}], {"": b"x"}),
        ([{"name": "rag", "template": "r"}], {"s": [b"rag"], ".rag": b"r"}),
        (
            [{"name": "rag", "template": "r"}, {"name": "default", "template": "x"}],
            {"": b"x", "s": [b"rag"], ".rag": b"r"},
        ),
    ],
)
def test_chat_templates_are_written(template: Any, expected: dict[str, Any]) -> None:
    found = gguf_write._chat_template(template)
    assert found == {f"tokenizer.chat_template{name}": value for name, value in expected.items()}


OPTIONS: dict[str, Any] = {
    "type": "SentencePiece",
    "precompiled_charsmap": None,
    "add_dummy_prefix": False,
    "remove_extra_whitespaces": False,
    "escape_whitespaces": True,
    "treat_whitespace_as_suffix": False,
}
ESCAPE = gguf.replace(" ", "▁")
PREPEND = {"type": "Prepend", "prepend": "▁"}
DENORMALIZER = {"type": "SentencePiece", "denormalizer": "AAAA"}


@pytest.mark.parametrize(
    ("normalizer", "others", "prefix", "losses"),
    [
        ((OPTIONS,), {}, False, []),
        (({**OPTIONS, "add_dummy_prefix": True},), {}, True, ["normalizer"]),
        (({**OPTIONS, "precompiled_charsmap": "AAAA"},), {}, False, ["normalizer"]),
        (({**OPTIONS, "remove_extra_whitespaces": True},), {}, False, ["normalizer"]),
        (({**OPTIONS, "treat_whitespace_as_suffix": True},), {}, False, ["normalizer"]),
        (({**OPTIONS, "escape_whitespaces": False},), {}, False, ["normalizer"]),
        ((ESCAPE,), {}, False, []),
        ((PREPEND, ESCAPE), {}, True, []),
        ((ESCAPE, PREPEND), {}, True, ["normalizer"]),
        ((PREPEND,), {}, False, ["normalizer"]),
        ((), {}, False, ["normalizer"]),
        ((ESCAPE,), {"pretokenizer": ({"type": "WhitespaceSplit"},)}, False, ["pretokenizer"]),
        ((ESCAPE,), {"decoder": (DENORMALIZER,)}, False, ["decoder"]),
        ((ESCAPE,), {"decoder": ({"type": "Fuse"},)}, False, []),
    ],
)
def test_pieces_that_llama_cpp_reads(normalizer: Any, others: dict[str, Any], prefix: bool, losses: list[str]) -> None:
    found: dict[str, str] = {}
    definition = SimpleNamespace(**{"normalizer": normalizer, "pretokenizer": (), "decoder": None, **others})
    made = gguf_write._pieces(definition, found)  # type: ignore[arg-type]
    assert (made, [*found]) == ({"model": b"llama", "add_space_prefix": prefix}, losses)


@pytest.mark.parametrize(
    ("options", "lowercase", "strips"),
    [
        ({"lowercase": True, "strip_accents": None}, True, True),
        ({"lowercase": False, "strip_accents": None}, False, False),
        ({"lowercase": True, "strip_accents": False}, True, False),
        ({"lowercase": False, "strip_accents": True}, False, True),
        (None, False, False),
    ],
)
def test_the_normalizer_of_word_pieces(options: dict[str, Any] | None, lowercase: bool, strips: bool) -> None:
    normalizer = ({"type": "NFC"},) if options is None else ({"type": "NFC"}, {"type": "BertNormalizer", **options})
    assert gguf_write._word_pieces(SimpleNamespace(normalizer=normalizer)) == {  # type: ignore[arg-type]
        "model": b"bert",
        "normalizer.lowercase": lowercase,
        "normalizer.strip_accents": strips,
    }


MAP = {"type": "Precompiled", "precompiled_charsmap": "YWJj"}
METASPACE = {"type": "Metaspace"}


@pytest.mark.parametrize(
    ("normalizer", "pretokenizer", "decoder", "expected", "losses"),
    [
        ((OPTIONS,), (), None, (False, False, None), []),
        (({**OPTIONS, "add_dummy_prefix": True, "remove_extra_whitespaces": True},), (), None, (True, True, None), []),
        (({**OPTIONS, "precompiled_charsmap": "YWJj"},), (), None, (False, False, b"abc"), []),
        (({**OPTIONS, "treat_whitespace_as_suffix": True},), (), None, (False, False, None), ["normalizer"]),
        (({**OPTIONS, "escape_whitespaces": False},), (), None, (False, False, None), ["normalizer"]),
        ((OPTIONS,), (METASPACE,), None, (False, False, None), ["normalizer"]),
        ((MAP,), (METASPACE,), None, (True, True, b"abc"), []),
        ((MAP, {"type": "Strip"}), (METASPACE,), None, (True, True, b"abc"), []),
        ((MAP,), ({"type": "Pattern"}, METASPACE), None, (True, True, b"abc"), ["pretokenizer"]),
        ((MAP,), (METASPACE, {"type": "Pattern"}), None, (False, False, b"abc"), ["normalizer"]),
        ((MAP,), (), None, (False, False, b"abc"), ["normalizer"]),
        ((), (METASPACE,), None, (False, False, None), ["normalizer"]),
        ((OPTIONS,), (), ({"type": "SentencePiece"},), (False, False, None), ["decoder"]),
    ],
)
def test_unigram_models_that_llama_cpp_reads(
    normalizer: Any, pretokenizer: Any, decoder: Any, expected: Any, losses: list[str]
) -> None:
    found: dict[str, str] = {}
    definition = SimpleNamespace(normalizer=normalizer, pretokenizer=pretokenizer, decoder=decoder)
    made = gguf_write._unigram(definition, found)  # type: ignore[arg-type]
    charsmap = made.pop("precompiled_charsmap", None)
    assert made == {"model": b"t5", "add_space_prefix": expected[0], "remove_extra_whitespaces": expected[1]}
    assert (None if charsmap is None else charsmap.tobytes()) == expected[2]
    assert [*found] == losses


def test_columns_of_a_vocabulary() -> None:
    tok = jeton.Tokenizer.from_merges({0: b"a", 2: b"b", 3: b"\n"}, [], special_tokens={"<s>": 5}).add_tokens(
        ["x"], special=False
    )
    found = gguf_write._columns(tok, "gpt2")
    assert found["tokens"] == [b"a", b"[PAD1]", b"b", "Ċ".encode(), b"[PAD4]", b"<s>", b"x"]
    assert found["token_type"].tolist() == [1, 5, 1, 1, 5, 3, 4]
    assert "scores" not in found
    pieces = jeton.train(["low lower lowest"] * 3, 26, preset="sentencepiece", progress=False)
    columns = gguf_write._columns(pieces, "llama")
    unk = pieces.token_to_id("<unk>")
    assert columns["token_type"][unk] == 2
    assert [columns["scores"][id] for id in range(4, 9)] == pytest.approx(pieces._core.scores()[4:9])
    assert gguf_write._columns(pieces, "gpt2")["token_type"][unk] == 3
    bert = jeton.train(["low lower lowest"] * 3, 30, preset="bert", progress=False)
    spelled = gguf_write._columns(bert, "bert")["tokens"]
    for id in range(bert.vocab_size):
        token = bert.id_to_token(id)
        if id not in bert.added_tokens:
            assert spelled[id].decode() == (token[2:] if token.startswith("##") else f"▁{token}")


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        (AddedToken("x"), (False, False, False, False)),
        (AddedToken("x", lstrip=True), (True, False, False, False)),
        (AddedToken("x", rstrip=True, ascii_space=True), (False, True, False, True)),
        (AddedToken("x", lstrip=True, ascii_space=True), (True, False, False, True)),
        (AddedToken("x", single_word=True, ascii_space=True), (False, False, True, False)),
    ],
)
def test_white_space_around_a_token(token: AddedToken, expected: tuple[bool, ...]) -> None:
    assert gguf_write._white_space(token) == expected


@pytest.mark.parametrize(
    "model",
    [
        Bpe(end_of_word="</w>"),
        Bpe("char", unk_token="<unk>"),
        Bpe(continuing_subword_prefix="##"),
        Pieces("<unk>"),
        WordPiece("<unk>", "@@"),
        Unigram("<unk>", byte_fallback=True),
    ],
    ids=str,
)
def test_models_that_llama_cpp_lacks(model: Any) -> None:
    fake = SimpleNamespace(definition=Definition(model))
    with pytest.raises(UnsupportedFeatureError, match=r"llama.cpp does not support a model like this one") as caught:
        gguf_write._changes(fake, (), {})  # type: ignore[arg-type]
    assert caught.value.feature == "model"


def test_a_limit_of_characters_of_a_word_is_a_loss(tmp_path: Path) -> None:
    tok = jeton.train(["low lower lowest"] * 3, 30, preset="bert", progress=False)
    with pytest.raises(UnsupportedFeatureError) as caught:
        tok.save(tmp_path / "x.gguf", accept_loss=["normalizer", "pretokenizer"])
    assert caught.value.feature == "model"
    tok.save(tmp_path / "x.gguf", accept_loss=["normalizer", "pretokenizer", "model"])
    assert jeton.load(tmp_path / "x.gguf").encode("low lowest") == tok.encode("low lowest")
    assert replace(tok.definition) == tok.definition


@pytest.mark.parametrize(
    ("values", "model"),
    [
        (samples.bpe(), Bpe()),
        (samples.bpe(pre="llama-bpe", bos_token_id=13), Bpe(whole_first=True)),
        (samples.spm(), Pieces("<unk>", byte_fallback=True)),
        (samples.bert(), WordPiece("[UNK]", max_chars_per_word=(1 << 32) - 1)),
        (samples.unigram(), Unigram("<unk>")),
        (samples.gemma(), Bpe("char", unk_token=None, fuse_unk=True, byte_fallback=True)),
        (samples.gemma(unknown_token_id=3), Bpe("char", unk_token="<unk>", fuse_unk=True, byte_fallback=True)),
    ],
)
def test_models_of_the_metadata(values: dict[str, Any], model: Any, tmp_path: Path) -> None:
    (tmp_path / "x.gguf").write_bytes(file_of(values))
    assert gguf.read(str(tmp_path / "x.gguf")).definition.model == model


@pytest.mark.parametrize("always", [False, True])
def test_pieces_of_bytes(always: bool, tmp_path: Path) -> None:
    """With user-defined tokens, the pieces are those of a list of merges."""
    values = samples.spm()
    if always:
        for name, value in (("tokens", "<tool>"), ("scores", 0.0), ("token_type", 4)):
            values[KEYS + name] = [*values[KEYS + name], value]
    (tmp_path / "x.gguf").write_bytes(file_of(values))
    tok = gguf.read(str(tmp_path / "x.gguf"))
    assert tok._core.ids_of(BYTE) == ([] if always else [*range(3, 259)])
    expected = Bpe("char", unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    assert tok.definition.model == (expected if always else Pieces("<unk>", byte_fallback=True))


def test_cls_of_a_bert_file_is_not_bos_too() -> None:
    tokens = ["a", "[CLS]", "[SEP]", "<s>"]
    vocabulary = jeton.Tokenizer.from_merges({0: b"a"}, [], special_tokens={"[CLS]": 1, "[SEP]": 2, "<s>": 3})
    added, core = vocabulary.added_tokens, vocabulary._core.vocabulary()

    def roles(model: str, **others: int) -> dict[str, str]:
        return dict(metadata(model, tokens, **others).tokenizer(core, added, model=vocabulary.definition.model).roles)

    assert roles("bert", bos_token_id=1, cls_token_id=1) == {"cls": "[CLS]"}
    assert roles("bert", bos_token_id=3, cls_token_id=1) == {"bos": "<s>", "cls": "[CLS]"}
    assert roles("gpt2", bos_token_id=1, cls_token_id=1) == {"bos": "[CLS]", "cls": "[CLS]"}
