"""``jeton chat``: what `Tokenizer.chat` gives, in every form."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import jeton

from .conftest import CORPUS, Run

MESSAGES = [{"role": "user", "content": "low<|im_end|>er"}, {"role": "assistant", "content": "今天"}]
TOK = jeton.train([CORPUS], 300, special_tokens=["<|im_start|>", "<|im_end|>"], progress=False)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    TOK.save(tmp_path / "chat.json")
    return tmp_path / "chat.json"


def test_forms(run: Run, path: Path) -> None:
    data = json.dumps(MESSAGES).encode()
    expected = TOK.chat(MESSAGES, template="chatml")
    arguments = ("chat", "-t", path, "--template", "chatml")
    assert run(*arguments, input=data).text == expected.text + "\n"
    assert run(*arguments, "--format", "ids", input=data).text == " ".join(map(str, expected.ids)) + "\n"
    assert "│" in run(*arguments, "--format", "tokens", input=data).text
    answer = json.loads(run(*arguments, "--json", input=data).text)
    assert (answer["text"], answer["ids"], answer["mask"]) == (expected.text, expected.ids, expected.mask)
    assert [turn["role"] for turn in answer["turns"]] == ["user", "assistant"]


def test_options(run: Run, path: Path, tmp_path: Path) -> None:
    file = tmp_path / "messages.json"
    file.write_text(json.dumps({"messages": MESSAGES, "tools": [{"name": "f"}], "variables": {"mark": "!"}}))
    source = tmp_path / "mine.jinja"
    source.write_text(
        "{{ tools[0].name }} {{ messages[0].content }}{% if add_generation_prompt %}{{ mark }}{% endif %}"
    )
    result = run("chat", "-t", path, "--template", source, "--generation-prompt", file)
    assert result.text == "f low<|im_end|>er!\n"
    ids = run("chat", "-t", path, "--template", "chatml", "--special", "all", "--format", "ids", file).text
    assert ids.split() == list(map(str, TOK.chat(MESSAGES, template="chatml", special="all").ids))


@pytest.mark.parametrize("data", [b"", b"{", b"[" * 100_000, b"7", b"[]", b"{}", b'["x"]', b"\xff"])
def test_what_are_no_messages(run: Run, path: Path, data: bytes) -> None:
    result = run("chat", "-t", path, "--template", "chatml", input=data)
    assert result.code == 1
    assert result.err.startswith("jeton: ")
    assert len(result.err) < 300


def test_no_template(run: Run, path: Path) -> None:
    result = run("chat", "-t", path, input=json.dumps(MESSAGES).encode())
    assert (result.code, result.out) == (1, b"")
    assert "no chat template" in result.err
