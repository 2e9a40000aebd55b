"""The statements of the lessons are true, in English and in Chinese.

Every example runs, every script prints, and a lesson needs nothing but the lessons before it.
"""

from __future__ import annotations

import ast
import doctest
import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import jeton.reference

from ..core_only import run_core_only

FOLDER = Path(next(iter(jeton.reference.__path__)))
LESSONS = sorted(path.stem for path in FOLDER.glob("step*.py"))
ALLOWED = sys.stdlib_module_names  # NumPy and PyTorch are looked for by name in step 12, not imported
WITHOUT_EXAMPLE = ("main", "beside_jeton")  # run by tests of their own
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


def code_lines(path: Path) -> int:
    """The number of lines that are neither blank nor a comment nor in a docstring."""
    source = path.read_text("utf-8")
    prose: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            prose.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    lines = enumerate(source.splitlines(), start=1)
    return sum(bool(line.strip()) and not line.strip().startswith("#") and at not in prose for at, line in lines)


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_is_short(name: str) -> None:
    assert code_lines(FOLDER / f"{name}.py") <= 150


def test_the_lessons_are_numbered_without_a_gap() -> None:
    assert [name[4:6] for name in LESSONS] == [f"{number:02}" for number in range(1, len(LESSONS) + 1)]


@pytest.mark.parametrize("name", LESSONS)
def test_every_example_runs(name: str) -> None:
    result = doctest.testmod(lesson(name), report=True)
    assert result.attempted >= 5
    assert result.failed == 0


@pytest.mark.parametrize("name", LESSONS)
def test_every_public_name_has_an_example(name: str) -> None:
    module = lesson(name)
    plain = {
        *WITHOUT_EXAMPLE,
        "Levels",
        "Merge",
        "Learned",
        "Step",
        "Compression",
        "Tokenizer",
    }  # shown by the functions that return them
    plain |= {"Merged", "Vocabulary", "Sizes"}
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


def test_all_lessons_run_with_the_core_dependencies_alone(tmp_path: Path) -> None:
    code = f"""
import doctest
from importlib import import_module
for name in {LESSONS}:
    lesson = import_module("jeton.reference." + name)
    assert doctest.testmod(lesson).failed == 0, name
    lesson.main()
"""
    assert "numpy 2" in run_core_only(tmp_path, "-c", code)


def test_lesson_8_prints_its_examples(capsys: pytest.CaptureFixture[str]) -> None:
    lesson("step08_split").main()
    printed = capsys.readouterr().out
    for text in ("How's the weather in 2026? It's 9.11 degrees!!", "今天的天气很好，我们出去走走吧。"):
        assert repr(text) in printed
        assert text in (lesson("step08_split").__doc__ or "")
    assert r"['if', ' x', ':', '\n       ', ' return'" in printed
    learned = next(line for line in reversed(printed.splitlines()) if line.startswith("  with a cut:"))
    assert r"'\\n       '" in learned  # the indentation is one token


@pytest.mark.parametrize("name", LESSONS)
def test_jeton_and_its_command_line_give_the_same_as_the_lesson(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`beside_jeton` asserts equality. Lessons 1 to 17 also show the code that it runs, in both languages."""
    lesson(name).beside_jeton()
    commands = [line for line in capsys.readouterr().out.splitlines() if line.startswith("$ jeton ")]
    assert commands
    assert "**With Jeton.**" in (lesson(name).__doc__ or "")
    if name > "step18":
        return
    shown_commands, shown_code = with_jeton_section(lesson(name).__doc__ or "")
    assert shown_commands
    assert [command for command in shown_commands if command not in commands] == []
    source = squeezed(inspect.getsource(lesson(name).beside_jeton))
    assert [line for line in shown_code if squeezed(line) not in source] == []
    chinese = squeezed((FOLDER / f"{name}.zh.md").read_text("utf-8"))
    assert [text for text in (*shown_commands, *shown_code) if squeezed(text) not in chinese] == []


def squeezed(text: str) -> str:
    """A text without white space and line continuations."""
    return re.sub(r"\\\n|\s", "", text)


def with_jeton_section(text: str) -> tuple[list[str], list[str]]:
    """The commands, and the lines of Python, that the section "With Jeton" of a docstring shows."""
    _, _, section = text.partition("**With Jeton.**")
    blocks = re.findall(r"(?:^ {4}.*\n)+", re.sub(r" *\\\n\s*", " ", section), re.MULTILINE)
    lines = [[line[4:] for line in block.splitlines()] for block in blocks]
    commands = [line for block in lines for line in block if line.startswith("$ ")]
    code = [line for block in lines if not block[0].startswith("$ ") for line in block]
    return commands, code


@pytest.mark.parametrize("name", ["__init__", *LESSONS])
def test_a_lesson_imports_earlier_lessons_and_the_standard_library_only(name: str) -> None:
    tree = ast.parse((FOLDER / f"{name}.py").read_text("utf-8"))
    beside = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "beside_jeton"]
    of_jeton = [node for function in beside for node in function.body if isinstance(node, ast.Import)]
    assert [ast.unparse(node) for node in of_jeton] == ["import jeton"] * len(beside)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and node not in of_jeton:
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
    missing = [
        public
        for public in public_functions(lesson(name))
        if public not in WITHOUT_EXAMPLE and f"`{public}" not in text
    ]
    assert missing == []


@pytest.mark.parametrize("name", LESSONS)
def test_the_translation_is_chinese_prose(name: str) -> None:
    text = (FOLDER / f"{name}.zh.md").read_text("utf-8")
    prose = FENCE.sub("", text)
    chinese = sum("一" <= character <= "鿿" for character in prose)
    assert text.startswith(f"# 第 {int(name[4:6])} 步")
    assert chinese >= 400
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
