"""Tokenizers in a folder, by their names and first bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jeton.errors import ConfigError
from jeton.formats import folder, remote_code
from jeton.formats.discovery import find_tokenizers, short_name
from jeton.formats.saving import format_of


def test_json_files_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(' {\n"model": {}}')
    (tmp_path / "b.json").write_text("[1]")
    (tmp_path / "c").write_text('{"l": 0}')
    (tmp_path / ".d.json").write_text('{"l": 0}')
    (tmp_path / "empty").mkdir()
    assert [path.name for path in find_tokenizers(tmp_path)] == ["a.json", "c"]


def test_files_are_found_by_their_first_bytes(tmp_path: Path) -> None:
    files = {
        "a.gguf": b"GGUF",
        "b.tiktoken": b"aGk= 0\n",
        "c.model": b"\n\x0e\n\x05<unk>\x15",
        "d.txt": b"[UNK]\nthe\n",
        "e.txt": b"notes",
        "f.json": b'{ "a": 1}',
        "g.json": b"{}",
        "config.json": b'{"a": 1}',
        "tokenizer_config.json": b'{"a": 1}',
        "model.safetensors.index.json": b'{"a": 1}',
        "x.merges.txt": b"aGk= 0\n",
        "vocab.bpe": b"aGk= 0\n",
        "late.json": b" " * (1 << 16) + b'{"a": 1}',
        "near.json": b" " * ((1 << 16) - 2) + b'{"a": 1}',
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "vocab.txt").write_bytes(b"x")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "x").write_bytes(b"x")
    found = [path.name for path in find_tokenizers(tmp_path)]
    assert found == ["a.gguf", "b.tiktoken", "c.model", "d.txt", "f.json", "folder", "near.json"]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a/tokenizer.json", "a"),
        ("tokenizer.json", "tokenizer"),
        ("a/b.tokenizer.json", "b"),
        ("a/b.vocab.txt", "b"),
        ("a/b.sentencepiece.bpe.model", "b"),
        ("a/b.gguf", "b"),
        ("a/b.bin", "b.bin"),
        ("a/.json", ".json"),
        ("a/tekken.json", "a"),
        ("a/vocab.json", "a"),
    ],
)
def test_short_names(path: str, name: str) -> None:
    assert short_name(Path(path)) == name


@pytest.mark.parametrize(
    ("names", "first"),
    [
        ([], None),
        (["x"], None),
        (["b.model", "a.model"], "a.model"),
        (["a.gguf", "b.tiktoken"], "b.tiktoken"),
        (["mmproj-a.gguf", "z.gguf"], "z.gguf"),
        (["mmproj-a.gguf"], "mmproj-a.gguf"),
        (["vocab.txt", "encoder.json"], "encoder.json"),
        (["encoder.json", "vocab.json"], "vocab.json"),
        (["tekken.json", "a.model", "tokenizer.json"], "tokenizer.json"),
        (["tekken.json", "a.model"], "tekken.json"),
    ],
)
def test_the_most_complete_file_of_a_folder(names: list[str], first: str | None) -> None:
    assert folder._first(names) == first


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, None),
        ({"auto_map": "a.B"}, "a.B"),
        ({"auto_map": ["a.B", "a.C"]}, "a.B"),
        ({"auto_map": [None, "a.C"]}, "a.C"),
        ({"auto_map": [None, None]}, None),
        ({"auto_map": {"AutoTokenizer": ["a.B", None]}}, "a.B"),
        ({"auto_map": {"AutoTokenizer": "a.B"}}, "a.B"),
        ({"auto_map": {"AutoModel": "a.B"}}, None),
        ({"auto_map": 3}, None),
    ],
)
def test_classes_of_remote_code(config: dict[str, Any], expected: str | None) -> None:
    assert remote_code._automatic(config) == expected


@pytest.mark.parametrize(
    ("name", "code", "expected"),
    [
        ("QWenTokenizer", ["tokenization_qwen.py"], "tokenization_qwen.py"),
        ("QWenTokenizerFast", ["tokenization_qwen.py"], "tokenization_qwen.py"),
        ("QWenTokenizerFast", ["tokenization_qwen_fast.py"], "tokenization_qwen_fast.py"),
        ("InternLM2Tokenizer", ["tokenization_internlm2.py"], "tokenization_internlm2.py"),
        ("QWenTokenizer", ["tokenization_other.py"], None),
        ("QWenTokenizer", [], None),
        (None, ["tokenization_none.py"], None),
    ],
)
def test_classes_that_a_folder_defines(name: Any, code: list[str], expected: str | None) -> None:
    assert remote_code._defined_here({"tokenizer_class": name}, code) == expected


@pytest.mark.parametrize(
    ("path", "format"),
    [
        ("a.json", "tokenizer.json"),
        ("a.JSON", "tokenizer.json"),
        ("tekken.json", "tekken"),
        ("x/vocab.txt", "vocab.txt"),
        ("a.vocab", "vocab"),
        ("a.tiktoken", "tiktoken"),
        ("a.model", "sentencepiece"),
        ("a.gguf", "gguf"),
        ("a", "folder"),
        ("a.txt", None),
        ("a.bin", None),
    ],
)
def test_the_format_of_a_path(path: str, format: str | None, tmp_path: Path) -> None:
    if format is None:
        with pytest.raises(ConfigError, match="no format has the suffix"):
            format_of(tmp_path / path)
        (tmp_path / path).mkdir()
        assert format_of(tmp_path / path) == "folder"
        return
    assert format_of(tmp_path / path) == format
