"""Safetensors files are accepted if and only if the library accepts them, in linear time and memory."""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jeton
from jeton.vocabulary import read_embeddings
from jeton.vocabulary.safetensors_file import SafetensorsFile, write_file

from ..selection import amount

DTYPES = [
    "BOOL", "F4", "F6_E2M3", "F6_E3M2", "U8", "I8", "F8_E5M2", "F8_E4M3", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ",
    "I16", "U16", "F16", "BF16", "I32", "U32", "F32", "C64", "F64", "I64", "U64",
]  # fmt: skip
BITS = {"F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "BOOL": 8, "C64": 64, "BF16": 16}


def file_of(header: str | bytes, data: bytes = b"") -> bytes:
    spelled = header.encode("utf-8", "surrogatepass") if isinstance(header, str) else header
    return struct.pack("<Q", len(spelled)) + spelled + data


def opens(path: Path, data: bytes) -> str | None:
    """Opens a file, copies it and opens the copy; returns the error."""
    path.write_bytes(data)
    try:
        with SafetensorsFile(path) as file:
            copied = [
                (each.name, each.dtype, each.shape, each.end - each.start, file.blocks(each))
                for each in file.tensors.values()
            ]
            write_file(path.with_suffix(".copy"), copied, file.metadata)
            with SafetensorsFile(path.with_suffix(".copy")) as copy:
                assert copy.metadata == file.metadata
                assert list(copy.tensors) == list(file.tensors)
                assert [b"".join(copy.blocks(each)) for each in copy.tensors.values()] == [
                    b"".join(file.blocks(each)) for each in file.tensors.values()
                ]
    except jeton.FormatError as error:
        return str(error)
    return None


def test_files_are_accepted_and_refused_as_by_the_library(tmp_path: Path) -> None:
    library = pytest.importorskip("safetensors")
    generator = random.Random(42)
    accepted = 0
    for _ in range(num := amount(20_000, default=120)):
        data = generated(generator)
        try:
            library.deserialize(data)
            expected = True
        except library.SafetensorError:
            expected = False
        found = opens(tmp_path / "a.safetensors", data)
        assert (found is None) == expected, (data[:2000], found)
        accepted += expected
        if expected:
            library.deserialize((tmp_path / "a.copy").read_bytes())
    assert num // 10 < accepted < num * 9 // 10


def generated(generator: random.Random) -> bytes:
    """A valid file with up to three changes."""
    names = ["a", "", "é\n", "__metadata__x", "wte.weight", "x" * 300, "\U0001f600", "b", "c"]
    members: list[tuple[str, Any]] = []
    at = 0
    for name in generator.sample(names, generator.randint(0, 5)):
        dtype = generator.choice(DTYPES)
        shape = [generator.choice([0, 1, 2, 4, 8]) for _ in range(generator.choice([0, 1, 2, 2, 3]))]
        bits = int(np.prod([1, *shape])) * BITS.get(dtype, int("".join(filter(str.isdigit, dtype[1:3])) or 8))
        bits = 8 * int(np.prod([1, *shape])) if dtype.startswith("F8") else bits
        tensor: Any = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + bits // 8]}
        members.append((name, tensor))
        at += bits // 8
    if generator.random() < 0.4:
        metadata = generator.choice([None, {}, {"format": "pt"}, {"a": "\x00", "é": "x"}])
        members.insert(generator.randint(0, len(members)), ("__metadata__", metadata))
    generator.shuffle(members)
    spelled = [f"{json.dumps(name)}:{json.dumps(value, ensure_ascii=False)}" for name, value in members]
    for _ in range(generator.choice([0, 0, 1, 1, 2])):
        spelled = change(generator, spelled)
    header = "{" + ",".join(spelled) + "}"
    header = generator.choice(
        [header] * 12 + [" " + header + "\n ", header + "x", header[:-1], "", "null", "[]", "\ufeff" + header]
    )
    data = file_of(header, bytes(at + generator.choice([0] * 12 + [1, 4])))
    match generator.randint(0, 25):
        case 0:
            return data[: generator.randint(0, len(data))]
        case 1:
            return struct.pack("<Q", generator.choice([0, 1 << 63, (1 << 64) - 1, 100_000_001])) + data[8:]
        case 2 if len(data) > 9:
            where = generator.randint(8, len(data) - 1)
            return data[:where] + bytes([generator.randrange(256)]) + data[where + 1 :]
    return data


VALUES = [
    "null", "true", "0", "1", "-1", "-0", "1.0", "1e2", "4294967296", "18446744073709551615", "18446744073709551616",
    "1e999", '""', '"F32"', '"a"', r'"\ud800"', r'"\ud83d\ude00"', "[]", "{}", "[1]", "[0,4]", "[0,4,4]",
    '{"F32":null}',
    '{"F32":{}}', '["F32",[1],[0,4]]', '["F32",[0],[0,0]]', '["F32",[0],[0,0],1]', '{"a":1}', '{"a":"b"}', "[null]",
    "[" * 100 + "]" * 100, "[" * 130 + "]" * 130, "nul",
    '{"dtype":"U8","shape":[0,18446744073709551615,2],"data_offsets":[0,0]}',
    '{"dtype":"U8","shape":[18446744073709551615,2,0],"data_offsets":[0,0]}',
]  # fmt: skip


def change(generator: random.Random, members: list[str]) -> list[str]:
    """Changes a member, or adds one."""
    value = generator.choice(VALUES)
    members = list(members)
    if not members or generator.random() < 0.3:
        names = ['"a"', '"z"', '"__metadata__"', r'"\ud800"', r'"\u0061"', "a", "1", '"__metadata__x"']
        members.insert(generator.randint(0, len(members)), f"{generator.choice(names)}:{value}")
        return members
    at = generator.randrange(len(members))
    match generator.randint(0, 5):
        case 0:
            members.append(members[at])
        case 1:
            members[at] = members[at].partition(":")[0] + ":" + value
        case 2:  # a field more, or twice
            field = generator.choice(['"x"', '"dtype"', '"shape"', '"data_offsets"', r'"\u0064type"', '"Dtype"'])
            members[at] = members[at].replace("{", "{" + f"{field}:{value},", 1)
        case 3:
            key = generator.choice(["dtype", "shape", "data_offsets"])
            members[at] = members[at].replace(f'"{key}":', f'"{key}":{value},"x":', 1)
        case 4:
            members[at] = members[at].replace(generator.choice('0124[]{},:"'), generator.choice('0124[]{},:" '), 1)
        case 5:
            members[at] = members[at].replace('"dtype"', '"dtypes"', 1)
    return members


def one(shape: list[int], size: int, dtype: str = "F32", name: str = "wte.weight") -> bytes:
    return file_of(json.dumps({name: {"dtype": dtype, "shape": shape, "data_offsets": [0, size]}}), bytes(size))


def test_a_tensor_without_values_takes_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    for shape in ([1 << 28, 0], [0], [(1 << 63) - 1, 0], [0, 1 << 62, 1 << 62]):
        assert opens(path, one(shape, 0)) is None
        with pytest.raises(jeton.ConfigError, match="no rows"):
            read_embeddings(path)
    path.write_bytes(one([], 4))
    with pytest.raises(jeton.ConfigError, match="no rows"):
        read_embeddings(path)
    path.write_bytes(one([3, 1, 2], 3, "F4"))
    with pytest.raises(jeton.UnsupportedFeatureError, match="F4"):
        read_embeddings(path)
    path.write_bytes(one([3, 2], 24))
    assert read_embeddings(path).shape == (3, 2)


@pytest.mark.timeout(20)
def test_headers_of_many_dimensions_are_read(tmp_path: Path) -> None:
    assert "not the size" in (opens(tmp_path / "a.safetensors", one([2] * 100_000, 0)) or "")
    assert opens(tmp_path / "a.safetensors", one([1] * 100_000, 4)) is None
    path = tmp_path / "a.safetensors"
    assert read_embeddings(path).shape == (1, 1)
    path.write_bytes(one([3, 3, *[1] * 100_000], 36, "U32"))
    with pytest.raises(jeton.UnsupportedFeatureError) as caught:
        read_embeddings(path)
    assert len(str(caught.value)) < 1000


def test_tensors_that_overlap_are_refused(tmp_path: Path) -> None:
    tensor = {"dtype": "U8", "shape": [1000], "data_offsets": [0, 1000]}
    error = opens(tmp_path / "a.safetensors", file_of(json.dumps({"a": tensor, "b": tensor}), bytes(1000)))
    assert "must begin at 1000" in (error or "")


@pytest.mark.parametrize("metadata", ['{"a": 1}', '["a"]', '"a"', "1", '{"a": {"b": "c"}}', r'{"\ud800": "a"}'])
def test_metadata_that_are_not_strings_are_refused(tmp_path: Path, metadata: str) -> None:
    error = opens(tmp_path / "a.safetensors", file_of(f'{{"__metadata__": {metadata}}}'))
    assert "header" in (error or "")
    assert "line 1" in (error or "")


def test_errors_in_other_files_precede_writing(tmp_path: Path) -> None:
    """Errors in them are reported before anything is written."""
    tok = jeton.train(["low lower lowest"], 260, progress=False)
    plan = jeton.add_words(tok, ["xyz"]).plan
    rows = bytes(tok.vocab_size * 4)
    source, out = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    write_file(source / "model.safetensors", [("wte.weight", "F32", (tok.vocab_size, 1), len(rows), [rows])], None)
    index = source / "model.safetensors.index.json"
    for content in ("{", "[]", "1", "[" * 100_000, r'{"a": "\ud800"}'):
        (source / "config.json").write_text(content)
        with pytest.raises(jeton.FormatError, match="not a configuration"):
            plan.apply(source, out)
    (source / "config.json").write_text("{}")
    for content in (
        '{"weight_map": {"a": ""}}', '{"weight_map": {"a": ".."}}', r'{"weight_map": {"a": "\u0000"}}',
        r'{"weight_map": {"a": "\ud800"}}', '{"weight_map": {"a": 1}}',
        '{"weight_map": {"a": "model.safetensors"}, "metadata": [1]}',
    ):  # fmt: skip
        index.write_text(content)
        with pytest.raises(jeton.FormatError, match="index"):
            plan.apply(source, out)
    assert not out.exists() or not list(out.iterdir())
