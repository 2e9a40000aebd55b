"""Commands without -t use the default tokenizer, and name it once on standard error."""

from __future__ import annotations

from pathlib import Path

import pytest

import jeton

from .conftest import Run

SAID = "jeton: using the default tokenizer, which does not belong to any model; select another with -t\n"
IDS = " ".join(map(str, jeton.default().encode("hello")))


@pytest.mark.parametrize(
    ("args", "out"),
    [
        (["encode", "hello"], f"{IDS}\n"),
        (["encode", "hello", "hello"], f"{IDS}\n{IDS}\n"),
        (["decode", *IDS.split()], "hello"),
        (["count", "hello", "hello"], f"{2 * len(IDS.split())}\n"),
        (["vocab", "--grep", "^hello$", "--json"], None),
        (["explain", "hello"], None),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_command_without_tokenizer_uses_the_default(run: Run, args: list[str], out: str | None) -> None:
    done = run(*args)
    assert (done.code, done.err) == (0, SAID)
    assert done.text == out if out is not None else "hello" in done.text
    assert run(*args, "-t", "default").out == done.out


def test_measure_and_chat_use_the_default_tokenizer(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello hello\n")
    done = run("measure", tmp_path / "a.txt", "--csv", "--progress", "none")
    assert (done.code, done.err) == (0, SAID)
    assert ",default,4,12," in done.text.splitlines()[1]  # tokens, bytes
    pytest.importorskip("jinja2")
    done = run("chat", input=b'[{"role": "user", "content": "hello"}]')
    assert (done.code, done.text, done.err) == (0, "<|im_start|>user\nhello<|im_end|>\n\n", SAID)


def test_quiet_prints_no_notice(run: Run) -> None:
    assert run("count", "hello", "-q").err == ""


def test_a_given_tokenizer_prints_no_notice(run: Run, path: Path) -> None:
    assert run("count", "hello", "-t", path).err == ""


def test_a_pattern_needs_a_tokenizer(run: Run) -> None:
    done = run("count", "hello", "--pattern", "gpt2")
    assert done.code == 2
    assert "--pattern applies to a rank file, given with -t" in done.err
