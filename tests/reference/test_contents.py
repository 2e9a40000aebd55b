"""The order of reading, the list of the lessons, and the line that says how to run each."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

import jeton.reference
from jeton.reference import __main__ as listing
from jeton.reference import check, contents, exercises

from ..core_only import run_core_only

FOLDER = Path(next(iter(jeton.reference.__path__)))
NAMES = sorted(path.stem for path in FOLDER.glob("step*.py"))


def test_every_lesson_is_in_one_group() -> None:
    numbers = [number for group in contents.GROUPS for number in group.numbers]
    assert sorted(numbers) == list(range(1, 25))
    found = [lesson.name for _, members in contents.lessons() for lesson in members]
    assert sorted(found) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_lesson_says_at_its_top_how_to_run_it(name: str) -> None:
    english = (FOLDER / f"{name}.py").read_text("utf-8").split("\n\n")[1]
    chinese = (FOLDER / f"{name}.zh.md").read_text("utf-8").split("\n\n")[1]
    for text in (english, chinese):
        assert f"python {name}.py" in text
        assert f"python -m jeton.reference.{name}" in text


def test_the_overview_has_the_order_of_reading() -> None:
    lines = re.findall(r"(?m)^    (\S.*?)  +(\d+ .*)$", jeton.reference.__doc__ or "")
    assert [title for title, _ in lines] == [group.english for group in contents.GROUPS]
    for (_, listed), group in zip(lines, contents.GROUPS, strict=True):
        found = [entry.split() for entry in listed.split(" · ")]
        assert tuple(int(number) for number, _ in found) == group.numbers
        for number, name in found:
            files = [path.stem for path in FOLDER.glob(f"step{int(number):02}_*.py")]
            assert files in ([], [f"step{int(number):02}_{name}"])


def test_a_lesson_is_read_after_the_lessons_that_it_imports() -> None:
    order = [lesson.name for _, members in contents.lessons() for lesson in members]
    late = {("step10_words", "step09_characters")}  # words come first historically; step 9 introduces the names
    for name in NAMES:
        text = (FOLDER / f"{name}.py").read_text("utf-8")
        for used in re.findall(r"^from \.(step\w+) import", text, re.MULTILINE):
            assert order.index(used) < order.index(name) or (name, used) in late


@pytest.mark.parametrize("module", [contents, check, exercises, listing])
def test_examples_in_docstrings_run(module: object, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("JETON_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(variable, raising=False)
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]


def test_files_beyond_the_groups_are_listed_last(tmp_path: Path) -> None:
    (tmp_path / "step99_new.py").write_text('"""Step 99. A title.\n\nText."""\n', encoding="utf-8")
    ((group, [lesson]),) = contents.lessons(tmp_path)
    assert (group.english, lesson) == ("More", contents.Lesson(99, "step99_new", "A title", "A title"))


def test_the_list_prints_lessons_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JETON_LANG", "en")
    printed = run_core_only(tmp_path, "-m", "jeton.reference").splitlines()
    order = [lesson.name for _, members in contents.lessons() for lesson in members]
    assert [line.split()[0] for line in printed if line.startswith("  step")] == order
    assert "  step04_train          Training: count, merge, repeat" in printed
    monkeypatch.setenv("JETON_LANG", "zh")
    assert "\nBPE：从字节到 ID\n" in run_core_only(tmp_path, "-m", "jeton.reference").replace("\r", "")


def test_the_list_as_a_file_in_a_terminal_without_chinese() -> None:
    environment = {"JETON_LANG": "zh", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "SYSTEMROOT": ""}
    command = [sys.executable, str(FOLDER / "__main__.py")]
    done = subprocess.run(command, capture_output=True, env=environment, check=True, timeout=60)
    assert b"  step04_train  " in done.stdout


def test_each_lesson_names_the_next_one_in_the_order_of_reading() -> None:
    order = [lesson.name for _, members in contents.lessons() for lesson in members]
    for name, following in pairwise(order):
        english, chinese = ((FOLDER / f"{name}{end}").read_text("utf-8") for end in (".py", ".zh.md"))
        assert re.findall(r"Next:\s+(step\w+)\.py", english) == [following], name
        assert re.findall(r"下一步：`(step\w+)\.py`", chinese) == [following], name
