"""``jeton shards``: the commands, their exit codes, and the jobs of arrays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest

import jeton
from jeton.cli.options import RowLength
from jeton.cli.shards import _job

from .conftest import Run


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({"text": f"row {number} low lower"}) + "\n" for number in range(300)))
    return path


@pytest.fixture
def tok(tmp_path: Path) -> Path:
    path = tmp_path / "tok.json"
    jeton.train(["low lower row"], 260, progress=False).add_tokens(["<|end|>"]).with_roles(eos="<|end|>").save(path)
    return path


def test_make_writes_verified_shards(run: Run, rows: Path, tok: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = ("shards", "make", rows, "-o", out, "-t", tok, "--append-eos", "--task-bytes", "2kB", "--join")
    made = run(*command)
    assert made.code == 0, made.err
    assert "read     5.0 kB in 300 documents" in made.err
    assert "verified all shards" in made.err
    assert (out / "joined" / "joined.idx").exists()
    again = run(*command, "--json", "-q", "--no-verify")
    facts = json.loads(again.text)
    assert (facts["documents"], facts["dtype"]) == (300, "uint16")
    assert len(jeton.shards.open(out)) == 300
    (out / "shard-00001.bin").write_bytes(bytes((out / "shard-00001.bin").stat().st_size))
    different = run("shards", "verify", out, "--json")
    assert different.code == 4
    assert "shard-00001.bin: its bytes have changed" in different.err
    assert json.loads(different.text)["problems"]


def test_plan_run_and_merge_report_their_state(run: Run, rows: Path, tok: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    planned = run("shards", "plan", rows, "-o", out, "-t", tok, "--task-bytes", "1k", "--format", "bin", "--json")
    total = json.loads(planned.text)["tasks"]
    assert json.loads(run("shards", "run", out, "--job", "1/3", "--json").text)["done"] == len(range(1, total, 3))
    state, pace, idle = run("shards", "status", out).text.splitlines()
    assert state == f"3 of {total} tasks complete, 3.0 kB of 8.9 kB; not merged"
    assert " a second, " in pace
    assert pace.endswith(" left")
    assert idle.startswith("the last task completed ")
    early = run("shards", "merge", out)
    assert early.code == 1
    assert "tasks are not complete (tasks 0, 2, 3, " in early.err
    assert run("shards", "run", out, "--runner", "processes", "--workers", 1).code == 0
    assert run("shards", "merge", out).code == 0
    assert run("shards", "verify", out).code == 0
    assert json.loads(run("shards", "status", out, "--json").text)["merged"] is True


def test_shuffled_and_packed_shards_are_made_in_one_or_two_stages(
    run: Run, rows: Path, tok: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    options = (
        "-t",
        tok,
        "--append-eos",
        "--task-bytes",
        "2kB",
        "--shuffle",
        "7",
        "--pack",
        "32",
        "--packing",
        "best-fit",
    )
    made = run("shards", "make", rows, "-o", out, *options)
    assert made.code == 0, made.err
    assert " rows of 32, 9" in made.err
    assert "% filled; cut 0 documents, dropped 0 tokens" in made.err
    other = tmp_path / "other"
    assert run("shards", "plan", rows, "-o", other, *options).code == 0
    early = run("shards", "run", other, "--stage", "shuffle")
    assert early.code == 1
    assert "jeton shards run --stage spool" in early.err
    assert run("shards", "run", other, "--stage", "spool", "--job", "0/1").code == 0
    assert run("shards", "status", other).text.startswith("stage shuffle: 0 of ")
    assert run("shards", "run", other).code == 0
    assert run("shards", "merge", other).code == 0
    assert (out / "shard-00001.bin").read_bytes() == (other / "shard-00001.bin").read_bytes()
    assert "--stage spool" in run("shards", "script", "slurm", other, "--stage", "spool").text
    changed = run("shards", "make", rows, "-o", out, *options[:-2])
    assert "was planned with --packing 'best_fit', but this call has 'concatenate'" in changed.err


@pytest.mark.parametrize(("value", "length"), [("2048", 2048), ("2Ki", 2048), ("32ki", 32_768), ("2", 2)])
def test_lengths_of_rows_are_parsed(value: str, length: int) -> None:
    assert RowLength().convert(value, None, None) == length


@pytest.mark.parametrize("value", ["2k", "2K", "1", "1.5Ki", "2i", "2Mi", "many", "-4"])
def test_ambiguous_lengths_of_rows_are_refused(value: str, run: Run, rows: Path, tok: Path, tmp_path: Path) -> None:
    refused = run("shards", "make", rows, "-o", tmp_path / "out", "-t", tok, "--pack", value)
    assert refused.code == 2
    assert "--pack" in refused.err
    assert not (tmp_path / "out").exists()


def test_conversations_are_written_with_masks(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    template = "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}"
    made = jeton.train(["low lower row"], 260, progress=False).with_chat_template(template)
    made.save(tmp_path / "chat.json")
    chats = tmp_path / "chats.jsonl"
    chats.write_text('{"messages": [{"role": "user", "content": "low"}]}\n{"messages": []}\n')
    options = ("-t", tmp_path / "chat.json", "--chat", "--format", "bin", "--errors", "skip")
    result = run("shards", "make", chats, "-o", tmp_path / "out", *options)
    assert result.code == 3, result.err
    assert f"1 conversation that the template refuses ({chats}:2)" in result.err
    assert set((tmp_path / "out" / "shard-00000.mask").read_bytes()) == {1}


def test_long_conversations_are_split(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    template = (
        "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
        "{% if add_generation_prompt %}<|assistant|>{% endif %}"
    )
    tokens = ["<|user|>", "<|assistant|>", "<|end|>"]
    made = jeton.train(["low lower row"], 270, special_tokens=tokens, progress=False).with_chat_template(template)
    made.save(tmp_path / "chat.json")
    turns = [{"role": "user", "content": "low"}, {"role": "assistant", "content": "row"}]
    (tmp_path / "chats.jsonl").write_text(json.dumps({"messages": turns * 5}) + "\n")
    options = ("-t", tmp_path / "chat.json", "--chat", "--format", "bin", "--pack", "16", "--packing", "best-fit")
    result = run("shards", "make", tmp_path / "chats.jsonl", "-o", tmp_path / "out", *options, "--pad", "<|end|>",
                 "--too-long", "truncate", "--mask", "no-stop", "--mask", "last")  # fmt: skip
    assert result.code == 0, result.err
    assert "1 conversation is longer than a row (truncate)" in result.err
    shard = jeton.shards.open(tmp_path / "out").shard(0)
    assert made.decode(shard.tokens[shard.mask == 1]) == "row"


def test_skipped_records_are_exit_code_3(run: Run, rows: Path, tok: Path, tmp_path: Path) -> None:
    rows.write_text(rows.read_text() + "nonsense\n")
    strict = run("shards", "make", rows, "-o", tmp_path / "a", "-t", tok)
    assert strict.code == 1
    assert "rows.jsonl:301: not a JSON row" in strict.err
    skipped = run("shards", "make", rows, "-o", tmp_path / "b", "-t", tok, "--errors", "skip")
    assert skipped.code == 3
    assert f"skipped 1 record: 1 not a JSON row ({rows}:301)" in skipped.err
    run("shards", "plan", rows, "-o", tmp_path / "c", "-t", tok, "--errors", "skip")
    assert run("shards", "run", tmp_path / "c").code == 3
    assert run("shards", "merge", tmp_path / "c").code == 3


def test_keep_going_skips_and_reports_failed_tasks(run: Run, rows: Path, tok: Path, tmp_path: Path) -> None:
    lines = rows.read_text().splitlines(keepends=True)
    rows.write_text("".join([*lines[:10], "nonsense\n", *lines[10:], "nonsense\n"]))
    options = ("shards", "make", rows, "-o", tmp_path / "out", "-t", tok, "--task-bytes", "2kB")
    failed = run(*options, "--keep-going")
    assert failed.code == 1
    assert "jeton: warning: task 0: " in failed.err
    assert "rows.jsonl:302: not a JSON row" in failed.err
    assert " tasks failed: task 0: " in failed.err
    limited = run(*options, "--errors", "skip", "--max-skipped", "1")
    assert limited.code == 1
    assert "records are skipped, more than --max-skipped 1;" in limited.err
    assert run(*options, "--errors", "skip", "--max-skipped", "1%").code == 3
    assert len((tmp_path / "out" / "rejects.jsonl").read_text().splitlines()) == 2
    assert run("shards", "merge", tmp_path / "out", "--max-skipped", "0").code == 1
    wrong = run("shards", "make", rows, "-o", tmp_path / "b", "-t", tok, "--field", "x", "--errors", "skip")
    assert wrong.code == 1
    assert "all 302 records of the corpus are skipped" in wrong.err
    assert "check --field and the format, or pass --max-skipped 100%" in wrong.err


def test_add_and_repair_report_their_totals(run: Run, rows: Path, tok: Path, tmp_path: Path) -> None:
    out, more = tmp_path / "out", tmp_path / "more.jsonl"
    assert run("shards", "make", rows, "-o", out, "-t", tok, "--task-bytes", "2kB").code == 0
    more.write_text('{"text": "low"}\nnonsense\n')
    assert run("shards", "add", out, more).code == 1
    added = run("shards", "add", out, more, "--errors", "skip", "--workers", 1)
    assert added.code == 3, added.err
    assert "in 301 documents" in added.err
    assert "verified all shards" in added.err
    (out / "shard-00001.bin").unlink()
    repaired = run("shards", "repair", out, "--json", "-q")
    assert (repaired.code, json.loads(repaired.text)["documents"]) == (3, 301)


def test_training_on_counts_equals_training_on_rows(run: Run, rows: Path, tmp_path: Path) -> None:
    out = tmp_path / "counts"
    assert run("shards", "make", rows, "-o", out, "--format", "counts", "--task-bytes", "1k").code == 0
    files = sorted(out.glob("*.jtc"))
    assert len(files) > 5
    for name, corpus in (("a.json", files), ("b.json", [rows])):
        assert run("train", *corpus, "-o", tmp_path / name, "-s", 270).code == 0
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_progress_as_json(run: Run, rows: Path, tok: Path, tmp_path: Path) -> None:
    result = run("shards", "make", rows, "-o", tmp_path / "out", "-t", tok, "--progress", "json", "-q")
    events = [json.loads(line) for line in result.err.splitlines()]
    assert {event["stage"] for event in events} == {"shards", "verify"}
    size = rows.stat().st_size
    assert [event["done"] for event in events if event["stage"] == "shards"][-1] == size


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-", "-o", "out"], "standard input cannot be read again"),
        (["x.txt", "-o", "out", "--workers", "2", "--threads", "2"], "pass either --workers or --threads"),
        (["x.txt"], "-o"),
        (["x.txt", "-o", "out", "--format", "npz"], "npz"),
    ],
)
def test_wrong_usage_is_exit_code_2(arguments: list[str], message: str, run: Run) -> None:
    result = run("shards", "make", *arguments)
    assert result.code == 2
    assert message in result.err


def test_errors_name_options(run: Run, rows: Path, tok: Path, tmp_path: Path) -> None:
    result = run("shards", "plan", rows, "-o", tmp_path / "out", "-t", tok, "--prepend-bos")
    assert result.code == 2
    assert "the tokenizer has no role bos; name the token with --bos TOKEN" in result.err
    run("shards", "plan", rows, "-o", tmp_path / "out", "-t", tok)
    other = run("shards", "plan", rows, "-o", tmp_path / "out", "-t", tok, "--append-eos")
    assert "was planned with --append-eos" in other.err


@pytest.mark.parametrize(
    ("task", "environment", "job"),
    [
        ("3/8", {}, (3, 8)),
        ("3/8", {"JOB_COMPLETION_INDEX": "1", "JOB_COMPLETIONS": "2"}, (3, 8)),
        (None, {}, None),
        (None, {"SLURM_ARRAY_TASK_ID": "5", "SLURM_ARRAY_TASK_COUNT": "8"}, (5, 8)),
        (
            None,
            {
                "SLURM_ARRAY_TASK_ID": "105",
                "SLURM_ARRAY_TASK_MIN": "101",
                "SLURM_ARRAY_TASK_STEP": "2",
                "SLURM_ARRAY_TASK_COUNT": "4",
            },
            (2, 4),
        ),
        (None, {"JOB_COMPLETION_INDEX": "1", "JOB_COMPLETIONS": "2"}, (1, 2)),
    ],
)
def test_job_numbers_are_read_from_option_or_environment(
    task: str | None, environment: dict[str, str], job: Any
) -> None:
    assert _job(task, environment) == job


@pytest.mark.parametrize(
    ("task", "environment"),
    [
        ("8/8", {}),
        ("1", {}),
        ("-1/2", {}),
        ("a/b", {}),
        (None, {"SLURM_ARRAY_TASK_ID": "5"}),
        (None, {"JOB_COMPLETION_INDEX": "5"}),
        (None, {"JOB_COMPLETION_INDEX": "5", "JOB_COMPLETIONS": "5"}),
    ],
)
def test_invalid_job_numbers_are_refused(task: str | None, environment: dict[str, str]) -> None:
    with pytest.raises(click.UsageError, match="--job"):
        _job(task, environment)


def test_scripts_have_the_number_of_jobs(run: Run, rows: Path, tok: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run("shards", "plan", rows, "-o", out, "-t", tok, "--task-bytes", "1k")
    assert "#SBATCH --array=0-3" in run("shards", "script", "slurm", out, "--jobs", 4).text
    manifest = json.loads(run("shards", "script", "k8s", out, "--jobs", 4, "--image", "r/jeton:1").text)
    assert manifest["spec"]["template"]["spec"]["containers"][0]["image"] == "r/jeton:1"


def test_the_report_as_markdown_json_and_plot(run: Run, rows: Path, tok: Path, tmp_path: Path) -> None:
    out, plot = tmp_path / "out", tmp_path / "report.svg"
    assert run("shards", "report", out).code == 1
    run("shards", "make", rows, "-o", out, "-t", tok)
    shown = run("shards", "report", out, "--plot", plot)
    assert f"| {rows} | 300 | " in shown.text
    assert plot.read_text().startswith("<?xml")
    assert json.loads(run("shards", "report", out, "--json").text)["sources"][str(rows)]["documents"] == 300


def test_verify_works_without_or_with_moved_inputs(run: Run, rows: Path, tok: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run("shards", "make", rows, "-o", out, "-t", tok, "--append-eos").code == 0
    assert "without inputs: hashes, counts and ids only, 16 documents decoded" in (
        run("shards", "verify", out, "--no-inputs").err
    )
    (tmp_path / "new").mkdir()
    rows.rename(tmp_path / "new" / rows.name)
    missing = run("shards", "verify", out)
    assert missing.code == 0
    assert "in 300 documents; the inputs are not on this machine: hashes, counts and ids only, 16" in missing.err
    moved = run("shards", "verify", out, "--moved", f"{tmp_path}={tmp_path / 'new'}")
    assert moved.code == 0
    assert "300 documents; 300 compared with the source" in moved.err
    wrong = run("shards", "verify", out, "--moved", "/data")
    assert wrong.code == 2
    assert "OLD=NEW" in wrong.err
    unknown = run("shards", "verify", out, "--moved", "/data=/mnt")
    assert "--moved: no input is in /data" in unknown.err


def test_quiet_needs_a_tokenizer(run: Run, rows: Path, tmp_path: Path) -> None:
    refused = run("shards", "make", rows, "-o", tmp_path / "out", "-q")
    assert refused.code == 2
    assert "pass -t, as in -t default" in refused.err
    assert not (tmp_path / "out").exists()
    assert run("shards", "make", rows, "-o", tmp_path / "out", "-q", "-t", "default").code == 0
    assert run("shards", "plan", rows, "-o", tmp_path / "counts", "-q", "--format", "counts").code == 0


def test_a_missing_role_names_the_option(run: Run, rows: Path, tmp_path: Path) -> None:
    jeton.train(["low lower row"], 260, progress=False).add_tokens(["<|end|>"]).save(tmp_path / "plain.json")
    for flag, option in (("--append-eos", "--eos"), ("--prepend-bos", "--bos")):
        command = ("shards", "plan", rows, "-o", tmp_path / "out", "-t", tmp_path / "plain.json")
        refused = run(*command, flag)
        assert refused.code == 2
        assert f"name the token with {option} TOKEN; special tokens: <|end|>" in refused.err
        assert run(*command[:4], tmp_path / option, *command[5:], option, "<|end|>").code == 0
