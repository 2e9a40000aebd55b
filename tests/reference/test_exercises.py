"""The exercises of the lessons: texts, cases, answers, and explanations of wrong answers."""

from __future__ import annotations

import doctest
import os
import re
import shutil
import string
import subprocess
import sys
import venv
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import jeton.reference
from jeton.reference import check
from jeton.reference.contents import language

from ..core_only import run_core_only
from ..selection import rest_is_slow

FOLDER = Path(next(iter(jeton.reference.__path__)))
STEPS = check.steps()
LESSONS = {path.stem[:6]: path for path in sorted(FOLDER.glob("step*.py"))}
WITHOUT = {"step24"}  # the errata
VARIABLES = ("JETON_LANG", "LC_ALL", "LC_MESSAGES", "LANG")
FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TASKS = [(step, task) for step in STEPS for task in check.tasks(step)]


def answers(step: str) -> dict[str, Any]:
    """The names that an exercise may use: those of the lesson, if it exists, and of the answer."""
    lesson = vars(import_module(f"jeton.reference.{LESSONS[step].stem}")) if step in LESSONS else {}
    exercise, answer = (vars(import_module(f"jeton.reference.{part}.{step}")) for part in ("exercises", "solutions"))
    return {**exercise, **lesson, **answer}


@pytest.fixture(params=["en", "zh"])
def reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The language of the reader."""
    monkeypatch.setenv("JETON_LANG", request.param)
    return str(request.param)


def test_every_lesson_has_an_exercise() -> None:
    assert LESSONS.keys() - STEPS <= WITHOUT
    for path in (FOLDER / "exercises").iterdir():
        if path.name not in ("__init__.py", "__pycache__"):
            assert path.name.partition(".")[0] in STEPS


@pytest.mark.parametrize("step", STEPS)
def test_the_examples_of_an_exercise_run_in_both_languages(step: str) -> None:
    english, chinese = (check.statement(step, language) for language in ("en", "zh"))
    source = "\n".join(FENCE.findall(chinese))
    for text in (english, source):
        example = doctest.DocTestParser().get_doctest(text, answers(step), f"exercise {step}", None, 0)
        runner = doctest.DocTestRunner()
        runner.run(example)
        assert runner.tries >= 1
        assert runner.failures == 0
    lines = [line for line in english.splitlines() if line.startswith(">>> ")]
    assert [re.sub("  # .*", "", line) for line in lines] == [
        re.sub("  # .*", "", line) for line in source.splitlines() if line.startswith(">>> ")
    ]


@pytest.mark.parametrize(("step", "task"), TASKS, ids=lambda value: value if isinstance(value, str) else value.name)
def test_an_exercise_names_its_functions_and_has_cases_and_hints(step: str, task: check.Task) -> None:
    for reader in ("en", "zh"):
        assert re.search(rf"`{task.name}[(`]", check.statement(step, reader))
    cases = list(task.cases())
    assert len(cases) >= 4
    for english, chinese in [task.hint, *(case.hint for case in cases)]:
        assert bool(english) == bool(chinese)
    assert all(task.hint)
    assert task.name in answers(step)


@pytest.mark.parametrize("step", [step for step in STEPS if step in LESSONS])
def test_the_file_of_a_lesson_passes_its_check(step: str, capsys: pytest.CaptureFixture[str]) -> None:
    names = {task.name for task in check.tasks(step)} & vars(
        import_module(f"jeton.reference.{LESSONS[step].stem}")
    ).keys()
    if int(step[4:]) > 13 and not names:
        pytest.skip("this lesson defines none of the functions of its exercise")
    assert check.main([step, str(LESSONS[step])]) == 0, capsys.readouterr().out


@pytest.mark.parametrize("step", rest_is_slow(STEPS, lambda step: step != "step17", "a large corpus; others stay"))
def test_the_solution_passes(step: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert check.main([step, str(FOLDER / "solutions" / f"{step}.py")]) == 0, capsys.readouterr().out


@pytest.mark.parametrize(("step", "task"), TASKS, ids=lambda value: value if isinstance(value, str) else value.name)
def test_a_function_that_returns_its_argument_fails(step: str, task: check.Task) -> None:
    def wrong(*arguments: Any) -> Any:
        return arguments[0] if arguments else None

    failed = [check.try_case(task, wrong, case, "wrong.py") for case in task.cases()]
    assert sum(map(bool, failed)) * 2 >= len(failed) > 0


WRONG = {
    "value": ("def merge(ids, pair, new): return list(ids)", ["expected", "应得到"], "[5, 6, 99, 9, 1]"),
    "raises": ("def merge(ids, pair, new):\n    return ids[99]", ["(line 2 of answer.py)", "第 2 行"], "IndexError: "),
    "exit": ("def merge(ids, pair, new): raise SystemExit(3)", ["raised", "抛出了"], "SystemExit: 3"),
    "crash": ("import os\ndef merge(ids, pair, new): os._exit(3)", ["status 3", "状态码 3"], "merge([5, 6,"),
    "loop": ("def merge(ids, pair, new):\n    while True: pass", ["within 0.7 seconds", "在 0.7 秒内"], "merge([5, 6,"),
    "import": ("def merge(ids, pair, new:", ["does not run", "无法运行"], "SyntaxError"),
    "import loop": ("while True: pass", ["outside of functions", "函数之外"], "answer.py"),
    "none": ("from jeton.reference.step03_merge import merge", ["none of", "没有定义"], "merge, unmerge"),
    "no repr": (
        "class Odd:\n    def __repr__(self): raise OSError\ndef merge(ids, pair, new): return Odd()",
        ["got ", "实际为"],
        "<Odd: __repr__ → OSError>",
    ),
    "changes": (
        "def merge(ids, pair, new):\n    for at in range(len(ids) - 1):\n        if tuple(ids[at:at+2]) == pair:\n"
        "            ids[at:at+2] = [new]\n    return ids",
        ["changes its argument", "修改了传入的参数"],
        "merge([5, 6, 6, 7, 9, 1], (6, 7), 99)",
    ),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_answer_gets_an_explanation(
    kind: str, reader: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    text, said, both = WRONG[kind]
    answer = tmp_path / "answer.py"
    answer.write_text(text, encoding="utf-8")
    seconds = ["--seconds", "0.7"] if "loop" in kind else []
    assert check.main(["step03", str(answer), *seconds]) == 1
    printed = capfd.readouterr()
    assert said[reader == "zh"] in printed.out
    assert both in printed.out
    assert printed.err == ""
    if kind not in ("import", "import loop", "none"):
        assert ("hint: " if reader == "en" else "提示：") in printed.out


def test_a_copy_of_a_lesson_and_helpers_next_to_an_answer_are_imported(tmp_path: Path) -> None:
    (tmp_path / "copy.py").write_text(LESSONS["step04"].read_text("utf-8"), encoding="utf-8")
    assert check.main(["step04_train", str(tmp_path / "copy.py")]) == 0
    (tmp_path / "my_helper.py").write_text("def count(ids, pair): return 0", encoding="utf-8")
    (tmp_path / "answer.py").write_text(
        "from my_helper import count\ndef replaceable(ids, pair): return count(ids, pair)", encoding="utf-8"
    )
    assert check.main(["2", str(tmp_path / "answer.py")]) == 1


def test_wrong_commands_are_explained(reader: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = {
        "step01, step02": ["step99", "x.py"],
        "gone.py": ["step04", str(tmp_path / "gone.py")],
        "--fast": ["step04", "--fast=1"],
        "b.py c.py": ["step04", "a.py", "b.py", "c.py"],
        "''": ["step04", "--seconds"],
    }
    for said, command in wrong.items():
        with pytest.raises(SystemExit, match="2"):
            check.main(command)
        printed = capsys.readouterr()
        assert said in printed.err
        assert printed.out == ""
    assert check.main([]) == 0
    assert "step04  train_bytes, tied" in capsys.readouterr().out
    assert check.main(["step04"]) == 0
    assert ("Close the lesson" if reader == "en" else "合上教程") in capsys.readouterr().out


def test_the_help_is_in_the_language_of_the_reader(reader: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert check.main(["step04", "--help"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("Usage: python" if reader == "en" else "用法：python")
    assert all(word in printed for word in ("STEP", "FILE", "--seconds", "--help"))


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "soon"])
def test_wrong_seconds_are_refused(text: str, reader: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        check.main(["step04", f"--seconds={text}"])
    said = "greater than 0" if reader == "en" else "大于 0"
    assert said in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="Windows reports a closed pipe as another error")
@pytest.mark.parametrize("module", ["jeton.reference", "jeton.reference.check"])
def test_a_closed_pipe_is_not_an_error(module: str) -> None:
    command = [sys.executable, "-m", module]
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False, timeout=60)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


def test_messages_have_the_same_placeholders_in_both_languages() -> None:
    def placeholders(text: str) -> set[str | None]:
        return {name for _, name, _, _ in string.Formatter().parse(text) if name}

    assert check.ENGLISH.keys() == check.CHINESE.keys()
    for name, text in check.ENGLISH.items():
        assert placeholders(text) == placeholders(check.CHINESE[name]), name
    source = (FOLDER / "check.py").read_text("utf-8")
    assert [name for name in check.ENGLISH if len(re.findall(rf"""["']{name}["']""", source)) < 3] == []


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_MESSAGES": "en_US"}, "en"),
        ({"LC_ALL": "zh_TW", "LC_MESSAGES": "en_US"}, "zh"),
        ({"JETON_LANG": "en", "LC_ALL": "zh_CN"}, "en"),
        ({"JETON_LANG": "", "LC_ALL": "C", "LANG": "zh_CN"}, "en"),
    ],
)
def test_the_environment_chooses_the_language(
    variables: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert language() == expected


def test_the_check_runs_with_nothing_but_python_and_as_a_file(tmp_path: Path) -> None:
    assert "train_bytes: 27 of 27" in run_core_only(
        tmp_path, "-m", "jeton.reference.check", "4", str(LESSONS["step04"])
    )
    command = [sys.executable, str(FOLDER / "check.py"), "4", str(FOLDER / "solutions" / "step04.py")]
    done = subprocess.run(command, capture_output=True, check=False, cwd=tmp_path, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_copy_of_the_folder_is_enough_for_a_python_without_packages(tmp_path: Path) -> None:
    copied = tmp_path / "lessons"
    shutil.copytree(FOLDER, copied, ignore=shutil.ignore_patterns("__pycache__"))
    bare = venv.EnvBuilder(symlinks=sys.platform != "win32")
    bare.create(tmp_path / "bare")
    python = bare.ensure_directories(tmp_path / "bare").env_exe
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    for command in (
        ["step04_train.py"],
        ["check.py", "4", "solutions/step04.py"],
    ):  # the answer imports jeton.reference
        run = [python, *command]
        done = subprocess.run(run, capture_output=True, check=False, cwd=copied, env=environment, timeout=60)
        assert (done.returncode, done.stderr) == (0, b""), done.stdout
        assert b"Not compared" in done.stdout or b"Correct" in done.stdout
