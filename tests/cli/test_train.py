"""``jeton train``: sources of the corpus, saved tokenizers, and messages."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.cli import train as module
from jeton.cli.options import ByteSize, Count
from jeton.training.presets import SentencePiece

from .conftest import CORPUS, Run


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "a.txt").write_text(CORPUS, encoding="utf-8")
    (folder / "b.txt.gz").write_bytes(gzip.compress(CORPUS.encode()))
    return folder


def test_the_saved_tokenizer_equals_one_trained_by_the_library(run: Run, corpus: Path, tmp_path: Path) -> None:
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
        jeton.Corpus(corpus, documents="line"), 60, end_of_word="</w>", end_of_word_style="suffix",
        tie_break="highest_pair", min_frequency=3, unk_token="<unk>", progress=False,
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


def test_quiet_prints_warnings_only(run: Run, tmp_path: Path) -> None:
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
    assert "a.txt: replaced invalid UTF-8 at 3 places" in replaced.err


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
def test_invalid_options_are_an_error(run: Run, corpus: Path, tmp_path: Path, args: list[str], message: str) -> None:
    result = run("train", corpus, "-o", tmp_path / "x.json", *args)
    assert (result.code, result.out) == (1, b"")
    assert result.err.startswith("jeton: ")
    assert message in result.err


def test_a_missing_output_folder_is_reported_before_training(run: Run, corpus: Path, tmp_path: Path) -> None:
    result = run("train", corpus, "-o", tmp_path / "no" / "x.json", "--progress", "json")
    assert result == (1, b"", f"jeton: {tmp_path}/no: the folder to save in does not exist\n")


def test_an_empty_corpus_is_an_error(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_bytes(b"")
    for place in (tmp_path / "empty.txt", "-"):
        result = run("train", place, "-o", tmp_path / "x.json")
        assert (result.code, result.out) == (1, b"")
        assert "empty" in result.err or "no text" in result.err


class TestSources:
    def test_weights_apply_to_sources_in_order(self, run: Run, corpus: Path, tmp_path: Path) -> None:
        other = tmp_path / "other.txt"
        other.write_text("completely different words " * 20)
        out = tmp_path / "x.json"
        assert run("train", corpus, other, "--weight", 1, "--weight", 2.5, "-o", out, "-s", 290, "-q").code == 0
        sources = [jeton.Source(corpus), jeton.Source(other, 2.5)]
        assert jeton.load(out) == jeton.train(sources, 290, progress=False)
        result = run("train", corpus, other, "--weight", 2, "-o", out)
        assert result.code == 2
        assert "1 --weight for 2 CORPUS" in result.err
        result = run("train", corpus, "--weight", "0", "-o", out)
        assert (result.code, "--weight 0.0 is not a positive number" in result.err) == (1, True)

    def test_a_sample_is_taken_and_recorded(self, run: Run, tmp_path: Path) -> None:
        path, out = tmp_path / "lines.txt", tmp_path / "x.json"
        path.write_text("".join(f"line {i}\n" for i in range(2000)))
        assert run("train", path, "--documents", "line", "--sample", "2kB", "--seed", 9, "-o", out, "-s", 280).code == 0
        training = jeton.load(out).training
        assert training is not None
        assert (training.sample_bytes, training.seed) == (2000, 9)
        assert 2000 <= training.corpus_bytes < 2100

    @pytest.mark.parametrize("size", ["lots", "0", "-5", "1..5MB", "5XB"])
    def test_an_invalid_sample_size_is_a_usage_error(self, run: Run, corpus: Path, tmp_path: Path, size: str) -> None:
        result = run("train", corpus, "--sample", size, "-o", tmp_path / "x.json")
        assert result.code == 2
        assert "is not a size like 500MB" in result.err

    @pytest.mark.parametrize(
        ("size", "expected"),
        [("1500", 1500), ("500MB", 500_000_000), ("2G", 2 * 10**9), ("1.5 GiB", 3 << 29), ("2kb", 2000)],
    )
    def test_sizes_are_parsed(self, size: str, expected: int) -> None:
        assert ByteSize().convert(size, None, None) == expected

    def test_skipped_records_are_reported_with_exit_code_3(self, run: Run, tmp_path: Path) -> None:
        path, out = tmp_path / "rows.jsonl", tmp_path / "x.json"
        path.write_text('{"text": "sound text"}\n{"text": "cut\n')
        result = run("train", path, "-o", out, "-s", 258, "--errors", "skip", "--json")
        assert result.code == 3
        assert "warning: skipped 1 record: 1 not a JSON row" in result.err
        assert json.loads(result.out)["records_skipped"] == 1
        assert out.exists()
        measured = run("measure", "-t", out, path, "--errors", "skip")
        assert (measured.code, "skipped 1 record" in measured.err) == (3, True)
        assert run("train", path, "-o", out, "-s", 258).code == 1

    def test_a_url_is_read(self, run: Run, tmp_path: Path) -> None:
        import fsspec

        fsspec.filesystem("memory").pipe("/cli/a.txt", b"text in memory")
        out = tmp_path / "x.json"
        assert run("train", "memory://cli/", "-o", out, "-s", 258, "-q").code == 0
        assert run("count", "-t", out, "--files", "memory://cli/a.txt").text.endswith("total\n")


def test_options_of_a_preset_are_set_by_name(run: Run, corpus: Path, tmp_path: Path) -> None:
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
    assert run("train", corpus, "-o", tmp_path / "b.json", "-s", 90, "--preset", "bert").code == 0
    assert jeton.load(tmp_path / "b.json").definition.model.type == "WordPiece"
    for wrong in (["--set", "a=1"], ["--preset", "hf", "--set", "max_token_length"]):
        assert run("train", corpus, "-o", out, *wrong).code == 2
    refused = run("train", corpus, "-o", out, "--preset", "hf", "--set", "nonsense=1")
    assert refused.code == 1
    assert "no option 'nonsense'" in refused.err


@pytest.mark.parametrize(("value", "number"), [("32k", 32_000), ("32Ki", 32_768), ("1.5M", 1_500_000), ("300", 300)])
def test_numbers_with_a_unit_are_converted(value: str, number: int) -> None:
    assert Count().convert(value, None, None) == number


def test_a_size_may_have_a_unit(run: Run, corpus: Path, tmp_path: Path) -> None:
    assert run("train", corpus, "-o", tmp_path / "x.json", "-s", "0.28k").code == 0
    assert jeton.load(tmp_path / "x.json").vocab_size == 280
    for wrong in ("k", "1.2345k", "1kb", "many"):
        result = run("train", corpus, "-o", tmp_path / "x.json", "-s", wrong)
        assert result.code == 2
        assert "is not a whole number like 32000, 32k or 1.5M" in result.err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["-o", "x.bin"], "no format has the suffix '.bin'"),
        (["-o", "x.model"], "cannot hold byte-level BPE"),
        (["-o", "x.tiktoken"], "pass --accept-loss pattern"),
        (["-o", "none/x.json"], "the folder to save in does not exist"),
        (["-o", "x.json", "--log", "none/log.tsv"], "the folder to save in does not exist"),
    ],
)
def test_outputs_are_checked_before_the_work(
    run: Run, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, args: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    trained: list[object] = []
    train = jeton.train

    def training(texts: Any, *rest: Any, **options: Any) -> jeton.Tokenizer:
        trained.append(texts)
        return train(texts, *rest, **options)

    monkeypatch.setattr(jeton, "train", training)
    result = run("train", corpus, *args)
    assert result.code == 1
    assert message in result.err
    assert all(texts == [module.SMALL_CORPUS] for texts in trained)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus"]


def test_a_loss_may_be_accepted(run: Run, corpus: Path, tmp_path: Path) -> None:
    result = run("train", corpus, "-o", tmp_path / "x.tiktoken", "-s", 280, "--accept-loss", "pattern")
    assert result.code == 0, result.err
    assert jeton.load(tmp_path / "x.tiktoken", pattern="o200k").vocab_size == 280


def test_a_failed_save_keeps_the_trained_tokenizer(
    run: Run, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save = jeton.Tokenizer.save

    def failing(tok: jeton.Tokenizer, path: Path, **options: Any) -> None:
        if Path(path).name == "x.model":
            raise OSError(28, "no space left on the device", str(path))
        save(tok, path, **options)

    monkeypatch.setattr(jeton.Tokenizer, "save", failing)
    monkeypatch.setattr(module, "_small", lambda how, roles: None)
    out = tmp_path / "x.model"
    result = run("train", corpus, "-o", out, "-s", 40, "--preset", "sentencepiece")
    assert result.code == 1
    rescued = tmp_path / "x.model.tokenizer.json"
    assert f"{out} could not be saved; the tokenizer was saved to {rescued}" in result.err
    assert len(jeton.load(rescued)) == 40


def test_a_giant_token_is_reported(run: Run, tmp_path: Path) -> None:
    (tmp_path / "runs.txt").write_text("low lower " + "x" * 5000)
    result = run("train", tmp_path / "runs.txt", "-o", tmp_path / "x.json", "-s", 280, "--json")
    assert json.loads(result.text)["longest_token"] == 5001
    assert "the longest token has 5,001 bytes" in result.err
    limited = run(
        "train", tmp_path / "runs.txt", "-o", tmp_path / "y.json", "-s", 280, "--json", "--max-token-length", 16
    )
    assert json.loads(limited.text)["longest_token"] == 16
    assert "longest token" not in limited.err
