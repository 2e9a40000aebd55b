"""Bad records and inputs: rejects, limits, failed tasks beside successful ones, and corpora without a valid record."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.errors import ConfigError, FormatError, InvalidTextError, ShardError
from jeton.shards.skipping import SkipLimit

from .conftest import digest, facts_of, stored, texts

OPTIONS: dict[str, Any] = {"append_eos": True, "task_bytes": 2000, "format": "bin", "progress": False}


def make(corpus: Any, folder: Path, tok: jeton.Tokenizer, errors: Any = "skip", **options: Any) -> jeton.shards.Report:
    field = options.pop("field", "text")
    return jeton.shards.make(
        jeton.Corpus(corpus, errors=errors, field=field), folder, tok, **{**OPTIONS, "workers": 1, **options}
    )


def write(path: Path, seed: int = 1, number: int = 200, bad: tuple[int, ...] = ()) -> Path:
    """Writes rows; `bad` are the numbers of invalid lines, from 1."""
    rows = [json.dumps({"text": text}) for text in texts(seed, number)]
    for line in bad:
        rows[line - 1] = f"nonsense {line}"
    path.write_text("\n".join(rows) + "\n")
    return path


def rejects(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "rejects.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.parametrize("options", [{}, {"shuffle": 3}, {"format": "counts"}], ids=str)
def test_rejects_have_file_line_and_reason(options: dict[str, Any], tok: jeton.Tokenizer, tmp_path: Path) -> None:
    bad = (20, 150, 151, 199)
    path, other = write(tmp_path / "a.jsonl", bad=bad), tmp_path / "b.txt"
    other.write_bytes(b"caf\xe9")
    packed = tmp_path / "c.jsonl.gz"
    packed.write_bytes(gzip.compress(b'{"text": "low"}\n{"text": 7}\n'))
    options = {"append_eos": False, **options} if "format" in options else options
    report = make([path, other, packed], tmp_path / "out", None if "format" in options else tok, **options)
    found = rejects(tmp_path / "out")
    assert [(row["file"], row["line"], row["kind"]) for row in found] == [
        *((str(path), line, "not a JSON row") for line in bad),
        (str(other), None, "not UTF-8"),
        (str(packed), 2, "without a string in 'text'"),
    ]
    assert found[0]["reason"] == "not a JSON row (Expecting value: column 1)"
    assert found[4]["reason"] == "byte 3 (0xe9) is not valid UTF-8; repair the text"
    assert report.num_skipped == len(found)
    assert set(facts_of(tmp_path / "out" / "manifest.json")["rejects"]) == {"rejects.jsonl"}
    assert jeton.shards.verify(tmp_path / "out", progress=False).is_valid


def test_damaged_rejects_are_found_and_repaired(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    path, out = write(tmp_path / "a.jsonl", bad=(20, 150)), tmp_path / "out"
    make(path, out, tok)
    whole = digest(out)
    (out / "rejects.jsonl").write_text("")
    assert "rejects.jsonl: it has 0 bytes" in jeton.shards.verify(out, progress=False).problems[0]
    jeton.shards.merge(out)
    assert digest(out) == whole
    next((out / "rejects").iterdir()).write_text("")
    with pytest.raises(ShardError, match=r"rejects/\d+\.jsonl is missing or damaged; jeton\.shards\.repair"):
        jeton.shards.merge(out)
    jeton.shards.repair(out, progress=False)
    assert digest(out) == whole


def test_missing_rejects_of_a_shuffle_are_repaired(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    path, out = write(tmp_path / "a.jsonl", bad=(20, 150)), tmp_path / "out"
    make(path, out, tok, shuffle=1)
    whole = digest(out)
    for rejected in (out / "rejects").iterdir():
        rejected.unlink()
    with pytest.raises(ShardError, match=r"rejects/\d+\.jsonl is missing or damaged"):
        jeton.shards.merge(out)
    jeton.shards.repair(out, progress=False)
    assert digest(out) == whole


def test_repaired_records_leave_the_rejects(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    path, out = write(tmp_path / "a.jsonl", bad=(20, 150)), tmp_path / "out"
    make(path, out, tok)
    write(path, bad=(150,))
    make(path, out, tok)
    assert [row["line"] for row in rejects(out)] == [150]
    write(path)
    make(path, out, tok)
    assert not (out / "rejects.jsonl").exists()
    assert "rejects" not in facts_of(out / "manifest.json")


@pytest.mark.parametrize("runner", ["threads", pytest.param("processes", marks=pytest.mark.slow(reason="starts two"))])
def test_a_bad_record_fails_its_task_alone(runner: Any, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    path, out = write(tmp_path / "a.jsonl", bad=(20, 150)), tmp_path / "out"
    with pytest.raises(ShardError, match=r"2 of \d+ tasks failed: task 0: .*a\.jsonl:20: not a JSON") as caught:
        make(path, out, tok, errors="strict", keep_going=True, runner=runner, workers=2)
    assert caught.value.failed is not None
    assert next((number, "a.jsonl:" in message) for number, message in caught.value.failed) == (0, True)
    status = jeton.shards.status(out)
    assert (status.total - status.done, status.missing) == (2, tuple(number for number, _ in caught.value.failed))
    write(path)
    make(path, out, tok, errors="strict", keep_going=True)
    make(path, tmp_path / "whole", tok, errors="strict")
    assert stored(out) == stored(tmp_path / "whole")


def test_an_input_that_vanishes_fails_its_task_alone(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    files = [write(tmp_path / f"{number}.jsonl", number) for number in range(3)]
    jeton.shards.plan(files, tmp_path / "out", tok, **{name: OPTIONS[name] for name in ("task_bytes", "format")})
    files[1].unlink()
    with pytest.raises(ShardError, match=r"tasks failed: .*1\.jsonl") as caught:
        jeton.shards.run(tmp_path / "out", keep_going=True, progress=False)
    status = jeton.shards.status(tmp_path / "out")
    assert status.total - status.done == len(caught.value.failed or ())


def test_the_first_stage_of_a_shuffle_goes_on(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", bad=(20,))
    with pytest.raises(ShardError, match=r"1 of \d+ tasks failed"):
        make(path, tmp_path / "out", tok, errors="strict", keep_going=True, shuffle=1)
    status = jeton.shards.status(tmp_path / "out")
    assert (status.stage, status.missing) == ("spool", (0,))


@pytest.mark.parametrize(("limit", "is_over"), [(3, False), (2, True), ("2", True), ("2%", False), ("1%", True)])
def test_a_limit_of_skipped_records(limit: Any, is_over: bool, tok: jeton.Tokenizer, tmp_path: Path) -> None:
    path, out = write(tmp_path / "a.jsonl", bad=(20, 150, 199)), tmp_path / "out"
    if not is_over:
        assert make(path, out, tok, max_skipped=limit).num_skipped == 3
        return
    with pytest.raises(ShardError, match=rf"records are skipped, more than max_skipped={limit!r}"):
        make(path, out, tok, max_skipped=limit)
    assert jeton.shards.status(out).done
    assert not jeton.shards.status(out).merged
    with pytest.raises(ShardError, match="more than max_skipped="):  # skipped records of complete tasks count, too
        make(path, out, tok, max_skipped=limit)
    make(path, out, tok)
    with pytest.raises(ShardError, match=r"3 of 200 records are skipped, more than max_skipped=0"):
        jeton.shards.merge(out, max_skipped=0)


def test_a_share_ends_a_run_early(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    """The run ends once the share is exceeded even if no further record is skipped."""
    path, out = write(tmp_path / "a.jsonl", bad=tuple(range(1, 60))), tmp_path / "out"
    with pytest.raises(ShardError, match="more than max_skipped='5%'"):
        make(path, out, tok, max_skipped="5%")
    assert 0 < jeton.shards.status(out).done < jeton.shards.status(out).total


@pytest.mark.parametrize("value", [-1, 1.5, True, "", "%", "5 %", "101%", "x", "1e3", "٣", "." * 30, "1" * 30])
def test_invalid_limits_are_refused(value: object) -> None:
    with pytest.raises(ConfigError, match="max_skipped="):
        SkipLimit.of(value)


def test_a_corpus_of_which_everything_is_skipped(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    path, out = write(tmp_path / "a.jsonl", number=107), tmp_path / "out"
    match = r"all 107 records of the corpus are skipped \(without the field 'body'\); check field= .*max_skipped='100%'"
    with pytest.raises(ShardError, match=match):
        make(path, out, tok, field="body")
    assert jeton.shards.status(out).is_complete
    report = make(path, out, tok, field="body", max_skipped="100%")
    assert (report.documents, report.num_skipped) == (0, 107)


def test_an_input_of_which_everything_is_skipped(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    """Applies to inputs read by several tasks, too; not to mostly bad inputs, nor to texts of one record each."""
    good = write(tmp_path / "a.jsonl", bad=tuple(range(1, 190)))
    wrong = tmp_path / "b.jsonl"
    wrong.write_text('{"body": "low lower newest"}\n' * 300)
    text, out = tmp_path / "c.txt", tmp_path / "out"
    text.write_bytes(b"\xff")
    assert make([good, text], tmp_path / "good", tok).num_skipped == 190
    with pytest.raises(ShardError, match=r"all 300 records of .*b\.jsonl are skipped \(not a JSON row, without"):
        make([good, wrong, text], out, tok)
    wrong.write_text('{"body": "low lower newest"}\n' * 300 + '{"text": "low"}\n')
    make([good, wrong, text], out, tok)


def test_a_table_without_the_field_is_an_error(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"body": ["low"] * 50}), tmp_path / "b.parquet", row_group_size=10)
    with pytest.raises(ShardError, match=r"b\.parquet are skipped \(file without the field"):
        make([write(tmp_path / "a.jsonl"), tmp_path / "b.parquet"], tmp_path / "out", tok, task_bytes=10**6)


@pytest.mark.skipif(os.name != "posix", reason="links")
def test_inputs_that_cannot_be_read(tok: jeton.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    data.mkdir()
    write(data / "a.jsonl")
    (data / "b.jsonl").symlink_to(data / "missing.jsonl")
    (data / "c.txt").symlink_to(data / "c.txt")
    write(data / "d.jsonl", 2)
    denied = write(data / "e.jsonl", 3)
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: str(path) != str(denied) and access(path, mode))
    with pytest.raises(OSError, match=r"c\.txt|b\.jsonl"):
        make(data, out, tok, errors="strict")
    make(data, out, tok)
    assert [(row["file"], row["kind"], row["reason"]) for row in rejects(out)] == [
        (str(data / "b.jsonl"), "file that cannot be read", "No such file or directory"),
        (str(data / "c.txt"), "file that cannot be read", "Too many levels of symbolic links"),
        (str(denied), "file that cannot be read", "Permission denied"),
    ]
    assert jeton.shards.verify(out, progress=False).is_valid
    monkeypatch.undo()
    write(data / "missing.jsonl", 4, 5)
    make([file for file in sorted(data.iterdir()) if file.name != "missing.jsonl"], out, tok)
    assert [row["file"] for row in rejects(out)] == [str(data / "c.txt")]
    (data / "c.txt").unlink()
    (data / "c.txt").write_text("low")
    files = [data / name for name in ("a.jsonl", "b.jsonl", "c.txt", "d.jsonl", "e.jsonl")]
    make(files, out, tok, errors="strict")
    make(files, tmp_path / "whole", tok, errors="strict")
    assert stored(out) == stored(tmp_path / "whole")


def test_an_input_that_becomes_unreadable_is_one_skipped_record(tok: jeton.Tokenizer, tmp_path: Path) -> None:
    """The input counts as one record; when it is readable again, the shards are as before."""
    files, out = [write(tmp_path / f"{number}.jsonl", number) for number in range(3)], tmp_path / "out"
    make(files, out, tok)
    before = digest(out)
    (tmp_path / "1.jsonl").rename(tmp_path / "other")
    (tmp_path / "1.jsonl").symlink_to(tmp_path / "missing")
    for _ in range(2):
        assert make(files, out, tok).skipped == {"file that cannot be read": (1, (str(files[1]),))}
    with pytest.raises(FileNotFoundError, match=r"1\.jsonl"):
        make(files, out, tok, errors="strict")
    (tmp_path / "other").rename(tmp_path / "1.jsonl")
    make(files, out, tok)
    assert digest(out) == before


def stored_of(files: list[Path], tok: jeton.Tokenizer) -> list[list[int]]:
    rows = (json.loads(line)["text"] for file in files for line in file.read_text().splitlines())
    return [[*tok.encode(text), tok.eos_id or 0] for text in rows if text]


def test_refused_conversations_count_as_skipped(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    template = "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}"
    tok = jeton.train(["low lower"], 260, progress=False).with_chat_template(template)
    path = tmp_path / "chats.jsonl"
    path.write_text('{"messages": []}\n' * 107)
    options = {"chat": True, "append_eos": False}
    with pytest.raises(ShardError, match="all 107 records of the corpus are skipped"):
        make(path, tmp_path / "out", tok, **options)
    path.write_text('{"messages": []}\n' * 107 + '{"messages": [{"role": "user", "content": "low"}]}\n')
    make(path, tmp_path / "out", tok, **options)
    assert [row["line"] for row in rejects(tmp_path / "out")] == list(range(1, 108))


def test_texts_that_cannot_be_encoded_fail_under_each_policy(tmp_path: Path) -> None:
    tok = jeton.Tokenizer.from_merges({97: b"a", 98: b"b"}, [])
    (tmp_path / "a.jsonl").write_text('{"text": "ab"}\n{"text": "c"}\n')
    with pytest.raises((InvalidTextError, FormatError)):
        make(tmp_path / "a.jsonl", tmp_path / "out", tok, append_eos=False)
    with pytest.raises(ShardError, match="1 of 1 tasks failed"):
        make(tmp_path / "a.jsonl", tmp_path / "out", tok, append_eos=False, keep_going=True)
