"""``jeton audit``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import jeton

from ..analysis.test_audit_reach import loaded
from .conftest import Run


def test_output_equals_the_librarys_in_each_format(run: Run, tok: jeton.Tokenizer, path: Path, tmp_path: Path) -> None:
    found = jeton.audit(tok, max_examples=10, progress=False)
    assert run("audit", path).text == str(found) + "\n"
    assert json.loads(run("audit", path, "--json").text) == json.loads(json.dumps(found.to_json()))
    assert run("audit", path, "--format", "html").text == found.to_html() + "\n"
    out = tmp_path / "audit.html"
    assert run("audit", path, "--format", "html", "-o", out).text == ""
    assert out.read_text(encoding="utf-8") == found.to_html()


def test_unused_entries_of_a_corpus_are_found(run: Run, path: Path, tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("low lower\n", encoding="utf-8")
    found = json.loads(run("audit", path, "--corpus", tmp_path / "texts.txt", "--json", "-q").text)
    assert "unused" in [each["rule"] for each in found["findings"]]


def test_an_error_is_exit_code_4(run: Run, tmp_path: Path) -> None:
    model = {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.0]], "byte_fallback": False}
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    tok = loaded({"model": model, "added_tokens": [{"id": 1, "content": "a", "special": True, **flags}]})
    tok.save(tmp_path / "tok.json")
    found = jeton.audit(tok, progress=False)
    assert ("special-from-text" in found) == (1 in tok.encode("a"))
    assert run("audit", tmp_path / "tok.json").code == (4 if "special-from-text" in found else 0)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--json", "--format", "html"], 2, "contradicts"),
        (["--tensor", "wte"], 2, "--embeddings"),
        (["--embeddings", "missing.safetensors"], 1, "missing.safetensors"),
        (["--corpus", "missing.txt"], 1, "missing.txt"),
        (["-o", "missing/audit.html"], 1, "missing"),
    ],
)
def test_wrong_options_are_refused(run: Run, path: Path, arguments: list[str], code: int, said: str) -> None:
    result = run("audit", path, *arguments)
    assert result.code == code
    assert said in result.err
