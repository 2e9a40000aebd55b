"""``jeton doctor``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.analysis.test_doctor import as_gguf, as_json, missing_pre, write
from tests.material import tokenizer

from .conftest import Run

pytest.importorskip("tokenizers")


def test_a_sound_folder_is_exit_code_0(run: Run, tmp_path: Path) -> None:
    tok = tokenizer("byte gpt2")
    found = run("doctor", write(tmp_path, tokenizer__json=as_json(tok), model__gguf=as_gguf(tok, pre="gpt-2")))
    assert found.code == 0
    assert "readers agree on" in found.text


def test_a_difference_is_exit_code_4(run: Run, tmp_path: Path) -> None:
    folder = missing_pre(tmp_path)
    found = run("doctor", folder)
    assert found.code == 4
    assert "cause: gguf_pre" in found.text
    content = json.loads(run("doctor", folder, "--json").text)
    assert content["differences"][0]["causes"][0]["cause"] == "gguf_pre"
    assert run("doctor", folder, "--format", "html").text.startswith("<!doctype html>")
    assert run("doctor", folder, "--json", "--format", "html").code == 2


def test_a_lock_file_is_written_and_checked(run: Run, tmp_path: Path) -> None:
    folder, lock = missing_pre(tmp_path), tmp_path / "tokenizer.lock"
    first = run("doctor", folder, "--lock", lock)
    assert (first.code, first.err) == (4, f"wrote {lock}\n")
    assert run("doctor", folder, "--lock", lock).code == 0
    write(folder, model__gguf=as_gguf(tokenizer("byte gpt2"), pre="qwen2"))
    found = run("doctor", folder, "--lock", lock)
    assert found.code == 4
    assert "lock file: model.gguf: jeton gives other ids" in found.text


def test_texts_of_a_file_are_compared_with_a_second_tokenizer(run: Run, tmp_path: Path) -> None:
    folder = write(tmp_path / "a", tokenizer__json=as_json(tokenizer("byte gpt2")))
    other = write(tmp_path / "b", model__gguf=as_gguf(tokenizer("byte gpt2"), pre="gpt-2"))
    texts = tmp_path / "texts.txt"
    texts.write_text("one zqz\u2028line\ntwo zqz\n", encoding="utf-8")
    counts = [
        json.loads(run("doctor", folder, "--beside", other / "model.gguf", "--json", *more).text)["num_texts"]
        for more in ((), ("--texts", texts))
    ]
    assert counts[1] == counts[0] + 2
    texts.write_bytes(b"\xff\n")
    found = run("doctor", folder, "--texts", texts)
    assert found.code == 1
    assert "UTF-8" in found.err
