"""``jeton shards``: metadata, parts for validation, and mixes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import jeton

from .conftest import Run


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({"text": f"row {number} low", "id": number}) + "\n" for number in range(300)))
    return path


@pytest.fixture
def tok(tmp_path: Path) -> Path:
    path = tmp_path / "tok.json"
    jeton.train(["low lower row"], 260, progress=False).add_tokens(["<|end|>"]).with_roles(eos="<|end|>").save(path)
    return path


def test_kept_fields_are_stored(run: Run, rows: Path, tok: Path, tmp_path: Path) -> None:
    made = run("shards", "make", rows, "-o", tmp_path / "out", "-t", tok, "--keep", "id,url")
    assert made.code == 0, made.err
    assert "no record has the field 'url' that was to be kept" in made.err
    assert jeton.shards.open(tmp_path / "out").metadata(7) == {"id": 7}
    twice = run("shards", "make", rows, "-o", tmp_path / "out", "-t", tok, "--keep", "id,id")
    assert "--keep has 'id', which is given twice" in twice.err


def test_validation_parts_are_written(run: Run, rows: Path, tok: Path, tmp_path: Path) -> None:
    command = ("shards", "make", rows, "-o", tmp_path / "out", "-t", tok, "--validation", "0.1")
    made = run(*command, "--validation", "test=.2")
    assert made.code == 0, made.err
    for part in ("train", "validation", "test"):
        assert f"saved    {tmp_path}/out/{part}: 1 shard of format megatron" in made.err
    facts = json.loads(run(*command, "--validation", "test=0.2", "--json", "-q").text)
    assert sum(report["documents"] for report in facts.values()) == 300
    planned = run("shards", "plan", rows, "-o", tmp_path / "more", "-t", tok, "--validation", "0.5", "--json")
    assert list(json.loads(planned.text)) == ["train", "validation"]
    assert planned.err.count("planned  1 task of 1 file") == 2


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        (["2"], "'2' is not a share between 0 and 1, like 0.01 or test=0.01"),
        (["0.0"], "0 is not a share between 0 and 1"),
        (["0.1", "0.2"], "--validation is given twice for the same part; name the others"),
        (["../x=0.1"], "--validation: '../x' is not the name of a folder"),
        (["0.6", "test=0.6"], "--validation: its shares add up to 1.2, and leave nothing to 'train'"),
    ],
)
def test_wrong_shares_are_refused(
    run: Run, rows: Path, tok: Path, tmp_path: Path, shares: list[str], message: str
) -> None:
    options = [item for share in shares for item in ("--validation", share)]
    failed = run("shards", "make", rows, "-o", tmp_path / "out", "-t", tok, *options)
    assert failed.code in (1, 2)
    assert message in failed.err


def test_a_mix_is_written_from_a_file(run: Run, rows: Path, tok: Path, tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("row low " * 400)
    (tmp_path / "mix.toml").write_text(
        '[sources.rows]\npaths = "rows.jsonl"\nweight = 0.75\n[sources.b]\npaths = "b.txt"\nweight = 0.25\n'
    )
    command = ("shards", "make", "--mix", tmp_path / "mix.toml", "-o", tmp_path / "out", "-t", tok)
    made = run(*command)
    assert made.code == 0, made.err
    assert "rows 75.0%, b 25.0%" in made.err
    assert f"saved    {tmp_path}/out: 2 sources" in made.err
    shown = run("shards", "mix", tmp_path / "out")
    assert shown.text.splitlines()[3].startswith("| b | 1 | ")
    facts = json.loads(run("shards", "mix", tmp_path / "out", "--json").text)
    assert facts == json.loads(run(*command, "--json", "-q").text)
    assert {name: source["share"] for name, source in facts["sources"].items()} == {"rows": 0.75, "b": 0.25}
    held = run(*command[:-4], "-o", tmp_path / "held", "-t", tok, "--validation", "0.2")
    assert held.code == 0, held.err
    assert jeton.shards.mix(tmp_path / "held" / "train").tokens > 0
    planned = run("shards", "plan", *command[2:-4], "-o", tmp_path / "planned", "-t", tok, "--json")
    assert list(json.loads(planned.text)) == ["rows", "b"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--mix", "mix.toml", "rows.jsonl"], "--mix and CORPUS cannot be combined; name the paths"),
        (["--mix", "mix.toml", "--field", "x"], "--field and --mix cannot be combined; give field to the sources"),
        ([], "Missing argument 'CORPUS...'"),
        (["--mix", "none.toml"], "'none.toml' does not exist"),
        (["--mix", "mix.toml"], "mix.toml: it has no sources"),
    ],
)
def test_wrong_mixes_are_refused(
    run: Run, rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mix.toml").write_text("")
    failed = run("shards", "make", *arguments, "-o", "out")
    assert failed.code in (1, 2)
    assert message in failed.err


def test_settings_for_a_training_system_need_its_format(run: Run, rows: Path, tok: Path, tmp_path: Path) -> None:
    assert run("shards", "make", rows, "-o", tmp_path / "out", "-t", tok, "-q").code == 0
    assert run("shards", "mix", tmp_path / "out", "--write", "megatron").text == f"1.0 {tmp_path}/out/shard-00000\n"
    other = run("shards", "mix", tmp_path / "out", "--write", "olmo")
    assert other.code == 1
    assert "has shards of format 'megatron', but olmo reads only its own; make them in the format olmo" in other.err
