"""Exit codes, and errors as one clear line on standard error."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest

import jeton
from jeton.cli import COMMANDS, main
from jeton.cli.options import in_options
from jeton.cli.shards import shards
from jeton.errors import ConfigError, call, keyword, named

from ..timing import least
from .conftest import Run


def jeton_process(*args: object, **options: object) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "jeton.cli", *map(str, args)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)  # type: ignore[call-overload,no-any-return]


# Commands, and those of groups.
PARTS = [f"shards {name}" for name in shards.commands]
EVERY_COMMAND = [*(name for name in COMMANDS if name != "shards"), *PARTS]


@pytest.mark.parametrize("command", EVERY_COMMAND)
def test_every_command_has_help_with_examples(run: Run, command: str) -> None:
    result = run(*command.split(), "--help")
    assert result.code == 0
    assert result.err == ""
    assert re.search("^ *Examples?:", result.text, re.MULTILINE)
    examples = [
        line for line in result.text.splitlines() if f"jeton {command} " in line or line.endswith(f"jeton {command}")
    ]
    assert examples
    for option in ("--json", "-q, --quiet", "--progress", "--threads"):
        assert option in result.text


def test_the_group_has_help_and_a_version(run: Run) -> None:
    result = run("--help")
    assert [name for name in COMMANDS if f"\n  {name} " in result.text] == list(COMMANDS)
    assert run("--version").text == f"jeton, version {jeton.__version__}\n"


@pytest.mark.parametrize(
    "args",
    [
        ["nonsense"],
        ["compare", "text"],  # no tokenizer
        ["encode", "--nonsense"],
        ["train", "x"],  # no output
        ["train", "-o", "x.json"],  # no corpus
        ["train", "x", "-o", "x.json", "-s", "many"],
        ["count", "--files", "-t", "x.json", "--threads", "0"],
    ],
)
def test_wrong_usage_is_exit_code_2(run: Run, args: list[str]) -> None:
    result = run(*args)
    assert result.code == 2
    assert result.out == b""
    assert "Error:" in result.err


def test_a_missing_tokenizer_is_exit_code_1_and_one_line(run: Run, tmp_path: Path) -> None:
    result = run("encode", "-t", tmp_path / "missing.json", "text")
    assert result.code == 1
    assert result.out == b""
    assert result.err.count("\n") == 1
    assert "missing.json" in result.err


def test_a_missing_corpus_is_exit_code_1_without_hints_for_python(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # long paths are shortened in the message
    result = run("train", "missing", "-o", "x.json")
    assert result == (1, b"", "jeton: missing: no such file, folder or glob\n")


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (ConfigError("two\nlines"), 1, "jeton: two lines\n"),
        (PermissionError(13, "Permission denied", "secret.txt"), 1, "jeton: secret.txt: Permission denied\n"),
        (OSError("odd"), 1, "jeton: odd\n"),
        (OSError(28, "No space left on device"), 1, "jeton: No space left on device\n"),
        (MemoryError(), 1, "jeton: out of memory\n"),
        (KeyboardInterrupt(), 130, "jeton: interrupted\n"),
        (click.Abort(), 130, "jeton: interrupted\n"),
    ],
)
def test_runtime_errors_are_one_line_with_their_exit_code(
    run: Run, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, message: str
) -> None:
    def fail(*args: object, **options: object) -> None:
        raise error

    monkeypatch.setattr(jeton, "load", fail)
    assert run("encode", "-t", "x", "text") == (code, b"", message)


def test_a_bug_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **options: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(jeton, "load", fail)
    with pytest.raises(ZeroDivisionError):
        main(["encode", "-t", "x", "text"])


def test_a_closed_pipe_is_not_an_error(path: Path) -> None:
    with jeton_process("vocab", "-t", path) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert process.returncode == 0


@pytest.mark.alone
def test_ctrl_c_is_exit_code_130_within_a_second_and_leaves_no_file(tmp_path: Path) -> None:
    """The process waits for standard input, because the pipe stays open."""

    def seconds() -> float:
        process = jeton_process("train", "-", "-o", tmp_path / "x.json", env={**os.environ, "PYTHONUNBUFFERED": "1"})
        time.sleep(2)  # long enough to start on a busy machine
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        _, err = process.communicate()
        took = time.monotonic() - began
        assert process.returncode == 130
        assert err == b"jeton: interrupted\n"
        assert list(tmp_path.iterdir()) == []
        return took

    assert least(seconds, 1) < 1


def test_progress_as_json_lines(run: Run, tmp_path: Path) -> None:
    (tmp_path / "corpus.txt").write_text("low lower lowest " * 100)
    result = run("train", tmp_path / "corpus.txt", "-o", tmp_path / "x.json", "-s", 260, "--progress", "json", "-q")
    events = [json.loads(line) for line in result.err.splitlines()]
    assert {event["stage"] for event in events} == {"count", "merge"}
    assert result == (0, b"", result.err)


def test_the_exit_codes_are_the_documented_ones() -> None:
    from jeton.cli import running

    codes = (running.DONE, running.FAILED, running.USAGE, running.DIFFERENT, running.INTERRUPTED)
    assert codes == (0, 1, 2, 4, 130)


@pytest.mark.parametrize("command", ["count", "encode", "explain", "decode", "vocab"])
def test_an_option_of_one_value_given_twice_is_refused(run: Run, path: Path, command: str) -> None:
    result = run(command, "-t", path, "--tokenizer", path, "7")
    assert (result.code, result.out) == (2, b"")
    assert f"-t / --tokenizer is given 2 times, but {command} takes one" in result.err


IN_CORPUS = named('errors="replace" to jeton.Corpus')


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (f"{keyword('vocab_size', 100)} has no room; ask for more", "--vocab-size 100 has no room; ask for more"),
        (f"it lacks a pattern; pass {keyword('pattern')}", "it lacks a pattern"),
        (f"it lacks a pattern: pass {keyword('pattern')}", "it lacks a pattern: pass pattern="),
        (f"pass {keyword('accept_loss', ['roles', 'its'])}", "pass --accept-loss roles --accept-loss its"),
        (f"pass {keyword('accept_loss', 'x' * 100)}", f"pass --accept-loss '{'x' * 79}… (str)"),
        (f"pass {keyword('vocab_size', {'a'})} to it", "pass --vocab-size a to it"),
        (f"{keyword('superwords', True)} does not go with it", "--superwords does not go with it"),
        (f"{keyword('from_size', 7)} is too small", "--superwords-from 7 is too small"),
        (f"{named('vocab_size')} counts; {named('end_of_word')} marks", "--vocab-size counts; end_of_word marks"),
        ("vocab_size=3 in a file; pattern= too", "vocab_size=3 in a file; pattern= too"),
        (
            f"the file is missing; {call('jeton.f(a)', 'jeton f A')} writes it",
            "the file is missing; jeton f A writes it",
        ),
        (f"not a row; pass {IN_CORPUS}", "not a row; pass --errors replace"),
        (f"no column; name it with {named('vocab_size= of jeton.Corpus')}", "no column; name it with --vocab-size"),
        (f"not a row; pass {keyword('errors', 'skip')} or repair it", "not a row"),
        (f"not UTF-8; pass {keyword('errors', 'replace')}", "not UTF-8; pass --errors replace"),
        (f"not UTF-8; pass {keyword('errors')}", "not UTF-8; pass --errors"),
    ],
)
def test_messages_name_options_and_no_keywords(message: str, said: str) -> None:
    options = [("--vocab-size",), ("--accept-loss",), ("--superwords-from", "from_size")]
    flag, choice = click.Option(["--superwords"], is_flag=True), click.Choice(["strict", "replace"])
    params = [*map(click.Option, options), flag, click.Option(["--errors"], type=choice)]
    assert in_options(ConfigError(message), params) == said


def test_options_of_a_preset_are_settings() -> None:
    params = [click.Option(["--set", "settings"]), click.Option(["--vocab-size"])]
    message = f"{keyword('vocab_size', 5)} is too small; pass {keyword('hard_vocab_limit', False)}"
    assert in_options(ConfigError(message), params) == "--vocab-size 5 is too small; pass --set hard_vocab_limit=False"


def test_an_error_of_the_core_names_options(run: Run, path: Path, char_path: Path) -> None:
    special = run("encode", "-t", path, "--special", "raise", "<|end|>")
    assert "pass --special all (or --special <|end|>)" in special.err
    assert "--special none to encode its spelling" in special.err
    invalid = run("decode", "-t", path, "--invalid-utf8", "strict", 72, 0xE5, 0xB0)
    assert "--invalid-utf8 replace shows them as U+FFFD" in invalid.err


def test_unread_files_of_a_folder_are_reported_once(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    for name, text in {"a.txt": "low lower", "b.json": '{"text": "low"}\n{"text": "new"}', "README.md": "#"}.items():
        (folder / name).write_text(text)
    report = "1 file is not read: 1 .md (README.md)"
    for command in (
        ("pretokens", folder, "--report"),
        ("train", folder, "-o", tmp_path / "a.json", "-s", 260),
        ("measure", folder),
        ("cost", folder),
        ("sizes", folder, "-s", "258"),
        ("audit", "default", "--corpus", folder),
        ("count", "--files", folder),
        ("shards", "make", folder, "-o", tmp_path / "out"),
        ("shards", "plan", folder, "-o", tmp_path / "planned"),
    ):
        result = run(*command)
        assert result.err.count(report) == 1, (command, result.err)
    for options, documents in (
        (("--include", "*.md"), 1),
        (("--exclude", "*.md", "--exclude", "b*"), 1),
        (("--input-type", "text"), 3),
    ):
        result = run("pretokens", folder, "-o", tmp_path / "c.jtc", *options)
        assert "not read" not in result.err
        assert jeton.Counts.load(tmp_path / "c.jtc").documents == documents
