"""The format of a file by its content."""

from __future__ import annotations

import pytest

from jeton.formats import detection

TESTS = ("gguf", "rank_file", "json", "sentencepiece", "gpt2_pair", "vocab_txt", "tekken")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", ""),
        (b"GGUF", "gguf"),
        (b"GGU", ""),
        (b"aGk= 0", "rank_file"),
        (b"aGk= 0\r\nYQ== 1", "rank_file"),
        (b"YQ== 12\nx", "rank_file"),
        (b"YWFh 0\n", "rank_file"),
        (b"+/Az 0\n", "rank_file"),
        (b"YQ=== 0\n", "gpt2_pair?"),
        (b"= 0\n", ""),
        (b" 0\n", ""),
        (b"aGk=\n", ""),
        (b"aGk= \n", ""),
        (b"aGk= 1x\n", "gpt2_pair"),
        (b"a-k= 0\n", ""),
        (b"a=b 0\n", ""),
        (b"{", ""),
        (b"{}", "json"),
        (b' \n{ "a": "b"}', "json"),
        (b"\n{\n\x05<unk>", "sentencepiece"),
        (b'{x"', ""),
        (b" " * 5000 + b'{"a": "b"}', "json"),
        (b" " * 4095 + b'{"a": "b"}', "json"),
        (b'{"a": 0}', "json gpt2_pair"),
        (b'{"a" : 0}', "json"),
        (b'{ "a": 7}', "json gpt2_pair"),
        (b'{"a": -1}', "json"),
        (b'{"a": "0"}', "json"),
        (b'{"' + b"a" * 300 + b'": 0}', "json"),
        (b"\n\x0e\n\x05<unk>\x15", "sentencepiece"),
        (b"\n\x0e\n\x05", "sentencepiece"),
        (b"\n\x0e\n", ""),
        (b"\n\x80\x01\n\x05<unk>", "sentencepiece"),
        (b"\n\x80\x80\x80\x01\n<unk>", "sentencepiece"),
        (b"\n\x80\x80\x80\x80\x01\n<unk>", "sentencepiece"),
        (b"\n\x80\x80\x80\x80\x80\x01\n<unk>", ""),
        (b"\n\x0e\x15\x00\x00", "sentencepiece"),
        (b"\n\x0e\x18\x02\x00", "sentencepiece"),
        (b"\n\x0e\x10\x02\x00", ""),
        (b"\x0b\x0e\n\x05<unk>", ""),
        (b"#version: 0.2\n", "gpt2_pair"),
        (b"h e\nl l\n", "gpt2_pair"),
        (b"h e\r\nl l", "gpt2_pair"),
        (b"\n\nh e", "gpt2_pair"),
        (b"\n\n\nh e", "sentencepiece"),
        (b"h e\nl l\no o\nx y z\n", "gpt2_pair"),
        (b"h e\nl l\nx y z\n", ""),
        (b"h e\nl \n", ""),
        (b"h e\n l\n", ""),
        (b"h 1\n", "rank_file"),
        (b"h. 1\n", ""),
        (b"{ e\n", ""),
        (b"[PAD]\n[UNK]\nthe\n", "vocab_txt"),
        (b"[UNK]", "vocab_txt"),
        (b"[UNK]\r\nthe", "vocab_txt"),
        (b"x[UNK]\n", ""),
        (b"[UNK]x\n", ""),
        (b"[UNK]\n\0", ""),
        (b"ab\n" * 21_000 + b"[UNK]\n", "vocab_txt"),
        (b"ab\n" * 22_000 + b"[UNK]\n", ""),
        (b'{"config": {"default_num_special_tokens": 2}}', "json tekken"),
        (b'{"default_num_special_tokens"', "json tekken"),
        (b'["default_num_special_tokens"]', ""),
        (b'{"a": "' + b"x" * 70_000 + b'", "default_num_special_tokens": 1' + b" " * 65_000, "json tekken"),
        (b'{"a": "' + b"x" * 70_000 + b'", "default_num_special_tokens": 1' + b" " * 66_000, "json"),
        (b'{"a": "' + b"x" * 65_000 + b'", "default_num_special_tokens": 1' + b" " * 70_000, "json tekken"),
    ],
)
def test_formats_that_are_detected(data: bytes, expected: str) -> None:
    found = [name for name in TESTS if getattr(detection, f"is_{name}")(data)]
    assert found == [name for name in expected.split() if not name.endswith("?")], data[:40]
