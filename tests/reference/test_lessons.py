"""The lessons hold what they say, in English and in Chinese.

Every example runs, every script prints, and a lesson needs nothing but the lessons before it.
"""

from __future__ import annotations

import ast
import doctest
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import jeton.reference

FOLDER = Path(next(iter(jeton.reference.__path__)))
LESSONS = sorted(path.stem for path in FOLDER.glob("step*.py"))
ALLOWED = sys.stdlib_module_names | {"regex"}  # NumPy and PyTorch are looked for by name in step 12, not imported
FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def lesson(name: str) -> ModuleType:
    """Import a lesson by the name of its file."""
    return import_module(f"jeton.reference.{name}")


def public_functions(module: ModuleType) -> list[str]:
    """List the functions and classes that a lesson defines for others."""
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__ and callable(value)
    ]


def test_the_lessons_are_numbered_without_a_gap() -> None:
    assert [name[4:6] for name in LESSONS] == [f"{number:02}" for number in range(1, 14)]


@pytest.mark.parametrize("name", LESSONS)
def test_every_example_runs(name: str) -> None:
    result = doctest.testmod(lesson(name), report=True)
    assert result.attempted >= 5
    assert result.failed == 0


@pytest.mark.parametrize("name", LESSONS)
def test_every_public_name_has_an_example(name: str) -> None:
    module = lesson(name)
    plain = {"main", "Levels", "Merge", "Learned", "Step", "Compression", "Tokenizer"}  # shown by what makes them
    plain |= {"Embedding", "NumpyEmbedding", "TorchEmbedding"}
    for public in public_functions(module):
        assert public in plain or ">>> " in (getattr(module, public).__doc__ or ""), public


@pytest.mark.parametrize("name", LESSONS)
def test_every_lesson_prints_something(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    lesson(name).main()
    assert len(capsys.readouterr().out.splitlines()) >= 2


def test_a_lesson_runs_as_a_script() -> None:
    command = [sys.executable, "-X", "utf8", "-m", "jeton.reference.step04_train"]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True, timeout=60)
    assert done.stdout.splitlines()[0].startswith("256  'st'")
    assert done.stderr == ""


@pytest.mark.parametrize("name", ["__init__", *LESSONS])
def test_a_lesson_imports_earlier_lessons_and_the_standard_library_only(name: str) -> None:
    for node in ast.walk(ast.parse((FOLDER / f"{name}.py").read_text("utf-8"))):
        if isinstance(node, ast.Import):
            assert all(alias.name.split(".")[0] in ALLOWED for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level:
            assert node.level == 1
            assert node.module is not None
            assert node.module < name
        elif isinstance(node, ast.ImportFrom):
            assert (node.module or "").split(".")[0] in ALLOWED


@pytest.mark.parametrize("name", LESSONS)
def test_the_translation_names_every_public_name(name: str) -> None:
    text = (FOLDER / f"{name}.zh.md").read_text("utf-8")
    missing = [public for public in public_functions(lesson(name)) if public != "main" and f"`{public}" not in text]
    assert missing == []


@pytest.mark.parametrize("name", LESSONS)
def test_the_translation_is_chinese_prose(name: str) -> None:
    text = (FOLDER / f"{name}.zh.md").read_text("utf-8")
    prose = FENCE.sub("", text)
    chinese = sum("一" <= character <= "鿿" for character in prose)
    assert text.startswith(f"# 第 {int(name[4:6])} 步")
    assert chinese >= 500
    assert f"{name}.py" in text


@pytest.mark.parametrize("name", LESSONS)
def test_every_example_of_the_translation_runs(name: str) -> None:
    text = (FOLDER / f"{name}.zh.md").read_text("utf-8")
    source = "\n".join(FENCE.findall(text))
    example = doctest.DocTestParser().get_doctest(source, dict(vars(lesson(name))), f"{name}.zh.md", None, 0)
    runner = doctest.DocTestRunner()
    runner.run(example)
    assert runner.tries >= 3
    assert runner.failures == 0


def test_no_translation_without_its_lesson() -> None:
    assert sorted(path.name.removesuffix(".zh.md") for path in FOLDER.glob("*.zh.md")) == LESSONS
