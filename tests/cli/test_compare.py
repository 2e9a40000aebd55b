"""``jeton compare``."""

from __future__ import annotations

import json
from pathlib import Path

import jeton

from .conftest import Run


def test_figures_cuts_and_tokens(run: Run, tok: jeton.Tokenizer, path: Path, char_path: Path) -> None:
    result = run("compare", "-t", path, "-t", char_path, "lowest", "newest")
    assert (result.code, result.err) == (0, "")
    toks = {str(path): tok, str(char_path): jeton.load(char_path)}
    assert result.text == "\n\n".join(str(jeton.compare(toks, text)) for text in ("lowest", "newest")) + "\n"


def test_json_equals_that_of_the_library(run: Run, tok: jeton.Tokenizer, path: Path, char_path: Path) -> None:
    found = jeton.compare({str(path): tok, str(char_path): jeton.load(char_path)}, "lowest")
    assert json.loads(run("compare", "-t", path, "-t", char_path, "--json", "lowest").text) == found.to_json()
    assert json.loads(run("compare", "-t", path, "--json", input=b"lowest").text)["num_bytes"] == 6


def test_special_option(run: Run, path: Path) -> None:
    counted = json.loads(run("compare", "-t", path, "--special", "all", "--json", "<|end|>").text)
    assert counted["tokenizers"][0]["tokens"] == 1
    assert run("compare", "-t", path, "--add-special-tokens", "low").code == 2


def test_errors_have_exit_codes(run: Run, path: Path, char_path: Path, tmp_path: Path) -> None:
    assert run("compare", "low").code == 2
    assert run("compare", "-t", tmp_path / "missing.json", "low").code == 1
    assert run("compare", "-t", char_path, input=b"low\xff").code == 1
    assert run("compare", "-t", char_path, "--errors", "replace", input=b"low\xff").code == 0


def test_diff_compares_two_texts(run: Run, tok: jeton.Tokenizer, path: Path, char_path: Path, tmp_path: Path) -> None:
    found = jeton.compare(tok, ("lowest low", "lower low"))
    code, out, err = run("compare", "-t", path, "--diff", "lowest low", "lower low")
    assert (code, out.decode(), err) == (4, f"{found}\n", "")
    for name, text in (("a", "lowest low"), ("b", "lower low")):
        (tmp_path / name).write_text(text)
    result = run("compare", "-t", path, "--diff", "--json", "--files", tmp_path / "a", tmp_path / "b")
    assert json.loads(result.out) == found.to_json()
    assert run("compare", "-t", path, "--diff", "low", "low").code == 0
    assert run("compare", "-t", path, "--diff", "low").code == 2
    assert run("compare", "-t", path, "-t", char_path, "--diff", "low", "low").code == 2
    assert run("compare", "-t", char_path, "--diff", "low", "\u0105").code == 1
