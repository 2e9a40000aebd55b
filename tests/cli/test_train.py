"""``jeton train``: where the corpus comes from, what is saved, and what is said about it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

import jeton
from jeton.training.presets import SentencePiece

from .conftest import CORPUS, Run


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "a.txt").write_text(CORPUS, encoding="utf-8")
    (folder / "b.txt.gz").write_bytes(gzip.compress(CORPUS.encode()))
    return folder


def test_what_is_saved_is_what_the_library_trains(run: Run, corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "x.json"
    result = run("train", corpus, "-o", out, "-s", 290, "--pattern", "gpt2", "--special-token", "<|end|>")
    assert (result.code, result.out) == (0, b"")
    expected = jeton.train(corpus, 290, pattern="gpt2", special_tokens=["<|end|>"], progress=False)
    assert jeton.load(out).fingerprint == expected.fingerprint
    assert "2 documents" in result.err
    assert f"{len(expected.merges)} merges" in result.err
    assert "bytes per token" in result.err
    assert f"saved    {out}: 290 tokens" in result.err


def test_every_option_reaches_the_library(run: Run, corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "x.json"
    options = ["--end-of-word", "</w>", "--end-of-word-style", "suffix", "--tie-break", "highest_pair"]
    options += ["--min-frequency", "3", "--unk-token", "<unk>", "--documents", "line", "--threads", "1"]
    assert run("train", corpus, "-o", out, "-s", 60, *options).code == 0
    expected = jeton.train(
        corpus, 60, end_of_word="</w>", end_of_word_style="suffix", tie_break="highest_pair", min_frequency=3,
        unk_token="<unk>", documents="line", progress=False,
    )  # fmt: skip
    assert jeton.load(out).fingerprint == expected.fingerprint
    assert run("train", corpus, "-o", out, "-s", 300, "--preset", "minbpe").code == 0
    assert jeton.load(out).fingerprint == jeton.train(corpus, 300, preset="minbpe", progress=False).fingerprint


def test_standard_input_is_a_corpus(run: Run, corpus: Path, tmp_path: Path) -> None:
    for name, place, data in (("a", corpus / "a.txt", b""), ("b", "-", CORPUS.encode())):
        assert run("train", place, "-o", tmp_path / f"{name}.json", "-s", 280, input=data).code == 0
    assert jeton.load(tmp_path / "a.json").fingerprint == jeton.load(tmp_path / "b.json").fingerprint
    assert run("train", "-", corpus, "-o", tmp_path / "x.json").code == 2


def test_rows_with_a_field_of_another_name(run: Run, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(json.dumps({"body": CORPUS}) + "\n")
    assert run("train", tmp_path / "rows.jsonl", "-o", tmp_path / "x.json", "-s", 260, "--field", "body").code == 0
    result = run("train", tmp_path / "rows.jsonl", "-o", tmp_path / "y.json", "-s", 260)
    assert result.code == 1
    assert "rows.jsonl:1: the row has no field 'text' (it has: 'body')" in result.err
    assert not (tmp_path / "y.json").exists()


def test_json_on_standard_output(run: Run, corpus: Path, tmp_path: Path) -> None:
    result = run("train", corpus, "-o", tmp_path / "x.json", "-s", 290, "--json")
    facts = json.loads(result.text)
    assert result.err == ""
    assert facts["path"] == str(tmp_path / "x.json")
    assert (facts["documents"], facts["corpus_bytes"], facts["num_tokens"]) == (2, 2 * len(CORPUS.encode()), 290)
    assert facts["bytes_per_token"] == pytest.approx(jeton.measure(jeton.load(facts["path"]), corpus).bytes_per_token)
    assert facts["fingerprint"].startswith("j1:")


def test_quiet_says_nothing_but_warnings(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("abc")
    result = run("train", tmp_path / "a.txt", "-o", tmp_path / "x.json", "-q")
    assert (result.code, result.out) == (0, b"")
    assert result.err.startswith("jeton: warning: training stopped early")


def test_invalid_utf8_stops_or_is_replaced_and_counted(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"low lower\xff lowest" * 3)
    strict = run("train", tmp_path / "a.txt", "-o", tmp_path / "x.json", "-s", 260)
    assert strict.code == 1
    assert f"{tmp_path}/a.txt: byte 9 (0xff)" in strict.err
    assert not (tmp_path / "x.json").exists()
    replaced = run("train", tmp_path / "a.txt", "-o", tmp_path / "x.json", "-s", 260, "--errors", "replace", "-q")
    assert replaced.code == 0
    assert "a.txt: 3 places" in replaced.err


def test_the_log_has_a_row_for_each_merge(run: Run, corpus: Path, tmp_path: Path) -> None:
    assert run("train", corpus, "-o", tmp_path / "x.json", "-s", 270, "--log", tmp_path / "merges.tsv").code == 0
    rows = (tmp_path / "merges.tsv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 1 + 270 - 256


def test_the_trace_of_worked_example_2(run: Run, tmp_path: Path) -> None:
    options = ["-s", 260, "--pattern", "none", "--tie-break", "first", "--trace", "-q"]
    result = run("train", "-", "-o", tmp_path / "x.json", *options, input=b"abcababcaabc")
    lines = result.text.splitlines()
    assert len(lines) == 5
    assert lines[0] == "['a', 'b', 'c', 'a', 'b', 'a', 'b', 'c', 'a', 'a', 'b', 'c']"
    assert lines[-1].startswith("(258, 257) -> 259 'abcababc'")
    assert lines[-1].endswith("['abcababc', 'a', 'abc']")


@pytest.mark.parametrize(("args", "message"), [(["-s", "100"], "100"), (["--pattern", "(", "-s", "300"], "pattern")])
def test_options_that_cannot_work(run: Run, corpus: Path, tmp_path: Path, args: list[str], message: str) -> None:
    result = run("train", corpus, "-o", tmp_path / "x.json", *args)
    assert (result.code, result.out) == (1, b"")
    assert result.err.startswith("jeton: ")
    assert message in result.err


def test_a_place_that_cannot_be_saved_to_is_known_before_training(run: Run, corpus: Path, tmp_path: Path) -> None:
    result = run("train", corpus, "-o", tmp_path / "no" / "x.json", "--progress", "json")
    assert result == (1, b"", f"jeton: {tmp_path}/no: the folder to save in does not exist\n")


def test_an_empty_corpus(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_bytes(b"")
    for place in (tmp_path / "empty.txt", "-"):
        result = run("train", place, "-o", tmp_path / "x.json")
        assert (result.code, result.out) == (1, b"")
        assert "empty" in result.err or "no text" in result.err


def test_a_preset_with_its_options(run: Run, corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "x.model"
    settings = ["--set", "character_coverage=1", "--set", "split_digits=true", "--set", "unk_piece=[UNK]"]
    settings += ["--set", "hard_vocab_limit=false", "--set", 'user_defined_symbols=["<sep>"]']
    assert run("train", corpus, "-o", out, "-s", 120, "--preset", "sentencepiece", *settings).code == 0
    preset = SentencePiece(
        character_coverage=1,
        split_digits=True,
        unk_piece="[UNK]",
        hard_vocab_limit=False,
        user_defined_symbols=("<sep>",),
    )
    expected = jeton.train(corpus, 120, preset=preset, progress=False)
    assert jeton.load(out).fingerprint == expected.fingerprint
    assert run("train", corpus, "-o", tmp_path / "b.json", "-s", 90, "--algorithm", "wordpiece").code == 0
    assert jeton.load(tmp_path / "b.json").definition.model.type == "WordPiece"
    for wrong in (["--set", "a=1"], ["--preset", "hf", "--set", "max_token_length"]):
        assert run("train", corpus, "-o", out, *wrong).code == 2
    refused = run("train", corpus, "-o", out, "--preset", "hf", "--set", "nonsense=1")
    assert refused.code == 1
    assert "no option 'nonsense'" in refused.err
