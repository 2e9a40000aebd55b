"""``jeton prune``, ``extend``, ``add-words`` and ``merge-vocab``: the library's results, saved."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import jeton
from jeton.vocabulary.safetensors_file import write_file

from .conftest import CORPUS, Run


@pytest.fixture
def tok(tmp_path: Path) -> jeton.Tokenizer:
    tok = jeton.train([CORPUS], 290, progress=False)
    tok.save(tmp_path / "tok.json")
    (tmp_path / "text.txt").write_text(CORPUS)
    return tok


def test_prune_saves_the_librarys_result(run: Run, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "keep.txt").write_text("low\n wide\n")
    out = tmp_path / "out.json"
    result = run("prune", "-t", tmp_path / "tok.json", "--keep", tmp_path / "keep.txt", "-o", out)
    done = jeton.prune(tok, keep=["low", " wide"])
    assert (result.code, result.text) == (0, f"{done!r}\n")
    assert jeton.load(out) == done.tokenizer
    result = run("prune", "-t", tmp_path / "tok.json", tmp_path / "text.txt", "-s", 270, "-o", out, "--json")
    done = jeton.prune(tok, corpus=str(tmp_path / "text.txt"), vocab_size=270)
    assert json.loads(result.out)["after"] == 270
    assert jeton.load(out) == done.tokenizer
    assert run("prune", "-t", tmp_path / "tok.json", "-o", out).code != 0


def test_remove_needs_permission_to_drop_references(run: Run, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    tok = tok.add_tokens(["<|pad|>", "<|user|>", "<|end|>"]).with_roles(pad="<|pad|>")
    tok.save(tmp_path / "folder")
    (tmp_path / "remove.txt").write_text("<|pad|>\n<|user|>\n")
    out = tmp_path / "out"
    command = ("prune", "-t", tmp_path / "folder", "--remove", tmp_path / "remove.txt", "-o", out)
    result = run(*command)
    assert result.code == 1
    assert "for the role 'pad' (<|pad|>); change these uses, or drop them with --drop-references" in result.err
    result = run(*command, "--drop-references")
    done = jeton.prune(tok, remove=["<|pad|>", "<|user|>"], drop_references=True)
    assert (result.code, result.text) == (0, f"{done!r}\n")
    assert jeton.load(out).special_tokens == {"<|end|>": 290}
    assert run(*command, "--drop-references", "--keep-ids").code == 0
    assert jeton.load(out).special_tokens == {"<|end|>": 292}


def test_add_words_to_wordpiece(run: Run, tmp_path: Path) -> None:
    tok = jeton.train([CORPUS], 60, preset="bert", progress=False)
    tok.save(tmp_path / "tok.json")
    result = run("add-words", "-t", tmp_path / "tok.json", "slowest", "-o", tmp_path / "out.json")
    assert result.code == 0, result.err
    made = jeton.load(tmp_path / "out.json")
    assert made == jeton.add_words(tok, ["slowest"]).tokenizer
    assert len(made.encode("slowest")) == 1


def test_extend_with_a_model(run: Run, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "more.txt").write_text("slower slowest 明天的天气\n" * 9)
    values = np.arange(290 * 4, dtype="<f4")
    write_file(tmp_path / "in.safetensors", [("wte.weight", "F32", (290, 4), 4640, [values.tobytes()])], None)
    out = tmp_path / "out.json"
    result = run(
        *("extend", "-t", tmp_path / "tok.json", tmp_path / "more.txt", "-n", 20, "-o", out, "--json"),
        *("--protect", tmp_path / "text.txt", "--other", tmp_path / "text.txt", "--plan", tmp_path / "plan.json"),
        *("--model", tmp_path / "in.safetensors", tmp_path / "out.safetensors", "--multiple-of", 64),
    )
    assert result.code == 0, result.err
    facts = json.loads(result.out)
    assert facts["other"]["changed_tokens"] == 0
    assert facts["tensors"] == {"wte.weight": [320, 4]}
    made = jeton.load(out)
    assert made.vocab_size == 290 + facts["new_entries"]
    assert made.encode(CORPUS) == tok.encode(CORPUS)
    assert json.loads((tmp_path / "plan.json").read_text())["rows"] == made.vocab_size


def test_add_words_and_merge_vocab_save_the_librarys_result(run: Run, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    out, both = tmp_path / "out.json", tmp_path / "both.json"
    result = run(
        "add-words", "-t", tmp_path / "tok.json", " slowest", "slowest", "-o", out, "--corpus", tmp_path / "text.txt"
    )
    assert result.code == 0, result.err
    assert jeton.load(out) == jeton.add_words(tok, [" slowest", "slowest"]).tokenizer
    other = jeton.train(["now known knower"], 264, progress=False)
    other.save(tmp_path / "other.json")
    result = run(
        "merge-vocab", "-t", out, "-t", tmp_path / "other.json", "-o", both, "--corpus-b", tmp_path / "text.txt"
    )
    assert result.code == 0, result.err
    assert jeton.load(both) == jeton.merge_vocab(jeton.load(out), other).tokenizer
    result = run("merge-vocab", "-t", out, "-o", both)
    assert (result.code, "takes two tokenizers" in result.err) == (2, True)
    assert run("add-words", "-t", out, "-o", both).code == 2
